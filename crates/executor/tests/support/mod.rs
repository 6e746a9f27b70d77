//! A database in memory for tests: tables by definition, statements by text, results as text.
#![allow(dead_code)] // Each test file uses its part.

use catalog::{Catalog, ColumnDef, DefaultValue, IndexDef, TableDef, TableEntry};
use engine::{Engine, EngineConfig, Isolation, Session};
use env::{Disk, SimClock, SimDisk};
use executor::{Changes, Outcome, RowConsumer, Scratch, StatementContext, UserVariable};
use mysql_error::{SqlError, Warning};
use planner::expr::VariableScope;
use planner::plan::OutputColumn;
use planner::{Plan, PlanContext};
use record::{KeyPart, RowRef};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Collation, ColumnType, LocalTime, SqlMode, TypeKind, Value};

pub struct Database {
    pub catalog: Arc<Catalog>,
    pub session: Session,
    pub context: Context,
    scratch: Scratch,
}

/// The session of the tests: 2024-05-06 07:08:09.123456, and UTC unless a test sets another zone.
pub struct Context {
    pub zone: types::TimeZone,
    pub mode: SqlMode,
    pub warnings: Vec<Warning>,
    pub variables: HashMap<String, Value>,
    pub last_insert_id: u64,
    /// Bytes a statement may hold.
    pub memory_max: usize,
    /// Bytes an operator may hold before it goes to `spill`.
    pub operator_max: usize,
    pub join_buffer: usize,
    /// What of `optimizer_switch` is on.
    pub switches: planner::switches::Switches,
    /// Where temporary files are made.
    pub spill: Option<Arc<spill::Directory>>,
    /// How often a statement may look whether it is cancelled until it is.
    pub looks_left: std::cell::Cell<u32>,
}

pub const NOW_MICROS: i64 = 1_714_979_289_123_456;

impl LocalTime for Context {
    fn offset_at_utc(&self, utc_micros: i64) -> i32 {
        self.zone.offset_at_utc(utc_micros)
    }
    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        self.zone.local_to_utc(local_micros)
    }
}

impl StatementContext for Context {
    fn statement_micros(&self) -> i64 {
        NOW_MICROS
    }
    fn current_micros(&self) -> i64 {
        NOW_MICROS
    }
    fn sql_mode(&self) -> SqlMode {
        self.mode
    }
    fn database(&self) -> Option<&str> {
        Some("test")
    }
    fn user(&self) -> String {
        "root@localhost".into()
    }
    fn current_user(&self) -> String {
        "root@%".into()
    }
    fn version(&self) -> String {
        "9.7.0-altiplano".into()
    }
    fn connection_id(&self) -> u64 {
        7
    }
    fn last_insert_id(&self) -> u64 {
        self.last_insert_id
    }
    fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn user_variable(&self, name: &str) -> UserVariable {
        UserVariable { value: self.variables.get(name).cloned().unwrap_or_default(), ..UserVariable::default() }
    }
    fn set_user_variable(&mut self, name: &str, value: Value, _: Option<Collation>) {
        self.variables.insert(name.to_owned(), value);
    }
    fn system_variable(&self, _: VariableScope, name: &str) -> executor::Result<Value> {
        match name {
            "autocommit" => Ok(Value::Int(1)),
            _ => Err(mysql_error::codes::unknown_system_variable(name).into()),
        }
    }
    fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }
    fn random(&mut self) -> f64 {
        0.5
    }
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
    fn is_cancelled(&self) -> bool {
        self.looks_left.set(self.looks_left.get().saturating_sub(1));
        self.looks_left.get() == 0
    }
    fn statement_memory_max(&self) -> usize {
        self.memory_max
    }
    fn join_buffer_bytes(&self) -> usize {
        self.join_buffer
    }
    fn operator_memory_max(&self) -> usize {
        self.operator_max
    }
    fn spill_directory(&self) -> Option<Arc<spill::Directory>> {
        self.spill.clone()
    }
    fn cancel_error(&self) -> SqlError {
        mysql_error::codes::query_interrupted()
    }
}

struct Planning<'d> {
    catalog: &'d Catalog,
    session: &'d Session,
    mode: SqlMode,
    switches: planner::switches::Switches,
    params: &'d [Value],
    types: Vec<ColumnType>,
    context: &'d Context,
}

