//! The words the grammar knows.
//!
//! Look-up is one multiplicative hash over the first 16 bytes with the case bit set, one probe (rarely two) of a table computed
//! at compile time, and a compare of two words: it runs for every identifier of every statement.

macro_rules! keywords {
    (reserved: $($r:ident)*; other: $($o:ident)*;) => {
        /// A word of the grammar. `NO_WORD` marks tokens that are not words.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u16)]
        pub(crate) enum Kw { NO_WORD, $($r,)* RESERVED_END, $($o,)* }

        const WORDS: &[Kw] = &[Kw::NO_WORD, $(Kw::$r,)* Kw::RESERVED_END, $(Kw::$o,)*];
        const TEXTS: &[&str] = &["", $(stringify!($r),)* "", $(stringify!($o),)*];
    };
}

keywords! {
reserved:
ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE CHANGE CHAR
CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST CURRENT_DATE CURRENT_TIME
CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE
DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY
ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN EXTERNAL FALSE FETCH FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT
FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN
INDEX INFILE INNER INOUT INSENSITIVE INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS
IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIBRARY LIKE LIMIT LINEAR
LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MANUAL MATCH MAXVALUE MEDIUMBLOB MEDIUMINT
MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC OF
ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PARALLEL PARTITION PERCENT_RANK PRECISION PRIMARY
PROCEDURE PURGE QUALIFY RANGE RANK READ READS READ_WRITE REAL RECURSIVE REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE
RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET
SHOW SIGNAL SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL
STARTING STORED STRAIGHT_JOIN SYSTEM TABLE TABLESAMPLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO
UNION UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER VARYING
VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL;
other:
ACCOUNT ACTION ADDDATE ADMIN AFTER AGAINST AGGREGATE ALGORITHM ALWAYS ANY ARRAY ASCII AT ATTRIBUTE AUTHENTICATION AUTO_INCREMENT
AUTOEXTEND_SIZE AVG AVG_ROW_LENGTH BACKUP BEGIN BINLOG BIT BIT_AND BIT_OR BIT_XOR BLOCK BOOL BOOLEAN BTREE BYTE CACHE CASCADED
CAST CHAIN CHANGED CHANNEL CHARSET CHECKSUM CIPHER CLIENT CLONE CLOSE COALESCE COLLATION COLUMN_FORMAT COLUMNS COMMENT COMMIT
COMMITTED COMPACT COMPLETION COMPONENT COMPRESSED COMPRESSION CONCURRENT CONNECTION CONSISTENT CONTEXT COUNT CPU CURDATE CURRENT CURTIME DATA
DATE DATE_ADD DATE_SUB DATETIME DAY DEALLOCATE DEFINER DELAY_KEY_WRITE DIRECTORY DISABLE DISCARD DISK DO DUMPFILE DUPLICATE DYNAMIC
ENABLE ENCRYPTION END ENFORCED ENGINE ENGINES ENGINE_ATTRIBUTE ENUM ERROR ERRORS ESCAPE EVENT EVENTS EVERY EXCHANGE EXCLUDE EXECUTE
EXPANSION EXPIRE EXPORT EXTENDED EXTRACT FAST FAULTS FIELDS FILE FILTER FIRST FIXED FLUSH FOLLOWING FORMAT FOUND FULL GENERAL
GEOMCOLLECTION GEOMETRY GEOMETRYCOLLECTION GET_FORMAT GLOBAL GRANTS GROUP_CONCAT GROUP_REPLICATION HANDLER HASH HELP HISTOGRAM
HISTORY HOST HOSTS HOUR IDENTIFIED IMPORT INDEXES INITIAL INSERT_METHOD INSTALL INSTANCE INVISIBLE INVOKER IO IPC ISOLATION ISSUER
JSON JSON_ARRAYAGG JSON_OBJECTAGG JSON_VALUE KEY_BLOCK_SIZE LANGUAGE LAST LEAVES LEVEL LINESTRING LIST LOCAL LOCKED LOGS LOG
MASTER MATERIALIZED MAX MAX_CONNECTIONS_PER_HOUR MAX_QUERIES_PER_HOUR MAX_ROWS MAX_UPDATES_PER_HOUR MAX_USER_CONNECTIONS
MEDIUM MEMBER MEMORY MERGE MICROSECOND MID MIGRATE MIN MINUTE MIN_ROWS MODE MODIFY MONTH MULTILINESTRING MULTIPOINT MULTIPOLYGON
MUTEX NAMES NATIONAL NCHAR NESTED NEVER NEXT NO NONE NOW NOWAIT NULLS NVARCHAR OFF OFFSET OJ OLD ONE ONLY OPEN OPTIONAL OPTIONS ORDINALITY ORGANIZATION
OTHERS PACK_KEYS PAGE PARSER PARSE_TREE PARTIAL PARTITIONS PARTITIONING PASSWORD PASSWORD_LOCK_TIME PATH PERSIST PERSIST_ONLY PHASE PLUGINS PLUGIN POINT
POLYGON POSITION PRECEDING PREPARE PREV PRIVILEGES PROCESSLIST PROFILE PROFILES PROXY QUARTER QUERY QUICK RANDOM READ_ONLY REBUILD
RECOVER REDUNDANT RELAY RELAYLOG RELOAD REMOVE REORGANIZE REPAIR REPEATABLE REPLICA REPLICAS REPLICATION RESET RESOURCE RESPECT
RESTART RESTORE RESUME RETAIN RETURNED_SQLSTATE RETURNING RETURNS REUSE REVERSE ROLE ROLLBACK ROLLUP ROTATE ROUTINE ROW_FORMAT S3
SAVEPOINT SCHEDULE SECOND SECONDARY_ENGINE SECONDARY_ENGINE_ATTRIBUTE SECONDARY_LOAD SECONDARY_UNLOAD SECURITY SERIAL SERIALIZABLE SERVER SESSION
SESSION_USER SHARE SHUTDOWN SIGNED SIMPLE SKIP SLAVE SLOW SNAPSHOT SOME SONAME SOUNDS SOURCE SPATIALS SQL_BUFFER_RESULT SQL_CACHE
SQL_NO_CACHE SRID STABLE START STARTS STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES STATUS STD STDDEV STDDEV_POP
STDDEV_SAMP STOP STORAGE STRING SUBDATE SUBJECT SUBSTR SUBSTRING SUM SUPER SUSPEND SWAPS SWITCHES SYSDATE SYSTEM_USER TABLES TABLESPACE
TABLE_CHECKSUM TEMPORARY TEMPTABLE TEXT THAN TIES TIME TIMESTAMP TIMESTAMPADD TIMESTAMPDIFF TLS TRADITIONAL TRANSACTION TREE TRIGGERS
TRIM TRUNCATE TYPE TYPES UNBOUNDED UNCOMMITTED UNDEFINED UNICODE UNINSTALL UNKNOWN UNREGISTER UNTIL UPGRADE URL USER USER_RESOURCES
VALIDATION VALUE VARIABLES VARIANCE VAR_POP VAR_SAMP VECTOR VIEW VISIBLE WAIT WARNINGS WEEK WEIGHT_STRING WITHOUT WORK WRAPPER
X509 XA XID XML YEAR ZONE HINT PERCENT BERNOULLI GTIDS MAX_STATEMENT_TIME CONTAINS CODE UNLIMITED FAILED_LOGIN_ATTEMPTS
TRIGGER_ORDER ONLINE OFFLINE INPLACE COPY INSTANT SHARED EXCLUSIVE UNION_TABLES REFERENCE;
}

