//! What MySQL 9.7 stored, strict (its default sql_mode) and not (sql_mode ''), case by case.
//!
//! Expected is `E` and the error's number, or the stored value and the warnings (`W`) and notes (`N`) by number.

use super::*;
use crate::{Collation, TimeZone, parse_datetime, parse_time};

fn members(kind: TypeKind) -> ColumnType {
    ColumnType::with_members(kind, ["a".into(), "b".into()], Collation::DEFAULT)
}

fn decimal(text: &str) -> Value {
    Value::Decimal(Decimal::parse_exact(text.as_bytes()).unwrap())
}

fn datetime(text: &str) -> Value {
    Value::DateTime(parse_datetime(text.as_bytes(), SqlMode::NONE).unwrap())
}

fn date(text: &str) -> Value {
    Value::Date(parse_datetime(text.as_bytes(), SqlMode::NONE).unwrap().date())
}

fn time(text: &str) -> Value {
    Value::Time(parse_time(text.as_bytes()).unwrap())
}

/// 2026-11-20, the day on which the cases were observed.
const NOW_MICROS: i64 = 1_795_132_800_000_000;

fn store(ty: &ColumnType, value: Value, mode: SqlMode, zone: &TimeZone) -> String {
    let mut warnings = Vec::new();
    let mut context =
        StoreContext { mode, strict: mode.is_strict(), column: "c", row: 1, zone, now_micros: NOW_MICROS, warnings: &mut warnings };
    match store_convert(value, ty, &mut context) {
        Err(error) => format!("E{}", error.code),
        Ok(stored) => {
            let mut text = shown(ty, &stored, zone);
            for warning in &warnings {
                let letter = if warning.level == WarningLevel::Note { 'N' } else { 'W' };
                text.push_str(&format!(" {letter}{}", warning.code));
            }
            text
        }
    }
}

fn shown(ty: &ColumnType, stored: &Value, zone: &TimeZone) -> String {
    let mut out = Vec::new();
    match (stored, ty.kind) {
        (Value::UInt(v), TypeKind::Bit) => return format!("{v:X}"),
        (Value::UInt(v), TypeKind::Year) => return format!("{v:04}"),
        (Value::Bytes(v), kind) if kind.is_binary_string() => return v.iter().map(|byte| format!("{byte:02X}")).collect(),
        (Value::Timestamp(v), _) => zone.to_local(*v).write_to(ty.decimals, &mut out),
        (Value::DateTime(v), _) => v.write_to(ty.decimals, &mut out),
        (Value::Time(v), _) => v.write_to(ty.decimals, &mut out),
        (Value::Float(v), _) if ty.decimals <= 30 => crate::format_fixed(f64::from(*v), ty.decimals, &mut out),
        (other, _) => text_of(other, &mut out),
    }
    String::from_utf8(out).unwrap()
}

fn check(ty: ColumnType, value: Value, strict: &str, lax: &str) {
    let zone = TimeZone::utc();
    let got = (store(&ty, value.clone(), SqlMode::DEFAULT, &zone), store(&ty, value.clone(), SqlMode::NONE, &zone));
    assert_eq!((got.0.as_str(), got.1.as_str()), (strict, lax), "{ty} <- {value:?}");
}

