//! The key under which the plan of a text is cached: one pass over the tokens, no allocation.
//!
//! Two texts have the same hash when they differ only in lifted literals of the same kinds (and decimals with as many digits behind the point, where an expression may round to these),
//! in how long their lists behind IN are, where these are about as long (`lift.rs`),
//! in white space and comments (outside
//! select lists, where the text names result columns), and in the case of reserved words. Hints and the `sql_mode` flags that
//! change how a text is read are part of the hash. The hash is keyed by a number drawn at process start, so that nobody can
//! make two statements collide on purpose.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::keyword::Kw;
use crate::lexer::{ESCAPED, Lexer, SPACE_BEFORE, Tok, Token};
use crate::lift::Lifter;
use crate::mode::SqlMode;
use crate::text;

/// The kind of a lifted literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LiteralKind {
    /// An integer up to `i64::MAX`.
    Int,
    /// An integer above `i64::MAX` that fits `u64`.
    UInt,
    /// A number with a point, or an integer too large for 64 bits.
    Decimal,
    /// A number with an exponent.
    Float,
    /// A string.
    String,
}

/// A lifted literal: its kind and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiftedLiteral {
    /// Its kind.
    pub kind: LiteralKind,
    /// A string with escapes or doubled quotes.
    pub escaped: bool,
    /// Of a decimal: digits behind the point, which the types of expressions over it are made of. None of one that is by itself a value of a row: it is stored as it is.
    pub scale: Option<u8>,
    /// First byte in the text, the opening quote of a string.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The value of an integer.
    pub int: u64,
}

impl LiftedLiteral {
    /// Text of the literal, for strings without the quotes but with escapes unresolved.
    #[must_use]
    pub fn text<'a>(&self, sql: &'a [u8]) -> &'a [u8] {
        let quote = usize::from(self.kind == LiteralKind::String);
        sql.get(self.start as usize + quote..(self.end as usize).saturating_sub(quote)).unwrap_or_default()
    }

    /// Appends the bytes of a string literal, escapes resolved. Error 1300 when they are not UTF-8.
    ///
    /// # Errors
    /// The literal is not UTF-8.
    pub fn write_string(&self, sql: &[u8], mode: SqlMode, out: &mut Vec<u8>) -> Result<(), crate::ParseError> {
        let inside = self.text(sql);
        text::utf8(inside).map_err(|e| *e)?;
        if self.escaped {
            let quote = sql.get(self.start as usize).copied().unwrap_or(b'\'');
            text::unescape(inside, quote, mode, |part| out.extend_from_slice(part));
        } else {
            out.extend_from_slice(inside);
        }
        Ok(())
    }
}

/// What [`fingerprint`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Key of the plan cache; meaningless unless `cacheable`.
    pub hash: u128,
    /// Whether a plan of this text may be cached and reused with other literals.
    pub cacheable: bool,
    /// Offset of what follows the statement and its semicolon; meaningless unless `cacheable`.
    pub rest: usize,
}

/// Two lanes of folded multiplication.
struct Hasher {
    a: u64,
    b: u64,
    key: [u64; 2],
}

#[inline]
fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x) * u128::from(y);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Hasher {
    #[inline]
    fn word(&mut self, word: u64) {
        self.a = fold(self.a ^ word, self.key[0]);
        self.b = fold(self.b.wrapping_add(word), self.key[1]).wrapping_add(word);
    }

    #[inline]
    fn bytes(&mut self, tag: u64, bytes: &[u8]) {
        self.word(tag | ((bytes.len() as u64) << 16));
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.word(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut last = 0u64;
            for &b in rest {
                last = (last << 8) | u64::from(b);
            }
            self.word(last);
        }
    }
}

fn key() -> [u64; 2] {
    static KEY: OnceLock<[u64; 2]> = OnceLock::new();
    *KEY.get_or_init(|| {
        let state = RandomState::new();
        [state.hash_one(1u8) | 1, state.hash_one(2u8) | 1]
    })
}

const TAG_KEYWORD: u64 = 0x100;
const TAG_LIFTED: u64 = 0x200;
const TAG_LISTED: u64 = 0x400;
const TAG_SCALE: u64 = 0x800;

