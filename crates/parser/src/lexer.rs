//! Bytes to tokens, without copying.
//!
//! The input only claims to be UTF-8: the lexer looks at ASCII and treats bytes from 0x80 as letters; whoever takes a token's
//! text checks it (`text.rs`). A token is 12 bytes; the lexer is a small `Copy` value, so looking ahead is a copy of it.

use crate::error::without_end;
use crate::keyword::Kw;
use crate::mode::SqlMode;

/// The version that `/*!NNNNN` comments are compared with.
const VERSION: u32 = 90_700;

/// Kinds of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Tok {
    Eof,
    /// Unterminated string or comment, or a byte no token starts with.
    Bad,
    Ident,
    Quoted,
    Keyword,
    Int,
    Decimal,
    Float,
    String,
    NString,
    Hex,
    Bit,
    /// `_charset`.
    Introducer,
    /// `@name` in any quoting.
    UserVar,
    At,
    AtAt,
    Question,
    LParen,
    RParen,
    Comma,
    Dot,
    Semicolon,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Caret,
    Tilde,
    Bang,
    Eq,
    NullEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Assign,
    Colon,
    Arrow,
    LongArrow,
    LBrace,
    RBrace,
    /// `\N`
    NullN,
    /// `/*+ … */`
    Hint,
}

/// White space or a comment stands before the token.
pub(crate) const SPACE_BEFORE: u8 = 1;
/// The string holds escapes or doubled quotes.
pub(crate) const ESCAPED: u8 = 2;
/// The literal is a parameter (set by the parser, not the lexer).
pub(crate) const LIFTED: u8 = 4;

/// A token: what, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub tok: Tok,
    pub flags: u8,
    pub kw: Kw,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub(crate) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Reads tokens from `sql`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexer<'a> {
    pub sql: &'a [u8],
    pub pos: usize,
    pub mode: SqlMode,
    in_version_comment: bool,
    after_dot: bool,
    after_name: bool,
}

const OTHER: u8 = 0;
const SPACE: u8 = 1;
const LETTER: u8 = 2;
const DIGIT: u8 = 3;
const QUOTE: u8 = 4;

static CLASS: [u8; 256] = {
    let mut class = [OTHER; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        class[i] = match b {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => SPACE,
            b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'$' | 0x80..=0xFF => LETTER,
            b'0'..=b'9' => DIGIT,
            b'\'' | b'"' | b'`' => QUOTE,
            _ => OTHER,
        };
        i += 1;
    }
    class
};

/// Bytes of words: `CLASS` reduced to one test, which the loop over a word makes for every byte.
static WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut i = 0;
    while i < 256 {
        word[i] = matches!(CLASS[i], LETTER | DIGIT);
        i += 1;
    }
    word
};

