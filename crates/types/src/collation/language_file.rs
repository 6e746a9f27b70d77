//! Reads what `scripts/generate_tailorings.py` has written of languages; that script describes the bytes.

use super::numbers::Numbers;

/// Weights by level: primary, secondary, tertiary. The languages of UCA 4.0.0 have primary ones only.
pub(super) type Weights = [Vec<u16>; 3];

/// Primary weights that move together: a script before another.
struct Range {
    first: u16,
    last: u16,
    delta: i32,
    /// Stands before each; 0: nothing does.
    lead: u16,
}

/// What a language does to all weights of the root.
#[derive(Default)]
pub(super) struct Rules {
    ranges: Vec<Range>,
    /// Root's tertiary weight and the language's.
    tertiary: Vec<(u16, u16)>,
}

impl Rules {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.tertiary.is_empty()
    }

    /// The weight that stands before (0: none) and the weight, of a primary one of the root that is not the second of an implicit pair.
    pub(super) fn primary(&self, weight: u16) -> (u16, u16) {
        let at = self.ranges.partition_point(|range| range.last < weight);
        match self.ranges.get(at) {
            Some(range) if range.first <= weight => (range.lead, (i32::from(weight) + range.delta) as u16),
            _ => (0, weight),
        }
    }

    pub(super) fn tertiary(&self, weight: u16) -> u16 {
        self.tertiary.iter().find(|(root, _)| *root == weight).map_or(weight, |(_, own)| *own)
    }
}

/// One language's part of a file. The parts of it are to be read in the order of the functions.
pub(super) struct LanguageFile {
    numbers: Numbers,
    levels: usize,
    primary: i32,
    /// What root's most frequent tertiary weight becomes.
    common: u16,
}

impl LanguageFile {
    /// The language of a place in a file of languages with so many levels.
    pub(super) fn open(file: &'static [u8], place: usize, levels: usize) -> LanguageFile {
        let mut numbers = Numbers(file);
        for _ in 0..place {
            let bytes = numbers.varint() as usize;
            numbers.skip(bytes);
        }
        numbers.varint();
        LanguageFile { numbers, levels, primary: 0, common: 2 }
    }

    pub(super) fn rules(&mut self) -> Rules {
        let numbers = &mut self.numbers;
        let mut rules = Rules::default();
        let mut last = 0;
        for _ in 0..numbers.varint() {
            let first = last + numbers.varint();
            last = first + numbers.varint();
            let delta = numbers.zigzag();
            rules.ranges.push(Range { first: first as u16, last: last as u16, delta, lead: numbers.varint() as u16 });
        }
        for _ in 0..numbers.varint() {
            let root = numbers.varint() as u16;
            rules.tertiary.push((root, numbers.varint() as u16));
        }
        self.common = rules.tertiary(2);
        rules
    }

    /// Calls `visit` with every code point that weighs otherwise than by the rules.
    pub(super) fn each_point(&mut self, mut visit: impl FnMut(u32, &Weights)) {
        let mut weights = Weights::default();
        let mut point = 0;
        for _ in 0..self.numbers.varint() {
            point += self.numbers.varint();
            let count = self.numbers.varint() + 1;
            let kind = self.numbers.varint();
            for _ in 0..count {
                if kind == 0 {
                    self.weights(&mut weights);
                } else {
                    self.primary += self.numbers.zigzag();
                    weights = [vec![self.primary as u16], vec![0x20], vec![self.common]];
                }
                visit(point, &weights);
                point += 1;
            }
        }
    }

    /// Calls `visit` with every contraction.
    pub(super) fn each_contraction(&mut self, mut visit: impl FnMut(Vec<u32>, &Weights)) {
        let mut weights = Weights::default();
        for _ in 0..self.numbers.varint() {
            let points = (0..self.numbers.varint()).map(|_| self.numbers.varint()).collect();
            self.weights(&mut weights);
            visit(points, &weights);
        }
    }

    fn weights(&mut self, weights: &mut Weights) {
        for (level, weights) in weights.iter_mut().enumerate().take(self.levels) {
            weights.clear();
            for _ in 0..self.numbers.varint() {
                if level == 0 {
                    self.primary += self.numbers.zigzag();
                    weights.push(self.primary as u16);
                } else {
                    weights.push(self.numbers.varint() as u16);
                }
            }
        }
    }
}
