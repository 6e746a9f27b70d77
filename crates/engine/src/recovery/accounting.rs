//! Which undo records that recovery has found are still needed.
//!
//! The undo store keeps all it finds at a restart until it knows that. To know it, the chains of the transactions that are to be rolled back, that are
//! prepared, and that wait for purge are walked once. That takes time in proportion to what is unfinished (a transaction of ten million rows: seconds), so it is
//! done while the engine serves.
//!
//! # Invariant
//! Each record is counted once that rollback or purge will release, or has released since the start.

use crate::engine::Engine;
use crate::recovery::learned::Transactions;
use crate::undo_record::UndoRecord;
use crate::{Error, Result};
use base::{TxnId, UndoPtr};
use std::collections::VecDeque;
use std::time::Instant;
use sync::atomic::{AtomicBool, Ordering};

/// Records between two looks at whether to stop.
const STRETCH: u64 = 4096;

/// Records of a transaction from which on its rollback tells how far it is.
const LARGE: u64 = 10_000;

/// Chains that have not been walked.
pub(crate) struct Uncounted {
    chains: VecDeque<(TxnId, UndoPtr)>,
    /// Chains at the front that are of transactions to be rolled back.
    losers: usize,
    /// Records of the first chain so far.
    of_chain: u64,
    records: u64,
    bytes: u64,
}

impl Uncounted {
    pub(crate) fn new(found: &Transactions) -> Uncounted {
        let prepared = found.prepared.iter().map(|(txn, last, ..)| (*txn, *last));
        let chains = found.losers.iter().copied().chain(prepared).chain(found.history.iter().copied());
        Uncounted { chains: chains.collect(), losers: found.losers.len(), of_chain: 0, records: 0, bytes: 0 }
    }
}

impl Engine {
    /// Counts the undo that the restart has found, unless that is done, and frees what nobody needs. The background work of
    /// [`Engine::start_background`] does this by itself.
    pub fn count_undo(&self, stop: &AtomicBool) {
        let mut uncounted = self.uncounted.lock();
        let Some(work) = uncounted.as_mut() else { return };
        let begun = Instant::now();
        match self.count_chains(work, stop) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                // Kept whole until the next restart: more than is needed, and nothing that is.
                (self.config.on_warning)(&format!(
                    "undo found by recovery could not be counted: {error}; none of it is freed before the next start"
                ));
                return;
            }
        }
        self.undo.accounted();
        self.undo.trim();
        if work.records > 0 {
            let (mib, seconds) = (work.bytes >> 20, begun.elapsed().as_secs_f64());
            (self.config.on_note)(&format!("recovery: {} undo records of {mib} MiB are needed, counted in {seconds:.2} s", work.records));
        }
        *uncounted = None;
    }

    /// Undo records that the restart has found to be needed.
    #[cfg(test)]
    pub(crate) fn undo_records_to_count(&self) -> u64 {
        let mut uncounted = self.uncounted.lock();
        let work = uncounted.as_mut().expect("not counted yet");
        assert_eq!(self.count_chains(work, &AtomicBool::new(false)), Ok(true));
        work.records
    }

    /// `false` when told to stop.
    fn count_chains(&self, work: &mut Uncounted, stop: &AtomicBool) -> Result<bool> {
        let mut reader = self.undo.chain_reader();
        while let Some(chain) = work.chains.front_mut() {
            while !chain.1.is_none() {
                let at = chain.1;
                let found = reader.read(at, |bytes| UndoRecord::decode(bytes).map(|record| (bytes.len(), record.previous)));
                let (bytes, previous) = match found {
                    Ok(found) => found.map_err(|_| Error::corrupt("undo record"))?,
                    // Purged after the checkpoint that lists it.
                    Err(undo::UndoError::Released) => break,
                    Err(error) => return Err(error.into()),
                };
                self.undo.account(at, bytes)?;
                chain.1 = previous;
                work.of_chain += 1;
                work.records += 1;
                work.bytes += bytes as u64;
                if work.records.is_multiple_of(STRETCH) && stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
            }
            let (txn, records) = (chain.0, std::mem::take(&mut work.of_chain));
            if work.losers > 0 && records >= LARGE {
                self.loser_records.lock().insert(txn, records);
            }
            work.losers = work.losers.saturating_sub(1);
            work.chains.pop_front();
        }
        Ok(true)
    }
}
