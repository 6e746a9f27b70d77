//! CHECK constraints of a definition in the making: their names, and what becomes of them when the table changes.

use super::definition::{Definer, DraftColumn};
use super::expression::{Owner, names, stored};
use super::same_name;
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::shared::Shared;
use base::TableId;
use catalog::{CheckDef, TableDef};
use lock_manager::{Asker, WaitPolicy};
use mysql_error::{SqlError, codes};
use parser::ast::{AlterAction, Check, ColumnDef, CreateTable};
use parser::columns_in;
use std::sync::Arc;

const NAME_CHARS_MAX: usize = 64;

/// The constraints that CREATE TABLE says, in the order of its text.
pub(super) fn define_checks(definer: &Definer<'_>, create: &CreateTable<'_>, table: &str) -> Result<Vec<CheckDef>, SqlError> {
    let of_columns = create.columns.iter().flat_map(|column| column.attributes.checks.iter().map(move |check| (check, Some(column.name))));
    let mut written: Vec<(&Check<'_>, Option<&str>)> = of_columns.chain(create.checks.iter().map(|check| (check, None))).collect();
    written.sort_by_key(|(check, _)| check.expr.span.start);
    let mut checks = Vec::with_capacity(written.len());
    for (check, column) in written {
        add(definer, &mut checks, check, column, table)?;
    }
    in_order(&mut checks);
    Ok(checks)
}

fn add(definer: &Definer<'_>, checks: &mut Vec<CheckDef>, check: &Check<'_>, column: Option<&str>, table: &str) -> Result<(), SqlError> {
    let name = match check.name {
        Some(name) => name.to_owned(),
        None => next_name(checks, table)?,
    };
    let normal = stored(definer, &check.expr, Owner::Check(&name), table)?;
    if let Some(column) = column
        && normal.columns.iter().any(|(_, read)| !same_name(read, column))
    {
        return Err(codes::column_check_constraint_references_other_column(name));
    }
    if checks.iter().any(|other| same_name(&other.name, &name)) {
        return Err(codes::check_constraint_dup_name(name));
    }
    checks.push(CheckDef { name, text: normal.text, enforced: check.enforced });
    Ok(())
}

/// As MySQL keeps them, shows them and asks them: by name.
fn in_order(checks: &mut [CheckDef]) {
    checks.sort_by_key(|check| check.name.to_lowercase());
}

/// The number of a name that was generated for a constraint of this table.
fn number_of(name: &str, table: &str) -> Option<u32> {
    let rest = rest_of_name(name, table)?;
    rest.bytes().all(|byte| byte.is_ascii_digit()).then(|| rest.parse().ok()).flatten()
}

/// What stands behind the table's name and `_chk_`.
fn rest_of_name<'n>(name: &'n str, table: &str) -> Option<&'n str> {
    name.strip_prefix(table)?.strip_prefix("_chk_")
}

fn generated_name(table: &str, number: u32) -> Result<String, SqlError> {
    fitting(format!("{table}_chk_{number}"))
}

fn fitting(name: String) -> Result<String, SqlError> {
    if name.chars().count() > NAME_CHARS_MAX { Err(codes::too_long_ident(name)) } else { Ok(name) }
}

fn next_name(checks: &[CheckDef], table: &str) -> Result<String, SqlError> {
    let last = checks.iter().filter_map(|check| number_of(&check.name, table)).max().unwrap_or(0);
    generated_name(table, last.saturating_add(1))
}

/// Names that were generated, or look so, follow the table's.
pub(super) fn follow_table_name(checks: &mut [CheckDef], old: &str, new: &str) -> Result<(), SqlError> {
    for check in &mut *checks {
        if let Some(rest) = rest_of_name(&check.name, old).filter(|rest| !rest.is_empty()) {
            check.name = fitting(format!("{new}_chk_{rest}"))?;
        }
    }
    in_order(checks);
    // One of them may have had such a name already.
    if let Some(pair) = checks.windows(2).find(|pair| same_name(&pair[0].name, &pair[1].name)) {
        return Err(codes::check_constraint_dup_name(&pair[0].name));
    }
    Ok(())
}

/// The constraints of CREATE TABLE … LIKE: all are named anew.
pub(super) fn rename_all(checks: &mut [CheckDef], table: &str) -> Result<(), SqlError> {
    for (no, check) in checks.iter_mut().enumerate() {
        check.name = generated_name(table, no as u32 + 1)?;
    }
    Ok(())
}