#[inline]
fn is_word(b: u8) -> bool {
    WORD[b as usize]
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(sql: &'a [u8], mode: SqlMode) -> Lexer<'a> {
        Lexer { sql, pos: 0, mode, in_version_comment: false, after_dot: false, after_name: false }
    }

    /// Whether the text is inside of a version comment.
    pub(crate) fn is_in_comment(&self) -> bool {
        self.in_version_comment
    }

    /// Goes on behind what somebody else has read: neither a name nor a dot stands before it.
    pub(crate) fn go_to(&mut self, pos: usize) {
        self.pos = pos;
        self.after_dot = false;
        self.after_name = false;
    }

    #[inline]
    fn at(&self, pos: usize) -> u8 {
        self.sql.get(pos).copied().unwrap_or(0)
    }

    #[inline]
    fn token(&mut self, tok: Tok, start: usize, end: usize, flags: u8) -> Token {
        self.pos = end;
        Token { tok, flags, kw: Kw::NO_WORD, start: start as u32, end: end as u32 }
    }

    /// The next token; `Eof` again and again at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Token {
        let mut flags = 0;
        let dot = self.after_dot;
        let name = self.after_name;
        self.after_dot = false;
        self.after_name = false;
        loop {
            let start = self.pos;
            let Some(&b) = self.sql.get(start) else {
                let bad = self.in_version_comment;
                self.in_version_comment = false;
                return self.token(if bad { Tok::Bad } else { Tok::Eof }, self.sql.len(), self.sql.len(), flags);
            };
            match CLASS[b as usize] {
                SPACE => {
                    self.pos += 1;
                    flags |= SPACE_BEFORE;
                }
                LETTER => return self.word(start, flags, dot),
                DIGIT => return self.number(start, flags, dot),
                QUOTE => return self.quoted(start, b, flags),
                _ => match self.punctuation(start, b, flags, name) {
                    Some(token) => return token,
                    None => flags |= SPACE_BEFORE,
                },
            }
        }
    }

    /// End of the run of letters and digits at `pos`.
    #[inline]
    fn word_end(&self, pos: usize) -> usize {
        let rest = self.sql.get(pos..).unwrap_or_default();
        pos + rest.iter().position(|&b| !WORD[b as usize]).unwrap_or(rest.len())
    }

    #[inline]
    fn word(&mut self, start: usize, flags: u8, after_dot: bool) -> Token {
        let first = self.sql[start];
        let end = self.word_end(start + 1);
        if after_dot {
            self.after_name = true;
            return self.token(Tok::Ident, start, end, flags);
        }
        if end == start + 1 && self.at(end) == b'\'' {
            match first {
                b'x' | b'X' => return self.radix(start, end, flags, Tok::Hex),
                b'b' | b'B' => return self.radix(start, end, flags, Tok::Bit),
                b'n' | b'N' => {
                    let mut token = self.string(end, b'\'', flags, Tok::NString);
                    token.start = start as u32;
                    return token;
                }
                _ => {}
            }
        }
        if first == b'_' && crate::text::is_charset(&self.sql[start + 1..end]) {
            return self.token(Tok::Introducer, start, end, flags);
        }
        self.after_name = true;
        let kw = Kw::find(self.sql, start, end);
        self.pos = end;
        let tok = if kw == Kw::NO_WORD { Tok::Ident } else { Tok::Keyword };
        Token { tok, flags, kw, start: start as u32, end: end as u32 }
    }

    #[inline]
    fn digits_end(&self, pos: usize) -> usize {
        let rest = self.sql.get(pos..).unwrap_or_default();
        pos + rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len())
    }

    /// A number, or an identifier that starts with digits.
    #[inline]
    fn number(&mut self, start: usize, flags: u8, after_dot: bool) -> Token {
        if after_dot {
            let end = self.word_end(start);
            self.after_name = true;
            return self.token(Tok::Ident, start, end, flags);
        }
        let digits = self.digits_end(start);
        if digits == start + 1 && self.sql[start] == b'0' {
            let (marked, ok): (bool, fn(u8) -> bool) = match self.at(digits) {
                b'x' => (true, |b| b.is_ascii_hexdigit()),
                b'b' => (true, |b| b == b'0' || b == b'1'),
                _ => (false, |_| false),
            };
            if marked {
                let end = self.word_end(digits + 1);
                if end > digits + 1 && self.sql[digits + 1..end].iter().all(|&b| ok(b)) {
                    let tok = if self.at(digits) == b'x' { Tok::Hex } else { Tok::Bit };
                    return self.token(tok, start, end, flags);
                }
            }
        }
        match self.at(digits) {
            b'.' => self.fraction(start, digits, flags),
            b'e' | b'E' => {
                let sign = usize::from(matches!(self.at(digits + 1), b'+' | b'-'));
                let end = self.digits_end(digits + 1 + sign);
                if end > digits + 1 + sign && (sign == 1 || !is_word(self.at(end))) {
                    return self.token(Tok::Float, start, end, flags);
                }
                self.digit_name(start, digits, flags)
            }
            b if b != 0 && is_word(b) => self.digit_name(start, digits, flags),
            _ => self.token(Tok::Int, start, digits, flags),
        }
    }

    fn digit_name(&mut self, start: usize, digits: usize, flags: u8) -> Token {
        let end = self.word_end(digits);
        self.after_name = true;
        self.token(Tok::Ident, start, end, flags)
    }

    /// `point` is where the decimal point stands.
    fn fraction(&mut self, start: usize, point: usize, flags: u8) -> Token {
        let digits = self.digits_end(point + 1);
        if matches!(self.at(digits), b'e' | b'E') {
            let sign = usize::from(matches!(self.at(digits + 1), b'+' | b'-'));
            let end = self.digits_end(digits + 1 + sign);
            if end > digits + 1 + sign {
                return self.token(Tok::Float, start, end, flags);
            }
        }
        self.token(Tok::Decimal, start, digits, flags)
    }

    /// `X'…'` and `B'…'`; digits are checked when the value is taken.
    fn radix(&mut self, start: usize, quote: usize, flags: u8, tok: Tok) -> Token {
        match memchr::memchr(b'\'', &self.sql[quote + 1..]) {
            Some(len) => self.token(tok, start, quote + len + 2, flags),
            None => self.token(Tok::Bad, start, self.sql.len(), flags),
        }
    }

    #[inline]
    fn quoted(&mut self, start: usize, quote: u8, flags: u8) -> Token {
        if quote == b'`' || (quote == b'"' && self.mode.has(SqlMode::ANSI_QUOTES)) {
            self.after_name = true;
            let token = self.until_quote(start, quote, flags, Tok::Quoted);
            self.after_name = token.tok == Tok::Quoted;
            return token;
        }
        self.string(start, quote, flags, Tok::String)
    }

    /// A string whose opening quote is at `open`.
    #[inline]
    fn string(&mut self, open: usize, quote: u8, mut flags: u8, tok: Tok) -> Token {
        if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) {
            return self.until_quote(open, quote, flags, tok);
        }
        let mut pos = open + 1;
        loop {
            let Some(found) = memchr::memchr2(quote, b'\\', &self.sql[pos.min(self.sql.len())..]) else {
                return self.token(Tok::Bad, open, self.sql.len(), flags);
            };
            pos += found;
            if self.sql[pos] == b'\\' || self.at(pos + 1) == quote {
                flags |= ESCAPED;
                pos += 2;
            } else {
                return self.token(tok, open, pos + 1, flags);
            }
        }
    }

    /// Text up to the closing quote, where only a doubled quote is special.
    fn until_quote(&mut self, open: usize, quote: u8, mut flags: u8, tok: Tok) -> Token {
        let mut pos = open + 1;
        loop {
            let Some(found) = memchr::memchr(quote, &self.sql[pos.min(self.sql.len())..]) else {
                return self.token(Tok::Bad, open, self.sql.len(), flags);
            };
            pos += found;
            if self.at(pos + 1) == quote {
                flags |= ESCAPED;
                pos += 2;
            } else {
                return self.token(tok, open, pos + 1, flags);
            }
        }
    }

    /// A byte that no token begins with. A zero byte that is the last ends the text: programs that count the one behind a C string to its length (mysqlslap does)
    /// are understood.
    #[cold]
    #[inline(never)]
    fn unknown(&mut self, start: usize, b: u8, flags: u8) -> Token {
        let is_end = b == 0 && !self.in_version_comment && without_end(self.sql.get(start..).unwrap_or_default()).len() == 1;
        if is_end { self.token(Tok::Eof, start, self.sql.len(), flags) } else { self.token(Tok::Bad, start, start + 1, flags) }
    }

    /// Everything else; `None` when it was a comment, which is then skipped.
    #[inline]
    fn punctuation(&mut self, start: usize, b: u8, flags: u8, after_name: bool) -> Option<Token> {
        let next = self.at(start + 1);
        let (tok, len) = match b {
            b'(' => (Tok::LParen, 1),
            b')' => (Tok::RParen, 1),
            b',' => (Tok::Comma, 1),
            b'=' => (Tok::Eq, 1),
            b'*' if self.in_version_comment && next == b'/' => {
                self.in_version_comment = false;
                self.pos = start + 2;
                return None;
            }
            b'*' => (Tok::Star, 1),
            b'.' => {
                if next.is_ascii_digit() && !(after_name && flags & SPACE_BEFORE == 0) {
                    return Some(self.fraction(start, start, flags));
                }
                self.after_dot = true;
                (Tok::Dot, 1)
            }
            b';' => (Tok::Semicolon, 1),
            b'?' => (Tok::Question, 1),
            b'+' => (Tok::Plus, 1),
            b'-' if next == b'-' && self.sql.get(start + 2).is_none_or(|&c| c <= b' ') => {
                self.line_comment(start);
                return None;
            }
            b'-' if next == b'>' && self.at(start + 2) == b'>' => (Tok::LongArrow, 3),
            b'-' if next == b'>' => (Tok::Arrow, 2),
            b'-' => (Tok::Minus, 1),
            b'#' => {
                self.line_comment(start);
                return None;
            }
            b'/' if next == b'*' => return self.comment(start, flags),
            b'/' => (Tok::Slash, 1),
            b'%' => (Tok::Percent, 1),
            b'&' if next == b'&' => (Tok::AmpAmp, 2),
            b'&' => (Tok::Amp, 1),
            b'|' if next == b'|' => (Tok::PipePipe, 2),
            b'|' => (Tok::Pipe, 1),
            b'^' => (Tok::Caret, 1),
            b'~' => (Tok::Tilde, 1),
            b'!' if next == b'=' => (Tok::Ne, 2),
            b'!' => (Tok::Bang, 1),
            b'<' if next == b'=' && self.at(start + 2) == b'>' => (Tok::NullEq, 3),
            b'<' if next == b'=' => (Tok::Le, 2),
            b'<' if next == b'>' => (Tok::Ne, 2),
            b'<' if next == b'<' => (Tok::Shl, 2),
            b'<' => (Tok::Lt, 1),
            b'>' if next == b'=' => (Tok::Ge, 2),
            b'>' if next == b'>' => (Tok::Shr, 2),
            b'>' => (Tok::Gt, 1),
            b':' if next == b'=' => (Tok::Assign, 2),
            b':' => (Tok::Colon, 1),
            b'{' => (Tok::LBrace, 1),
            b'}' => (Tok::RBrace, 1),
            b'\\' if next == b'N' => (Tok::NullN, 2),
            b'@' if next == b'@' => {
                self.after_dot = true; // What follows is a name even where it is a reserved word.
                (Tok::AtAt, 2)
            }
            b'@' => return Some(self.user_variable(start, next, flags)),
            _ => return Some(self.unknown(start, b, flags)),
        };
        Some(self.token(tok, start, start + len, flags))
    }

    fn user_variable(&mut self, start: usize, next: u8, flags: u8) -> Token {
        match next {
            b'`' => self.marked_string(start, next, flags, true),
            b'\'' | b'"' => self.marked_string(start, next, flags, false),
            _ => {
                let mut end = start + 1;
                while end < self.sql.len() && (is_word(self.sql[end]) || self.sql[end] == b'.') {
                    end += 1;
                }
                let tok = if end == start + 1 { Tok::At } else { Tok::UserVar };
                self.token(tok, start, end, flags)
            }
        }
    }

    fn marked_string(&mut self, start: usize, quote: u8, flags: u8, plain: bool) -> Token {
        let mut token = if plain {
            self.until_quote(start + 1, quote, flags, Tok::UserVar)
        } else {
            self.string(start + 1, quote, flags, Tok::UserVar)
        };
        token.start = start as u32;
        token
    }

    fn line_comment(&mut self, start: usize) {
        self.pos = match memchr::memchr(b'\n', &self.sql[start..]) {
            Some(len) => start + len + 1,
            None => self.sql.len(),
        };
    }

    fn comment(&mut self, start: usize, flags: u8) -> Option<Token> {
        let mut body = start + 2;
        match self.at(body) {
            b'!' => {
                body += 1;
                let digits = self.digits_end(body).min(body + 6) - body;
                let wanted =
                    if digits >= 5 { self.sql[body..body + digits].iter().fold(0, |n, &d| n * 10 + u32::from(d - b'0')) } else { 0 };
                if wanted <= VERSION && !self.in_version_comment {
                    self.in_version_comment = true;
                    self.pos = if digits >= 5 { body + digits } else { body };
                    return None;
                }
                self.skip_version(start, body, flags)
            }
            b'+' => match memchr::memmem::find(&self.sql[body..], b"*/") {
                Some(len) => Some(self.token(Tok::Hint, start, body + len + 2, flags)),
                None => Some(self.token(Tok::Bad, start, self.sql.len(), flags)),
            },
            _ => self.skip_comment(start, body, flags),
        }
    }

    /// A comment for another version, with the comments in it.
    #[cold]
    #[inline(never)]
    fn skip_version(&mut self, start: usize, mut body: usize, flags: u8) -> Option<Token> {
        loop {
            let find = |what: &[u8], from: usize| memchr::memmem::find(self.sql.get(from..).unwrap_or_default(), what).map(|at| from + at);
            let Some(end) = find(b"*/", body) else { return Some(self.token(Tok::Bad, start, self.sql.len(), flags)) };
            let inner = find(b"/*", body).filter(|open| *open < end);
            match inner {
                None => {
                    self.pos = end + 2;
                    return None;
                }
                Some(open) => match find(b"*/", open + 2) {
                    Some(closed) => body = closed + 2,
                    None => return Some(self.token(Tok::Bad, start, self.sql.len(), flags)),
                },
            }
        }
    }

    fn skip_comment(&mut self, start: usize, body: usize, flags: u8) -> Option<Token> {
        match memchr::memmem::find(&self.sql[body..], b"*/") {
            Some(len) => {
                self.pos = body + len + 2;
                None
            }
            None => Some(self.token(Tok::Bad, start, self.sql.len(), flags)),
        }
    }
}
