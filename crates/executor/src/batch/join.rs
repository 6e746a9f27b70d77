//! Hash joins: the right side is kept as columns under its keys, the left side probes by chunks. A right side that is too much for memory goes to disk
//! (`join/spilled.rs`).

mod output;
mod packed;
mod pairs;
mod spilled;
mod table;

use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::Data;
use crate::batch::expression::Vector;
use crate::batch::{harmless, keys};
use crate::exec::{Cache, Exec};
use crate::hash_key::{self, Key, KeyTable};
use crate::memory::{Memory, Watch};
use crate::run::{Flow, Result, same_values};
use crate::spill::Partitions;
use ::memory::Kind;
use engine::Read;
use pairs::Pairs;
use planner::expr::Expr;
use planner::plan::{HashJoin, JoinKind, KeyForm};
use spilled::ChunkKeys;
use std::borrow::Cow;
use std::rc::Rc;
pub use table::HashTable;
use table::NO_ROW;
use types::{Collation, Value};

/// A right side that is being read.
struct Building {
    /// Bytes accounted for its table.
    held: usize,
    watch: Watch,
    /// Keys of which one row is there, where that is enough.
    seen: KeyTable<()>,
    /// Where its rows go when they are too many.
    spilled: Option<Partitions>,
}

impl Building {
    fn new(memory: &Memory) -> Building {
        Building { held: 0, watch: Watch::new(memory), seen: KeyTable::default(), spilled: None }
    }
}

impl<'a> Exec<'a> {
    #[inline(never)]
    pub(super) fn join_batches(&mut self, join: &'a HashJoin, sink: Sink<'_, 'a>) -> Result<Flow> {
        let table = self.hash_table(join)?;
        self.join_table(join, &table, sink)
    }

    /// Joins the left side with the table of the right one.
    fn join_table(&mut self, join: &'a HashJoin, table: &HashTable, sink: Sink<'_, 'a>) -> Result<Flow> {
        if join.kind == JoinKind::Anti && join.null_aware && table.has_null {
            // x NOT IN (…, NULL) is never true.
            return Ok(Flow::Continue);
        }
        if let Some(build) = &table.spilled {
            return self.join_spilled(join, build, sink);
        }
        // No left row finds a partner: none is read, unless that would be missed.
        if table.is_without_rows()
            && matches!(join.kind, JoinKind::Inner | JoinKind::Semi)
            && self.plain_read == Read::Snapshot
            && join.probe_keys.iter().all(harmless::is_harmless)
            && harmless::goes_unnoticed(&join.probe)
        {
            return Ok(Flow::Continue);
        }
        let mut heads = Vec::new();
        self.run_batches(&join.probe, &mut |x, chunk| x.probe_chunk(join, table, chunk, None, &mut heads, sink))
    }

