//! The `utf8mb4_<language>_0900_*` collations: the weights of `uca` with what a language has of its own.
//!
//! That is, as `scripts/generate_tailorings.py` has found it: scripts in another order, tertiary weights that put capitals first, characters and
//! contractions with their own weights; for Japanese a fourth level, and marks (a long vowel, a repetition) that weigh as the syllable before them
//! says. All of compare, keys, hashes and WEIGHT_STRING() read the same codes.
//!
//! MySQL begins every level but the first with the last character of the text as the one before: a mark that a text starts with may weigh by it.
//! So do we, or indexes would sort otherwise than its own.
//!
//! Codes are those of `uca`, which spend one byte on what ASCII has, but in the languages where Latin letters do not come first (`plain`): there a
//! primary weight is its two bytes. A tertiary weight is a byte with the two lowest bits of its high byte on top.

use super::code_buffer::CodeBuffer;
use super::contractions::Contractions;
use super::language_file::{LanguageFile, Rules, Weights};
use super::numbers::Numbers;
use super::uca::{self, Strength, UCA, Uca};
use super::utf8::decode;
use std::cmp::Ordering;
use std::sync::OnceLock;

static DATA: &[u8] = include_bytes!("tailored900.bin");
static KANA: &[u8] = include_bytes!("tailored_kana.bin");

/// A language; the number is its place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Bulgarian,
    Bosnian,
    Czech,
    Danish,
    GermanPhonebook,
    Esperanto,
    Spanish,
    SpanishTraditional,
    Estonian,
    Galician,
    Croatian,
    Hungarian,
    Icelandic,
    Japanese,
    Latin,
    Lithuanian,
    Latvian,
    Mongolian,
    NorwegianBokmal,
    NorwegianNynorsk,
    Polish,
    Romanian,
    Russian,
    Slovak,
    Slovenian,
    Serbian,
    Swedish,
    Turkish,
    Vietnamese,
    Chinese,
}

const LANGUAGES: usize = Language::Chinese as usize + 1;

static ALL: [OnceLock<Tailored>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];

/// Codes of four levels.
type Codes = [CodeBuffer; 4];

/// A run of code points with weights on the fourth level.
struct Kana {
    first: u32,
    last: u32,
    codes: CodeBuffer,
}

/// The last code point of a text.
fn last_point(text: &[u8]) -> u32 {
    let mut at = text.len().saturating_sub(1);
    while at > 0 && text[at] & 0xC0 == 0x80 {
        at -= 1;
    }
    if text.is_empty() { NOTHING } else { decode(&text[at..]).0 }
}

/// The expanded weights of a language.
pub(super) struct Tailored {
    /// Code points with their own codes; all of the root's where all weights change.
    table: Uca,
    /// Whether code points that `table` has not are as in the root.
    falls_back: bool,
    plain: bool,
    rules: Rules,
    contractions: Contractions<Codes>,
    /// A mark, what is before it, and the codes that it has then; in order.
    marks: Vec<(u32, u32, Codes)>,
    kana: Vec<Kana>,
}

/// No character.
const NOTHING: u32 = u32::MAX;

impl Language {
    /// Whether primary weights are coded as their two bytes. Part of the format of indexes.
    pub(super) fn is_plain(self) -> bool {
        use Language::*;
        matches!(self, Bulgarian | Japanese | Mongolian | Russian | Chinese)
    }

    /// The weights, expanded at first use.
    #[inline]
    pub(super) fn tailored(self) -> &'static Tailored {
        ALL[self as usize].get_or_init(|| Tailored::expand(self))
    }
}

fn push_plain(weight: u16, out: &mut CodeBuffer) {
    out.extend(&weight.to_be_bytes());
}

fn push_tertiary(weight: u16, out: &mut CodeBuffer) {
    out.extend(&[tertiary_code(weight)]);
}

fn tertiary_code(weight: u16) -> u8 {
    (weight >> 2 & 0xC0 | weight & 0x3F) as u8
}

fn push_level(level: usize, weights: &[u16], plain: bool, out: &mut CodeBuffer) {
    let mut after_implicit = false;
    for &weight in weights {
        match level {
            0 if plain => push_plain(weight, out),
            // MySQL's Lithuanian contractions of accents have one; it sorts before all others.
            0 if weight == 0 => out.extend(&[1, 0, 0]),
            0 => uca::push_primary(weight, &mut after_implicit, out),
            1 => uca::push_secondary(weight, out),
            _ => push_tertiary(weight, out),
        }
    }
}

/// Runs of the fourth level, then that of each mark in the order of the language's.
fn read_kana() -> (Vec<Kana>, Vec<CodeBuffer>) {
    let mut numbers = Numbers(KANA);
    let codes = |numbers: &mut Numbers| {
        let mut codes = CodeBuffer::default();
        for _ in 0..numbers.varint() {
            codes.extend(&[numbers.varint() as u8]);
        }
        codes
    };
    let mut runs = Vec::new();
    let mut next = 0;
    for _ in 0..numbers.varint() {
        let first = next + numbers.varint();
        next = first + numbers.varint();
        runs.push(Kana { first, last: next - 1, codes: codes(&mut numbers) });
    }
    let marks = (0..numbers.varint()).map(|_| codes(&mut numbers)).collect();
    (runs, marks)
}