#[test]
fn values_are_stored_as_mysql_stores_them() {
    check(ColumnType::new(TypeKind::Int), Value::from("abc"), "E1366", "0 W1366");
    check(ColumnType::new(TypeKind::Int), Value::from("12abc"), "E1265", "12 W1265");
    check(ColumnType::new(TypeKind::Int), Value::from(""), "E1366", "0 W1366");
    check(ColumnType::new(TypeKind::Int), Value::from(" 12 "), "12", "12");
    check(ColumnType::new(TypeKind::Int), Value::from("1e3"), "1000", "1000");
    check(ColumnType::new(TypeKind::Int), Value::from("1.5"), "2", "2");
    check(ColumnType::new(TypeKind::Int), Value::from("99999999999"), "E1264", "2147483647 W1264");
    check(ColumnType::new(TypeKind::Int), decimal("2.5"), "3", "3");
    check(ColumnType::new(TypeKind::Int), Value::Double(2.5e0), "2", "2");
    check(ColumnType::new(TypeKind::Int), Value::Double(3.5e0), "4", "4");
    check(ColumnType::new(TypeKind::Int), Value::Double(1e30), "E1264", "2147483647 W1264");
    check(ColumnType::new(TypeKind::Int), Value::from("-5 x"), "E1265", "-5 W1265");
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) }, Value::Int(-1), "E1264", "0 W1264");
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) }, Value::from("-1"), "E1264", "0 W1264");
    let tenths = |tenths: i128| Value::Decimal(Decimal::new(tenths, 1));
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) }, tenths(-4), "E1264", "0 W1264");
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) }, tenths(0), "0", "0");
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) }, Value::Double(-0.4), "0", "0");
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Int) }, Value::from("-0.4"), "0", "0");
    check(ColumnType { unsigned: true, ..ColumnType::decimal(5, 0) }, tenths(-4), "E1264", "0 W1264");
    check(ColumnType { unsigned: true, ..ColumnType::decimal(5, 0) }, Value::from("-0.4"), "E1264", "0 W1264");
    check(ColumnType::new(TypeKind::TinyInt), Value::Int(300), "E1264", "127 W1264");
    check(ColumnType::new(TypeKind::Int), date("2024-01-02"), "20240102", "20240102");
    check(ColumnType::new(TypeKind::Int), datetime("2024-01-02 03:04:05"), "E1264", "2147483647 W1264");
    check(ColumnType::new(TypeKind::BigInt), datetime("2024-01-02 03:04:05.7"), "20240102030406", "20240102030406");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, decimal("1.234"), "1.23 N1265", "1.23 N1265");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, decimal("1.235"), "1.24 N1265", "1.24 N1265");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::from("1.235"), "1.24 N1265", "1.24 N1265");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::Int(1000), "E1264", "999.99 W1264");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::from("abc"), "E1366", "0.00 W1366");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::from("1x"), "E1366", "1.00 N1265");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::from(""), "E1366", "0.00 W1366");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::from("1 "), "1.00", "1.00");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::Double(1.239e0), "1.24 N1265", "1.24 N1265");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::Double(1e10), "E1264", "999.99 W1264");
    check(
        ColumnType { unsigned: true, length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) },
        Value::Int(-1),
        "E1264",
        "0.00 W1264",
    );
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Decimal) }, Value::from("1e99"), "E1366", "999.99 W1264");
    check(ColumnType::new(TypeKind::Double), Value::from("abc"), "E1366", "0 W1366");
    check(ColumnType::new(TypeKind::Double), Value::from("1x"), "E1366", "1 W1366");
    check(ColumnType::new(TypeKind::Double), Value::from(""), "E1366", "0 W1366");
    check(ColumnType::new(TypeKind::Double), Value::from("1 "), "1", "1");
    check(ColumnType { unsigned: true, ..ColumnType::new(TypeKind::Double) }, Value::Int(-1), "E1264", "0 W1264");
    check(ColumnType::new(TypeKind::Float), Value::Double(1e39), "E1264", "3.40282e38 W1264");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Float) }, decimal("1.235"), "1.24", "1.24");
    check(ColumnType { length: 5, decimals: 2, ..ColumnType::new(TypeKind::Float) }, Value::Int(99999), "E1264", "999.99 W1264");
    check(ColumnType::new(TypeKind::Double), Value::from("1e999"), "E1264", "1.7976931348623157e308 W1264");
    check(ColumnType::new(TypeKind::Year), Value::Int(0), "0000", "0000");
    check(ColumnType::new(TypeKind::Year), Value::from("0"), "2000", "2000");
    check(ColumnType::new(TypeKind::Year), Value::Int(69), "2069", "2069");
    check(ColumnType::new(TypeKind::Year), Value::Int(70), "1970", "1970");
    check(ColumnType::new(TypeKind::Year), Value::Int(1900), "E1264", "0000 W1264");
    check(ColumnType::new(TypeKind::Year), Value::from("abc"), "E1366", "0000 W1366");
    check(ColumnType::new(TypeKind::Year), Value::from("2024"), "2024", "2024");
    check(ColumnType::new(TypeKind::Year), Value::from("2024x"), "E1265", "2024 W1265");
    check(ColumnType::new(TypeKind::Year), Value::Int(2156), "E1264", "0000 W1264");
    check(ColumnType::new(TypeKind::Year), Value::from("0000"), "0000", "0000");
    check(ColumnType::new(TypeKind::Year), Value::from("000"), "2000", "2000");
    check(ColumnType::new(TypeKind::Year), Value::from("[1]"), "E1366", "0000 W1366");
    check(ColumnType::new(TypeKind::Year), Value::Double(1.5), "2001", "2001");
    check(ColumnType::new(TypeKind::Year), Value::Double(-0.25), "E1264", "0000 W1264");
    check(ColumnType::new(TypeKind::Date), Value::from("abc"), "E1292", "0000-00-00 W1265");
    check(ColumnType::new(TypeKind::Date), Value::from("2024-01-02x"), "E1292", "2024-01-02 W1265");
    check(ColumnType::new(TypeKind::Date), Value::from("2024-01-02 10:00:00"), "2024-01-02 N1292", "2024-01-02 N1265");
    check(ColumnType::new(TypeKind::Date), Value::from("0000-00-00"), "E1292", "0000-00-00");
    check(ColumnType::new(TypeKind::Date), Value::from("2024-00-01"), "E1292", "2024-00-01");
    check(ColumnType::new(TypeKind::Date), Value::Int(20240102), "2024-01-02", "2024-01-02");
    check(ColumnType::new(TypeKind::Date), Value::Int(100), "E1292", "0000-00-00 W1265");
    check(ColumnType::new(TypeKind::Date), Value::from("2023-02-30"), "E1292", "0000-00-00 W1264");
    check(ColumnType::new(TypeKind::Date), Value::from(""), "E1292", "0000-00-00 W1265");
    check(ColumnType::new(TypeKind::Date), datetime("2024-01-02 10:00:00"), "2024-01-02 N1292", "2024-01-02 N1265");
    check(ColumnType::new(TypeKind::Date), time("10:00:00"), "2026-11-20 N1292", "2026-11-20 N1265");
    check(ColumnType::new(TypeKind::Date), decimal("1.5"), "E1292", "0000-00-00 W1265");
    check(ColumnType::new(TypeKind::Date), Value::from("2024-01-02 25:00:00"), "E1292", "0000-00-00 W1265");
    check(ColumnType::new(TypeKind::DateTime), Value::from("abc"), "E1292", "0000-00-00 00:00:00 W1265");
    check(ColumnType::new(TypeKind::DateTime), Value::from("2024-01-02 10:00:00x"), "E1292", "2024-01-02 10:00:00 W1265");
    check(ColumnType::new(TypeKind::DateTime), Value::from("2024-01-02 10:00:00.5"), "2024-01-02 10:00:01", "2024-01-02 10:00:01");
    check(ColumnType::new(TypeKind::DateTime), Value::from("9999-12-31 23:59:59.5"), "E1441", "0000-00-00 00:00:00 W1441 W1264");
    check(ColumnType::new(TypeKind::DateTime), decimal("20240102101010.5"), "2024-01-02 10:10:11", "2024-01-02 10:10:11");
    check(
        ColumnType { decimals: 3, ..ColumnType::new(TypeKind::DateTime) },
        Value::from("2024-01-02 10:00:00.1236"),
        "2024-01-02 10:00:00.124",
        "2024-01-02 10:00:00.124",
    );
    check(ColumnType::new(TypeKind::DateTime), date("2024-01-02"), "2024-01-02 00:00:00", "2024-01-02 00:00:00");
    check(ColumnType::new(TypeKind::DateTime), Value::from("2024-01-02 10:00:00+02:00"), "2024-01-02 08:00:00", "2024-01-02 08:00:00");
    check(ColumnType::new(TypeKind::Timestamp), Value::from("1960-01-01"), "E1292", "0000-00-00 00:00:00 W1264");
    check(ColumnType::new(TypeKind::Timestamp), Value::from("2040-01-01"), "E1292", "0000-00-00 00:00:00 W1264");
    check(ColumnType::new(TypeKind::Timestamp), Value::from("2024-01-02 10:00:00.5"), "2024-01-02 10:00:01", "2024-01-02 10:00:01");
    check(ColumnType::new(TypeKind::Timestamp), Value::from("abc"), "E1292", "0000-00-00 00:00:00 W1265");
    check(ColumnType::new(TypeKind::Timestamp), Value::from("1970-01-01 00:00:00"), "E1292", "0000-00-00 00:00:00 W1264");
    check(ColumnType::new(TypeKind::Timestamp), Value::from("2038-01-19 03:14:07.9"), "E1292", "0000-00-00 00:00:00 W1264");
    check(ColumnType::new(TypeKind::Time), Value::from("abc"), "E1292", "00:00:00 W1265");
    check(ColumnType::new(TypeKind::Time), Value::from("10:11:12x"), "E1292", "10:11:12 W1265");
    check(ColumnType::new(TypeKind::Time), Value::from("900:00:00"), "E1292", "838:59:59 W1264");
    check(ColumnType::new(TypeKind::Time), Value::from("10:60:00"), "E1292", "00:00:00 W1264");
    check(ColumnType::new(TypeKind::Time), Value::Int(101112), "10:11:12", "10:11:12");
    check(ColumnType::new(TypeKind::Time), Value::Int(9000000), "E1292", "838:59:59 W1264");
    check(ColumnType::new(TypeKind::Time), Value::from("2024-01-02 10:00:00"), "10:00:00 N1292", "10:00:00 N1265");
    check(ColumnType::new(TypeKind::Time), datetime("2024-01-02 10:00:00"), "10:00:00", "10:00:00");
    check(ColumnType::new(TypeKind::Time), Value::from("10:00:00.5"), "10:00:01", "10:00:01");
    check(ColumnType::new(TypeKind::Time), date("2024-01-02"), "00:00:00", "00:00:00");
    check(ColumnType::new(TypeKind::Time), Value::from(""), "00:00:00", "00:00:00");
    check(ColumnType::new(TypeKind::Time), Value::Int(106099), "E1292", "00:00:00 W1264");
    check(ColumnType::new(TypeKind::Time), Value::Int(i64::MAX), "E1292", "838:59:59 W1264");
    check(ColumnType::new(TypeKind::Time), Value::Double(-1e30), "E1292", "-838:59:59 W1264");
    check(ColumnType::new(TypeKind::Time), Value::UInt(u64::MAX), "E1292", "838:59:59 W1264");
    check(ColumnType::new(TypeKind::Time), decimal("1.5"), "00:00:02", "00:00:02");
    check(ColumnType { decimals: 1, ..ColumnType::new(TypeKind::Time) }, decimal("1.56"), "00:00:01.6", "00:00:01.6");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::VarChar) }, Value::from("abcd"), "E1406", "abc W1265");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::VarChar) }, Value::from("abc  "), "abc N1265", "abc N1265");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Char) }, Value::from("abc  "), "abc", "abc");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Char) }, Value::from("ab  "), "ab", "ab");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Char) }, Value::from("abcd"), "E1406", "abc W1265");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::VarChar) }, Value::Int(12345), "E1406", "123 W1265");
    check(ColumnType { length: 10, ..ColumnType::new(TypeKind::VarChar) }, Value::bytes(&[0xff]), "E1366", " W1366");
    check(ColumnType { length: 10, ..ColumnType::new(TypeKind::VarChar) }, Value::bytes(&[0x61, 0xff, 0x62]), "E1366", "a W1366");
    check(
        ColumnType::new(TypeKind::TinyText),
        Value::from("a".repeat(256)),
        "E1406",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa W1265",
    );
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Binary) }, Value::from("a"), "610000", "610000");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Binary) }, Value::from("abcd"), "E1406", "616263 W1265");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::VarBinary) }, Value::from("abcd"), "E1406", "616263 W1265");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::VarBinary) }, Value::from("abc "), "E1406", "616263 W1265");
    check(ColumnType { length: 10, ..ColumnType::new(TypeKind::VarChar) }, decimal("1.50"), "1.50", "1.50");
    check(ColumnType { length: 10, ..ColumnType::new(TypeKind::VarChar) }, Value::Double(1.0 / 3.0), "0.33333333", "0.33333333");
    check(
        ColumnType { length: 30, ..ColumnType::new(TypeKind::VarChar) },
        datetime("2024-01-02 10:00:00.5"),
        "2024-01-02 10:00:00.5",
        "2024-01-02 10:00:00.5",
    );
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Char) }, Value::Double(1.5e0), "1.5", "1.5");
    check(members(TypeKind::Enum), Value::from("A"), "a", "a");
    check(members(TypeKind::Enum), Value::from("c"), "E1265", " W1265");
    check(members(TypeKind::Enum), Value::Int(2), "b", "b");
    check(members(TypeKind::Enum), Value::Int(3), "E1265", " W1265");
    check(members(TypeKind::Enum), Value::from("2"), "b", "b");
    check(members(TypeKind::Enum), Value::Int(0), "E1265", " W1265");
    check(members(TypeKind::Enum), Value::from(""), "E1265", " W1265");
    check(members(TypeKind::Enum), Value::from("a "), "a", "a");
    check(members(TypeKind::Set), Value::from("b,a"), "a,b", "a,b");
    check(members(TypeKind::Set), Value::from("a,c"), "E1265", "a W1265");
    check(members(TypeKind::Set), Value::Int(3), "a,b", "a,b");
    check(members(TypeKind::Set), Value::Int(4), "E1265", " W1265");
    check(members(TypeKind::Set), Value::from(""), "", "");
    check(members(TypeKind::Set), Value::from("3"), "a,b", "a,b");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Bit) }, Value::Int(7), "7", "7");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Bit) }, Value::Int(8), "E1406", "7 W1264");
    check(ColumnType { length: 8, ..ColumnType::new(TypeKind::Bit) }, Value::from("a"), "61", "61");
    check(ColumnType { length: 8, ..ColumnType::new(TypeKind::Bit) }, Value::from("ab"), "E1406", "FF W1264");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Bit) }, Value::Int(-1), "E1406", "7 W1264");
    check(ColumnType { length: 3, ..ColumnType::new(TypeKind::Bit) }, decimal("1.5"), "2", "2");
    check(ColumnType { nullable: false, ..ColumnType::new(TypeKind::Int) }, Value::Null, "E1048", "0 W1048");
}

