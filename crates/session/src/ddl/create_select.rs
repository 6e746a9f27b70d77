//! CREATE TABLE … SELECT: the columns that a query makes, and its rows.
//!
//! One transaction has the definition and the rows, as in MySQL 8: after a crash there is the table with all of them, or none. What a crash leaves are trees
//! that no definition names, which the next start frees.

use super::definition::DraftColumn;
use super::same_name;
use crate::client_session::ClientSession;
use crate::context::{NEW_TABLE_DATABASE, Planning};
use crate::error_map::Outcome;
use crate::statement::enter::{STALE_PLANS_MAX, refusal_of, too_stale};
use catalog::{CatalogError, ColumnDef, DefaultValue, TableDef, TableEntry, WrittenColumn};
use executor::RowConsumer;
use mysql_error::codes;
use parser::ast::{ColumnRef, CreateSelect, Insert, InsertSource, LoadDuplicates, ObjectName, Query, Statement};
use planner::Plan;
use planner::expr::ExprKind;
use planner::func::Func;
use planner::plan::{Body, Kept, OutputColumn};
use record::RowRef;
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value, implicit_default};

/// What a query made of columns when it was last looked at. Its tables are not locked then: they may be others when it runs.
pub(super) struct Selected {
    made: Vec<ColumnDef>,
    /// Of the catalogue, before the look.
    version: u64,
}

/// What became of CREATE TABLE … SELECT.
pub(super) enum Made {
    /// The table, with so many rows.
    Rows(u64),
    /// There is a table of that name by now.
    Exists,
    /// The query would make other columns by now: the statement begins anew.
    Otherwise,
}

impl Selected {
    /// Looks at the query.
    pub(super) fn of(session: &ClientSession, select: Option<&CreateSelect<'_>>, sql: &[u8]) -> Result<Selected, Outcome> {
        let version = session.shared().catalog.version();
        let made = match select {
            Some(select) => columns(session, select.query, sql)?,
            None => Vec::new(),
        };
        Ok(Selected { made, version })
    }

    /// The columns, for a definition.
    pub(super) fn drafts(&self) -> Vec<DraftColumn> {
        self.made.iter().map(|def| DraftColumn { def: def.clone(), explicit_null: false, from: None }).collect()
    }

    /// Whether the query makes the same columns by the definitions that there are now.
    fn stands(&mut self, session: &ClientSession, query: &Query<'_>, sql: &[u8]) -> Result<bool, Outcome> {
        let version = session.shared().catalog.version();
        if version == self.version {
            return Ok(true);
        }
        self.version = version;
        Ok(columns(session, query, sql)? == self.made)
    }
}

/// The columns that a query makes.
fn columns(session: &ClientSession, query: &Query<'_>, sql: &[u8]) -> Result<Vec<ColumnDef>, Outcome> {
    let planning = Planning { core: &session.core, engine: &session.engine, params: &[], param_types: &[] };
    let plan = planner::plan_statement(&Statement::Query(query), sql, &planning)?;
    // A temporary table may be made under LOCK TABLES.
    session.check_locked_tables(&plan)?;
    session.core.check_accesses(&plan.accesses)?;
    let mut columns: Vec<ColumnDef> = Vec::with_capacity(plan.columns.len());
    for (no, output) in plan.columns.iter().enumerate() {
        let def = column(&plan, no, output);
        if columns.iter().any(|other| same_name(&other.name, &def.name)) {
            return Err(codes::dup_fieldname(&def.name).into());
        }
        columns.push(def);
    }
    Ok(columns)
}

