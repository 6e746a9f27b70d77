//! Random definitions and changes, with kills between them, leave what a list of rows in memory says. Hours of it: `cargo xtask model --minutes M --seed S`.

use harness::{Server, Target};
use table_model::survey;

#[test]
fn definitions_and_changes_leave_what_the_model_says() {
    let mut target = Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]));
    let (mut done, mut refused) = (0, std::collections::BTreeSet::new());
    for seed in 1..=8 {
        let counts = survey(&mut target, seed, 300).unwrap_or_else(|what| panic!("{what}"));
        done += counts.done;
        refused.extend(counts.refused.into_keys());
    }
    // A generator of which most statements are errors would check little, and one without any error not all.
    assert!(done > 1_500, "{done} statements were done");
    let due = [1048, 1050, 1051, 1060, 1062, 1091, 1146, 1452, 3105, 3819];
    assert!(due.iter().all(|code| refused.contains(code)), "{refused:?}");
}
