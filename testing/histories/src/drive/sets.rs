//! What clients do with sets.

use super::client::{Client, Member, Step};
use super::lists::Locking;
use super::statement::number;
use crate::history::{Element, Event, Group};
use std::collections::BTreeSet;

impl Client<'_, '_> {
    fn groups(&mut self) -> (Group, Group) {
        let groups = u64::from(self.run.profile.groups);
        let (a, b) = (self.random.below(groups) as Group, self.random.below(groups) as Group);
        if self.random.coin() { (a, a) } else { (a.min(b), a.max(b)) }
    }

    pub(super) fn insert_members(&mut self) -> Step {
        let count = 1 + self.random.below(3);
        let members: Vec<(Element, Group)> =
            (0..count).map(|_| (self.run.element(), self.random.below(u64::from(self.run.profile.groups)) as Group)).collect();
        let rows: Vec<String> = members
            .iter()
            .map(|(element, group)| format!("({0}, {1}, {0}, 'pad')", self.run.stored(*element), self.run.group_id(*group)))
            .collect();
        let sql = format!("INSERT INTO sets (id, grp, tag, pad) VALUES {}", rows.join(", "));
        self.change(&sql, |client, _| {
            for (element, group) in &members {
                client.remember(Member { id: client.run.stored(*element), group: *group, tag: *element });
            }
            members.iter().map(|(element, group)| Event::Insert { element: *element, group: *group }).collect()
        })
    }

    /// Moves a member that was seen before to any other group, now and then as another row, if it is still there. As it is after that it was never before: its tag is new.
    pub(super) fn move_member(&mut self) -> Step {
        let Some(member) = self.known_member() else { return self.insert_members() };
        let groups = self.run.profile.groups;
        if groups < 2 {
            return self.remove_member();
        }
        let to = (member.group + 1 + self.random.below(u64::from(groups - 1)) as Group) % groups;
        let tag = self.run.element();
        let id = if self.random.below(4) == 0 { self.run.stored(tag) } else { member.id };
        let sql = format!(
            "UPDATE sets SET id = {id}, grp = {}, tag = {} WHERE id = {} AND tag = {}",
            self.run.group_id(to),
            self.run.stored(tag),
            member.id,
            self.run.stored(member.tag)
        );
        self.change(&sql, |client, affected| {
            if affected == 0 {
                return vec![];
            }
            client.remember(Member { id, group: to, tag });
            vec![Event::Remove { element: member.tag, group: member.group }, Event::Insert { element: tag, group: to }]
        })
    }

    pub(super) fn remove_member(&mut self) -> Step {
        let Some(member) = self.known_member() else { return self.insert_members() };
        // The element also tells whether the row is as it was seen: what was seen may have been rolled back.
        let place = format!("grp = {} AND tag = {}", self.run.group_id(member.group), self.run.stored(member.tag));
        let sql = format!("DELETE FROM sets WHERE id = {} AND {place}", member.id);
        self.change(&sql, |_, affected| match affected {
            0 => vec![],
            _ => vec![Event::Remove { element: member.tag, group: member.group }],
        })
    }

    /// Changes all members of some groups where nobody sees it: their rows get new versions, and are locked.
    pub(super) fn touch_members(&mut self) -> Step {
        let (from, to) = self.groups();
        let pad = self.run.element();
        let place = format!("grp BETWEEN {} AND {}", self.run.group_id(from), self.run.group_id(to));
        self.change(&format!("UPDATE sets SET pad = '{pad}' WHERE {place}"), |_, _| vec![])
    }

    /// Takes all members of some groups out, by the predicate by which it has locked them: no other can have come.
    pub(super) fn remove_range(&mut self) -> Step {
        let (from, to) = self.groups();
        let place = format!("grp BETWEEN {} AND {}", self.run.group_id(from), self.run.group_id(to));
        let mut found: Vec<(Element, Group)> = Vec::new();
        let sql = format!("SELECT id, grp, tag FROM sets WHERE {place} FOR UPDATE");
        self.select(&sql, Locking::Update, |client, rows| {
            let members = members(rows);
            found = members.iter().map(|(_, grp, tag)| (client.run.element_of(*tag), client.run.group_of(*grp))).collect();
            client.members_of(&members, (from, to), Locking::Update)
        })?;
        self.change(&format!("DELETE FROM sets WHERE {place}"), |_, affected| {
            let mut events: Vec<Event> = found.iter().map(|(element, group)| Event::Remove { element: *element, group: *group }).collect();
            if affected != found.len() as u64 {
                events.push(Event::Oddity(format!("{affected} of {} locked rows were deleted", found.len())));
            }
            events
        })
    }

