//! Conditions on what a generated column holds, as conditions on the column, and rows sorted by it: so an index on it (a functional index) serves them.
//!
//! # Invariants
//! 1. A column stands only for the very expression it is generated from, over the same columns, and for values of its own type: the
//!    condition accepts the same rows.
//! 2. A plan that serves other values of lifted literals never rests on one: a statement whose condition could match by such a value is
//!    planned with its literals in place ([`BY_VALUE`]), each time anew.

use crate::alike::{By, Wording, wording};
use crate::binder::{Binder, Relation, Result, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::SortKey;
use catalog::{TableDef, Visibility};
use mysql_error::SqlError;
use types::ColumnType;

/// Number of the error that asks for the statement to be planned with its literals in place.
pub const BY_VALUE: u16 = 1105;

/// The error that asks for it.
pub(crate) fn by_value() -> SqlError {
    SqlError::with_message(BY_VALUE, "the plan rests on a literal's value")
}

/// A generated column that leads an index, and its expression over the relation's slots.
struct Candidate {
    relation: usize,
    column: usize,
    value: Wording,
    shape: Wording,
    ty: ColumnType,
}

impl Binder<'_> {
    /// Puts generated columns for their expressions in the conditions of the block being bound.
    pub(crate) fn use_generated(&mut self, conditions: &mut [Expr]) -> Result<()> {
        let candidates = self.generated_candidates()?;
        if candidates.is_empty() {
            return Ok(());
        }
        for condition in conditions {
            let operands: Vec<&mut Expr> = match &mut condition.kind {
                ExprKind::Compare(_, _, a, b) => vec![&mut **a, &mut **b],
                ExprKind::Between { operand, negated: false, .. } => vec![&mut **operand],
                ExprKind::InList { operand, negated: false, .. } => vec![&mut **operand],
                _ => continue,
            };
            for operand in operands {
                self.put_column_for(operand, &candidates)?;
            }
        }
        Ok(())
    }

    /// The same for what the rows of the block being bound are sorted by: an index on the column gives them in order.
    pub(crate) fn sort_by_generated(&mut self, keys: &mut [SortKey]) -> Result<()> {
        if keys.iter().all(|key| matches!(key.expr.kind, ExprKind::Slot(_))) {
            return Ok(());
        }
        let candidates = self.generated_candidates()?;
        keys.iter_mut().try_for_each(|key| self.put_column_for(&mut key.expr, &candidates))
    }

    fn put_column_for(&mut self, operand: &mut Expr, candidates: &[Candidate]) -> Result<()> {
        if matches!(operand.kind, ExprKind::Slot(_) | ExprKind::Literal(_) | ExprKind::Param(_)) {
            return Ok(());
        }
        let value = wording(operand, By::Stored);
        let lifted = operand.any(&mut |e| matches!(e.kind, ExprKind::Param(n) if self.context.param_types().get(n as usize).is_some()));
        let shape = lifted.then(|| wording(operand, By::Shape));
        for candidate in candidates {
            if !same_values(&operand.ty, &candidate.ty) {
                continue;
            }
            if value == candidate.value {
                let depth = self.scopes.len() - 1;
                let silent = std::mem::replace(&mut self.accesses.silent, true);
                *operand = self.column_expr(depth, candidate.relation, candidate.column);
                self.accesses.silent = silent;
                return Ok(());
            }
            if shape.as_ref() == Some(&candidate.shape) {
                return Err(by_value());
            }
        }
        Ok(())
    }

    fn generated_candidates(&mut self) -> Result<Vec<Candidate>> {
        let mut found = Vec::new();
        let Some(depth) = self.scopes.len().checked_sub(1) else { return Ok(found) };
        for r in 0..self.scopes[depth].relations.len() {
            let Source::Base(table) = self.scopes[depth].relations[r].source else { continue };
            let entry = self.tables[table as usize].clone();
            let def = &entry.def;
            for (at, column) in def.columns.iter().enumerate() {
                let Some(generated) = &column.generated else { continue };
                let leads = |index: &catalog::IndexDef| !index.invisible && index.parts.first().is_some_and(|part| part.column == at);
                if !def.indexes.iter().any(leads) {
                    continue;
                }
                let first = self.slot_count;
                let mut e = self.stored_expr(def, &generated.text, first)?;
                if over_relation(&mut e, def, first, &self.scopes[depth].relations[r]) {
                    found.push(Candidate {
                        relation: r,
                        column: at,
                        value: wording(&e, By::Stored),
                        shape: wording(&e, By::Shape),
                        ty: column.ty.clone(),
                    });
                }
            }
        }
        Ok(found)
    }
}

/// Puts a stored expression over a relation's slots; false where the statement does not use all of its columns, or where the relation's
/// rows may be made of NULLs.
fn over_relation(e: &mut Expr, def: &TableDef, first: Slot, relation: &Relation) -> bool {
    if relation.nullable || matches!(e.kind, ExprKind::Slot(_)) {
        return false;
    }
    let mut all = true;
    e.rename_slots(&mut |slot| {
        let column = slot.wrapping_sub(first) as usize;
        let is_shown = def.columns.get(column).is_some_and(|column| column.visibility != Visibility::Hidden);
        let own = relation.slots.get(column).copied().flatten().filter(|_| is_shown);
        all &= own.is_some();
        own
    });
    all
}

/// Whether a column of this type holds what the expression yields, and compares as it does.
fn same_values(of: &ColumnType, column: &ColumnType) -> bool {
    // What YEAR() gives is a small number, whatever holds it.
    if of.kind == types::TypeKind::Year && !of.zerofill && column.kind.is_integer() {
        return true;
    }
    let integers = of.kind.is_integer() && column.kind.is_integer() && of.unsigned == column.unsigned;
    let strings = of.kind.is_string() && column.kind.is_string() && of.collation == column.collation;
    let alike = of.kind == column.kind && of.decimals == column.decimals && of.collation == column.collation;
    integers || strings || alike
}
