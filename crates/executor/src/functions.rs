//! Scalar functions: control flow, information, and the way to the others.

mod addresses;
mod aes;
mod bounded;
mod compression;
mod digest;

mod json_cast;
mod json_functions;
mod json_schema;
mod json_value;
mod locate;

mod numbers;
pub(crate) mod regexp;
mod regexp_pattern;
mod schema_pattern;
mod statement_digest;
mod strings;
mod sys_functions;
pub(crate) mod temporal;
mod weight_string;

pub use addresses::format_bytes;
pub(crate) use json_functions::unquoted;
pub use numbers::crc32;

use crate::context::UserLockCall;
use crate::convert::{self, coerce, compare, member_beside, text};
use crate::exec::Exec;
use crate::run::Result;
use planner::expr::Expr;
use planner::func::Func;
use std::cmp::Ordering;
use types::{ByteString, Collation, Decimal, Value};

impl Exec<'_> {
    /// Calls a function. `e` is the call itself, for its result type.
    pub fn call(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        self.check_stack()?;
        // Each group has a frame of its own on the stack, and nesting pays only for those it uses.
        let within = |first: Func, last: Func| (first as u32..=last as u32).contains(&(func as u32));
        if within(Func::Concat, Func::CollationOf) {
            return self.call_string(func, args, e);
        }
        if within(Func::RegexpLike, Func::RegexpSubstr) {
            return self.call_regexp(func, args);
        }
        if within(Func::Inet6Aton, Func::CurrentRole) {
            return self.call_network(func, args);
        }
        if within(Func::Abs, Func::BitCount) {
            return self.call_number(func, args, e);
        }
        if within(Func::Now, Func::ConvertTz) {
            return self.call_temporal(func, args, e);
        }
        if within(Func::JsonExtract, Func::JsonNamed) {
            return self.call_json(func, args, e);
        }
        self.call_general(func, args, e)
    }

    #[inline(never)]
    fn call_general(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::If => {
                let chosen = if self.is_true(&args[0])? { &args[1] } else { &args[2] };
                self.eval_as(chosen, e)
            }
            F::IfNull | F::Coalesce => {
                for a in args {
                    let v = self.eval(a)?;
                    match coerce(v, &a.ty, &e.ty, &*self.context) {
                        Value::Null => {}
                        // As text it has all the digits of a DOUBLE.
                        Value::Float(n) => return Ok(Value::Double(f64::from(n))),
                        v => return Ok(v),
                    }
                }
                Ok(Value::Null)
            }
            F::NullIf => {
                let a = self.eval(&args[0])?;
                let b = self.eval(&args[1])?;
                let collation = pair_collation(&args[0], &args[1]);
                let (of_a, of_b) = (member_beside(&a, &args[0].ty, &b), member_beside(&b, &args[1].ty, &a));
                let (x, y) = (of_a.as_ref().unwrap_or(&a), of_b.as_ref().unwrap_or(&b));
                let odd = self.odd_operand(x, y, matches!(b, Value::Bytes(_)) && args[1].is_constant());
                self.tell_odd(odd)?;
                Ok(if compare(x, y, collation, &*self.context) == Some(Ordering::Equal) { Value::Null } else { a })
            }
            F::Greatest | F::Least => {
                let mut best: Option<Value> = None;
                for a in args {
                    let v = self.eval(a)?;
                    if v.is_null() {
                        return Ok(v);
                    }
                    let v = coerce(v, &a.ty, &e.ty, &*self.context);
                    let better = match &best {
                        None => true,
                        Some(b) => {
                            let order = compare(&v, b, e.ty.collation, &*self.context);
                            order == Some(if func == F::Greatest { Ordering::Greater } else { Ordering::Less })
                        }
                    };
                    if better {
                        best = Some(v);
                    }
                }
                Ok(best.unwrap_or_default())
            }
            F::IsNull => Ok(Value::bool(self.eval(&args[0])?.is_null())),
            F::Interval => {
                let n = self.eval(&args[0])?;
                if n.is_null() {
                    return Ok(Value::Int(-1));
                }
                let mut count = 0;
                for a in &args[1..] {
                    let v = self.eval(a)?;
                    if !v.is_null() && compare(&n, &v, Collation::Binary, &*self.context) == Some(Ordering::Less) {
                        break;
                    }
                    count += 1;
                }
                Ok(Value::Int(count))
            }
            F::AnyValue => self.eval(&args[0]),
            F::PadChar => {
                let v = self.eval(&args[0])?;
                Ok(match v {
                    Value::Bytes(text) => Value::Bytes(padded(text, args[0].ty.length as usize)),
                    other => other,
                })
            }
            F::BareZero => Ok(match self.eval(&args[0])? {
                Value::Decimal(d) if d.is_zero() => Value::Decimal(Decimal::ZERO),
                other => other,
            }),
            F::TextMoment => Ok(match self.eval(&args[0])? {
                Value::Bytes(text) => convert::moment_number(&text, &*self.context).map_or(Value::Null, Value::Double),
                other => other,
            }),
            F::WholeOperand | F::DecimalOperand => Ok(match self.eval(&args[0])? {
                Value::Bytes(text) => types::number_operand(&text, func == F::DecimalOperand).unwrap_or(Value::Bytes(text)),
                other => other,
            }),
            F::YearOperand => Ok(types::year_operand(self.eval(&args[0])?)),
            F::MomentOperand => Ok(match self.eval(&args[0])? {
                Value::Int(digits) => types::moment_operand(digits).map_or(Value::Int(digits), Value::DateTime),
                other => other,
            }),
            F::Database => Ok(self.context.database().map_or(Value::Null, Value::from)),
            F::User => Ok(Value::from(self.context.user())),
            F::CurrentUser => Ok(Value::from(self.context.current_user())),
            F::Version => Ok(Value::from(self.context.version())),
            F::ConnectionId => Ok(Value::UInt(self.context.connection_id())),
            F::LastInsertId => match args.first() {
                None => Ok(Value::UInt(self.context.last_insert_id())),
                Some(a) => {
                    let v = self.eval(a)?;
                    let id = self.bits_of(&v)?;
                    self.context.set_last_insert_id(id);
                    self.explicit_insert_id = Some(id);
                    Ok(if v.is_null() { v } else { Value::UInt(id) })
                }
            },
            F::QueryAttribute => match self.eval(&args[0])? {
                Value::Bytes(name) => Ok(self.context.query_attribute(&name)),
                _ => Ok(Value::Null),
            },
            F::RowCount => Ok(Value::Int(self.context.row_count())),
            F::FoundRows => Ok(Value::Int(self.context.found_rows() as i64)),
            F::Sleep => {
                let Some(seconds) = self.double_arg(&args[0])? else {
                    return Err(mysql_error::codes::wrong_arguments("sleep.").into());
                };
                if seconds < 0.0 {
                    return Err(mysql_error::codes::wrong_arguments("sleep.").into());
                }
                let killed = self.context.sleep(seconds);
                // Between one row and the next MySQL sees that the statement is to end; without tables there is no next.
                if killed && !self.plan.tables.is_empty() {
                    return Err(self.context.cancel_error().into());
                }
                Ok(Value::bool(killed))
            }
            F::GetLock | F::ReleaseLock | F::ReleaseAllLocks | F::IsFreeLock | F::IsUsedLock => self.user_lock(func, args),
            F::AesEncrypt | F::AesDecrypt => self.call_aes(func, args),
            F::Compress | F::Uncompress | F::UncompressedLength => self.call_compression(func, args),
            // What a MySQL answers that has no component that judges passwords.
            F::ValidatePasswordStrength => Ok(if self.eval(&args[0])?.is_null() { Value::Null } else { Value::Int(0) }),
            F::LoadFile => {
                let Some(name) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(self.context.load_file(&name)?.map_or(Value::Null, Value::bytes))
            }
            F::StatementDigest | F::StatementDigestText => self.statement_digest(func, &args[0]),
            F::Uuid => Ok(Value::from(self.uuid())),
            F::Charset => Ok(Value::from(charset_of(&args[0]))),
            F::CollationOf => Ok(Value::from(collation_of(&args[0]))),
            _ if func.is_of_sys() => self.call_sys(func, args),
            _ => self.call_string(func, args, e),
        }
    }

    /// GET_LOCK and its family.
    #[inline(never)]
    fn user_lock(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        let name = match args.first() {
            Some(name) => self.text_arg(name)?,
            None => None,
        };
        let name = name.map(|name| String::from_utf8_lossy(&name).into_owned());
        let call = match func {
            F::GetLock => {
                let timeout = self.eval(&args[1])?;
                // NULL is 0.
                UserLockCall::Get { timeout_s: convert::to_i64(&timeout, &*self.context) }
            }
            F::ReleaseLock => UserLockCall::Release,
            F::ReleaseAllLocks => UserLockCall::ReleaseAll,
            F::IsFreeLock => UserLockCall::IsFree,
            F::IsUsedLock => UserLockCall::IsUsed,
            other => unreachable!("{other:?} is no function of user locks"),
        };
        let unsigned = matches!(func, F::ReleaseAllLocks | F::IsUsedLock);
        Ok(match self.context.user_lock(call, name.as_deref())? {
            Value::Int(n) if unsigned => Value::UInt(n.cast_unsigned()),
            other => other,
        })
    }

    /// A version 1 UUID of the current time and a random node.
    fn uuid(&mut self) -> String {
        let ticks = (self.context.current_micros() as u64).wrapping_mul(10).wrapping_add(0x01b2_1dd2_1381_4000);
        let mut bits = || (self.context.random() * 65_536.0) as u64;
        let sequence = bits() & 0x3fff | 0x8000;
        let node = (bits() << 32 | bits() << 16 | bits()) | 1 << 40;
        let low_jitter = bits() & 7;
        let ticks = ticks.wrapping_add(low_jitter);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            ticks & 0xffff_ffff,
            ticks >> 32 & 0xffff,
            ticks >> 48 & 0x0fff | 0x1000,
            sequence,
            node & 0xffff_ffff_ffff
        )
    }

    /// Text arguments of a string function; `None` when one is NULL.
    pub fn texts(&mut self, args: &[Expr]) -> Result<Option<Vec<Vec<u8>>>> {
        let mut out = Vec::with_capacity(args.len());
        for a in args {
            match self.text_arg(a)? {
                Some(t) => out.push(t),
                None => return Ok(None),
            }
        }
        Ok(Some(out))
    }

    /// Text of a value that an expression gave.
    pub fn text_of(&self, v: &Value, e: &Expr) -> Vec<u8> {
        text(v, &e.ty, &*self.context).into_owned()
    }
}

/// The collation two arguments are compared under.
pub fn pair_collation(a: &Expr, b: &Expr) -> Collation {
    planner::typing::comparison_collation([a, b].into_iter()).unwrap_or(Collation::Binary)
}

/// A text with spaces up to so many characters.
fn padded(text: ByteString, chars: usize) -> ByteString {
    let own = text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    if own >= chars {
        return text;
    }
    let mut padded = text.to_vec();
    padded.resize(padded.len() + chars - own, b' ');
    padded.into()
}

fn charset_of(e: &Expr) -> &'static str {
    if planner::typing::is_string_class(&e.ty) { e.ty.collation.charset().name() } else { "binary" }
}

fn collation_of(e: &Expr) -> &'static str {
    if planner::typing::is_string_class(&e.ty) { e.ty.collation.name() } else { "binary" }
}
