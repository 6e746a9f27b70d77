//! What a run measured, as plain data: `run` makes it, comparisons, soaks and reports read it.
//!
//! # Invariants
//! 1. Nothing here knows a socket, a workload's statements or a page's layout: a report can be rendered again from the JSON alone.
//! 2. Counts are of the measured time only, unless a field says otherwise.
//! 3. Times are seconds where a field says `seconds`, microseconds in histograms.

use crate::histogram::Histogram;
use std::collections::BTreeMap;

/// One workload on one server with one number of connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What the user called the server, or its address.
    pub server: String,
    /// `SELECT VERSION()`, with `@@version_comment`.
    pub version: String,
    /// The workload's name on the command line.
    pub workload: String,
    /// Options that change what the workload does, as the command line spells them (`keys=zipf:0.9`, `warehouses=10`).
    pub settings: BTreeMap<String, String>,
    /// Connections that worked.
    pub connections: usize,
    /// Measured time in seconds.
    pub seconds: f64,
    /// Each kind of transaction: its name and what it cost.
    pub kinds: Vec<Kind>,
    /// Each second of the measured time, in order; the last may be cut short and is then left out.
    pub each_second: Vec<Second>,
    /// Attempts repeated after a deadlock or a lock wait timeout.
    pub retries: u64,
    /// Transactions given up because of another error.
    pub failed: u64,
    /// Errors by MySQL's number, in all the time: how many, and the first message.
    pub errors: BTreeMap<u16, (u64, String)>,
    /// Connections that could not log in, broke, or did not come to their end.
    pub lost: u64,
    /// What the server's process used, when it is on this machine.
    pub local: Option<Local>,
    /// What the client's own process used, in processor seconds.
    pub client_cpu_seconds: f64,
}

/// One kind of transaction of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// Its name (`new_order`).
    pub name: String,
    /// Latencies from the moment at which it was to begin (with a rate) or began (without), so that waiting is not omitted.
    pub latency: Histogram,
}

/// A second of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Transactions that ended in it.
    pub transactions: u64,
    /// 99 of 100 of them took at most this long, in microseconds.
    pub p99_us: u64,
    /// The server's resident memory at its end, in KiB, when it is on this machine.
    pub resident_kib: Option<u64>,
}

/// What a server on this machine used in the measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    /// Processor time in user space, in seconds.
    pub user_seconds: f64,
    /// Processor time in the kernel, in seconds.
    pub system_seconds: f64,
    /// Resident memory at the end, in KiB.
    pub resident_kib: u64,
}

impl Outcome {
    /// Transactions that ended well.
    pub fn transactions(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.latency.count()).sum()
    }

    /// Transactions a second.
    pub fn rate(&self) -> f64 {
        self.transactions() as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// The server's processor seconds a transaction, when it is on this machine.
    pub fn cpu_seconds_each(&self) -> Option<f64> {
        let local = self.local?;
        Some((local.user_seconds + local.system_seconds) / self.transactions().max(1) as f64)
    }
}
