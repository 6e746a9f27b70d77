//! Strings used as numbers that say none, or more than one: error 1292 where a strict statement changes rows, else at most a warning.
//!
//! Batches evaluate nothing that warns: a chunk with such a value is left to the evaluator, row by row.

use crate::convert;
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::{SqlError, codes};
use planner::expr::{Expr, ExprKind};
use planner::plan::{Body, Plan};
use planner::typing::is_told_once;
use std::borrow::Cow;
use types::{Charset, SqlMode, Value};

/// What a plan is to tell before it runs: texts that its rows are compared with as numbers and that are none. The other result: whether the first of
/// them fails it.
pub fn odd_number_texts(plan: &Plan, params: &[Value], mode: SqlMode) -> (Vec<SqlError>, bool) {
    let texts = plan.number_texts.iter().filter_map(|text| {
        let value = match &text.text.kind {
            ExprKind::Literal(value) => value,
            ExprKind::Param(n) => params.get(*n as usize)?,
            _ => return None,
        };
        match value {
            Value::Bytes(shown) if convert::is_odd_number(value) => {
                Some(codes::truncated_wrong_value(text.kind, String::from_utf8_lossy(shown)))
            }
            _ => None,
        }
    });
    (texts.collect(), changes_strictly(plan, mode))
}

/// The parameters; those that are texts beside columns of whole numbers or decimals are the numbers that they say.
#[inline]
pub fn with_numbers<'p>(plan: &Plan, params: &'p [Value]) -> Cow<'p, [Value]> {
    match plan.exact_params.iter().any(|(n, _)| matches!(params.get(*n as usize), Some(Value::Bytes(_)))) {
        true => Cow::Owned(numbers_of(plan, params)),
        false => Cow::Borrowed(params),
    }
}

#[cold]
fn numbers_of(plan: &Plan, params: &[Value]) -> Vec<Value> {
    let mut params = params.to_vec();
    for (n, decimal) in &plan.exact_params {
        if let Some(param) = params.get_mut(*n as usize)
            && let Value::Bytes(said) = param
            && let Some(number) = types::number_operand(said, *decimal)
        {
            *param = number;
        }
    }
    params
}

/// Whether a plan is of an INSERT, UPDATE or DELETE in strict mode without IGNORE: what is a warning elsewhere fails it, wherever in the statement.
fn changes_strictly(plan: &Plan, mode: SqlMode) -> bool {
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

    /// A text was cut to be a number of this kind.
    #[cold]
    pub fn truncated(&mut self, kind: &str, text: &[u8]) -> Result<()> {
        let shown = String::from_utf8_lossy(text);
        let error = codes::truncated_wrong_value(kind, &shown);
        if self.changes_strictly() {
            return Err(error.into());
        }
        self.warn(error.code, error.message);
        Ok(())
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

    /// Notes a value that is no number of this kind, if it is none.
    pub fn odd_number(&mut self, kind: &str, v: &Value) -> Result<()> {
        match v {
            Value::Bytes(text) if convert::is_odd_number(v) => self.truncated(kind, text),
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

    /// The same where an empty string is none, either, unless a double is wanted.
    #[inline]
    pub fn demand_number(&mut self, kind: &str, v: &Value) -> Result<()> {
        match v {
            Value::Bytes(text) if text.is_empty() && kind != "DOUBLE" => self.truncated(kind, text),
            Value::Bytes(_) => self.odd_number(kind, v),
            _ => Ok(()),
        }
    }

    /// What is wrong with a text that is compared with a number or with a date and is none. With a date, `constant` texts are errors always.
    #[inline]
    pub fn odd_operand(&self, x: &Value, y: &Value, constant: bool) -> Option<Oddity> {
        match (x, y) {
            (Value::Bytes(_), Value::Bytes(_)) => None,
            (Value::Bytes(text), other) | (other, Value::Bytes(text)) => self.oddity(text, other, constant),
            _ => None,
        }
    }

    #[cold]
    fn oddity(&self, text: &[u8], other: &Value, constant: bool) -> Option<Oddity> {
        let shown = || String::from_utf8_lossy(text).into_owned();
        match other {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
                let odd = convert::is_odd_number(&Value::from(text));
                odd.then(|| Oddity { error: codes::truncated_wrong_value("DOUBLE", shown()), fatal: false, strict: true })
            }
            Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_) => {
                if types::parse_datetime(text, if constant { self.context.sql_mode() } else { SqlMode::NONE }).is_some() {
                    return None;
                }
                let error = match other {
                    Value::Date(_) if constant => codes::wrong_value("DATE", shown()),
                    Value::Date(_) => codes::truncated_wrong_value("date", shown()),
                    Value::DateTime(_) if constant => codes::wrong_value("DATETIME", shown()),
                    _ if constant => codes::wrong_value("TIMESTAMP", shown()),
                    _ => SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, format!("Incorrect datetime value: '{}'", shown())),
                };
                Some(Oddity { error, fatal: constant, strict: false })
            }
            _ => None,
        }
    }

    /// Tells of an odd operand, if it is one.
    #[inline]
    pub fn tell_odd(&mut self, odd: Option<Oddity>) -> Result<()> {
        match odd {
            None => Ok(()),
            Some(odd) if odd.fatal || odd.strict && self.changes_strictly() => Err(odd.error.into()),
            Some(odd) => {
                self.warn(odd.error.code, odd.error.message);
                Ok(())
            }
        }
    }

    /// Tells of a value and an end of the range that it is looked for in.
    #[inline]
    pub fn note_bound(&mut self, v: &Value, of: &Expr, end: &Value, of_end: &Expr) -> Result<()> {
        match (v, end) {
            (Value::Bytes(_), Value::Bytes(_)) => Ok(()),
            (_, Value::Bytes(_)) if is_told_once(of_end, of) => Ok(()),
            _ => self.note_pair(v, end),
        }
    }

    /// Tells of a pair of values that are compared where nothing is an error by itself.
    #[inline]
    pub fn note_pair(&mut self, x: &Value, y: &Value) -> Result<()> {
        let odd = self.odd_operand(x, y, false);
        self.tell_odd(odd)
    }
}

/// What is wrong with an operand.
pub struct Oddity {
    error: SqlError,
    /// An error in every statement.
    fatal: bool,
    /// An error in a statement that changes rows strictly.
    strict: bool,
}
