#!/usr/bin/env python3
"""apps.py: applications, unmodified, on a fresh Altiplano and on the MySQL beside it; what they do must be the same.

  scripts/apps.py                              all of scripts/apps/
  scripts/apps.py django product_wordpress     only these, with or without the kind (shop, tool, product)
  --server PATH (target/fast/altiplano)    --keep (the data directory)
  --peer HOST:PORT (127.0.0.1:13097)       --no-peer (statuses are judged alone)
  --work DIR (/tmp/altiplano-apps-work)    each application's transcripts: NAME/altiplano.txt, NAME/mysql.txt

Shops (scripts/apps/shop_*.py) are the same bookshop in each of several frameworks. Each runs its migrations by its framework's own means (up, down, up again), is asked by HTTP what REQUESTS says, and the
framework's own inspector reads the schema back. A transcript has every table's definition, every answer, and every row at the end. An application passes when each
answer has the status that REQUESTS expects and its transcript is the same on both servers. Exits with 1 when one does not.

Tools (scripts/apps/tool_*.py) are asked for pages about tables that the script makes; what is compared is the text of each page, without what a server has of its own.

Products (scripts/apps/product_*.py) are whole applications, as distributed. Each makes its schema by its own installer and is used by its own means (`before`, `visit`, which is given a function that runs programs); `serve` is None where nothing listens. A visit yields (method, path, status, text), where a
status other than 200 is wrong. Compared are what `visit` shows, definitions at the end, and rows, without the tables of UNSEEN and what the pattern CLOCK matches.
KEYS_UNORDERED says that the product makes its keys in an order that changes (SQLAlchemy's are a set), BYTES_HEXADECIMAL that rows are to be shown with their bytes so (to tell UUIDs).
"""
import argparse, contextlib, difflib, importlib, json, os, re, signal, socket, subprocess, sys, time, urllib.error, urllib.request
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the tree
HERE = Path(__file__).resolve().parent
KINDS = ("shop", "tool", "product")
sys.path[:0] = [str(HERE / "suites"), str(HERE / "apps")]
import _pages, harness

# Method, path, body, expected status.
REQUESTS = [
    ("GET", "/authors", None, 200),
    ("POST", "/authors", {"name": "Ursula K. Le Guin", "email": "ursula@example.org", "born": "1929-10-21"}, 201),
    ("POST", "/authors", {"name": "Стругацкие", "email": "abs@example.org", "born": "1925-08-28"}, 201),
    ("POST", "/authors", {"name": "Éric 😀 O'Neil", "email": "eric@example.org", "born": None}, 201),
    ("POST", "/authors", {"name": "Somebody else", "email": "URSULA@example.org", "born": None}, 409),  # the collation is case insensitive
    ("POST", "/authors", {"name": "No Books", "email": "none@example.org", "born": "2000-02-29"}, 201),
    ("GET", "/authors/1", None, 200),
    ("GET", "/authors/99", None, 404),
    ("PUT", "/authors/3", {"name": "Eric \"Quote\" \\ O'Neil", "email": "eric@example.org", "born": "1970-01-01"}, 200),
    ("POST", "/books", {"title": "The Dispossessed", "author_id": 1, "price": "12.50", "stock": 5, "published_at": "1974-05-01T10:20:30.123456", "details": {"pages": 341, "awards": ["Hugo", "Nebula"]}, "tags": ["sf", "classic"]}, 201),
    ("POST", "/books", {"title": "The Lathe of Heaven", "author_id": 1, "price": "9.99", "stock": 0, "published_at": "1971-01-01T00:00:00.000001", "details": {"pages": 184}, "tags": ["sf"]}, 201),
    ("POST", "/books", {"title": "Пикник на обочине", "author_id": 2, "price": "7.05", "stock": 3, "published_at": "1972-12-31T23:59:59.999999", "details": None, "tags": ["sf", "classic", "русский"]}, 201),
    ("POST", "/books", {"title": "100% _wild_", "author_id": 3, "price": "99999999.99", "stock": 1, "published_at": None, "details": {"a": {"b": [1, 2.5, None, True, "ü"]}}, "tags": []}, 201),
    ("POST", "/books", {"title": "Nobody's", "author_id": 77, "price": "1.00", "stock": 1, "published_at": None, "details": None, "tags": []}, 409),
    ("GET", "/books", None, 200),
    ("GET", "/books?tag=classic", None, 200),
    ("GET", "/books?min_price=9.99", None, 200),
    ("GET", "/books?q=THE", None, 200),
    ("GET", "/books?q=0%25%20_", None, 200),
    ("GET", "/books?page=2", None, 200),
    ("GET", "/books/1", None, 200),
    ("PATCH", "/books/1", {"price": "13.00", "stock": 7}, 200),
    ("PATCH", "/books/42", {"price": "13.00", "stock": 7}, 404),
    ("POST", "/orders", [{"book_id": 1, "count": 2}], 201),
    ("POST", "/orders", [{"book_id": 2, "count": 1}], 409),
    ("POST", "/orders", [{"book_id": 1, "count": 1}, {"book_id": 3, "count": 1}, {"book_id": 2, "count": 1}], 409),  # all or nothing
    ("POST", "/orders", [{"book_id": 3, "count": 3}, {"book_id": 1, "count": 1}], 201),
    ("GET", "/orders", None, 200),
    ("GET", "/authors", None, 200),
    ("GET", "/report", None, 200),
    ("DELETE", "/authors/2", None, 204),
    ("DELETE", "/authors/2", None, 404),
    ("GET", "/books", None, 200),
    ("GET", "/report", None, 200),
]


