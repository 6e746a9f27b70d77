"""privacyIDEA: its schema by its models and by its migrations, administrators, realms over a table of users, policies, tokens of many kinds enrolled, used, locked and found, machines, events, audit with filters; and away again."""
import json
import _rest, harness

VERSION = "3.11.4"
TITLE = f"privacyIDEA {VERSION} (Flask, SQLAlchemy, PyMySQL)"
KEYS_UNORDERED = True
CLOCK = _rest.BOTH + r'|"time": \d+\.\d+|"threadid": \d+|\{SSHA256\}\S+|127\.0\.0\.1:\d+|\b(?:13097|[3-6]\d{4})\b(?=\tint)'r"|\$argon2\S+|\b[0-9a-f]{20,}\b|\b[A-Z]{4}[0-9A-F]{8}\b|\b0\.\d+\b|eyJ[\w.-]+"
UNSEEN = ("pidea_audit", "token", "challenge", "admin", "tokeninfo")
SCHEMA = """
CREATE TABLE people (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, username VARCHAR(60) NOT NULL UNIQUE, givenname VARCHAR(60), surname VARCHAR(60), email VARCHAR(100), phone VARCHAR(20), password VARCHAR(200));
INSERT INTO people (username, givenname, surname, email, phone, password) VALUES ('ann', 'Änn', 'O''Neil', 'ann@example.org', '1', '{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M='), ('bob', 'Bob', '100%_x', 'bob@example.org', NULL, NULL), ('日本', 'Ж', '😀', 'j@example.org', '3', NULL);
"""
CONFIG = """import os
SUPERUSER_REALM = ['super']
SQLALCHEMY_DATABASE_URI = os.environ['PI_URL']
SECRET_KEY = 'not a secret, but long'
PI_PEPPER = 'pepper'
PI_ENCFILE = '{work}/enckey'
PI_AUDIT_KEY_PRIVATE = '{work}/private.pem'
PI_AUDIT_KEY_PUBLIC = '{work}/public.pem'
PI_LOGFILE = '{work}/privacyidea.log'
PI_LOGLEVEL = 30
"""


def install(tools):
    harness.venv(tools / "privacyidea-venv", f"privacyidea=={VERSION}", "PyMySQL==1.1.3", "setuptools<81")


def environment(target, database, tools):
    return {"PI_URL": f"mysql+pymysql://{database}:secret@{target.host}:{target.port}/{database}?charset=utf8mb4", "PI": str(tools / "privacyidea-venv/bin"), "PYTHONWARNINGS": "ignore", "PYTHONHASHSEED": "0"}  # realms are a set


def steps(target, database, tools, work):
    target.sql(f"DROP USER IF EXISTS {database}; CREATE USER {database} IDENTIFIED BY 'secret'; GRANT ALL ON {database}.* TO {database}")
    (work / "pi.cfg").write_text(CONFIG.format(work=work))
    did = lambda title, line: (title, ["env", f"PRIVACYIDEA_CONFIGFILE={work}/pi.cfg", "sh", "-c", line], False)
    migrations = '$(find "$PI/../lib" -maxdepth 0 >/dev/null; echo "$PI/../lib/privacyidea/migrations")'
    return {"before": [did("keys", f'rm -f {work}/enckey {work}/*.pem; "$PI/pi-manage" setup create_enckey; "$PI/pi-manage" setup create_audit_keys'), did("tables", f'"$PI/pi-manage" setup create_tables && "$PI/pi-manage" db stamp -d {migrations} head'), did("up to date", f'"$PI/pi-manage" db upgrade -d {migrations}'), did("admin", '"$PI/pi-manage" admin add admin -p secret -e a@example.org')],
            "serve": ["env", f"PRIVACYIDEA_CONFIGFILE={work}/pi.cfg", "sh", "-c", 'exec "$PI/pi-manage" run -h 127.0.0.1 -p $APP_HTTP_PORT']}


