//! What a range of an index holds is what the comparison finds, whatever the column's type and the value; and keys of hash tables say what it says.

use super::compare;
use crate::batch::tests::Context;
use crate::hash_key::{Key, append, lone_key};
use catalog::{ColumnDef, IndexDef, TableDef};
use planner::expr::{CmpOp, Expr, ExprKind};
use planner::keys::{BoundValues, Fit, fit, key_ranges};
use planner::plan::{Interval, Points, PrefixRange, RangeSpec};
use record::KeyPart;
use types::{
    Collation, ColumnType, Date, DateTime, Decimal, LocalTime, SqlMode, StoreContext, Time, Timestamp, TypeKind, Value, store_convert,
};

fn types() -> Vec<ColumnType> {
    use TypeKind as K;
    let mut types: Vec<ColumnType> =
        [K::TinyInt, K::SmallInt, K::MediumInt, K::Int, K::BigInt, K::Year, K::Float, K::Double, K::Date].map(ColumnType::new).into();
    let unsigned: Vec<ColumnType> = types[..5].iter().cloned().map(ColumnType::unsigned).collect();
    types.extend(unsigned);
    types.extend([ColumnType::decimal(5, 2), ColumnType::decimal(65, 30), ColumnType::decimal(20, 0)]);
    for kind in [K::Time, K::DateTime, K::Timestamp] {
        types.extend([0, 2, 6].map(|digits| ColumnType::temporal(kind, digits)));
    }
    types.extend([Collation::DEFAULT, Collation::Binary, Collation::Utf8mb4Bin].map(|collation| ColumnType::varchar(12, collation)));
    types.push(ColumnType { length: 12, ..ColumnType::new(K::Char) });
    types.push(ColumnType { length: 4, collation: Collation::Binary, ..ColumnType::new(K::Binary) });
    types
}

fn values() -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    let integers = [0, 1, -1, 2, 69, 70, 99, 100, 127, 128, -129, 1900, 1901, 2024, 2155, 2156, 65_536, 20_240_229, 240_229, 123_456];
    values.extend(integers.map(Value::Int));
    values.extend([1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN, 999, 1000, -1000].map(Value::Int));
    values.extend([0, 1, 2024, 255, 256, 1 << 63, u64::MAX, u64::MAX - 1].map(Value::UInt));
    let doubles = [0.0, -0.0, 0.5, -0.5, 1.5, 2024.0, 1900.5, 2155.5, 1e15, 9.2e18, -9.3e18, 1.9e19, 1e30, -1e300, 1e-300, 0.1, 99.995];
    values.extend(doubles.map(Value::Double));
    values.extend([0.1f32, 1.5, -0.0, 3e38].map(Value::Float));
    let decimals = ["0.1", "-0.0", "1.5", "-1.505", "999.99", "999.995", "-1000", "2155.5", "1900.5", "0.000000000000000000000000000001"];
    values.extend(decimals.map(|text| Value::Decimal(Decimal::parse(text.as_bytes()).value)));
    // As doubles they would be whole.
    let decimals = ["0.99999999999999999999", "-0.99999999999999999999", "2024.00000000000000000001", "9223372036854775806.9999999999999"];
    values.extend(decimals.map(|text| Value::Decimal(Decimal::parse(text.as_bytes()).value)));
    values.push(Value::Decimal(Decimal::parse("9".repeat(65).as_bytes()).value));
    let numbers = ["", "0", "00", "1", "1.5", " 1", "12abc", "abc", "2024", "2155", "2156", "1e3", "-1"];
    values.extend(numbers.map(Value::from));
    let moments = ["2024-02-29", "2024-02-29 12:34:56", "24-2-29", "2024-02-29 12:34:56.789", "2024-02-30", "2024-13-01", "0000-00-00"];
    values.extend(moments.map(Value::from));
    values.extend(["12:34:56", "12:34:56.789", "-12:34:56", "838:59:60", "1 1:1:1", "ä", "A "].map(Value::from));
    values.push(Value::from(&[0xff, 0, 1, 2][..]));
    let days = [Date::from_fields(2024, 2, 29), Date::from_fields(2024, 0, 0), Date::from_fields(9999, 12, 31), Date::ZERO];
    values.extend(days.map(Value::Date));
    let at = |hour, micros| DateTime::from_fields(days[0], hour, 34, 56, micros);
    values.extend([DateTime::from_date(days[0]), at(12, 0), at(12, 789_000), at(23, 999_999), DateTime::ZERO].map(Value::DateTime));
    let times = [0, 1, -1, 45_296_000_000, 45_296_789_000, -45_296_000_000, 3_020_399_000_000];
    values.extend(times.map(|micros| Value::Time(Time::from_micros(micros))));
    values.extend([0, 1, 1_709_210_096_000_000, 1_709_210_096_780_000].map(|micros| Value::Timestamp(Timestamp::from_micros(micros))));
    values
}