def names():
    """The shops, then the tools, then the products."""
    return [path.stem for kind in KINDS for path in sorted((HERE / "apps").glob(f"{kind}_*.py"))]


def module(name):
    found = [known for known in names() if name in (known, known.partition("_")[2])]
    if not found:
        sys.exit(f"no {name} in {HERE / 'apps'}")
    return importlib.import_module(found[0])


def ask(port, method, path, body):
    """One request; what came back as (status, text)."""
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data, method=method, headers={"Content-Type": "application/json", "Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")


def plain(text):
    """JSON with its members in order, so that transcripts do not differ by how a map is iterated."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True)
    except ValueError:
        return text[:2000]


@contextlib.contextmanager
def served(argv, env, cwd, port, log):
    with open(log, "w") as output:
        process = subprocess.Popen([str(word) for word in argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise RuntimeError(f"the application ended:\n{Path(log).read_text()[-2000:]}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def runner(env, work):
    """What a product's `visit` runs its programs by: a line of shell, to a visit. `hidden` are patterns of what is not compared, None if nothing is; `wrong` are texts that may not be told."""

    def run(line, hidden=None, wrong=(), name=None):
        done = subprocess.run(["sh", "-c", line], env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=600)
        said = done.stdout + done.stderr
        status = 200 if done.returncode == 0 and not any(text in said for text in wrong) else f"{done.returncode}: {said[-1500:]}"
        return "RUN", name or line, status, _pages.masked(done.stdout, hidden) if hidden is not None else "(not compared)"

    return run


def tables(target, database):
    return [name for name in target.sql("SHOW TABLES", database).split("\n") if name]


def definitions(target, database, unordered=False):
    """Each table's definition, without what counts rows; `unordered`: with its keys in the order of their text."""
    lines = []
    for table in tables(target, database):
        text = target.sql(f"SHOW CREATE TABLE `{table}`", database).partition("\t")[2].replace("\\n", "\n")
        text = re.sub(r" AUTO_INCREMENT=\d+", "", text)
        if unordered:
            text = re.sub(r"(?m)(?:^  (?:UNIQUE )?KEY .*\n)+", lambda keys: "".join(sorted(line.rstrip(",") + "\n" for line in keys.group(0).splitlines())), text)
        lines += [f"== {table}", *text.split("\n")]
    return lines


def rows(target, database, hidden, unseen, hexadecimal=False):
    """Every row of every table but those of `unseen`; `hexadecimal`: with bytes in that. `hidden` is a pattern of what the clock says."""
    lines = []
    for table in sorted(set(tables(target, database)) - set(unseen)):
        found = target.sql(f"SELECT * FROM `{table}`", database, options=["--binary-as-hex"] if hexadecimal else []).split("\n")
        lines += [f"== {table}", *sorted(re.sub(hidden, "(clock)", line) if hidden else line for line in found)]
    return lines


