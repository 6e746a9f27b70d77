//! Expressions as definitions keep them: one text for what reads the same, as MySQL shows it (`SHOW CREATE TABLE`,
//! `information_schema.CHECK_CONSTRAINTS`).
//!
//! # Invariants
//! 1. The text is read back under no `sql_mode` at all, whatever mode the expression was written under.
//! 2. Text literals name their character set; nothing in the text depends on a session.
//!
//! MySQL prints its expressions after it has resolved them: operands of AND, OR, XOR and NOT that are no conditions become comparisons with 0,
//! NOT is carried inward, and synonyms become one function. What is the same is done here, on the tree.

mod function;
mod json_table;
mod query;

pub use query::{Found, QueryNames, normalise_query};

use crate::ast::{
    AT_TIME_ZONE, BinaryOp, Case, ColumnRef, Expr, ExprKind, FunctionCall, IsTest, JsonInstead, Literal, Run, TrimMode, UnaryOp,
};
use crate::grammar::RUN_HEIGHT_MAX;
use std::fmt::Write;

/// What stands in an expression, beside its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Normal {
    /// The text.
    pub text: String,
    /// Columns as named, with their qualifier.
    pub columns: Vec<(Option<String>, String)>,
    /// Functions by the names they are printed with.
    pub functions: Vec<String>,
    /// User or system variables.
    pub has_variable: bool,
    /// Subqueries.
    pub has_subquery: bool,
    /// DEFAULT(column).
    pub has_default: bool,
    /// Parameters.
    pub has_parameter: bool,
    /// An aggregate.
    pub has_aggregate: bool,
    /// A window function.
    pub window: Option<&'static str>,
    /// It is a condition.
    pub is_condition: bool,
    /// It is a row.
    pub is_row: bool,
    /// It is a column and nothing else.
    pub is_column: bool,
    /// It is a literal and nothing else.
    pub is_literal: bool,
}

/// What an expression means by the session that writes it: its text says it in full.
#[derive(Debug, Clone, Copy)]
pub struct WrittenUnder<'s> {
    /// The character set of its literals: the connection's.
    pub charset: &'s str,
    /// `default_week_format`, of WEEK without a mode.
    pub week_format: u8,
}

/// The normal form of an expression.
pub fn normalise(expr: &Expr<'_>, under: WrittenUnder<'_>) -> Normal {
    let mut p = Printer { under, out: Normal::default(), names: None, hidden: None, exists: false, nested: 0 };
    p.expr(expr);
    p.out.is_condition = is_condition(expr);
    p.out.is_row = matches!(expr.kind, ExprKind::Row(_));
    p.out.is_column = matches!(expr.kind, ExprKind::Column(_));
    p.out.is_literal = matches!(expr.kind, ExprKind::Literal(_));
    p.out
}

/// Names of the columns in a text that [`normalise`] has made: what stands in backquotes.
pub fn columns_in(text: &str) -> Vec<String> {
    let mut columns = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => {
                            chars.next();
                        }
                        '\'' => break,
                        _ => {}
                    }
                }
            }
            '`' => {
                let mut name = String::new();
                while let Some(c) = chars.next() {
                    if c == '`' && chars.next_if_eq(&'`').is_none() {
                        break;
                    }
                    name.push(c);
                }
                columns.push(name);
            }
            _ => {}
        }
    }
    columns
}

