//! Cost of statements that read many rows: `cargo run --profile fast -p executor --example batch_cost -- ROWS` prints user CPU nanoseconds per row.
//!
//! Instructions, which no other load disturbs (each statement runs in a function of its own name):
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*statement_*' --callgrind-out-file=/tmp/batch.out target/fast/examples/batch_cost 20000
//! callgrind_annotate --inclusive=yes --threshold=100 /tmp/batch.out | grep -o '^.*statement_[0-9]*'
//! ```

#[path = "../tests/support/mod.rs"]
mod support;

use engine::EngineConfig;
use executor::RowConsumer;
use planner::Plan;
use planner::plan::OutputColumn;
use record::RowRef;
use support::Database;
use types::{Collation, ColumnType, TypeKind, Value};

const STATEMENTS: &[(&str, &str)] = &[
    ("full scan, filter", "SELECT id FROM line WHERE quantity > 45 AND price < 900"),
    ("full scan, string filter", "SELECT id FROM line WHERE note = 'n7'"),
    ("SUM of an expression", "SELECT SUM(quantity * price), COUNT(*) FROM line WHERE quantity < 40"),
    ("GROUP BY an integer", "SELECT item, SUM(quantity), COUNT(*), AVG(price) FROM line GROUP BY item"),
    ("GROUP BY a string", "SELECT note, COUNT(*), MIN(price), MAX(day) FROM line GROUP BY note"),
    ("GROUP BY two columns", "SELECT item, day, SUM(price) FROM line GROUP BY item, day"),
    ("hash join", "SELECT SUM(line.price), COUNT(*) FROM line JOIN item ON item.code = line.item WHERE item.weight < 500"),
    ("hash join, rows", "SELECT line.id, item.name FROM line JOIN item ON item.code = line.item WHERE line.quantity < 5"),
    ("nested join by key", "SELECT COUNT(*) FROM line JOIN item ON item.id = line.item WHERE item.weight < 500"),
    ("ORDER BY LIMIT", "SELECT id, price FROM line ORDER BY price DESC, id LIMIT 10"),
    ("ORDER BY", "SELECT id, price, note FROM line ORDER BY price"),
    ("DISTINCT", "SELECT DISTINCT item FROM line"),
    ("no kernel", "SELECT COUNT(*) FROM line WHERE SUBSTRING(note, 2, 1) = '7'"),
    ("all rows", "SELECT * FROM line"),
    ("short range, 10 rows", "SELECT COUNT(DISTINCT item) FROM line WHERE id BETWEEN 5000 AND 5009 AND quantity < 90"),
    (
        "nested, 10 rows",
        "SELECT COUNT(DISTINCT item.id) FROM line JOIN item ON item.id = line.item WHERE line.id BETWEEN 5000 AND 5009 AND item.weight < 900",
    ),
    ("sort, 10 rows", "SELECT id, price FROM line WHERE id BETWEEN 5000 AND 5009 ORDER BY price + 0, note"),
    ("group, 10 rows", "SELECT item, SUM(price), COUNT(*) FROM line WHERE id BETWEEN 5000 AND 5009 GROUP BY item"),
    ("LIMIT 3", "SELECT id FROM line WHERE quantity < 90 LIMIT 3"),
    ("COUNT(*)", "SELECT COUNT(*) FROM line"),
    ("BETWEEN, MAX", "SELECT COUNT(*), MAX(id) FROM line WHERE quantity BETWEEN 40 AND 60"),
    ("LIKE in the middle", "SELECT COUNT(*), MAX(id) FROM line WHERE filler LIKE '%77%'"),
    ("SUM, AVG, MIN, MAX", "SELECT SUM(price), AVG(price), MIN(day), MAX(day) FROM line"),
    ("GROUP BY a date", "SELECT day, COUNT(*), SUM(quantity) FROM line GROUP BY day"),
    ("COUNT(DISTINCT)", "SELECT COUNT(DISTINCT item) FROM line"),
    ("hash join, as many rows", "SELECT COUNT(*), SUM(line.price), SUM(other.weight) FROM line JOIN other ON line.far = other.code"),
    ("the same, rows", "SELECT line.id, line.price, other.weight, other.name FROM line JOIN other ON line.far = other.code"),
    ("key join, as many rows", "SELECT COUNT(*), SUM(line.price), SUM(other.weight) FROM line JOIN other ON line.far = other.id"),
    ("the same, rows", "SELECT line.id, line.price, other.weight, other.name FROM line JOIN other ON line.far = other.id"),
    ("left join, no partner", "SELECT COUNT(*) FROM line LEFT JOIN other ON line.far = other.code WHERE other.id IS NULL"),
    (
        "TPC-H Q1",
        "SELECT flag, SUM(quantity), SUM(price), SUM(price * (1 - discount)), SUM(price * (1 - discount) * (1 + discount)), AVG(quantity), AVG(price), AVG(discount), COUNT(*)
         FROM line WHERE day <= DATE '2024-02-26' GROUP BY flag ORDER BY flag",
    ),
    (
        "TPC-H Q6",
        "SELECT SUM(price * discount) FROM line WHERE day >= DATE '2024-02-05' AND day < DATE '2024-02-15' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24",
    ),
];

