#!/usr/bin/env python3
"""Asks our server and MySQL 9.7 what ORMs, migration tools and editors ask about a schema, over the tables of dump_schema.sql, and compares whole results.

    scripts/schema_questions.py [--ours HOST:PORT] [--with HOST:PORT]

The statements are written after those of the tools named, in their shape, not taken from a trace; a tool of another version may ask otherwise. Both servers
get databases of their own, which are dropped at the end. Sizes, times and counts of rows are left out. Prints each difference, then for each tool how many
results are alike with their order and headings, how many only in another order, how many are empty on both, how many differ, and how many both refuse.
Needs PyMySQL.
"""

import argparse
import collections
from pathlib import Path

import pymysql

SCHEMA = "q_everything"
OTHER = "q_other one"
TABLES = ["parent", "child", "made", "kinds", "select", "no_key", "empty_one", "all_children", "a_checked", "zz_last"]
SYSTEM = "('mysql','information_schema','performance_schema','sys')"
# What differs between any two servers, or is counted otherwise.
LEFT_OUT = set(
    "CREATE_TIME UPDATE_TIME CHECK_TIME AVG_ROW_LENGTH DATA_LENGTH INDEX_LENGTH DATA_FREE CARDINALITY TABLE_ROWS VERSION ROWS".split()
)

