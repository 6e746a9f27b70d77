//! `information_schema.ROUTINES` and `PARAMETERS`, and the rows of SHOW FUNCTION STATUS: of the functions of `sys`, which are the only ones there are. They are built in, so
//! that they have no text and no time at which they were made.

use super::{SYS, listed};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use planner::sys_functions::{FUNCTIONS, SysFunction, SysType};
use types::{ColumnType, DateTime, Timestamp, Value};

/// Whose they are in MySQL.
const DEFINER: &str = "mysql.sys@localhost";

/// Under which modes they were made in MySQL.
const MODES: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

fn yes_no(yes: bool) -> Value {
    if yes { "YES" } else { "NO" }.into()
}

/// From DATA_TYPE to DTD_IDENTIFIER.
fn type_columns(ty: SysType) -> Vec<Value> {
    let spelled = ty.spelled();
    let name = spelled.split(['(', ' ']).next().unwrap_or_default();
    let column: ColumnType = ty.column_type();
    let character = column.is_character();
    let length = |bytes: u32| match ty {
        _ if !character => Value::Null,
        // Of a text both are its bytes.
        SysType::Text | SysType::LongText => Value::UInt(u64::from(column.length)),
        _ => Value::UInt(u64::from(column.length * bytes)),
    };
    let number = |digits: u64| if character { Value::Null } else { Value::UInt(digits) };
    let of_text = |name: &'static str| if character { name.into() } else { Value::Null };
    vec![
        name.into(),
        length(1),
        length(4),
        number(if ty == SysType::TinyInt { 3 } else { 20 }),
        number(0),
        Value::Null,
        of_text(column.collation.charset().name()),
        of_text(column.collation.name()),
        spelled.as_str().into(),
    ]
}

pub(super) fn routine_rows(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |function: &SysFunction| {
        let never = || Value::Timestamp(Timestamp::ZERO);
        let mut row: VirtualRow = vec![function.name.into(), "def".into(), SYS.into(), function.name.into(), "FUNCTION".into()];
        row.extend(type_columns(function.returns));
        row.extend(["SQL".into(), Value::Null, Value::Null, "SQL".into(), "SQL".into(), yes_no(function.deterministic)]);
        row.extend([function.access.into(), Value::Null, "INVOKER".into(), never(), never(), MODES.into(), "".into(), DEFINER.into()]);
        row.extend(["utf8mb4".into(), "utf8mb4_0900_ai_ci".into(), "utf8mb4_0900_ai_ci".into()]);
        row
    };
    Ok(listed(FUNCTIONS.iter().map(row).collect()))
}

pub(super) fn parameter_rows(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let rows_of = |function: &'static SysFunction| {
        let given = function.params.iter().enumerate().map(|(at, (name, ty))| (at + 1, Some(*name), *ty));
        std::iter::once((0, None, function.returns)).chain(given).map(move |(at, name, ty)| {
            let mut row: VirtualRow = vec!["def".into(), SYS.into(), function.name.into(), Value::UInt(at as u64)];
            row.extend([name.map(|_| "IN").into(), name.into()]);
            row.extend(type_columns(ty));
            row.push("FUNCTION".into());
            row
        })
    };
    Ok(listed(FUNCTIONS.iter().flat_map(rows_of).collect()))
}

/// The rows of SHOW FUNCTION STATUS.
pub(crate) fn function_status_rows() -> Vec<Vec<Value>> {
    let row = |function: &SysFunction| {
        let never = || Value::DateTime(DateTime::ZERO);
        let mut row: Vec<Value> = vec![SYS.into(), function.name.into(), "FUNCTION".into(), "SQL".into(), DEFINER.into()];
        row.extend([never(), never(), "INVOKER".into(), "".into()]);
        row.extend(["utf8mb4".into(), "utf8mb4_0900_ai_ci".into(), "utf8mb4_0900_ai_ci".into()]);
        row
    };
    FUNCTIONS.iter().map(row).collect()
}
