"""MySQL Connector/Python's own suite, out of its source archive, with `--use-external-server`: what starts or stops servers of its own is skipped by it."""
import re, shutil
import harness

VERSION = "26.10.0"
TITLE = f"MySQL Connector/Python {VERSION}"
SETTINGS = ("local_infile=1",)
EXPLAINED = [
    (r"test_cmd_refresh", "FLUSH PRIVILEGES warns (1681) as in 9.7, which is not expected of a server that says 8.4"),
    (r"MySQLCursorPreparedTests\.test_execute", "what a parameter in a select list is: text when it is prepared, here"),
    (r"test_shutdown", "Aborted_clients is read at once, before the lost client has been noticed"),
    (r"Table 'account' already exists", "what a test of triggers, which come later, leaves behind"),
    *harness.LATER,
]
SHARED = [(r"test_qa_multi_statement", "the scripts that these tests read are not in the archive")]


def install(tools):
    harness.sdist("mysql-connector-python", VERSION, tools)
    harness.venv(tools / "mysql-connector-venv", f"mysql-connector-python=={VERSION}", "setuptools<80", "cryptography", "dnspython")


def counted(output):
    result = harness.unittest_text(output)
    skipped = re.search(r"Skipped tests: (\d+)", output)  # its runner keeps count by itself
    if skipped and not result.skipped:
        result.skipped = int(skipped.group(1))
        result.passed -= result.skipped
    return result


def run(target, tools, work):
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(next(tools.glob(f"mysql-connector-python-{VERSION}")), tree)
    python = tools / "mysql-connector-venv/bin/python"
    socket = ["--unix-socket", target.socket] if target.socket else []
    return harness.run(TITLE, [python, "unittests.py", "--use-external-server", "--skip-install", "--host", target.host, "--port", target.port, "--user", "root", *socket, "--verbosity", "2"],
                       cwd=tree, timeout=2400, parse=counted, log=work / "log")
