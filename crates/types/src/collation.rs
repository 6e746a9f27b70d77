//! Character sets and collations by MySQL's names and numbers.
//!
//! Comparing and keys are in `order`, LIKE in `like`; `uca` holds the weights of the `utf8mb4_0900_*` family and `pad_space` those of the two
//! older collations, which ignore trailing spaces.

mod code_buffer;
mod like;
mod order;
mod pad_space;
mod uca;
mod uca900_codes;
pub mod utf8;

#[cfg(test)]
mod tests;

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Charset {
    /// Bytes.
    Binary,
    /// UTF-8, up to four bytes a character.
    Utf8mb4,
}

impl Charset {
    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Utf8mb4 => "utf8mb4",
        }
    }

    /// The character set of a name, in any case.
    pub fn from_name(name: &str) -> Option<Charset> {
        [Charset::Binary, Charset::Utf8mb4].into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// The collation used when only the character set is named.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::Binary,
            Charset::Utf8mb4 => Collation::DEFAULT,
        }
    }

    /// Most bytes of one character.
    pub fn bytes_per_char_max(self) -> u32 {
        match self {
            Charset::Binary => 1,
            Charset::Utf8mb4 => 4,
        }
    }
}

/// A collation; the discriminant is MySQL's collation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum Collation {
    /// `utf8mb4_general_ci`: simple case folding, one weight a character, trailing spaces ignored.
    Utf8mb4GeneralCi = 45,
    /// `utf8mb4_bin`: code points, trailing spaces ignored.
    Utf8mb4Bin = 46,
    /// `binary`: bytes.
    Binary = 63,
    /// `utf8mb4_0900_ai_ci`: UCA 9.0.0 primary weights; the default.
    Utf8mb40900AiCi = 255,
    /// `utf8mb4_0900_as_cs`: UCA 9.0.0 primary, secondary and tertiary weights.
    Utf8mb40900AsCs = 278,
    /// `utf8mb4_0900_as_ci`: UCA 9.0.0 primary and secondary weights.
    Utf8mb40900AsCi = 305,
    /// `utf8mb4_0900_bin`: code points, trailing spaces count.
    Utf8mb40900Bin = 309,
}

impl Collation {
    /// The server's default, `utf8mb4_0900_ai_ci`.
    pub const DEFAULT: Collation = Collation::Utf8mb40900AiCi;

    /// All that are supported.
    pub const ALL: [Collation; 7] = [
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Bin,
        Collation::Binary,
        Collation::Utf8mb40900AiCi,
        Collation::Utf8mb40900AsCs,
        Collation::Utf8mb40900AsCi,
        Collation::Utf8mb40900Bin,
    ];

    /// MySQL's collation id.
    pub fn id(self) -> u16 {
        self as u16
    }

    /// The collation of an id.
    pub fn from_id(id: u16) -> Option<Collation> {
        Collation::ALL.into_iter().find(|collation| collation.id() == id)
    }

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Collation::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Binary => "binary",
            Collation::Utf8mb40900AiCi => "utf8mb4_0900_ai_ci",
            Collation::Utf8mb40900AsCs => "utf8mb4_0900_as_cs",
            Collation::Utf8mb40900AsCi => "utf8mb4_0900_as_ci",
            Collation::Utf8mb40900Bin => "utf8mb4_0900_bin",
        }
    }

    /// The collation of a name, in any case.
    pub fn from_name(name: &str) -> Option<Collation> {
        Collation::ALL.into_iter().find(|collation| collation.name().eq_ignore_ascii_case(name))
    }

    /// Its character set.
    pub fn charset(self) -> Charset {
        if self == Collation::Binary { Charset::Binary } else { Charset::Utf8mb4 }
    }

    /// Whether trailing spaces do not count.
    pub fn pads_space(self) -> bool {
        matches!(self, Collation::Utf8mb4GeneralCi | Collation::Utf8mb4Bin)
    }

    /// Whether two strings are equal only when their bytes are (but for trailing spaces).
    pub fn is_binary(self) -> bool {
        matches!(self, Collation::Binary | Collation::Utf8mb4Bin | Collation::Utf8mb40900Bin)
    }
}
