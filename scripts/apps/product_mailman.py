"""GNU Mailman: its schema by its own migrations; domains, lists of every style, members with roles, preferences and moderation, users with addresses, bans, header matches, templates by its REST server; posts held and dealt with by its runners; its command line, and away again."""
import base64
import _rest, harness

VERSION = "3.3.10"
TITLE = f"GNU Mailman {VERSION} (SQLAlchemy 2, PyMySQL)"
CLOCK = _rest.BOTH + r"|\b\d{38,39}\b|\$6\$\S+|\b[A-Z2-7]{32}\b"
UNSEEN = ("pended", "pendedkeyvalue", "alembic_version")
KEYS_UNORDERED = True
BYTES_HEXADECIMAL = True
HIDDEN = ((CLOCK, "(chance)"),)
SETTINGS = """[mailman]
layout: here
site_owner: owner@example.org
[paths.here]
var_dir: {work}/var
bin_dir: {bin}
[database]
class: mailman.database.mysql.MySQLDatabase
url: mysql+pymysql://{target.user}:{target.password}@{target.host}:{target.port}/{database}?charset=utf8mb4&use_unicode=1
[webservice]
port: {port}
admin_user: restadmin
admin_pass: restpass
[mta]
incoming: mailman.mta.null.NullMTA
"""
POST = "From: {who}\nTo: ants@example.com\nSubject: {subject}\nMessage-ID: <{id}@example.net>\nDate: Mon, 1 Jan 2024 10:20:30 +0000\nContent-Type: text/plain; charset=utf-8\n\nWörds 😀 {id}\n"


def install(tools):
    harness.venv(tools / "mailman-venv", f"mailman=={VERSION}", "SQLAlchemy<2.1", "PyMySQL==1.1.3", "cryptography")


def environment(target, database, tools):
    return {"MAILMAN": str(tools / "mailman-venv/bin"), "PYTHONWARNINGS": "ignore"}


def steps(target, database, tools, work):
    settings = SETTINGS.format(work=work, bin=tools / "mailman-venv/bin", target=target, database=database, port="$PORT")
    (work / "mailman.in").write_text(settings)
    fill = f'rm -rf {work}/var; sed "s/\\$PORT/$APP_HTTP_PORT/" {work}/mailman.in > {work}/mailman.cfg; '
    return {"before": [("migrate", ["sh", "-c", fill + f'"$MAILMAN/mailman" --run-as-root -C {work}/mailman.cfg info'], False)],
            "serve": ["sh", "-c", f'exec "$MAILMAN/runner" -C {work}/mailman.cfg -r rest:0:1']}


