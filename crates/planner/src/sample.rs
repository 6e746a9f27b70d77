//! What a few rows tell of a column: how often a value occurs, what share lies below a bound, how many different values there may be.
//!
//! Looked at where neither an index nor a histogram tells; kept for the statement, and by the session's side for others ([`crate::PlanContext::kept_sample`]). A value that was met often has the share at which it was met;
//! all others have the same one, by the number of different values that the rows let expect in the whole table.

use crate::keys::{self, Fit};
use base::TableId;
use catalog::histogram::Order;
use record::KeyPart;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::OnceLock;
use sync::atomic::{AtomicU32, Ordering::Relaxed};
use types::{Collation, ColumnType, Value};

/// Times that a value was met from which on its share is told by that.
const OFTEN: usize = 4;
/// Rows from which something is told.
const ROWS_MIN: usize = 20;
/// Comparisons with all values after which they are sorted: that takes about as long as so many.
const SORTED_AFTER: u32 = 16;

/// A column of a table, as one of its definitions has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ColumnOf {
    /// The table.
    pub table: TableId,
    /// [`catalog::TableDef::schema_version`]: positions of columns are those of this one.
    pub schema_version: u16,
    /// Position of the column.
    pub column: usize,
}

/// What a sample is of: rows of a column, and the column of another table whose rows lead to them, if not all count alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleOf {
    /// The column.
    pub column: ColumnOf,
    /// What leads to its rows.
    pub through: Option<ColumnOf>,
}

impl SampleOf {
    /// Whether rows of a table were read for it.
    pub fn reads(&self, table: TableId) -> bool {
        self.column.table == table || self.through.is_some_and(|through| through.table == table)
    }
}

/// Some rows of a column.
#[derive(Debug)]
pub struct Sample {
    /// Their values, without NULLs.
    values: Vec<Value>,
    /// How many had NULL.
    nulls: usize,
    /// Different values that are expected in the whole table.
    distinct: f64,
    /// Share of a value that was met seldom, or not at all.
    rare: f64,
    /// How often they were compared one by one. (Relaxed: advice.)
    compared: AtomicU32,
    /// Positions of the values, in their order.
    sorted: OnceLock<Box<[u16]>>,
    /// The beginnings of texts, and in which order they are: most comparisons end there. Empty where some value is no text.
    heads: OnceLock<(Order, Box<[u64]>)>,
}

/// What values are compared with.
struct Bound<'v> {
    order: Order,
    value: &'v Value,
    head: Option<u64>,
}

impl Sample {
    /// Of the values of some rows, and how many rows there are in all. `None` of too few.
    pub fn of(found: Vec<Value>, total: f64) -> Option<Sample> {
        let count = found.len();
        if count < ROWS_MIN {
            return None;
        }
        let values: Vec<Value> = found.into_iter().filter(|value| !value.is_null()).collect();
        let nulls = count - values.len();
        // Values that are alike byte for byte: more than are equal under a collation, which is near enough.
        let mut marks: Vec<u64> = values.iter().map(mark).collect();
        marks.sort_unstable();
        let (mut kinds, mut once, mut often, mut of_often) = (0usize, 0usize, 0usize, 0usize);
        for run in marks.chunk_by(|a, b| a == b) {
            kinds += 1;
            once += usize::from(run.len() == 1);
            if run.len() >= OFTEN {
                often += 1;
                of_often += run.len();
            }
        }
        let (rows, total) = (count as f64, total.max(count as f64));
        // The estimator of Haas and others ("Sampling-Based Estimation of the Number of Distinct Values of an Attribute"), the first one there, of what was
        // met seldom: exact where all is met, and for a column whose values are all different.
        let seldom = values.len() - of_often;
        let unmet = (1.0 - rows / total) * once as f64 / seldom.max(1) as f64;
        let met_seldom = (kinds - often) as f64;
        let expected = met_seldom / (1.0 - unmet).max(1.0 / total);
        // Of few such rows the estimator says little: so many as lie in the middle between those that were met and those that may be there.
        let of_seldom = if seldom < ROWS_MIN { (met_seldom * expected).sqrt() } else { expected };
        let distinct = often as f64 + of_seldom;
        let of_unmet = if seldom == 0 { (total / rows).sqrt() } else { of_seldom };
        let rare = seldom.max(1) as f64 / rows / of_unmet.max(1.0);
        let (distinct, rare) = (distinct.max(1.0), rare.min(OFTEN as f64 / rows));
        Some(Sample { values, nulls, distinct, rare, compared: AtomicU32::new(0), sorted: OnceLock::new(), heads: OnceLock::new() })
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let heap = |value: &Value| match value {
            Value::Bytes(text) | Value::Json(text) => text.len(),
            _ => 0,
        };
        size_of::<Sample>()
            + self.values.capacity() * (size_of::<Value>() + size_of::<u16>() + size_of::<u64>())
            + self.values.iter().map(heap).sum::<usize>()
    }

