//! What the server is and does: processes, conditions, engines, character sets.

use super::Table;
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::reply::fixed_columns::{Columns, lists};
use mysql_error::{WarningLevel, codes};
use parser::ast::{ExprKind, Limit, Literal};
use types::{Charset, Value};

pub(super) fn conditions(session: &ClientSession, limit: Option<&Limit<'_>>, errors_only: bool) -> Result<Table, Outcome> {
    let mut table = Table::new(lists::CONDITIONS);
    let (offset, count) = offset_and_count(limit)?;
    let list = session.core.diagnostics.list().iter().filter(|c| !errors_only || c.level == WarningLevel::Error);
    for condition in list.skip(offset).take(count) {
        table.row(vec![condition.level.as_str().into(), Value::UInt(u64::from(condition.code)), condition.message.as_str().into()]);
    }
    Ok(table)
}

/// What a LIMIT of SHOW leaves out, and how many rows it lets through.
pub(super) fn offset_and_count(limit: Option<&Limit<'_>>) -> Result<(usize, usize), Outcome> {
    let Some(limit) = limit else { return Ok((0, usize::MAX)) };
    Ok((limit.offset.map_or(Ok(0), |e| constant(&e))?, constant(&limit.count)?))
}

fn constant(expr: &parser::ast::Expr<'_>) -> Result<usize, Outcome> {
    match expr.kind {
        ExprKind::Literal(Literal::Int(n)) => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        _ => Err(codes::not_supported_yet("this LIMIT").into()),
    }
}

pub(super) fn count(name: &str, count: u32) -> Table {
    let mut table = Table::with(Columns::of(&[lists::CONDITION_COUNT]).renamed(0, name));
    table.row(vec![Value::UInt(u64::from(count))]);
    table
}

/// The engine, as SHOW ENGINES describes it.
pub(crate) const ENGINE: [&str; 6] =
    ["InnoDB", "DEFAULT", "Altiplano's engine: transactions, row-level locking, multi-version reads", "YES", "YES", "YES"];

pub(super) fn engines() -> Table {
    let mut table = Table::new(lists::ENGINES);
    table.row(ENGINE.into_iter().map(Value::from).collect());
    table
}

/// All character sets.
pub(crate) fn charsets_by_name() -> Vec<Charset> {
    let mut all = Charset::ALL.to_vec();
    all.sort_by_key(|charset| charset.name());
    all
}

pub(super) fn charsets() -> Table {
    let mut table = Table::new(lists::CHARACTER_SETS);
    for charset in charsets_by_name() {
        table.row(vec![
            charset.name().into(),
            charset.description().into(),
            charset.default_collation().name().into(),
            Value::UInt(u64::from(charset.bytes_per_char_max())),
        ]);
    }
    table
}

pub(super) fn collations() -> Table {
    let mut table = Table::new(lists::COLLATIONS);
    crate::virtual_tables::collation_rows().for_each(|row| table.row(row));
    table
}

/// Plugins with their types.
pub(crate) const PLUGINS: [(&str, &str); 3] =
    [("mysql_native_password", "AUTHENTICATION"), ("caching_sha2_password", "AUTHENTICATION"), ("InnoDB", "STORAGE ENGINE")];

pub(super) fn plugins() -> Table {
    let mut table = Table::new(lists::PLUGINS);
    for (name, kind) in PLUGINS {
        table.row(vec![name.into(), "ACTIVE".into(), kind.into(), Value::Null, "Apache-2.0".into()]);
    }
    table
}

/// SHOW PRIVILEGES: the static ones, then the dynamic ones.
pub(super) fn privileges() -> Table {
    let mut table = Table::new(lists::PRIVILEGES);
    let mut statics: Vec<(&str, &str, &str)> = accounts::PRIVILEGES.iter().map(|info| (info.label, info.context, info.comment)).collect();
    statics.push(("Proxy", "Server Admin", "To make proxy user possible"));
    statics.push(("Usage", "Server Admin", "No privileges - allow connect only"));
    statics.sort_unstable();
    for (label, context, comment) in statics {
        table.row(vec![label.into(), context.into(), comment.into()]);
    }
    for name in accounts::DYNAMIC {
        table.row(vec![(*name).into(), "Server Admin".into(), "".into()]);
    }
    table
}