impl PlanContext for Planning<'_> {
    fn database(&self) -> Option<&str> {
        Some("test")
    }
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>, SqlError> {
        self.catalog.table(database, name).map_err(|_| mysql_error::codes::no_such_table(database, name))
    }
    fn sql_mode(&self) -> SqlMode {
        self.mode
    }
    fn connection_collation(&self) -> Collation {
        Collation::DEFAULT
    }
    fn switches(&self) -> planner::switches::Switches {
        self.switches
    }
    fn params(&self) -> &[Value] {
        self.params
    }
    fn param_types(&self) -> &[ColumnType] {
        &self.types
    }
    fn value_now(&self, expr: &planner::expr::Expr) -> Option<Value> {
        executor::value_now(expr, self.params, self.context)
    }
    fn system_variable_type(&self, name: &str) -> Result<ColumnType, SqlError> {
        match name {
            "autocommit" => Ok(ColumnType::bigint()),
            _ => Err(mysql_error::codes::unknown_system_variable(name)),
        }
    }
    fn estimate(&self, table: &TableEntry, index_no: usize, range: &engine::KeyRange) -> Option<u64> {
        self.session.estimate(&table.storage, index_no, range).ok()
    }
    fn rows_per_key(&self, table: &TableEntry, index_no: usize, parts: usize) -> Option<f64> {
        self.session.rows_per_key(&table.storage, index_no, parts).ok().flatten()
    }
    fn rows_estimate(&self, table: &TableEntry) -> u64 {
        table.storage.rows_estimate()
    }
}

#[derive(Default)]
pub struct Rows {
    pub columns: Vec<OutputColumn>,
    pub rows: Vec<Vec<String>>,
}

impl RowConsumer for Rows {
    fn begin(&mut self, columns: &[OutputColumn]) -> executor::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> executor::Result<()> {
        let row = values.iter().enumerate().map(|(i, v)| show(v, self.columns.get(i).map(|c| &c.ty))).collect();
        self.rows.push(row);
        Ok(())
    }
    fn record(&mut self, row: RowRef<'_>, columns: &[u32]) -> executor::Result<bool> {
        let mut out = Vec::new();
        for c in columns {
            let v = row.value(*c as usize).expect("a whole row");
            out.push(show(&v, Some(row.layout().column_type(*c as usize))));
        }
        self.rows.push(out);
        Ok(false)
    }
    fn drain(&mut self) -> executor::Result<()> {
        Ok(())
    }
}

