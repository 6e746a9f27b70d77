//! What the names of a view's query mean, noted while it is bound, for its normal form.

use crate::binder::{Binder, Source};
use crate::expr::{Expr, ExprKind};
use parser::ast::{FunctionCall, Join, JsonTableValue, ObjectName, SelectItem};
use parser::{Found, QueryNames};
use std::collections::HashMap;

/// What was noted.
#[derive(Debug, Default)]
pub struct NameRecord {
    /// Columns, by where their expression begins in the text.
    columns: HashMap<u32, Found>,
    /// What stars stand for, by the block's address and the item's position (or the address of the name in TABLE).
    stars: HashMap<(usize, usize), Vec<Found>>,
    /// What USING and NATURAL compare, by the address of the join.
    joins: HashMap<usize, Vec<(Found, Found)>>,
    /// Tables by where their name lies in the text: database, name as it is.
    tables: HashMap<usize, (Option<String>, String)>,
    /// Where the column that is being bound begins.
    at: Option<u32>,
    /// Types of JSON_TABLE's columns, by address.
    types: HashMap<usize, String>,
    /// Names of items, by address.
    pub items: HashMap<usize, String>,
    /// Fraction digits of calls, by address.
    digits: HashMap<usize, u8>,
    /// Tables and views that are named: database, name.
    pub named: Vec<(String, String)>,
    /// A temporary table is named.
    pub temporary: Option<String>,
}

impl QueryNames for NameRecord {
    fn column(&self, at: u32) -> Option<Found> {
        self.columns.get(&at).cloned()
    }
    fn star(&self, block: usize, item: usize) -> Vec<Found> {
        self.stars.get(&(block, item)).cloned().unwrap_or_default()
    }
    fn column_type(&self, column: &JsonTableValue<'_>) -> String {
        self.types.get(&std::ptr::from_ref(column).addr()).cloned().unwrap_or_default()
    }
    fn join(&self, join: &Join<'_>) -> Vec<(Found, Found)> {
        self.joins.get(&std::ptr::from_ref(join).addr()).cloned().unwrap_or_default()
    }
    fn table(&self, table: &ObjectName<'_>) -> (Option<String>, String) {
        let own = self.tables.get(&table.name.as_ptr().addr());
        own.cloned().unwrap_or_else(|| (table.schema.map(str::to_owned), table.name.to_owned()))
    }
    fn item(&self, item: &SelectItem<'_>) -> String {
        self.items.get(&std::ptr::from_ref(item).addr()).cloned().unwrap_or_default()
    }
    fn digits(&self, call: &FunctionCall<'_>) -> Option<u8> {
        self.digits.get(&std::ptr::from_ref(call).addr()).copied()
    }
}

impl NameRecord {
    /// Notes what a column of JSON_TABLE is of.
    pub(crate) fn note_type(&mut self, column: &JsonTableValue<'_>, ty: &types::ColumnType) {
        self.types.insert(std::ptr::from_ref(column).addr(), crate::json_table::type_text(ty));
    }
}

impl Binder<'_> {
    /// The column expression that begins here is bound next.
    pub(crate) fn column_at(&mut self, at: u32) {
        if let Some(names) = &mut self.views.names {
            names.at = Some(at);
        }
    }

    /// How a column of a relation is called.
    fn found(&self, depth: usize, r: usize, c: usize) -> Found {
        let relation = &self.scopes[depth].relations[r];
        let (database, name) = match &relation.source {
            Source::Base(table) => {
                let def = &self.tables[*table as usize].def;
                ((def.name == relation.alias).then(|| relation.database.clone()), relation.columns[c].name.clone())
            }
            Source::Virtual(table) => ((table.name == relation.alias).then(|| relation.database.clone()), relation.columns[c].name.clone()),
            _ => ((!relation.database.is_empty()).then(|| relation.database.clone()), relation.columns[c].name.clone()),
        };
        Found::Column(database, relation.alias.clone(), name)
    }

    /// Notes that the column was found in a relation.
    pub(crate) fn note_column(&mut self, depth: usize, r: usize, c: usize) {
        if let Some(at) = self.views.names.as_mut().and_then(|names| names.at.take()) {
            let found = self.found(depth, r, c);
            if let Some(names) = &mut self.views.names {
                names.columns.insert(at, found);
            }
        }
    }

    /// Notes that the column is an item of the select list; one that only names a column is that.
    pub(crate) fn note_alias(&mut self, depth: usize, name: &str, expr: &Expr) {
        let Some(at) = self.views.names.as_mut().and_then(|names| names.at.take()) else { return };
        let column = match expr.kind {
            ExprKind::Slot(slot) => self.view_column_of(depth, slot, name).or_else(|| {
                let mut relations = self.scopes[depth].relations.iter().enumerate().filter(|(_, r)| !r.of_view);
                relations.find_map(|(r, relation)| relation.slots.iter().position(|s| *s == Some(slot)).map(|c| (r, c)))
            }),
            _ => None,
        };
        let same = |(r, c): &(usize, usize)| self.scopes[depth].relations[*r].columns[*c].name.eq_ignore_ascii_case(name);
        let found = match column.filter(same) {
            Some((r, c)) => self.found(depth, r, c),
            None => Found::Alias(name.to_owned()),
        };
        if let Some(names) = &mut self.views.names {
            names.columns.insert(at, found);
        }
    }

    /// Notes the fraction digits of what a call gives.
    #[cold]
    pub(crate) fn note_digits(&mut self, call: &FunctionCall<'_>, digits: u8) {
        if let Some(names) = &mut self.views.names {
            names.digits.insert(std::ptr::from_ref(call).addr(), digits);
        }
    }

    /// Notes what a star stands for.
    pub(crate) fn note_star(&mut self, at: (usize, usize), depth: usize, columns: &[(usize, usize)]) {
        if self.views.names.is_none() {
            return;
        }
        let found = columns.iter().map(|(r, c)| self.found(depth, *r, *c)).collect();
        if let Some(names) = &mut self.views.names {
            names.stars.insert(at, found);
        }
    }

    /// What the star of this block stands for is that of TABLE with this name.
    pub(crate) fn note_table_star(&mut self, block: usize, table: &ObjectName<'_>) {
        if let Some(names) = &mut self.views.names
            && let Some(found) = names.stars.remove(&(block, 0))
        {
            names.stars.insert((table.name.as_ptr().addr(), usize::MAX), found);
        }
    }

    /// Notes what USING or NATURAL compares.
    pub(crate) fn note_join(&mut self, join: &Join<'_>, depth: usize, left: (usize, usize), right: (usize, usize)) {
        if self.views.names.is_none() {
            return;
        }
        let pair = (self.found(depth, left.0, left.1), self.found(depth, right.0, right.1));
        if let Some(names) = &mut self.views.names {
            names.joins.entry(std::ptr::from_ref(join).addr()).or_default().push(pair);
        }
    }

    /// Notes what a name in FROM is; without a database it is a common table expression.
    pub(crate) fn note_name(&mut self, table: &ObjectName<'_>, database: Option<&str>, name: &str) {
        if let Some(names) = &mut self.views.names {
            names.tables.insert(table.name.as_ptr().addr(), (database.map(str::to_owned), name.to_owned()));
            if let Some(database) = database {
                let named = (database.to_owned(), name.to_owned());
                if !names.named.contains(&named) {
                    names.named.push(named);
                }
            }
        }
    }
}
