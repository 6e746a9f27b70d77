//! Tables of `information_schema` about what does not exist here (or only the functions of `sys`: `routines.rs`): routines, triggers, events, tablespace files,
//! roles and privileges on single databases. They have their columns and no rows, so that those who ask get an answer. PROFILING has rows once a session keeps profiles.

use super::column::*;
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::VirtualRequest;
use executor::{StatementContext, VirtualRows};
use mysql_error::codes;
use types::{Collation, ColumnType, TypeKind};

/// All of them.
pub(super) fn tables() -> Vec<VirtualTable> {
    let list = [
        ("VIEW_ROUTINE_USAGE", view_routine_usage()),
        ("ROUTINES", routines()),
        ("PARAMETERS", parameters()),
        ("TRIGGERS", triggers()),
        ("EVENTS", events()),
        ("PARTITIONS", partitions()),
        ("FILES", files()),
        ("SCHEMA_PRIVILEGES", schema_privileges()),
        ("TABLE_PRIVILEGES", table_privileges()),
        ("COLUMN_PRIVILEGES", column_privileges()),
        ("APPLICABLE_ROLES", applicable_roles()),
        ("ENABLED_ROLES", enabled_roles()),
        ("ADMINISTRABLE_ROLE_AUTHORIZATIONS", administrable_role_authorizations()),
        ("ROLE_TABLE_GRANTS", role_table_grants()),
        ("ROLE_COLUMN_GRANTS", role_column_grants()),
        ("ROLE_ROUTINE_GRANTS", role_routine_grants()),
        ("LIBRARIES", libraries()),
        ("ROUTINE_LIBRARIES", routine_libraries()),
        ("OPTIMIZER_TRACE", optimizer_trace()),
        ("PROFILING", profiling()),
    ];
    list.into_iter()
        .map(|(name, columns)| VirtualTable {
            def: information_schema(name, if name == "PARTITIONS" { &["TABLE_SCHEMA", "TABLE_NAME"] } else { &[] }, 0.0, columns),
            rows: match name {
                "PARTITIONS" => super::tables::partition_rows,
                "ROUTINES" => super::routines::routine_rows,
                "PARAMETERS" => super::routines::parameter_rows,
                "PROFILING" => profiling_rows,
                _ => super::account_rows::of(name).unwrap_or(rows),
            },
        })
        .collect()
}

fn rows(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(Vec::new()))
}

