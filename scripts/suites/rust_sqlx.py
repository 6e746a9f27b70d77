"""sqlx's own MySQL tests, as its package on crates.io holds them, with the crate `sqlx-test` stood in for by ours (rust/sqlx-test), since no registry has it.
`query!` asks the server at compile time, so that macros.rs is compiled against each server. Left out: rustsec.rs, which needs 8 GiB of memory."""
import os, shutil
import _programs

VERSION = "0.9.0"
TITLE = f"sqlx {VERSION} (Rust)"
EXPLAINED = []
SHARED = []
TESTS = ["derives", "describe", "error", "macros", "migrate", "mysql", "test-attr", "types"]


def install(tools):
    sources = _programs.install_crate(tools, "sqlx", VERSION)
    place = tools / "rust/sqlx"
    (place / "sqlx-test").mkdir(parents=True, exist_ok=True)
    for name in ("Cargo.toml",):
        copy(_programs.HERE / "rust/sqlx" / name, place / name)
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
    env = {"DATABASE_URL": f"mysql://{target.user}:{target.password or 'unused'}@{target.host}:{target.port}/sqlx".replace(":unused", "")}
    return _programs.run_cargo(TITLE, place, ["test", "--no-fail-fast", *(word for test in TESTS for word in ("--test", f"mysql-{test}")), "--", "--test-threads=4"], env, work)
