//! Which literals of a statement become parameters.
//!
//! Both the fingerprint and the parameterised parse feed the same tokens to this one state machine, so they agree by
//! construction on which literals are lifted and how they are numbered. It decides from the tokens alone. Where the grammar then
//! finds a lifted literal at a place that needs a constant, `parse_parameterised` fails and the text is parsed plainly: a literal
//! lifted in excess costs a cached plan, never a wrong answer.
//!
//! Not lifted: select lists up to their FROM (result columns are named by their text; subqueries in them are as other queries where an alias follows), GROUP BY and ORDER BY up to LIMIT
//! (positions, and expressions that must equal selected ones), lengths of types and of NOW(6) and its like, literals next to
//! a word that needs a constant (INTERVAL, but for whole numbers beside a date, DATE '…', COLLATE, ESCAPE, `->`, introducers, …), and the numbers of `WHERE 1 = 1` and `WHERE 1`, to which
//! programs append conditions: as parameters they would be a condition of the plan that no index helps. Hexadecimal and bit literals act as
//! strings or numbers depending on context, so a statement with one is not cacheable.
//!
//! Lists of literals behind IN are taken to be longer than they are ([`padded`]): the last literal is lifted again, so that lists of about the same length have one plan.
//! A value that is looked for twice is found as if it were looked for once.

mod named;

use crate::keyword::Kw;
use crate::lexer::{Tok, Token};
use crate::mode::SqlMode;
use named::{begins_query, is_named};

/// Most literals lifted from one statement, those of lists behind IN left out; beyond, it is parsed each time.
pub const LIFTED_MAX: u32 = 128;

/// Most literals lifted from its lists behind IN, repeated ones included.
pub const LIFTED_IN_LISTS_MAX: u32 = 1280;

/// Lists up to this length are as long as they are.
pub const PADDED_MIN: u32 = 16;

/// The length that a list of so many literals is taken to have: not an eighth more.
#[inline]
fn padded(length: u32) -> u32 {
    if length <= PADDED_MIN { length } else { length.next_multiple_of(1 << ((length - 1).ilog2() - 3)) }
}

/// How often an alias is looked for behind a subquery of a select list: each look reads what is between.
const LOOKS_MAX: u8 = 8;

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
    /// The open lists whose text names columns of the result: those of `list` that are not around `named`.
    naming: u64,
    mode: SqlMode,
    /// Depth of a subquery whose text names nothing, though it stands in a select list; 0 for none.
    named: u32,
    /// How often an alias was looked for.
    looks: u8,
    /// Depth of a list behind IN in which nothing but literals has stood so far; 0 for none.
    in_list: u32,
    /// Its literals.
    listed: u32,
    /// Literals outside of such lists.
    others: u32,
    /// How often the last literal of the list is lifted again that the last token closed.
    pub padding: u32,
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
    pub(crate) fn new(mode: SqlMode) -> Lifter {
        Lifter {
            mode,
            depth: 0,
            list: 0,
            fixed: 0,
            naming: 0,
            named: 0,
            looks: 0,
            in_list: 0,
            listed: 0,
            others: 0,
            padding: 0,
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
        self.naming != 0
    }

    /// The open lists, or what stands in one that names nothing, have changed.
    #[inline]
    fn lists_changed(&mut self) {
        self.naming = self.list & (u64::MAX << self.named);
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
        // A statement starts with a word. An opening parenthesis leaves the question of the verb to the word after it.
        match token.tok {
            Tok::Keyword => self.word(token.kw),
            Tok::LParen => self.open(sql, token),
            Tok::RParen => self.close(),
            Tok::Int | Tok::Decimal | Tok::Float | Tok::String => lifted = self.literal(sql, token),
            Tok::Hex | Tok::Bit | Tok::Question | Tok::Bad | Tok::NString => self.cacheable = false,
            Tok::Comma => self.cacheable &= self.started,
            _ => {
                self.cacheable &= self.started;
                self.in_list = 0;
            }
        }
        self.prev = token.tok;
        self.prev_kw = token.kw;
        lifted
    }

    #[inline]
    fn word(&mut self, kw: Kw) {
        let bit = 1u64 << self.depth;
        self.in_list = 0;
        if !self.started {
            self.started = true;
            self.inserts = matches!(kw, Kw::INSERT | Kw::REPLACE);
            self.cacheable &= matches!(kw, Kw::SELECT | Kw::INSERT | Kw::UPDATE | Kw::DELETE | Kw::REPLACE | Kw::WITH);
        }
        match kw {
            Kw::SELECT => {
                self.list |= bit;
                self.fixed &= !bit;
                self.lists_changed();
            }
            Kw::FROM => {
                self.list &= !bit;
                self.lists_changed();
            }
            Kw::VALUES | Kw::VALUE => self.in_rows |= self.inserts && self.depth == 0,
            Kw::ON => self.in_rows = false,
            Kw::BY => self.fixed |= bit,
            Kw::LIMIT => self.fixed &= !bit,
            Kw::INTERVAL => self.moves_date = matches!(self.prev, Tok::Plus | Tok::Minus | Tok::Comma),
            _ => {}
        }
    }

    #[inline]
    fn open(&mut self, sql: &[u8], token: &Token) {
        if self.depth == DEPTH_MAX {
            self.cacheable = false;
            return;
        }
        self.depth += 1;
        (self.in_list, self.listed) = (if self.prev_kw == Kw::IN { self.depth } else { 0 }, 0);
        if needs_constants(self.prev_kw) {
            self.fixed |= 1 << self.depth;
        }
        if self.list != 0 {
            self.open_in_list(sql.get(token.end as usize..).unwrap_or_default());
        }
    }

    /// What opens within a select list, before `rest`: a subquery, perhaps, whose text names nothing.
    #[inline(never)]
    fn open_in_list(&mut self, rest: &[u8]) {
        // Within two lists the text of the inner one may be part of the outer one's name.
        if self.named != 0 || !self.list.is_power_of_two() || !begins_query(rest) || self.looks == LOOKS_MAX {
            return;
        }
        self.looks += 1;
        if is_named(rest, self.depth - self.list.trailing_zeros(), self.mode) {
            self.named = self.depth;
            self.lists_changed();
        }
    }

    #[inline]
    fn close(&mut self) {
        if self.depth == 0 || !self.started {
            self.cacheable = false;
            return;
        }
        self.padding = 0;
        if self.in_list == self.depth {
            self.padding = padded(self.listed) - self.listed;
            self.count += self.padding;
        }
        self.in_list = 0;
        let bit = 1u64 << self.depth;
        self.fixed &= !bit;
        if self.list != 0 {
            self.list &= !bit;
            if self.depth == self.named {
                self.named = 0;
            }
            self.lists_changed();
        }
        self.depth -= 1;
    }

    #[inline]
    fn literal(&mut self, sql: &[u8], token: &Token) -> bool {
        if self.prev == Tok::String {
            self.cacheable = false; // 'a' 'b' is one string.
        }
        self.cacheable &= self.started;
        if self.naming | self.fixed != 0 || !self.cacheable || self.stays(sql, token) {
            self.in_list = 0;
            return false;
        }
        self.count += 1;
        if self.in_list != 0 {
            self.listed += 1;
        } else {
            self.others += 1;
        }
        if self.others > LIFTED_MAX || self.count - self.others > LIFTED_IN_LISTS_MAX {
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
