//! The parser's state and the small steps every rule is made of.

mod account;
mod admin;
mod alter;
mod column;
mod create_table;
mod ddl;
mod diagnostics;
mod dml;
mod expr;
mod function;
mod json_table;
mod literal_rows;
mod load;
mod parens;
mod query;
mod set;
mod show;
mod statement;
mod table;
mod transaction;
mod window;

use bumpalo::Bump;
use bumpalo::collections::Vec as ArenaVec;

use crate::ast::{Expr, ObjectName, SelectInto, Span, Statement};
use crate::error::ParseError;
use crate::fingerprint::takes_hints;
use crate::keyword::Kw;
use crate::lexer::{ESCAPED, LIFTED, Lexer, Tok, Token};
use crate::lift::Lifter;
use crate::mode::SqlMode;
use crate::text;

/// Result of a rule. The error is boxed because every rule returns one and none is expected.
pub(crate) type PResult<T> = Result<T, Box<ParseError>>;

/// Most characters of an identifier.
pub const IDENTIFIER_CHARS_MAX: usize = 64;
/// Most characters of an alias.
pub const ALIAS_CHARS_MAX: usize = 256;
/// Deepest nesting of rules. The hungriest rule takes 1.4 KiB of stack a level with the dev profile, so that all levels take at
/// most 350 KiB of it (`tests/hostile.rs` runs every nesting shape on 512 KiB).
pub const NESTING_MAX: u32 = 250;
/// The same where the stack has [`ROOM_BYTES_MIN`] left.
pub const NESTING_WITH_ROOM_MAX: u32 = 6_200;
/// Tallest expression tree. Chains of comparisons and the like grow the tree without nesting in the text; whoever walks the tree
/// recursively relies on this bound.
pub const TREE_HEIGHT_MAX: u32 = 256;
/// The same where the stack has [`ROOM_BYTES_MIN`] left.
pub const TREE_HEIGHT_WITH_ROOM_MAX: u32 = 6_200;
/// What must be left of the stack for statements to nest deeper, and have taller trees, than fits a connection's: for reading them, and for whoever walks over their
/// trees. See [`has_room`].
pub const ROOM_BYTES_MIN: usize = 64 << 20;
/// So many operators of a chain of arithmetic, or of `||`, count for the tree's height. A longer one is not walked recursively
/// ([`Expr::run_of`]), so that there is no bound on its length.
pub const RUN_HEIGHT_MAX: usize = 16;
/// Deepest nesting of SELECT, the outermost one included: 63 within it, as in MySQL.
pub const SELECT_NESTING_MAX: u32 = 64;

/// A parsed statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parsed<'a> {
    /// The statement.
    pub statement: Statement<'a>,
    /// Its text, from its first to its last token.
    pub span: Span,
    /// Offset of what follows the statement and its semicolon; the length of the text when nothing does.
    pub rest: usize,
    /// How many [`crate::ast::ExprKind::Param`] there are.
    pub param_count: u32,
    /// An expression reads `@@warning_count` or `@@error_count`: what the statement before left.
    pub reads_conditions: bool,
    /// It nests deeper than [`NESTING_MAX`] or is taller than [`TREE_HEIGHT_MAX`], which who has no room on the stack cannot read, nor walk over.
    pub is_deep: bool,
}

/// Whether the stack has room for statements of [`NESTING_WITH_ROOM_MAX`] levels.
#[must_use]
pub fn has_room() -> bool {
    stacker::remaining_stack().is_some_and(|left| left >= ROOM_BYTES_MIN)
}

/// Parses the first statement of `sql`.
///
/// # Errors
/// What MySQL would say: 1064 for bad syntax, 1059, 1300, 1235, …
pub fn parse<'a>(sql: &'a [u8], mode: SqlMode, arena: &'a Bump) -> Result<Parsed<'a>, ParseError> {
    Parser::new(sql, mode, arena, None).run()
}

/// Parses the first statement of `sql` with the literals that [`crate::fingerprint()`] lifts as parameters, numbered alike.
///
/// # Errors
/// As [`parse`], and when a lifted literal stands where the grammar needs a constant. On any error the caller goes on with
/// [`parse`], whose error is the one to report, and does not cache the plan.
pub fn parse_parameterised<'a>(sql: &'a [u8], mode: SqlMode, arena: &'a Bump) -> Result<Parsed<'a>, ParseError> {
    Parser::new(sql, mode, arena, Some(Lifter::new(mode))).run()
}

