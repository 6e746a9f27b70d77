//! Evaluation of expressions over the frame.

use crate::bits;
use crate::context::UserVariable;
use crate::convert::{self, coerce, compare, text, truth};
use crate::exec::Exec;
use crate::run::Result;
use crate::subquery::holds;
use mysql_error::{SqlError, codes};
use planner::expr::{CmpOp, ComparedRows, Expr, ExprKind, ListedRows};
use planner::typing::{is_told_once, says_nothing_as_number};
use std::cmp::Ordering;
use types::{Collation, SqlMode, Value};

impl Exec<'_> {
    /// A value that stands ready, without evaluation.
    #[inline]
    pub(crate) fn leaf<'v>(&'v self, e: &'v Expr) -> Option<&'v Value> {
        match &e.kind {
            ExprKind::Slot(s) => Some(&self.frame[*s as usize]),
            ExprKind::Literal(v) => Some(v),
            ExprKind::Param(n) => self.params.get(*n as usize),
            _ => None,
        }
    }

    /// A user variable, as the type that it had when the plan was made: the statement may have assigned another one since.
    #[cold]
    fn user_variable(&self, name: &str, ty: &types::ColumnType) -> Value {
        let UserVariable { mut value, collation } = self.context.user_variable(name);
        if let Value::Bytes(text) = &mut value
            && collation.charset() != ty.collation.charset()
            && planner::typing::is_string_class(ty)
        {
            let from = types::ColumnType::varchar(0, collation);
            *text = convert::to_charset(std::mem::take(text).into_vec(), &from, ty.collation.charset()).into();
        }
        let as_planned = match &value {
            Value::Int(_) | Value::UInt(_) => ty.kind.is_integer(),
            Value::Decimal(_) => ty.kind == types::TypeKind::Decimal,
            Value::Double(_) | Value::Float(_) => ty.kind == types::TypeKind::Double,
            _ => false,
        };
        if as_planned || !planner::typing::is_number(ty) { value } else { coerce(value, ty, ty, &*self.context) }
    }

    /// Whether a condition is true.
    #[inline]
    pub fn is_true(&mut self, e: &Expr) -> Result<bool> {
        Ok(self.truth(e)? == Some(true))
    }

    /// Truth value of a condition; `None` is unknown.
    pub fn truth(&mut self, e: &Expr) -> Result<Option<bool>> {
        match &e.kind {
            ExprKind::And(list) => {
                let mut unknown = false;
                for part in list {
                    match self.truth(part)? {
                        Some(false) => return Ok(Some(false)),
                        None => unknown = true,
                        Some(true) => {}
                    }
                }
                Ok(if unknown { None } else { Some(true) })
            }
            ExprKind::Or(list) => {
                let mut unknown = false;
                for part in list {
                    match self.truth(part)? {
                        Some(true) => return Ok(Some(true)),
                        None => unknown = true,
                        Some(false) => {}
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            ExprKind::Not(a) => {
                planner::check_stack()?;
                Ok(self.truth(a)?.map(|t| !t))
            }
            ExprKind::Compare(op, collation, a, b) => self.comparison(*op, *collation, a, b),
            ExprKind::Slot(_) | ExprKind::Literal(_) => match self.leaf(e) {
                Some(v @ Value::Bytes(_)) => {
                    let v = v.clone();
                    self.demand_double(&v, e)?;
                    Ok(truth(&v))
                }
                v => Ok(v.and_then(truth)),
            },
            _ => {
                let v = self.eval(e)?;
                self.demand_double(&v, e)?;
                Ok(truth(&v))
            }
        }
    }

    fn comparison(&mut self, op: CmpOp, collation: Collation, a: &Expr, b: &Expr) -> Result<Option<bool>> {
        let (left, right);
        let (x, y) = match (self.leaf(a), self.leaf(b)) {
            (Some(x), Some(y)) => (x, y),
            _ => {
                left = self.eval(a)?;
                right = self.eval(b)?;
                (&left, &right)
            }
        };
        let context = &*self.context;
        if op == CmpOp::NullSafeEq && (x.is_null() || y.is_null()) {
            return Ok(Some(match (x.is_null(), y.is_null()) {
                (true, true) => true,
                (false, false) => compare(x, y, collation, context) == Some(Ordering::Equal),
                _ => false,
            }));
        }
        // Integers decide here; everything else in `compare`.
        if let (Value::Int(x), Value::Int(y)) = (x, y) {
            return Ok(Some(holds(op, x.cmp(y))));
        }
        if let (CmpOp::Eq | CmpOp::Ne, Value::Bytes(x), Value::Bytes(y)) = (op, x, y) {
            return Ok(Some(collation.equal(x, y) == (op == CmpOp::Eq)));
        }
        let odd = match (x, y) {
            (Value::Bytes(_), Value::Bytes(_)) => None,
            (Value::Bytes(_), _) if !is_told_once(a, b) => self.odd_operand((x, a), (y, b), true),
            (_, Value::Bytes(_)) if !is_told_once(b, a) => self.odd_operand((y, b), (x, a), true),
            _ => None,
        };
        let holds = compare(x, y, collation, context).map(|order| holds(op, order));
        if self.tell_odd(odd)? {
            return Ok((op == CmpOp::NullSafeEq).then_some(false));
        }
        Ok(holds)
    }

    /// Evaluates an expression.
    pub fn eval(&mut self, e: &Expr) -> Result<Value> {
        match &e.kind {
            ExprKind::Literal(v) => Ok(v.clone()),
            ExprKind::Slot(s) => Ok(self.frame[*s as usize].clone()),
            ExprKind::Param(n) => match self.params.get(*n as usize) {
                Some(v) => Ok(v.clone()),
                None => Err(mysql_error::SqlError::with_message(1210, "Incorrect arguments to EXECUTE").into()),
            },
            ExprKind::Arith(op, a, b) => {
                let x = self.eval(a)?;
                let y = self.eval(b)?;
                self.arith(*op, &x, &y, e)
            }
            ExprKind::Run(first, links) => self.arith_run(first, links),
            ExprKind::Neg(a) => {
                let v = self.eval(a)?;
                self.negate(&v, e)
            }
            ExprKind::BitNot(a) => {
                let v = self.eval(a)?;
                match &v {
                    Value::Null => Ok(v),
                    Value::Bytes(bytes) if e.ty.kind.is_string() => Ok(Value::Bytes(bits::not(bytes).into())),
                    _ => Ok(Value::UInt(!self.bits_of_operand(&v, a)?)),
                }
            }
            ExprKind::Compare(op, collation, a, b) => Ok(truth_value(self.comparison(*op, *collation, a, b)?)),
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) => Ok(truth_value(self.truth(e)?)),
            ExprKind::Xor(a, b) => {
                let (x, y) = (self.truth(a)?, self.truth(b)?);
                Ok(truth_value(x.zip(y).map(|(x, y)| x != y)))
            }
            ExprKind::IsNull { operand, negated } => {
                let null = match self.leaf(operand) {
                    Some(v) => v.is_null(),
                    None => self.eval(operand)?.is_null(),
                };
                Ok(Value::bool(null != *negated))
            }
            ExprKind::IsTruth { operand, truth, negated } => {
                let is = self.truth(operand)? == Some(*truth);
                Ok(Value::bool(is != *negated))
            }
            ExprKind::Between { operand, low: of_low, high: of_high, negated, collation } => {
                let v = self.eval(operand)?;
                let low = self.eval(of_low)?;
                let high = self.eval(of_high)?;
                self.note_bound(&v, operand, &low, of_low)?;
                self.note_bound(&v, operand, &high, of_high)?;
                let context = &*self.context;
                let above = compare(&v, &low, *collation, context).map(|o| o != Ordering::Less);
                let below = compare(&v, &high, *collation, context).map(|o| o != Ordering::Greater);
                let inside = match (above, below) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
                Ok(truth_value(inside.map(|i| i != *negated)))
            }
            ExprKind::InList { operand, list, negated, collation } => {
                let v = self.eval(operand)?;
                if v.is_null() {
                    return Ok(v);
                }
                let mut unknown = false;
                let alone = list.len() == 1;
                for (at, item) in list.iter().enumerate() {
                    let odd;
                    let order = match self.leaf(item) {
                        Some(w) => {
                            odd = match (&v, w) {
                                (Value::Bytes(_), Value::Bytes(_)) => None,
                                (_, Value::Bytes(_)) if is_told_once(item, operand) => None,
                                (_, w) => self.odd_pair(&v, operand, w, item, alone),
                            };
                            compare(&v, w, *collation, &*self.context)
                        }
                        None => {
                            let w = self.eval(item)?;
                            odd = self.odd_pair(&v, operand, &w, item, alone);
                            compare(&v, &w, *collation, &*self.context)
                        }
                    };
                    if odd.is_some() && self.is_listed_again(list, at) {
                        continue;
                    }
                    let order = if self.tell_odd(odd)? { None } else { order };
                    match order {
                        Some(Ordering::Equal) => return Ok(Value::bool(!*negated)),
                        None => unknown = true,
                        _ => {}
                    }
                }
                Ok(if unknown { Value::Null } else { Value::bool(*negated) })
            }
            ExprKind::InRows(rows) => {
                let ListedRows { operand, list, negated, collations } = &**rows;
                let (mut row, mut candidate) = (Vec::new(), Vec::new());
                let mut unknown = false;
                for item in list {
                    match self.equal_numbers(operand, item) {
                        Some(true) => return Ok(Value::bool(!*negated)),
                        Some(false) => continue,
                        None => {}
                    }
                    if row.is_empty() {
                        self.eval_row(operand, &mut row)?;
                    }
                    self.eval_row(item, &mut candidate)?;
                    // Beside a text MySQL takes a list of several types otherwise.
                    if operand.iter().zip(item).any(|(x, y)| x.ty.kind.has_date() && is_text(y)) {
                        self.note_moments_in_rows((&row, operand), (&candidate, item), collations)?;
                    }
                    match convert::compare_rows(CmpOp::Eq, &row, &candidate, collations, &*self.context) {
                        Value::Int(1) => return Ok(Value::bool(!*negated)),
                        Value::Null => unknown = true,
                        _ => {}
                    }
                }
                Ok(if unknown { Value::Null } else { Value::bool(*negated) })
            }
            ExprKind::CompareRows(op, rows) => {
                let ComparedRows { collations, left: a, right: b } = &**rows;
                let (mut x, mut y) = (Vec::new(), Vec::new());
                self.eval_row(a, &mut x)?;
                self.eval_row(b, &mut y)?;
                if has_text_beside_moment(a, b) {
                    self.note_moments_in_rows((&x, a), (&y, b), collations)?;
                }
                Ok(convert::compare_rows(*op, &x, &y, collations, &*self.context))
            }
            ExprKind::Like { operand, pattern, escape, negated, collation } => {
                let v = self.eval(operand)?;
                let p = self.eval(pattern)?;
                if v.is_null() || p.is_null() {
                    return Ok(Value::Null);
                }
                let context = &*self.context;
                let matched = collation.like(&text(&v, &operand.ty, context), &text(&p, &pattern.ty, context), escape.map(u32::from));
                Ok(Value::bool(matched != *negated))
            }
            ExprKind::Case { operand, branches, otherwise, collation } => {
                planner::check_stack()?;
                let subject = operand.as_ref().map(|o| self.eval(o)).transpose()?;
                for (when, then) in branches {
                    let taken = match &subject {
                        Some(v) => {
                            let w = self.eval(when)?;
                            // As MySQL, to which a date that a text is compared with here is text.
                            if !matches!((v, &w), (Value::Bytes(_), Value::Date(_) | Value::DateTime(_) | Value::Timestamp(_))) {
                                self.note_pair(v, operand.as_deref().unwrap_or(when), &w, when)?;
                            }
                            compare(v, &w, *collation, &*self.context) == Some(Ordering::Equal)
                        }
                        None => self.is_true(when)?,
                    };
                    if taken {
                        return self.eval_as(then, e);
                    }
                }
                match otherwise {
                    Some(o) => self.eval_as(o, e),
                    None => Ok(Value::Null),
                }
            }
            ExprKind::Func(func, args) => self.call(*func, args, e),
            ExprKind::Cast(a, to) => {
                let v = self.eval(a)?;
                self.cast(v, a, *to)
            }
            ExprKind::DateAdd { date, amount, unit, negated } => self.date_add(date, amount, *unit, *negated, e),
            ExprKind::Extract(unit, a) => {
                let v = self.eval(a)?;
                self.extract(*unit, a, &v)
            }
            ExprKind::TimestampDiff(unit, a, b) => {
                let (x, y) = (self.eval(a)?, self.eval(b)?);
                self.timestamp_diff(*unit, (a, &x), (b, &y))
            }
            ExprKind::Collate(a, _) => {
                let v = self.eval(a)?;
                Ok(match v {
                    Value::Null | Value::Bytes(_) => v,
                    other => Value::from(&*text(&other, &a.ty, &*self.context)),
                })
            }
            ExprKind::Subquery(n, kind) => {
                planner::check_stack()?;
                self.subquery(*n, kind)
            }
            ExprKind::UserVariable(name) => {
                let v = self.user_variable(name, &e.ty);
                match &v {
                    // Each use is a copy: many of a large one are to end the statement before they end the server.
                    Value::Bytes(text) if text.len() >= memory::LARGE_BYTES => memory::ask(text.len()).map(|()| v).map_err(Into::into),
                    _ => Ok(v),
                }
            }
            ExprKind::AssignVariable(name, a) => {
                let v = self.eval(a)?;
                self.context.set_user_variable(name, v.clone(), UserVariable::collation_of(&a.ty));
                Ok(v)
            }
            ExprKind::SystemVariable(scope, name) => self.context.system_variable(*scope, name),
            ExprKind::NoDefault(column) => Err(codes::no_default_for_field(column).into()),
        }
    }

    /// Evaluates the parts of a row.
    fn eval_row(&mut self, parts: &[Expr], row: &mut Vec<Value>) -> Result<()> {
        row.clear();
        for part in parts {
            let value = self.eval(part)?;
            row.push(value);
        }
        Ok(())
    }

    /// Whether two rows are equal all of whose parts stand ready as whole numbers; `None` of others.
    fn equal_numbers(&self, a: &[Expr], b: &[Expr]) -> Option<bool> {
        let mut equal = true;
        for (a, b) in a.iter().zip(b) {
            let (Value::Int(a), Value::Int(b)) = (self.leaf(a)?, self.leaf(b)?) else { return None };
            equal &= a == b;
        }
        Some(equal)
    }

    /// Evaluates one source of an expression with a common type.
    pub fn eval_as(&mut self, source: &Expr, of: &Expr) -> Result<Value> {
        let v = self.eval(source)?;
        Ok(coerce(v, &source.ty, &of.ty, &*self.context))
    }

    /// NULL with warning 1292 for a string that is no date or time.
    pub fn bad_temporal(&mut self, kind: &str, v: &Value) -> Result<Value> {
        let mut shown = Vec::new();
        convert::append_text(v, 0, &*self.context, &mut shown);
        let shown = convert::shown_text(&shown);
        let message = match (kind, v) {
            ("time", _) | ("date", Value::Bytes(_)) => format!("Truncated incorrect {kind} value: '{shown}'"),
            ("date", _) => format!("Incorrect datetime value: '{shown}'"),
            _ => format!("Incorrect {kind} value: '{shown}'"),
        };
        self.tell(SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, message))?;
        Ok(Value::Null)
    }

    /// Tells of a text that is a date or a time with something behind it, or a time past the range.
    pub fn cut_temporal(&mut self, kind: &str, v: &Value) -> Result<()> {
        let Value::Bytes(text) = v else { return Ok(()) };
        let cut = match kind {
            "time" => types::parse_time_full(text).filter(|parsed| parsed.truncated || parsed.out_of_range).map(|_| kind),
            _ => types::parse_datetime_full(text, SqlMode::NONE)
                .filter(|parsed| parsed.truncated)
                .map(|parsed| if parsed.has_time { kind } else { "date" }),
        };
        cut.map_or(Ok(()), |kind| self.truncated(kind, text))
    }

    /// The text of an evaluated argument; `None` for NULL.
    pub fn text_arg(&mut self, e: &Expr) -> Result<Option<Vec<u8>>> {
        let v = self.eval(e)?;
        if v.is_null() {
            return Ok(None);
        }
        Ok(Some(owned_text(v, &e.ty, &*self.context)))
    }

    /// An integer argument; `None` for NULL.
    pub fn int_arg(&mut self, e: &Expr) -> Result<Option<i64>> {
        let v = self.eval(e)?;
        if let Value::Bytes(text) = &v {
            let (bits, clean) = convert::integer_prefix(text, false);
            if !clean && !says_nothing_as_number(e) {
                self.truncated("INTEGER", text)?;
            }
            return Ok(Some(bits as i64));
        }
        Ok(match &v {
            Value::Null => None,
            Value::Decimal(d) => Some(self.whole_of(d)?),
            v => Some(convert::to_i64(v, &*self.context)),
        })
    }

    /// A floating argument; `None` for NULL.
    pub fn double_arg(&mut self, e: &Expr) -> Result<Option<f64>> {
        let v = self.eval(e)?;
        self.demand_double(&v, e)?;
        Ok(if v.is_null() { None } else { Some(convert::to_f64(&v, &*self.context)) })
    }
}

/// Whether texts are compared with dates in two rows.
fn has_text_beside_moment(a: &[Expr], b: &[Expr]) -> bool {
    a.iter().zip(b).any(|(x, y)| is_text(x) && y.ty.kind.has_date() || x.ty.kind.has_date() && is_text(y))
}

fn is_text(e: &Expr) -> bool {
    planner::typing::is_string_class(&e.ty)
}

/// A value's text, which is not copied where the value is one.
pub(crate) fn owned_text(v: Value, ty: &types::ColumnType, context: &dyn crate::context::StatementContext) -> Vec<u8> {
    match v {
        Value::Bytes(text) => text.into_vec(),
        v => text(&v, ty, context).into_owned(),
    }
}

/// 1, 0 or NULL.
pub fn truth_value(t: Option<bool>) -> Value {
    t.map_or(Value::Null, Value::bool)
}
