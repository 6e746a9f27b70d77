//! Fuzzy checkpoints: where recovery starts to read, and what it cannot learn from there on.
//!
//! # Invariants
//! 1. The log position is read first; all that the payload lists is read after it. What changed in between is in the log from that
//!    position on, and recovery applies it over the payload (`recovery.rs`).
//! 2. The log is durable up to everything the payload may have seen before the payload is written.
//! 3. Taking a checkpoint never waits for log space, which may be waiting for the checkpoint.
//!
//! Payload, little-endian varints: format version, next transaction id, next table id, next index id, root page of the dictionary's
//! and of the counters' tree, running transactions (id, newest undo), history (id, newest undo), AUTO_INCREMENT counters that their tree does
//! not have yet (table, next value), entries left by rollbacks (table, index, key), undo directory; in version 2 then those of the running
//! transactions that are prepared (id, format, global part, branch); in version 3 then the blocks of the history (undo address, length; `blocks.rs`); in version 4
//! then the pages that lack changes; in version 5 then for each of the prepared ones whether its tables are named, and which (`changed_tables.rs`). The oldest
//! version is written that can say it, so that an earlier release can open the directory.

use crate::changed_tables::{self, Named};
use crate::engine::Engine;
use crate::format::Feature;
use crate::prepared::Xid;
use crate::purge::blocks::ListedHistory;
use crate::purge::leftover::Leftover;
use crate::{Error, Result};
use base::{IndexId, Lsn, Malformed, PageNo, Reader, TableId, TxnId, UndoPtr, put_bytes, put_varint};
#[cfg(test)]
use sync::Mutex;
use sync::atomic::Ordering;
use undo::UndoStore;
use wal::Checkpoint;

/// Format of the data directory as far as a checkpoint knows it: of its own payload, and of the engine's log records.
const PAYLOAD_VERSION: u64 = 5;
/// The version without tables of prepared transactions.
const PAYLOAD_VERSION_UNNAMED: u64 = 4;
/// The version without pages that lack changes.
const PAYLOAD_VERSION_WHOLE: u64 = 3;
/// The version without blocks of the history.
const PAYLOAD_VERSION_UNBLOCKED: u64 = 2;
/// The version without prepared transactions.
const PAYLOAD_VERSION_PLAIN: u64 = 1;

/// Share of the log's capacity, in percent, that is kept for pages that lack changes, so that a start after they have been mended can do those.
const LACKING_PERCENT: u64 = 50;

/// What a checkpoint remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payload {
    pub next_txn: TxnId,
    pub next_table: u32,
    pub next_index: u32,
    pub dictionary_root: PageNo,
    pub counters_root: PageNo,
    pub running: Vec<(TxnId, UndoPtr)>,
    pub history: Vec<(TxnId, UndoPtr)>,
    pub counters: Vec<(TableId, u64)>,
    pub leftovers: Vec<Leftover>,
    pub undo_directory: Vec<u8>,
    pub prepared: Vec<(TxnId, Xid, Named)>,
    /// More of the history: records of the undo store with their lengths.
    pub history_blocks: Vec<(UndoPtr, usize)>,
    /// Pages that lack changes which no log has any more, with the LSN that they would have.
    pub lacking: Vec<(PageNo, Lsn)>,
}

