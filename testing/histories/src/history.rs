//! What clients did and saw: transactions over lists and sets, with the moments at which each statement was sent and answered.
//!
//! A **list** is a row that is only appended to; each appended element is unique for its list, so a read tells exactly which version it saw
//! and, with the lists at the end, in which order the versions came. A **set** is a group of rows found by a range of a secondary index:
//! members come, move to another group or go; a (member, group) pair comes once and goes once. Sets are what phantoms appear in.

use crate::levels::Level;
use std::collections::{BTreeMap, BTreeSet};

/// A list's name.
pub type Key = u32;
/// What is appended to a list, or is a member of a set.
pub type Element = u64;
/// A set's name.
pub type Group = u32;
/// Nanoseconds since the history began.
pub type Moment = u64;

/// What a statement did or saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A list was read; `None`: there was no row.
    Read {
        /// Which.
        key: Key,
        /// Its elements.
        list: Option<Vec<Element>>,
    },
    /// Only a list's newest element was read (from an index that covers it); `Some(0)`: an empty list.
    ReadLast {
        /// Which.
        key: Key,
        /// Its newest element.
        last: Option<Element>,
    },
    /// An element was appended.
    Append {
        /// To which list.
        key: Key,
        /// What.
        element: Element,
    },
    /// An append that failed, which a dirty read may have seen.
    TriedAppend {
        /// To which list.
        key: Key,
        /// What.
        element: Element,
    },
    /// A read that failed: its snapshot may have been made all the same.
    TriedRead,
    /// All members of a range of groups were read.
    ReadSets {
        /// First and last group.
        groups: (Group, Group),
        /// What was found, as it was found.
        members: Vec<(Element, Group)>,
    },
    /// A member came.
    Insert {
        /// Which.
        element: Element,
        /// Into which group.
        group: Group,
    },
    /// An insert that failed, which a dirty read may have seen.
    TriedInsert {
        /// Which.
        element: Element,
        /// Into which group.
        group: Group,
    },
    /// A member went.
    Remove {
        /// Which.
        element: Element,
        /// From which group.
        group: Group,
    },
    /// Something that no server may say: a row found twice, columns of a row that do not fit.
    Oddity(String),
    /// A savepoint was set.
    Savepoint,
    /// Everything since the last savepoint was taken back; the savepoint stays.
    RollbackToSavepoint,
    /// The last savepoint was forgotten, and what came since stays.
    ReleaseSavepoint,
}

/// How a statement reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A SELECT without a locking clause.
    Plain,
    /// A locking SELECT, or a change: it sees the newest and keeps it.
    Current,
}

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its text, for people.
    pub sql: String,
    /// Before it was sent.
    pub sent: Moment,
    /// After its answer came.
    pub answered: Moment,
    /// How it reads.
    pub reading: Reading,
    /// What it did and saw.
    pub events: Vec<Event>,
}

/// How a transaction ended, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The commit was acknowledged.
    Committed {
        /// Before COMMIT was sent.
        sent: Moment,
        /// After its answer came.
        answered: Moment,
    },
    /// It was rolled back: by the client, by the server, or by its connection's end before COMMIT was sent.
    Aborted,
    /// COMMIT was sent and no answer came.
    Unknown {
        /// Before COMMIT was sent.
        sent: Moment,
    },
}

/// A transaction.
#[derive(Debug, Clone)]
pub struct Txn {
    /// Which client ran it.
    pub client: usize,
    /// The level that it asked for.
    pub level: Level,
    /// It is one statement outside of BEGIN.
    pub autocommit: bool,
    /// When START TRANSACTION WITH CONSISTENT SNAPSHOT was sent and answered.
    pub snapshot: Option<(Moment, Moment)>,
    /// What it did.
    pub statements: Vec<Statement>,
    /// How it ended.
    pub end: End,
}

/// All that happened, and how it was afterwards.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Transactions in any order.
    pub txns: Vec<Txn>,
    /// Lists that were there, empty, before anything began; the other ones begin without a row.
    pub preset: BTreeSet<Key>,
    /// Each list when all was over.
    pub final_lists: BTreeMap<Key, Vec<Element>>,
    /// All members when all was over.
    pub final_sets: BTreeSet<(Element, Group)>,
    /// Rows that were not found are not kept away, at any level: for a server without gap locks.
    pub without_gaps: bool,
    /// What the same final reads said by other ways (indexes), where that differed: a defect as it stands.
    pub final_differences: Vec<String>,
}

impl Txn {
    /// The transaction as people read it.
    pub fn describe(&self, index: usize) -> String {
        let mut out = format!("  T{index} (client {}, {}", self.client, self.level.name());
        if self.autocommit {
            out.push_str(", autocommit");
        }
        if let Some((sent, answered)) = self.snapshot {
            out.push_str(&format!(", consistent snapshot at {}..{}", micros(sent), micros(answered)));
        }
        out.push_str(")\n");
        for statement in &self.statements {
            out.push_str(&format!("    {:>9}..{:<9} {}\n", micros(statement.sent), micros(statement.answered), statement.sql));
            for event in &statement.events {
                out.push_str(&format!("      {}\n", describe_event(event)));
            }
        }
        out.push_str(&match self.end {
            End::Committed { sent, answered } => format!("    {:>9}..{:<9} committed\n", micros(sent), micros(answered)),
            End::Aborted => "    aborted\n".to_string(),
            End::Unknown { sent } => format!("    {:>9}..          commit without an answer\n", micros(sent)),
        });
        out
    }
}

fn describe_event(event: &Event) -> String {
    match event {
        Event::Read { key, list: None } => format!("list {key}: no row"),
        Event::Read { key, list: Some(list) } => format!("list {key}: {list:?}"),
        Event::ReadLast { key, last } => format!("list {key} ends with {last:?}"),
        Event::Append { key, element } => format!("list {key} gets {element}"),
        Event::TriedAppend { key, element } => format!("list {key} did not get {element}"),
        Event::TriedInsert { element, group } => format!("{element} not into group {group}"),
        Event::TriedRead => "not answered".into(),
        Event::ReadSets { groups, members } => format!("groups {}..={}: {members:?}", groups.0, groups.1),
        Event::Insert { element, group } => format!("{element} into group {group}"),
        Event::Remove { element, group } => format!("{element} out of group {group}"),
        Event::Oddity(text) => text.clone(),
        Event::Savepoint => "savepoint".into(),
        Event::RollbackToSavepoint => "rolled back to the savepoint".into(),
        Event::ReleaseSavepoint => "savepoint released".into(),
    }
}

fn micros(moment: Moment) -> String {
    format!("{}.{:03}", moment / 1_000_000, moment / 1000 % 1000)
}

impl Event {
    /// Whether it tells of what others wrote.
    pub fn is_read(&self) -> bool {
        matches!(self, Event::Read { .. } | Event::ReadLast { .. } | Event::ReadSets { .. } | Event::Oddity(_))
    }
}
