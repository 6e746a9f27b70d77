//! Lists of whole keys: one behind the other, as what is looked up of a long list is made anew by each run.

use super::{BoundValues, COMBINATIONS_MAX, PartValues, fitted_points};
use crate::plan::{PrefixRange, RangeSpec};
use catalog::TableDef;
use record::KeyPart;
use smallvec::{SmallVec, smallvec};

/// Bytes that most keys have at most.
const KEY_BYTES: usize = 8;

/// Whole keys of one execution.
#[derive(Debug, Default)]
pub struct WholeKeys {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl WholeKeys {
    /// The keys, ascending and none twice.
    pub fn sorted(&self) -> Vec<&[u8]> {
        let mut start = 0;
        let key = |end: &usize| &self.bytes[std::mem::replace(&mut start, *end)..*end];
        let mut keys: Vec<&[u8]> = self.ends.iter().map(key).collect();
        if !keys.is_sorted_by(|a, b| a < b) {
            keys.sort_unstable();
            keys.dedup();
        }
        keys
    }

    /// Takes a key for each combination of the values of the parts.
    fn take(&mut self, def: &TableDef, parts: &[KeyPart], prefix: &PrefixRange, bounds: &mut dyn BoundValues) -> Option<()> {
        let mut values: SmallVec<[PartValues; 4]> = SmallVec::new();
        let mut count = 1;
        for (part, points) in parts.iter().zip(&prefix.points) {
            let of_part = fitted_points(&def.columns[part.column].ty, points, bounds)??;
            if of_part.is_empty() {
                return Some(());
            }
            count *= of_part.len();
            if count > COMBINATIONS_MAX {
                return None;
            }
            values.push(of_part);
        }
        self.bytes.reserve(count * KEY_BYTES);
        self.ends.reserve(count);
        let mut chosen: SmallVec<[usize; 4]> = smallvec![0; values.len()];
        for _ in 0..count {
            for ((part, of_part), at) in parts.iter().zip(&values).zip(&chosen) {
                record::key::try_encode_part(&def.columns[part.column].ty, part, &of_part[*at], &mut self.bytes).ok()?;
            }
            self.ends.push(self.bytes.len());
            // The last part goes first.
            for (at, of_part) in chosen.iter_mut().zip(&values).rev() {
                *at += 1;
                if *at < of_part.len() {
                    break;
                }
                *at = 0;
            }
        }
        Some(())
    }
}

/// The keys of values for all parts of an index; `None` where one is not known, or the index does not hold what is asked for exactly ([`KeyRanges::exact`](super::KeyRanges)).
pub fn whole_keys(def: &TableDef, index_no: usize, spec: &RangeSpec, bounds: &mut dyn BoundValues) -> Option<WholeKeys> {
    let parts = def.indexes[index_no].parts.as_slice();
    if parts.iter().any(|part| part.prefix_chars.is_some()) {
        return None;
    }
    let mut keys = WholeKeys::default();
    for prefix in &spec.any {
        if prefix.interval.is_some() || prefix.points.len() != parts.len() {
            return None;
        }
        keys.take(def, parts, prefix, bounds)?;
    }
    Some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Expr;
    use crate::keys::key_ranges;
    use crate::plan::Points;
    use catalog::{ColumnDef, IndexDef};
    use types::{ColumnType, LocalTime, Utc, Value};

    struct Literals;

    impl BoundValues for Literals {
        fn value(&mut self, bound: &Expr) -> Option<Value> {
            if let crate::expr::ExprKind::Literal(value) = &bound.kind { Some(value.clone()) } else { None }
        }

        fn zone(&self) -> &dyn LocalTime {
            &Utc
        }
    }

    fn points(numbers: &[i64]) -> Points {
        let literal = |n: &i64| Expr::literal(Value::Int(*n), ColumnType::bigint());
        numbers.iter().map(literal).collect::<crate::expr::Listed>().into()
    }

    #[test]
    fn whole_keys_are_what_ranges_begin_with() {
        let column = |name: &str, ty: ColumnType| ColumnDef::new(name, ty.not_null());
        for descending in [false, true] {
            let parts = vec![KeyPart { descending, ..KeyPart::ascending(0) }, KeyPart::ascending(1)];
            let columns = vec![column("a", ColumnType::int()), column("b", ColumnType::bigint())];
            let def = TableDef::new("d", "t", columns, vec![IndexDef::new("PRIMARY", true, parts)]);
            // None twice, in no order, past what the column holds, and nothing.
            for (a, b) in [(vec![5, 1, 5, -3, 1 << 40, 9, 7], vec![4, 4, 2]), (vec![3], vec![9, 8, 7, 6, 5, 4]), (vec![1 << 50], vec![1])] {
                let spec = RangeSpec { any: vec![PrefixRange { points: vec![points(&a), points(&b)], interval: None }] };
                let ranges = key_ranges(&def, 0, &spec, &mut Literals).expect("values are known");
                assert!(ranges.exact);
                let keys = whole_keys(&def, 0, &spec, &mut Literals).expect("exact");
                let lower: Vec<&[u8]> = ranges.ranges.iter().map(|range| range.lower.as_slice()).collect();
                assert_eq!(keys.sorted(), lower, "{a:?} {b:?}");
            }
            let first = RangeSpec { any: vec![PrefixRange { points: vec![points(&[1])], interval: None }] };
            assert!(whole_keys(&def, 0, &first, &mut Literals).is_none(), "less than a key");
        }
    }
}
