//! Comparisons of made-up servers: order, ratios, servers that fail.

use super::*;
use crate::random::Random;
use crate::report::samples;
use std::cell::RefCell;
use std::rc::Rc;

/// A machine whose speed drifts by half, and what its servers do on it.
#[derive(Default)]
pub(super) struct Machine {
    /// Seconds that have passed.
    clock: f64,
    /// Which server had a slice, in order, and how long.
    turns: Vec<(usize, f64)>,
    open: usize,
}

pub(super) struct Made {
    machine: Rc<RefCell<Machine>>,
    server: usize,
    connections: usize,
    rate: f64,
    fails_at: Option<usize>,
    random: Random,
}

impl Slices for Made {
    fn slice(&mut self, seconds: f64) -> Result<Outcome, String> {
        let mut machine = self.machine.borrow_mut();
        machine.clock += seconds;
        machine.turns.push((self.server, seconds));
        let mine = machine.turns.iter().filter(|(server, _)| *server == self.server).count();
        if self.fails_at == Some(mine) {
            return Err("the server closed the connection".to_owned());
        }
        let drift = 1.0 + 0.5 * (machine.clock / 12.0).sin();
        let noise = 1.0 + 0.04 * (self.random.unit() - 0.5);
        let mut outcome = samples::outcome("127.0.0.1:1", "tpcc", self.connections, (self.rate * drift * noise).max(1.0));
        outcome.seconds = 10.0;
        Ok(outcome)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.machine.borrow_mut().open -= 1;
    }
}

/// A load that stands open and does not fail.
pub(super) fn made(machine: &Rc<RefCell<Machine>>, server: usize, connections: usize, rate: f64, seed: u64) -> Made {
    machine.borrow_mut().open += 1;
    Made { machine: Rc::clone(machine), server, connections, rate, fails_at: None, random: Random::new(seed + server as u64) }
}

/// Servers with these rates; the one that fails, at which of its slices.
fn run(rates: &[f64], counts: &[usize], pace: &Pace, fails: Option<(usize, usize)>, seed: u64) -> (Measured, Vec<(usize, f64)>) {
    let machine = Rc::new(RefCell::new(Machine::default()));
    let names: Vec<String> = ["A", "B", "C"][..rates.len()].iter().map(|n| (*n).to_owned()).collect();
    let mut open = |server: usize, connections: usize| -> Result<Box<dyn Slices>, String> {
        if fails == Some((server, 0)) {
            return Err("Too many connections".to_owned());
        }
        let fails_at = fails.and_then(|(failing, at)| (failing == server).then_some(at));
        let mut load = made(&machine, server, connections, rates[server], seed);
        load.fails_at = fails_at;
        Ok(Box::new(load))
    };
    let measured = measure("tpcc", &names, counts, pace, &mut open, &mut |_| {});
    assert_eq!(machine.borrow().open, 0, "connections are closed before those of another number are opened");
    let turns = std::mem::take(&mut machine.borrow_mut().turns);
    (measured, turns)
}

fn pace(rounds: usize) -> Pace {
    Pace { rounds, slice_seconds: 4.0, before_seconds: 0.0, warmup_seconds: 1.0 }
}

#[test]
fn turns_change_and_are_of_the_same_length() {
    let (_, turns) = run(&[10.0, 20.0, 30.0], &[16], &pace(4), None, 1);
    let servers: Vec<usize> = turns.iter().map(|(server, _)| *server).collect();
    assert_eq!(servers, [0, 1, 2, /* rounds */ 0, 1, 2, 1, 2, 0, 2, 0, 1, 2, 1, 0]);
    assert!(turns[..3].iter().all(|(_, s)| *s == 1.0) && turns[3..].iter().all(|(_, s)| *s == 4.0));
}

#[test]
fn each_load_has_each_place_and_follows_each_other_equally_often() {
    for loads in 1..=9 {
        let rounds = if loads % 2 == 0 { loads } else { 2 * loads };
        let orders: Vec<Vec<usize>> = (0..rounds).map(|round| in_round(loads, round).collect()).collect();
        for load in 0..loads {
            for place in 0..loads {
                assert_eq!(orders.iter().filter(|order| order[place] == load).count(), rounds / loads, "{orders:?}");
            }
            for other in (0..loads).filter(|other| *other != load) {
                let follows = orders.iter().filter(|order| order.windows(2).any(|pair| pair == [other, load])).count();
                assert_eq!(follows, rounds / loads, "{load} behind {other}: {orders:?}");
            }
        }
    }
}

#[test]
fn the_ratio_is_found_although_the_machine_drifts() {
    let seed = 3;
    println!("seed {seed}");
    let (measured, _) = run(&[40.0, 100.0], &[1, 16], &pace(10), None, seed);
    assert_eq!((measured.outcomes.len(), measured.comparisons.len()), (4, 2));
    for comparison in &measured.comparisons {
        let ratio = comparison.ratio(1).unwrap();
        let (low, high) = ratio.interval.unwrap();
        assert!(low < 2.5 && 2.5 < high && high / low < 1.3, "{ratio:?}");
        // The slices themselves are much farther apart.
        let rates: Vec<f64> = comparison.rounds.iter().map(|round| round[0].unwrap().rate()).collect();
        let (low, high) = crate::statistics::range(&rates).unwrap();
        assert!(high / low > 1.5, "{rates:?}");
        assert!(comparison.cpu_ratio(1).is_some());
        assert!((comparison.ratio(0).unwrap().mean - 1.0).abs() < 1e-12);
    }
    let text = table(&measured).text();
    assert!(text.contains("x A (95 %)") && text.contains("–"), "{text}");
    assert_eq!(text.lines().count(), 5);
}

#[test]
fn who_fails_is_left_out_and_named() {
    let (measured, turns) = run(&[10.0, 20.0], &[16], &pace(4), Some((1, 3)), 1);
    assert_eq!(measured.notes, ["B, 16 connections: the server closed the connection"]);
    let pairs = measured.comparisons[0].ratio(1).unwrap().pairs;
    assert_eq!((pairs, turns.len()), (1, 8));
    assert_eq!(measured.comparisons[0].rounds.iter().filter(|round| round[0].is_some()).count(), 4, "the other goes on");

    let (measured, _) = run(&[10.0, 20.0], &[1024], &pace(2), Some((1, 0)), 1);
    assert_eq!(measured.notes, ["B, 1024 connections: Too many connections"]);
    assert_eq!((measured.outcomes.len(), measured.comparisons[0].ratio(1)), (1, None));
    assert!(table(&measured).text().contains("B"), "it has its line");
}

#[test]
fn how_long_it_takes() {
    assert_eq!(pace(5).seconds(2 * 2), 84.0);
    assert_eq!(Pace { before_seconds: 0.5, ..pace(5) }.seconds(1), 23.5);
}
