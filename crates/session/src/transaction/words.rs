//! The texts that clients begin and end most transactions with, read without the parser.

use parser::ast::{BeginOptions, Completion, Statement};

/// Bytes of the longest of them.
pub(crate) const BYTES_MAX: usize = 17;

/// The statement of a text that is nothing but such words; `None` where the parser has to look.
pub(crate) fn read(sql: &[u8]) -> Option<Statement<'static>> {
    let is = |words: &str| sql.eq_ignore_ascii_case(words.as_bytes());
    let begin = Statement::Begin(BeginOptions { consistent_snapshot: false, read_only: None });
    match sql.len() {
        5 if is("BEGIN") => Some(begin),
        6 if is("COMMIT") => Some(Statement::Commit(Completion::default())),
        8 if is("ROLLBACK") => Some(Statement::Rollback(Completion::default())),
        BYTES_MAX if is("START TRANSACTION") => Some(begin),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_the_parser_reads_them() {
        for sql in ["BEGIN", "begin", "COMMIT", "Commit", "ROLLBACK", "rollback", "START TRANSACTION", "start transaction"] {
            let arena = parser::Bump::new();
            let parsed = parser::parse(sql.as_bytes(), parser::SqlMode::default(), &arena).expect("a statement");
            let read = read(sql.as_bytes()).expect(sql);
            assert_eq!(format!("{read:?}"), format!("{:?}", parsed.statement));
        }
    }

    #[test]
    fn other_texts_are_left_to_the_parser() {
        for sql in ["", "BEGIN;", "BEGIN WORK", "COMMIT AND CHAIN", "START\nTRANSACTIO", "START  TRANSACTION", "SELECT", "COMMITS"] {
            assert!(read(sql.as_bytes()).is_none(), "{sql}");
        }
    }
}
