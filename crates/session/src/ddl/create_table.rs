//! CREATE TABLE.

use super::check::{define_checks, rename_all};
use super::create_select::{self, Made, Selected};
use super::definition::{Definer, DraftColumn, define_column};
use super::expression::check_expressions;
use super::foreign_keys::{self, DraftForeignKey};
use super::key::{DraftKey, define_indexes, warn_of_repeated};
use super::options::Options;
use super::primary_key;
use super::{DdlDone, FullName, check_table_name, find_column, full_name};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::statement::enter::{STALE_PLANS_MAX, too_stale};
use base::{IndexId, PageNo, TableId};
use catalog::{CatalogError, TableDef, Visibility};
use mysql_error::{SqlError, codes};
use parser::ast::{CreateTable, ObjectName};
use types::{Collation, ColumnType, TypeKind, Value};

const COLUMNS_MAX: usize = 1017;
/// Bytes of a row without its BLOBs, as MySQL counts them.
const ROW_BYTES_MAX: u64 = 65_535;

pub(super) fn create(session: &mut ClientSession, create: &CreateTable<'_>, sql: &[u8]) -> Result<DdlDone, Outcome> {
    refuse_unsupported(create)?;
    until_fresh(session, |session| try_create(session, create, sql))
}

/// Begins anew where the tables of the statement's query have changed meanwhile (`None`).
pub(super) fn until_fresh(
    session: &mut ClientSession,
    mut attempt: impl FnMut(&mut ClientSession) -> Result<Option<DdlDone>, Outcome>,
) -> Result<DdlDone, Outcome> {
    for _ in 0..STALE_PLANS_MAX {
        if let Some(done) = attempt(session)? {
            return Ok(done);
        }
        // It is as if it had not begun.
        session.core.diagnostics.clear();
    }
    Err(too_stale())
}

/// `None` when the tables of its query have changed so that it has to begin anew.
fn try_create(session: &mut ClientSession, create: &CreateTable<'_>, sql: &[u8]) -> Result<Option<DdlDone>, Outcome> {
    let name = full_name(session, &create.name)?;
    check_table_name(&name.table)?;
    let catalog = session.shared().catalog.clone();
    let database = catalog.database(&name.database).map_err(|error| session.catalog_error(error))?;
    // What is copied is looked for before the new name is.
    if let Some(like) = &create.like {
        let like = full_name(session, like)?;
        session.find_named(&like)?;
        if like == name {
            return Err(codes::nonuniq_table(&name.table).into());
        }
    }
    session.refuse_unlocked(&name)?;
    if session.table_exists(&name)? {
        return exists(session, create, &name).map(Some);
    }
    let mut selected = Selected::of(session, create.select.as_ref(), sql)?;
    let mut def = match &create.like {
        Some(like) => define_like(session, like, &name)?,
        None => {
            let drafts = foreign_keys::of_create(session, &name, create)?;
            let mut definer = session.definer(&name.table);
            let def = define(&mut definer, create, &name, database.collation, selected.drafts(), &drafts)?;
            let warnings = definer.warnings;
            session.ddl_warnings(warnings);
            def
        }
    };
    session.require_key(&def)?;
    // Parents are taken alone: what was planned for them without the new keys has ended then.
    let parents = |_: &ClientSession| {
        let others = def.foreign_keys.iter().filter(|key| !key.refers_to(&name.database, &name.table));
        Ok(others.map(|key| FullName { database: key.parent_database.clone(), table: key.parent_table.clone() }).collect())
    };
    let _parents = session.lock_related(&[], parents)?;
    let names = session.take_check_names(&def, None)?;
    // A query may wait for its tables; others need not wait for it.
    let _names = names.filter(|_| create.select.is_none());
    foreign_keys::check_key_columns(&def)?;
    session.check_new_keys(&def, |_| true)?;
    session.check_awaited(&def)?;
    def.created_micros = session.engine.engine().wall_micros();
    if let Some(select) = &create.select {
        return match create_select::create(session, select, def, &mut selected, sql)? {
            Made::Rows(affected) => Ok(Some(DdlDone::of(affected))),
            Made::Exists => exists(session, create, &name).map(Some),
            Made::Otherwise => Ok(None),
        };
    }
    match catalog.create_table(&mut session.engine, def) {
        Ok(_) => Ok(Some(DdlDone::NOTHING)),
        Err(CatalogError::TableExists(_)) => exists(session, create, &name).map(Some),
        Err(error) => Err(session.catalog_error(error)),
    }
}