/// Parses the query of a view, as definitions keep it ([`crate::normalise_query`]).
///
/// # Errors
/// As [`parse`].
pub fn parse_view<'a>(text: &'a [u8], arena: &'a Bump) -> Result<Parsed<'a>, ParseError> {
    let mut parser = Parser::new(text, SqlMode::default(), arena, None);
    parser.stored = true;
    parser.run()
}

/// Parses a text that is one expression, as definitions keep them ([`crate::normalise`]).
///
/// # Errors
/// As [`parse`].
pub fn parse_expression<'a>(text: &'a [u8], arena: &'a Bump) -> Result<Expr<'a>, ParseError> {
    let mut parser = Parser::new(text, SqlMode::default(), arena, None);
    parser.stored = true;
    let read = |parser: &mut Parser<'a>| {
        parser.bump();
        let expr = parser.expr()?;
        if parser.tok.tok == Tok::Eof { Ok(expr) } else { Err(parser.unexpected()) }
    };
    read(&mut parser).map_err(|e| *e)
}

/// The parser of one statement.
pub(crate) struct Parser<'a> {
    pub arena: &'a Bump,
    pub lexer: Lexer<'a>,
    /// The token looked at.
    pub tok: Token,
    /// End of the token before it.
    pub prev_end: u32,
    /// Rules nested around the current one.
    pub depth: u32,
    /// Bound on the height of the trees built inside the current expression.
    pub height: u32,
    pub select_depth: u32,
    pub param_count: u32,
    /// See [`Parsed::reads_conditions`].
    pub reads_conditions: bool,
    /// See [`Parsed::is_deep`].
    is_deep: bool,
    /// The definition that is read is a column's new one, of ALTER TABLE.
    pub changes_column: bool,
    /// The text is a definition's: earlier versions left parentheses out that are asked for elsewhere.
    pub stored: bool,
    lifter: Option<Lifter>,
    /// INTO of the query being parsed.
    pub into: Option<&'a SelectInto<'a>>,
    /// Hints found since they were last taken.
    hints: Option<ArenaVec<'a, &'a str>>,
}

