//! Derived tables, common table expressions that are named once, and views that are not merged when they are bound. What is only joins and conditions
//! becomes part of the block around it (`derived/merge.rs`); the others wait for their plan until it is known what is asked of their rows, so that conditions are
//! tested inside, where an index may serve them, and not on what has been put together.
//!
//! # Invariants
//! 1. A condition goes into a query only if what it says of a row it says of all that the row is put together with: of a group (or of rows that are
//!    one by DISTINCT or UNION) the columns grouped by, and of strings, which may be equal and yet differ, what their collation compares.
//! 2. What has been pushed down is exact: it is not tested again outside.
//! 3. Nothing is pushed below a LIMIT, nor under rows that are locked, nor where an evaluation has effects.

mod merge;

use crate::alike::{By, are_alike};
use crate::bind_query::convert_to;
use crate::binder::{Binder, Relation, Result, Source};
use crate::conditions::conjunction;
use crate::expr::{Expr, ExprKind, Slot};
use crate::join::{Group, ItemKind, equals_are_one};
use crate::logical::Block;
use crate::plan::{JoinKind, LockMode, OutputColumn};
use crate::switches::Switch;
use crate::typing::{self, Class};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use types::TypeKind;

/// A query that has not been planned. Boxed wherever it waits.
#[derive(Debug, Clone)]
pub enum Waiting {
    /// A block.
    Block(Box<Block>),
    /// A UNION of blocks.
    Union(UnionBlocks),
}

/// The blocks of a UNION without ORDER BY or LIMIT of its own.
#[derive(Debug, Clone)]
pub struct UnionBlocks {
    /// Its parts.
    pub branches: Vec<Block>,
    /// UNION ALL.
    pub all: bool,
    /// What they have in common.
    pub columns: Vec<OutputColumn>,
}

impl Waiting {
    /// Slots of enclosing queries that it reads.
    pub fn outer(&self) -> Box<dyn Iterator<Item = &Slot> + '_> {
        match self {
            Waiting::Block(block) => Box::new(block.scope.outer.iter()),
            Waiting::Union(union) => Box::new(union.branches.iter().flat_map(|block| &block.scope.outer)),
        }
    }
}

