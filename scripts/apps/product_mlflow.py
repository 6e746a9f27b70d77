"""MLflow: all migrations of its store, then experiments, runs, metrics, params, tags, searches with its filters, datasets, models, versions, aliases and traces over REST. 3.6.0, since later ones (from 3.8 on) make triggers, which are not here (1235)."""
import json
import _rest, harness

VERSION = "3.6.0"
TITLE = f"MLflow {VERSION} (SQLAlchemy 2, PyMySQL)"
KEYS_UNORDERED = True
CLOCK = _rest.BOTH + r"|\bm-[0-9a-f]{32}\b|/\S+/mlruns"


def install(tools):
    harness.venv(tools / "mlflow-venv", f"mlflow=={VERSION}", "SQLAlchemy<2.1", "PyMySQL==1.1.3", "cryptography")


def environment(target, database, tools):
    return {"MLFLOW_STORE": f"mysql+pymysql://{target.user}:{target.password}@{target.host}:{target.port}/{database}", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


def steps(target, database, tools, work):
    program = f"exec {tools}/mlflow-venv/bin/mlflow"
    return {"before": [("first", ["sh", "-c", f"MLFLOW_TRACKING_URI=$MLFLOW_STORE {program} experiments search"], False), ("db upgrade", ["sh", "-c", f"{program} db upgrade $MLFLOW_STORE"], False)],
            "serve": ["sh", "-c", f"{program} server --backend-store-uri $MLFLOW_STORE --artifacts-destination ./artifacts --host 127.0.0.1 --port $APP_HTTP_PORT --workers 1"]}


def visit(port, target, database, _run):
    api = _rest.Rest(port, CLOCK)
    _rest.until(lambda: api.ask("GET", "/health")[2] == 200)
    call = lambda method, path, body=None, expected=None, shown=True: api.ask(method, "/api/2.0/mlflow/" + path, body, expected, shown)
    yield call("POST", "experiments/create", {"name": "Fläche Ж", "tags": [{"key": "team", "value": "O'Neil"}]}, shown=False)
    experiment = api.answer.get("experiment_id")
    yield call("POST", "experiments/create", {"name": "FLÄCHE Ж"}, 400)
    yield call("GET", "experiments/get-by-name?experiment_name=Fl%C3%A4che%20%D0%96")
    runs = []
    for number in range(4):
        yield call("POST", "runs/create", {"experiment_id": experiment, "run_name": f"run {number}", "start_time": 1704067200000 + number, "tags": [{"key": "kind", "value": "odd" if number % 2 else "even"}]})
        runs.append(api.answer["run"]["info"]["run_id"])
        yield call("POST", "runs/log-batch", {"run_id": runs[-1], "metrics": [{"key": key, "value": value, "timestamp": 1704067200000 + step, "step": step} for step in range(5) for key, value in (("loss", 1 / (1 + step + number)), ("big", 1.7e308), ("nan", "NaN"), ("inf", "-Infinity"))],
                                              "params": [{"key": "rate", "value": str(number / 10)}, {"key": "long", "value": "x" * 6000}], "tags": [{"key": "日本", "value": "é" * 100}]})
    yield call("POST", "runs/log-parameter", {"run_id": runs[0], "key": "rate", "value": "9"}, 400)
    yield call("POST", "runs/log-metric", {"run_id": runs[0], "key": "loss", "value": 0.125, "timestamp": 1704067299999, "step": 9})
    yield call("POST", "runs/log-metric", {"run_id": runs[0], "key": "loss", "value": 0.125, "timestamp": 1704067299999, "step": 9})
    yield call("POST", "runs/log-inputs", {"run_id": runs[0], "datasets": [{"dataset": {"name": "shelf", "digest": "d1", "source_type": "local", "source": "{}", "schema": "{}", "profile": "p" * 1000}, "tags": [{"key": "mlflow.data.context", "value": "train"}]}]})
    for query in ("metrics.loss < 0.2", "params.rate = '0.1'", "tags.kind LIKE 'od%'", "tags.kind ILIKE 'EVE%'", "attributes.run_name = 'run 2'", "params.rate != '0.1' AND metrics.loss > 0.1", "dataset.name = 'shelf'", "attributes.start_time >= 1704067200002", f"attributes.run_id IN ('{runs[0]}', '{runs[3]}')"):
        for order in ("metrics.loss DESC", "params.rate ASC", "attributes.start_time DESC", "metrics.nan ASC"):
            if "dataset" in query and "attributes" not in order:
                continue  # a query that its own SQLAlchemy refuses
            name, path, status, text = call("POST", "runs/search", {"experiment_ids": [experiment], "filter": query, "order_by": [order], "max_results": 3}, shown=False)
            yield "search", _rest.re.sub(CLOCK, "(chance)", f"{query}, {order}"), status, json.dumps([run["info"]["run_name"] for run in api.answer.get("runs", [])]) if status == 200 else text
    yield call("GET", f"metrics/get-history?run_id={runs[0]}&metric_key=loss")
    yield call("GET", f"metrics/get-history-bulk-interval?run_ids={runs[0]}&run_ids={runs[1]}&metric_key=loss&max_results=3", expected=404, shown=False)
    yield call("POST", "runs/update", {"run_id": runs[1], "status": "FINISHED", "end_time": 1704067300000, "run_name": "renamed"})
    yield call("POST", "runs/delete", {"run_id": runs[2]})
    yield call("POST", "runs/restore", {"run_id": runs[2]})
    yield call("POST", "runs/delete-tag", {"run_id": runs[2], "key": "kind"})
    yield call("POST", "registered-models/create", {"name": "Modèle", "description": "d", "tags": [{"key": "a", "value": "b"}]})
    yield call("POST", "registered-models/create", {"name": "Modèle"}, 400)
    # Before there are tags of versions: in MySQL 9.7 a cascade does not reach them (1452, also of MySQL's own tables; here it does).
    yield call("POST", "registered-models/rename", {"name": "Modèle", "new_name": "Модель"})
    for number in range(3):
        yield call("POST", "model-versions/create", {"name": "Модель", "source": f"mlflow-artifacts:/{experiment}/{runs[0]}/artifacts/m", "run_id": runs[0], "tags": [{"key": "n", "value": str(number)}]})
    yield call("POST", "registered-models/alias", {"name": "Модель", "alias": "champion", "version": "2"})
    yield call("POST", "model-versions/transition-stage", {"name": "Модель", "version": "3", "stage": "Production", "archive_existing_versions": True})
    yield call("PATCH", "model-versions/update", {"name": "Модель", "version": "1", "description": "x" * 5000}, shown=False)
    yield call("GET", "model-versions/search?filter=name%3D'%D0%9C%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C'%20and%20tags.n%3D'1'&order_by=version_number%20DESC", shown=False)
    yield call("GET", "registered-models/search?filter=name%20ILIKE%20'%25%D0%BE%D0%B4%25'&order_by=last_updated_timestamp%20DESC", shown=False)
    yield call("GET", "registered-models/alias?name=%D0%9C%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C&alias=champion", shown=False)
    yield call("POST", "experiments/search", {"max_results": 2, "filter": "name LIKE 'F%'", "order_by": ["name DESC"]})
    yield call("POST", "traces", {"experiment_id": experiment, "timestamp_ms": 1704067200000, "request_metadata": [{"key": "k", "value": "v"}], "tags": [{"key": "t", "value": "😀"}]}, shown=False)
    yield call("GET", f"traces?experiment_ids={experiment}&filter=tags.t%20%3D%20'x'&order_by=timestamp_ms%20DESC", shown=False)
    yield call("DELETE", "model-versions/delete", {"name": "Модель", "version": "1"})
    yield call("DELETE", "registered-models/delete", {"name": "Модель"})
    yield call("POST", "experiments/delete", {"experiment_id": experiment})
    yield call("POST", "runs/create", {"experiment_id": experiment}, 400, shown=False)
    yield call("POST", "experiments/restore", {"experiment_id": experiment})
