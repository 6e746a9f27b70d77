//! Draws statements that fit the tables that are there, most of them right, some wrong in one way.

use crate::database::Database;
use crate::model::{Check, Column, Foreign, Generated, Key, PRIMARY, Rule, Table, Type, Value};
use crate::statement::{Action, Assignment, Condition, How, Place, SetTo, Statement};
use env::SplitMix64;
use std::collections::BTreeSet;

/// Tables, at most.
const TABLES_MAX: usize = 4;
/// Rows of a table from which on deletions are drawn rather than insertions.
const ROWS_MANY: usize = 30;
/// What a CHECK refuses: not rare among the values that are drawn.
const REFUSED: i64 = 7;
/// Too large for INT.
const LARGE: i64 = 3_000_000_000;

/// Draws statements.
pub(crate) struct Draw {
    random: SplitMix64,
    /// Names that were given so far: each is new.
    names: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw { random: SplitMix64::new(seed), names: 0 }
    }

    /// True so many times of a hundred.
    pub(crate) fn percent(&mut self, share: u64) -> bool {
        self.random.below(100) < share
    }

    /// One of a list that is not empty.
    pub(crate) fn one_of<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.random.below(list.len() as u64) as usize]
    }

    fn name(&mut self, of: char) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    /// Some of a list, in any order, at least one; each at most once.
    fn some_of(&mut self, list: &[String], most: u64) -> Vec<String> {
        let (mut left, mut chosen) = (list.to_vec(), Vec::new());
        for _ in 0..=self.random.below(most) {
            if !left.is_empty() {
                chosen.push(left.remove(self.random.below(left.len() as u64) as usize));
            }
        }
        chosen
    }

    /// The next statement.
    pub(crate) fn statement(&mut self, model: &Database, in_transaction: bool, savepoints: &[String]) -> Statement {
        if in_transaction {
            match self.random.below(100) {
                0..6 => return Statement::Commit,
                6..11 => return Statement::Rollback,
                11..15 => return Statement::Savepoint(self.name('s')),
                15..18 if !savepoints.is_empty() => return Statement::RollbackTo(self.one_of(savepoints).clone()),
                _ => {}
            }
        } else if self.percent(9) {
            return Statement::Begin;
        }
        let names: Vec<String> = model.tables.keys().cloned().collect();
        if names.is_empty() {
            return self.create(model);
        }
        let name = self.one_of(&names).clone();
        let table = &model.tables[&name];
        // A counter that nobody knows is set, so that it can be asked for again.
        if !in_transaction && model.counters.get(&name) == Some(&None) && self.percent(40) {
            let next = self.random.below(60) as i64 + 1;
            return Statement::Alter { name, actions: vec![Action::Counter(next)], copies: self.percent(20) };
        }
        match self.random.below(if in_transaction { 160 } else { 100 }) {
            0..3 if names.len() < TABLES_MAX || self.percent(5) => self.create(model),
            // A constraint's copy gets a name that the server makes.
            3 if table.checks.is_empty() => Statement::CreateLike { name: self.free_name(model), source: name },
            4 => Statement::CreateSelect { name: self.free_name(model), source: name },
            5 => self.drop(&names),
            6 => Statement::Truncate { name },
            7..9 => self.rename(model, &names),
            9..12 => self.alter_foreign(model, name, table),
            12..26 => self.alter(model, name, table),
            26..58 if table.rows.len() < ROWS_MANY => self.insert(model, name, table),
            58..82 => self.update(model, name, table),
            82..100 => self.delete(name, table),
            100..130 if table.rows.len() < ROWS_MANY => self.insert(model, name, table),
            _ => self.update(model, name, table),
        }
    }

    /// A name that no table has, as a rule.
    fn free_name(&mut self, model: &Database) -> String {
        match model.tables.keys().next() {
            Some(taken) if self.percent(5) => taken.clone(),
            _ => self.name('t'),
        }
    }

    fn number(&mut self) -> i64 {
        self.random.below(16) as i64 - 3
    }

    /// A value that the type takes.
    fn good_value(&mut self, ty: Type) -> Value {
        match ty {
            Type::BigInt if self.percent(4) => Value::Int(LARGE + self.number()),
            Type::Int | Type::BigInt => Value::Int(self.number()),
            Type::Varchar(chars_max) => {
                let chars = self.random.below(u64::from(chars_max.min(3)) + 1);
                Value::Text((0..chars).map(|_| self.random.pick(&['a', 'b', 'c'])).collect())
            }
        }
    }

    /// A value for a column; sometimes one that it does not take.
    fn value(&mut self, column: &Column) -> Value {
        match column.ty {
            _ if self.percent(if column.nullable { 15 } else { 2 }) => Value::Null,
            Type::Int if self.percent(1) => Value::Int(LARGE),
            Type::Varchar(_) if self.percent(2) => Value::Text("c".repeat(12)),
            ty => self.good_value(ty),
        }
    }

    fn ty(&mut self) -> Type {
        match self.random.below(10) {
            0..4 => Type::Int,
            4..6 => Type::BigInt,
            _ => Type::Varchar(self.random.below(17) as u32 + 4),
        }
    }

    fn column(&mut self, name: String) -> Column {
        let ty = self.ty();
        let default = self.percent(40).then(|| self.good_value(ty));
        Column { name, ty, nullable: self.percent(60), default, counts: false, generated: None }
    }

    /// A column that is computed from another of these.
    fn generated(&mut self, columns: &[Column], name: String) -> Option<Column> {
        let numbers: Vec<&Column> = columns.iter().filter(|c| c.ty.is_number() && !c.counts && c.generated.is_none()).collect();
        if numbers.is_empty() {
            return None;
        }
        let of = self.one_of(&numbers).name.clone();
        let generated = Generated { of, plus: self.random.below(9) as i64 + 1, stored: self.percent(40) };
        Some(Column { name, ty: Type::BigInt, nullable: true, default: None, counts: false, generated: Some(generated) })
    }

    /// A foreign key that a table may have.
    fn foreign(&mut self, model: &Database, child: Option<&str>, table: &Table) -> Option<Foreign> {
        // No table is come back to.
        let leads_back = |name: &String| {
            let mut at = name.as_str();
            loop {
                if Some(at) == child {
                    return true;
                }
                match model.tables[at].foreign.as_ref() {
                    Some(foreign) => at = &foreign.parent,
                    None => return false,
                }
            }
        };
        let in_unique = |table: &Table, name: &String| table.keys.iter().any(|key| key.unique && key.columns.contains(name));
        let may_refer = |column: &&Column| {
            let stored = |other: &Column| other.generated.as_ref().is_some_and(|g| g.stored && g.of == column.name);
            !column.counts
                && column.generated.is_none()
                && !in_unique(table, &column.name)
                && !table.keys.iter().any(|key| key.name.starts_with('f') && key.columns.contains(&column.name))
                && !table.columns.iter().any(stored)
                && !table.checks.iter().any(|check| check.column == column.name)
        };
        let mut pairs = Vec::new();
        for (name, parent) in model.tables.iter().filter(|(name, _)| !leads_back(name)) {
            for key in parent.keys.iter().filter(|key| key.unique && key.columns.len() == 1) {
                let target = &parent.columns[parent.position(&key.columns[0])];
                let is_plain = !target.nullable && target.generated.is_none();
                let referring = table.columns.iter().filter(may_refer).filter(|column| is_plain && column.ty == target.ty);
                pairs.extend(referring.map(|column| (column, name, target)));
            }
        }
        if pairs.is_empty() {
            return None;
        }
        let (column, parent, target) = *self.one_of(&pairs);
        let rules: &[Rule] =
            if column.nullable { &[Rule::Restrict, Rule::Cascade, Rule::SetNull] } else { &[Rule::Restrict, Rule::Cascade] };
        Some(Foreign {
            name: self.name('f'),
            column: column.name.clone(),
            parent: parent.clone(),
            parent_column: target.name.clone(),
            on_delete: *self.one_of(rules),
            on_update: *self.one_of(rules),
        })
    }

    /// A foreign key more or less; where there is none to be had, something else.
    fn alter_foreign(&mut self, model: &Database, name: String, table: &Table) -> Statement {
        let action = match &table.foreign {
            Some(foreign) if self.percent(30) => Some(Action::DropForeign(foreign.name.clone())),
            Some(_) => None,
            None => self.foreign(model, Some(&name), table).map(Action::AddForeign),
        };
        match action {
            Some(action) => Statement::Alter { name, actions: vec![action], copies: self.percent(20) },
            None => self.alter(model, name, table),
        }
    }

    fn check(&mut self, columns: &[Column], name: String) -> Option<Check> {
        let numbers: Vec<&Column> =
            columns.iter().filter(|c| c.ty.is_number() && !c.counts && c.default != Some(Value::Int(REFUSED))).collect();
        if numbers.is_empty() {
            return None;
        }
        let column = self.one_of(&numbers).name.clone();
        Some(Check { name, column, refused: REFUSED })
    }

    fn create(&mut self, model: &Database) -> Statement {
        let count = self.random.below(5) + 1;
        let mut columns = Vec::new();
        for _ in 0..count {
            let name = self.name('c');
            columns.push(self.column(name));
        }
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut table = Table { columns, ..Table::default() };
        if self.percent(65) {
            let key = Key { name: PRIMARY.into(), columns: self.some_of(&names, 2), unique: true };
            for name in &key.columns {
                let at = table.position(name);
                table.columns[at].nullable = false;
            }
            table.keys.push(key);
        }
        let generated = self.percent(30).then(|| self.name('c'));
        if let Some(column) = generated.and_then(|name| self.generated(&table.columns, name)) {
            let at = self.random.below(table.columns.len() as u64 + 1) as usize;
            table.columns.insert(at, column);
        }
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        for _ in 0..self.random.below(3) {
            table.keys.push(Key { name: self.name('k'), columns: self.some_of(&names, 3), unique: self.percent(45) });
        }
        if self.percent(15) {
            let name = self.name('h');
            table.checks.extend(self.check(&table.columns, name));
        }
        if self.percent(30) {
            self.count(&mut table);
        }
        if self.percent(80) {
            table.foreign = self.foreign(model, None, &table);
        }
        if let Some(Foreign { column, .. }) = table.foreign.clone()
            && table.keys.iter().all(|key| key.columns[0] != column)
        {
            table.keys.push(Key { name: self.name('k'), columns: vec![column], unique: false });
        }
        Statement::Create { name: self.free_name(model), table }
    }

    /// Makes one of a table's columns AUTO_INCREMENT, if one can be: the first of a key, and no other is computed from it.
    fn count(&mut self, table: &mut Table) {
        let may_count = |table: &Table, name: &str| {
            let column = &table.columns[table.position(name)];
            column.ty.is_number()
                && column.generated.is_none()
                && !table.feeds(name)
                && !table.checks.iter().any(|check| check.column == name)
        };
        let firsts: Vec<String> = table.keys.iter().map(|key| key.columns[0].clone()).filter(|name| may_count(table, name)).collect();
        if !firsts.is_empty() {
            let at = table.position(self.one_of(&firsts).as_str());
            let column = &mut table.columns[at];
            (column.counts, column.nullable, column.default) = (true, false, None);
        }
    }

    fn drop(&mut self, names: &[String]) -> Statement {
        let mut dropped = self.some_of(names, 2);
        if self.percent(20) {
            dropped.push("missing".into());
        }
        Statement::Drop { names: dropped, if_exists: self.percent(30) }
    }

    /// One name for another, two tables that change places, or several of which the last is wrong.
    fn rename(&mut self, model: &Database, names: &[String]) -> Statement {
        let old = self.one_of(names).clone();
        let other = self.one_of(names).clone();
        let mut pairs = if other != old && self.percent(40) {
            let between = self.name('t');
            vec![(old.clone(), between.clone()), (other.clone(), old), (between, other)]
        } else {
            vec![(old, self.free_name(model))]
        };
        if self.percent(10) {
            pairs.push(("missing".into(), self.name('t')));
        }
        Statement::Rename { pairs }
    }

    fn place(&mut self, table: &Table, touched: &BTreeSet<String>) -> Place {
        let others: Vec<&Column> = table.columns.iter().filter(|column| !touched.contains(&column.name)).collect();
        match self.random.below(4) {
            0 => Place::First,
            1 if !others.is_empty() => Place::After(self.one_of(&others).name.clone()),
            _ => Place::Unsaid,
        }
    }

    /// Actions each on columns and keys of its own: what they do to each other is not MySQL's documentation's to say.
    fn alter(&mut self, model: &Database, name: String, table: &Table) -> Statement {
        let copies = self.percent(20);
        if self.percent(8) {
            return Statement::Alter { name, actions: vec![self.wrong_action(model, table)], copies };
        }
        let (mut actions, mut touched) = (Vec::new(), BTreeSet::new());
        let mut tied = model.tied(&name);
        // A key that MySQL has made for a foreign key may give way to another.
        let made = table.keys.iter().filter(|key| key.name.starts_with('f'));
        tied.extend(made.flat_map(|key| key.columns.iter().cloned()));
        let mut moves = false;
        for _ in 0..=self.random.below(3) {
            if let Some(action) = self.action(table, &tied, &mut touched) {
                // Where a column goes when another has moved is not asked either.
                let places = matches!(&action, Action::AddColumn(_, place) | Action::Modify(_, place) if !matches!(place, Place::Unsaid));
                if !(places && moves) {
                    moves |= places;
                    actions.push(action);
                }
            }
        }
        if actions.is_empty() {
            let column = self.name('c');
            actions.push(Action::AddColumn(self.column(column), Place::Unsaid));
        }
        Statement::Alter { name, actions, copies }
    }

    /// `tied`: columns of foreign keys, which stay as they are, as do those that count.
    fn action(&mut self, table: &Table, tied: &BTreeSet<String>, touched: &mut BTreeSet<String>) -> Option<Action> {
        let is_free = |column: &&Column| !touched.contains(&column.name) && !tied.contains(&column.name) && !column.counts;
        let free: Vec<String> = table.columns.iter().filter(is_free).map(|column| column.name.clone()).collect();
        let is_checked = |name: &str| table.checks.iter().any(|check| check.column == name);
        let is_keyed = |key: &Key| key.columns.iter().all(|column| free.contains(column));
        let keys: Vec<&Key> = table.keys.iter().filter(|key| is_keyed(key)).collect();
        let kind = self.random.below(100);
        match kind {
            0..22 => {
                let name = self.name('c');
                let place = self.place(table, touched);
                if let Place::After(column) = &place {
                    touched.insert(column.clone());
                }
                let bases: Vec<Column> = table.columns.iter().filter(|column| free.contains(&column.name)).cloned().collect();
                let column = if self.percent(35) { self.generated(&bases, name.clone()) } else { None };
                if let Some(Generated { of, .. }) = column.as_ref().and_then(|column| column.generated.as_ref()) {
                    touched.insert(of.clone());
                }
                let column = column.unwrap_or_else(|| self.column(name));
                Some(Action::AddColumn(column, place))
            }
            22..62 if !free.is_empty() => {
                let name = self.one_of(&free).clone();
                touched.insert(name.clone());
                match kind {
                    22..34 if free.len() > 1 && table.columns.len() > 2 && !is_checked(&name) && !table.feeds(&name) => {
                        Some(Action::DropColumn(name))
                    }
                    34..44 if !is_checked(&name) && !table.feeds(&name) => Some(Action::RenameColumn(name, self.name('c'))),
                    44..62 => self.modify(table, &name, touched),
                    _ => None,
                }
            }
            62..80 if !free.is_empty() => {
                let columns = self.some_of(&free, 3);
                let is_plain = |name: &String| table.columns[table.position(name)].generated.is_none();
                let is_primary = table.primary().is_none() && columns.iter().all(is_plain) && self.percent(35);
                touched.extend(columns.iter().cloned());
                let name = if is_primary { PRIMARY.into() } else { self.name('k') };
                if is_primary {
                    // Two in one statement would be one too many.
                    touched.extend(free.iter().cloned());
                }
                Some(Action::AddKey(Key { name, columns, unique: is_primary || self.percent(50) }))
            }
            80..95 if !keys.is_empty() => {
                let key = (*self.one_of(&keys)).clone();
                touched.extend(key.columns.iter().cloned());
                match kind {
                    80..84 if key.name != PRIMARY => Some(Action::RenameKey(key.name, self.name('k'))),
                    _ => Some(Action::DropKey(key.name)),
                }
            }
            95..98 => {
                let name = self.name('h');
                let columns: Vec<Column> = table.columns.iter().filter(|column| free.contains(&column.name)).cloned().collect();
                let check = self.check(&columns, name)?;
                touched.insert(check.column.clone());
                Some(Action::AddCheck(check))
            }
            _ => {
                let checks: Vec<&Check> = table.checks.iter().filter(|check| free.contains(&check.column)).collect();
                if checks.is_empty() {
                    return None;
                }
                let check = (*self.one_of(&checks)).clone();
                touched.insert(check.column);
                Some(Action::DropCheck(check.name))
            }
        }
    }

    /// Another type that has the old one's values, or most of them.
    fn modify(&mut self, table: &Table, name: &str, touched: &mut BTreeSet<String>) -> Option<Action> {
        let old = &table.columns[table.position(name)];
        if let Some(generated) = &old.generated {
            let other = Generated { plus: self.random.below(9) as i64 + 1, ..generated.clone() };
            touched.insert(other.of.clone());
            return Some(Action::Modify(Column { generated: Some(other), ..old.clone() }, Place::Unsaid));
        }
        let is_checked = table.checks.iter().any(|check| check.column == name);
        let ty = match old.ty {
            Type::Varchar(_) => Type::Varchar(self.random.below(20) as u32 + 1),
            _ if !is_checked && !table.feeds(name) && self.percent(20) => Type::Varchar(20),
            _ if self.random.coin() => Type::Int,
            _ => Type::BigInt,
        };
        let is_primary = table.primary().is_some_and(|key| key.columns.iter().any(|column| column == name));
        let default = self.percent(30).then(|| self.good_value(ty)).filter(|value| !is_checked || *value != Value::Int(REFUSED));
        let nullable = !is_primary && self.percent(60);
        let place = if self.percent(30) { self.place(table, touched) } else { Place::Unsaid };
        if let Place::After(column) = &place {
            touched.insert(column.clone());
        }
        Some(Action::Modify(Column { name: name.to_owned(), ty, nullable, default, counts: false, generated: None }, place))
    }

    /// An action that is an error whatever the rows are.
    fn wrong_action(&mut self, model: &Database, table: &Table) -> Action {
        let column = self.one_of(&table.columns).name.clone();
        let other = self.name('c');
        let taken = model.check_names().into_iter().next();
        match self.random.below(9) {
            0 => Action::AddColumn(self.column(column), Place::Unsaid),
            1 => Action::DropColumn(other),
            2 => Action::RenameColumn(other, self.name('c')),
            3 => Action::Modify(self.column(other), Place::Unsaid),
            4 => Action::AddKey(Key { name: self.name('k'), columns: vec![other], unique: false }),
            5 if table.primary().is_some() => Action::AddKey(Key { name: PRIMARY.into(), columns: vec![column], unique: true }),
            6 if table.keys.len() > 1 => Action::AddKey(Key { name: table.keys[1].name.clone(), columns: vec![column], unique: false }),
            7 => match taken {
                Some(name) => match self.check(&table.columns, name) {
                    Some(check) => Action::AddCheck(check),
                    None => Action::DropCheck(other),
                },
                None => Action::DropCheck(other),
            },
            8 => Action::RenameKey(other, self.name('k')),
            _ => Action::DropKey(other),
        }
    }

    fn insert(&mut self, model: &Database, name: String, table: &Table) -> Statement {
        let tied = model.tied(&name);
        let how = match self.random.below(20) {
            // In which order the others ask is not documented.
            12.. if !tied.is_empty() => How::Ignore,
            0..12 => How::Insert,
            12..14 => How::Ignore,
            14..17 => How::Replace,
            _ => How::OnDuplicate(self.assignment(table, false)),
        };
        let ignores = matches!(how, How::Ignore);
        // Whether rows that are passed over use up numbers is not documented.
        let leaves_numbers = matches!(how, How::Insert) && model.counter(&name).is_some() && self.percent(60);
        let may_miss = |column: &Column| column.default.is_some() || column.nullable;
        let mut chosen: Vec<&Column> = Vec::new();
        for column in &table.columns {
            let is_left_out = match column {
                Column { generated: Some(_), .. } => self.percent(93),
                Column { counts: true, .. } => leaves_numbers && self.percent(60),
                _ => false,
            };
            if is_left_out {
                continue;
            }
            if column.generated.is_some() || column.counts {
                chosen.push(column);
                continue;
            }
            if !self.percent(if may_miss(column) {
                25
            } else if ignores {
                0
            } else {
                2
            }) {
                chosen.push(column);
            }
        }
        if self.percent(30) {
            chosen.reverse();
        }
        let mut rows = Vec::new();
        for _ in 0..=self.random.below(3) {
            let mut row = Vec::new();
            for column in &chosen {
                if column.generated.is_some() {
                    row.push((!ignores && self.percent(10)).then_some(Value::Int(1)));
                    continue;
                }
                if column.counts {
                    row.push(match (leaves_numbers, self.random.below(3)) {
                        (true, 0) => None,
                        (true, 1) => Some(Value::Null),
                        (true, _) => Some(Value::Int(0)),
                        (false, 0) => Some(Value::Int(self.random.below(30) as i64 - 31)),
                        (false, _) => Some(Value::Int(self.random.below(60) as i64 + 1)),
                    });
                    continue;
                }
                if let Some(key) = self.parents_key(model, table, column) {
                    row.push(Some(key));
                    continue;
                }
                let defaults = self.percent(8) && (may_miss(column) || !ignores && self.percent(10));
                row.push((!defaults).then(|| match ignores {
                    true if column.nullable && self.percent(15) => Value::Null,
                    true => self.good_value(column.ty),
                    false => self.value(column),
                }));
            }
            rows.push(row);
        }
        Statement::Insert { name, columns: chosen.iter().map(|column| column.name.clone()).collect(), rows, how }
    }

    /// What a foreign key may say, as a rule.
    fn parents_key(&mut self, model: &Database, table: &Table, column: &Column) -> Option<Value> {
        let foreign = table.foreign.as_ref().filter(|foreign| foreign.column == column.name)?;
        let parent = &model.tables[&foreign.parent];
        if parent.rows.is_empty() || self.percent(20) {
            return None;
        }
        let at = parent.position(&foreign.parent_column);
        Some(self.one_of(&parent.rows)[at].clone())
    }

    /// A new value of a column; `in_order`: the rows that get it come in a certain order.
    fn assignment(&mut self, table: &Table, in_order: bool) -> Assignment {
        let given: Vec<&Column> = table.columns.iter().filter(|column| column.generated.is_none() && !column.counts).collect();
        // A table that has nothing else has its counter changed.
        let Some(column) = (!given.is_empty()).then(|| *self.one_of(&given)) else {
            let column = table.counting().expect("a column is given, computed from one that is, or counts").name.clone();
            return Assignment { column: column.clone(), to: SetTo::Plus(0) };
        };
        let of_column = |name: &String| {
            let generated = table.columns[table.position(name)].generated.as_ref();
            *name == column.name || generated.is_some_and(|generated| generated.of == column.name)
        };
        let is_unique = table.keys.iter().any(|key| key.unique && key.columns.iter().any(of_column));
        let to = match column.ty.is_number() && (in_order || !is_unique) && self.percent(40) {
            true => SetTo::Plus(self.random.below(5) as i64 - 2),
            false => SetTo::Value(self.value(column)),
        };
        Assignment { column: column.name.clone(), to }
    }

    fn condition(&mut self, table: &Table) -> Option<Condition> {
        if self.percent(10) {
            return None;
        }
        let column = self.one_of(&table.columns);
        let operator = *self.one_of(&["=", "=", "=", "<", ">", "<=>", "<>"]);
        let value = if self.percent(10) { Value::Null } else { self.good_value(column.ty) };
        Some(Condition { column: column.name.clone(), operator, value })
    }

    fn order(table: &Table) -> Vec<String> {
        table.primary().map(|key| key.columns.clone()).unwrap_or_default()
    }

    fn limit(&mut self, order: &[String]) -> Option<usize> {
        (!order.is_empty() && self.percent(20)).then(|| self.random.below(6) as usize)
    }

    fn update(&mut self, model: &Database, name: String, table: &Table) -> Statement {
        let order = Self::order(table);
        let mut set = vec![self.assignment(table, !order.is_empty())];
        let column = &table.columns[table.position(&set[0].column)];
        if let Some(key) = self.parents_key(model, table, column) {
            set[0].to = SetTo::Value(key);
        }
        // In no order, two might tell two errors.
        if !order.is_empty() && self.percent(30) {
            let more = self.assignment(table, true);
            set.extend(Some(more).filter(|more| more.column != set[0].column));
        }
        let limit = self.limit(&order);
        Statement::Update { name, set, condition: self.condition(table), order, limit }
    }

    fn delete(&mut self, name: String, table: &Table) -> Statement {
        let order = Self::order(table);
        let limit = self.limit(&order);
        Statement::Delete { name, condition: self.condition(table), order, limit }
    }
}