def visit(port, target, database, run):
    api = _rest.Rest(port, f"{target.port}|" + CLOCK)
    ask = api.ask
    yield ask("POST", "/auth", {"username": "admin", "password": "wrong"}, 401, shown=False)
    yield ask("POST", "/auth", {"username": "admin", "password": "secret"}, shown=False)
    api.headers["PI-Authorization"] = api.answer["result"]["value"]["token"]
    resolver = {"type": "sqlresolver", "Driver": "mysql+pymysql", "Server": target.host, "Port": target.port, "Database": database, "User": database, "Password": "secret", "Table": "people", "Map": json.dumps({"userid": "id", "username": "username", "givenname": "givenname", "surname": "surname", "email": "email", "phone": "phone", "password": "password"}), "Editable": True, "Limit": 100}
    yield ask("POST", "/resolver/test", resolver)
    for name in ("sql", "second"):
        yield ask("POST", f"/resolver/{name}", resolver)
    yield ask("POST", "/realm/main", {"resolvers": "sql", "priority.sql": 1})
    yield ask("POST", "/realm/other", {"resolvers": "second,sql"})
    yield ask("POST", "/defaultrealm/main")
    yield ask("GET", "/realm/")
    yield ask("POST", "/user/", {"user": "new", "resolver": "sql", "givenname": "Né", "surname": "w", "email": "n@example.org", "password": "x"}, shown=False)
    for query in ("username=*", "username=a*", "surname=100*", "email=*@example.org&realm=other", "givenname=Ж"):
        yield ask("GET", "/user/?" + __import__("urllib.parse").parse.quote(query, safe="=&*@"), shown=False)
        yield "users", query, 200, str(sorted(one["username"] for one in api.answer["result"]["value"])) if isinstance(api.answer, dict) else str(api.answer)[:300]
    for name, scope, action in (("all", "admin", "*"), ("enrol", "user", "enrollHOTP, delete, otppin=1"), ("pin", "authentication", "otppin=userstore"), ("limit", "enrollment", "max_token_per_user=4, tokenlabel=<u>@<r>")):
        yield ask("POST", f"/policy/{__import__('urllib.parse').parse.quote(name)}", {"scope": scope, "action": action, "realm": "main" if scope == "user" else "", "active": True, "priority": 2}, shown=False)
    yield ask("GET", "/policy/", shown=False)
    yield "policies", "all", 200, json.dumps(api.answer["result"]["value"], ensure_ascii=False, sort_keys=True, indent=1)
    yield ask("POST", "/policy/disable/pin")
    for number in range(1, 9):
        kind = ["hotp", "totp", "pw", "spass", "registration"][number % 5]
        yield ask("POST", "/token/init", {"type": kind, "serial": f"T{number}", "user": ["ann", "bob", "日本"][number % 3], "realm": "main", "pin": "1234", "otpkey": "3132333435363738393031323334353637383930", "genkey": 0, "description": f"Schlüssel {number} 😀"}, shown=False)
    yield ask("POST", "/token/init", {"type": "nothing", "user": "ann"}, 400, shown=False)
    for user, password, realm in (("bob", "1234755224", "main"), ("ann", "1234", "main"), ("bob", "wrong", "main"), ("nobody", "x", "main")):
        yield ask("POST", "/validate/check", {"user": user, "pass": password, "realm": realm}, None if user != "nobody" else 400, shown=False)
        yield "validated", f"{user} {password}", 200, str(api.answer["result"].get("value", "an error"))
    for number in range(12):
        yield ask("POST", "/validate/check", {"serial": "T5", "pass": f"0000{number}"}, shown=False)
    for query in ("", "?sortby=serial&sortdir=desc&pagesize=3&page=2", "?type=hotp", "?user=ann&realm=main", "?description=*9*", "?active=true&assigned=true&sortby=tokentype", "?serial=*T1*", "?tokenrealm=main&sortby=failcount&sortdir=desc", "?rollout_state=", "?infokey=tokenkind&infovalue=software"):
        yield ask("GET", "/token/" + query, shown=False)
        value = api.answer["result"].get("value") or {}
        yield "tokens", query, 200, json.dumps([value.get("count"), sorted((one["serial"], one["tokentype"], one["username"], one["failcount"], one["count"], one["description"]) for one in value.get("tokens", []))], ensure_ascii=False, indent=1)
    for method, path, body in (("POST", "/token/disable/T1", None), ("POST", "/token/enable/T1", None), ("POST", "/token/reset/T5", None), ("POST", "/token/realm/T2", {"realms": "main,other"}), ("POST", "/token/set/T2", {"max_failcount": 3, "description": "it's \\ \"d\""}), ("POST", "/token/info/T2/mine", {"value": "größe 😀"}), ("DELETE", "/token/info/T2/mine", None), ("POST", "/token/unassign", {"serial": "T3"}), ("POST", "/token/assign", {"serial": "T3", "user": "bob", "realm": "main"}),
                              ("POST", "/token/revoke/T4", None), ("POST", "/token/lost/T6", None), ("POST", "/token/copyuser", {"from": "T1", "to": "T7"}), ("POST", "/token/group/T1/g", None), ("POST", "/tokengroup/g", {"description": "Gruppe"}), ("POST", "/token/group/T1/g", None), ("POST", "/token/group/T2", {"groups": ["g"]}), ("GET", "/tokengroup/", None), ("DELETE", "/token/group/T1/g", None),
                              ("POST", "/machineresolver/hosts", {"type": "hosts", "filename": "/etc/hosts"}), ("GET", "/machineresolver/", None), ("POST", "/system/setConfig", {"größe": "wert", "splitAtSign": "1"}), ("GET", "/system/", None), ("DELETE", "/system/gr%C3%B6%C3%9Fe", None), ("POST", "/event", {"name": "count", "event": "token_init", "handlermodule": "Counter", "action": "increase_counter", "conditions": "{}", "option.counter_name": "inits", "ordering": 1, "position": "post"}),
                              ("POST", "/token/init", {"type": "spass", "serial": "T20", "user": "bob", "realm": "main"}), ("GET", "/event/", None), ("POST", "/smtpserver/one", {"server": "127.0.0.1", "port": 1, "sender": "a@example.org", "tls": False}), ("GET", "/smtpserver/", None), ("GET", "/client/", None), ("POST", "/token/init", {"type": "hotp", "serial": "T21", "genkey": 1}),
                              ("POST", "/container/init", {"type": "generic", "description": "Kiste ü", "user": "ann", "realm": "main", "container_serial": "C1"}), ("POST", "/container/C1/add", {"serial": "T1"}), ("GET", "/container/?sortby=serial", None), ("POST", "/container/C1/states", {"states": "active"}), ("DELETE", "/container/C1", None), ("GET", "/audit/statistics", None), ("DELETE", "/token/T1", None), ("DELETE", "/realm/other", None), ("DELETE", "/resolver/sql", None), ("DELETE", "/tokengroup/g", None)):
        told = ask(method, path, body, shown=False)
        yield told[0], told[1], 200 if isinstance(api.answer, dict) and "result" in api.answer else told[2], json.dumps(api.answer.get("result", {}).get("status") if isinstance(api.answer, dict) else None) + (json.dumps(api.answer["result"].get("error", {}), ensure_ascii=False) if isinstance(api.answer, dict) and not told[2] == 200 else "")
    for query in ("?action=*token/init*&sortorder=asc&page_size=3&page=2", "?success=0", "?user=ann&sortname=serial", "?realm=main&action=POST*check&sortname=number&sortorder=desc", "?timelimit=1h&page_size=1", "?serial=T5&success=*0*", "?startdate=<2000-01-01>"):
        yield ask("GET", "/audit/" + query.replace("<", "%3C").replace(">", "%3E"), shown=False)
        value = api.answer["result"].get("value") or {}
        yield "audit", query, 200, json.dumps([value.get("count"), [(one["action"], one["serial"], one["user"], one["success"]) for one in value.get("auditdata", [])]], ensure_ascii=False)
    yield run(f'PRIVACYIDEA_CONFIGFILE=pi.cfg "$PI/pi-manage" audit rotate --highwatermark 10 --lowwatermark 4; PRIVACYIDEA_CONFIGFILE=pi.cfg "$PI/pi-manage" config export 2>/dev/null | wc -l > /dev/null', None)
    yield "SQL", "what is in the audit", 200, target.sql("SELECT COUNT(*) < 60 FROM pidea_audit", database)
