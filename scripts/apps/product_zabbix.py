"""Zabbix: server and agent at work beside its front end, whose interface (JSON-RPC) and pages are used. The schema is made without its triggers (they keep names in upper case for searches): there are none yet."""
import gzip, json, re, shutil, socket, time
import _pages, harness

TITLE = "Zabbix 6.0.14 (Debian; libmariadb, mysqli; without its triggers)"
CLOCK = _pages.MOMENT + r"|\b1[78]\d{8}\b|\b[0-9a-f]{32}\b|\$2y\$\S+|\bc[0-9a-z]{24}\b"
# What is measured, scheduled, or noted when it happens.
UNSEEN = {"history", "history_uint", "history_str", "history_text", "history_log", "trends", "trends_uint", "item_rtdata", "housekeeper", "auditlog", "sessions", "ids", "events", "problem", "event_tag", "problem_tag", "event_recovery", "ha_node", "task", "task_data", "task_remote_command", "interface", "autoreg_host", "dbversion", "profiles", "triggers", "functions", "item_discovery", "escalations", "alerts", "config", "item_preproc", "items", "users", "images", "lld_override", "changelog", "host_inventory", "acknowledges"}
CONF = """<?php
global $DB;
$DB = ['TYPE' => 'MYSQL', 'SERVER' => getenv('APP_HOST'), 'PORT' => getenv('APP_PORT'), 'DATABASE' => getenv('APP_DATABASE'), 'USER' => 'zbx', 'PASSWORD' => 'zbx', 'SCHEMA' => '', 'ENCRYPTION' => false, 'KEY_FILE' => '', 'CERT_FILE' => '', 'CA_FILE' => '', 'VERIFY_HOST' => false, 'CIPHER_LIST' => '', 'DOUBLE_IEEE754' => true];
$ZBX_SERVER = '127.0.0.1'; $ZBX_SERVER_PORT = getenv('ZABBIX_PORT'); $ZBX_SERVER_NAME = ''; $IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;
"""
SERVER = """DBHost={host}\nDBPort={port}\nDBName={database}\nDBUser=zbx\nDBPassword=zbx\nListenPort={listen}\nListenIP=127.0.0.1\nLogFile={work}/zabbix_server.log\nPidFile={work}/s.pid\nSocketDir={work}\nAllowRoot=1\nAllowUnsupportedDBVersions=1\nStartPollers=2\nCacheUpdateFrequency=5\nFping6Location=\n"""
AGENT = """Server=127.0.0.1\nServerActive=127.0.0.1:{listen}\nListenPort={agent}\nListenIP=127.0.0.1\nHostname=Zabbix server\nLogFile={work}/agent.log\nPidFile={work}/a.pid\nAllowRoot=1\n"""
PAGES = ["dashboard.view&dashboardid=1", "host.list", "host.view", "problem.view", "latest.view&filter_set=1", "web.view", "discovery.view", "map.view", "service.list", "sla.list", "user.list", "usergroup.list", "userrole.list", "script.list", "mediatype.list", "queue.overview", "queue.details", "report.status", "auditlog.list", "gui.edit", "housekeeping.edit", "module.list", "proxy.list", "token.list", "scheduledreport.list", "search&search=server"]


def install(tools):
    place = tools / "zabbix"
    if (place / "usr/sbin/zabbix_server").exists():
        return
    tree = harness.unpacked(tools / "zabbix-tree", "zabbix-server-mysql", "zabbix-frontend-php", "zabbix-agent", depends=r"(?:lib(?!c6)|php-)[\w.+-]+|fping")
    harness.apt("php-mysql", "php-cli")
    core = tree / "usr/share/zabbix/include/classes/core/CConfigFile.php"
    core.write_text(core.read_text().replace("'/etc/zabbix/zabbix.conf.php'", "'../zabbix.conf.php'"))
    (tree / "usr/share/zabbix.conf.php").write_text(CONF)
    shutil.move(tree, place)