#[test]
fn messages_name_column_and_row() {
    let zone = TimeZone::utc();
    let mut warnings = Vec::new();
    let mut context = StoreContext {
        mode: SqlMode::DEFAULT,
        strict: true,
        column: "d",
        row: 3,
        zone: &zone,
        now_micros: NOW_MICROS,
        warnings: &mut warnings,
    };
    let error = store_convert(Value::from("x"), &ColumnType::new(TypeKind::Date), &mut context).unwrap_err();
    assert_eq!(error.to_string(), "ERROR 1292 (22007): Incorrect date value: 'x' for column 'd' at row 3");
    let error = store_convert(Value::bytes(b"a\xFF\x00bcdefg"), &ColumnType::varchar(9, Collation::DEFAULT), &mut context).unwrap_err();
    assert_eq!(error.message, "Incorrect string value: '\\xFF\\x00bcde...' for column 'd' at row 3");
}

#[test]
fn timestamps_are_stored_as_instants() {
    let zone = TimeZone::parse("+02:00").unwrap();
    let ty = ColumnType::new(TypeKind::Timestamp);
    assert_eq!(store(&ty, Value::from("2024-01-02 10:00:00"), SqlMode::DEFAULT, &zone), "2024-01-02 10:00:00");
    assert_eq!(
        store(&ColumnType::new(TypeKind::DateTime), Value::Timestamp(Timestamp::from_micros(1_000_000)), SqlMode::DEFAULT, &zone),
        "1970-01-01 02:00:01"
    );
}

#[test]
fn exact_decimals() {
    let ty = ColumnType::decimal(5, 2);
    assert_eq!(exact_decimal(&ty, &Value::Int(7)), Some(Value::Decimal(Decimal::new(700, 2))));
    assert_eq!(exact_decimal(&ty, &decimal("1.5000")), Some(Value::Decimal(Decimal::new(150, 2))));
    assert_eq!(exact_decimal(&ty, &decimal("1.505")), None);
    assert_eq!(exact_decimal(&ty, &Value::Int(1000)), None);
}
