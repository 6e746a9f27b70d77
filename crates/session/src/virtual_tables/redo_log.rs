//! `performance_schema.innodb_redo_log_files`: the segments of the log; and `log_status`: where the log stands, for backup programs.

use super::column::{int, performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::VirtualRequest;
use executor::VirtualRows;
use json::{Json, Object};
use types::{Collation, ColumnType, TypeKind, Value};

pub(super) fn tables() -> Vec<VirtualTable> {
    let bigint = || ColumnType::new(TypeKind::BigInt).not_null();
    let files = vec![
        ("FILE_ID", bigint()),
        ("FILE_NAME", text(2000).not_null()),
        ("START_LSN", bigint()),
        ("END_LSN", bigint()),
        ("SIZE_IN_BYTES", bigint()),
        ("IS_FULL", ColumnType::new(TypeKind::TinyInt).not_null()),
        ("CONSUMER_LEVEL", int().not_null()),
    ];
    let document = || ColumnType::new(TypeKind::Json).not_null();
    let status = vec![
        ("SERVER_UUID", ColumnType { collation: Collation::Utf8mb4Bin, length: 36, ..ColumnType::new(TypeKind::Char) }.not_null()),
        ("LOCAL", document()),
        ("REPLICATION", document()),
        ("STORAGE_ENGINES", document()),
    ];
    vec![
        VirtualTable { def: performance_schema("innodb_redo_log_files", 10.0, files), rows: file_rows },
        VirtualTable { def: performance_schema("log_status", 1.0, status), rows: status_rows },
    ]
}

fn file_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let wal = core.shared.engine.wal();
    let head = wal.lsn_head();
    let row = |segment: &wal::LiveSegment| {
        vec![
            Value::Int(segment.number as i64),
            format!("./log/{}", wal::segment_name(segment.number)).into(),
            Value::Int(segment.start.0 as i64),
            Value::Int(segment.end.0 as i64),
            Value::Int((segment.end.0 - segment.start.0) as i64),
            Value::Int(i64::from(segment.end <= head)),
            // Nobody reads the log in a way that MySQL counts.
            Value::Int(0),
        ]
    };
    Ok(listed(wal.segments().iter().map(row).collect()))
}

fn status_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_backup_admin()?;
    let object = |members: Vec<(&str, Json)>| {
        Json::Object(Object::from_members(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    };
    let wal = core.shared.engine.wal();
    // The checkpoint first: it is never past the head.
    let (checkpoint, head) = (wal.redo_lsn().0, wal.lsn_head().0);
    let engine = object(vec![("LSN", Json::UInt(head)), ("LSN_checkpoint", Json::UInt(checkpoint))]);
    // Too deep it is not.
    let document = |json: Json| json::encode(&json).map_or(Value::Null, |bytes| Value::Json(bytes.into()));
    let uuid = core.shared.variables.get(crate::variables::variable!("server_uuid"));
    Ok(listed(vec![vec![
        uuid,
        document(object(vec![("gtid_executed", Json::String(String::new()))])),
        document(object(vec![("channels", Json::Array(Vec::new()))])),
        document(object(vec![("InnoDB", engine)])),
    ]]))
}
