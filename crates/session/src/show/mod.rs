//! SHOW and DESCRIBE: results that the session makes from what it knows.
//!
//! Each kind makes a [`Table`]; LIKE and WHERE are applied to it here, and it is sent like any other result.

mod computed;
mod create;
mod deadlock;
mod engine_status;
mod figures;
mod filter;
mod processes;
mod profiles;
mod server;
mod status;
mod tables;
mod view;

pub use create::create_table_text;
pub(crate) use deadlock::write as deadlock_text;
pub(crate) use engine_status::Sample;
pub(crate) use processes::{Process, processes};
pub(crate) use server::{ENGINE, PLUGINS, charsets_by_name};
pub(crate) use status::{status_list, variable_list};
use tables::extra_of_default;
pub(crate) use tables::{default_shown, escaped, extra, key_word};
pub use view::whole_view_text;
pub(crate) use view::{Describing, ViewColumn, view_columns};

pub(crate) use profiles::rows_of as profile_rows;

use crate::client_session::ClientSession;
use crate::ddl::FullName;
use crate::error_map::{Outcome, catalog_error};
use crate::privileges::on_database;
use crate::reply::fixed_columns::{ColumnList, Columns, lists};
use crate::virtual_tables::{self, VirtualDatabase};
use ::accounts::Privileges;
use catalog::{TableEntry, ViewEntry, VirtualTableDef};
use mysql_error::{SqlError, codes};
use parser::ast::{ObjectName, Show, ShowFilter, ShowKind};
use planner::plan::OutputColumn;
use protocol::ResultSink;
use std::sync::Arc;
use types::Value;

/// A result in the making.
pub(crate) struct Table {
    columns: Columns,
    rows: Vec<Vec<Value>>,
    /// The column that LIKE is about.
    like_column: usize,
}

impl Table {
    fn new(list: ColumnList) -> Table {
        Table::with(Columns::of(&[list]))
    }

    fn with(columns: Columns) -> Table {
        Table { columns, rows: Vec::new(), like_column: 0 }
    }

    fn row(&mut self, values: Vec<Value>) {
        debug_assert_eq!(values.len(), self.columns.len());
        self.rows.push(values);
    }
}

/// SHOW.
pub(crate) fn execute(session: &mut ClientSession, show: &Show<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
    let keeps_conditions =
        matches!(show.what, ShowKind::Warnings { .. } | ShowKind::Errors { .. } | ShowKind::CountWarnings | ShowKind::CountErrors);
    if !keeps_conditions {
        session.core.diagnostics.clear();
    }
    let mut table = make(session, &show.what)?;
    let (is_query, reads_dictionary) = nature(&show.what);
    if reads_dictionary {
        session.read_dictionary()?;
    }
    match &show.filter {
        ShowFilter::None => {}
        ShowFilter::Like(pattern) => {
            filter::like(&mut table, pattern);
            tell_pattern(&mut table.columns, show);
        }
        ShowFilter::Where(condition) => filter::condition(session, &mut table, condition, sql)?,
    }
    if is_query {
        session.cut(&mut table);
    }
    if keeps_conditions {
        // What they tell of is the statement's before, not their own.
        session.send_rows_without_warnings(&table.columns, &table.rows, sink);
    } else {
        session.send_rows(&table.columns, &table.rows, sink);
    }
    Ok(())
}

/// The heading of a list of names tells what was asked.
fn tell_pattern(columns: &mut Columns, show: &Show<'_>) {
    if let ShowFilter::Like(pattern) = &show.filter
        && matches!(show.what, ShowKind::Databases | ShowKind::Tables { .. })
    {
        let heading = format!("{} ({})", columns.output()[0].name, String::from_utf8_lossy(pattern));
        columns.rename(0, &heading);
    }
}

/// Whether a SHOW is a query to MySQL, which `sql_select_limit` is for, and whether that reads the dictionary's tables, and so begins a transaction.
fn nature(what: &ShowKind<'_>) -> (bool, bool) {
    use ShowKind as S;
    match what {
        S::Databases | S::Tables { .. } | S::TableStatus { .. } | S::Columns { .. } | S::Indexes { .. } => (true, true),
        S::Triggers { .. } | S::Events { .. } | S::ProcedureStatus | S::FunctionStatus | S::Charset | S::Collation => (true, true),
        S::Variables { .. } | S::Status { .. } | S::Engines | S::Plugins | S::OpenTables { .. } => (true, false),
        _ => (false, false),
    }
}

