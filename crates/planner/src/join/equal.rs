//! Equalities that follow from others: `a = b AND b = 5` reads `a` at 5, and `a = b AND b = c` lets `a` and `c` join without `b`.
//!
//! Columns that inner joins make equal are a *class*. A class with a constant is compared with it column by column; of any other class all pairs
//! are conditions of the group, so that every order finds the ones it needs.
//!
//! # Invariants
//! 1. Only columns are put into one class whose values, when equal, are alike to every comparison with what a class may be compared with:
//!    integers, decimals, numbers and times of one type, strings under one collation.
//! 2. When an item is joined, one pair of each of its columns with what is placed is tested; the others follow. So a class tells its selectivity once.
//! 3. What is added converts nothing: it may be evaluated earlier, and for more rows than the statement says, without a warning more.

use super::{Group, Item, ItemKind};
use crate::alike::{By, are_alike};
use crate::conditions::compare_expr;
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::plan::JoinKind;
use crate::typing::{self, Class};
use std::collections::{BTreeSet, HashMap};
use types::{Collation, ColumnType, TypeKind};

/// Columns past which a class is left as it was written: its pairs grow with the square.
const MEMBERS_MAX: usize = 10;

/// What a conjunct of a group has to do with a class of equal columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A pair of it.
    Pair(u32),
    /// It follows from comparisons with a constant if that is what it seems: tested, and no news to an estimate.
    Check,
    /// It lets pass so many of a thousand rows that others leave, which say a part of it.
    Given(u32),
}

impl Tag {
    /// [`Tag::Given`] of a share.
    pub(super) fn given(share: f64) -> Tag {
        Tag::Given((share * 1000.0).clamp(1.0, 1000.0) as u32)
    }
}

/// A column in an equality.
#[derive(Clone, Debug)]
struct Member {
    slot: Slot,
    item: usize,
    ty: ColumnType,
}

/// Columns that are equal.
#[derive(Debug, Default)]
struct EqualColumns {
    members: Vec<Member>,
    collation: Option<Collation>,
    /// Positions of the conjuncts that say so.
    said: Vec<usize>,
}

/// What a class is compared with.
struct Constant {
    expr: Expr,
    /// The comparisons with it say what the pairs say.
    exact: bool,
}

/// Finds the classes among the conjuncts of a group and adds what follows from them.
pub(super) fn propagate(group: &mut Group) {
    let items = Slots::of(&group.items);
    let mut classes: Vec<EqualColumns> = Vec::new();
    for (at, conjunct) in group.conjuncts.iter().enumerate() {
        let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &conjunct.kind else { continue };
        let (Some(a), Some(b)) = (items.member(a), items.member(b)) else { continue };
        if a.slot != b.slot && alike(&a.ty, &b.ty, *collation) {
            note(&mut classes, a, b, *collation, at);
        }
    }
    let mut added = Vec::new();
    let mut dropped = Vec::new();
    let mut tags: Vec<Option<Tag>> = std::mem::take(&mut group.tags);
    tags.resize(group.conjuncts.len(), None);
    for (number, class) in classes.iter().enumerate() {
        match constant_of(class, &group.conjuncts, &items) {
            Some(constant) => {
                for member in &class.members {
                    if !group.conjuncts.iter().any(|c| compares(c, member.slot, &constant.expr)) {
                        added.push((compared(class, member, constant.expr.clone()), None));
                    }
                }
                for at in &class.said {
                    match constant.exact {
                        true => dropped.push(*at),
                        false => tags[*at] = Some(Tag::Check),
                    }
                }
            }
            None if class.members.len() > 2 && class.members.len() <= MEMBERS_MAX => {
                let tag = Some(Tag::Pair(number as u32));
                class.said.iter().for_each(|at| tags[*at] = tag);
                add_pairs(class, &group.conjuncts, tag, &mut added);
            }
            None => {}
        }
    }
    outer_constants(group, &items);
    let old = std::mem::take(&mut group.conjuncts);
    let kept = old.into_iter().zip(tags).enumerate().filter(|(at, _)| !dropped.contains(at)).map(|(_, kept)| kept);
    (group.conjuncts, group.tags) = kept.chain(added).unzip();
}

