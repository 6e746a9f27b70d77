//! Round trips, orders and garbage, over all types.

use super::*;
use base::Malformed;
use proptest::prelude::*;
use std::cmp::Ordering;
use types::{ByteString, Collation, ColumnType, Date, DateTime, Decimal, Time, Timestamp, TypeKind, Value};

fn date() -> impl Strategy<Value = Date> {
    (0u16..=9999, 0u8..=12, 0u8..=31).prop_map(|(y, m, d)| Date::from_fields(y, m, d))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-cA-C \x00\x01\t]{0,6}", "[aäßЖ漢😀 ]{0,6}", "\\PC{0,20}"]
}

fn members() -> Vec<ByteString> {
    ["red", "green", "blue"].into_iter().map(ByteString::from).collect()
}

fn int_type() -> impl Strategy<Value = ColumnType> {
    (prop::sample::select(vec![TypeKind::TinyInt, TypeKind::SmallInt, TypeKind::MediumInt, TypeKind::Int, TypeKind::BigInt]), any::<bool>())
        .prop_map(|(kind, unsigned)| ColumnType { unsigned, ..ColumnType::new(kind) })
}

/// A type and two values of it.
fn typed_pair() -> impl Strategy<Value = (ColumnType, Value, Value)> {
    let pair = |ty: ColumnType, values: BoxedStrategy<Value>| (Just(ty), values.clone(), values).boxed();
    let integer = int_type().prop_flat_map(|ty| {
        let (least, most) = ty.integer_range().unwrap();
        let unsigned = ty.unsigned;
        let value = prop_oneof![least..=most, Just(least), Just(most), Just(0i128)]
            .prop_map(move |v| if unsigned { Value::UInt(v as u64) } else { Value::Int(v as i64) });
        (Just(ty), value.clone(), value)
    });
    let decimal = (1u32..=65, 0u8..=30).prop_filter("scale", |(p, s)| u32::from(*s) <= *p).prop_flat_map(|(precision, scale)| {
        let value = (any::<i128>(), any::<i128>(), any::<bool>()).prop_map(move |(a, b, small)| {
            let limit = Decimal::max_value(precision, scale);
            let wide = Decimal::new(a, 0).mul(&Decimal::new(if small { 1 } else { b >> 45 }, 0)).unwrap_or(Decimal::ZERO);
            let modulus = limit.add(&Decimal::new(1, scale)).unwrap_or(limit);
            Value::Decimal(wide.rem(&modulus).unwrap_or(Decimal::ZERO))
        });
        (Just(ColumnType::decimal(precision, scale)), value.clone(), value)
    });
    let string = (prop::sample::select(Collation::ALL.to_vec()), text(), text())
        .prop_map(|(collation, a, b)| (ColumnType::varchar(100, collation), Value::from(a), Value::from(b)));
    let fixed_string = (prop::sample::select(Collation::ALL.to_vec()), text(), text()).prop_map(|(collation, a, b)| {
        // As `store_convert` leaves a CHAR.
        let trimmed = |text: String| Value::from(text.trim_end_matches(' '));
        (ColumnType { length: 100, collation, ..ColumnType::new(TypeKind::Char) }, trimmed(a), trimmed(b))
    });
    prop_oneof![
        3 => integer,
        1 => fixed_string,
        2 => decimal,
        3 => string,
        1 => pair(ColumnType::double(), any::<f64>().prop_filter("NaN", |v| !v.is_nan()).prop_map(Value::Double).boxed()),
        1 => pair(ColumnType::new(TypeKind::Float), any::<f32>().prop_filter("NaN", |v| !v.is_nan()).prop_map(Value::Float).boxed()),
        1 => pair(ColumnType::new(TypeKind::Date), date().prop_map(Value::Date).boxed()),
        1 => pair(
            ColumnType::temporal(TypeKind::DateTime, 6),
            (date(), 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000).prop_map(|(d, h, m, s, u)| Value::DateTime(DateTime::from_fields(d, h, m, s, u))).boxed()
        ),
        1 => pair(
            ColumnType::temporal(TypeKind::Time, 6),
            (Time::MIN.micros()..=Time::MAX.micros()).prop_map(|v| Value::Time(Time::from_micros(v))).boxed()
        ),
        1 => pair(ColumnType::temporal(TypeKind::Timestamp, 6), any::<i64>().prop_map(|v| Value::Timestamp(Timestamp::from_micros(v))).boxed()),
        1 => pair(ColumnType::new(TypeKind::Year), prop_oneof![Just(0u64), 1901u64..=2155].prop_map(Value::UInt).boxed()),
        1 => pair(ColumnType { length: 40, ..ColumnType::new(TypeKind::Bit) }, (0u64..1 << 40).prop_map(Value::UInt).boxed()),
        1 => pair(
            ColumnType::with_members(TypeKind::Enum, members(), Collation::DEFAULT),
            prop::sample::select(vec!["", "red", "green", "blue"]).prop_map(Value::from).boxed()
        ),
        1 => pair(
            ColumnType::with_members(TypeKind::Set, members(), Collation::DEFAULT),
            prop::sample::select(vec!["", "red", "green", "red,green", "red,blue", "red,green,blue"]).prop_map(Value::from).boxed()
        ),
    ]
}

