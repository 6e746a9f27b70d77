//! Subqueries of expressions: run once, once per distinct outer values, or looked up in a grouped table.

use crate::batch::Grouped;
use crate::convert;
use crate::errors::subquery_rows;
use crate::exec::Exec;
use crate::hash_key::{self, KeyMap, KeySet};
use crate::run::{Flow, Result};
use planner::expr::{CmpOp, SubqueryKind};
use planner::plan::{KeyForm, Lookup, Subplan};
use std::cmp::Ordering;
use std::rc::Rc;
use types::{Collation, Value};

/// Bytes of cached answers of one correlated subquery, where a quarter of what the statement may hold is not less.
const CACHE_BYTES_MAX: usize = 16 << 20;
/// What an answer's place in the cache takes beside its key and its rows.
const ENTRY_BYTES: usize = 64;

type Rows = Rc<Vec<Box<[Value]>>>;

/// What is remembered of a subquery during a statement.
#[derive(Default)]
pub struct State {
    /// Rows of an uncorrelated subquery.
    rows: Option<Rows>,
    /// Rows by outer values.
    by_outer: KeyMap<Rows>,
    /// Bytes of these and of `exists`.
    by_outer_bytes: usize,
    /// Existence by outer values.
    exists: KeyMap<bool>,
    /// Set of an IN subquery: keys, and whether a NULL is among the rows.
    set: Option<Rc<(KeySet, bool, usize)>>,
    /// Grouped lookup: rows by key, and the answer for absent keys.
    pub(crate) grouped: Option<Rc<Grouped>>,
}

impl<'a> Exec<'a> {
    /// Evaluates a subquery expression.
    pub fn subquery(&mut self, number: u32, kind: &SubqueryKind) -> Result<Value> {
        self.subquery_depth += 1;
        let value = self.subquery_value(number, kind);
        self.subquery_depth -= 1;
        value
    }

    fn subquery_value(&mut self, number: u32, kind: &SubqueryKind) -> Result<Value> {
        let plan = self.plan;
        let sub = &plan.subplans[number as usize];
        match kind {
            SubqueryKind::Scalar { .. } => {
                if let Some(lookup) = &sub.lookup {
                    return self.grouped_lookup(number, lookup);
                }
                let rows = self.rows(number, sub, 2)?;
                match rows.as_slice() {
                    [] => Ok(Value::Null),
                    [row] => Ok(row[0].clone()),
                    _ => Err(subquery_rows()),
                }
            }
            SubqueryKind::Exists { negated } => Ok(Value::bool(self.exists(number, sub)? != *negated)),
            SubqueryKind::In { needle, negated, collations } => {
                let mut values = Vec::with_capacity(needle.len());
                for n in needle {
                    values.push(self.eval(n)?);
                }
                let needle_types: Vec<_> = needle.iter().map(|n| &n.ty).collect();
                let found = self.in_subquery(number, sub, &values, collations, &needle_types)?;
                Ok(match found {
                    None => Value::Null,
                    Some(b) => Value::bool(b != *negated),
                })
            }
            SubqueryKind::Quantified { needle, op, all, collation } => {
                let value = self.eval(needle)?;
                let rows = self.rows(number, sub, usize::MAX)?;
                self.quantified(&value, *op, *all, *collation, &rows)
            }
            SubqueryKind::Row { needle, op, collations } => {
                let mut values = Vec::with_capacity(needle.len());
                for n in needle {
                    values.push(self.eval(n)?);
                }
                let rows = self.rows(number, sub, 2)?;
                match rows.as_slice() {
                    [] => Ok(Value::Null),
                    [row] => Ok(convert::compare_rows(*op, &values, row, collations, self.context)),
                    _ => Err(subquery_rows()),
                }
            }
        }
    }

    fn outer_key(&self, sub: &Subplan) -> Vec<u8> {
        let mut key = Vec::new();
        for slot in &sub.outer_slots {
            hash_key::append_exact(self.get(*slot), &mut key);
        }
        key
    }

