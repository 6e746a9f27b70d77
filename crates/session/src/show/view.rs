//! Views in SHOW and `information_schema`: their columns as they are now, the statement that makes them.

use super::Table;
use super::create::Quotes;
use super::tables::columns_head;
use crate::client_session::ClientSession;
use crate::context::Core;
use crate::error_map::catalog_error;
use crate::reply::fixed_columns::{Columns, lists};
use crate::shared::Shared;
use crate::virtual_tables;
use catalog::{CheckOption, DefaultValue, TableEntry, ViewDef, ViewEntry, VirtualTableDef};
use engine::KeyRange;
use executor::StatementContext;
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use planner::PlanContext;
use planner::plan::OutputColumn;
use std::fmt::Write;
use std::sync::Arc;
use types::{Collation, ColumnType, SqlMode, TypeKind, Value};

/// What a view is described by: no session.
pub(crate) struct Describing<'s>(pub &'s Shared);

impl PlanContext for Describing<'_> {
    fn database(&self) -> Option<&str> {
        None
    }
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>, SqlError> {
        self.0.catalog.table(database, name).map_err(|error| catalog_error(error, codes::query_interrupted).error)
    }
    fn view(&self, database: &str, name: &str) -> Result<Option<Arc<ViewEntry>>, SqlError> {
        self.0.catalog.view(database, name).map_err(|error| catalog_error(error, codes::query_interrupted).error)
    }
    fn virtual_table(&self, database: &str, name: &str) -> Result<Option<&'static VirtualTableDef>, SqlError> {
        virtual_tables::database(database).map(|database| database.table(name)).transpose()
    }
    fn sql_mode(&self) -> SqlMode {
        SqlMode::default()
    }
    fn connection_collation(&self) -> Collation {
        Collation::DEFAULT
    }
    fn column_type(
        &self,
        column: &str,
        ty: &parser::ast::DataType<'_>,
        collation: Collation,
    ) -> Result<(ColumnType, Vec<Warning>), SqlError> {
        crate::ddl::of_table_function(column, ty, collation)
    }

    fn system_variable_type(&self, name: &str) -> Result<ColumnType, SqlError> {
        Err(codes::unknown_system_variable(name))
    }
    fn estimate(&self, _: &TableEntry, _: usize, _: &KeyRange) -> Option<u64> {
        None
    }
    fn rows_estimate(&self, table: &TableEntry) -> u64 {
        table.storage.rows_estimate()
    }
}

/// A column of a view with its default.
pub(crate) struct ViewColumn {
    /// The column.
    pub column: OutputColumn,
    /// What DESCRIBE shows.
    pub default: Option<String>,
    /// The same beside it: how the table's column makes its default and changes.
    pub extra: String,
    /// The comment of the table's column that it is.
    pub comment: String,
}

/// The columns of a view; 1356 when it is invalid.
pub(crate) fn view_columns(shared: &Shared, view: &Arc<ViewEntry>) -> Result<Vec<ViewColumn>, SqlError> {
    let context = Describing(shared);
    let columns = planner::views::view_columns(view, &context)?;
    let described = columns.into_iter().map(|column| {
        let entry = if column.database.is_empty() { None } else { context.table(&column.database, &column.org_table).ok() };
        let of_table = entry.as_ref().and_then(|entry| entry.def.columns.iter().find(|c| *c.name == *column.org_name));
        let of_table_as_is = of_table.filter(|of| of.ty.kind == column.ty.kind);
        let extra = of_table_as_is.map_or_else(String::new, super::extra_of_default);
        let default = match of_table_as_is {
            Some(of) if of.auto_increment => Some("0".into()),
            Some(of) if matches!(of.default, DefaultValue::None) => None,
            Some(of) => super::default_shown(of),
            None if virtual_tables::database(&column.database).is_some_and(|database| database.any_case) => None,
            None => implicit_default(&column.ty),
        };
        let comment = of_table.map_or_else(String::new, |of| of.comment.clone());
        ViewColumn { column, default, extra, comment }
    });
    Ok(described.collect())
}

