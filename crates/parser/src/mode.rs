//! The part of `sql_mode` that changes how a text is read.

/// A set of `sql_mode` flags, with the bit values MySQL documents; bits the parser does not know are kept and ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct SqlMode(pub u64);

impl SqlMode {
    /// `REAL` means FLOAT.
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(1);
    /// `||` concatenates.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(2);
    /// `"` quotes identifiers.
    pub const ANSI_QUOTES: SqlMode = SqlMode(4);
    /// White space may stand between a built-in function's name and its parenthesis.
    pub const IGNORE_SPACE: SqlMode = SqlMode(8);
    /// A backslash in a string is a backslash.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(1 << 20);
    /// NOT binds as tightly as `!`.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(1 << 29);

    /// The bits that change how a text is read; plans of texts are told apart by these.
    pub const LEXICAL: u64 = 1 | 2 | 4 | 8 | (1 << 20) | (1 << 29);

    /// Whether all flags of `flag` are set.
    #[must_use]
    #[inline]
    pub fn has(self, flag: SqlMode) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, flag: SqlMode) -> SqlMode {
        SqlMode(self.0 | flag.0)
    }
}
