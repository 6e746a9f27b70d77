//! JSON_TABLE in FROM.

use super::{PResult, Parser};
use crate::ast::{ExprKind, JsonInstead, JsonTable, JsonTableColumn, JsonTableValue, Literal, TableRef};
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// `JSON_TABLE(document, path COLUMNS (…)) [AS] alias`; the current word is its first.
    #[inline(never)]
    pub(super) fn json_table(&mut self) -> PResult<TableRef<'a>> {
        self.enter()?;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let document = self.expr()?;
        self.expect_tok(Tok::Comma)?;
        let path = self.json_table_text()?;
        let columns = self.json_table_columns()?;
        self.expect_tok(Tok::RParen)?;
        self.depth -= 1;
        let alias = self.table_alias()?.unwrap_or("");
        if alias.is_empty() {
            return Err(Box::new(ParseError::new(3667, "42000", "Every table function must have an alias".into())));
        }
        Ok(TableRef::JsonTable(self.arena.alloc(JsonTable { document, path, columns, alias })))
    }

    /// A text of the statement's own: paths and defaults.
    fn json_table_text(&mut self) -> PResult<&'a [u8]> {
        let at = self.tok;
        if !matches!(at.tok, Tok::String | Tok::NString | Tok::Introducer) {
            return Err(self.unexpected());
        }
        match self.signed_literal()?.kind {
            ExprKind::Literal(Literal::String(text) | Literal::National(text)) => Ok(text),
            ExprKind::Literal(Literal::Introduced(text)) if text.quoted => Ok(text.value),
            _ => Err(self.error_at(at)),
        }
    }

    fn json_table_columns(&mut self) -> PResult<&'a [JsonTableColumn<'a>]> {
        self.expect(Kw::COLUMNS)?;
        self.enter()?;
        self.expect_tok(Tok::LParen)?;
        let columns = self.list(Self::json_table_column)?;
        self.expect_tok(Tok::RParen)?;
        self.depth -= 1;
        Ok(columns)
    }

    fn json_table_column(&mut self) -> PResult<JsonTableColumn<'a>> {
        if self.at(Kw::NESTED) && self.peek().kw == Kw::PATH {
            self.bump();
            self.bump();
            let path = self.json_table_text()?;
            let columns = self.json_table_columns()?;
            return Ok(JsonTableColumn::Nested { path, columns });
        }
        let name = self.name()?;
        if self.eat(Kw::FOR) {
            self.expect(Kw::ORDINALITY)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let ty = self.data_type()?;
        let exists = self.eat(Kw::EXISTS);
        self.expect(Kw::PATH)?;
        let path = self.json_table_text()?;
        let (mut on_empty, mut on_error, mut swapped) = (None, None, false);
        while on_empty.is_none() || on_error.is_none() {
            let instead = if self.eat(Kw::NULL) {
                JsonInstead::Null
            } else if self.eat(Kw::ERROR) {
                JsonInstead::Error
            } else if self.eat(Kw::DEFAULT) {
                let at = self.tok;
                let value = self.signed_literal()?;
                if matches!(value.kind, ExprKind::Literal(Literal::Null)) {
                    return Err(self.error_at(at));
                }
                JsonInstead::Default(value)
            } else {
                break;
            };
            self.expect(Kw::ON)?;
            if on_empty.is_none() && self.eat(Kw::EMPTY) {
                swapped = on_error.is_some();
                on_empty = Some(instead);
            } else if on_error.is_none() && self.eat(Kw::ERROR) {
                on_error = Some(instead);
            } else {
                return Err(self.unexpected());
            }
        }
        let value = self.arena.alloc(JsonTableValue { name, ty, exists, path, on_empty, on_error, swapped });
        Ok(JsonTableColumn::Value(value))
    }
}
