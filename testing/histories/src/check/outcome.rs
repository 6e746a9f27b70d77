//! Who has committed, and whether what is there at the end is what they did.

use crate::anomaly::{Anomaly, Kind};
use crate::history::{Element, End, Event, Group, History, Key, Reading, Txn};
use crate::levels::PlainRead;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What remains of a transaction's changes once its savepoints have had their say.
#[derive(Debug, Default, Clone)]
pub(super) struct Effects {
    pub(super) appends: Vec<(Key, Element)>,
    pub(super) inserts: Vec<(Element, Group)>,
    pub(super) removes: Vec<(Element, Group)>,
}

impl Effects {
    fn of(txn: &Txn) -> Effects {
        let mut now = Effects::default();
        let mut saved = Vec::new();
        for event in txn.statements.iter().flat_map(|statement| &statement.events) {
            match event {
                Event::Append { key, element } => now.appends.push((*key, *element)),
                Event::Insert { element, group } => now.inserts.push((*element, *group)),
                Event::Remove { element, group } => now.removes.push((*element, *group)),
                Event::Savepoint => saved.push(now.clone()),
                // The savepoint itself stays.
                Event::RollbackToSavepoint => now = saved.last().cloned().unwrap_or_default(),
                Event::ReleaseSavepoint => {
                    saved.pop();
                }
                Event::Read { .. } | Event::ReadLast { .. } | Event::ReadSets { .. } | Event::Oddity(_) => {}
                Event::TriedAppend { .. } | Event::TriedInsert { .. } | Event::TriedRead => {}
            }
        }
        // What came and went within the transaction leaves no trace.
        let passing: Vec<_> = now.inserts.iter().filter(|pair| now.removes.contains(pair)).copied().collect();
        now.inserts.retain(|pair| !passing.contains(pair));
        now.removes.retain(|pair| !passing.contains(pair));
        now
    }

    fn is_empty(&self) -> bool {
        self.appends.is_empty() && self.inserts.is_empty() && self.removes.is_empty()
    }
}

/// The end of all transactions, and who wrote what.
pub(super) struct Outcome {
    /// By transaction: it has committed (as acknowledged, or as its traces show).
    pub(super) committed: Vec<bool>,
    /// By transaction: its commit was not answered, and left no trace.
    pub(super) vanished: Vec<bool>,
    pub(super) effects: Vec<Effects>,
    /// Who appended, whether it remained or not.
    pub(super) appended_by: HashMap<(Key, Element), usize>,
    pub(super) inserted_by: HashMap<(Element, Group), usize>,
    /// Committed removals only.
    pub(super) removed_by: HashMap<(Element, Group), usize>,
    /// Pairs that several took out whose commits had no answer: one of them may have committed.
    maybe_removed: HashSet<(Element, Group)>,
    /// Where in its final list an element stands.
    pub(super) place: HashMap<(Key, Element), usize>,
}

impl Outcome {
    pub(super) fn of(history: &History, found: &mut Vec<Anomaly>) -> Outcome {
        let txns = &history.txns;
        let effects: Vec<Effects> = txns.iter().map(Effects::of).collect();
        let (mut appended_by, mut inserted_by) = (HashMap::new(), HashMap::new());
        for (index, txn) in txns.iter().enumerate() {
            for event in txn.statements.iter().flat_map(|statement| &statement.events) {
                match event {
                    Event::Append { key, element } | Event::TriedAppend { key, element } => {
                        appended_by.insert((*key, *element), index);
                    }
                    Event::Insert { element, group } | Event::TriedInsert { element, group } => {
                        inserted_by.insert((*element, *group), index);
                    }
                    _ => {}
                }
            }
        }
        let mut place = HashMap::new();
        for (key, list) in &history.final_lists {
            for (at, element) in list.iter().enumerate() {
                if place.insert((*key, *element), at).is_some() {
                    let text = format!("list {key} ends as {list:?}: {element} is there twice");
                    found.push(Anomaly {
                        kind: Kind::Garbage,
                        text,
                        txns: appended_by.get(&(*key, *element)).copied().into_iter().collect(),
                    });
                }
                if !appended_by.contains_key(&(*key, *element)) {
                    let text = format!("list {key} ends as {list:?}: nobody wrote {element}");
                    found.push(Anomaly { kind: Kind::Garbage, text, txns: vec![] });
                }
            }
        }
        let mut outcome = Outcome {
            committed: vec![false; txns.len()],
            vanished: vec![false; txns.len()],
            effects,
            appended_by,
            inserted_by,
            removed_by: HashMap::new(),
            maybe_removed: HashSet::new(),
            place,
        };
        outcome.settle_unknown(history, found);
        outcome.compare(history, found);
        outcome
    }

