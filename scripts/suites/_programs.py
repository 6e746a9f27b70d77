"""What the suites share that are programs of ours (Node, Java): features of a client that its own package has no tests for, or a small application of an ORM.
The ORM's and the client's code is unmodified; each program prints `ok NAME` or `not ok NAME # why` for each test, and fails where an assertion does."""
import os, re, shutil, subprocess, sys
from pathlib import Path
import harness

HERE = Path(__file__).resolve().parent


def tap(output):
    """Reads `ok NAME` and `not ok NAME # message`."""
    result = harness.Result()
    for line in output.splitlines():
        found = re.match(r"(not )?ok (.*?)(?: # (.*))?$", line)
        if found:
            name = found.group(2)
            result.tests.add(name)
            if found.group(1):
                result.failed += 1
                result.failures[name] = found.group(3) or ""
            else:
                result.passed += 1
    return result


def environment(target, database):
    return {"SUITE_HOST": target.host, "SUITE_PORT": str(target.port), "SUITE_USER": target.user, "SUITE_PASSWORD": target.password, "SUITE_DATABASE": database}


def install_node(tools):
    """The packages of node/package.json, without their install scripts."""
    place = tools / "node"
    place.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "node/package.json").read_text()
    stamp = place / "package.json"
    if not stamp.exists() or stamp.read_text() != wanted or not (place / "node_modules").exists():
        stamp.write_text(wanted)
        done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-bin-links", "--no-package-lock", "--silent"], cwd=place, capture_output=True, text=True)
        if done.returncode:
            sys.exit("npm install: " + done.stderr[-2000:])


def run_node(title, program, target, tools, work):
    shutil.copytree(HERE / "node", work / "node", dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    if not (work / "node/node_modules").exists():
        os.symlink(tools / "node/node_modules", work / "node/node_modules")
    return harness.run(title, ["node", program], env=environment(target, "suite_node"), cwd=work / "node", timeout=600, parse=tap, log=work / "log")


def install_java(tools):
    """The jars of java/pom.xml, and our programs compiled."""
    place = tools / "java"
    place.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "java/pom.xml").read_text()
    stamp = place / "pom.xml"
    if not stamp.exists() or stamp.read_text() != wanted or not (place / "lib").exists():
        stamp.write_text(wanted)
        done = subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"], cwd=place, capture_output=True, text=True)
        if done.returncode:
            sys.exit("mvn: " + (done.stdout + done.stderr)[-2000:])
    done = subprocess.run(["javac", "-cp", "lib/*", "-d", "classes", *map(str, sorted((HERE / "java/src").glob("*.java")))], cwd=place, capture_output=True, text=True)
    if done.returncode:
        sys.exit("javac: " + done.stderr[-2000:])


def run_java(title, program, target, tools, work):
    env = {**environment(target, "suite_java"), "SUITE_EXPECTED": str(HERE / "java/expected.txt")}
    return harness.run(title, ["java", "-cp", "classes:lib/*", program], env=env, cwd=tools / "java", timeout=900, parse=tap, log=work / "log")


def install_go(tools, module, version):
    """The sources of a Go module, tests included, as the module proxy has them; writable."""
    place = tools / "go" / (module.replace("/", "_") + "@" + version)
    if not place.exists():
        done = subprocess.run(["go", "mod", "download", "-json", f"{module}@{version}"], cwd="/", capture_output=True, text=True)
        found = re.search(r'"Dir": "(.*)"', done.stdout)
        if not found:
            sys.exit(f"go mod download {module}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
        shutil.copytree(found.group(1), place)
        for path in [place, *place.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    return place


def go_text(output):
    """Reads what `go test -v` prints. A test with subtests counts by its subtests and by itself, as Go does."""
    result = harness.Result()
    said = []
    for line in output.splitlines():
        found = re.match(r" *--- (PASS|FAIL|SKIP): (\S+)", line)
        if not found:
            said = [] if line.startswith("=== RUN") else [*said, line][-20:]
            continue
        name = found.group(2)
        result.tests.add(name)
        if found.group(1) == "PASS":
            result.passed += 1
        elif found.group(1) == "SKIP":
            result.skipped += 1
        else:
            result.failed += 1
            result.failures[name] = "\n".join(said)
    return result


def run_go(title, folder, arguments, env, work):
    return harness.run(title, ["go", "test", "-count=1", "-v", *arguments], env={"GOFLAGS": "-buildvcs=false -mod=mod", **env}, cwd=folder, timeout=1500, parse=go_text, log=work / "log")
