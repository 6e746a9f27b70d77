"""Rails as Debian packages it (no gem registry is needed): ActiveRecord by mysql2, migrations, the schema's dump, a controller, WEBrick."""
import shutil
from pathlib import Path
import harness

TITLE = "Rails 6.1 (mysql2)"
HERE = Path(__file__).resolve().parent
CLOCK = r"\t20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}"  # created_at, updated_at; books are older


def install(tools):
    harness.apt("ruby", "ruby-activerecord", "ruby-actionpack", "ruby-railties", "ruby-mysql2", "ruby-webrick", "rake")


def steps(target, database, tools, work):
    shutil.copytree(HERE / "rails", work / "rails", dirs_exist_ok=True)
    task = lambda name: ["ruby", "rails/task.rb", name]
    return {
        "before": [("migrate", task("migrate"), False), ("back", task("rollback"), False), ("and again", task("migrate"), False), ("schema", task("schema"), True), ("load the schema", task("load"), False),
                   ("schema of what was loaded", task("schema"), True)],
        "serve": ["ruby", "rails/server.rb"],
    }
