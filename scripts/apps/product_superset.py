"""Apache Superset: `superset db upgrade` (all migrations), init, then databases, datasets, charts, dashboards and users over its API, and the same server as a source of data: SQL Lab, schemas, metadata, charts' queries by grain of time."""
import json
import _rest, harness

VERSION = "6.1.0"
TITLE = f"Apache Superset {VERSION} (SQLAlchemy 1.4, mysqlclient)"
KEYS_UNORDERED = True
BYTES_HEXADECIMAL = True
CLOCK = _rest.BOTH + r"|\b(?:scrypt|pbkdf2):\S+|\b\d+ (?:seconds?|minutes?) ago|\bnow\b|\b0x[0-9A-F]{32}\b|@127\.0\.0\.1:\d+"
UNSEEN = ("logs", "query", "key_value", "cache_keys", "ab_user")
SCHEMA = """
CREATE TABLE a_sale (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, at DATETIME(3) NOT NULL, day DATE, shop ENUM('Wien','Лондон','日本') NOT NULL, price DECIMAL(10,2) NOT NULL COMMENT 'gross', weight DOUBLE, details JSON, paid TINYINT(1) DEFAULT 1,
  made TIMESTAMP NOT NULL DEFAULT '2024-01-01 00:00:00', note TEXT, bits BIT(3) DEFAULT b'101', bytes VARBINARY(8), y YEAR, t TIME, KEY by_day (day, shop), KEY by_price (price)) COMMENT='what was sold';
INSERT INTO a_sale (at, day, shop, price, weight, details, paid, note, bytes, y, t)
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 499) SELECT '2023-12-25 10:20:30.125' + INTERVAL i * 7 HOUR, DATE('2023-12-25' + INTERVAL i * 7 HOUR), 1 + i % 3, i % 97 + i / 4, i / 8, JSON_OBJECT('n', i), i % 5 > 0, IF(i % 4, CONCAT('note ', i % 7, ' 😀'), NULL), 'x', 2000 + i % 30, SEC_TO_TIME(i * 60) FROM n;
CREATE VIEW a_total AS SELECT shop, SUM(price) AS total, COUNT(*) AS n FROM a_sale GROUP BY shop;
"""
CONFIG = """import os
SECRET_KEY = "not a secret, but long enough for what it is"
SQLALCHEMY_DATABASE_URI = os.environ["SUPERSET_URI"]
WTF_CSRF_ENABLED = TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
"""


def install(tools):
    harness.apt("libmariadb-dev", "pkg-config", "gcc")
    harness.venv(tools / "superset-venv", f"apache-superset=={VERSION}", "mysqlclient==2.3.1", "flask-caching==2.3.1", "rich", "pillow", "cachetools")


def place(target, database):
    """By an account that sees no other database: each becomes a right of the product."""
    return f"mysql+mysqldb://{database}:secret@{target.host}:{target.port}/{database}?charset=utf8mb4"


def environment(target, database, tools):
    # Rights are numbered in the order of sets of texts.
    return {"FLASK_APP": "superset", "PYTHONHASHSEED": "0", "SUPERSET_URI": place(target, database)}


def steps(target, database, tools, work):
    target.sql(f"DROP USER IF EXISTS {database}; CREATE USER {database} IDENTIFIED BY 'secret'; GRANT ALL ON {database}.* TO {database}")
    (work / "superset_config.py").write_text(CONFIG)
    run = lambda *words: ["env", f"SUPERSET_CONFIG_PATH={work}/superset_config.py", f"SUPERSET_HOME={work}", tools / "superset-venv/bin/superset", *words]
    serve = " ".join(str(word) for word in run("run", "-h", "127.0.0.1", "-p", "$APP_HTTP_PORT"))
    return {"before": [("upgrade", run("db", "upgrade"), False), ("create-admin", run("fab", "create-admin", "--username", "admin", "--firstname", "É", "--lastname", "O'Neil", "--email", "a@example.org", "--password", "secret"), False),
                       ("init", run("init"), False), ("and again", run("db", "upgrade"), False)],
            "serve": ["sh", "-c", f"exec {serve}"]}