/// What ALTER TABLE makes of the constraints; `columns` are those of the new table.
pub(super) fn alter_checks(
    definer: &Definer<'_>,
    old: &TableDef,
    columns: &[DraftColumn],
    actions: &[AlterAction<'_>],
) -> Result<Vec<CheckDef>, SqlError> {
    let mut checks = old.checks.clone();
    let find = |checks: &[CheckDef], name: &str| checks.iter().position(|check| same_name(&check.name, name));
    for action in actions {
        match action {
            AlterAction::DropCheck(name) => {
                let at = find(&checks, name).ok_or_else(|| codes::check_constraint_not_found(name))?;
                checks.remove(at);
            }
            AlterAction::DropConstraint(name) => {
                if let Some(at) = find(&checks, name) {
                    checks.remove(at);
                }
            }
            AlterAction::SetEnforced(name, enforced) => {
                let at = find(&checks, name).ok_or_else(|| codes::check_constraint_not_found(name))?;
                checks[at].enforced = *enforced;
            }
            _ => {}
        }
    }
    for (at, column) in old.columns.iter().enumerate() {
        let new = columns.iter().find(|new| new.from == Some(at));
        if new.is_some_and(|new| same_name(&new.def.name, &column.name)) {
            continue;
        }
        if new.is_none() {
            // The constraints that are about a dropped column alone go with it.
            let of_it_alone = |read: Vec<String>| !read.is_empty() && read.iter().all(|read| same_name(read, &column.name));
            checks.retain(|check| !of_it_alone(columns_in(&check.text)));
        }
        if let Some(check) = checks.iter().find(|check| names(&check.text, &column.name)) {
            return Err(codes::dependent_by_check_constraint(&check.name, &column.name));
        }
    }
    let of_column = |column: &ColumnDef<'_>, checks: &mut Vec<CheckDef>| {
        column.attributes.checks.iter().try_for_each(|check| add(definer, checks, check, Some(column.name), &old.name))
    };
    for action in actions {
        match action {
            AlterAction::AddCheck(check) => add(definer, &mut checks, check, None, &old.name)?,
            AlterAction::AddColumn(column, _) | AlterAction::ModifyColumn(column, _) | AlterAction::ChangeColumn(_, column, _) => {
                of_column(column, &mut checks)?;
            }
            _ => {}
        }
    }
    in_order(&mut checks);
    Ok(checks)
}

/// Whether rows must be shown to a constraint that did not judge them before.
pub(super) fn judges_anew(old: &TableDef, new: &TableDef) -> bool {
    let judged = |check: &CheckDef| old.checks.iter().any(|before| before.enforced && before.text == check.text);
    new.checks.iter().any(|check| check.enforced && !judged(check))
}

/// Names that a statement is about to give: others who want to give them wait until this is dropped.
pub(super) struct TakenNames {
    shared: Arc<Shared>,
    owner: u64,
    names: Vec<String>,
}

impl TakenNames {
    pub(super) fn take(session: &ClientSession, mut names: Vec<String>) -> Result<TakenNames, Outcome> {
        let core = &session.core;
        let mut taken = TakenNames { shared: Arc::clone(session.shared()), owner: u64::from(core.connection.id()), names: Vec::new() };
        // In one order, so that two such statements do not wait for each other.
        names.sort();
        names.dedup();
        let policy = WaitPolicy::Wait(Some(session.metadata_deadline()));
        for name in names {
            let asker = Asker::new(taken.shared.engine.locks(), &core.lock_owner, &core.cancel);
            taken.shared.check_names.acquire(taken.owner, &name, policy, asker).map_err(|error| session.metadata_error(error))?;
            taken.names.push(name);
        }
        Ok(taken)
    }
}

impl Drop for TakenNames {
    fn drop(&mut self) {
        for name in &self.names {
            self.shared.check_names.release(self.owner, name);
        }
    }
}

/// The constraints of a definition whose names are new in its database.
fn newly_named<'d>(def: &'d TableDef, old: Option<&TableDef>) -> impl Iterator<Item = &'d CheckDef> {
    let is_new =
        move |check: &&CheckDef| old.is_none_or(|old| old.database != def.database || !old.checks.iter().any(|o| o.name == check.name));
    def.checks.iter().filter(is_new)
}

/// Their names as [`TakenNames::take`] takes them.
pub(super) fn check_name_keys(def: &TableDef, old: Option<&TableDef>) -> Vec<String> {
    newly_named(def, old).map(|check| format!("{}\0{}", def.database, check.name.to_lowercase())).collect()
}

/// Refuses names that other tables of the database have, of which `names` are.
pub(super) fn refuse_taken_names(def: &TableDef, old: Option<&TableDef>, names: &[(TableId, String)]) -> Result<(), SqlError> {
    let of_others = |name: &str| names.iter().any(|(id, other)| old.is_none_or(|old| old.id != *id) && same_name(other, name));
    match newly_named(def, old).find(|check| of_others(&check.name)) {
        Some(check) => Err(codes::check_constraint_dup_name(&check.name)),
        None => Ok(()),
    }
}

impl ClientSession {
    /// Takes the names of new constraints, and refuses those that other tables of the database have. They are to be held until the definition is there.
    pub(super) fn take_check_names(&self, def: &TableDef, old: Option<&TableDef>) -> Result<Option<TakenNames>, Outcome> {
        let new = check_name_keys(def, old);
        if new.is_empty() {
            return Ok(None);
        }
        let taken = TakenNames::take(self, new)?;
        let names = self.shared().catalog.check_names(&def.database).map_err(|error| self.catalog_error(error))?;
        refuse_taken_names(def, old, &names)?;
        Ok(Some(taken))
    }
}
