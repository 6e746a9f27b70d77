"""Prisma 6's client, which needs no engine binary: its npm packages carry the query compiler as WebAssembly, over a driver (mariadb).
`prisma migrate` cannot be had here: its schema engine comes from binaries.prisma.sh, and the one of WebAssembly in the package ends with "unreachable" for MySQL, on
MySQL too. So the SQL of its migrations is run in their order by the `mysql` program. The programs' downloads are stood in for by a path that is never run."""
import os, shutil
from pathlib import Path
import _programs

VERSION = "6.19.0"
TITLE = f"Prisma {VERSION} (adapter-mariadb)"
HERE = Path(__file__).resolve().parent
PROGRAM = "node_modules/prisma/build/index.js"


def environment(target, database, tools):
    return {"DATABASE_URL": f"mysql://{target.user}:{target.password}@{target.host}:{target.port}/{database}", "PRISMA_QUERY_ENGINE_LIBRARY": "/bin/true", "PRISMA_SCHEMA_ENGINE_BINARY": "/bin/true",
            "PRISMA_HIDE_UPDATE_MESSAGE": "1", "CHECKPOINT_DISABLE": "1"}


def install(tools):
    _programs.install_packages(HERE / "prisma/package.json", tools / "prisma")


def steps(target, database, tools, work):
    app = work / "prisma"
    shutil.copytree(HERE / "prisma", app, dirs_exist_ok=True)
    if not (app / "node_modules").exists():
        shutil.copytree(tools / "prisma/node_modules", app / "node_modules", symlinks=True, copy_function=os.link)  # `generate` writes into it
    mysql = f"mysql --ssl=0 -h{target.host} -P{target.port} -u{target.user} {database}"
    return {
        "before": [("generate", ["sh", "-c", f"cd prisma && exec node {PROGRAM} generate"], False),
                   *((path.parent.name, ["sh", "-c", f"{mysql} < {path.relative_to(work)}"], True) for path in sorted(app.glob("prisma/migrations/*/migration.sql")))],
        "serve": ["sh", "-c", "cd prisma && exec node server.js"],
    }