impl RestoreBuffer {
    fn begun(mut self, restore: &KeyRestore) -> RestoreBuffer {
        restore.begin(&mut self);
        self
    }
}

/// The order that the key must have.
fn order(ty: &ColumnType, a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Decimal(x), Value::Decimal(y)) => x.compare(y),
        (Value::Double(x), Value::Double(y)) => x.partial_cmp(y).unwrap(),
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y).unwrap(),
        (Value::Bytes(x), Value::Bytes(y)) if ty.kind.is_string() => ty.collation.compare(x, y),
        (Value::Bytes(x), Value::Bytes(y)) => ty.member_number(x).cmp(&ty.member_number(y)),
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::UInt(x), Value::UInt(y)) => x.cmp(y),
        (Value::Date(x), Value::Date(y)) => x.cmp(y),
        (Value::Time(x), Value::Time(y)) => x.cmp(y),
        (Value::DateTime(x), Value::DateTime(y)) => x.cmp(y),
        (Value::Timestamp(x), Value::Timestamp(y)) => x.cmp(y),
        _ => panic!("{a:?} {b:?}"),
    }
}

/// Equal as SQL sees it (decimals of unequal scale are one number).
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Decimal(x), Value::Decimal(y)) => x.compare(y).is_eq(),
        _ => a == b,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_order_as_values_do((ty, a, b) in typed_pair(), nullable: bool, null_a: bool, null_b: bool, descending: bool, after: (u8, u8)) {
        let ty = ColumnType { nullable, ..ty };
        let (a, b) = (if nullable && null_a { Value::Null } else { a }, if nullable && null_b { Value::Null } else { b });
        let part = KeyPart { column: 0, prefix_chars: None, descending };
        let (mut x, mut y) = (Vec::new(), Vec::new());
        key::encode_part(&ty, &part, &a, &mut x);
        key::encode_part(&ty, &part, &b, &mut y);
        let expect = order(&ty, &a, &b);
        let expect = if descending { expect.reverse() } else { expect };
        prop_assert_eq!(x.cmp(&y), expect, "{} {:?} {:?}", ty, a, b);
        for (encoded, value) in [(&x, &a), (&y, &b)] {
            prop_assert_eq!(key::part_bytes(&ty, &part, encoded), Ok(encoded.len()));
            if part.reversible(&ty) {
                let mut rest = encoded.as_slice();
                let decoded = key::decode_part(&ty, &part, &mut rest).unwrap();
                prop_assert!(same(&decoded, value), "{} {:?} {:?}", ty, decoded, value);
                prop_assert!(rest.is_empty());
            }
        }
        x.push(after.0);
        y.push(after.1);
        prop_assert_eq!(x.cmp(&y), expect.then(after.0.cmp(&after.1)));
        prop_assert!(key::part_bytes(&ty, &part, &x) == Ok(x.len() - 1));
    }

    #[test]
    fn rows_come_back_from_keys(
        columns in prop::collection::vec((typed_pair(), any::<(bool, bool)>(), any::<(bool, bool, u8)>()), 1..10),
        order in any::<prop::sample::Index>(),
        version: u16,
    ) {
        let types: Vec<ColumnType> = columns.iter().map(|((ty, ..), (nullable, _), _)| ColumnType { nullable: *nullable, ..ty.clone() }).collect();
        let layout = std::sync::Arc::new(RowLayout::new(&types, version));
        // Some of the columns, in another order, some descending, strings perhaps cut.
        let mut parts: Vec<KeyPart> = (0..columns.len())
            .filter(|column| columns[*column].2.2 > 60)
            .map(|column| {
                let (descending, wanted, cut) = columns[column].2;
                let prefix_chars = (types[column].kind.is_string() && !wanted && cut < 90).then_some(u32::from(cut % 4) + 1);
                KeyPart { column, prefix_chars, descending }
            })
            .collect();
        if !parts.is_empty() {
            let at = order.index(parts.len());
            parts.rotate_left(at);
            parts.swap(0, at);
        }
        let restorable = |part: &&KeyPart| part.reversible(&types[part.column]);
        let wanted: Vec<usize> = parts.iter().filter(restorable).map(|part| part.column).filter(|column| columns[*column].2.1).collect();
        let restore = KeyRestore::new(&layout, &parts, wanted.iter().copied()).unwrap();
        prop_assert_eq!(restore.is_empty(), wanted.is_empty());
        for part in &parts {
            prop_assert_eq!(KeyRestore::new(&layout, &parts, [part.column]).is_some(), part.reversible(&types[part.column]));
            prop_assert_eq!(KeyRestore::is_possible(&layout, &parts, [part.column]), part.reversible(&types[part.column]));
        }
        let mut buffer = RestoreBuffer::default();
        restore.begin(&mut buffer);
        // Two rows one after the other in the same buffer.
        for first in [true, false] {
            let values: Vec<Value> = columns
                .iter()
                .map(|((_, a, b), (nullable, null), _)| match (*nullable && *null == first, first) {
                    (true, _) => Value::Null,
                    (_, true) => a.clone(),
                    (_, false) => b.clone(),
                })
                .collect();
            let mut row = Vec::new();
            layout.encode(&values, &mut row).unwrap();
            let row = RowRef::new(&layout, &row);
            let mut encoded = Vec::new();
            key::encode_columns(row, &parts, &mut encoded).unwrap();
            encoded.extend_from_slice(b"primary key");
            let restored = restore.row(&encoded, &mut buffer).unwrap();
            for column in &wanted {
                prop_assert_eq!(restored.column_bytes(*column), row.column_bytes(*column), "{} {:?}", types[*column], values[*column]);
            }
            prop_assert_eq!(restored.header().unwrap().schema_version, version);
            // What is cut short is an error or another row, no panic.
            for cut in 0..encoded.len().saturating_sub(11) {
                let _ = restore.row(&encoded[..cut], &mut RestoreBuffer::default().begun(&restore));
            }
        }
    }

    #[test]
    fn a_changed_row_is_the_row_of_the_changed_values(
        columns in prop::collection::vec((typed_pair(), any::<bool>(), any::<(bool, bool, bool)>()), 1..12),
        version: u16,
    ) {
        let types: Vec<ColumnType> = columns.iter().map(|((ty, ..), nullable, _)| ColumnType { nullable: *nullable, ..ty.clone() }).collect();
        let pick = |v: &Value, nullable: bool, null: bool| if nullable && null { Value::Null } else { v.clone() };
        let before: Vec<Value> = columns.iter().map(|((_, v, _), nullable, (null, ..))| pick(v, *nullable, *null)).collect();
        let after: Vec<Value> = columns
            .iter()
            .zip(&before)
            .map(|(((_, _, v), nullable, (_, null, changes)), old)| if *changes { pick(v, *nullable, *null) } else { old.clone() })
            .collect();
        let layout = RowLayout::new(&types, version);
        let (mut old, mut expect, mut changed) = (Vec::new(), Vec::new(), vec![9]);
        layout.encode(&before, &mut old).unwrap();
        layout.encode(&after, &mut expect).unwrap();
        let changes: Vec<(usize, &Value)> = after.iter().enumerate().filter(|(at, _)| columns[*at].2.2).collect();
        layout.encode_changed(RowRef::new(&layout, &old), &changes, &mut changed).unwrap();
        prop_assert_eq!(&changed[1..], &expect[..]);
        // A row of another layout object takes the long way.
        changed.truncate(1);
        let other = RowLayout::new(&types, version);
        layout.encode_changed(RowRef::new(&other, &old), &changes, &mut changed).unwrap();
        prop_assert_eq!(&changed[1..], &expect[..]);
    }

    #[test]
    fn rows_come_back(columns in prop::collection::vec((typed_pair(), any::<bool>(), any::<bool>()), 1..20), version: u16) {
        let types: Vec<ColumnType> = columns.iter().map(|((ty, ..), nullable, _)| ColumnType { nullable: *nullable, ..ty.clone() }).collect();
        let values: Vec<Value> = columns.iter().map(|((_, v, _), nullable, null)| if *nullable && *null { Value::Null } else { v.clone() }).collect();
        let layout = RowLayout::new(&types, version);
        let mut bytes = vec![7];
        layout.encode(&values, &mut bytes).unwrap();
        let row = RowRef::new(&layout, &bytes[1..]);
        prop_assert_eq!(row.header().unwrap(), RowHeader { schema_version: version, ..RowHeader::default() });
        for (column, value) in values.iter().enumerate() {
            let read = row.value(column).unwrap();
            prop_assert!(same(&read, value), "{} {:?} {:?}", types[column], read, value);
            // The key of the stored column is the key of the value.
            let part = KeyPart { column, prefix_chars: None, descending: false };
            let (mut x, mut y) = (Vec::new(), Vec::new());
            key::encode_columns(row, &[part], &mut x).unwrap();
            key::encode_part(&types[column], &part, value, &mut y);
            prop_assert_eq!(x, y);
        }
    }

    #[test]
    fn garbage_is_an_error_not_a_panic(
        types in prop::collection::vec((typed_pair(), any::<bool>(), any::<bool>()), 1..8),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let types: Vec<(ColumnType, bool)> = types.into_iter().map(|((ty, ..), nullable, desc)| (ColumnType { nullable, ..ty }, desc)).collect();
        let layout = RowLayout::new(&types.iter().map(|(ty, _)| ty.clone()).collect::<Vec<_>>(), 1);
        let row = RowRef::new(&layout, &bytes);
        let _ = row.header();
        for (column, (ty, descending)) in types.iter().enumerate() {
            let _ = row.value(column);
            let _ = row.column(column).map(|c| c.as_i64());
            let part = KeyPart { column, prefix_chars: Some(3), descending: *descending };
            let mut out = Vec::new();
            let _ = key::encode_columns(row, &[part], &mut out);
            let part = KeyPart { prefix_chars: None, ..part };
            let _ = key::part_bytes(ty, &part, &bytes);
            let _ = key::decode_part(ty, &part, &mut bytes.as_slice());
        }
    }

    #[test]
    fn strings_with_a_prefix_lie_between_its_bounds(
        collation in prop::sample::select(Collation::ALL.to_vec()), prefix in text(), rest in text(), nullable: bool, descending: bool,
    ) {
        let ty = ColumnType { nullable, ..ColumnType::varchar(100, collation) };
        let part = KeyPart { column: 0, prefix_chars: None, descending };
        if let Some((lower, upper)) = key::string_prefix_bounds(&ty, &part, prefix.as_bytes()) {
            let mut encoded = Vec::new();
            key::encode_part(&ty, &part, &Value::from(format!("{prefix}{rest}")), &mut encoded);
            prop_assert!(lower <= encoded && encoded < upper);
        }
    }
}

