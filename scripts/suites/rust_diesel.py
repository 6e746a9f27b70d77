"""diesel's own unit tests with its MySQL backend, as its package on crates.io holds them (those of its workspace that have a crate of their own are not in it), by libmariadb,
with the attribute `diesel_test_helper::test` stood in for by ours; and a small program with diesel_migrations: rust/diesel."""
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
    helper = tools / "rust/diesel_test_helper"
    shutil.copytree(_programs.HERE / "rust/diesel_test_helper", helper, dirs_exist_ok=True, copy_function=copy)
    manifest = sources / "Cargo.toml"
    if "[workspace]" not in manifest.read_text():
        manifest.write_text(manifest.read_text() + "\n[workspace]\n")
    if "diesel_test_helper" not in manifest.read_text():
        manifest.write_text(manifest.read_text() + f'\n[dev-dependencies.diesel_test_helper]\npath = "{helper}"\n')
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
