//! What clients do with lists.

use super::LISTS;
use super::client::{Client, Step};
use super::statement::{Failure, list_row, number};
use crate::history::{Element, Event, Key, Reading};
use std::collections::BTreeMap;

/// How a SELECT locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locking {
    None,
    Share,
    Update,
    UpdateNoWait,
    /// Rows that others hold are passed over: what was not found tells nothing.
    UpdateSkip,
}

impl Locking {
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Locking::None => "",
            Locking::Share => " FOR SHARE",
            Locking::Update => " FOR UPDATE",
            Locking::UpdateNoWait => " FOR UPDATE NOWAIT",
            Locking::UpdateSkip => " FOR UPDATE SKIP LOCKED",
        }
    }

    pub(super) fn reading(self) -> Reading {
        if self == Locking::None { Reading::Plain } else { Reading::Current }
    }
}

impl Client<'_, '_> {
    /// A list, some more often than others.
    fn key(&mut self) -> Key {
        if self.random.coin() { self.random.below(2) as Key } else { self.random.below(u64::from(self.run.profile.lists)) as Key }
    }

    fn range(&mut self, below: Key) -> (Key, Key) {
        let (a, b) = (self.random.below(u64::from(below)) as Key, self.random.below(u64::from(below)) as Key);
        (a.min(b), a.max(b))
    }

    /// `v` and `last` with one more element.
    fn appended(&self, element: Element) -> String {
        format!("v = CONCAT(v, ',{element}'), last = {}", self.run.stored(element))
    }

    pub(super) fn append(&mut self) -> Step {
        let (key, element) = (self.key(), self.run.element());
        let place =
            if self.random.below(3) == 0 { format!("sk = {}", self.run.list_sk(key)) } else { format!("id = {}", self.run.list_id(key)) };
        let sql = format!("UPDATE lists SET {} WHERE {place}", self.appended(element));
        self.change(
            &sql,
            |_, affected| {
                if affected == 1 { vec![Event::Append { key, element }] } else { vec![Event::Read { key, list: None }] }
            },
        )
    }

    pub(super) fn append_to_range(&mut self) -> Step {
        let ((from, to), element) = (self.range(self.run.profile.preset), self.run.element());
        let place = if self.random.coin() {
            format!("id BETWEEN {} AND {}", self.run.list_id(from), self.run.list_id(to))
        } else {
            format!("sk BETWEEN {} AND {}", self.run.list_sk(to), self.run.list_sk(from))
        };
        let sql = format!("UPDATE lists SET {} WHERE {place}", self.appended(element));
        self.change(&sql, |_, affected| {
            let mut events: Vec<Event> = (from..=to).map(|key| Event::Append { key, element }).collect();
            let count = u64::from(to - from + 1);
            if affected != count {
                events.push(Event::Oddity(format!("{affected} of {count} rows were changed")));
            }
            events
        })
    }

    pub(super) fn upsert(&mut self) -> Step {
        let (key, element) = (self.key(), self.run.element());
        let sql = format!("{} ON DUPLICATE KEY UPDATE {}", self.insert_sql(key, &[element]), self.appended(element));
        self.change(&sql, |_, _| vec![Event::Append { key, element }])
    }

    pub(super) fn insert(&mut self) -> Step {
        let (lists, preset) = (self.run.profile.lists, self.run.profile.preset);
        let absent = u64::from(lists - preset);
        let key = if absent == 0 || self.random.below(4) == 0 { self.key() } else { preset + self.random.below(absent) as Key };
        let element = self.run.element();
        let sql = self.insert_sql(key, &[element]);
        self.change(&sql, |_, _| vec![Event::Append { key, element }])
    }

    fn insert_sql(&self, key: Key, list: &[Element]) -> String {
        self.row_sql("INSERT", key, list)
    }

    fn row_sql(&self, verb: &str, key: Key, list: &[Element]) -> String {
        let v: String = list.iter().map(|element| format!(",{element}")).collect();
        let last = self.run.stored(list.last().copied().unwrap_or(0));
        format!("{verb} INTO lists (id, sk, last, v) VALUES ({}, {}, {last}, '{v}')", self.run.list_id(key), self.run.list_sk(key))
    }

    /// The row is deleted and comes again with one element more, all under its lock.
    pub(super) fn rewrite(&mut self) -> Step {
        let key = self.key();
        let Some(mut list) = self.read_one(key, Locking::Update)? else { return Ok(()) };
        let last = self.run.stored(list.last().copied().unwrap_or(0));
        let element = self.run.element();
        list.push(element);
        if self.random.coin() {
            let sql = self.row_sql("REPLACE", key, &list);
            return self.change(&sql, |_, _| vec![Event::Append { key, element }]);
        }
        // As it was read: a rewrite without its lock would take back what others have appended, and only they would be seen to miss it.
        let as_read = if self.random.coin() { format!(" AND last = {last}") } else { String::new() };
        self.change(&format!("DELETE FROM lists WHERE id = {}{as_read}", self.run.list_id(key)), |_, affected| match affected {
            1 => vec![],
            other => vec![Event::Oddity(format!("{other} rows were deleted"))],
        })?;
        let sql = self.insert_sql(key, &list);
        match self.change(&sql, |_, _| vec![Event::Append { key, element }]) {
            Err(Failure::Refused) => Err(Failure::Defect(format!("{sql}: the row was deleted just before"))),
            // The row must not stay away.
            Err(Failure::Interrupted) => Err(Failure::Aborted),
            other => other,
        }
    }

