//! What each transaction saw, as versions: the reads of a history without those of its own writes, which are checked here.

use super::outcome::Outcome;
use crate::anomaly::{Anomaly, Kind};
use crate::history::{Element, Event, Group, History, Key, Reading};
use crate::levels::PlainRead;
use std::collections::{BTreeMap, BTreeSet};

/// What a read saw.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    /// A list with its first so many elements; `absent`: there was no row.
    List { key: Key, version: usize, absent: bool },
    /// The members of groups.
    Sets { groups: (Group, Group), members: BTreeSet<(Element, Group)>, own: BTreeSet<(Element, Group)> },
}

/// A read of what others wrote.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    pub(super) txn: usize,
    pub(super) statement: usize,
    pub(super) reading: Reading,
    pub(super) seen: Seen,
}

/// All reads, and what is wrong with single ones.
#[derive(Default)]
pub(super) struct Observations {
    pub(super) all: Vec<Observation>,
    pub(super) violations: Vec<Anomaly>,
    /// Seen where the level lets it be seen.
    pub(super) allowed: Vec<Kind>,
}

/// What a transaction has written so far.
#[derive(Debug, Default, Clone)]
struct Own {
    lists: BTreeMap<Key, Vec<Element>>,
    inserted: BTreeSet<(Element, Group)>,
    removed: BTreeSet<(Element, Group)>,
}

impl Own {
    fn touches(&self, pair: &(Element, Group)) -> bool {
        self.inserted.contains(pair) || self.removed.contains(pair)
    }
}

struct Walk<'h> {
    history: &'h History,
    outcome: &'h Outcome,
    out: Observations,
    txn: usize,
    statement: usize,
    own: Own,
}

pub(super) fn observe(history: &History, outcome: &Outcome) -> Observations {
    let mut walk = Walk { history, outcome, out: Observations::default(), txn: 0, statement: 0, own: Own::default() };
    for (index, txn) in history.txns.iter().enumerate() {
        walk.txn = index;
        walk.own = Own::default();
        let mut saved = Vec::new();
        for (at, statement) in txn.statements.iter().enumerate() {
            walk.statement = at;
            for event in &statement.events {
                match event {
                    Event::Append { key, element } => walk.own.lists.entry(*key).or_default().push(*element),
                    Event::Insert { element, group } => {
                        walk.own.inserted.insert((*element, *group));
                    }
                    Event::Remove { element, group } => {
                        // A pair that it brought itself is as if it had never been; it must still not be seen any more.
                        walk.own.inserted.remove(&(*element, *group));
                        walk.own.removed.insert((*element, *group));
                    }
                    Event::TriedAppend { .. } | Event::TriedInsert { .. } | Event::TriedRead => {}
                    Event::Savepoint => saved.push(walk.own.clone()),
                    Event::RollbackToSavepoint => walk.own = saved.last().cloned().unwrap_or_default(),
                    Event::ReleaseSavepoint => {
                        saved.pop();
                    }
                    Event::Oddity(text) => {
                        let beside = walk.beside(statement);
                        walk.violation(Kind::TornRow, text.clone(), beside);
                    }
                    Event::Read { key, list } => walk.read(*key, list.as_deref(), statement.reading),
                    Event::ReadLast { key, last } => walk.read_last(*key, *last, statement.reading),
                    Event::ReadSets { groups, members } => walk.read_sets(*groups, members, statement.reading),
                }
            }
        }
    }
    walk.out
}