fn definition(ty: &ColumnType, descending: bool) -> TableDef {
    let parts = vec![KeyPart { descending, ..KeyPart::ascending(0) }];
    TableDef::new("d", "t", vec![ColumnDef::new("c", ty.clone())], vec![IndexDef::new("PRIMARY", true, parts)])
}

/// The values as a column of the type holds them.
fn stored(ty: &ColumnType) -> Vec<Value> {
    let context = Context::default();
    let mut stored = Vec::new();
    for value in values() {
        let warnings = &mut Vec::new();
        let mut store = StoreContext { mode: SqlMode::NONE, strict: false, column: "c", row: 1, zone: &context, now_micros: 0, warnings };
        stored.extend(store_convert(value, ty, &mut store).ok());
    }
    stored
}

fn range(op: CmpOp, value: Value) -> RangeSpec {
    let value = Expr::literal(value, ColumnType::new(TypeKind::Null));
    let interval =
        |low, high| PrefixRange { interval: Some(Interval { low, high, not_null: true, ..Interval::default() }), ..PrefixRange::default() };
    let prefix = match op {
        CmpOp::Eq => PrefixRange { points: vec![Points::one(value, false)], ..PrefixRange::default() },
        CmpOp::Ne => {
            let except = Interval { except: vec![value], not_null: true, ..Interval::default() };
            PrefixRange { interval: Some(except), ..PrefixRange::default() }
        }
        CmpOp::Lt | CmpOp::Le => interval(Vec::new(), vec![(value, op == CmpOp::Le)]),
        _ => interval(vec![(value, op == CmpOp::Ge)], Vec::new()),
    };
    RangeSpec { any: vec![prefix] }
}

/// What compares with what by value: each of a class with all others of it.
fn class(value: &Value) -> Option<u8> {
    Some(match value {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => 0,
        Value::Float(_) | Value::Double(_) => 1,
        Value::Bytes(_) => 2,
        Value::Date(_) | Value::DateTime(_) => 3,
        Value::Time(_) => 4,
        Value::Timestamp(_) => 5,
        Value::Null | Value::Json(_) => return None,
    })
}

#[test]
fn values_that_compare_equal_have_one_key_and_others_have_not() {
    let context = Context::default();
    let mut all = values();
    let exact = ["1.50", "2024.0", "1e3", "18446744073709551615", "-129.000", "9007199254740993", "0.10"];
    all.extend(exact.map(|text| Value::Decimal(Decimal::parse(text.as_bytes()).value)));
    let (mut equal, mut pairs) = (0, 0);
    for collation in [Collation::DEFAULT, Collation::Binary, Collation::Utf8mb4Bin] {
        let key = |value: &Value| {
            let (mut lone, mut part) = (Vec::new(), Vec::new());
            let integer = match lone_key(value, collation, &mut lone) {
                Key::Int(integer) => Some(integer),
                Key::Bytes(_) => None,
            };
            append(value, collation, &mut part);
            (integer, lone, part)
        };
        for a in &all {
            for b in all.iter().filter(|b| class(a).is_some() && class(a) == class(b)) {
                let order = compare(a, b, collation, &context).expect("neither is NULL");
                assert_eq!(compare(b, a, collation, &context), Some(order.reverse()), "{a:?} {b:?}");
                assert_eq!(order.is_eq(), key(a) == key(b), "{a:?} {b:?} {collation:?}");
                (equal, pairs) = (equal + u32::from(order.is_eq()), pairs + 1);
            }
        }
    }
    assert!(equal > 3 * all.len() as u32 && pairs > equal, "{equal} of {pairs}");
}

impl BoundValues for Context {
    fn value(&mut self, bound: &Expr) -> Option<Value> {
        match &bound.kind {
            ExprKind::Literal(v) => Some(v.clone()),
            _ => None,
        }
    }
    fn zone(&self) -> &dyn LocalTime {
        self
    }
}

/// Asserts that the range of a comparison holds the rows for which that is true, and no others where it says so; whether it says so.
#[track_caller]
fn check_range(def: &TableDef, rows: &[(Value, Vec<u8>)], op: CmpOp, value: &Value, context: &mut Context) -> bool {
    let ty = &def.columns[0].ty;
    let found = key_ranges(def, 0, &range(op, value.clone()), context).expect("all values are known");
    for (row, key) in rows {
        let inside = found.ranges.iter().any(|r| r.lower <= *key && (r.upper.is_empty() || *key < r.upper));
        let holds = compare(row, value, ty.collation, &*context).is_some_and(|order| crate::subquery::holds(op, order));
        assert!(inside || !holds, "{row:?} {op:?} {value:?} holds for {ty}, outside of {found:?}");
        assert!(!found.exact || inside == holds, "{row:?} {op:?} {value:?} is {holds} for {ty}: {found:?}");
    }
    found.exact
}