    /// Rows of a subquery (at most `max`), from the cache where that is possible.
    fn rows(&mut self, number: u32, sub: &'a Subplan, max: usize) -> Result<Rows> {
        let n = number as usize;
        if !sub.volatile {
            if sub.outer_slots.is_empty() {
                if let Some(rows) = &self.subqueries[n].rows {
                    return Ok(rows.clone());
                }
            } else if let Some(rows) = self.subqueries[n].by_outer.get(self.outer_key(sub).as_slice()) {
                return Ok(rows.clone());
            }
        }
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        let query = &sub.query;
        let mut held = 0;
        let mut keep = |x: &mut Exec<'a>| {
            let mut row = Vec::with_capacity(query.output.len());
            for e in &query.output {
                row.push(x.eval(e)?);
            }
            let bytes = row.iter().map(crate::memory::value_bytes).sum();
            x.memory.take(bytes)?;
            held += bytes;
            ::memory::reserve(&mut rows, 1)?;
            rows.push(row.into_boxed_slice());
            Ok(if rows.len() >= max { Flow::Stop } else { Flow::Continue })
        };
        if max == usize::MAX {
            self.run_many(&query.root, &mut keep)?;
        } else {
            self.run(&query.root, &mut keep)?;
        }
        let rows = Rc::new(rows);
        if !self.remember(n, sub, &rows, held) {
            // The caller is done with them before the next row of the outer query.
            self.memory.give_back(held);
        }
        Ok(rows)
    }

    /// Keeps the rows of a subquery, which hold so many bytes, for the same outer values; whether they are kept.
    fn remember(&mut self, n: usize, sub: &Subplan, rows: &Rows, held: usize) -> bool {
        if sub.volatile {
            return false;
        }
        if sub.outer_slots.is_empty() {
            self.subqueries[n].rows = Some(rows.clone());
            return true;
        }
        let key = self.outer_key(sub);
        let is_room = self.is_room_to_remember(n, &key, held);
        if is_room {
            self.subqueries[n].by_outer.insert(key.into(), rows.clone());
        }
        is_room
    }

    /// Accounts for an answer that is about to be kept under a key, beside the `held` bytes of its rows, which are accounted for; whether there is room. A
    /// statement can do without, so none is no error.
    fn is_room_to_remember(&mut self, n: usize, key: &[u8], held: usize) -> bool {
        let own = key.len() + ENTRY_BYTES;
        let after = self.subqueries[n].by_outer_bytes + own + held;
        if after > CACHE_BYTES_MAX.min(self.memory.limit() / 4) {
            return false;
        }
        if self.memory.take(own).is_err() {
            self.memory.give_back(own);
            return false;
        }
        self.subqueries[n].by_outer_bytes = after;
        true
    }

    fn exists(&mut self, number: u32, sub: &'a Subplan) -> Result<bool> {
        let n = number as usize;
        let key = self.outer_key(sub);
        if !sub.volatile
            && let Some(known) = self.subqueries[n].exists.get(key.as_slice())
        {
            return Ok(*known);
        }
        let mut found = false;
        self.run(&sub.query.root, &mut |_| {
            found = true;
            Ok(Flow::Stop)
        })?;
        if !sub.volatile && self.is_room_to_remember(n, &key, 0) {
            self.subqueries[n].exists.insert(key.into(), found);
        }
        Ok(found)
    }

    /// `None` is unknown.
    fn in_subquery(
        &mut self,
        number: u32,
        sub: &'a Subplan,
        values: &[Value],
        collations: &[Collation],
        needle_types: &[&types::ColumnType],
    ) -> Result<Option<bool>> {
        let rows = self.rows(number, sub, usize::MAX)?;
        if rows.is_empty() {
            return Ok(Some(false));
        }
        // One column of hashable kind: a set.
        if let ([value], [collation]) = (values, collations)
            && sub.outer_slots.is_empty()
            && !sub.volatile
            && let Some(form) = planner::key_form(needle_types[0], &sub.types[0])
        {
            let n = number as usize;
            let set = match &self.subqueries[n].set {
                Some(set) => set.clone(),
                None => {
                    let mut keys = KeySet::default();
                    let mut null = false;
                    for row in rows.iter() {
                        let mut key = Vec::new();
                        if self.form_key(&row[0], *collation, form, &mut key) {
                            self.memory.take(key.len() + 48)?;
                            crate::hash_key::insert_key(&mut keys, &key)?;
                        } else {
                            null |= row[0].is_null();
                        }
                    }
                    let set = Rc::new((keys, null, rows.len()));
                    self.subqueries[n].set = Some(set.clone());
                    set
                }
            };
            if value.is_null() {
                return Ok(None);
            }
            let mut key = Vec::new();
            if self.form_key(value, *collation, form, &mut key) && set.0.contains(key.as_slice()) {
                return Ok(Some(true));
            }
            return Ok(if set.1 { None } else { Some(false) });
        }
        let mut unknown = false;
        for row in rows.iter() {
            self.tick()?;
            match convert::compare_rows(CmpOp::Eq, values, row, collations, self.context) {
                Value::Int(1) => return Ok(Some(true)),
                Value::Null => unknown = true,
                _ => {}
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }

    /// Encodes a value in the form in which both sides are hashed; false for NULL and what has no such form.
    pub fn form_key(&mut self, value: &Value, collation: Collation, form: KeyForm, key: &mut Vec<u8>) -> bool {
        if value.is_null() {
            return false;
        }
        match form {
            KeyForm::Same => hash_key::append(value, collation, key),
            KeyForm::Double => hash_key::append(&Value::Double(convert::to_f64(value, self.context)), collation, key),
            KeyForm::Temporal => match convert::to_datetime(value, self.context) {
                Some(at) => hash_key::append(&Value::DateTime(at), collation, key),
                None => return false,
            },
        }
        true
    }

    fn quantified(&mut self, value: &Value, op: CmpOp, all: bool, collation: Collation, rows: &Rows) -> Result<Value> {
        let mut unknown = false;
        for row in rows.iter() {
            self.tick()?;
            match convert::compare(value, &row[0], collation, self.context) {
                None => unknown = true,
                Some(order) => {
                    if holds(op, order) != all {
                        return Ok(Value::bool(!all));
                    }
                }
            }
        }
        Ok(if unknown { Value::Null } else { Value::bool(all) })
    }

    fn grouped_lookup(&mut self, number: u32, lookup: &'a Lookup) -> Result<Value> {
        let grouped = self.grouped(number, lookup)?;
        let mut key = Vec::new();
        for ((e, c), f) in lookup.probe.iter().zip(&lookup.collations).zip(&lookup.forms) {
            let value = self.eval(e)?;
            if !self.form_key(&value, *c, *f, &mut key) {
                return Ok(grouped.1[0].clone());
            }
        }
        Ok(grouped.0.get(key.as_slice()).map_or_else(|| grouped.1[0].clone(), |row| row[0].clone()))
    }
}

/// Whether a comparison holds for an order.
pub fn holds(op: CmpOp, order: Ordering) -> bool {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => order == Ordering::Equal,
        CmpOp::Ne => order != Ordering::Equal,
        CmpOp::Lt => order == Ordering::Less,
        CmpOp::Le => order != Ordering::Greater,
        CmpOp::Gt => order == Ordering::Greater,
        CmpOp::Ge => order != Ordering::Less,
    }
}
