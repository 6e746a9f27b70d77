//! Expressions.

use super::{DataType, ObjectName, OrderItem, Query, Span, WindowSpec};

/// An expression and where it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expr<'a> {
    /// What it is.
    pub kind: ExprKind<'a>,
    /// Its text, from its first to its last token. Parentheses around the whole belong to it.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExprKind<'a> {
    /// A constant.
    Literal(Literal<'a>),
    /// A `?`, or a literal lifted by `parse_parameterised`; numbered from 0 in text order.
    Param(u32),
    /// A column.
    Column(&'a ColumnRef<'a>),
    /// `@name`.
    UserVar(&'a str),
    /// `@@[scope.]name`.
    SysVar(&'a SysVar<'a>),
    /// `@name := value`.
    Assign {
        /// Variable name without `@`.
        var: &'a str,
        /// The new value.
        value: &'a Expr<'a>,
    },
    /// One operand.
    Unary(UnaryOp, &'a Expr<'a>),
    /// Two operands.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Left operand.
        left: &'a Expr<'a>,
        /// Right operand.
        right: &'a Expr<'a>,
    },
    /// Conjunction; at least two operands, flattened where the text chains them.
    And(&'a [Expr<'a>]),
    /// Disjunction; at least two operands, flattened where the text chains them.
    Or(&'a [Expr<'a>]),
    /// `IS [NOT] NULL | TRUE | FALSE | UNKNOWN`.
    Is {
        /// Operand.
        expr: &'a Expr<'a>,
        /// What it is compared to.
        test: IsTest,
        /// With NOT.
        negated: bool,
    },
    /// `IN (list)`.
    In {
        /// Operand.
        expr: &'a Expr<'a>,
        /// The list, never empty.
        list: &'a [Expr<'a>],
        /// With NOT.
        negated: bool,
    },
    /// `IN (subquery)`.
    InSubquery {
        /// Operand.
        expr: &'a Expr<'a>,
        /// The subquery.
        query: &'a Query<'a>,
        /// With NOT.
        negated: bool,
    },
    /// `BETWEEN low AND high`.
    Between {
        /// Operand.
        expr: &'a Expr<'a>,
        /// Lower bound.
        low: &'a Expr<'a>,
        /// Upper bound.
        high: &'a Expr<'a>,
        /// With NOT.
        negated: bool,
    },
    /// `LIKE pattern [ESCAPE c]`.
    Like {
        /// Operand.
        expr: &'a Expr<'a>,
        /// Pattern.
        pattern: &'a Expr<'a>,
        /// Escape character.
        escape: Option<&'a Expr<'a>>,
        /// With NOT.
        negated: bool,
    },
    /// `REGEXP` or `RLIKE`.
    Regexp {
        /// Operand.
        expr: &'a Expr<'a>,
        /// Pattern.
        pattern: &'a Expr<'a>,
        /// With NOT.
        negated: bool,
    },
    /// `left op ANY|ALL (subquery)`.
    Quantified {
        /// A comparison operator.
        op: BinaryOp,
        /// Left operand.
        left: &'a Expr<'a>,
        /// ALL, else ANY.
        all: bool,
        /// The subquery.
        query: &'a Query<'a>,
    },
    /// `EXISTS (subquery)`.
    Exists(&'a Query<'a>),
    /// A subquery as a value or row.
    Subquery(&'a Query<'a>),
    /// `(a, b, …)` or `ROW(a, b, …)`; at least two parts.
    Row(&'a [Expr<'a>]),
    /// CASE.
    Case(&'a Case<'a>),
    /// `CAST(expr AS type)`, `CONVERT(expr, type)`.
    Cast {
        /// Operand; of `CAST(a AT TIME ZONE zone AS DATETIME)` a call of [`AT_TIME_ZONE`].
        expr: &'a Expr<'a>,
        /// Target; SIGNED and UNSIGNED are `BigInt`.
        ty: &'a super::DataType<'a>,
        /// `AS type ARRAY` (multi-valued index).
        array: bool,
    },
    /// `CONVERT(expr USING charset)`.
    ConvertUsing {
        /// Operand.
        expr: &'a Expr<'a>,
        /// Character set.
        charset: &'a str,
    },
    /// `expr COLLATE name`.
    Collate {
        /// Operand.
        expr: &'a Expr<'a>,
        /// Collation.
        collation: &'a str,
    },
    /// `expr ± INTERVAL amount unit`, `DATE_ADD`, `DATE_SUB`, `ADDDATE`, `SUBDATE` with INTERVAL.
    DateAdd {
        /// Start.
        expr: &'a Expr<'a>,
        /// How many units.
        amount: &'a Expr<'a>,
        /// The unit.
        unit: IntervalUnit,
        /// Backwards.
        subtract: bool,
    },
    /// `EXTRACT(unit FROM expr)`.
    Extract {
        /// The part.
        unit: IntervalUnit,
        /// Operand.
        expr: &'a Expr<'a>,
    },
    /// `TIMESTAMPADD(unit, amount, expr)`.
    TimestampAdd {
        /// The unit.
        unit: IntervalUnit,
        /// How many.
        amount: &'a Expr<'a>,
        /// Start.
        expr: &'a Expr<'a>,
    },
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        /// The unit.
        unit: IntervalUnit,
        /// From.
        from: &'a Expr<'a>,
        /// To.
        to: &'a Expr<'a>,
    },
    /// `TRIM([mode] [remove FROM] expr)`.
    Trim {
        /// Which ends.
        mode: TrimMode,
        /// What to cut; a space when absent.
        remove: Option<&'a Expr<'a>>,
        /// Operand.
        expr: &'a Expr<'a>,
    },
    /// Any other call, by name; includes keywords such as IF, LEFT, MOD (function form), CURRENT_TIMESTAMP, SUBSTRING, LOCATE.
    Function(&'a FunctionCall<'a>),
    /// COUNT, SUM, … with or without OVER.
    Aggregate(&'a AggregateCall<'a>),
    /// ROW_NUMBER, LAG, …
    Window(&'a WindowCall<'a>),
    /// `MATCH (columns) AGAINST (expr mode)`.
    Match(&'a MatchAgainst<'a>),
    /// `DEFAULT` as a value of INSERT, UPDATE or SET.
    Default,
    /// `DEFAULT(column)`.
    DefaultOf(&'a ColumnRef<'a>),
    /// `VALUES(column)` in ON DUPLICATE KEY UPDATE.
    InsertValue(&'a ColumnRef<'a>),
    /// `column -> path` and `column ->> path`.
    JsonPath {
        /// The column.
        column: &'a ColumnRef<'a>,
        /// The path text.
        path: &'a [u8],
        /// `->>`.
        unquote: bool,
    },
    /// `JSON_VALUE(document, path …)`.
    JsonValue(&'a JsonValue<'a>),
    /// ODBC `{fn expr}` and unknown `{name expr}`.
    Odbc {
        /// The word after the brace.
        name: &'a str,
        /// Operand.
        expr: &'a Expr<'a>,
    },
}

/// Constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal<'a> {
    /// NULL (also `\N`).
    Null,
    /// TRUE, FALSE.
    Bool(bool),
    /// An integer that fits 64 bits without sign; a leading minus is a [`UnaryOp::Neg`].
    Int(u64),
    /// A number with a point, or an integer too large for `Int`; as written.
    Decimal(&'a str),
    /// A number with an exponent; as written.
    Float(&'a str),
    /// A string with escapes resolved, of the connection's character set.
    String(&'a [u8]),
    /// `N'…'`: a string of utf8mb3.
    National(&'a [u8]),
    /// `X'…'` and `0x…`: the bytes.
    Hex(&'a [u8]),
    /// `B'…'` and `0b…`: the bytes, right aligned.
    Bit(&'a [u8]),
    /// `_charset` before a string, hex or bit literal.
    Introduced(&'a Introduced<'a>),
    /// `DATE '…'`.
    Date(&'a [u8]),
    /// `TIME '…'`.
    Time(&'a [u8]),
    /// `TIMESTAMP '…'`.
    Timestamp(&'a [u8]),
}

/// The function that makes the time of a zone of an instant, by a name that no text calls it by.
pub const AT_TIME_ZONE: &str = "at time zone";

/// A literal with a character set introducer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Introduced<'a> {
    /// The character set without the underscore, lower case.
    pub charset: &'a str,
    /// The bytes of the string, hex or bit literal.
    pub value: &'a [u8],
    /// It was written in quotes, so that its bytes are those of the statement's text.
    pub quoted: bool,
}

/// A column as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnRef<'a> {
    /// Schema.
    pub schema: Option<&'a str>,
    /// Table or alias.
    pub table: Option<&'a str>,
    /// Column.
    pub column: &'a str,
}

/// Which value of a system variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VarScope {
    /// The server's.
    Global,
    /// The session's (also LOCAL).
    Session,
    /// The server's, kept over restarts.
    Persist,
    /// Kept for the next start only.
    PersistOnly,
}

/// A system variable as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysVar<'a> {
    /// Scope when written.
    pub scope: Option<VarScope>,
    /// The part before the dot in `@@component.name`.
    pub component: Option<&'a str>,
    /// Name as written.
    pub name: &'a str,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Plus,
    /// `~`
    BitNot,
    /// NOT and `!`
    Not,
    /// `BINARY expr`
    Binary,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
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
    /// `%` and `MOD`
    Mod,
    /// `|`
    BitOr,
    /// `&`
    BitAnd,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>` and `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `XOR`
    Xor,
    /// `||` under PIPES_AS_CONCAT
    Concat,
    /// `SOUNDS LIKE`
    SoundsLike,
    /// `MEMBER OF`
    MemberOf,
}

impl BinaryOp {
    /// Whether it is one of `= <=> <> < <= > >=`.
    #[must_use]
    pub fn is_comparison(self) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne, NullSafeEq};
        matches!(self, Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge)
    }

    /// Which operators it is in a chain of any length with ([`Expr::run_of`]).
    #[must_use]
    pub fn run(self) -> Option<Run> {
        use BinaryOp::{Add, BitAnd, BitOr, BitXor, Concat, Div, IntDiv, Mod, Mul, ShiftLeft, ShiftRight, Sub};
        match self {
            Add | Sub | Mul | Div | IntDiv | Mod | BitOr | BitAnd | BitXor | ShiftLeft | ShiftRight => Some(Run::Arithmetic),
            Concat => Some(Run::Concat),
            _ => None,
        }
    }
}

/// Operators of which there are long chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Those of numbers and bits.
    Arithmetic,
    /// `||` under PIPES_AS_CONCAT.
    Concat,
}

impl<'a> Expr<'a> {
    /// The leftmost operand of a chain of such operators, and these with their right operands, the last one first: `a - b + c` is `a`, `+ c` and `- b`. A chain leans left, and may be longer than the stack is deep: whoever looks at one goes down it so.
    #[must_use]
    pub fn run_of(&'a self, run: Run) -> (&'a Expr<'a>, Vec<(BinaryOp, &'a Expr<'a>)>) {
        let (mut first, mut links) = (self, Vec::new());
        while let ExprKind::Binary { op, left, right } = first.kind
            && op.run() == Some(run)
        {
            links.push((op, right));
            first = left;
        }
        (first, links)
    }
}

/// Right side of IS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsTest {
    /// NULL
    Null,
    /// TRUE
    True,
    /// FALSE
    False,
    /// UNKNOWN
    Unknown,
}

