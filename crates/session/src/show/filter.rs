//! LIKE and WHERE of SHOW.

use super::Table;
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use parser::ast::Expr;
use types::{Collation, ColumnType, TypeKind, Value};

const ESCAPE: Option<u32> = Some(b'\\' as u32);

/// Under which names and settings are compared, whatever the table shows them as.
const NAMES: Collation = Collation::Utf8mb4GeneralCi;

/// Keeps the rows whose first column is like the pattern, without case.
pub(super) fn like(table: &mut Table, pattern: &[u8]) {
    let column = table.like_column;
    table.rows.retain(|row| matches!(&row[column], Value::Bytes(text) if NAMES.like(text, pattern, ESCAPE)));
}

/// Whether a name is like a pattern, without case. Everything is like none.
pub(super) fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    pattern.is_empty() || NAMES.like(name, pattern, ESCAPE)
}

/// Keeps the rows for which the condition is true.
pub(super) fn condition(session: &mut ClientSession, table: &mut Table, condition: &Expr<'_>, sql: &[u8]) -> Result<(), Outcome> {
    let compared = |ty: &ColumnType| match ty.kind {
        // The rows have it as it is shown.
        TypeKind::Timestamp => ColumnType::new(TypeKind::DateTime),
        _ if ty.is_character() => ColumnType { collation: NAMES, ..ty.clone() },
        _ => ty.clone(),
    };
    let columns: Vec<(&str, ColumnType)> = table.columns.output().iter().map(|column| (&*column.name, compared(&column.ty))).collect();
    let mut matches = session.matching(condition, &columns, &table.rows, sql)?.into_iter();
    table.rows.retain(|_| matches.next() == Some(true));
    Ok(())
}
