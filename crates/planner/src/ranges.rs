//! Range analysis: which parts of a condition bound the leading parts of an index.
//!
//! The result is symbolic ([`RangeSpec`] over expressions), so that one plan serves all parameter
//! values; the executor turns it into key bytes. The condition itself stays in the filter, so ranges
//! may cover more than the condition says, never less. [`Said`] is the one place that tells how much of
//! a condition they say: whoever wants to leave it out asks there, and for `KeyRanges::exact` beside.
//! [`Ranges::left`] tells which conditions nobody misses then.
//!
//! # Start at
//! [`Sargs::collect`], then [`Sargs::ranges_for`].

use crate::expr::{CmpOp, Expr, ExprKind, ListedRows, Slot};
use crate::plan::{Interval, Points, PrefixRange, RangeSpec};
use crate::typing::has_members;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use types::{Collation, ColumnType, TypeKind};

/// Alternatives past which a disjunction is no longer expanded.
const ALTERNATIVES_MAX: usize = 20_000;

/// Values that a list leaves out past which it bounds nothing, as in MySQL: each would be a range more.
const EXCEPT_MAX: usize = 1000;

/// A condition that can bound an index part.
#[derive(Clone, Debug)]
enum Sarg {
    /// The column has one of these values.
    Points(u32, Points),
    /// Bounds on the column.
    Interval(u32, Interval),
    /// `(columns) IN (rows)`.
    Rows(Vec<u32>, Vec<Vec<Expr>>),
    /// One of these conjunctions holds.
    Any(Vec<Vec<Sarg>>),
}

/// The usable conditions on one table.
#[derive(Clone, Debug, Default)]
pub struct Sargs {
    list: Vec<Sarg>,
    conjuncts: Vec<Conjunct>,
    /// Ranges that were asked for, by the parts: each way to read the table asks.
    made: RefCell<Vec<(Parts, Option<Rc<Ranges>>)>>,
}

/// Parts of an index: (column, prefix only).
type Parts = SmallVec<[(u32, bool); 4]>;

/// What is usable of a conjunct.
#[derive(Clone, Debug)]
struct Conjunct {
    /// Where in the list.
    sargs: Range<usize>,
    /// It says nothing else.
    whole: bool,
    /// Testing it tells nothing of the values in it: see [`is_silent`].
    silent: bool,
}

/// How much of a condition ranges say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing: another condition bounds the part, or none can.
    Nothing,
    /// They hold all rows that satisfy it, and others.
    Part,
    /// They hold no row that does not satisfy it, where they come out exact.
    All,
}

impl Said {
    /// How much of two conditions.
    fn and(self, other: Said) -> Said {
        if self == other { self } else { Said::Part }
    }
}

/// Tells the analysis about the table's columns and which outer slots have values already.
pub trait Scope {
    /// The column behind a slot of the analysed table.
    fn column_of(&self, slot: Slot) -> Option<(u32, &ColumnType)>;
    /// Whether an expression can be evaluated before the table is read.
    fn is_available(&self, expr: &Expr) -> bool;
}

/// What a set of ranges pins down, for costing.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// The ranges.
    pub spec: RangeSpec,
    /// Leading parts with points in every alternative.
    pub point_parts: usize,
    /// Some alternative has an interval after its points.
    pub has_interval: bool,
    /// Every point part has exactly one value in exactly one alternative.
    pub single: bool,
    /// No value is another table's: all are there before a row is read.
    pub constant: bool,
    /// How much they say of each conjunct.
    pub said: Vec<Said>,
    /// Whether each conjunct need not be tested where they come out exact.
    pub left: SmallVec<[bool; 16]>,
}

impl Sarg {
    /// Whether it says something of a column.
    fn mentions(&self, column: u32) -> bool {
        match self {
            Sarg::Points(of, _) | Sarg::Interval(of, _) => *of == column,
            Sarg::Rows(columns, _) => columns.contains(&column),
            Sarg::Any(branches) => branches.iter().flatten().any(|sarg| sarg.mentions(column)),
        }
    }
}

impl Sargs {
    /// Takes what is usable out of a conjunction.
    pub fn collect(conjuncts: &[Expr], scope: &dyn Scope) -> Sargs {
        let mut sargs = Sargs { conjuncts: Vec::with_capacity(conjuncts.len()), ..Sargs::default() };
        for conjunct in conjuncts {
            let first = sargs.list.len();
            let whole = analyse(conjunct, scope, &mut sargs.list);
            let silent = whole && is_silent(conjunct, scope);
            sargs.conjuncts.push(Conjunct { sargs: first..sargs.list.len(), whole, silent });
        }
        sargs
    }

