"""Dagster: its three storages made by `instance migrate`, assets with partitions and checks, jobs that succeed, fail and try again, runs that its daemon takes from the queue by a sensor, pools of concurrency, and what its command line and GraphQL tell of them."""
import json
import _rest, harness

VERSION = "1.13.27"
TITLE = f"Dagster {VERSION} (SQLAlchemy 2, Connector/Python)"
CLOCK = _rest.BOTH
HIDDEN = ((CLOCK + r"|\b[0-9a-f]{8}\b|in process \d+", "(chance)"),)
KEYS_UNORDERED = True
# What has process ids, durations, whole events in JSON, or ticks by the clock.
UNSEEN = ("event_logs", "runs", "run_tags", "snapshots", "job_ticks", "jobs", "daemon_heartbeats", "alembic_version", "asset_keys", "kvs", "instance_info", "instigators", "secondary_indexes", "asset_event_tags", "asset_check_executions", "pending_steps", "concurrency_slots")
PROGRAM = '''
import dagster as dg
parts = dg.StaticPartitionsDefinition(["a", "é", "日本"])

@dg.asset(metadata={"who": "O'Neil"})
def raw():
    return dg.MaterializeResult(metadata={"rows": 3, "text": dg.MetadataValue.md("# ü 😀"), "f": 1.5})

@dg.asset(partitions_def=parts, deps=[raw])
def split(context):
    return dg.MaterializeResult(metadata={"key": context.partition_key})

@dg.asset_check(asset=raw)
def check():
    return dg.AssetCheckResult(passed=True, metadata={"n": 1})

@dg.op(retry_policy=dg.RetryPolicy(max_retries=1), pool="pool")
def one():
    return 1

@dg.op
def bad(x):
    raise dg.Failure("no ü", metadata={"a": x})

@dg.job(tags={"kind": "bad ü"})
def failing():
    bad(one())

@dg.job
def good():
    one()

@dg.sensor(job=good, minimum_interval_seconds=1, default_status=dg.DefaultSensorStatus.RUNNING)
def watch(context):
    number = int(context.cursor or 0)
    if number < 3:
        context.update_cursor(str(number + 1))
        return dg.RunRequest(run_key=f"key {number}")
    return dg.SkipReason("done")

defs = dg.Definitions(assets=[raw, split], asset_checks=[check], jobs=[failing, good], sensors=[watch])
'''


def install(tools):
    harness.venv(tools / "dagster-venv", f"dagster=={VERSION}", f"dagster-webserver=={VERSION}", "dagster-mysql==0.29.27", "SQLAlchemy<2.1")


def environment(target, database, tools):
    return {"DAGSTER_HOME": "", "DAGSTER_BIN": str(tools / "dagster-venv/bin"), "DAGSTER_DISABLE_TELEMETRY": "true"}


def steps(target, database, tools, work):
    (work / "shop.py").write_text(PROGRAM)
    (work / "dagster.yaml").write_text(f"storage:\n  mysql:\n    mysql_db: {{username: {target.user}, password: '{target.password}', hostname: {target.host}, port: {target.port}, db_name: {database}}}\n"
                                       "concurrency: {pools: {default_limit: 1}, runs: {max_concurrent_runs: 3}}\ntelemetry: {enabled: false}\n")
    return {"before": [("migrate", ["sh", "-c", f"DAGSTER_HOME={work} $DAGSTER_BIN/dagster instance migrate"], False)],
            "serve": ["sh", "-c", f"export DAGSTER_HOME={work}; $DAGSTER_BIN/dagster-daemon run -f shop.py & exec $DAGSTER_BIN/dagster-webserver -f shop.py -h 127.0.0.1 -p $APP_HTTP_PORT"]}


def visit(port, target, database, run):
    cli = lambda words, right="": run(f"DAGSTER_HOME=$PWD $DAGSTER_BIN/dagster {words} {right}", HIDDEN, name=words)
    api = _rest.Rest(port, CLOCK)
    ask = lambda query, **variables: api.ask("POST", "/graphql", {"query": query, "variables": variables}, shown=False)

    def told(name, query, **variables):
        ask(query, **variables)
        return "GRAPHQL", name, 200 if "errors" not in api.answer else json.dumps(api.answer)[:800], json.dumps(api.answer.get("data"), ensure_ascii=False, sort_keys=True, indent=1)

    _rest.until(lambda: ask("{ version }")[2] == 200)
    yield cli("asset materialize -f shop.py --select raw")
    yield cli("asset materialize -f shop.py --select split --partition é")
    yield cli("job execute -f shop.py -j good")
    yield cli("job execute -f shop.py -j failing", "; test $? = 1")
    yield cli("job launch -f shop.py -j good")
    runs = "query ($filter: RunsFilter) { runsOrError(filter: $filter) { ... on Runs { results { pipelineName status tags { key value } } count } } }"
    done = lambda: (ask(runs, filter={"statuses": ["SUCCESS", "FAILURE"]}), api.answer["data"]["runsOrError"]["count"])[1] >= 8
    _rest.until(done, 240)
    for name, chosen in (("by status", {"statuses": ["FAILURE"]}), ("by tag", {"tags": [{"key": "dagster/run_key", "value": "key 1"}]}), ("by job", {"pipelineName": "failing"})):
        ask(runs, filter=chosen)
        yield "GRAPHQL", name, 200, str(sorted((row["pipelineName"], row["status"]) for row in api.answer["data"]["runsOrError"]["results"]))
    yield told("assets", "{ assetsOrError { ... on AssetConnection { nodes { key { path } assetMaterializations { partition metadataEntries { label } } } } } }")
    yield told("partitions", "{ assetNodes { assetKey { path } partitionStats { numMaterialized numPartitions } assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } } } }")
    yield told("pools", "{ instance { concurrencyLimits { concurrencyKey slotCount limit } } }")
    yield cli("instance concurrency set other 2")
    yield cli("instance concurrency get --all")
    yield cli("asset wipe --noprompt raw")
    yield told("assets again", "{ assetsOrError { ... on AssetConnection { nodes { key { path } assetMaterializations { partition } } } } }")