pub(super) fn exists(session: &mut ClientSession, create: &CreateTable<'_>, name: &FullName) -> Result<DdlDone, Outcome> {
    let error = codes::table_exists_error(&name.table);
    if !create.if_not_exists {
        return Err(error.into());
    }
    session.ddl_note(error);
    Ok(DdlDone::NOTHING)
}

fn refuse_unsupported(create: &CreateTable<'_>) -> Result<(), SqlError> {
    if create.partition_by.is_some() { Err(codes::not_supported_yet("PARTITION BY")) } else { Ok(()) }
}

/// The definition that CREATE TABLE says, without ids.
pub(super) fn define(
    definer: &mut Definer<'_>,
    create: &CreateTable<'_>,
    name: &FullName,
    database_collation: Collation,
    selected: Vec<DraftColumn>,
    foreign: &[DraftForeignKey],
) -> Result<TableDef, SqlError> {
    let mut options = Options::default();
    for option in create.options {
        options.read(definer, &name.table, option)?;
    }
    let collation = options.table_collation(database_collation)?;
    let mut columns: Vec<DraftColumn> = Vec::with_capacity(create.columns.len());
    let mut keys = Vec::new();
    for column in create.columns {
        let draft = define_column(definer, column, collation)?;
        if find_column(&columns, column.name).is_some() {
            return Err(codes::dup_fieldname(column.name));
        }
        columns.push(draft);
        if column.attributes.primary_key {
            keys.push(DraftKey::of_column(column.name, true));
        }
        if column.attributes.unique {
            keys.push(DraftKey::of_column(column.name, false));
        }
    }
    let of_columns = keys.len();
    for key in create.keys {
        keys.push(define_key(definer, key)?);
    }
    // Those of the query come last, in its order; what is said of one here stands instead of what the query makes of it.
    for column in selected {
        let said = find_column(&columns, &column.def.name).map(|at| columns.remove(at));
        columns.push(said.unwrap_or(column));
    }
    if definer.generates_keys {
        primary_key::generate(&mut columns, &mut keys)?;
    }
    foreign_keys::place_made_keys(&columns, &mut keys, of_columns, foreign)?;
    let (mut indexes, drafts) = define_indexes(&mut columns, &keys, &name.table)?;
    definer.warnings.extend(warn_of_repeated(&keys, &indexes, &drafts, name));
    let made = |no: usize| drafts[no].is_some_and(|draft| keys[draft].made);
    let foreign_keys = foreign_keys::define(name, &name.table, &columns, &indexes, made, foreign)?;
    let mut shown_options = Vec::new();
    options.apply_shown(&mut shown_options, &mut indexes);
    let def = TableDef {
        id: TableId::NONE,
        database: name.database.clone(),
        name: name.table.clone(),
        columns: columns.into_iter().map(|column| column.def).collect(),
        indexes,
        schema_version: 0,
        charset: collation.charset(),
        collation,
        comment: options.comment.unwrap_or_default(),
        auto_increment_start: options.auto_increment.unwrap_or(1).max(1),
        created_micros: 0,
        shown_options,
        checks: define_checks(definer, create, &name.table)?,
        foreign_keys,
        row_versions: Default::default(),
    };
    check_size(&def)?;
    check_columns(&def)?;
    check_expressions(&def)?;
    Ok(def)
}

/// Refuses what no table's columns may be.
pub(super) fn check_columns(def: &TableDef) -> Result<(), SqlError> {
    if def.indexes[0].parts.iter().any(|part| def.columns[part.column].is_virtual()) {
        return Err(codes::unsupported_action_on_generated_column("Defining a virtual generated column as primary key"));
    }
    // Without a primary key the first unique one that cannot hold NULL stands for it.
    let stands = |index: &&catalog::IndexDef| index.unique && index.parts.iter().all(|part| !def.columns[part.column].ty.nullable);
    let first = if def.has_hidden_key() { def.indexes[1..].iter().find(stands) } else { def.indexes.first() };
    if first.is_some_and(|index| index.invisible) {
        return Err(codes::pk_index_cant_be_invisible());
    }
    if !def.columns.iter().any(|column| column.visibility == Visibility::Visible) {
        return Err(codes::table_without_visible_column());
    }
    Ok(())
}