impl Walk<'_> {
    fn violation(&mut self, kind: Kind, text: String, others: Vec<usize>) {
        let (txn, statement) = (self.txn, self.statement);
        let sql = &self.history.txns[txn].statements[statement].sql;
        let mut txns = vec![txn];
        txns.extend(others.into_iter().filter(|other| *other != txn));
        self.out.violations.push(Anomaly { kind, text: format!("T{txn}, {sql}: {text}"), txns });
    }

    /// Transactions that ran at the time of a statement.
    fn beside(&self, statement: &crate::history::Statement) -> Vec<usize> {
        let runs = |txn: &crate::history::Txn| {
            let begins = txn.statements.first().is_some_and(|first| first.sent <= statement.answered);
            begins && txn.statements.last().is_some_and(|last| last.answered + 1_000_000 >= statement.sent)
        };
        self.history.txns.iter().enumerate().filter(|(_, txn)| runs(txn)).map(|(index, _)| index).collect()
    }

    fn is_dirty(&self, reading: Reading) -> bool {
        let txn = &self.history.txns[self.txn];
        reading == Reading::Plain && txn.level.plain_read(txn.autocommit) == PlainRead::Dirty
    }

    /// An anomaly that only a dirty read may see.
    fn dirty(&mut self, kind: Kind, text: String, others: Vec<usize>, reading: Reading) {
        if self.is_dirty(reading) {
            self.out.allowed.push(kind);
        } else {
            self.violation(kind, text, others);
        }
    }

    fn observed(&mut self, reading: Reading, seen: Seen) {
        self.out.all.push(Observation { txn: self.txn, statement: self.statement, reading, seen });
    }

    fn no_row(&mut self, key: Key, reading: Reading) {
        if self.own.lists.get(&key).is_some_and(|own| !own.is_empty()) {
            self.violation(Kind::Internal, format!("list {key} is not there, though the transaction has written it"), vec![]);
        } else if self.history.preset.contains(&key) {
            // A dirty read may see a row between its DELETE and its INSERT.
            self.dirty(Kind::LostRow, format!("list {key} is not there"), vec![], reading);
        } else if !self.is_dirty(reading) {
            self.observed(reading, Seen::List { key, version: 0, absent: true });
        }
    }

    fn read(&mut self, key: Key, list: Option<&[Element]>, reading: Reading) {
        let Some(list) = list else { return self.no_row(key, reading) };
        let final_list = self.history.final_lists.get(&key).map(Vec::as_slice).unwrap_or_default();
        let own = self.own.lists.get(&key).cloned().unwrap_or_default();
        let Some(base) = list.strip_suffix(own.as_slice()) else {
            return self.violation(
                Kind::Internal,
                format!("list {key} is {list:?}; it should end with the transaction's own {own:?}"),
                vec![],
            );
        };
        let is_own = |element: &Element| self.outcome.appended_by.get(&(key, *element)) == Some(&self.txn);
        if base.iter().any(is_own) {
            return self.violation(
                Kind::Internal,
                format!("list {key} is {list:?}; of the transaction's own only {own:?} should be there"),
                vec![],
            );
        }
        if !final_list.starts_with(base) {
            return self.foreign(key, base, reading);
        }
        if !own.is_empty() {
            // The row is the transaction's since it wrote it: what was before its own is what it was written upon.
            let place = self.outcome.place.get(&(key, own[0]));
            let remains = self.outcome.committed[self.txn] && self.outcome.effects[self.txn].appends.contains(&(key, own[0]));
            if remains && place.is_some_and(|place| *place != base.len()) {
                self.violation(Kind::Internal, format!("list {key} is {list:?}, and ends as {final_list:?}"), vec![]);
            }
            return;
        }
        self.version(key, base.len(), list.is_empty() && !self.history.preset.contains(&key), reading);
    }

    /// A list that is no prefix of what it is at the end.
    fn foreign(&mut self, key: Key, list: &[Element], reading: Reading) {
        let final_list = self.history.final_lists.get(&key).cloned().unwrap_or_default();
        let mut others = Vec::new();
        let (mut aborted, mut vanished, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for element in list {
            match self.outcome.appended_by.get(&(key, *element)) {
                None => unknown.push(*element),
                Some(by) => {
                    let remains = self.outcome.committed[*by] && self.outcome.effects[*by].appends.contains(&(key, *element));
                    if !remains {
                        others.push(*by);
                        if self.outcome.vanished[*by] { vanished.push(*element) } else { aborted.push(*element) }
                    }
                }
            }
        }
        if !unknown.is_empty() {
            self.violation(Kind::Garbage, format!("list {key} is {list:?}; nobody wrote {unknown:?}"), others);
        } else if !aborted.is_empty() {
            self.dirty(Kind::G1a, format!("list {key} is {list:?}; {aborted:?} was rolled back"), others, reading);
        } else if !vanished.is_empty() {
            // A reader that locked may see what is not durable yet, if it is not told that it has committed.
            if reading == Reading::Plain || self.outcome.committed[self.txn] {
                self.dirty(Kind::G1a, format!("list {key} is {list:?}; a crash took {vanished:?} back"), others, reading);
            }
        } else {
            self.dirty(Kind::IncompatibleOrder, format!("list {key} is {list:?}, and ends as {final_list:?}"), others, reading);
        }
    }

    fn read_last(&mut self, key: Key, last: Option<Element>, reading: Reading) {
        let Some(last) = last else { return self.no_row(key, reading) };
        if let Some(own) = self.own.lists.get(&key).and_then(|own| own.last()) {
            if *own != last {
                let own = *own;
                self.violation(Kind::Internal, format!("list {key} ends with {last}; the transaction has appended {own}"), vec![]);
            }
        } else if last == 0 {
            self.version(key, 0, false, reading);
        } else if let Some(place) = self.outcome.place.get(&(key, last)).copied() {
            if self.outcome.appended_by.get(&(key, last)) == Some(&self.txn) {
                self.violation(Kind::Internal, format!("list {key} ends with {last}, which the transaction has not written yet"), vec![]);
            } else {
                self.version(key, place + 1, false, reading);
            }
        } else {
            self.foreign(key, &[last], reading);
        }
    }

    fn version(&mut self, key: Key, version: usize, absent: bool, reading: Reading) {
        let list = self.history.final_lists.get(&key).map(Vec::as_slice).unwrap_or_default();
        if version > 0 && version < list.len() {
            let by = |at: usize| self.outcome.appended_by.get(&(key, list[at])).copied();
            if let (Some(last), Some(next)) = (by(version - 1), by(version))
                && last == next
                && last != self.txn
            {
                let text = format!("list {key} is seen up to {}; T{last} appended {} after it", list[version - 1], list[version]);
                return self.dirty(Kind::G1b, text, vec![last], reading);
            }
        }
        if !self.is_dirty(reading) {
            self.observed(reading, Seen::List { key, version, absent });
        }
    }

    fn read_sets(&mut self, groups: (Group, Group), members: &[(Element, Group)], reading: Reading) {
        let set: BTreeSet<(Element, Group)> = members.iter().copied().collect();
        let elements: BTreeSet<Element> = members.iter().map(|(element, _)| *element).collect();
        if elements.len() != members.len() {
            self.dirty(Kind::LostRow, format!("a row is there twice: {members:?}"), vec![], reading);
        }
        let within = |pair: &&(Element, Group)| (groups.0..=groups.1).contains(&pair.1);
        let missing: Vec<_> = self.own.inserted.iter().filter(within).filter(|pair| !set.contains(pair)).copied().collect();
        if !missing.is_empty() {
            self.violation(Kind::Internal, format!("the transaction's own {missing:?} are not there: {members:?}"), vec![]);
        }
        let back: Vec<_> = self.own.removed.intersection(&set).copied().collect();
        if !back.is_empty() {
            self.violation(Kind::Internal, format!("the transaction has taken {back:?} out, and sees them: {members:?}"), vec![]);
        }
        let mut foreign = BTreeSet::new();
        let others: Vec<(Element, Group)> = set.iter().filter(|pair| !self.own.touches(pair)).copied().collect();
        for pair in &others {
            match self.outcome.inserted_by.get(pair).copied() {
                None => self.violation(Kind::Garbage, format!("nobody has put {pair:?} there"), vec![]),
                Some(by) if by == self.txn => {
                    self.violation(
                        Kind::Internal,
                        format!("{pair:?} is there, which the transaction has not put there or has taken back"),
                        vec![],
                    );
                }
                Some(by) if self.outcome.vanished[by] => {
                    if reading == Reading::Plain || self.outcome.committed[self.txn] {
                        self.dirty(Kind::G1a, format!("{pair:?} is there; a crash took it back"), vec![by], reading);
                    }
                }
                Some(by) if !self.outcome.committed[by] => {
                    self.dirty(Kind::G1a, format!("{pair:?} is there; T{by} was rolled back"), vec![by], reading);
                }
                Some(by) if !self.outcome.effects[by].inserts.contains(pair) => {
                    self.dirty(Kind::G1b, format!("{pair:?} is there; T{by} took it out again before its end"), vec![by], reading);
                }
                Some(_) => {
                    foreign.insert(*pair);
                }
            }
        }
        if !self.is_dirty(reading) {
            let own = self.own.inserted.union(&self.own.removed).copied().collect();
            self.observed(reading, Seen::Sets { groups, members: foreign, own });
        }
    }
}
