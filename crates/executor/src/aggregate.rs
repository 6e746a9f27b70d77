//! Aggregate functions: running values of groups. The grouping itself is in `batch/group.rs`.

use crate::bits;
use crate::context::StatementContext;
use crate::convert::{self, Number, compare, number, number_decimal, number_f64};
use crate::errors::out_of_range;
use crate::exec::Exec;
use crate::hash_key::{self, Key, KeyTable};
use crate::run::Result;
use mysql_error::codes;
use planner::expr::{Expr, ExprKind};
use planner::plan::{Aggregate, AggregateKind, Group};
use record::ColumnRef;
use std::cmp::Ordering;
use types::{Decimal, Value};

/// Running value of one aggregate.
pub(crate) struct Accumulator {
    /// Values seen, for DISTINCT.
    pub(crate) seen: Option<Box<KeyTable<()>>>,
    pub(crate) value: Sum,
}

#[derive(Clone)]
pub(crate) enum Sum {
    Count(i64),
    /// Integers add up here until they do not fit.
    Integers {
        sum: i128,
        count: u64,
    },
    Decimals {
        sum: Decimal,
        count: u64,
    },
    Doubles {
        sum: f64,
        count: u64,
    },
    /// SUM and AVG before the first value.
    Nothing,
    Extreme(Option<Value>),
    Bits(u64),
    /// Of binary strings; none yet.
    ByteBits(Option<Vec<u8>>),
    /// Welford's running mean and sum of squared differences.
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    Concat(Vec<(Vec<u8>, Vec<u8>)>),
    /// JSON_ARRAYAGG (without names) and JSON_OBJECTAGG.
    Documents(Vec<(String, json::Json)>),
}

impl Accumulator {
    /// Of a group without rows.
    pub(crate) fn new(a: &Aggregate) -> Accumulator {
        Accumulator {
            seen: a.distinct.then(Box::default),
            value: match a.kind {
                AggregateKind::CountStar | AggregateKind::Count => Sum::Count(0),
                AggregateKind::Sum | AggregateKind::Avg => Sum::Nothing,
                AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue => Sum::Extreme(None),
                AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor if a.ty.kind.is_string() => Sum::ByteBits(None),
                AggregateKind::BitAnd => Sum::Bits(u64::MAX),
                AggregateKind::BitOr | AggregateKind::BitXor => Sum::Bits(0),
                AggregateKind::GroupConcat => Sum::Concat(Vec::new()),
                AggregateKind::JsonArray | AggregateKind::JsonObject => Sum::Documents(Vec::new()),
                _ => Sum::Variance { count: 0, mean: 0.0, squares: 0.0 },
            },
        }
    }

    /// The value so far, of what is not DISTINCT.
    pub(crate) fn snapshot(&self) -> Accumulator {
        Accumulator { seen: None, value: self.value.clone() }
    }

