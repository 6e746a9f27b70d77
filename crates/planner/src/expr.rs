//! Bound expressions: names resolved to frame slots, types known, collations chosen.
//!
//! A statement runs over one *frame*: a flat vector of values. Every used column of every table of
//! every query block, every aggregate and every projected value has a slot of its own, so a column of
//! an outer query is read like any other, and a correlated subquery needs no special addressing.

use crate::func::Func;
use std::ops::Deref;
use std::sync::Arc;
use types::{Collation, ColumnType, Value};

/// Index into the frame.
pub type Slot = u32;

/// A bound expression with its result type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Type of the result, as it is shown to clients.
    pub ty: ColumnType,
}

/// Arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`
    Mod,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl CmpOp {
    /// The operator with its sides exchanged.
    pub fn flipped(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            same => same,
        }
    }

    /// The opposite under two-valued logic; `None` for `<=>`.
    pub fn negated(self) -> Option<CmpOp> {
        Some(match self {
            CmpOp::Eq => CmpOp::Ne,
            CmpOp::Ne => CmpOp::Eq,
            CmpOp::Lt => CmpOp::Ge,
            CmpOp::Le => CmpOp::Gt,
            CmpOp::Gt => CmpOp::Le,
            CmpOp::Ge => CmpOp::Lt,
            CmpOp::NullSafeEq => return None,
        })
    }

    /// Its SQL spelling.
    pub fn symbol(self) -> &'static str {
        match self {
            CmpOp::Eq => "=",
            CmpOp::NullSafeEq => "<=>",
            CmpOp::Ne => "<>",
            CmpOp::Lt => "<",
            CmpOp::Le => "<=",
            CmpOp::Gt => ">",
            CmpOp::Ge => ">=",
        }
    }
}

impl ArithOp {
    /// Whether it works on bits: those of numbers, or those of binary strings.
    pub fn is_bitwise(self) -> bool {
        matches!(self, ArithOp::BitAnd | ArithOp::BitOr | ArithOp::BitXor | ArithOp::ShiftLeft | ArithOp::ShiftRight)
    }

    /// Its SQL spelling.
    pub fn symbol(self) -> &'static str {
        match self {
            ArithOp::Add => "+",
            ArithOp::Sub => "-",
            ArithOp::Mul => "*",
            ArithOp::Div => "/",
            ArithOp::IntDiv => "DIV",
            ArithOp::Mod => "%",
            ArithOp::BitAnd => "&",
            ArithOp::BitOr => "|",
            ArithOp::BitXor => "^",
            ArithOp::ShiftLeft => "<<",
            ArithOp::ShiftRight => ">>",
        }
    }
}

/// Units of INTERVAL, EXTRACT and TIMESTAMPDIFF.
pub use parser::ast::IntervalUnit as Unit;

/// What a subquery is asked for.
#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// The single value of its single row; NULL without a row; 1242 with more than one.
    Scalar {
        /// How strongly a string holds to its collation: as much as in the subquery.
        coercibility: u8,
    },
    /// Whether it has a row.
    Exists {
        /// `NOT EXISTS`.
        negated: bool,
    },
    /// `needle [NOT] IN (subquery)` with SQL's three values.
    In {
        /// Left side: one expression, or one per column of a row.
        needle: Vec<Expr>,
        /// `NOT IN`.
        negated: bool,
        /// Collation of each comparison.
        collations: Vec<Collation>,
    },
    /// `needle op ANY|ALL (subquery)`.
    Quantified {
        /// Left side.
        needle: Box<Expr>,
        /// Comparison.
        op: CmpOp,
        /// `ALL` (else `ANY`).
        all: bool,
        /// Collation of the comparison.
        collation: Collation,
    },
    /// A row compared with the subquery's single row.
    Row {
        /// Left side.
        needle: Vec<Expr>,
        /// Comparison.
        op: CmpOp,
        /// Collation of each comparison.
        collations: Vec<Collation>,
    },
}

/// Targets of CAST and CONVERT.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum CastTo {
    Signed,
    Unsigned,
    Double,
    Float,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Date,
    Time {
        fraction: u8,
    },
    DateTime {
        fraction: u8,
    },
    /// A date or a moment as a moment to compare by: of zeros it is one, too, whatever the mode.
    Moment,
    Year,
    /// CHAR with an optional length in characters.
    Char {
        length: Option<u32>,
        collation: Collation,
    },
    /// JSON: text is parsed, all else becomes a scalar.
    Json,
    /// BINARY with an optional length in bytes.
    Binary {
        length: Option<u32>,
    },
}

/// Scope of `@@variable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableScope {
    /// `@@x`: the session's value if it has one, else the global one.
    Default,
    /// `@@session.x`
    Session,
    /// `@@global.x`
    Global,
}

