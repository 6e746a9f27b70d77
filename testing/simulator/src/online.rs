//! CREATE INDEX, and ALTER TABLE that copies all rows, beside writers: begun while nobody uses the table, carried on between the steps of others, and ended while nobody
//! uses the table again.

use crate::ddl::{LIMITS, same_row};
use crate::planted::Plant;
use crate::schema;
use crate::world::{Result, Rows, Stop, World};
use catalog::{CatalogError, CopiedRows, OnlineAlter, TableDef, TableEntry};
use engine::Cancel;
use record::KeyPart;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An index, or a copy of a table, under construction.
pub(crate) struct Online {
    /// The table.
    pub name: String,
    entry: Arc<TableEntry>,
    alter: OnlineAlter<'static>,
    copies: bool,
    parts: Vec<KeyPart>,
    unique: bool,
    filled: bool,
    /// Two rows had the same key at some time since it was begun.
    had_duplicate: bool,
}

impl World {
    /// The table whose index is under construction.
    pub(crate) fn online_table(&self) -> Option<&str> {
        self.live.as_ref()?.online.as_ref().map(|online| online.name.as_str())
    }

    /// Before each step: whether somebody may be told of a duplicate.
    pub(crate) fn watch_online(&mut self) {
        let Some(online) = self.live().online.take() else { return };
        let had = online.had_duplicate || self.has_duplicate(&online);
        self.live().online = Some(Online { had_duplicate: had, ..online });
    }

    fn has_duplicate(&self, online: &Online) -> bool {
        let newest = self.newest();
        let Some(table) = newest.tables.get(&online.name) else { return false };
        let mut keys = BTreeSet::new();
        let mut rows = table.rows.values().filter(|row| !schema::has_null(&online.parts, row));
        online.unique && rows.any(|row| !keys.insert(schema::encode(&table.def, &online.parts, row)))
    }

    /// Whether the next step is one of an index under construction, or begins one.
    pub(crate) fn online_turn(&mut self) -> bool {
        let used = self.used_tables();
        let share = match &self.live().online {
            None => 4,
            Some(online) if online.filled && !used.contains(&online.name) => 50,
            Some(_) => 20,
        };
        self.random.percent(share)
    }

    pub(crate) fn online_step(&mut self) -> Result<()> {
        if self.online_table().is_some() {
            return self.go_on_online();
        }
        let (newest, used) = (self.newest(), self.used_tables());
        let free: Vec<String> = newest.tables.keys().filter(|name| !used.contains(*name)).cloned().collect();
        // It waits for what recovery has left to roll back, and nobody would do that meanwhile.
        if free.is_empty() || self.unfinished || self.abandoned {
            return Ok(());
        }
        let name = self.random.one_of(&free).clone();
        self.begin_online_index(&name)
    }

    /// Begins an index on a table that nobody uses.
    fn begin_online_index(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        if entry.def.indexes.len() > 4 || self.live().online.is_some() {
            return Ok(());
        }
        let mut def = entry.def.clone();
        let copies = self.random.percent(50);
        let (unique, parts) = if copies && self.random.percent(50) { (false, Vec::new()) } else { self.add_index(&mut def) };
        // Sorted by the keys that they have, or not: to the same end.
        let keeps_key = def.has_hidden_key() || self.random.percent(50);
        let live = self.live();
        let begun = match copies {
            true => {
                let rows = CopiedRows { convert: same_row(&entry), keeps_key };
                live.catalog.begin_copy(&entry, def, rows, LIMITS, Arc::default())
            }
            false => live.catalog.begin_online(&entry, def, LIMITS, Arc::default()),
        };
        let doing = format!("begin index on {name} {parts:?} unique {unique}, copy {copies}");
        match begun {
            Ok(alter) => {
                if self.plant == Some(Plant::UnseenChangeForgotten) {
                    engine::simulation::forget_unseen(alter.engine_build());
                }
                self.trace.line(doing);
                self.live().online =
                    Some(Online { name: name.to_owned(), entry, alter, copies, parts, unique, filled: false, had_duplicate: false });
                self.watch_online();
                Ok(())
            }
            Err(error) => self.online_failed(&doing, error),
        }
    }

    /// The next step of the index under construction.
    fn go_on_online(&mut self) -> Result<()> {
        let Some(mut online) = self.live().online.take() else { return Ok(()) };
        let is_free = !self.used_tables().contains(&online.name) && !self.unfinished && !self.abandoned;
        let cancel = Cancel::new();
        let name = online.name.clone();
        let (doing, result) = match self.random.below(10) {
            _ if !online.filled => {
                online.filled = true;
                ("fill", online.alter.fill(&cancel))
            }
            0 => return self.give_up_online(online),
            1..7 if is_free => return self.finish_online(online),
            _ => ("carry over", online.alter.catch_up(&cancel).map(drop)),
        };
        let doing = format!("{doing} the index on {name}, {} keys left", online.alter.waiting());
        match result {
            Ok(()) => {
                self.trace.line(doing);
                self.count("rounds of indexes built beside writers");
                self.live().online = Some(online);
                Ok(())
            }
            Err(CatalogError::DuplicateEntry { .. }) if online.had_duplicate || self.has_duplicate(&online) => {
                self.trace.line(format!("{doing}: duplicate"));
                self.give_up_online(online)
            }
            Err(error) => {
                self.give_up_online(online)?;
                self.online_failed(&doing, error)
            }
        }
    }

    fn finish_online(&mut self, online: Online) -> Result<()> {
        let has_duplicate = self.has_duplicate(&online);
        let mut def: TableDef = online.entry.def.clone();
        def.indexes = online.alter.definition().indexes.clone();
        let state = self.altered(&online.name, &def, Rows::clone);
        let doing = format!("finish index on {} {:?} unique {}, copy {}", online.name, online.parts, online.unique, online.copies);
        let live = self.live();
        let result = live.catalog.finish_online(&mut live.admin, &online.entry, online.alter, &[]);
        match result {
            Err(CatalogError::DuplicateEntry { .. }) if online.had_duplicate || has_duplicate => {
                self.trace.line(format!("{doing}: duplicate"));
                Ok(())
            }
            Ok(()) if has_duplicate => Err(Stop::Violation(format!("{doing}: done in spite of duplicates"))),
            result => {
                if self.finish_ddl(&doing, state, result)? {
                    if online.copies {
                        self.losers.iter_mut().for_each(|loser| loser.table_moved(&online.name, None));
                    }
                    self.count(if online.copies { "tables copied beside writers" } else { "indexes built beside writers" });
                }
                Ok(())
            }
        }
    }

    fn give_up_online(&mut self, online: Online) -> Result<()> {
        let doing = format!("give the index on {} up", online.name);
        let given_up = self.live().catalog.give_up(online.alter);
        self.trace.line(doing.clone());
        given_up.or_else(|error| self.online_failed(&doing, error))
    }

    /// A fault, or the crash.
    fn online_failed(&mut self, doing: &str, error: CatalogError) -> Result<()> {
        self.trace.line(format!("{doing}: {error}"));
        self.excuse_catalog(&error, doing)?;
        Err(Stop::Restart(format!("{doing}: {error}")))
    }
}