    /// Whether an index that begins with this part has ranges.
    pub fn bounds(&self, part: (u32, bool)) -> bool {
        let (column, prefix) = part;
        let mut needs_look = false;
        for sarg in self.list.iter().filter(|sarg| sarg.mentions(column)) {
            match sarg {
                Sarg::Points(..) => return true,
                Sarg::Interval(..) if !prefix => return true,
                _ => needs_look = true,
            }
        }
        needs_look && self.ranges_for(&[part]).is_some()
    }

    /// Ranges on an index with these parts (column, prefix only), or `None` when its first part is free.
    pub fn ranges_for(&self, parts: &[(u32, bool)]) -> Option<Rc<Ranges>> {
        let (column, _) = *parts.first()?;
        if !self.list.iter().any(|sarg| sarg.mentions(column)) {
            return None;
        }
        if let Some((_, known)) = self.made.borrow().iter().find(|(of, _)| of.as_slice() == parts) {
            return known.clone();
        }
        let ranges = self.make_ranges(parts).map(Rc::new);
        self.made.borrow_mut().push((Parts::from_slice(parts), ranges.clone()));
        ranges
    }

    fn make_ranges(&self, parts: &[(u32, bool)]) -> Option<Ranges> {
        let Expanded { alternatives, said } = expand(&self.list.iter().collect::<Vec<_>>(), parts)?;
        if alternatives.is_empty() {
            return None;
        }
        let of_conjunct = |conjunct: &Conjunct| match said_of_all(&said[conjunct.sargs.clone()]) {
            Said::All if !conjunct.whole => Said::Part,
            said => said,
        };
        let said: Vec<Said> = self.conjuncts.iter().map(of_conjunct).collect();
        let left = said.iter().zip(&self.conjuncts).map(|(said, conjunct)| *said == Said::All && conjunct.silent).collect();
        let point_parts = alternatives.iter().map(|a| a.points.len()).min().unwrap_or(0);
        let has_interval = alternatives.iter().any(|a| a.interval.is_some());
        let single = alternatives.len() == 1 && alternatives[0].points.iter().all(|p| p.len() == 1);
        let mut constant = true;
        for a in &alternatives {
            constant &= a.points.iter().all(|points| points.are_values() || points.iter().all(Expr::is_settled));
            if let Some(i) = &a.interval {
                let pattern = i.like.iter().map(|(pattern, _)| pattern);
                constant &= i.low.iter().chain(&i.high).map(|(e, _)| e).chain(pattern).all(Expr::is_settled);
            }
        }
        Some(Ranges { spec: RangeSpec { any: alternatives }, point_parts, has_interval, single, constant, said, left })
    }
}

/// Alternatives, and how much they say together of each condition that they were made of.
struct Expanded {
    alternatives: Vec<PrefixRange>,
    said: Vec<Said>,
}

fn said_of_all(said: &[Said]) -> Said {
    said.iter().copied().reduce(Said::and).unwrap_or(Said::Nothing)
}

