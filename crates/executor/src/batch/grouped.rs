//! Correlated subqueries that were run once, grouped by what ties them to the rows outside: the groups by their keys, and the answers for a chunk of rows.

use crate::batch::chunk::Chunk;
use crate::batch::column::Column;
use crate::batch::expression::{Filler, Vector};
use crate::batch::keys;
use crate::exec::Exec;
use crate::hash_key::KeyMap;
use crate::memory::value_bytes;
use crate::run::{Flow, Result};
use planner::plan::{KeyForm, Lookup};
use std::rc::Rc;
use types::{Collation, Value};

/// Bytes of an entry beside its key and its values.
const ENTRY_BYTES: usize = 64;

/// Rows by key, and the row of keys that have none.
pub(crate) type Grouped = (KeyMap<Box<[Value]>>, Box<[Value]>);

impl<'a> Exec<'a> {
    /// The groups of a subquery, made when they are first asked for.
    pub(crate) fn grouped(&mut self, number: u32, lookup: &'a Lookup) -> Result<Rc<Grouped>> {
        if let Some(known) = &self.subqueries[number as usize].grouped {
            return Ok(Rc::clone(known));
        }
        let query = &lookup.grouped;
        let mut map: KeyMap<Box<[Value]>> = KeyMap::default();
        self.run_batches(&query.root, &mut |x, chunk| {
            let rows = chunk.rows();
            ::memory::fallible(|| map.try_reserve(rows.len())).map_err(|_| ::memory::failed())?;
            match query.output.iter().map(|e| x.vector(e, chunk, rows)).collect::<Option<Vec<_>>>() {
                Some(vectors) => rows.iter().try_for_each(|row| x.put_group(lookup, &vectors, usize::from(*row), &mut map))?,
                None => {
                    for row in rows {
                        x.tick()?;
                        chunk.load(usize::from(*row), &mut x.frame);
                        let values = query.output.iter().map(|e| x.eval(e).map(Vector::Constant)).collect::<Result<Vec<_>>>()?;
                        x.put_group(lookup, &values, 0, &mut map)?;
                    }
                    x.forget_lookups();
                }
            }
            Ok(Flow::Continue)
        })?;
        let mut empty = self.collect_query(&lookup.empty, 1)?;
        let empty = empty.pop().unwrap_or_else(|| vec![Value::Null].into_boxed_slice());
        let built = Rc::new((map, empty));
        self.subqueries[number as usize].grouped = Some(Rc::clone(&built));
        Ok(built)
    }

    /// Puts a group down: its key, and what is asked of it. One whose key has NULL in it answers nobody.
    fn put_group(&mut self, lookup: &Lookup, row: &[Vector<'_>], at: usize, map: &mut KeyMap<Box<[Value]>>) -> Result<()> {
        let (parts, asked) = row.split_at(lookup.probe.len());
        let mut key = Vec::with_capacity(16 * parts.len());
        for ((part, collation), form) in parts.iter().zip(&lookup.collations).zip(&lookup.forms) {
            if !self.append_group_part(part, at, *collation, *form, &mut key) {
                return Ok(());
            }
        }
        let values: Box<[Value]> = asked.iter().map(|vector| vector.value(at)).collect();
        self.memory.take(ENTRY_BYTES + key.len() + values.iter().map(value_bytes).sum::<usize>())?;
        let before = map.insert(key.into(), values);
        debug_assert!(before.is_none(), "two groups have one key");
        Ok(())
    }

    #[inline]
    fn append_group_part(&mut self, part: &Vector<'_>, at: usize, collation: Collation, form: KeyForm, key: &mut Vec<u8>) -> bool {
        if form != KeyForm::Same {
            return self.form_key(&part.value(at), collation, form, key);
        }
        let known = !(part.has_nulls() && part.is_null(at));
        if known {
            keys::append(part, at, collation, key);
        }
        known
    }

    /// The answers for rows of a chunk; `None` where the evaluator has to find them.
    pub(super) fn grouped_column(&mut self, number: u32, lookup: &'a Lookup, chunk: &Chunk, rows: &[u16]) -> Option<Column> {
        let parts: Vec<Vector<'_>> = lookup.probe.iter().map(|e| self.vector(e, chunk, rows)).collect::<Option<_>>()?;
        let grouped = self.grouped(number, lookup).ok()?;
        let (map, empty) = &*grouped;
        let mut out = Filler::new(chunk.len());
        let mut key = Vec::new();
        for row in rows {
            let at = usize::from(*row);
            key.clear();
            let mut parts = parts.iter().zip(&lookup.collations).zip(&lookup.forms);
            let known = parts.all(|((part, collation), form)| self.append_group_part(part, at, *collation, *form, &mut key));
            let found = if known { map.get(key.as_slice()).unwrap_or(empty) } else { empty };
            out.put(at, &found[0]);
        }
        Some(out.finish())
    }
}
