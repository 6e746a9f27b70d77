"""What the suites of `scripts/suites/` share: a fresh Altiplano, the MySQL beside it, running a suite, reading its results, the table.

A suite is a module of this folder:

    TITLE = "PyMySQL 1.1.1"              what stands in the table
    def install(tools): ...              fetches client and suite into the folder `tools` (kept between runs); does nothing when they are there
    def run(target, tools, work): ...    runs it, unmodified, against `target`, in the scratch folder `work`; returns a Result
    EXPLAINED = [(pattern, reason)]      why tests fail here that pass on MySQL: a regular expression for the test's name (and, after a line end, its message)
    SHARED = [(pattern, reason)]         why tests fail on both

`run` may return several Results (a dict by part's name), which become several rows.
"""
import contextlib, os, re, resource, shutil, signal, socket, subprocess, sys, tempfile, time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = Path(os.environ.get("ALTIPLANO_TOOLS", "/var/tmp/altiplano-tools")) / "suites"


# Reasons that several suites share: what a later issue brings. They go by the server's own words, so that a test that fails otherwise stays unexplained.
LATER = [
    (r"support '(CREATE|DROP|ALTER|SHOW CREATE) (PROCEDURE|FUNCTION|TRIGGER|EVENT)|PROCEDURE \S+ does not exist", "stored programs and triggers come later"),
    (r"support 'FULLTEXT", "FULLTEXT comes later"),
    (r"support '(spatial|SPATIAL)", "spatial columns come later"),
    (r"support '(PARTITION|partition|subpartition)", "partitions come later"),
    (r"Unknown character set: '(?!utf8)", "legacy character sets, UTF-16 and UTF-32 come later"),
    (r"Unknown collation: '\w+_(esperanto|swedish|spanish2?|danish|icelandic|latvian|romanian|slovenian|polish|estonian|turkish|czech|lithuanian|slovak|roman|persian|hungarian|sinhala|german2|croatian|vietnamese)_ci'",
     "the languages' collations of UCA 4.0 are not there"),
    (r"Unknown collation: 'utf8mb4_\w+_0900_", "a language's collation of UCA 9.0 that is not there"),
    (r"support '(INSTALL|UNINSTALL)|FUNCTION \S*mysql_query_attribute_string does not exist", "no components, so no mysql_query_attribute_string()"),
    (r"(MyISAM|MYISAM|myisam|MEMORY)", "the only engine is InnoDB"),
]


def say(text):
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