def visit(port, target, database, run):
    api = _rest.Rest(port, CLOCK, Authorization="Basic " + base64.b64encode(b"restadmin:restpass").decode())
    cli = lambda words, shown=HIDDEN: run(f'"$MAILMAN/mailman" --run-as-root -C mailman.cfg {words}', shown)
    post = lambda path, expected=None, **form: api.ask("POST", "/3.1" + path, form=form, expected=expected)
    patch = lambda path, expected=None, **form: api.ask("PATCH", "/3.1" + path, form=form, expected=expected)
    get = lambda path, expected=None: api.ask("GET", "/3.1" + path, expected=expected)
    gone = lambda path, expected=None: api.ask("DELETE", "/3.1" + path, expected=expected)
    _rest.until(lambda: get("/system/versions")[2] == 200)
    for host, words in (("example.com", "Ünïcode 😀"), ("example.net", "")):
        yield post("/domains", mail_host=host, description=words, owner="owner@example.org")
    yield post("/domains", mail_host="example.com", expected=400)
    yield get("/domains")
    for name, style in (("ants", "legacy-default"), ("bees", "legacy-announce"), ("cats", "private-default")):
        yield post("/lists", fqdn_listname=f"{name}@example.com", style_name=style)
    yield post("/lists", fqdn_listname="ants@example.com", expected=400)
    yield post("/lists", fqdn_listname="ants@example.org", expected=400)
    yield post("/lists", fqdn_listname="ants@example.net")
    yield get("/lists?count=2&page=2")
    yield get("/lists/ants.example.com/config")
    yield patch("/lists/ants.example.com/config", description="what's \\ \"it\" 日本 😀", info="long " * 100, default_member_action="hold", advertised="False", digest_size_threshold="12.5", autoresponse_grace_period="3d", acceptable_aliases="^ant@", subject_prefix="[Änts] ", max_message_size="0")
    yield patch("/lists/ants.example.com/config", digest_size_threshold="-", expected=400)
    yield get("/lists/ants.example.com/config")
    yield patch("/lists/bees.example.com/config/archive_policy", archive_policy="never")
    verified = {"pre_verified": "True", "pre_confirmed": "True", "pre_approved": "True"}
    for n, name in enumerate(("anne", "Bart", "CRIS", "dave", "elle", "ünï")):
        mail = f"{name}@example.{('net', 'org')[n % 2]}" if name.isascii() else "uni@example.org"
        yield post("/members", list_id="ants.example.com", subscriber=mail, display_name=f"{name} Pérson", **verified)
        if n % 2:
            yield post("/members", list_id="cats.example.com", subscriber=mail, delivery_mode="plaintext_digests", **verified)
    yield post("/members", list_id="ants.example.com", subscriber="ANNE@EXAMPLE.NET", expected=409, **verified)
    yield post("/members", list_id="ants.example.com", subscriber="none", expected=400, **verified)
    yield post("/members", list_id="nobody.example.com", subscriber="anne@example.net", expected=400, **verified)
    for role, mail in (("owner", "owner@example.org"), ("moderator", "bart@example.org"), ("nonmember", "zed@example.org")):
        yield post("/members", list_id="ants.example.com", subscriber=mail, role=role, **verified)
    yield post("/members", list_id="bees.example.com", subscriber="frank@example.org", pre_verified="False", pre_confirmed="False")
    for path in ("/members?count=5&page=1", "/lists/ants.example.com/roster/member", "/lists/ants.example.com/roster/moderator", "/lists/ants.example.com/requests", "/lists/bees.example.com/requests", "/addresses", "/users?count=3&page=2",
                 "/users/owner@example.org", "/addresses/bart@example.org/memberships", "/lists/ants.example.com/member/anne@example.net"):
        yield get(path)
    for form in ({"subscriber": "*@example.org"}, {"subscriber": "a*", "role": "member"}, {"list_id": "ants.example.com", "role": "owner"}, {"subscriber": "%_*"}, {"subscriber": "BART@example.org", "fields": "email"}):
        yield api.ask("POST", "/3.1/members/find", form=form)
    yield api.ask("GET", "/3.1/lists/find?subscriber=bart@example.org&role=member")
    # Users and their addresses, preferences on each level.
    yield post("/users", email="gwen@example.com", display_name="Gwen", password="secret")
    yield post("/users", email="GWEN@example.com", expected=400)
    yield post("/users/gwen@example.com/addresses", email="gwen@example.net", display_name="at home")
    yield post("/users/gwen@example.com/addresses", email="gwen@example.net", expected=400)
    yield post("/addresses/gwen@example.net/verify")
    yield post("/users/gwen@example.com/preferred_address", email="gwen@example.net")
    yield post("/users/gwen@example.com/login", cleartext_password="wrong", expected=403)
    yield post("/users/gwen@example.com/login", cleartext_password="secret")
    yield patch("/users/gwen@example.com", display_name="Gwén", is_server_owner="True")
    yield patch("/users/gwen@example.com/preferences", acknowledge_posts="True", preferred_language="fr", delivery_mode="mime_digests")
    yield patch("/addresses/anne@example.net/preferences", delivery_status="by_user")
    for path in ("/users/gwen@example.com/addresses", "/users/gwen@example.com/preferences", "/addresses/anne@example.net/preferences", "/owners"):
        yield get(path)
    # Bans, header matches, templates.
    for mail in ("bad@example.org", "^.*@spam\\.example$"):
        yield post("/lists/ants.example.com/bans", email=mail)
        yield post("/bans", email=mail)
    yield post("/bans", email="bad@example.org", expected=400)
    yield post("/members", list_id="ants.example.com", subscriber="a@spam.example", expected=400, **verified)
    for header, pattern, action in (("X-Spam", "yes", "discard"), ("Subject", "(?i)sale", "hold"), ("From", "^x@", "reject")):
        yield post("/lists/ants.example.com/header-matches", header=header, pattern=pattern, action=action)
    yield patch("/lists/ants.example.com/header-matches/2", position="0")
    yield gone("/lists/ants.example.com/header-matches/1")
    yield get("/lists/ants.example.com/header-matches")
    yield patch("/lists/ants.example.com/uris", **{"list:user:notice:welcome": "http://127.0.0.1:9/welcome", "list:member:regular:footer": "mailman:///$listname/footer"})
    yield get("/lists/ants.example.com/uris")
    # Posts: some are held, and dealt with.
    for n, (who, subject) in enumerate((("anne@example.net", "hello"), ("stranger@example.org", "from nobody 😀"), ("bart@example.org", "Big SALE"), ("stranger@example.org", "again"), ("bad@example.org", "x"), ("zed@example.org", "nonmember"))):
        yield api.ask("POST", "/3.1/queues/in", form={"list_id": "ants.example.com", "text": POST.format(who=who, subject=subject, id=f"id{n}")}, shown=False)
    yield run('"$MAILMAN/runner" -C mailman.cfg -r in:0:1 -o', name="the runner of what comes in")
    yield get("/lists/ants.example.com/held/count")
    yield api.ask("GET", "/3.1/lists/ants.example.com/held?count=10&page=1", shown=False)
    held = sorted((one["subject"], one["request_id"]) for one in api.answer.get("entries", []))
    yield "held", "subjects", 200, repr([subject for subject, _ in held])
    for (_, request), action in zip(held, ("accept", "reject", "discard", "defer")):
        yield post(f"/lists/ants.example.com/held/{request}", action=action)
    yield get("/lists/ants.example.com/held/count")
    for queue in ("pipeline", "virgin", "bounces"):
        yield run(f'"$MAILMAN/runner" -C mailman.cfg -r {queue}:0:1 -o', name=f"the runner of {queue}")
    yield cli("lists -d -n")
    yield cli("members ants@example.com --role member -r --nomail any", None)
    yield cli("members ants@example.com")
    yield cli("findmember '^.*@example.org$'")
    yield run("printf 'Hugo <hugo@example.org>\\nanne@example.net\\niris@example.org\\n' > in.txt; \"$MAILMAN/mailman\" --run-as-root -C mailman.cfg addmembers in.txt bees@example.com; \"$MAILMAN/mailman\" --run-as-root -C mailman.cfg syncmembers in.txt cats@example.com", HIDDEN, name="addmembers, syncmembers")
    yield cli("delmembers -m hugo@example.org -l bees@example.com")
    yield cli("digests --list cats@example.com --bump --verbose")
    yield cli("create dogs@example.net -o owner@example.org -q")
    yield cli("remove dogs@example.net")
    yield cli("status", None)
    # And away again.
    yield gone("/lists/ants.example.com/member/dave@example.org")
    yield gone("/users/gwen@example.com")
    yield gone("/addresses/elle@example.net", expected=204)
    yield gone("/lists/ants.example.com/bans/bad@example.org")
    yield gone("/lists/cats.example.com")
    yield gone("/domains/example.net")
    yield get("/lists")
    yield get("/members")
