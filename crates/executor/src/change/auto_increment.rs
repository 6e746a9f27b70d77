//! AUTO_INCREMENT values of one INSERT.
//!
//! How they are taken from the table's counter is `innodb_autoinc_lock_mode`'s matter:
//!
//! | Mode | rows known ("simple") | INSERT … SELECT, LOAD DATA ("bulk") |
//! |---|---|---|
//! | 0 | AUTO-INC lock to the end; one value a row, taken when the row is in | the same |
//! | 1 | as many values as rows, at once; behind an AUTO-INC lock of others | AUTO-INC lock to the end; 1, 2, 4 … values at a time |
//! | 2 | as many values as rows, at once | 1, 2, 4 … values at a time |

use crate::context::{AutoIncrementSettings, FORCED, StatementContext};
use crate::run::Result;
use catalog::TableEntry;
use mysql_error::SqlError;
use types::{ColumnType, SqlMode, TypeKind, Value};

/// Values that a bulk insert takes at once at most.
const BULK_MAX: u64 = 65_535;

/// What is known of the rows of an INSERT before the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// VALUES of so many rows.
    Known(u64),
    /// From a query or a file.
    Bulk,
}

/// The values that a statement has reserved of its table's counter.
pub(crate) struct AutoIncrement {
    /// The next one reserved, and how many are left.
    reserved: (u64, u64),
    /// How many to reserve next.
    next_count: u64,
    bulk: bool,
    /// Values were reserved for the rows to come, whose number is known.
    has_begun: bool,
    /// Values are read off the counter, which the rows themselves move: mode 0.
    one_by_one: bool,
    /// The AUTO-INC lock is this statement's, to be given back at its end.
    locked: bool,
}

impl AutoIncrement {
    /// Nothing reserved yet.
    pub fn new(rows: Rows) -> AutoIncrement {
        let (next_count, bulk) = match rows {
            Rows::Known(count) => (count.max(1), false),
            Rows::Bulk => (1, true),
        };
        AutoIncrement { reserved: (0, 0), next_count, bulk, has_begun: false, one_by_one: false, locked: false }
    }

    /// Before the first row: takes the AUTO-INC lock where the mode asks for it. [`AutoIncrement::end`] must follow, whatever happens.
    #[inline]
    pub fn begin(&mut self, entry: &TableEntry, session: &mut engine::Session, context: &dyn StatementContext) -> Result<()> {
        match context.auto_increment().lock_mode {
            2 => Ok(()),
            mode => self.lock(mode, entry, session, context),
        }
    }

    #[cold]
    fn lock(&mut self, mode: u8, entry: &TableEntry, session: &mut engine::Session, context: &dyn StatementContext) -> Result<()> {
        if mode & FORCED != 0 {
            // What follows the first value follows it for as long as the statement goes on; the rows move the counter.
            self.reserved = (context.insert_id(), u64::MAX);
        }
        let mode = mode & !FORCED;
        if mode == 2 {
            return Ok(());
        }
        if mode == 0 || self.bulk || session.is_auto_increment_locked(&entry.storage) {
            self.locked = session.lock_auto_increment(&entry.storage)?;
        }
        Ok(())
    }

    /// The statement is done, or has failed.
    #[inline]
    pub fn end(&mut self, entry: &TableEntry, session: &mut engine::Session) {
        if std::mem::take(&mut self.locked) {
            session.unlock_auto_increment(&entry.storage);
        }
    }

    /// The row that was given this value did not go in: the next one gets it.
    #[cold]
    pub fn not_inserted(&mut self, entry: &TableEntry, id: u64) {
        if self.one_by_one && self.bulk {
            // MySQL gives these values up.
        } else if self.one_by_one {
            // The failed row has moved the counter, and nobody else has: they wait for the lock.
            entry.storage.take_back_auto_increment(id);
        } else {
            self.reserved = (id, self.reserved.1 + 1);
        }
    }

    /// A row is done. Those before the first that got a value count as still to come, as in MySQL.
    pub fn row_done(&mut self) {
        if self.has_begun {
            self.next_count = self.next_count.saturating_sub(1).max(1);
        }
    }

    /// Whether a row with this value gets one off the table's counter, which rows move that are to go in before it.
    pub fn reads_counter(&self, value: &Value, context: &dyn StatementContext) -> bool {
        let asks = match value {
            Value::Null => true,
            Value::Int(0) | Value::UInt(0) => !context.sql_mode().contains(SqlMode::NO_AUTO_VALUE_ON_ZERO),
            _ => false,
        };
        asks && (self.reserved.1 == 0 || context.auto_increment().lock_mode == 0)
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
                // The row moves the counter when it is in; in a series further than by one.
                let AutoIncrementSettings { increment, offset, .. } = context.auto_increment();
                if increment > 1 {
                    entry.storage.note_in_series(given as u64, increment, offset);
                }
                // What was reserved below it is not used any more: later rows come after it.
                if given as u64 >= self.reserved.0 {
                    self.reserved = (0, 0);
                }
            }
            return Ok(None);
        }
        let AutoIncrementSettings { increment, offset, lock_mode } = context.auto_increment();
        if lock_mode == 0 {
            self.one_by_one = true;
            // Nobody else takes values meanwhile. The row itself moves the counter, when it is in.
            self.reserved = (entry.storage.peek_auto_increment(increment, offset), 1);
        } else if self.reserved.1 == 0 {
            self.reserved = (entry.storage.next_auto_increment(self.next_count, increment, offset), self.next_count);
            self.has_begun = !self.bulk;
            if self.bulk {
                self.next_count = (self.next_count * 2).min(BULK_MAX);
            }
        }
        let id = self.reserved.0;
        self.reserved = (id.saturating_add(increment), self.reserved.1 - 1);
        Ok(Some((id, counter_value(&entry.def.columns[at].ty, id)?)))
    }
}

/// A number of the counter as a value of its column; an error when the column cannot hold it.
pub fn counter_value(ty: &ColumnType, id: u64) -> std::result::Result<Value, SqlError> {
    let max = ty.integer_range().map_or(u64::MAX as i128, |(_, high)| high);
    if i128::from(id) > max || id == u64::MAX {
        return Err(SqlError::with_message(1467, "Failed to read auto-increment value from storage engine"));
    }
    Ok(match ty.kind {
        TypeKind::Double => Value::Double(id as f64),
        TypeKind::Float => Value::Float(id as f32),
        _ if ty.unsigned => Value::UInt(id),
        _ => Value::Int(id as i64),
    })
}
