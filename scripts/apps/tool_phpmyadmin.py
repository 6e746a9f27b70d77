"""phpMyAdmin as Debian packages it, unpacked (its installer would want a server of its own): databases, structures, keys, relations, rows, SQL, search, export, designer."""
import re, shutil, urllib.parse
import _pages, harness
from _pages import SCHEMA

TITLE = "phpMyAdmin 5.2.1 (mysqli)"
CONFIG = """<?php
$cfg['blowfish_secret'] = str_repeat('x', 32);
$cfg['Servers'][1] = ['auth_type' => 'config', 'host' => getenv('APP_HOST'), 'port' => getenv('APP_PORT'), 'user' => 'tool_phpmyadmin', 'password' => 'secret', 'AllowNoPassword' => true];
$cfg['TempDir'] = getenv('APP_TEMP');
$cfg['SendErrorReports'] = 'never';
$cfg['VersionCheck'] = false;
$cfg['Console']['StartHistory'] = false;
"""


def install(tools):
    place = tools / "phpmyadmin"
    if (place / "index.php").exists():
        return
    tree = harness.unpacked(tools / "phpmyadmin-tree", "phpmyadmin", depends=r"php-(?!json|common)[\w-]+")
    shutil.move(tree / "usr/share/phpmyadmin", place)
    # Where it is configured, which is Debian's choice of folders.
    vendor = place / "libraries/vendor_config.php"
    vendor.write_text(vendor.read_text().replace("'/etc/phpmyadmin/config.inc.php'", f"'{place}/config.inc.php'").replace("'/var/lib/phpmyadmin/tmp/'", "getenv('APP_TEMP') . '/'"))
    (place / "config.inc.php").write_text(CONFIG)


def steps(target, database, tools, work):
    target.sql("DROP USER IF EXISTS tool_phpmyadmin; CREATE USER tool_phpmyadmin IDENTIFIED BY 'secret'; GRANT ALL ON tool_phpmyadmin.* TO tool_phpmyadmin; GRANT SELECT ON mysql.* TO tool_phpmyadmin")
    (work / "temp").mkdir(exist_ok=True)
    return {"before": [], "serve": ["sh", "-c", f"cd {tools}/phpmyadmin && APP_TEMP={work}/temp exec php -d session.save_path={work}/temp -d display_errors=1 -d error_reporting=1 -S 127.0.0.1:$APP_HTTP_PORT"]}


def visit(port, target, database):
    browser = _pages.Browser(port)
    hidden = [(f"{target.port}|{port}", "PORT"), (r"\(?[Qq]uery took [\d.]+ seconds?\.?\)?", "TIME"), (r"\b[0-9a-f]{20,64}\b", "TOKEN"), (r"\d{4}-\d\d-\d\d at \d\d:\d\d[^\n]*|\w{3} \d\d, \d{4} at \d\d:\d\d [AP]M", "NOW"),
              (r"(?m)^Server version:[^\n]*|^-- (?:Generation Time|Server version|Host):[^\n]*|^(?:PHP|Server) version[^\n]*$", "VERSION"), (r"(?m)^\[?\d+(?:\.\d+)?\]?\s*(?:\n\s*)?(?:B|KiB|MiB|bytes)$", "SIZE"), (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b(?!\.)", "NOW"), (r"Optimize table\n", ""), *_pages.LISTS]
    first = browser.get("/index.php?route=/")[1]
    token = re.search(r'name="token" value="([0-9a-f]+)"|token:"([0-9a-f]+)"', first)
    token = next(filter(None, token.groups())) if token else ""

    def page(route, shown=True, form=None, **more):
        path = "/index.php?" + urllib.parse.urlencode({"route": route, "db": database, "server": 1, **more})
        status, body = browser.get(path, {"token": token, "db": database, **form} if form is not None else None)
        body = body.replace("Javascript must be enabled past this point!", "")
        wrong = [part for part in re.findall(r"(?s)class=\"alert alert-danger\"[^>]*>(.*?)</div>", body) if _pages.text(part, [])] + re.findall(r"(?:<b>(?:Fatal error|Warning)</b>|Uncaught)[^\n]*", body)
        if wrong:
            status = f"{status} with {_pages.text(wrong[0], hidden)[:500]}"
        return ("POST" if form is not None else "GET"), f"{route} {more or ''}", status, _pages.text(body, hidden) if shown else "(not compared)"

    # Sizes, estimates of rows, variables and processes are a server's own.
    for route in ("/", "/server/databases", "/server/status", "/server/variables", "/server/collations", "/server/engines", "/server/privileges"):
        yield page(route, False)
    yield page("/database/structure", False)
    yield page("/table/structure", table="author")
    yield page("/table/structure", table="book")
    yield page("/table/relation", table="book")
    yield page("/table/structure", False, table="shelf")
    yield page("/sql", table="author", pos=0)
    yield page("/sql", table="book", pos=0)
    yield page("/table/change", table="book", where_clause="`book`.`id` = 1", default_action="update")
    yield page("/table/operations", False, table="author")
    yield page("/database/operations", False)
    yield page("/database/designer", False)
    yield page("/database/search", form={"criteriaSearchString": "Dispossessed", "criteriaSearchType": "1", "criteriaTables[]": "book", "submit_search": "Go"})
    yield page("/import", form={"sql_query": "SELECT a.name, COUNT(*) AS n FROM author a LEFT JOIN book b ON b.author_id = a.id GROUP BY a.id ORDER BY 1", "sql_delimiter": ";", "is_js_confirmed": "0", "format": "sql"})
    yield page("/table/replace", False, table="author", form={"table": "author", "where_clause[0]": "`author`.`id` = 2", "clause_is_unique": "1", "submit_type": "save", "after_insert": "back",
                                                            "fields[multi_edit][0][b068931cc450442b63f5b3d276ea4297]": "changed", "fields_name[multi_edit][0][b068931cc450442b63f5b3d276ea4297]": "name",
                                                            "fields_prev[multi_edit][0][b068931cc450442b63f5b3d276ea4297]": "x", "funcs[multi_edit][0][b068931cc450442b63f5b3d276ea4297]": ""})
    yield page("/export", form={"export_type": "table", "table": "author", "what": "sql", "sql_structure_or_data": "structure_and_data", "output_format": "astext", "quick_or_custom": "quick", "allrows": "1",
                                "sql_create_table": "1", "sql_insert_syntax": "both", "sql_include_comments": "something", "single_table": "1", "asfile": "0"})
