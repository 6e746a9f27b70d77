//! The two files: `docs/budgets.toml` (what operations may cost now, and why) and `docs/budgets/history.toml` (what each recording counted).
//!
//! Both are TOML of a narrow form, which is all that is read here: a key, ` = `, a number or a quoted string on each line.

use super::count::Counts;

const BUDGETS_HEAD: &str = "# Instructions per operation on one thread, user space: `cargo xtask budgets --record REASON` writes this file,
# `cargo xtask budgets --check` fails past +2 %. What each is: testing/budgets/src. `window…` is what counting itself costs.
";
const HISTORY_HEAD: &str =
    "# What each recording of budgets counted, the newest last: `cargo xtask budgets --record REASON` appends to this file.
# Those of 20 and 21 November 2026 up to 91dc1b6 were taken from docs/budgets.toml as it was: budgets, not counts.
";

/// What operations may cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Budgets {
    /// What they were recorded on.
    pub commit: String,
    /// Why they are what they are.
    pub reason: String,
    /// By operation, in the order of counting.
    pub instructions: Counts,
}

impl Budgets {
    /// The file's text as budgets.
    pub fn read(text: &str) -> Budgets {
        let mut budgets = Budgets::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(" = ")) {
            match key {
                "commit" => budgets.commit = unquoted(value),
                "reason" => budgets.reason = unquoted(value),
                _ => budgets.instructions.extend(value.parse().ok().map(|n| (key.to_owned(), n))),
            }
        }
        budgets
    }

    /// The file's text.
    pub fn write(&self) -> String {
        let mut text = format!("{BUDGETS_HEAD}commit = {:?}\nreason = {:?}\n\n[instructions]\n", self.commit, self.reason);
        self.instructions.iter().for_each(|(name, n)| text.push_str(&format!("{name} = {n:.1}\n")));
        text
    }

    /// An operation's budget.
    pub fn of(&self, name: &str) -> Option<f64> {
        self.instructions.iter().find(|(n, _)| n == name).map(|(_, budget)| *budget)
    }
}

/// What was counted once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    /// What it was counted on.
    pub commit: String,
    /// The day.
    pub date: String,
    /// Why budgets were recorded.
    pub reason: String,
    /// By operation.
    pub instructions: Counts,
}

impl Recording {
    /// An operation's count.
    pub fn of(&self, name: &str) -> Option<f64> {
        self.instructions.iter().find(|(n, _)| n == name).map(|(_, count)| *count)
    }
}

/// All recordings, the newest last.
#[derive(Debug, Default, PartialEq)]
pub struct History {
    /// They.
    pub recordings: Vec<Recording>,
}

impl History {
    /// The file's text as a history.
    pub fn read(text: &str) -> History {
        let mut recordings: Vec<Recording> = Vec::new();
        for line in text.lines() {
            if line == "[[recording]]" {
                recordings.push(Recording::default());
            } else if let (Some((key, value)), Some(last)) = (line.split_once(" = "), recordings.last_mut()) {
                match key {
                    "commit" => last.commit = unquoted(value),
                    "date" => last.date = unquoted(value),
                    "reason" => last.reason = unquoted(value),
                    _ => last.instructions.extend(value.parse().ok().map(|n| (key.to_owned(), n))),
                }
            }
        }
        History { recordings }
    }

    /// The file's text.
    pub fn write(&self) -> String {
        let mut text = HISTORY_HEAD.to_owned();
        for recording in &self.recordings {
            let Recording { commit, date, reason, instructions } = recording;
            text.push_str(&format!(
                "\n[[recording]]\ncommit = {commit:?}\ndate = {date:?}\nreason = {reason:?}\n\n[recording.instructions]\n"
            ));
            instructions.iter().for_each(|(name, n)| text.push_str(&format!("{name} = {n:.1}\n")));
        }
        text
    }

    /// All operations of all recordings, in the order of the newest that has them.
    pub fn operations(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for recording in self.recordings.iter().rev() {
            for (name, _) in &recording.instructions {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        names
    }
}

/// What a quoted string says.
fn unquoted(value: &str) -> String {
    let inside = value.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    inside.replace("\\\"", "\"").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let instructions = vec![("a_b".to_owned(), 12.5), ("c".to_owned(), 3000.0)];
        let budgets = Budgets { commit: "abc".into(), reason: "say \"why\" = so".into(), instructions: instructions.clone() };
        assert_eq!(Budgets::read(&budgets.write()), budgets);
        assert_eq!((budgets.of("c"), budgets.of("d")), (Some(3000.0), None));
        let one = Recording { commit: "abc".into(), date: "2026-11-21".into(), reason: "first".into(), instructions };
        let other = Recording { reason: "then".into(), instructions: vec![("d".into(), 1.0), ("c".into(), 2.0)], ..one.clone() };
        let history = History { recordings: vec![one, other] };
        assert_eq!(History::read(&history.write()), history);
        assert_eq!(history.operations(), ["d", "c", "a_b"]);
    }
}