    /// As applications do it: read, compute, write. Only where the level keeps updates from being lost.
    pub(super) fn read_and_write(&mut self) -> Step {
        let key = self.key();
        let Some(mut list) = self.read_one(key, Locking::None)? else { return Ok(()) };
        let element = self.run.element();
        list.push(element);
        let v: String = list.iter().map(|element| format!(",{element}")).collect();
        let sql = format!("UPDATE lists SET v = '{v}', last = {} WHERE id = {}", self.run.stored(element), self.run.list_id(key));
        self.change(&sql, |_, affected| match affected {
            1 => vec![Event::Append { key, element }],
            _ => vec![Event::Read { key, list: None }],
        })
    }

    fn read_one(&mut self, key: Key, locking: Locking) -> Result<Option<Vec<Element>>, Failure> {
        let sql = format!("SELECT id, last, v FROM lists WHERE id = {}{}", self.run.list_id(key), locking.suffix());
        let mut found = None;
        self.select(&sql, locking, |client, rows| {
            let (events, mut lists) = client.lists_of(rows, &[key], locking);
            found = lists.remove(&key);
            events
        })?;
        Ok(found)
    }

    pub(super) fn read_list(&mut self, locking: Locking) -> Step {
        let key = self.key();
        if self.random.below(3) > 0 {
            return self.read_one(key, locking).map(|_| ());
        }
        let sql = format!("SELECT id, last, v FROM lists WHERE sk = {}{}", self.run.list_sk(key), locking.suffix());
        self.select(&sql, locking, |client, rows| client.lists_of(rows, &[key], locking).0)
    }

    pub(super) fn read_range(&mut self, locking: Locking) -> Step {
        let (from, to) = self.range(self.run.profile.lists);
        let keys: Vec<Key> = (from..=to).collect();
        let place = match self.random.below(4) {
            0 => format!("sk BETWEEN {} AND {}", self.run.list_sk(to), self.run.list_sk(from)),
            1 => format!("sk BETWEEN {} AND {} ORDER BY sk DESC", self.run.list_sk(to), self.run.list_sk(from)),
            2 => {
                let ids: Vec<String> = keys.iter().rev().map(|key| self.run.list_id(*key).to_string()).collect();
                format!("id IN ({})", ids.join(", "))
            }
            _ => format!("id BETWEEN {} AND {}", self.run.list_id(from), self.run.list_id(to)),
        };
        let sql = format!("SELECT id, last, v FROM lists WHERE {place}{}", locking.suffix());
        self.select(&sql, locking, |client, rows| client.lists_of(rows, &keys, locking).0)
    }

    /// Each row twice in one statement, by two indexes.
    pub(super) fn read_joined(&mut self, locking: Locking) -> Step {
        let (from, to) = self.range(self.run.profile.lists);
        let keys: Vec<Key> = (from..=to).collect();
        let sum = self.run.list_id(0) + self.run.list_sk(0);
        let sql = format!(
            "SELECT a.id, a.last, a.v, b.id, b.last, b.v FROM lists a JOIN lists b ON b.sk = {sum} - a.id WHERE a.id BETWEEN {} AND {}{}",
            self.run.list_id(from),
            self.run.list_id(to),
            locking.suffix()
        );
        self.select(&sql, locking, |client, rows| {
            let left: Vec<Vec<mysql::Value>> = rows.iter().map(|row| row[..3].to_vec()).collect();
            let right: Vec<Vec<mysql::Value>> = rows.iter().map(|row| row[3..].to_vec()).collect();
            let mut events = client.lists_of(&left, &keys, locking).0;
            events.extend(client.lists_of(&right, &keys, locking).0);
            events
        })
    }

    /// All lists by an index that covers the statement and that every append moves the row in.
    pub(super) fn read_last(&mut self, locking: Locking) -> Step {
        let (from, to) = (self.run.stored(0), self.run.stored(super::ELEMENTS - 1));
        let sql = format!("SELECT id, last FROM lists FORCE INDEX (last) WHERE last BETWEEN {from} AND {to}{}", locking.suffix());
        self.select(&sql, locking, |client, rows| {
            let mut events = Vec::new();
            let mut last: BTreeMap<Key, Element> = BTreeMap::new();
            for row in rows {
                let (key, element) = (client.run.key_of_id(number(&row[0])), client.run.element_of(number(&row[1])));
                if last.insert(key, element).is_some() && !client.reads_dirty(locking) {
                    events.push(Event::Oddity(format!("list {key} was found twice")));
                }
            }
            let keys = (0..LISTS).filter(|key| locking != Locking::UpdateSkip || last.contains_key(key));
            events.extend(keys.map(|key| Event::ReadLast { key, last: last.get(&key).copied() }));
            events
        })
    }

    /// The lists that rows `id, last, v` show; keys without a row were not there.
    pub(super) fn lists_of(&self, rows: &[Vec<mysql::Value>], keys: &[Key], locking: Locking) -> (Vec<Event>, BTreeMap<Key, Vec<Element>>) {
        let (mut events, mut lists) = (Vec::new(), BTreeMap::new());
        for row in rows {
            let (key, list, odd) = list_row(self.run, row);
            events.extend(odd);
            if lists.insert(key, list).is_some() {
                events.push(Event::Oddity(format!("list {key} was found twice")));
            }
        }
        if let Some(stranger) = lists.keys().find(|key| !keys.contains(key)) {
            events.push(Event::Oddity(format!("list {stranger} was not asked for")));
        }
        let told = keys.iter().filter(|key| locking != Locking::UpdateSkip || lists.contains_key(key));
        events.extend(told.map(|key| Event::Read { key: *key, list: lists.get(key).cloned() }));
        (events, lists)
    }
}
