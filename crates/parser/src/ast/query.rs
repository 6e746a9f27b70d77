//! SELECT and its relatives.

use super::{DataType, Expr, ExprKind, JsonInstead, Literal, ObjectName, Span};

/// A query expression: body, order, limit and locks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query<'a> {
    /// WITH.
    pub with: Option<&'a With<'a>>,
    /// The body.
    pub body: QueryBody<'a>,
    /// ORDER BY of the whole.
    pub order_by: &'a [OrderItem<'a>],
    /// LIMIT of the whole.
    pub limit: Option<Limit<'a>>,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    pub locking: &'a [LockClause<'a>],
    /// INTO, at whichever of its places it was written.
    pub into: Option<&'a SelectInto<'a>>,
    /// Text of the query.
    pub span: Span,
}

impl Query<'_> {
    /// Whether it is nothing but its body.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.with.is_none() && self.order_by.is_empty() && self.limit.is_none() && self.locking.is_empty() && self.into.is_none()
    }

    /// Whether it or an operand of it has LIMIT; what it reads from may have.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.limit.is_some() || self.body.is_limited()
    }
}

/// Body of a query expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueryBody<'a> {
    /// SELECT.
    Select(&'a Select<'a>),
    /// UNION, EXCEPT, INTERSECT.
    SetOp(&'a SetOp<'a>),
    /// `VALUES ROW(…), …`.
    Values(&'a [&'a [Expr<'a>]]),
    /// `TABLE name`.
    Table(ObjectName<'a>),
    /// A query in parentheses.
    Parens(&'a Query<'a>),
}

impl QueryBody<'_> {
    fn is_limited(&self) -> bool {
        match self {
            QueryBody::Parens(query) => query.is_limited(),
            QueryBody::SetOp(set) => set.operands.iter().any(QueryBody::is_limited),
            QueryBody::Select(_) | QueryBody::Values(_) | QueryBody::Table(_) => false,
        }
    }
}

/// Several operands of one set operator, applied from the left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetOp<'a> {
    /// Which.
    pub op: SetOperator,
    /// ALL; DISTINCT is the default.
    pub all: bool,
    /// At least two.
    pub operands: &'a [QueryBody<'a>],
}

/// Set operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are SQL's.
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

/// WITH clause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct With<'a> {
    /// RECURSIVE.
    pub recursive: bool,
    /// The tables.
    pub ctes: &'a [Cte<'a>],
}

/// One common table expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cte<'a> {
    /// Its name.
    pub name: &'a str,
    /// Column names, if written.
    pub columns: &'a [&'a str],
    /// Its query.
    pub query: &'a Query<'a>,
}

/// One SELECT block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Select<'a> {
    /// DISTINCT and other words after SELECT.
    pub options: SelectOptions,
    /// Texts of `/*+ … */`, without the comment marks.
    pub hints: &'a [&'a str],
    /// What is selected.
    pub items: &'a [SelectItem<'a>],
    /// FROM; several when separated by commas, empty without FROM or with `FROM DUAL`.
    pub from: &'a [TableRef<'a>],
    /// WHERE.
    pub filter: Option<&'a Expr<'a>>,
    /// GROUP BY.
    pub group_by: &'a [OrderItem<'a>],
    /// WITH ROLLUP.
    pub rollup: bool,
    /// HAVING.
    pub having: Option<&'a Expr<'a>>,
    /// WINDOW.
    pub windows: &'a [NamedWindow<'a>],
    /// QUALIFY.
    pub qualify: Option<&'a Expr<'a>>,
}

/// Words after SELECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SelectOptions {
    /// DISTINCT (or DISTINCTROW).
    pub distinct: bool,
    /// HIGH_PRIORITY.
    pub high_priority: bool,
    /// STRAIGHT_JOIN.
    pub straight_join: bool,
    /// SQL_CALC_FOUND_ROWS.
    pub calc_found_rows: bool,
    /// SQL_NO_CACHE; without effect.
    pub no_cache: bool,
    /// SQL_BIG_RESULT.
    pub big_result: bool,
    /// SQL_SMALL_RESULT.
    pub small_result: bool,
    /// SQL_BUFFER_RESULT.
    pub buffer_result: bool,
}

/// One item of a select list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectItem<'a> {
    /// `*`
    Wildcard,
    /// `[schema.]table.*`
    TableWildcard(ObjectName<'a>),
    /// An expression.
    Expr {
        /// The expression; `expr.span` is the text that names the column.
        expr: Expr<'a>,
        /// AS.
        alias: Option<&'a str>,
    },
}