    /// Rows that were looked at.
    pub fn count(&self) -> usize {
        self.values.len() + self.nulls
    }

    fn rows(&self) -> f64 {
        self.count() as f64
    }

    /// One of so many values each as a key of a column of this type, ascending; those that it cannot hold are left out.
    pub fn as_keys(&self, ty: &ColumnType, part: &KeyPart, one_of: usize) -> Vec<Vec<u8>> {
        let key = |value: &Value| {
            let Fit::Exact(value) = keys::fit(ty, value) else { return None };
            let mut key = Vec::new();
            record::key::try_encode_part(ty, part, &value, &mut key).ok().map(|()| key)
        };
        let mut keys: Vec<Vec<u8>> = self.values.iter().step_by(one_of).filter_map(key).collect();
        keys.sort_unstable();
        keys
    }

    /// Share of the rows whose value is just this one.
    pub fn equal(&self, order: Order, value: &Value) -> f64 {
        let bound = self.bound(order, value);
        let met = match self.sorted(order) {
            Some(sorted) => self.before(sorted, &bound, true) - self.before(sorted, &bound, false),
            None => (0..self.values.len()).filter(|at| self.compare(*at, &bound) == Some(Ordering::Equal)).count(),
        };
        if met >= OFTEN { met as f64 / self.rows() } else { self.rare }
    }

