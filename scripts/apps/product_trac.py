"""Trac: its schema by `trac-admin`, then components, milestones, versions, permissions, wiki pages by its command line; tickets, comments, queries, reports in SQL, search, timeline, roadmap, batch changes and administration by its pages; and away again."""
import re
import _pages, harness

VERSION = "1.6"
TITLE = f"Trac {VERSION} (PyMySQL)"
CLOCK = r"\b1[78]\d{14}\b|\b1[78]\d{8}\b|\b[0-9a-f]{24,64}\b|" + _pages.MOMENT
UNSEEN = ("auth_cookie", "session", "session_attribute")
REPORT = "SELECT p.value AS __color__, id AS ticket, summary, t.type AS type, COALESCE(NULLIF(owner, ''), 'nobody') AS owner, time AS _created, CASE WHEN status = 'closed' THEN 'done' ELSE status END AS state, (SELECT COUNT(*) FROM ticket_change c WHERE c.ticket = t.id AND c.field = 'comment') AS comments FROM ticket t LEFT JOIN enum p ON p.name = t.priority AND p.type = 'priority' WHERE component LIKE '$COMPONENT' ORDER BY CAST(p.value AS SIGNED), id"


def install(tools):
    harness.venv(tools / "trac-venv", f"Trac=={VERSION}", "PyMySQL==1.1.3", "cryptography", "setuptools<81", "docutils", "pygments", "babel")


def steps(target, database, tools, work):
    # It wants every text to be what it is, byte for byte.
    target.sql(f"ALTER DATABASE {database} COLLATE utf8mb4_bin; DROP USER IF EXISTS {database}; CREATE USER {database} IDENTIFIED BY 'secret'; GRANT ALL ON {database}.* TO {database}")
    programs, place = tools / "trac-venv/bin", work / "env"
    (work / "page.txt").write_text("= Größe 😀 =\nA page with a link to #1 and WikiStart, it's \\ \"here\".\n || table || 日本 ||\n")
    admin = lambda words, shown=True: (words, ["sh", "-c", f"{programs}/trac-admin {place} {words}"], shown)
    before = [("initenv", ["sh", "-c", f"rm -rf {place}; {programs}/trac-admin {place} initenv 'Prüfung' 'mysql://{database}:secret@{target.host}:{target.port}/{database}?charset=utf8mb4'"], False)]
    before += [admin(words, CLOCK) for words in ("component add 'Größe' ann", "component add core bob", "component rename core Core", "component chown Core ann", "component list", "component remove component2", "milestone add 'v 1.0 😀' 2030-01-01", "milestone due milestone1 2029-02-28", "milestone list", "milestone remove milestone4", "version add 3.0 2024-01-01", "version rename 3.0 3.0-é", "version list",
                                                 "priority add urgent", "priority order urgent up", "priority list", "severity list", "ticket_type add 'Idée'", "resolution add later", "permission add anonymous TRAC_ADMIN", "permission add ann TICKET_ADMIN WIKI_ADMIN", "permission add staff REPORT_VIEW", "permission add ann staff", "permission list ann", "permission remove ann WIKI_ADMIN",
                                                 "session add bob 'Bób' bob@example.org", "session list bob", "wiki import Size page.txt", "wiki list", "wiki export Size", "wiki rename Size 'Sub/Size'", "config set ticket-custom points text", "config set ticket-custom kind select", "config set ticket-custom kind.options 'a|b|ü'", "upgrade", "wiki upgrade")]
    return {"before": before, "serve": ["sh", "-c", f"exec {programs}/tracd -s --hostname=127.0.0.1 --port=$APP_HTTP_PORT {place}"]}


