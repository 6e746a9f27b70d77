//! Numbers that the MySQL protocol fixes: capabilities, status bits, column types and flags, character set ids.

/// A set of bits with names; `contains`, `insert`, `remove` and the usual operators.
macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident: $int:ty { $($(#[$bit_doc:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[$bit_doc])* pub const $bit: $name = $name($value);)*

            /// No bit set.
            pub const fn empty() -> Self { Self(0) }
            /// The number on the wire.
            pub const fn bits(self) -> $int { self.0 }
            /// Whether all bits of `other` are set.
            pub const fn contains(self, other: Self) -> bool { self.0 & other.0 == other.0 }
            /// Both sets together.
            pub const fn union(self, other: Self) -> Self { Self(self.0 | other.0) }
            /// The bits set in both.
            pub const fn intersection(self, other: Self) -> Self { Self(self.0 & other.0) }
            /// This set without the bits of `other`.
            pub const fn difference(self, other: Self) -> Self { Self(self.0 & !other.0) }
            /// Sets the bits of `other`.
            pub fn insert(&mut self, other: Self) { self.0 |= other.0; }
            /// Clears the bits of `other`.
            pub fn remove(&mut self, other: Self) { self.0 &= !other.0; }
            /// Sets or clears the bits of `other`.
            pub fn set(&mut self, other: Self, on: bool) { if on { self.insert(other) } else { self.remove(other) } }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self { self.union(other) }
        }

        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) { self.insert(other) }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut names = f.debug_list();
                $(if self.contains(Self::$bit) { names.entry(&stringify!($bit)); })*
                names.finish()
            }
        }
    };
}

bit_set! {
    /// What client and server agree on in the handshake (`CLIENT_*`).
    Capabilities: u32 {
        /// Old name for "not the pre-4.1 password"; always set.
        LONG_PASSWORD = 1;
        /// UPDATE reports rows found, not rows changed.
        FOUND_ROWS = 1 << 1;
        /// All column flags.
        LONG_FLAG = 1 << 2;
        /// The handshake names a database.
        CONNECT_WITH_DB = 1 << 3;
        /// `db.table.column` is not allowed.
        NO_SCHEMA = 1 << 4;
        /// zlib compression.
        COMPRESS = 1 << 5;
        /// ODBC client; no effect.
        ODBC = 1 << 6;
        /// LOAD DATA LOCAL is possible.
        LOCAL_FILES = 1 << 7;
        /// Spaces before `(` allowed.
        IGNORE_SPACE = 1 << 8;
        /// The 4.1 protocol; required.
        PROTOCOL_41 = 1 << 9;
        /// `interactive_timeout` instead of `wait_timeout`.
        INTERACTIVE = 1 << 10;
        /// TLS.
        SSL = 1 << 11;
        /// Client ignores SIGPIPE; no effect.
        IGNORE_SIGPIPE = 1 << 12;
        /// Status flags in OK and EOF.
        TRANSACTIONS = 1 << 13;
        /// Old name of the 4.1 protocol.
        RESERVED = 1 << 14;
        /// The 4.1 authentication (20-byte challenge).
        SECURE_CONNECTION = 1 << 15;
        /// Several statements in one COM_QUERY.
        MULTI_STATEMENTS = 1 << 16;
        /// Several result sets for one COM_QUERY.
        MULTI_RESULTS = 1 << 17;
        /// Several result sets for one COM_STMT_EXECUTE.
        PS_MULTI_RESULTS = 1 << 18;
        /// Named authentication plugins.
        PLUGIN_AUTH = 1 << 19;
        /// Connection attributes.
        CONNECT_ATTRS = 1 << 20;
        /// The authentication reply has a length-encoded length.
        PLUGIN_AUTH_LENENC_DATA = 1 << 21;
        /// The client can log in with an expired password.
        CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets carry session state changes.
        SESSION_TRACK = 1 << 23;
        /// OK packets instead of EOF packets at the end of rows.
        DEPRECATE_EOF = 1 << 24;
        /// The client can take result sets without column definitions.
        OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// zstd compression.
        ZSTD_COMPRESSION = 1 << 26;
        /// Query attributes in COM_QUERY and COM_STMT_EXECUTE.
        QUERY_ATTRIBUTES = 1 << 27;
        /// Multi-factor authentication; not offered.
        MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// The client library verifies the server certificate; client only.
        SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// The client remembers options; client only.
        REMEMBER_OPTIONS = 1 << 31;
    }
}