/// Counts rows, so that next to nothing but the executor is measured.
struct Count(u64);

impl RowConsumer for Count {
    fn begin(&mut self, _: &[OutputColumn]) -> executor::Result<()> {
        Ok(())
    }
    fn row(&mut self, values: &[Value]) -> executor::Result<()> {
        std::hint::black_box(values);
        self.0 += 1;
        Ok(())
    }
    fn record(&mut self, row: RowRef<'_>, _: &[u32]) -> executor::Result<bool> {
        std::hint::black_box(row);
        self.0 += 1;
        Ok(false)
    }
    fn drain(&mut self) -> executor::Result<()> {
        Ok(())
    }
}

fn run(db: &mut Database, plan: &Plan) -> u64 {
    let mut count = Count(0);
    db.run_for(plan, &[], &mut count).expect("an answer");
    count.0
}

/// One function for each statement, so that a profile tells them apart.
macro_rules! functions {
    ($($name:ident)*) => {
        $(#[inline(never)]
        fn $name(db: &mut Database, plan: &Plan) -> u64 {
            std::hint::black_box(stringify!($name));
            run(db, plan)
        })*
        const FUNCTIONS: &[fn(&mut Database, &Plan) -> u64] = &[$($name),*];
    };
}

functions! {
    statement_00 statement_01 statement_02 statement_03 statement_04 statement_05 statement_06 statement_07 statement_08
    statement_09 statement_10 statement_11 statement_12 statement_13 statement_14 statement_15 statement_16 statement_17 statement_18
    statement_19 statement_20 statement_21 statement_22 statement_23 statement_24 statement_25 statement_26 statement_27 statement_28
    statement_29 statement_30 statement_31
}

fn load(db: &mut Database, rows: u64) {
    let text = |n| ColumnType::varchar(n, Collation::DEFAULT).not_null();
    let int = || ColumnType::int().not_null();
    let line: &[(&str, ColumnType)] = &[
        ("id", int()),
        ("item", int()),
        ("quantity", int()),
        ("price", ColumnType::decimal(8, 2).not_null()),
        ("day", ColumnType::new(TypeKind::Date).not_null()),
        ("note", text(24)),
        ("filler", text(60)),
        ("far", int()),
        ("discount", ColumnType::decimal(4, 2).not_null()),
        ("flag", text(1)),
    ];
    db.table("line", line, &[("PRIMARY", true, &["id"])]);
    let item: &[(&str, ColumnType)] = &[("id", int()), ("code", int()), ("weight", int()), ("name", text(24))];
    db.table("item", item, &[("PRIMARY", true, &["id"])]);
    db.table("other", item, &[("PRIMARY", true, &["id"])]);
    let items = (rows / 20).max(1);
    let insert = |db: &mut Database, table: &str, count: u64, row: &dyn Fn(u64) -> String| {
        for first in (0..count).step_by(200) {
            let values: Vec<String> = (first..count.min(first + 200)).map(row).collect();
            db.change(&format!("INSERT INTO {table} VALUES {}", values.join(",")));
        }
    };
    insert(db, "line", rows, &|i| {
        let r = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (item, quantity, cents, day) = (r % items, r / 7 % 100, r / 11 % 100_000, r / 13 % 28 + 1);
        let (far, discount, flag) = (r / 17 % rows, r / 19 % 11, ["A", "N", "R"][(r / 23 % 3) as usize]);
        let (units, hundredths, note, filler) = (cents / 100, cents % 100, r % 50, r.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        format!(
            "({i},{item},{quantity},{units}.{hundredths:02},'2024-02-{day:02}','n{note}','note {filler:020} of a line {i:010}',{far},0.{discount:02},'{flag}')"
        )
    });
    insert(db, "other", rows, &|i| format!("({i},{},{},'other {i}')", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % rows, i * 7 % 1000));
    insert(db, "item", items, &|i| format!("({i},{i},{},'item {i}')", i * 7 % 1000));
}

/// User CPU of the process, in clock ticks of 10 ms.
fn user_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)).and_then(|t| t.parse().ok()).unwrap_or(0)
}

fn main() {
    let rows: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(100_000);
    let mut config = EngineConfig::small();
    config.pool.frames = 8192;
    config.wal.capacity_bytes = 256 << 20;
    let mut db = Database::with_config(config);
    load(&mut db, rows);
    let repeat = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(1);
    for ((name, sql), run) in STATEMENTS.iter().zip(FUNCTIONS) {
        let plan = db.plan(sql, &[]).expect("a plan");
        let before = user_ticks();
        let mut answer = 0;
        for _ in 0..repeat {
            answer = run(&mut db, &plan);
        }
        let nanos = (user_ticks() - before) * 10_000_000 / repeat / rows;
        println!("{name:<28} {nanos:>6} ns a row  {answer:>8} rows  {}", db.explain(sql).replace('\n', " "));
    }
}
