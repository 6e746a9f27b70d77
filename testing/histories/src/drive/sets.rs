//! What clients do with sets.

use super::GROUPS;
use super::client::{Client, Member, Step};
use super::lists::Locking;
use super::statement::number;
use crate::history::{Element, Event, Group};
use std::collections::BTreeSet;

impl Client<'_, '_> {
    fn groups(&mut self) -> (Group, Group) {
        let (a, b) = (self.random.below(u64::from(GROUPS)) as Group, self.random.below(u64::from(GROUPS)) as Group);
        if self.random.coin() { (a, a) } else { (a.min(b), a.max(b)) }
    }

    pub(super) fn insert_members(&mut self) -> Step {
        let count = 1 + self.random.below(3);
        let members: Vec<(Element, Group)> =
            (0..count).map(|_| (self.run.element(), self.random.below(u64::from(GROUPS)) as Group)).collect();
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

    /// Moves a member that was seen before to a higher group, if it is still there.
    pub(super) fn move_member(&mut self) -> Step {
        let Some(member) = self.known_member() else { return self.insert_members() };
        if member.group + 1 >= GROUPS {
            return self.remove_member();
        }
        let to = member.group + 1 + self.random.below(u64::from(GROUPS - member.group - 1)) as Group;
        let tag = self.run.element();
        let sql = format!(
            "UPDATE sets SET grp = {}, tag = {} WHERE id = {} AND tag = {}",
            self.run.group_id(to),
            self.run.stored(tag),
            member.id,
            self.run.stored(member.tag)
        );
        self.change(&sql, |client, affected| {
            if affected == 0 {
                return vec![];
            }
            client.remember(Member { id: member.id, group: to, tag });
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

    pub(super) fn read_sets(&mut self, locking: Locking) -> Step {
        let (from, to) = self.groups();
        // `pad` is not in the index: with it, rows are fetched.
        let columns = if self.random.coin() { "id, grp, tag" } else { "id, grp, tag, pad" };
        let sql = format!(
            "SELECT {columns} FROM sets WHERE grp BETWEEN {} AND {}{}",
            self.run.group_id(from),
            self.run.group_id(to),
            locking.suffix()
        );
        self.select(&sql, locking, |client, rows| {
            let members: Vec<(u64, u64, u64)> = rows.iter().map(|row| (number(&row[0]), number(&row[1]), number(&row[2]))).collect();
            client.members_of(&members, (from, to), locking)
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
            let mut events = client.lists_of(&lists, &keys).0;
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
