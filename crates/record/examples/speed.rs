//! Times the hot paths; run with `cargo run --profile fast -p record --example speed`.
use record::{KeyPart, RowLayout, RowRef, key};
use std::hint::black_box;
use types::{Collation, ColumnType, Decimal, TypeKind, Value};

fn time(name: &str, mut f: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = std::time::Instant::now();
        for _ in 0..200_000 {
            f();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 200_000.0);
    }
    println!("{name:40} {best:7.1} ns");
}

fn main() {
    let types = vec![
        ColumnType::int().not_null(),
        ColumnType::int(),
        ColumnType::varchar(16, Collation::DEFAULT),
        ColumnType::decimal(12, 2),
        ColumnType::new(TypeKind::DateTime),
        ColumnType::varchar(60, Collation::DEFAULT),
    ];
    let layout = RowLayout::new(&types, 1);
    let values = vec![
        Value::Int(42),
        Value::Int(-7),
        Value::from("BARBARBAR"),
        Value::Decimal(Decimal::new(123_456, 2)),
        Value::DateTime(types::parse_datetime(b"2024-01-02 03:04:05", types::SqlMode::DEFAULT).unwrap_or_default()),
        Value::from("a somewhat longer string that is on the heap"),
    ];
    let mut row = Vec::new();
    layout.encode(&values, &mut row).expect("values are of their types");
    let row_ref = RowRef::new(&layout, &row);
    time("value(int)", || {
        black_box(black_box(row_ref).value(1)).ok();
    });
    time("column(int).as_i64", || {
        black_box(black_box(row_ref).column(1).and_then(|c| c.as_i64())).ok();
    });
    time("column_bytes(short string)", || {
        black_box(black_box(row_ref).column_bytes(2)).ok();
    });
    time("value(short string)", || {
        black_box(black_box(row_ref).value(2)).ok();
    });
    time("value(decimal)", || {
        black_box(black_box(row_ref).value(3)).ok();
    });
    let mut out = Vec::with_capacity(1000);
    time("encode row of 6", || {
        out.clear();
        black_box(layout.encode(black_box(&values), &mut out)).ok();
    });
    time("key of (int, varchar)", || {
        out.clear();
        black_box(key::encode_columns(black_box(row_ref), &[KeyPart::ascending(0), KeyPart::ascending(2)], &mut out)).ok();
    });
    let ci = Collation::DEFAULT;
    time("compare 9 ASCII, equal but for case", || {
        black_box(ci.compare(black_box(b"BARBARBAR"), black_box(b"barbarbar")));
    });
    time("compare 9 ASCII, same bytes", || {
        black_box(ci.compare(black_box(b"BARBARBAR"), black_box(b"BARBARBAR")));
    });
    time("hash 9 ASCII", || {
        black_box(ci.hash(black_box(b"BARBARBAR")));
    });
    let (a, b) = (Decimal::new(123_456, 2), Decimal::new(99, 2));
    time("decimal add", || {
        black_box(black_box(&a).add(black_box(&b)));
    });
    time("decimal mul", || {
        black_box(black_box(&a).mul(black_box(&b)));
    });
    time("decimal div", || {
        black_box(black_box(&a).div(black_box(&b), 4));
    });
    time("decimal write", || {
        out.clear();
        black_box(&a).write_to(&mut out);
    });
    time("datetime write", || {
        out.clear();
        if let Value::DateTime(v) = black_box(&values[4]) {
            v.write_to(0, &mut out);
        }
    });
}
