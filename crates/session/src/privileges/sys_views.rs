//! What the views of `sys` read. In MySQL they run by the rights of who reads them, so that SELECT on `sys` alone tells nothing of what is behind them; here
//! they are computed, and `sys_sources.txt` says what each of MySQL 9.7's reads (asked of `information_schema.VIEW_TABLE_USAGE` and `VIEW_ROUTINE_USAGE`):
//! tables of `performance_schema` by their names, views of `sys` with it, `process` for InnoDB's tables, `execute` for functions of `sys`.

use super::is_open_table;
use crate::context::Core;
use crate::virtual_tables::SYS;
use ::accounts::{Privileges, Rights};
use mysql_error::{SqlError, codes};

const SOURCES: &str = include_str!("sys_sources.txt");

/// What a view reads.
fn sources(view: &str) -> impl Iterator<Item = &'static str> {
    let line = SOURCES.lines().find_map(|line| line.strip_prefix(view)?.strip_prefix(' '));
    line.unwrap_or_default().split(' ')
}

/// Whether a view reads tables that take PROCESS, or one behind it does; `None` where rights do not suffice for what they read.
fn takes_process(rights: &Rights, view: &str) -> Option<bool> {
    let mut takes = false;
    for source in sources(view) {
        let allowed = match source.split_once('.') {
            Some((database, inner)) => {
                takes |= takes_process(rights, inner)?;
                rights.on_some_column(database, inner).has(Privileges::SELECT)
            }
            None if source == "execute" => rights.database(SYS).has(Privileges::EXECUTE),
            None if source == "process" || source.is_empty() => {
                takes |= source == "process";
                true
            }
            None => {
                const SCHEMA: &str = "performance_schema";
                is_open_table(SCHEMA, source) || rights.on_some_column(SCHEMA, source).has(Privileges::SELECT)
            }
        };
        if !allowed {
            return None;
        }
    }
    Some(takes)
}

impl Core {
    /// Refuses a view of `sys` to whom what is behind it is refused. PROCESS is the session's, whoever defined a view around it, as with InnoDB's tables.
    #[cold]
    pub(super) fn may_read_behind(&self, rights: &Rights, view: &str) -> Result<(), SqlError> {
        match takes_process(rights, view) {
            None => Err(codes::view_invalid(SYS, view)),
            Some(true) => self.require_process(),
            Some(false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_a_table_that_there_is() {
        let schema = crate::virtual_tables::database("performance_schema").expect("there");
        let sys = crate::virtual_tables::database(SYS).expect("there");
        for line in SOURCES.lines() {
            let mut words = line.split(' ');
            let view = words.next().unwrap_or_default();
            assert!(sys.table(view).is_ok(), "{view}");
            for word in words.filter(|word| !matches!(*word, "execute" | "process")) {
                let found = word.strip_prefix("sys.").map_or_else(|| schema.table(word), |inner| sys.table(inner));
                assert!(found.is_ok(), "{word} of {view}");
            }
        }
    }

    #[test]
    fn what_a_view_behind_a_view_takes_counts() {
        let mut all = Rights::default();
        all.global = Privileges::ALL_GLOBAL;
        assert_eq!(takes_process(&all, "schema_table_statistics_with_buffer"), Some(true));
        assert_eq!(takes_process(&all, "version"), Some(false));
        assert_eq!(takes_process(&Rights::default(), "version"), Some(false));
        assert_eq!(takes_process(&Rights::default(), "schema_redundant_indexes"), None);
    }
}