fn column(plan: &Plan, no: usize, output: &OutputColumn) -> ColumnDef {
    let table = plan.tables.iter().find(|table| *table.def.name == *output.org_table && *table.def.database == *output.database);
    let origin = table.and_then(|table| table.def.columns.iter().find(|column| same_name(&column.name, &output.org_name)));
    let made = |ty: ColumnType, default| ColumnDef { default, ..ColumnDef::new(output.name.to_string(), ty) };
    // What a query has sorted under ROLLUP says BIGINT of an INT and INT of a YEAR, and makes a column of what they were.
    let told = match (output.kept, origin) {
        (Kept::Widened, Some(origin)) if matches!(origin.ty.kind, TypeKind::Int | TypeKind::Year) => {
            ColumnType { nullable: output.ty.nullable, ..origin.ty.clone() }
        }
        _ => output.ty.clone(),
    };
    match origin.filter(|origin| origin.ty.kind == output.ty.kind && output.kept != Kept::Widened) {
        Some(origin) => {
            let default = match &origin.default {
                _ if origin.auto_increment => DefaultValue::Constant(implicit_default(&output.ty)),
                DefaultValue::None if output.ty.nullable => DefaultValue::Null,
                default => default.clone(),
            };
            let written = WrittenColumn { collation: origin.written.collation, ..WrittenColumn::default() };
            ColumnDef { on_update_now: origin.on_update_now, comment: origin.comment.clone(), written, ..made(output.ty.clone(), default) }
        }
        None => {
            let expr = match &plan.body {
                Body::Query(query) => query.output.get(no).map(|expr| &expr.kind),
                _ => None,
            };
            let ty = match expr {
                Some(ExprKind::Literal(Value::Int(n))) if planner::is_int_literal(*n) => small(&told),
                // IFNULL keeps the type that it has, COALESCE does not.
                Some(ExprKind::Literal(_) | ExprKind::Func(Func::IfNull, _)) => told.clone(),
                Some(ExprKind::Slot(_)) if output.kept != Kept::AsItIs && told.kind != TypeKind::Int => planner::kept_by_digits(&told),
                Some(_) if output.kept != Kept::AsItIs => chosen(&told),
                _ => told,
            };
            let nullable = ty.nullable;
            let ty = match ty.kind {
                TypeKind::Null => ColumnType { nullable: true, ..ColumnType::new(TypeKind::VarBinary) },
                // How wide its values are is no property of a column.
                kind if kind.is_integer() && !ty.zerofill => ColumnType { nullable, unsigned: ty.unsigned, ..ColumnType::new(kind) },
                TypeKind::Year => ColumnType { nullable, ..ColumnType::new(TypeKind::Year) },
                // It can have no default.
                TypeKind::Json => ColumnType { nullable: true, ..ty },
                // A hexadecimal literal says that it is unsigned.
                kind if kind.is_string() => {
                    let ty = ColumnType { unsigned: false, ..ty };
                    if matches!(expr, Some(ExprKind::Slot(_))) { ty } else { as_text(ty) }
                }
                _ => ty,
            };
            let default = match ty.kind {
                _ if ty.nullable => DefaultValue::Null,
                kind if kind.is_temporal() || kind.is_blob() => DefaultValue::None,
                _ => DefaultValue::Constant(implicit_default(&ty)),
            };
            made(ty, default)
        }
    }
}

/// A computed string, as the column that keeps it: a long one is no VARCHAR.
fn as_text(ty: ColumnType) -> ColumnType {
    const CHARS_OF_VARCHAR: u32 = 512;
    let kind = match ty.kind {
        TypeKind::VarChar if ty.length > CHARS_OF_VARCHAR => TypeKind::Text,
        TypeKind::VarBinary if ty.length > CHARS_OF_VARCHAR => TypeKind::Blob,
        TypeKind::MediumText => TypeKind::LongText,
        TypeKind::MediumBlob => TypeKind::LongBlob,
        _ => return ty,
    };
    ColumnType { nullable: ty.nullable, collation: ty.collation, ..ColumnType::new(kind) }
}

/// A small whole number, as the column that keeps it.
fn small(ty: &ColumnType) -> ColumnType {
    match ty.kind {
        TypeKind::BigInt if !ty.unsigned => ColumnType { nullable: ty.nullable, ..ColumnType::int() },
        _ => ty.clone(),
    }
}

/// What a function or CASE has chosen among its arguments, as the column that keeps it: a whole number is an INT where its digits fit one.
fn chosen(ty: &ColumnType) -> ColumnType {
    const CHARS_OF_INT: u32 = 11;
    let fits = match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt => true,
        TypeKind::BigInt | TypeKind::Bit => (1..=CHARS_OF_INT).contains(&ty.length),
        _ => return ty.clone(),
    };
    let unsigned = ty.unsigned || ty.kind == TypeKind::Bit;
    let whole = if fits { ColumnType::int() } else { ColumnType::bigint() };
    ColumnType { nullable: ty.nullable, unsigned, ..whole }
}

