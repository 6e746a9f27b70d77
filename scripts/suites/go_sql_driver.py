"""go-sql-driver/mysql's own suite, as its module on the proxy holds it. TestConnectorReturnsTimeout is left out: it dials 1.1.1.1, and panics where that is refused at once."""
import _programs

VERSION = "v1.10.1"
TITLE = f"go-sql-driver/mysql {VERSION[1:]}"
SETTINGS = ("local_infile=1",)
EXPLAINED = [(r"cp1257", "legacy character sets come later"), (r"TestCollation$", "legacy character sets come later (cp1257)"), (r"PROCEDURE", "stored programs come later")]
SHARED = []


def install(tools):
    _programs.install_go(tools, "github.com/go-sql-driver/mysql", VERSION)


def run(target, tools, work):
    folder = _programs.install_go(tools, "github.com/go-sql-driver/mysql", VERSION)
    target.fresh("gotest")
    env = {"MYSQL_TEST_ADDR": f"{target.host}:{target.port}", "MYSQL_TEST_USER": target.user, "MYSQL_TEST_PASS": target.password, "MYSQL_TEST_DBNAME": "gotest"}
    return _programs.run_go(TITLE, folder, ["-skip", "TestConnectorReturnsTimeout", "."], env, work)