impl Group {
    /// Of the conjuncts that become ready when an item is joined those that are tested: not the pairs that follow from others (invariant 2).
    /// Positions in [`Group::conjuncts`], with whether a conjunct counts in estimates.
    pub(super) fn tested(&self, ready: impl Iterator<Item = usize>, item: usize) -> Vec<(usize, bool)> {
        let mut seen: Vec<(u32, Slot)> = Vec::new();
        let own = &self.items[item].slots;
        let mut out = Vec::new();
        for at in ready {
            let tag = self.tags.get(at).copied().flatten();
            let mut counts = !matches!(tag, Some(Tag::Given(_)));
            if let (Some(tag), ExprKind::Compare(_, _, a, b)) = (tag, &self.conjuncts[at].kind)
                && let (ExprKind::Slot(a), ExprKind::Slot(b)) = (&a.kind, &b.kind)
                && own.contains(a) != own.contains(b)
            {
                let key = |class| (class, if own.contains(a) { *a } else { *b });
                match tag {
                    Tag::Pair(class) if seen.contains(&key(class)) => continue,
                    Tag::Pair(class) => seen.push(key(class)),
                    Tag::Check => counts = false,
                    Tag::Given(_) => {}
                }
            }
            out.push((at, counts));
        }
        out
    }
}

impl Group {
    /// Share of the rows that the conjuncts of these let pass that say more than others have said before.
    pub(super) fn given(&self, ready: impl Iterator<Item = usize>) -> f64 {
        let share = |at| match self.tags.get(at) {
            Some(Some(Tag::Given(share))) => f64::from(*share) / 1000.0,
            _ => 1.0,
        };
        ready.map(share).product()
    }
}

/// The columns of a group.
struct Slots {
    /// Those of relations that are inner-joined, with their items.
    inner: HashMap<Slot, usize>,
    /// All others.
    others: BTreeSet<Slot>,
}

impl Slots {
    fn of(items: &[Item]) -> Slots {
        let mut slots = Slots { inner: HashMap::new(), others: BTreeSet::new() };
        for (at, item) in items.iter().enumerate() {
            match item {
                Item { kind: ItemKind::Relation(_), join: JoinKind::Inner, .. } => {
                    slots.inner.extend(item.slots.iter().map(|slot| (*slot, at)));
                }
                _ => slots.others.extend(item.slots.iter().copied()),
            }
        }
        slots
    }

    fn member(&self, e: &Expr) -> Option<Member> {
        let ExprKind::Slot(slot) = e.kind else { return None };
        Some(Member { slot, item: *self.inner.get(&slot)?, ty: e.ty.clone() })
    }

    /// Whether it is a column of an enclosing query.
    fn is_outer(&self, slot: Slot) -> bool {
        !self.inner.contains_key(&slot) && !self.others.contains(&slot)
    }
}

/// Invariant 1, of two columns.
fn alike(a: &ColumnType, b: &ColumnType, collation: Collation) -> bool {
    let excluded = |ty: &ColumnType| matches!(ty.kind, TypeKind::Year | TypeKind::Bit | TypeKind::Enum | TypeKind::Set | TypeKind::Json);
    if excluded(a) || excluded(b) {
        return false;
    }
    match (typing::class(a), typing::class(b)) {
        (Class::Int, Class::Int) => true,
        (Class::Decimal, Class::Decimal) => true,
        (Class::Double, Class::Double) | (Class::DateTime, Class::DateTime) | (Class::Time, Class::Time) => {
            a.kind == b.kind && a.decimals == b.decimals
        }
        (Class::String, Class::String) => a.collation == collation && b.collation == collation,
        _ => false,
    }
}

fn note(classes: &mut Vec<EqualColumns>, a: Member, b: Member, collation: Collation, said: usize) {
    // A string is of one class under one collation only, which is its own.
    let of = |classes: &[EqualColumns], slot: Slot| classes.iter().position(|c| c.members.iter().any(|m| m.slot == slot));
    let into = match (of(classes, a.slot), of(classes, b.slot)) {
        (None, None) => {
            classes.push(EqualColumns { collation: Some(collation), ..EqualColumns::default() });
            classes.len() - 1
        }
        (Some(one), None) | (None, Some(one)) => one,
        (Some(one), Some(other)) if one == other => one,
        (Some(one), Some(other)) => {
            if !alike(&classes[one].members[0].ty, &classes[other].members[0].ty, collation) {
                return;
            }
            let (low, high) = (one.min(other), one.max(other));
            let from = classes.remove(high);
            classes[low].members.extend(from.members);
            classes[low].said.extend(from.said);
            low
        }
    };
    let class = &mut classes[into];
    for new in [a, b] {
        if class.members.iter().all(|m| m.slot != new.slot) {
            class.members.push(new);
        }
    }
    class.said.push(said);
}

