//! `sql_mode`: flags by MySQL's names.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of sql_mode flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlMode(u32);

macro_rules! modes {
    ($($name:ident = $bit:literal, $doc:literal;)*) => {
        impl SqlMode {
            $(#[doc = $doc] pub const $name: SqlMode = SqlMode(1 << $bit);)*
            /// Every flag with its name, in the order in which MySQL prints them.
            pub const NAMES: &[(&str, SqlMode)] = &[$((stringify!($name), SqlMode::$name)),*];
        }
    };
}

modes! {
    REAL_AS_FLOAT = 0, "REAL means FLOAT.";
    PIPES_AS_CONCAT = 1, "`||` concatenates.";
    ANSI_QUOTES = 2, "`\"` quotes identifiers.";
    IGNORE_SPACE = 3, "Spaces are allowed between a function's name and its parenthesis.";
    ONLY_FULL_GROUP_BY = 4, "Columns must be grouped or functionally dependent.";
    NO_UNSIGNED_SUBTRACTION = 5, "A difference is signed even of unsigned operands.";
    NO_DIR_IN_CREATE = 6, "DATA DIRECTORY and INDEX DIRECTORY are ignored.";
    ANSI = 7, "The combination mode of standard SQL (with its member flags).";
    NO_AUTO_VALUE_ON_ZERO = 8, "Storing 0 into an AUTO_INCREMENT column stores 0.";
    NO_BACKSLASH_ESCAPES = 9, "Backslash is an ordinary character in strings.";
    STRICT_TRANS_TABLES = 10, "Wrong values are errors in transactional tables.";
    STRICT_ALL_TABLES = 11, "Wrong values are errors in all tables.";
    NO_ZERO_IN_DATE = 12, "Dates with month or day 0 are wrong values.";
    NO_ZERO_DATE = 13, "0000-00-00 is a wrong value.";
    ALLOW_INVALID_DATES = 14, "Days up to 31 are allowed in every month.";
    ERROR_FOR_DIVISION_BY_ZERO = 15, "Division by zero is a warning, with strict mode an error for stored values.";
    TRADITIONAL = 16, "The combination mode of strictness (with its member flags).";
    HIGH_NOT_PRECEDENCE = 17, "NOT binds tighter than comparison.";
    NO_ENGINE_SUBSTITUTION = 18, "An unknown storage engine is an error.";
    PAD_CHAR_TO_FULL_LENGTH = 19, "CHAR values are read with their trailing spaces.";
    TIME_TRUNCATE_FRACTIONAL = 20, "Surplus digits of fractional seconds are cut, not rounded.";
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

    /// Whether wrong values are errors. All tables are transactional here, so either strict flag does it.
    #[inline]
    pub const fn is_strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// The flags as a number (for plan-cache keys; not MySQL's numbering).
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Reads a comma-separated list; combination modes set their members. `Err` holds the unknown name.
    pub fn parse(list: &str) -> Result<SqlMode, String> {
        let mut mode = SqlMode::NONE;
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (_, flag) = Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).ok_or_else(|| word.to_owned())?;
            mode |= *flag;
        }
        if mode.contains(Self::ANSI) {
            mode |= Self::ANSI_MEMBERS;
        }
        if mode.contains(Self::TRADITIONAL) {
            mode |= Self::TRADITIONAL_MEMBERS;
        }
        Ok(mode)
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
        assert_eq!(SqlMode::parse("ansi, nope"), Err("nope".to_owned()));
        assert_eq!(SqlMode::parse(""), Ok(SqlMode::NONE));
    }
}