/// An operator of [`ExprKind::Run`]: what the operators before it give is its left operand.
#[derive(Clone, Debug)]
pub struct Link {
    /// The operator.
    pub op: ArithOp,
    /// Its right operand.
    pub operand: Expr,
    /// The type of its result.
    pub ty: ColumnType,
}

/// The candidates of a list, in one place for all who have them, copies of the condition and points of ranges: they may be many.
#[derive(Clone, Debug)]
pub struct Listed {
    all: Arc<[Expr]>,
    are_values: bool,
}

impl Listed {
    /// Whether all are literals and parameters: who looks for anything that is computed need not look at them.
    #[inline]
    pub fn are_values(&self) -> bool {
        self.are_values
    }

    /// The candidates, to change them.
    fn changing(&mut self) -> &mut [Expr] {
        self.are_values = false;
        Arc::make_mut(&mut self.all)
    }
}

impl Deref for Listed {
    type Target = [Expr];

    fn deref(&self) -> &[Expr] {
        &self.all
    }
}

impl From<Vec<Expr>> for Listed {
    fn from(list: Vec<Expr>) -> Listed {
        let are_values = list.iter().all(Expr::is_value);
        Listed { all: list.into(), are_values }
    }
}

impl From<Expr> for Listed {
    fn from(only: Expr) -> Listed {
        let are_values = only.is_value();
        Listed { all: Arc::new([only]), are_values }
    }
}

impl FromIterator<Expr> for Listed {
    fn from_iter<I: IntoIterator<Item = Expr>>(list: I) -> Listed {
        list.into_iter().collect::<Vec<_>>().into()
    }
}

impl<'l> IntoIterator for &'l Listed {
    type Item = &'l Expr;
    type IntoIter = std::slice::Iter<'l, Expr>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

/// Two rows that are compared: [`ExprKind::CompareRows`].
#[derive(Clone, Debug)]
pub struct ComparedRows {
    /// Collation of each comparison.
    pub collations: Vec<Collation>,
    /// Left side.
    pub left: Vec<Expr>,
    /// Right side.
    pub right: Vec<Expr>,
}

/// A row and those among which it is looked for: [`ExprKind::InRows`].
#[derive(Clone, Debug)]
pub struct ListedRows {
    /// Operand.
    pub operand: Vec<Expr>,
    /// Candidates.
    pub list: Vec<Vec<Expr>>,
    /// `NOT IN`.
    pub negated: bool,
    /// One per column.
    pub collations: Vec<Collation>,
}

// Lists and plans hold very many: what is rare and large is behind a pointer.
const _: () = assert!(size_of::<Expr>() <= 80);

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Literal(Value),
    /// `?`, or a literal that was lifted out of the text.
    Param(u32),
    /// A value of the frame.
    Slot(Slot),
    /// `a op b`.
    Arith(ArithOp, Box<Expr>, Box<Expr>),
    /// `a op b op c …`, longer than [`parser::RUN_HEIGHT_MAX`]: in one list, so that whoever walks over an expression needs no stack for the length of a chain.
    Run(Box<Expr>, Vec<Link>),
    /// `-a`.
    Neg(Box<Expr>),
    /// `~a`.
    BitNot(Box<Expr>),
    /// `a op b` under a collation (used when both sides are strings).
    Compare(CmpOp, Collation, Box<Expr>, Box<Expr>),
    /// `(a, b) op (c, d)`.
    CompareRows(CmpOp, Box<ComparedRows>),
    /// `a AND b AND …`.
    And(Vec<Expr>),
    /// `a OR b OR …`.
    Or(Vec<Expr>),
    /// `a XOR b`.
    Xor(Box<Expr>, Box<Expr>),
    /// `NOT a`.
    Not(Box<Expr>),
    /// `a IS [NOT] NULL`.
    IsNull {
        /// Operand.
        operand: Box<Expr>,
        /// `IS NOT NULL`.
        negated: bool,
    },
    /// `a IS [NOT] TRUE|FALSE`.
    IsTruth {
        /// Operand.
        operand: Box<Expr>,
        /// TRUE or FALSE.
        truth: bool,
        /// `IS NOT`.
        negated: bool,
    },
    /// `a [NOT] BETWEEN low AND high`.
    Between {
        /// Operand.
        operand: Box<Expr>,
        /// Low end, included.
        low: Box<Expr>,
        /// High end, included.
        high: Box<Expr>,
        /// `NOT BETWEEN`.
        negated: bool,
        /// For strings.
        collation: Collation,
    },
    /// `a [NOT] IN (list)`.
    InList {
        /// Operand.
        operand: Box<Expr>,
        /// Candidates.
        list: Listed,
        /// `NOT IN`.
        negated: bool,
        /// For strings.
        collation: Collation,
    },
    /// `(a, b) [NOT] IN ((c, d), …)`.
    InRows(Box<ListedRows>),
    /// `a [NOT] LIKE pattern [ESCAPE c]`.
    Like {
        /// Operand.
        operand: Box<Expr>,
        /// Pattern.
        pattern: Box<Expr>,
        /// Escape character; `None` when none is in force.
        escape: Option<char>,
        /// `NOT LIKE`.
        negated: bool,
        /// Collation.
        collation: Collation,
    },
    /// `CASE`; with an operand each `when` is compared with it.
    Case {
        /// `CASE operand`.
        operand: Option<Box<Expr>>,
        /// WHEN … THEN ….
        branches: Box<[(Expr, Expr)]>,
        /// ELSE.
        otherwise: Option<Box<Expr>>,
        /// For strings.
        collation: Collation,
    },
    /// A scalar function.
    Func(Func, Vec<Expr>),
    /// `CAST(a AS type)`.
    Cast(Box<Expr>, CastTo),
    /// `DATE_ADD`/`DATE_SUB`/`date ± INTERVAL`.
    DateAdd {
        /// Date, time, datetime or string.
        date: Box<Expr>,
        /// Amount.
        amount: Box<Expr>,
        /// Unit.
        unit: Unit,
        /// Subtract.
        negated: bool,
    },
    /// `EXTRACT(unit FROM a)`.
    Extract(Unit, Box<Expr>),
    /// `TIMESTAMPDIFF(unit, a, b)`.
    TimestampDiff(Unit, Box<Expr>, Box<Expr>),
    /// `a COLLATE c`: changes only the type.
    Collate(Box<Expr>, Collation),
    /// A subquery, by its number in [`crate::plan::Plan::subplans`].
    Subquery(u32, Box<SubqueryKind>),
    /// `@name`.
    UserVariable(Box<str>),
    /// `@name := value`.
    AssignVariable(Box<str>, Box<Expr>),
    /// `@@name`.
    SystemVariable(VariableScope, Box<str>),
    /// `DEFAULT(column)` where the default is not a constant, and errors for columns without one.
    NoDefault(Box<str>),
}