/// Makes the table and puts the query's rows into it, in one transaction.
pub(super) fn create(
    session: &mut ClientSession,
    select: &CreateSelect<'_>,
    def: TableDef,
    selected: &mut Selected,
    sql: &[u8],
) -> Result<Made, Outcome> {
    let catalog = session.shared().catalog.clone();
    let entry = catalog.undefined_table(def).map_err(|error| session.catalog_error(error))?;
    session.engine.begin(session.core.settings.isolation, false);
    let filled = fill(session, select, &entry, selected, sql);
    let outcome = match filled {
        Ok(Some(rows)) => define(session, &entry, rows),
        Ok(None) => Ok(Made::Otherwise),
        Err(outcome) => Err(outcome),
    };
    if let Ok(Made::Rows(_)) = &outcome {
        catalog.definitions_committed();
    } else {
        session.rollback()?;
        catalog.discard_table(&entry).map_err(|error| session.catalog_error(error))?;
    }
    outcome
}

/// Gives the table its definition and commits, in the transaction that has put the rows into it.
fn define(session: &mut ClientSession, entry: &TableEntry, rows: u64) -> Result<Made, Outcome> {
    let _names = session.take_check_names(&entry.def, None)?;
    let catalog = session.shared().catalog.clone();
    match catalog.define_table(&mut session.engine, entry) {
        Ok(()) => session.commit_durably().map(|()| Made::Rows(rows)),
        Err(CatalogError::TableExists(_)) => Ok(Made::Exists),
        Err(error) => Err(session.catalog_error(error)),
    }
}

/// Puts the query's rows into the new table, within the transaction that runs. Returns how many there are; `None` when the query makes other columns by now.
pub(super) fn fill(
    session: &mut ClientSession,
    select: &CreateSelect<'_>,
    entry: &Arc<TableEntry>,
    selected: &mut Selected,
    sql: &[u8],
) -> Result<Option<u64>, Outcome> {
    let names: Vec<String> = selected.made.iter().map(|column| column.name.clone()).collect();
    let targets: Vec<ColumnRef<'_>> = names.iter().map(|column| ColumnRef { schema: None, table: None, column }).collect();
    let insert = Insert {
        replace: select.duplicates == LoadDuplicates::Replace,
        ignore: select.duplicates == LoadDuplicates::Ignore,
        priority: false,
        delayed: false,
        hints: &[],
        table: ObjectName { schema: Some(NEW_TABLE_DATABASE), name: &entry.def.name },
        partitions: &[],
        columns: Some(&targets),
        source: InsertSource::Query(select.query),
        row_alias: None,
        on_duplicate: &[],
    };
    session.core.new_table = Some(Arc::clone(entry));
    let fill = |session: &mut ClientSession| insert_rows(session, select.query, &insert, selected, sql);
    session.lending((), |session, ()| session.core.new_table = None, fill)
}

fn insert_rows(
    session: &mut ClientSession,
    query: &Query<'_>,
    insert: &Insert<'_>,
    selected: &mut Selected,
    sql: &[u8],
) -> Result<Option<u64>, Outcome> {
    session.tools.params.clear();
    let mut tries = 0..STALE_PLANS_MAX;
    let plan = loop {
        tries.next().ok_or_else(too_stale)?;
        if !selected.stands(session, query, sql)? {
            return Ok(None);
        }
        let plan = session.plan(&Statement::Insert(insert), sql)?;
        // Who holds the tables' locks finds the columns as they stay.
        if plan.plan.refused {
            return Err(refusal_of(&plan.plan).into());
        }
        if session.enter(&plan.plan, plan.catalog_version, None)? && plan.catalog_version == selected.version {
            break plan;
        }
    };
    let done = session.run_entered(|_, engine, core, scratch| executor::execute(&plan.plan, &[], engine, core, scratch, &mut NoRows));
    match done.map_err(|error| session.failed_run(error))? {
        executor::Outcome::Changes(changes) => Ok(Some(changes.affected - changes.deleted)),
        executor::Outcome::Rows { .. } => Ok(Some(0)),
    }
}

/// An INSERT sends none.
struct NoRows;

impl RowConsumer for NoRows {
    fn begin(&mut self, _: &[OutputColumn]) -> executor::Result<()> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> executor::Result<()> {
        Ok(())
    }

    fn record(&mut self, _: RowRef<'_>, _: &[u32]) -> executor::Result<bool> {
        Ok(false)
    }

    fn drain(&mut self) -> executor::Result<()> {
        Ok(())
    }
}