/// CASE, simple (with operand) or searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case<'a> {
    /// Operand of a simple CASE.
    pub operand: Option<Expr<'a>>,
    /// WHEN and THEN.
    pub whens: &'a [(Expr<'a>, Expr<'a>)],
    /// ELSE.
    pub otherwise: Option<Expr<'a>>,
}

/// Units of INTERVAL and EXTRACT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    /// Whether an amount has several parts, which are read from its text: `'1:30'` MINUTE_SECOND.
    pub fn has_parts(self) -> bool {
        use IntervalUnit as U;
        !matches!(self, U::Microsecond | U::Second | U::Minute | U::Hour | U::Day | U::Week | U::Month | U::Quarter | U::Year)
    }
}

impl std::fmt::Display for IntervalUnit {
    /// As SQL writes it, in lower case.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            IntervalUnit::Microsecond => "microsecond",
            IntervalUnit::Second => "second",
            IntervalUnit::Minute => "minute",
            IntervalUnit::Hour => "hour",
            IntervalUnit::Day => "day",
            IntervalUnit::Week => "week",
            IntervalUnit::Month => "month",
            IntervalUnit::Quarter => "quarter",
            IntervalUnit::Year => "year",
            IntervalUnit::SecondMicrosecond => "second_microsecond",
            IntervalUnit::MinuteMicrosecond => "minute_microsecond",
            IntervalUnit::MinuteSecond => "minute_second",
            IntervalUnit::HourMicrosecond => "hour_microsecond",
            IntervalUnit::HourSecond => "hour_second",
            IntervalUnit::HourMinute => "hour_minute",
            IntervalUnit::DayMicrosecond => "day_microsecond",
            IntervalUnit::DaySecond => "day_second",
            IntervalUnit::DayMinute => "day_minute",
            IntervalUnit::DayHour => "day_hour",
            IntervalUnit::YearMonth => "year_month",
        })
    }
}

