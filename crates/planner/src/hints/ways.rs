//! Hints that choose a way to read a table: `SKIP_SCAN`, `INDEX_MERGE`, and their `NO_` forms. They win over `optimizer_switch`.

use super::{Hint, names, warning};
use crate::binder::{Binder, Relation, Source};

/// What such a hint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Ranges of a part behind one that is free.
    SkipScan,
    /// Several indexes.
    IndexMerge,
}

/// One of them, for a table.
#[derive(Clone, Debug)]
pub struct WayHint {
    way: Way,
    /// The way is to be taken where it can be; else it is not to be taken.
    wanted: bool,
    /// By which indexes; any where none is named.
    indexes: Vec<u32>,
}

/// The way that a hint's name is about, and whether it is wanted.
pub(super) fn way_of(name: &str) -> Option<(Way, bool)> {
    Some(match name {
        "SKIP_SCAN" => (Way::SkipScan, true),
        "NO_SKIP_SCAN" => (Way::SkipScan, false),
        "INDEX_MERGE" => (Way::IndexMerge, true),
        "NO_INDEX_MERGE" => (Way::IndexMerge, false),
        _ => return None,
    })
}

impl Relation {
    /// Whether hints want an index to be read that way; `None` where they leave it open.
    pub(crate) fn wants_way(&self, way: Way, index: u32) -> Option<bool> {
        let hint = self.ways.iter().find(|hint| hint.way == way)?;
        let named = hint.indexes.is_empty() || hint.indexes.contains(&index);
        if hint.wanted { Some(named) } else { named.then_some(false) }
    }
}

impl Binder<'_> {
    /// Takes a hint of these.
    pub(super) fn way_hint(&mut self, hint: &Hint<'_>, (way, wanted): (Way, bool), block_name: Option<&str>) {
        let mut list = names(hint.arguments).into_iter();
        let number = self.scopes.len();
        let Some(name) = list.next() else {
            self.hint_syntax(hint.arguments);
            return;
        };
        let unresolved = |index: Option<&str>| {
            let index = index.map_or_else(String::new, |index| format!(" `{index}`"));
            warning(3128, format!("Unresolved name `{name}`@`select#{number}`{index} for {} hint", hint.name))
        };
        let Some(at) = self.table_of_hint(name, block_name) else {
            self.warnings.push(unresolved(None));
            self.warnings.extend(list.map(|index| unresolved(Some(index))));
            return;
        };
        let Some(relation) = self.scopes.last().and_then(|scope| scope.relations.get(at)) else { return };
        let Source::Base(table) = relation.source else { return };
        let shown = || {
            let indexes: Vec<String> = names(hint.arguments)[1..].iter().map(|index| format!("`{index}`")).collect();
            format!("{}(`{name}` {}{})", hint.name, if indexes.is_empty() { "" } else { " " }, indexes.join(", "))
        };
        if relation.ways.iter().any(|known| known.way == way) {
            self.warnings.push(warning(3126, format!("Hint {} is ignored as conflicting/duplicated", shown())));
            return;
        }
        let entry = std::sync::Arc::clone(&self.tables[table as usize]);
        let (mut indexes, mut named) = (Vec::new(), 0);
        for index in list {
            named += 1;
            match entry.def.index_no(index).filter(|no| !entry.def.indexes[*no].invisible) {
                Some(no) => indexes.push(no as u32),
                None => self.warnings.push(unresolved(Some(index))),
            }
        }
        if way == Way::IndexMerge && wanted && indexes.len() == 1 {
            // One index is no merge.
            if named == 1 {
                self.warnings.push(warning(3614, format!("Invalid number of arguments for hint {}", shown())));
            }
        } else if named == 0 || !indexes.is_empty() {
            self.scope().relations[at].ways.push(WayHint { way, wanted, indexes });
        }
    }
}
