"""PowerDNS with its gmysql backend: zones, records, DNSSEC keys, TSIG, metadata by pdnsutil and the HTTP interface, queries and a dynamic update by DNS, a zone transfer."""
import contextlib, json, socket, struct, time
import _pages, harness

TITLE = "PowerDNS 4.7.3 (Debian; libmariadb)"
# Keys and what is made of them; when a zone was last seen; serials by the day.
CLOCK = r"Private-key-format.*|\b[A-Za-z0-9+/]{43}=|\b[A-Za-z0-9+/]{86}==|\b1[78]\d{8}\b|\b20\d{8}\b"
UNSEEN = {"cryptokeys", "tsigkeys"}
CONFIG = """launch=gmysql
module-dir={tree}/usr/lib/x86_64-linux-gnu/pdns
gmysql-host={target.host}
gmysql-port={target.port}
gmysql-user={target.user}
gmysql-password={target.password}
gmysql-dbname={database}
gmysql-dnssec=yes
local-address=127.0.0.1
socket-dir={work}
setuid=
setgid=
dnsupdate=yes
allow-dnsupdate-from=127.0.0.0/8
primary=yes
allow-axfr-ips=127.0.0.1
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
webserver=yes
api=yes
api-key=secret
security-poll-suffix=
"""


def install(tools):
    harness.unpacked(tools / "powerdns", "pdns-server", "pdns-backend-mysql", depends=r"lib(?!c6)[\w.+-]+")


def steps(target, database, tools, work):
    tree = tools / "powerdns"
    (work / "pdns.conf").write_text(CONFIG.format(tree=tree, target=target, database=database, work=work))
    util = f"{tree}/usr/bin/pdnsutil --config-dir={work}"
    schema = tree / "usr/share/pdns-backend-mysql/schema"
    client = f"mysql --ssl=0 -h$APP_HOST -P$APP_PORT -u$APP_USER {database}"
    zone = "\n".join(["$ORIGIN example.org.", "@ 3600 IN SOA ns1 host 1 10800 3600 604800 3600", "@ IN NS ns1", "ns1 IN A 192.0.2.1", "www IN A 192.0.2.2", "www IN AAAA 2001:db8::1", "* IN TXT \"a ; text\" \"two\"", "mail IN MX 10 www", "_s._tcp IN SRV 1 2 80 www", "alias IN CNAME www"] + [f"h{n} 60 IN A 192.0.2.{n}" for n in range(100)])
    (work / "zone").write_text(zone + "\n")
    did = lambda line, shown=False: (line, ["sh", "-c", f"{util} {line}"], shown)
    return {"before": [
        ("schema", ["sh", "-c", f"cat {schema}/schema.mysql.sql {schema}/enable-foreign-keys.mysql.sql | {client}"], False),
        did("load-zone example.org zone"), did("create-zone example.net ns1.example.org"), did("add-record example.net www A 300 192.0.2.9", CLOCK), did("add-record example.net www A 192.0.2.10", CLOCK),
        did("replace-rrset example.net www A 60 192.0.2.11 192.0.2.12", CLOCK), did("delete-rrset example.net www A", CLOCK), did("add-record example.net txt TXT '\"über\"'", CLOCK), did("create-secondary-zone example.com 192.0.2.53"), did("set-kind example.net native"), did("set-meta example.net ALLOW-AXFR-FROM AUTO-NS 127.0.0.1", CLOCK),
        did("add-meta example.net ALLOW-AXFR-FROM 192.0.2.0/24", CLOCK), did("get-meta example.net", CLOCK), did("generate-tsig-key mine hmac-sha256"), did("list-tsig-keys", ".*"), did("activate-tsig-key example.net mine primary"), did("secure-zone example.org"), did("set-nsec3 example.org '1 0 1 ab'"), did("rectify-all-zones"), did("check-zone example.net", CLOCK),
        did("show-zone example.net", CLOCK), did("list-all-zones", CLOCK), did("list-zone example.net", CLOCK), did("increase-serial example.net"), did("set-account example.net me"), did("add-autoprimary 192.0.2.5 ns.example.org me"), did("list-algorithms"), did("backend-cmd gmysql 'SELECT COUNT(*) FROM records'", CLOCK), did("test-schema schema.example", CLOCK), did("delete-zone schema.example"),
    ], "serve": ["sh", "-c", f"exec {tree}/usr/sbin/pdns_server --config-dir={work} --guardian=no --daemon=no --local-port=$APP_HTTP_PORT --webserver-port=$((APP_HTTP_PORT ^ 1))"]}


