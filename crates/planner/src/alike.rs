//! Whether two expressions are the same, for each of the things that may be meant by that. They are compared by their text, in which each operation, constant
//! and slot stands.
//!
//! # Invariants
//! 1. A slot is alike to itself only.
//! 2. Subqueries are told apart by their numbers: none is alike to another.

use crate::expr::{Expr, ExprKind};
use crate::typing::is_string_class;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use types::{Collation, ColumnType};

/// What tells two expressions apart. The type of the whole never does: it follows from what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Everything, with the types of the operands.
    All,
    /// The value. Types follow from operations and slots, but for what literals are: bytes, or a text whose character set and collation are those of the operations
    /// around it. Two parameters may be anything.
    Value,
    /// What is written: a parameter may be any other one. For rules about how statements are written.
    Writing,
    /// The value of an expression that is stored, whose literals are under another collation than those of the connection.
    Stored,
    /// The operations alone: all constants and parameters are alike.
    Shape,
}

/// An expression by what tells it apart. To be made once where it is compared with many.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wording(String);

/// An expression by what tells it apart.
pub(crate) fn wording(e: &Expr, by: By) -> Wording {
    if by == By::All || matches!(e.kind, ExprKind::Slot(_)) {
        return Wording(format!("{:?}", e.kind));
    }
    let mut copy = e.clone();
    blur(&mut copy, by);
    Wording(format!("{:?}", copy.kind))
}

/// Leaves only what tells an expression apart. Says whether a parameter stands in it.
fn blur(e: &mut Expr, by: By) -> bool {
    match (by, &e.kind) {
        (By::Writing, ExprKind::Param(_)) | (By::Shape, ExprKind::Param(_) | ExprKind::Literal(_)) => e.kind = ExprKind::Param(0),
        _ => {}
    }
    let mut is_open = matches!(e.kind, ExprKind::Param(_));
    e.for_each_child_mut(&mut |child| is_open |= blur(child, by));
    if let ExprKind::Run(_, links) = &mut e.kind {
        links.iter_mut().for_each(|link| link.ty = ColumnType::bigint());
    }
    let collation = match e.kind {
        _ if !is_string_class(&e.ty) => None,
        ExprKind::Slot(_) | ExprKind::Param(_) => None,
        ExprKind::Literal(_) => Some(e.ty.collation).filter(|collation| *collation == Collation::Binary),
        // With another parameter it may be another one.
        _ => Some(e.ty.collation).filter(|_| by == By::Value || by == By::Writing && !is_open),
    };
    e.ty = collation.map_or_else(ColumnType::bigint, |collation| ColumnType::varchar(0, collation));
    is_open
}

/// What two expressions that are alike have in common without their texts.
fn kind(e: &Expr, by: By) -> Discriminant<ExprKind> {
    match e.kind {
        ExprKind::Literal(_) if by == By::Shape => discriminant(&ExprKind::Param(0)),
        _ => discriminant(&e.kind),
    }
}

/// Whether nothing tells two expressions apart. Makes no texts where their kinds or slots decide.
pub(crate) fn are_alike(a: &Expr, b: &Expr, by: By) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Slot(a), ExprKind::Slot(b)) => a == b,
        _ => kind(a, by) == kind(b, by) && wording(a, by) == wording(b, by),
    }
}

/// Whether two expressions have the same value: one may stand for the other. Two parameters may be anything.
pub(crate) fn same(a: &Expr, b: &Expr) -> bool {
    are_alike(a, b, By::Value)
}

/// What is known of expressions, by what tells them apart: each is put into words once.
pub(crate) struct ExprMap<T> {
    by: By,
    kinds: HashSet<Discriminant<ExprKind>>,
    known: HashMap<Wording, T>,
}

impl<T> ExprMap<T> {
    /// Nothing yet.
    pub(crate) fn new(by: By) -> ExprMap<T> {
        ExprMap { by, kinds: HashSet::new(), known: HashMap::new() }
    }