def visit(port, target, database, _run):
    api = _rest.Rest(port, CLOCK + f"|{target.port}")
    yield api.ask("POST", "/api/v1/security/login", {"username": "admin", "password": "wrong", "provider": "db"}, 401)
    yield api.ask("POST", "/api/v1/security/login", {"username": "admin", "password": "secret", "provider": "db"}, shown=False)
    api.headers["Authorization"] = "Bearer " + api.answer["access_token"]
    uri = place(target, database)
    yield api.ask("POST", "/api/v1/database/test_connection/", {"sqlalchemy_uri": uri, "database_name": "x"})
    yield api.ask("POST", "/api/v1/database/", {"database_name": "source", "sqlalchemy_uri": uri, "expose_in_sqllab": True, "allow_ctas": True, "allow_dml": True, "allow_run_async": False}, shown=False)
    yield api.ask("POST", "/api/v1/database/", {"database_name": "source", "sqlalchemy_uri": uri}, 422, shown=False)
    yield api.ask("GET", "/api/v1/database/1/schemas/", shown=False)
    yield api.ask("GET", f"/api/v1/database/1/tables/?q=(schema_name:{database})", shown=False)
    for table in ("a_sale", "a_total", "slices", "dashboards", "tables", "ab_user"):
        yield api.ask("GET", f"/api/v1/database/1/table_metadata/?name={table}&schema={database}")
    yield api.ask("GET", f"/api/v1/database/1/table_metadata/extra/?name=a_sale&schema={database}")
    yield api.ask("GET", f"/api/v1/database/1/select_star/a_sale/{database}/")

    def lab(sql, expected=None, **more):
        name, _, status, text = api.ask("POST", "/api/v1/sqllab/execute/", {"database_id": 1, "schema": database, "sql": sql, "runAsync": False, "queryLimit": 50, **more}, expected, shown=expected is not None)
        told = api.answer if isinstance(api.answer, dict) else {}
        return "SQL", sql, status, text if status != 200 or expected else json.dumps([told.get("data"), [[c["column_name"], c["type"], c["is_dttm"]] for c in told.get("columns", [])]], ensure_ascii=False, indent=1)

    for sql in ("SELECT * FROM a_sale ORDER BY id LIMIT 3", "SELECT * FROM a_total ORDER BY shop", "SELECT shop, AVG(price) a, STDDEV(weight) s, MIN(at), MAX(day), SUM(paid), GROUP_CONCAT(DISTINCT note ORDER BY note SEPARATOR '|') FROM a_sale GROUP BY shop ORDER BY 1",
                "WITH m AS (SELECT DATE_FORMAT(at, '%Y-%m') AS month, SUM(price) AS p FROM a_sale GROUP BY 1) SELECT month, p, SUM(p) OVER (ORDER BY month) AS running FROM m ORDER BY month",
                "SET @x = 1; SELECT @x + 1 AS y", "UPDATE a_sale SET note = 'changed' WHERE id = 1", "SELECT note FROM a_sale WHERE id = 1"):
        yield lab(sql)
    yield lab("SELECT nope FROM a_sale", 500)
    yield lab("SELEC 1", 422)
    yield lab("SELECT shop, price FROM a_sale", select_as_cta=True, ctas_method="TABLE", tmp_table_name="a_made")
    yield api.ask("POST", "/api/v1/sqllab/estimate/", {"database_id": 1, "schema": database, "sql": "SELECT 1"}, 500, shown=False)
    yield api.ask("POST", "/api/v1/dataset/", {"database": 1, "schema": database, "table_name": "a_sale"}, shown=False)
    yield api.ask("POST", "/api/v1/dataset/", {"database": 1, "schema": database, "table_name": "a_sale"}, 422, shown=False)
    yield api.ask("POST", "/api/v1/dataset/", {"database": 1, "schema": database, "table_name": "virtual", "sql": "SELECT shop, price FROM a_sale WHERE paid"}, shown=False)
    yield api.ask("GET", "/api/v1/dataset/1", shown=False)
    yield "columns", "dataset", 200, json.dumps(sorted([c["column_name"], c["type"], c["is_dttm"]] for c in api.answer["result"]["columns"]))
    metric = lambda column, how: {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": how, "label": f"{how} of {column}"}
    for grain in ("PT1H", "P1D", "P1W", "1969-12-29T00:00:00Z/P1W", "P1M", "P3M", "P1Y"):
        query = {"columns": [{"columnType": "BASE_AXIS", "sqlExpression": "at", "label": "at", "expressionType": "SQL", "timeGrain": grain}, "shop"], "metrics": [metric("price", "SUM"), metric("id", "COUNT_DISTINCT")], "row_limit": 20, "orderby": [["at", True], ["shop", True]],
                 "filters": [{"col": "at", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-03-01"}, {"col": "note", "op": "ILIKE", "val": "%NOTE%"}, {"col": "shop", "op": "IN", "val": ["Wien", "日本"]}], "extras": {"time_grain_sqla": grain, "having": "SUM(price) > 1"}}
        yield api.ask("POST", "/api/v1/chart/data", {"datasource": {"id": 1, "type": "table"}, "queries": [query], "result_format": "json", "result_type": "full", "force": True}, shown=False)
        found = (api.answer.get("result") or [{}])[0] if isinstance(api.answer, dict) else {}
        yield "chart", grain, 200, json.dumps([found.get("query"), found.get("data"), found.get("coltypes")], ensure_ascii=False, indent=1).replace("\\n", "\n")
    yield api.ask("GET", "/api/v1/datasource/table/1/column/shop/values/")
    for number in range(3):
        yield api.ask("POST", "/api/v1/chart/", {"slice_name": f"Chart {number} 😀", "viz_type": "table", "datasource_id": 1, "datasource_type": "table", "params": json.dumps({"all_columns": ["shop"], "n": number})}, shown=False)
    yield api.ask("POST", "/api/v1/dashboard/", {"dashboard_title": "Übersicht", "slug": "one", "published": True, "owners": [1]}, shown=False)
    yield api.ask("POST", "/api/v1/dashboard/", {"dashboard_title": "Another", "slug": "one"}, 422, shown=False)
    yield api.ask("PUT", "/api/v1/chart/1", {"dashboards": [1], "description": "changed"}, shown=False)
    yield api.ask("PUT", "/api/v1/dashboard/1", {"css": "b { }", "dashboard_title": "Changed"}, shown=False)
    for path in ("dashboard/?q=(filters:!((col:dashboard_title,opr:title_or_slug,value:CHANG)))", "dashboard/1/charts", "dashboard/1/datasets", "chart/?q=(filters:!((col:slice_name,opr:chart_all_text,value:'chart%201')),order_column:slice_name,order_direction:desc)",
                 "chart/?q=(page:1,page_size:2)", "dataset/?q=(filters:!((col:sql,opr:dataset_is_null_or_empty,value:!t)))", "dataset/1/related_objects", "query/?q=(page_size:3)", "database/1/related_objects", "log/?q=(page_size:1)", "tag/", "security/roles/", "menu/",
                 "database/?q=(filters:!((col:database_name,opr:ct,value:SOUR)))", "saved_query/", "annotation_layer/", "css_template/", "rowlevelsecurity/", "chart/favorite_status/?q=!(1,2)", "dashboard/_info", "dataset/distinct/schema"):
        yield api.ask("GET", "/api/v1/" + path, shown=False)
        yield "count", path, 200, str(api.answer.get("count")) if "log" not in path and "query" not in path else ""
    yield api.ask("POST", "/api/v1/dashboard/1/favorites/", {})
    yield api.ask("POST", "/api/v1/saved_query/", {"db_id": 1, "label": "mine", "sql": "SELECT 'é'", "schema": database}, shown=False)
    yield api.ask("POST", "/api/v1/annotation_layer/", {"name": "layer", "descr": "d"}, shown=False)
    yield api.ask("POST", "/api/v1/rowlevelsecurity/", {"name": "rule", "filter_type": "Regular", "tables": [1], "roles": [1], "clause": "paid = 1", "group_key": "g"}, shown=False)
    yield api.ask("POST", "/api/v1/security/roles/", {"name": "readers"}, shown=False)
    yield api.ask("DELETE", "/api/v1/chart/?q=!(2,3)")
    yield api.ask("DELETE", "/api/v1/database/1", None, 422, shown=False)
    yield api.ask("DELETE", "/api/v1/dashboard/1")
    yield api.ask("DELETE", "/api/v1/dataset/2")
