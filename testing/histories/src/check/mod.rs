//! Checks a history against what its levels promise.
//!
//! 1. `outcome.rs`: who has committed; is what they did there at the end, whole, and nothing else?
//! 2. `observe.rs`: each read by itself: own writes, aborted and intermediate reads; what remains are versions of what others wrote.
//! 3. `graph.rs`: current parts of transactions and snapshots, ordered by what they wrote, read and did not see yet, and by real time.
//! 4. `cycles.rs`: there must be no cycle (`levels.rs` tells why); the worst of each component is named.
//!
//! The same graph with whole transactions as nodes shows what a level allows: it is counted, not complained of.

mod cycles;
mod graph;
mod observe;
mod outcome;

use crate::anomaly::{Anomaly, Kind};
use crate::history::{History, Reading};
use crate::levels::Level;
use std::collections::BTreeMap;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// What the levels forbid.
    pub violations: Vec<Anomaly>,
    /// What was seen and is allowed.
    pub allowed: BTreeMap<Kind, usize>,
}

impl Report {
    /// The violations, with the transactions that take part in each; empty if there is none.
    pub fn describe(&self, history: &History) -> String {
        const SHOWN: usize = 5;
        let mut out = String::new();
        for anomaly in self.violations.iter().take(SHOWN) {
            out.push_str(&format!("{}: {}\n", anomaly.kind, anomaly.text));
            for txn in &anomaly.txns {
                out.push_str(&history.txns[*txn].describe(*txn));
            }
        }
        if self.violations.len() > SHOWN {
            out.push_str(&format!("… {} more\n", self.violations.len() - SHOWN));
        }
        out
    }
}

/// Finds all that is wrong with a history.
pub fn check(history: &History) -> Report {
    let mut violations: Vec<Anomaly> =
        history.final_differences.iter().map(|text| Anomaly { kind: Kind::TornRow, text: text.clone(), txns: vec![] }).collect();
    let outcome = outcome::Outcome::of(history, &mut violations);
    let mut observed = observe::observe(history, &outcome);
    violations.append(&mut observed.violations);
    let mut allowed = BTreeMap::new();
    for kind in observed.allowed {
        *allowed.entry(kind).or_default() += 1;
    }
    for (kind, anomaly) in lost_updates(history, &outcome, &observed.all) {
        match anomaly {
            Some(anomaly) => violations.push(anomaly),
            None => *allowed.entry(kind).or_default() += 1,
        }
    }
    let graph = graph::Graph::build(history, &outcome, &observed.all);
    violations.extend(cycles::worst(&graph).iter().map(|cycle| cycle.anomaly(&graph)));
    let merged = graph.merged();
    if !history.txns.is_empty() && history.txns.iter().all(|txn| txn.level == Level::SnapshotIsolation) {
        violations.extend(cycles::nonadjacent(&merged).map(|cycle| cycle.anomaly(&merged)));
    }
    for cycle in cycles::classes(&merged) {
        *allowed.entry(cycle.kind).or_default() += 1;
    }
    violations.sort_by_key(|anomaly| anomaly.kind);
    Report { violations, allowed }
}

/// Rows that a transaction read by a snapshot, others changed, and the transaction changed upon that: forbidden where the first updater
/// wins. (Where the read locked, the graph has a cycle.)
fn lost_updates(history: &History, outcome: &outcome::Outcome, observations: &[observe::Observation]) -> Vec<(Kind, Option<Anomaly>)> {
    let mut found = Vec::new();
    for observation in observations.iter().filter(|o| o.reading == Reading::Plain && outcome.committed[o.txn]) {
        let observe::Seen::List { key, version, .. } = &observation.seen else { continue };
        let own = outcome.effects[observation.txn].appends.iter().find(|(written, _)| written == key);
        let Some(place) = own.and_then(|pair| outcome.place.get(pair)) else { continue };
        if place > version {
            let txn = observation.txn;
            let forbidden = history.txns[txn].level == Level::SnapshotIsolation;
            let text = format!("T{txn} saw {version} elements of list {key}, and appended to {place}");
            let others = history.final_lists[key][*version..*place].iter().filter_map(|e| outcome.appended_by.get(&(*key, *e)).copied());
            let anomaly = || Anomaly { kind: Kind::LostUpdate, text, txns: std::iter::once(txn).chain(others).collect() };
            found.push((Kind::LostUpdate, forbidden.then(anomaly)));
        }
    }
    found
}
