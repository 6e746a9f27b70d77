//! The scalar functions: one table with family, name, argument count and the rule for the result type.
//!
//! The executor implements each variant; the binder looks names up here, so a name that is absent
//! is MySQL's 1305.

/// How the result type follows from the function (and its arguments).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// BIGINT.
    Int,
    /// BIGINT UNSIGNED.
    UInt,
    /// 0, 1 (or NULL) as INT.
    Bool,
    /// DOUBLE.
    Double,
    /// Like a numeric argument 0 (ABS, ROUND, …): integer, decimal or double.
    Number,
    /// Character string, of the length rule in the binder.
    Str,
    /// Binary string.
    Binary,
    /// DATE.
    Date,
    /// TIME, with the fraction digits of the argument.
    Time,
    /// DATETIME, with the fraction digits of the argument.
    DateTime,
    /// The common type of the value arguments (COALESCE, IF, …).
    Common,
    /// JSON.
    Json,
    /// Decided by the binder from the arguments.
    Special,
}

/// What a function is about. Each family has a file in the executor (`functions/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Control flow, and choices among values.
    Control,
    /// What a value is compared or stored as: functions that the binder puts in, and statements cannot call.
    Operands,
    /// Cutting, joining and filling of texts.
    Strings,
    /// Places in texts and lists, and items of lists.
    Search,
    /// Texts as digits and bytes, and back.
    Encoding,
    /// Regular expressions.
    Patterns,
    /// Numbers. ENUM, SET and hexadecimal arguments of theirs count as numbers.
    Numbers,
    /// Dates and times.
    Temporal,
    /// The session, the server, and what is known of an expression; sleeping and named locks.
    Information,
    /// Digests, encryption, compression.
    Encryption,
    /// Addresses, UUIDs, readable amounts.
    Addresses,
    /// JSON.
    Json,
    /// Functions of the schema `sys`.
    Sys,
}

macro_rules! functions {
    ($($family:ident { $($variant:ident $($name:literal)|+ $min:literal ..= $max:tt $ret:ident;)* })*) => {
        /// A scalar function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Func { $($($variant,)*)* }

        /// What the binder knows of a function.
        #[derive(Clone, Copy, Debug)]
        pub struct FuncInfo {
            /// Which function.
            pub func: Func,
            /// Least number of arguments.
            pub args_min: usize,
            /// Most arguments.
            pub args_max: usize,
            /// Rule for the result type.
            pub returns: Returns,
        }

        /// Looks a function up by its lower-case name.
        pub fn lookup(name: &str) -> Option<FuncInfo> {
            match name {
                $($($($name)|+ => Some(FuncInfo { func: Func::$variant, args_min: $min, args_max: $max, returns: Returns::$ret }),)*)*
                _ => None,
            }
        }

        impl Func {
            /// All of them.
            pub const ALL: &[Func] = &[$($(Func::$variant,)*)*];

            /// The canonical lower-case name.
            pub fn name(self) -> &'static str {
                match self { $($(Func::$variant => first(&[$($name),+]),)*)* }
            }

            /// Its family.
            pub const fn family(self) -> Family {
                match self { $($(Func::$variant)|* => Family::$family,)* }
            }
        }
    };
}

/// No bound but that of a statement's length.
const MANY: usize = usize::MAX;