    /// A commit without an answer has happened if its traces are there; they must be there all, or none.
    fn settle_unknown(&mut self, history: &History, found: &mut Vec<Anomaly>) {
        for (index, txn) in history.txns.iter().enumerate() {
            self.committed[index] = matches!(txn.end, End::Committed { .. });
        }
        // Who took a pair out, acknowledged or not.
        let mut takers: HashMap<(Element, Group), Vec<usize>> = HashMap::new();
        for (index, effects) in self.effects.iter().enumerate().filter(|(index, _)| history.txns[*index].end != End::Aborted) {
            effects.removes.iter().for_each(|pair| takers.entry(*pair).or_default().push(index));
        }
        let unknown: Vec<usize> = (0..history.txns.len()).filter(|index| matches!(history.txns[*index].end, End::Unknown { .. })).collect();
        // Who certainly has not committed took nothing.
        let refuted: Vec<usize> = unknown.iter().copied().filter(|index| self.traces(history, &takers, *index).contains(&false)).collect();
        takers.values_mut().for_each(|takers| takers.retain(|taker| !refuted.contains(taker)));
        takers.retain(|_, takers| !takers.is_empty());
        let seen = self.seen_by_others(history);
        // What one has done may be told by what became of another: again until nothing is learnt.
        loop {
            // What nothing else tells of is told by who saw it.
            let has_happened = |index: &usize| {
                let traces = self.traces(history, &takers, *index);
                traces.contains(&true) || traces.is_empty() && self.effects[*index].inserts.iter().any(|pair| seen.contains(pair))
            };
            let learnt: Vec<usize> = unknown.iter().copied().filter(|index| !self.committed[*index]).filter(has_happened).collect();
            if learnt.is_empty() {
                break;
            }
            learnt.into_iter().for_each(|index| self.committed[index] = true);
        }
        self.maybe_removed = takers.keys().copied().collect();
        for index in unknown {
            self.vanished[index] = !self.committed[index] && !self.effects[index].is_empty();
            let traces = self.traces(history, &takers, index);
            if traces.contains(&true) && traces.contains(&false) {
                let text = format!("T{index}'s commit had no answer; some of its changes are there and some are not");
                found.push(Anomaly { kind: Kind::TornCommit, text, txns: vec![index] });
            }
        }
        for (index, effects) in self.effects.iter().enumerate().filter(|(index, _)| self.committed[*index]) {
            for pair in &effects.removes {
                if let Some(other) = self.removed_by.insert(*pair, index) {
                    let text = format!("both T{other} and T{index} took {} out of group {}", pair.0, pair.1);
                    found.push(Anomaly { kind: Kind::LostUpdate, text, txns: vec![other, index] });
                }
                let by = self.inserted_by.get(pair);
                if !by.is_some_and(|by| *by == index || self.committed[*by]) {
                    let text = format!("T{index} took {} out of group {}, whose writer was rolled back", pair.0, pair.1);
                    found.push(Anomaly { kind: Kind::G1a, text, txns: by.copied().into_iter().chain([index]).collect() });
                }
            }
        }
    }

    /// Pairs that a committed transaction read which had not put them there, other than dirtily.
    fn seen_by_others(&self, history: &History) -> HashSet<(Element, Group)> {
        let mut seen = HashSet::new();
        for (index, txn) in history.txns.iter().enumerate().filter(|(index, _)| self.committed[*index]) {
            let dirty = txn.level.plain_read(txn.autocommit) == PlainRead::Dirty;
            let statements = txn.statements.iter().filter(|statement| !dirty || statement.reading == Reading::Current);
            for event in statements.flat_map(|statement| &statement.events) {
                if let Event::ReadSets { members, .. } = event {
                    seen.extend(members.iter().copied().filter(|pair| self.inserted_by.get(pair) != Some(&index)));
                }
            }
        }
        seen
    }

    /// Whether a pair was taken out, or may have been.
    pub(super) fn may_be_removed(&self, pair: &(Element, Group)) -> bool {
        self.removed_by.contains_key(pair) || self.maybe_removed.contains(pair)
    }

