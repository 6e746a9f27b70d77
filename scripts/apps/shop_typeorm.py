"""TypeORM by mysql2, behind Node's http: migrations up, down and up, the difference between entities and tables (none), CRUD."""
import os, shutil
from pathlib import Path
import _programs

TITLE = "TypeORM 0.3.31 (mysql2)"
HERE = Path(__file__).resolve().parent
CLOCK = r"\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}(?=\t\d+$)"  # createdAt beside a version


def install(tools):
    _programs.install_node(tools)


def steps(target, database, tools, work):
    shutil.copytree(HERE / "typeorm", work / "typeorm", dirs_exist_ok=True)
    if not (work / "typeorm/node_modules").exists():
        os.symlink(tools / "node/node_modules", work / "typeorm/node_modules")
    task = lambda name: ["node", "typeorm/task.js", name]
    return {
        "before": [("migrate", task("up"), True), ("back", task("down"), True), ("and again", task("up"), True), ("what synchronize would do", task("difference"), True)],
        "serve": ["node", "typeorm/server.js"],
    }