impl<'a> Parser<'a> {
    fn new(sql: &'a [u8], mode: SqlMode, arena: &'a Bump, lifter: Option<Lifter>) -> Parser<'a> {
        Parser {
            arena,
            lexer: Lexer::new(sql, mode),
            tok: Token { tok: Tok::Eof, flags: 0, kw: Kw::NO_WORD, start: 0, end: 0 },
            prev_end: 0,
            depth: 0,
            height: 0,
            select_depth: 0,
            param_count: 0,
            reads_conditions: false,
            is_deep: false,
            changes_column: false,
            stored: false,
            lifter,
            into: None,
            hints: None,
        }
    }

    fn run(mut self) -> Result<Parsed<'a>, ParseError> {
        if u32::try_from(self.lexer.sql.len()).is_err() {
            return Err(ParseError::new(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes".into()));
        }
        self.run_statement().map_err(|e| *e)
    }

    fn run_statement(&mut self) -> PResult<Parsed<'a>> {
        self.bump();
        let start = self.tok.start;
        let statement = self.statement()?;
        let end = self.prev_end.max(start);
        match self.tok.tok {
            Tok::Eof => {}
            Tok::Semicolon => {}
            _ => return Err(self.unexpected()),
        }
        if let Some(lifter) = &self.lifter {
            self.param_count = lifter.count;
        }
        let (param_count, reads_conditions, is_deep) = (self.param_count, self.reads_conditions, self.is_deep);
        Ok(Parsed { statement, span: Span { start, end }, rest: self.lexer.pos, param_count, reads_conditions, is_deep })
    }

    // Tokens.

    /// Goes to the next token.
    #[inline]
    pub fn bump(&mut self) {
        self.prev_end = self.tok.end;
        let prev_kw = self.tok.kw;
        loop {
            let mut token = self.lexer.next();
            if token.tok == Tok::Hint {
                self.note_hint(prev_kw, token);
                continue;
            }
            if let Some(lifter) = &mut self.lifter
                && lifter.feed(self.lexer.sql, &token)
            {
                token.flags |= LIFTED;
            }
            self.tok = token;
            return;
        }
    }

    #[cold]
    fn note_hint(&mut self, prev_kw: Kw, token: Token) {
        if !takes_hints(prev_kw) {
            return;
        }
        let inside = &self.lexer.sql[token.start as usize + 3..token.end as usize - 2];
        if let Ok(hint) = std::str::from_utf8(inside) {
            let arena = self.arena;
            self.hints.get_or_insert_with(|| ArenaVec::new_in(arena)).push(hint.trim());
        }
    }

    /// The hints found so far, which are then forgotten.
    pub fn take_hints(&mut self) -> &'a [&'a str] {
        match self.hints.take() {
            Some(hints) => hints.into_bump_slice(),
            None => &[],
        }
    }

    /// The token after the current one.
    #[inline]
    pub fn peek(&self) -> Token {
        self.peek_two().0
    }

    /// The two tokens after the current one.
    pub fn peek_two(&self) -> (Token, Token) {
        let mut ahead = self.lexer;
        let mut next = || loop {
            let token = ahead.next();
            if token.tok != Tok::Hint {
                return token;
            }
        };
        (next(), next())
    }

    #[inline]
    pub fn at(&self, kw: Kw) -> bool {
        self.tok.kw == kw
    }

    #[inline]
    pub fn at_tok(&self, tok: Tok) -> bool {
        self.tok.tok == tok
    }

    /// Takes the word if it is next.
    #[inline]
    pub fn eat(&mut self, kw: Kw) -> bool {
        let found = self.tok.kw == kw;
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    pub fn eat_tok(&mut self, tok: Tok) -> bool {
        let found = self.tok.tok == tok;
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    pub fn expect(&mut self, kw: Kw) -> PResult<()> {
        if self.eat(kw) { Ok(()) } else { Err(self.unexpected()) }
    }

    #[inline]
    pub fn expect_tok(&mut self, tok: Tok) -> PResult<()> {
        if self.eat_tok(tok) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Whether the statement ends here.
    pub fn at_end(&self) -> bool {
        matches!(self.tok.tok, Tok::Eof | Tok::Semicolon)
    }

    /// `IF EXISTS`.
    pub fn if_exists(&mut self) -> PResult<bool> {
        if self.eat(Kw::IF) {
            self.expect(Kw::EXISTS)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// `IF NOT EXISTS`.
    pub fn if_not_exists(&mut self) -> PResult<bool> {
        if self.eat(Kw::IF) {
            self.expect(Kw::NOT)?;
            self.expect(Kw::EXISTS)?;
            return Ok(true);
        }
        Ok(false)
    }

    // Text.

    #[inline]
    pub fn bytes(&self, token: Token) -> &'a [u8] {
        &self.lexer.sql[token.start as usize..token.end as usize]
    }

    #[inline]
    pub fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.prev_end }
    }

    /// The text from `start` to the last token taken.
    pub fn text_from(&self, start: u32) -> PResult<&'a str> {
        text::utf8(self.span_from(start).slice(self.lexer.sql))
    }

    /// Whether the token can be an identifier.
    #[inline]
    pub fn is_name(token: Token) -> bool {
        match token.tok {
            Tok::Ident | Tok::Quoted => true,
            Tok::Keyword => !token.kw.is_reserved(),
            _ => false,
        }
    }

    /// The text of a token that is an identifier or a word.
    #[inline]
    pub fn name_text(&self, token: Token) -> PResult<&'a str> {
        let name = self.name_of_any_length(token)?;
        if name.len() > IDENTIFIER_CHARS_MAX && name.chars().count() > IDENTIFIER_CHARS_MAX {
            return Err(too_long(name));
        }
        Ok(name)
    }

    /// The same, when it names nothing that is stored.
    #[inline]
    fn name_of_any_length(&self, token: Token) -> PResult<&'a str> {
        let bytes = self.bytes(token);
        let name = match token.tok {
            Tok::Quoted => {
                let inside = &bytes[1..bytes.len() - 1];
                let inside = if token.has(ESCAPED) { text::unquote_name(inside, bytes[0], self.arena) } else { inside };
                text::utf8(inside)?
            }
            _ => text::utf8(bytes)?,
        };
        Ok(name)
    }

    /// An identifier.
    #[inline]
    pub fn name(&mut self) -> PResult<&'a str> {
        if !Self::is_name(self.tok) {
            return Err(self.unexpected());
        }
        let name = self.name_text(self.tok)?;
        self.bump();
        Ok(name)
    }

    /// An alias: an identifier or a string.
    pub fn alias(&mut self) -> PResult<&'a str> {
        let token = self.tok;
        let alias = match token.tok {
            Tok::String => text::utf8(self.string()?)?,
            _ if Self::is_name(token) => {
                let bytes = self.bytes(token);
                let alias = if token.tok == Tok::Quoted {
                    let inside = &bytes[1..bytes.len() - 1];
                    text::utf8(if token.has(ESCAPED) { text::unquote_name(inside, bytes[0], self.arena) } else { inside })?
                } else {
                    text::utf8(bytes)?
                };
                self.bump();
                alias
            }
            _ => return Err(self.unexpected()),
        };
        if alias.len() > ALIAS_CHARS_MAX && alias.chars().count() > ALIAS_CHARS_MAX {
            return Err(too_long(alias));
        }
        Ok(alias)
    }

    /// A name or a string, for names of character sets, engines, plugins.
    pub fn name_or_string(&mut self) -> PResult<&'a str> {
        if self.at_tok(Tok::String) {
            return text::utf8(self.string()?);
        }
        self.name()
    }

    /// `[schema.]name`.
    #[inline]
    pub fn object(&mut self) -> PResult<ObjectName<'a>> {
        if self.tok.tok == Tok::Keyword && self.begins_call() {
            return Err(self.unexpected());
        }
        let first = self.name()?;
        if self.eat_tok(Tok::Dot) {
            return Ok(ObjectName { schema: Some(first), name: self.name()? });
        }
        Ok(ObjectName { schema: None, name: first })
    }

    /// The bytes of a string token of any kind, quotes removed and escapes resolved. Not checked for UTF-8.
    pub fn string_value(&mut self, token: Token) -> &'a [u8] {
        let bytes = self.bytes(token);
        let mark = usize::from(matches!(token.tok, Tok::NString | Tok::UserVar));
        let inside = &bytes[mark + 1..bytes.len() - 1];
        if token.has(ESCAPED) { text::unescape_in(inside, bytes[mark], self.lexer.mode, self.arena) } else { inside }
    }

    /// A string literal that must be a constant.
    pub fn string(&mut self) -> PResult<&'a [u8]> {
        if !self.at_tok(Tok::String) || self.tok.has(LIFTED) {
            return Err(self.unexpected());
        }
        let value = self.string_value(self.tok);
        text::utf8(value)?;
        self.bump();
        Ok(value)
    }

    /// A string literal, or a hexadecimal or bit one, that must be a constant.
    pub fn text_or_hex(&mut self) -> PResult<&'a [u8]> {
        match self.tok.tok {
            Tok::Hex | Tok::Bit => {
                let value = self.radix_value(self.tok)?;
                self.bump();
                Ok(value)
            }
            _ => self.string(),
        }
    }

    /// The bytes of a hexadecimal or bit literal.
    pub fn radix_value(&mut self, token: Token) -> PResult<&'a [u8]> {
        let bytes = self.bytes(token);
        let digits = if bytes[0] == b'0' { &bytes[2..] } else { &bytes[2..bytes.len() - 1] };
        let quoted_odd = bytes[0] != b'0' && digits.len() % 2 == 1;
        let value = if token.tok == Tok::Bit {
            text::bit_bytes(digits, self.arena)
        } else if quoted_odd {
            None
        } else {
            text::hex_bytes(digits, self.arena)
        };
        value.ok_or_else(|| self.unexpected())
    }

    /// An unsigned integer that must be a constant.
    pub fn int(&mut self) -> PResult<u64> {
        if !self.at_tok(Tok::Int) || self.tok.has(LIFTED) {
            return Err(self.unexpected());
        }
        let Some(value) = text::int_value(self.bytes(self.tok)) else {
            return Err(self.unexpected());
        };
        self.bump();
        Ok(value)
    }

    /// As [`Parser::int`], for numbers that fit 32 bits.
    pub fn small_int(&mut self) -> PResult<u32> {
        let at = self.tok;
        u32::try_from(self.int()?).map_err(|_| self.error_at(at))
    }

    /// The name in a `@name` token.
    pub fn user_var_name(&mut self, token: Token) -> PResult<&'a str> {
        let bytes = self.bytes(token);
        match bytes.get(1) {
            Some(b'`') => {
                let inside = &bytes[2..bytes.len() - 1];
                text::utf8(if token.has(ESCAPED) { text::unquote_name(inside, b'`', self.arena) } else { inside })
            }
            Some(b'\'' | b'"') => text::utf8(self.string_value(token)),
            _ => text::utf8(&bytes[1..]),
        }
    }

    /// A user variable.
    pub fn user_var(&mut self) -> PResult<&'a str> {
        if !self.at_tok(Tok::UserVar) {
            return Err(self.unexpected());
        }
        let name = self.user_var_name(self.tok)?;
        self.bump();
        Ok(name)
    }

    // Lists.

    pub fn vec<T>(&self) -> ArenaVec<'a, T> {
        ArenaVec::new_in(self.arena)
    }

    /// One or more `item`s separated by commas.
    #[inline]
    pub fn list<T: Copy>(&mut self, mut item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<&'a [T]> {
        let first = item(self)?;
        if !self.at_tok(Tok::Comma) {
            return Ok(std::slice::from_ref(self.arena.alloc(first)));
        }
        let mut items = ArenaVec::with_capacity_in(4, self.arena);
        items.push(first);
        while self.eat_tok(Tok::Comma) {
            items.push(item(self)?);
        }
        Ok(items.into_bump_slice())
    }

    /// `(item, …)`, at least one.
    pub fn parens<T: Copy>(&mut self, item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<&'a [T]> {
        self.expect_tok(Tok::LParen)?;
        let items = self.list(item)?;
        self.expect_tok(Tok::RParen)?;
        Ok(items)
    }

    /// `(name, …)`.
    pub fn names_in_parens(&mut self) -> PResult<&'a [&'a str]> {
        self.parens(Self::name)
    }

    /// `(name, …)` when it is there.
    pub fn optional_names(&mut self) -> PResult<&'a [&'a str]> {
        if self.at_tok(Tok::LParen) { self.names_in_parens() } else { Ok(&[]) }
    }

    // Errors.

    /// 1064 at the current token.
    #[cold]
    pub fn unexpected(&self) -> Box<ParseError> {
        self.error_at(self.tok)
    }

    /// 1064 at `token`.
    #[cold]
    pub fn error_at(&self, token: Token) -> Box<ParseError> {
        Box::new(ParseError::syntax(self.lexer.sql, token.start as usize))
    }

    /// Counts one more level of nesting; the caller leaves with `depth -= 1` on success (an error ends the parse).
    #[inline]
    pub fn enter(&mut self) -> PResult<()> {
        self.depth += 1;
        if self.depth > NESTING_MAX { self.deeper(self.depth <= NESTING_WITH_ROOM_MAX) } else { Ok(()) }
    }

    /// Notes that a tree grew by one level.
    #[inline]
    pub fn grow(&mut self) -> PResult<()> {
        self.height += 1;
        if self.height > TREE_HEIGHT_MAX { self.deeper(self.height <= TREE_HEIGHT_WITH_ROOM_MAX) } else { Ok(()) }
    }

    /// Goes deeper than fits a connection's stack, where this is a larger one. What definitions keep is read on any stack.
    #[cold]
    fn deeper(&mut self, within: bool) -> PResult<()> {
        if !within || self.stored || !has_room() {
            return Err(Box::new(ParseError::too_deep()));
        }
        self.is_deep = true;
        Ok(())
    }
}

#[cold]
fn too_long(name: &str) -> Box<ParseError> {
    Box::new(ParseError::new(1059, "42000", format!("Identifier name '{name}' is too long")))
}