    /// Notes something of an expression; false if something is known of one that is alike, which stays.
    pub(crate) fn insert(&mut self, e: &Expr, known: T) -> bool {
        self.kinds.insert(kind(e, self.by));
        match self.known.entry(wording(e, self.by)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(known);
                true
            }
        }
    }

    /// What is known of one that is alike. Makes no text where there is none of its kind.
    pub(crate) fn get(&self, e: &Expr) -> Option<&T> {
        self.kinds.contains(&kind(e, self.by)).then(|| self.known.get(&wording(e, self.by))).flatten()
    }
}

/// Expressions among which others are looked for.
pub(crate) struct ExprSet(ExprMap<()>);

impl ExprSet {
    /// None yet.
    pub(crate) fn new(by: By) -> ExprSet {
        ExprSet(ExprMap::new(by))
    }

    /// These.
    pub(crate) fn of<'e>(by: By, all: impl IntoIterator<Item = &'e Expr>) -> ExprSet {
        let mut set = ExprSet::new(by);
        all.into_iter().for_each(|e| {
            set.insert(e);
        });
        set
    }

    /// Adds one; false if one that is alike is there.
    pub(crate) fn insert(&mut self, e: &Expr) -> bool {
        self.0.insert(e, ())
    }

    /// Whether there is one that is alike.
    pub(crate) fn contains(&self, e: &Expr) -> bool {
        self.0.get(e).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::func::Func;
    use types::{Collation, Value};

    #[test]
    fn what_tells_apart_depends_on_what_is_asked() {
        let int = |kind: ExprKind| Expr { kind, ty: ColumnType::bigint() };
        let plus = |e: Expr| int(ExprKind::Func(Func::Concat, vec![int(ExprKind::Slot(1)), e]));
        let literal = |n: i64| plus(int(ExprKind::Literal(Value::Int(n))));
        let text = |collation: Collation| Expr::literal(Value::from("a"), ColumnType::varchar(1, collation));
        let check = |a: &Expr, b: &Expr, expect: &[By]| {
            for by in [By::All, By::Value, By::Writing, By::Stored, By::Shape] {
                assert_eq!(are_alike(a, b, by), expect.contains(&by), "{a:?} and {b:?} by {by:?}");
                assert_eq!(ExprSet::of(by, [a]).contains(b), expect.contains(&by), "{a:?} and {b:?} by {by:?}");
            }
        };
        let any = [By::All, By::Value, By::Writing, By::Stored, By::Shape];
        check(&literal(1), &literal(1), &any);
        check(&literal(1), &literal(2), &[By::Shape]);
        check(&literal(1), &plus(int(ExprKind::Param(1))), &[By::Shape]);
        check(&plus(int(ExprKind::Param(1))), &plus(int(ExprKind::Param(2))), &[By::Writing, By::Shape]);
        check(&int(ExprKind::Slot(1)), &int(ExprKind::Slot(2)), &[]);
        // The type of the whole never counts.
        check(&Expr { ty: ColumnType::double(), ..literal(1) }, &literal(1), &any);
        check(&plus(Expr { ty: ColumnType::double(), ..literal(1) }), &plus(literal(1)), &any[1..]);
        check(&plus(text(Collation::DEFAULT)), &plus(text(Collation::Binary)), &[By::Shape]);
        let [default, bin] = [Collation::DEFAULT, Collation::from_name("utf8mb4_bin").expect("known")];
        check(&plus(text(default)), &plus(text(bin)), &any[1..]);
        let joined = |collation| plus(Expr { ty: ColumnType::varchar(2, collation), ..plus(text(collation)) });
        check(&joined(default), &joined(bin), &[By::Stored, By::Shape]);
        let open = |n, collation| plus(Expr { ty: ColumnType::varchar(2, collation), ..plus(int(ExprKind::Param(n))) });
        check(&open(1, default), &open(2, bin), &[By::Writing, By::Shape]);
    }
}
