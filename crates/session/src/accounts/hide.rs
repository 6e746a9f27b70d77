//! Statements as others may see them: without their passwords.

use std::borrow::Cow;

const SECRET: &[u8] = b"<secret>";

/// Whether a text could hold a password: by its first word, so that it costs statements on rows nothing.
fn may_hold(sql: &[u8]) -> bool {
    let start = sql.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(sql.len());
    match sql[start..] {
        [first, ..] if !first.is_ascii_alphabetic() => true,
        // SELECT and SAVEPOINT are not SET.
        [b's' | b'S', second, third, ..] => second.eq_ignore_ascii_case(&b'e') && third.eq_ignore_ascii_case(&b't'),
        [b'c' | b'C' | b'a' | b'A' | b'g' | b'G' | b'p' | b'P', ..] => true,
        _ => false,
    }
}

fn contains(sql: &[u8], word: &[u8]) -> bool {
    sql.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// A statement with `<secret>` in the place of its passwords. Of a text that speaks of passwords each string that could be one goes.
#[inline]
pub(crate) fn without_secrets(sql: &[u8]) -> Cow<'_, [u8]> {
    // What most statements begin with is told at once.
    match sql {
        [b's' | b'S', b'e' | b'E', b'l' | b'L', ..]
        | [b'b' | b'B' | b'd' | b'D' | b'i' | b'I' | b'r' | b'R' | b'u' | b'U' | b'w' | b'W', ..] => Cow::Borrowed(sql),
        _ => look_for_secrets(sql),
    }
}

#[inline(never)]
fn look_for_secrets(sql: &[u8]) -> Cow<'_, [u8]> {
    if may_hold(sql) { without_secrets_anywhere(sql) } else { Cow::Borrowed(sql) }
}

/// A text that may hold several statements, as others see it: of those the first word tells nothing of what stands behind.
pub(crate) fn as_shown(sql: Vec<u8>) -> Vec<u8> {
    match if sql.contains(&b';') { without_secrets_anywhere(&sql) } else { without_secrets(&sql) } {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => sql,
    }
}

/// [`without_secrets`] of a text whose first word tells nothing.
fn without_secrets_anywhere(sql: &[u8]) -> Cow<'_, [u8]> {
    if !(contains(sql, b"identified") || contains(sql, b"password")) {
        return Cow::Borrowed(sql);
    }
    let mut out = Vec::with_capacity(sql.len());
    // The last word or sign before a string.
    let mut before: Vec<u8> = Vec::new();
    let mut at = 0;
    while at < sql.len() {
        let (end, what) = piece(sql, at);
        let text = &sql[at..end];
        at = end;
        let hides = what == Piece::String && matches!(before.as_slice(), b"BY" | b"AS" | b"=" | b"REPLACE" | b"FROM" | b"PASSWORD");
        out.extend_from_slice(if hides { SECRET } else { text });
        match what {
            Piece::Nothing => {}
            // What stands beside a secret is a part of it.
            Piece::String if hides => {}
            Piece::String => before.clear(),
            Piece::Word => before = text.to_ascii_uppercase(),
        }
    }
    Cow::Owned(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// White space, a comment, what begins or ends a comment that is read.
    Nothing,
    String,
    /// A word, a name or a sign.
    Word,
}

