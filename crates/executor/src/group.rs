//! GROUP BY: hash and stream aggregation.

use crate::convert::{self, Number, compare, number, number_decimal, number_f64};
use crate::errors::out_of_range;
use crate::exec::Exec;
use crate::hash_key::{self, Key, KeyTable};
use crate::memory::value_bytes;
use crate::run::{Flow, Next, Result};
use planner::expr::{Expr, ExprKind};
use planner::plan::{Aggregate, AggregateKind, Group};
use record::ColumnRef;
use std::cmp::Ordering;
use types::{Decimal, Value};

/// A group: grouping values, carried slots of its first row, accumulators.
struct State {
    keys: Box<[Value]>,
    carried: Box<[Value]>,
    sums: Box<[Accumulator]>,
}

/// Running value of one aggregate.
pub(crate) struct Accumulator {
    /// Values seen, for DISTINCT.
    seen: Option<KeyTable<()>>,
    value: Sum,
}

enum Sum {
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
    /// Welford's running mean and sum of squared differences.
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    Concat(Vec<(Vec<u8>, Vec<u8>)>),
}

impl Accumulator {
    /// COUNT(*).
    #[inline]
    pub(crate) fn count_row(&mut self) {
        if let Sum::Count(n) = &mut self.value {
            *n += 1;
        }
    }
}

