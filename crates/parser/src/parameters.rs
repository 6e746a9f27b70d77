//! Where the parameters of a prepared statement's text stand.

use crate::lexer::{Lexer, Tok};
use crate::mode::SqlMode;

/// Offsets of the parameters (`?`) of one statement, in their order. Those in strings, names and comments are none.
pub fn parameter_places(sql: &[u8], mode: SqlMode) -> Vec<usize> {
    let (mut lexer, mut places) = (Lexer::new(sql, mode), Vec::new());
    loop {
        let token = lexer.next();
        match token.tok {
            Tok::Eof | Tok::Bad | Tok::Semicolon => return places,
            Tok::Question => places.push(token.start as usize),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_of_the_statement_count() {
        let places = |sql: &str| parameter_places(sql.as_bytes(), SqlMode::default());
        assert_eq!(places("SELECT ?, '?', \"?\", `?` /* ? */ FROM t WHERE a=? -- ?"), [7, 47]);
        assert_eq!(places("SELECT 1"), [0; 0]);
        assert_eq!(places("SELECT ? ; SELECT ?"), [7]);
        assert_eq!(places("SELECT ? 'open ?"), [7]);
    }
}