impl Payload {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let version = match (self.prepared.is_empty(), self.history_blocks.is_empty(), self.lacking.is_empty()) {
            (true, true, true) => PAYLOAD_VERSION_PLAIN,
            (false, true, true) => PAYLOAD_VERSION_UNBLOCKED,
            (_, false, true) => PAYLOAD_VERSION_WHOLE,
            (_, _, false) => PAYLOAD_VERSION_UNNAMED,
        };
        let names_tables = self.prepared.iter().any(|(.., named)| named.is_some());
        let version = if names_tables { PAYLOAD_VERSION } else { version };
        for number in
            [version, self.next_txn.0, u64::from(self.next_table), u64::from(self.next_index), self.dictionary_root.0, self.counters_root.0]
        {
            put_varint(&mut out, number);
        }
        for list in [&self.running, &self.history] {
            put_varint(&mut out, list.len() as u64);
            for (txn, undo) in list {
                put_varint(&mut out, txn.0);
                put_varint(&mut out, undo.0);
            }
        }
        put_varint(&mut out, self.counters.len() as u64);
        for (table, next) in &self.counters {
            put_varint(&mut out, u64::from(table.0));
            put_varint(&mut out, *next);
        }
        put_varint(&mut out, self.leftovers.len() as u64);
        for leftover in &self.leftovers {
            put_varint(&mut out, u64::from(leftover.table.0));
            put_varint(&mut out, u64::from(leftover.index.0));
            put_bytes(&mut out, &leftover.key);
        }
        put_bytes(&mut out, &self.undo_directory);
        if version > PAYLOAD_VERSION_PLAIN {
            put_varint(&mut out, self.prepared.len() as u64);
            for (txn, xid, _) in &self.prepared {
                put_varint(&mut out, txn.0);
                put_varint(&mut out, xid.format_id);
                put_bytes(&mut out, &xid.gtrid);
                put_bytes(&mut out, &xid.bqual);
            }
        }
        if version > PAYLOAD_VERSION_UNBLOCKED {
            put_varint(&mut out, self.history_blocks.len() as u64);
            for (at, bytes) in &self.history_blocks {
                put_varint(&mut out, at.0);
                put_varint(&mut out, *bytes as u64);
            }
        }
        if version > PAYLOAD_VERSION_WHOLE {
            put_varint(&mut out, self.lacking.len() as u64);
            for (page, to) in &self.lacking {
                put_varint(&mut out, page.0);
                put_varint(&mut out, to.0);
            }
        }
        if version > PAYLOAD_VERSION_UNNAMED {
            for (.., named) in &self.prepared {
                put_varint(&mut out, u64::from(named.is_some()));
                if let Some(tables) = named {
                    changed_tables::put(tables, &mut out);
                }
            }
        }
        out
    }

    /// Decodes a payload whose checksum was right: what does not fit was written by another version of the program.
    pub(crate) fn read(bytes: &[u8]) -> Result<Payload> {
        let found = Reader::new(bytes).varint().unwrap_or_default();
        match Payload::decode(bytes) {
            Ok(payload) if (PAYLOAD_VERSION_PLAIN..=PAYLOAD_VERSION).contains(&found) => Ok(payload),
            _ if found == PAYLOAD_VERSION_PLAIN => Err(Error::DataFormat { found, reads: found }),
            _ => Err(Error::DataFormat { found, reads: PAYLOAD_VERSION }),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> std::result::Result<Payload, Malformed> {
        let mut r = Reader::new(bytes);
        let version = r.varint()?;
        let small = |v: u64| u32::try_from(v).map_err(|_| Malformed);
        let next_txn = TxnId(r.varint()?);
        let next_table = small(r.varint()?)?;
        let next_index = small(r.varint()?)?;
        let dictionary_root = PageNo(r.varint()?);
        let counters_root = PageNo(r.varint()?);
        let mut lists = [Vec::new(), Vec::new()];
        for list in &mut lists {
            for _ in 0..r.varint()? {
                list.push((TxnId(r.varint()?), UndoPtr(r.varint()?)));
            }
        }
        let [running, history] = lists;
        let mut counters = Vec::new();
        for _ in 0..r.varint()? {
            counters.push((TableId(small(r.varint()?)?), r.varint()?));
        }
        let mut leftovers = Vec::new();
        for _ in 0..r.varint()? {
            let (table, index) = (TableId(small(r.varint()?)?), IndexId(small(r.varint()?)?));
            leftovers.push(Leftover { table, index, key: r.bytes()?.to_vec() });
        }
        let undo_directory = r.bytes()?.to_vec();
        let mut prepared = Vec::new();
        if version > PAYLOAD_VERSION_PLAIN {
            for _ in 0..r.varint()? {
                let txn = TxnId(r.varint()?);
                prepared.push((txn, Xid { format_id: r.varint()?, gtrid: r.bytes()?.into(), bqual: r.bytes()?.into() }, None));
            }
        }
        let mut history_blocks = Vec::new();
        if version > PAYLOAD_VERSION_UNBLOCKED {
            for _ in 0..r.varint()? {
                history_blocks.push((UndoPtr(r.varint()?), usize::try_from(r.varint()?).map_err(|_| Malformed)?));
            }
        }
        let mut lacking = Vec::new();
        if version > PAYLOAD_VERSION_WHOLE {
            for _ in 0..r.varint()? {
                lacking.push((PageNo(r.varint()?), Lsn(r.varint()?)));
            }
        }
        if version > PAYLOAD_VERSION_UNNAMED {
            for (.., named) in &mut prepared {
                *named = match r.varint()? {
                    0 => None,
                    1 => Some(changed_tables::read(&mut r)?),
                    _ => return Err(Malformed),
                };
            }
        }
        if !r.rest().is_empty() {
            return Err(Malformed);
        }
        Ok(Payload {
            next_txn,
            next_table,
            next_index,
            dictionary_root,
            counters_root,
            running,
            history,
            counters,
            leftovers,
            undo_directory,
            prepared,
            history_blocks,
            lacking,
        })
    }

    /// Adds to the history what its blocks say. The undo store is loaded, and nothing else has been done to it.
    pub(crate) fn read_history_blocks(&mut self, undo: &UndoStore) -> Result<()> {
        for (at, bytes) in std::mem::take(&mut self.history_blocks) {
            let read = undo.read(at, |block| (block.len() == bytes).then(|| crate::purge::blocks::decode(block, &mut self.history)));
            match read {
                Ok(Some(Ok(()))) => {}
                Ok(_) | Err(undo::UndoError::Released) => return Err(Error::corrupt(format!("block {at} of the history"))),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Where a test gets between the steps of a checkpoint.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckpointStep {
    Begun,
    SlotsRead,
}

/// What a test does there, once.
#[cfg(test)]
pub(crate) type CheckpointHook = Mutex<Option<(CheckpointStep, Box<dyn FnOnce() + Send>)>>;

impl Engine {
    #[cfg(test)]
    fn checkpoint_hook(&self, step: CheckpointStep) {
        let planned = self.checkpoint_hook.lock().take_if(|(at, _)| *at == step);
        if let Some((_, work)) = planned {
            work();
        }
    }

    /// Writes a checkpoint. Sessions go on meanwhile.
    pub fn checkpoint(&self) -> Result<()> {
        let _one = self.checkpoint_latch.lock();
        self.checkpoint_latched().map(drop)
    }

    /// Writes a checkpoint and tells what it says. The caller holds `checkpoint_latch`.
    pub(crate) fn checkpoint_latched(&self) -> Result<Checkpoint> {
        let position = self.wal.written_contiguous();
        let redo_lsn = self.pool.min_dirty_lsn().map_or(position, |dirty| dirty.min(position));
        let (redo_lsn, lacking) = self.keep_redo_of_lacking(redo_lsn);
        // Slots first, and nothing moves from a list to a slot meanwhile: what leaves a slot is found in a list. What stands later here counts.
        let handover = self.handover.write();
        #[cfg(test)]
        self.checkpoint_hook(CheckpointStep::Begun);
        let (committed, named): (Vec<_>, Vec<_>) = self.slots.named().into_iter().partition(|named| named.committed);
        let mut running: Vec<_> = named.iter().map(|named| (named.txn, named.last_undo)).collect();
        #[cfg(test)]
        self.checkpoint_hook(CheckpointStep::SlotsRead);
        running.extend(self.losers.lock().listed());
        running.extend(self.branches.detached());
        running.extend(self.abandoned.lock().iter().copied());
        drop(handover);
        // After the slots: see `prepared.rs`.
        let prepared = self.branches.listed();
        // Those whose commit record is logged are committed by the time that the checkpoint is written: the log is durable up to them then.
        let committed = committed.iter().map(|named| (named.txn, named.last_undo));
        let mut history = self.list_history();
        history.single.extend(committed);
        let undo_directory = match self.undo.checkpoint().map_err(Error::from) {
            Err(Error::DiskFull) if self.wal.make_room() => self.undo.checkpoint()?,
            other => other?,
        };
        let payload = Payload {
            next_txn: self.txns.next_id(),
            next_table: self.next_table_id.load(Ordering::Acquire),
            next_index: self.next_index_id.load(Ordering::Acquire),
            dictionary_root: self.dictionary_root,
            counters_root: self.counters.root(),
            running,
            history: history.single,
            counters: self.counters.snapshot(),
            leftovers: self.leftovers.snapshot(),
            undo_directory,
            prepared,
            history_blocks: history.blocks,
            lacking,
        };
        self.wal.flush_to(self.wal.lsn_head()).map_err(|e| self.note_log_failure(e))?;
        let checkpoint = Checkpoint { redo_lsn, payload: payload.encode() };
        self.wal.write_checkpoint(checkpoint.clone()).map_err(|e| self.note_log_failure(e))?;
        self.undo.checkpoint_written();
        Ok(checkpoint)
    }

    /// How far back the log is to be kept for pages that lack changes, and which pages it is not kept for any more: past a share of the log's capacity
    /// what all others need goes first.
    fn keep_redo_of_lacking(&self, redo_lsn: Lsn) -> (Lsn, Vec<(PageNo, Lsn)>) {
        let store = self.pool.store();
        let (mut redo_lsn, mut given_up, mut told) = (redo_lsn, Vec::new(), Vec::new());
        let oldest = self.wal.lsn_head().0.saturating_sub(self.wal.capacity() / 100 * LACKING_PERCENT);
        for mut lacking in store.lacking() {
            if !lacking.from.is_none() && lacking.from.0 < oldest {
                told.push(lacking.page.to_string());
                lacking.from = Lsn::NONE;
                store.note_lacking(lacking);
            }
            match lacking.from.is_none() {
                true => given_up.push((lacking.page, lacking.to)),
                false => redo_lsn = redo_lsn.min(lacking.from),
            }
        }
        if !told.is_empty() {
            let pages = told.join(", ");
            (self.config.on_warning)(&format!(
                "the log is not kept any longer for page {pages} of the data file, whose changes recovery could not do again: to have them back, restore a backup to a point in time"
            ));
        }
        (redo_lsn, given_up)
    }

    /// Releases blocks whose entries are all purged, unless a checkpoint is being taken, which may be about to list them: it does so itself.
    pub(crate) fn release_emptied_blocks(&self) {
        if self.history.has_emptied()
            && let Some(_latch) = self.checkpoint_latch.try_lock()
        {
            self.release_emptied_blocks_latched();
        }
    }

    fn release_emptied_blocks_latched(&self) {
        for (at, bytes) in self.history.take_emptied() {
            self.undo.release(at, bytes);
        }
    }

    /// The history, most of it in blocks that checkpoints before have written. The caller holds `checkpoint_latch`, and lists the undo store's directory after it.
    fn list_history(&self) -> ListedHistory {
        self.release_emptied_blocks_latched();
        if self.allows(Feature::HistoryBlocks).is_err() {
            let single = self.history.snapshot().iter().map(|f| (f.txn, f.last_undo)).collect();
            return ListedHistory { single, blocks: Vec::new() };
        }
        self.history.list(&mut |shard, entries| {
            let block = crate::purge::blocks::encode(entries);
            // Without room for it the entries are listed one by one.
            let at = self.undo.append(shard, &block).ok()?;
            Some((at, block.len()))
        })
    }

    /// Writes every dirty page, then a checkpoint: the next start has nothing to redo.
    pub(crate) fn sharp_checkpoint(&self) -> Result<()> {
        self.counters.write_back()?;
        self.pool.flush_all().map_err(Error::from)?;
        self.checkpoint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_round_trips_and_cut_payloads_are_malformed() {
        let payload = Payload {
            next_txn: TxnId(1 << 40),
            next_table: 5,
            next_index: u32::MAX,
            dictionary_root: PageNo(3),
            counters_root: PageNo(4),
            running: vec![(TxnId(9), UndoPtr::new(1, 2))],
            history: vec![(TxnId(7), UndoPtr::new(3, 4)), (TxnId(8), UndoPtr::NONE)],
            counters: vec![(TableId(20), u64::MAX)],
            leftovers: vec![Leftover { table: TableId(20), index: IndexId(21), key: b"key".to_vec() }],
            undo_directory: b"directory".to_vec(),
            prepared: vec![(TxnId(9), Xid { format_id: 1, gtrid: (*b"global").into(), bqual: (*b"branch").into() }, None)],
            history_blocks: vec![(UndoPtr::new(5, 8), 1000)],
            lacking: vec![(PageNo(77), Lsn(1 << 33))],
        };
        let all = payload.clone();
        let payload = Payload { lacking: Vec::new(), ..payload };
        let lacks_only = Payload { history_blocks: Vec::new(), prepared: Vec::new(), ..all.clone() };
        let plain = Payload { prepared: Vec::new(), history_blocks: Vec::new(), ..payload.clone() };
        let unblocked = Payload { history_blocks: Vec::new(), ..payload.clone() };
        let named = |mut payload: Payload| {
            payload.prepared[0].2 = Some([TableId(16), TableId(300)].into());
            payload.prepared.push((TxnId(10), Xid { format_id: 0, gtrid: (*b"other").into(), bqual: (*b"").into() }, None));
            payload
        };
        for (version, payload) in [
            (5, named(all.clone())),
            (5, named(unblocked.clone())),
            (1, plain),
            (2, unblocked),
            (3, Payload { prepared: Vec::new(), ..payload.clone() }),
            (3, payload),
            (4, all),
            (4, lacks_only),
        ] {
            assert_eq!(payload.encode()[0], version);
            let bytes = payload.encode();
            assert_eq!(Payload::decode(&bytes), Ok(payload));
            for end in 0..bytes.len() {
                assert_eq!(Payload::decode(&bytes[..end]), Err(Malformed));
            }
        }
    }

    #[test]
    fn payload_of_another_format_is_named() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, 7);
        bytes.extend_from_slice(b"what that format has");
        let error = Payload::read(&bytes).unwrap_err();
        assert_eq!(error, Error::DataFormat { found: 7, reads: PAYLOAD_VERSION });
        assert_eq!(error.to_string(), "data directory format 7, this program reads 5");
        // An earlier layout under the same number, as development had it.
        let error = Payload::read(&[1, 2, 3]).unwrap_err();
        assert_eq!(error.to_string(), "data directory format 1 of another layout, written by a development version of this program");
    }
}
