//! `mysql.time_zone` and its like: the zones that the server brings along, in the form in which `mysql_tzinfo_to_sql` writes them. They are computed: nothing has to be loaded
//! before names of zones can be used, and what CONVERT_TZ() knows is what stands here.

use super::column::{columns, define_in, one_of};
use super::{MYSQL, VirtualTable, listed};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use std::sync::LazyLock;
use types::{Collation, ColumnType, TimeZone, TypeKind, Value, ZoneChange};

pub(super) fn tables() -> Vec<VirtualTable> {
    let id = || ColumnType::int().unsigned().not_null();
    let text = |length| ColumnType { length, collation: Collation::Utf8mb3GeneralCi, ..ColumnType::new(TypeKind::Char) }.not_null();
    let moment = || ColumnType::bigint().not_null();
    let table = |name, list, rows| VirtualTable { def: define_in(MYSQL, name, columns(list)), rows };
    let kinds = vec![
        ("Time_zone_id", id()),
        ("Transition_type_id", id()),
        ("Offset", ColumnType::int().not_null()),
        ("Is_DST", ColumnType::new(TypeKind::TinyInt).unsigned().not_null()),
        ("Abbreviation", text(8)),
    ];
    vec![
        table(
            "time_zone",
            vec![("Time_zone_id", id()), ("Use_leap_seconds", one_of(&["Y", "N"], Collation::Utf8mb3GeneralCi).not_null())],
            zones,
        ),
        // No zone of ours counts leap seconds.
        table("time_zone_leap_second", vec![("Transition_time", moment()), ("Correction", ColumnType::int().not_null())], |_, _| {
            Ok(listed(Vec::new()))
        }),
        table("time_zone_name", vec![("Name", text(64)), ("Time_zone_id", id())], names),
        table(
            "time_zone_transition",
            vec![("Time_zone_id", id()), ("Transition_time", moment()), ("Transition_type_id", id())],
            transitions,
        ),
        table("time_zone_transition_type", kinds, transition_types),
    ]
}

/// Zones by name; the first has the id 1.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(TimeZone::known_names);

fn numbered() -> impl Iterator<Item = (u64, &'static str)> {
    NAMES.iter().enumerate().map(|(at, name)| (at as u64 + 1, name.as_str()))
}

fn zones(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    // `N`: the second member.
    Ok(listed(numbered().map(|(id, _)| vec![Value::UInt(id), "N".into()]).collect()))
}

fn names(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(numbered().map(|(id, name)| vec![name.into(), Value::UInt(id)]).collect()))
}

/// What clocks of a zone may show, each once, and which of it they show from when on.
fn kinds_and_changes(name: &str) -> (Vec<ZoneChange>, Vec<(i64, usize)>) {
    let mut kinds: Vec<ZoneChange> = Vec::new();
    let mut changes = Vec::new();
    for change in TimeZone::parse(name).map(|zone| zone.changes()).unwrap_or_default() {
        let same =
            |kind: &ZoneChange| (kind.offset, kind.summer, &kind.abbreviation) == (change.offset, change.summer, &change.abbreviation);
        let at = change.at;
        let no = kinds.iter().position(same).unwrap_or_else(|| {
            kinds.push(change);
            kinds.len() - 1
        });
        changes.push((at, no));
    }
    (kinds, changes)
}

fn transitions(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let of_zone = |(id, name): (u64, &str)| -> Vec<VirtualRow> {
        let (_, changes) = kinds_and_changes(name);
        changes.into_iter().map(|(at, kind)| vec![Value::UInt(id), Value::Int(at), Value::UInt(kind as u64)]).collect()
    };
    Ok(Box::new(numbered().flat_map(of_zone).map(Ok)))
}

fn transition_types(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let of_zone = |(id, name): (u64, &str)| -> Vec<VirtualRow> {
        let (kinds, _) = kinds_and_changes(name);
        let row = |(no, kind): (usize, ZoneChange)| {
            vec![
                Value::UInt(id),
                Value::UInt(no as u64),
                Value::Int(kind.offset.into()),
                Value::UInt(kind.summer.into()),
                kind.abbreviation.as_str().into(),
            ]
        };
        kinds.into_iter().enumerate().map(row).collect()
    };
    Ok(Box::new(numbered().flat_map(of_zone).map(Ok)))
}
