//! `sql_mode`: flags by MySQL's names.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of sql_mode flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlMode(u64);

macro_rules! modes {
    ($($name:ident = $bit:literal, $doc:literal;)*) => {
        impl SqlMode {
            $(#[doc = $doc] pub const $name: SqlMode = SqlMode(1 << $bit);)*
            /// Every flag with its name, in the order in which MySQL prints them.
            pub const NAMES: &[(&str, SqlMode)] = &[$((stringify!($name), SqlMode::$name)),*];
        }
    };
}

// Numbers are MySQL's, for `SET sql_mode = 2`.
modes! {
    REAL_AS_FLOAT = 0, "REAL means FLOAT.";
    PIPES_AS_CONCAT = 1, "`||` concatenates.";
    ANSI_QUOTES = 2, "`\"` quotes identifiers.";
    IGNORE_SPACE = 3, "Spaces are allowed between a function's name and its parenthesis.";
    NOT_USED = 4, "A name that MySQL takes for nothing.";
    ONLY_FULL_GROUP_BY = 5, "Columns must be grouped or functionally dependent.";
    NO_UNSIGNED_SUBTRACTION = 6, "A difference is signed even of unsigned operands.";
    NO_DIR_IN_CREATE = 7, "DATA DIRECTORY and INDEX DIRECTORY are ignored.";
    ANSI = 18, "The combination mode of standard SQL (with its member flags).";
    NO_AUTO_VALUE_ON_ZERO = 19, "Storing 0 into an AUTO_INCREMENT column stores 0.";
    NO_BACKSLASH_ESCAPES = 20, "Backslash is an ordinary character in strings.";
    STRICT_TRANS_TABLES = 21, "Wrong values are errors in transactional tables.";
    STRICT_ALL_TABLES = 22, "Wrong values are errors in all tables.";
    NO_ZERO_IN_DATE = 23, "Dates with month or day 0 are wrong values.";
    NO_ZERO_DATE = 24, "0000-00-00 is a wrong value.";
    ALLOW_INVALID_DATES = 25, "Days up to 31 are allowed in every month.";
    ERROR_FOR_DIVISION_BY_ZERO = 26, "Division by zero is a warning, with strict mode an error for stored values.";
    TRADITIONAL = 27, "The combination mode of strictness (with its member flags).";
    HIGH_NOT_PRECEDENCE = 29, "NOT binds tighter than comparison.";
    NO_ENGINE_SUBSTITUTION = 30, "An unknown storage engine is an error.";
    PAD_CHAR_TO_FULL_LENGTH = 31, "CHAR values are read with their trailing spaces.";
    TIME_TRUNCATE_FRACTIONAL = 32, "Surplus digits of fractional seconds are cut, not rounded.";
}

impl SqlMode {
    /// No flag.
    pub const NONE: SqlMode = SqlMode(0);

    const ANSI_MEMBERS: SqlMode =
        SqlMode(Self::REAL_AS_FLOAT.0 | Self::PIPES_AS_CONCAT.0 | Self::ANSI_QUOTES.0 | Self::IGNORE_SPACE.0 | Self::ONLY_FULL_GROUP_BY.0);
    const TRADITIONAL_MEMBERS: SqlMode = SqlMode(
        Self::STRICT_TRANS_TABLES.0
            | Self::STRICT_ALL_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    /// The default of MySQL 9.7.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn contains(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set without the flags of `other`.
    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }

    /// What of this set is in `other`, too.
    pub const fn among(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & other.0)
    }

    /// Whether wrong values are errors. All tables are transactional here, so either strict flag does it.
    #[inline]
    pub const fn is_strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// Whether strictness is as MySQL wants it to be: with all flags that are to become part of it, or with none of them.
    pub fn is_whole(self) -> bool {
        let parts = Self::NO_ZERO_IN_DATE | Self::NO_ZERO_DATE | Self::ERROR_FOR_DIVISION_BY_ZERO;
        if self.is_strict() { self.contains(parts) } else { self.0 & parts.0 == 0 }
    }

    /// The flags as a number.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The flags of a number; `Err` holds the bits that mean none.
    pub fn from_bits(bits: u64) -> Result<SqlMode, u64> {
        let known = Self::NAMES.iter().fold(0, |known, (_, flag)| known | flag.0);
        if bits & !known != 0 { Err(bits & !known) } else { Ok(SqlMode(bits).with_members()) }
    }

    /// Reads a comma-separated list; combination modes set their members. `Err` holds the unknown name.
    pub fn parse(list: &str) -> Result<SqlMode, String> {
        let mut mode = SqlMode::NONE;
        for word in list.split(',').filter(|word| !word.is_empty()) {
            let (_, flag) = Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).ok_or_else(|| word.to_owned())?;
            mode |= *flag;
        }
        Ok(mode.with_members())
    }

    fn with_members(mut self) -> SqlMode {
        if self.contains(Self::ANSI) {
            self |= Self::ANSI_MEMBERS;
        }
        if self.contains(Self::TRADITIONAL) {
            self |= Self::TRADITIONAL_MEMBERS;
        }
        self
    }
}

impl Default for SqlMode {
    fn default() -> Self {
        SqlMode::DEFAULT
    }
}

impl BitOr for SqlMode {
    type Output = SqlMode;
    fn bitor(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }
}

impl BitOrAssign for SqlMode {
    fn bitor_assign(&mut self, other: SqlMode) {
        self.0 |= other.0;
    }
}

impl fmt::Display for SqlMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, flag) in Self::NAMES {
            if self.contains(*flag) {
                if !first {
                    f.write_str(",")?;
                }
                f.write_str(name)?;
                first = false;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_prints_as_mysql_does() {
        assert_eq!(
            SqlMode::DEFAULT.to_string(),
            "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
        );
        assert_eq!(SqlMode::parse(&SqlMode::DEFAULT.to_string()), Ok(SqlMode::DEFAULT));
    }

    #[test]
    fn combination_modes_set_their_members() {
        let mode = SqlMode::parse("traditional").unwrap();
        assert!(mode.is_strict() && mode.contains(SqlMode::NO_ZERO_DATE));
        assert_eq!(SqlMode::parse("ansi, nope"), Err(" nope".to_owned()));
        assert_eq!(SqlMode::parse(""), Ok(SqlMode::NONE));
    }

    #[test]
    fn a_number_is_its_flags() {
        for (name, flag) in SqlMode::NAMES {
            assert_eq!(SqlMode::from_bits(flag.bits()).ok(), SqlMode::parse(name).ok(), "{name}");
        }
        assert_eq!(SqlMode::from_bits(0), Ok(SqlMode::NONE));
        assert_eq!(SqlMode::from_bits(1 << 8 | 4), Err(1 << 8));
    }

    #[test]
    fn strictness_is_whole_or_not_there() {
        let check = |list: &str, whole| assert_eq!(SqlMode::parse(list).unwrap().is_whole(), whole, "{list}");
        check("", true);
        check("ANSI", true);
        check("TRADITIONAL", true);
        check("STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO", true);
        check("STRICT_TRANS_TABLES", false);
        check("NO_ZERO_DATE", false);
        check("STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE", false);
        check("NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO", false);
    }
}
