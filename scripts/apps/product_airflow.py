"""Apache Airflow: all migrations (from nothing, back to 2.2.0, and up again), its CLI, DAGs run by `dags test` and by scheduler and LocalExecutor, and its REST API."""
import base64, json, time
import _rest, harness

VERSION = "2.11.0"
TITLE = f"Apache Airflow {VERSION} (SQLAlchemy 1.4, mysqlclient)"
KEYS_UNORDERED = True
CLOCK = _rest.BOTH + r"|\bscrypt:\S+|gAAAA[\w-]+=*|__\d{4}-\d\d-\d\d\S+"
# What has process ids, durations, hosts or pickles in it.
UNSEEN = ("ab_user", "job", "log", "session", "task_instance", "task_instance_history", "dag_code", "serialized_dag", "rendered_task_instance_fields", "xcom", "dag", "dag_run", "callback_request", "dag_priority_parsing_request", "task_fail", "ab_permission", "ab_view_menu", "ab_permission_view", "ab_permission_view_role")  # the last four: numbered in the order of a set
DAGS = '''
from datetime import datetime, timedelta
from airflow.decorators import dag, task
from airflow.datasets import Dataset

@dag(schedule=None, start_date=datetime(2024, 1, 1), tags=["Ünï", "b"], default_args={"owner": "O'Neil"})
def shop():
    @task
    def numbers(): return [1, 2, 3]
    @task(retries=2, retry_delay=timedelta(seconds=1))
    def square(n, **context):
        if n == 2 and context["ti"].try_number == 1: raise ValueError("at first not")
        return {"n": n * n, "text": "日本 😀"}
    @task(outlets=[Dataset("s3://shelf")])
    def total(all): return sum(one["n"] for one in all)
    total(square.expand(n=numbers()))

@dag(schedule=[Dataset("s3://shelf")], start_date=datetime(2024, 1, 1))
def after():
    @task(pool="narrow")
    def last(): return "done"
    last()

@dag(schedule="@daily", start_date=datetime(2024, 1, 1), end_date=datetime(2024, 1, 4), catchup=True)
def days():
    @task
    def day(ds=None): return ds
    day()

shop(); after(); days()
'''


def install(tools):
    harness.apt("libmariadb-dev", "pkg-config", "gcc")
    harness.venv(tools / "airflow-venv", f"apache-airflow=={VERSION}", "apache-airflow-providers-mysql==6.7.1", "mysqlclient==2.3.2")


def environment(target, database, tools):
    return {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"mysql+mysqldb://{target.user}:{target.password}@{target.host}:{target.port}/{database}?charset=utf8mb4", "AIRFLOW__CORE__EXECUTOR": "LocalExecutor", "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__API__AUTH_BACKENDS": "airflow.api.auth.backend.basic_auth", "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(b"x" * 32).decode(), "AIRFLOW__WEBSERVER__SECRET_KEY": "x", "AIRFLOW__WEBSERVER__WORKERS": "1", "AIRFLOW__WEBSERVER__WORKER_REFRESH_INTERVAL": "0", "AIRFLOW__WEBSERVER__WEB_SERVER_WORKER_TIMEOUT": "600",
            "AIRFLOW__SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "5", "AIRFLOW__SCHEDULER__PARSING_PROCESSES": "1", "AIRFLOW__CORE__PARALLELISM": "2", "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "False", "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True"}


def steps(target, database, tools, work):
    (work / "dags").mkdir(exist_ok=True)
    (work / "dags/three.py").write_text(DAGS)
    run = lambda *words: ["env", f"AIRFLOW_HOME={work}", tools / "airflow-venv/bin/airflow", *words]
    user = ("--firstname", "É", "--lastname", "O'Neil", "--role", "Admin", "--email", "a@example.org", "--password", "secret")
    both = f"trap 'kill $(jobs -p)' EXIT; export AIRFLOW_HOME={work} PATH={tools}/airflow-venv/bin:$PATH; airflow scheduler & airflow webserver -p $APP_HTTP_PORT --hostname 127.0.0.1 & wait"
    return {"before": [("migrate", run("db", "migrate"), False), ("back", run("db", "downgrade", "-y", "-n", "2.2.0"), False), ("and up again", run("db", "migrate"), False), ("check", run("db", "check-migrations"), False),
                       ("users", run("users", "create", "--username", "admin", *user), False), ("pools", run("pools", "set", "narrow", "1", "one at a time"), False), ("variables", run("variables", "set", "Clé", "été 😀"), False),
                       ("get", run("variables", "get", "Clé"), True), ("connections", run("connections", "add", "shelf", "--conn-uri", "mysql://u:p@h:1/d?x=1"), False), ("dags test", run("dags", "test", "shop", "2024-02-03"), False),
                       ("list", run("dags", "list-runs", "-d", "shop", "--output", "plain"), False), ("clean", run("db", "clean", "--clean-before-timestamp", "2023-01-01", "-y", "--skip-archive"), False)],
            "serve": ["bash", "-c", both]}