    /// Probes with a chunk, whose keys may be there already.
    fn probe_chunk(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        chunk: &mut Chunk,
        keys: Option<&ChunkKeys>,
        heads: &mut Vec<Head>,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        if !self.find_heads(join, table, chunk, keys, heads) {
            return self.probe_rows(join, table, chunk, keys, sink);
        }
        match join.kind {
            JoinKind::Semi | JoinKind::Anti if join.on.is_none() => {
                let semi = join.kind == JoinKind::Semi;
                let kept = |row: &u16| match heads[usize::from(*row)] {
                    Head::Row(_) => semi,
                    Head::None => !semi,
                    Head::NoKey => !semi && (!join.null_aware || table.is_empty()),
                };
                let kept: Vec<u16> = chunk.rows().iter().copied().filter(kept).collect();
                if kept.is_empty() {
                    return Ok(Flow::Continue);
                }
                chunk.select(kept);
                sink(self, chunk)
            }
            JoinKind::Inner | JoinKind::Left if join.on.is_none() || join.kind == JoinKind::Inner => {
                let mut passed = |x: &mut Exec<'a>, chunk: &mut Chunk| match &join.on {
                    Some(on) => x.filter_chunk(on, chunk, sink),
                    None => sink(x, chunk),
                };
                if table.has_chains || chunk.rows().len() * 4 < chunk.len() {
                    self.pairs(join, table, chunk, heads, &mut passed)
                } else {
                    self.widen(join, table, chunk, heads, &mut passed)
                }
            }
            _ => self.probe_rows(join, table, chunk, keys, sink),
        }
    }

    /// The first match of each row; false when the keys need the evaluator.
    fn find_heads(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        chunk: &Chunk,
        keys: Option<&ChunkKeys>,
        heads: &mut Vec<Head>,
    ) -> bool {
        let head = |key: Option<Key<'_>>| match key {
            None => Head::NoKey,
            Some(key) => match table.first(key) {
                NO_ROW => Head::None,
                first => Head::Row(first),
            },
        };
        if let Some(keys) = keys {
            heads.clear();
            heads.extend((0..chunk.len()).map(|at| head(keys.get(at))));
            return true;
        }
        let Some(parts) = self.key_vectors(&join.probe_keys, chunk) else { return false };
        heads.clear();
        heads.resize(chunk.len(), Head::None);
        if let Some(integers) = integer_keys(join, &parts, chunk.len()) {
            table.find_integers(&integers, chunk.rows(), |at, row| heads[at] = if row == NO_ROW { Head::None } else { Head::Row(row) });
            return true;
        }
        let mut buffer = Vec::new();
        let integers = keys::Integers::of(&parts);
        let mut before = None;
        for row in chunk.rows() {
            let at = usize::from(*row);
            heads[at] = match (&integers, before) {
                (Some(integers), Some(before)) if integers.are_same(before, at) => heads[before],
                _ => head(self.key_at(join, &parts, at, &mut buffer)),
            };
            before = Some(at);
        }
        true
    }

    fn key_vectors<'c>(&mut self, exprs: &'a [Expr], chunk: &'c Chunk) -> Option<Vec<Vector<'c>>> {
        exprs.iter().map(|e| self.vector(e, chunk, chunk.rows())).collect()
    }

    /// The key of a row; `None` when a part is NULL and the join is not NULL-safe.
    #[inline]
    fn key_at<'k>(&self, join: &HashJoin, parts: &[Vector<'_>], at: usize, buffer: &'k mut Vec<u8>) -> Option<Key<'k>> {
        if !join.null_safe && parts.iter().any(|part| part.has_nulls() && part.is_null(at)) {
            return None;
        }
        if join.key_forms.iter().all(|form| *form == KeyForm::Same) {
            if let Some(packed) = packed::pack(parts, at) {
                return Some(Key::Int(packed));
            }
            return Some(keys::key_at(parts, &join.collations, at, buffer));
        }
        buffer.clear();
        for ((part, collation), form) in parts.iter().zip(&join.collations).zip(&join.key_forms) {
            self.append_form(&part.value(at), *form, *collation, buffer)?;
        }
        Some(Key::Bytes(buffer))
    }

    /// Appends a key part in the form that both sides share; `None` for what has none.
    fn append_form(&self, value: &Value, form: KeyForm, collation: Collation, out: &mut Vec<u8>) -> Option<()> {
        match form {
            _ if value.is_null() => hash_key::append(value, collation, out),
            KeyForm::Same => hash_key::append(value, collation, out),
            KeyForm::Double => hash_key::append(&Value::Double(crate::convert::to_f64(value, &*self.context)), collation, out),
            KeyForm::Temporal => {
                let at = crate::convert::to_datetime(value, &*self.context)?;
                hash_key::append(&Value::DateTime(at), collation, out);
            }
        }
        Some(())
    }

    /// The key of the row in the frame; `None` as in [`Exec::key_at`].
    fn row_key<'k>(&mut self, exprs: &'a [Expr], join: &'a HashJoin, buffer: &'k mut Vec<u8>) -> Result<Option<Key<'k>>> {
        let mut parts = Vec::with_capacity(exprs.len());
        for e in exprs {
            let value = self.eval(e)?;
            if value.is_null() && !join.null_safe {
                return Ok(None);
            }
            parts.push(Vector::Constant(value));
        }
        Ok(self.key_at(join, &parts, 0, buffer))
    }

    /// Whether the row in the frame and one of the right side with its key are partners.
    #[inline]
    fn is_partner(&mut self, join: &'a HashJoin, table: &HashTable, row: u32) -> Result<bool> {
        let Some(on) = &join.on else { return Ok(true) };
        table.load(row, join, &mut self.frame);
        self.is_true(on)
    }

    /// Probes with one row after the other: keys that need the evaluator, and conditions that decide whether a row has a partner.
    #[inline(never)]
    fn probe_rows(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        chunk: &Chunk,
        keys: Option<&ChunkKeys>,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let pure = join.on.as_ref().is_none_or(harmless::is_harmless) && join.probe_keys.iter().all(harmless::is_harmless);
        let rows_max = if pure { self.chunk_rows_max() } else { 1 };
        let mut pairs = Pairs::default();
        let mut out = self.take_chunk(std::iter::empty());
        let mut kept = Vec::new();
        let mut buffer = Vec::new();
        let mut flow = Flow::Continue;
        for row in chunk.rows() {
            self.tick()?;
            chunk.load(usize::from(*row), &mut self.frame);
            let key = match keys {
                Some(keys) => keys.get(usize::from(*row)),
                None => self.row_key(&join.probe_keys, join, &mut buffer)?,
            };
            if key.is_none() && join.null_aware && join.kind == JoinKind::Anti && !table.is_empty() {
                continue;
            }
            let mut matched = false;
            let mut at = key.map_or(NO_ROW, |key| table.first(key));
            while at != NO_ROW {
                // Many rows may share the key, and none pass.
                self.tick()?;
                if self.is_partner(join, table, at)? {
                    matched = true;
                    if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                        break;
                    }
                    pairs.push(*row, at);
                    if pairs.len() >= rows_max {
                        flow = self.pass_pairs(join, table, chunk, &pairs, &mut out, sink)?;
                        pairs.clear();
                        if flow == Flow::Stop {
                            break;
                        }
                        // What is above may have used the frame.
                        chunk.load(usize::from(*row), &mut self.frame);
                    }
                }
                at = table.following(at);
            }
            if flow == Flow::Stop {
                break;
            }
            match join.kind {
                JoinKind::Left if !matched => pairs.push(*row, NO_ROW),
                JoinKind::Semi if matched => kept.push(*row),
                JoinKind::Anti if !matched => kept.push(*row),
                _ => {}
            }
            if pairs.len() >= rows_max {
                flow = self.pass_pairs(join, table, chunk, &pairs, &mut out, sink)?;
                pairs.clear();
            }
            if kept.len() >= rows_max {
                flow = self.pass_kept(chunk, &mut kept, &mut out, sink)?;
            }
            if flow == Flow::Stop {
                break;
            }
        }
        self.forget_lookups();
        if flow == Flow::Continue && pairs.len() > 0 {
            flow = self.pass_pairs(join, table, chunk, &pairs, &mut out, sink)?;
        }
        if flow == Flow::Continue && !kept.is_empty() {
            flow = self.pass_kept(chunk, &mut kept, &mut out, sink)?;
        }
        self.return_chunk(out);
        Ok(flow)
    }

    /// The table of the right side, built once while the outer slots it reads stay the same.
    #[inline(never)]
    fn hash_table(&mut self, join: &'a HashJoin) -> Result<Rc<HashTable>> {
        let outer: Vec<Value> = join.outer_slots.iter().map(|s| self.get(*s).clone()).collect();
        if let Some(Cache { table: Some(table), outer: of, .. }) = &self.caches[join.cache as usize]
            && same_values(of, &outer)
        {
            return Ok(table.clone());
        }
        self.drop_cache(join.cache);
        let mut table = HashTable::new(join);
        let mut building = Building::new(&self.memory);
        if self.prefers_batches(&join.build) {
            self.run_batches(&join.build, &mut |x, chunk| {
                x.build_chunk(join, &mut table, &mut building, chunk)?;
                x.make_build_room(join, &mut table, &mut building)?;
                Ok(Flow::Continue)
            })?;
        } else {
            self.run(&join.build, &mut |x| {
                x.build_row(join, &mut table, &mut building)?;
                x.make_build_room(join, &mut table, &mut building)?;
                Ok(Flow::Continue)
            })?;
        }
        self.forget_lookups();
        match building.spilled {
            Some(spilled) => table.spilled = Some(spilled.finish(self)?),
            None => table.link()?,
        }
        table.held = building.held;
        let table = Rc::new(table);
        self.caches[join.cache as usize] = Some(Cache { rows: Rc::default(), outer, table: Some(table.clone()) });
        Ok(table)
    }

    /// Past its share the table goes to disk, and what follows.
    #[inline]
    fn make_build_room(&mut self, join: &HashJoin, table: &mut HashTable, building: &mut Building) -> Result<()> {
        if building.watch.is_pressed(building.held, &self.memory) { self.spill_build(join, table, building) } else { Ok(()) }
    }

    /// Adds the row in the frame to the table.
    fn build_row(&mut self, join: &'a HashJoin, table: &mut HashTable, building: &mut Building) -> Result<()> {
        let mut buffer = Vec::new();
        let Some(key) = self.row_key(&join.build_keys, join, &mut buffer)? else {
            table.has_null = true;
            return Ok(());
        };
        if let Some(spilled) = &mut building.spilled {
            return spilled::divide_row(self, spilled, key);
        }
        let mut bytes = key.entry_bytes();
        bytes += join.build_slots.iter().map(|slot| crate::memory::value_bytes(&self.frame[*slot as usize])).sum::<usize>();
        self.memory.take_for(Kind::Joins, bytes)?;
        building.held += bytes;
        for (slot, column) in join.build_slots.iter().zip(&mut table.columns) {
            let value = &self.frame[*slot as usize];
            column.reserve_for(value)?;
            column.push(value);
        }
        table.add(key)
    }

    /// The keys of a chunk's rows that count.
    fn chunk_keys(&mut self, exprs: &'a [Expr], join: &'a HashJoin, chunk: &Chunk) -> Result<ChunkKeys> {
        let mut keys = ChunkKeys::new();
        let mut buffer = Vec::new();
        let parts = self.key_vectors(exprs, chunk);
        for row in chunk.rows() {
            let at = usize::from(*row);
            let key = match &parts {
                Some(parts) => self.key_at(join, parts, at, &mut buffer),
                None => {
                    chunk.load(at, &mut self.frame);
                    self.row_key(exprs, join, &mut buffer)?
                }
            };
            keys.push(at, key);
        }
        Ok(keys)
    }

    /// Accounts for bytes that the table is to hold more, where they are sure to find room. Whether they are.
    fn book_build(&mut self, building: &mut Building, bytes: usize) -> Result<bool> {
        let much = self.memory.used().saturating_add(bytes) > self.memory.limit() / 2;
        if much || building.watch.is_pressed(building.held + bytes, &self.memory) {
            return Ok(false);
        }
        self.memory.take_for(Kind::Joins, bytes)?;
        building.held += bytes;
        Ok(true)
    }

    fn build_chunk(&mut self, join: &'a HashJoin, table: &mut HashTable, building: &mut Building, chunk: &Chunk) -> Result<()> {
        if let Some(spilled) = &mut building.spilled {
            let keys = self.chunk_keys(&join.build_keys, join, chunk)?;
            table.has_null |= chunk.rows().iter().any(|row| keys.get(usize::from(*row)).is_none());
            return spilled::divide(self, spilled, chunk, chunk.rows(), keys, false, 0);
        }
        let Some(parts) = self.key_vectors(&join.build_keys, chunk) else {
            for row in chunk.rows() {
                chunk.load(usize::from(*row), &mut self.frame);
                self.build_row(join, table, building)?;
            }
            return Ok(());
        };
        let share = chunk.bytes() / chunk.len().max(1);
        if let Some(integers) = integer_keys(join, &parts, chunk.len())
            && self.book_build(building, chunk.rows().len() * (Key::Int(0).entry_bytes() + share))?
        {
            table.add_integers(chunk.rows().iter().map(|row| integers[usize::from(*row)]))?;
            for (slot, column) in join.build_slots.iter().zip(&mut table.columns) {
                chunk.append_rows(chunk.rows(), *slot, self, column)?;
            }
            return Ok(());
        }
        let mut buffer = Vec::new();
        let mut kept: Vec<u16> = Vec::with_capacity(chunk.rows().len());
        let mut full = None;
        for (number, row) in chunk.rows().iter().enumerate() {
            match self.key_at(join, &parts, usize::from(*row), &mut buffer) {
                None => table.has_null = true,
                Some(key) => {
                    let bytes = key.entry_bytes() + share;
                    self.memory.take_for(Kind::Joins, bytes)?;
                    building.held += bytes;
                    table.add(key)?;
                    kept.push(*row);
                    if building.watch.is_pressed(building.held, &self.memory) {
                        full = Some(number + 1);
                        break;
                    }
                }
            }
        }
        for (slot, column) in join.build_slots.iter().zip(&mut table.columns) {
            chunk.append_rows(&kept, *slot, self, column)?;
        }
        let Some(rest) = full.and_then(|number| chunk.rows().get(number..)) else { return Ok(()) };
        // No more room in the middle of the chunk.
        self.spill_build(join, table, building)?;
        let Some(spilled) = &mut building.spilled else { return Ok(()) };
        let mut keys = ChunkKeys::new();
        for row in rest {
            let at = usize::from(*row);
            let key = self.key_at(join, &parts, at, &mut buffer);
            table.has_null |= key.is_none();
            keys.push(at, key);
        }
        spilled::divide(self, spilled, chunk, rest, keys, false, 0)
    }
}

/// The keys of a chunk's rows, where each is an integer or several that are packed into one, and none is NULL.
fn integer_keys<'v>(join: &HashJoin, parts: &'v [Vector<'_>], len: usize) -> Option<Cow<'v, [i64]>> {
    if join.key_forms.iter().any(|form| *form != KeyForm::Same) {
        return None;
    }
    let [part] = parts else { return packed::pack_all(parts, len).map(Cow::Owned) };
    match part.column()?.data() {
        Data::Int(values) if !part.has_nulls() => Some(Cow::Borrowed(values)),
        _ => None,
    }
}

/// The first match of a row.
#[derive(Clone, Copy, PartialEq)]
enum Head {
    /// None.
    None,
    /// A part of the key is NULL.
    NoKey,
    /// This row of the right side.
    Row(u32),
}

impl Head {
    #[inline]
    fn row(self) -> Option<u32> {
        match self {
            Head::Row(row) => Some(row),
            _ => None,
        }
    }
}
