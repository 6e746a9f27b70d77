//! The strings of a column.

/// Most strings are no longer.
const NEAR_BYTES: usize = 32;

/// Strings one behind the other in one arena.
#[derive(Debug, Default)]
pub struct Strings {
    pub(super) ends: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl Strings {
    /// A string.
    #[inline]
    pub fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    /// A string of at most `N` bytes, as its length and the `N` bytes from its start on; `None` where it is longer, or fewer bytes follow.
    #[inline(always)]
    pub fn window<const N: usize>(&self, at: usize) -> Option<(&[u8; N], usize)> {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        let length = self.ends[at] - start;
        if length > N {
            return None;
        }
        self.bytes.get(start..)?.first_chunk().map(|window| (window, length))
    }

    /// Loads where strings begin, and what follows within their [`NEAR_BYTES`]: see [`super::Column::load_ahead`].
    pub(super) fn load_ahead(&self, places: &[u32]) {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        let touched = places.iter().fold(0, |all, at| {
            let start = self.ends.get((*at as usize).wrapping_sub(1)).copied().unwrap_or(0);
            all ^ byte(start) ^ byte(start + NEAR_BYTES - 1)
        });
        std::hint::black_box(touched);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, one behind the other.
    pub fn arena(&self) -> &[u8] {
        &self.bytes
    }

    /// Where a string ends in the arena; the next one begins there.
    #[inline]
    pub fn end(&self, at: usize) -> Option<usize> {
        self.ends.get(at).copied()
    }

    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        append_short(&mut self.bytes, text);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }
}

/// Appends bytes that are mostly few: up to 32 as a word from their start and one up to their end, which may overlap; a call for so few costs more.
#[inline]
fn append_short(to: &mut Vec<u8>, bytes: &[u8]) {
    #[inline(always)]
    fn words<const N: usize>(to: &mut Vec<u8>, bytes: &[u8]) -> bool {
        let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else { return false };
        let last_at = to.len() + bytes.len() - N;
        to.extend_from_slice(first);
        to.truncate(last_at);
        to.extend_from_slice(last);
        true
    }
    let done = match bytes.len() {
        16..=32 => words::<16>(to, bytes),
        8..=15 => words::<8>(to, bytes),
        _ => false,
    };
    if !done {
        to.extend_from_slice(bytes);
    }
}
