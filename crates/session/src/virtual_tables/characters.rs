//! `information_schema.CHARACTER_SETS`, `COLLATIONS`, `COLLATION_CHARACTER_SET_APPLICABILITY`.

use super::column::{count, folded, information_schema, one_of, unsigned_int};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::show;
use catalog::VirtualRequest;
use executor::VirtualRows;
use types::{Charset, Collation, Value};

pub(super) fn character_sets() -> VirtualTable {
    let columns = vec![
        ("CHARACTER_SET_NAME", folded(64).not_null()),
        ("DEFAULT_COLLATE_NAME", folded(64).not_null()),
        ("DESCRIPTION", folded(2048).not_null()),
        ("MAXLEN", unsigned_int().not_null()),
    ];
    VirtualTable { def: information_schema("CHARACTER_SETS", &[], 2.0, columns), rows: sets }
}

pub(super) fn collations() -> VirtualTable {
    let columns = vec![
        ("COLLATION_NAME", folded(64).not_null()),
        ("CHARACTER_SET_NAME", folded(64).not_null()),
        ("ID", count().not_null()),
        ("IS_DEFAULT", folded(3).not_null()),
        ("IS_COMPILED", folded(3).not_null()),
        ("SORTLEN", unsigned_int().not_null()),
        ("PAD_ATTRIBUTE", one_of(&["PAD SPACE", "NO PAD"], Collation::Utf8mb3Bin).not_null()),
    ];
    VirtualTable { def: information_schema("COLLATIONS", &[], 7.0, columns), rows: all_collations }
}

pub(super) fn applicability() -> VirtualTable {
    let columns = vec![("COLLATION_NAME", folded(64).not_null()), ("CHARACTER_SET_NAME", folded(64).not_null())];
    VirtualTable { def: information_schema("COLLATION_CHARACTER_SET_APPLICABILITY", &[], 7.0, columns), rows: pairs }
}

fn sets(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |charset: Charset| {
        let maxlen = Value::UInt(u64::from(charset.bytes_per_char_max()));
        vec![charset.name().into(), charset.default_collation().name().into(), charset.description().into(), maxlen]
    };
    Ok(listed(show::charsets_by_name().into_iter().map(row).collect()))
}

fn sorted() -> Vec<Collation> {
    let mut all = Collation::ALL.to_vec();
    all.sort_by_key(|collation| collation.name());
    all
}

/// The rows of COLLATIONS, which SHOW COLLATION has, too.
pub(crate) fn collation_rows() -> impl Iterator<Item = Vec<Value>> {
    sorted().into_iter().map(|collation| {
        let charset = collation.charset();
        vec![
            collation.name().into(),
            charset.name().into(),
            Value::UInt(u64::from(collation.id())),
            if charset.default_collation() == collation { "Yes" } else { "" }.into(),
            "Yes".into(),
            Value::UInt(collation.sort_length()),
            if collation.pads_space() { "PAD SPACE" } else { "NO PAD" }.into(),
        ]
    })
}

fn all_collations(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(collation_rows().collect()))
}

fn pairs(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(sorted().into_iter().map(|c| vec![c.name().into(), c.charset().name().into()]).collect()))
}
