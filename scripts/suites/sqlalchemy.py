"""SQLAlchemy's suite: its MySQL dialect's tests, the suite for dialects, and all tests that are marked as depending on the database, by two drivers."""
import re
import harness

VERSION = "2.1.9"
TITLE = f"SQLAlchemy {VERSION}"
EXPLAINED = [
    (r"test_reflect_comment_unicode", "comments keep characters beyond U+FFFF, of which MySQL makes `?`"),
    (r"test_empty_set_empty_string", "a SET with an empty member: '' is that member here, none in MySQL"),
    (r"test_misordered_lastrow", "the only engine is InnoDB"),
    *harness.LATER,
    (r"cattable", "a table that a failed FULLTEXT test leaves behind"),
]
SHARED = []
# What is marked `__backend__` elsewhere in the suite; --backend-only leaves the rest out.
MORE = ["test/sql", "test/engine", "test/orm"]


def install(tools):
    harness.sdist("SQLAlchemy", VERSION, tools)
    harness.venv(tools / "sqlalchemy-venv", "pytest", "pytest-xdist", "greenlet", "typing_extensions", "PyMySQL==1.2.4", "cryptography", "mysql-connector-python==26.10.0")


def plain(name):
    """Names of tests say the server's version."""
    return re.sub(r"_mysql\+\w+?_[\d_]+\.", ".", name)


def run(target, tools, work):
    python, tree = tools / "sqlalchemy-venv/bin/python", tools / f"SQLAlchemy-{VERSION}"
    results = {}
    for part, driver, query, tests in (("dialect, by PyMySQL", "pymysql", "charset=utf8mb4", ["test/dialect/mysql", "test/dialect/test_suite.py"]),
                                       ("dialect, by Connector/Python", "mysqlconnector", "charset=utf8mb4", ["test/dialect/mysql", "test/dialect/test_suite.py"]),
                                       ("core and ORM, by PyMySQL", "pymysql", "charset=utf8mb4", ["--backend-only", *MORE])):
        target.fresh("test", "test_schema")
        xml = work / (part.replace(" ", "-").replace("/", "-").replace(",", "") + ".xml")
        xml.unlink(missing_ok=True)
        results[f"{TITLE}: {part}"] = harness.run(
            part, [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:logging", "--dburi", f"mysql+{driver}://root@{target.host}:{target.port}/test?{query}", *tests,
                   "--junitxml", xml], cwd=tree, timeout=3000, parse=lambda _: harness.junit(xml, plain), log=xml.with_suffix(".log"))
    return results