impl<'a> Exec<'a> {
    /// Runs a grouping node.
    pub fn run_group(&mut self, group: &'a Group, next: Next<'_, 'a>) -> Result<Flow> {
        let before = self.memory.used();
        let mut states: Vec<State> = Vec::new();
        if group.implicit {
            let mut state: Option<State> = None;
            self.run(&group.input, &mut |x| {
                if state.is_none() {
                    state = Some(x.new_state(group, Box::default()));
                }
                match &mut state {
                    Some(s) => x.accumulate(group, s)?,
                    None => return Err(crate::errors::internal("group without state")),
                }
                Ok(Flow::Continue)
            })?;
            let state = match state {
                Some(s) => s,
                None => {
                    // One group without rows: what it carries is NULL.
                    for slot in &group.carried {
                        self.set(*slot, Value::Null);
                    }
                    self.new_state(group, Box::default())
                }
            };
            states.push(state);
        } else {
            let mut index: KeyTable<u32> = KeyTable::default();
            let mut buffer = Vec::new();
            self.run(&group.input, &mut |x| {
                buffer.clear();
                let key = if let ([(slot, e)], [collation]) = (group.keys.as_slice(), group.collations.as_slice()) {
                    let v = x.eval(e)?;
                    let key = hash_key::lone_key(&v, *collation, &mut buffer);
                    x.set(*slot, v);
                    key
                } else {
                    for ((slot, e), collation) in group.keys.iter().zip(&group.collations) {
                        let v = x.eval(e)?;
                        hash_key::append(&v, *collation, &mut buffer);
                        x.set(*slot, v);
                    }
                    Key::Bytes(&buffer)
                };
                let at = match index.get(key) {
                    Some(at) => *at as usize,
                    None => {
                        let keys = group.keys.iter().map(|(slot, _)| x.get(*slot).clone()).collect();
                        let state = x.new_state(group, keys);
                        let bytes = state.keys.iter().chain(state.carried.iter()).map(value_bytes).sum::<usize>();
                        x.memory.take(bytes + key.entry_bytes() + 96 + 64 * state.sums.len())?;
                        index.insert(key, states.len() as u32);
                        states.push(state);
                        states.len() - 1
                    }
                };
                x.accumulate(group, &mut states[at])?;
                Ok(Flow::Continue)
            })?;
        }
        self.forget_lookups();
        for (i, state) in states.into_iter().enumerate() {
            if i % 256 == 0 {
                self.check_cancel()?;
            }
            for ((slot, _), v) in group.keys.iter().zip(state.keys.into_vec()) {
                self.set(*slot, v);
            }
            for (slot, v) in group.carried.iter().zip(state.carried.into_vec()) {
                self.set(*slot, v);
            }
            self.store_sums(group, state.sums)?;
            if next(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.memory.give_back_to(before);
        Ok(Flow::Continue)
    }

    fn new_state(&self, group: &Group, keys: Box<[Value]>) -> State {
        let carried = group.carried.iter().map(|s| self.get(*s).clone()).collect();
        State { keys, carried, sums: self.new_sums(group) }
    }

    /// Accumulators of a group without rows.
    pub(crate) fn new_sums(&self, group: &Group) -> Box<[Accumulator]> {
        group
            .aggregates
            .iter()
            .map(|(_, a)| Accumulator {
                seen: a.distinct.then(KeyTable::default),
                value: match a.kind {
                    AggregateKind::CountStar | AggregateKind::Count => Sum::Count(0),
                    AggregateKind::Sum | AggregateKind::Avg => Sum::Nothing,
                    AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue => Sum::Extreme(None),
                    AggregateKind::BitAnd => Sum::Bits(u64::MAX),
                    AggregateKind::BitOr | AggregateKind::BitXor => Sum::Bits(0),
                    AggregateKind::GroupConcat => Sum::Concat(Vec::new()),
                    _ => Sum::Variance { count: 0, mean: 0.0, squares: 0.0 },
                },
            })
            .collect()
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

    fn accumulate(&mut self, group: &'a Group, state: &mut State) -> Result<()> {
        for ((_, aggregate), sum) in group.aggregates.iter().zip(state.sums.iter_mut()) {
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

    fn add(&mut self, a: &'a Aggregate, acc: &mut Accumulator) -> Result<()> {
        if a.kind == AggregateKind::CountStar {
            acc.count_row();
            return Ok(());
        }
        if a.kind == AggregateKind::GroupConcat || a.args.len() > 1 {
            return self.add_many(a, acc);
        }
        let v = self.eval(&a.args[0])?;
        self.add_value(a, acc, v)
    }

    fn add_value(&mut self, a: &Aggregate, acc: &mut Accumulator, v: Value) -> Result<()> {
        if v.is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut acc.seen {
            let mut buffer = Vec::new();
            let key = hash_key::lone_key(&v, a.collation, &mut buffer);
            if seen.get(key).is_some() {
                return Ok(());
            }
            seen.insert(key, ());
            self.memory.take(key.entry_bytes())?;
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
                let n = convert::to_u64(&v, &*self.context);
                match a.kind {
                    AggregateKind::BitAnd => *bits &= n,
                    AggregateKind::BitOr => *bits |= n,
                    _ => *bits ^= n,
                }
            }
            Sum::Variance { count, mean, squares } => {
                let x = convert::to_f64(&v);
                *count += 1;
                let delta = x - *mean;
                *mean += delta / *count as f64;
                *squares += delta * (x - *mean);
            }
            Sum::Concat(_) => {}
            sum => {
                let Some(n) = number(&v, &*self.context) else { return Ok(()) };
                add_number(sum, n)?;
            }
        }
        Ok(())
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
            if !seen.insert(Key::Bytes(&key), ()) {
                return Ok(());
            }
            self.memory.take(key.len() + 48)?;
        }
        let mut order = Vec::new();
        if !a.order.is_empty() {
            self.sort_key(&a.order, &mut order)?;
        }
        match &mut acc.value {
            Sum::Count(n) => *n += 1,
            Sum::Concat(parts) => {
                self.memory.take(text.len() + order.len() + 48)?;
                parts.push((order, text));
            }
            _ => {}
        }
        Ok(())
    }

    fn result(&mut self, a: &Aggregate, acc: Accumulator) -> Result<Value> {
        Ok(match acc.value {
            Sum::Count(n) => Value::Int(n),
            Sum::Extreme(v) => v.unwrap_or_default(),
            Sum::Bits(b) => Value::UInt(b),
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
                    self.warn(1260, "Row 1 was cut by GROUP_CONCAT()".to_owned());
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
        let increment = u32::from(self.context.div_precision_increment());
        match sum.div(&by, increment) {
            Some(d) => Ok(Value::Decimal(d.rescale(a.ty.decimals).unwrap_or(d))),
            None => Err(out_of_range("DECIMAL", "avg")),
        }
    }
}

fn add_number(sum: &mut Sum, n: Number) -> Result<()> {
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