#[derive(Clone, Copy)]
struct Entry {
    head: u64,
    tail: u64,
    len: u8,
}

const TABLE_BITS: u32 = 11;
const TABLE_LEN: usize = 1 << TABLE_BITS;
const CASE_BITS: u64 = 0x2020_2020_2020_2020;
/// Longest word; nothing longer is looked up.
const WORD_BYTES_MAX: usize = 26;

const fn load_const(text: &[u8], from: usize) -> u64 {
    let mut word = 0u64;
    let mut i = 0;
    while i < 8 && from + i < text.len() {
        word |= ((text[from + i] | 0x20) as u64) << (8 * i);
        i += 1;
    }
    word
}

#[inline]
const fn slot_of(head: u64, tail: u64, len: u64) -> usize {
    let mixed =
        head.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ tail.wrapping_mul(0xC2B2_AE3D_27D4_EB4F) ^ len.wrapping_mul(0x1656_67B1_9E37_79F9);
    (mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> (64 - TABLE_BITS)) as usize
}

static ENTRIES: [Entry; TEXTS.len()] = build_entries();
static TABLE: [u16; TABLE_LEN] = build_table();

const fn build_entries() -> [Entry; TEXTS.len()] {
    let mut entries = [Entry { head: 0, tail: 0, len: 0 }; TEXTS.len()];
    let mut i = 0;
    while i < TEXTS.len() {
        let text = TEXTS[i].as_bytes();
        assert!(text.len() <= WORD_BYTES_MAX, "a keyword is longer than WORD_BYTES_MAX");
        entries[i] = Entry { head: load_const(text, 0), tail: load_const(text, 8), len: text.len() as u8 };
        i += 1;
    }
    entries
}

