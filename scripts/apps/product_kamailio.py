"""Kamailio, a SIP server: subscribers who register, messages kept for who is away, aliases, addresses, a dispatcher, accounting, a hash table, all in the database; asked by SIP."""
import hashlib, re, socket, time
import _pages, harness

TITLE = "Kamailio 5.6.3 (Debian; libmariadb)"
CLOCK = _pages.MOMENT + r"|uloc-[0-9a-f-]+|\b1[78]\d{8}\b|udp:127\.0\.0\.1:\d+"
SCHEMAS = "standard acc lcr domain group permissions uri_db usrloc auth_db alias_db dialog avpops dispatcher msilo presence htable imc pdt speeddial siptrace drouting uac carrierroute cpl matrix mohqueue mtree pipelimit purple registrar rls rtpengine rtpproxy sca secfilter topos userblocklist".split()
MODULES = "db_mysql sl tm rr pv maxfwd textops usrloc registrar auth auth_db alias_db domain permissions dispatcher htable msilo acc sqlops xlog".split()
ROWS = """INSERT INTO subscriber (username, domain, password, ha1, ha1b) VALUES ('alice', 'localhost', 'pw', '', ''); INSERT INTO domain (domain, did) VALUES ('localhost', 'd'); INSERT INTO dbaliases (alias_username, alias_domain, username, domain) VALUES ('al', 'localhost', 'alice', 'localhost');
INSERT INTO dispatcher (setid, destination) VALUES (1, 'sip:127.0.0.1:5999'); INSERT INTO htable (key_name, value_type, key_value) VALUES ('x', 0, 'y'); INSERT INTO address (ip_addr, mask) VALUES ('127.0.0.1', 32)"""
CONFIG = """#!KAMAILIO
debug=1
log_stderror=yes
fork=yes
children=2
listen=udp:127.0.0.1:{sip}
mpath="{tree}/usr/lib/x86_64-linux-gnu/kamailio/modules"
#!define DB "mysql://{target.user}:{target.password}@{target.host}:{target.port}/{database}"
{loads}
modparam("usrloc|auth_db|alias_db|domain|permissions|dispatcher|htable|msilo|acc", "db_url", DB)
modparam("usrloc", "db_mode", 1)
modparam("auth_db", "calculate_ha1", yes)
modparam("auth_db", "password_column", "password")
modparam("htable", "htable", "a=>size=8;dbtable=htable;dbmode=1")
modparam("acc", "db_flag", 1)
modparam("sqlops", "sqlcon", "ca=>mysql://{target.user}:{target.password}@{target.host}:{target.port}/{database}")
request_route {{
  setflag(1);
  if (is_method("REGISTER")) {{
    if (!auth_check("$fd", "subscriber", "1")) {{ auth_challenge("$fd", "0"); exit; }}
    consume_credentials(); sql_query("ca", "insert into speed_dial (username, domain, sd_username, sd_domain, new_uri, description) values ('$rU', '$rd', 'it\\'s', 'é', 'x', '$au')"); save("location"); exit;
  }}
  if (is_method("OPTIONS")) {{ $sht(a=>k$ci) = "v"; sql_query("ca", "select sd_username, count(*) from speed_dial group by sd_username order by 1", "ra"); sl_send_reply("200", "rows $dbr(ra=>rows) $dbr(ra=>[0,0]) $sht(a=>x)"); exit; }}
  if (is_method("MESSAGE")) {{ if (!lookup("location")) {{ m_store("$ru"); sl_send_reply("202", "stored"); }} else sl_send_reply("200", "here"); exit; }}
  if (is_method("SUBSCRIBE")) {{ if (allow_source_address("1") && is_from_local() && ds_select_dst("1", "4")) sl_send_reply("200", "allowed $du"); else sl_send_reply("403", "not allowed"); exit; }}
  if (alias_db_lookup("dbaliases")) {{ sl_send_reply("302", "alias $ru"); exit; }}
  acc_db_request("404", "acc"); sl_send_reply("404", "no");
}}
"""


