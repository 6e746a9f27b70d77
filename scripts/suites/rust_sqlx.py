"""sqlx's own MySQL tests, as its package on crates.io holds them, with the crate `sqlx-test` stood in for by ours (rust/sqlx-test), since no registry has it.
`query!` asks the server at compile time, so that macros.rs is compiled against each server. Left out: rustsec.rs, which needs 8 GiB of memory."""
import os, shutil
import _programs, harness

VERSION = "0.9.0"
TITLE = f"sqlx {VERSION} (Rust)"
EXPLAINED = [(r"it_drops_results_in_affected_rows", "it reads mysql.time_zone, which is not there")]
SHARED = []
TESTS = ["derives", "describe", "error", "macros", "migrate", "mysql", "test-attr", "types"]


def install(tools):
    sources = _programs.install_crate(tools, "sqlx", VERSION)
    place = tools / "rust/sqlx"
    (place / "sqlx-test").mkdir(parents=True, exist_ok=True)
    copy(_programs.HERE / "rust/sqlx/Cargo.toml", place / "Cargo.toml")
    shutil.copytree(_programs.HERE / "rust/sqlx-test", place / "sqlx-test", dirs_exist_ok=True, copy_function=copy)
    if not (place / "tests").exists():
        shutil.copytree(sources / "tests", place / "tests")
    (place / "lib.rs").touch()


def copy(source, target):
    """Leaves what is the same alone: cargo would build it again."""
    if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
        shutil.copy(source, target)
    return target


def run(target, tools, work):
    place = tools / "rust/sqlx"
    target.fresh("sqlx")
    target.sql("DROP USER IF EXISTS 'no_password'@'%'")
    target.sql((place / "tests/mysql/setup.sql").read_text(), "sqlx")
    # Its tests read the answer of a compile-time connection: which server that was is no part of what cargo compares.
    os.utime(place / "tests/mysql/macros.rs")
    env = {"DATABASE_URL": f"mysql://{target.user}{':' + target.password if target.password else ''}@{target.host}:{target.port}/sqlx"}
    results = harness.Result()
    # Apart, since what does not compile takes the others with it.
    for tests in ([test for test in TESTS if test != "macros"], ["macros"]):
        results += _programs.run_cargo(TITLE, place, ["test", "--no-fail-fast", *(word for test in tests for word in ("--test", f"mysql-{test}")), "--", "--test-threads=4"], env, work)
    return results
