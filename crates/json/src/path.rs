//! Path expressions: what they say, and finding their values in a binary document.

use crate::path_text;
use crate::steps::{Look, Steps};
use crate::{DEPTH_MAX, Error, View};
use std::collections::HashSet;

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
    /// Damage, depth, memory; what `look` says.
    pub fn find<'a, E: From<Error>>(&self, document: View<'a>, look: Look<'_, E>) -> Result<Found<'a>, E> {
        let mut search = Search::new(self, look);
        search.follow(document, &self.legs, 0)?;
        Ok(search.found)
    }

    /// The values it leads to, each with the path that leads to it alone. What is no array has no cells here.
    ///
    /// # Errors
    /// Damage, depth, memory; what `look` says.
    pub fn find_with_paths<'a, E: From<Error>>(&self, document: View<'a>, look: Look<'_, E>) -> Result<Vec<(Path, View<'a>)>, E> {
        let mut search = Search { cells: Cells::OfArrays, trail: Some(Vec::new()), ..Search::new(self, look) };
        search.follow(document, &self.legs, 0)?;
        Ok(search.trails.into_iter().zip(search.found).collect())
    }

    /// The value of a path that is not wild; the first value of one that is.
    ///
    /// # Errors
    /// Damage, depth, memory; what `look` says.
    pub fn first<'a, E: From<Error>>(&self, document: View<'a>, look: Look<'_, E>) -> Result<Option<View<'a>>, E> {
        if self.is_wild() {
            return Ok(self.find(document, look)?.into_iter().next());
        }
        Ok(self.one(document, Cells::OfAll)?)
    }

    /// The value of a path that is not wild, where each cell is one of an array; none of a path that is wild.
    ///
    /// # Errors
    /// Damage.
    pub fn exact<'a>(&self, document: View<'a>) -> crate::Result<Option<View<'a>>> {
        self.one(document, Cells::OfArrays)
    }

    fn one<'a>(&self, document: View<'a>, cells: Cells) -> crate::Result<Option<View<'a>>> {
        let mut value = document;
        for leg in &self.legs {
            let next = match leg {
                Leg::Member(name) if value.is_object() => value.get(name)?,
                Leg::Cell(place) if value.is_array() => match place.resolve(value.len()?) {
                    Some(at) => value.element(at)?,
                    None => None,
                },
                Leg::Cell(Place::Start(0) | Place::End(0)) if cells == Cells::OfAll => Some(value),
                _ => None,
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
    /// Damage, depth, memory; what `look` says.
    pub fn exists<E: From<Error>>(&self, document: View<'_>, look: Look<'_, E>) -> Result<bool, E> {
        Ok(self.first(document, look)?.is_some())
    }
}

/// What a range covers of `count` elements (a value that is no array counts as an array of itself).
pub(crate) fn range(from: Place, to: Place, count: usize) -> std::ops::Range<usize> {
    let start = from.resolve(count).unwrap_or(0);
    let end = to.resolve(count).map_or(0, |last| last.saturating_add(1)).min(count);
    start..end.max(start)
}

/// What has cells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    /// What is no array counts as an array of itself.
    OfAll,
    OfArrays,
}

struct Search<'a, 'l, E> {
    found: Found<'a>,
    cells: Cells,
    /// Several ways may lead to one value, which counts once: the values that were met, by the number of steps that were left.
    met: Option<HashSet<(usize, usize, usize)>>,
    /// Several steps of the path are ellipses. Their ways are as many as the product of what each leads to; what was met with the same steps left
    /// is not followed again.
    many: bool,
    /// The steps so far, where they are wanted.
    trail: Option<Vec<Leg>>,
    /// The paths of what was found.
    trails: Vec<Path>,
    steps: Steps<'l, E>,
}

impl<'a, 'l, E: From<Error>> Search<'a, 'l, E> {
    fn new(path: &Path, look: Look<'l, E>) -> Self {
        let ellipses = path.legs.iter().filter(|leg| **leg == Leg::Ellipsis).count();
        Search {
            found: Vec::new(),
            cells: Cells::OfAll,
            met: (ellipses > 0).then(HashSet::new),
            many: ellipses > 1,
            trail: None,
            trails: Vec::new(),
            steps: Steps::new(look),
        }
    }

    /// Whether a value was met before with so many steps left.
    fn met_before(&mut self, value: View<'a>, left: usize) -> crate::Result<bool> {
        let Some(met) = &mut self.met else { return Ok(false) };
        memory::fallible(|| met.try_reserve(1)).map_err(|_| memory::failed())?;
        Ok(!met.insert((value.bytes().as_ptr() as usize, value.bytes().len(), left)))
    }

    /// Goes on below a part of a container.
    fn descend(&mut self, step: impl FnOnce() -> Leg, value: View<'a>, legs: &[Leg], depth: usize) -> Result<(), E> {
        if let Some(trail) = &mut self.trail {
            trail.push(step());
        }
        let result = self.follow(value, legs, depth + 1);
        if let Some(trail) = &mut self.trail {
            trail.pop();
        }
        result
    }

    fn each_cell(&mut self, value: View<'a>, cells: std::ops::Range<usize>, legs: &[Leg], depth: usize) -> Result<(), E> {
        for at in cells {
            if let Some(item) = value.element(at)? {
                self.descend(|| Leg::Cell(Place::Start(at as u32)), item, legs, depth)?;
            }
        }
        Ok(())
    }

    fn all_members(&mut self, value: View<'a>, legs: &[Leg], depth: usize) -> Result<(), E> {
        for member in value.iter_members()? {
            let (name, item) = member?;
            self.descend(|| Leg::Member(name.to_owned()), item, legs, depth)?;
        }
        Ok(())
    }

    fn follow(&mut self, value: View<'a>, legs: &[Leg], depth: usize) -> Result<(), E> {
        self.steps.step()?;
        // An ellipsis descends without using up a step; each descent is one container deeper.
        if depth > DEPTH_MAX {
            return Err(Error::TooDeep.into());
        }
        if (legs.is_empty() || self.many) && self.met_before(value, legs.len())? {
            return Ok(());
        }
        let Some((leg, rest)) = legs.split_first() else {
            memory::reserve(&mut self.found, 1).map_err(Error::from)?;
            self.found.push(value);
            if let Some(trail) = &self.trail {
                memory::reserve(&mut self.trails, 1).map_err(Error::from)?;
                self.trails.push(Path { legs: trail.clone() });
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
                    let itself = self.cells == Cells::OfAll && matches!(place, Place::Start(0) | Place::End(0));
                    return if itself { self.follow(value, rest, depth) } else { Ok(()) };
                }
                match place.resolve(value.len()?) {
                    Some(at) => self.each_cell(value, at..at + 1, rest, depth),
                    None => Ok(()),
                }
            }
            Leg::Range(from, to) => {
                if !value.is_array() {
                    let itself = self.cells == Cells::OfAll && range(*from, *to, 1).contains(&0);
                    return if itself { self.follow(value, rest, depth) } else { Ok(()) };
                }
                self.each_cell(value, range(*from, *to, value.len()?), rest, depth)
            }
            Leg::AnyCell if value.is_array() => self.each_cell(value, 0..value.len()?, rest, depth),
            Leg::AnyCell => Ok(()),
            Leg::Ellipsis => {
                self.follow(value, rest, depth)?;
                if value.is_array() {
                    self.each_cell(value, 0..value.len()?, legs, depth)
                } else if value.is_object() {
                    self.all_members(value, legs, depth)
                } else {
                    Ok(())
                }
            }
        }
    }
}
