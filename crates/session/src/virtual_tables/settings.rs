//! `performance_schema.global_variables`, `session_variables`, `global_status`, `session_status`: what SHOW VARIABLES and SHOW STATUS show.

use super::column::{long_words, one_of, performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::show::{status_list, variable_list};
use crate::variables::{DEFINITIONS, Definition, Kind, Origin, Scope, Source};
use catalog::VirtualRequest;
use executor::VirtualRows;
use types::{Collation, ColumnType, Timestamp, TypeKind, Value};

pub(super) fn tables() -> Vec<VirtualTable> {
    let table = |name, rows| {
        let columns = vec![("VARIABLE_NAME", text(64).not_null()), ("VARIABLE_VALUE", text(1024))];
        VirtualTable { def: performance_schema(name, 100.0, columns), rows }
    };
    let info = vec![
        ("VARIABLE_NAME", text(64).not_null()),
        (
            "VARIABLE_SOURCE",
            ColumnType::with_members(TypeKind::Enum, SOURCES.iter().map(|word| (*word).into()).collect::<Vec<_>>(), Collation::DEFAULT),
        ),
        ("VARIABLE_PATH", text(1024)),
        ("MIN_VALUE", text(64)),
        ("MAX_VALUE", text(64)),
        ("SET_TIME", ColumnType::temporal(TypeKind::Timestamp, 6)),
        ("SET_USER", ColumnType { collation: Collation::Utf8mb3Bin, length: 32, ..ColumnType::new(TypeKind::Char) }),
        ("SET_HOST", ColumnType { collation: Collation::AsciiGeneralCi, length: 255, ..ColumnType::new(TypeKind::Char) }),
    ];
    let metadata = vec![
        ("VARIABLE_NAME", text(64).not_null()),
        ("VARIABLE_SCOPE", one_of(&["GLOBAL", "SESSION", "SESSION_ONLY"], Collation::DEFAULT).not_null()),
        ("DATA_TYPE", one_of(&["Integer", "Numeric", "String", "Enumeration", "Boolean", "Set"], Collation::DEFAULT).not_null()),
        ("MIN_VALUE", text(64)),
        ("MAX_VALUE", text(64)),
        ("DOCUMENTATION", long_words(TypeKind::MediumText).not_null()),
    ];
    vec![
        VirtualTable { def: performance_schema("variables_metadata", 400.0, metadata), rows: variables_metadata },
        VirtualTable { def: performance_schema("variables_info", 200.0, info), rows: variables_info },
        table("persisted_variables", persisted_variables),
        table("global_variables", global_variables),
        table("session_variables", session_variables),
        table("global_status", global_status),
        table("session_status", session_status),
    ]
}

fn global_variables(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(variable_list(core, true).into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()))
}

fn persisted_variables(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let values = core.shared.persisted().map(crate::variables::Persisted::values).unwrap_or_default();
    Ok(listed(values.into_iter().map(|(name, kept)| vec![name.into(), kept.value.into()]).collect()))
}

/// What MySQL knows; here the first, the last and two between are in use.
const SOURCES: &[&str] = &["COMPILED", "GLOBAL", "SERVER", "EXPLICIT", "EXTRA", "USER", "LOGIN", "COMMAND_LINE", "PERSISTED", "DYNAMIC"];

fn variables_info(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |definition: &'static Definition| {
        let origin = core.shared.variables.origin(definition);
        let source = match origin.as_ref().map(|origin| origin.source) {
            None => "COMPILED",
            Some(Source::CommandLine) => "COMMAND_LINE",
            Some(Source::Persisted) => "PERSISTED",
            Some(Source::Dynamic) => "DYNAMIC",
        };
        let (min, max) = match definition.kind {
            Kind::Number { min, max } => (min.to_string(), max.to_string()),
            _ => ("0".to_owned(), "0".to_owned()),
        };
        let set = origin.filter(|origin| origin.source != Source::CommandLine);
        let (time, user, host) = match set {
            Some(Origin { micros, user, host, .. }) => (Value::Timestamp(Timestamp::from_micros(micros)), user.into(), host.into()),
            None => (Value::Null, Value::Null, Value::Null),
        };
        vec![definition.name.into(), source.into(), "".into(), min.into(), max.into(), time, user, host]
    };
    Ok(listed(DEFINITIONS.iter().map(row).collect()))
}

fn variables_metadata(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |definition: &Definition| {
        let scope = match definition.scope {
            Scope::Global => "GLOBAL",
            Scope::Both => "SESSION",
            Scope::Session => "SESSION_ONLY",
        };
        let bounds = |min: String, max: String| (Value::from(min), Value::from(max));
        let none = || (Value::from(""), Value::from(""));
        let (kind, (min, max)) = match definition.kind {
            Kind::Switch => ("Boolean", none()),
            Kind::Number { min, max } => ("Integer", bounds(min.to_string(), max.to_string())),
            Kind::Real { min, max } => ("Numeric", bounds((min as u64).to_string(), (max as u64).to_string())),
            Kind::Choice(_) => ("Enumeration", none()),
            Kind::Text => ("String", none()),
            Kind::Set(_) | Kind::SqlMode | Kind::Switches => ("Set", none()),
        };
        // Each is told of in the manual.
        vec![definition.name.into(), scope.into(), kind.into(), min, max, "".into()]
    };
    Ok(listed(DEFINITIONS.iter().map(row).collect()))
}

fn session_variables(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(variable_list(core, false).into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()))
}

fn global_status(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(status(core, true))
}

fn session_status(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(status(core, false))
}

fn status(core: &Core, global: bool) -> VirtualRows {
    let row = |(name, value): (&str, String)| vec![name.into(), value.into()];
    // As in MySQL, which has counts of statements by kind elsewhere.
    let shown = status_list(core, global).into_iter().filter(|(name, _)| !name.starts_with("Com_"));
    listed(shown.map(row).collect())
}
