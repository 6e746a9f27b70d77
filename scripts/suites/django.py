"""Django's own suite, out of its source archive, by mysqlclient: the tests of its database backends, schema editor, introspection, migrations, queries and model fields."""
import harness

VERSION = "5.2.19"
TITLE = f"Django {VERSION}"
EXPLAINED = [
    *harness.LATER,
    (r"test_db_collation_(char|text)field|\(nothing ran\)", "its models ask for utf8mb4_esperanto_ci"),
    (r"test_get_storage_engine", "the only engine is InnoDB"),
    (r"test_object_create_with_f_expression_in_subquery", "1093: an INSERT reads its own table in a subquery that MySQL happens to group by a temporary table"),
]
SHARED = [(r"test_crafted_xml_performance", "seconds of a busy machine")]
# One row for each group: what asks for the database's dialect, then what only uses it.
GROUPS = {
    "backends and schema": "backends schema introspection migrations migrations2 migrate_signals migration_test_data_persistence constraints indexes model_indexes custom_columns db_typecasts db_utils dbshell "
                           "transactions transaction_hooks select_for_update datatypes custom_migration_operations field_defaults unmanaged_models reserved_names",
    "queries and expressions": "queries aggregation aggregation_regress annotations expressions expressions_case expressions_window lookup custom_lookups string_lookup or_lookups xor_lookups null_queries raw_query ordering dates "
                               "datetimes timezones extra_regress filtered_relation distinct_on_fields defer defer_regress composite_pk db_functions reverse_lookup null_fk null_fk_ordering get_earliest_or_latest",
    # Their models ask for utf8mb4_esperanto_ci, so that the database is not made without it.
    "with a language's collation": "inspectdb model_fields",
    "models": "basic bulk_create delete delete_regress update update_only_fields get_or_create force_insert_update model_inheritance model_inheritance_regress model_regress many_to_many many_to_one "
              "many_to_one_null one_to_one m2m_through m2m_through_regress m2m_regress foreign_object prefetch_related select_related select_related_regress proxy_models generic_relations generic_relations_regress "
              "multiple_database fixtures fixtures_regress serializers contenttypes_tests sessions_tests cache custom_pk from_db_value save_delete_hooks validation constraints async",
}


def install(tools):
    harness.sdist("Django", VERSION, tools)
    harness.apt("libmariadb-dev", "pkg-config", "gcc")
    harness.venv(tools / "django-venv", f"Django=={VERSION}", "mysqlclient==2.3.1", "tblib", "PyYAML", "Pillow", "jinja2", "tzdata", "docutils")


SETTINGS_FILE = """
DATABASES = {{name: {{"ENGINE": "django.db.backends.mysql", "NAME": "django_" + name, "USER": "root", "HOST": "{host}", "PORT": {port}, "TEST": {{"CHARSET": "utf8mb4"}}}} for name in ("default", "other")}}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""


def run(target, tools, work):
    python, tree = tools / "django-venv/bin/python", tools / f"Django-{VERSION}"
    (work / "suite_settings.py").write_text(SETTINGS_FILE.format(host=target.host, port=target.port))
    results = {}
    for group, labels in GROUPS.items():
        present = [label for label in dict.fromkeys(labels.split()) if (tree / "tests" / label).exists()]
        results[f"{TITLE}: {group}"] = harness.run(
            f"{TITLE}: {group}", [python, "runtests.py", "--settings=suite_settings", "--parallel=1", "--noinput", "--verbosity=1", *present], cwd=tree / "tests",
            env={"PYTHONPATH": str(work)}, timeout=3600, parse=harness.unittest_text, log=work / f"{group.replace(' ', '-')}.log")
    return results