fn expand(list: &[&Sarg], parts: &[(u32, bool)]) -> Option<Expanded> {
    let mut alternatives = vec![PrefixRange::default()];
    let mut said = vec![Said::Nothing; list.len()];
    let mut position = 0;
    while position < parts.len() {
        let (column, prefix) = parts[position];
        // An equality with one value is worth most, then the shortest list.
        let points = list.iter().enumerate().filter_map(|(at, s)| match s {
            Sarg::Points(c, points) if *c == column => Some((at, points)),
            _ => None,
        });
        if let Some((at, points)) = points.min_by_key(|(_, points)| points.len()) {
            for a in &mut alternatives {
                a.points.push(points.clone());
            }
            said[at] = if prefix { Said::Part } else { Said::All };
            position += 1;
            if prefix {
                break;
            }
            continue;
        }
        // A row list whose columns are just the next parts.
        let rows = list.iter().enumerate().find_map(|(at, s)| match s {
            Sarg::Rows(columns, rows) => {
                let mut order = Vec::with_capacity(columns.len());
                for (part, part_prefix) in &parts[position..] {
                    match columns.iter().position(|c| c == part) {
                        Some(at) if !part_prefix => order.push(at),
                        _ => break,
                    }
                }
                let whole = (0..columns.len()).all(|column| order.contains(&column));
                let said = if whole { Said::All } else { Said::Part };
                (!order.is_empty() && alternatives.len() * rows.len() <= ALTERNATIVES_MAX).then_some((at, said, order, rows))
            }
            _ => None,
        });
        if let Some((at, said_of_rows, order, rows)) = rows {
            said[at] = said_of_rows;
            let mut next = Vec::with_capacity(alternatives.len() * rows.len());
            for a in &alternatives {
                for row in rows {
                    let mut b = a.clone();
                    for at in &order {
                        b.points.push(Points::one(row[*at].clone(), false));
                    }
                    next.push(b);
                }
            }
            alternatives = next;
            position += order.len();
            continue;
        }
        // A disjunction every branch of which bounds this part.
        if position == 0 {
            let expanded = list.iter().enumerate().find_map(|(at, s)| match s {
                Sarg::Any(branches) => expand_any(list, at, branches, parts),
                _ => None,
            });
            let merged = merged_interval(list, column);
            if let Some(expanded) = expanded
                && merged.as_ref().is_none_or(|m| m.low.is_empty() || m.high.is_empty())
            {
                return Some(expanded);
            }
        }
        // Of a beginning nobody knows whether it is that of a value that is left out.
        if let Some(interval) = merged_interval(list, column).filter(|all| !prefix || all.except.is_empty() || !all.is_nearly_all()) {
            for a in &mut alternatives {
                a.interval = Some(interval.clone());
            }
            for (said, sarg) in said.iter_mut().zip(list) {
                if let Sarg::Interval(c, of) = sarg
                    && *c == column
                {
                    *said = if prefix || of.like.is_some() { Said::Part } else { Said::All };
                }
            }
        }
        break;
    }
    let bounded = alternatives.iter().all(|a| !a.points.is_empty() || a.interval.is_some());
    bounded.then_some(Expanded { alternatives, said })
}

fn expand_any(list: &[&Sarg], at: usize, branches: &[Vec<Sarg>], parts: &[(u32, bool)]) -> Option<Expanded> {
    let mut alternatives = Vec::new();
    let mut said: Option<Vec<Said>> = None;
    for branch in branches {
        let mut combined: Vec<&Sarg> = list.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, s)| *s).collect();
        combined.extend(branch.iter());
        let mut expanded = expand(&combined, parts)?;
        alternatives.append(&mut expanded.alternatives);
        if alternatives.len() > ALTERNATIVES_MAX {
            return None;
        }
        // The branch's own stand behind the others: together they are the disjunction.
        let own = expanded.said.split_off(list.len() - 1);
        expanded.said.insert(at, said_of_all(&own));
        said = Some(match said {
            None => expanded.said,
            Some(before) => before.into_iter().zip(expanded.said).map(|(a, b)| a.and(b)).collect(),
        });
    }
    Some(Expanded { alternatives, said: said? })
}

fn merged_interval(list: &[&Sarg], column: u32) -> Option<Interval> {
    let mut merged: Option<Interval> = None;
    for sarg in list {
        if let Sarg::Interval(c, interval) = sarg
            && *c == column
        {
            let m = merged.get_or_insert_with(Interval::default);
            m.low.extend(interval.low.iter().cloned());
            m.high.extend(interval.high.iter().cloned());
            m.like = m.like.take().or_else(|| interval.like.clone());
            m.not_null |= interval.not_null;
            m.except.extend(interval.except.iter().cloned());
        }
    }
    merged
}