def name(text):
    return b"".join(bytes([len(part)]) + part.encode() for part in text.split(".") if part) + b"\0"


def visit(port, target, database, run):
    kinds = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "ANY": 255}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(10)
        line.connect(("127.0.0.1", port))

        def sent(packet):
            line.send(packet)
            answer = line.recv(65535)
            counts = struct.unpack("!6H", answer[:12])
            return counts[1] & 15, counts[2:], answer[12:]

        for asked in ["www.example.org A", "www.example.org AAAA", "h42.example.org A", "nowhere.example.org TXT", "alias.example.org A", "example.org SOA", "example.org NS", "mail.example.org MX", "_s._tcp.example.org SRV", "WWW.Example.ORG A", "txt.example.net TXT", "www.example.net A", "absent.example.net A", "other.test A"]:
            owner, kind = asked.split()
            code, counts, rest = sent(struct.pack("!6H", 7, 0, 1, 0, 0, 0) + name(owner) + struct.pack("!HH", kinds[kind], 1))
            yield "DNS", asked, 200, f"{code} {counts} {'(serial)' if 'SOA' in asked or code == 3 or '.net' in owner else bytes(sorted(rest)).hex()}"
        # RFC 2136: a name is added, another taken away.
        added = name("new.example.net") + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([192, 0, 2, 77])
        gone = name("txt.example.net") + struct.pack("!HHIH", 255, 255, 0, 0)
        code, *_ = sent(struct.pack("!6H", 8, 5 << 11, 1, 0, 2, 0) + name("example.net") + struct.pack("!HH", 6, 1) + added + gone)
        yield "UPDATE", "example.net", 200 if code in (0, 5) else code, str(code)
        for asked in ["new.example.net", "txt.example.net"]:
            code, counts, _ = sent(struct.pack("!6H", 9, 0, 1, 0, 0, 0) + name(asked) + struct.pack("!HH", 255, 1))
            yield "DNS", asked, 200, f"{code} {counts}"
    # Its HTTP interface comes up after DNS.
    for _ in range(50):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port ^ 1), 1):
            break
        time.sleep(0.2)
    browser = _pages.Browser(port ^ 1)

    def api(method, path, body=None, shown=True):
        status, text = browser.send(method, "/api/v1/servers/localhost/" + path, json.dumps(body) if body else None, {"X-API-Key": "secret", "Content-Type": "application/json"})
        try:
            text = json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
        except ValueError:
            pass
        hidden = [(CLOCK, "X"), (r'"(?:content|ds|dnskey|edited_serial|serial|notified_serial)": (?:"[^"]*"|\[[^]]*\]|\d+)', "Y")]
        return method, path, 200 if status in (200, 201, 204) else f"{status}: {text[:300]}", _pages.masked(text, hidden) if shown else "(not compared)"

    yield api("GET", "zones")
    yield api("POST", "zones", {"name": "api.test.", "kind": "Native", "nameservers": ["ns1.api.test."], "rrsets": [{"name": "ns1.api.test.", "type": "A", "ttl": 60, "records": [{"content": "192.0.2.1", "disabled": False}], "comments": [{"content": "wér", "account": "me"}]}]})
    yield api("PATCH", "zones/api.test.", {"rrsets": [{"name": f"x{n}.api.test.", "type": "A", "ttl": 60, "changetype": "REPLACE", "records": [{"content": f"192.0.2.{n}", "disabled": n % 2 == 0}]} for n in range(20)]})
    yield api("PATCH", "zones/api.test.", {"rrsets": [{"name": "x3.api.test.", "type": "A", "changetype": "DELETE"}]})
    yield api("GET", "zones/api.test.", shown=False)
    yield api("GET", "search-data?q=x1*&max=20")
    yield api("GET", "search-data?q=*w%C3%A9r*&max=20&object_type=comment")
    yield api("PUT", "zones/api.test./rectify")
    yield api("GET", "zones/example.org./cryptokeys", shown=False)
    yield api("PUT", "zones/api.test./metadata/ALLOW-AXFR-FROM", {"kind": "ALLOW-AXFR-FROM", "metadata": ["127.0.0.1"]})
    yield api("GET", "zones/api.test./metadata")
    yield api("GET", "zones/api.test./export", shown=False)
    yield api("DELETE", "zones/api.test.")