    /// A value that the sample's are to be compared with.
    fn bound<'v>(&self, order: Order, value: &'v Value) -> Bound<'v> {
        let head = order.head(value).filter(|_| self.heads(order).is_some());
        Bound { order, value, head }
    }

    /// The beginnings of all values, as this order has them.
    fn heads(&self, order: Order) -> Option<&[u64]> {
        let all = || self.values.iter().map(|value| order.head(value)).collect::<Option<Box<[u64]>>>().unwrap_or_default();
        let (of, heads) = self.heads.get_or_init(|| (order, all()));
        Some(&**heads).filter(|heads| *of == order && heads.len() == self.values.len())
    }

    /// How the value at a position compares with another.
    fn compare(&self, at: usize, bound: &Bound<'_>) -> Option<Ordering> {
        if let (Some(head), Some((_, heads))) = (bound.head, self.heads.get())
            && let Some(own) = heads.get(at)
            && *own != head
        {
            return Some(own.cmp(&head));
        }
        bound.order.compare(&self.values[at], bound.value)
    }

    /// The order of the values, once they are compared so often that it pays. It is the same whatever they are compared with.
    fn sorted(&self, order: Order) -> Option<&[u16]> {
        if self.sorted.get().is_none() && (self.compared.fetch_add(1, Relaxed) < SORTED_AFTER || self.values.len() > usize::from(u16::MAX))
        {
            return None;
        }
        Some(self.sorted.get_or_init(|| {
            let mut places: Vec<u16> = (0..self.values.len() as u16).collect();
            places.sort_by(|a, b| {
                let other = self.bound_at(order, usize::from(*b));
                self.compare(usize::from(*a), &other).unwrap_or(Ordering::Equal)
            });
            places.into()
        }))
    }

    /// One of its own values, that others are to be compared with.
    fn bound_at(&self, order: Order, at: usize) -> Bound<'_> {
        Bound { order, value: &self.values[at], head: self.heads(order).and_then(|heads| heads.get(at)).copied() }
    }

    /// How many of the sorted values are smaller, or (`included`) the same.
    fn before(&self, sorted: &[u16], bound: &Bound<'_>, included: bool) -> usize {
        sorted.partition_point(|place| self.is_before(usize::from(*place), bound, included))
    }

    fn is_before(&self, at: usize, bound: &Bound<'_>, included: bool) -> bool {
        match self.compare(at, bound) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => included,
            _ => false,
        }
    }

    /// Share of the rows that have some one value of which nothing is known.
    pub fn equal_to_any(&self) -> f64 {
        self.not_null() / self.distinct
    }

    /// Share of the rows whose value is smaller, or (`included`) the same.
    pub fn below(&self, order: Order, value: &Value, included: bool) -> f64 {
        let bound = self.bound(order, value);
        let count = match self.sorted(order) {
            Some(sorted) => self.before(sorted, &bound, included),
            None => (0..self.values.len()).filter(|at| self.is_before(*at, &bound, included)).count(),
        };
        count as f64 / self.rows()
    }

    /// Share of the rows that match a pattern.
    pub fn like(&self, collation: Collation, pattern: &[u8], escape: Option<char>) -> f64 {
        let escape = escape.map(u32::from);
        let matches = |own: &&Value| matches!(own, Value::Bytes(text) if collation.like(text, pattern, escape));
        self.values.iter().filter(matches).count() as f64 / self.rows()
    }

    /// Share of the rows that have a value.
    pub fn not_null(&self) -> f64 {
        self.values.len() as f64 / self.rows()
    }

    /// The least share that so few rows can tell.
    pub fn least(&self) -> f64 {
        0.5 / self.rows()
    }
}

