"""Optuna: its schema and its command line, studies of one goal and of several, samplers and pruners with seeds, attributes, heartbeats with retries, and six threads, which number their trials by counting under a lock on the study."""
import harness

VERSION = "5.0.0"
TITLE = f"Optuna {VERSION} (SQLAlchemy 2, PyMySQL)"
CLOCK = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
HIDDEN = ((CLOCK + r"|\b\d:\d\d:\d\d\b", "(clock)"),)
UNSEEN = ("trial_heartbeats", "alembic_version")
PROGRAM = r'''
import optuna, sys, warnings
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.CRITICAL)
store = optuna.storages.RDBStorage(sys.argv[1], heartbeat_interval=1, grace_period=60, failed_trial_callback=optuna.storages.RetryFailedTrialCallback(max_retry=1))
study = optuna.create_study(storage=store, study_name="Ünïcode", sampler=optuna.samplers.TPESampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=3))
study.set_user_attr("who", {"a": [1, 2.5, None, "日本"]})
study.set_user_attr("long", "x" * 2040)

def goal(trial):
    x, y = trial.suggest_float("x", -10, 10), trial.suggest_int("y", 0, 100)
    c, l = trial.suggest_categorical("c", ["a", "b", None, True, 1.5]), trial.suggest_float("l", 1e-8, 1, log=True)
    for step in range(4):
        trial.report(x * x + step if step != 2 or x < 9 else float("inf"), step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    trial.set_user_attr("n", trial.number)
    if trial.number in (0, 15):
        raise ValueError("x")
    return float("nan") if trial.number == 1 else x * x + y + (3 if c == "a" else 0) + l

study.optimize(goal, n_trials=25, catch=(ValueError,))
study.enqueue_trial({"x": 0.5, "y": 3, "c": None, "l": 0.1})
study.optimize(goal, n_trials=1)
print(study.best_trial.number, study.best_value, study.best_params)
try:
    optuna.create_study(storage=store, study_name="Ünïcode")
except optuna.exceptions.DuplicatedStudyError as error:
    print(error)
many = optuna.create_study(storage=store, study_name="many", directions=["minimize", "maximize"], sampler=optuna.samplers.NSGAIISampler(seed=2, population_size=8))
many.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.suggest_int("y", 0, 9)), n_trials=20)
print([trial.values for trial in many.best_trials])
edges = optuna.create_study(storage=store, study_name="edges", direction="maximize")
edges.optimize(lambda trial: (float("-inf"), float("inf"), 1e308, -0.0)[trial.number], n_trials=4)
print([trial.values for trial in edges.trials])
for number in range(3):  # by many at once
    crowd = optuna.create_study(storage=store, study_name=f"crowd {number}", sampler=optuna.samplers.RandomSampler())
    crowd.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=60, n_jobs=6)
    print(sorted(trial.number for trial in crowd.get_trials()))
    optuna.delete_study(study_name=crowd.study_name, storage=store)
optuna.copy_study(from_study_name="many", from_storage=store, to_storage=store, to_study_name="copy")
for one in optuna.get_all_study_summaries(store):
    print(one.study_name, one.n_trials, one.directions, sorted(one.user_attrs))
for trial in study.trials:
    print(trial.number, trial.state, trial.values, trial.params, trial.intermediate_values, trial.user_attrs)
'''


def install(tools):
    harness.venv(tools / "optuna-venv", f"optuna=={VERSION}", "SQLAlchemy<2.1", "PyMySQL==1.1.3", "cryptography")


def environment(target, database, tools):
    return {"STORE": f"mysql+pymysql://{target.user}:{target.password}@{target.host}:{target.port}/{database}", "OPTUNA": str(tools / "optuna-venv/bin")}


def steps(target, database, tools, work):
    (work / "use.py").write_text(PROGRAM)
    return {"before": [], "serve": None}


def visit(port, target, database, run):
    cli = lambda words: run(f'"$OPTUNA/optuna" --storage "$STORE" {words}', HIDDEN)
    yield run('"$OPTUNA/python" use.py "$STORE"', HIDDEN)
    yield cli("storage upgrade")
    yield cli("create-study --study-name 'from the shell' --direction maximize")
    yield cli("create-study --study-name 'from the shell' --direction maximize --skip-if-exists")
    yield cli("study set-user-attr --study-name 'from the shell' --key note --value 'é 日本'")
    yield cli("ask --study-name 'from the shell' --search-space '{\"x\": {\"name\": \"IntDistribution\", \"attributes\": {\"low\": 3, \"high\": 3}}}'")
    yield cli("tell --study-name 'from the shell' --trial-number 0 --values 1.25")
    yield cli("studies --format json")
    yield cli("trials --study-name 'from the shell' --format json")
    yield cli("best-trial --study-name 'from the shell' --format json")
    yield cli("delete-study --study-name copy")
