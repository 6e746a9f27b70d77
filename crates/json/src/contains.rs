//! JSON_CONTAINS, JSON_OVERLAPS, MEMBER OF.

use crate::{DEPTH_MAX, Error, Result, View, compare};

fn equal(a: View<'_>, b: View<'_>) -> Result<bool> {
    Ok(compare(a, b)?.is_eq())
}

/// Whether `target` contains `candidate`: an array all elements of another array (or a value that is no array), an object all members
/// of another object with values that contain theirs, a scalar an equal one.
///
/// # Errors
/// Damage, depth, memory.
pub fn contains(target: View<'_>, candidate: View<'_>) -> Result<bool> {
    contains_at(target, candidate, 0)
}

fn contains_at(target: View<'_>, candidate: View<'_>, depth: usize) -> Result<bool> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    if target.is_array() {
        if !candidate.is_array() {
            return in_some_element(target, candidate, depth);
        }
        for wanted in candidate.iter_elements()? {
            if !in_some_element(target, wanted?, depth)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if target.is_object() && candidate.is_object() {
        for member in candidate.iter_members()? {
            let (name, wanted) = member?;
            match target.get(name)? {
                Some(own) if contains_at(own, wanted, depth + 1)? => {}
                _ => return Ok(false),
            }
        }
        return Ok(true);
    }
    equal(target, candidate)
}

fn in_some_element(target: View<'_>, wanted: View<'_>, depth: usize) -> Result<bool> {
    for item in target.iter_elements()? {
        let item = item?;
        // An element that is an array may contain an array or a value; one that is a scalar cannot contain a container.
        let comparable = item.is_array() || !wanted.is_array();
        if comparable && contains_at(item, wanted, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a value equals an element of an array, or the document itself where it is none.
///
/// # Errors
/// Damage, depth, memory.
pub fn member_of(value: View<'_>, document: View<'_>) -> Result<bool> {
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

/// Whether two documents have an element or a member in common.
///
/// # Errors
/// Damage, depth, memory.
pub fn overlaps(a: View<'_>, b: View<'_>) -> Result<bool> {
    if a.is_array() {
        if !b.is_array() {
            return member_of(b, a);
        }
        for item in b.iter_elements()? {
            if member_of(item?, a)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    if b.is_array() {
        return member_of(a, b);
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
    equal(a, b)
}