def visit(port, target, database, run):
    browser = _pages.Browser(port)
    hidden = [*_pages.CLOCKS, (r"\[?\b[0-9a-f]{24,64}\]?", "TOKEN"), (str(port), "PORT"), (r"1[78]\d{14}|1[78]\d{8}", "MOMENT"), (r"(?i)\d+ (?:seconds?|minutes?)|less than a minute|a moment", "AGO"), (r"\d\d/\d\d/\d\d", "DAY"), (r"/tmp/\S+", "PLACE")]
    page = _pages.pager(browser, hidden, ["Trac detected an internal error", "Traceback", "Oops"])
    page("/wiki")

    def token():
        found = re.search(r'name="__FORM_TOKEN" value="([0-9a-f]+)"', browser.last)
        return found.group(1) if found else ""

    def post(path, form, at=None, **more):
        at and browser.get(at)
        told = {key: value for key, value in re.findall(r'<input type="hidden" name="((?:start|view)_time|version|replyto)" value="([^"]*)"', browser.last)} if at else {}
        return page(path, form={"__FORM_TOKEN": token(), **told, **form}, **more)

    for number in range(1, 13):
        yield post("/newticket", {"field_summary": ["Pump is läck", "100% _wild_", "it's \\ \"q\"", "日本 😀"][number % 4] + f" {number}", "field_description": f"Text of '''{number}''' with #1", "field_type": ["defect", "enhancement", "Idée"][number % 3], "field_priority": ["major", "urgent", "minor"][number % 3], "field_component": ["Core", "Größe"][number % 2],
                                  "field_milestone": ["milestone1", "v 1.0 😀", ""][number % 3], "field_version": "3.0-é", "field_keywords": f"alpha beta{number % 4}", "field_cc": "bob, ann@example.org", "field_reporter": "zoë", "field_points": str(number * 5), "field_kind": "abü"[number % 3], "submit": "Create"}, "/newticket", name=f"new ticket {number}")
    for number, form in ((1, {"comment": "First ’comment’ 😀"}), (1, {"action": "resolve", "action_resolve_resolve_resolution": "fixed", "comment": "done"}), (1, {"action": "reopen", "comment": "again"}), (2, {"action": "accept"}), (3, {"action": "reassign", "action_reassign_reassign_owner": "bob"}), (4, {"action": "resolve", "action_resolve_resolve_resolution": "later"}), (5, {"comment": "[[TicketQuery(status=new)]]", "field_priority": "critical", "field_keywords": ""})):
        yield post(f"/ticket/{number}", {"action": "leave", "submit": "Submit changes", **form}, f"/ticket/{number}", name=f"change {number}")
    for path in ("/ticket/1", "/ticket/5", "/ticket/1?format=csv", "/query?status=!closed&order=priority", "/query?status=new&status=assigned&component=Core&group=milestone&order=id&desc=1", "/query?summary=~L%C3%84CK&format=csv&col=id&col=summary&col=keywords", "/query?keywords=~beta1&or&type=enhancement&order=summary", "/query?points=^1&order=points", "/query?kind=%C3%BC&col=id&col=kind",
                 "/query?summary=~100%25%20_&order=id", "/query?time=2020-01-01..2099-01-01&order=id&max=3&page=2", "/query?milestone=!milestone1&cc=~ann&order=cc", "/query?id=1-3,7&order=id", "/query?owner=$&order=id", "/report", *(f"/report/{n}" for n in range(1, 9)), "/report/1?sort=summary&asc=0&max=3&page=2", "/report/3?format=csv",
                 "/search?q=l%C3%84ck&noquickjump=1&ticket=on&wiki=on&milestone=on", "/search?q=%22100%25%20_wild%22&noquickjump=1&ticket=on", "/search?q=comment&ticket=on", "/roadmap", "/roadmap?show=completed", "/milestone/milestone1", "/milestone/milestone1?by=component", "/wiki/TitleIndex", "/wiki/Sub/Size", "/wiki/RecentChanges"):
        yield page(path)
    yield page("/timeline?daysback=30&ticket=on&ticket_details=on&milestone=on&wiki=on", shown=False)
    yield post("/report", {"action": "new", "id": "-1", "title": "Mine ü", "description": "of ''components''", "query": REPORT}, "/report?action=new")
    yield page("/report/9?COMPONENT=Core")
    yield page("/report/9?COMPONENT=%25&format=csv")
    yield post("/report/9", {"action": "edit", "id": "9", "title": "Mine", "description": "", "query": "query:?status=new&order=id"}, "/report/9?action=edit")
    for text in ("first\nversion of 😀", "second\nversion", "second\nversion, third line\n"):
        yield post("/wiki/NewPage", {"action": "edit", "text": text, "comment": "why ü", "author": "zoë", "save": "Submit changes"}, "/wiki/NewPage?action=edit", name="a page of the wiki")
    for path in ("/wiki/NewPage?action=history", "/wiki/NewPage?action=diff&version=3&old_version=1", "/wiki/NewPage?version=1", "/search?q=version&wiki=on", "/wiki/NewPage?format=txt"):
        yield page(path)
    yield post("/wiki/NewPage", {"action": "delete", "version": "3", "delete_version": "1"}, "/wiki/NewPage?action=delete&version=3", name="a version away")
    yield post("/batchmodify", {"selected_tickets": "6,7,8", "batchmod_value_comment": "all of them", "batchmod_value_priority": "trivial", "batchmod_value_keywords": "x", "action": "leave", "query_href": "/query"}, "/query?id=6-8")
    yield page("/query?id=5-9&col=id&col=priority&col=keywords&order=id")
    yield post("/milestone/milestone2", {"action": "delete", "id": "milestone2", "target": ""}, "/milestone/milestone2?action=delete")
    yield post("/milestone", {"action": "edit", "id": "milestone1", "name": "M 1", "description": "changed", "duedate": "", "save": "Submit"}, "/milestone/milestone1?action=edit")
    for path in ("/admin", "/admin/ticket/components", "/admin/ticket/priority", "/admin/general/perm", "/admin/ticket/versions", "/prefs", "/admin/general/logging"):
        yield page(path, shown=path.startswith("/admin/ticket"))
    trac = lambda words: run(f"{harness.TOOLS}/trac-venv/bin/trac-admin env {words}", hidden)
    for words in ("ticket remove 9", "ticket remove_comment 1 1", "session purge 2000-01-01", "session delete bob", "component remove Größe", "wiki remove 'Sub/*'", "permission list", "milestone completed 'M 1' '2024-01-02'", "milestone list"):
        yield trac(words)
    yield run(f"{harness.TOOLS}/trac-venv/bin/trac-admin env convert_db sqlite:db/other.db", hidden)