#[test]
fn prefix_parts_index_so_many_characters() {
    let ty = ColumnType::varchar(10, Collation::Utf8mb40900Bin).not_null();
    let part = KeyPart { column: 0, prefix_chars: Some(2), descending: false };
    let mut out = Vec::new();
    key::encode_part(&ty, &part, &Value::from("äöü"), &mut out);
    assert_eq!(out, "äö\0".as_bytes());
    assert!(!part.reversible(&ty));
}

#[test]
fn long_rows_have_wide_offsets() {
    let types = vec![ColumnType::new(TypeKind::LongText), ColumnType::int(), ColumnType::new(TypeKind::LongText)];
    let layout = RowLayout::new(&types, 3);
    for bytes in [0, 65_000, 65_520, 65_535, 65_536, 200_000] {
        let values = [Value::from("x".repeat(bytes)), Value::Int(-5), Value::from("end")];
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        let mut read = Vec::new();
        RowRef::new(&layout, &row).values(&mut read).unwrap();
        assert_eq!(read, values, "{bytes}");
    }
}

#[test]
fn older_rows_show_defaults_and_lose_dropped_columns() {
    let (a, b) = (ColumnType::int().not_null(), ColumnType::varchar(10, Collation::DEFAULT));
    let old = RowLayout::new(&[a.clone(), b.clone()], 1);
    let mut row = Vec::new();
    old.encode(&[Value::Int(1), Value::from("dropped")], &mut row).unwrap();
    let added = ColumnType::varchar(5, Collation::DEFAULT).not_null();
    let current = RowLayout::of_older_version(
        &[a.clone(), b.clone()],
        1,
        &[
            (a, ColumnSource::Stored(0)),
            (added.clone(), ColumnSource::Default(Value::from("new"))),
            (ColumnType::int(), ColumnSource::Default(Value::Null)),
        ],
    )
    .unwrap();
    let mut read = Vec::new();
    RowRef::new(&current, &row).values(&mut read).unwrap();
    assert_eq!(read, [Value::Int(1), Value::from("new"), Value::Null]);
    assert!(RowLayout::of_older_version(&[], 1, &[(added, ColumnSource::Stored(0))]).is_err());
}

