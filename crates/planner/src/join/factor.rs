//! Disjunctions: what all branches say is said once, and what they say of one relation is said of it alone.
//!
//! `(a = b AND x < 1) OR (a = b AND y < 2)` becomes `a = b AND (x < 1 OR y < 2)`, so that `a = b` can join; and
//! `(n1 = 'F' AND n2 = 'G') OR (n1 = 'G' AND n2 = 'F')` lets each of the two tables be filtered before they meet.
//!
//! # Invariants
//! 1. What is taken out or added is plain: comparisons of columns and constants that convert nothing, so that they may be evaluated earlier
//!    and for more rows than the statement says without a warning more.
//! 2. The conjunction of the result is true for just the rows for which the original was.
//! 3. A disjunction counts once in estimates: beside what it says of each relation alone it counts with what it says more ([`Tag::Given`]).

use super::equal::Tag;
use crate::alike::{By, are_alike};
use crate::binder::Relation;
use crate::conditions::logic;
use crate::expr::{Expr, ExprKind, Slot};
use crate::selectivity::selectivity;
use crate::typing::{self, Class};
use std::collections::BTreeSet;

/// Branches and parts past which a disjunction is left as it is.
const PARTS_MAX: usize = 64;

/// Rewrites the disjunctions among the conditions of a join, and says what is to be known of each: a tag for each condition.
pub(super) fn factor(conjuncts: &mut Vec<Expr>, relations: &[Relation]) -> Vec<Option<Tag>> {
    if !conjuncts.iter().any(|c| matches!(c.kind, ExprKind::Or(_))) {
        return Vec::new();
    }
    let mut out = Vec::with_capacity(conjuncts.len() + 2);
    for conjunct in std::mem::take(conjuncts) {
        match conjunct.kind {
            ExprKind::Or(branches) => split(branches, relations, &mut out),
            _ => out.push((conjunct, None)),
        }
    }
    let tags;
    (*conjuncts, tags) = out.into_iter().unzip();
    tags
}

fn split(branches: Vec<Expr>, relations: &[Relation], out: &mut Vec<(Expr, Option<Tag>)>) {
    let mut parts: Vec<Vec<Expr>> = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut list = Vec::new();
        branch.into_conjuncts(&mut list);
        parts.push(list);
    }
    let count: usize = parts.iter().map(Vec::len).sum();
    if count > PARTS_MAX || parts.len() < 2 {
        out.push((disjunction(parts), None));
        return;
    }
    let common: Vec<Expr> =
        parts[0].iter().filter(|c| is_plain(c) && parts[1..].iter().all(|p| p.iter().any(|d| are_alike(c, d, By::All)))).cloned().collect();
    if !common.is_empty() {
        for list in &mut parts {
            list.retain(|c| !common.iter().any(|d| are_alike(c, d, By::All)));
        }
        out.extend(common.into_iter().map(|common| (common, None)));
        if parts.iter().any(Vec::is_empty) {
            // A branch says nothing more: where the common parts hold, the whole does.
            return;
        }
    }
    // Of what it says of relations alone: the share that all of it lets pass.
    let mut implied = None;
    for relation in relations {
        let own: BTreeSet<Slot> = relation.slots.iter().flatten().copied().collect();
        let of_it = |c: &&Expr| is_plain(c) && reads_only(c, &own);
        let said: Vec<Vec<Expr>> = parts.iter().map(|list| list.iter().filter(of_it).cloned().collect()).collect();
        let whole = said.iter().zip(&parts).all(|(s, p)| s.len() == p.len());
        if !whole && said.iter().all(|list| !list.is_empty()) {
            let said = disjunction(said);
            implied = Some(implied.unwrap_or(1.0) * selectivity(&said));
            out.push((said, None));
        }
    }
    let whole = disjunction(parts);
    // By guesses on either side: how often a branch holds for one relation and not for the other does not depend on how often it holds.
    let tag = implied.map(|implied: f64| Tag::given(selectivity(&whole) / implied));
    out.push((whole, tag));
}

fn disjunction(parts: Vec<Vec<Expr>>) -> Expr {
    logic(ExprKind::Or, parts.into_iter().map(|list| logic(ExprKind::And, list)).collect())
}

fn reads_only(e: &Expr, own: &BTreeSet<Slot>) -> bool {
    let (mut some, mut only) = (false, true);
    e.walk(&mut |e| {
        if let ExprKind::Slot(slot) = &e.kind {
            some = true;
            only &= own.contains(slot);
        }
    });
    some && only
}

/// Invariant 1.
fn is_plain(e: &Expr) -> bool {
    let operand = |e: &Expr| matches!(e.kind, ExprKind::Slot(_) | ExprKind::Literal(_) | ExprKind::Param(_));
    let alike = |a: &Expr, b: &Expr| {
        let number = |c: Class| matches!(c, Class::Int | Class::Decimal | Class::Double);
        let (x, y) = (typing::class(&a.ty), typing::class(&b.ty));
        operand(a) && operand(b) && (x == y && x != Class::Unknown || number(x) && number(y))
    };
    match &e.kind {
        ExprKind::Compare(_, _, a, b) => alike(a, b),
        ExprKind::Between { operand, low, high, .. } => alike(operand, low) && alike(operand, high),
        ExprKind::InList { operand, list, .. } => list.iter().all(|item| alike(operand, item)),
        ExprKind::Like { operand, pattern, .. } => alike(operand, pattern) && typing::class(&operand.ty) == Class::String,
        ExprKind::IsNull { operand: of, .. } => operand(of),
        _ => false,
    }
}