impl Binder<'_> {
    /// Plans what waits in a group, with the conditions that can be tested there.
    pub(crate) fn plan_waiting(&mut self, relations: &mut [Relation], group: &mut Group) -> Result<()> {
        for at in 0..group.items.len() {
            match &mut group.items[at].kind {
                ItemKind::Nest(nest) => {
                    let mut nest = std::mem::take(nest);
                    let planned = self.plan_waiting(relations, &mut nest);
                    group.items[at].kind = ItemKind::Nest(nest);
                    planned?;
                }
                ItemKind::Relation(r) => {
                    let r = *r;
                    if matches!(relations[r].source, Source::Waiting(_)) {
                        self.plan_waiting_relation(&mut relations[r], group, at)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn plan_waiting_relation(&mut self, relation: &mut Relation, group: &mut Group, item: usize) -> Result<()> {
        let Source::Waiting(waiting) = &mut relation.source else { return Ok(()) };
        let Some(mut waiting) = waiting.take() else { return Ok(()) };
        let columns: HashMap<Slot, usize> = relation.slots.iter().enumerate().filter_map(|(at, slot)| Some(((*slot)?, at))).collect();
        let pushes = self.context.switches().has(Switch::DerivedConditionPushdown);
        let mut pushed = |condition: &Expr| pushes && push(&mut waiting, &columns, condition);
        if group.items[item].join == JoinKind::Inner {
            let mut tags = std::mem::take(&mut group.tags);
            tags.resize(group.conjuncts.len(), None);
            let all = std::mem::take(&mut group.conjuncts).into_iter().zip(tags);
            (group.conjuncts, group.tags) = all.filter(|(condition, _)| !pushed(condition)).unzip();
        } else {
            group.items[item].on.retain(|condition| !pushed(condition));
        }
        let outer: BTreeSet<Slot> = waiting.outer().copied().collect();
        // What reads nothing of outside is run once, however often the block is.
        let enclosing = self.block_executions;
        if outer.is_empty() {
            self.block_executions = 1.0;
        }
        let planned = match *waiting {
            Waiting::Block(block) => self.plan_block(*block),
            Waiting::Union(union) => self.plan_union(union).map(|bound| (bound.query, bound.rows)),
        };
        self.block_executions = enclosing;
        let (query, rows) = planned?;
        relation.source = Source::Derived(Arc::new(query), outer, rows);
        Ok(())
    }
}

/// Puts a condition on some of a query's columns into it, if it can be tested there.
fn push(waiting: &mut Waiting, columns: &HashMap<Slot, usize>, condition: &Expr) -> bool {
    let mut own = false;
    let foreign = condition.any(&mut |e| match &e.kind {
        ExprKind::Slot(slot) => {
            own |= columns.contains_key(slot);
            !columns.contains_key(slot)
        }
        ExprKind::Subquery(..) | ExprKind::UserVariable(_) | ExprKind::AssignVariable(..) | ExprKind::NoDefault(_) => true,
        ExprKind::Func(f, _) => f.is_volatile(),
        _ => false,
    });
    if foreign || !own {
        return false;
    }
    match waiting {
        Waiting::Block(block) => place(block, columns, condition, None).map(|place| place.put(block)).is_some(),
        Waiting::Union(union) => {
            if !union.all && !says_it_of_equals(condition) {
                return false;
            }
            let places: Option<Vec<Place>> =
                union.branches.iter().map(|block| place(block, columns, condition, Some(&union.columns))).collect();
            let Some(places) = places else { return false };
            union.branches.iter_mut().zip(places).for_each(|(block, place)| place.put(block));
            true
        }
    }
}

/// Where a condition goes in a block.
enum Place {
    /// To the rows that it reads.
    Where(Expr),
    /// To its groups.
    Having(Expr),
}

impl Place {
    fn put(self, block: &mut Block) {
        match self {
            Place::Where(condition) => block.filter.push(condition),
            Place::Having(condition) => block.having = conjunction(block.having.take().into_iter().chain([condition]).collect()),
        }
    }
}

/// `union`: what the block's columns become in the UNION that it is part of.
fn place(block: &Block, columns: &HashMap<Slot, usize>, condition: &Expr, union: Option<&[OutputColumn]>) -> Option<Place> {
    let locks = block.scope.relations.iter().any(|r| r.lock != LockMode::None);
    if block.limit.is_some() || block.scope.volatile || locks || block.from.is_empty() {
        return None;
    }
    let mut asked: Vec<&Expr> = Vec::new();
    condition.walk(&mut |e| {
        if let ExprKind::Slot(slot) = e.kind {
            asked.extend(columns.get(&slot).map(|at| &block.items[*at].0));
        }
    });
    if asked.iter().any(|e| e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(..)))) {
        return None;
    }
    let is_plain = says_it_of_equals(condition);
    // A window's rows are all there if the condition takes or leaves whole partitions.
    let of_partitions = |e: &&Expr| block.scope.windows.iter().all(|w| w.partition.iter().any(|key| are_alike(&key.expr, e, By::All)));
    if !(block.scope.windows.is_empty() || is_plain && asked.iter().all(of_partitions)) || block.distinct && !is_plain {
        return None;
    }
    let grouped_by = |e: &&Expr| block.group_by.iter().any(|key| are_alike(key, e, By::All));
    let of_rows = !block.grouped || block.rollup.is_none() && is_plain && !asked.is_empty() && asked.iter().all(grouped_by);
    let mut condition = condition.clone();
    // It reads the block's own expressions in place of the columns that they are outside.
    condition.replace_slots(&mut |slot| {
        let at = *columns.get(&slot)?;
        let mut own = block.items[at].0.clone();
        if let Some(column) = union.map(|columns| &columns[at]) {
            convert_to(&mut own, &column.ty);
        }
        Some(own)
    });
    Some(if of_rows { Place::Where(condition) } else { Place::Having(condition) })
}

/// Whether a condition is the same of all values that count as equal: of numbers and times it is; of strings where they are compared under the
/// collation under which they are equal.
fn says_it_of_equals(condition: &Expr) -> bool {
    let text = |e: &Expr| typing::class(&e.ty) == Class::String && e.ty.kind != TypeKind::Json && !typing::has_members(&e.ty);
    // One side of a comparison: a column, or something without columns.
    let side = |e: &Expr, collation: types::Collation| match e.kind {
        ExprKind::Slot(_) => text(e) && e.ty.collation == collation,
        _ => text(e) && e.is_constant(),
    };
    match &condition.kind {
        ExprKind::And(list) | ExprKind::Or(list) => list.iter().all(says_it_of_equals),
        ExprKind::Not(e) => says_it_of_equals(e),
        ExprKind::IsNull { operand, .. } if matches!(operand.kind, ExprKind::Slot(_)) => true,
        ExprKind::Compare(_, collation, a, b) if side(a, *collation) && side(b, *collation) => true,
        ExprKind::InList { operand, list, collation, .. } if side(operand, *collation) && list.iter().all(|e| side(e, *collation)) => true,
        ExprKind::Between { operand, low, high, collation, .. } if [operand, low, high].iter().all(|e| side(e, *collation)) => true,
        _ => !condition.any(&mut |e| matches!(e.kind, ExprKind::Slot(_)) && !equals_are_one(&e.ty)),
    }
}