#[test]
fn whole_numbers_are_keyed_as_their_row_bytes_are() {
    for kind in
        [TypeKind::TinyInt, TypeKind::SmallInt, TypeKind::MediumInt, TypeKind::Int, TypeKind::BigInt, TypeKind::Year, TypeKind::Double]
    {
        for flags in 0..8 {
            let ty = ColumnType { unsigned: flags & 1 != 0, nullable: flags & 2 != 0, ..ColumnType::new(kind) };
            let part = KeyPart { descending: flags & 4 != 0, ..KeyPart::ascending(0) };
            let (least, most) = ty.integer_range().unwrap_or((0, 0));
            let values = [least - 1, least, least + 1, -1, 0, 1, most - 1, most, most + 1].map(i64::try_from);
            for value in values.into_iter().flatten() {
                let mut fast = b"before".to_vec();
                let fits = kind.is_integer() && (least..=most).contains(&i128::from(value));
                assert_eq!(key::try_encode_int(&ty, &part, value, &mut fast), fits, "{value} as {ty}");
                let (mut slow, mut stored) = (b"before".to_vec(), Vec::new());
                if fits {
                    let value = if ty.unsigned { Value::UInt(value as u64) } else { Value::Int(value) };
                    raw::append(&ty, &value, &mut stored).expect("it fits");
                    key::encode_bytes(&ty, part, Some(&stored), &mut slow).expect("a key");
                }
                assert_eq!(fast, slow, "{value} as {ty}");
            }
        }
    }
}