# Asked for each table.
OF_TABLES = {
 'rails': [
  "SELECT table_name FROM information_schema.tables WHERE table_schema = database() AND table_name = '{t}' AND table_type = 'BASE TABLE'",
  "SELECT table_comment FROM information_schema.tables WHERE table_schema = database() AND table_name = '{t}'",
  "SHOW FULL FIELDS FROM `{t}`", "SHOW KEYS FROM `{t}`", "SHOW CREATE TABLE `{t}`",
  "SELECT column_name FROM information_schema.statistics WHERE index_name = 'PRIMARY' AND table_schema = database() AND table_name = '{t}' ORDER BY seq_in_index",
  "SELECT fk.referenced_table_name AS 'to_table', fk.referenced_column_name AS 'primary_key', fk.column_name AS 'column', fk.constraint_name AS 'name', fk.ordinal_position AS 'position', rc.update_rule AS 'on_update', rc.delete_rule AS 'on_delete' FROM information_schema.referential_constraints rc JOIN information_schema.key_column_usage fk USING (constraint_schema, constraint_name) WHERE fk.referenced_column_name IS NOT NULL AND fk.table_schema = database() AND fk.table_name = '{t}' AND rc.constraint_schema = database() AND rc.table_name = '{t}'",
  "SELECT cc.constraint_name AS 'name', cc.check_clause AS 'expression' FROM information_schema.check_constraints cc JOIN information_schema.table_constraints tc USING (constraint_schema, constraint_name) WHERE tc.table_schema = database() AND tc.table_name = '{t}' AND cc.constraint_schema = database()",
  "SELECT generation_expression FROM information_schema.columns WHERE table_schema = database() AND table_name = '{t}' AND generation_expression <> '' ORDER BY ordinal_position",
 ],
 'django': [
  "SELECT column_name, data_type, CASE WHEN collation_name = 'utf8mb4_0900_ai_ci' THEN NULL ELSE collation_name END AS collation_name, CASE WHEN column_type LIKE '% unsigned' THEN 1 ELSE 0 END AS is_unsigned, column_comment, character_maximum_length, numeric_precision, numeric_scale, extra, column_default FROM information_schema.columns WHERE table_name = '{t}' AND table_schema = DATABASE()",
  "SELECT column_name, referenced_column_name, referenced_table_name FROM information_schema.key_column_usage WHERE table_name = '{t}' AND table_schema = DATABASE() AND referenced_table_schema = DATABASE() AND referenced_table_name IS NOT NULL AND referenced_column_name IS NOT NULL",
  "SELECT kc.`constraint_name`, kc.`column_name`, kc.`referenced_table_name`, kc.`referenced_column_name`, c.`constraint_type` FROM information_schema.key_column_usage AS kc, information_schema.table_constraints AS c WHERE kc.table_schema = DATABASE() AND (kc.referenced_table_schema = DATABASE() OR kc.referenced_table_schema IS NULL) AND c.table_schema = kc.table_schema AND c.constraint_name = kc.constraint_name AND c.constraint_type != 'CHECK' AND kc.table_name = '{t}' ORDER BY kc.`ordinal_position`",
  "SELECT cc.constraint_name, cc.check_clause FROM information_schema.check_constraints AS cc, information_schema.table_constraints AS tc WHERE cc.constraint_schema = DATABASE() AND tc.table_schema = cc.constraint_schema AND cc.constraint_name = tc.constraint_name AND tc.constraint_type = 'CHECK' AND tc.table_name = '{t}'",
  "SHOW INDEX FROM `{t}`",
  "SELECT engine FROM information_schema.tables WHERE table_name = '{t}' AND table_schema = DATABASE()",
  "SELECT table_collation FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{t}'",
  "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '{t}' AND extra = 'auto_increment'",
 ],
 'laravel': [
  "select column_name as `name`, data_type as `type_name`, column_type as `type`, collation_name as `collation`, is_nullable as `nullable`, column_default as `default`, column_comment as `comment`, generation_expression as `expression`, extra as `extra` from information_schema.columns where table_schema = schema() and table_name = '{t}' order by ordinal_position asc",
  "select index_name as `name`, group_concat(column_name order by seq_in_index) as `columns`, index_type as `type`, not non_unique as `unique` from information_schema.statistics where table_schema = schema() and table_name = '{t}' group by index_name, index_type, non_unique",
  "select kc.constraint_name as `name`, group_concat(kc.column_name order by kc.ordinal_position) as `columns`, kc.referenced_table_schema as `foreign_schema`, kc.referenced_table_name as `foreign_table`, group_concat(kc.referenced_column_name order by kc.ordinal_position) as `foreign_columns`, rc.update_rule as `on_update`, rc.delete_rule as `on_delete` from information_schema.key_column_usage kc join information_schema.referential_constraints rc on kc.constraint_schema = rc.constraint_schema and kc.constraint_name = rc.constraint_name where kc.table_schema = schema() and kc.table_name = '{t}' and kc.referenced_table_name is not null group by kc.constraint_name, kc.referenced_table_schema, kc.referenced_table_name, rc.update_rule, rc.delete_rule",
  "select exists (select 1 from information_schema.tables where table_schema = schema() and table_name = '{t}' and table_type in ('BASE TABLE', 'SYSTEM VERSIONED')) as `exists`",
 ],
 'typeorm': [
  "SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `TABLE_COMMENT` FROM `INFORMATION_SCHEMA`.`TABLES` WHERE `TABLE_SCHEMA` = '{s}' AND `TABLE_NAME` = '{t}'",
  "SELECT * FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = '{s}' AND `TABLE_NAME` = '{t}'",
  "SELECT * FROM (SELECT * FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` `kcu` WHERE `kcu`.`TABLE_SCHEMA` = '{s}' AND `kcu`.`TABLE_NAME` = '{t}') `kcu` WHERE `CONSTRAINT_NAME` = 'PRIMARY'",
  "SELECT `s`.* FROM (SELECT * FROM `INFORMATION_SCHEMA`.`STATISTICS` WHERE `TABLE_SCHEMA` = '{s}' AND `TABLE_NAME` = '{t}') `s` LEFT JOIN (SELECT * FROM `INFORMATION_SCHEMA`.`REFERENTIAL_CONSTRAINTS` WHERE `CONSTRAINT_SCHEMA` = '{s}' AND `TABLE_NAME` = '{t}') `rc` ON `s`.`INDEX_NAME` = `rc`.`CONSTRAINT_NAME` AND `s`.`TABLE_SCHEMA` = `rc`.`CONSTRAINT_SCHEMA` WHERE `s`.`INDEX_NAME` != 'PRIMARY' AND `rc`.`CONSTRAINT_NAME` IS NULL",
  "SELECT `kcu`.`TABLE_SCHEMA`, `kcu`.`TABLE_NAME`, `kcu`.`CONSTRAINT_NAME`, `kcu`.`COLUMN_NAME`, `kcu`.`REFERENCED_TABLE_SCHEMA`, `kcu`.`REFERENCED_TABLE_NAME`, `kcu`.`REFERENCED_COLUMN_NAME`, `rc`.`DELETE_RULE` `ON_DELETE`, `rc`.`UPDATE_RULE` `ON_UPDATE` FROM (SELECT * FROM `INFORMATION_SCHEMA`.`KEY_COLUMN_USAGE` `kcu` WHERE `kcu`.`TABLE_SCHEMA` = '{s}' AND `kcu`.`TABLE_NAME` = '{t}') `kcu` INNER JOIN (SELECT * FROM `INFORMATION_SCHEMA`.`REFERENTIAL_CONSTRAINTS` WHERE `CONSTRAINT_SCHEMA` = '{s}' AND `TABLE_NAME` = '{t}') `rc` ON `rc`.`CONSTRAINT_SCHEMA` = `kcu`.`CONSTRAINT_SCHEMA` AND `rc`.`TABLE_NAME` = `kcu`.`TABLE_NAME` AND `rc`.`CONSTRAINT_NAME` = `kcu`.`CONSTRAINT_NAME`",
 ],
 'sequelize': [
  "SHOW FULL COLUMNS FROM `{t}`", "SHOW INDEX FROM `{t}` FROM `{s}`",
  "SELECT CONSTRAINT_NAME as constraint_name, CONSTRAINT_NAME as constraintName, CONSTRAINT_SCHEMA as constraintSchema, CONSTRAINT_SCHEMA as constraintCatalog, TABLE_NAME as tableName, TABLE_SCHEMA as tableSchema, COLUMN_NAME as columnName, REFERENCED_TABLE_SCHEMA as referencedTableSchema, REFERENCED_TABLE_NAME as referencedTableName, REFERENCED_COLUMN_NAME as referencedColumnName FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE where TABLE_NAME = '{t}' AND CONSTRAINT_NAME != 'PRIMARY' AND CONSTRAINT_SCHEMA = '{s}' AND REFERENCED_TABLE_NAME IS NOT NULL",
  "SELECT CONSTRAINT_CATALOG AS constraintCatalog, CONSTRAINT_NAME AS constraintName, CONSTRAINT_SCHEMA AS constraintSchema, CONSTRAINT_TYPE AS constraintType, TABLE_NAME AS tableName, TABLE_SCHEMA AS tableSchema from INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE table_name = '{t}' AND constraint_schema = '{s}'",
  "SELECT c.CONSTRAINT_SCHEMA AS constraintSchema, c.CONSTRAINT_NAME AS constraintName, c.CONSTRAINT_TYPE AS constraintType, c.TABLE_SCHEMA AS tableSchema, c.TABLE_NAME AS tableName, kcu.COLUMN_NAME AS columnNames, kcu.REFERENCED_TABLE_SCHEMA AS referencedTableSchema, kcu.REFERENCED_TABLE_NAME AS referencedTableName, kcu.REFERENCED_COLUMN_NAME AS referencedColumnNames, r.DELETE_RULE AS deleteAction, r.UPDATE_RULE AS updateAction, ch.CHECK_CLAUSE AS definition FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS c LEFT JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS r ON c.CONSTRAINT_CATALOG = r.CONSTRAINT_CATALOG AND c.CONSTRAINT_SCHEMA = r.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = r.CONSTRAINT_NAME AND c.TABLE_NAME = r.TABLE_NAME LEFT JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE kcu ON c.CONSTRAINT_CATALOG = kcu.CONSTRAINT_CATALOG AND c.CONSTRAINT_SCHEMA = kcu.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = kcu.CONSTRAINT_NAME AND c.TABLE_NAME = kcu.TABLE_NAME LEFT JOIN INFORMATION_SCHEMA.CHECK_CONSTRAINTS ch ON c.CONSTRAINT_CATALOG = ch.CONSTRAINT_CATALOG AND c.CONSTRAINT_SCHEMA = ch.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = ch.CONSTRAINT_NAME WHERE c.TABLE_NAME = '{t}' AND c.TABLE_SCHEMA = '{s}' ORDER BY c.CONSTRAINT_NAME, kcu.ORDINAL_POSITION",
 ],
 'flyway_liquibase': [
  "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.tables WHERE table_schema='{s}' AND table_name='{t}'",
  "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='{s}' AND table_name='{t}'",
  "SELECT CONSTRAINT_NAME, TABLE_NAME FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA='{s}' AND CONSTRAINT_TYPE='UNIQUE' AND TABLE_NAME='{t}'",
  "select const.CONSTRAINT_NAME, COLUMN_NAME, const.constraint_schema as CONSTRAINT_CONTAINER from information_schema.table_constraints const join information_schema.key_column_usage col on const.constraint_schema=col.constraint_schema and const.table_name=col.table_name and const.constraint_name=col.constraint_name where const.constraint_schema='{s}' and const.table_name='{t}' and const.constraint_name='by_name' order by ordinal_position",
 ],
 'doctrine': [
  "SELECT c.COLUMN_NAME AS field, IF(c.COLLATION_NAME IS NULL, c.COLUMN_TYPE, SUBSTRING_INDEX(c.COLUMN_TYPE, ' character set', 1)) AS type, c.IS_NULLABLE AS `null`, c.COLUMN_KEY AS `key`, c.COLUMN_DEFAULT AS `default`, c.EXTRA, c.COLUMN_COMMENT AS comment, c.CHARACTER_SET_NAME AS characterset, c.COLLATION_NAME AS collation FROM information_schema.COLUMNS c INNER JOIN information_schema.TABLES t ON t.TABLE_NAME = c.TABLE_NAME WHERE c.TABLE_SCHEMA = '{s}' AND t.TABLE_SCHEMA = '{s}' AND t.TABLE_TYPE = 'BASE TABLE' AND t.TABLE_NAME = '{t}' ORDER BY ORDINAL_POSITION",
  "SELECT NON_UNIQUE AS Non_Unique, INDEX_NAME AS Key_name, COLUMN_NAME AS Column_Name, SUB_PART AS Sub_Part, INDEX_TYPE AS Index_Type FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '{s}' AND TABLE_NAME = '{t}' ORDER BY SEQ_IN_INDEX",
  "SELECT t.ENGINE, t.AUTO_INCREMENT, t.TABLE_COMMENT, t.CREATE_OPTIONS, t.TABLE_COLLATION, ccsa.CHARACTER_SET_NAME FROM information_schema.TABLES t INNER JOIN information_schema.COLLATION_CHARACTER_SET_APPLICABILITY ccsa ON ccsa.COLLATION_NAME = t.TABLE_COLLATION WHERE TABLE_SCHEMA = '{s}' AND TABLE_NAME = '{t}'",
 ],
}

