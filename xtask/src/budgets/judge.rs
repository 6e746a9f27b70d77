//! What is wrong: an operation above its budget or without one, budgets that changed without a reason, a recording that is not in the history.

use super::count::Counts;
use super::record::{Budgets, History};

/// An operation may take so much more than its budget; what takes so much less gets a lower one at the next recording.
const EXCESS_MAX: f64 = 0.02;

/// What takes so much more is named before it fails: another machine's processor counts a little otherwise.
const EDGE: f64 = 0.015;

/// How a count stands to its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Within it, or close above.
    Fits,
    /// Not above the bound, and so near that a little more will be.
    Near,
    /// Above the bound.
    Above,
}

/// How this count stands.
pub fn standing(now: f64, budget: f64) -> Standing {
    match now {
        now if exceeds(now, budget) => Standing::Above,
        now if now > budget * (1.0 + EDGE) => Standing::Near,
        _ => Standing::Fits,
    }
}

/// Whether this is above the bound.
fn exceeds(now: f64, budget: f64) -> bool {
    now > budget * (1.0 + EXCESS_MAX)
}

/// Whether the budget is still the right one for this count.
fn fits(now: f64, budget: f64) -> bool {
    !exceeds(now, budget) && now >= budget * (1.0 - EXCESS_MAX)
}

/// What was counted against what it may be.
pub fn counts(counts: &Counts, budgets: &Budgets) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, now) in counts {
        match budgets.of(name) {
            None => wrong.push(format!("{name} has no budget: cargo xtask budgets --record REASON")),
            Some(budget) if exceeds(*now, budget) => {
                let above = 100.0 * (now / budget - 1.0);
                wrong.push(format!(
                    "{name} takes {now:.1} instructions, {above:.1} % above its budget of {budget:.1}: make it cheaper, or say in this commit \
                     why it must cost more: cargo xtask budgets --record REASON"
                ));
            }
            Some(_) => {}
        }
    }
    let missing = budgets.instructions.iter().filter(|(name, _)| !counts.iter().any(|(counted, _)| counted == name));
    wrong.extend(missing.map(|(name, _)| format!("{name} has a budget and was not counted")));
    wrong
}

/// Budgets before and after a change: where one differs, the reason must.
pub fn change(before_is: &str, before: &Budgets, after: &Budgets) -> Vec<String> {
    if before.reason != after.reason || before.instructions.is_empty() {
        return Vec::new();
    }
    let same = |(name, budget): &&(String, f64)| before.of(name) == Some(*budget);
    let mut changed: Vec<&str> = after.instructions.iter().filter(|entry| !same(entry)).map(|(name, _)| name.as_str()).collect();
    changed.extend(before.instructions.iter().filter(|(name, _)| after.of(name).is_none()).map(|(name, _)| name.as_str()));
    if changed.is_empty() {
        return Vec::new();
    }
    vec![format!("budgets differ from those of {before_is} and the reason does not: {}", changed.join(", "))]
}

/// The newest recording must be that of the budgets.
pub fn history(budgets: &Budgets, history: &History) -> Vec<String> {
    let Some(last) = history.recordings.last() else {
        return vec!["the history of budgets is empty".to_owned()];
    };
    if last.reason != budgets.reason {
        return vec![format!("the newest recording of the history has another reason than the budgets: {:?}", last.reason)];
    }
    let unlike = |(name, budget): &&(String, f64)| last.of(name).is_none_or(|count| !fits(count, *budget));
    let names: Vec<&str> = budgets.instructions.iter().filter(unlike).map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    vec![format!("budgets are not those of the newest recording of the history (--record writes both): {}", names.join(", "))]
}

/// The budgets after a recording: those whose operation is within its bounds stay.
pub fn recorded(before: &Budgets, counts: &Counts, reason: &str, commit: &str) -> Budgets {
    let budget = |name: &str, now: f64| before.of(name).filter(|budget| fits(now, *budget)).unwrap_or(now);
    let instructions = counts.iter().map(|(name, now)| (name.clone(), budget(name, *now))).collect();
    Budgets { commit: commit.to_owned(), reason: reason.to_owned(), instructions }
}

