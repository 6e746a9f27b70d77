//! CREATE TABLE: elements, keys, options.

use super::{PResult, Parser};
use crate::ast::{
    Check, ColumnDef, CreateSelect, CreateTable, ForeignKey, KeyDef, KeyKind, KeyOptions, KeyPart, KeyTarget, LoadDuplicates, ObjectName,
    Statement, TableOption,
};
use crate::keyword::Kw;
use crate::lexer::Tok;

/// One element of CREATE TABLE or ALTER TABLE ADD.
#[derive(Clone, Copy)]
pub(super) enum Element<'a> {
    Column(ColumnDef<'a>),
    Key(KeyDef<'a>),
    ForeignKey(ForeignKey<'a>),
    Check(Check<'a>),
}

impl<'a> Parser<'a> {
    /// CREATE TABLE after `CREATE [TEMPORARY]`; TABLE is next.
    #[inline(never)]
    pub(super) fn create_table(&mut self, temporary: bool) -> PResult<Statement<'a>> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object()?;
        let mut table = CreateTable {
            temporary,
            if_not_exists,
            name,
            like: None,
            columns: &[],
            keys: &[],
            foreign_keys: &[],
            checks: &[],
            options: &[],
            partition_by: None,
            select: None,
        };
        if let Some(like) = self.create_like()? {
            table.like = Some(like);
            return Ok(Statement::CreateTable(self.arena.alloc(table)));
        }
        if self.at_tok(Tok::LParen)
            && !matches!(self.peek().kw, Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES)
            && self.peek().tok != Tok::LParen
        {
            self.elements(&mut table)?;
        }
        table.options = self.table_options()?;
        if self.at(Kw::PARTITION) {
            table.partition_by = Some(self.partition_text()?);
        }
        table.select = self.create_select()?;
        if table.select.is_none() && table.columns.is_empty() {
            if !self.at_end() {
                return Err(self.unexpected());
            }
            return Err(Box::new(crate::ParseError::new(4028, "HY000", "A table must have at least one visible column.".into())));
        }
        Ok(Statement::CreateTable(self.arena.alloc(table)))
    }

    /// `LIKE name` or `(LIKE name)`.
    fn create_like(&mut self) -> PResult<Option<ObjectName<'a>>> {
        if self.eat(Kw::LIKE) {
            return Ok(Some(self.object()?));
        }
        if self.at_tok(Tok::LParen) && self.peek().kw == Kw::LIKE {
            self.bump();
            self.bump();
            let name = self.object()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(Some(name));
        }
        Ok(None)
    }

    fn elements(&mut self, table: &mut CreateTable<'a>) -> PResult<()> {
        self.expect_tok(Tok::LParen)?;
        let (mut columns, mut keys, mut foreign_keys, mut checks) = (self.vec(), self.vec(), self.vec(), self.vec());
        loop {
            match self.element()? {
                Element::Column(column) => columns.push(column),
                Element::Key(key) => keys.push(key),
                Element::ForeignKey(key) => foreign_keys.push(ForeignKey { keys_before: keys.len(), ..key }),
                Element::Check(check) => checks.push(check),
            }
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        self.expect_tok(Tok::RParen)?;
        table.columns = columns.into_bump_slice();
        table.keys = keys.into_bump_slice();
        table.foreign_keys = foreign_keys.into_bump_slice();
        table.checks = checks.into_bump_slice();
        Ok(())
    }

    /// Whether a key, constraint or check comes, not a column.
    pub(super) fn at_constraint(&self) -> bool {
        matches!(
            self.tok.kw,
            Kw::PRIMARY | Kw::UNIQUE | Kw::INDEX | Kw::KEY | Kw::FULLTEXT | Kw::SPATIAL | Kw::FOREIGN | Kw::CHECK | Kw::CONSTRAINT
        )
    }

    /// A column, key, foreign key or check.
    pub(super) fn element(&mut self) -> PResult<Element<'a>> {
        if !self.at_constraint() {
            return Ok(Element::Column(self.column_def()?));
        }
        let mut constraint = None;
        let named = self.eat(Kw::CONSTRAINT);
        if named && Self::is_name(self.tok) {
            constraint = Some(self.name()?);
        }
        match self.tok.kw {
            Kw::CHECK => Ok(Element::Check(self.check(constraint)?)),
            Kw::FOREIGN => {
                self.bump();
                self.expect(Kw::KEY)?;
                let name = if Self::is_name(self.tok) { Some(self.name()?) } else { None };
                let columns = self.names_in_parens()?;
                Ok(Element::ForeignKey(ForeignKey { constraint, name, columns, references: self.references()?, keys_before: 0 }))
            }
            Kw::PRIMARY | Kw::UNIQUE => Ok(Element::Key(self.key(constraint)?)),
            _ if named => Err(self.unexpected()),
            _ => Ok(Element::Key(self.key(None)?)),
        }
    }

    fn key(&mut self, constraint: Option<&'a str>) -> PResult<KeyDef<'a>> {
        let kind = match self.tok.kw {
            Kw::PRIMARY => KeyKind::Primary,
            Kw::UNIQUE => KeyKind::Unique,
            Kw::FULLTEXT => KeyKind::FullText,
            Kw::SPATIAL => KeyKind::Spatial,
            _ => KeyKind::Index,
        };
        self.bump();
        match kind {
            KeyKind::Primary => self.expect(Kw::KEY)?,
            KeyKind::Index => {}
            _ => {
                if !self.eat(Kw::KEY) {
                    self.eat(Kw::INDEX);
                }
            }
        }
        let name = if Self::is_name(self.tok) { Some(self.name()?) } else { None };
        self.key_tail(kind, constraint, name)
    }

    /// `[USING type] (parts) options`.
    pub(super) fn key_tail(&mut self, kind: KeyKind, constraint: Option<&'a str>, name: Option<&'a str>) -> PResult<KeyDef<'a>> {
        let mut options = KeyOptions::default();
        if matches!(self.tok.kw, Kw::USING | Kw::TYPE) {
            options.using = Some(self.index_type()?);
        }
        let parts = self.parens(Self::key_part)?;
        self.key_options(&mut options)?;
        Ok(KeyDef { kind, constraint, name, parts, options })
    }

    pub(super) fn index_type(&mut self) -> PResult<&'static str> {
        self.bump();
        let word = self.tok.kw;
        let name = match word {
            Kw::BTREE => "BTREE",
            Kw::HASH => "HASH",
            _ if self.bytes(self.tok).eq_ignore_ascii_case(b"rtree") => "RTREE",
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(name)
    }

    pub(super) fn key_part(&mut self) -> PResult<KeyPart<'a>> {
        let target = if self.at_tok(Tok::LParen) {
            self.bump();
            let expr = self.expr_ref()?;
            self.expect_tok(Tok::RParen)?;
            KeyTarget::Expr(expr)
        } else {
            let name = self.name()?;
            let mut prefix = None;
            if self.eat_tok(Tok::LParen) {
                prefix = Some(self.small_int()?);
                self.expect_tok(Tok::RParen)?;
            }
            KeyTarget::Column(name, prefix)
        };
        let descending = self.eat(Kw::DESC);
        if !descending {
            self.eat(Kw::ASC);
        }
        Ok(KeyPart { target, descending })
    }

    pub(super) fn key_options(&mut self, options: &mut KeyOptions<'a>) -> PResult<()> {
        loop {
            match self.tok.kw {
                Kw::USING | Kw::TYPE => options.using = Some(self.index_type()?),
                Kw::COMMENT => {
                    self.bump();
                    options.comment = Some(self.string()?);
                }
                Kw::KEY_BLOCK_SIZE => {
                    self.bump();
                    self.eat_tok(Tok::Eq);
                    options.key_block_size = Some(self.int()?);
                }
                Kw::WITH => {
                    self.bump();
                    self.expect(Kw::PARSER)?;
                    options.parser = Some(self.name()?);
                }
                Kw::VISIBLE | Kw::INVISIBLE => {
                    options.invisible = self.at(Kw::INVISIBLE);
                    self.bump();
                }
                Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => self.engine_attribute()?,
                _ => return Ok(()),
            }
        }
    }

    /// Table options, with or without commas between them.
    fn table_options(&mut self) -> PResult<&'a [TableOption<'a>]> {
        let mut options = self.vec();
        while let Some(option) = self.table_option()? {
            options.push(option);
            if self.at_tok(Tok::Comma) {
                self.bump();
                if !self.at_table_option() {
                    return Err(self.unexpected());
                }
            }
        }
        Ok(options.into_bump_slice())
    }

    pub(super) fn at_table_option(&self) -> bool {
        use Kw as K;
        match self.tok.kw {
            K::ENGINE | K::CHARSET | K::COLLATE | K::AUTO_INCREMENT | K::COMMENT | K::ROW_FORMAT | K::KEY_BLOCK_SIZE | K::CHARACTER => true,
            K::CHAR => self.at_charset(),
            K::DEFAULT => matches!(self.peek().kw, K::CHARACTER | K::CHAR | K::CHARSET | K::COLLATE),
            K::DATA | K::INDEX => self.peek().kw == K::DIRECTORY,
            K::UNION => true,
            kw => plain_option(kw),
        }
    }

    /// One table option, or `None` when something else comes.
    pub(super) fn table_option(&mut self) -> PResult<Option<TableOption<'a>>> {
        if !self.at_table_option() {
            return Ok(None);
        }
        if self.at(Kw::DEFAULT) {
            self.bump();
        }
        if self.at_charset() {
            if self.at(Kw::CHARSET) {
                self.bump();
            } else {
                self.bump();
                self.bump();
            }
            self.eat_tok(Tok::Eq);
            if self.eat(Kw::DEFAULT) {
                return Ok(Some(TableOption::Other("CHARSET", "DEFAULT")));
            }
            return Ok(Some(TableOption::Charset(self.charset_name()?)));
        }
        let kw = self.tok.kw;
        self.bump();
        if matches!(kw, Kw::DATA | Kw::INDEX) {
            self.expect(Kw::DIRECTORY)?;
        }
        self.eat_tok(Tok::Eq);
        let option = match kw {
            Kw::ENGINE => TableOption::Engine(self.name_or_string()?),
            Kw::COLLATE => TableOption::Collate(self.charset_name()?),
            Kw::AUTO_INCREMENT => TableOption::AutoIncrement(self.int()?),
            Kw::COMMENT => TableOption::Comment(self.string()?),
            Kw::KEY_BLOCK_SIZE => TableOption::KeyBlockSize(self.int()?),
            Kw::ROW_FORMAT => {
                let word = self.tok;
                if !matches!(word.kw, Kw::DEFAULT | Kw::DYNAMIC | Kw::FIXED | Kw::COMPRESSED | Kw::REDUNDANT | Kw::COMPACT) {
                    return Err(self.unexpected());
                }
                self.bump();
                TableOption::RowFormat(word.kw.text())
            }
            Kw::UNION => {
                let start = self.tok.start;
                self.parens(Self::object)?;
                TableOption::Other("UNION", self.text_from(start)?)
            }
            _ => {
                if !self.takes_value(kw) {
                    return Err(self.unexpected());
                }
                let start = self.tok.start;
                self.bump();
                TableOption::Other(kw.text(), self.text_from(start)?)
            }
        };
        Ok(Some(option))
    }

    /// Whether what comes is a value of an option that changes nothing here.
    fn takes_value(&self, option: Kw) -> bool {
        use Kw as K;
        let token = self.tok;
        let number = || if token.tok == Tok::Int { crate::text::int_value(self.bytes(token)) } else { None };
        match option {
            K::AVG_ROW_LENGTH | K::MAX_ROWS | K::MIN_ROWS | K::CHECKSUM | K::TABLE_CHECKSUM | K::DELAY_KEY_WRITE => token.tok == Tok::Int,
            K::PACK_KEYS | K::STATS_AUTO_RECALC | K::STATS_PERSISTENT => token.kw == K::DEFAULT || number().is_some_and(|n| n <= 1),
            K::STATS_SAMPLE_PAGES => token.kw == K::DEFAULT || number().is_some_and(|n| (1..=SAMPLE_PAGES_MAX).contains(&n)),
            K::INSERT_METHOD => matches!(token.kw, K::NO | K::FIRST | K::LAST),
            K::STORAGE => matches!(token.kw, K::DISK | K::MEMORY),
            K::DATA
            | K::INDEX
            | K::COMPRESSION
            | K::ENCRYPTION
            | K::CONNECTION
            | K::PASSWORD
            | K::ENGINE_ATTRIBUTE
            | K::SECONDARY_ENGINE_ATTRIBUTE => token.tok == Tok::String,
            K::SECONDARY_ENGINE => token.kw == K::NULL || token.tok == Tok::String || Self::is_name(token),
            K::TABLESPACE => Self::is_name(token),
            _ => token.tok == Tok::Int || Self::is_name(token),
        }
    }

    /// PARTITION BY … as text: up to the query or the end, parentheses balanced.
    pub(super) fn partition_text(&mut self) -> PResult<&'a str> {
        let start = self.tok.start;
        self.bump();
        self.expect(Kw::BY)?;
        let mut open = 0u32;
        loop {
            match self.tok.tok {
                Tok::Eof | Tok::Semicolon => break,
                Tok::Bad => return Err(self.unexpected()),
                Tok::LParen => open += 1,
                Tok::RParen if open == 0 => return Err(self.unexpected()),
                Tok::RParen => open -= 1,
                Tok::Keyword if open == 0 && matches!(self.tok.kw, Kw::SELECT | Kw::AS | Kw::IGNORE | Kw::REPLACE | Kw::WITH) => break,
                _ => {}
            }
            self.bump();
        }
        if open > 0 {
            return Err(self.unexpected());
        }
        self.text_from(start)
    }

    fn create_select(&mut self) -> PResult<Option<CreateSelect<'a>>> {
        let duplicates = match self.tok.kw {
            Kw::IGNORE => LoadDuplicates::Ignore,
            Kw::REPLACE => LoadDuplicates::Replace,
            _ => LoadDuplicates::Default,
        };
        if duplicates != LoadDuplicates::Default {
            self.bump();
        }
        let wanted = self.eat(Kw::AS) || duplicates != LoadDuplicates::Default;
        let comes = matches!(self.tok.kw, Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES) || self.at_tok(Tok::LParen);
        if !comes {
            return if wanted { Err(self.unexpected()) } else { Ok(None) };
        }
        Ok(Some(CreateSelect { duplicates, query: self.query()? }))
    }
}

/// Most of STATS_SAMPLE_PAGES.
const SAMPLE_PAGES_MAX: u64 = 65_535;

/// Options that are read and change nothing here.
fn plain_option(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::AUTOEXTEND_SIZE
            | Kw::AVG_ROW_LENGTH
            | Kw::CHECKSUM
            | Kw::TABLE_CHECKSUM
            | Kw::COMPRESSION
            | Kw::CONNECTION
            | Kw::DELAY_KEY_WRITE
            | Kw::ENCRYPTION
            | Kw::ENGINE_ATTRIBUTE
            | Kw::INSERT_METHOD
            | Kw::MAX_ROWS
            | Kw::MIN_ROWS
            | Kw::PACK_KEYS
            | Kw::PASSWORD
            | Kw::SECONDARY_ENGINE
            | Kw::SECONDARY_ENGINE_ATTRIBUTE
            | Kw::STATS_AUTO_RECALC
            | Kw::STATS_PERSISTENT
            | Kw::STATS_SAMPLE_PAGES
            | Kw::STORAGE
            | Kw::TABLESPACE
    )
}