# Asked once.
OF_SCHEMA = {
 'rails': ["SELECT table_name FROM (SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = database()) _subquery WHERE table_type IN ('BASE TABLE', 'VIEW')", "SHOW VARIABLES LIKE 'character_set_database'", "SELECT DATABASE() as db"],
 'django': ["SHOW FULL TABLES", "SELECT table_name, table_type, table_comment FROM information_schema.tables WHERE table_schema = DATABASE()", "SELECT VERSION() IS NOT NULL, @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names"],
 'prisma': ["SELECT DISTINCT table_info.table_name AS table_name, table_info.create_options AS create_options, table_info.table_comment AS table_comment FROM information_schema.tables AS table_info JOIN information_schema.columns AS column_info ON BINARY column_info.table_name = BINARY table_info.table_name WHERE table_info.table_schema = '{s}' AND column_info.table_schema = '{s}' AND table_info.table_type = 'BASE TABLE' ORDER BY BINARY table_info.table_name",
  "SELECT column_name column_name, data_type data_type, column_type full_data_type, character_maximum_length character_maximum_length, numeric_precision numeric_precision, numeric_scale numeric_scale, datetime_precision datetime_precision, column_default column_default, is_nullable is_nullable, extra extra, table_name table_name, IF(column_comment = '', NULL, column_comment) AS column_comment, column_key FROM information_schema.columns WHERE table_schema = '{s}' ORDER BY ordinal_position, table_name",
  "SELECT DISTINCT index_name AS index_name, non_unique AS non_unique, column_name AS column_name, seq_in_index AS seq_in_index, table_name AS table_name, sub_part AS partial, collation AS column_order, expression IS NULL AS has_no_expression, index_type AS index_type FROM information_schema.statistics WHERE table_schema = '{s}' ORDER BY BINARY table_name, BINARY index_name, seq_in_index",
  "SELECT kcu.constraint_name constraint_name, kcu.column_name column_name, kcu.referenced_table_name referenced_table_name, kcu.referenced_column_name referenced_column_name, kcu.ordinal_position ordinal_position, kcu.table_name table_name, rc.delete_rule delete_rule, rc.update_rule update_rule FROM information_schema.key_column_usage AS kcu INNER JOIN information_schema.referential_constraints AS rc ON BINARY kcu.constraint_name = BINARY rc.constraint_name WHERE BINARY kcu.table_schema = '{s}' AND BINARY rc.constraint_schema = '{s}' AND kcu.referenced_column_name IS NOT NULL ORDER BY BINARY kcu.table_schema, BINARY kcu.table_name, BINARY kcu.constraint_name, kcu.ordinal_position",
  "SELECT table_name AS view_name, view_definition AS view_sql FROM information_schema.views WHERE table_schema = '{s}'",
  "SELECT routine_name AS name, routine_definition AS definition FROM information_schema.routines WHERE ROUTINE_SCHEMA = '{s}' AND ROUTINE_TYPE = 'PROCEDURE'",
  "SELECT tc.table_schema as namespace, tc.table_name AS table_name, tc.constraint_name AS constraint_name, LOWER(tc.constraint_type) AS constraint_type, cc.check_clause AS constraint_definition FROM information_schema.table_constraints tc LEFT JOIN information_schema.check_constraints cc ON cc.constraint_schema = tc.table_schema AND cc.constraint_name = tc.constraint_name WHERE tc.table_schema = '{s}' AND tc.constraint_type IN ('CHECK') ORDER BY BINARY tc.table_name, tc.constraint_name",
  "SELECT EXISTS(SELECT 1 FROM information_schema.schemata WHERE schema_name = '{s}')", "SELECT @@lower_case_table_names, @@GLOBAL.time_zone", "SELECT partition_name FROM information_schema.partitions WHERE table_schema = '{s}' AND partition_name IS NOT NULL"],
 'laravel': ["select table_name as `name`, table_schema as `schema`, table_comment as `comment`, engine as `engine`, table_collation as `collation` from information_schema.tables where table_type in ('BASE TABLE', 'SYSTEM VERSIONED') and table_schema = '{s}' order by table_schema, table_name",
  "select table_name as `name`, table_schema as `schema`, view_definition as `definition` from information_schema.views where table_schema = '{s}' order by table_schema, table_name", "select schema_name as name, schema_name = schema() as `default` from information_schema.schemata where schema_name not in " + SYSTEM + " and schema_name like 'q\\_%' order by schema_name"],
 'typeorm': ["SELECT * FROM `INFORMATION_SCHEMA`.`SCHEMATA` WHERE `SCHEMA_NAME` = '{s}'", "SELECT * FROM `INFORMATION_SCHEMA`.`COLUMNS` WHERE `TABLE_SCHEMA` = '{s}'", "SELECT DATABASE() AS `db_name`", "SELECT * FROM `INFORMATION_SCHEMA`.`VIEWS` WHERE TABLE_SCHEMA = '{s}'"],
 'sequelize': ["SELECT TABLE_NAME AS tableName, TABLE_SCHEMA AS tableSchema FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA = '{s}' ORDER BY TABLE_SCHEMA, TABLE_NAME", "SHOW DATABASES LIKE 'q\\_%'", "SELECT CATALOG_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME = '{s}'"],
 'flyway_liquibase': ["SELECT (SELECT Count(*) FROM (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA='{s}' LIMIT 1) T) + (SELECT Count(*) FROM (SELECT 1 FROM information_schema.VIEWS WHERE TABLE_SCHEMA='{s}' LIMIT 1) V) + (SELECT Count(*) FROM (SELECT 1 FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA='{s}' LIMIT 1) C) + (SELECT Count(*) FROM (SELECT 1 FROM information_schema.EVENTS WHERE EVENT_SCHEMA='{s}' LIMIT 1) E) + (SELECT Count(*) FROM (SELECT 1 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA='{s}' LIMIT 1) G) + (SELECT Count(*) FROM (SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA='{s}' LIMIT 1) R) AS n",
  "SELECT routine_name as 'N', routine_type as 'T' FROM information_schema.routines WHERE routine_schema='{s}' AND routine_type <> 'PACKAGE'", "SELECT event_name FROM information_schema.events WHERE event_schema='{s}'", "SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema='{s}'", "SELECT COUNT(variable_name) FROM performance_schema.user_variables_by_thread WHERE variable_value IS NOT NULL", "SELECT @@hostname IS NOT NULL, @@session.foreign_key_checks, @@session.sql_safe_updates",
  "select TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_DEFAULT, EXTRA LIKE '%VIRTUAL%' OR EXTRA LIKE '%STORED%' AS gen, SRS_ID FROM information_schema.columns WHERE table_schema='{s}' ORDER BY table_name, ordinal_position"],
 'dbeaver': ["SELECT * FROM information_schema.TABLES t WHERE t.TABLE_SCHEMA = '{s}' AND t.TABLE_NAME = 'child'", "SHOW FULL TABLES FROM `{s}`", "SHOW TABLE STATUS FROM `{s}` LIKE 'parent'", "SELECT cc.CONSTRAINT_NAME, cc.CHECK_CLAUSE, tc.TABLE_NAME, tc.ENFORCED FROM (SELECT CONSTRAINT_NAME, CHECK_CLAUSE FROM INFORMATION_SCHEMA.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = '{s}') cc, (SELECT TABLE_NAME, CONSTRAINT_NAME, ENFORCED FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = '{s}') tc WHERE cc.CONSTRAINT_NAME = tc.CONSTRAINT_NAME ORDER BY cc.CONSTRAINT_NAME",
  "SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'q\\_%'", "SELECT kc.CONSTRAINT_NAME, kc.TABLE_NAME, kc.COLUMN_NAME, kc.ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE kc WHERE kc.CONSTRAINT_SCHEMA = '{s}' AND kc.REFERENCED_TABLE_NAME IS NULL ORDER BY kc.CONSTRAINT_NAME, kc.ORDINAL_POSITION, kc.TABLE_NAME", "SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{s}' ORDER BY ROUTINE_NAME", "SELECT * FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{s}'", "SELECT * FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{s}'", "SELECT * FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = '{s}' AND TABLE_NAME = 'no_key'", "SHOW PRIVILEGES", "SHOW CREATE DATABASE `{s}`", "SELECT * FROM information_schema.VIEW_TABLE_USAGE WHERE VIEW_SCHEMA LIKE 'q\\_%'", "SELECT * FROM information_schema.TABLE_CONSTRAINTS_EXTENSIONS WHERE CONSTRAINT_SCHEMA = '{s}'", "SELECT * FROM information_schema.TABLES_EXTENSIONS WHERE TABLE_SCHEMA='{s}'", "SELECT * FROM information_schema.COLUMNS_EXTENSIONS WHERE TABLE_SCHEMA='{s}'", "SELECT * FROM information_schema.SCHEMATA_EXTENSIONS WHERE SCHEMA_NAME='{s}'", "SELECT * FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA LIKE 'q\\_%'", "SELECT * FROM information_schema.KEY_COLUMN_USAGE WHERE CONSTRAINT_SCHEMA LIKE 'q\\_%'", "SELECT * FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA LIKE 'q\\_%'", "SELECT * FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA LIKE 'q\\_%'"],
 'workbench': ["SELECT t.TABLE_NAME, t.ENGINE, t.ROW_FORMAT, t.TABLE_COLLATION, t.CREATE_OPTIONS, (SELECT COUNT(*) FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name) AS cols FROM information_schema.tables t WHERE t.table_schema = '{s}'", "SHOW FULL COLUMNS FROM `{s}`.`kinds`", "SHOW INDEXES FROM `{s}`.`kinds`", "SELECT column_name, data_type, column_type FROM information_schema.columns WHERE table_schema='{s}' AND data_type IN ('enum','set')", "SELECT REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, TABLE_SCHEMA, TABLE_NAME, UPDATE_RULE, DELETE_RULE, CONSTRAINT_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_NAME) WHERE TABLE_SCHEMA LIKE 'q\\_%'", "SHOW PROCEDURE STATUS WHERE Db='{s}'", "SHOW FUNCTION STATUS WHERE Db='{s}'", "SHOW TRIGGERS FROM `{s}`", "SHOW EVENTS FROM `{s}`"],
}