@dataclass
class Result:
    """What a suite came to. `failures` has each failed test's name with its message; failures and errors are alike."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: dict = field(default_factory=dict)
    tests: set = field(default_factory=set)
    seconds: float = 0
    log: str = ""

    def __add__(self, other):
        return Result(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped, {**self.failures, **other.failures},
                      self.tests | other.tests, self.seconds + other.seconds, self.log + other.log)


@dataclass
class Target:
    """A server to run against: root without password over TCP; `socket` is a path that this process can reach, or None."""

    name: str
    host: str
    port: int
    socket: str = None
    user: str = "root"
    password: str = ""
    version: str = ""

    def sql(self, text, database=None, check=True, options=()):
        """Runs statements by the `mysql` program; returns what it prints (tab separated, no headings). `options` are some of its own."""
        command = ["mysql", "--ssl=0", "--default-character-set=utf8mb4", "--skip-column-names", "--batch", *options, f"-h{self.host}", f"-P{self.port}", f"-u{self.user}", *([f"-p{self.password}"] if self.password else []), *([database] if database else [])]
        done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace")
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr.strip()} in: {text[:300]}")
        return done.stdout.rstrip("\n")

    def fresh(self, *databases, **options):
        """Makes databases of these names, empty."""
        for name in databases:
            self.sql(f"DROP DATABASE IF EXISTS `{name}`; CREATE DATABASE `{name}`" + "".join(f" {k} {v}" for k, v in options.items()))


@contextlib.contextmanager
def server(program=None, keep=False, settings=(), pool="256M"):
    """A new Altiplano on a port and in a directory of its own; ends with the block. `settings` are "name=value" for --set."""
    program = Path(program or next((p for p in (ROOT / "target/fast/altiplano", ROOT / "target/release/altiplano") if p.exists()), "missing"))
    if not program.exists():
        sys.exit("no server program: cargo build --profile fast -p server, or --server PATH")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    directory = Path(tempfile.mkdtemp(prefix="altiplano-suites-"))
    log = directory / "log"
    with open(log, "w") as errors:
        process = subprocess.Popen([program, "serve", "--data-dir", directory / "data", "--port", str(port), "--socket", directory / "sock", "--buffer-pool-size", pool,
                                    *(word for setting in settings for word in ("--set", setting))], stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
    try:
        for _ in range(600):
            if "ready; data in" in log.read_text():
                break
            if process.poll() is not None:
                sys.exit("the server did not start:\n" + log.read_text())
            time.sleep(0.05)
        target = Target("Altiplano", "127.0.0.1", port, str(directory / "sock"))
        target.version = target.sql("SELECT VERSION()")
        yield target
        if process.poll() is not None:
            say(f"THE SERVER ENDED with {process.returncode}")
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
        for line in log.read_text().splitlines():
            if "panicked" in line or "[ERROR]" in line:
                say("the server's log: " + line)
        if keep:
            say(f"kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


def peer(address="127.0.0.1:13097"):
    """The MySQL at `address` (root without password), or None when nobody answers there."""
    host, port = address.rsplit(":", 1)
    target = Target("MySQL", host, int(port))
    try:
        target.version = target.sql("SELECT VERSION()")
    except (RuntimeError, OSError):
        return None
    # The unix socket, where its server runs below /var/tmp/peers (see ../shared/peers).
    for candidate in Path("/var/tmp/peers").glob("*/run/*.sock"):
        done = subprocess.run(["mysql", "-NB", "-uroot", f"--socket={candidate}", "-e", "SELECT @@port"], capture_output=True, text=True)
        if done.stdout.strip() == port:
            target.socket = str(candidate)
    return target


def run(name, argv, env=None, cwd=None, timeout=3600, parse=None, log=None):
    """Runs a suite's own runner to its end and returns parse(what it printed) as a Result; `log` gets the output. A suite that hangs is ended, and what it had printed counts."""
    say(f"{name}: {' '.join(str(word) for word in argv)[:150]}")
    begin = time.time()
    process = subprocess.Popen([str(word) for word in argv], env={**os.environ, **(env or {})}, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"\nENDED after {timeout} s\n"
    if log:
        Path(log).write_text(output)
    result = parse(output) if parse else Result()
    if not result.tests and not result.passed and not result.failed:
        last = "\n".join(output.splitlines()[-15:])
        say(f"{name}: no results; its last lines:\n{last}")
        result.failed, result.failures["(nothing ran)"] = 1, last
    result.seconds, result.log = time.time() - begin, output
    say(f"{name}: {result.passed} passed, {result.failed} failed, {result.skipped} skipped in {result.seconds:.0f} s")
    return result


def junit(path, rename=lambda name: name):
    """Reads a file of JUnit's XML (pytest --junitxml, go-junit-report, mocha-junit-reporter, surefire). `rename` takes out of names what differs between servers."""
    result = Result()
    if not Path(path).exists():
        return result
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = rename(f"{case.get('classname', '')}.{case.get('name', '')}".strip("."))
        result.tests.add(name)
        wrong = [part for part in case if part.tag in ("failure", "error")]
        if wrong:
            result.failed += 1
            result.failures[name] = (wrong[0].get("message") or "")[:2000] + "\n" + (wrong[0].text or "")[-4000:]
        elif any(part.tag == "skipped" for part in case):
            result.skipped += 1
        else:
            result.passed += 1
    return result


def unittest_text(output):
    """Reads what Python's unittest prints: the sections of failures, and its last lines for the counts (a test counts once, whatever its subtests do)."""
    result = Result()
    for kind, name, text in re.findall(r"^={70}\n(FAIL|ERROR): ([^\n]+)\n(.*?)(?=^={70}\n|^-{70}\nRan )", output, re.M | re.S):
        plain = re.match(r"\w+ \([\w.]+\)", name)
        name = plain.group(0) if plain else name
        result.failures[name] = result.failures.get(name, "") + text[-4000:]
    last = re.search(r"^(?:OK|FAILED)(?: \((.*)\))?$", output, re.M)
    ran = re.search(r"^Ran (\d+) tests?", output, re.M)
    if ran:
        counts = dict(re.findall(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d+)", (last and last.group(1)) or ""))
        result.skipped = int(counts.get("skipped", 0))
        result.failed = len(result.failures)
        result.passed = int(ran.group(1)) - result.skipped - result.failed
    return result


def explain(failures, reasons):
    """Sorts failures by reason: {reason: [names]}, with None for those that nothing explains."""
    sorted_failures = {}
    for name, message in failures.items():
        text = f"{name}\n{message}"
        reason = next((reason for pattern, reason in reasons if re.search(pattern, text)), None)
        sorted_failures.setdefault(reason, []).append(name)
    return sorted_failures


def report(rows, out=sys.stdout):
    """Prints the table: rows are (title, ours: Result, theirs: Result or None, explained, shared)."""
    lines = ["| Suite | Altiplano: passed, failed, skipped | MySQL: passed, failed, skipped | failed here only | explained |", "|---|---|---|---|---|"]
    notes = []
    for title, ours, theirs, explained, shared in rows:
        here_only = {name: text for name, text in ours.failures.items() if theirs is None or name not in theirs.failures}
        reasons = explain(here_only, explained)
        unexplained = reasons.pop(None, [])
        cell = lambda r: f"{r.passed}, {r.failed}, {r.skipped}" if r else "-"
        lines.append(f"| {title} | {cell(ours)} | {cell(theirs)} | {len(here_only)} | {len(here_only) - len(unexplained)} |")
        for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
            notes.append(f"- {title}: {len(names)} here only: {reason}")
        if unexplained:
            notes.append(f"- {title}: {len(unexplained)} here only: NOT EXPLAINED: " + ", ".join(sorted(unexplained)[:40]))
        if theirs:
            for reason, names in explain({n: t for n, t in ours.failures.items() if n in theirs.failures}, shared).items():
                notes.append(f"- {title}: {len(names)} on both: {reason or 'not explained: ' + ', '.join(sorted(names)[:20])}")
            there_only = sorted(set(theirs.failures) - set(ours.failures))
            if there_only:
                notes.append(f"- {title}: {len(there_only)} on MySQL only: " + ", ".join(there_only[:10]))
    print("\n".join([*lines, "", *notes]), file=out)


# ---- fetching, for `install` ----
def apt(*packages):
    """Installs Debian packages that are missing."""
    missing = [p for p in packages if subprocess.run(["dpkg", "-s", p], capture_output=True).returncode]
    if missing and subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], capture_output=True).returncode:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], check=True, stdout=subprocess.DEVNULL)