/// The default of a column that is no table's.
pub(super) fn implicit_default(ty: &ColumnType) -> Option<String> {
    if ty.nullable {
        return None;
    }
    let zeros = |digits: u8| if digits == 0 { String::new() } else { format!(".{}", "0".repeat(usize::from(digits))) };
    match ty.kind {
        TypeKind::Decimal => Some(format!("0{}", zeros(ty.decimals))),
        TypeKind::DateTime | TypeKind::Timestamp => Some(format!("0000-00-00 00:00:00{}", zeros(ty.decimals))),
        TypeKind::Date => Some("0000-00-00".into()),
        TypeKind::Time => Some(format!("00:00:00{}", zeros(ty.decimals))),
        TypeKind::Year => Some("0000".into()),
        TypeKind::Json => None,
        kind if kind.is_blob() => None,
        _ if ty.kind.is_string() => Some(String::new()),
        _ => Some("0".into()),
    }
}

/// SHOW COLUMNS of a view.
pub(super) fn columns(core: &Core, view: &Arc<ViewEntry>, full: bool) -> Result<Table, SqlError> {
    let mut table = columns_head(full, false);
    let shows = core.shows();
    for ViewColumn { column, default, extra, comment } in view_columns(&core.shared, view)? {
        let privileges = shows.column(&view.def.database, &view.def.name, &column.name);
        if privileges.is_empty() {
            continue;
        }
        let ty = &column.ty;
        let mut row = vec![Value::from(&*column.name), ty.to_string().into()];
        if full {
            let has_collation = ty.is_character() && ty.kind != TypeKind::Json;
            row.push(if has_collation { ty.collation.name().into() } else { Value::Null });
        }
        row.extend([if ty.nullable { "YES" } else { "NO" }.into(), "".into(), default.into(), extra.into()]);
        if full {
            row.extend([privileges.into(), comment.into()]);
        }
        table.row(row);
    }
    Ok(table)
}

/// The statement that makes a view, for a session in a database.
pub(crate) fn create_view_text(def: &ViewDef, database: Option<&str>, quoted: impl Fn(&str) -> String) -> String {
    let own = database == Some(&*def.database);
    let mut out = format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW ",
        def.algorithm.word(),
        quoted(&def.definer_user),
        quoted(&def.definer_host),
        if def.invoker { "INVOKER" } else { "DEFINER" },
    );
    if !own {
        let _ = write!(out, "{}.", quoted(&def.database));
    }
    out.push_str(&quoted(&def.name));
    if !def.columns.is_empty() {
        let columns: Vec<String> = def.columns.iter().map(|column| quoted(column)).collect();
        let _ = write!(out, " ({})", columns.join(","));
    }
    let _ = write!(out, " AS {}", if own { &def.query_shown } else { &def.query });
    if def.check != CheckOption::None {
        let _ = write!(out, " WITH {} CHECK OPTION", def.check.word());
    }
    out
}

/// The statement that makes a view, its names with their databases and in backquotes.
pub fn whole_view_text(def: &ViewDef) -> String {
    create_view_text(def, None, |name| format!("`{}`", name.replace('`', "``")))
}

/// SHOW CREATE VIEW, and SHOW CREATE TABLE of a view.
pub(super) fn create(session: &mut ClientSession, view: &Arc<ViewEntry>) -> Table {
    let def = &view.def;
    let quotes = Quotes::of(session);
    let statement = create_view_text(def, session.core.database.as_deref(), |name| quotes.quoted(name));
    let mut table = Table::with(Columns::of(&[lists::CREATE_VIEW]).at_least_as_long(1, &statement));
    let (charset, collation) = (def.client_charset.as_str(), def.connection_collation.as_str());
    table.row(vec![def.name.as_str().into(), statement.into(), charset.into(), collation.into()]);
    if let Err(error) = planner::views::view_columns(view, &Describing(session.shared())) {
        session.core.warn(error.into_warning(WarningLevel::Warning));
    }
    table
}
