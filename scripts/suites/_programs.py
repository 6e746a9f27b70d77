"""What the suites share that are programs of ours (Node, Java): features of a client that its own package has no tests for, or a small application of an ORM.
The ORM's and the client's code is unmodified; each program prints `ok NAME` or `not ok NAME # why` for each test, and fails where an assertion does."""
import json, os, re, shutil, subprocess, sys, tempfile
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


def kept(place, manifest, made, argv):
    """Runs the registry's client `argv` in the folder `place` beside a copy of `manifest`, unless what it makes there (`made`) is there and of this manifest."""
    place.mkdir(parents=True, exist_ok=True)
    wanted, stamp = manifest.read_text(), place / manifest.name
    if stamp.exists() and stamp.read_text() == wanted and (place / made).exists():
        return place
    shutil.rmtree(place / made, ignore_errors=True)  # of another manifest, or half made
    stamp.write_text(wanted)
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True)
    if done.returncode or not (place / made).exists():
        shutil.rmtree(place / made, ignore_errors=True)
        sys.exit(f"{argv[0]}: {(done.stdout + done.stderr)[-2000:]}")
    return place


def install_packages(manifest, place):
    """The packages of a package.json, without their install scripts."""
    return kept(place, manifest, "node_modules", ["npm", "install", "--ignore-scripts", "--no-bin-links", "--no-package-lock", "--silent"])


def node22(tools):
    """Node 22, as the registry has it, for what does not run on Debian's; the environment in which `node` and `npm` are that one."""
    place = tools / "node22"
    if not (place / "node_modules/node/bin/node").exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "node@22.23.3"], cwd=place, check=True)
    return {**os.environ, "PATH": f"{place}/node_modules/node/bin:{os.environ['PATH']}"}


def install_jars(manifest, place):
    """The jars of a pom.xml."""
    return kept(place, manifest, "lib", ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"])


def compile_java(place, sources, classes, *options):
    """Compiles the programs of a folder against `place`'s jars."""
    done = subprocess.run(["javac", *options, "-cp", f"{place}/lib/*", "-d", classes, *map(str, sorted(sources.glob("*.java")))], capture_output=True, text=True)
    if done.returncode:
        sys.exit("javac: " + done.stderr[-2000:])


def install_node(tools):
    install_packages(HERE / "node/package.json", tools / "node")


def run_node(title, program, target, tools, work):
    shutil.copytree(HERE / "node", work / "node", dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    if not (work / "node/node_modules").exists():
        os.symlink(tools / "node/node_modules", work / "node/node_modules")
    return harness.run(title, ["node", program], env=environment(target, "suite_node"), cwd=work / "node", timeout=600, parse=tap, log=work / "log")


def install_java(tools):
    """The jars of java/pom.xml, and our programs compiled."""
    place = install_jars(HERE / "java/pom.xml", tools / "java")
    compile_java(place, HERE / "java/src", place / "classes")


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


def install_crate(tools, name, version):
    """The sources of a crate as its package on crates.io has them, tests included, if the package has them."""
    place = tools / "rust" / f"{name}-{version}"
    if place.exists():
        return place
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        (scratch / "src").mkdir()
        (scratch / "src/lib.rs").touch()
        (scratch / "Cargo.toml").write_text(f'[workspace]\n[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\n{name} = {{ version = "={version}", default-features = false }}\n')
        done = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=scratch, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"cargo metadata {name}: {done.stderr[-1000:]}")
        found = next(package["manifest_path"] for package in json.loads(done.stdout)["packages"] if package["name"] == name and package["version"] == version)
        shutil.copytree(Path(found).parent, place)
    return place


def cargo_text(output):
    """Reads what `cargo test` prints. A test is named by its file and itself."""
    result = harness.Result()
    program = ""
    for line in output.splitlines():
        running = re.match(r" *Running (?:unittests )?(\S+)", line)
        program = running.group(1) if running else program
        found = re.match(r"test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", line)
        if found:
            name = f"{program}: {found.group(1)}"
            result.tests.add(name)
            if found.group(2) == "ok":
                result.passed += 1
            elif found.group(2) == "ignored":
                result.skipped += 1
            else:
                result.failed += 1
                said = re.search(rf"^---- {re.escape(found.group(1))} stdout ----\n(.*?)(?=^----|^failures:)", output, re.M | re.S)
                result.failures[name] = said.group(1)[-2000:] if said else ""
        elif line.startswith("error: could not compile"):
            result.failed += 1
            result.tests.add(line)
            result.failures[line] = output[-3000:]
    return result


def run_cargo(title, folder, arguments, env, work, timeout=2400):
    # An environment of cargo's own: what says how the project itself is built is not for the suites.
    return harness.run(title, ["cargo", *arguments], env={"CARGO_INCREMENTAL": "0", "RUSTFLAGS": "", "CARGO_TARGET_DIR": str(folder / "target"), **env}, cwd=folder, timeout=timeout, parse=cargo_text, log=work / "log")
