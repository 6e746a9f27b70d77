//! Whether a subquery in a select list is of an item that has an alias: then no result column is named by its text.
//!
//! Told from the text ahead, without reading tokens. Where that would take more than skipping strings and parentheses, the answer is no.

use crate::mode::SqlMode;

/// Bytes that are looked through for an alias.
const BYTES_MAX: usize = 4096;

/// Whether what an opening parenthesis is followed by is a query.
#[inline]
pub(super) fn begins_query(rest: &[u8]) -> bool {
    super::starts_with_word(rest.trim_ascii_start(), b"SELECT")
}

/// Whether the outermost of so many parentheses around `rest` is followed by an alias.
pub(super) fn is_named(rest: &[u8], mut levels: u32, mode: SqlMode) -> bool {
    let rest = &rest[..rest.len().min(BYTES_MAX)];
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        match byte {
            b'(' => levels += 1,
            b')' => levels -= 1,
            b'\'' | b'"' | b'`' => match behind_quote(rest, at, byte, mode) {
                Some(behind) => at = behind,
                None => return false,
            },
            // A comment, perhaps.
            b'#' => return false,
            b'-' | b'*' if at > 1 && matches!((rest[at - 2], byte), (b'-', b'-') | (b'/', b'*')) => return false,
            _ => {}
        }
        if levels == 0 {
            return begins_alias(&rest[at..]);
        }
    }
    false
}

/// What is behind the quotation mark that ends what began with one; of a mark that is doubled the second one begins what follows. `None` where there is none.
fn behind_quote(rest: &[u8], from: usize, quote: u8, mode: SqlMode) -> Option<usize> {
    let is_string = quote == b'\'' || quote == b'"' && !mode.has(SqlMode::ANSI_QUOTES);
    let escapes = is_string && !mode.has(SqlMode::NO_BACKSLASH_ESCAPES);
    let mut at = from;
    loop {
        match rest.get(at)? {
            b'\\' if escapes => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Whether a text begins with an alias that can be nothing else.
fn begins_alias(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    rest.first() == Some(&b'`') || super::starts_with_word(rest, b"AS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rest: &str, levels: u32, expect: bool) {
        assert!(begins_query(rest.as_bytes()), "{rest}");
        assert_eq!(is_named(rest.as_bytes(), levels, SqlMode::default()), expect, "{rest}");
    }

    #[test]
    fn an_alias_is_found_behind_the_outermost_parenthesis() {
        check("SELECT 1) AS x", 1, true);
        check(" select 1 )as`x`", 1, true);
        check("SELECT 1) `x`", 1, true);
        check("SELECT 1), 0) AS x", 2, true);
        check("SELECT ')', `)`, \")\" FROM (SELECT 'it''s)' AS a) t) AS x", 1, true);
        check("SELECT 1) x", 1, false);
        check("SELECT 1), 2 AS x", 1, false);
        check("SELECT 1) + 1 AS x", 1, false);
        check("SELECT 1) ASC", 1, false);
        check("SELECT 1 AS x", 1, false);
        check("SELECT 'a\\')') AS y", 1, true);
        check("SELECT `a\\`) AS y", 1, true);
        check("SELECT 'open) AS x", 1, false);
        check("SELECT 1 /* ) */) AS x", 1, false);
        check("SELECT 1 -- )\n) AS x", 1, false);
        check("SELECT 1 # )\n) AS x", 1, false);
        check(&format!("SELECT {}) AS x", "1 + ".repeat(BYTES_MAX)), 1, false);
        assert!(!begins_query(b"SELECTED) AS x"));
        assert!(is_named(b"SELECT 'a\\') AS y", 1, SqlMode::NO_BACKSLASH_ESCAPES));
        assert!(is_named(b"SELECT \"a\\\") AS y", 1, SqlMode::ANSI_QUOTES));
    }
}
