//! A table as a list of rows, and what changes of it alone do to it. What goes past one table is `database.rs`'s.

use crate::statement::{Action, Assignment, Condition, How, Place, SetTo};
use std::collections::BTreeSet;

/// The primary key's name.
pub(crate) const PRIMARY: &str = "PRIMARY";

/// A value. NULL comes before all others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    /// NULL.
    Null,
    /// Of INT and BIGINT.
    Int(i64),
    /// Of VARCHAR, compared by bytes.
    Text(String),
}

/// A column's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    /// 32 bits.
    Int,
    /// 64 bits.
    BigInt,
    /// So many characters.
    Varchar(u32),
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    pub(crate) ty: Type,
    /// Whether it takes NULL.
    pub(crate) nullable: bool,
    /// What rows have that say nothing; without one NULL, or an error.
    pub(crate) default: Option<Value>,
    /// AUTO_INCREMENT.
    pub(crate) counts: bool,
    /// What it is computed from, if it is.
    pub(crate) generated: Option<Generated>,
}

/// How a column is computed: another one and so much more, as BIGINT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generated {
    /// A column of numbers that is not computed itself.
    pub(crate) of: String,
    /// More than that.
    pub(crate) plus: i64,
    /// STORED or VIRTUAL.
    pub(crate) stored: bool,
}

/// What becomes of rows that refer to one that goes or gets another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The statement is refused.
    Restrict,
    /// They go, too, or get the new key.
    Cascade,
    /// They refer to none.
    SetNull,
}

/// A foreign key of one column. A table has one at most, and none comes back to where it began: in which order MySQL follows several is not documented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Its name, one in the database.
    pub(crate) name: String,
    /// The column that refers.
    pub(crate) column: String,
    /// To which table.
    pub(crate) parent: String,
    /// And which column of it, a unique key by itself.
    pub(crate) parent_column: String,
    /// ON DELETE.
    pub(crate) on_delete: Rule,
    /// ON UPDATE.
    pub(crate) on_update: Rule,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: String,
    /// Its columns, in order.
    pub(crate) columns: Vec<String>,
    /// No two rows agree in all columns, unless one is NULL.
    pub(crate) unique: bool,
}

/// A constraint: the column is not this number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// Its name, one in the database.
    pub(crate) name: String,
    /// Of which column.
    pub(crate) column: String,
    /// What it must not be.
    pub(crate) refused: i64,
}

/// A row: a value for each column.
pub(crate) type Row = Vec<Value>;

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its columns, in order.
    pub(crate) columns: Vec<Column>,
    /// Its keys, in the order in which they were made.
    pub(crate) keys: Vec<Key>,
    /// Its constraints.
    pub(crate) checks: Vec<Check>,
    /// To which other table its rows refer.
    pub(crate) foreign: Option<Foreign>,
    /// Its rows, in no order.
    pub(crate) rows: Vec<Row>,
}

/// What AUTO_INCREMENT gives next; nothing where the documentation leaves open how many numbers a statement uses up.
pub(crate) type Counter = Option<i64>;

/// The numbers of the errors of which one must be told.
pub(crate) type Codes = BTreeSet<u16>;

/// Rows affected, where that is certain.
pub(crate) type Applied = Result<Option<u64>, Codes>;

pub(crate) fn only(code: u16) -> Codes {
    BTreeSet::from([code])
}

pub(crate) fn refuse<T>(code: u16) -> Result<T, Codes> {
    Err(only(code))
}

/// Fails with all that was found.
pub(crate) fn unless_any(codes: Codes) -> Result<(), Codes> {
    if codes.is_empty() { Ok(()) } else { Err(codes) }
}

impl Type {
    /// Whether its values are numbers.
    pub(crate) fn is_number(self) -> bool {
        !matches!(self, Type::Varchar(_))
    }

    /// What stands in a NOT NULL column that nothing was said of.
    fn implicit_value(self) -> Value {
        if self.is_number() { Value::Int(0) } else { Value::Text(String::new()) }
    }

    /// A value as the type stores it: 1264 and 1406.
    fn stored(self, value: &Value) -> Result<Value, Codes> {
        match (self, value) {
            (Type::Int, Value::Int(number)) if i32::try_from(*number).is_err() => refuse(1264),
            (Type::Varchar(chars), Value::Int(number)) => Type::Varchar(chars).stored(&Value::Text(number.to_string())),
            (Type::Varchar(chars), Value::Text(text)) if text.len() > chars as usize => refuse(1406),
            _ => Ok(value.clone()),
        }
    }
}

impl Column {
    /// A value as the column stores it: 1048, and what its type says.
    fn stored(&self, value: &Value) -> Result<Value, Codes> {
        if *value == Value::Null && !self.nullable { refuse(1048) } else { self.ty.stored(value) }
    }