bit_set! {
    /// `SERVER_STATUS_*` bits of OK and EOF packets.
    ServerStatus: u16 {
        /// A transaction is open.
        IN_TRANS = 1;
        /// Autocommit is on.
        AUTOCOMMIT = 1 << 1;
        /// Another result follows.
        MORE_RESULTS_EXISTS = 1 << 3;
        /// The statement used no good index.
        NO_GOOD_INDEX_USED = 1 << 4;
        /// The statement used no index.
        NO_INDEX_USED = 1 << 5;
        /// A read-only cursor is open.
        CURSOR_EXISTS = 1 << 6;
        /// The cursor's last row was sent.
        LAST_ROW_SENT = 1 << 7;
        /// A database was dropped.
        DB_DROPPED = 1 << 8;
        /// `sql_mode` has NO_BACKSLASH_ESCAPES.
        NO_BACKSLASH_ESCAPES = 1 << 9;
        /// A re-prepare changed the result's columns.
        METADATA_CHANGED = 1 << 10;
        /// The statement was slow.
        QUERY_WAS_SLOW = 1 << 11;
        /// OUT parameters of a procedure follow.
        PS_OUT_PARAMS = 1 << 12;
        /// The open transaction is read-only.
        IN_TRANS_READONLY = 1 << 13;
        /// The OK packet carries session state changes.
        SESSION_STATE_CHANGED = 1 << 14;
    }
}

bit_set! {
    /// Flags of a column definition.
    ColumnFlags: u16 {
        /// Cannot be NULL.
        NOT_NULL = 1;
        /// Part of the primary key.
        PRI_KEY = 1 << 1;
        /// Part of a unique key.
        UNIQUE_KEY = 1 << 2;
        /// Part of a key that is not unique.
        MULTIPLE_KEY = 1 << 3;
        /// BLOB or TEXT.
        BLOB = 1 << 4;
        /// Unsigned number.
        UNSIGNED = 1 << 5;
        /// Padded with zeros.
        ZEROFILL = 1 << 6;
        /// Binary collation.
        BINARY = 1 << 7;
        /// ENUM.
        ENUM = 1 << 8;
        /// AUTO_INCREMENT.
        AUTO_INCREMENT = 1 << 9;
        /// TIMESTAMP.
        TIMESTAMP = 1 << 10;
        /// SET.
        SET = 1 << 11;
        /// No default value.
        NO_DEFAULT_VALUE = 1 << 12;
        /// ON UPDATE CURRENT_TIMESTAMP.
        ON_UPDATE_NOW = 1 << 13;
        /// Part of some key.
        PART_KEY = 1 << 14;
        /// A number (set by client libraries; same bit as GROUP in servers).
        NUM = 1 << 15;
    }
}