/// Takes what is usable of a condition; whether that is all it says.
fn analyse(expr: &Expr, scope: &dyn Scope, out: &mut Vec<Sarg>) -> bool {
    match &expr.kind {
        ExprKind::And(list) => {
            // Each is looked at, whatever the others say.
            let mut whole = true;
            for e in list {
                whole &= analyse(e, scope, out);
            }
            whole
        }
        ExprKind::Or(list) => {
            let mut branches = Vec::with_capacity(list.len());
            let mut whole = true;
            // What nests (`a OR (b OR …`) is one disjunction: joined level by level, all points below would be copied at each.
            let mut left: Vec<&Expr> = list.iter().rev().collect();
            while let Some(branch) = left.pop() {
                if let ExprKind::Or(nested) = &branch.kind {
                    left.extend(nested.iter().rev());
                    continue;
                }
                let mut sargs = Vec::new();
                whole &= analyse(branch, scope, &mut sargs);
                if sargs.is_empty() {
                    return false;
                }
                branches.push(sargs);
            }
            // `a = 1 OR a = 2` is `a IN (1, 2)`.
            let same_column = branches.iter().map(|b| match b.as_slice() {
                [Sarg::Points(c, points)] => Some((*c, points)),
                _ => None,
            });
            if let Some(all) = same_column.collect::<Option<Vec<_>>>()
                && all.windows(2).all(|w| w[0].0 == w[1].0)
            {
                out.push(Sarg::Points(all[0].0, Points::joined(all.iter().map(|(_, points)| *points))));
            } else {
                out.push(Sarg::Any(branches));
            }
            whole
        }
        ExprKind::Compare(op, collation, left, right) => compare_sides(*op, *collation, left, right, scope, out),
        ExprKind::CompareRows(CmpOp::Eq, rows) => {
            let pairs = rows.left.iter().zip(&rows.right).zip(&rows.collations);
            pairs.fold(true, |whole, ((l, r), c)| compare_sides(CmpOp::Eq, *c, l, r, scope, out) && whole)
        }
        // Pages by a key: `(at, id) < (?, ?)` says of the first column that it is not greater.
        ExprKind::CompareRows(op @ (CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge), rows) => {
            let of_first = if matches!(op, CmpOp::Lt | CmpOp::Le) { CmpOp::Le } else { CmpOp::Ge };
            if let ([left, ..], [right, ..], [collation, ..]) = (&rows.left[..], &rows.right[..], &rows.collations[..]) {
                compare_sides(of_first, *collation, left, right, scope, out);
            }
            false
        }
        ExprKind::IsNull { operand, negated } => {
            let Some((column, _)) = column_of(operand, scope) else { return false };
            if *negated {
                out.push(Sarg::Interval(column, Interval { not_null: true, ..Interval::default() }));
            } else {
                let value = Expr::literal(types::Value::Null, operand.ty.clone());
                out.push(Sarg::Points(column, Points::one(value, true)));
            }
            true
        }
        // Also `5 BETWEEN low_column AND high_column`.
        ExprKind::Between { operand, low, high, negated: false, collation } => {
            let above = compare_sides(CmpOp::Ge, *collation, operand, low, scope, out);
            let below = compare_sides(CmpOp::Le, *collation, operand, high, scope, out);
            above && below
        }
        ExprKind::Between { operand, low, high, negated: true, collation } => {
            let [mut below, mut above] = [Vec::new(), Vec::new()];
            if !low.is_settled() || !high.is_settled() {
                return false;
            }
            below.extend(sarg_of(CmpOp::Lt, *collation, operand, low, scope));
            above.extend(sarg_of(CmpOp::Gt, *collation, operand, high, scope));
            let usable = !below.is_empty() && !above.is_empty();
            if usable {
                out.push(Sarg::Any(vec![below, above]));
            }
            usable
        }
        ExprKind::InList { operand, list, negated: false, collation } => {
            let Some((column, ty)) = column_of(operand, scope) else { return false };
            let is_usable = |e: &Expr| (list.are_values() || scope.is_available(e)) && comparable_by_key(ty, e, *collation);
            let usable = list.iter().all(is_usable);
            if usable {
                out.push(Sarg::Points(column, list.clone().into()));
            }
            usable
        }
        ExprKind::InList { operand, list, negated: true, collation } => {
            let Some((column, ty)) = column_of(operand, scope) else { return false };
            let is_usable = |e: &Expr| scope.is_available(e) && comparable_by_key(ty, e, *collation) && may_be_left_out(ty, e);
            let usable = list.len() <= EXCEPT_MAX && list.iter().all(is_usable);
            if usable {
                out.push(Sarg::Interval(column, Interval { except: list.to_vec(), not_null: true, ..Interval::default() }));
            }
            usable
        }
        ExprKind::InRows(rows) if !rows.negated => {
            let ListedRows { operand, list, collations, .. } = &**rows;
            let mut columns = Vec::new();
            let mut positions = Vec::new();
            for (i, e) in operand.iter().enumerate() {
                if let Some((column, ty)) = column_of(e, scope)
                    && list.iter().all(|row| scope.is_available(&row[i]) && comparable_by_key(ty, &row[i], collations[i]))
                {
                    columns.push(column);
                    positions.push(i);
                }
            }
            if !columns.is_empty() {
                let rows = list.iter().map(|row| positions.iter().map(|i| row[*i].clone()).collect()).collect();
                out.push(Sarg::Rows(columns, rows));
            }
            positions.len() == operand.len()
        }
        ExprKind::Like { operand, pattern, escape, negated: false, collation } => {
            if let Some((column, ty)) = column_of(operand, scope)
                && is_string(ty)
                && ty.collation == *collation
                && scope.is_available(pattern)
            {
                let like = Some(((**pattern).clone(), *escape));
                out.push(Sarg::Interval(column, Interval { like, not_null: true, ..Interval::default() }));
            }
            false
        }
        _ => false,
    }
}

