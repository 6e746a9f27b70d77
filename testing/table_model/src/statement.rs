//! The statements that are drawn, and how they are written.

use crate::model::{Check, Column, Foreign, Key, PRIMARY, Rule, Table, Type, Value};
use std::fmt::{Display, Formatter, Result};

/// A statement.
#[derive(Debug, Clone)]
pub(crate) enum Statement {
    /// CREATE TABLE.
    Create { name: String, table: Table },
    /// CREATE TABLE … LIKE.
    CreateLike { name: String, source: String },
    /// CREATE TABLE … AS SELECT *.
    CreateSelect { name: String, source: String },
    /// DROP TABLE of one or several.
    Drop { names: Vec<String>, if_exists: bool },
    /// TRUNCATE TABLE.
    Truncate { name: String },
    /// RENAME TABLE, one after the other.
    Rename { pairs: Vec<(String, String)> },
    /// ALTER TABLE.
    Alter { name: String, actions: Vec<Action>, copies: bool },
    /// INSERT and REPLACE. In a row nothing stands for DEFAULT.
    Insert { name: String, columns: Vec<String>, rows: Vec<Vec<Option<Value>>>, how: How },
    /// UPDATE; a table with a primary key is gone through in its order, others have no limit.
    Update { name: String, set: Vec<Assignment>, condition: Option<Condition>, order: Vec<String>, limit: Option<usize> },
    /// DELETE; as UPDATE.
    Delete { name: String, condition: Option<Condition>, order: Vec<String>, limit: Option<usize> },
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
}

/// A part of ALTER TABLE.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// ADD COLUMN.
    AddColumn(Column, Place),
    /// DROP COLUMN.
    DropColumn(String),
    /// RENAME COLUMN … TO.
    RenameColumn(String, String),
    /// MODIFY COLUMN.
    Modify(Column, Place),
    /// ADD INDEX, ADD UNIQUE, ADD PRIMARY KEY.
    AddKey(Key),
    /// DROP INDEX, DROP PRIMARY KEY.
    DropKey(String),
    /// RENAME INDEX … TO.
    RenameKey(String, String),
    /// ADD CONSTRAINT … CHECK.
    AddCheck(Check),
    /// DROP CHECK.
    DropCheck(String),
    /// ADD FOREIGN KEY, alone.
    AddForeign(Foreign),
    /// DROP FOREIGN KEY, alone.
    DropForeign(String),
    /// AUTO_INCREMENT = n, alone.
    Counter(i64),
}

/// Where a column goes.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Where it is, or to the end.
    Unsaid,
    /// Before all others.
    First,
    /// After this one.
    After(String),
}

/// What INSERT does about rows that are there.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// 1062.
    Insert,
    /// Passes them over.
    Ignore,
    /// Takes them out.
    Replace,
    /// Changes the first.
    OnDuplicate(Assignment),
}

/// A new value of a column.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// Which column.
    pub(crate) column: String,
    /// Its value.
    pub(crate) to: SetTo,
}

/// What a column is set to.
#[derive(Debug, Clone)]
pub(crate) enum SetTo {
    /// A constant.
    Value(Value),
    /// What it was, and so much more.
    Plus(i64),
}

/// WHERE.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    /// Which column.
    pub(crate) column: String,
    /// `=`, `<`, `>`, `<=>`, `<>`.
    pub(crate) operator: &'static str,
    /// With what.
    pub(crate) value: Value,
}

impl Statement {
    /// Whether it ends the transaction that runs before it does anything.
    pub(crate) fn commits_first(&self) -> bool {
        use Statement::{Alter, Begin, Create, CreateLike, CreateSelect, Drop, Rename, Truncate};
        matches!(
            self,
            Create { .. } | CreateLike { .. } | CreateSelect { .. } | Drop { .. } | Truncate { .. } | Rename { .. } | Alter { .. } | Begin
        )
    }
}

fn list<T>(f: &mut Formatter<'_>, items: &[T], mut one: impl FnMut(&mut Formatter<'_>, &T) -> Result) -> Result {
    for (no, item) in items.iter().enumerate() {
        if no > 0 {
            f.write_str(", ")?;
        }
        one(f, item)?;
    }
    Ok(())
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Text(text) => write!(f, "'{text}'"),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Type::Int => f.write_str("int"),
            Type::BigInt => f.write_str("bigint"),
            Type::Varchar(chars) => write!(f, "varchar({chars})"),
        }
    }
}

impl Display for Column {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.name, self.ty)?;
        if let Some(generated) = &self.generated {
            write!(f, " AS ({} + {})", generated.of, generated.plus)?;
            return f.write_str(if generated.stored { " STORED" } else { " VIRTUAL" });
        }
        f.write_str(if self.nullable { "" } else { " NOT NULL" })?;
        f.write_str(if self.counts { " AUTO_INCREMENT" } else { "" })?;
        self.default.as_ref().map_or(Ok(()), |value| write!(f, " DEFAULT {value}"))
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (self.name.as_str(), self.unique) {
            (PRIMARY, _) => f.write_str("PRIMARY KEY")?,
            (name, true) => write!(f, "UNIQUE KEY {name}")?,
            (name, false) => write!(f, "KEY {name}")?,
        }
        write!(f, " ({})", self.columns.join(", "))
    }
}

impl Display for Check {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "CONSTRAINT {} CHECK ({} <> {})", self.name, self.column, self.refused)
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Rule::Restrict => "RESTRICT",
            Rule::Cascade => "CASCADE",
            Rule::SetNull => "SET NULL",
        })
    }
}