    /// Of each change of a transaction that tells something: whether it has happened.
    fn traces(&self, history: &History, takers: &HashMap<(Element, Group), Vec<usize>>, index: usize) -> Vec<bool> {
        let effects = &self.effects[index];
        let mut traces: Vec<bool> = effects.appends.iter().map(|pair| self.place.contains_key(pair)).collect();
        for pair in &effects.inserts {
            match takers.get(pair) {
                None => traces.push(history.final_sets.contains(pair)),
                // Who took it out has found it.
                Some(takers) if takers.iter().any(|taker| self.committed[*taker]) => traces.push(true),
                Some(_) if history.final_sets.contains(pair) => traces.push(true),
                Some(_) => {}
            }
        }
        for pair in &effects.removes {
            // That a pair is gone tells something where it certainly came, by an answer or by other traces, and nobody else may have taken it.
            let came = self.inserted_by.get(pair).is_some_and(|by| self.committed[*by] && self.effects[*by].inserts.contains(pair));
            if history.final_sets.contains(pair) {
                traces.push(false);
            } else if came && takers.get(pair).is_none_or(|takers| takers.iter().all(|taker| *taker == index)) {
                traces.push(true);
            }
        }
        traces
    }

    /// A transaction, and those that wrote, or tried to write, a list that it has appended to, or took out what it has put in.
    fn others_of(&self, history: &History, index: usize) -> Vec<usize> {
        let lost = &self.effects[index];
        let is_its_list = |list: &Key| lost.appends.iter().any(|(key, _)| key == list);
        let touches = |event: &Event| match event {
            Event::Append { key, .. } | Event::TriedAppend { key, .. } => is_its_list(key),
            Event::Remove { element, group } => lost.inserts.contains(&(*element, *group)),
            _ => false,
        };
        let others = (0..history.txns.len())
            .filter(|other| *other != index && history.txns[*other].statements.iter().flat_map(|statement| &statement.events).any(touches));
        std::iter::once(index).chain(others).collect()
    }

    /// What is there at the end is what the committed transactions did.
    fn compare(&self, history: &History, found: &mut Vec<Anomaly>) {
        let mut by_txn: BTreeMap<usize, (Vec<String>, usize)> = BTreeMap::new();
        for (index, effects) in self.effects.iter().enumerate().filter(|(index, _)| self.committed[*index]) {
            let entry = by_txn.entry(index).or_default();
            entry.1 = effects.appends.len() + effects.inserts.len() + effects.removes.len();
            for (key, element) in &effects.appends {
                if !self.place.contains_key(&(*key, *element)) {
                    entry.0.push(format!("{element} of list {key}"));
                }
            }
            for pair in &effects.inserts {
                if !self.may_be_removed(pair) && !history.final_sets.contains(pair) {
                    entry.0.push(format!("{} of group {}", pair.0, pair.1));
                }
            }
            for pair in effects.removes.iter().filter(|pair| history.final_sets.contains(pair)) {
                entry.0.push(format!("the removal of {} from group {}", pair.0, pair.1));
            }
        }
        for (index, (missing, all)) in by_txn.into_iter().filter(|(_, (missing, _))| !missing.is_empty()) {
            // What is missing of an acknowledged commit is lost, be it all or a part.
            let text = format!("T{index} committed, and this is not there at the end ({} of {all}): {}", missing.len(), missing.join(", "));
            found.push(Anomaly { kind: Kind::LostCommit, text, txns: self.others_of(history, index) });
        }
        let remains: BTreeSet<(Key, Element)> = self
            .effects
            .iter()
            .enumerate()
            .filter(|(index, _)| self.committed[*index])
            .flat_map(|(_, effects)| effects.appends.iter().copied())
            .collect();
        for (pair, _) in self.place.iter().filter(|(pair, _)| !remains.contains(pair)) {
            if let Some(index) = self.appended_by.get(pair) {
                let text = format!("{} of list {} is there at the end; T{index} has taken it back", pair.1, pair.0);
                found.push(Anomaly { kind: Kind::Resurrected, text, txns: vec![*index] });
            }
        }
        for pair in &history.final_sets {
            let by = self.inserted_by.get(pair);
            if !by.is_some_and(|index| self.committed[*index] && self.effects[*index].inserts.contains(pair)) {
                let who = by.map_or("nobody has put it there".into(), |index| format!("T{index} has taken it back"));
                let text = format!("{} of group {} is there at the end; {who}", pair.0, pair.1);
                found.push(Anomaly { kind: Kind::Resurrected, text, txns: by.copied().into_iter().collect() });
            }
        }
    }
}