    pub(super) fn read_sets(&mut self, locking: Locking) -> Step {
        let (from, to) = self.groups();
        let place = format!("grp BETWEEN {} AND {}", self.run.group_id(from), self.run.group_id(to));
        // `pad` is not in the index: with it, rows are fetched. The primary key finds all members of the history, and filters.
        let (columns, from_where) = match self.random.below(6) {
            0 => ("id, grp, tag, pad", self.by_primary_key(&place)),
            1 if locking == Locking::None => return self.read_and_count(&place, (from, to)),
            2..=3 => ("id, grp, tag", format!("FROM sets WHERE {place}")),
            _ => ("id, grp, tag, pad", format!("FROM sets WHERE {place}")),
        };
        self.select(&format!("SELECT {columns} {from_where}{}", locking.suffix()), locking, |client, rows| {
            client.members_of(&members(rows), (from, to), locking)
        })
    }

    fn by_primary_key(&self, place: &str) -> String {
        let (first, last) = (self.run.stored(0), self.run.stored(super::ELEMENTS - 1));
        format!("FROM sets FORCE INDEX (PRIMARY) WHERE id BETWEEN {first} AND {last} AND {place}")
    }

    /// A predicate read twice in one statement, by two indexes: both must agree.
    fn read_and_count(&mut self, place: &str, groups: (Group, Group)) -> Step {
        let count = format!("(SELECT COUNT(*) {})", self.by_primary_key(place));
        let sql = format!("SELECT id, grp, tag, {count} FROM sets WHERE {place}");
        self.select(&sql, Locking::None, |client, rows| {
            let mut events = client.members_of(&members(rows), groups, Locking::None);
            let wrong = rows.iter().map(|row| number(&row[3])).find(|count| *count != rows.len() as u64);
            if let Some(count) = wrong.filter(|_| !client.reads_dirty(Locking::None)) {
                events.push(Event::Oddity(format!("{} rows, and the same statement counts {count}", rows.len())));
            }
            events
        })
    }

    /// Lists and sets by one statement.
    pub(super) fn read_all(&mut self) -> Step {
        let (from, to) = self.groups();
        let sql = format!(
            "SELECT 0, id, last, v FROM lists WHERE id BETWEEN {} AND {} UNION ALL SELECT tag, id, grp, pad FROM sets WHERE grp BETWEEN {} AND {}",
            self.run.list_id(0),
            self.run.list_id(super::LISTS - 1),
            self.run.group_id(from),
            self.run.group_id(to)
        );
        self.select(&sql, Locking::None, |client, rows| {
            // No tag is 0.
            let (lists, sets): (Vec<_>, Vec<_>) = rows.iter().partition(|row| number(&row[0]) == 0);
            let lists: Vec<Vec<mysql::Value>> = lists.into_iter().map(|row| row[1..].to_vec()).collect();
            let keys: Vec<u32> = (0..super::LISTS).collect();
            let mut events = client.lists_of(&lists, &keys, Locking::None).0;
            let members: Vec<(u64, u64, u64)> = sets.iter().map(|row| (number(&row[1]), number(&row[2]), number(&row[0]))).collect();
            events.extend(client.members_of(&members, (from, to), Locking::None));
            events
        })
    }

    fn members_of(&mut self, rows: &[(u64, u64, u64)], groups: (Group, Group), locking: Locking) -> Vec<Event> {
        let mut events = Vec::new();
        let (mut ids, mut members) = (BTreeSet::new(), Vec::new());
        for (id, grp, tag) in rows {
            let (group, tag) = (self.run.group_of(*grp), self.run.element_of(*tag));
            if !ids.insert(*id) && !self.reads_dirty(locking) {
                events.push(Event::Oddity(format!("member {id} was found twice")));
            }
            if !(groups.0..=groups.1).contains(&group) {
                events.push(Event::Oddity(format!("group {group} was not asked for")));
            }
            members.push((tag, group));
            self.remember(Member { id: *id, group, tag });
        }
        events.push(Event::ReadSets { groups, members });
        events
    }
}

/// Rows `id, grp, tag`.
fn members(rows: &[Vec<mysql::Value>]) -> Vec<(u64, u64, u64)> {
    rows.iter().map(|row| (number(&row[0]), number(&row[1]), number(&row[2]))).collect()
}