/// Column types on the wire (`MYSQL_TYPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnType {
    /// Pre-5.0 DECIMAL.
    Decimal = 0x00,
    /// TINYINT, BOOL.
    Tiny = 0x01,
    /// SMALLINT.
    Short = 0x02,
    /// INT.
    Long = 0x03,
    /// FLOAT.
    Float = 0x04,
    /// DOUBLE.
    Double = 0x05,
    /// NULL.
    Null = 0x06,
    /// TIMESTAMP.
    Timestamp = 0x07,
    /// BIGINT.
    LongLong = 0x08,
    /// MEDIUMINT.
    Int24 = 0x09,
    /// DATE.
    Date = 0x0A,
    /// TIME.
    Time = 0x0B,
    /// DATETIME.
    DateTime = 0x0C,
    /// YEAR.
    Year = 0x0D,
    /// DATE in storage only.
    NewDate = 0x0E,
    /// VARCHAR in storage; some clients send it for parameters.
    VarChar = 0x0F,
    /// BIT.
    Bit = 0x10,
    /// TIMESTAMP with fractions, storage only.
    Timestamp2 = 0x11,
    /// DATETIME with fractions, storage only.
    DateTime2 = 0x12,
    /// TIME with fractions, storage only.
    Time2 = 0x13,
    /// VECTOR.
    Vector = 0xF2,
    /// JSON.
    Json = 0xF5,
    /// DECIMAL.
    NewDecimal = 0xF6,
    /// ENUM in storage; columns are sent as String with the ENUM flag.
    Enum = 0xF7,
    /// SET in storage; columns are sent as String with the SET flag.
    Set = 0xF8,
    /// TINYBLOB, TINYTEXT in storage; sent as Blob.
    TinyBlob = 0xF9,
    /// MEDIUMBLOB in storage; sent as Blob.
    MediumBlob = 0xFA,
    /// LONGBLOB in storage; sent as Blob.
    LongBlob = 0xFB,
    /// BLOB and TEXT.
    Blob = 0xFC,
    /// VARCHAR, VARBINARY.
    VarString = 0xFD,
    /// CHAR, BINARY, ENUM, SET.
    String = 0xFE,
    /// Spatial types.
    Geometry = 0xFF,
}

impl ColumnType {
    /// The type with this number, if MySQL knows it.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x00 => Self::Decimal,
            0x01 => Self::Tiny,
            0x02 => Self::Short,
            0x03 => Self::Long,
            0x04 => Self::Float,
            0x05 => Self::Double,
            0x06 => Self::Null,
            0x07 => Self::Timestamp,
            0x08 => Self::LongLong,
            0x09 => Self::Int24,
            0x0A => Self::Date,
            0x0B => Self::Time,
            0x0C => Self::DateTime,
            0x0D => Self::Year,
            0x0E => Self::NewDate,
            0x0F => Self::VarChar,
            0x10 => Self::Bit,
            0x11 => Self::Timestamp2,
            0x12 => Self::DateTime2,
            0x13 => Self::Time2,
            0xF2 => Self::Vector,
            0xF5 => Self::Json,
            0xF6 => Self::NewDecimal,
            0xF7 => Self::Enum,
            0xF8 => Self::Set,
            0xF9 => Self::TinyBlob,
            0xFA => Self::MediumBlob,
            0xFB => Self::LongBlob,
            0xFC => Self::Blob,
            0xFD => Self::VarString,
            0xFE => Self::String,
            0xFF => Self::Geometry,
            _ => return None,
        })
    }

    /// Whether clients align values of this type to the right and MySQL clients set the NUM flag.
    pub const fn is_number(self) -> bool {
        matches!(
            self,
            Self::Decimal
                | Self::Tiny
                | Self::Short
                | Self::Long
                | Self::Float
                | Self::Double
                | Self::LongLong
                | Self::Int24
                | Self::Year
                | Self::NewDecimal
        )
    }
}

/// The collation id of `binary`: columns without a character set.
pub const CHARSET_BINARY: u16 = 63;
/// The collation id of `utf8mb4_general_ci`.
pub const CHARSET_UTF8MB4_GENERAL_CI: u16 = 45;
/// The collation id of `utf8mb4_bin`.
pub const CHARSET_UTF8MB4_BIN: u16 = 46;
/// The collation id of `utf8mb4_0900_ai_ci`, the server's default.
pub const CHARSET_UTF8MB4_0900_AI_CI: u16 = 255;

/// Decimals of a floating column without a fixed number of digits.
pub use types::DECIMALS_NOT_FIXED;
