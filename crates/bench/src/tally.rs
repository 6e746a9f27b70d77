//! What a thread has counted.

use crate::histogram::Histogram;
use crate::reply::ServerError;
use crate::workload::KINDS_MAX;
use std::collections::BTreeMap;
use std::time::Duration;

/// Counts of one thread, or of all together, in a slice.
#[derive(Clone, Default)]
pub struct Tally {
    /// Latencies of transactions that ended in the measured time, by their kind.
    pub kinds: [Histogram; KINDS_MAX],
    /// Replies that arrived in the measured time: where transactions take as long as the measured time, these still tell the rate.
    pub replies: u64,
    /// Attempts that were repeated because of a deadlock or a lock wait timeout, in the measured time.
    pub retries: u64,
    /// Transactions given up because of another error, in the measured time.
    pub failed: u64,
    /// Transactions that were due in the measured time and had not begun at its end: the server, or this client, cannot keep up with the rate.
    pub behind: u64,
    /// Errors by number, in all the time, with the first message of each.
    pub errors: BTreeMap<u16, (u64, String)>,
    /// Transactions that were acknowledged, in all the time, by their kind.
    pub acknowledged: [u64; KINDS_MAX],
    /// Connections that broke, with the first reason.
    pub lost: u64,
    /// Why the first did.
    pub lost_reason: Option<String>,
    /// Answers that were not what they must be, and the first.
    pub wrong: u64,
    /// What the first was.
    pub wrong_reason: Option<String>,
    /// Connections that could not log in.
    pub refused: u64,
    /// Connections that had not come to their end when waiting for them was given up.
    pub unfinished: u64,
}

impl Tally {
    /// A transaction has ended well, within the measured time or not.
    pub fn finished(&mut self, kind: usize, took: Duration, measured: bool) {
        self.acknowledged[kind] += 1;
        if measured {
            self.kinds[kind].add(took);
        }
    }

    /// The server answered an error.
    pub fn error(&mut self, error: &ServerError) {
        self.errors.entry(error.code).or_insert_with(|| (0, error.message.clone())).0 += 1;
    }

    /// A connection broke.
    pub fn lost(&mut self, why: &str) {
        self.lost += 1;
        self.lost_reason.get_or_insert_with(|| why.to_owned());
    }

    /// An answer was wrong.
    pub fn wrong(&mut self, why: &str) {
        self.wrong += 1;
        self.wrong_reason.get_or_insert_with(|| why.to_owned());
    }

    /// What is to be said of the first wrong answer.
    pub fn wrong_answer(&self) -> Option<String> {
        self.wrong_reason.as_ref().map(|why| format!("WRONG: {why}"))
    }

    /// Takes in another's counts.
    pub fn merge(&mut self, other: Tally) {
        self.kinds.iter_mut().zip(&other.kinds).for_each(|(a, b)| a.merge(b));
        self.acknowledged.iter_mut().zip(&other.acknowledged).for_each(|(a, b)| *a += b);
        self.replies += other.replies;
        self.retries += other.retries;
        self.failed += other.failed;
        self.behind += other.behind;
        for (code, (count, message)) in other.errors {
            self.errors.entry(code).or_insert((0, message)).0 += count;
        }
        self.lost += other.lost;
        self.lost_reason = self.lost_reason.take().or(other.lost_reason);
        self.wrong += other.wrong;
        self.wrong_reason = self.wrong_reason.take().or(other.wrong_reason);
        self.refused += other.refused;
        self.unfinished += other.unfinished;
    }

    /// All kinds together.
    pub fn all(&self) -> Histogram {
        let mut all = Histogram::default();
        self.kinds.iter().for_each(|kind| all.merge(kind));
        all
    }
}
