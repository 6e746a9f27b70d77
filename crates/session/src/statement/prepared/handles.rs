//! [`Handles`]: things in places, by numbers that are given out for them and never name another one soon.
//!
//! # Invariants
//! 1. A handle is a place and how often that place was given away before, so that the handle of what was taken out is nobody's:
//!    until 512 others have had its place. The place that has been free for longest is given away next.
//! 2. A handle is never 0 and fits 31 bits: MySQL's count from 1, so no client has met one that is negative as a signed number. The first ones are 1, 2, 3.

use std::collections::VecDeque;

/// Bits of a handle that name the place: `max_prepared_stmt_count` is 4,194,304 at most. The others count.
const PLACE_BITS: u32 = 22;
/// So many places, less the one whose last handle would need another bit.
const PLACES_MAX: usize = (1 << PLACE_BITS) - 1;
/// How often a place is given away until its handles begin anew.
const TURNS: u16 = 1 << (i32::BITS - 1 - PLACE_BITS);

/// See the module. A look is one for the turn and one for the thing.
pub(super) struct Handles<T> {
    /// As far as there was something in them since all were taken out.
    places: Vec<Option<T>>,
    /// How often each place was given away before.
    turns: Vec<u16>,
    /// Those with nothing in them.
    free: VecDeque<u32>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { places: Vec::new(), turns: Vec::new(), free: VecDeque::new() }
    }
}

impl<T> Handles<T> {
    /// Asks the processor's caches for the first few.
    #[inline]
    pub fn bring_near(&self) {
        base::bring_near(&self.turns, 0);
        for place in 0..4 {
            base::bring_near(&self.places, place);
        }
    }

    /// A handle for one more; `None` when handles name no more places.
    pub fn add(&mut self, thing: T) -> Option<u32> {
        let place = match self.free.pop_front() {
            Some(place) => place as usize,
            None if self.turns.len() < PLACES_MAX => {
                self.turns.push(0);
                self.turns.len() - 1
            }
            None => return None,
        };
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.places[place] = Some(thing);
        Some((u32::from(self.turns[place]) << PLACE_BITS | place as u32) + 1)
    }

    /// The place of a handle that was given out for what is there, or for nothing that is there.
    #[inline]
    fn place(&self, handle: u32) -> Option<usize> {
        let number = handle.wrapping_sub(1);
        let place = (number & ((1 << PLACE_BITS) - 1)) as usize;
        (u32::from(*self.turns.get(place)?) == number >> PLACE_BITS).then_some(place)
    }

    /// What a handle is for.
    #[inline]
    pub fn get(&self, handle: u32) -> Option<&T> {
        self.places.get(self.place(handle)?)?.as_ref()
    }

    /// The same.
    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        let place = self.place(handle)?;
        self.places.get_mut(place)?.as_mut()
    }

    /// Takes it out.
    pub fn remove(&mut self, handle: u32) -> Option<T> {
        let place = self.place(handle)?;
        let thing = self.places.get_mut(place)?.take()?;
        self.give_back(place);
        Some(thing)
    }

    /// Takes all out, and gives back their memory but for what keeps their handles nobody's.
    pub fn clear(&mut self) {
        let places = std::mem::take(&mut self.places);
        (0..places.len()).filter(|place| places[*place].is_some()).for_each(|place| self.give_back(place));
    }

    fn give_back(&mut self, place: usize) {
        self.turns[place] = (self.turns[place] + 1) % TURNS;
        self.free.push_back(place as u32);
    }

    /// How many places there are, with and without something in them.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// All that is there.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }

    /// Moves all to fresh memory, and no more of it than they need.
    pub fn pack(&mut self, each: impl Fn(&mut T)) {
        let mut places = Vec::with_capacity(self.places.len());
        places.append(&mut self.places);
        places.iter_mut().flatten().for_each(each);
        self.places = places;
        self.turns = self.turns.clone();
        self.free = self.free.iter().copied().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn handles_begin_at_one_and_fit_31_bits() {
        let mut handles = Handles::default();
        assert_eq!((1..=3).map(|n| handles.add(n)).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
        assert_eq!([0, 4, u32::MAX].map(|handle| handles.get(handle).copied()), [None; 3]);
        assert_eq!((u32::from(TURNS - 1) << PLACE_BITS | (PLACES_MAX as u32 - 1)) + 1, i32::MAX as u32);
    }

    #[test]
    fn a_handle_is_nobodys_until_its_place_has_been_had_by_all_turns() {
        let mut handles = Handles::default();
        let first = handles.add(0).expect("a place");
        let mut last = first;
        for n in 1..u32::from(TURNS) {
            assert_eq!(handles.remove(last), Some(n - 1));
            assert_eq!(handles.remove(last), None, "twice");
            last = handles.add(n).expect("a place");
            assert!(handles.get(first).is_none());
        }
        handles.remove(last);
        assert_eq!((handles.add(7), handles.get(first)), (Some(first), Some(&7)));
        assert_eq!(handles.places(), 1);
    }

    #[test]
    fn who_has_all_places_gets_no_more() {
        let mut handles = Handles::default();
        (0..PLACES_MAX).for_each(|_| assert!(handles.add(()).is_some()));
        assert_eq!(handles.add(()), None);
        assert!(handles.remove(5).is_some() && handles.add(()).is_some());
    }

    proptest! {
        /// Beside a map whose keys are never given out again: fewer steps than there are turns.
        #[test]
        fn handles_are_those_of_a_map(steps in prop::collection::vec((0..4u8, any::<prop::sample::Index>()), 1..usize::from(TURNS))) {
            let (mut handles, mut model, mut given) = (Handles::default(), BTreeMap::new(), vec![0]);
            for (number, (step, which)) in steps.into_iter().enumerate() {
                let handle = *which.get(&given);
                match step {
                    0 | 1 => {
                        let handle = handles.add(number).expect("a place");
                        prop_assert!(!given.contains(&handle));
                        given.push(handle);
                        model.insert(handle, number);
                    }
                    2 => prop_assert_eq!(handles.remove(handle), model.remove(&handle)),
                    3 if number % 50 == 0 => {
                        handles.clear();
                        model.clear();
                    }
                    _ => {
                        handles.pack(|thing| *thing += 1);
                        model.values_mut().for_each(|thing| *thing += 1);
                    }
                }
                prop_assert_eq!(handles.get(handle), model.get(&handle));
                prop_assert_eq!(handles.get_mut(handle), model.get_mut(&handle));
            }
            for handle in given {
                prop_assert_eq!(handles.get(handle), model.get(&handle));
            }
        }
    }
}
