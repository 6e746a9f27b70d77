//! The hint `SET_VAR`: variables that have another value while one statement runs.
//!
//! # Invariants
//! 1. What is set is put back when the statement is over, however it ends.
//! 2. A text with the hint is in no plan cache by its literals (`parser::fingerprint`): its plan is made under the values it asks for.

use crate::client_session::ClientSession;
use crate::variables::effects::brought;
use crate::variables::{Definition, Scope, check, find, known, mode_warnings, parse_size, switched};
use mysql_error::{SqlError, Warning, WarningLevel};
use parser::ast::{InsertSource, Query, QueryBody, Statement};
use planner::hints::{HintedVariable, hinted_variables};
use types::Value;

/// Variables that MySQL 9.7 lets a hint set, of those that there are here.
const HINTABLE: [&str; 43] = known([
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "windowing_use_high_precision",
    "xa_detach_on_prepare",
]);

/// A variable and the value that a statement gives it.
pub(crate) type Assignment = (&'static Definition, Value);

/// What a statement's hints set of what the session may set, and what is to be warned of.
pub(crate) fn assignments(session: &ClientSession, statement: &Statement<'_>) -> (Vec<Assignment>, Vec<Warning>) {
    let (mut set, mut warnings) = (Vec::new(), Vec::new());
    let mut texts = Vec::new();
    hints_of(statement, &mut texts);
    if texts.is_empty() {
        return (set, warnings);
    }
    let mut checked = Vec::new();
    for variable in hinted_variables(&texts) {
        let warn = |code: u16, message: String| Warning { level: WarningLevel::Warning, code, message };
        let HintedVariable { name, value, .. } = &variable;
        let Some(definition) = find(name) else {
            warnings.push(warn(3128, format!("Unresolved name '{name}' for SET_VAR hint")));
            continue;
        };
        if !HINTABLE.contains(&definition.name) || definition.scope == Scope::Global {
            warnings.push(warn(3637, format!("Variable '{name}' cannot be set using SET_VAR hint.")));
            continue;
        }
        if set.iter().any(|(known, _): &Assignment| known.name == definition.name) {
            warnings.push(warn(3126, format!("Hint SET_VAR({name}={value})  is ignored as conflicting/duplicated")));
            continue;
        }
        if let Err(error) = session.may_set_session(definition) {
            warnings.push(error.into_warning(WarningLevel::Warning));
            continue;
        }
        match check(definition, &value_of(&variable)) {
            Ok((value, clamped)) => {
                if clamped {
                    checked.push(mysql_error::codes::truncated_wrong_value(definition.name, variable.text()).into());
                }
                checked.extend(mode_warnings(definition, &value).into_iter().map(Warning::from));
                set.push((definition, value));
            }
            Err(SqlError { code, message, .. }) => checked.push(warn(code, message)),
        }
    }
    warnings.extend(checked);
    (set, warnings)
}

fn value_of(variable: &HintedVariable<'_>) -> Value {
    match variable.number() {
        Some(number) => match (parse_size(number), number.parse::<f64>()) {
            (Some(n), _) => i64::try_from(n).map_or(Value::UInt(n), Value::Int),
            (None, Ok(real)) => Value::Double(real),
            (None, Err(_)) => Value::from(number),
        },
        None => Value::from(variable.text()),
    }
}

/// The hints of a statement's outermost blocks.
fn hints_of<'a>(statement: &Statement<'a>, out: &mut Vec<&'a str>) {
    match statement {
        Statement::Query(query) => of_query(query, out),
        Statement::Insert(insert) => {
            out.extend(insert.hints);
            if let InsertSource::Query(query) = insert.source {
                of_query(query, out);
            }
        }
        Statement::Update(update) => out.extend(update.hints),
        Statement::Delete(delete) => out.extend(delete.hints),
        _ => {}
    }
}

fn of_query<'a>(query: &Query<'a>, out: &mut Vec<&'a str>) {
    of_body(&query.body, out);
}

fn of_body<'a>(body: &QueryBody<'a>, out: &mut Vec<&'a str>) {
    match body {
        QueryBody::Select(select) => out.extend(select.hints),
        QueryBody::Parens(query) => of_query(query, out),
        QueryBody::SetOp(set) => set.operands.iter().for_each(|operand| of_body(operand, out)),
        QueryBody::Values(_) | QueryBody::Table(_) => {}
    }
}

impl ClientSession {
    /// Does something with variables set, and sets them back.
    pub(crate) fn with_variables<T>(&mut self, set: &[Assignment], run: impl FnOnce(&mut ClientSession) -> T) -> T {
        let mut before = Vec::with_capacity(set.len());
        for (definition, value) in set {
            let old = self.core.variables.get(definition).clone();
            let value = if definition.name == "optimizer_switch" { switched(&old, value) } else { value.clone() };
            let brought = brought(definition, &value);
            self.let_variable_be(definition, value);
            before.push((*definition, old));
            if let Some((other, value)) = brought {
                before.push((other, self.core.variables.get(other).clone()));
                self.let_variable_be(other, value);
            }
        }
        let give_back = |session: &mut ClientSession, before: Vec<_>| {
            before.into_iter().rev().for_each(|(definition, old)| session.let_variable_be(definition, old));
        };
        self.lending(before, give_back, run)
    }
}