impl ClientSession {
    /// What is told of the dictionary belongs to a transaction: without autocommit it begins one.
    fn read_dictionary(&mut self) -> Result<(), Outcome> {
        self.ensure_transaction();
        self.note_dictionary_read();
        self.statement_done()
    }

    /// Leaves the rows that `sql_select_limit` allows.
    fn cut(&self, table: &mut Table) {
        table.rows.truncate(usize::try_from(self.core.settings.select_limit).unwrap_or(usize::MAX));
    }
}

fn make(session: &mut ClientSession, what: &ShowKind<'_>) -> Result<Table, Outcome> {
    match what {
        ShowKind::Databases => tables::databases(session),
        ShowKind::Tables { full, schema, .. } => tables::tables(session, *full, *schema),
        ShowKind::TableStatus { schema } => tables::table_status(session, *schema),
        ShowKind::Columns { full, table, .. } => Ok(match find_table(session, table)? {
            Found::Stored(entry) => shown_columns(session, &entry, *full),
            Found::View(entry) => view::columns(&session.core, &entry, *full)?,
            Found::Computed(_, def) => computed::columns(def, *full, &session.core.shows()),
        }),
        ShowKind::Indexes { table, .. } => Ok(match find_table(session, table)? {
            Found::Stored(entry) => tables::indexes(&entry, session.core.tells_generated_keys()),
            Found::View(_) => tables::indexes_head(),
            Found::Computed(_, def) if !session.core.sees_table(def.database, def.name) => tables::indexes_head(),
            Found::Computed(_, def) => tables::indexes_of_computed(def),
        }),
        ShowKind::CreateTable(name) => {
            if let Some(schema) = name.schema.or(session.core.database.as_deref()) {
                session.may_show_definition(schema, name.name)?;
            }
            let entry = match find(session, name)? {
                Found::Stored(entry) => entry,
                Found::View(entry) => {
                    session.may_show_view(&entry.def.database, &entry.def.name)?;
                    return Ok(view::create(session, &entry));
                }
                Found::Computed(database, def) => return Ok(computed::create(database, def, create::Quotes::of(session))),
            };
            if !entry.temporary {
                session.refuse_unlocked(&FullName { database: entry.def.database.clone(), table: entry.def.name.clone() })?;
            }
            let statement = create::table(&entry, create::Quotes::of(session), &*session.core.settings.zone);
            let mut table = Table::with(Columns::of(&[lists::CREATE_TABLE]).at_least_as_long(1, &statement));
            table.row(vec![entry.def.name.as_str().into(), statement.into()]);
            Ok(table)
        }
        ShowKind::CreateView(name) => match find_view(session, name)? {
            Found::View(entry) => {
                session.may_show_view(&entry.def.database, &entry.def.name)?;
                Ok(view::create(session, &entry))
            }
            Found::Stored(entry) => Err(codes::wrong_object(&entry.def.database, &entry.def.name, "VIEW").into()),
            Found::Computed(_, def) => Err(codes::wrong_object(def.database, def.name, "VIEW").into()),
        },
        ShowKind::CreateDatabase { if_not_exists, name } => tables::create_database(session, name, *if_not_exists),
        // There is no cache of tables to tell of. Which database is meant need not be known, as in MySQL.
        ShowKind::OpenTables { .. } => Ok(Table::new(lists::OPEN_TABLES)),
        // What cannot be made has an empty list.
        ShowKind::Triggers { schema } => {
            schema_of(session, *schema)?;
            Ok(Table::new(lists::TRIGGERS))
        }
        ShowKind::Events { schema } => {
            let schema = schema_of(session, *schema)?;
            on_database(session, &schema, Privileges::EVENT)?;
            Ok(Table::new(lists::EVENTS))
        }
        ShowKind::ProcedureStatus | ShowKind::FunctionStatus => {
            let mut table = Table::new(lists::ROUTINE_STATUS);
            if matches!(what, ShowKind::FunctionStatus) {
                table.rows = virtual_tables::function_status_rows();
            }
            table.like_column = 1;
            Ok(table)
        }
        ShowKind::Variables { scope } => Ok(status::variables(session, *scope)),
        ShowKind::Status { scope } => Ok(status::status(session, *scope)),
        ShowKind::EngineStatus(engine) | ShowKind::EngineMutex(engine) | ShowKind::EngineLogs(engine)
            if !engine.eq_ignore_ascii_case("innodb") =>
        {
            Err(codes::unknown_storage_engine(engine).into())
        }
        ShowKind::EngineStatus(_) => {
            session.core.require_process()?;
            engine_status::engine_status(session)
        }
        ShowKind::EngineMutex(_) => {
            session.core.require_process()?;
            // Latches are not counted one by one; a MySQL that does not either answers so.
            Ok(engine_status::head())
        }
        ShowKind::EngineLogs(_) => Err(codes::not_supported_yet("SHOW ENGINE INNODB LOGS").into()),
        ShowKind::ProcessList { full } => Ok(processes::process_list(session, *full)),
        ShowKind::Warnings { limit } => server::conditions(session, limit.as_ref(), false),
        ShowKind::Errors { limit } => server::conditions(session, limit.as_ref(), true),
        ShowKind::CountWarnings => Ok(server::count("@@session.warning_count", session.core.diagnostics.total())),
        ShowKind::CountErrors => Ok(server::count("@@session.error_count", session.core.diagnostics.error_count())),
        ShowKind::Engines => Ok(server::engines()),
        ShowKind::Charset => Ok(server::charsets()),
        ShowKind::Collation => Ok(server::collations()),
        ShowKind::Plugins => Ok(server::plugins()),
        ShowKind::Privileges => Ok(server::privileges()),
        ShowKind::Grants { user, using } => {
            let (head, lines) = crate::accounts::grants(session, user.as_ref(), using)?;
            let mut table = Table::with(Columns::of(&[lists::GRANTS]).renamed(0, &head));
            lines.into_iter().for_each(|line| table.row(vec![line.into()]));
            Ok(table)
        }
        ShowKind::CreateUser(user) => {
            let (head, line) = crate::accounts::create_user(session, user)?;
            let mut table = Table::with(Columns::of(&[lists::CREATE_USER]).renamed(0, &head));
            table.row(vec![line.into()]);
            Ok(table)
        }
        ShowKind::BinaryLogs | ShowKind::BinaryLogStatus | ShowKind::ReplicaStatus
            if !session.core.standing.rights.global.has_some(Privileges::SUPER.with(Privileges::REPLICATION_CLIENT)) =>
        {
            Err(codes::specific_access_denied_error("SUPER, REPLICATION CLIENT").into())
        }
        ShowKind::BinlogEvents | ShowKind::Replicas if !session.core.standing.rights.global.has(Privileges::REPLICATION_SLAVE) => {
            Err(codes::specific_access_denied_error("REPLICATION SLAVE").into())
        }
        ShowKind::BinaryLogs | ShowKind::BinlogEvents => {
            Err(mysql_error::SqlError::with_message(1381, "You are not using binary logging").into())
        }
        ShowKind::BinaryLogStatus => Ok(Table::new(lists::BINARY_LOG_STATUS)),
        ShowKind::ReplicaStatus => Ok(Table::new(lists::REPLICA_STATUS)),
        ShowKind::Replicas => Ok(Table::new(lists::REPLICAS)),
        ShowKind::Profiles => Ok(profiles::profiles(session)),
        ShowKind::Profile { parts, query, limit } => profiles::profile(session, parts, *query, limit.as_ref()),
        // There are none yet.
        ShowKind::CreateTrigger(name) => {
            schema_of(session, name.schema)?;
            Err(codes::trg_does_not_exist().into())
        }
        ShowKind::CreateEvent(name) => Err(codes::event_does_not_exist(name.name).into()),
        ShowKind::CreateProcedure(name) => Err(codes::sp_does_not_exist("PROCEDURE", name.name).into()),
        ShowKind::CreateFunction(name) if !is_in_sys(session, name) => Err(codes::sp_does_not_exist("FUNCTION", name.name).into()),
        other => Err(codes::not_supported_yet(format!("SHOW {}", name_of(other))).into()),
    }
}

