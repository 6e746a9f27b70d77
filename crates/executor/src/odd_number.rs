//! Strings used as numbers that say none, or more than one: error 1292 where a strict statement changes rows, else at most a warning.
//!
//! Arithmetic and casts to integers warn in every statement, as MySQL does. Comparisons, truth and arguments of functions say something only where it is
//! an error: batches judge those expressions harmless and evaluate them with no warnings.

use crate::convert;
use crate::exec::Exec;
use crate::run::Result;
use mysql_error::codes;
use planner::plan::Body;
use types::Value;

impl Exec<'_> {
    /// Whether this is an INSERT, UPDATE or DELETE in strict mode without IGNORE: what is a warning elsewhere fails it, wherever in the statement.
    pub fn changes_strictly(&self) -> bool {
        let ignore = match &self.plan.body {
            Body::Query(_) => return false,
            Body::Insert(insert) => insert.ignore,
            Body::Update(update) => update.ignore,
            Body::Delete(delete) => delete.ignore,
        };
        !ignore && self.context.sql_mode().is_strict()
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

    /// Notes a value that is no number of this kind, if it is none.
    pub fn odd_number(&mut self, kind: &str, v: &Value) -> Result<()> {
        match v {
            Value::Bytes(text) if convert::is_odd_number(v) => self.truncated(kind, text),
            _ => Ok(()),
        }
    }

    /// An error where a strict statement changes rows and the value is no number.
    #[inline]
    pub fn demand_number(&mut self, kind: &str, v: &Value) -> Result<()> {
        if matches!(v, Value::Bytes(_)) && self.changes_strictly() { self.odd_number(kind, v) } else { Ok(()) }
    }

    /// The text that is compared with a number and is none, where that is an error.
    #[inline]
    pub fn odd_operand(&self, x: &Value, y: &Value) -> Option<Vec<u8>> {
        if matches!(self.plan.body, Body::Query(_)) {
            return None;
        }
        let is_number = |v: &Value| matches!(v, Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_));
        let text = match (x, y) {
            (text @ Value::Bytes(_), number) | (number, text @ Value::Bytes(_)) if is_number(number) => text,
            _ => return None,
        };
        match text {
            Value::Bytes(bytes) if self.changes_strictly() && convert::is_odd_number(text) => Some(bytes.to_vec()),
            _ => None,
        }
    }
}
