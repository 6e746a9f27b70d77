//! Foreign keys of the tables that a statement changes: which tables it may touch beside those it names, and by which indexes.
//!
//! # Invariants
//! 1. All tables that checks and actions can touch are among the plan's, so that their metadata locks are taken before any row's.
//! 2. The plan of a statement whose targets have no part in foreign keys has none of this; nor has that of an UPDATE that sets no column of a key, or of a DELETE from tables that nobody
//!    refers to. (Whose keys change is planned anew: a plan is of one version of the catalogue.)

use crate::binder::Binder;
use crate::plan::{Body, UpdateTarget};
use crate::row_rules::RowRules;
use catalog::{ForeignKeyDef, ReferenceAction, TableDef, TableEntry};
use mysql_error::SqlError;
use std::sync::Arc;

const BAD_DATABASE: u16 = 1049;
const NO_SUCH_TABLE: u16 = 1146;

/// What a plan knows of foreign keys.
#[derive(Debug, Default)]
pub struct ForeignKeys {
    /// For each table that may be changed: its position in [`crate::Plan::tables`], and its keys.
    tables: Vec<(u32, TableKeys)>,
}

/// The foreign keys that a table has a part in.
#[derive(Debug, Default)]
pub struct TableKeys {
    /// Its own, in the order of their names.
    pub parents: Vec<ParentKey>,
    /// Those that refer to it, in the order of tables and names.
    pub children: Vec<ChildKey>,
    /// What its definition computes of a row that an action changes.
    pub rules: Option<Box<RowRules>>,
}

/// A table's own key.
#[derive(Debug)]
pub struct ParentKey {
    /// Position in the definition's `foreign_keys`.
    pub key: u32,
    /// The parent and its index; `None` when it is not there, or has no index that serves any more.
    pub parent: Option<(u32, u32)>,
}

/// A key that refers to the table.
#[derive(Debug)]
pub struct ChildKey {
    /// The child's position in [`crate::Plan::tables`].
    pub child: u32,
    /// Position in the child's `foreign_keys`.
    pub key: u32,
    /// The child's index by which its rows are found; `None`: by reading all of it.
    pub index: Option<u32>,
    /// The columns that are referred to.
    pub columns: Vec<usize>,
    /// The table's index by which who refers to it finds its row.
    pub parent_index: Option<u32>,
}

impl TableKeys {
    /// Whether one of the table's columns has a part in a key, its own or another's.
    pub fn have(&self, def: &TableDef, column: usize) -> bool {
        self.parents.iter().any(|key| def.foreign_keys[key.key as usize].columns.contains(&column))
            || self.children.iter().any(|key| key.columns.contains(&column))
    }
}

impl ForeignKeys {
    /// The keys of one of the plan's tables that may be changed.
    pub fn of(&self, table: u32) -> Option<&TableKeys> {
        self.tables.iter().find(|(no, _)| *no == table).map(|(_, keys)| keys)
    }

    /// Whether a check, or an action, of what may be changed comes to rows of the table.
    pub fn lead_to(&self, table: u32) -> bool {
        let leads = |keys: &TableKeys| {
            keys.parents.iter().any(|key| key.parent.is_some_and(|(no, _)| no == table))
                || keys.children.iter().any(|key| key.child == table)
        };
        self.tables.iter().any(|(_, keys)| leads(keys))
    }

    /// Whether a deletion may set columns of other rows of the table NULL; `tables` are the plan's.
    pub fn may_clear(&self, table: &TableEntry, tables: &[Arc<TableEntry>]) -> bool {
        self.tables.iter().flat_map(|(_, keys)| &keys.children).any(|child| {
            let of = &tables[child.child as usize].def;
            of.id == table.def.id && of.foreign_keys[child.key as usize].on_delete == ReferenceAction::SetNull
        })
    }

    /// Whether actions may change rows of the table.
    pub fn may_change(&self, table: u32) -> bool {
        self.of(table).is_some()
    }
}

/// The index of a parent that a key's columns are looked up by: a unique one where there is one.
pub fn parent_index(parent: &TableEntry, columns: &[usize]) -> Option<usize> {
    parent.def.index_on(columns, true).or_else(|| parent.def.index_on(columns, false))
}

/// Positions of the parent's columns that a key refers to.
pub fn parent_columns(parent: &TableEntry, key: &ForeignKeyDef) -> Option<Vec<usize>> {
    key.parent_columns.iter().map(|name| parent.def.column_index(name)).collect()
}