/// Ends that TRIM works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrimMode {
    /// Both; the default.
    Both,
    /// Start.
    Leading,
    /// End.
    Trailing,
}

/// `JSON_VALUE(document, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonValue<'a> {
    /// The document.
    pub document: Expr<'a>,
    /// The path.
    pub path: Expr<'a>,
    /// Type of the result.
    pub returning: Option<DataType<'a>>,
    /// What stands for a value that the document does not have.
    pub on_empty: Option<JsonInstead<'a>>,
    /// What stands for a value that is no value of the type.
    pub on_error: Option<JsonInstead<'a>>,
}

/// What stands for a missing value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonInstead<'a> {
    /// NULL.
    Null,
    /// An error.
    Error,
    /// A value.
    Default(Expr<'a>),
}

/// A call of a scalar function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionCall<'a> {
    /// Name, with schema for stored functions.
    pub name: ObjectName<'a>,
    /// Arguments.
    pub args: &'a [Expr<'a>],
    /// `CHAR(… USING charset)`.
    pub charset: Option<&'a str>,
    /// It is none of the server's own functions, whatever its name.
    pub stored: bool,
}

/// Aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum AggregateFn {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StdPop,
    StdSamp,
    VarPop,
    VarSamp,
    JsonArrayAgg,
    JsonObjectAgg,
}

/// A call of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AggregateCall<'a> {
    /// Which.
    pub func: AggregateFn,
    /// `DISTINCT`.
    pub distinct: bool,
    /// Arguments; empty for `COUNT(*)`.
    pub args: &'a [Expr<'a>],
    /// ORDER BY inside GROUP_CONCAT.
    pub order_by: &'a [OrderItem<'a>],
    /// SEPARATOR of GROUP_CONCAT.
    pub separator: Option<&'a [u8]>,
    /// OVER.
    pub over: Option<Over<'a>>,
}

/// Functions that exist only with OVER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum WindowFn {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

impl WindowFn {
    /// As SQL writes it, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WindowFn::RowNumber => "row_number",
            WindowFn::Rank => "rank",
            WindowFn::DenseRank => "dense_rank",
            WindowFn::PercentRank => "percent_rank",
            WindowFn::CumeDist => "cume_dist",
            WindowFn::Ntile => "ntile",
            WindowFn::Lag => "lag",
            WindowFn::Lead => "lead",
            WindowFn::FirstValue => "first_value",
            WindowFn::LastValue => "last_value",
            WindowFn::NthValue => "nth_value",
        }
    }
}

/// A call of a window function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowCall<'a> {
    /// Which.
    pub func: WindowFn,
    /// Arguments.
    pub args: &'a [Expr<'a>],
    /// `IGNORE NULLS` (MySQL answers 1235).
    pub ignore_nulls: bool,
    /// `FROM LAST` (MySQL answers 1235).
    pub from_last: bool,
    /// The window.
    pub over: Over<'a>,
}

/// What follows OVER.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Over<'a> {
    /// A window named in the WINDOW clause.
    Named(&'a str),
    /// A specification in place.
    Spec(&'a WindowSpec<'a>),
}

/// Full-text search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatchAgainst<'a> {
    /// The columns.
    pub columns: &'a [Expr<'a>],
    /// What to look for.
    pub against: Expr<'a>,
    /// The search mode.
    pub mode: MatchMode,
}

/// Mode of a full-text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchMode {
    /// The default.
    NaturalLanguage,
    /// WITH QUERY EXPANSION.
    QueryExpansion,
    /// IN BOOLEAN MODE.
    Boolean,
}
