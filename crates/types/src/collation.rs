//! Collations by MySQL's names and numbers.
//!
//! Comparing and keys are in `order`, LIKE in `like`; `uca` holds the weights of the `utf8mb4_0900_*` family, `pad_space` the collations with one
//! weight for each character that ignore trailing spaces, `expanding` those with several. Weights other than those of UCA 9.0 were asked of
//! MySQL 9.7 by `scripts/generate_collations.py`.

mod code_buffer;
mod expanding;
mod like;
mod order;
mod pad_space;
mod uca;
mod uca900_codes;
pub mod utf8;

#[cfg(test)]
mod tests;

use crate::Charset;

/// How a collation orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Bytes; trailing spaces count.
    Bytes,
    /// Code points.
    CodePoints,
    /// `utf8mb4_general_ci` and its like.
    General,
    /// Bytes of latin1.
    Latin1Bytes,
    /// A table of latin1 weights, by its place in `latin1.bin`.
    Latin1(u8),
    /// One weight or several for each character.
    Expanding(expanding::Kind),
    /// UCA 9.0.0; trailing spaces count.
    Uca900(uca::Strength),
}

macro_rules! collations {
    ($($(#[$doc:meta])* $variant:ident $id:literal $name:literal $charset:ident $method:expr;)*) => {
        /// A collation; the discriminant is MySQL's collation id.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Collation { $($(#[$doc])* $variant = $id,)* }

        impl Collation {
            /// All that are supported.
            pub const ALL: [Collation; [$($id),*].len()] = [$(Collation::$variant),*];

            /// MySQL's name.
            pub fn name(self) -> &'static str {
                match self { $(Collation::$variant => $name,)* }
            }

            /// Its character set.
            #[inline]
            pub fn charset(self) -> Charset {
                match self { $(Collation::$variant => Charset::$charset,)* }
            }

            #[inline]
            fn method(self) -> Method {
                use expanding::Kind::*;
                use uca::Strength::*;
                use Method::*;
                match self { $(Collation::$variant => $method,)* }
            }
        }
    };
}

collations! {
    /// `latin1_german1_ci`: umlauts as their letters.
    Latin1German1Ci 5 "latin1_german1_ci" Latin1 Latin1(1);
    /// `latin1_swedish_ci`: latin1's default.
    Latin1SwedishCi 8 "latin1_swedish_ci" Latin1 Latin1(0);
    /// `ascii_general_ci`: ascii's default.
    AsciiGeneralCi 11 "ascii_general_ci" Ascii General;
    /// `latin1_danish_ci`.
    Latin1DanishCi 15 "latin1_danish_ci" Latin1 Latin1(2);
    /// `latin1_german2_ci`: umlauts as two letters.
    Latin1German2Ci 31 "latin1_german2_ci" Latin1 Expanding(German2);
    /// `utf8mb3_general_ci`: utf8mb3's default.
    Utf8mb3GeneralCi 33 "utf8mb3_general_ci" Utf8mb3 General;
    /// `utf8mb4_general_ci`: simple case folding, one weight a character, trailing spaces ignored.
    Utf8mb4GeneralCi 45 "utf8mb4_general_ci" Utf8mb4 General;
    /// `utf8mb4_bin`: code points, trailing spaces ignored.
    Utf8mb4Bin 46 "utf8mb4_bin" Utf8mb4 CodePoints;
    /// `latin1_bin`: bytes of latin1, trailing spaces ignored.
    Latin1Bin 47 "latin1_bin" Latin1 Latin1Bytes;
    /// `latin1_general_ci`.
    Latin1GeneralCi 48 "latin1_general_ci" Latin1 Latin1(3);
    /// `latin1_general_cs`.
    Latin1GeneralCs 49 "latin1_general_cs" Latin1 Latin1(4);
    /// `binary`: bytes.
    Binary 63 "binary" Binary Bytes;
    /// `ascii_bin`.
    AsciiBin 65 "ascii_bin" Ascii CodePoints;
    /// `utf8mb3_bin`.
    Utf8mb3Bin 83 "utf8mb3_bin" Utf8mb3 CodePoints;
    /// `latin1_spanish_ci`.
    Latin1SpanishCi 94 "latin1_spanish_ci" Latin1 Latin1(5);
    /// `utf8mb3_unicode_ci`: UCA 4.0.0, trailing spaces ignored.
    Utf8mb3UnicodeCi 192 "utf8mb3_unicode_ci" Utf8mb3 Expanding(Uca400);
    /// `utf8mb3_unicode_520_ci`: UCA 5.2.0, trailing spaces ignored.
    Utf8mb3Unicode520Ci 214 "utf8mb3_unicode_520_ci" Utf8mb3 Expanding(Uca520);
    /// `utf8mb4_unicode_ci`: UCA 4.0.0, trailing spaces ignored.
    Utf8mb4UnicodeCi 224 "utf8mb4_unicode_ci" Utf8mb4 Expanding(Uca400);
    /// `utf8mb4_unicode_520_ci`: UCA 5.2.0, trailing spaces ignored.
    Utf8mb4Unicode520Ci 246 "utf8mb4_unicode_520_ci" Utf8mb4 Expanding(Uca520);
    /// `utf8mb4_0900_ai_ci`: UCA 9.0.0 primary weights; the default.
    Utf8mb40900AiCi 255 "utf8mb4_0900_ai_ci" Utf8mb4 Uca900(Primary);
    /// `utf8mb4_0900_as_cs`: UCA 9.0.0 primary, secondary and tertiary weights.
    Utf8mb40900AsCs 278 "utf8mb4_0900_as_cs" Utf8mb4 Uca900(Tertiary);
    /// `utf8mb4_0900_as_ci`: UCA 9.0.0 primary and secondary weights.
    Utf8mb40900AsCi 305 "utf8mb4_0900_as_ci" Utf8mb4 Uca900(Secondary);
    /// `utf8mb4_0900_bin`: code points, trailing spaces count.
    Utf8mb40900Bin 309 "utf8mb4_0900_bin" Utf8mb4 Bytes;
}

impl Collation {
    /// The server's default, `utf8mb4_0900_ai_ci`.
    pub const DEFAULT: Collation = Collation::Utf8mb40900AiCi;

    /// MySQL's collation id.
    pub fn id(self) -> u16 {
        self as u16
    }

    /// The collation of an id.
    pub fn from_id(id: u16) -> Option<Collation> {
        Collation::ALL.into_iter().find(|collation| collation.id() == id)
    }

    /// The collation of a name, in any case; `utf8_…` is `utf8mb3_…`.
    pub fn from_name(name: &str) -> Option<Collation> {
        let old = name.get(..5).filter(|start| start.eq_ignore_ascii_case("utf8_"));
        Collation::ALL.into_iter().find(|collation| {
            collation.name().eq_ignore_ascii_case(name)
                || old.is_some() && collation.name().strip_prefix("utf8mb3").is_some_and(|rest| rest.eq_ignore_ascii_case(&name[4..]))
        })
    }

    /// Whether trailing spaces do not count.
    pub fn pads_space(self) -> bool {
        !matches!(self.method(), Method::Bytes | Method::Uca900(_))
    }

    /// Whether two strings are equal only when their bytes are (but for trailing spaces).
    pub fn is_binary(self) -> bool {
        matches!(self.method(), Method::Bytes | Method::CodePoints | Method::Latin1Bytes)
    }

    /// What directories of the first formats know: the others need a newer one.
    pub fn is_of_first_formats(self) -> bool {
        use Collation::*;
        matches!(self, Utf8mb4GeneralCi | Utf8mb4Bin | Binary | Utf8mb40900AiCi | Utf8mb40900AsCs | Utf8mb40900AsCi | Utf8mb40900Bin)
    }
}