const fn build_table() -> [u16; TABLE_LEN] {
    let entries = build_entries();
    let mut table = [0u16; TABLE_LEN];
    let mut i = 0;
    while i < entries.len() {
        let entry = entries[i];
        if entry.len > 0 {
            let mut slot = slot_of(entry.head, entry.tail, entry.len as u64);
            while table[slot] != 0 {
                slot = (slot + 1) % TABLE_LEN;
            }
            table[slot] = i as u16;
        }
        i += 1;
    }
    table
}

impl Kw {
    /// The word in `sql[start..end]`, or `NO_WORD`.
    #[inline]
    pub(crate) fn find(sql: &[u8], start: usize, end: usize) -> Kw {
        let len = end - start;
        let Some((head_mask, tail_mask)) = MASKS.get(len) else { return Kw::NO_WORD };
        let (head, tail) = match sql.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
            Some(window) => halves(window),
            None => {
                let mut window = [0u8; 16];
                for (to, from) in window.iter_mut().zip(&sql[start..end]) {
                    *to = *from;
                }
                halves(&window)
            }
        };
        let head = (head | CASE_BITS) & head_mask;
        let tail = (tail | CASE_BITS) & tail_mask;
        let mut slot = slot_of(head, tail, len as u64);
        loop {
            let index = TABLE[slot] as usize;
            if index == 0 {
                return Kw::NO_WORD;
            }
            let entry = &ENTRIES[index];
            if entry.head == head && entry.tail == tail && entry.len as usize == len {
                if len > 16 && !sql[start..end].eq_ignore_ascii_case(TEXTS[index].as_bytes()) {
                    return Kw::NO_WORD;
                }
                return WORDS[index];
            }
            slot = (slot + 1) % TABLE_LEN;
        }
    }

    /// Whether the word may not be an identifier.
    #[inline]
    pub(crate) fn is_reserved(self) -> bool {
        self != Kw::NO_WORD && (self as u16) < Kw::RESERVED_END as u16
    }

    /// The word in upper case.
    pub(crate) fn text(self) -> &'static str {
        TEXTS[self as usize]
    }
}

#[inline]
fn halves(window: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*window);
    (both as u64, (both >> 64) as u64)
}

/// By the length of a word: the bytes that it has of the first eight, and of the next eight.
static MASKS: [(u64, u64); WORD_BYTES_MAX + 1] = {
    let mut masks = [(0, 0); WORD_BYTES_MAX + 1];
    let mut len = 0;
    while len <= WORD_BYTES_MAX {
        masks[len] = (mask(len), mask(len.saturating_sub(8)));
        len += 1;
    }
    masks
};

const fn mask(len: usize) -> u64 {
    if len >= 8 { u64::MAX } else { (1u64 << (8 * len)) - 1 }
}

/// Whether `word` is reserved, so that it must be quoted to be an identifier.
#[must_use]
pub fn is_reserved_word(word: &str) -> bool {
    Kw::find(word.as_bytes(), 0, word.len()).is_reserved()
}

/// Every word the grammar knows, in upper case, and whether it is reserved.
pub fn keywords() -> impl Iterator<Item = (&'static str, bool)> {
    WORDS.iter().filter(|w| !w.text().is_empty()).map(|w| (w.text(), w.is_reserved()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case() {
        for (text, reserved) in keywords() {
            for form in [text.to_string(), text.to_lowercase(), format!("{text}                    ")] {
                let found = Kw::find(form.as_bytes(), 0, text.len());
                assert_eq!(found.text(), text);
                assert_eq!(found.is_reserved(), reserved, "{text}");
            }
        }
        for (text, _) in keywords() {
            assert_eq!(Kw::find(format!("{text}X").as_bytes(), 0, text.len() + 1).text().len() % (text.len() + 1), 0, "{text}X");
        }
        assert_eq!(Kw::find(b"SQL_CALC_FOUND_ROWZ", 0, 19), Kw::NO_WORD);
        assert_eq!(Kw::find(b"", 0, 0), Kw::NO_WORD);
        assert!(is_reserved_word("select") && !is_reserved_word("status") && is_reserved_word("manual"));
    }
}
