//! The bank of `histories` under crashes.

use crate::Report;
use histories::workloads::{self, Load};
use histories::{Level, Place};

/// Transfers by so many connections, so many of each between two crashes.
pub fn bank(place: &Place, crashes: usize, connections: usize, txns: usize, seed: u64) -> Result<Report, String> {
    let before = place.restarts().len();
    let levels = vec![Level::ReadCommitted, Level::RepeatableRead];
    let done = workloads::bank(place, &Load { connections, txns, levels, seed, kills: crashes, faults: false })?;
    Ok(Report { acknowledged: done.committed, unanswered: done.unanswered, restarts: place.restarts().split_off(before) })
}