impl<'a> SelectItem<'a> {
    /// The name MySQL gives the result column: alias, column name, content of a string literal, or else the text as written.
    /// Aliases are cut to [`ALIAS_BYTES_MAX`] and the last two to [`COLUMN_NAME_BYTES_MAX`] bytes. `sql` is the text that was
    /// parsed. Empty for wildcards.
    #[must_use]
    pub fn column_name(&self, sql: &'a [u8]) -> &'a [u8] {
        match self {
            SelectItem::Wildcard | SelectItem::TableWildcard(_) => b"",
            SelectItem::Expr { alias: Some(alias), .. } => cut(alias.as_bytes(), ALIAS_BYTES_MAX),
            SelectItem::Expr { expr, alias: None } => match expr.kind {
                ExprKind::Column(column) => column.column.as_bytes(),
                ExprKind::Literal(Literal::String(value) | Literal::National(value)) => name_of_text(value),
                ExprKind::Literal(Literal::Introduced(literal)) => name_of_text(literal.value),
                ExprKind::Literal(Literal::Null) => b"NULL",
                _ => cut(expr.span.slice(sql), COLUMN_NAME_BYTES_MAX),
            },
        }
    }
}

/// Longest name of a result column that the statement does not name, as MySQL's.
pub const COLUMN_NAME_BYTES_MAX: usize = 255;
/// Longest alias that a result column is named by, as MySQL's.
pub const ALIAS_BYTES_MAX: usize = 256;

/// The name that the content of a string literal makes: what is not printable is left out at its beginning.
fn name_of_text(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| *b > b' ' && *b != 0x7F).unwrap_or(text.len());
    cut(&text[start..], COLUMN_NAME_BYTES_MAX)
}

/// The first bytes of a name; no character is cut.
fn cut(text: &[u8], bytes_max: usize) -> &[u8] {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while end > 0 && text[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &text[..end]
}

/// A table reference in FROM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableRef<'a> {
    /// A table or view.
    Table(&'a TableFactor<'a>),
    /// A subquery.
    Derived(&'a Derived<'a>),
    /// JSON_TABLE.
    JsonTable(&'a JsonTable<'a>),
    /// A join.
    Join(&'a Join<'a>),
    /// `(a, b, …)`: a cross join in parentheses; at least two.
    List(&'a [TableRef<'a>]),
}

/// A table by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TableFactor<'a> {
    /// Its name.
    pub name: ObjectName<'a>,
    /// Alias.
    pub alias: Option<&'a str>,
    /// `PARTITION (…)`.
    pub partitions: &'a [&'a str],
    /// USE, FORCE, IGNORE INDEX.
    pub index_hints: &'a [IndexHint<'a>],
}

/// A subquery in FROM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Derived<'a> {
    /// LATERAL.
    pub lateral: bool,
    /// The subquery.
    pub query: &'a Query<'a>,
    /// Its alias; MySQL asks for one (1248).
    pub alias: &'a str,
    /// Column names, if written.
    pub columns: &'a [&'a str],
}

/// `JSON_TABLE(document, path COLUMNS (…)) alias`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonTable<'a> {
    /// The document.
    pub document: Expr<'a>,
    /// What leads to the parts that make rows.
    pub path: &'a [u8],
    /// Its columns.
    pub columns: &'a [JsonTableColumn<'a>],
    /// Its alias; MySQL asks for one (3667).
    pub alias: &'a str,
}

/// A column of JSON_TABLE, or several of a nested path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonTableColumn<'a> {
    /// `name FOR ORDINALITY`.
    Ordinality(&'a str),
    /// `name type [EXISTS] PATH …`.
    Value(&'a JsonTableValue<'a>),
    /// `NESTED PATH path COLUMNS (…)`.
    Nested {
        /// What leads on from the part of the level above.
        path: &'a [u8],
        /// The columns of this level.
        columns: &'a [JsonTableColumn<'a>],
    },
}

/// A column of JSON_TABLE that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JsonTableValue<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub ty: DataType<'a>,
    /// EXISTS: whether there is something.
    pub exists: bool,
    /// The path.
    pub path: &'a [u8],
    /// ON EMPTY; a default is a literal.
    pub on_empty: Option<JsonInstead<'a>>,
    /// ON ERROR; a default is a literal.
    pub on_error: Option<JsonInstead<'a>>,
    /// ON ERROR was written before ON EMPTY.
    pub swapped: bool,
}

/// A join of two references.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join<'a> {
    /// Which.
    pub kind: JoinKind,
    /// NATURAL.
    pub natural: bool,
    /// Left side.
    pub left: TableRef<'a>,
    /// Right side.
    pub right: TableRef<'a>,
    /// ON or USING.
    pub condition: JoinCondition<'a>,
}

