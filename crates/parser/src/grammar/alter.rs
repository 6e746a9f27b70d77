//! ALTER TABLE.

use super::create_table::Element;
use super::{PResult, Parser};
use crate::ast::{AlterAction, AlterTable, ColumnDef, ColumnPosition, Statement};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// ALTER TABLE; TABLE is next.
    #[inline(never)]
    pub(super) fn alter_table(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let name = self.object()?;
        let mut alter = AlterTable { name, actions: &[], algorithm: None, lock: None };
        let mut actions = self.vec();
        let mut wants_more = false;
        while wants_more || !self.at_end() {
            if self.at(Kw::PARTITION) && !wants_more {
                self.partition_text()?;
                actions.push(AlterAction::Unsupported("PARTITION BY"));
                break;
            }
            let was_wish = matches!(self.tok.kw, Kw::ALGORITHM | Kw::LOCK);
            match self.tok.kw {
                Kw::ALGORITHM => alter.algorithm = Some(self.algorithm()?),
                Kw::LOCK => alter.lock = Some(self.lock_option()?),
                _ => self.alter_action(&mut actions)?,
            }
            wants_more = self.eat_tok(Tok::Comma);
            if wants_more {
                continue;
            }
            // Table options follow one another without commas; partitioning follows anything.
            let follows = matches!(actions.last(), Some(AlterAction::Option(_))) && !was_wish && self.at_table_option();
            if !follows && !self.at(Kw::PARTITION) {
                break;
            }
        }
        let of_columns = |action: &AlterAction<'_>| {
            matches!(action, AlterAction::AddColumn(..) | AlterAction::ModifyColumn(..) | AlterAction::ChangeColumn(..))
        };
        if actions.iter().any(|action| matches!(action, AlterAction::Validation(_))) && !actions.iter().any(of_columns) {
            let message = "Incorrect usage of ALTER and WITH VALIDATION";
            return Err(Box::new(crate::ParseError::new(1221, "HY000", message.into())));
        }
        alter.actions = actions.into_bump_slice();
        Ok(Statement::AlterTable(self.arena.alloc(alter)))
    }

    /// `ALGORITHM [=] word`.
    pub(super) fn algorithm(&mut self) -> PResult<&'a str> {
        self.bump();
        self.eat_tok(Tok::Eq);
        match self.tok.kw {
            Kw::DEFAULT | Kw::INPLACE | Kw::COPY | Kw::INSTANT => {}
            _ => {
                let word = String::from_utf8_lossy(self.bytes(self.tok)).into_owned();
                if !Self::is_name(self.tok) {
                    return Err(self.unexpected());
                }
                return Err(Box::new(crate::ParseError::new(1800, "HY000", format!("Unknown ALGORITHM '{word}'"))));
            }
        }
        let word = self.tok.kw.text();
        self.bump();
        Ok(word)
    }

    /// `LOCK [=] word`.
    pub(super) fn lock_option(&mut self) -> PResult<&'a str> {
        self.bump();
        self.eat_tok(Tok::Eq);
        match self.tok.kw {
            Kw::DEFAULT | Kw::NONE | Kw::SHARED | Kw::EXCLUSIVE => {}
            _ => {
                let word = String::from_utf8_lossy(self.bytes(self.tok)).into_owned();
                if !Self::is_name(self.tok) {
                    return Err(self.unexpected());
                }
                return Err(Box::new(crate::ParseError::new(1801, "HY000", format!("Unknown LOCK type '{word}'"))));
            }
        }
        let word = self.tok.kw.text();
        self.bump();
        Ok(word)
    }

    /// The new definition of a column.
    fn changed_column(&mut self, name: &'a str) -> PResult<ColumnDef<'a>> {
        self.changes_column = true;
        let column = self.column_def_named(name);
        self.changes_column = false;
        column
    }

    fn alter_action(&mut self, actions: &mut bumpalo::collections::Vec<'a, AlterAction<'a>>) -> PResult<()> {
        let action = match self.tok.kw {
            Kw::ADD => return self.alter_add(actions),
            Kw::DROP => self.alter_drop()?,
            Kw::MODIFY => {
                self.bump();
                self.eat(Kw::COLUMN);
                let name = self.name()?;
                let column = self.changed_column(name)?;
                AlterAction::ModifyColumn(self.arena.alloc(column), self.column_position()?)
            }
            Kw::CHANGE => {
                self.bump();
                self.eat(Kw::COLUMN);
                let old = self.name()?;
                let name = self.name()?;
                let column = self.changed_column(name)?;
                AlterAction::ChangeColumn(old, self.arena.alloc(column), self.column_position()?)
            }
            Kw::ALTER => self.alter_alter()?,
            Kw::RENAME => self.alter_rename()?,
            Kw::CONVERT => {
                self.bump();
                self.expect(Kw::TO)?;
                if !self.at_charset() {
                    return Err(self.unexpected());
                }
                if !self.eat(Kw::CHARSET) {
                    self.bump();
                    self.bump();
                }
                self.eat_tok(Tok::Eq);
                let charset = if self.eat(Kw::DEFAULT) { None } else { Some(self.charset_name()?) };
                let collation = if self.eat(Kw::COLLATE) {
                    self.eat_tok(Tok::Eq);
                    Some(self.charset_name()?)
                } else {
                    None
                };
                AlterAction::ConvertCharset(charset, collation)
            }
            Kw::ORDER => AlterAction::OrderBy(self.optional_order_by()?),
            Kw::FORCE => {
                self.bump();
                AlterAction::Force
            }
            Kw::ENABLE | Kw::DISABLE => {
                let enable = self.at(Kw::ENABLE);
                self.bump();
                self.expect(Kw::KEYS)?;
                AlterAction::EnableKeys(enable)
            }
            Kw::WITH | Kw::WITHOUT if self.peek().kw == Kw::VALIDATION => {
                let with = self.at(Kw::WITH);
                self.bump();
                self.bump();
                AlterAction::Validation(with)
            }
            Kw::DISCARD | Kw::IMPORT => return self.unsupported_action(actions, "DISCARD or IMPORT"),
            Kw::SECONDARY_LOAD | Kw::SECONDARY_UNLOAD => return self.unsupported_action(actions, "SECONDARY_LOAD"),
            Kw::TRUNCATE
            | Kw::COALESCE
            | Kw::REORGANIZE
            | Kw::EXCHANGE
            | Kw::ANALYZE
            | Kw::CHECK
            | Kw::OPTIMIZE
            | Kw::REBUILD
            | Kw::REPAIR
            | Kw::REMOVE => {
                if !matches!(self.peek().kw, Kw::PARTITION | Kw::PARTITIONING) {
                    return Err(self.unexpected());
                }
                return self.unsupported_action(actions, "ALTER TABLE of partitions");
            }
            _ => match self.table_option()? {
                Some(option) => AlterAction::Option(option),
                None => return Err(self.unexpected()),
            },
        };
        actions.push(action);
        Ok(())
    }

    /// Takes the rest of the statement: it is answered 1235 as a whole.
    fn unsupported_action(&mut self, actions: &mut bumpalo::collections::Vec<'a, AlterAction<'a>>, what: &'static str) -> PResult<()> {
        while !self.at_end() && !self.at_tok(Tok::Bad) {
            self.bump();
        }
        actions.push(AlterAction::Unsupported(what));
        Ok(())
    }

    fn alter_add(&mut self, actions: &mut bumpalo::collections::Vec<'a, AlterAction<'a>>) -> PResult<()> {
        self.bump();
        if self.at(Kw::PARTITION) {
            return self.unsupported_action(actions, "ADD PARTITION");
        }
        let column_word = self.eat(Kw::COLUMN);
        if self.eat_tok(Tok::LParen) {
            loop {
                let element = self.element()?;
                actions.push(self.added(element, ColumnPosition::Default));
                if !self.eat_tok(Tok::Comma) {
                    break;
                }
            }
            return self.expect_tok(Tok::RParen);
        }
        if column_word && self.at_constraint() {
            return Err(self.unexpected());
        }
        let element = self.element()?;
        let position = if matches!(element, Element::Column(_)) { self.column_position()? } else { ColumnPosition::Default };
        actions.push(self.added(element, position));
        Ok(())
    }

    fn added(&self, element: Element<'a>, position: ColumnPosition<'a>) -> AlterAction<'a> {
        match element {
            Element::Column(column) => {
                let column: &'a ColumnDef<'a> = self.arena.alloc(column);
                AlterAction::AddColumn(column, position)
            }
            Element::Key(key) => AlterAction::AddKey(self.arena.alloc(key)),
            Element::ForeignKey(key) => AlterAction::AddForeignKey(self.arena.alloc(key)),
            Element::Check(check) => AlterAction::AddCheck(self.arena.alloc(check)),
        }
    }

    fn column_position(&mut self) -> PResult<ColumnPosition<'a>> {
        if self.eat(Kw::FIRST) {
            return Ok(ColumnPosition::First);
        }
        if self.eat(Kw::AFTER) {
            return Ok(ColumnPosition::After(self.name()?));
        }
        Ok(ColumnPosition::Default)
    }

    fn alter_drop(&mut self) -> PResult<AlterAction<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::PRIMARY => {
                self.bump();
                self.expect(Kw::KEY)?;
                Ok(AlterAction::DropPrimaryKey)
            }
            Kw::INDEX | Kw::KEY => {
                self.bump();
                Ok(AlterAction::DropKey(self.index_name()?))
            }
            Kw::FOREIGN => {
                self.bump();
                self.expect(Kw::KEY)?;
                Ok(AlterAction::DropForeignKey(self.name()?))
            }
            Kw::CHECK => {
                self.bump();
                Ok(AlterAction::DropCheck(self.name()?))
            }
            Kw::CONSTRAINT => {
                self.bump();
                Ok(AlterAction::DropConstraint(self.index_name()?))
            }
            Kw::PARTITION => {
                while !self.at_end() && !self.at_tok(Tok::Bad) {
                    self.bump();
                }
                Ok(AlterAction::Unsupported("DROP PARTITION"))
            }
            _ => {
                self.eat(Kw::COLUMN);
                let name = self.name()?;
                if !self.eat(Kw::RESTRICT) {
                    self.eat(Kw::CASCADE);
                }
                Ok(AlterAction::DropColumn(name))
            }
        }
    }

    fn alter_alter(&mut self) -> PResult<AlterAction<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::INDEX => {
                self.bump();
                let name = self.index_name()?;
                Ok(AlterAction::SetKeyVisible(name, self.visibility()?))
            }
            Kw::CHECK | Kw::CONSTRAINT => {
                self.bump();
                let name = self.name()?;
                let enforced = !self.eat(Kw::NOT);
                self.expect(Kw::ENFORCED)?;
                Ok(AlterAction::SetEnforced(name, enforced))
            }
            _ => {
                self.eat(Kw::COLUMN);
                let name = self.name()?;
                if self.eat(Kw::DROP) {
                    self.expect(Kw::DEFAULT)?;
                    return Ok(AlterAction::DropDefault(name));
                }
                self.expect(Kw::SET)?;
                if self.eat(Kw::DEFAULT) {
                    let default = self.column_default()?;
                    return Ok(AlterAction::SetDefault(name, self.arena.alloc(default)));
                }
                Ok(AlterAction::SetColumnVisible(name, self.visibility()?))
            }
        }
    }

    fn visibility(&mut self) -> PResult<bool> {
        if self.eat(Kw::VISIBLE) {
            return Ok(true);
        }
        self.expect(Kw::INVISIBLE)?;
        Ok(false)
    }

    fn alter_rename(&mut self) -> PResult<AlterAction<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::COLUMN => {
                self.bump();
                let old = self.name()?;
                self.expect(Kw::TO)?;
                Ok(AlterAction::RenameColumn(old, self.name()?))
            }
            Kw::INDEX | Kw::KEY => {
                self.bump();
                let old = self.index_name()?;
                self.expect(Kw::TO)?;
                Ok(AlterAction::RenameKey(old, self.index_name()?))
            }
            _ => {
                if !self.eat(Kw::TO) && !self.eat(Kw::AS) {
                    self.eat_tok(Tok::Eq);
                }
                Ok(AlterAction::Rename(self.object()?))
            }
        }
    }
}