/// What some member of a class is compared with that has one value for the group.
fn constant_of(class: &EqualColumns, conjuncts: &[Expr], items: &Slots) -> Option<Constant> {
    let found = |conjunct: &Expr| {
        let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &conjunct.kind else { return None };
        class.members.iter().find_map(|member| {
            let is_it = |e: &Expr| matches!(e.kind, ExprKind::Slot(slot) if slot == member.slot);
            let constant = if is_it(a) {
                b
            } else if is_it(b) {
                a
            } else {
                return None;
            };
            // Clocks that are set back show two instants alike.
            let is_instant = |ty: &ColumnType| ty.kind == TypeKind::Timestamp;
            let folds = is_instant(&member.ty) && !is_instant(&constant.ty);
            let exact = comparable(&member.ty, constant, *collation, items)? && !folds;
            Some(Constant { expr: (**constant).clone(), exact })
        })
    };
    conjuncts.iter().filter_map(found).max_by_key(|c| c.exact)
}

/// Whether all of a class may be compared with what one column of it is compared with; and whether equal to it means equal to each other.
fn comparable(column: &ColumnType, constant: &Expr, collation: Collation, items: &Slots) -> Option<bool> {
    match &constant.kind {
        ExprKind::Literal(types::Value::Null) => return None,
        ExprKind::Literal(_) | ExprKind::Param(_) => {}
        // A column of an enclosing query.
        ExprKind::Slot(slot) if items.is_outer(*slot) => {
            return (alike(column, &constant.ty, collation)).then_some(true);
        }
        _ => return None,
    }
    match (typing::class(column), typing::class(&constant.ty)) {
        (Class::Int | Class::Decimal, Class::Int | Class::Decimal) => Some(true),
        (Class::Double, Class::Int | Class::Decimal | Class::Double) => Some(true),
        (Class::DateTime, Class::DateTime | Class::String) | (Class::Time, Class::Time) => Some(true),
        (Class::String, Class::String) => (collation == column.collation && !typing::has_members(&constant.ty)).then_some(true),
        (Class::String, _) => None,
        // A parameter may turn out to be of any type.
        _ => Some(false),
    }
}

/// Whether a conjunct compares a column with just this constant.
fn compares(conjunct: &Expr, slot: Slot, constant: &Expr) -> bool {
    let ExprKind::Compare(CmpOp::Eq, _, a, b) = &conjunct.kind else { return false };
    let is_it = |e: &Expr| matches!(e.kind, ExprKind::Slot(s) if s == slot);
    let is_constant = |e: &Expr| are_alike(e, constant, By::All);
    is_it(a) && is_constant(b) || is_it(b) && is_constant(a)
}

fn compared(class: &EqualColumns, member: &Member, with: Expr) -> Expr {
    let collation = class.collation.unwrap_or(member.ty.collation);
    compare_expr(CmpOp::Eq, collation, Expr::slot(member.slot, member.ty.clone()), with)
}

/// All pairs of a class that are not written, but of two columns of one item only what makes them equal.
fn add_pairs(class: &EqualColumns, conjuncts: &[Expr], tag: Option<Tag>, added: &mut Vec<(Expr, Option<Tag>)>) {
    for (at, a) in class.members.iter().enumerate() {
        for b in &class.members[at + 1..] {
            let b_expr = Expr::slot(b.slot, b.ty.clone());
            if !class.said.iter().any(|said| compares(&conjuncts[*said], a.slot, &b_expr)) {
                added.push((compared(class, a, b_expr), if a.item == b.item { None } else { tag }));
            }
        }
    }
}

/// `t LEFT JOIN u ON u.a = t.a WHERE t.a = 5`: only rows of `u` at 5 can be partners. The join's own condition stays, to join by.
fn outer_constants(group: &mut Group, items: &Slots) {
    let mut known: Vec<(Slot, Expr)> = Vec::new();
    for conjunct in &group.conjuncts {
        let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &conjunct.kind else { continue };
        for (column, constant) in [(a, b), (b, a)] {
            if let Some(member) = items.member(column)
                && alike(&member.ty, &member.ty, *collation)
                && comparable(&member.ty, constant, *collation, items) == Some(true)
            {
                known.push((member.slot, (**constant).clone()));
            }
        }
    }
    if known.is_empty() {
        return;
    }
    for item in group.items.iter_mut().filter(|item| item.join != JoinKind::Inner) {
        let mut more = Vec::new();
        for condition in &item.on {
            let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &condition.kind else { continue };
            for (own, other) in [(a, b), (b, a)] {
                if let (ExprKind::Slot(slot), ExprKind::Slot(outside)) = (&own.kind, &other.kind)
                    && item.slots.contains(slot)
                    && alike(&own.ty, &other.ty, *collation)
                    && let Some((_, constant)) = known.iter().find(|(column, _)| column == outside)
                    && !item.on.iter().any(|c| compares(c, *slot, constant))
                {
                    more.push(compare_expr(CmpOp::Eq, *collation, (**own).clone(), constant.clone()));
                }
            }
        }
        item.on.extend(more);
    }
}