def install(tools):
    harness.unpacked(tools / "kamailio", "kamailio", "kamailio-mysql-modules", depends=r"lib(?!c6)[\w.+-]+")


def steps(target, database, tools, work):
    tree = tools / "kamailio"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        sip = probe.getsockname()[1]
    (work / "sip").write_text(str(sip))
    (work / "kamailio.cfg").write_text(CONFIG.format(target=target, database=database, sip=sip, tree=tree, loads="\n".join(f'loadmodule "{name}.so"' for name in MODULES)))
    client = f"mysql --ssl=0 -h$APP_HOST -P$APP_PORT -u$APP_USER {database}"
    return {"before": [("schema", ["sh", "-c", f"for f in {' '.join(SCHEMAS)}; do {client} < {tree}/usr/share/kamailio/mysql/$f-create.sql || echo $f; done"], r"(?!)"), ("rows", ["sh", "-c", f'{client} -e "{ROWS}"'], False)],
            "serve": None}


def talk(sip):
    """Requests and the first line of what each is answered by."""
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    wire.bind(("127.0.0.1", 0))
    wire.settimeout(5)
    told = []

    def ask(method, uri, extra="", to="alice", body=""):
        number = len(told) + 1
        head = f"{method} {uri} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{wire.getsockname()[1]};branch=z9hG4bK{number}\r\nFrom: <sip:alice@localhost>;tag=1\r\nTo: <sip:{to}@localhost>\r\nCall-ID: c{number}\r\nCSeq: {number} {method}\r\nMax-Forwards: 9\r\n"
        wire.sendto(f"{head}{extra}Content-Length: {len(body.encode())}\r\n\r\n{body}".encode(), ("127.0.0.1", sip))
        answer = wire.recv(9000).decode()
        told.append(f"{method} {uri}: {answer.splitlines()[0]}")
        return answer

    place, text = "Contact: <sip:alice@127.0.0.1:5090>\r\nExpires: 600\r\n", "Content-Type: text/plain\r\n"
    nonce = re.search('nonce="([^"]+)"', ask("REGISTER", "sip:localhost", place))[1]
    md5 = lambda words: hashlib.md5(words.encode()).hexdigest()
    for password in ("bad", "pw"):
        proof = md5(f"{md5('alice:localhost:' + password)}:{nonce}:{md5('REGISTER:sip:localhost')}")
        ask("REGISTER", "sip:localhost", f'{place}Authorization: Digest username="alice",realm="localhost",nonce="{nonce}",uri="sip:localhost",response="{proof}"\r\n')
    ask("OPTIONS", "sip:localhost")
    ask("MESSAGE", "sip:alice@localhost", text, body="hi")
    ask("MESSAGE", "sip:bob@localhost", text, to="bob", body="it's “stored” ü 😀")
    ask("SUBSCRIBE", "sip:x@localhost", to="x")
    ask("INVITE", "sip:al@localhost", to="al")
    ask("INVITE", "sip:nobody@localhost", to="nobody")
    return told


def visit(port, target, database, run):
    start = f"{harness.TOOLS}/kamailio/usr/sbin/kamailio -f kamailio.cfg -m 64 -M 8 -Y $PWD -w $PWD -P $PWD/pid -E -DD"
    yield run(f"rm -f pid; {start} > log 2>&1 & sleep 5; test -e pid", None, (), "start")
    try:
        told = talk(int(run("cat sip", [])[3]))
        yield "SIP", "requests", 200, "\n".join(told)
    finally:
        ended = run("p=$(cat pid); kill $p; for i in $(seq 100); do kill -0 $p 2>/dev/null || break; sleep 0.1; done; grep -E 'ERROR|CRITICAL' log | sed 's/^[^:]*: //; s/127.0.0.1:[0-9]*/HERE/' | sort -u", [], ("db_mysql",), "end")
    yield ended