def environment(target, database, tools):
    target.sql(f"ALTER DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; DROP USER IF EXISTS zbx; CREATE USER zbx IDENTIFIED BY 'zbx'; GRANT ALL ON {database}.* TO zbx")
    return {"ZABBIX_PORT": str(20000 + target.port % 10000)}


def steps(target, database, tools, work):
    sql = "".join(gzip.open(tools / f"zabbix/usr/share/zabbix-server-mysql/{part}.sql.gz", "rt").read() for part in ("schema", "images", "data"))
    listen = 20000 + target.port % 10000
    sql = re.sub(r"(?ms)^DELIMITER \$\$.*?^DELIMITER ;$", "", sql)
    (work / "schema.sql").write_text(f"SET autocommit = 0;\n{sql}\nUPDATE interface SET port = '{listen + 1}' WHERE interfaceid = 1; UPDATE hosts SET status = 0 WHERE host = 'Zabbix server'; COMMIT;\n")
    values = {"host": target.host, "port": target.port, "database": database, "listen": listen, "agent": listen + 1, "work": work}
    (work / "server.conf").write_text(SERVER.format(**values))
    (work / "agent.conf").write_text(AGENT.format(**values))
    return {"before": [("schema", ["sh", "-c", f"mysql --ssl=0 --default-character-set=utf8mb4 -h$APP_HOST -P$APP_PORT -u$APP_USER {database} < {work}/schema.sql"], False)],
            "serve": ["sh", "-c", f"{tools}/zabbix/usr/sbin/zabbix_server -f -c {work}/server.conf & {tools}/zabbix/usr/sbin/zabbix_agentd -f -c {work}/agent.conf & cd {tools}/zabbix/usr/share/zabbix && PHP_CLI_SERVER_WORKERS=2 exec php -d max_execution_time=300 -d post_max_size=16M -d max_input_time=300 -d memory_limit=512M -S 127.0.0.1:$APP_HTTP_PORT"]}


def told_alike(value):
    """An answer without its ids, with lists in an order of their own: neither is asked for."""
    if isinstance(value, dict):
        return {key: told_alike(inner) for key, inner in sorted(value.items()) if not re.search("ids?$|^lastaccess", key)}
    if isinstance(value, list):
        return sorted((told_alike(inner) for inner in value), key=lambda inner: json.dumps(inner))
    return value


