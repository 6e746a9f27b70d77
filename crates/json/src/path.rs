//! Path expressions: what they say, and finding their values in a binary document.

use crate::path_text;
use crate::{DEPTH_MAX, Error, Result, View};

/// A place in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// From the start, 0 first.
    Start(u32),
    /// From the end, 0 is the last.
    End(u32),
}

impl Place {
    /// The position among `count` elements; `None` before the first. It may lie past the last one.
    pub fn resolve(self, count: usize) -> Option<usize> {
        match self {
            Place::Start(at) => Some(at as usize),
            Place::End(back) => count.checked_sub(back as usize + 1),
        }
    }
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leg {
    /// `.name`
    Member(String),
    /// `.*`
    AnyMember,
    /// `[n]`, `[last-n]`
    Cell(Place),
    /// `[a to b]`
    Range(Place, Place),
    /// `[*]`
    AnyCell,
    /// `**`
    Ellipsis,
}

/// A path expression.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    /// Its steps.
    pub legs: Vec<Leg>,
}

/// A value that a path led to.
pub type Found<'a> = Vec<View<'a>>;

impl Path {
    /// Parses an expression; the error is the position that MySQL's message 3143 tells.
    ///
    /// # Errors
    /// A text that is no path.
    pub fn parse(text: &[u8]) -> std::result::Result<Path, usize> {
        path_text::parse(text)
    }

    /// Whether it may lead to more than one value.
    pub fn is_wild(&self) -> bool {
        self.legs.iter().any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)))
    }

    /// The values it leads to, in the document's order.
    ///
    /// # Errors
    /// Damage, depth, memory.
    pub fn find<'a>(&self, document: View<'a>) -> Result<Found<'a>> {
        let mut search = Search { found: Vec::new(), once: self.legs.contains(&Leg::Ellipsis), trail: None, trails: Vec::new() };
        search.follow(document, &self.legs, 0)?;
        Ok(search.found)
    }

    /// The values it leads to, each with the path that leads to it alone.
    ///
    /// # Errors
    /// Damage, depth, memory.
    pub fn find_with_paths<'a>(&self, document: View<'a>) -> Result<Vec<(Path, View<'a>)>> {
        let once = self.legs.contains(&Leg::Ellipsis);
        let mut search = Search { found: Vec::new(), once, trail: Some(Vec::new()), trails: Vec::new() };
        search.follow(document, &self.legs, 0)?;
        Ok(search.trails.into_iter().zip(search.found).collect())
    }

    /// The value of a path that is not wild; the first value of one that is.
    ///
    /// # Errors
    /// Damage, depth, memory.
    pub fn first<'a>(&self, document: View<'a>) -> Result<Option<View<'a>>> {
        let mut value = document;
        for leg in &self.legs {
            let next = match leg {
                Leg::Member(name) if value.is_object() => value.get(name)?,
                Leg::Member(_) => None,
                Leg::Cell(place) if value.is_array() => match place.resolve(value.len()?) {
                    Some(at) => value.element(at)?,
                    None => None,
                },
                Leg::Cell(Place::Start(0) | Place::End(0)) => Some(value),
                Leg::Cell(_) => None,
                _ => return Ok(self.find(document)?.into_iter().next()),
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    /// Whether it leads to a value.
    ///
    /// # Errors
    /// Damage, depth, memory.
    pub fn exists(&self, document: View<'_>) -> Result<bool> {
        Ok(self.first(document)?.is_some())
    }
}

/// What a range covers of `count` elements (a value that is no array counts as an array of itself).
pub(crate) fn range(from: Place, to: Place, count: usize) -> std::ops::Range<usize> {
    let start = from.resolve(count).unwrap_or(0);
    let end = to.resolve(count).map_or(0, |last| last.saturating_add(1)).min(count);
    start..end.max(start)
}

struct Search<'a> {
    found: Found<'a>,
    /// Several ways may lead to one value: it counts once.
    once: bool,
    /// The steps so far, where they are wanted.
    trail: Option<Vec<Leg>>,
    /// The paths of what was found.
    trails: Vec<Path>,
}

impl<'a> Search<'a> {
    /// Goes on below a part of a container.
    fn descend(&mut self, step: impl FnOnce() -> Leg, value: View<'a>, legs: &[Leg], depth: usize) -> Result<()> {
        if let Some(trail) = &mut self.trail {
            trail.push(step());
        }
        let result = self.follow(value, legs, depth + 1);
        if let Some(trail) = &mut self.trail {
            trail.pop();
        }
        result
    }

    fn cells(&mut self, value: View<'a>, cells: std::ops::Range<usize>, legs: &[Leg], depth: usize) -> Result<()> {
        for at in cells {
            if let Some(item) = value.element(at)? {
                self.descend(|| Leg::Cell(Place::Start(at as u32)), item, legs, depth)?;
            }
        }
        Ok(())
    }

    fn all_members(&mut self, value: View<'a>, legs: &[Leg], depth: usize) -> Result<()> {
        for member in value.iter_members()? {
            let (name, item) = member?;
            self.descend(|| Leg::Member(name.to_owned()), item, legs, depth)?;
        }
        Ok(())
    }

    fn follow(&mut self, value: View<'a>, legs: &[Leg], depth: usize) -> Result<()> {
        // An ellipsis descends without using up a step; each descent is one container deeper.
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep);
        }
        let Some((leg, rest)) = legs.split_first() else {
            if !(self.once && self.found.iter().any(|other| std::ptr::eq(other.bytes(), value.bytes()))) {
                memory::reserve(&mut self.found, 1)?;
                self.found.push(value);
                if let Some(trail) = &self.trail {
                    memory::reserve(&mut self.trails, 1)?;
                    self.trails.push(Path { legs: trail.clone() });
                }
            }
            return Ok(());
        };
        match leg {
            Leg::Member(name) => match if value.is_object() { value.get(name)? } else { None } {
                Some(member) => self.descend(|| leg.clone(), member, rest, depth),
                None => Ok(()),
            },
            Leg::AnyMember if value.is_object() => self.all_members(value, rest, depth),
            Leg::AnyMember => Ok(()),
            Leg::Cell(place) => {
                if !value.is_array() {
                    let itself = matches!(place, Place::Start(0) | Place::End(0));
                    return if itself { self.follow(value, rest, depth) } else { Ok(()) };
                }
                match place.resolve(value.len()?) {
                    Some(at) => self.cells(value, at..at + 1, rest, depth),
                    None => Ok(()),
                }
            }
            Leg::Range(from, to) => {
                if !value.is_array() {
                    return if range(*from, *to, 1).contains(&0) { self.follow(value, rest, depth) } else { Ok(()) };
                }
                self.cells(value, range(*from, *to, value.len()?), rest, depth)
            }
            Leg::AnyCell if value.is_array() => self.cells(value, 0..value.len()?, rest, depth),
            Leg::AnyCell => Ok(()),
            Leg::Ellipsis => {
                self.follow(value, rest, depth)?;
                if value.is_array() {
                    self.cells(value, 0..value.len()?, legs, depth)
                } else if value.is_object() {
                    self.all_members(value, legs, depth)
                } else {
                    Ok(())
                }
            }
        }
    }
}