def unpacked(folder, *packages, depends=""):
    """Debian packages, unpacked but not installed (their installers would start services, or want a server of their own), as one tree; returns its path.

    Of what they depend on, what the pattern `depends` matches is installed."""
    place = Path(folder)
    if not place.exists():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["apt-get", "-qq", "download", *packages], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
            for package in Path(scratch).glob("*.deb"):
                subprocess.run(["dpkg", "-x", package, f"{scratch}/tree"], check=True)
                wanted = subprocess.run(["dpkg-deb", "-f", package, "Depends"], capture_output=True, text=True).stdout
                apt(*sorted(name for name in set(re.findall(r"(?:^|, )([\w.+-]+)", wanted)) - set(packages) if depends and re.fullmatch(depends, name)))
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(f"{scratch}/tree", place)
    return place


def venv(folder, *packages):
    """A Python of its own with these packages; returns its path."""
    python = Path(folder) / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pip install {' '.join(packages)}: {done.stderr[-2000:]}")
    return python


def sdist(package, version, folder):
    """The unpacked source distribution of a Python package: PyPI's archive, found by its own client."""
    place = Path(folder) / f"{package}-{version}"
    if not place.exists():
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", "-d", scratch, f"{package}=={version}"], capture_output=True, text=True)
            archives = list(Path(scratch).glob("*.tar.gz"))
            if not archives:
                sys.exit(f"{package} {version}: {done.stderr[-1000:]}")
            shutil.unpack_archive(archives[0], Path(scratch) / "unpacked")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(next((Path(scratch) / "unpacked").iterdir()), place)
    return place