const fn first(names: &[&'static str]) -> &'static str {
    names[0]
}

functions! {
    Control {
        If "if" 3..=3 Common;
        IfNull "ifnull" 2..=2 Common;
        NullIf "nullif" 2..=2 Special;
        Coalesce "coalesce" 1..=MANY Common;
        Greatest "greatest" 2..=MANY Common;
        Least "least" 2..=MANY Common;
        IsNull "isnull" 1..=1 Bool;
        Interval "interval" 2..=MANY Int;
        AnyValue "any_value" 1..=1 Special;
    }
    // No call of a statement has their names.
    Operands {
        // What a constant is compared with a YEAR column as.
        YearOperand "year operand" 1..=1 Special;
        // What a YEAR is compared with the dates of rows as.
        YearMoment "year moment" 1..=1 Special;
        // What a number is compared with a column of dates as.
        MomentOperand "moment operand" 1..=1 Special;
        // What bytes of no character set are stored as into a column of documents: nothing (3144).
        NoDocument "no document" 1..=1 Special;
        // What a text is compared with a column of whole numbers as, and with one of decimals.
        WholeOperand "whole operand" 1..=1 Special;
        DecimalOperand "decimal operand" 1..=1 Special;
        // What a text of rows is compared with a column of whole numbers as.
        WholeText "whole text" 1..=1 Special;
        // Bytes that become text because text that they meet is stronger.
        TextOfBytes "text of bytes" 1..=1 Special;
        // What is read of a CHAR column under PAD_CHAR_TO_FULL_LENGTH.
        PadChar "padded char" 1..=1 Special;
        // A computed decimal that is stored as text: zero has no fraction.
        BareZero "bare zero" 1..=1 Special;
        // A date or time that a function has made as text, as the number of its digits.
        TextMoment "text moment" 1..=1 Special;
    }
    Strings {
        Concat "concat" 1..=MANY Str;
        ConcatWs "concat_ws" 2..=MANY Str;
        Substring "substring" | "substr" | "mid" 2..=3 Str;
        SubstringIndex "substring_index" 3..=3 Str;
        Left "left" 2..=2 Str;
        Right "right" 2..=2 Str;
        Length "length" | "octet_length" 1..=1 Int;
        CharLength "char_length" | "character_length" 1..=1 Int;
        BitLength "bit_length" 1..=1 Int;
        Upper "upper" | "ucase" 1..=1 Str;
        Lower "lower" | "lcase" 1..=1 Str;
        Trim "trim" 1..=2 Str;
        LTrim "ltrim" 1..=2 Str;
        RTrim "rtrim" 1..=2 Str;
        LPad "lpad" 3..=3 Str;
        RPad "rpad" 3..=3 Str;
        Replace "replace" 3..=3 Str;
        Repeat "repeat" 2..=2 Str;
        Reverse "reverse" 1..=1 Str;
        Space "space" 1..=1 Str;
        Insert "insert" 4..=4 Str;
    }
    Search {
        Instr "instr" 2..=2 Int;
        Locate "locate" | "position" 2..=3 Int;
        Field "field" 2..=MANY Int;
        Elt "elt" 2..=MANY Str;
        FindInSet "find_in_set" 2..=2 Int;
        MakeSet "make_set" 2..=MANY Str;
        ExportSet "export_set" 3..=5 Str;
        StrCmp "strcmp" 2..=2 Int;
    }
    Encoding {
        Hex "hex" 1..=1 Str;
        Unhex "unhex" 1..=1 Binary;
        Ascii "ascii" 1..=1 Int;
        Ord "ord" 1..=1 Int;
        Char "char" 1..=MANY Binary;
        Quote "quote" 1..=1 Str;
        WeightString "weight_string" 1..=2 Binary;
        Bin "bin" 1..=1 Str;
        Oct "oct" 1..=1 Str;
        ToBase64 "to_base64" 1..=1 Str;
        FromBase64 "from_base64" 1..=1 Binary;
        Soundex "soundex" 1..=1 Str;
    }
    Patterns {
        RegexpLike "regexp_like" 2..=3 Bool;
        RegexpInstr "regexp_instr" 2..=6 Int;
        RegexpReplace "regexp_replace" 3..=6 Str;
        RegexpSubstr "regexp_substr" 2..=5 Str;
    }
    Numbers {
        Abs "abs" 1..=1 Number;
        Ceil "ceil" | "ceiling" 1..=1 Special;
        Floor "floor" 1..=1 Special;
        Round "round" 1..=2 Special;
        Truncate "truncate" 2..=2 Special;
        Mod "mod" 2..=2 Special;
        Pow "pow" | "power" 2..=2 Double;
        Sqrt "sqrt" 1..=1 Double;
        Exp "exp" 1..=1 Double;
        Ln "ln" 1..=1 Double;
        Log "log" 1..=2 Double;
        Log2 "log2" 1..=1 Double;
        Log10 "log10" 1..=1 Double;
        Sign "sign" 1..=1 Int;
        Rand "rand" 0..=1 Double;
        Pi "pi" 0..=0 Special;
        Sin "sin" 1..=1 Double;
        Cos "cos" 1..=1 Double;
        Tan "tan" 1..=1 Double;
        Cot "cot" 1..=1 Double;
        Asin "asin" 1..=1 Double;
        Acos "acos" 1..=1 Double;
        Atan "atan" | "atan2" 1..=2 Double;
        Degrees "degrees" 1..=1 Double;
        Radians "radians" 1..=1 Double;
        Crc32 "crc32" 1..=1 UInt;
        Conv "conv" 3..=3 Str;
        BitCount "bit_count" 1..=1 Int;
        Format "format" 2..=3 Str;
    }
    Temporal {
        Now "now" | "current_timestamp" | "localtime" | "localtimestamp" 0..=1 DateTime;
        SysDate "sysdate" 0..=1 DateTime;
        CurDate "curdate" | "current_date" 0..=0 Date;
        CurTime "curtime" | "current_time" 0..=1 Time;
        UtcTimestamp "utc_timestamp" 0..=1 DateTime;
        UtcDate "utc_date" 0..=0 Date;
        UtcTime "utc_time" 0..=1 Time;
        DateOf "date" 1..=1 Date;
        TimeOf "time" 1..=1 Time;
        Timestamp "timestamp" 1..=2 DateTime;
        Year "year" 1..=1 Special;
        Quarter "quarter" 1..=1 Int;
        Month "month" 1..=1 Int;
        Day "day" | "dayofmonth" 1..=1 Int;
        Hour "hour" 1..=1 Int;
        Minute "minute" 1..=1 Int;
        Second "second" 1..=1 Int;
        Microsecond "microsecond" 1..=1 Int;
        DateDiff "datediff" 2..=2 Int;
        TimeDiff "timediff" 2..=2 Time;
        AddTime "addtime" 2..=2 Special;
        SubTime "subtime" 2..=2 Special;
        DateFormat "date_format" 2..=2 Str;
        TimeFormat "time_format" 2..=2 Str;
        StrToDate "str_to_date" 2..=2 Special;
        UnixTimestamp "unix_timestamp" 0..=1 Special;
        FromUnixtime "from_unixtime" 1..=2 Special;
        LastDay "last_day" 1..=1 Date;
        DayOfWeek "dayofweek" 1..=1 Int;
        WeekDay "weekday" 1..=1 Int;
        DayOfYear "dayofyear" 1..=1 Int;
        Week "week" 1..=2 Int;
        WeekOfYear "weekofyear" 1..=1 Int;
        YearWeek "yearweek" 1..=2 Int;
        DayName "dayname" 1..=1 Str;
        MonthName "monthname" 1..=1 Str;
        ToDays "to_days" 1..=1 Int;
        FromDays "from_days" 1..=1 Date;
        ToSeconds "to_seconds" 1..=1 Int;
        MakeDate "makedate" 2..=2 Date;
        MakeTime "maketime" 3..=3 Time;
        SecToTime "sec_to_time" 1..=1 Time;
        TimeToSec "time_to_sec" 1..=1 Int;
        PeriodAdd "period_add" 2..=2 Int;
        PeriodDiff "period_diff" 2..=2 Int;
        // Of `CAST(… AT TIME ZONE …)`; no call of a statement has the name.
        AtTimeZone "at time zone" 1..=1 Special;
        ConvertTz "convert_tz" 3..=3 DateTime;
        GetFormat "get_format" 2..=2 Str;
    }
    Information {
        Database "database" | "schema" 0..=0 Str;
        User "user" | "session_user" | "system_user" 0..=0 Str;
        CurrentUser "current_user" 0..=0 Str;
        Version "version" 0..=0 Str;
        ConnectionId "connection_id" 0..=0 UInt;
        LastInsertId "last_insert_id" 0..=1 UInt;
        RowCount "row_count" 0..=0 Int;
        FoundRows "found_rows" 0..=0 Int;
        Sleep "sleep" 1..=1 Int;
        GetLock "get_lock" 2..=2 Int;
        ReleaseLock "release_lock" 1..=1 Int;
        ReleaseAllLocks "release_all_locks" 0..=0 UInt;
        IsFreeLock "is_free_lock" 1..=1 Int;
        IsUsedLock "is_used_lock" 1..=1 UInt;
        LoadFile "load_file" 1..=1 Special;
        Coercibility "coercibility" 1..=1 Int;
        Charset "charset" 1..=1 Str;
        CollationOf "collation" 1..=1 Str;
        CurrentRole "current_role" 0..=0 Str;
        Benchmark "benchmark" 2..=2 Int;
        // Of a component, which must be installed.
        QueryAttribute "mysql_query_attribute_string" 1..=1 Str;
    }
    Encryption {
        Md5 "md5" 1..=1 Str;
        Sha1 "sha1" | "sha" 1..=1 Str;
        Sha2 "sha2" 2..=2 Str;
        AesEncrypt "aes_encrypt" 2..=6 Special;
        AesDecrypt "aes_decrypt" 2..=6 Special;
        Compress "compress" 1..=1 Special;
        Uncompress "uncompress" 1..=1 Special;
        UncompressedLength "uncompressed_length" 1..=1 Int;
        RandomBytes "random_bytes" 1..=1 Binary;
        StatementDigest "statement_digest" 1..=1 Special;
        StatementDigestText "statement_digest_text" 1..=1 Special;
        ValidatePasswordStrength "validate_password_strength" 1..=1 Int;
    }
    Addresses {
        InetAton "inet_aton" 1..=1 UInt;
        InetNtoa "inet_ntoa" 1..=1 Str;
        Inet6Aton "inet6_aton" 1..=1 Binary;
        Inet6Ntoa "inet6_ntoa" 1..=1 Str;
        IsIpv4 "is_ipv4" 1..=1 Bool;
        IsIpv6 "is_ipv6" 1..=1 Bool;
        IsIpv4Compat "is_ipv4_compat" 1..=1 Bool;
        IsIpv4Mapped "is_ipv4_mapped" 1..=1 Bool;
        Uuid "uuid" 0..=0 Str;
        UuidShort "uuid_short" 0..=0 UInt;
        IsUuid "is_uuid" 1..=1 Bool;
        UuidToBin "uuid_to_bin" 1..=2 Binary;
        BinToUuid "bin_to_uuid" 1..=2 Str;
        FormatBytes "format_bytes" 1..=1 Str;
        FormatPicoTime "format_pico_time" 1..=1 Str;
    }
    Json {
        JsonExtract "json_extract" 2..=MANY Json;
        JsonUnquote "json_unquote" 1..=1 Special;
        JsonQuote "json_quote" 1..=1 Special;
        JsonObject "json_object" 0..=MANY Json;
        JsonArray "json_array" 0..=MANY Json;
        JsonSet "json_set" 3..=MANY Json;
        JsonInsert "json_insert" 3..=MANY Json;
        JsonReplace "json_replace" 3..=MANY Json;
        JsonRemove "json_remove" 2..=MANY Json;
        JsonArrayAppend "json_array_append" 3..=MANY Json;
        JsonArrayInsert "json_array_insert" 3..=MANY Json;
        JsonMergePreserve "json_merge_preserve" | "json_merge" 2..=MANY Json;
        JsonMergePatch "json_merge_patch" 2..=MANY Json;
        JsonContains "json_contains" 2..=3 Int;
        JsonContainsPath "json_contains_path" 3..=MANY Int;
        JsonOverlaps "json_overlaps" 2..=2 Int;
        JsonSearch "json_search" 3..=MANY Json;
        JsonKeys "json_keys" 1..=2 Json;
        JsonLength "json_length" 1..=2 Int;
        JsonDepth "json_depth" 1..=1 Int;
        JsonType "json_type" 1..=1 Special;
        JsonValid "json_valid" 1..=1 Int;
        JsonPretty "json_pretty" 1..=1 Special;
        JsonStorageSize "json_storage_size" 1..=1 Int;
        JsonStorageFree "json_storage_free" 1..=1 Int;
        JsonSchemaValid "json_schema_valid" 2..=2 Bool;
        JsonSchemaReport "json_schema_validation_report" 2..=2 Json;
        // Document, path, what to do without a value and with a wrong one, their defaults, and a cast that says the type.
        JsonValue "json_value" 6..=6 Special;
        // Names with a space: no call of a statement has them. `value MEMBER OF (array)`, and a document with its name for messages.
        MemberOf "member of" 2..=2 Int;
        JsonNamed "json operand" 2..=2 Special;
    }
    Sys {
        // `sys_functions.rs` finds them.
        SysSchemaOfFile "sys.extract_schema_from_file_name" 1..=1 Special;
        SysTableOfFile "sys.extract_table_from_file_name" 1..=1 Special;
        SysFormatBytes "sys.format_bytes" 1..=1 Special;
        SysFormatPath "sys.format_path" 1..=1 Special;
        SysFormatStatement "sys.format_statement" 1..=1 Special;
        SysFormatTime "sys.format_time" 1..=1 Special;
        SysListAdd "sys.list_add" 2..=2 Special;
        SysListDrop "sys.list_drop" 2..=2 Special;
        SysIsAccountEnabled "sys.ps_is_account_enabled" 2..=2 Special;
        SysIsConsumerEnabled "sys.ps_is_consumer_enabled" 1..=1 Special;
        SysIsThreadInstrumented "sys.ps_is_thread_instrumented" 1..=1 Special;
        SysThreadAccount "sys.ps_thread_account" 1..=1 Special;
        SysThreadId "sys.ps_thread_id" 1..=1 Special;
        SysQuoteIdentifier "sys.quote_identifier" 1..=1 Special;
        SysGetConfig "sys.sys_get_config" 2..=2 Special;
        SysVersionMajor "sys.version_major" 0..=0 Special;
        SysVersionMinor "sys.version_minor" 0..=0 Special;
        SysVersionPatch "sys.version_patch" 0..=0 Special;
    }
}

impl Func {
    /// Whether it is one of the JSON functions.
    pub fn is_json(self) -> bool {
        self.family() == Family::Json
    }

    /// Whether it is one of the schema `sys`.
    pub fn is_of_sys(self) -> bool {
        self.family() == Family::Sys
    }

    /// Whether the result depends on more than the arguments within one statement, so that it may
    /// be neither folded nor evaluated once.
    pub fn is_volatile(self) -> bool {
        use Func::{
            Benchmark, FoundRows, GetLock, IsFreeLock, IsUsedLock, LastInsertId, LoadFile, QueryAttribute, Rand, RandomBytes,
            ReleaseAllLocks, ReleaseLock, RowCount, Sleep, SysDate, SysFormatStatement, SysIsThreadInstrumented, SysThreadAccount,
            SysThreadId, Uuid, UuidShort,
        };
        matches!(
            self,
            Rand | Uuid
                | SysFormatStatement
                | SysIsThreadInstrumented
                | SysThreadAccount
                | SysThreadId
                | Sleep
                | SysDate
                | LastInsertId
                | RowCount
                | FoundRows
                | GetLock
                | ReleaseLock
                | ReleaseAllLocks
                | IsFreeLock
                | IsUsedLock
                | UuidShort
                | RandomBytes
                | LoadFile
                | Benchmark
                | QueryAttribute
        )
    }

    /// Whether it tells, without arguments, what earlier statements have left: the same all through a statement (that does not set it).
    pub fn tells_of_before(self) -> bool {
        matches!(self, Func::LastInsertId | Func::RowCount | Func::FoundRows)
    }

    /// Whether it tells of the time at which the statement began.
    pub fn tells_the_time(self) -> bool {
        use Func::{CurDate, CurTime, Now, UnixTimestamp, UtcDate, UtcTime, UtcTimestamp};
        matches!(self, Now | CurDate | CurTime | UtcTimestamp | UtcDate | UtcTime | UnixTimestamp)
    }

    /// Whether another server, or another connection, would answer otherwise: the functions that MySQL's manual lists as unsafe in "Determination of
    /// Safe and Unsafe Statements in Binary Logging".
    pub fn differs_elsewhere(self) -> bool {
        use Func::{
            FoundRows, GetLock, IsFreeLock, IsUsedLock, LoadFile, Rand, ReleaseLock, RowCount, Sleep, SysDate, User, Uuid, UuidShort,
        };
        matches!(
            self,
            FoundRows
                | GetLock
                | IsFreeLock
                | IsUsedLock
                | LoadFile
                | Rand
                | ReleaseLock
                | RowCount
                | Sleep
                | SysDate
                | User
                | Uuid
                | UuidShort
        )
    }
}
