//! Which literals of a statement become parameters.
//!
//! Both the fingerprint and the parameterised parse feed the same tokens to this one state machine, so they agree by
//! construction on which literals are lifted and how they are numbered. It decides from the tokens alone. Where the grammar then
//! finds a lifted literal at a place that needs a constant, `parse_parameterised` fails and the text is parsed plainly: a literal
//! lifted in excess costs a cached plan, never a wrong answer.
//!
//! Not lifted: select lists up to their FROM (result columns are named by their text), GROUP BY and ORDER BY up to LIMIT
//! (positions, and expressions that must equal selected ones), lengths of types and of NOW(6) and its like, literals next to
//! a word that needs a constant (INTERVAL, but for whole numbers beside a date, DATE '…', COLLATE, ESCAPE, `->`, introducers, …), and the numbers of `WHERE 1 = 1` and `WHERE 1`, to which
//! programs append conditions: as parameters they would be a condition of the plan that no index helps. Hexadecimal and bit literals act as
//! strings or numbers depending on context, so a statement with one is not cacheable.

use crate::keyword::Kw;
use crate::lexer::{Tok, Token};

/// Most literals lifted from one statement; beyond, it is parsed each time.
pub const LIFTED_MAX: u32 = 128;

/// Deepest nesting of parentheses the state machine follows: one bit a level.
const DEPTH_MAX: u32 = 63;

/// State after some tokens of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifter {
    depth: u32,
    /// Bit d: a select list is open at depth d.
    list: u64,
    /// Bit d: literals at depth d stay (GROUP BY, ORDER BY, type lengths).
    fixed: u64,
    prev: Tok,
    prev_kw: Kw,
    started: bool,
    /// INSERT or REPLACE, and behind its VALUES.
    inserts: bool,
    in_rows: bool,
    /// The next literal is the second of `1 = 1`.
    equals_number: bool,
    /// INTERVAL stands beside a date, not in the frame of a window, which needs a constant.
    moves_date: bool,
    /// How many literals were lifted.
    pub count: u32,
    /// False once the statement cannot be cached.
    pub cacheable: bool,
}

impl Lifter {
    pub(crate) fn new() -> Lifter {
        Lifter {
            depth: 0,
            list: 0,
            fixed: 0,
            prev: Tok::Eof,
            prev_kw: Kw::NO_WORD,
            started: false,
            inserts: false,
            in_rows: false,
            equals_number: false,
            moves_date: false,
            count: 0,
            cacheable: true,
        }
    }

    /// Whether a select list is open, whose text names result columns.
    #[inline]
    pub(crate) fn in_select_list(&self) -> bool {
        self.list != 0
    }

    /// Whether the token that was taken last is among the values of a row of an INSERT, and of no function's arguments.
    #[inline]
    pub(crate) fn in_row(&self) -> bool {
        self.in_rows && self.depth == 1
    }

    /// Takes the next token of `sql`; says whether it is lifted.
    #[inline]
    pub(crate) fn feed(&mut self, sql: &[u8], token: &Token) -> bool {
        let mut lifted = false;
        match token.tok {
            Tok::Keyword => self.word(token.kw),
            Tok::LParen => self.open(),
            Tok::RParen => self.close(),
            Tok::Int | Tok::Decimal | Tok::Float | Tok::String => lifted = self.literal(sql, token),
            Tok::Hex | Tok::Bit | Tok::Question | Tok::Bad | Tok::NString => self.cacheable = false,
            _ => {}
        }
        // An opening parenthesis leaves the question of the verb to the word after it.
        if !self.started && token.tok != Tok::LParen {
            self.cacheable = false;
        }
        self.prev = token.tok;
        self.prev_kw = token.kw;
        lifted
    }

    #[inline]
    fn word(&mut self, kw: Kw) {
        let bit = 1u64 << self.depth;
        if !self.started {
            self.started = true;
            self.inserts = matches!(kw, Kw::INSERT | Kw::REPLACE);
            self.cacheable &= matches!(kw, Kw::SELECT | Kw::INSERT | Kw::UPDATE | Kw::DELETE | Kw::REPLACE | Kw::WITH);
        }
        match kw {
            Kw::SELECT => {
                self.list |= bit;
                self.fixed &= !bit;
            }
            Kw::FROM => self.list &= !bit,
            Kw::VALUES | Kw::VALUE => self.in_rows |= self.inserts && self.depth == 0,
            Kw::ON => self.in_rows = false,
            Kw::BY => self.fixed |= bit,
            Kw::LIMIT => self.fixed &= !bit,
            Kw::INTERVAL => self.moves_date = matches!(self.prev, Tok::Plus | Tok::Minus | Tok::Comma),
            _ => {}
        }
    }

