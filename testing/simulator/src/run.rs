//! One seed from an empty disk to the last check.

use crate::options::Faults;
use crate::planted::Plant;
use crate::world::{Result, Stop, World};
use std::collections::BTreeMap;

/// Recoveries that a crash may interrupt in a row.
const NESTED_CRASHES_MAX: usize = 6;

/// A run that found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Hash of everything that happened: the same seed gives the same.
    pub trace: u64,
    /// How often things happened.
    pub counts: BTreeMap<&'static str, u64>,
}

/// A run that found something.
#[derive(Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The planted bug, if any.
    pub plant: Option<Plant>,
    /// What was found.
    pub what: String,
    /// The last steps before it.
    pub steps: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {} failed; replay: {}", self.seed, replay_command(self.seed, self.plant))?;
        write!(f, "{}{}", self.steps, self.what)
    }
}

/// The command that repeats a run.
pub fn replay_command(seed: u64, plant: Option<Plant>) -> String {
    let plant = plant.map_or(String::new(), |plant| format!(" --plant {}", plant.name()));
    format!("cargo xtask sim --seed {seed}{plant}")
}

/// Runs one seed. With `aloud` every step is printed.
pub fn run(seed: u64, plant: Option<Plant>, aloud: bool) -> std::result::Result<Report, Box<Failure>> {
    let mut world = World::new(seed, plant, aloud);
    match world.lives() {
        Ok(()) => Ok(Report { trace: world.trace.hash(), counts: world.counts }),
        Err(stop) => {
            let failure = Failure { seed, plant, what: format!("{stop:?}"), steps: world.trace.tail() };
            // A disk that is dead cannot be hurt by what the sessions do as they are dropped.
            world.bring_down(true);
            Err(Box::new(failure))
        }
    }
}

impl World {
    fn lives(&mut self) -> Result<()> {
        for _ in 0..self.options.lives {
            self.recover()?;
            let scale = *self.random.one_of(&[10, 60, 300, 1000]);
            if self.random.percent(85) {
                let at = 1 + self.random.below(scale) as u64;
                self.disk.crash_at(at);
                self.trace.line(format!("crash planned at change {at}"));
            }
            let worked = self.work();
            self.end_life(worked)?;
        }
        self.recover()?;
        self.options.faults = Faults::None;
        let worked = self.work().and_then(|()| self.close());
        let clean = worked.is_ok();
        self.end_life(worked)?;
        if clean {
            self.recover()?;
            self.check_contents()?;
        }
        Ok(())
    }

    fn end_life(&mut self, worked: Result<()>) -> Result<()> {
        let power_loss = match worked {
            Ok(()) => self.random.percent(70) || self.options.faults == Faults::Syncs,
            Err(Stop::Crash) => true,
            Err(Stop::Restart(why)) => {
                self.trace.line(format!("restart: {why}"));
                self.check_refusal()?;
                // After a failed sync what the kernel shows and what the device holds differ; only the device counts.
                self.random.percent(50) || self.options.faults == Faults::Syncs
            }
            Err(violation) => return Err(violation),
        };
        self.bring_down(power_loss);
        Ok(())
    }

    /// Opens the engine, perhaps through several crashes during recovery.
    fn recover(&mut self) -> Result<()> {
        for _ in 0..NESTED_CRASHES_MAX {
            if self.random.percent(35) {
                let at = 1 + self.random.below(40) as u64;
                self.disk.crash_at(at);
                self.trace.line(format!("crash planned at change {at} of recovery"));
            }
            match self.open() {
                Ok(()) => return Ok(()),
                Err(Stop::Violation(what)) => return Err(Stop::Violation(what)),
                Err(Stop::Crash) => {
                    self.count("crashes in recovery");
                    self.bring_down(true);
                }
                Err(Stop::Restart(why)) => {
                    self.trace.line(format!("restart: {why}"));
                    self.bring_down(self.options.faults == Faults::Syncs);
                }
            }
        }
        // Once more, in peace.
        match self.open() {
            Ok(()) => Ok(()),
            Err(stop) => Err(Stop::Violation(format!("recovery in peace: {stop:?}"))),
        }
    }
}