impl Tailored {
    fn expand(language: Language) -> Tailored {
        let plain = language.is_plain();
        let mut file = LanguageFile::open(DATA, language as usize, 3);
        let rules = file.rules();
        let mut table = Uca::empty();
        let falls_back = rules.is_empty() && !plain;
        if !falls_back {
            uca::for_each_in_file(|point, elements| table.insert(point, |level, out| push_by_rules(&rules, plain, elements, level, out)));
        }
        let push_all = |weights: &Weights, level: usize, out: &mut CodeBuffer| push_level(level, &weights[level], plain, out);
        file.each_point(|point, weights| table.insert(point, |level, out| push_all(weights, level, out)));
        let (kana, kana_of_marks) = if language == Language::Japanese { read_kana() } else { (Vec::new(), Vec::new()) };
        let mut kana_of_marks = kana_of_marks.into_iter();
        let (mut contractions, mut marks) = (Vec::new(), Vec::new());
        file.each_contraction(|points, weights| {
            let mut codes = Codes::default();
            for (level, out) in codes.iter_mut().enumerate().take(3) {
                push_all(weights, level, out);
            }
            match points[..] {
                [before, mark] if language == Language::Japanese => {
                    codes[3] = kana_of_marks.next().unwrap_or_default();
                    marks.push((mark, before, codes));
                }
                _ => contractions.push((points, codes)),
            }
        });
        marks.sort_by_key(|(mark, before, _)| (*mark, *before));
        Tailored { table, falls_back, plain, rules, contractions: Contractions::new(contractions), marks, kana }
    }

    /// The codes of a code point by itself. `scratch` holds those that are computed.
    #[inline]
    fn codes<'a>(&'a self, level: usize, point: u32, scratch: &'a mut CodeBuffer) -> &'a [u8] {
        if level == 3 {
            let at = self.kana.partition_point(|run| run.last < point);
            return self.kana.get(at).filter(|run| run.first <= point).map_or(&[], |run| run.codes.as_slice());
        }
        match self.table.present(level, point) {
            Some(codes) => codes,
            None if self.falls_back => UCA.codes(level, point, scratch),
            None => {
                *scratch = self.computed(level, point);
                scratch.as_slice()
            }
        }
    }

    fn computed(&self, level: usize, point: u32) -> CodeBuffer {
        let mut out = CodeBuffer::default();
        if !uca::HANGUL.contains(&point) {
            push_by_rules(&self.rules, self.plain, &uca::implicit(point), level, &mut out);
            return out;
        }
        let (letters, count) = uca::hangul_letters(point);
        for letter in &letters[..count] {
            out.extend(self.table.present(level, *letter).unwrap_or(&[]));
        }
        if level == 2 && point >= uca::HANGUL_TERTIARY_3 {
            out.fill(tertiary_code(self.rules.tertiary(3)));
        }
        out
    }

    /// What is before the first character of a text at a level.
    fn before(&self, level: usize, text: &[u8]) -> u32 {
        if level == 0 || self.marks.is_empty() { NOTHING } else { last_point(text) }
    }

    /// The codes of what `text` starts with, a contraction or a character; `text` must not be empty and goes on behind it.
    #[inline]
    fn step<'a>(&'a self, level: usize, before: &mut u32, text: &mut &[u8], scratch: &'a mut CodeBuffer) -> &'a [u8] {
        let (point, bytes) = decode(text);
        *text = &text[bytes..];
        if !self.marks.is_empty() {
            let last = std::mem::replace(before, point);
            if let Ok(at) = self.marks.binary_search_by_key(&(point, last), |(mark, before, _)| (*mark, *before)) {
                return self.marks[at].2[level].as_slice();
            }
        } else if let Some((codes, more)) = self.contractions.longest(point, text) {
            *text = &text[more..];
            return codes[level].as_slice();
        }
        self.codes(level, point, scratch)
    }