def loaded(address):
    """A connection in the schema, made anew."""
    host, port = address.rsplit(":", 1)
    connection = pymysql.connect(host=host, port=int(port), user="root", charset="utf8mb4", autocommit=True, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    dropped(connection)
    text = (Path(__file__).parent / "dump_schema.sql").read_text()
    with connection.cursor() as cursor:
        cursor.execute(text.replace("`other one`", f"`{OTHER}`").replace("everything", SCHEMA))
        while cursor.nextset():
            pass
        cursor.execute(f"USE {SCHEMA}")
    return connection


def dropped(connection):
    with connection.cursor() as cursor:
        for name in (OTHER, SCHEMA):
            cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")


def answer(connection, statement):
    """Headings and rows, or the error."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            return ("error", error.args), []
        names = [column[0] for column in cursor.description]
        kept = [at for at, name in enumerate(names) if name.upper() not in LEFT_OUT]
        return ("rows", names), [repr(tuple(row[at] for at in kept)) for row in cursor.fetchall()]


def statements(tool):
    for table in TABLES:
        for statement in OF_TABLES.get(tool, []):
            yield statement.replace("{s}", SCHEMA).replace("{t}", table)
    for statement in OF_SCHEMA.get(tool, []):
        yield statement.replace("{s}", SCHEMA)


def verdict(statement, theirs, ours):
    """How two answers compare; says what differs."""
    if theirs == ours:
        return "refused" if theirs[0][0] == "error" else "alike" if theirs[1] else "empty"
    if theirs[0] == ours[0] and sorted(theirs[1]) == sorted(ours[1]):
        return "order"
    print(statement)
    if theirs[0] != ours[0]:
        print("  MySQL:", theirs[0], "\n  ours: ", ours[0])
    for name, mine, other in (("MySQL", theirs[1], ours[1]), ("ours ", ours[1], theirs[1])):
        for row in mine:
            if row not in other:
                print(f"  {name}: {row}")
    return "differs"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ours", default="127.0.0.1:3306")
    parser.add_argument("--with", dest="peer", default="127.0.0.1:13097")
    options = parser.parse_args()
    ours, theirs = loaded(options.ours), loaded(options.peer)
    table = []
    for tool in dict.fromkeys([*OF_TABLES, *OF_SCHEMA]):
        counts = collections.Counter(verdict(s, answer(theirs, s), answer(ours, s)) for s in statements(tool))
        table.append(f"| {tool} | {sum(counts.values())} | " + " | ".join(str(counts[key]) for key in ("alike", "order", "empty", "differs", "refused")) + " |")
    for connection in (ours, theirs):
        dropped(connection)
    print("| Tool | Asked | Alike | Alike in another order | Both empty | Differs | Refused by both |\n|---|---|---|---|---|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    main()
