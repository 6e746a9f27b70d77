//! Strings used as numbers that say none, or more than one: error 1292 where a strict statement changes rows, else at most a warning.
//!
//! Batches evaluate nothing that warns: a chunk with such a value is left to the evaluator, row by row.

use crate::convert;
use crate::exec::Exec;
use crate::odd_constant::{no_moment_for, wrong_moment};
use crate::run::Result;
use mysql_error::{SqlError, codes};
use planner::explain::Names;
use planner::expr::{Expr, ExprKind};
use planner::plan::{Body, Plan};
use planner::typing::{is_told_once, says_nothing_as_number};
use std::cmp::Ordering;
use types::{Charset, Collation, Decimal, SqlMode, TypeKind, Value};

/// Whether a plan is of an INSERT, UPDATE or DELETE in strict mode without IGNORE: what is a warning elsewhere fails it, wherever in the statement.
pub fn changes_strictly(plan: &Plan, mode: SqlMode) -> bool {
    let ignore = match &plan.body {
        Body::Query(_) => return false,
        Body::Insert(insert) => insert.ignore,
        Body::Update(update) => update.ignore,
        Body::Delete(delete) => delete.ignore,
    };
    !ignore && mode.is_strict()
}

impl Exec<'_> {
    /// Whether this is an INSERT, UPDATE or DELETE in strict mode without IGNORE: what is a warning elsewhere fails it, wherever in the statement.
    pub fn changes_strictly(&self) -> bool {
        changes_strictly(self.plan, self.context.sql_mode())
    }

    /// The 64 bits of a value for bit operators and their like: of a text those of the integer at its start, of a decimal past BIGINT those of its end.
    pub fn bits_of(&mut self, v: &Value) -> Result<u64> {
        match v {
            Value::Bytes(text) => {
                let (bits, clean) = convert::integer_prefix(text, true);
                if !clean {
                    self.truncated("INTEGER", text)?;
                }
                Ok(bits)
            }
            Value::Decimal(d) => self.whole_of(d).map(i64::cast_unsigned),
            other => Ok(convert::to_u64(other, &*self.context)),
        }
    }

    /// A decimal as an integer.
    pub fn whole_of(&mut self, d: &Decimal) -> Result<i64> {
        match d.to_i64() {
            Ok(whole) => Ok(whole),
            Err(end) => {
                let mut shown = Vec::new();
                d.write_to(&mut shown);
                self.truncated("DECIMAL", &shown)?;
                Ok(end)
            }
        }
    }

    /// An argument's 64 bits; `None` for NULL.
    pub fn bits_arg(&mut self, e: &Expr) -> Result<Option<u64>> {
        let v = self.eval(e)?;
        if v.is_null() { Ok(None) } else { self.bits_of_operand(&v, e).map(Some) }
    }

    /// [`Exec::bits_of`] what an expression gave.
    pub fn bits_of_operand(&mut self, v: &Value, of: &Expr) -> Result<u64> {
        match v {
            Value::Bytes(text) if says_nothing_as_number(of) => Ok(convert::integer_prefix(text, true).0),
            _ => self.bits_of(v),
        }
    }

    /// A text was cut to be a number of this kind.
    #[cold]
    pub fn truncated(&mut self, kind: &str, text: &[u8]) -> Result<()> {
        let shown = convert::shown_text(text);
        self.tell(codes::truncated_wrong_value(kind, &shown))
    }

    /// A cast to `length` characters or bytes has cut a text.
    #[cold]
    pub fn cut_by_cast(&mut self, charset: Charset, length: u32, kept: &[u8], text: &[u8]) -> Result<()> {
        // MySQL counts the bytes that it keeps, in their own character set.
        let (kind, shown) = match charset {
            Charset::Binary => (format!("BINARY({length})"), convert::shown_bytes(text).into_bytes()),
            charset if charset.is_utf8_bytes() => (format!("CHAR({})", kept.len()), text.to_vec()),
            _ => (format!("CHAR({length})"), text.to_vec()),
        };
        self.truncated(&kind, &shown)
    }

    /// Notes what an expression gave and is no number of this kind, if it is none.
    pub fn odd_number(&mut self, kind: &str, v: &Value, of: &Expr) -> Result<()> {
        match v {
            Value::Bytes(text) if convert::is_odd_number(v) && (kind == "DECIMAL" || !says_nothing_as_number(of)) => {
                self.truncated(kind, text)
            }
            _ => Ok(()),
        }
    }

    /// Bytes as text; NULL with a warning where they are none.
    pub fn text_of_bytes(&mut self, bytes: &[u8]) -> Result<Value> {
        if let Err(error) = std::str::from_utf8(bytes) {
            let bad = &bytes[error.valid_up_to()..];
            let shown: String = bad.iter().take(6).map(|byte| format!("{byte:02X}")).collect();
            self.warn(1300, format!("Invalid utf8mb4 character string: '{shown}'"));
            return Ok(Value::Null);
        }
        Ok(Value::from(bytes))
    }

    /// Notes what an expression gave and is no double.
    #[inline]
    pub fn demand_double(&mut self, v: &Value, of: &Expr) -> Result<()> {
        if matches!(v, Value::Bytes(_)) { self.odd_number("DOUBLE", v, of) } else { Ok(()) }
    }

    /// Notes a text that is cast to a decimal, or divided as one, and is none. An empty one is none, either.
    #[inline]
    pub fn demand_decimal_of(&mut self, v: &Value, of: &Expr) -> Result<()> {
        match v {
            Value::Bytes(text) if convert::is_odd_number(v) || text.trim_ascii().is_empty() => self.no_decimal(text, of),
            _ => Ok(()),
        }
    }

    /// As MySQL: of what is no literal it is told by another number where it does not even begin with a decimal, and then only, if it is computed or long.
    #[cold]
    fn no_decimal(&mut self, text: &[u8], of: &Expr) -> Result<()> {
        let literal = match of.kind {
            ExprKind::Literal(_) => true,
            ExprKind::Param(_) => self.plan.lifted,
            _ => false,
        };
        let parsed = Decimal::parse(text);
        if parsed.consumed == 0 && !literal {
            self.tell(codes::truncated_wrong_value_for_field("DECIMAL", "0", "", -1))?;
        }
        let is_held = matches!(of.kind, ExprKind::Slot(_) | ExprKind::UserVariable(_) | ExprKind::Param(_)) && !of.ty.kind.is_blob();
        if literal || is_held || parsed.overflow { self.truncated("DECIMAL", text) } else { Ok(()) }
    }

    /// Notes a text that is added up and is no number.
    #[inline]
    pub fn demand_addend(&mut self, v: &Value, of: &Expr, distinct: bool) -> Result<()> {
        match v {
            Value::Bytes(_) if distinct => self.odd_distinct(v),
            Value::Bytes(_) => self.odd_number("DOUBLE", v, of),
            _ => Ok(()),
        }
    }

    /// The same of values that are kept apart first: MySQL stores them as DOUBLE.
    #[cold]
    fn odd_distinct(&mut self, v: &Value) -> Result<()> {
        let Value::Bytes(text) = v else { return Ok(()) };
        if !convert::is_odd_number(v) && !text.trim_ascii().is_empty() {
            return Ok(());
        }
        self.tell(codes::truncated_wrong_value_for_field("DOUBLE", convert::shown_text(text), "", 1))
    }

    /// Notes a value that is no decimal. An empty string is none, either.
    #[inline]
    pub fn demand_decimal(&mut self, v: &Value) -> Result<()> {
        match v {
            Value::Bytes(text) if text.is_empty() || convert::is_odd_number(v) => self.truncated("DECIMAL", text),
            _ => Ok(()),
        }
    }

    /// What is wrong with a text, which `of` gave, that is compared with a number or with a date and is none. `alone`: with nothing else, so that a constant may be judged by itself.
    #[inline]
    pub fn odd_operand(&self, (text, of): (&Value, &Expr), other: (&Value, &Expr), alone: bool) -> Option<Oddity> {
        match text {
            Value::Bytes(said) => self.oddity(said, of, other, alone),
            _ => None,
        }
    }

    /// The same of a value and a member of a list: `alone` is about the member.
    #[inline]
    pub fn odd_pair(&self, v: &Value, of_v: &Expr, member: &Value, of_member: &Expr, alone: bool) -> Option<Oddity> {
        match (v, member) {
            (Value::Bytes(_), Value::Bytes(_)) => None,
            (Value::Bytes(_), _) => self.odd_operand((v, of_v), (member, of_member), false),
            _ => self.odd_operand((member, of_member), (v, of_v), alone),
        }
    }

    /// Whether something may be to be told of a pair of values. `constant`: one of them is.
    pub fn may_be_odd(&self, x: &Value, y: &Value, constant: bool) -> bool {
        let ((Value::Bytes(text), other) | (other, Value::Bytes(text))) = (x, y) else { return false };
        match other {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
                convert::is_odd_number(&Value::from(&text[..]))
            }
            Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => {
                !is_whole_moment(text, if constant { SqlMode::NONE } else { self.context.sql_mode() })
                    || constant && types::parse_datetime(text, self.context.sql_mode()).is_none()
            }
            _ => false,
        }
    }

    /// By what a text is to be judged that is compared with a date.
    fn judged(&self, of: &Expr, alone: bool) -> Judged {
        match alone && of.is_constant() {
            false => Judged::Leniently,
            true if self.plan.lifted || !of.any(&mut |e| matches!(e.kind, ExprKind::Param(_))) => Judged::AsLiteral,
            true => Judged::AsParameter,
        }
    }

    #[cold]
    fn oddity(&self, text: &[u8], of: &Expr, (other, of_other): (&Value, &Expr), alone: bool) -> Option<Oddity> {
        let shown = || convert::shown_text(text).into_owned();
        match other {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
                let odd = convert::is_odd_number(&Value::from(text)) && !says_nothing_as_number(of);
                odd.then(|| Oddity { error: codes::truncated_wrong_value("DOUBLE", shown()), fatal: false, strict: true, unknown: false })
            }
            Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => {
                let judged = self.judged(of, alone);
                let literal = judged == Judged::AsLiteral;
                let fits = match judged {
                    Judged::AsLiteral => types::parse_datetime(text, self.context.sql_mode()).is_some(),
                    Judged::AsParameter => types::parse_datetime(text, SqlMode::NONE).is_some(),
                    // One constant of several may be a zero.
                    Judged::Leniently => is_whole_moment(text, if of.is_settled() { SqlMode::NONE } else { self.context.sql_mode() }),
                };
                if fits {
                    return None;
                }
                let cut = types::parse_datetime_full(text, SqlMode::NONE).filter(|parsed| parsed.truncated);
                let error = match other {
                    _ if literal && self.changes_strictly() => self.no_moment(&shown(), other, of_other),
                    _ if let Some(cut) = cut
                        && judged == Judged::Leniently =>
                    {
                        codes::truncated_wrong_value(if cut.has_time { "datetime" } else { "date" }, shown())
                    }
                    Value::Date(_) if literal => wrong_moment(TypeKind::Date, &shown()),
                    Value::Date(_) => codes::truncated_wrong_value("date", shown()),
                    Value::DateTime(_) if literal => wrong_moment(TypeKind::DateTime, &shown()),
                    _ if literal => wrong_moment(TypeKind::Timestamp, &shown()),
                    _ => SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{}'", shown())),
                };
                let bound = judged == Judged::AsParameter;
                Some(Oddity { error, fatal: literal, strict: true, unknown: bound })
            }
            _ => None,
        }
    }

    /// A literal that is no date, where a strict statement changes rows: MySQL's words are those of storing it there.
    fn no_moment(&self, shown: &str, other: &Value, of_other: &Expr) -> SqlError {
        let kind = if matches!(other, Value::Date(_)) { "date" } else { "datetime" };
        match of_other.kind {
            ExprKind::Slot(slot) if let Some(column) = Names::of(self.plan).column(slot) => no_moment_for(kind, shown, column),
            _ => codes::truncated_wrong_value(kind, shown),
        }
    }

    /// Whether a member of a list is the one before it, lifted again: lists of about the same length share a plan ([`parser::PADDED_MIN`]). What is odd of it was told.
    #[cold]
    pub fn is_listed_again(&self, list: &[Expr], at: usize) -> bool {
        self.plan.lifted
            && at >= parser::PADDED_MIN as usize
            && matches!((self.leaf(&list[at - 1]), self.leaf(&list[at])), (Some(before), Some(member)) if before == member)
    }

    /// Tells of an odd operand, if it is one. Whether nothing is known of how it compares.
    #[inline]
    pub fn tell_odd(&mut self, odd: Option<Oddity>) -> Result<bool> {
        match odd {
            None => Ok(false),
            Some(odd) if odd.fatal || odd.strict && self.changes_strictly() => Err(odd.error.into()),
            Some(odd) => {
                self.warn(odd.error.code, odd.error.message);
                Ok(odd.unknown)
            }
        }
    }

    /// Tells of texts that are no dates among two rows, as far as these are compared: to the first pair that is not equal.
    pub fn note_moments_in_rows(&mut self, a: (&[Value], &[Expr]), b: (&[Value], &[Expr]), collations: &[Collation]) -> Result<()> {
        let is_text_beside_moment = |x: &Value, y: &Value| match (x, y) {
            (Value::Bytes(_), other) | (other, Value::Bytes(_)) => {
                matches!(other, Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_))
            }
            _ => false,
        };
        for ((x, of_x), ((y, of_y), collation)) in a.0.iter().zip(a.1).zip(b.0.iter().zip(b.1).zip(collations)) {
            if is_text_beside_moment(x, y) {
                self.note_pair(x, of_x, y, of_y)?;
            }
            if convert::compare(x, y, *collation, &*self.context) != Some(Ordering::Equal) {
                break;
            }
        }
        Ok(())
    }

    /// Tells of a value and an end of the range that it is looked for in.
    #[inline]
    pub fn note_bound(&mut self, v: &Value, of: &Expr, end: &Value, of_end: &Expr) -> Result<()> {
        match (v, end) {
            (Value::Bytes(_), Value::Bytes(_)) => Ok(()),
            (_, Value::Bytes(_)) if is_told_once(of_end, of) => Ok(()),
            (Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_), Value::Bytes(text)) if of_end.is_constant() => {
                let odd = self.odd_pair(v, of, end, of_end, false);
                let named = |odd: Oddity| Oddity { error: self.no_moment(&convert::shown_text(text), v, of), ..odd };
                let odd = odd.map(named);
                self.tell_odd(odd).map(drop)
            }
            _ => self.note_pair(v, of, end, of_end),
        }
    }

    /// Tells of a pair of values that are compared where nothing is an error by itself.
    #[inline]
    pub fn note_pair(&mut self, x: &Value, of_x: &Expr, y: &Value, of_y: &Expr) -> Result<()> {
        let odd = self.odd_pair(x, of_x, y, of_y, false);
        self.tell_odd(odd).map(drop)
    }
}

/// Whether a text is a date, or a moment, to its end. Almost all that are asked for are.
fn is_whole_moment(text: &[u8], mode: SqlMode) -> bool {
    types::parse_datetime_full(text, mode).is_some_and(|parsed| !parsed.truncated)
}

/// By what a text is judged that is compared with a date.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    /// A literal that is none fails every statement, as does a zero where the mode has none.
    AsLiteral,
    /// Nothing is known of what a client bound and is none.
    AsParameter,
    /// It is compared as zero.
    Leniently,
}

/// What is wrong with an operand.
pub struct Oddity {
    error: SqlError,
    /// An error in every statement.
    fatal: bool,
    /// An error in a statement that changes rows strictly.
    strict: bool,
    /// It is no moment at all: nothing is known of how it compares.
    unknown: bool,
}
