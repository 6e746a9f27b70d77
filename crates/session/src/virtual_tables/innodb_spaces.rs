//! `information_schema.INNODB_TABLESPACES`, `INNODB_TABLESPACES_BRIEF` and `INNODB_DATAFILES`: the one file that all tables lie in, which tools know as the
//! system's space.

use super::column::{bytes_text, count, folded, information_schema, octets, unsigned_int};
use super::innodb_dictionary::SYSTEM_SPACE;
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::VirtualRequest;
use executor::VirtualRows;
use types::Value;

/// How tools know the file.
const NAME: &str = "innodb_system";
/// The file, in the data directory.
const PATH: &str = "data";
/// FLAG of a space for tables of any row format.
const FLAG: u64 = 18_432;
/// Bytes that files grow and lie on disk by.
const FS_BLOCK_BYTES: u64 = 4096;

/// All of them.
pub(super) fn definitions() -> Vec<VirtualTable> {
    let spaces = vec![
        ("SPACE", unsigned_int().not_null()),
        ("NAME", folded(655).not_null()),
        ("FLAG", unsigned_int().not_null()),
        ("ROW_FORMAT", folded(22)),
        ("PAGE_SIZE", unsigned_int().not_null()),
        ("ZIP_PAGE_SIZE", unsigned_int().not_null()),
        ("SPACE_TYPE", folded(10)),
        ("FS_BLOCK_SIZE", unsigned_int().not_null()),
        ("FILE_SIZE", count().not_null()),
        ("ALLOCATED_SIZE", count().not_null()),
        ("AUTOEXTEND_SIZE", count().not_null()),
        ("SERVER_VERSION", folded(10)),
        ("SPACE_VERSION", unsigned_int().not_null()),
        ("ENCRYPTION", folded(1)),
        ("STATE", folded(10)),
    ];
    let brief = vec![
        ("SPACE", octets(256)),
        ("NAME", bytes_text(268).not_null()),
        ("PATH", bytes_text(512).not_null()),
        ("FLAG", octets(256)),
        ("SPACE_TYPE", folded(7).not_null()),
    ];
    let files = vec![("SPACE", octets(256)), ("PATH", bytes_text(512).not_null())];
    vec![
        VirtualTable { def: information_schema("INNODB_TABLESPACES", &[], 1.0, spaces), rows: space_rows },
        VirtualTable { def: information_schema("INNODB_TABLESPACES_BRIEF", &[], 1.0, brief), rows: brief_rows },
        VirtualTable { def: information_schema("INNODB_DATAFILES", &[], 1.0, files), rows: file_rows },
    ]
}

fn space_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let page_bytes = base::PAGE_BYTES as u64;
    let file_bytes = core.shared.engine.pool().store().page_count() * page_bytes;
    let version = crate::shared::SERVER_VERSION.split('-').next().unwrap_or_default();
    let row = vec![
        Value::UInt(SYSTEM_SPACE as u64),
        NAME.into(),
        Value::UInt(FLAG),
        "Any".into(),
        Value::UInt(page_bytes),
        Value::UInt(0),
        "System".into(),
        Value::UInt(FS_BLOCK_BYTES),
        Value::UInt(file_bytes),
        Value::UInt(file_bytes),
        Value::UInt(0),
        version.into(),
        Value::UInt(1),
        "N".into(),
        "normal".into(),
    ];
    Ok(listed(vec![row]))
}

fn brief_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    Ok(listed(vec![vec![SYSTEM_SPACE.to_string().into(), NAME.into(), PATH.into(), FLAG.to_string().into(), "System".into()]]))
}

fn file_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    Ok(listed(vec![vec![SYSTEM_SPACE.to_string().into(), PATH.into()]]))
}