    /// What a row has that says nothing: 1364.
    fn unsaid(&self) -> Result<Value, Codes> {
        match &self.default {
            Some(value) => Ok(value.clone()),
            None if self.nullable => Ok(Value::Null),
            None => refuse(1364),
        }
    }

    /// What rows have that were there before the column.
    fn added(&self) -> Value {
        self.unsaid().unwrap_or_else(|_| self.ty.implicit_value())
    }
}

impl Condition {
    fn holds(&self, table: &Table, row: &Row) -> bool {
        let value = &row[table.position(&self.column)];
        if self.operator == "<=>" {
            return *value == self.value;
        }
        if *value == Value::Null || self.value == Value::Null {
            return false;
        }
        match self.operator {
            "=" => *value == self.value,
            "<" => *value < self.value,
            ">" => *value > self.value,
            "<>" => *value != self.value,
            other => unreachable!("no operator {other} is drawn"),
        }
    }
}

impl Table {
    /// Where a column is.
    pub(crate) fn position(&self, column: &str) -> usize {
        self.columns.iter().position(|c| c.name == column).expect("statements name columns that are there")
    }

    /// The primary key, if there is one.
    pub(crate) fn primary(&self) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == PRIMARY)
    }

    /// A row's values of some columns.
    pub(crate) fn of_row(&self, columns: &[String], row: &Row) -> Vec<Value> {
        columns.iter().map(|column| row[self.position(column)].clone()).collect()
    }

    /// Unique keys in the order in which they are asked: the primary key, those without NULLs, the others.
    fn unique_keys(&self) -> Vec<&Key> {
        let mut keys: Vec<&Key> = self.keys.iter().filter(|key| key.unique).collect();
        let has_null = |key: &Key| key.columns.iter().any(|c| self.columns[self.position(c)].nullable);
        keys.sort_by_key(|key| (key.name != PRIMARY, has_null(key)));
        keys
    }

    /// Rows that a new one collides with, but for the one at `except`, by the keys' order, each once.
    fn collisions(&self, row: &Row, except: Option<usize>) -> Vec<usize> {
        let mut found = Vec::new();
        for key in self.unique_keys() {
            let values = self.of_row(&key.columns, row);
            if values.contains(&Value::Null) {
                continue;
            }
            let other = (0..self.rows.len()).find(|no| Some(*no) != except && self.of_row(&key.columns, &self.rows[*no]) == values);
            found.extend(other.filter(|no| !found.contains(no)));
        }
        found
    }

    /// The column that counts by itself.
    pub(crate) fn counting(&self) -> Option<&Column> {
        self.columns.iter().find(|column| column.counts)
    }

    /// Computes what is computed.
    pub(crate) fn compute(&self, row: &mut Row) {
        for (no, column) in self.columns.iter().enumerate() {
            if let Some(Generated { of, plus, .. }) = &column.generated {
                row[no] = match &row[self.position(of)] {
                    Value::Int(number) => Value::Int(number + plus),
                    _ => Value::Null,
                };
            }
        }
    }

    /// Whether others are computed from it.
    pub(crate) fn feeds(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.generated.as_ref().is_some_and(|generated| generated.of == name))
    }

    /// Whether a foreign key is satisfied by what its parent holds.
    fn has_parent(&self, row: &Row, keys: Option<&BTreeSet<Value>>) -> bool {
        self.foreign.as_ref().zip(keys).is_none_or(|(foreign, keys)| {
            let value = &row[self.position(&foreign.column)];
            *value == Value::Null || keys.contains(value)
        })
    }

    fn breaks_check(&self, row: &Row) -> bool {
        self.checks.iter().any(|check| row[self.position(&check.column)] == Value::Int(check.refused))
    }

    /// A row as INSERT makes it; NULL stands where AUTO_INCREMENT is to give a number.
    fn new_row(&self, columns: &[String], values: &[Option<Value>]) -> Result<Row, Codes> {
        let mut codes = Codes::new();
        let row = self.columns.iter().map(|column| {
            let said = columns.iter().position(|name| *name == column.name).and_then(|no| values[no].as_ref());
            if column.counts && said.is_none_or(|value| matches!(value, Value::Null | Value::Int(0))) {
                return Value::Null;
            }
            let value = said.map_or_else(|| column.unsaid(), |value| column.stored(value));
            value.unwrap_or_else(|found| {
                codes.extend(found);
                Value::Null
            })
        });
        let mut row = row.collect();
        self.compute(&mut row);
        unless_any(codes).map(|()| row)
    }

    /// Gives its number to a row that leaves it to AUTO_INCREMENT.
    fn number(&self, row: &mut Row, counter: &mut Counter) {
        let Some(column) = self.counting() else { return };
        let at = self.position(&column.name);
        match &row[at] {
            Value::Int(number) => *counter = counter.map(|next| next.max(number + 1)),
            _ => {
                let next = counter.expect("numbers are not asked for while nobody knows them");
                row[at] = Value::Int(next);
                *counter = Some(next + 1);
            }
        }
    }

    /// A row after some assignments.
    fn assigned(&self, row: &Row, set: &[Assignment]) -> Result<Row, Codes> {
        let mut codes = Codes::new();
        let mut new = row.clone();
        for Assignment { column, to } in set {
            let no = self.position(column);
            let value = match (to, &row[no]) {
                (SetTo::Value(value), _) => value.clone(),
                (SetTo::Plus(more), Value::Int(was)) => Value::Int(was + more),
                (SetTo::Plus(_), _) => Value::Null,
            };
            match self.columns[no].stored(&value) {
                Ok(value) => new[no] = value,
                Err(found) => codes.extend(found),
            }
        }
        self.compute(&mut new);
        unless_any(codes).map(|()| new)
    }

    /// Puts another row in the place of one; whether it is another. `keys` as for [`Table::insert`].
    pub(crate) fn change(&mut self, no: usize, set: &[Assignment], keys: Option<&BTreeSet<Value>>) -> Result<bool, Codes> {
        let new = self.assigned(&self.rows[no], set)?;
        if new == self.rows[no] {
            return Ok(false);
        }
        if self.breaks_check(&new) {
            return refuse(3819);
        }
        if !self.collisions(&new, Some(no)).is_empty() {
            return refuse(1062);
        }
        if !self.has_parent(&new, keys) && self.has_parent(&self.rows[no], keys) {
            return refuse(1452);
        }
        self.rows[no] = new;
        Ok(true)
    }

    /// `keys`: what the rows may refer to, if they refer to another table; `counter`: what AUTO_INCREMENT gives next.
    pub(crate) fn insert(
        &mut self,
        columns: &[String],
        rows: &[Vec<Option<Value>>],
        how: &How,
        keys: Option<&BTreeSet<Value>>,
        counter: &mut Counter,
    ) -> Applied {
        let mut affected = 0;
        let mut is_certain = true;
        for values in rows {
            let mut row = self.new_row(columns, values)?;
            if self.breaks_check(&row) {
                if matches!(how, How::Ignore) {
                    continue;
                }
                return refuse(3819);
            }
            self.number(&mut row, counter);
            let mut collisions = self.collisions(&row, None);
            if !self.has_parent(&row, keys) {
                if matches!(how, How::Ignore) {
                    continue;
                }
                // Which is found first depends on the order in which the indexes are gone through.
                return Err(if collisions.is_empty() { only(1452) } else { Codes::from([1062, 1452]) });
            }
            match (how, collisions.first().copied()) {
                (_, None) => {
                    self.rows.push(row);
                    affected += 1;
                }
                (How::Insert, _) => return refuse(1062),
                (How::Ignore, _) => {}
                (How::Replace, _) => {
                    collisions.sort_unstable();
                    // A row that is there as it is may be left there.
                    let is_same = collisions.iter().any(|no| self.rows[*no] == row);
                    collisions.iter().rev().for_each(|no| _ = self.rows.remove(*no));
                    self.rows.push(row);
                    affected += 1 + collisions.len() as u64;
                    is_certain &= !is_same;
                }
                (How::OnDuplicate(assignment), Some(no)) => {
                    if self.change(no, std::slice::from_ref(assignment), keys)? {
                        affected += 2;
                    } else {
                        // MySQL counts some rows in which NULL has become NULL.
                        is_certain &= !self.rows[no].contains(&Value::Null);
                    }
                }
            }
        }
        Ok(is_certain.then_some(affected))
    }

    /// The rows that a change goes through, in its order.
    pub(crate) fn chosen(&self, condition: Option<&Condition>, order: &[String], limit: Option<usize>) -> Vec<usize> {
        let mut chosen: Vec<usize> =
            (0..self.rows.len()).filter(|no| condition.is_none_or(|condition| condition.holds(self, &self.rows[*no]))).collect();
        chosen.sort_by_key(|no| self.of_row(order, &self.rows[*no]));
        chosen.truncate(limit.unwrap_or(usize::MAX));
        chosen
    }

    pub(crate) fn alter(&mut self, actions: &[Action], names_taken: &BTreeSet<String>) -> Result<(), Codes> {
        let mut data = Codes::new();
        for action in actions {
            self.act(action, names_taken, &mut data)?;
        }
        for no in 0..self.rows.len() {
            let mut row = std::mem::take(&mut self.rows[no]);
            self.compute(&mut row);
            self.rows[no] = row;
        }
        if self.rows.iter().any(|row| self.breaks_check(row)) {
            data.insert(3819);
        }
        for key in self.keys.iter().filter(|key| key.unique) {
            let mut values: Vec<Vec<Value>> = self.rows.iter().map(|row| self.of_row(&key.columns, row)).collect();
            values.retain(|values| !values.contains(&Value::Null));
            values.sort_unstable();
            if values.windows(2).any(|pair| pair[0] == pair[1]) {
                data.insert(1062);
            }
        }
        unless_any(data)
    }

    /// One action of ALTER TABLE. What it finds wrong in the rows is noted: all of that is looked for once the definition is known to be right.
    fn act(&mut self, action: &Action, names_taken: &BTreeSet<String>, data: &mut Codes) -> Result<(), Codes> {
        let has_column = |table: &Table, name: &str| table.columns.iter().any(|column| column.name == name);
        let has_key = |table: &Table, name: &str| table.keys.iter().any(|key| key.name == name);
        match action {
            Action::AddColumn(column, place) => {
                if has_column(self, &column.name) {
                    return refuse(1060);
                }
                let value = column.added();
                self.columns.push(column.clone());
                self.rows.iter_mut().for_each(|row| row.push(value.clone()));
                self.move_column(self.columns.len() - 1, place);
            }
            Action::DropColumn(name) => {
                if !has_column(self, name) {
                    return refuse(1091);
                }
                if self.feeds(name) {
                    return refuse(3108);
                }
                let at = self.position(name);
                self.columns.remove(at);
                self.rows.iter_mut().for_each(|row| _ = row.remove(at));
                self.keys.iter_mut().for_each(|key| key.columns.retain(|column| column != name));
                self.keys.retain(|key| !key.columns.is_empty());
            }
            Action::RenameColumn(old, new) => {
                if !has_column(self, old) {
                    return refuse(1054);
                }
                if has_column(self, new) {
                    return refuse(1060);
                }
                if self.feeds(old) {
                    return refuse(3108);
                }
                let at = self.position(old);
                self.columns[at].name.clone_from(new);
                let names = self.keys.iter_mut().flat_map(|key| &mut key.columns);
                names.filter(|name| *name == old).for_each(|name| name.clone_from(new));
            }
            Action::Modify(column, place) => {
                if !has_column(self, &column.name) {
                    return refuse(1054);
                }
                let at = self.position(&column.name);
                self.columns[at] = column.clone();
                // What is computed is computed anew.
                for row in self.rows.iter_mut().filter(|_| column.generated.is_none()) {
                    match column.stored(&row[at]) {
                        Ok(value) => row[at] = value,
                        // Whether the rows are copied decides how it is told.
                        Err(codes) if codes.contains(&1048) => data.extend([1138, 1265]),
                        Err(codes) => data.extend(codes.into_iter().chain([1265])),
                    }
                }
                self.move_column(at, place);
            }
            Action::AddKey(key) => {
                if has_key(self, &key.name) {
                    return refuse(if key.name == PRIMARY { 1068 } else { 1061 });
                }
                if key.columns.iter().any(|column| !has_column(self, column)) {
                    return refuse(1072);
                }
                if key.name == PRIMARY {
                    self.set_not_null(&key.columns, data);
                }
                self.keys.push(key.clone());
            }
            Action::DropKey(name) => {
                if !has_key(self, name) {
                    return refuse(1091);
                }
                self.keys.retain(|key| key.name != *name);
            }
            Action::RenameKey(old, new) => {
                if !has_key(self, old) {
                    return refuse(1176);
                }
                if has_key(self, new) {
                    return refuse(1061);
                }
                self.keys.iter_mut().filter(|key| key.name == *old).for_each(|key| key.name.clone_from(new));
            }
            Action::AddForeign(_) | Action::DropForeign(_) | Action::Counter(_) => unreachable!("the database does these"),
            Action::AddCheck(check) => {
                if names_taken.contains(&check.name) {
                    return refuse(3822);
                }
                self.checks.push(check.clone());
            }
            Action::DropCheck(name) => {
                if !self.checks.iter().any(|check| check.name == *name) {
                    return refuse(3821);
                }
                self.checks.retain(|check| check.name != *name);
            }
        }
        Ok(())
    }

    /// What a primary key does to its columns.
    fn set_not_null(&mut self, columns: &[String], data: &mut Codes) {
        for name in columns {
            let at = self.position(name);
            self.columns[at].nullable = false;
            if self.rows.iter().any(|row| row[at] == Value::Null) {
                data.extend([1138, 1265]);
            }
        }
    }

    fn move_column(&mut self, from: usize, place: &Place) {
        let to = match place {
            Place::Unsaid => return,
            Place::First => 0,
            Place::After(name) => {
                let after = self.position(name);
                if after < from { after + 1 } else { after }
            }
        };
        let column = self.columns.remove(from);
        self.columns.insert(to, column);
        for row in &mut self.rows {
            let value = row.remove(from);
            row.insert(to, value);
        }
    }
}