/// Reads one statement of `sql`: its hash, and its literals into `params` (cleared first), in the order in which
/// [`crate::parse_parameterised`] numbers them.
pub fn fingerprint(sql: &[u8], mode: SqlMode, params: &mut Vec<LiftedLiteral>) -> Fingerprint {
    params.clear();
    let mut lexer = Lexer::new(sql, mode);
    let mut lifter = Lifter::new(mode);
    let key = key();
    let mut hasher = Hasher { a: key[1] ^ (mode.0 & SqlMode::LEXICAL), b: key[0], key };
    let mut prev = Token { tok: Tok::Eof, flags: 0, kw: Kw::NO_WORD, start: 0, end: 0 };
    loop {
        let token = lexer.next();
        match token.tok {
            Tok::Eof | Tok::Semicolon => break,
            Tok::Hint => {
                if takes_hints(prev.kw) {
                    if sets_variables(&sql[token.start as usize..token.end as usize]) {
                        return Fingerprint { hash: 0, cacheable: false, rest: 0 };
                    }
                    hasher.bytes(Tok::Hint as u64, &sql[token.start as usize..token.end as usize]);
                }
                continue;
            }
            _ => {}
        }
        let in_list = lifter.in_select_list();
        if lifter.feed(sql, &token) {
            let mut literal = lifted(sql, &token);
            hasher.word(TAG_LIFTED | literal.kind as u64);
            if let Some(scale) = literal.scale {
                if lifter.in_row() && stands_alone(sql, &token) {
                    literal.scale = None;
                } else {
                    hasher.word(TAG_SCALE | u64::from(scale));
                }
            }
            params.push(literal);
        } else if token.tok == Tok::RParen && lifter.padding > 0 {
            pad(&mut hasher, params, lifter.padding);
            hasher.word(token.tok as u64);
        } else if in_list && lifter.in_select_list() {
            listed(&mut hasher, sql, &prev, &token);
        } else if token.kw.is_reserved() {
            hasher.word(TAG_KEYWORD | ((token.kw as u64) << 16));
        } else if token.tok > Tok::AtAt && token.tok < Tok::Hint {
            hasher.word(token.tok as u64);
        } else {
            hasher.bytes(token.tok as u64, &sql[token.start as usize..token.end as usize]);
        }
        if !lifter.cacheable {
            return Fingerprint { hash: 0, cacheable: false, rest: 0 };
        }
        prev = token;
    }
    // What a version comment holds is tokens like others. One that goes on behind the statement's end is left to the parser.
    let cacheable = lifter.cacheable && prev.tok != Tok::Eof && !lexer.is_in_comment();
    Fingerprint { hash: (u128::from(hasher.a) << 64) | u128::from(hasher.b), cacheable, rest: lexer.pos }
}

/// A list ends that is taken to be longer: as if its last literal stood there so many times more.
#[cold]
fn pad(hasher: &mut Hasher, params: &mut Vec<LiftedLiteral>, times: u32) {
    let Some(&last) = params.last() else { return };
    for _ in 0..times {
        hasher.word(Tok::Comma as u64);
        hasher.word(TAG_LIFTED | last.kind as u64);
        if let Some(scale) = last.scale {
            hasher.word(TAG_SCALE | u64::from(scale));
        }
        params.push(last);
    }
}

/// Whether a literal is all that stands between commas or parentheses, but for a sign. (Where a comment stands beside it, it is taken not to be.)
#[cold]
fn stands_alone(sql: &[u8], token: &Token) -> bool {
    let before = sql[..token.start as usize].iter().rev().find(|byte| !matches!(byte, b'+' | b'-') && !byte.is_ascii_whitespace());
    let behind = sql[token.end as usize..].iter().find(|byte| !byte.is_ascii_whitespace());
    matches!(before, Some(b'(' | b',')) && matches!(behind, Some(b',' | b')'))
}

/// A token of a select list: its exact text, and the gap before it unless it stands beside a comma or SELECT.
#[inline]
fn listed(hasher: &mut Hasher, sql: &[u8], prev: &Token, token: &Token) {
    let between = token.flags & SPACE_BEFORE != 0 && prev.tok != Tok::Comma && token.tok != Tok::Comma && prev.kw != Kw::SELECT;
    if between {
        hasher.bytes(TAG_LISTED, &sql[prev.end as usize..token.start as usize]);
    }
    hasher.bytes(TAG_LISTED | token.tok as u64, &sql[token.start as usize..token.end as usize]);
}

/// What a lifted token is.
#[inline]
pub(crate) fn lifted(sql: &[u8], token: &Token) -> LiftedLiteral {
    let mut literal =
        LiftedLiteral { kind: LiteralKind::Int, escaped: token.has(ESCAPED), scale: None, start: token.start, end: token.end, int: 0 };
    literal.kind = match token.tok {
        Tok::Int => match text::int_value(&sql[token.start as usize..token.end as usize]) {
            Some(int) => {
                literal.int = int;
                if int > i64::MAX as u64 { LiteralKind::UInt } else { LiteralKind::Int }
            }
            None => {
                literal.scale = Some(0);
                LiteralKind::Decimal
            }
        },
        Tok::Decimal => {
            literal.scale = Some(scale(&sql[token.start as usize..token.end as usize]));
            LiteralKind::Decimal
        }
        Tok::Float => LiteralKind::Float,
        _ => LiteralKind::String,
    };
    literal
}

/// Digits behind the point of a decimal.
fn scale(digits: &[u8]) -> u8 {
    let behind = memchr::memchr(b'.', digits).map_or(0, |point| digits.len() - point - 1);
    behind.min(usize::from(u8::MAX)) as u8
}

/// Whether a hint sets variables, so that the statement is planned under other settings than its session's.
fn sets_variables(hint: &[u8]) -> bool {
    hint.windows(b"SET_VAR".len()).any(|word| word.eq_ignore_ascii_case(b"SET_VAR"))
}

/// Words after which a `/*+ … */` comment is a hint.
#[inline]
pub(crate) fn takes_hints(kw: Kw) -> bool {
    matches!(kw, Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE)
}