def visit(port, target, database, run):
    browser, session = _pages.Browser(port), None
    hidden = [(rf"127\.0\.0\.1:\d+|{port}", "HOST"), (r"\[[0-9a-f]{16}\]", "TOKEN"), *_pages.CLOCKS, (CLOCK, "X"), (r'"(?:lastaccess|lastclock|lastns|ns|lastvalue|prevvalue|clock|value|r_clock|r_ns|lastchange|value_avg|value_min|value_max|num)": ?"[^"]*"', "V")]

    def api(method, params, shown=True):
        status, text = browser.send("POST", "/api_jsonrpc.php", json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1, **({"auth": session} if session else {})}), {"Content-Type": "application/json-rpc"})
        try:
            result = json.loads(text).get("result")
            text = json.dumps(told_alike(json.loads(text)), ensure_ascii=False)
        except ValueError:
            result = None
        return result, ("API", f"{method} {json.dumps(told_alike(params), ensure_ascii=False)[:150]}", status if result is not None else f"{status}: {text[:500]}", _pages.masked(text, hidden) if shown else "(not compared)")

    session, told = api("user.login", {"username": "Admin", "password": "zabbix"}, False)
    yield told
    ids = {}
    for key, method, params in [
        ("group", "hostgroup.create", {"name": "Größe 😀"}), ("host", "host.create", lambda: {"host": "web-1", "name": "Web “1”", "groups": [{"groupid": ids["group"]}], "interfaces": [{"type": 1, "main": 1, "useip": 1, "ip": "127.0.0.1", "dns": "", "port": "1"}], "tags": [{"tag": "role", "value": "web"}], "macros": [{"macro": "{$X}", "value": "1"}], "inventory_mode": 0, "inventory": {"os": "Linux", "notes": "ü"}}),
        ("item", "item.create", lambda: {"hostid": ids["host"], "name": "Trapped", "key_": "trap[a]", "type": 2, "value_type": 0, "preprocessing": [{"type": 1, "params": "2", "error_handler": 0, "error_handler_params": ""}], "tags": [{"tag": "t", "value": "v"}]}), ("trigger", "trigger.create", {"description": "Too high on {HOST.NAME}", "expression": "last(/web-1/trap[a])>10", "priority": 4}),
        ("graph", "graph.create", lambda: {"name": "G", "width": 100, "height": 100, "gitems": [{"itemid": ids["item"], "color": "00AA00"}]}), ("user", "user.create", {"username": "Reader", "passwd": "Long.word-12", "roleid": "1", "usrgrps": [{"usrgrpid": "7"}], "medias": []}), ("usergroup", "usergroup.create", lambda: {"name": "Ops", "rights": [{"id": ids["group"], "permission": 2}], "userids": [ids["user"]]}),
        ("maintenance", "maintenance.create", lambda: {"name": "M", "active_since": 1700000000, "active_till": 1700086400, "groupids": [ids["group"]], "timeperiods": [{"period": 3600, "timeperiod_type": 2, "every": 1}]}), ("action", "action.create", {"name": "A", "eventsource": 0, "esc_period": "2m", "filter": {"evaltype": 0, "conditions": [{"conditiontype": 3, "operator": 2, "value": "high"}]}, "operations": [{"operationtype": 0, "opmessage_usr": [{"userid": "1"}], "opmessage": {"default_msg": 1, "mediatypeid": "0"}}]}),
        ("service", "service.create", {"name": "S", "algorithm": 1, "sortorder": 1, "problem_tags": [{"tag": "role", "value": "web"}]}), ("map", "map.create", {"name": "Map", "width": 600, "height": 600}), ("template", "template.create", lambda: {"host": "Own", "groups": [{"groupid": ids["group"]}]}), ("rule", "discoveryrule.create", lambda: {"hostid": ids["template"], "name": "D", "key_": "d", "type": 2}),
        ("prototype", "itemprototype.create", lambda: {"ruleid": ids["rule"], "hostid": ids["template"], "name": "P {#X}", "key_": "p[{#X}]", "type": 2, "value_type": 3}), ("dashboard", "dashboard.create", {"name": "Mine", "pages": [{"widgets": [{"type": "problems", "x": 0, "y": 0, "width": 12, "height": 5}]}]}), ("script", "script.create", {"name": "Ping it", "type": 0, "scope": 2, "command": "ping", "execute_on": 2})]:
        result, told = api(method, params() if callable(params) else params)
        yield told
        ids[key] = next(iter(next(iter(result.values())))) if result else None
    for method, params in [
        ("host.massadd", {"hosts": [{"hostid": ids["host"]}], "templates": [{"templateid": ids["template"]}, {"templateid": "10001"}]}), ("host.update", {"hostid": ids["host"], "description": "changed"}), ("item.update", {"itemid": ids["item"], "delay": "0", "name": "Trapped, renamed"}), ("user.update", {"userid": ids["user"], "name": "Réader"}),
        ("host.get", {"search": {"name": "web"}, "output": ["host", "name"], "selectTags": "extend", "selectParentTemplates": ["host"], "selectItems": "count", "selectInventory": ["os", "notes"], "selectMacros": ["macro", "value"]}), ("host.get", {"tags": [{"tag": "role", "value": "web", "operator": 1}], "countOutput": True}), ("item.get", {"hostids": ids["host"], "sortfield": "key_", "output": ["key_", "name"], "selectPreprocessing": "extend", "search": {"key_": "system*"}, "searchWildcardsEnabled": True}),
        ("trigger.get", {"output": ["description", "priority"], "expandDescription": True, "sortfield": "description", "limit": 50, "selectHosts": ["host"], "min_severity": 3}), ("template.get", {"output": ["host"], "sortfield": "host", "selectHosts": "count", "selectItems": "count", "limit": 60}), ("hostgroup.get", {"output": ["name"], "selectHosts": "count", "sortfield": "name"}), ("configuration.export", {"format": "json", "options": {"hosts": [ids["host"]]}}), ("configuration.export", {"format": "xml", "options": {"templates": ["10001"]}}),
        ("graph.get", {"output": ["name"], "sortfield": "name", "hostids": ids["host"]}), ("user.get", {"output": ["username", "name"], "selectUsrgrps": ["name"], "sortfield": "username"}), ("maintenance.get", {"output": ["name"], "selectTimeperiods": "extend"}), ("action.get", {"output": ["name"], "selectOperations": "extend", "selectFilter": "extend", "sortfield": "name"}), ("service.get", {"selectProblemTags": "extend"}), ("mediatype.get", {"output": ["name"], "sortfield": "mediatypeid"}), ("settings.get", {"output": ["default_theme", "severity_name_5"]}), ("usermacro.get", {"globalmacro": True}), ("discoveryrule.get", {"output": ["name", "key_"], "sortfield": "key_", "templateids": ids["template"]}),
    ]:
        yield api(method, params)[1]
    for value in (1.5, 20):
        time.sleep(6 if value == 1.5 else 1)
        with socket.create_connection(("127.0.0.1", 20000 + target.port % 10000), 10) as line:
            body = json.dumps({"request": "sender data", "data": [{"host": "web-1", "key": "trap[a]", "value": str(value)}]}).encode()
            line.sendall(b"ZBXD\1" + len(body).to_bytes(8, "little") + body)
            answer = line.recv(4096)[13:].decode("utf-8", "replace")
        yield "TRAP", str(value), 200 if "processed: 1; failed: 0" in answer else answer, "sent"
    # Values come in, and the trigger makes a problem of them.
    for _ in range(60):
        problems, told = api("problem.get", {"output": ["name", "severity"], "objectids": [ids["trigger"]]}, False)
        if problems:
            break
        time.sleep(1)
    yield "API", "problem.get", 200 if problems else "no problem", json.dumps([(p["name"], p["severity"]) for p in problems or []])
    for method, params in [("history.get", {"itemids": ids["item"], "history": 0, "sortfield": "clock", "sortorder": "DESC", "limit": 10}), ("event.acknowledge", {"eventids": [problems[0]["eventid"]] if problems else [], "action": 6, "message": "seen"}), ("event.get", {"objectids": ids["trigger"], "select_acknowledges": ["message"], "selectTags": "extend", "output": ["name", "severity", "acknowledged"]}), ("trend.get", {"itemids": [ids["item"]]}), ("auditlog.get", {"output": ["action", "resourcetype", "resourcename"], "sortfield": "auditid", "filter": {"resourcetype": 4}}), ("item.get", {"output": ["key_", "state"], "hostids": "10084", "filter": {"key_": ["agent.ping", "system.uptime"]}})]:
        yield api(method, params, method not in ("history.get", "auditlog.get", "event.get"))[1]
    page = _pages.pager(browser, hidden, ["Fatal error", "Error in query", "Database error", "SQL statement execution has failed", "Uncaught"])
    yield page("/index.php", form={"name": "Admin", "password": "zabbix", "enter": "Sign in", "autologin": "1"}, shown=False)
    for action in PAGES:
        yield page(f"/zabbix.php?action={action}", shown=action.split("&")[0] in ("host.list", "user.list", "usergroup.list", "userrole.list", "script.list", "mediatype.list", "gui.edit", "module.list", "map.view"))
    for path in ("hostgroups.php", "templates.php", "items.php?filter_set=1&context=host&filter_hostids[0]=10084", "triggers.php?context=host&filter_set=1", "graphs.php?context=host", "host_discovery.php?context=template", "maintenance.php", "actionconf.php?eventsource=0", "sysmaps.php", "report2.php", "toptriggers.php", "history.php?action=showvalues&itemids[]=42243", "hostinventories.php", "hostinventoriesoverview.php"):
        yield page("/" + path, shown=False)
    yield api("host.delete", [ids["host"]])[1]
    yield api("template.delete", [ids["template"]])[1]
    yield api("hostgroup.get", {"output": ["name"], "selectHosts": "count", "sortfield": "name"})[1]