fn is_condition(e: &Expr<'_>) -> bool {
    match &e.kind {
        ExprKind::Literal(Literal::Bool(_)) | ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Is { .. } => true,
        ExprKind::In { .. } | ExprKind::InSubquery { .. } | ExprKind::Between { .. } => true,
        ExprKind::Like { .. } | ExprKind::Regexp { .. } | ExprKind::Quantified { .. } | ExprKind::Exists(_) => true,
        ExprKind::Unary(op, _) => *op == UnaryOp::Not,
        ExprKind::Binary { op, .. } => op.is_comparison() || matches!(op, BinaryOp::Xor | BinaryOp::SoundsLike | BinaryOp::MemberOf),
        ExprKind::Function(call) => {
            let conditions = [
                "isnull",
                "regexp_like",
                "is_uuid",
                "is_ipv4",
                "is_ipv6",
                "is_ipv4_compat",
                "is_ipv4_mapped",
                "json_valid",
                "json_contains",
                "json_contains_path",
                "json_overlaps",
                "json_schema_valid",
            ];
            conditions.iter().any(|name| call.name.name.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}

/// The operator that is true where the other one is false.
fn opposite(op: BinaryOp) -> Option<BinaryOp> {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    Some(match op {
        Eq => Ne,
        Ne => Eq,
        Lt => Ge,
        Ge => Lt,
        Gt => Le,
        Le => Gt,
        _ => return None,
    })
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::IntDiv => "DIV",
        BinaryOp::Mod => "%",
        BinaryOp::BitOr => "|",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Eq => "=",
        BinaryOp::NullSafeEq => "<=>",
        BinaryOp::Ne => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::Xor => "xor",
        BinaryOp::Concat => "||",
        BinaryOp::SoundsLike => "sounds like",
        BinaryOp::MemberOf => "member of",
    }
}

/// The operands of AND (else of OR), and of what nests in it.
fn flatten<'e>(e: &'e Expr<'e>, and: bool, out: &mut Vec<&'e Expr<'e>>) {
    match &e.kind {
        ExprKind::And(list) if and => list.iter().for_each(|e| flatten(e, and, out)),
        ExprKind::Or(list) if !and => list.iter().for_each(|e| flatten(e, and, out)),
        _ => out.push(e),
    }
}

struct Printer<'c> {
    under: WrittenUnder<'c>,
    out: Normal,
    /// In a view's query: what its names mean.
    names: Option<&'c dyn QueryNames>,
    /// A database whose name is left out.
    hidden: Option<&'c str>,
    /// The next SELECT is that of EXISTS, and what `*` is does not matter to it.
    exists: bool,
    /// Queries around the one that is printed.
    nested: u32,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.text.push_str(text);
    }

    fn expr(&mut self, e: &Expr<'_>) {
        match &e.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Param(_) => {
                self.out.has_parameter = true;
                self.put("?");
            }
            ExprKind::Column(column) => self.column(e, column),
            ExprKind::UserVar(_) | ExprKind::SysVar(_) | ExprKind::Assign { .. } => self.out.has_variable = true,
            ExprKind::Unary(UnaryOp::Plus, operand) => self.expr(operand),
            ExprKind::Unary(UnaryOp::Neg, operand) => self.wrapped("-(", operand, ")"),
            ExprKind::Unary(UnaryOp::BitNot, operand) => self.wrapped("~(", operand, ")"),
            ExprKind::Unary(UnaryOp::Not, operand) => self.negated(operand),
            ExprKind::Unary(UnaryOp::Binary, operand) => self.wrapped("cast(", operand, " as char charset binary)"),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right),
            ExprKind::And(_) => self.chain(e, " and ", Self::truth),
            ExprKind::Or(_) => self.chain(e, " or ", Self::truth),
            ExprKind::Is { expr, test, negated } => self.is(expr, *test, *negated),
            ExprKind::In { expr, list, negated } => self.in_list(expr, list, *negated),
            ExprKind::Between { expr, low, high, negated } => self.between(expr, low, high, *negated),
            ExprKind::Like { expr, pattern, escape, negated } => {
                self.put(if *negated { "(not((" } else { "(" });
                self.tight(expr);
                self.put(" like ");
                self.tight(pattern);
                if let Some(escape) = escape {
                    self.put(" escape ");
                    self.tight(escape);
                }
                self.put(if *negated { ")))" } else { ")" });
            }
            ExprKind::Regexp { expr, pattern, negated } => {
                self.put(if *negated { "(not(" } else { "" });
                self.call("regexp_like", &[expr, pattern]);
                self.put(if *negated { "))" } else { "" });
            }
            ExprKind::InSubquery { expr, query, negated } => {
                self.tight(expr);
                self.subquery(if *negated { " not in " } else { " in " }, query);
            }
            ExprKind::Quantified { op, left, all, query } => {
                self.tight(left);
                match (op, all) {
                    (BinaryOp::Eq, false) => self.subquery(" in ", query),
                    (BinaryOp::Ne, true) => self.subquery(" not in ", query),
                    _ => self.subquery(&format!(" {} {} ", operator(*op), if *all { "all" } else { "any" }), query),
                }
            }
            ExprKind::Exists(query) => self.exists(query),
            ExprKind::Subquery(query) => self.subquery("", query),
            ExprKind::Row(list) => {
                self.put("(");
                self.list(list);
                self.put(")");
            }
            ExprKind::Case(case) => self.case(case),
            ExprKind::Cast { expr, ty, array } => {
                match expr.kind {
                    ExprKind::Function(call) if call.name.name == AT_TIME_ZONE => self.at_time_zone(call),
                    _ => self.wrapped("cast(", expr, " as "),
                }
                self.cast_type(ty);
                self.put(if *array { " array)" } else { ")" });
            }
            ExprKind::ConvertUsing { expr, charset } => {
                self.wrapped("convert(", expr, " using ");
                self.put(&charset.to_ascii_lowercase());
                self.put(")");
            }
            ExprKind::Collate { expr, collation } => {
                self.put("(");
                self.tight(expr);
                self.put(" collate ");
                self.put(&collation.to_ascii_lowercase());
                self.put(")");
            }
            ExprKind::DateAdd { expr, amount, unit, subtract } => self.shifted(expr, amount, &format!("{unit}"), *subtract),
            ExprKind::TimestampAdd { unit, amount, expr } => self.shifted(expr, amount, &format!("{unit}"), false),
            ExprKind::Extract { unit, expr } => {
                self.put(&format!("extract({unit} from "));
                self.wrapped("", expr, ")");
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                self.put(&format!("timestampdiff({},", unit.to_string().to_ascii_uppercase()));
                self.wrapped("", from, ",");
                self.wrapped("", to, ")");
            }
            ExprKind::Trim { mode, remove, expr } => {
                self.put("trim(");
                self.put(match (mode, remove) {
                    (TrimMode::Both, None) => "",
                    (TrimMode::Both, Some(_)) => "both ",
                    (TrimMode::Leading, _) => "leading ",
                    (TrimMode::Trailing, _) => "trailing ",
                });
                match remove {
                    Some(remove) => self.wrapped("", remove, " from "),
                    None if *mode != TrimMode::Both => self.put("from "),
                    None => {}
                }
                self.wrapped("", expr, ")");
            }
            ExprKind::Function(call) => self.function(call),
            ExprKind::Aggregate(call) => {
                self.out.has_aggregate |= call.over.is_none();
                if call.over.is_some() {
                    self.out.window = Some("aggregate");
                }
                if self.names.is_some() {
                    self.aggregate(call);
                }
            }
            ExprKind::Window(call) => {
                self.out.window = Some(call.func.name());
                if self.names.is_some() {
                    self.window_call(call);
                }
            }
            ExprKind::Match(_) => self.out.functions.push("match".into()),
            // DEFAULT by itself is refused where the expression is bound.
            ExprKind::Default => self.put("default"),
            ExprKind::DefaultOf(column) => {
                self.out.has_default = true;
                self.put("default(");
                self.column(e, column);
                self.put(")");
            }
            ExprKind::InsertValue(_) => self.out.functions.push("values".into()),
            ExprKind::JsonPath { column, path, unquote } => {
                self.put(if *unquote { "json_unquote(json_extract(" } else { "json_extract(" });
                self.column(e, column);
                self.put(",");
                self.plain_text(path);
                self.put(if *unquote { "))" } else { ")" });
            }
            ExprKind::JsonValue(call) => {
                self.wrapped("json_value(", &call.document, ",");
                self.wrapped("", &call.path, "");
                if let Some(ty) = &call.returning {
                    self.put(" returning ");
                    self.cast_type(ty);
                }
                for (instead, event) in [(&call.on_empty, " on empty"), (&call.on_error, " on error")] {
                    match instead {
                        None => continue,
                        Some(JsonInstead::Null) => self.put(" null"),
                        Some(JsonInstead::Error) => self.put(" error"),
                        Some(JsonInstead::Default(e)) => self.wrapped(" default ", e, ""),
                    }
                    self.put(event);
                }
                self.put(")");
            }
            ExprKind::Odbc { expr, .. } => self.expr(expr),
        }
    }

    fn column(&mut self, e: &Expr<'_>, column: &ColumnRef<'_>) {
        if let Some(names) = self.names {
            return self.named_column(names, e.span.start, column);
        }
        self.out.columns.push((column.table.map(str::to_owned), column.column.to_owned()));
        let _ = write!(self.out.text, "`{}`", column.column.replace('`', "``"));
    }

    fn wrapped(&mut self, before: &str, e: &Expr<'_>, after: &str) {
        self.put(before);
        self.expr(e);
        self.put(after);
    }

    /// An operand of an operator that binds more tightly than those which are printed without parentheses.
    fn tight(&mut self, e: &Expr<'_>) {
        match e.kind {
            ExprKind::InSubquery { .. } | ExprKind::Quantified { .. } | ExprKind::Binary { op: BinaryOp::MemberOf, .. } => {
                self.wrapped("(", e, ")");
            }
            _ => self.expr(e),
        }
    }

    fn list(&mut self, list: &[Expr<'_>]) {
        for (at, e) in list.iter().enumerate() {
            self.wrapped(if at > 0 { "," } else { "" }, e, "");
        }
    }

    /// AND or OR, whatever the text nests of it, as one chain.
    fn chain(&mut self, e: &Expr<'_>, word: &str, one: fn(&mut Self, &Expr<'_>)) {
        let mut parts = Vec::new();
        flatten(e, matches!(e.kind, ExprKind::And(_)), &mut parts);
        self.put("(");
        for (at, e) in parts.into_iter().enumerate() {
            self.put(if at > 0 { word } else { "" });
            one(self, e);
        }
        self.put(")");
    }

    /// An operand that is a condition, or compared with 0.
    fn truth(&mut self, e: &Expr<'_>) {
        if is_condition(e) { self.expr(e) } else { self.wrapped("(0 <> ", e, ")") }
    }

    /// A condition of WHERE, ON or HAVING: only there is unknown as good as false, and NOT IN printed as MySQL rewrites it.
    fn where_condition(&mut self, e: &Expr<'_>) {
        match &e.kind {
            ExprKind::And(_) => self.chain(e, " and ", Self::where_condition),
            ExprKind::Or(_) => self.chain(e, " or ", Self::where_condition),
            ExprKind::InSubquery { expr, query, negated: true }
            | ExprKind::Quantified { op: BinaryOp::Ne, left: expr, all: true, query } => {
                self.tight(expr);
                self.subquery(" in ", query);
                self.put(" is false");
            }
            _ => self.truth(e),
        }
    }

    /// The contrary of a condition.
    fn negated(&mut self, e: &Expr<'_>) {
        match &e.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => self.truth(operand),
            ExprKind::And(_) => self.chain(e, " or ", Self::negated),
            ExprKind::Or(_) => self.chain(e, " and ", Self::negated),
            ExprKind::Is { expr, test, negated } => self.is(expr, *test, !negated),
            ExprKind::In { expr, list, negated } => self.in_list(expr, list, !negated),
            ExprKind::Between { expr, low, high, negated } => self.between(expr, low, high, !negated),
            ExprKind::InSubquery { expr, query, negated } => {
                self.expr(&Expr { kind: ExprKind::InSubquery { expr, query, negated: !negated }, span: e.span });
            }
            ExprKind::Quantified { op: BinaryOp::Eq, left, all: false, query } => {
                self.expr(&Expr { kind: ExprKind::InSubquery { expr: left, query, negated: true }, span: e.span });
            }
            ExprKind::Exists(_) if self.names.is_some() => self.wrapped("(not ", e, ")"),
            ExprKind::Like { expr, pattern, escape, negated: true } => {
                self.expr(&Expr { kind: ExprKind::Like { expr, pattern, escape: *escape, negated: false }, span: e.span });
            }
            ExprKind::Regexp { expr, pattern, negated: true } => self.call("regexp_like", &[expr, pattern]),
            ExprKind::Binary { op: BinaryOp::Xor, left, right } => {
                self.put("(");
                self.negated(left);
                self.put(" xor ");
                self.truth(right);
                self.put(")");
            }
            ExprKind::Binary { op, left, right } if opposite(*op).is_some() && !matches!(left.kind, ExprKind::Row(_)) => {
                self.binary(opposite(*op).unwrap_or(*op), left, right);
            }
            ExprKind::Function(call) if call.name.name.eq_ignore_ascii_case("isnull") && call.args.len() == 1 => {
                self.wrapped("(", &call.args[0], " is not null)");
            }
            _ if is_condition(e) => self.wrapped("(not(", e, "))"),
            _ => self.wrapped("(0 = ", e, ")"),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr<'_>, right: &Expr<'_>) {
        match op {
            BinaryOp::Xor => {
                self.put("(");
                self.truth(left);
                self.put(" xor ");
                self.truth(right);
                self.put(")");
            }
            BinaryOp::Concat => {
                let (first, mut links) = left.run_of(Run::Concat);
                if links.len() < RUN_HEIGHT_MAX {
                    return self.call("concat", &[left, right]);
                }
                // As deep as they were written MySQL's calls would not be read again.
                links.reverse();
                let operands: Vec<&Expr<'_>> = [first].into_iter().chain(links.into_iter().map(|(_, e)| e)).chain([right]).collect();
                self.call("concat", &operands);
            }
            BinaryOp::SoundsLike => {
                self.wrapped("(soundex(", left, ") = ");
                self.wrapped("soundex(", right, "))");
            }
            BinaryOp::MemberOf => {
                self.tight(left);
                self.wrapped(" member of (", right, ")");
            }
            _ => {
                if let (ExprKind::Row(a), ExprKind::Row(b), BinaryOp::Eq) = (&left.kind, &right.kind, op)
                    && a.len() == b.len()
                {
                    self.put("(");
                    for (at, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                        self.put(if at > 0 { " and " } else { "" });
                        self.binary(op, a, b);
                    }
                    self.put(")");
                    return;
                }
                if op.run() == Some(Run::Arithmetic) {
                    let (first, links) = left.run_of(Run::Arithmetic);
                    (0..=links.len()).for_each(|_| self.put("("));
                    self.tight(first);
                    for (op, right) in links.into_iter().rev().chain([(op, right)]) {
                        let _ = write!(self.out.text, " {} ", operator(op));
                        self.tight(right);
                        self.put(")");
                    }
                    return;
                }
                self.put("(");
                self.expr(left);
                let _ = write!(self.out.text, " {} ", operator(op));
                match right.kind {
                    // Predicates bind more tightly than comparisons.
                    ExprKind::InSubquery { .. } | ExprKind::Binary { op: BinaryOp::MemberOf, .. } if op.is_comparison() => self.expr(right),
                    _ => self.tight(right),
                }
                self.put(")");
            }
        }
    }

    fn is(&mut self, e: &Expr<'_>, test: IsTest, negated: bool) {
        self.put("(");
        match test {
            IsTest::Null | IsTest::Unknown => self.expr(e),
            IsTest::True | IsTest::False => self.truth(e),
        }
        self.put(if negated { " is not " } else { " is " });
        self.put(match test {
            IsTest::Null | IsTest::Unknown => "null)",
            IsTest::True => "true)",
            IsTest::False => "false)",
        });
    }

    fn in_list(&mut self, e: &Expr<'_>, list: &[Expr<'_>], negated: bool) {
        if let [only] = list {
            return self.binary(if negated { BinaryOp::Ne } else { BinaryOp::Eq }, e, only);
        }
        self.put("(");
        self.tight(e);
        self.put(if negated { " not in (" } else { " in (" });
        self.list(list);
        self.put("))");
    }

    fn between(&mut self, e: &Expr<'_>, low: &Expr<'_>, high: &Expr<'_>, negated: bool) {
        self.put("(");
        self.tight(e);
        self.put(if negated { " not between " } else { " between " });
        self.tight(low);
        self.put(" and ");
        self.tight(high);
        self.put(")");
    }

    fn shifted(&mut self, e: &Expr<'_>, amount: &Expr<'_>, unit: &str, subtract: bool) {
        self.put("(");
        self.tight(e);
        self.put(if subtract { " - interval " } else { " + interval " });
        self.wrapped("", amount, " ");
        self.put(unit);
        self.put(")");
    }

    /// Of CAST up to the type.
    fn at_time_zone(&mut self, call: &FunctionCall<'_>) {
        let [at, zone] = call.args else { return };
        self.wrapped("cast(", at, " AT TIME ZONE ");
        if let ExprKind::Literal(Literal::String(zone)) = zone.kind {
            self.quoted("", zone);
            self.put(" as ");
        }
    }

    fn case(&mut self, case: &Case<'_>) {
        self.put("(case");
        if let Some(operand) = &case.operand {
            self.wrapped(" ", operand, "");
        }
        for (when, then) in case.whens {
            self.wrapped(" when ", when, " then ");
            self.expr(then);
        }
        if let Some(otherwise) = &case.otherwise {
            self.wrapped(" else ", otherwise, "");
        }
        self.put(" end)");
    }

    fn call(&mut self, name: &str, args: &[&Expr<'_>]) {
        self.out.functions.push(name.to_owned());
        self.put(name);
        self.put("(");
        for (at, e) in args.iter().enumerate() {
            self.wrapped(if at > 0 { "," } else { "" }, e, "");
        }
        self.put(")");
    }

    fn literal(&mut self, literal: &Literal<'_>) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Bool(true) => self.put("true"),
            Literal::Bool(false) => self.put("false"),
            Literal::Int(n) => self.put(&n.to_string()),
            Literal::Decimal(text) | Literal::Float(text) => self.put(text),
            Literal::String(bytes) => self.plain_text(bytes),
            Literal::National(bytes) if self.names.is_some() => self.plain_text(bytes),
            Literal::National(bytes) => self.text(bytes, "utf8mb3"),
            Literal::Hex(bytes) | Literal::Bit(bytes) => self.hexadecimal(bytes),
            Literal::Introduced(introduced) => {
                let charset = introduced.charset.to_ascii_lowercase();
                if introduced.value.is_ascii() || charset.starts_with("utf8") {
                    self.text(introduced.value, &charset);
                } else {
                    let _ = write!(self.out.text, "_{charset} ");
                    self.hexadecimal(introduced.value);
                }
            }
            Literal::Date(bytes) => self.quoted("DATE", bytes),
            Literal::Time(bytes) => self.quoted("TIME", bytes),
            Literal::Timestamp(bytes) => self.quoted("TIMESTAMP", bytes),
        }
    }

    fn hexadecimal(&mut self, bytes: &[u8]) {
        self.put(if bytes.is_empty() { "x''" } else { "0x" });
        for byte in bytes {
            let _ = write!(self.out.text, "{byte:02x}");
        }
    }

    /// A text of the connection's character set: a view remembers that, anything else is read without a connection.
    fn plain_text(&mut self, bytes: &[u8]) {
        if self.names.is_some() && std::str::from_utf8(bytes).is_ok() {
            return self.quoted("", bytes);
        }
        self.text(bytes, self.under.charset);
    }

    /// A text with its character set. What is not ASCII is UTF-8 in the tree, whatever the connection calls it.
    fn text(&mut self, bytes: &[u8], charset: &str) {
        let charset = if bytes.is_ascii() || charset.starts_with("utf8") { charset } else { "utf8mb4" };
        if std::str::from_utf8(bytes).is_err() {
            self.put("_binary ");
            return self.hexadecimal(bytes);
        }
        self.quoted(&format!("_{charset}"), bytes);
    }

    fn quoted(&mut self, before: &str, bytes: &[u8]) {
        self.put(before);
        self.put("'");
        for c in String::from_utf8_lossy(bytes).chars() {
            match c {
                '\0' => self.put("\\0"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                '\x1a' => self.put("\\Z"),
                '\\' => self.put("\\\\"),
                '\'' => self.put("\\'"),
                c => self.out.text.push(c),
            }
        }
        self.put("'");
    }
}
