//! JSON_CONTAINS, JSON_OVERLAPS, MEMBER OF.
//!
//! Two long arrays are compared by the keys of one of them, so that the work grows with their lengths, not with the product of these.

use crate::steps::{Look, Steps};
use crate::{DEPTH_MAX, Error, View, append_key, compare};
use std::collections::HashSet;

/// Elements from which on keys are cheaper than comparing each with each.
const KEYS_FROM: usize = 8;

fn equal(a: View<'_>, b: View<'_>) -> crate::Result<bool> {
    Ok(compare(a, b)?.is_eq())
}

/// Keys of values.
#[derive(Default)]
struct Keys {
    keys: HashSet<Box<[u8]>>,
    /// Room for the key at hand.
    key: Vec<u8>,
}

impl Keys {
    fn insert(&mut self, view: View<'_>) -> crate::Result<()> {
        self.key.clear();
        append_key(view, &mut self.key)?;
        if !self.keys.contains(self.key.as_slice()) {
            memory::ask(self.key.len())?;
            self.keys.try_reserve(1).map_err(|_| memory::failed())?;
            self.keys.insert(self.key.as_slice().into());
        }
        Ok(())
    }

    fn contains(&mut self, view: View<'_>) -> crate::Result<bool> {
        self.key.clear();
        append_key(view, &mut self.key)?;
        Ok(self.keys.contains(self.key.as_slice()))
    }
}

/// Whether `target` contains `candidate`: an array all elements of another array (or a value that is no array), an object all members
/// of another object with values that contain theirs, a scalar an equal one.
///
/// # Errors
/// Damage, depth, memory; what `look` says.
pub fn contains<E: From<Error>>(target: View<'_>, candidate: View<'_>, look: Look<'_, E>) -> Result<bool, E> {
    Containing { steps: Steps::new(look) }.at(target, candidate, 0)
}

struct Containing<'l, E> {
    steps: Steps<'l, E>,
}

impl<E: From<Error>> Containing<'_, E> {
    fn at(&mut self, target: View<'_>, candidate: View<'_>, depth: usize) -> Result<bool, E> {
        self.steps.step()?;
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep.into());
        }
        if target.is_array() {
            if !candidate.is_array() {
                return self.in_some_element(target, candidate, depth);
            }
            return self.all_of(target, candidate, depth);
        }
        if target.is_object() && candidate.is_object() {
            for member in candidate.iter_members()? {
                let (name, wanted) = member?;
                match target.get(name)? {
                    Some(own) if self.at(own, wanted, depth + 1)? => {}
                    _ => return Ok(false),
                }
            }
            return Ok(true);
        }
        Ok(equal(target, candidate)?)
    }

    /// Whether an array contains all elements of another one.
    fn all_of(&mut self, target: View<'_>, candidate: View<'_>, depth: usize) -> Result<bool, E> {
        let many = candidate.len()? >= KEYS_FROM && target.len()? >= KEYS_FROM;
        let mut scalars = None;
        for wanted in candidate.iter_elements()? {
            let wanted = wanted?;
            let found = if many && !wanted.is_array() && !wanted.is_object() {
                self.steps.step()?;
                let keys = match &mut scalars {
                    Some(keys) => keys,
                    none => {
                        let mut keys = Keys::default();
                        self.add_scalars(target, depth, &mut keys)?;
                        none.insert(keys)
                    }
                };
                keys.contains(wanted)?
            } else {
                self.in_some_element(target, wanted, depth)?
            };
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds the scalars that an array contains: those of arrays within it are among them.
    fn add_scalars(&mut self, array: View<'_>, depth: usize, keys: &mut Keys) -> Result<(), E> {
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep.into());
        }
        for item in array.iter_elements()? {
            self.steps.step()?;
            let item = item?;
            if item.is_array() {
                self.add_scalars(item, depth + 1, keys)?;
            } else if !item.is_object() {
                keys.insert(item)?;
            }
        }
        Ok(())
    }

    fn in_some_element(&mut self, target: View<'_>, wanted: View<'_>, depth: usize) -> Result<bool, E> {
        for item in target.iter_elements()? {
            let item = item?;
            // An element that is an array may contain an array or a value; one that is a scalar cannot contain a container.
            let comparable = item.is_array() || !wanted.is_array();
            if comparable && self.at(item, wanted, depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a value equals an element of an array, or the document itself where it is none.
///
/// # Errors
/// Damage, depth, memory.
pub fn member_of(value: View<'_>, document: View<'_>) -> crate::Result<bool> {
    if !document.is_array() {
        return equal(value, document);
    }
    for item in document.iter_elements()? {
        if equal(value, item?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two arrays have an element in common.
fn arrays_overlap<E: From<Error>>(a: View<'_>, b: View<'_>, look: Look<'_, E>) -> Result<bool, E> {
    let (short, long) = if a.len()? <= b.len()? { (a, b) } else { (b, a) };
    let mut steps = Steps::new(look);
    if short.len()? < KEYS_FROM {
        for item in short.iter_elements()? {
            steps.step()?;
            if member_of(item?, long)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let mut keys = Keys::default();
    for item in short.iter_elements()? {
        steps.step()?;
        keys.insert(item?)?;
    }
    for item in long.iter_elements()? {
        steps.step()?;
        if keys.contains(item?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two documents have an element or a member in common.
///
/// # Errors
/// Damage, depth, memory; what `look` says.
pub fn overlaps<E: From<Error>>(a: View<'_>, b: View<'_>, look: Look<'_, E>) -> Result<bool, E> {
    match (a.is_array(), b.is_array()) {
        (true, true) => return arrays_overlap(a, b, look),
        (true, false) => return Ok(member_of(b, a)?),
        (false, true) => return Ok(member_of(a, b)?),
        (false, false) => {}
    }
    if a.is_object() && b.is_object() {
        for member in a.iter_members()? {
            let (name, value) = member?;
            if let Some(other) = b.get(name)?
                && equal(value, other)?
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    Ok(equal(a, b)?)
}