const OPERATORS: [CmpOp; 6] = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];

#[test]
fn ranges_hold_what_comparisons_find() {
    let context = &mut Context::default();
    let mut usable = 0;
    for (ty, descending) in types().into_iter().flat_map(|ty| [(ty.clone(), false), (ty, true)]) {
        let def = definition(&ty, descending);
        let part = &def.indexes[0].parts[0];
        let encode = |value: Value| {
            let mut key = Vec::new();
            record::key::try_encode_part(&ty, part, &value, &mut key).expect("a stored value");
            (value, key)
        };
        let rows: Vec<(Value, Vec<u8>)> = stored(&ty).into_iter().map(encode).collect();
        for value in values() {
            if let Fit::Exact(v) | Fit::Above(v) = fit(&ty, &value) {
                let encoded = record::key::try_encode_part(&ty, part, &v, &mut Vec::new());
                assert!(encoded.is_ok(), "{value:?} for {ty} is fitted as {v:?}");
                usable += 1;
            }
            for op in OPERATORS {
                check_range(&def, &rows, op, &value, context);
            }
        }
    }
    assert!(usable > 1000, "{usable}");
}

#[test]
fn ranges_of_instants_hold_what_their_local_times_say() {
    let local = [
        "2024-03-31 01:59:59",
        "2024-03-31 02:30:00",
        "2024-03-31 03:00:00.5",
        "2024-10-27 01:30:00",
        "2024-10-27 02:00:00",
        "2024-10-27 02:30:00.25",
    ];
    let local = local.into_iter().chain([
        "2024-10-27 03:00:00",
        "2024-07-01",
        "1970-01-01",
        "1969-12-31",
        "0000-00-00",
        "2038-01-19 03:14:08",
        "2040-01-01",
        "x",
    ]);
    let local: Vec<Value> = local.map(Value::from).collect();
    let parsed = |value: &Value| match value {
        Value::Bytes(text) => types::parse_datetime(text, SqlMode::NONE).map(Value::DateTime),
        _ => None,
    };
    let moments: Vec<Value> = local.iter().filter_map(parsed).chain(local.iter().cloned()).collect();
    // Clocks are set forward at 1711846800, and back at 1729990800.
    let around =
        |second: i64| (-8..=8).flat_map(move |quarters| [0, 250_000, 500_000].map(|micros| (second + quarters * 900) * 1_000_000 + micros));
    let instants = [0, 1_000_000, i64::from(i32::MAX) * 1_000_000].into_iter().chain(around(1_711_846_800)).chain(around(1_729_990_800));
    let instants: Vec<Timestamp> = instants.map(Timestamp::from_micros).collect();
    for name in ["Europe/Berlin", "+05:30", "-13:59"] {
        let context = &mut Context::default();
        context.zone = types::TimeZone::parse(name);
        let (mut exact, mut open) = (0, 0);
        for (digits, descending) in [(0, false), (6, false), (0, true), (6, true)] {
            let ty = ColumnType::temporal(TypeKind::Timestamp, digits);
            let def = definition(&ty, descending);
            let held = instants.iter().filter(|instant| digits == 6 || instant.micros() % 1_000_000 == 0);
            let encode = |instant: &Timestamp| {
                let mut key = Vec::new();
                record::key::try_encode_part(&ty, &def.indexes[0].parts[0], &Value::Timestamp(*instant), &mut key).expect("an instant");
                (Value::Timestamp(*instant), key)
            };
            let rows: Vec<(Value, Vec<u8>)> = held.map(encode).collect();
            for (value, op) in moments.iter().flat_map(|value| OPERATORS.map(|op| (value, op))) {
                let is_exact = check_range(&def, &rows, op, value, context);
                (exact, open) = (exact + u32::from(is_exact), open + u32::from(!is_exact));
            }
        }
        // 'x' alone is no date; in Berlin three dates are two instants each, or none.
        let dates = if name == "Europe/Berlin" { local.len() - 4 } else { local.len() - 1 };
        let each = 4 * OPERATORS.len();
        assert_eq!((exact, open), ((2 * each * dates) as u32, (each * (2 * local.len() - 1 - 2 * dates)) as u32), "{name}");
    }
}