macro_rules! operand_of {
    (iter, $link:ident) => {
        &$link.operand
    };
    (iter_mut, $link:ident) => {
        &mut $link.operand
    };
}

macro_rules! items_of {
    (iter, $list:ident) => {
        $list.iter()
    };
    (iter_mut, $list:ident) => {
        $list.changing().iter_mut()
    };
}

/// The direct operands of an expression, by shared or by exclusive reference: `$iter` and `$deref` are `iter` and `as_ref`, or `iter_mut` and `as_mut`.
macro_rules! for_each_operand {
    ($kind:expr, $f:ident, $iter:ident, $deref:ident) => {{
        use ExprKind::*;
        match $kind {
            Literal(_) | Param(_) | Slot(_) | UserVariable(_) | SystemVariable(..) | NoDefault(_) => {}
            Arith(_, a, b) | Compare(_, _, a, b) | Xor(a, b) | TimestampDiff(_, a, b) => {
                $f(a);
                $f(b);
            }
            Run(first, links) => {
                $f(first);
                links.$iter().for_each(|link| $f(operand_of!($iter, link)));
            }
            Neg(a) | BitNot(a) | Not(a) | Cast(a, _) | Extract(_, a) | Collate(a, _) | AssignVariable(_, a) => $f(a),
            IsNull { operand, .. } | IsTruth { operand, .. } => $f(operand),
            CompareRows(_, rows) => {
                let ComparedRows { left, right, .. } = rows.$deref();
                left.$iter().chain(right.$iter()).for_each($f);
            }
            And(list) | Or(list) | Func(_, list) => list.$iter().for_each($f),
            Between { operand, low, high, .. } => {
                $f(operand);
                $f(low);
                $f(high);
            }
            InList { operand, list, .. } => {
                $f(operand);
                items_of!($iter, list).for_each($f);
            }
            InRows(rows) => {
                let ListedRows { operand, list, .. } = rows.$deref();
                operand.$iter().for_each(&mut *$f);
                list.$iter().flatten().for_each($f);
            }
            Like { operand, pattern, .. } => {
                $f(operand);
                $f(pattern);
            }
            Case { operand, branches, otherwise, .. } => {
                if let Some(operand) = operand {
                    $f(operand);
                }
                for (when, then) in branches.$iter() {
                    $f(when);
                    $f(then);
                }
                if let Some(otherwise) = otherwise {
                    $f(otherwise);
                }
            }
            DateAdd { date, amount, .. } => {
                $f(date);
                $f(amount);
            }
            Subquery(_, kind) => match kind.$deref() {
                SubqueryKind::Scalar { .. } | SubqueryKind::Exists { .. } => {}
                SubqueryKind::In { needle, .. } | SubqueryKind::Row { needle, .. } => needle.$iter().for_each($f),
                SubqueryKind::Quantified { needle, .. } => $f(needle),
            },
        }
    }};
}

