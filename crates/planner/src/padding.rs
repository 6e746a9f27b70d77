//! PAD_CHAR_TO_FULL_LENGTH: what a statement reads of CHAR columns has all its trailing spaces.
//!
//! Where the mode asks for it, each read of such a column in a bound block becomes a function of it, before access paths are chosen: indexes hold
//! values without the spaces, so none stands for a condition on the padded one. What stored definitions read (generated columns, CHECK) is not padded:
//! it means the same in every mode.

use crate::binder::{Binder, Relation, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::func::Func;
use crate::logical::{Block, JoinTree};
use crate::plan::{SortKey, UpdateTarget};
use std::collections::BTreeSet;
use types::{SqlMode, TypeKind};

/// Slots of CHAR columns whose reads are to be padded.
pub(crate) struct Padded(BTreeSet<Slot>);

impl Binder<'_> {
    /// Pads what a bound block reads of its own columns and of those of the blocks around it.
    pub(crate) fn pad_block(&self, block: &mut Block) {
        let Some(padded) = self.padded(&block.scope.relations) else { return };
        let Block { scope, from, filter, items, group_by, having, order, .. } = block;
        let exprs = filter.iter_mut().chain(items.iter_mut().map(|(e, _)| e)).chain(group_by).chain(having);
        exprs.for_each(|e| padded.pad(e));
        padded.pad_trees(from);
        padded.pad_keys(order);
        for (_, aggregate) in &mut scope.aggregates {
            aggregate.args.iter_mut().for_each(|e| padded.pad(e));
            padded.pad_keys(&mut aggregate.order);
        }
        scope.windows.iter_mut().for_each(|window| window.for_each_expr_mut(&mut |e| padded.pad(e)));
    }

    /// The same of what an UPDATE assigns.
    pub(crate) fn pad_targets(&self, targets: &mut [UpdateTarget]) {
        let Some(padded) = self.padded(&[]) else { return };
        targets.iter_mut().flat_map(|target| &mut target.set).for_each(|(_, e)| padded.pad(e));
    }

    /// The same of the conditions and the order of an UPDATE or DELETE.
    pub(crate) fn pad_conditions(&self, trees: &mut [JoinTree], filter: &mut [Expr], order: &mut [SortKey]) {
        let Some(padded) = self.padded(&[]) else { return };
        padded.pad_trees(trees);
        padded.pad_keys(order);
        filter.iter_mut().for_each(|e| padded.pad(e));
    }

    /// The CHAR columns of these relations and of the blocks that are being bound; `None` where the mode leaves values as they are.
    fn padded(&self, own: &[Relation]) -> Option<Padded> {
        if !self.context.sql_mode().contains(SqlMode::PAD_CHAR_TO_FULL_LENGTH) {
            return None;
        }
        let relations = own.iter().chain(self.scopes.iter().flat_map(|scope| &scope.relations));
        let slots = relations.filter(|relation| matches!(relation.source, Source::Base(_))).flat_map(|relation| {
            let columns = relation.columns.iter().zip(&relation.slots);
            columns.filter(|(column, _)| column.ty.kind == TypeKind::Char).filter_map(|(_, slot)| *slot)
        });
        Some(Padded(slots.collect()))
    }
}

impl Padded {
    fn pad(&self, e: &mut Expr) {
        match &e.kind {
            ExprKind::Slot(slot) if self.0.contains(slot) => {
                let ty = e.ty.clone();
                let read = Expr::slot(*slot, ty.clone());
                *e = Expr { kind: ExprKind::Func(Func::PadChar, vec![read]), ty };
            }
            ExprKind::Slot(_) | ExprKind::Func(Func::PadChar, _) => {}
            _ => e.for_each_child_mut(&mut |child| self.pad(child)),
        }
    }

    fn pad_keys(&self, keys: &mut [SortKey]) {
        keys.iter_mut().for_each(|key| self.pad(&mut key.expr));
    }

    fn pad_trees(&self, trees: &mut [JoinTree]) {
        trees.iter_mut().for_each(|tree| tree.for_each_on_mut(&mut |on| on.iter_mut().for_each(|e| self.pad(e))));
    }
}
