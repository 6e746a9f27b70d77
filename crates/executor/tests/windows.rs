//! Window functions against what their definition says, row by row, over random rows and frames.

mod support;

use env::SplitMix64 as Random;
use std::cmp::Ordering;
use std::ops::Range;
use support::Database;
use types::ColumnType;

/// A row: (id, partition, order, value).
type Row = (i64, Option<i64>, Option<i64>, Option<i64>);

/// A bound as text, and what it means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Before,
    Preceding(i64),
    Current,
    Following(i64),
    After,
}

impl Bound {
    fn random(r: &mut Random) -> Bound {
        match r.below(6) {
            0 => Bound::Before,
            1 | 2 => Bound::Preceding(r.below(5) as i64),
            3 => Bound::Current,
            4 => Bound::Following(r.below(5) as i64),
            _ => Bound::After,
        }
    }

    fn text(self) -> String {
        match self {
            Bound::Before => "UNBOUNDED PRECEDING".to_owned(),
            Bound::Preceding(n) => format!("{n} PRECEDING"),
            Bound::Current => "CURRENT ROW".to_owned(),
            Bound::Following(n) => format!("{n} FOLLOWING"),
            Bound::After => "UNBOUNDED FOLLOWING".to_owned(),
        }
    }

    /// How far from the row, for those that are some way.
    fn distance(self) -> Option<i64> {
        match self {
            Bound::Preceding(n) => Some(-n),
            Bound::Current => Some(0),
            Bound::Following(n) => Some(n),
            Bound::Before | Bound::After => None,
        }
    }
}

/// Whether MySQL takes the two together.
fn is_frame(start: Bound, end: Bound) -> bool {
    start != Bound::After
        && end != Bound::Before
        && !matches!((start, end), (Bound::Following(_), Bound::Current | Bound::Preceding(_)) | (Bound::Current, Bound::Preceding(_)))
}

/// Rows of the partition in the frame of row `at`, by definition.
fn frame(rows: &[&Row], at: usize, start: Bound, end: Bound, by_value: bool, descending: bool) -> Range<usize> {
    let inside = |other: usize| {
        let past = |bound: Bound| -> Ordering {
            let Some(distance) = bound.distance() else {
                return if bound == Bound::Before { Ordering::Greater } else { Ordering::Less };
            };
            if !by_value {
                return (other as i64).cmp(&(at as i64 + distance));
            }
            match (rows[other].2, rows[at].2) {
                (None, None) => Ordering::Equal,
                (Some(other), Some(own)) if descending => (own - distance).cmp(&other),
                (Some(other), Some(own)) => other.cmp(&(own + distance)),
                // NULL is before all values, or after them where they descend.
                (None, Some(_)) if descending => Ordering::Greater,
                (None, Some(_)) => Ordering::Less,
                (Some(_), None) if descending => Ordering::Less,
                (Some(_), None) => Ordering::Greater,
            }
        };
        past(start) != Ordering::Less && past(end) != Ordering::Greater
    };
    let first = (0..rows.len()).find(|other| inside(*other));
    first.map_or(0..0, |first| first..(first..rows.len()).find(|other| !inside(*other)).unwrap_or(rows.len()))
}

fn shown(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

#[test]
fn frames_hold_the_rows_that_their_definition_names() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let mut r = Random::new(seed);
    let mut db = Database::new();
    let int = ColumnType::int;
    db.table("w", &[("id", int().not_null()), ("g", int()), ("o", int()), ("v", int())], &[("PRIMARY", true, &["id"])]);
    let mut rows: Vec<Row> = Vec::new();
    for id in 0..90 {
        let mut maybe = |below: u64| (r.below(8) > 0).then(|| r.below(below) as i64 - 3);
        let row = (id, maybe(3), maybe(14), maybe(40));
        db.change(&format!("INSERT INTO w VALUES ({id}, {}, {}, {})", shown(row.1), shown(row.2), shown(row.3)));
        rows.push(row);
    }
    for round in 0..300 {
        let (start, end) = (Bound::random(&mut r), Bound::random(&mut r));
        if !is_frame(start, end) {
            continue;
        }
        let (by_value, descending, parted) = (r.below(2) == 0, r.below(2) == 0, r.below(3) > 0);
        // By rows the order must be total for the answer to be one.
        let order = match (by_value, descending) {
            (true, false) => "o",
            (true, true) => "o DESC",
            (false, false) => "o, id",
            (false, true) => "o DESC, id",
        };
        let window = format!(
            "({} ORDER BY {order} {} BETWEEN {} AND {})",
            if parted { "PARTITION BY g" } else { "" },
            if by_value { "RANGE" } else { "ROWS" },
            start.text(),
            end.text()
        );
        let sql = format!(
            "SELECT id, COUNT(*) OVER w, COUNT(v) OVER w, SUM(v) OVER w, MIN(v) OVER w, MAX(v) OVER w, BIT_XOR(v) OVER w & 1023, RANK() OVER w \
             FROM w WINDOW w AS {window} ORDER BY id"
        );
        let mut expected = vec![String::new(); rows.len()];
        let groups: Vec<Option<i64>> = if parted { vec![None, Some(-3), Some(-2), Some(-1)] } else { vec![None] };
        for group in groups {
            let mut part: Vec<&Row> = rows.iter().filter(|row| !parted || row.1 == group).collect();
            part.sort_by_key(|row| row.0);
            // `None` is less than all.
            part.sort_by(|a, b| if descending { b.2.cmp(&a.2) } else { a.2.cmp(&b.2) });
            for at in 0..part.len() {
                let inside = &part[frame(&part, at, start, end, by_value, descending)];
                let values: Vec<i64> = inside.iter().filter_map(|row| row.3).collect();
                let sum = (!values.is_empty()).then(|| values.iter().sum());
                let bits = values.iter().fold(0, |bits, v| bits ^ v) & 1023;
                // By rows the order ends with the unique id.
                let rank = if by_value { part.iter().take_while(|row| row.2 != part[at].2).count() } else { at } + 1;
                let (least, most) = (shown(values.iter().min().copied()), shown(values.iter().max().copied()));
                expected[part[at].0 as usize] =
                    format!("{}|{}|{}|{}|{least}|{most}|{bits}|{rank}", part[at].0, inside.len(), values.len(), shown(sum));
            }
        }
        let found = db.query(&sql);
        let found: Vec<&str> = found.split(", ").collect();
        assert_eq!(found, expected, "round {round}: {sql}");
    }
}