/// Finds the keys of what a statement changes; the tables they lead to become tables of the plan.
pub(crate) fn resolve(b: &mut Binder<'_>, body: &Body) -> Result<Option<Box<ForeignKeys>>, SqlError> {
    let context = b.context;
    let find = |database: &str, name: &str| match context.related_table(database, name) {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if matches!(error.code, NO_SUCH_TABLE | BAD_DATABASE) => Ok(None),
        Err(error) => Err(error),
    };
    let targets: Vec<u32> = match body {
        Body::Query(_) => return Ok(None),
        Body::Insert(insert) => vec![insert.table],
        Body::Update(update) => update.targets.iter().map(|target| target.table).collect(),
        Body::Delete(delete) => delete.targets.iter().map(|target| target.table).collect(),
    };
    // One that is concerned brings the others in: of several tables rows go in the order of their keys.
    if targets.iter().all(|no| !b.tables[*no as usize].has_foreign_keys()) || !concerns_keys(b, body, find)? {
        return Ok(None);
    }
    let mut found = ForeignKeys::default();
    let mut waiting = targets;
    while let Some(no) = waiting.pop() {
        if found.may_change(no) {
            continue;
        }
        let entry = Arc::clone(&b.tables[no as usize]);
        let mut keys = TableKeys { rules: b.row_rules(&entry.def)?, ..TableKeys::default() };
        for (at, key) in entry.def.foreign_keys.iter().enumerate() {
            let parent = find(&key.parent_database, &key.parent_table)?;
            let parent = parent.and_then(|parent| {
                let index = parent_index(&parent, &parent_columns(&parent, key)?)?;
                Some((number(b, &parent), index as u32))
            });
            keys.parents.push(ParentKey { key: at as u32, parent });
        }
        for (database, name) in &entry.children {
            let Some(child) = find(database, name)? else { continue };
            let referring = child.def.foreign_keys.iter().enumerate();
            for (at, key) in referring.filter(|(_, key)| key.refers_to(&entry.def.database, &entry.def.name)) {
                let Some(columns) = parent_columns(&entry, key) else { continue };
                let index = child.def.index_on(&key.columns, false).map(|index| index as u32);
                let child_no = number(b, &child);
                let parent_index = parent_index(&entry, &columns).map(|index| index as u32);
                keys.children.push(ChildKey { child: child_no, key: at as u32, index, columns, parent_index });
                let changes = |action: ReferenceAction| action.changes_rows();
                if changes(key.on_delete) || changes(key.on_update) {
                    waiting.push(child_no);
                }
            }
        }
        found.tables.push((no, keys));
    }
    Ok(Some(Box::new(found)))
}

/// Whether a statement makes rows, may set a column of a key, or may remove a row that others refer to.
fn concerns_keys(
    b: &Binder<'_>,
    body: &Body,
    find: impl Fn(&str, &str) -> Result<Option<Arc<TableEntry>>, SqlError> + Copy,
) -> Result<bool, SqlError> {
    let entry = |no: u32| &*b.tables[no as usize];
    match body {
        Body::Query(_) => Ok(false),
        Body::Insert(_) => Ok(true),
        Body::Delete(delete) => Ok(delete.targets.iter().any(|target| !entry(target.table).children.is_empty())),
        Body::Update(update) => {
            for target in &update.targets {
                if sets_own_keys(entry(target.table), target) || sets_what_is_referred_to(entry(target.table), target, find)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// Whether an UPDATE may set a column. (What is computed follows from others.)
fn may_set(entry: &TableEntry, target: &UpdateTarget, at: usize) -> bool {
    let column = &entry.def.columns[at];
    column.on_update_now || column.generated.is_some() || target.set.iter().any(|(set, _)| *set as usize == at)
}

/// Whether an UPDATE may set a column by which the table refers to another one.
fn sets_own_keys(entry: &TableEntry, target: &UpdateTarget) -> bool {
    entry.def.foreign_keys.iter().flat_map(|key| &key.columns).any(|at| may_set(entry, target, *at))
}

/// Whether an UPDATE may set a column by which others refer to the table.
fn sets_what_is_referred_to(
    entry: &TableEntry,
    target: &UpdateTarget,
    find: impl Fn(&str, &str) -> Result<Option<Arc<TableEntry>>, SqlError>,
) -> Result<bool, SqlError> {
    for (database, name) in &entry.children {
        let Some(child) = find(database, name)? else { continue };
        let mut referring = child.def.foreign_keys.iter().filter(|key| key.refers_to(&entry.def.database, &entry.def.name));
        // Columns that are not found are not known to be others.
        if referring.any(|key| parent_columns(entry, key).is_none_or(|columns| columns.iter().any(|at| may_set(entry, target, *at)))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number of a table in the plan, which has it from now on.
fn number(b: &mut Binder<'_>, entry: &Arc<TableEntry>) -> u32 {
    if let Some(at) = b.tables.iter().position(|table| table.def.id == entry.def.id) {
        return at as u32;
    }
    b.tables.push(Arc::clone(entry));
    b.tables.len() as u32 - 1
}