#[test]
fn wrong_values_are_refused_and_leave_nothing() {
    let layout = RowLayout::new(&[ColumnType::int().not_null(), ColumnType::new(TypeKind::TinyInt)], 1);
    let check = |values: [Value; 2], column: usize| {
        let mut out = vec![1, 2];
        assert_eq!(layout.encode(&values, &mut out), Err(EncodeError { column }));
        assert_eq!(out, [1, 2]);
    };
    check([Value::Null, Value::Int(1)], 0);
    check([Value::Int(1), Value::Int(128)], 1);
    check([Value::from("1"), Value::Int(1)], 0);
}

#[test]
fn header_is_patched_in_place() {
    let header = RowHeader { flags: header::DELETE_MARK, schema_version: 7, txn: base::TxnId(1 << 40), undo: base::UndoPtr(99) };
    let mut row = vec![0; header::HEADER_BYTES + 4];
    header.write(&mut row);
    assert_eq!(RowHeader::read(&row), Ok(header));
    assert_eq!(row[header::TXN_AT..header::UNDO_AT], (1u64 << 40).to_le_bytes());
    assert!(header.is_deleted());
    assert_eq!(RowHeader::read(&row[..10]), Err(Malformed));
}

/// One more than the column at this position.
#[derive(Debug)]
struct OneMore(usize);