fn show(v: &Value, ty: Option<&ColumnType>) -> String {
    let mut out = Vec::new();
    let context = context();
    match v {
        Value::Null => return "NULL".into(),
        v => executor::append_text(v, ty.map_or(0, |t| t.decimals), &context, &mut out),
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn context() -> Context {
    Context {
        zone: types::TimeZone::parse("+00:00").expect("an offset"),
        mode: SqlMode::DEFAULT,
        warnings: Vec::new(),
        variables: HashMap::new(),
        last_insert_id: 0,
        memory_max: executor::STATEMENT_BYTES_MAX,
        operator_max: usize::MAX,
        join_buffer: 256 << 10,
        spill: None,
        looks_left: std::cell::Cell::new(u32::MAX),
        switches: planner::switches::Switches::default(),
    }
}

impl Database {
    pub fn new() -> Database {
        Database::with_config(EngineConfig::small())
    }

    pub fn with_config(config: EngineConfig) -> Database {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let engine = Engine::open(disk, Arc::new(SimClock::new(0)), config).expect("an engine");
        let catalog = Catalog::open(&engine).expect("a catalogue");
        let mut session = engine.connect();
        catalog.create_database(&mut session, "test", Collation::DEFAULT).expect("a database");
        Database { catalog, session, context: context(), scratch: Scratch::default() }
    }

    /// Creates a table: columns as `name type [not null] [auto] [default v]`, indexes as (name, unique, column names).
    pub fn table(&mut self, name: &str, columns: &[(&str, ColumnType)], indexes: &[(&str, bool, &[&str])]) {
        self.table_with(name, columns, indexes, |_| {});
    }

    pub fn table_with(
        &mut self,
        name: &str,
        columns: &[(&str, ColumnType)],
        indexes: &[(&str, bool, &[&str])],
        change: impl FnOnce(&mut TableDef),
    ) {
        let columns: Vec<ColumnDef> = columns
            .iter()
            .map(|(name, ty)| ColumnDef {
                default: if ty.nullable { DefaultValue::Null } else { DefaultValue::None },
                ..ColumnDef::new(*name, ty.clone())
            })
            .collect();
        let part = |name: &&str| KeyPart::ascending(columns.iter().position(|c| c.name == *name).expect("a column"));
        let mut defs: Vec<IndexDef> =
            indexes.iter().map(|(name, unique, parts)| IndexDef::new(*name, *unique, parts.iter().map(part).collect())).collect();
        if defs.first().is_none_or(|d| d.name != "PRIMARY") {
            defs.insert(0, IndexDef::new(catalog::HIDDEN_PRIMARY, true, Vec::new()));
        }
        let mut def = TableDef { schema_version: 1, ..TableDef::new("test", name, columns, defs) };
        change(&mut def);
        self.catalog.create_table(&mut self.session, def).expect("a table");
    }

    /// Plans a statement.
    pub fn plan(&self, sql: &str, params: &[Value]) -> Result<Plan, SqlError> {
        let arena = parser::Bump::new();
        let parsed = parser::parse(sql.as_bytes(), parser::SqlMode(0), &arena).map_err(|e| SqlError::with_message(e.code, e.message))?;
        let types = params.iter().map(type_of).collect();
        let (mode, switches) = (self.context.mode, self.context.switches);
        let context = &self.context;
        let planning = Planning { catalog: &self.catalog, session: &self.session, mode, switches, params, types, context };
        planner::plan_statement(&parsed.statement, sql.as_bytes(), &planning)
    }

    /// Runs a statement in a transaction of its own.
    pub fn execute(&mut self, sql: &str, params: &[Value]) -> Result<(Outcome, Rows), executor::Error> {
        let plan = self.plan(sql, params)?;
        self.run_plan(&plan, params)
    }

    pub fn run_plan(&mut self, plan: &Plan, params: &[Value]) -> Result<(Outcome, Rows), executor::Error> {
        let mut rows = Rows::default();
        self.run_for(plan, params, &mut rows).map(|outcome| (outcome, rows))
    }

    /// Runs a plan for a consumer.
    pub fn run_for(&mut self, plan: &Plan, params: &[Value], consumer: &mut dyn RowConsumer) -> Result<Outcome, executor::Error> {
        self.session.begin(Isolation::RepeatableRead, false);
        self.session.statement_start();
        let result = executor::execute(plan, params, &mut self.session, &mut self.context, &mut self.scratch, consumer);
        match result {
            Ok(outcome) => {
                self.session.commit().expect("a commit");
                if let Outcome::Changes(Changes { generated_id: Some(id), .. }) = &outcome {
                    self.context.last_insert_id = *id;
                }
                Ok(outcome)
            }
            Err(e) => {
                self.session.rollback().expect("a rollback");
                Err(e)
            }
        }
    }

    /// Rows of a query as `a|b, c|d`.
    #[track_caller]
    pub fn query(&mut self, sql: &str) -> String {
        match self.execute(sql, &[]) {
            Ok((_, rows)) => join(&rows),
            Err(e) => format!("{e}"),
        }
    }

    #[track_caller]
    pub fn query_params(&mut self, sql: &str, params: &[Value]) -> String {
        match self.execute(sql, params) {
            Ok((_, rows)) => join(&rows),
            Err(e) => format!("{e}"),
        }
    }

    /// Affected rows of a change.
    #[track_caller]
    pub fn change(&mut self, sql: &str) -> u64 {
        match self.execute(sql, &[]) {
            Ok((Outcome::Changes(c), _)) => c.affected,
            Ok(_) => panic!("{sql}: rows"),
            Err(e) => panic!("{sql}: {e}"),
        }
    }

    /// `code message` of a failing statement.
    #[track_caller]
    pub fn error(&mut self, sql: &str) -> String {
        match self.execute(sql, &[]) {
            Ok((_, rows)) => panic!("{sql}: no error but {}", join(&rows)),
            Err(executor::Error::Sql(e)) => format!("{} {}", e.code, e.message),
            Err(e) => format!("{e}"),
        }
    }

    /// EXPLAIN ANALYZE.
    pub fn analyze(&mut self, sql: &str) -> String {
        let plan = self.plan(sql, &[]).expect("a plan");
        let counted = self.counts(&plan);
        planner::explain::analyzed_tree(&plan, &counted)
    }

    /// What the operators of a plan do.
    pub fn counts(&mut self, plan: &planner::Plan) -> planner::explain::Actuals {
        self.session.begin(Isolation::RepeatableRead, false);
        self.session.statement_start();
        let (counted, ended) = executor::analyze(plan, &[], &mut self.session, &mut self.context, &mut self.scratch).expect("counts");
        ended.expect("it ran to its end");
        self.session.commit().expect("a commit");
        counted
    }

    /// The tree of a plan, in one line.
    pub fn explain(&self, sql: &str) -> String {
        match self.plan(sql, &[]) {
            Ok(plan) => planner::explain::tree(&plan),
            Err(e) => e.to_string(),
        }
    }
}

fn join(rows: &Rows) -> String {
    rows.rows.iter().map(|r| r.join("|")).collect::<Vec<_>>().join(", ")
}

fn type_of(v: &Value) -> ColumnType {
    match v {
        Value::Int(_) => ColumnType::bigint(),
        Value::UInt(_) => ColumnType::bigint_unsigned(),
        Value::Double(_) => ColumnType::double(),
        Value::Decimal(d) => ColumnType::decimal(d.precision(), d.scale()),
        Value::Bytes(b) => ColumnType::varchar(b.len() as u32, Collation::DEFAULT),
        Value::Date(_) => ColumnType::new(TypeKind::Date),
        Value::DateTime(_) => ColumnType::temporal(TypeKind::DateTime, 6),
        _ => ColumnType::new(TypeKind::Null),
    }
}
