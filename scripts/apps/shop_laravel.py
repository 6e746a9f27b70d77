"""Laravel's database layer as Debian packages it (no Composer registry is needed): Eloquent, its schema builder and migrator by PDO, behind PHP's own web server."""
import shutil
from pathlib import Path
import harness

TITLE = "Laravel 8.83: Eloquent (PDO)"
HERE = Path(__file__).resolve().parent


def install(tools):
    harness.apt("php-cli", "php-mysql", "php-mbstring", "php-illuminate-database", "php-illuminate-events", "php-illuminate-filesystem", "php-illuminate-pagination")


def steps(target, database, tools, work):
    shutil.copytree(HERE / "laravel", work / "laravel", dirs_exist_ok=True)
    task = lambda *words: ["php", "laravel/task.php", *words]
    return {
        "before": [("migrate", task("migrate"), True), ("back", task("rollback"), True), ("and again", task("migrate"), True), ("status", task("status"), True), ("columns", task("columns"), True)],
        "serve": ["sh", "-c", "exec php -S 127.0.0.1:$APP_HTTP_PORT laravel/server.php"],
    }
