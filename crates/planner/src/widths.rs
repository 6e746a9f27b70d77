//! How many characters the whole numbers that functions make take at most, as MySQL 9.7 says it: asked of it, function by function.
//!
//! Clients are told the width, and it decides whether a column that keeps such a number is an INT or a BIGINT (`statement.rs`, CREATE TABLE … SELECT).

use crate::expr::Unit;
use crate::func::Func;
use types::ColumnType;

/// Of a number that may be any BIGINT and is no column's.
pub const ANY: u32 = 21;
/// Of what is true or false.
pub const TRUTH: u32 = 1;
/// Of a length or position in a string.
const POSITION: u32 = 11;

/// A BIGINT that takes so many characters.
pub fn whole(width: u32, unsigned: bool) -> ColumnType {
    ColumnType { length: width, unsigned, ..ColumnType::bigint() }
}

/// Of a function that returns a whole number.
pub fn of_function(func: Func) -> u32 {
    use Func as F;
    match func {
        F::GetLock | F::ReleaseLock | F::IsFreeLock | F::Benchmark | F::JsonOverlaps | F::MemberOf => TRUTH,
        F::DayOfWeek | F::WeekDay | F::Quarter | F::StrCmp | F::Interval => 2,
        F::Month | F::Day | F::Minute | F::Second | F::Week | F::WeekOfYear => 3,
        F::Ascii | F::Hour | F::DayOfYear => 4,
        F::YearWeek => 7,
        F::ToDays => 8,
        F::DateDiff => 9,
        F::TimeToSec | F::Crc32 | F::Coercibility => 10,
        F::Length | F::CharLength | F::BitLength | F::Instr | F::Locate | F::Field | F::FindInSet | F::UncompressedLength => POSITION,
        _ => ANY,
    }
}

/// Of EXTRACT.
pub fn of_extract(unit: Unit) -> u32 {
    use Unit as U;
    match unit {
        U::Quarter => 2,
        U::Month | U::Week | U::Day | U::Minute | U::Second => 3,
        U::Hour => 4,
        U::Year | U::MinuteSecond => 5,
        U::HourMinute => 6,
        U::YearMonth | U::Microsecond => 7,
        U::HourSecond => 8,
        U::DayHour | U::SecondMicrosecond => 9,
        U::DayMinute | U::MinuteMicrosecond => 11,
        U::DaySecond => 13,
        _ => 20,
    }
}

/// Whether a function of arguments that are not NULL may return NULL all the same: of text that is no date, or of a lock that is not there.
pub fn may_be_null(func: Func) -> bool {
    use Func as F;
    matches!(
        func,
        F::Month
            | F::Day
            | F::DayOfWeek
            | F::WeekDay
            | F::DayOfYear
            | F::Quarter
            | F::Week
            | F::WeekOfYear
            | F::YearWeek
            | F::Hour
            | F::Minute
            | F::Second
            | F::Microsecond
            | F::ToDays
            | F::ToSeconds
            | F::TimeToSec
            | F::DateDiff
            | F::InetAton
            | F::GetLock
            | F::ReleaseLock
            | F::IsFreeLock
            | F::IsUsedLock
            | F::Benchmark
    )
}
