"""FreeRADIUS with its rlm_sql: users, groups, replies and limits in the database, clients read from it, accounting and the log of logins written to it; asked by radclient."""
import socket
import _pages, harness

TITLE = "FreeRADIUS 3.2.1 (Debian; rlm_sql_mysql, libmariadb)"
CLOCK = _pages.MOMENT
# How long sessions and the pauses of their reports were: what else is in it is asked for.
UNSEEN = {"radacct"}
CONFIG = """
prefix = /usr
libdir = {tree}/usr/lib/freeradius
raddbdir = {tree}/etc/freeradius/3.0
modconfdir = {tree}/etc/freeradius/3.0/mods-config
logdir = {work}
run_dir = {work}
pidfile = {work}/pid
max_requests = 1024
security {{
  allow_core_dumps = no
}}
thread pool {{
  start_servers = 2
  max_servers = 4
}}
modules {{
  sql {{
    dialect = "mysql"
    driver = "rlm_sql_mysql"
    server = "{target.host}"
    port = {target.port}
    login = "{target.user}"
    password = "{target.password}"
    radius_db = "{database}"
    acct_table1 = "radacct"
    acct_table2 = "radacct"
    postauth_table = "radpostauth"
    authcheck_table = "radcheck"
    authreply_table = "radreply"
    groupcheck_table = "radgroupcheck"
    groupreply_table = "radgroupreply"
    usergroup_table = "radusergroup"
    client_table = "nas"
    group_attribute = "${{.:instance}}-Group"
    read_groups = yes
    read_clients = yes
    delete_stale_sessions = yes
    pool {{
      start = 2
      min = 1
      max = 4
      spare = 1
      uses = 0
      retry_delay = 1
      lifetime = 0
      idle_timeout = 60
    }}
    $INCLUDE {tree}/etc/freeradius/3.0/mods-config/sql/main/mysql/queries.conf
  }}
  pap {{
  }}
  expr {{
  }}
  preprocess {{
    huntgroups = {work}/empty
    hints = {work}/empty
  }}
}}
server default {{
  listen {{
    type = auth
    ipaddr = 127.0.0.1
    port = {auth}
  }}
  listen {{
    type = acct
    ipaddr = 127.0.0.1
    port = {accounting}
  }}
  authorize {{
    preprocess
    sql
    pap
  }}
  authenticate {{
    Auth-Type PAP {{
      pap
    }}
  }}
  preacct {{
    update request {{
      &Acct-Unique-Session-Id := "%{{Acct-Session-Id}}%{{NAS-IP-Address}}"
    }}
  }}
  accounting {{
    sql
  }}
  session {{
    sql
  }}
  post-auth {{
    sql
    Post-Auth-Type REJECT {{
      sql
    }}
  }}
}}
"""
ROWS = """INSERT INTO radcheck (username, attribute, op, value) VALUES ('bob', 'Cleartext-Password', ':=', 'hello'), ('Ann', 'Cleartext-Password', ':=', 'pw ü'); INSERT INTO radreply (username, attribute, op, value) VALUES ('bob', 'Reply-Message', '=', 'Hello é 😀 it''s you');
INSERT INTO radusergroup VALUES (1, 'bob', 'static', 1); INSERT INTO radgroupreply (groupname, attribute, op, value) VALUES ('static', 'Framed-Protocol', '=', 'PPP'); INSERT INTO radgroupcheck (groupname, attribute, op, value) VALUES ('static', 'Simultaneous-Use', ':=', '1'); INSERT INTO nas (nasname, shortname, secret) VALUES ('127.0.0.1', 'here', 'testing123')"""


def install(tools):
    harness.unpacked(tools / "freeradius", "freeradius", "freeradius-mysql", "freeradius-config", "freeradius-common", "freeradius-utils", "libfreeradius3", depends=r"lib(?!c6)[\w.+-]+")


