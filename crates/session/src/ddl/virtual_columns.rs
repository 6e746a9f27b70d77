//! VIRTUAL columns that come without touching the rows: which can, and what MySQL says of ALGORITHM and LOCK beside them.
//!
//! Rows that are written from then on hold the column; in older ones it is computed (`executor/src/computed.rs`), also for the entries of an index
//! that is built over it. A functional index is such an index on a hidden column.

use super::alter::Wishes;
use catalog::{ColumnDef, TableDef, Visibility};
use mysql_error::{SqlError, codes};
use parser::{WrittenUnder, columns_in, normalise};
use types::{ColumnType, TypeKind};

/// Functions whose value depends on settings of the session: which session's, nobody could say of a row that is older than the column.
const OF_THE_SESSION: &[&str] = &["from_unixtime", "date_format", "dayname", "monthname", "week"];

/// Whether a new column is one whose value every row can be asked for.
pub(super) fn follows_from_rows(columns: &[ColumnDef], column: &ColumnDef) -> bool {
    let Some(generated) = column.generated.as_ref().filter(|_| column.is_virtual()) else { return false };
    let arena = parser::Bump::new();
    let Ok(parsed) = parser::parse_expression(generated.text.as_bytes(), &arena) else { return false };
    let normal = normalise(&parsed, WrittenUnder { charset: "utf8mb4", week_format: 0 });
    // What is read of a TIMESTAMP depends on the time zone of the session.
    let is_of_a_zone = |name: &String| columns.iter().any(|read| super::same_name(&read.name, name) && read.ty.kind == TypeKind::Timestamp);
    column.ty.kind != TypeKind::Timestamp
        // DEFAULT(c) is another value after SET DEFAULT.
        && !normal.has_default
        && !normal.functions.iter().any(|function| OF_THE_SESSION.contains(&function.as_str()))
        && !columns_in(&generated.text).iter().any(is_of_a_zone)
}

/// Whether the same stored value of a column is another one to expressions when its type changes: a whole number that is filled with zeros.
pub(super) fn reads_otherwise(before: &ColumnDef, column: &ColumnDef) -> bool {
    before.ty.kind.is_integer() && ColumnType { nullable: column.ty.nullable, ..before.ty.clone() } != column.ty
}

/// Refuses the ALGORITHM and LOCK that MySQL does not have for a statement that adds VIRTUAL columns.
pub(super) fn check_wishes(wishes: Wishes<'_>, new: &TableDef, from: &[Option<usize>]) -> Result<(), SqlError> {
    let is_new = |at: usize| from[at].is_none();
    let added = |at: &usize| is_new(*at) && new.columns[*at].is_virtual();
    let all: Vec<usize> = (0..new.columns.len()).filter(added).collect();
    if all.is_empty() {
        return Ok(());
    }
    let refuse = |reason: &str, wish: String, instead: &str| Err(codes::alter_operation_not_supported_reason(wish, reason, instead));
    let built: Vec<bool> = new
        .indexes
        .iter()
        .filter(|index| index.id.is_none() && index.parts.iter().any(|part| all.contains(&part.column)))
        .map(|index| index.unique)
        .collect();
    let adds_unique = built.contains(&true);
    if !built.is_empty() && !adds_unique {
        let reason = "ADD COLUMN col...VIRTUAL, ADD INDEX(col)";
        match (wishes.algorithm, wishes.lock) {
            (Some("INSTANT"), _) => return refuse(reason, "ALGORITHM=INSTANT".into(), "ALGORITHM=COPY/INPLACE"),
            (None | Some("INPLACE"), Some("NONE")) => return refuse(reason, "LOCK=NONE".into(), "LOCK=SHARED"),
            _ => {}
        }
    }
    let reason = "INPLACE ADD or DROP of virtual columns cannot be combined with other ALTER TABLE actions";
    // One that others come behind.
    let is_shown = |at: usize| new.columns[at].visibility != Visibility::Hidden;
    let last_old = (0..from.len()).rev().find(|at| !is_new(*at) && is_shown(*at)).unwrap_or(0);
    let is_between = all.iter().any(|at| is_shown(*at) && *at < last_old);
    let adds_others = (0..from.len()).any(|at| is_new(at) && !new.columns[at].is_virtual());
    match (wishes.algorithm, wishes.lock) {
        (Some("INSTANT"), _) if is_between || adds_unique => refuse(reason, "ALGORITHM=INSTANT".into(), "ALGORITHM=COPY/INPLACE"),
        (Some("INPLACE"), _) if is_between || adds_unique || adds_others => refuse(reason, "ALGORITHM=INPLACE".into(), "ALGORITHM=COPY"),
        (None, Some("NONE")) if is_between || adds_unique => refuse(reason, "LOCK=NONE".into(), "LOCK=SHARED"),
        _ => Ok(()),
    }
}