/// A number that values which are alike have in common: of one column, so of one type.
fn mark(value: &Value) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    match value {
        Value::Null => {}
        Value::Int(n) => n.hash(&mut hasher),
        Value::UInt(n) => n.hash(&mut hasher),
        Value::Float(n) => n.to_bits().hash(&mut hasher),
        Value::Double(n) => n.to_bits().hash(&mut hasher),
        Value::Decimal(n) => n.hash(&mut hasher),
        Value::Bytes(bytes) | Value::Json(bytes) => bytes.hash(&mut hasher),
        Value::Date(date) => date.hash(&mut hasher),
        Value::Time(time) => time.hash(&mut hasher),
        Value::DateTime(at) => at.hash(&mut hasher),
        Value::Timestamp(at) => at.hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tenth of `total` values.
    fn sample(total: i64, value: impl Fn(i64) -> i64) -> Sample {
        Sample::of((0..total).step_by(10).map(|i| Value::Int(value(i))).collect(), total as f64).unwrap()
    }

    #[track_caller]
    fn near(told: f64, is: f64) {
        assert!(told > is / 3.0 && told < is * 3.0, "{told}, not {is}");
    }

    #[test]
    fn shares_are_near_those_of_all_rows() {
        let order = Order::of(&ColumnType::int());
        let all_different = sample(5_000, |i| i);
        near(all_different.equal(order, &Value::Int(3)), 1.0 / 5_000.0);
        near(all_different.equal_to_any(), 1.0 / 5_000.0);
        near(all_different.below(order, &Value::Int(1_000), false), 0.2);
        let few = sample(5_000, |i| i / 10 % 7);
        near(few.equal(order, &Value::Int(3)), 1.0 / 7.0);
        near(few.equal_to_any(), 1.0 / 7.0);
        let hundreds = sample(5_000, |i| i / 10 * 7_919 % 150);
        near(hundreds.equal(order, &Value::Int(149)), 1.0 / 150.0);
        near(hundreds.equal_to_any(), 1.0 / 150.0);
        // Of what was met once, and of what was not, there may be one row or hundreds: what is told is not far from either.
        let met = |i: i64| Value::Int(if i == 7 { -1 } else { i % 30 });
        for met in
            [Sample::of((0..512).map(met).collect(), 131_072.0), Sample::of((0..512).map(|i| Value::Int(i % 30)).collect(), 131_072.0)]
        {
            let rows = met.unwrap().equal(order, &Value::Int(-1)) * 131_072.0;
            assert!((10.0..30.0).contains(&rows), "{rows}");
        }
        // One value in half of the rows, all others different.
        let skewed = sample(5_000, |i| if i / 10 % 2 == 0 { 0 } else { i });
        near(skewed.equal(order, &Value::Int(0)), 0.5);
        near(skewed.equal(order, &Value::Int(30)), 1.0 / 5_000.0);
    }

    #[test]
    fn sorted_values_tell_the_same_as_others() {
        let numbers = (0..512).map(|i| Value::Int(i * 7_919 % 101 - 50));
        let texts = (0..512).map(|i| Value::from(format!("{}{}", if i % 2 == 0 { "a" } else { "Á" }, i * 7_919 % 101)));
        let asked = [Value::Int(-50), Value::Int(0), Value::Int(49), Value::Int(1_000)];
        check_sorted(&ColumnType::int(), numbers.collect(), &asked);
        let asked = [Value::from("A1"), Value::from("a50"), Value::from(""), Value::from("zz")];
        check_sorted(&ColumnType::varchar(20, Collation::DEFAULT), texts.collect(), &asked);
    }

    #[test]
    fn beginnings_of_texts_compare_as_the_texts_do() {
        let texts =
            ["", "a", "A ", "a b", "Á", "ab\u{1}", "résumé and more", "resume and mor", "zzzzzzzzz", "zzzzzzzzzz", "\u{2}", "ß", "漢字"];
        let values: Vec<Value> = texts.iter().cycle().take(40).map(|text| Value::from(*text)).collect();
        for collation in Collation::ALL {
            let order = Order::of(&ColumnType::varchar(20, collation));
            let sample = Sample::of(values.clone(), 40.0).unwrap();
            for asked in texts.map(Value::from) {
                let is_below = |own: &&Value| order.compare(own, &asked) == Some(Ordering::Less);
                let expect = values.iter().filter(is_below).count() as f64 / 40.0;
                assert_eq!(sample.below(order, &asked, false), expect, "{collation:?} {asked:?}");
            }
            assert!(sample.heads.get().is_some_and(|(_, heads)| heads.len() == 40));
        }
    }

    #[track_caller]
    fn check_sorted(ty: &ColumnType, values: Vec<Value>, asked: &[Value]) {
        let sample = Sample::of(values, 5_000.0).unwrap();
        let order = Order::of(ty);
        let told = |compared: u32| -> Vec<[f64; 3]> {
            let of = |v: &Value| {
                sample.compared.store(compared, Relaxed);
                [sample.equal(order, v), sample.below(order, v, false), sample.below(order, v, true)]
            };
            asked.iter().map(of).collect()
        };
        let one_by_one = told(0);
        assert!(sample.sorted.get().is_none());
        assert_eq!(told(SORTED_AFTER), one_by_one);
        assert!(sample.sorted.get().is_some());
    }

    #[test]
    fn nulls_and_patterns_count() {
        let text = |i: i64| if i % 4 == 0 { Value::Null } else { Value::from(format!("a{}b", i % 10)) };
        let sample = Sample::of((0..400).map(text).collect(), 4_000.0).unwrap();
        near(sample.not_null(), 0.75);
        near(sample.like(Collation::DEFAULT, b"%3%", Some('\\')), 0.1);
        assert!(sample.least() > 0.0);
        assert!(Sample::of(vec![Value::Null; 19], 100.0).is_none(), "too few rows to tell from");
        assert_eq!(Sample::of(vec![Value::Null; 30], 100.0).unwrap().not_null(), 0.0);
    }
}
