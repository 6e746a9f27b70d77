"""ejabberd with everything in the database: accounts with SCRAM, rosters, vCards, messages for who is away, private storage, rooms, shared rosters, by its HTTP interface. Its schema is made without its FULLTEXT index."""
import http.client, json, socket
import _pages, harness

TITLE = "ejabberd 23.01 (Debian; p1_mysql, prepared; without its index of full texts)"
CLOCK = _pages.MOMENT + r"|\b1[67]\d{8,14}\b|\b[0-9a-f]{40}\b"
# Salts and keys; stanzas with identifiers of their own.
UNSEEN = {"users", "spool", "archive", "pubsub_node", "pubsub_node_option", "pubsub_node_owner", "pubsub_state"}
CONFIG = """
hosts: [localhost]
loglevel: info
ca_file: /etc/ssl/certs/ca-certificates.crt
listen:
  - port: {port}
    ip: "127.0.0.1"
    module: ejabberd_http
    request_handlers:
      /api: mod_http_api
auth_method: [sql]
auth_password_format: scram
default_db: sql
sql_type: mysql
sql_server: "{target.host}"
sql_port: {target.port}
sql_database: "{database}"
sql_username: "product_ejabberd"
sql_password: "pw"
sql_pool_size: 3
sql_prepared_statements: true
api_permissions:
  all:
    who: all
    what: "*"
    from: [mod_http_api]
modules:
{modules}
"""
MODULES = "adhoc admin_extra announce caps carboncopy disco last mam muc muc_admin offline privacy private pubsub roster shared_roster vcard http_api blocking time".split()
USER, BOB, ROOM = {"user": "alice", "host": "localhost"}, {"user": "bob", "host": "localhost"}, {"name": "room", "service": "conference.localhost"}
ROSTER = {"localuser": "alice", "localhost": "localhost", **BOB, "nick": "Bob ü 😀", "group": "Fri'ends", "subs": "both"}
MESSAGE = {"type": "chat", "from": "alice@localhost", "to": "bob@localhost", "subject": "s", "body": "offline é 😀 it's \\"}
ASKED = [
    *(("register", {"user": user, "host": "localhost", "password": "pw"}) for user in ("alice", "bob", "ü", "alice")), *(("check_password", {**USER, "password": word}) for word in ("pw", "no")), ("check_account", {"user": "nobody", "host": "localhost"}),
    ("change_password", {**BOB, "newpass": "nëw"}), ("check_password", {**BOB, "password": "nëw"}), ("registered_users", {"host": "localhost"}),
    ("add_rosteritem", ROSTER), ("add_rosteritem", {**ROSTER, "nick": "changed"}), ("get_roster", {"user": "alice", "server": "localhost"}), ("delete_rosteritem", {"localuser": "bob", "localhost": "localhost", **USER}),
    ("set_vcard", {**USER, "name": "FN", "content": "Alice \\ it's"}), ("set_nickname", {**USER, "nickname": "Al"}), ("get_vcard", {**USER, "name": "NICKNAME"}), ("set_vcard2", {**BOB, "name": "N", "subname": "FAMILY", "content": "B"}),
    ("send_message", MESSAGE), ("send_message", {**MESSAGE, "body": "two"}), ("get_offline_count", BOB), ("private_set", {**USER, "element": "<x xmlns='a:b'>y</x>"}), ("private_get", {**USER, "element": "x", "ns": "a:b"}),
    ("create_room_with_opts", {**ROOM, "host": "localhost", "options": [{"name": name, "value": value} for name, value in (("persistent", "true"), ("allow_subscription", "true"), ("mam", "true"), ("title", "A room é"))]}),
    ("set_room_affiliation", {**ROOM, "jid": "bob@localhost", "affiliation": "admin"}), ("get_room_affiliations", ROOM), ("get_room_options", ROOM), ("subscribe_room", {"user": "alice@localhost/x", "nick": "al", "room": "room@conference.localhost", "nodes": "urn:xmpp:mucsub:nodes:messages"}),
    ("get_subscribers", ROOM), ("muc_online_rooms", {"service": "global"}), ("srg_create", {"group": "g", "host": "localhost", "name": "G", "description": "it's d", "display": "g"}), ("srg_user_add", {**USER, "group": "g", "grouphost": "localhost"}),
    ("srg_get_members", {"group": "g", "host": "localhost"}), ("srg_get_info", {"group": "g", "host": "localhost"}), ("srg_list", {"host": "localhost"}), ("set_last", {**USER, "timestamp": 1700000000, "status": "away"}), ("get_last", USER), ("delete_old_mam_messages", {"type": "all", "days": 0}),
    ("unregister", {"user": "ü", "host": "localhost"}), ("stats", {"name": "registeredusers"}), ("delete_old_users", {"days": 9999}), ("destroy_room", ROOM),
]


def install(tools):
    harness.unpacked(tools / "ejabberd", "ejabberd", depends=r"erlang-[\w.+-]+|lib(?!c6)[\w.+-]+")
    harness.apt("erlang-p1-mysql", "ca-certificates")


def steps(target, database, tools, work):
    # Its driver wants a password.
    target.sql(f"DROP USER IF EXISTS {database}; CREATE USER {database} IDENTIFIED BY 'pw'; GRANT ALL ON {database}.* TO {database}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (work / "port").write_text(str(port))
    (work / "ejabberd.yml").write_text(CONFIG.format(target=target, database=database, port=port, modules="\n".join(f"  mod_{name}: {{}}" for name in MODULES)))
    client = f"mysql --ssl=0 -h$APP_HOST -P$APP_PORT -u$APP_USER {database}"
    return {"before": [("schema", ["sh", "-c", f"rm -rf spool; mkdir spool; grep -v FULLTEXT {tools}/ejabberd/usr/share/ejabberd/sql/mysql.sql | {client}"], False)], "serve": None}


def visit(port, target, database, run):
    libraries = f"{harness.TOOLS}/ejabberd/usr/lib/x86_64-linux-gnu"
    start = f"cd $PWD; HOME=$PWD ERL_LIBS={libraries} erl -noinput -pa {libraries}/ejabberd-*/ebin -mnesia dir \"\\\"$PWD/spool\\\"\" -env EJABBERD_CONFIG_PATH $PWD/ejabberd.yml -env EJABBERD_LOG_PATH $PWD/log -s ejabberd"
    yield run(f"rm -f log; {start} > out 2>&1 & echo $! > daemon; for i in $(seq 300); do grep -q 'is started in the node' log && break; sleep 0.1; done; grep -o 'is started in the node' log", [], (), "start")
    try:
        place = int(run("cat port", [])[3])
        for name, asked in ASKED:
            wire = http.client.HTTPConnection("127.0.0.1", place, timeout=30)
            wire.request("POST", f"/api/{name}", json.dumps(asked), {"Content-Type": "application/json"})
            answer = wire.getresponse()
            # Who is there already is told by 409.
            yield "POST", name, 200 if answer.status in (200, 409) else answer.status, _pages.masked(answer.read().decode(), [*_pages.CLOCKS, (r"nonode@nohost", "NODE")])
    finally:
        ended = run("kill $(cat daemon); sleep 2; grep -E '\\[(error|critical)\\]' log; true", [], ("[error]", "[critical]"), "end")
    yield ended
    yield "SQL", "what is random", 200, target.sql("SELECT username, iterationcount, LENGTH(serverkey), LENGTH(salt) FROM users ORDER BY 1; SELECT username, LENGTH(xml) > 100 FROM spool; SELECT COUNT(*) FROM archive", database)