def steps(target, database, tools, work):
    tree = tools / "freeradius"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        auth = probe.getsockname()[1]
    (work / "radiusd.conf").write_text(CONFIG.format(target=target, database=database, tree=tree, work=work, auth=auth, accounting=auth + 1))
    (work / "ports").write_text(f"{auth} {auth + 1}")
    (work / "empty").write_text("")
    (work / "rows.sql").write_text(ROWS)
    client = f"mysql --ssl=0 --default-character-set=utf8mb4 -h$APP_HOST -P$APP_PORT -u$APP_USER {database}"
    schemas = " ".join(f"{tree}/etc/freeradius/3.0/mods-config/sql/{name}/schema.sql" for name in ("main/mysql", "main/mysql/extras/wimax", "dhcp/mysql", "ippool/mysql", "ippool-dhcp/mysql", "moonshot-targeted-ids/mysql"))
    return {"before": [("schema", ["sh", "-c", f"for f in {schemas}; do {client} < $f || exit 1; done"], False), ("rows", ["sh", "-c", f"{client} < rows.sql"], False)], "serve": None}


def visit(port, target, database, run):
    tree = f"{harness.TOOLS}/freeradius"
    use = f"export LD_LIBRARY_PATH={tree}/usr/lib/freeradius; read auth acct < ports; ask() {{ printf \"$1\" | {tree}/usr/bin/radclient -D {tree}/usr/share/freeradius -r1 -t5 -x 127.0.0.1:$2 $3 testing123 2>&1; }}"
    hidden = [(r"Id \d+ from \S+ to \S+|Id \d+ from \S+", "ID"), (r"Packet-Authenticator.*|Authenticator.*", ""), (r"Sent [^\n]*\n(?:\t[^\n]*\n)*", "")]
    yield run(f"{use}; {tree}/usr/sbin/freeradius -d $PWD -n radiusd -D {tree}/usr/share/freeradius -X > log 2>&1 & echo $! > daemon; for i in $(seq 100); do grep -q 'Ready to process' log && break; sleep 0.1; done; grep 'Ready to process' log", [], (), "start")
    try:
        for user, password in (("bob", "hello"), ("bob", "wrong"), ("ann", "pw ü"), ("nobody", "x"), ("o'brien \\\\\\\\ %%", "x"), ("bob", "hello")):
            # A refusal makes radclient end with 1.
            yield run(f"{use}; ask \"User-Name=\\\"{user}\\\",User-Password=\\\"{password}\\\",NAS-IP-Address=127.0.0.1\" $auth auth; true", hidden, ("No reply",), f"login {user} {password}")
        for kind, number in (("Start", 1), ("Interim-Update", 1), ("Stop", 1), ("Stop", 1), ("Start", 2), ("Start", 3)):
            yield run(f"{use}; ask \"User-Name=bob,Acct-Status-Type={kind},Acct-Session-Id=S{number},NAS-IP-Address=127.0.0.1,NAS-Port=3,Framed-IP-Address=10.0.0.1,Acct-Session-Time=60,Acct-Input-Octets=4294967295,Acct-Input-Gigawords=2,Acct-Output-Octets=77,Acct-Terminate-Cause=User-Request\" $acct acct", hidden, ("No reply",), f"accounting {kind} {number}")
            if (kind, number) == ("Start", 1):
                yield run(f"{use}; ask 'User-Name=bob,User-Password=hello,NAS-IP-Address=127.0.0.1' $auth auth; true", hidden, ("No reply",), "a second login")
        # The access server has begun anew: what is open ends.
        yield run(f"{use}; ask 'Acct-Status-Type=Accounting-On,NAS-IP-Address=127.0.0.1,Acct-Session-Id=0' $acct acct", hidden, ("No reply",), "accounting begins anew")
    finally:
        ended = run("kill $(cat daemon); sleep 2; grep -E 'rlm_sql_mysql: .*(ERROR|fail)|Failed' log; true", [], ("rlm_sql",), "end")
    yield ended
    yield "SQL", "radacct", 200, target.sql("SELECT radacctid, acctsessionid, acctuniqueid, username, nasipaddress, nasportid, acctstarttime IS NULL, acctstoptime IS NULL, acctinputoctets, acctoutputoctets, acctterminatecause, framedipaddress FROM radacct ORDER BY 1", database)