/// A comparison one side of which is a column; whether one is.
fn compare_sides(op: CmpOp, collation: Collation, left: &Expr, right: &Expr, scope: &dyn Scope, out: &mut Vec<Sarg>) -> bool {
    let sargs = [sarg_of(op, collation, left, right, scope), sarg_of(op.flipped(), collation, right, left, scope)];
    let before = out.len();
    out.extend(sargs.into_iter().flatten());
    out.len() > before
}

fn sarg_of(op: CmpOp, collation: Collation, column: &Expr, value: &Expr, scope: &dyn Scope) -> Option<Sarg> {
    let (column, ty) = column_of(column, scope)?;
    if !scope.is_available(value) || !comparable_by_key(ty, value, collation) {
        return None;
    }
    if has_members(ty) && !matches!(op, CmpOp::Eq | CmpOp::NullSafeEq) {
        // Members compare as texts, and are in the order of their numbers or bits.
        return None;
    }
    let value = value.clone();
    Some(match op {
        CmpOp::Eq => Sarg::Points(column, Points::one(value, false)),
        CmpOp::NullSafeEq => Sarg::Points(column, Points::one(value, true)),
        CmpOp::Lt | CmpOp::Le => {
            let high = vec![(value, op == CmpOp::Le)];
            Sarg::Interval(column, Interval { high, not_null: true, ..Interval::default() })
        }
        CmpOp::Gt | CmpOp::Ge => {
            let low = vec![(value, op == CmpOp::Ge)];
            Sarg::Interval(column, Interval { low, not_null: true, ..Interval::default() })
        }
        CmpOp::Ne if may_be_left_out(ty, &value) => {
            Sarg::Interval(column, Interval { except: vec![value], not_null: true, ..Interval::default() })
        }
        CmpOp::Ne => return None,
    })
}

/// Whether ranges around a value are worth a thought: another table's rows each leave out one of very many, and members are left to a look at the rows, as in
/// MySQL.
fn may_be_left_out(column: &ColumnType, value: &Expr) -> bool {
    value.is_settled() && !has_members(column)
}

/// Whether a condition of which ranges may say all compares columns with nothing but values that stand ready: what is wrong with such a value is told without it.
fn is_silent(expr: &Expr, scope: &dyn Scope) -> bool {
    let all = |list: &[Expr]| list.iter().all(|e| is_silent(e, scope));
    let is_beside = |column: &Expr, value: &Expr| column_of(column, scope).is_some_and(|(_, ty)| stands_ready(ty, value, scope));
    let either = |a: &Expr, b: &Expr| is_beside(a, b) || is_beside(b, a);
    // A day that is zero counts as NULL in a column that has no other NULL, and its key is that of the day.
    let may_be_null = |e: &Expr| column_of(e, scope).is_some_and(|(_, ty)| ty.nullable);
    match &expr.kind {
        ExprKind::And(list) | ExprKind::Or(list) => all(list),
        ExprKind::Compare(CmpOp::NullSafeEq, _, a, b) => (may_be_null(a) || may_be_null(b)) && either(a, b),
        ExprKind::Compare(_, _, a, b) => either(a, b),
        ExprKind::CompareRows(CmpOp::Eq, rows) => rows.left.iter().zip(&rows.right).all(|(a, b)| either(a, b)),
        ExprKind::IsNull { operand, .. } => may_be_null(operand),
        ExprKind::Between { operand, low, high, .. } => either(operand, low) && either(operand, high),
        ExprKind::InList { operand, list, .. } => {
            column_of(operand, scope).is_some_and(|(_, ty)| list.are_values() || list.iter().all(|value| stands_ready(ty, value, scope)))
        }
        ExprKind::InRows(rows) => rows.operand.iter().enumerate().all(|(at, column)| {
            column_of(column, scope).is_some_and(|(_, ty)| rows.list.iter().all(|row| stands_ready(ty, &row[at], scope)))
        }),
        _ => false,
    }
}

