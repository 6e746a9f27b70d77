//! SQL values, column types, decimals, temporal types, collations: what a value *is* in MySQL's dialect, with no table, page or session.
//!
//! # Invariants
//! 1. [`Value`] is at most 32 bytes; copying a number or a temporal value allocates nothing.
//! 2. A decimal holds at most 65 digits, at most 30 of them after the point (intermediate quotients up to 36).
//! 3. Nothing here panics on values that come from SQL text, the network or a page.
//!
//! # What a value of each type looks like
//! Integers are [`Value::Int`] or, for unsigned types, [`Value::UInt`]; YEAR and BIT are `UInt`; ENUM and SET are [`Value::Bytes`] with
//! their text (rows and keys hold the number); TIMESTAMP is [`Value::Timestamp`], an instant in UTC that a session shows in its own time zone.
//!
//! # Not here
//! Expression typing (the planner's), arithmetic, functions and comparisons of what only runs can tell (the executor's), wire formats (protocol's), bytes of rows and keys (record's).
//!
//! # Start at
//! [`Value`], [`ColumnType`], then [`store_convert`].

mod bytes;
mod charset;
mod collation;
mod column_type;
mod compare;
mod decimal;
mod digits;
mod members;
mod narrow_number;
mod number_text;
mod sql_mode;
mod store;
mod temporal;
mod value;

pub use bytes::{ByteString, is_ascii};
pub use charset::Charset;
pub use collation::{Collation, LikeLead, utf8};
pub use column_type::{ColumnType, DECIMALS_NOT_FIXED, TypeKind, quoted_text};
pub use compare::{CompareClass, CompareContext, compare, to_f64};
pub use decimal::{Decimal, ParsedDecimal};
pub use digits::{DECIMAL_ROOM, DIGITS_ROOM, put_decimal, put_digits};
pub use narrow_number::format_double_within;
pub use number_text::{
    LeadingInteger, ParsedDouble, format_double, format_fixed, format_float, leading_integer, number_operand, parse_double,
    parse_double_prefix, whole_text, write_double, write_float, write_i64, write_padded, write_u64,
};
pub use sql_mode::SqlMode;
pub use store::{
    Direct, Field, StoreContext, exact_decimal, implicit_default, is_stored_as_it_is, store_convert, store_directly, text_of, year_operand,
};
pub use temporal::{
    Date, DateTime, LocalTime, ParsedDateTime, ParsedTime, Time, TimeZone, Timestamp, Utc, ZoneChange, datetime_from_number,
    moment_operand, parse_datetime, parse_datetime_full, parse_time, parse_time_full, time_from_number, time_operand,
};
pub use value::Value;