#[cfg(test)]
mod tests {
    use super::super::record::Recording;
    use super::*;

    fn of(list: &[(&str, f64)]) -> Counts {
        list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
    }

    fn budgets(reason: &str, list: &[(&str, f64)]) -> Budgets {
        Budgets { commit: String::new(), reason: reason.to_owned(), instructions: of(list) }
    }

    #[test]
    fn two_percent_more_is_within_the_budget_and_more_is_not() {
        assert!(!exceeds(102.0, 100.0));
        assert!(exceeds(102.1, 100.0));
        assert!(!exceeds(50.0, 100.0));
        let standings = [50.0, 101.4, 101.6, 102.0, 102.1].map(|now| standing(now, 100.0));
        assert_eq!(standings, [Standing::Fits, Standing::Fits, Standing::Near, Standing::Near, Standing::Above]);
    }

    #[test]
    fn a_slower_operation_a_new_one_and_a_lost_one_are_named() {
        let budgets = budgets("", &[("a", 100.0), ("b", 100.0), ("c", 100.0)]);
        assert_eq!(counts(&of(&[("a", 102.0), ("b", 40.0), ("c", 100.0)]), &budgets), Vec::<String>::new());
        let wrong = counts(&of(&[("a", 102.5), ("b", 100.0), ("d", 1.0)]), &budgets);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].starts_with("a takes 102.5 instructions, 2.5 % above its budget of 100.0"), "{wrong:?}");
        assert!(wrong[1].starts_with("d has no budget") && wrong[2].starts_with("c has a budget"), "{wrong:?}");
    }

    #[test]
    fn budgets_change_only_with_their_reason() {
        let before = budgets("why", &[("a", 100.0), ("b", 100.0)]);
        assert!(change("HEAD", &before, &before).is_empty());
        for after in
            [&[("a", 110.0), ("b", 100.0)][..], &[("a", 90.0), ("b", 100.0)], &[("a", 100.0)], &[("a", 100.0), ("b", 100.0), ("c", 1.0)]]
        {
            let wrong = change("HEAD", &before, &budgets("why", after));
            assert_eq!(wrong.len(), 1, "{after:?}");
            assert!(wrong[0].starts_with("budgets differ from those of HEAD and the reason does not: "), "{wrong:?}");
            assert!(change("HEAD", &before, &budgets("another", after)).is_empty(), "{after:?}");
        }
        // The commit that begins the file.
        assert!(change("HEAD", &Budgets::default(), &budgets("", &[("a", 1.0)])).is_empty());
    }

    #[test]
    fn the_history_has_what_was_recorded() {
        let now = budgets("why", &[("a", 100.0)]);
        let with = |reason: &str, n| {
            let instructions = of(&[("a", n), ("b", 1.0)]);
            History { recordings: vec![Recording { reason: reason.to_owned(), instructions, ..Recording::default() }] }
        };
        assert!(history(&now, &with("why", 101.0)).is_empty());
        assert_eq!(history(&now, &with("why", 110.0)).len(), 1);
        assert_eq!(history(&now, &with("another", 100.0)).len(), 1);
        assert_eq!(history(&now, &History::default()).len(), 1);
        assert_eq!(history(&budgets("why", &[("a", 100.0), ("c", 1.0)]), &with("why", 100.0)).len(), 1);
    }

    #[test]
    fn a_recording_leaves_budgets_that_fit() {
        let before = budgets("old", &[("near", 100.0), ("slower", 100.0), ("faster", 100.0), ("gone", 1.0)]);
        let after = recorded(&before, &of(&[("near", 101.9), ("slower", 103.0), ("faster", 97.0), ("new", 5.0)]), "why", "abc");
        assert_eq!(after.instructions, of(&[("near", 100.0), ("slower", 103.0), ("faster", 97.0), ("new", 5.0)]));
        assert_eq!((after.reason.as_str(), after.commit.as_str()), ("why", "abc"));
    }
}