impl Compute for OneMore {
    fn compute(&self, row: RowRef<'_>) -> Result<Value, Malformed> {
        match row.value(self.0)? {
            Value::Int(value) if value > 1000 => Err(Malformed),
            Value::Int(value) => Ok(Value::Int(value + 1)),
            other => Ok(other),
        }
    }
}

#[test]
fn columns_that_rows_lack_are_computed_when_asked_for() {
    let int = ColumnType::int();
    let types = [int.clone(), int.clone(), ColumnType::varchar(10, Collation::DEFAULT), int.clone()];
    let stored = [int.clone(), types[2].clone()];
    // The last one reads the first that is computed.
    let computed = |of: usize| ColumnSource::Computed(std::sync::Arc::new(OneMore(of)));
    let sources = [ColumnSource::Stored(0), computed(0), ColumnSource::Stored(1), computed(1)];
    let columns: Vec<(ColumnType, ColumnSource)> = types.iter().cloned().zip(sources).collect();
    let (older, current) = (RowLayout::of_older_version(&stored, 1, &columns).unwrap(), RowLayout::new(&types, 2));
    for (value, expected) in [(Value::Int(5), [Value::Int(6), Value::Int(7)]), (Value::Null, [Value::Null, Value::Null])] {
        let text = Value::from("x");
        let (mut old, mut new) = (Vec::new(), Vec::new());
        RowLayout::new(&stored, 1).encode(&[value.clone(), text.clone()], &mut old).unwrap();
        current.encode(&[value.clone(), expected[0].clone(), text.clone(), expected[1].clone()], &mut new).unwrap();
        let (old, new) = (RowRef::new(&older, &old), RowRef::new(&current, &new));
        let parts = [KeyPart::ascending(3), KeyPart { descending: true, ..KeyPart::ascending(1) }];
        let (mut key, mut same) = (Vec::new(), Vec::new());
        key::encode_columns(old, &parts, &mut key).unwrap();
        key::encode_columns(new, &parts, &mut same).unwrap();
        assert_eq!(key, same);
        for column in 0..types.len() {
            assert_eq!(old.value(column), new.value(column));
            let bytes = |row: RowRef<'_>| row.bytes_in(column, &mut Vec::new()).unwrap().map(<[u8]>::to_vec);
            assert_eq!(bytes(old), bytes(new));
            assert_eq!(old.column_in(column, &mut Vec::new()).unwrap().value(), new.value(column));
            assert_eq!(older.is_computed(column), column % 2 == 1);
            assert_eq!(older.fixed_place(column).is_none(), column > 0);
        }
        // A row that is changed has them.
        let (mut changed, mut from_new) = (Vec::new(), Vec::new());
        current.encode_changed(old, &[(2, &Value::from("y")), (3, &Value::Int(1))], &mut changed).unwrap();
        current.encode_changed(new, &[(2, &Value::from("y")), (3, &Value::Int(1))], &mut from_new).unwrap();
        assert_eq!(changed, from_new);
    }
    let mut old = Vec::new();
    RowLayout::new(&stored, 1).encode(&[Value::Int(2000), Value::Null], &mut old).unwrap();
    let old = RowRef::new(&older, &old);
    // What fails costs those who ask for it.
    assert!(old.value(1).is_err() && old.value(3).is_err() && old.bytes_in(1, &mut Vec::new()).is_err());
    assert_eq!((old.value(0), old.value(2)), (Ok(Value::Int(2000)), Ok(Value::Null)));
}