/// Kinds of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN: the same in MySQL.
    Inner,
    /// LEFT.
    Left,
    /// RIGHT.
    Right,
    /// STRAIGHT_JOIN.
    Straight,
}

/// Condition of a join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JoinCondition<'a> {
    /// None.
    None,
    /// ON.
    On(&'a Expr<'a>),
    /// USING.
    Using(&'a [&'a str]),
}

/// An index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexHint<'a> {
    /// USE, FORCE or IGNORE.
    pub kind: IndexHintKind,
    /// FOR JOIN, ORDER BY, GROUP BY.
    pub scope: Option<IndexHintScope>,
    /// Names; empty for `USE INDEX ()`.
    pub names: &'a [&'a str],
}

/// Kinds of index hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum IndexHintKind {
    Use,
    Force,
    Ignore,
}

/// What an index hint is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum IndexHintScope {
    Join,
    OrderBy,
    GroupBy,
}

/// An item of ORDER BY or GROUP BY.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderItem<'a> {
    /// What to sort by. A plain integer literal is a position in ORDER BY and GROUP BY.
    pub expr: Expr<'a>,
    /// DESC.
    pub descending: bool,
}

/// LIMIT. Both parts are integer literals, params or names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit<'a> {
    /// How many rows.
    pub count: Expr<'a>,
    /// How many to skip.
    pub offset: Option<Expr<'a>>,
}

/// FOR UPDATE, FOR SHARE or LOCK IN SHARE MODE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockClause<'a> {
    /// UPDATE or SHARE.
    pub strength: LockStrength,
    /// OF; empty means all tables.
    pub of: &'a [ObjectName<'a>],
    /// NOWAIT or SKIP LOCKED.
    pub wait: LockWait,
}

/// How strong row locks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum LockStrength {
    Share,
    Update,
}

/// What to do with locked rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockWait {
    /// Wait up to the timeout.
    Wait,
    /// Error at once.
    NoWait,
    /// Leave the row out.
    SkipLocked,
}

/// Where a SELECT puts its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SelectInto<'a> {
    /// User variables (names without `@`) or local variables.
    Variables(&'a [IntoTarget<'a>]),
    /// INTO OUTFILE.
    Outfile {
        /// Path.
        path: &'a [u8],
        /// CHARACTER SET.
        charset: Option<&'a str>,
        /// FIELDS and LINES.
        format: FileFormat<'a>,
    },
    /// INTO DUMPFILE.
    Dumpfile(&'a [u8]),
}

/// A target of SELECT INTO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntoTarget<'a> {
    /// `@name`.
    User(&'a str),
    /// A variable of a stored program.
    Local(&'a str),
}

/// FIELDS and LINES of LOAD DATA and INTO OUTFILE; `None` means MySQL's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileFormat<'a> {
    /// FIELDS TERMINATED BY.
    pub fields_terminated: Option<&'a [u8]>,
    /// FIELDS ENCLOSED BY.
    pub enclosed: Option<&'a [u8]>,
    /// OPTIONALLY ENCLOSED.
    pub optionally_enclosed: bool,
    /// FIELDS ESCAPED BY.
    pub escaped: Option<&'a [u8]>,
    /// LINES STARTING BY.
    pub lines_starting: Option<&'a [u8]>,
    /// LINES TERMINATED BY.
    pub lines_terminated: Option<&'a [u8]>,
}

/// A window of the WINDOW clause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedWindow<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub spec: &'a WindowSpec<'a>,
}

/// A window specification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSpec<'a> {
    /// The window it extends.
    pub base: Option<&'a str>,
    /// PARTITION BY.
    pub partition_by: &'a [Expr<'a>],
    /// ORDER BY.
    pub order_by: &'a [OrderItem<'a>],
    /// The frame.
    pub frame: Option<Frame<'a>>,
}

/// A window frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame<'a> {
    /// Rows, values or groups.
    pub unit: FrameUnit,
    /// Start.
    pub start: FrameBound<'a>,
    /// End; the current row when absent.
    pub end: Option<FrameBound<'a>>,
    /// EXCLUDE was written (MySQL answers 1235).
    pub exclude: bool,
}

/// Unit of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are SQL's.
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// Bound of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrameBound<'a> {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
    /// CURRENT ROW.
    CurrentRow,
    /// `n PRECEDING`, with the unit after INTERVAL.
    Preceding(&'a Expr<'a>, Option<super::IntervalUnit>),
    /// `n FOLLOWING`, with the unit after INTERVAL.
    Following(&'a Expr<'a>, Option<super::IntervalUnit>),
}