/// Whether a value that a column of this type is compared with is there without being computed. Of texts that are compared with texts, and of whole numbers with such,
/// nothing is ever told: they may be another table's.
fn stands_ready(column: &ColumnType, value: &Expr, scope: &dyn Scope) -> bool {
    match value.kind {
        ExprKind::Literal(_) | ExprKind::Param(_) => true,
        ExprKind::Slot(slot) => {
            let are = |is: fn(&ColumnType) -> bool| is(column) && is(&value.ty);
            scope.column_of(slot).is_none() && (are(is_string) || are(|ty| ty.kind.is_integer()))
        }
        _ => false,
    }
}

fn column_of<'a>(expr: &Expr, scope: &'a dyn Scope) -> Option<(u32, &'a ColumnType)> {
    match &expr.kind {
        ExprKind::Slot(slot) => scope.column_of(*slot),
        _ => None,
    }
}

/// Whether comparing the column with this value orders like the column's key bytes; of an ENUM or a SET, whether what equals the value has one key.
pub(crate) fn comparable_by_key(column: &ColumnType, value: &Expr, collation: Collation) -> bool {
    if matches!(value.kind, ExprKind::Literal(types::Value::Null)) {
        return true;
    }
    if value.ty.kind == TypeKind::Json {
        // Compared as documents.
        return false;
    }
    if is_string(column) || has_members(column) {
        // A string column compared with a number is compared as DOUBLE: no key order. The type of a
        // prepared statement's parameter is known only at execution, where a number leaves the range unbounded.
        let is_unknown = matches!(value.kind, ExprKind::Param(_)) && value.ty.kind == TypeKind::Null;
        let value_is_string = is_string(&value.ty) || is_unknown;
        return value_is_string && column.collation == collation;
    }
    if column.kind == TypeKind::Bit {
        return crate::typing::is_number(&value.ty);
    }
    column.kind != TypeKind::Json
}

/// Whether values of the type are character or binary strings.
pub fn is_string(ty: &ColumnType) -> bool {
    ty.kind.is_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::bool_type;
    use crate::expr::Listed;

    /// A table of one column, which slot 0 holds.
    struct OneColumn(ColumnType);

    impl Scope for OneColumn {
        fn column_of(&self, slot: Slot) -> Option<(u32, &ColumnType)> {
            (slot == 0).then_some((0, &self.0))
        }

        fn is_available(&self, expr: &Expr) -> bool {
            expr.is_value()
        }
    }

    #[test]
    fn a_list_is_kept_once_for_condition_and_ranges() {
        let ty = ColumnType::int().not_null();
        let list: Listed = (0..1000).map(|n| Expr { kind: ExprKind::Param(n), ty: ColumnType::bigint() }).collect();
        let operand = Box::new(Expr::slot(0, ty.clone()));
        let kind = ExprKind::InList { operand, list: list.clone(), negated: false, collation: Collation::Binary };
        let condition = Expr { kind, ty: bool_type(false) };
        let sargs = Sargs::collect(std::slice::from_ref(&condition), &OneColumn(ty));
        let ranges = sargs.ranges_for(&[(0, false)]).expect("the list bounds the column");
        let points = &ranges.spec.any[0].points[0];
        assert!(std::ptr::eq(&points[..], &list[..]), "no copy of the list");
        assert!(ranges.constant && points.are_values());
    }

    #[test]
    fn disjunctions_within_one_another_are_one() {
        let ty = ColumnType::int().not_null();
        let equals = |n| {
            let parameter = Expr { kind: ExprKind::Param(n), ty: ColumnType::bigint() };
            crate::conditions::compare_expr(CmpOp::Eq, Collation::Binary, Expr::slot(0, ty.clone()), parameter)
        };
        let or = |list| crate::conditions::logic(ExprKind::Or, list);
        let flat = or((0..7).map(equals).collect());
        let to_the_right = (0..6).rev().fold(equals(6), |right, n| or(vec![equals(n), right]));
        let to_the_left = (1..7).fold(equals(0), |left, n| or(vec![left, equals(n)]));
        let in_the_middle =
            or(vec![equals(0), or(vec![equals(1), or(vec![equals(2), equals(3)]), equals(4)]), or(vec![equals(5), equals(6)])]);
        let ranges = |condition: &Expr| {
            let sargs = Sargs::collect(std::slice::from_ref(condition), &OneColumn(ty.clone()));
            let ranges = sargs.ranges_for(&[(0, false)]).expect("each branch bounds the column");
            assert_eq!(ranges.spec.any[0].points[0].len(), 7);
            format!("{:?}", ranges.spec)
        };
        for nested in [to_the_right, to_the_left, in_the_middle] {
            assert_eq!(ranges(&nested), ranges(&flat));
        }
    }
}