impl Display for Foreign {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Foreign { name, column, parent, parent_column, on_delete, on_update } = self;
        write!(
            f,
            "CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {parent} ({parent_column}) ON DELETE {on_delete} ON UPDATE {on_update}"
        )
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Place::Unsaid => Ok(()),
            Place::First => f.write_str(" FIRST"),
            Place::After(column) => write!(f, " AFTER {column}"),
        }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Action::AddColumn(column, place) => write!(f, "ADD COLUMN {column}{place}"),
            Action::DropColumn(name) => write!(f, "DROP COLUMN {name}"),
            Action::RenameColumn(old, new) => write!(f, "RENAME COLUMN {old} TO {new}"),
            Action::Modify(column, place) => write!(f, "MODIFY COLUMN {column}{place}"),
            Action::AddKey(key) => write!(f, "ADD {key}"),
            Action::DropKey(name) if name == PRIMARY => f.write_str("DROP PRIMARY KEY"),
            Action::DropKey(name) => write!(f, "DROP INDEX {name}"),
            Action::RenameKey(old, new) => write!(f, "RENAME INDEX {old} TO {new}"),
            Action::AddCheck(check) => write!(f, "ADD {check}"),
            Action::DropCheck(name) => write!(f, "DROP CHECK {name}"),
            Action::AddForeign(foreign) => write!(f, "ADD {foreign}"),
            Action::DropForeign(name) => write!(f, "DROP FOREIGN KEY {name}"),
            Action::Counter(next) => write!(f, "AUTO_INCREMENT = {next}"),
        }
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let column = &self.column;
        match &self.to {
            SetTo::Value(value) => write!(f, "{column} = {value}"),
            SetTo::Plus(more) => write!(f, "{column} = {column} + {more}"),
        }
    }
}

fn restriction(f: &mut Formatter<'_>, condition: Option<&Condition>, order: &[String], limit: Option<usize>) -> Result {
    if let Some(Condition { column, operator, value }) = condition {
        write!(f, " WHERE {column} {operator} {value}")?;
    }
    if !order.is_empty() {
        write!(f, " ORDER BY {}", order.join(", "))?;
    }
    limit.map_or(Ok(()), |limit| write!(f, " LIMIT {limit}"))
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Statement::Create { name, table } => {
                write!(f, "CREATE TABLE {name} (")?;
                list(f, &table.columns, |f, column| write!(f, "{column}"))?;
                table.keys.iter().try_for_each(|key| write!(f, ", {key}"))?;
                table.checks.iter().try_for_each(|check| write!(f, ", {check}"))?;
                table.foreign.iter().try_for_each(|foreign| write!(f, ", {foreign}"))?;
                f.write_str(") COLLATE utf8mb4_bin")
            }
            Statement::CreateLike { name, source } => write!(f, "CREATE TABLE {name} LIKE {source}"),
            Statement::CreateSelect { name, source } => write!(f, "CREATE TABLE {name} COLLATE utf8mb4_bin AS SELECT * FROM {source}"),
            Statement::Drop { names, if_exists } => {
                write!(f, "DROP TABLE {}{}", if *if_exists { "IF EXISTS " } else { "" }, names.join(", "))
            }
            Statement::Truncate { name } => write!(f, "TRUNCATE TABLE {name}"),
            Statement::Rename { pairs } => {
                f.write_str("RENAME TABLE ")?;
                list(f, pairs, |f, (old, new)| write!(f, "{old} TO {new}"))
            }
            Statement::Alter { name, actions, copies } => {
                write!(f, "ALTER TABLE {name} ")?;
                list(f, actions, |f, action| write!(f, "{action}"))?;
                f.write_str(if *copies { ", ALGORITHM=COPY" } else { "" })
            }
            Statement::Insert { name, columns, rows, how } => {
                let verb = match how {
                    How::Insert | How::OnDuplicate(_) => "INSERT",
                    How::Ignore => "INSERT IGNORE",
                    How::Replace => "REPLACE",
                };
                write!(f, "{verb} INTO {name} ({}) VALUES ", columns.join(", "))?;
                list(f, rows, |f, row| {
                    f.write_str("(")?;
                    list(f, row, |f, value| match value {
                        Some(value) => write!(f, "{value}"),
                        None => f.write_str("DEFAULT"),
                    })?;
                    f.write_str(")")
                })?;
                match how {
                    How::OnDuplicate(assignment) => write!(f, " ON DUPLICATE KEY UPDATE {assignment}"),
                    _ => Ok(()),
                }
            }
            Statement::Update { name, set, condition, order, limit } => {
                write!(f, "UPDATE {name} SET ")?;
                list(f, set, |f, assignment| write!(f, "{assignment}"))?;
                restriction(f, condition.as_ref(), order, *limit)
            }
            Statement::Delete { name, condition, order, limit } => {
                write!(f, "DELETE FROM {name}")?;
                restriction(f, condition.as_ref(), order, *limit)
            }
            Statement::Begin => f.write_str("BEGIN"),
            Statement::Commit => f.write_str("COMMIT"),
            Statement::Rollback => f.write_str("ROLLBACK"),
            Statement::Savepoint(name) => write!(f, "SAVEPOINT {name}"),
            Statement::RollbackTo(name) => write!(f, "ROLLBACK TO SAVEPOINT {name}"),
        }
    }
}