type Columns = Vec<(&'static str, ColumnType)>;

fn view_routine_usage() -> Columns {
    vec![
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("SPECIFIC_CATALOG", bytes_text(64).not_null()),
        ("SPECIFIC_SCHEMA", bytes_text(64).not_null()),
        ("SPECIFIC_NAME", folded(64).not_null()),
    ]
}

fn routines() -> Columns {
    vec![
        ("SPECIFIC_NAME", folded(64).not_null()),
        ("ROUTINE_CATALOG", bytes_text(64).not_null()),
        ("ROUTINE_SCHEMA", bytes_text(64).not_null()),
        ("ROUTINE_NAME", folded(64).not_null()),
        ("ROUTINE_TYPE", one_of(&["FUNCTION", "PROCEDURE", "LIBRARY"], Collation::Utf8mb3Bin).not_null()),
        ("DATA_TYPE", long_text(TypeKind::LongText)),
        ("CHARACTER_MAXIMUM_LENGTH", ColumnType::bigint()),
        ("CHARACTER_OCTET_LENGTH", ColumnType::bigint()),
        ("NUMERIC_PRECISION", unsigned_int()),
        ("NUMERIC_SCALE", unsigned_int()),
        ("DATETIME_PRECISION", unsigned_int()),
        ("CHARACTER_SET_NAME", folded(64)),
        ("COLLATION_NAME", folded(64)),
        ("DTD_IDENTIFIER", long_text(TypeKind::LongText)),
        ("ROUTINE_BODY", folded(8).not_null()),
        ("ROUTINE_DEFINITION", long_text(TypeKind::LongText)),
        ("EXTERNAL_NAME", octets(0)),
        ("EXTERNAL_LANGUAGE", bytes_text(64).not_null()),
        ("PARAMETER_STYLE", folded(3).not_null()),
        ("IS_DETERMINISTIC", folded(3).not_null()),
        ("SQL_DATA_ACCESS", one_of(&["CONTAINS SQL", "NO SQL", "READS SQL DATA", "MODIFIES SQL DATA"], Collation::Utf8mb3Bin).not_null()),
        ("SQL_PATH", octets(0)),
        ("SECURITY_TYPE", one_of(&["DEFAULT", "INVOKER", "DEFINER"], Collation::Utf8mb3Bin).not_null()),
        ("CREATED", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("LAST_ALTERED", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("SQL_MODE", sql_modes().not_null()),
        ("ROUTINE_COMMENT", long_text(TypeKind::Text).not_null()),
        ("DEFINER", bytes_text(288).not_null()),
        ("CHARACTER_SET_CLIENT", folded(64).not_null()),
        ("COLLATION_CONNECTION", folded(64).not_null()),
        ("DATABASE_COLLATION", folded(64).not_null()),
    ]
}

fn parameters() -> Columns {
    vec![
        ("SPECIFIC_CATALOG", bytes_text(64).not_null()),
        ("SPECIFIC_SCHEMA", bytes_text(64).not_null()),
        ("SPECIFIC_NAME", folded(64).not_null()),
        ("ORDINAL_POSITION", count().not_null()),
        ("PARAMETER_MODE", bytes_text(5)),
        ("PARAMETER_NAME", folded(64)),
        ("DATA_TYPE", long_text(TypeKind::LongText)),
        ("CHARACTER_MAXIMUM_LENGTH", ColumnType::bigint()),
        ("CHARACTER_OCTET_LENGTH", ColumnType::bigint()),
        ("NUMERIC_PRECISION", unsigned_int()),
        ("NUMERIC_SCALE", ColumnType::bigint()),
        ("DATETIME_PRECISION", unsigned_int()),
        ("CHARACTER_SET_NAME", folded(64)),
        ("COLLATION_NAME", folded(64)),
        ("DTD_IDENTIFIER", long_text(TypeKind::MediumText).not_null()),
        ("ROUTINE_TYPE", one_of(&["FUNCTION", "PROCEDURE", "LIBRARY"], Collation::Utf8mb3Bin).not_null()),
    ]
}

fn triggers() -> Columns {
    vec![
        ("TRIGGER_CATALOG", bytes_text(64).not_null()),
        ("TRIGGER_SCHEMA", bytes_text(64).not_null()),
        ("TRIGGER_NAME", folded(64).not_null()),
        ("EVENT_MANIPULATION", one_of(&["INSERT", "UPDATE", "DELETE"], Collation::Utf8mb3Bin).not_null()),
        ("EVENT_OBJECT_CATALOG", bytes_text(64).not_null()),
        ("EVENT_OBJECT_SCHEMA", bytes_text(64).not_null()),
        ("EVENT_OBJECT_TABLE", bytes_text(64).not_null()),
        ("ACTION_ORDER", unsigned_int().not_null()),
        ("ACTION_CONDITION", octets(0)),
        ("ACTION_STATEMENT", long_text(TypeKind::LongText).not_null()),
        ("ACTION_ORIENTATION", folded(3).not_null()),
        ("ACTION_TIMING", one_of(&["BEFORE", "AFTER"], Collation::Utf8mb3Bin).not_null()),
        ("ACTION_REFERENCE_OLD_TABLE", octets(0)),
        ("ACTION_REFERENCE_NEW_TABLE", octets(0)),
        ("ACTION_REFERENCE_OLD_ROW", folded(3).not_null()),
        ("ACTION_REFERENCE_NEW_ROW", folded(3).not_null()),
        ("CREATED", ColumnType::temporal(TypeKind::Timestamp, 2).not_null()),
        ("SQL_MODE", sql_modes().not_null()),
        ("DEFINER", bytes_text(288).not_null()),
        ("CHARACTER_SET_CLIENT", folded(64).not_null()),
        ("COLLATION_CONNECTION", folded(64).not_null()),
        ("DATABASE_COLLATION", folded(64).not_null()),
    ]
}

fn events() -> Columns {
    vec![
        ("EVENT_CATALOG", bytes_text(64).not_null()),
        ("EVENT_SCHEMA", bytes_text(64).not_null()),
        ("EVENT_NAME", folded(64).not_null()),
        ("DEFINER", bytes_text(288).not_null()),
        ("TIME_ZONE", bytes_text(64).not_null()),
        ("EVENT_BODY", folded(3).not_null()),
        ("EVENT_DEFINITION", long_text(TypeKind::LongText).not_null()),
        ("EVENT_TYPE", folded(9).not_null()),
        ("EXECUTE_AT", datetime()),
        ("INTERVAL_VALUE", folded(256)),
        (
            "INTERVAL_FIELD",
            one_of(
                &[
                    "YEAR",
                    "QUARTER",
                    "MONTH",
                    "DAY",
                    "HOUR",
                    "MINUTE",
                    "WEEK",
                    "SECOND",
                    "MICROSECOND",
                    "YEAR_MONTH",
                    "DAY_HOUR",
                    "DAY_MINUTE",
                    "DAY_SECOND",
                    "HOUR_MINUTE",
                    "HOUR_SECOND",
                    "MINUTE_SECOND",
                    "DAY_MICROSECOND",
                    "HOUR_MICROSECOND",
                    "MINUTE_MICROSECOND",
                    "SECOND_MICROSECOND",
                ],
                Collation::Utf8mb3Bin,
            ),
        ),
        ("SQL_MODE", sql_modes().not_null()),
        ("STARTS", datetime()),
        ("ENDS", datetime()),
        ("STATUS", bytes_text(21).not_null()),
        ("ON_COMPLETION", folded(12).not_null()),
        ("CREATED", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("LAST_ALTERED", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("LAST_EXECUTED", datetime()),
        ("EVENT_COMMENT", bytes_text(2048).not_null()),
        ("ORIGINATOR", unsigned_int().not_null()),
        ("CHARACTER_SET_CLIENT", folded(64).not_null()),
        ("COLLATION_CONNECTION", folded(64).not_null()),
        ("DATABASE_COLLATION", folded(64).not_null()),
    ]
}

fn partitions() -> Columns {
    vec![
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("PARTITION_NAME", folded(64)),
        ("SUBPARTITION_NAME", folded(64)),
        ("PARTITION_ORDINAL_POSITION", unsigned_int()),
        ("SUBPARTITION_ORDINAL_POSITION", unsigned_int()),
        ("SECONDARY_LOAD", bytes_text(1)),
        ("PARTITION_METHOD", folded(13)),
        ("SUBPARTITION_METHOD", folded(13)),
        ("PARTITION_EXPRESSION", bytes_text(2048)),
        ("SUBPARTITION_EXPRESSION", bytes_text(2048)),
        ("PARTITION_DESCRIPTION", long_text(TypeKind::Text)),
        ("TABLE_ROWS", count()),
        ("AVG_ROW_LENGTH", count()),
        ("DATA_LENGTH", count()),
        ("MAX_DATA_LENGTH", count()),
        ("INDEX_LENGTH", count()),
        ("DATA_FREE", count()),
        ("CREATE_TIME", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("UPDATE_TIME", datetime()),
        ("CHECK_TIME", datetime()),
        ("CHECKSUM", ColumnType::bigint()),
        ("PARTITION_COMMENT", long_text(TypeKind::Text).not_null()),
        ("NODEGROUP", folded(256)),
        ("TABLESPACE_NAME", bytes_text(268)),
    ]
}

fn files() -> Columns {
    vec![
        ("FILE_ID", ColumnType::bigint()),
        ("FILE_NAME", long_text(TypeKind::Text)),
        ("FILE_TYPE", folded(256)),
        ("TABLESPACE_NAME", bytes_text(268).not_null()),
        ("TABLE_CATALOG", folded(0).not_null()),
        ("TABLE_SCHEMA", octets(0)),
        ("TABLE_NAME", octets(0)),
        ("LOGFILE_GROUP_NAME", folded(256)),
        ("LOGFILE_GROUP_NUMBER", ColumnType::bigint()),
        ("ENGINE", folded(64).not_null()),
        ("FULLTEXT_KEYS", octets(0)),
        ("DELETED_ROWS", octets(0)),
        ("UPDATE_COUNT", octets(0)),
        ("FREE_EXTENTS", ColumnType::bigint()),
        ("TOTAL_EXTENTS", ColumnType::bigint()),
        ("EXTENT_SIZE", ColumnType::bigint()),
        ("INITIAL_SIZE", ColumnType::bigint()),
        ("MAXIMUM_SIZE", ColumnType::bigint()),
        ("AUTOEXTEND_SIZE", ColumnType::bigint()),
        ("CREATION_TIME", octets(0)),
        ("LAST_UPDATE_TIME", octets(0)),
        ("LAST_ACCESS_TIME", octets(0)),
        ("RECOVER_TIME", octets(0)),
        ("TRANSACTION_COUNTER", octets(0)),
        ("VERSION", ColumnType::bigint()),
        ("ROW_FORMAT", folded(256)),
        ("TABLE_ROWS", octets(0)),
        ("AVG_ROW_LENGTH", octets(0)),
        ("DATA_LENGTH", octets(0)),
        ("MAX_DATA_LENGTH", octets(0)),
        ("INDEX_LENGTH", octets(0)),
        ("DATA_FREE", ColumnType::bigint()),
        ("CREATE_TIME", octets(0)),
        ("UPDATE_TIME", octets(0)),
        ("CHECK_TIME", octets(0)),
        ("CHECKSUM", octets(0)),
        ("STATUS", folded(256)),
        ("EXTRA", folded(256)),
    ]
}

fn schema_privileges() -> Columns {
    vec![
        ("GRANTEE", folded(292).not_null()),
        ("TABLE_CATALOG", folded(512).not_null()),
        ("TABLE_SCHEMA", folded(64).not_null()),
        ("PRIVILEGE_TYPE", folded(64).not_null()),
        ("IS_GRANTABLE", folded(3).not_null()),
    ]
}

fn table_privileges() -> Columns {
    vec![
        ("GRANTEE", folded(292).not_null()),
        ("TABLE_CATALOG", folded(512).not_null()),
        ("TABLE_SCHEMA", folded(64).not_null()),
        ("TABLE_NAME", folded(64).not_null()),
        ("PRIVILEGE_TYPE", folded(64).not_null()),
        ("IS_GRANTABLE", folded(3).not_null()),
    ]
}

fn column_privileges() -> Columns {
    vec![
        ("GRANTEE", folded(292).not_null()),
        ("TABLE_CATALOG", folded(512).not_null()),
        ("TABLE_SCHEMA", folded(64).not_null()),
        ("TABLE_NAME", folded(64).not_null()),
        ("COLUMN_NAME", folded(64).not_null()),
        ("PRIVILEGE_TYPE", folded(64).not_null()),
        ("IS_GRANTABLE", folded(3).not_null()),
    ]
}

fn applicable_roles() -> Columns {
    vec![
        ("USER", folded(97)),
        ("HOST", folded(256)),
        ("GRANTEE", text(97)),
        ("GRANTEE_HOST", text(256)),
        ("ROLE_NAME", text(255)),
        ("ROLE_HOST", text(256)),
        ("IS_GRANTABLE", folded(3).not_null()),
        ("IS_DEFAULT", folded(3)),
        ("IS_MANDATORY", folded(3).not_null()),
    ]
}

fn enabled_roles() -> Columns {
    vec![("ROLE_NAME", text(255)), ("ROLE_HOST", text(255)), ("IS_DEFAULT", folded(3)), ("IS_MANDATORY", folded(3).not_null())]
}

fn administrable_role_authorizations() -> Columns {
    vec![
        ("USER", folded(97)),
        ("HOST", folded(256)),
        ("GRANTEE", text(97)),
        ("GRANTEE_HOST", text(256)),
        ("ROLE_NAME", text(255)),
        ("ROLE_HOST", text(256)),
        ("IS_GRANTABLE", folded(3).not_null()),
        ("IS_DEFAULT", folded(3)),
        ("IS_MANDATORY", folded(3).not_null()),
    ]
}

fn role_table_grants() -> Columns {
    vec![
        ("GRANTOR", folded(97)),
        ("GRANTOR_HOST", folded(256)),
        ("GRANTEE", ColumnType { length: 32, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("GRANTEE_HOST", ColumnType { length: 255, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("TABLE_CATALOG", folded(3).not_null()),
        ("TABLE_SCHEMA", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("TABLE_NAME", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        (
            "PRIVILEGE_TYPE",
            some_of(
                &[
                    "Select",
                    "Insert",
                    "Update",
                    "Delete",
                    "Create",
                    "Drop",
                    "Grant",
                    "References",
                    "Index",
                    "Alter",
                    "Create View",
                    "Show view",
                    "Trigger",
                ],
                Collation::Utf8mb3GeneralCi,
            )
            .not_null(),
        ),
        ("IS_GRANTABLE", folded(3).not_null()),
    ]
}

fn role_column_grants() -> Columns {
    vec![
        ("GRANTOR", folded(97)),
        ("GRANTOR_HOST", folded(256)),
        ("GRANTEE", ColumnType { length: 32, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("GRANTEE_HOST", ColumnType { length: 255, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("TABLE_CATALOG", folded(3).not_null()),
        ("TABLE_SCHEMA", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("TABLE_NAME", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("COLUMN_NAME", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("PRIVILEGE_TYPE", some_of(&["Select", "Insert", "Update", "References"], Collation::Utf8mb3GeneralCi).not_null()),
        ("IS_GRANTABLE", folded(3).not_null()),
    ]
}

fn role_routine_grants() -> Columns {
    vec![
        ("GRANTOR", folded(97)),
        ("GRANTOR_HOST", folded(256)),
        ("GRANTEE", ColumnType { length: 32, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("GRANTEE_HOST", ColumnType { length: 255, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("SPECIFIC_CATALOG", folded(3).not_null()),
        ("SPECIFIC_SCHEMA", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("SPECIFIC_NAME", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("ROUTINE_CATALOG", folded(3).not_null()),
        ("ROUTINE_SCHEMA", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("ROUTINE_NAME", ColumnType { length: 64, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("PRIVILEGE_TYPE", some_of(&["Execute", "Alter Routine", "Grant"], Collation::Utf8mb3GeneralCi).not_null()),
        ("IS_GRANTABLE", folded(3).not_null()),
    ]
}

fn optimizer_trace() -> Columns {
    vec![
        ("QUERY", folded(65535).not_null()),
        ("TRACE", folded(65535).not_null()),
        ("MISSING_BYTES_BEYOND_MAX_MEM_SIZE", int().not_null()),
        ("INSUFFICIENT_PRIVILEGES", ColumnType::new(TypeKind::TinyInt).not_null()),
    ]
}

/// What SHOW PROFILE tells, of all statements that are kept.
fn profiling_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.warn(codes::warn_deprecated_syntax("INFORMATION_SCHEMA.PROFILING", "Performance Schema").into());
    let kept = core.profiles.iter().flat_map(|profiles| profiles.kept());
    Ok(listed(kept.flat_map(crate::show::profile_rows).collect()))
}

fn profiling() -> Columns {
    vec![
        ("QUERY_ID", int().not_null()),
        ("SEQ", int().not_null()),
        ("STATE", folded(30).not_null()),
        ("DURATION", ColumnType::decimal(9, 6).not_null()),
        ("CPU_USER", ColumnType::decimal(9, 6)),
        ("CPU_SYSTEM", ColumnType::decimal(9, 6)),
        ("CONTEXT_VOLUNTARY", int()),
        ("CONTEXT_INVOLUNTARY", int()),
        ("BLOCK_OPS_IN", int()),
        ("BLOCK_OPS_OUT", int()),
        ("MESSAGES_SENT", int()),
        ("MESSAGES_RECEIVED", int()),
        ("PAGE_FAULTS_MAJOR", int()),
        ("PAGE_FAULTS_MINOR", int()),
        ("SWAPS", int()),
        ("SOURCE_FUNCTION", folded(30)),
        ("SOURCE_FILE", folded(20)),
        ("SOURCE_LINE", int()),
    ]
}

fn libraries() -> Columns {
    vec![
        ("LIBRARY_CATALOG", bytes_text(64).not_null()),
        ("LIBRARY_SCHEMA", bytes_text(64).not_null()),
        ("LIBRARY_NAME", folded(64).not_null()),
        ("LIBRARY_DEFINITION", long_text(TypeKind::LongText)),
        ("LANGUAGE", bytes_text(64).not_null()),
        ("CREATED", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("LAST_ALTERED", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("SQL_MODE", sql_modes().not_null()),
        ("LIBRARY_COMMENT", long_text(TypeKind::Text).not_null()),
        ("CREATOR", bytes_text(288).not_null()),
    ]
}

fn routine_libraries() -> Columns {
    vec![
        ("ROUTINE_CATALOG", bytes_text(64).not_null()),
        ("ROUTINE_SCHEMA", bytes_text(64).not_null()),
        ("ROUTINE_NAME", folded(64).not_null()),
        ("ROUTINE_TYPE", one_of(&["FUNCTION", "PROCEDURE", "LIBRARY"], Collation::Utf8mb3Bin).not_null()),
        ("LIBRARY_CATALOG", text(64)),
        ("LIBRARY_SCHEMA", text(100)),
        ("LIBRARY_NAME", text(100)),
        ("LIBRARY_VERSION", text(100)),
    ]
}

/// The set of SQL modes, as the tables of stored programs have it.
fn sql_modes() -> ColumnType {
    some_of(
        &[
            "REAL_AS_FLOAT",
            "PIPES_AS_CONCAT",
            "ANSI_QUOTES",
            "IGNORE_SPACE",
            "NOT_USED",
            "ONLY_FULL_GROUP_BY",
            "NO_UNSIGNED_SUBTRACTION",
            "NO_DIR_IN_CREATE",
            "NOT_USED_9",
            "NOT_USED_10",
            "NOT_USED_11",
            "NOT_USED_12",
            "NOT_USED_13",
            "NOT_USED_14",
            "NOT_USED_15",
            "NOT_USED_16",
            "NOT_USED_17",
            "NOT_USED_18",
            "ANSI",
            "NO_AUTO_VALUE_ON_ZERO",
            "NO_BACKSLASH_ESCAPES",
            "STRICT_TRANS_TABLES",
            "STRICT_ALL_TABLES",
            "NO_ZERO_IN_DATE",
            "NO_ZERO_DATE",
            "ALLOW_INVALID_DATES",
            "ERROR_FOR_DIVISION_BY_ZERO",
            "TRADITIONAL",
            "NOT_USED_29",
            "HIGH_NOT_PRECEDENCE",
            "NO_ENGINE_SUBSTITUTION",
            "PAD_CHAR_TO_FULL_LENGTH",
            "TIME_TRUNCATE_FRACTIONAL",
            "INTERPRET_UTF8_AS_UTF8MB4",
        ],
        Collation::Utf8mb3Bin,
    )
}
