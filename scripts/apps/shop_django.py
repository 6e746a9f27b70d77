"""Django: with the tables of its auth, sessions and admin, migrations of models and of data, served by its own server."""
import shutil
from pathlib import Path
import harness

VERSION = "5.2.19"
TITLE = f"Django {VERSION} (mysqlclient)"
HERE = Path(__file__).resolve().parent
CLOCK = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$"  # django_migrations.applied


def install(tools):
    harness.apt("libmariadb-dev", "pkg-config", "gcc")
    harness.venv(tools / "django-venv", f"Django=={VERSION}", "mysqlclient==2.3.1", "tzdata")


def steps(target, database, tools, work):
    shutil.copytree(HERE / "django", work / "django", dirs_exist_ok=True)
    manage = [tools / "django-venv/bin/python", "django/manage.py"]
    return {
        "before": [
            ("check", [*manage, "check", "--database", "default"], True),
            ("migrate", [*manage, "migrate", "--no-input"], False),
            ("back", [*manage, "migrate", "shop", "0001"], False),
            ("and again", [*manage, "migrate", "shop"], False),
            ("nothing left to migrate", [*manage, "makemigrations", "--check", "--dry-run"], True),
            ("sqlmigrate", [*manage, "sqlmigrate", "shop", "0002"], True),
            ("inspectdb", [*manage, "inspectdb"], True),
        ],
        "serve": ["sh", "-c", f"exec {manage[0]} {manage[1]} runserver --noreload --skip-checks 127.0.0.1:$APP_HTTP_PORT"],
    }

