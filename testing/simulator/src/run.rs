//! One seed from an empty disk to the last check.

use crate::cuts::Cuts;
use crate::options::Faults;
use crate::planted::Plant;
use crate::random::{Purpose, Random};
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
    /// What was left out.
    pub cuts: Cuts,
    /// The steps that were taken.
    pub steps_taken: Vec<u32>,
    /// What was found.
    pub what: String,
    /// The last steps before it.
    pub steps: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {} failed; replay: {}", self.seed, replay_command(self.seed, self.plant, &self.cuts))?;
        write!(f, "{}{}", self.steps, self.what)
    }
}

/// The command that repeats a run.
pub fn replay_command(seed: u64, plant: Option<Plant>, cuts: &Cuts) -> String {
    let plant = plant.map_or(String::new(), |plant| format!(" --plant {}", plant.name()));
    format!("cargo xtask sim --seed {seed}{plant}{}", cuts.command())
}

/// Runs one seed. With `aloud` every step is printed.
pub fn run(seed: u64, plant: Option<Plant>, aloud: bool) -> std::result::Result<Report, Box<Failure>> {
    run_cut(seed, plant, aloud, &Cuts::default())
}

/// Runs one seed without what `cuts` says.
pub fn run_cut(seed: u64, plant: Option<Plant>, aloud: bool, cuts: &Cuts) -> std::result::Result<Report, Box<Failure>> {
    let mut world = World::new(seed, plant, aloud, cuts);
    match world.lives() {
        Ok(()) => Ok(Report { trace: world.trace.hash(), counts: world.counts }),
        Err(stop) => {
            let steps_taken = std::mem::take(&mut world.steps_taken);
            let failure = Failure { seed, plant, cuts: cuts.clone(), steps_taken, what: format!("{stop:?}"), steps: world.trace.tail() };
            // A disk that is dead cannot be hurt by what the sessions do as they are dropped.
            world.bring_down(true);
            Err(Box::new(failure))
        }
    }
}

/// How a life has ended.
#[derive(PartialEq, Eq)]
enum Ended {
    /// Another one follows.
    GoesOn,
    /// The medium stays damaged: no more can be asked of it.
    Judged,
}

impl World {
    fn lives(&mut self) -> Result<()> {
        for no in 0..self.options.lives {
            self.random = Random::new(self.seed, Purpose::Life(no as u32));
            self.recover()?;
            let worked = self.work();
            if self.end_life(worked)? == Ended::Judged {
                return Ok(());
            }
        }
        self.random = Random::new(self.seed, Purpose::Life(self.options.lives as u32));
        self.recover()?;
        self.options.faults = Faults::None;
        self.is_last_life = true;
        let worked = self.work().and_then(|()| self.close());
        let clean = worked.is_ok();
        self.end_life(worked)?;
        if clean {
            self.recover()?;
            self.check_contents()?;
        }
        Ok(())
    }

    fn end_life(&mut self, worked: Result<()>) -> Result<Ended> {
        self.random = Random::new(self.seed, Purpose::End(self.end_no));
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
        if self.damage.is_some() && self.random.percent(25) {
            return self.judge_damaged().map(|()| Ended::Judged);
        }
        self.heal();
        if self.options.faults == Faults::Damage && self.random.percent(40) {
            self.damage_at_rest()?;
        }
        self.spoil_list()?;
        Ok(Ended::GoesOn)
    }

    /// Opens the engine, perhaps through several crashes during recovery.
    fn recover(&mut self) -> Result<()> {
        for _ in 0..NESTED_CRASHES_MAX {
            if self.options.nested && self.random.percent(35) {
                let at = 1 + self.random.below(40) as u64;
                self.disk.crash_at(at);
                self.trace.line(format!("crash planned at change {at} of recovery"));
            }
            if self.options.faults == Faults::Reads && self.random.percent(30) {
                self.plan_fault_of_opening();
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
                    if self.damage.is_some() {
                        self.count("damage told at the start");
                    }
                    self.bring_down(self.options.faults == Faults::Syncs);
                    self.heal();
                }
            }
        }
        self.heal();
        // Once more, in peace.
        match self.open() {
            Ok(()) => Ok(()),
            Err(stop) => Err(Stop::Violation(format!("recovery in peace: {stop:?}"))),
        }
    }
}
