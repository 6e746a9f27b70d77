"""The own suites of Go's jmoiron/sqlx, gorp and xorm, as their modules on the proxy hold them."""
import _programs

TITLE = "Go ORMs"
MODULES = {"sqlx": ("github.com/jmoiron/sqlx", "v1.4.0"), "gorp": ("github.com/go-gorp/gorp/v3", "v3.1.0"), "xorm": ("xorm.io/xorm", "v1.4.3")}
EXPLAINED = []
SHARED = [(r"TestSelectAlias", "gorp expects a field of one struct twice, which it does not get from any server")]


def install(tools):
    for module, version in MODULES.values():
        _programs.install_go(tools, module, version)
    # xorm's tests name a driver of another database that its registry has taken away: an empty package stands in for it.
    stub = tools / "go/dm"
    stub.mkdir(exist_ok=True)
    (stub / "go.mod").write_text("module gitee.com/travelliu/dm\n")
    (stub / "dm.go").write_text("package dm\n")
    xorm = _programs.install_go(tools, *MODULES["xorm"])
    (xorm / "suite.mod").write_text((xorm / "go.mod").read_text() + f"\nreplace gitee.com/travelliu/dm => {stub}\n")
    (xorm / "suite.sum").write_text((xorm / "go.sum").read_text())


def run(target, tools, work):
    folder = lambda name: _programs.install_go(tools, *MODULES[name])
    title = lambda name: f"{MODULES[name][0].removesuffix('/v3')} {MODULES[name][1][1:]}"
    address = f"{target.user}:{target.password}@tcp({target.host}:{target.port})"
    target.fresh("sqlxtest", "gorptest", "xorm_test")
    parts = {
        "sqlx": (["."], {"SQLX_MYSQL_DSN": f"{address}/sqlxtest?parseTime=true", "SQLX_POSTGRES_DSN": "skip", "SQLX_SQLITE_DSN": "skip"}),
        "gorp": (["-tags", "integration", "."], {"GORP_TEST_DIALECT": "mysql", "GORP_TEST_DSN": f"{address}/gorptest"}),
        "xorm": (["-modfile=suite.mod", "./tests", "-db=mysql", f"-conn_str={address}/xorm_test?charset=utf8mb4", "-show_sql=false"], {}),
    }
    results = {}
    for name, (arguments, env) in parts.items():
        (work / name).mkdir(parents=True, exist_ok=True)
        results[title(name)] = _programs.run_go(title(name), folder(name), arguments, env, work / name)
    return results
