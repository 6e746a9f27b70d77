//! What the model-checking tests share: bugs planted in the product's sources, and schedules under shuttle.
//!
//! A test compiles sources of the product a second time over a small `platform` module. Those sources ask `platform::planted(bug)`, which is
//! constant in the product and [`planted`] here; a model is trusted only after each bug made it fail.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

// Shuttle and loom run all threads of a schedule on the OS thread of the test.
std::thread_local! {
    static PLANTED: Cell<&'static str> = const { Cell::new("") };
}

/// Whether this bug is switched on.
pub fn planted(bug: &str) -> bool {
    PLANTED.get() == bug
}

/// Runs with a bug switched on and returns what the model said when it failed.
///
/// # Panics
/// When the model did not fail, or said none of `complaints` (an empty list accepts all).
pub fn must_find(bug: &'static str, complaints: &[&str], model: impl FnOnce()) {
    PLANTED.set(bug);
    let found = catch_unwind(AssertUnwindSafe(model));
    PLANTED.set("");
    let Err(panic) = found else { panic!("the planted bug {bug} was not found") };
    let text = said(&*panic);
    assert!(complaints.is_empty() || complaints.iter().any(|complaint| text.contains(complaint)), "{bug} was found by {text:?}");
}

fn said(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap_or("")
}

/// How many schedules a test tries.
#[derive(Debug, Clone, Copy)]
pub struct Schedules {
    /// Half of them random, half by priorities with few changes, which finds what needs a long stall.
    pub count: usize,
    /// Environment variable that names another count.
    pub variable: &'static str,
}

impl Schedules {
    /// Runs the model under all schedules. The seed is printed and fixed, so that a run can be repeated; `SCHEDULE_SEED` chooses another.
    pub fn explore(self, model: impl Fn() + Send + Sync + Copy + 'static) {
        let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
        let seed = number("SCHEDULE_SEED").unwrap_or(20_261_120);
        let half = number(self.variable).map_or(self.count, |n| n as usize).div_ceil(2);
        println!("SCHEDULE_SEED={seed}");
        let config = || {
            let mut config = shuttle::Config::new();
            config.silence_warnings = true;
            config
        };
        shuttle::Runner::new(RandomScheduler::new_from_seed(seed, half), config()).run(model);
        for depth in [2, 3] {
            shuttle::Runner::new(PctScheduler::new_from_seed(seed, depth, half.div_ceil(2)), config()).run(model);
        }
    }

    /// The model holds as it is, and fails with each of these bugs.
    pub fn check(self, model: impl Fn() + Send + Sync + Copy + 'static, bugs: &[&'static str]) {
        self.explore(model);
        bugs.iter().for_each(|bug| must_find(bug, &[], || self.explore(model)));
    }
}