/// What stands there, and where it ends.
fn piece(sql: &[u8], at: usize) -> (usize, Piece) {
    let rest = &sql[at..];
    let past = |end: &[u8]| rest.windows(end.len()).position(|window| window == end).map_or(sql.len(), |before| at + before + end.len());
    let while_so = |from: usize, so: fn(&u8) -> bool| at + from + rest[from..].iter().take_while(|byte| so(byte)).count();
    match rest {
        [b'\'' | b'"', ..] => (end_of_string(sql, at), Piece::String),
        [b'`', ..] => (end_of_string(sql, at), Piece::Word),
        // A literal with a letter before it.
        [b'x' | b'X' | b'b' | b'B' | b'n' | b'N', b'\'', ..] => (end_of_string(sql, at + 1), Piece::String),
        [b'0', b'x' | b'b', ..] => (while_so(2, u8::is_ascii_alphanumeric), Piece::String),
        [b'/', b'*', b'!', ..] => (while_so(3, u8::is_ascii_digit), Piece::Nothing),
        [b'/', b'*', ..] => (past(b"*/"), Piece::Nothing),
        [b'*', b'/', ..] => (at + 2, Piece::Nothing),
        [b'#', ..] => (past(b"\n"), Piece::Nothing),
        [b'-', b'-', space, ..] if space.is_ascii_whitespace() => (past(b"\n"), Piece::Nothing),
        [byte, ..] if byte.is_ascii_whitespace() => (at + 1, Piece::Nothing),
        [byte, ..] if byte.is_ascii_alphanumeric() || *byte == b'_' => {
            (while_so(0, |byte| byte.is_ascii_alphanumeric() || *byte == b'_'), Piece::Word)
        }
        _ => (at + 1, Piece::Word),
    }
}

/// Behind the closing quote; the end of the text when there is none.
fn end_of_string(sql: &[u8], start: usize) -> usize {
    let quote = sql[start];
    let mut at = start + 1;
    while at < sql.len() {
        match sql[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote && sql.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    sql.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_behind_another_statement_is_shown() {
        let sql = b"BEGIN; CREATE USER u IDENTIFIED BY 'p'; SELECT 'x'";
        assert_eq!(String::from_utf8_lossy(&as_shown(sql.to_vec())), "BEGIN; CREATE USER u IDENTIFIED BY <secret>; SELECT 'x'");
        for shown_whole in ["SELECT 1; SELECT 'by'", "SELECT 'x' FROM t WHERE password = 'p'"] {
            assert_eq!(String::from_utf8_lossy(&as_shown(shown_whole.into())), shown_whole);
        }
    }

    #[test]
    fn no_password_is_shown() {
        for (sql, shown) in [
            ("CREATE USER 'a'@'b' IDENTIFIED BY 'p''q'", "CREATE USER 'a'@'b' IDENTIFIED BY <secret>"),
            ("alter user a identified with x as \"h\\\"\" replace 'old'", "alter user a identified with x as <secret> replace <secret>"),
            ("SET PASSWORD FOR 'a'@'%' = 'p'", "SET PASSWORD FOR 'a'@'%' = <secret>"),
            ("PREPARE s FROM 'ALTER USER a IDENTIFIED BY \"p\"'", "PREPARE s FROM <secret>"),
            ("/* x */ create user a identified by 'p", "/* x */ create user a identified by <secret>"),
            ("create user a identified by /* x */ 'p'", "create user a identified by /* x */ <secret>"),
            ("create user a identified by -- it's\n'p'", "create user a identified by -- it's\n<secret>"),
            ("create user a identified by # x\n'p'", "create user a identified by # x\n<secret>"),
            ("create user a identified by /*!80000 'p' */", "create user a identified by /*!80000 <secret> */"),
            ("create user a identified /*! by 'p'*/", "create user a identified /*! by <secret>*/"),
            ("create user `o'b` identified by 'p'", "create user `o'b` identified by <secret>"),
            ("create user `a``'` identified by 'p'", "create user `a``'` identified by <secret>"),
            ("create user a identified with y as x'6162'", "create user a identified with y as <secret>"),
            ("create user a identified with y as 0x6162, b", "create user a identified with y as <secret>, b"),
            ("create user a identified by 'p' 'q'", "create user a identified by <secret> <secret>"),
            ("create server s options (user 'u', password 'p')", "create server s options (user 'u', password <secret>)"),
            ("alter user a /* 'x */ identified by 'p'", "alter user a /* 'x */ identified by <secret>"),
            ("SELECT 'identified' AS 'password'", "SELECT 'identified' AS 'password'"),
            ("SET @a = 'x'", "SET @a = 'x'"),
        ] {
            assert_eq!(String::from_utf8_lossy(&without_secrets(sql.as_bytes())), shown);
        }
    }
}
