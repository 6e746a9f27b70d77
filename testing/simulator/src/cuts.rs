//! What is left out of a run: so a failing seed becomes a short story.
//!
//! Each step draws its choices from the seed and its own number, so that leaving one out changes the others only by what it would have done.

use std::collections::BTreeSet;

/// Parts of a run that can be left out as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Faults beyond crashes.
    Faults,
    /// Crashes during recovery.
    Nested,
    /// DDL but the first table.
    Ddl,
    /// Prepared branches.
    Branches,
    /// Commits in two halves.
    Halves,
    /// Commits that do not wait for the disk.
    Lazy,
    /// Rows with overflow chains.
    Large,
    /// Purge between snapshots.
    Prune,
    /// Other levels than READ COMMITTED and REPEATABLE READ.
    Levels,
    /// Temporary tables.
    Temporary,
    /// Stories.
    Stories,
    /// Warm starts.
    Warm,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 12] = [
        Feature::Faults,
        Feature::Nested,
        Feature::Ddl,
        Feature::Branches,
        Feature::Halves,
        Feature::Lazy,
        Feature::Large,
        Feature::Prune,
        Feature::Levels,
        Feature::Temporary,
        Feature::Stories,
        Feature::Warm,
    ];

    /// Its name on the command line.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// The feature of a name.
    pub fn from_name(name: &str) -> Option<Feature> {
        Feature::ALL.into_iter().find(|feature| feature.name() == name)
    }
}

/// What a run leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cuts {
    /// The only steps that are taken, by number; all when there is no list.
    pub keep: Option<BTreeSet<u32>>,
    /// What is left out everywhere.
    pub without: BTreeSet<Feature>,
}

impl Cuts {
    pub(crate) fn takes(&self, step: u32) -> bool {
        self.keep.as_ref().is_none_or(|keep| keep.contains(&step))
    }

    pub(crate) fn has(&self, feature: Feature) -> bool {
        !self.without.contains(&feature)
    }

    /// As options of the command; empty when nothing is cut.
    pub fn command(&self) -> String {
        let mut command = String::new();
        if let Some(keep) = &self.keep {
            command.push_str(&format!(" --keep {}", ranges(keep)));
        }
        if !self.without.is_empty() {
            let names: Vec<String> = self.without.iter().map(|feature| feature.name()).collect();
            command.push_str(&format!(" --without {}", names.join(",")));
        }
        command
    }

    /// Reads `--keep`: numbers and ranges, `3,7-9`; `none` for no step at all.
    pub fn parse_keep(text: &str) -> Option<BTreeSet<u32>> {
        let mut keep = BTreeSet::new();
        for part in text.split(',').filter(|part| *part != "none") {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            keep.extend(from.parse::<u32>().ok()?..=to.parse().ok()?);
        }
        Some(keep)
    }

    /// Reads `--without`.
    pub fn parse_without(text: &str) -> Option<BTreeSet<Feature>> {
        text.split(',').map(Feature::from_name).collect()
    }
}

fn ranges(keep: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &no in keep {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == no => *last = no,
            _ => ranges.push((no, no)),
        }
    }
    let text = |(from, to): &(u32, u32)| if from == to { from.to_string() } else { format!("{from}-{to}") };
    match ranges.is_empty() {
        true => "none".into(),
        false => ranges.iter().map(text).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_goes_through_the_command_line() {
        for keep in [vec![], vec![5], vec![1, 2, 3, 7, 9, 10]] {
            let keep: BTreeSet<u32> = keep.into_iter().collect();
            assert_eq!(Cuts::parse_keep(&ranges(&keep)), Some(keep));
        }
        assert_eq!(Cuts::parse_keep("1-x"), None);
        let cuts = Cuts { keep: None, without: BTreeSet::from([Feature::Ddl, Feature::Faults]) };
        assert_eq!(cuts.command(), " --without faults,ddl");
        assert_eq!(Cuts::parse_without("faults,ddl"), Some(cuts.without));
    }
}
