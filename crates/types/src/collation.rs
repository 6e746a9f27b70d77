//! Collations by MySQL's names and numbers.
//!
//! Comparing and keys are in `order`, LIKE in `like`; `uca` holds the weights of the `utf8mb4_0900_*` family, `tailored` what languages change in
//! them, `pad_space` the collations with one weight for each character that ignore trailing spaces, `expanding` those with several. Weights other than
//! those of UCA 9.0 were asked of MySQL 9.7 by `scripts/generate_collations.py`, those of languages by `scripts/generate_tailorings.py`.

mod code_buffer;
mod contractions;
mod expanding;
mod language_file;
mod like;
mod numbers;
mod order;
mod pad_space;
mod tailored;
mod uca;
mod uca900_codes;
pub mod utf8;

#[cfg(test)]
mod language_tests;
#[cfg(test)]
mod tests;

use crate::Charset;
pub use like::LikeLead;

/// How a collation orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Bytes; trailing spaces count.
    Bytes,
    /// Code points.
    CodePoints,
    /// `utf8mb4_general_ci` and its like.
    Folding(pad_space::Folding),
    /// Bytes of latin1.
    Latin1Bytes,
    /// A table of latin1 weights, by its place in `latin1.bin`.
    Latin1(u8),
    /// One weight or several for each character.
    Expanding(expanding::Kind),
    /// UCA 9.0.0; trailing spaces count.
    Uca900(uca::Strength),
    /// UCA 9.0.0 with a language.
    Tailored(tailored::Language, uca::Strength),
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
                use expanding::Kind::{German2, Uca400, Uca520};
                use pad_space::Folding::{General, Lower, Mysql500};
                use tailored::Language::*;
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
    AsciiGeneralCi 11 "ascii_general_ci" Ascii Folding(General);
    /// `latin1_danish_ci`.
    Latin1DanishCi 15 "latin1_danish_ci" Latin1 Latin1(2);
    /// `latin1_german2_ci`: umlauts as two letters.
    Latin1German2Ci 31 "latin1_german2_ci" Latin1 Expanding(German2);
    /// `utf8mb3_general_ci`: utf8mb3's default.
    Utf8mb3GeneralCi 33 "utf8mb3_general_ci" Utf8mb3 Folding(General);
    /// `utf8mb4_general_ci`: simple case folding, one weight a character, trailing spaces ignored.
    Utf8mb4GeneralCi 45 "utf8mb4_general_ci" Utf8mb4 Folding(General);
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
    /// `utf8mb3_tolower_ci`: lower case only, accents count.
    Utf8mb3TolowerCi 76 "utf8mb3_tolower_ci" Utf8mb3 Folding(Lower);
    /// `utf8mb3_bin`.
    Utf8mb3Bin 83 "utf8mb3_bin" Utf8mb3 CodePoints;
    /// `latin1_spanish_ci`.
    Latin1SpanishCi 94 "latin1_spanish_ci" Latin1 Latin1(5);
    /// `utf8mb3_unicode_ci`: UCA 4.0.0, trailing spaces ignored.
    Utf8mb3UnicodeCi 192 "utf8mb3_unicode_ci" Utf8mb3 Expanding(Uca400);
    /// `utf8mb3_icelandic_ci`.
    Utf8mb3IcelandicCi 193 "utf8mb3_icelandic_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Icelandic));
    /// `utf8mb3_latvian_ci`.
    Utf8mb3LatvianCi 194 "utf8mb3_latvian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Latvian));
    /// `utf8mb3_romanian_ci`.
    Utf8mb3RomanianCi 195 "utf8mb3_romanian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Romanian));
    /// `utf8mb3_slovenian_ci`.
    Utf8mb3SlovenianCi 196 "utf8mb3_slovenian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Slovenian));
    /// `utf8mb3_polish_ci`.
    Utf8mb3PolishCi 197 "utf8mb3_polish_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Polish));
    /// `utf8mb3_estonian_ci`.
    Utf8mb3EstonianCi 198 "utf8mb3_estonian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Estonian));
    /// `utf8mb3_spanish_ci`.
    Utf8mb3SpanishCi 199 "utf8mb3_spanish_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Spanish));
    /// `utf8mb3_swedish_ci`.
    Utf8mb3SwedishCi 200 "utf8mb3_swedish_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Swedish));
    /// `utf8mb3_turkish_ci`.
    Utf8mb3TurkishCi 201 "utf8mb3_turkish_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Turkish));
    /// `utf8mb3_czech_ci`.
    Utf8mb3CzechCi 202 "utf8mb3_czech_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Czech));
    /// `utf8mb3_danish_ci`.
    Utf8mb3DanishCi 203 "utf8mb3_danish_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Danish));
    /// `utf8mb3_lithuanian_ci`.
    Utf8mb3LithuanianCi 204 "utf8mb3_lithuanian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Lithuanian));
    /// `utf8mb3_slovak_ci`.
    Utf8mb3SlovakCi 205 "utf8mb3_slovak_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Slovak));
    /// `utf8mb3_spanish2_ci`.
    Utf8mb3Spanish2Ci 206 "utf8mb3_spanish2_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::SpanishTraditional));
    /// `utf8mb3_roman_ci`.
    Utf8mb3RomanCi 207 "utf8mb3_roman_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Roman));
    /// `utf8mb3_persian_ci`.
    Utf8mb3PersianCi 208 "utf8mb3_persian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Persian));
    /// `utf8mb3_esperanto_ci`.
    Utf8mb3EsperantoCi 209 "utf8mb3_esperanto_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Esperanto));
    /// `utf8mb3_hungarian_ci`.
    Utf8mb3HungarianCi 210 "utf8mb3_hungarian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Hungarian));
    /// `utf8mb3_sinhala_ci`.
    Utf8mb3SinhalaCi 211 "utf8mb3_sinhala_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Sinhala));
    /// `utf8mb3_german2_ci`.
    Utf8mb3German2Ci 212 "utf8mb3_german2_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::GermanPhonebook));
    /// `utf8mb3_croatian_ci`.
    Utf8mb3CroatianCi 213 "utf8mb3_croatian_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Croatian));
    /// `utf8mb3_unicode_520_ci`: UCA 5.2.0, trailing spaces ignored.
    Utf8mb3Unicode520Ci 214 "utf8mb3_unicode_520_ci" Utf8mb3 Expanding(Uca520);
    /// `utf8mb3_vietnamese_ci`.
    Utf8mb3VietnameseCi 215 "utf8mb3_vietnamese_ci" Utf8mb3 Expanding(expanding::Kind::Tailored(expanding::Language::Vietnamese));
    /// `utf8mb3_general_mysql500_ci`: `utf8mb3_general_ci` as it was up to MySQL 5.1.23: 'ß' is not 's'.
    Utf8mb3GeneralMysql500Ci 223 "utf8mb3_general_mysql500_ci" Utf8mb3 Folding(Mysql500);
    /// `utf8mb4_unicode_ci`: UCA 4.0.0, trailing spaces ignored.
    Utf8mb4UnicodeCi 224 "utf8mb4_unicode_ci" Utf8mb4 Expanding(Uca400);
    /// `utf8mb4_icelandic_ci`.
    Utf8mb4IcelandicCi 225 "utf8mb4_icelandic_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Icelandic));
    /// `utf8mb4_latvian_ci`.
    Utf8mb4LatvianCi 226 "utf8mb4_latvian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Latvian));
    /// `utf8mb4_romanian_ci`.
    Utf8mb4RomanianCi 227 "utf8mb4_romanian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Romanian));
    /// `utf8mb4_slovenian_ci`.
    Utf8mb4SlovenianCi 228 "utf8mb4_slovenian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Slovenian));
    /// `utf8mb4_polish_ci`.
    Utf8mb4PolishCi 229 "utf8mb4_polish_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Polish));
    /// `utf8mb4_estonian_ci`.
    Utf8mb4EstonianCi 230 "utf8mb4_estonian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Estonian));
    /// `utf8mb4_spanish_ci`.
    Utf8mb4SpanishCi 231 "utf8mb4_spanish_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Spanish));
    /// `utf8mb4_swedish_ci`.
    Utf8mb4SwedishCi 232 "utf8mb4_swedish_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Swedish));
    /// `utf8mb4_turkish_ci`.
    Utf8mb4TurkishCi 233 "utf8mb4_turkish_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Turkish));
    /// `utf8mb4_czech_ci`.
    Utf8mb4CzechCi 234 "utf8mb4_czech_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Czech));
    /// `utf8mb4_danish_ci`.
    Utf8mb4DanishCi 235 "utf8mb4_danish_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Danish));
    /// `utf8mb4_lithuanian_ci`.
    Utf8mb4LithuanianCi 236 "utf8mb4_lithuanian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Lithuanian));
    /// `utf8mb4_slovak_ci`.
    Utf8mb4SlovakCi 237 "utf8mb4_slovak_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Slovak));
    /// `utf8mb4_spanish2_ci`.
    Utf8mb4Spanish2Ci 238 "utf8mb4_spanish2_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::SpanishTraditional));
    /// `utf8mb4_roman_ci`.
    Utf8mb4RomanCi 239 "utf8mb4_roman_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Roman));
    /// `utf8mb4_persian_ci`.
    Utf8mb4PersianCi 240 "utf8mb4_persian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Persian));
    /// `utf8mb4_esperanto_ci`.
    Utf8mb4EsperantoCi 241 "utf8mb4_esperanto_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Esperanto));
    /// `utf8mb4_hungarian_ci`.
    Utf8mb4HungarianCi 242 "utf8mb4_hungarian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Hungarian));
    /// `utf8mb4_sinhala_ci`.
    Utf8mb4SinhalaCi 243 "utf8mb4_sinhala_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Sinhala));
    /// `utf8mb4_german2_ci`.
    Utf8mb4German2Ci 244 "utf8mb4_german2_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::GermanPhonebook));
    /// `utf8mb4_croatian_ci`.
    Utf8mb4CroatianCi 245 "utf8mb4_croatian_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Croatian));
    /// `utf8mb4_unicode_520_ci`: UCA 5.2.0, trailing spaces ignored.
    Utf8mb4Unicode520Ci 246 "utf8mb4_unicode_520_ci" Utf8mb4 Expanding(Uca520);
    /// `utf8mb4_vietnamese_ci`.
    Utf8mb4VietnameseCi 247 "utf8mb4_vietnamese_ci" Utf8mb4 Expanding(expanding::Kind::Tailored(expanding::Language::Vietnamese));
    /// `utf8mb4_0900_ai_ci`: UCA 9.0.0 primary weights; the default.
    Utf8mb40900AiCi 255 "utf8mb4_0900_ai_ci" Utf8mb4 Uca900(Primary);
    /// `utf8mb4_de_pb_0900_ai_ci`.
    Utf8mb4DePb0900AiCi 256 "utf8mb4_de_pb_0900_ai_ci" Utf8mb4 Tailored(GermanPhonebook, Primary);
    /// `utf8mb4_is_0900_ai_ci`.
    Utf8mb4Is0900AiCi 257 "utf8mb4_is_0900_ai_ci" Utf8mb4 Tailored(Icelandic, Primary);
    /// `utf8mb4_lv_0900_ai_ci`.
    Utf8mb4Lv0900AiCi 258 "utf8mb4_lv_0900_ai_ci" Utf8mb4 Tailored(Latvian, Primary);
    /// `utf8mb4_ro_0900_ai_ci`.
    Utf8mb4Ro0900AiCi 259 "utf8mb4_ro_0900_ai_ci" Utf8mb4 Tailored(Romanian, Primary);
    /// `utf8mb4_sl_0900_ai_ci`.
    Utf8mb4Sl0900AiCi 260 "utf8mb4_sl_0900_ai_ci" Utf8mb4 Tailored(Slovenian, Primary);
    /// `utf8mb4_pl_0900_ai_ci`.
    Utf8mb4Pl0900AiCi 261 "utf8mb4_pl_0900_ai_ci" Utf8mb4 Tailored(Polish, Primary);
    /// `utf8mb4_et_0900_ai_ci`.
    Utf8mb4Et0900AiCi 262 "utf8mb4_et_0900_ai_ci" Utf8mb4 Tailored(Estonian, Primary);
    /// `utf8mb4_es_0900_ai_ci`.
    Utf8mb4Es0900AiCi 263 "utf8mb4_es_0900_ai_ci" Utf8mb4 Tailored(Spanish, Primary);
    /// `utf8mb4_sv_0900_ai_ci`.
    Utf8mb4Sv0900AiCi 264 "utf8mb4_sv_0900_ai_ci" Utf8mb4 Tailored(Swedish, Primary);
    /// `utf8mb4_tr_0900_ai_ci`.
    Utf8mb4Tr0900AiCi 265 "utf8mb4_tr_0900_ai_ci" Utf8mb4 Tailored(Turkish, Primary);
    /// `utf8mb4_cs_0900_ai_ci`.
    Utf8mb4Cs0900AiCi 266 "utf8mb4_cs_0900_ai_ci" Utf8mb4 Tailored(Czech, Primary);
    /// `utf8mb4_da_0900_ai_ci`.
    Utf8mb4Da0900AiCi 267 "utf8mb4_da_0900_ai_ci" Utf8mb4 Tailored(Danish, Primary);
    /// `utf8mb4_lt_0900_ai_ci`.
    Utf8mb4Lt0900AiCi 268 "utf8mb4_lt_0900_ai_ci" Utf8mb4 Tailored(Lithuanian, Primary);
    /// `utf8mb4_sk_0900_ai_ci`.
    Utf8mb4Sk0900AiCi 269 "utf8mb4_sk_0900_ai_ci" Utf8mb4 Tailored(Slovak, Primary);
    /// `utf8mb4_es_trad_0900_ai_ci`.
    Utf8mb4EsTrad0900AiCi 270 "utf8mb4_es_trad_0900_ai_ci" Utf8mb4 Tailored(SpanishTraditional, Primary);
    /// `utf8mb4_la_0900_ai_ci`.
    Utf8mb4La0900AiCi 271 "utf8mb4_la_0900_ai_ci" Utf8mb4 Tailored(Latin, Primary);
    /// `utf8mb4_eo_0900_ai_ci`.
    Utf8mb4Eo0900AiCi 273 "utf8mb4_eo_0900_ai_ci" Utf8mb4 Tailored(Esperanto, Primary);
    /// `utf8mb4_hu_0900_ai_ci`.
    Utf8mb4Hu0900AiCi 274 "utf8mb4_hu_0900_ai_ci" Utf8mb4 Tailored(Hungarian, Primary);
    /// `utf8mb4_hr_0900_ai_ci`.
    Utf8mb4Hr0900AiCi 275 "utf8mb4_hr_0900_ai_ci" Utf8mb4 Tailored(Croatian, Primary);
    /// `utf8mb4_vi_0900_ai_ci`.
    Utf8mb4Vi0900AiCi 277 "utf8mb4_vi_0900_ai_ci" Utf8mb4 Tailored(Vietnamese, Primary);
    /// `utf8mb4_0900_as_cs`: UCA 9.0.0 primary, secondary and tertiary weights.
    Utf8mb40900AsCs 278 "utf8mb4_0900_as_cs" Utf8mb4 Uca900(Tertiary);
    /// `utf8mb4_de_pb_0900_as_cs`.
    Utf8mb4DePb0900AsCs 279 "utf8mb4_de_pb_0900_as_cs" Utf8mb4 Tailored(GermanPhonebook, Tertiary);
    /// `utf8mb4_is_0900_as_cs`.
    Utf8mb4Is0900AsCs 280 "utf8mb4_is_0900_as_cs" Utf8mb4 Tailored(Icelandic, Tertiary);
    /// `utf8mb4_lv_0900_as_cs`.
    Utf8mb4Lv0900AsCs 281 "utf8mb4_lv_0900_as_cs" Utf8mb4 Tailored(Latvian, Tertiary);
    /// `utf8mb4_ro_0900_as_cs`.
    Utf8mb4Ro0900AsCs 282 "utf8mb4_ro_0900_as_cs" Utf8mb4 Tailored(Romanian, Tertiary);
    /// `utf8mb4_sl_0900_as_cs`.
    Utf8mb4Sl0900AsCs 283 "utf8mb4_sl_0900_as_cs" Utf8mb4 Tailored(Slovenian, Tertiary);
    /// `utf8mb4_pl_0900_as_cs`.
    Utf8mb4Pl0900AsCs 284 "utf8mb4_pl_0900_as_cs" Utf8mb4 Tailored(Polish, Tertiary);
    /// `utf8mb4_et_0900_as_cs`.
    Utf8mb4Et0900AsCs 285 "utf8mb4_et_0900_as_cs" Utf8mb4 Tailored(Estonian, Tertiary);
    /// `utf8mb4_es_0900_as_cs`.
    Utf8mb4Es0900AsCs 286 "utf8mb4_es_0900_as_cs" Utf8mb4 Tailored(Spanish, Tertiary);
    /// `utf8mb4_sv_0900_as_cs`.
    Utf8mb4Sv0900AsCs 287 "utf8mb4_sv_0900_as_cs" Utf8mb4 Tailored(Swedish, Tertiary);
    /// `utf8mb4_tr_0900_as_cs`.
    Utf8mb4Tr0900AsCs 288 "utf8mb4_tr_0900_as_cs" Utf8mb4 Tailored(Turkish, Tertiary);
    /// `utf8mb4_cs_0900_as_cs`.
    Utf8mb4Cs0900AsCs 289 "utf8mb4_cs_0900_as_cs" Utf8mb4 Tailored(Czech, Tertiary);
    /// `utf8mb4_da_0900_as_cs`.
    Utf8mb4Da0900AsCs 290 "utf8mb4_da_0900_as_cs" Utf8mb4 Tailored(Danish, Tertiary);
    /// `utf8mb4_lt_0900_as_cs`.
    Utf8mb4Lt0900AsCs 291 "utf8mb4_lt_0900_as_cs" Utf8mb4 Tailored(Lithuanian, Tertiary);
    /// `utf8mb4_sk_0900_as_cs`.
    Utf8mb4Sk0900AsCs 292 "utf8mb4_sk_0900_as_cs" Utf8mb4 Tailored(Slovak, Tertiary);
    /// `utf8mb4_es_trad_0900_as_cs`.
    Utf8mb4EsTrad0900AsCs 293 "utf8mb4_es_trad_0900_as_cs" Utf8mb4 Tailored(SpanishTraditional, Tertiary);
    /// `utf8mb4_la_0900_as_cs`.
    Utf8mb4La0900AsCs 294 "utf8mb4_la_0900_as_cs" Utf8mb4 Tailored(Latin, Tertiary);
    /// `utf8mb4_eo_0900_as_cs`.
    Utf8mb4Eo0900AsCs 296 "utf8mb4_eo_0900_as_cs" Utf8mb4 Tailored(Esperanto, Tertiary);
    /// `utf8mb4_hu_0900_as_cs`.
    Utf8mb4Hu0900AsCs 297 "utf8mb4_hu_0900_as_cs" Utf8mb4 Tailored(Hungarian, Tertiary);
    /// `utf8mb4_hr_0900_as_cs`.
    Utf8mb4Hr0900AsCs 298 "utf8mb4_hr_0900_as_cs" Utf8mb4 Tailored(Croatian, Tertiary);
    /// `utf8mb4_vi_0900_as_cs`.
    Utf8mb4Vi0900AsCs 300 "utf8mb4_vi_0900_as_cs" Utf8mb4 Tailored(Vietnamese, Tertiary);
    /// `utf8mb4_ja_0900_as_cs`.
    Utf8mb4Ja0900AsCs 303 "utf8mb4_ja_0900_as_cs" Utf8mb4 Tailored(Japanese, Tertiary);
    /// `utf8mb4_ja_0900_as_cs_ks`.
    Utf8mb4Ja0900AsCsKs 304 "utf8mb4_ja_0900_as_cs_ks" Utf8mb4 Tailored(Japanese, Kana);
    /// `utf8mb4_0900_as_ci`: UCA 9.0.0 primary and secondary weights.
    Utf8mb40900AsCi 305 "utf8mb4_0900_as_ci" Utf8mb4 Uca900(Secondary);
    /// `utf8mb4_ru_0900_ai_ci`.
    Utf8mb4Ru0900AiCi 306 "utf8mb4_ru_0900_ai_ci" Utf8mb4 Tailored(Russian, Primary);
    /// `utf8mb4_ru_0900_as_cs`.
    Utf8mb4Ru0900AsCs 307 "utf8mb4_ru_0900_as_cs" Utf8mb4 Tailored(Russian, Tertiary);
    /// `utf8mb4_zh_0900_as_cs`.
    Utf8mb4Zh0900AsCs 308 "utf8mb4_zh_0900_as_cs" Utf8mb4 Tailored(Chinese, Tertiary);
    /// `utf8mb4_0900_bin`: code points, trailing spaces count.
    Utf8mb40900Bin 309 "utf8mb4_0900_bin" Utf8mb4 Bytes;
    /// `utf8mb4_nb_0900_ai_ci`.
    Utf8mb4Nb0900AiCi 310 "utf8mb4_nb_0900_ai_ci" Utf8mb4 Tailored(NorwegianBokmal, Primary);
    /// `utf8mb4_nb_0900_as_cs`.
    Utf8mb4Nb0900AsCs 311 "utf8mb4_nb_0900_as_cs" Utf8mb4 Tailored(NorwegianBokmal, Tertiary);
    /// `utf8mb4_nn_0900_ai_ci`.
    Utf8mb4Nn0900AiCi 312 "utf8mb4_nn_0900_ai_ci" Utf8mb4 Tailored(NorwegianNynorsk, Primary);
    /// `utf8mb4_nn_0900_as_cs`.
    Utf8mb4Nn0900AsCs 313 "utf8mb4_nn_0900_as_cs" Utf8mb4 Tailored(NorwegianNynorsk, Tertiary);
    /// `utf8mb4_sr_latn_0900_ai_ci`.
    Utf8mb4SrLatn0900AiCi 314 "utf8mb4_sr_latn_0900_ai_ci" Utf8mb4 Tailored(Serbian, Primary);
    /// `utf8mb4_sr_latn_0900_as_cs`.
    Utf8mb4SrLatn0900AsCs 315 "utf8mb4_sr_latn_0900_as_cs" Utf8mb4 Tailored(Serbian, Tertiary);
    /// `utf8mb4_bs_0900_ai_ci`.
    Utf8mb4Bs0900AiCi 316 "utf8mb4_bs_0900_ai_ci" Utf8mb4 Tailored(Bosnian, Primary);
    /// `utf8mb4_bs_0900_as_cs`.
    Utf8mb4Bs0900AsCs 317 "utf8mb4_bs_0900_as_cs" Utf8mb4 Tailored(Bosnian, Tertiary);
    /// `utf8mb4_bg_0900_ai_ci`.
    Utf8mb4Bg0900AiCi 318 "utf8mb4_bg_0900_ai_ci" Utf8mb4 Tailored(Bulgarian, Primary);
    /// `utf8mb4_bg_0900_as_cs`.
    Utf8mb4Bg0900AsCs 319 "utf8mb4_bg_0900_as_cs" Utf8mb4 Tailored(Bulgarian, Tertiary);
    /// `utf8mb4_gl_0900_ai_ci`.
    Utf8mb4Gl0900AiCi 320 "utf8mb4_gl_0900_ai_ci" Utf8mb4 Tailored(Galician, Primary);
    /// `utf8mb4_gl_0900_as_cs`.
    Utf8mb4Gl0900AsCs 321 "utf8mb4_gl_0900_as_cs" Utf8mb4 Tailored(Galician, Tertiary);
    /// `utf8mb4_mn_cyrl_0900_ai_ci`.
    Utf8mb4MnCyrl0900AiCi 322 "utf8mb4_mn_cyrl_0900_ai_ci" Utf8mb4 Tailored(Mongolian, Primary);
    /// `utf8mb4_mn_cyrl_0900_as_cs`.
    Utf8mb4MnCyrl0900AsCs 323 "utf8mb4_mn_cyrl_0900_as_cs" Utf8mb4 Tailored(Mongolian, Tertiary);
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
        !matches!(self.method(), Method::Bytes | Method::Uca900(_) | Method::Tailored(..))
    }

    /// Whether it is one of a language.
    fn is_tailored(self) -> bool {
        matches!(self.method(), Method::Tailored(..) | Method::Expanding(expanding::Kind::Tailored(_)))
    }

    /// Whether the beginnings of strings sort as the strings do. Not where characters may weigh otherwise together than each by itself, nor where
    /// an accent in the beginning counts less than a letter behind it.
    pub fn beginnings_keep_order(self) -> bool {
        match self.method() {
            Method::Uca900(strength) => strength == uca::Strength::Primary,
            Method::Tailored(language, strength) => strength == uca::Strength::Primary && !language.tailored().joins(),
            Method::Expanding(kind) => !kind.joins(),
            _ => true,
        }
    }

    /// What MySQL tells as `Sortlen`.
    pub fn sort_length(self) -> u64 {
        match self.method() {
            Method::Tailored(_, uca::Strength::Kana) => 24,
            Method::Tailored(..) | Method::Uca900(_) => 0,
            Method::Expanding(expanding::Kind::German2) => 2,
            Method::Expanding(_) => 8,
            _ => 1,
        }
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
