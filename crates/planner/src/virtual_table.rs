//! Computed tables (`catalog::VirtualTableDef`) in plans: their columns, which conditions narrow what is computed, what that costs.

use crate::access::Path;
use crate::binder::{Binder, RelColumn, Relation, Source};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::plan::{OutputColumn, VirtualNode};
use crate::typing;
use catalog::VirtualTableDef;
use std::collections::BTreeSet;

/// Cost of making ready to compute rows, in rows.
const OPEN_COST: f64 = 20.0;
/// Least rows of a reading.
const ROWS_MIN: f64 = 1.0;

/// Whether a table of `performance_schema` is one of those that say what is watched. Statements that change them do nothing here: like MySQL's under
/// `performance_schema = OFF` they have no rows for it, and tools send such statements before they read.
pub fn is_setup(table: &VirtualTableDef, command: &str) -> bool {
    let is_changed = match command {
        "DELETE" => matches!(table.name, "setup_actors" | "setup_objects"),
        "UPDATE" => matches!(
            table.name,
            "setup_actors"
                | "setup_consumers"
                | "setup_instruments"
                | "setup_loggers"
                | "setup_meters"
                | "setup_objects"
                | "setup_threads"
                | "threads"
        ),
        _ => false,
    };
    is_changed && table.database == "performance_schema"
}

/// A relation over a computed table.
pub fn relation(table: &'static VirtualTableDef, alias: String, database: String) -> Relation {
    let columns = table.columns.iter().map(|column| RelColumn {
        name: column.name.to_owned(),
        ty: column.ty.clone(),
        hidden: false,
        invisible: false,
        meta: OutputColumn {
            database: table.database.into(),
            table: alias.as_str().into(),
            org_table: table.name.into(),
            name: column.name.into(),
            org_name: column.name.into(),
            ty: column.ty.clone(),
            coercibility: typing::IMPLICIT,
            ..OutputColumn::default()
        },
    });
    let columns: Vec<RelColumn> = columns.collect();
    Relation { database, ..Relation::new(alias, Source::Virtual(table), columns) }
}

/// The values that conditions leave to the key columns: (position in the table's keys, expressions that are known before the table is read).
type Keys = Vec<(u32, Vec<Expr>)>;

impl Binder<'_> {
    /// How a computed table is read: always from its beginning to its end, with more or fewer rows in between.
    pub fn virtual_path(
        &self,
        table: &'static VirtualTableDef,
        relation: &Relation,
        conditions: &[Expr],
        blocked: &BTreeSet<Slot>,
    ) -> Path {
        let keys = self.virtual_keys(table, relation, conditions, blocked);
        // With all keys given one row's kin is left; each key does its part.
        let share = keys.len() as f64 / table.keys.len().max(1) as f64;
        let values: f64 = keys.iter().map(|(_, values)| values.len() as f64).product();
        let rows = (table.rows.powf(1.0 - share) * values).clamp(ROWS_MIN, table.rows.max(ROWS_MIN));
        Path { rows, cost: OPEN_COST + rows, ..Path::default() }
    }

    /// The operator that reads it.
    pub fn virtual_node(
        &self,
        table: &'static VirtualTableDef,
        relation: &Relation,
        path: &Path,
        conditions: &[Expr],
        blocked: &BTreeSet<Slot>,
    ) -> VirtualNode {
        let columns = relation.slots.iter().enumerate().filter_map(|(column, slot)| slot.map(|slot| (column as u32, slot)));
        VirtualNode {
            table,
            alias: relation.alias.as_str().into(),
            columns: columns.collect(),
            keys: self.virtual_keys(table, relation, conditions, blocked),
            rows: path.rows,
        }
    }

    fn virtual_keys(&self, table: &VirtualTableDef, relation: &Relation, conditions: &[Expr], blocked: &BTreeSet<Slot>) -> Keys {
        let mut keys: Keys = Vec::new();
        for condition in conditions {
            let Some((column, values)) = allowed_values(condition, relation) else { continue };
            let Some(key) = table.keys.iter().position(|k| *k == column) else { continue };
            let key = key as u32;
            if keys.iter().all(|(known, _)| *known != key) && values.iter().all(|value| self.known_before(value, blocked)) {
                keys.push((key, values.into_iter().cloned().collect()));
            }
        }
        keys
    }

    /// Whether an expression has a value before a relation is read.
    fn known_before(&self, value: &Expr, blocked: &BTreeSet<Slot>) -> bool {
        let asks = value.any(&mut |e| match &e.kind {
            ExprKind::Subquery(..) => true,
            ExprKind::Func(func, _) => func.is_volatile(),
            _ => false,
        });
        let mut slots = Vec::new();
        slots_of(value, &self.subplans, &mut slots);
        !asks && slots.iter().all(|slot| !blocked.contains(slot))
    }
}

/// The column of the relation that a condition bounds to a list of values, compared byte by byte.
fn allowed_values<'e>(condition: &'e Expr, relation: &Relation) -> Option<(u32, Vec<&'e Expr>)> {
    let column = |e: &Expr| match e.kind {
        ExprKind::Slot(slot) => relation.slots.iter().position(|s| *s == Some(slot)).map(|at| at as u32),
        _ => None,
    };
    match &condition.kind {
        ExprKind::Compare(CmpOp::Eq, collation, a, b) if collation.is_binary() => match (column(a), column(b)) {
            (Some(at), None) => Some((at, vec![b])),
            (None, Some(at)) => Some((at, vec![a])),
            _ => None,
        },
        ExprKind::InList { operand, list, negated: false, collation } if collation.is_binary() => {
            column(operand).map(|at| (at, list.iter().collect()))
        }
        _ => None,
    }
}
