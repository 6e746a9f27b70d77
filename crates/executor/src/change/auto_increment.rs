//! AUTO_INCREMENT values of one INSERT.

use crate::context::StatementContext;
use crate::run::Result;
use catalog::TableEntry;
use types::{SqlMode, TypeKind, Value};

/// The values that a statement has reserved of its table's counter.
pub(crate) struct AutoIncrement {
    /// The next one reserved, and how many are left.
    reserved: (u64, u64),
    /// Rows still expected, so that one reservation serves them.
    expected: u64,
}

impl AutoIncrement {
    /// Nothing reserved yet, for a statement of about so many rows.
    pub fn new(rows: u64) -> AutoIncrement {
        AutoIncrement { reserved: (0, 0), expected: rows.max(1) }
    }

    /// A row was inserted.
    pub fn row_done(&mut self) {
        self.expected = self.expected.saturating_sub(1).max(1);
    }

    /// Looks at the value that a row has for the AUTO_INCREMENT column `at`: generates one when it is NULL or zero; otherwise moves the counter past it.
    pub fn generate(
        &mut self,
        entry: &TableEntry,
        at: usize,
        value: &Value,
        context: &dyn StatementContext,
    ) -> Result<Option<(u64, Value)>> {
        let given = match value {
            Value::Null => None,
            Value::Int(0) | Value::UInt(0) if !context.sql_mode().contains(SqlMode::NO_AUTO_VALUE_ON_ZERO) => None,
            Value::Int(i) => Some(*i),
            Value::UInt(u) => Some(i64::try_from(*u).unwrap_or(i64::MAX)),
            Value::Double(d) => Some(*d as i64),
            Value::Float(f) => Some(*f as i64),
            _ => Some(0),
        };
        if let Some(given) = given {
            if given > 0 {
                entry.storage.note_auto_increment(given as u64);
                // What was reserved below it is not used any more: later rows come after it.
                if given as u64 >= self.reserved.0 {
                    self.reserved = (0, 0);
                }
            }
            return Ok(None);
        }
        let (increment, offset) = context.auto_increment();
        if self.reserved.1 == 0 {
            self.reserved = (entry.storage.next_auto_increment(self.expected, increment, offset), self.expected);
        }
        let id = self.reserved.0;
        self.reserved = (id.saturating_add(increment), self.reserved.1 - 1);
        let column = &entry.def.columns[at];
        let max = column.ty.integer_range().map_or(u64::MAX as i128, |(_, high)| high);
        if i128::from(id) > max || id == u64::MAX {
            return Err(mysql_error::SqlError::with_message(1467, "Failed to read auto-increment value from storage engine").into());
        }
        let value = match column.ty.kind {
            TypeKind::Double => Value::Double(id as f64),
            TypeKind::Float => Value::Float(id as f32),
            _ if column.ty.unsigned => Value::UInt(id),
            _ => Value::Int(id as i64),
        };
        Ok(Some((id, value)))
    }
}
