"""diesel's own unit tests with its MySQL backend, as its package on crates.io holds them (those of its workspace that have a crate of their own are not in it), by libmariadb;
and a small program with diesel_migrations: rust/diesel."""
import shutil
import _programs, harness
from rust_sqlx import copy

VERSION = "2.3.14"
TITLE = f"diesel {VERSION} (Rust)"
EXPLAINED = []
SHARED = []


def install(tools):
    harness.apt("libmariadb-dev", "pkg-config", "gcc")
    sources = _programs.install_crate(tools, "diesel", VERSION)
    if "[workspace]" not in (sources / "Cargo.toml").read_text():
        (sources / "Cargo.toml").write_text((sources / "Cargo.toml").read_text() + "\n[workspace]\n")
    shutil.copytree(_programs.HERE / "rust/diesel", tools / "rust/diesel", dirs_exist_ok=True, copy_function=copy)


def run(target, tools, work):
    target.fresh("diesel_test", "diesel_shop")
    url = lambda database: f"mysql://{target.user}{':' + target.password if target.password else ''}@{target.host}:{target.port}/{database}"
    results = {}
    for part, folder, arguments, database in (
            ("own unit tests", tools / f"rust/diesel-{VERSION}", ["test", "--lib", "--no-fail-fast", "--no-default-features", "--features", "mysql,with-deprecated,32-column-tables,chrono,time,serde_json,numeric,r2d2", "--", "--test-threads=2"], "diesel_test"),
            ("program of ours", tools / "rust/diesel", ["test", "--no-fail-fast", "--", "--test-threads=1"], "diesel_shop")):
        (work / part.replace(" ", "-")).mkdir(exist_ok=True)
        env = {"DATABASE_URL": url(database), "MYSQL_DATABASE_URL": url(database), "MYSQL_UNIT_TEST_DATABASE_URL": url(database)}
        results[f"{TITLE}: {part}"] = _programs.run_cargo(f"{TITLE}: {part}", folder, arguments, env, work / part.replace(" ", "-"))
    return results