    #[inline]
    fn open(&mut self) {
        if self.depth == DEPTH_MAX {
            self.cacheable = false;
            return;
        }
        self.depth += 1;
        if needs_constants(self.prev_kw) {
            self.fixed |= 1 << self.depth;
        }
    }

    #[inline]
    fn close(&mut self) {
        if self.depth == 0 {
            self.cacheable = false;
            return;
        }
        let bit = 1u64 << self.depth;
        self.list &= !bit;
        self.fixed &= !bit;
        self.depth -= 1;
    }

    #[inline]
    fn literal(&mut self, sql: &[u8], token: &Token) -> bool {
        if self.prev == Tok::String {
            self.cacheable = false; // 'a' 'b' is one string.
        }
        if self.list | self.fixed != 0 || !self.cacheable || self.stays(sql, token) {
            return false;
        }
        self.count += 1;
        if self.count > LIFTED_MAX {
            self.cacheable = false;
        }
        true
    }

    /// Whether the token before pins a literal of kind `tok`.
    #[inline]
    fn stays(&mut self, sql: &[u8], token: &Token) -> bool {
        let tok = token.tok;
        match self.prev {
            Tok::Keyword => match self.prev_kw {
                // Digits behind the point are part of the type of what comes out, and `'1:30'` is read by its unit: whole numbers alone are lifted.
                Kw::INTERVAL => tok != Tok::Int || !self.moves_date,
                Kw::COLLATE | Kw::ESCAPE | Kw::SEPARATOR | Kw::OUTFILE | Kw::DUMPFILE | Kw::AS | Kw::ROWS | Kw::RANGE => true,
                Kw::BY | Kw::GROUPS | Kw::USING | Kw::SET | Kw::AT | Kw::ZONE | Kw::CHARSET => true,
                Kw::DATE | Kw::TIME | Kw::TIMESTAMP => tok == Tok::String,
                Kw::WHERE | Kw::ON if tok == Tok::Int => {
                    let beside = beside_number(sql.get(token.end as usize..).unwrap_or_default());
                    self.equals_number = beside == Beside::AnotherNumber;
                    beside != Beside::Other
                }
                _ => false,
            },
            Tok::Eq => std::mem::take(&mut self.equals_number),
            Tok::Introducer | Tok::Arrow | Tok::LongArrow | Tok::AtAt | Tok::At => true,
            Tok::Ident | Tok::Quoted | Tok::RParen => tok == Tok::String,
            _ => false,
        }
    }
}

/// What stands behind a number that a condition begins with.
#[derive(PartialEq, Eq)]
enum Beside {
    /// The number is the condition, or the whole of its first part.
    Nothing,
    /// `=` and a number.
    AnotherNumber,
    Other,
}

/// What stands behind a number that a condition begins with; `rest` is the text behind it.
#[cold]
fn beside_number(rest: &[u8]) -> Beside {
    match rest.trim_ascii_start() {
        [] | [b')' | b';', ..] => Beside::Nothing,
        [b'=', rest @ ..] if rest.trim_ascii_start().first().is_some_and(u8::is_ascii_digit) => Beside::AnotherNumber,
        rest if [&b"AND"[..], b"ORDER", b"GROUP", b"LIMIT"].iter().any(|known| starts_with_word(rest, known)) => Beside::Nothing,
        _ => Beside::Other,
    }
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
        && text.get(word.len()).is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_')
}

/// Words after which numbers in parentheses are lengths.
#[inline]
fn needs_constants(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::CHAR
            | Kw::CHARACTER
            | Kw::NCHAR
            | Kw::BINARY
            | Kw::DECIMAL
            | Kw::DEC
            | Kw::NUMERIC
            | Kw::FLOAT
            | Kw::DOUBLE
            | Kw::REAL
            | Kw::PRECISION
            | Kw::TIME
            | Kw::DATETIME
            | Kw::TIMESTAMP
            | Kw::YEAR
            | Kw::VARYING
            | Kw::NOW
            | Kw::SYSDATE
            | Kw::CURTIME
            | Kw::CURRENT_TIME
            | Kw::CURRENT_TIMESTAMP
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP
            | Kw::JSON_VALUE
            | Kw::WEIGHT_STRING
            | Kw::MATCH
            | Kw::AGAINST
            | Kw::JSON_TABLE
    )
}