def visit(port, target, database, _run):
    api = _rest.Rest(port, CLOCK, Authorization="Basic " + base64.b64encode(b"admin:secret").decode())
    _rest.until(lambda: api.ask("GET", "/api/v1/dags")[2] == 200 and api.answer["total_entries"] == 3, 400)
    for dag in ("shop", "after", "days"):
        yield api.ask("PATCH", f"/api/v1/dags/{dag}?update_mask=is_paused", {"is_paused": False}, shown=False)
    yield api.ask("POST", "/api/v1/dags/shop/dagRuns", {"dag_run_id": "mine", "conf": {"a": "ü"}, "note": "by hand"}, shown=False)
    yield api.ask("POST", "/api/v1/dags/shop/dagRuns", {"dag_run_id": "mine"}, 409, shown=False)
    states = lambda dag: sorted(run["state"] for run in api.answer["dag_runs"]) if api.ask("GET", f"/api/v1/dags/{dag}/dagRuns")[2] == 200 else []
    _rest.until(lambda: states("shop") == ["success"] * 2 and states("after")[:1] == ["success"] and states("days") == ["success"] * 4, 500)
    for dag in ("shop", "after", "days"):
        yield "states", dag, 200, json.dumps(states(dag))
    yield api.ask("GET", "/api/v1/dags/shop/dagRuns/mine/taskInstances", shown=False)
    yield "tasks", "of mine", 200, "\n".join(sorted(f"{one['task_id']} {one['map_index']} {one['state']} {one['try_number']}" for one in api.answer["task_instances"]))
    yield api.ask("GET", "/api/v1/dags/shop/dagRuns/mine/taskInstances/total/xcomEntries/return_value", shown=False)
    yield "xcom", "total", 200, str(api.answer["value"])
    for path in ("dags?tags=Ünï", "dags?order_by=-dag_id&limit=1&only_active=true", "variables?limit=5", "pools", "connections", "datasets", "roles", "users", "health", "eventLogs?limit=3&order_by=-event_log_id", "importErrors", "dagWarnings", "permissions?limit=3", "dags/~/dagRuns?order_by=-start_date&limit=2",
                 "datasets/events", "dags/shop/tasks", "dags/shop/details", "dagStats?dag_ids=shop,days", "dags/shop/dagRuns/mine/upstreamDatasetEvents"):
        yield api.ask("GET", "/api/v1/" + path.replace("Ünï", "%C3%9Cn%C3%AF"), shown=False)
        yield "entries", path, 200, str(api.answer.get("total_entries")) if isinstance(api.answer, dict) and "Logs" not in path else ""
    yield api.ask("POST", "/api/v1/variables", {"key": "k" * 250, "value": "v"})
    yield api.ask("POST", "/api/v1/variables", {"key": "k" * 251, "value": "v"}, 500, shown=False)
    yield api.ask("PATCH", "/api/v1/variables/" + "k" * 250, {"key": "k" * 250, "value": "日本"})
    yield api.ask("DELETE", "/api/v1/variables/" + "k" * 250)
    yield api.ask("POST", "/api/v1/pools", {"name": "wide", "slots": 9})
    yield api.ask("PATCH", "/api/v1/pools/wide?update_mask=slots", {"slots": 3}, shown=False)
    yield api.ask("POST", "/api/v1/pools", {"name": "WIDE", "slots": 9}, 409, shown=False)
    yield api.ask("POST", "/api/v1/connections", {"connection_id": "two", "conn_type": "http", "host": "h", "password": "p", "extra": "{}"}, shown=False)
    yield api.ask("POST", "/api/v1/dags/shop/clearTaskInstances", {"dry_run": False, "task_ids": ["total"], "dag_run_id": "mine", "reset_dag_runs": True, "only_failed": False}, shown=False)
    _rest.until(lambda: states("shop") == ["success"] * 2 and states("after") == ["success"] * 2, 300)
    yield api.ask("DELETE", "/api/v1/dags/days/dagRuns/" + _rest.urllib.parse.quote("scheduled__2024-01-01T00:00:00+00:00"))
    time.sleep(1)