pub(super) fn define_key(definer: &mut Definer<'_>, key: &parser::ast::KeyDef<'_>) -> Result<DraftKey, SqlError> {
    let (draft, wants_hash) = DraftKey::from_ast(definer, key)?;
    if wants_hash {
        definer.note(SqlError::with_message(
            3502,
            "This storage engine does not support the HASH index algorithm, storage engine default was used instead.",
        ));
    }
    Ok(draft)
}

/// Refuses what MySQL refuses for the count of columns and their total size.
pub(super) fn check_size(def: &TableDef) -> Result<(), SqlError> {
    if def.columns.is_empty() {
        return Err(codes::table_must_have_columns());
    }
    if def.columns.len() > COLUMNS_MAX {
        return Err(codes::too_many_fields());
    }
    let null_bytes = def.columns.iter().filter(|column| column.ty.nullable).count().div_ceil(8) as u64;
    let bytes: u64 = def.columns.iter().map(|column| row_bytes(&column.ty)).sum();
    if bytes + null_bytes > ROW_BYTES_MAX { Err(codes::too_big_rowsize(ROW_BYTES_MAX)) } else { Ok(()) }
}

/// Bytes that MySQL counts for a column.
fn row_bytes(ty: &ColumnType) -> u64 {
    let fraction = u64::from(ty.decimals).div_ceil(2);
    match ty.kind {
        kind if kind.is_integer() => kind.integer_bytes().unwrap_or(8) as u64,
        TypeKind::VarChar | TypeKind::VarBinary => ty.bytes_max() + if ty.bytes_max() > 255 { 2 } else { 1 },
        TypeKind::Char | TypeKind::Binary => ty.bytes_max(),
        TypeKind::TinyText | TypeKind::TinyBlob => 9,
        TypeKind::Text | TypeKind::Blob => 10,
        TypeKind::MediumText | TypeKind::MediumBlob => 11,
        TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json => 12,
        TypeKind::Decimal => u64::from(ty.length) / 2 + 1,
        TypeKind::Float => 4,
        TypeKind::Double => 8,
        TypeKind::Bit => u64::from(ty.length).div_ceil(8),
        TypeKind::Date => 3,
        TypeKind::Time => 3 + fraction,
        TypeKind::DateTime => 5 + fraction,
        TypeKind::Timestamp => 4 + fraction,
        TypeKind::Year | TypeKind::Null => 1,
        TypeKind::Enum => {
            if ty.member_list().len() > 255 {
                2
            } else {
                1
            }
        }
        TypeKind::Set => (ty.member_list().len() as u64).div_ceil(8).next_power_of_two(),
        _ => 8,
    }
}

/// The definition of another table, as a new and empty one.
pub(super) fn define_like(session: &ClientSession, like: &ObjectName<'_>, name: &FullName) -> Result<TableDef, Outcome> {
    let source = session.find_named(&full_name(session, like)?)?;
    let mut def = source.def.clone();
    def.id = TableId::NONE;
    def.database = name.database.clone();
    def.name = name.table.clone();
    def.schema_version = 0;
    def.auto_increment_start = 1;
    def.foreign_keys = Vec::new();
    forget_history(&mut def);
    def.columns.iter_mut().for_each(|column| column.histogram = None);
    rename_all(&mut def.checks, &name.table)?;
    for index in &mut def.indexes {
        (index.id, index.root) = (IndexId::NONE, PageNo::NONE);
    }
    Ok(def)
}

/// All rows will be of the definition's own schema version.
pub(super) fn forget_history(def: &mut TableDef) {
    def.schema_version = 0;
    def.row_versions = Default::default();
    for column in &mut def.columns {
        column.added_in = 0;
        column.instant_default = Value::Null;
    }
}
