//! How many slots: found by measuring.
//!
//! The controller tries another number for a short while, comes back, tries again, and compares. Times of the two alternate (A B B A A B B A …), so that a
//! load that grows or falls meanwhile counts for both alike. It moves when the difference stands far out of the noise, and asks the same of both directions:
//! on a plain it stays where it is, and noise carries it neither down, where throughput ends, nor up, where every transaction works with cold caches.
//! (With less asked of a step up it drifted from 32 slots to 700 in a minute, and TPC-C over 2,000 connections lost a quarter of its rate.)
//! After each decision it tries the other direction, or goes on in the one that paid; where neither pays it rests for longer and
//! longer, until the throughput changes.
//!
//! *More slots are tried only while processors are idle.* More transactions at work keep processors busy that wait for disks, locks or clients; busy ones they only make change between more of
//! them, with colder caches. (Tried nevertheless, on two busy processors, twice as many slots let so many threads run that even what came back to the old number was measured in their aftermath: trials
//! went on for seconds at half the rate, and noise took some for a success.) So what is lost by too few slots shows as idle time, and leads upwards from anywhere.
//!
//! It is a pure function of its samples.

/// What was measured between two calls.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Transactions that ended.
    pub completed: u64,
    /// How long it took.
    pub micros: u64,
    /// Somebody was waiting for a slot nearly all the time. Otherwise their number did not matter, and the sample says nothing, unless more slots were being
    /// tried: that nobody waits there is no reason not to ask what they bring.
    pub binding: bool,
    /// The share of processor time that was idle.
    pub spare: f64,
}

/// Pairs of measurements after which a trial that shows nothing is given up.
const PAIRS_MAX: usize = 16;
/// Pairs before which nothing is decided.
const PAIRS_MIN: usize = 4;
/// The least gain that counts.
const GAIN_MIN: f64 = 0.01;
/// No difference is measured better than this.
const NOISE: f64 = 0.01;
const STEP_MIN: f64 = 1.4;
const STEP_MAX: f64 = 2.0;
/// More slots are tried while so much of the processors' time is idle. (Less than [`env::IdleTime::SPARE`], below which what stands still is taken for waiting its turn: what a trial brings is measured. At a
/// tenth 16 slots stayed on two fast processors of which 6 to 11 % were idle: 48 did a fifth more at 64 connections, an eighth more at 128.)
const SPARE_MIN: f64 = 0.04;
/// Samples of rest after a fruitless trial in both directions: doubled each time.
const REST_MIN: u32 = 10;
const REST_MAX: u32 = 160;
/// A loss that ends a trial early, if two pairs and all until then have shown it.
const LOSS: f64 = 0.2;
/// A change of throughput that ends a rest.
const CHANGE: f64 = 0.15;
/// Weight of a sample in the running mean that is compared with the one at the beginning of the rest.
const SMOOTHING: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// A trial under way.
#[derive(Debug)]
struct Trial {
    direction: Direction,
    limit: u32,
    /// Steps taken: each is a sample to settle and one that counts, at one of the two limits.
    leg: usize,
    settled: bool,
    /// Rates of the pair that is being measured: at the base, and at the other limit.
    base: Option<f64>,
    other: Option<f64>,
    /// Relative gains of the pairs.
    gains: Vec<f64>,
}

/// Chooses the number of slots.
#[derive(Debug)]
pub struct Controller {
    min: u32,
    max: u32,
    /// The number that is the best known.
    base: u32,
    step: f64,
    trial: Option<Trial>,
    /// Samples until the next trial.
    rest: u32,
    rest_next: u32,
    /// Rate when the rest began, and now; running means.
    rest_rate: Option<(f64, f64)>,
    next: Direction,
    /// Idle time at the best known number, a running mean.
    spare: Option<f64>,
    /// Trials that failed one after the other.
    failures: u32,
    raised: u64,
    lowered: u64,
}

impl Controller {
    /// Between `min` and `max`, at first `start`.
    pub fn new(min: u32, max: u32, start: u32) -> Controller {
        assert!(0 < min && min <= max, "{min} to {max} slots");
        Controller {
            min,
            max,
            base: start.clamp(min, max),
            step: STEP_MAX,
            trial: None,
            rest: 0,
            rest_next: REST_MIN,
            rest_rate: None,
            next: Direction::Up,
            spare: None,
            failures: 0,
            raised: 0,
            lowered: 0,
        }
    }

    /// The number to use now.
    pub fn limit(&self) -> u32 {
        match &self.trial {
            Some(trial) if trial.is_at_other() => trial.limit,
            _ => self.base,
        }
    }

