//! Tables whose rows are computed when they are read (`information_schema`, `performance_schema`): what planner and executor know of them.
//!
//! The rows are made above, by the session, which implements `planner::PlanContext` (names to definitions) and
//! `executor::StatementContext` (definitions to rows). A plan holds the definition only, so rows are those of the moment of execution.

use types::{ColumnType, Value};

/// Definition of a computed table. Lives as long as the program.
#[derive(Debug)]
pub struct VirtualTableDef {
    /// Database, in lower case.
    pub database: &'static str,
    /// Name as shown.
    pub name: &'static str,
    /// Columns in the order of `SELECT *`.
    pub columns: Vec<VirtualColumn>,
    /// Positions of the string columns by whose values rows are found without making all others. Their collation compares bytes, and no
    /// value ends in spaces.
    pub keys: Vec<u32>,
    /// About how many rows there are; for the order of joins only.
    pub rows: f64,
    /// Result columns are headed by the columns' own names, whatever case the statement writes them in: what MySQL has as views.
    pub is_view: bool,
    /// It tells of what the data dictionary holds: to read it is to begin a transaction.
    pub is_dictionary: bool,
}

/// A column of a computed table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualColumn {
    /// Name as shown; compared without case.
    pub name: &'static str,
    /// Type.
    pub ty: ColumnType,
}

impl VirtualTableDef {
    /// Position of the column with this name (without case).
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
    }
}

/// What one reading of a computed table asks for. Both parts only spare work: rows and values beyond them do no harm.
#[derive(Debug, Clone, Default)]
pub struct VirtualRequest {
    /// Of each column whether its value is used; not, where nothing is said of it.
    pub columns: Vec<bool>,
    /// For each of [`VirtualTableDef::keys`]: the values that the column must have one of; `None` for any.
    pub keys: Vec<Option<Vec<String>>>,
}

impl VirtualRequest {
    /// Whether a column's value is used.
    pub fn uses(&self, column: usize) -> bool {
        self.columns.get(column).copied().unwrap_or(false)
    }

    /// Whether rows with this value of a key column are wanted.
    pub fn wants(&self, key: usize, value: &str) -> bool {
        self.values(key).is_none_or(|values| values.iter().any(|v| v == value))
    }

    /// The values of a key column that are wanted; `None` for all.
    pub fn values(&self, key: usize) -> Option<&[String]> {
        self.keys.get(key).and_then(|values| values.as_deref())
    }
}

/// A row: one value per column of the table, of the column's type.
pub type VirtualRow = Vec<Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_keys_wants_everything() {
        let all = VirtualRequest::default();
        assert!(all.wants(0, "x"));
        let some = VirtualRequest { columns: vec![false, false, true], keys: vec![None, Some(vec!["a".into()])] };
        assert!(some.wants(0, "x") && some.wants(1, "a") && !some.wants(1, "b"));
        assert!(some.uses(2) && !some.uses(1) && !some.uses(70));
    }
}
