"""PyMySQL's own suite. PyPI's archives of 1.x do not hold it; Debian's source package, which is upstream's tree, does."""
import json, shutil, subprocess, tempfile
from pathlib import Path
import harness

VERSION = "1.1.1"
TITLE = f"PyMySQL {VERSION}"
EXPLAINED = harness.LATER
SHARED = [(r"InstallPlugin", "plugins that neither server has"), (r"test_issue_36", "COM_PROCESS_KILL, which 9.7 does not know either")]


def install(tools):
    place = tools / f"pymysql-{VERSION}"
    if not place.exists():
        with tempfile.TemporaryDirectory() as scratch:
            scratch = Path(scratch)
            for folder in ("lists/partial", "cache/archives/partial", "source"):
                (scratch / folder).mkdir(parents=True)
            (scratch / "sources.list").write_text("deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main\n")
            apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={scratch}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null", "-o", f"Dir::State::Lists={scratch}/lists",
                   "-o", f"Dir::Cache={scratch}/cache"]
            subprocess.run([*apt, "update"], check=True)
            # The packaging beside upstream's archive may be missing from a mirror; only the archive is wanted.
            subprocess.run([*apt, "source", "--download-only", "python-pymysql"], cwd=scratch / "source", stderr=subprocess.DEVNULL)
            archive = next((scratch / "source").glob(f"*_{VERSION}.orig.tar.*"))
            shutil.unpack_archive(archive, scratch / "unpacked")
            shutil.move(next((scratch / "unpacked").iterdir()), place)
    harness.venv(tools / "pymysql-venv", "cryptography", "pytest")


def run(target, tools, work):
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(tools / f"pymysql-{VERSION}", tree)
    account = {"host": target.host, "port": target.port, "user": target.user, "password": target.password, "use_unicode": True}
    socket = {"unix_socket": target.socket} if target.socket else {}
    (tree / "pymysql/tests/databases.json").write_text(json.dumps([{**account, **socket, "database": "test1", "local_infile": True}, {**account, "database": "test2"}]))
    target.fresh("test1", "test2")
    python = tools / "pymysql-venv/bin/python"
    return harness.run(TITLE, [python, "-m", "pytest", "-q", "pymysql", "--junitxml", work / "results.xml", "-p", "no:cacheprovider"], cwd=tree, env={"USER": "root"},
                       timeout=900, parse=lambda _: harness.junit(work / "results.xml"), log=work / "log")
