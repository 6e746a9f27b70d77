//! Changes of a tree: by path, and by another tree.

use crate::{Json, Leg, Object, Path, Place};

/// What a change by path may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// Replace what is there, add what is not.
    Set,
    /// Add only.
    Insert,
    /// Replace only.
    Replace,
}

/// The value of a path that is not wild.
fn target<'t>(mut value: &'t mut Json, legs: &[Leg]) -> Option<&'t mut Json> {
    for leg in legs {
        value = match (leg, value) {
            (Leg::Member(name), Json::Object(object)) => object.get_mut(name)?,
            (Leg::Cell(place), Json::Array(list)) => {
                let at = place.resolve(list.len())?;
                list.get_mut(at)?
            }
            (Leg::Cell(Place::Start(0) | Place::End(0)), value) if !matches!(value, Json::Array(_)) => value,
            _ => return None,
        };
    }
    Some(value)
}

/// JSON_SET, JSON_INSERT, JSON_REPLACE. The path is not wild.
pub fn change(document: &mut Json, path: &Path, edit: Edit, new: Json) {
    if let Some(value) = target(document, &path.legs) {
        if edit != Edit::Insert {
            *value = new;
        }
        return;
    }
    let Some((leg, parents)) = path.legs.split_last() else { return };
    if edit == Edit::Replace {
        return;
    }
    let Some(parent) = target(document, parents) else { return };
    match (leg, parent) {
        (Leg::Member(name), Json::Object(object)) => object.insert(name.clone(), new),
        (Leg::Cell(place), Json::Array(list)) => match place {
            Place::Start(_) => list.push(new),
            Place::End(_) => list.insert(0, new),
        },
        // A value that is no array counts as an array of itself.
        (Leg::Cell(place), value) => {
            let own = std::mem::take(value);
            *value = Json::Array(match place {
                Place::Start(_) => vec![own, new],
                Place::End(_) => vec![new, own],
            });
        }
        _ => {}
    }
}

/// JSON_ARRAY_APPEND. The path is not wild.
pub fn array_append(document: &mut Json, path: &Path, new: Json) {
    match target(document, &path.legs) {
        Some(Json::Array(list)) => list.push(new),
        Some(value) => {
            let own = std::mem::take(value);
            *value = Json::Array(vec![own, new]);
        }
        None => {}
    }
}

/// JSON_ARRAY_INSERT. The path is not wild and ends with a cell.
pub fn array_insert(document: &mut Json, path: &Path, new: Json) {
    let Some((Leg::Cell(place), parents)) = path.legs.split_last() else { return };
    if let Some(Json::Array(list)) = target(document, parents) {
        let at = match place {
            Place::Start(at) => *at as usize,
            Place::End(back) => list.len().saturating_sub(*back as usize + 1),
        };
        list.insert(at.min(list.len()), new);
    }
}

/// JSON_REMOVE. The path is not wild and not `$`.
pub fn remove(document: &mut Json, path: &Path) {
    remove_at(document, &path.legs);
}

fn remove_at(document: &mut Json, legs: &[Leg]) {
    let Some((leg, parents)) = legs.split_last() else { return };
    match (leg, target(document, parents)) {
        (Leg::Member(name), Some(Json::Object(object))) => {
            object.remove(name);
        }
        (Leg::Cell(place), Some(Json::Array(list))) => {
            if let Some(at) = place.resolve(list.len()).filter(|at| *at < list.len()) {
                list.remove(at);
            }
        }
        // A value that is no array counts as an array of itself.
        (Leg::Cell(Place::Start(0) | Place::End(0)), Some(_)) => remove_at(document, parents),
        _ => {}
    }
}

/// JSON_MERGE_PRESERVE: objects member by member, all else as arrays put together.
pub fn merge_preserve(a: Json, b: Json) -> Json {
    match (a, b) {
        (Json::Object(mut a), Json::Object(b)) => {
            for (name, value) in b.into_members() {
                match a.get_mut(&name) {
                    Some(own) => {
                        let merged = merge_preserve(std::mem::take(own), value);
                        *own = merged;
                    }
                    None => a.insert(name, value),
                }
            }
            Json::Object(a)
        }
        (a, b) => {
            let list = |value| match value {
                Json::Array(list) => list,
                other => vec![other],
            };
            let mut joined = list(a);
            joined.extend(list(b));
            Json::Array(joined)
        }
    }
}

/// JSON_MERGE_PATCH, RFC 7396.
pub fn merge_patch(target: Json, patch: Json) -> Json {
    let Json::Object(patch) = patch else { return patch };
    let mut object = match target {
        Json::Object(object) => object,
        _ => Object::new(),
    };
    for (name, value) in patch.into_members() {
        if value == Json::Null {
            object.remove(&name);
        } else {
            let own = object.remove(&name).unwrap_or_default();
            object.insert(name, merge_patch(own, value));
        }
    }
    Json::Object(object)
}
