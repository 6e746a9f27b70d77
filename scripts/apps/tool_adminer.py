"""Adminer as Debian packages it: a database, its tables, keys, views, rows, an SQL command, changes, a dump, variables, accounts."""
import re, urllib.parse
import _pages, harness
from _pages import SCHEMA

TITLE = "Adminer 4.8.1 (mysqli)"


def install(tools):
    harness.apt("php-cli", "php-mysql", "adminer")


def steps(target, database, tools, work):
    # It refuses accounts without a password.
    target.sql("DROP USER IF EXISTS tool_adminer; CREATE USER tool_adminer IDENTIFIED BY 'secret'; GRANT ALL ON tool_adminer.* TO tool_adminer; GRANT SELECT ON mysql.* TO tool_adminer")
    (work / "sessions").mkdir(exist_ok=True)
    return {"before": [], "serve": ["sh", "-c", f"cd /usr/share/adminer/adminer && exec php -d session.save_path={work}/sessions -d display_errors=1 -d error_reporting=1 -d mysqli.default_socket=/nowhere -S 127.0.0.1:$APP_HTTP_PORT"]}


def visit(port, target, database):
    browser = _pages.Browser(port)
    server = f"{target.host}:{target.port}"
    base = "/index.php?" + urllib.parse.urlencode({"server": server, "username": "tool_adminer"})
    here = base + "&db=" + database
    hidden = [(re.escape(str(target.port)), "PORT"), (r"(?s)MySQL\s+[\d.]+[^\n]*", "MySQL"), (r"\(?\d+\.\d+ s\)?", "TIME"), (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b(?!\.)", "NOW"), (r"\[\d+:\d+\]", "[TOKEN]"),
              (r"(?m)^\[?[0-9a-f]{32}\]?$", "TOKEN"), (r"\b\d\d:\d\d:\d\d\b(?! *\.)", "NOW"), (r"tool_adminer@\S+", "ACCOUNT"), *_pages.LISTS]

    def page(path, form=None, shown=True):
        status, body = browser.get(path, form)
        body = re.sub(r"(?s)<div id=['\"]explain-.*?</table>", "", body)  # what EXPLAIN says is the plan's affair
        wrong = re.findall(r"(?s)<p class=['\"]error['\"]>(.*?)(?:\n|</p>|$)", body) + re.findall(r"<b>(?:Fatal error|Warning)</b>[^\n]*", body)
        if wrong:
            status = f"{status} with {wrong[0][:300]}"
        name = path.replace(base, "").replace(f"&db={database}", "") or "/"
        return ("POST" if form else "GET"), name, status, _pages.text(body, hidden) if shown else "(not compared)"

    token = lambda: re.search(r"name=['\"]token['\"] value=['\"]([\d:]+)", browser.get(here + "&sql=")[1]).group(1)
    browser.get("/index.php")
    browser.get("/index.php", {"auth[driver]": "server", "auth[server]": server, "auth[username]": "tool_adminer", "auth[password]": "secret", "auth[db]": database})
    # Sizes, counts of rows that are estimates, variables and processes are a server's own.
    for path, shown in (("", False), ("&variables=", False), ("&status=", False), ("&processlist=", False), ("&privileges=", False)):
        yield page(base + path, shown=shown)
    yield page(here, shown=False)
    for path in ("&schema=", "&table=author", "&table=book", "&view=shelf", "&table=shelf", "&select=author", "&select=book", "&select=shelf", "&create=author", "&create=book", "&indexes=author", "&foreign=book&name=written", "&edit=book&where%5Bid%5D=1"):
        yield page(here + path)
    command = "SELECT a.name, COUNT(*) AS n FROM author a LEFT JOIN book b ON b.author_id = a.id GROUP BY a.id ORDER BY 1; SHOW WARNINGS; SELECT 1/0; INSERT INTO author (name) VALUES ('x')"
    yield page(here + "&sql=", {"query": command, "token": token()})
    yield page(here + "&edit=author&where%5Bid%5D=2", {"fields[name]": "changed", "fields[z_mail]": "c@example.org", "fields[z_kind]": "1", "fields[born]": "2001-02-03", "fields[balance]": "5", "token": token()}, shown=False)
    yield page(here + "&select=author")
    yield page(here + "&dump=", {"output": "text", "format": "sql", "db_style": "", "table_style": "DROP+CREATE", "data_style": "INSERT", "auto_increment": "1", "tables[]": "author", "data[]": "author", "token": token()})
    yield page(here + "&select=book&where%5B0%5D%5Bcol%5D=title&where%5B0%5D%5Bop%5D=LIKE+%25%25&where%5B0%5D%5Bval%5D=dis&order%5B0%5D=id")