    pub(super) fn compare(&self, strength: Strength, mut a: &[u8], mut b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        if !self.joins() {
            // Without contractions equal beginnings weigh the same; step back to where a character starts.
            let continues = |text: &[u8], at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
            let mut at = a.iter().zip(b).take_while(|(x, y)| x == y).count();
            while at > 0 && (continues(a, at) || continues(b, at)) {
                at -= 1;
            }
            (a, b) = (&a[at..], &b[at..]);
        }
        (0..strength as usize).map(|level| self.compare_level(level, a, b)).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn compare_level(&self, level: usize, a: &[u8], b: &[u8]) -> Ordering {
        let stream =
            |rest| CodeStream { tailored: self, level, before: self.before(level, rest), rest, current: CodeBuffer::default(), at: 0 };
        let (mut a, mut b) = (stream(a), stream(b));
        loop {
            // A string that ends sorts before one that goes on: None is less than Some.
            match (a.next(), b.next()) {
                (None, None) => return Ordering::Equal,
                (x, y) if x != y => return x.cmp(&y),
                _ => {}
            }
        }
    }

    /// Appends the codes of a level without an end.
    pub(super) fn append_level(&self, level: usize, mut text: &[u8], out: &mut Vec<u8>) {
        let mut scratch = CodeBuffer::default();
        let mut before = self.before(level, text);
        out.reserve(text.len() + 1);
        while !text.is_empty() {
            out.extend_from_slice(self.step(level, &mut before, &mut text, &mut scratch));
        }
    }

    /// Appends the ordered key.
    pub(super) fn append_key(&self, strength: Strength, text: &[u8], out: &mut Vec<u8>) {
        for level in 0..strength as usize {
            self.append_level(level, text, out);
            out.push(0);
        }
    }

    /// What the keys of all strings begin with that start with a text, or with what LIKE takes for it.
    pub(super) fn append_prefix_key(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut firm = self.contractions.firm_prefix(text, |a, b| self.same_at(0, a, b));
        if !self.marks.is_empty() {
            let mut rest = firm;
            while !rest.is_empty() {
                let (point, bytes) = decode(rest);
                if self.marks.chunk_by(|a, b| a.0 == b.0).any(|marks| self.same_at(0, marks[0].0, point)) {
                    firm = &firm[..firm.len() - rest.len()];
                    break;
                }
                rest = &rest[bytes..];
            }
        }
        self.append_level(0, firm, out);
    }

    /// Contractions, or marks with what is before them.
    #[cfg(test)]
    pub(super) fn contractions(&self) -> Vec<String> {
        let mut pairs: Vec<String> =
            self.marks.iter().map(|(mark, before, _)| [*before, *mark].into_iter().filter_map(char::from_u32).collect()).collect();
        pairs.sort();
        [self.contractions.sequences(), pairs].concat()
    }

    /// Whether characters may weigh otherwise together than each by itself.
    pub(super) fn joins(&self) -> bool {
        !self.contractions.is_empty() || !self.marks.is_empty()
    }

    fn same_at(&self, level: usize, a: u32, b: u32) -> bool {
        let (mut x, mut y) = (CodeBuffer::default(), CodeBuffer::default());
        a == b || self.codes(level, a, &mut x) == self.codes(level, b, &mut y)
    }

    /// Whether two code points have the same weights.
    pub(super) fn same(&self, strength: Strength, a: u32, b: u32) -> bool {
        (0..strength as usize).all(|level| self.same_at(level, a, b))
    }

    /// The 16-bit weights, as WEIGHT_STRING() shows them: levels after each other, separated by zero.
    pub(super) fn weight_string(&self, strength: Strength, text: &[u8], out: &mut Vec<u8>) {
        let mut codes = Vec::new();
        for level in 0..strength as usize {
            codes.clear();
            self.append_level(level, text, &mut codes);
            // Without kana nothing tells of their level.
            if level > 0 && (level < 3 || !codes.is_empty()) {
                out.extend_from_slice(&[0, 0]);
            }
            let push = |weight: u16| out.extend_from_slice(&weight.to_be_bytes());
            match level {
                0 if self.plain => out.extend_from_slice(&codes),
                0 => uca::each_primary(&codes, push),
                1 => uca::each_secondary(&codes, push),
                _ => codes.iter().map(|code| u16::from(code & 0xC0) << 2 | u16::from(code & 0x3F)).for_each(push),
            }
        }
    }
}

fn push_by_rules(rules: &Rules, plain: bool, elements: &[uca::Element], level: usize, out: &mut CodeBuffer) {
    let (mut behind_implicit, mut after_implicit) = (false, false);
    for element in elements {
        match level {
            0 if element.primary != 0 => {
                let (lead, weight) = if behind_implicit { (0, element.primary) } else { rules.primary(element.primary) };
                behind_implicit = !behind_implicit && element.primary >> 8 == 0xFB;
                for weight in [lead, weight] {
                    match (weight, plain) {
                        (0, _) => {}
                        (_, true) => push_plain(weight, out),
                        (_, false) => uca::push_primary(weight, &mut after_implicit, out),
                    }
                }
            }
            1 if element.secondary != 0 => uca::push_secondary(element.secondary, out),
            2 if element.tertiary != 0 => push_tertiary(rules.tertiary(u16::from(element.tertiary)), out),
            _ => {}
        }
    }
}

/// The codes of a string at one level, byte by byte.
struct CodeStream<'a> {
    tailored: &'a Tailored,
    level: usize,
    before: u32,
    rest: &'a [u8],
    current: CodeBuffer,
    at: usize,
}

impl CodeStream<'_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            if let Some(&code) = self.current.as_slice().get(self.at) {
                self.at += 1;
                return Some(code);
            }
            if self.rest.is_empty() {
                return None;
            }
            let mut scratch = CodeBuffer::default();
            let codes = self.tailored.step(self.level, &mut self.before, &mut self.rest, &mut scratch);
            let mut current = CodeBuffer::default();
            current.extend(codes);
            (self.current, self.at) = (current, 0);
        }
    }
}
