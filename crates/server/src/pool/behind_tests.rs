//! [`Behind`] and the habits of those who stand there. (Not in its file: the model test compiles that over a model checker.)

use super::behind::{Behind, Habit, HasHabit, RowName};
use super::platform::Moment;
use proptest::prelude::*;
use std::collections::VecDeque;

struct Person {
    number: usize,
    habit: Habit,
}

impl HasHabit for Person {
    fn habit(&mut self) -> &mut Habit {
        &mut self.habit
    }
}

const ROW: RowName = 7;

fn person(number: usize) -> Box<Person> {
    Box::new(Person { number, habit: Habit::default() })
}

/// One that has waited for the row so often.
fn used_to_wait(number: usize, times: u32) -> Box<Person> {
    used_to_wait_for(ROW, number, times)
}

fn used_to_wait_for(row: RowName, number: usize, times: u32) -> Box<Person> {
    let (elsewhere, mut person) = (Behind::<Person>::with(1, u32::MAX), person(number));
    for _ in 0..times {
        assert!(elsewhere.waits(row, &mut person).is_none());
        assert_eq!(ends(&elsewhere, &mut person), None);
    }
    person
}

fn ends(behind: &Behind<Person>, guest: &mut Person) -> Option<usize> {
    let next = behind.is_done(guest);
    guest.habit.ends();
    next.map(|(guest, _)| guest.number)
}

fn stands(behind: &Behind<Person>, guest: Box<Person>) -> Result<(), Box<Person>> {
    behind.stand(guest, || Moment::BEGIN).map_or(Ok(()), Err)
}

/// Who has waited stands behind as many as are to be inside, and comes in for one who is done, in its turn.
#[test]
fn who_has_waited_stands_behind_and_comes_in_in_its_turn() {
    let behind = Behind::<Person>::with(2, 2);
    let mut inside = [person(0), person(1)];
    assert!(behind.waits(ROW, &mut inside[0]).is_none());
    let early = stands(&behind, used_to_wait(2, 1)).expect_err("one is inside");
    assert!(behind.waits(ROW, &mut inside[1]).is_none());
    stands(&behind, early).ok().expect("two are inside");
    stands(&behind, used_to_wait(3, 1)).ok().expect("two are inside");
    assert!(stands(&behind, person(4)).is_err(), "it has not waited for the row");
    assert!(stands(&behind, used_to_wait_for(ROW + 1, 5, 1)).is_err(), "it has waited for another row");
    assert_eq!((behind.count(), behind.stood()), (2, 2));
    assert_eq!(ends(&behind, &mut inside[0]), Some(2));
    assert_eq!(ends(&behind, &mut inside[0]), None, "it was outside");
    assert_eq!(ends(&behind, &mut inside[1]), Some(3));
    assert_eq!(behind.count(), 0);
}

/// Who reads others after each change of the row is wrongly kept once.
#[test]
fn a_wrong_guess_is_made_once() {
    let behind = Behind::<Person>::with(1, 1);
    let mut always = person(0);
    assert!(behind.waits(ROW, &mut always).is_none());
    let (mut guest, mut kept) = (person(1), 0);
    for _ in 0..10 {
        // The row: behind the one that is always there.
        assert!(behind.waits(ROW, &mut guest).is_none());
        assert_eq!(ends(&behind, &mut guest), None);
        // Another one.
        guest = match stands(&behind, guest) {
            Err(guest) => guest,
            Ok(()) => {
                kept += 1;
                let (let_in, _) = behind.is_done(&mut always).expect("it stands there");
                always.habit.ends();
                assert!(behind.waits(ROW, &mut always).is_none());
                let_in
            }
        };
        assert_eq!(ends(&behind, &mut guest), None);
    }
    assert_eq!(kept, 1);
}

/// Who finds the row free, where nobody waits, is not doubted.
#[test]
fn who_finds_the_row_free_may_want_it_again() {
    let behind = Behind::<Person>::with(1, 1);
    let mut first = person(0);
    assert!(behind.waits(ROW, &mut first).is_none());
    stands(&behind, used_to_wait(1, 3)).ok().expect("one is inside");
    let (mut let_in, _) = behind.is_done(&mut first).expect("it stands there");
    assert_eq!(ends(&behind, &mut let_in), None);
    assert_eq!(let_in.habit.guess(), Some(ROW));
    // Where others wait it would have had to.
    first.habit.ends();
    assert!(behind.waits(ROW, &mut first).is_none());
    stands(&behind, let_in).ok().expect("one is inside");
    let (mut let_in, _) = behind.is_done(&mut first).expect("it stands there");
    let mut other = person(2);
    assert!(behind.waits(ROW, &mut other).is_none());
    assert_eq!(ends(&behind, &mut let_in), None);
    assert_eq!(let_in.habit.guess(), None);
}