impl Expr {
    /// A constant.
    pub fn literal(value: Value, ty: ColumnType) -> Expr {
        Expr { kind: ExprKind::Literal(value), ty }
    }

    /// A frame slot.
    pub fn slot(slot: Slot, ty: ColumnType) -> Expr {
        Expr { kind: ExprKind::Slot(slot), ty }
    }

    /// Calls `f` on each direct operand.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        for_each_operand!(&self.kind, f, iter, as_ref)
    }

    /// Calls `f` on each direct operand, to change it.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for_each_operand!(&mut self.kind, f, iter_mut, as_mut)
    }

    /// Calls `f` on this expression and everything below it.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.for_each_child(&mut |child| child.walk(f));
    }

    /// Calls `f` on this expression and everything below it that may be computed: of lists of nothing but literals and parameters not on these.
    pub fn walk_computed<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        match &self.kind {
            ExprKind::InList { operand, list, .. } if list.are_values() => operand.walk_computed(f),
            _ => self.for_each_child(&mut |child| child.walk_computed(f)),
        }
    }

    /// Whether it is a literal or a parameter.
    #[inline]
    pub fn is_value(&self) -> bool {
        matches!(self.kind, ExprKind::Literal(_) | ExprKind::Param(_))
    }

    /// Reads other slots: those for which `to` has another. What a subquery's plan reads stays.
    pub fn rename_slots(&mut self, to: &mut dyn FnMut(Slot) -> Option<Slot>) {
        match &mut self.kind {
            ExprKind::Slot(slot) => *slot = to(*slot).unwrap_or(*slot),
            ExprKind::InList { operand, list, .. } if list.are_values() => operand.rename_slots(to),
            _ => self.for_each_child_mut(&mut |child| child.rename_slots(to)),
        }
    }

    /// Puts expressions in the place of slots; what is put is not looked into. What a subquery's plan reads stays.
    pub fn replace_slots(&mut self, by: &mut dyn FnMut(Slot) -> Option<Expr>) {
        match &mut self.kind {
            ExprKind::Slot(slot) => {
                if let Some(by) = by(*slot) {
                    *self = by;
                }
            }
            ExprKind::InList { operand, list, .. } if list.are_values() => operand.replace_slots(by),
            _ => self.for_each_child_mut(&mut |child| child.replace_slots(by)),
        }
    }

    /// Whether any part of the expression satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }

    /// Whether any part of the expression that may be computed satisfies `test`, which no literal and no parameter does: lists of these are passed over.
    pub fn any_computed(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        if let ExprKind::InList { operand, list, .. } = &self.kind
            && list.are_values()
        {
            return operand.any_computed(test);
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any_computed(test));
        found
    }

    /// Whether the value is the same for every row of a statement: no slots, no subqueries, nothing volatile.
    pub fn is_constant(&self) -> bool {
        !self.any_computed(&mut |e| match &e.kind {
            ExprKind::Slot(_) | ExprKind::Subquery(..) | ExprKind::UserVariable(_) | ExprKind::AssignVariable(..) => true,
            ExprKind::Func(f, _) => f.is_volatile(),
            _ => false,
        })
    }

    /// Whether the value is there before a row is read, and asking for it does nothing: constants, also user variables as they are when the statement begins.
    pub fn is_settled(&self) -> bool {
        !self.any_computed(&mut |e| match &e.kind {
            ExprKind::Slot(_) | ExprKind::Subquery(..) | ExprKind::AssignVariable(..) => true,
            _ => e.is_volatile_call(),
        })
    }

    /// Whether it is the call of a function that may give another value each time in a statement.
    pub fn is_volatile_call(&self) -> bool {
        match &self.kind {
            ExprKind::Func(f, args) => f.is_volatile() && !(args.is_empty() && f.tells_of_before()),
            _ => false,
        }
    }

    /// An arithmetic operation as the last link of the run that its left operand is, or begins.
    pub(crate) fn into_run(self) -> Expr {
        let ExprKind::Arith(op, a, b) = self.kind else { return self };
        let link = Link { op, operand: *b, ty: self.ty.clone() };
        let kind = match a.kind {
            ExprKind::Run(first, mut links) => {
                links.push(link);
                ExprKind::Run(first, links)
            }
            _ => ExprKind::Run(a, vec![link]),
        };
        Expr { kind, ty: self.ty }
    }

    /// Splits a conjunction into its parts.
    pub fn into_conjuncts(self, out: &mut Vec<Expr>) {
        match self.kind {
            ExprKind::And(list) => list.into_iter().for_each(|e| e.into_conjuncts(out)),
            _ => out.push(self),
        }
    }
}