    /// Whether more slots than the best known number are in force, to be measured.
    pub fn tries_more(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| trial.direction == Direction::Up && trial.is_at_other())
    }

    /// How often it has moved up and down.
    pub fn decisions(&self) -> (u64, u64) {
        (self.raised, self.lowered)
    }

    /// Takes a measurement made under [`Controller::limit`].
    pub fn sample(&mut self, sample: Sample) {
        if sample.micros == 0 || !sample.binding && !self.tries_more() {
            // What was measured so far belongs to a load that is over.
            self.trial = None;
            return;
        }
        let rate = sample.completed as f64 / sample.micros as f64;
        if !self.tries_more() {
            let spare = self.spare.get_or_insert(sample.spare);
            *spare += 2.0 * SMOOTHING * (sample.spare - *spare);
            if self.is_busy() && self.trial.as_ref().is_some_and(|trial| trial.direction == Direction::Up) {
                // It began while the load did.
                self.trial = None;
                return;
            }
        }
        if self.rest > 0 {
            let (before, now) = self.rest_rate.get_or_insert((rate, rate));
            *now += SMOOTHING * (rate - *now);
            // The mean at the beginning settles in the first samples; a single one is mostly noise.
            *before += (SMOOTHING / 4.0) * (rate - *before);
            self.rest -= 1;
            if (*now - *before).abs() <= CHANGE * *before {
                return;
            }
            // Another load: what was learnt is void.
            self.rest = 0;
            self.rest_next = REST_MIN;
        }
        let Some(trial) = &mut self.trial else {
            self.begin_trial();
            return;
        };
        if !trial.take(rate) {
            return;
        }
        let lost = trial.gains.len() >= 2 && trial.gains.iter().all(|gain| *gain < -LOSS);
        if trial.gains.len() < PAIRS_MIN && !lost {
            return;
        }
        let (mean, error) = trial.gain();
        // Nothing at all is completed at either limit: no gain can be told.
        let (direction, limit) = (trial.direction, trial.limit);
        // The error of few pairs is itself uncertain, and it is looked at after each of them: early decisions need a larger difference.
        let pairs = trial.gains.len() as f64;
        let pays = mean > GAIN_MIN && mean > 2.5 * (1.0 + 3.0 / pairs) * error;
        let harms = lost || mean < -2.0 * error;
        if pays {
            match direction {
                Direction::Up => self.raised += 1,
                Direction::Down => self.lowered += 1,
            }
            self.base = limit;
            self.step = STEP_MAX;
            self.failures = 0;
            self.rest_next = REST_MIN;
            self.trial = None;
            self.begin_trial();
        } else if harms || trial.gains.len() >= PAIRS_MAX {
            self.trial = None;
            self.failed(direction);
        }
    }

    fn failed(&mut self, direction: Direction) {
        self.failures += 1;
        self.step = (self.step / 1.25).max(STEP_MIN);
        self.next = match direction {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        };
        if self.failures >= 2 {
            self.failures = 0;
            self.rest = self.rest_next;
            self.rest_next = (self.rest_next * 2).min(REST_MAX);
            self.rest_rate = None;
        } else {
            self.begin_trial();
        }
    }

    /// Hardly any processor time was idle at the best known number of late.
    fn is_busy(&self) -> bool {
        self.spare.is_some_and(|spare| spare < SPARE_MIN)
    }

    fn begin_trial(&mut self) {
        if self.is_busy() {
            self.next = Direction::Down;
            if self.base == self.min {
                return;
            }
        }
        for _ in 0..2 {
            let base = f64::from(self.base);
            let limit = match self.next {
                Direction::Up => ((base * self.step).ceil() as u32).max(self.base + 1).min(self.max),
                Direction::Down => ((base / self.step).floor() as u32).min(self.base.saturating_sub(1)).max(self.min),
            };
            if limit != self.base {
                self.trial =
                    Some(Trial { direction: self.next, limit, leg: 0, settled: false, base: None, other: None, gains: Vec::new() });
                return;
            }
            self.next = if self.next == Direction::Up { Direction::Down } else { Direction::Up };
        }
    }
}

impl Trial {
    /// Whether this leg is measured at the other limit: A B B A A B B A ….
    fn is_at_other(&self) -> bool {
        self.leg % 4 == 1 || self.leg % 4 == 2
    }

    /// Takes a rate; true when a pair is complete.
    fn take(&mut self, rate: f64) -> bool {
        // Legs that follow one at the same limit have nothing to settle.
        let same_as_before = self.leg.is_multiple_of(2);
        if !self.settled && !same_as_before {
            self.settled = true;
            return false;
        }
        self.settled = false;
        if self.is_at_other() {
            self.other = Some(rate)
        } else {
            self.base = Some(rate)
        }
        self.leg += 1;
        let (Some(base), Some(other)) = (self.base, self.other) else { return false };
        self.base = None;
        self.other = None;
        // Symmetrical, so that noise has no direction.
        let gain = if base + other > 0.0 { 2.0 * (other - base) / (base + other) } else { 0.0 };
        self.gains.push(gain);
        true
    }

    /// Mean gain and its standard error.
    fn gain(&self) -> (f64, f64) {
        let count = self.gains.len() as f64;
        let mean = self.gains.iter().sum::<f64>() / count;
        let variance = self.gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        (mean, variance.sqrt().max(NOISE) / count.sqrt())
    }
}

#[cfg(test)]
mod tests;