/// Where nobody is done with the row for a while everybody comes in, also who wants something else.
#[test]
fn who_stands_behind_a_row_that_stalls_comes_in() {
    let behind = Behind::<Person>::with(1, 1);
    let (mut first, mut second) = (person(0), person(1));
    assert!(behind.waits(ROW, &mut first).is_none() && behind.waits(ROW, &mut second).is_none());
    for number in 2..5 {
        stands(&behind, used_to_wait(number, 1)).ok().expect("others are inside");
    }
    let let_in = || {
        let mut numbers = Vec::new();
        behind.let_in_stalled(|(guest, _)| numbers.push(guest.number));
        numbers
    };
    assert_eq!(let_in(), [0; 0], "it is not known yet whether it stalls");
    assert_eq!(ends(&behind, &mut first), None, "one too many was inside");
    assert_eq!(let_in(), [0; 0], "it moves");
    assert_eq!(let_in(), [2, 3, 4]);
    assert_eq!((ends(&behind, &mut second), behind.count()), (None, 0), "who was forgotten is done all the same");
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Speaks(usize),
    Waits(usize, RowName),
    Ends(usize),
    Stall,
}

fn step() -> impl Strategy<Value = Step> {
    let guest = 0..8_usize;
    prop_oneof![
        4 => guest.clone().prop_map(Step::Speaks),
        4 => (guest.clone(), 0..2_u64).prop_map(|(guest, row)| Step::Waits(guest, row)),
        4 => guest.prop_map(Step::Ends),
        1 => Just(Step::Stall),
    ]
}

proptest! {
    /// Beside a list of who stands behind which row, and sets of who is inside: whoever comes in is the first, nobody is lost, and nobody stands behind a row in which fewer than two are inside.
    #[test]
    fn nobody_is_lost(steps in prop::collection::vec(step(), 1..200)) {
        let behind = Behind::<Person>::with(2, 2);
        let mut guests: Vec<Option<Box<Person>>> = (0..8).map(|number| Some(person(number))).collect();
        // Who is being served does not speak.
        let mut served = [false; 8];
        let mut lines: [VecDeque<usize>; 2] = Default::default();
        let mut inside: [Vec<usize>; 2] = Default::default();
        for step in steps {
            let next = match step {
                Step::Speaks(at) => {
                    let Some(guest) = guests[at].take_if(|_| !served[at]) else { continue };
                    let guess = guest.habit.guess();
                    match behind.stand(guest, || Moment::BEGIN) {
                        Some(guest) => guests[at] = Some(guest),
                        None => lines[guess.expect("a row") as usize].push_back(at),
                    }
                    None
                }
                Step::Waits(at, row) => {
                    let Some(guest) = &mut guests[at] else { continue };
                    inside.iter_mut().for_each(|row| row.retain(|other| *other != at));
                    inside[row as usize].push(at);
                    served[at] = true;
                    behind.waits(row, guest)
                }
                Step::Ends(at) => {
                    let Some(guest) = &mut guests[at] else { continue };
                    inside.iter_mut().for_each(|row| row.retain(|other| *other != at));
                    let next = behind.is_done(guest);
                    guest.habit.ends();
                    served[at] = false;
                    next
                }
                Step::Stall => {
                    behind.let_in_stalled(|_| {});
                    let mut came = Vec::new();
                    behind.let_in_stalled(|(guest, _)| came.push(guest));
                    let mut expected: Vec<_> = lines.iter_mut().flat_map(std::mem::take).collect();
                    let mut numbers: Vec<_> = came.iter().map(|guest| guest.number).collect();
                    expected.sort_unstable();
                    numbers.sort_unstable();
                    prop_assert_eq!(numbers, expected);
                    for guest in came {
                        let number = guest.number;
                        guests[number] = Some(guest);
                    }
                    // Who is inside is forgotten: as if all were done.
                    for at in inside.iter_mut().flat_map(std::mem::take) {
                        let guest = guests[at].as_mut().expect("inside");
                        prop_assert!(behind.is_done(guest).is_none());
                        guest.habit.ends();
                        served[at] = false;
                    }
                    None
                }
            };
            if let Some((guest, _)) = next {
                let number = guest.number;
                let row = guest.habit.guess().expect("a row") as usize;
                prop_assert_eq!(lines[row].pop_front(), Some(number));
                inside[row].push(number);
                served[number] = true;
                guests[number] = Some(guest);
            }
            prop_assert_eq!(behind.count(), lines.iter().map(VecDeque::len).sum::<usize>());
            for row in 0..2 {
                prop_assert!(lines[row].is_empty() || inside[row].len() >= 2, "somebody is left");
            }
        }
    }
}
