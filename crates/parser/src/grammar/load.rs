//! LOAD DATA, and the FIELDS and LINES clauses it shares with INTO OUTFILE.

use super::{PResult, Parser};
use crate::ast::{FileFormat, LoadData, LoadDuplicates, LoadTarget, Statement};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// LOAD DATA and LOAD XML.
    #[inline(never)]
    pub(super) fn load(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let xml = match self.tok.kw {
            Kw::DATA => false,
            Kw::XML => true,
            Kw::INDEX => return self.unsupported("LOAD INDEX INTO CACHE"),
            _ => return Err(self.unexpected()),
        };
        self.bump();
        let priority = self.eat(Kw::LOW_PRIORITY) || self.eat(Kw::CONCURRENT);
        let local = self.eat(Kw::LOCAL);
        self.expect(Kw::INFILE)?;
        let file = self.string()?;
        let on_duplicate = if self.eat(Kw::REPLACE) {
            LoadDuplicates::Replace
        } else if self.eat(Kw::IGNORE) {
            LoadDuplicates::Ignore
        } else {
            LoadDuplicates::Default
        };
        self.expect(Kw::INTO)?;
        self.expect(Kw::TABLE)?;
        let table = self.object()?;
        let partitions = if self.eat(Kw::PARTITION) { self.names_in_parens()? } else { &[] };
        let charset = self.optional_charset()?;
        if xml && self.eat(Kw::ROWS) {
            return Err(Box::new(crate::ParseError::unsupported("LOAD XML")));
        }
        let format = self.file_format()?;
        let mut ignore_lines = 0;
        if self.eat(Kw::IGNORE) {
            ignore_lines = self.int()?;
            if !self.eat(Kw::LINES) {
                self.expect(Kw::ROWS)?;
            }
        }
        let columns = self.load_columns()?;
        let set = if self.eat(Kw::SET) { self.list(Self::assignment)? } else { &[] };
        let load = LoadData { xml, priority, local, file, on_duplicate, table, partitions, charset, format, ignore_lines, columns, set };
        Ok(Statement::LoadData(self.arena.alloc(load)))
    }

    fn load_columns(&mut self) -> PResult<&'a [LoadTarget<'a>]> {
        if !self.eat_tok(Tok::LParen) {
            return Ok(&[]);
        }
        if self.eat_tok(Tok::RParen) {
            return Ok(&[]);
        }
        let columns = self.list(|p| {
            if p.at_tok(Tok::UserVar) {
                return Ok(LoadTarget::User(p.user_var()?));
            }
            Ok(LoadTarget::Column(p.column_ref()?.column))
        })?;
        self.expect_tok(Tok::RParen)?;
        Ok(columns)
    }

    /// `CHARACTER SET name` when it is there.
    pub(super) fn optional_charset(&mut self) -> PResult<Option<&'a str>> {
        if self.at_charset() { Ok(Some(self.charset_clause()?)) } else { Ok(None) }
    }

    /// FIELDS and LINES.
    pub(super) fn file_format(&mut self) -> PResult<FileFormat<'a>> {
        let mut format = FileFormat::default();
        if self.eat(Kw::FIELDS) || self.eat(Kw::COLUMNS) {
            let mut any = false;
            loop {
                match self.tok.kw {
                    Kw::TERMINATED => format.fields_terminated = Some(self.by_text()?),
                    Kw::OPTIONALLY => {
                        self.bump();
                        if !self.at(Kw::ENCLOSED) {
                            return Err(self.unexpected());
                        }
                        format.optionally_enclosed = true;
                        format.enclosed = Some(self.by_text()?);
                    }
                    Kw::ENCLOSED => format.enclosed = Some(self.by_text()?),
                    Kw::ESCAPED => format.escaped = Some(self.by_text()?),
                    _ if any => break,
                    _ => return Err(self.unexpected()),
                }
                any = true;
            }
        }
        if self.eat(Kw::LINES) {
            let mut any = false;
            loop {
                match self.tok.kw {
                    Kw::TERMINATED => format.lines_terminated = Some(self.by_text()?),
                    Kw::STARTING => format.lines_starting = Some(self.by_text()?),
                    _ if any => break,
                    _ => return Err(self.unexpected()),
                }
                any = true;
            }
        }
        Ok(format)
    }

    fn by_text(&mut self) -> PResult<&'a [u8]> {
        self.bump();
        self.expect(Kw::BY)?;
        self.text_or_hex()
    }
}