/// Whether a function would be one of `sys`, whose texts are not told.
fn is_in_sys(session: &ClientSession, name: &ObjectName<'_>) -> bool {
    name.schema.or(session.core.database.as_deref()).is_some_and(|schema| schema.eq_ignore_ascii_case(virtual_tables::SYS))
}

fn name_of(what: &ShowKind<'_>) -> String {
    // The variant's name, in words: CreateView is CREATE VIEW.
    let debug = format!("{what:?}");
    let mut name = String::new();
    for letter in debug.chars().take_while(|c| c.is_alphanumeric()) {
        if letter.is_uppercase() && !name.is_empty() {
            name.push(' ');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// HELP: no topic and no category, as `mysql.help_topic` and its like are empty.
pub(crate) fn help(session: &mut ClientSession, sink: &mut ResultSink<'_>) {
    let table = Table::new(lists::HELP);
    session.send_rows(&table.columns, &table.rows, sink);
}

/// DESCRIBE table [column].
pub(crate) fn describe(
    session: &mut ClientSession,
    name: &ObjectName<'_>,
    column: Option<&[u8]>,
    sink: &mut ResultSink<'_>,
) -> Result<(), Outcome> {
    let mut table = match find_table(session, name)? {
        Found::Stored(entry) => shown_columns(session, &entry, false),
        Found::View(entry) => view::columns(&session.core, &entry, false)?,
        Found::Computed(_, def) => computed::columns(def, false, &session.core.shows()),
    };
    if let Some(pattern) = column {
        filter::like(&mut table, pattern);
    }
    session.read_dictionary()?;
    session.cut(&mut table);
    session.send_rows(&table.columns, &table.rows, sink);
    Ok(())
}

/// What PREPARE looks at of a SHOW: that what it is about may be seen. Whether it is there shows when it is run.
pub(crate) fn look(session: &ClientSession, what: &ShowKind<'_>) -> Result<(), Outcome> {
    match what {
        ShowKind::Columns { table, .. } | ShowKind::Indexes { table, .. } => look_at_table(session, table),
        ShowKind::Tables { schema, .. } | ShowKind::TableStatus { schema } => match schema.or(session.core.database.as_deref()) {
            Some(schema) => Ok(session.may_show_database(schema)?),
            None => Ok(()),
        },
        ShowKind::EngineStatus(_) => Ok(session.core.require_process()?),
        _ => Ok(()),
    }
}

/// What PREPARE tells of a SHOW's columns: those of lists that are queries to MySQL, whether or not what they are about is there.
pub(crate) fn head(session: &ClientSession, show: &Show<'_>) -> Option<Columns> {
    let mut columns = match &show.what {
        ShowKind::Databases => Columns::of(&[lists::DATABASES]),
        ShowKind::Tables { full, schema, .. } => {
            let schema = schema.or(session.core.database.as_deref())?;
            tables::tables_head(*full, virtual_tables::database(schema).map_or(schema, |database| database.name))
        }
        ShowKind::TableStatus { .. } => Columns::of(&[lists::TABLE_STATUS]),
        ShowKind::Columns { full, table, .. } => tables::columns_head(*full, is_temporary(session, table)).columns,
        ShowKind::Indexes { table, .. } if is_temporary(session, table) => Columns::of(&[lists::TEMPORARY_INDEXES]),
        ShowKind::Indexes { .. } => tables::indexes_head().columns,
        ShowKind::OpenTables { .. } => Columns::of(&[lists::OPEN_TABLES]),
        ShowKind::Triggers { .. } => Columns::of(&[lists::TRIGGERS]),
        ShowKind::Events { .. } => Columns::of(&[lists::EVENTS]),
        ShowKind::ProcedureStatus | ShowKind::FunctionStatus => Columns::of(&[lists::ROUTINE_STATUS]),
        ShowKind::Variables { scope } => Columns::of(&[status::variables_head(*scope)]),
        ShowKind::Status { scope } => Columns::of(&[status::status_head(*scope)]),
        ShowKind::Charset => Columns::of(&[lists::CHARACTER_SETS]),
        ShowKind::Collation => Columns::of(&[lists::COLLATIONS]),
        _ => return None,
    };
    tell_pattern(&mut columns, show);
    Some(columns)
}

/// The same of DESCRIBE.
pub(crate) fn describe_head(session: &ClientSession, table: &ObjectName<'_>) -> Columns {
    tables::columns_head(false, is_temporary(session, table)).columns
}

fn is_temporary(session: &ClientSession, name: &ObjectName<'_>) -> bool {
    let schema = name.schema.or(session.core.database.as_deref());
    schema.is_some_and(|schema| session.core.temporary_table(schema, name.name).is_some())
}

/// What PREPARE looks at of a table that is described.
pub(crate) fn look_at_table(session: &ClientSession, table: &ObjectName<'_>) -> Result<(), Outcome> {
    match table.schema.or(session.core.database.as_deref()) {
        Some(schema) => Ok(session.may_show_table(schema, table.name)?),
        None => Ok(()),
    }
}

/// The database named, or the current one.
fn schema_of(session: &ClientSession, schema: Option<&str>) -> Result<String, Outcome> {
    let name = match schema {
        Some(name) => name.to_owned(),
        None => session.core.database.as_deref().ok_or_else(codes::no_db_error)?.to_owned(),
    };
    session.may_show_database(&name)?;
    if let Some(database) = virtual_tables::database(&name) {
        return Ok(database.name.to_owned());
    }
    session.shared().catalog.database(&name).map_err(|error| catalog_error(error, || session.stop_error()))?;
    Ok(name)
}

/// The columns of a table that the session may see.
fn shown_columns(session: &ClientSession, entry: &TableEntry, full: bool) -> Table {
    tables::columns(entry, full, session.core.tells_generated_keys(), &session.core.shows())
}

/// A table that SHOW describes.
enum Found {
    Stored(Arc<TableEntry>),
    View(Arc<ViewEntry>),
    Computed(&'static VirtualDatabase, &'static VirtualTableDef),
}

/// A table whose columns and indexes are shown.
fn find_table(session: &ClientSession, name: &ObjectName<'_>) -> Result<Found, Outcome> {
    match name.schema.or(session.core.database.as_deref()) {
        Some(schema) if session.core.temporary_table(schema, name.name).is_none() => session.may_show_table(schema, name.name)?,
        _ => {}
    }
    find(session, name)
}

/// A table whose text as a view is shown.
fn find_view(session: &ClientSession, name: &ObjectName<'_>) -> Result<Found, Outcome> {
    match name.schema.or(session.core.database.as_deref()) {
        Some(schema) if session.core.temporary_table(schema, name.name).is_none() => session.may_read_some(schema, name.name)?,
        _ => {}
    }
    find(session, name)
}

/// A table that somebody has asked for already.
fn find(session: &ClientSession, name: &ObjectName<'_>) -> Result<Found, Outcome> {
    let schema = name.schema.or(session.core.database.as_deref()).ok_or_else(codes::no_db_error)?;
    if let Some(entry) = session.core.temporary_table(schema, name.name) {
        return Ok(Found::Stored(Arc::clone(entry)));
    }
    if let Some(database) = virtual_tables::database(schema) {
        return Ok(Found::Computed(database, database.table(name.name)?));
    }
    let catalog = &session.shared().catalog;
    let found = catalog.table(schema, name.name);
    if found.is_err()
        && let Ok(Some(view)) = catalog.view(schema, name.name)
    {
        return Ok(Found::View(view));
    }
    found.map(Found::Stored).map_err(|error| catalog_error(error, || session.stop_error()))
}

impl ClientSession {
    /// COM_FIELD_LIST: the columns of a table whose names are like a pattern, or all, with their defaults.
    pub(crate) fn field_list(&mut self, table: &[u8], pattern: &[u8], sink: &mut ResultSink<'_>) {
        let name = String::from_utf8_lossy(table).into_owned();
        match find_table(self, &ObjectName { schema: None, name: &name }) {
            Ok(found) => {
                let columns = match field_columns(self, &found) {
                    Ok(columns) => columns,
                    Err(error) => return self.refuse_command(sink, &error),
                };
                let results = self.core.settings.charsets.results;
                for (column, default) in columns.iter().filter(|(column, _)| filter::is_like(column.name.as_bytes(), pattern)) {
                    crate::reply::result_columns::definition(column, results).write_with_default(default.as_deref(), sink.packets());
                }
                let status = self.server_status();
                sink.finish(&protocol::OkReply { status, ..Default::default() });
            }
            Err(outcome) => self.refuse_command(sink, &outcome.error),
        }
    }
}

/// The columns of a table with the text of their defaults.
fn field_columns(session: &ClientSession, found: &Found) -> Result<Vec<(OutputColumn, Option<Vec<u8>>)>, SqlError> {
    Ok(match found {
        Found::Stored(entry) => {
            let defaults = entry.def.columns.iter().map(tables::default_sent);
            tables::output_columns(entry).into_iter().zip(defaults).collect()
        }
        Found::View(entry) => {
            let columns = view::view_columns(session.shared(), entry)?.into_iter();
            columns.map(|column| (column.column, column.default.filter(|_| column.extra.is_empty()).map(String::into_bytes))).collect()
        }
        Found::Computed(_, def) => {
            let attributes = virtual_tables::attributes(def);
            let default = |column: &OutputColumn| attributes.default_of(&column.org_name).map(|text| text.as_bytes().to_vec());
            computed::output_columns(def)
                .into_iter()
                .map(|column| {
                    let default = default(&column);
                    (column, default)
                })
                .collect()
        }
    })
}