    /// Takes a value away that was added. Whether that can be done exactly; if not, the rest is to be added up anew.
    pub(crate) fn take_away(&mut self, v: &Value, context: &dyn StatementContext) -> bool {
        if v.is_null() {
            return true;
        }
        match &mut self.value {
            Sum::Count(n) => {
                *n -= 1;
                true
            }
            Sum::Integers { count: 1, .. } | Sum::Decimals { count: 1, .. } => {
                self.value = Sum::Nothing;
                true
            }
            Sum::Integers { sum, count } => match number(v, context) {
                Some(Number::Int(i)) => {
                    *sum -= i128::from(i);
                    *count -= 1;
                    true
                }
                Some(Number::UInt(u)) => {
                    *sum -= i128::from(u);
                    *count -= 1;
                    true
                }
                _ => false,
            },
            Sum::Decimals { sum, count } => {
                let less = match number(v, context) {
                    Some(Number::Double(_)) | None => None,
                    Some(n) => number_decimal(&n).and_then(|d| sum.add(&d.negate())),
                };
                let Some(less) = less else { return false };
                *sum = less;
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// COUNT(*).
    #[inline]
    pub(crate) fn count_row(&mut self) {
        if let Sum::Count(n) = &mut self.value {
            *n += 1;
        }
    }
}

impl<'a> Exec<'a> {
    /// Accumulators of a group without rows.
    pub(crate) fn new_sums(&self, group: &Group) -> Box<[Accumulator]> {
        group.aggregates.iter().map(|(_, a)| Accumulator::new(a)).collect()
    }

    /// Puts the results of a group into their slots.
    pub(crate) fn store_sums(&mut self, group: &Group, sums: Box<[Accumulator]>) -> Result<()> {
        for ((slot, aggregate), sum) in group.aggregates.iter().zip(sums.into_vec()) {
            let v = self.result(aggregate, sum)?;
            self.set(*slot, v);
        }
        Ok(())
    }

    /// Adds a stored column's value.
    #[inline]
    pub(crate) fn add_column(&mut self, a: &Aggregate, acc: &mut Accumulator, column: ColumnRef<'_>) -> Result<()> {
        if column.is_null() {
            return Ok(());
        }
        match &mut acc.value {
            Sum::Count(n) => {
                *n += 1;
                Ok(())
            }
            Sum::Integers { sum, count } if column.ty.kind.is_integer() => {
                let n = if column.ty.unsigned { column.as_u64()?.map(i128::from) } else { column.as_i64()?.map(i128::from) };
                *sum += n.unwrap_or(0);
                *count += 1;
                Ok(())
            }
            _ => self.add_value(a, acc, column.value()?),
        }
    }

    /// Adds the row in the frame to a group.
    pub(crate) fn accumulate(&mut self, group: &'a Group, sums: &mut [Accumulator]) -> Result<()> {
        for ((_, aggregate), sum) in group.aggregates.iter().zip(sums) {
            if !self.add_slot(aggregate, sum) {
                self.add(aggregate, sum)?;
            }
        }
        Ok(())
    }

    /// The commonest cases without a copy of the value: an integer column is added or counted. Whether that was one.
    #[inline]
    fn add_slot(&self, a: &Aggregate, acc: &mut Accumulator) -> bool {
        let [Expr { kind: ExprKind::Slot(slot), .. }] = a.args.as_slice() else { return false };
        if acc.seen.is_some() {
            return false;
        }
        match (self.get(*slot), &mut acc.value) {
            (Value::Int(i), Sum::Integers { sum, count }) => {
                *sum += i128::from(*i);
                *count += 1;
                true
            }
            (Value::Null, Sum::Integers { .. } | Sum::Decimals { .. } | Sum::Doubles { .. } | Sum::Nothing) => true,
            (Value::Double(d), Sum::Doubles { sum, count }) => {
                *sum += d;
                *count += 1;
                true
            }
            (v, Sum::Count(n)) if a.kind == AggregateKind::Count => {
                *n += i64::from(!v.is_null());
                true
            }
            _ => false,
        }
    }

    /// Adds the row in the frame.
    pub(crate) fn add(&mut self, a: &'a Aggregate, acc: &mut Accumulator) -> Result<()> {
        if a.kind == AggregateKind::CountStar {
            acc.count_row();
            return Ok(());
        }
        if let Sum::Documents(members) = &mut acc.value {
            return self.add_document(a, members);
        }
        if a.kind == AggregateKind::GroupConcat || a.args.len() > 1 {
            return self.add_many(a, acc);
        }
        let v = self.eval(&a.args[0])?;
        self.add_value(a, acc, v)
    }

    /// Adds a value.
    pub(crate) fn add_value(&mut self, a: &Aggregate, acc: &mut Accumulator, mut v: Value) -> Result<()> {
        if v.is_null() {
            return Ok(());
        }
        if let (Sum::Doubles { .. } | Sum::Nothing, Value::Bytes(text), true) = (&acc.value, &v, is_sum_of_different(a)) {
            // Texts are the same where their numbers are.
            self.demand_addend(&v, &a.args[0], true)?;
            v = Value::Double(types::parse_double_prefix(text));
        }
        if let Some(seen) = &mut acc.seen {
            let mut buffer = Vec::new();
            let key = hash_key::lone_key(&v, a.collation, &mut buffer);
            if seen.get(key).is_some() {
                return Ok(());
            }
            self.memory.take_for(::memory::Kind::Groups, key.entry_bytes())?;
            seen.insert(key, ())?;
        }
        match &mut acc.value {
            Sum::Count(n) => *n += 1,
            Sum::Extreme(best) => {
                let wanted = if a.kind == AggregateKind::Min { Ordering::Less } else { Ordering::Greater };
                let better = match best {
                    None => true,
                    Some(_) if a.kind == AggregateKind::AnyValue => false,
                    Some(b) => compare(&v, b, a.collation, &*self.context) == Some(wanted),
                };
                if better {
                    *best = Some(v);
                }
            }
            Sum::Bits(bits) => {
                let n = self.bits_of_operand(&v, &a.args[0])?;
                match a.kind {
                    AggregateKind::BitAnd => *bits &= n,
                    AggregateKind::BitOr => *bits |= n,
                    _ => *bits ^= n,
                }
            }
            Sum::ByteBits(so_far) => {
                let bytes = convert::text(&v, &a.ty, &*self.context);
                let both = match (so_far.as_deref(), a.kind) {
                    (None, _) => Some(bytes.into_owned()),
                    (Some(so_far), AggregateKind::BitAnd) => bits::combined(so_far, &bytes, |x, y| x & y),
                    (Some(so_far), AggregateKind::BitOr) => bits::combined(so_far, &bytes, |x, y| x | y),
                    (Some(so_far), _) => bits::combined(so_far, &bytes, |x, y| x ^ y),
                };
                *so_far = Some(both.ok_or_else(codes::invalid_bitwise_operands_size)?);
            }
            Sum::Variance { count, mean, squares } => {
                self.demand_addend(&v, &a.args[0], a.distinct)?;
                let x = convert::to_f64(&v, &*self.context);
                *count += 1;
                let delta = x - *mean;
                *mean += delta / *count as f64;
                *squares += delta * (x - *mean);
            }
            Sum::Concat(_) | Sum::Documents(_) => {}
            sum => {
                self.demand_addend(&v, &a.args[0], a.distinct)?;
                let Some(n) = number(&v, &*self.context) else { return Ok(()) };
                add_number(sum, n)?;
            }
        }
        Ok(())
    }

    /// Adds a member of a document; SQL's NULL is one, as JSON's null.
    fn add_document(&mut self, a: &'a Aggregate, members: &mut Vec<(String, json::Json)>) -> Result<()> {
        let (name, tree, bytes) = self.document_member(a)?;
        let name = name.ok_or_else(codes::json_document_null_key)?;
        self.memory.take_for(::memory::Kind::Groups, bytes)?;
        ::memory::reserve(members, 1)?;
        members.push((name, tree));
        Ok(())
    }

    /// The member that the row in the frame adds to a document: its name (empty in arrays, none where it is NULL), its value, the bytes of both.
    pub(crate) fn document_member(&mut self, a: &'a Aggregate) -> Result<(Option<String>, json::Json, usize)> {
        let mut name = String::new();
        let mut args = a.args.as_slice();
        if let (AggregateKind::JsonObject, [key, rest @ ..]) = (a.kind, args) {
            let Some(text) = self.text_arg(key)? else { return Ok((None, json::Json::Null, size_of::<(Option<String>, json::Json)>())) };
            name = String::from_utf8_lossy(&text).into_owned();
            args = rest;
        }
        let [value] = args else { return Err(crate::errors::internal("arguments of a JSON aggregate")) };
        let v = self.eval(value)?;
        let tree = crate::document::to_tree(&v, value, &*self.context)?;
        let bytes = name.len() + crate::memory::value_bytes(&v) + 48;
        Ok((Some(name), tree, bytes))
    }

    fn add_many(&mut self, a: &'a Aggregate, acc: &mut Accumulator) -> Result<()> {
        let mut text = Vec::new();
        let mut key = Vec::new();
        for e in &a.args {
            let v = self.eval(e)?;
            if v.is_null() {
                return Ok(());
            }
            hash_key::append(&v, e.ty.collation, &mut key);
            if a.kind == AggregateKind::GroupConcat {
                text.extend_from_slice(&convert::text(&v, &e.ty, &*self.context));
            }
        }
        if let Some(seen) = &mut acc.seen {
            if seen.get(Key::Bytes(&key)).is_some() {
                return Ok(());
            }
            self.memory.take_for(::memory::Kind::Groups, key.len() + 48)?;
            seen.insert(Key::Bytes(&key), ())?;
        }
        let mut order = Vec::new();
        if !a.order.is_empty() {
            self.sort_key(&a.order, &mut order)?;
        }
        match &mut acc.value {
            Sum::Count(n) => *n += 1,
            Sum::Concat(parts) => {
                self.memory.take_for(::memory::Kind::Groups, text.len() + order.len() + 48)?;
                ::memory::reserve(parts, 1)?;
                parts.push((order, text));
            }
            _ => {}
        }
        Ok(())
    }

    /// The result of a group.
    pub(crate) fn result(&mut self, a: &Aggregate, acc: Accumulator) -> Result<Value> {
        Ok(match acc.value {
            Sum::Count(n) => Value::Int(n),
            Sum::Extreme(v) => v.unwrap_or_default(),
            Sum::Bits(b) => Value::UInt(b),
            Sum::ByteBits(Some(bytes)) => Value::Bytes(bytes.into()),
            Sum::ByteBits(None) => {
                // As long as the longest argument: the type has one byte more.
                let bytes = a.ty.length.saturating_sub(1) as usize;
                Value::Bytes(vec![if a.kind == AggregateKind::BitAnd { 0xff } else { 0 }; bytes].into())
            }
            Sum::Nothing => Value::Null,
            Sum::Integers { sum, count } => self.sum_or_average(a, Decimal::new(sum, 0), count)?,
            Sum::Decimals { sum, count } => self.sum_or_average(a, sum, count)?,
            Sum::Doubles { sum, count } => Value::Double(if a.kind == AggregateKind::Avg { sum / count as f64 } else { sum }),
            Sum::Variance { count, squares, .. } => {
                let n = count as f64;
                match a.kind {
                    AggregateKind::VarPop | AggregateKind::StdPop if count == 0 => Value::Null,
                    AggregateKind::VarSamp | AggregateKind::StdSamp if count < 2 => Value::Null,
                    AggregateKind::VarPop => Value::Double(squares / n),
                    AggregateKind::StdPop => Value::Double((squares / n).sqrt()),
                    AggregateKind::VarSamp => Value::Double(squares / (n - 1.0)),
                    _ => Value::Double((squares / (n - 1.0)).sqrt()),
                }
            }
            Sum::Documents(members) if members.is_empty() => Value::Null,
            Sum::Documents(members) if a.kind == AggregateKind::JsonObject => {
                crate::document::value_of(&json::Json::Object(json::Object::from_members(members)))?
            }
            Sum::Documents(members) => {
                crate::document::value_of(&json::Json::Array(members.into_iter().map(|(_, value)| value).collect()))?
            }
            Sum::Concat(mut parts) => {
                if parts.is_empty() {
                    return Ok(Value::Null);
                }
                if !a.order.is_empty() {
                    parts.sort_by(|x, y| x.0.cmp(&y.0));
                }
                let mut out = Vec::new();
                for (i, (_, text)) in parts.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(a.separator.as_bytes());
                    }
                    out.extend_from_slice(text);
                }
                let max = self.context.group_concat_max_len();
                if out.len() > max {
                    let mut end = max;
                    while end > 0 && out.get(end).is_some_and(|b| b & 0xc0 == 0x80) {
                        end -= 1;
                    }
                    out.truncate(end);
                    self.tell(codes::cut_value_group_concat(1))?;
                }
                Value::Bytes(out.into())
            }
        })
    }

    fn sum_or_average(&self, a: &Aggregate, sum: Decimal, count: u64) -> Result<Value> {
        if a.kind != AggregateKind::Avg {
            return Ok(Value::Decimal(sum));
        }
        let by = Decimal::new(i128::from(count), 0);
        let increment = u32::from(a.ty.decimals.saturating_sub(sum.scale()));
        match sum.div(&by, increment) {
            Some(d) => Ok(Value::Decimal(d.rescale(a.ty.decimals).unwrap_or(d))),
            None => Err(out_of_range("DECIMAL", "avg")),
        }
    }
}

/// Adds a number to a SUM or AVG.
pub(crate) fn add_number(sum: &mut Sum, n: Number) -> Result<()> {
    let overflow = || out_of_range("DECIMAL", "sum");
    match (&mut *sum, n) {
        (Sum::Nothing, Number::Int(i)) => *sum = Sum::Integers { sum: i128::from(i), count: 1 },
        (Sum::Nothing, Number::UInt(u)) => *sum = Sum::Integers { sum: i128::from(u), count: 1 },
        (Sum::Nothing, Number::Decimal(d)) => *sum = Sum::Decimals { sum: d, count: 1 },
        (Sum::Nothing, Number::Double(d)) => *sum = Sum::Doubles { sum: d, count: 1 },
        (Sum::Integers { sum, count }, Number::Int(i)) => {
            *sum += i128::from(i);
            *count += 1;
        }
        (Sum::Integers { sum, count }, Number::UInt(u)) => {
            *sum += i128::from(u);
            *count += 1;
        }
        (Sum::Integers { sum: s, count }, Number::Decimal(d)) => {
            let total = Decimal::new(*s, 0).add(&d).ok_or_else(overflow)?;
            *sum = Sum::Decimals { sum: total, count: *count + 1 };
        }
        (Sum::Integers { sum: s, count }, Number::Double(d)) => *sum = Sum::Doubles { sum: *s as f64 + d, count: *count + 1 },
        (Sum::Decimals { sum: s, count }, Number::Double(d)) => *sum = Sum::Doubles { sum: s.to_f64() + d, count: *count + 1 },
        (Sum::Decimals { sum, count }, n) => {
            let d = number_decimal(&n).ok_or_else(overflow)?;
            *sum = sum.add(&d).ok_or_else(overflow)?;
            *count += 1;
        }
        (Sum::Doubles { sum, count }, n) => {
            *sum += number_f64(&n);
            *count += 1;
        }
        _ => {}
    }
    Ok(())
}

/// SUM or AVG of different values.
fn is_sum_of_different(a: &Aggregate) -> bool {
    a.distinct && matches!(a.kind, AggregateKind::Sum | AggregateKind::Avg)
}
