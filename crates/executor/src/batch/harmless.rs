//! Expressions that may be evaluated early, or for rows that nobody asks for: they neither warn nor fail nor have effects, whatever the row.
//!
//! Judged by the expression alone. Arithmetic is not harmless (it may overflow): its kernels give up where it does.

use crate::document::is_predicate;
use planner::expr::{CastTo, Expr, ExprKind, Unit};
use planner::func::Func;
use planner::plan::{Access, LockMode, Node};

/// Whether an expression is harmless.
pub fn is_harmless(e: &Expr) -> bool {
    let itself = match &e.kind {
        kind if is_predicate(kind) => true,
        ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Slot(_) | ExprKind::Case { .. } | ExprKind::Collate(..) => true,
        // Numbers to numbers; a string may be cut with a warning.
        ExprKind::Cast(a, CastTo::Signed | CastTo::Unsigned) => matches!(a.kind, ExprKind::Slot(_)) && a.ty.kind.is_numeric(),
        ExprKind::Cast(a, CastTo::Date | CastTo::DateTime { .. }) => is_date(a),
        // A document may be no number, with a warning.
        ExprKind::Cast(a, CastTo::Double | CastTo::Float) => a.ty.kind != types::TypeKind::Json,
        // Bytes may be no text, and a length may cut it, with a warning.
        ExprKind::Cast(a, CastTo::Char { length: None, .. }) => !a.ty.kind.is_binary_string(),
        ExprKind::Extract(Unit::Day | Unit::Month | Unit::Year | Unit::Quarter, a) => is_date(a),
        ExprKind::Func(func, args) => function_is_harmless(*func, args),
        _ => false,
    };
    if !itself {
        return false;
    }
    let mut all = true;
    e.for_each_child(&mut |child| all = all && is_harmless(child));
    all
}

/// A slot's value is of its type; others may be a string that is no date.
fn is_date(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Slot(_)) && e.ty.kind.has_date()
}

fn function_is_harmless(func: Func, args: &[Expr]) -> bool {
    use Func as F;
    match func {
        F::If | F::IfNull | F::NullIf | F::Coalesce | F::Greatest | F::Least | F::IsNull | F::AnyValue | F::PadChar | F::BareZero => true,
        // A text may be no number, with a warning, as for a cast.
        F::WholeText => true,
        F::Substring | F::SubstringIndex | F::Left | F::Right | F::Length | F::CharLength | F::BitLength | F::Upper | F::Lower => true,
        F::Trim | F::LTrim | F::RTrim | F::Instr | F::Locate | F::StrCmp | F::Field | F::FindInSet | F::Ascii => true,
        F::Year | F::Quarter | F::Month | F::Day => args.first().is_some_and(is_date),
        _ => false,
    }
}

/// Whether all that a node evaluates row by row is harmless.
pub fn node_is_harmless(node: &Node) -> bool {
    let fine = |e: &Option<Expr>| e.as_ref().is_none_or(is_harmless);
    match node {
        Node::Unit | Node::Empty | Node::Virtual(_) | Node::RecursiveScan { .. } => true,
        Node::Table(table) => fine(&table.filter),
        Node::Nested { outer, inner, on, .. } => fine(on) && node_is_harmless(outer) && node_is_harmless(inner),
        Node::Filter { input, predicate } => is_harmless(predicate) && node_is_harmless(input),
        Node::Project { input, exprs, .. } => exprs.iter().all(|(_, e)| is_harmless(e)) && node_is_harmless(input),
        Node::Limit { input, .. } | Node::Distinct { input, .. } => node_is_harmless(input),
        // These read all of their input before they give out a row.
        Node::Sort { .. } | Node::Window(_) | Node::SetOperation { .. } | Node::Materialize { .. } | Node::Recursive { .. } => true,
        Node::Group(_) | Node::Hash(_) | Node::Values { .. } | Node::Union { .. } | Node::JsonTable(_) => false,
    }
}

/// Whether nobody would notice that a node is not run: it reads all of its tables without locks, and what it evaluates is harmless.
pub fn goes_unnoticed(node: &Node) -> bool {
    let fine = |e: &Option<Expr>| e.as_ref().is_none_or(is_harmless);
    match node {
        Node::Table(table) => {
            let reads_all = matches!(table.access, Access::Full { .. } | Access::Index { ranges: None, .. });
            reads_all && table.lock == LockMode::None && table.key_filter.is_none() && fine(&table.filter)
        }
        Node::Filter { input, predicate } => is_harmless(predicate) && goes_unnoticed(input),
        Node::Hash(join) => {
            let keys = join.probe_keys.iter().chain(&join.build_keys).all(is_harmless);
            keys && fine(&join.on) && goes_unnoticed(&join.probe) && goes_unnoticed(&join.build)
        }
        _ => false,
    }
}