def run_on(app, target, tools, work):
    """The application from its migrations to its last request; returns (transcript, what went wrong, how much was asked)."""
    database = app.__name__
    target.fresh(database)
    work.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "APP_HOST": target.host, "APP_PORT": str(target.port), "APP_USER": target.user, "APP_PASSWORD": target.password, "APP_DATABASE": database, "APP_HTTP_PORT": str(port),
           **getattr(app, "environment", lambda *_: {})(target, database, tools)}
    transcript, wrong, asked = [], [], 0
    if hasattr(app, "SCHEMA"):
        target.sql(app.SCHEMA, database)
    steps = app.steps(target, database, tools, work)
    for title, argv, shown in steps["before"]:
        done = subprocess.run([str(word) for word in argv], env=env, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=600)
        transcript.append(f"---- {title}: {done.returncode}")
        if shown:
            transcript += [re.sub(shown, "(clock)", line) if isinstance(shown, str) else line for line in done.stdout.replace(str(target.port), "PORT").split("\n")]
        if done.returncode:
            wrong.append(f"{title}: {(done.stdout + done.stderr).strip()[-1500:]}")
    product = database.startswith("product_")
    transcript += [] if product else ["---- definitions", *definitions(target, database)]
    try:
        with served(steps["serve"], env, work, port, work / "server.log") if steps["serve"] else contextlib.nullcontext():
            for method, path, status, text in app.visit(port, target, database, *([runner(env, work)] if product else [])) if hasattr(app, "visit") else ():
                transcript += [f"---- {method} {path}", *text.split("\n")]
                asked += 1
                if status != 200:
                    wrong.append(f"{method} {path}: {status}: {text[:600]}")
            for method, path, body, expected in () if hasattr(app, "visit") else REQUESTS:
                status, text = ask(port, method, path, body)
                transcript += [f"---- {method} {path} {json.dumps(body, ensure_ascii=False) if body else ''}", f"{status} {plain(text)}"]
                asked += 1
                if status != expected:
                    wrong.append(f"{method} {path}: {status}, expected {expected}: {text[:600]}")
    except (RuntimeError, OSError) as error:
        wrong.append(str(error))
    transcript += ["---- definitions", *definitions(target, database, getattr(app, "KEYS_UNORDERED", False))] if product else []
    transcript += ["---- rows", *rows(target, database, getattr(app, "CLOCK", None), getattr(app, "UNSEEN", ()), getattr(app, "BYTES_HEXADECIMAL", False))]
    return transcript, wrong, asked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apps", nargs="*")
    parser.add_argument("--server")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--peer", default="127.0.0.1:13097")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("/tmp/altiplano-apps-work"))
    options = parser.parse_args()
    harness.TOOLS.mkdir(parents=True, exist_ok=True)
    mysql = None if options.no_peer else harness.peer(options.peer)
    if not mysql and not options.no_peer:
        harness.say(f"no MySQL at {options.peer}")
    failed = False
    print("| Application | Requests | as expected here | on MySQL | transcripts |\n|---|---|---|---|---|")
    notes = []
    for name in options.apps or names():
        app = module(name)
        app.install(harness.TOOLS)
        told = {}
        with contextlib.ExitStack() as stack:
            ours = stack.enter_context(harness.server(options.server, options.keep))
            for target in filter(None, (mysql, ours)):
                harness.say(f"{app.TITLE} on {target.name}")
                transcript, wrong, asked = run_on(app, target, harness.TOOLS, options.work / name / target.name.lower())
                told[target.name] = transcript, wrong, asked
                (options.work / name / f"{target.name.lower()}.txt").write_text("\n".join(transcript) + "\n")
                notes += [f"{app.TITLE} on {target.name}: {text}" for text in wrong]
            if mysql:
                mysql.sql(f"DROP DATABASE IF EXISTS {app.__name__}")
        here, wrong, asked = told["Altiplano"]
        differing = []
        if mysql:
            differing = [line for line in difflib.unified_diff(told["MySQL"][0], here, "MySQL", "Altiplano", lineterm="", n=1)]
        count = lambda wrong: f"{len(wrong)} wrong" if wrong else "all"
        print(f"| {app.TITLE} | {asked} | {count(wrong)} | {count(told['MySQL'][1]) if mysql else '-'} | {('equal' if not differing else 'DIFFER') if mysql else '-'}, {len(here)} lines |", flush=True)
        notes += differing[:60]
        failed = failed or bool(wrong) or bool(differing)
    print("\n".join(["", *notes]))
    return failed


if __name__ == "__main__":
    sys.exit(main())
