//! Numeric functions.

use crate::convert::{self, Number, number, number_decimal};
use crate::errors::out_of_range;
use crate::exec::Exec;
use crate::locales::{ENGLISH, LOCALES, Locale};
use crate::run::Result;
use env::SplitMix64;
use planner::expr::{ArithOp, Expr, ExprKind};
use planner::func::Func;
use planner::typing::has_bits_of_bytes;
use types::{Decimal, TypeKind, Value};

impl Exec<'_> {
    /// Calls a numeric function, or passes on.
    #[inline(never)]
    pub fn call_number(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::Abs => {
                let v = self.eval(&args[0])?;
                self.demand_number("DOUBLE", &v)?;
                Ok(match number(&v, &*self.context) {
                    None => Value::Null,
                    Some(Number::Int(i)) => match i.checked_abs() {
                        Some(i) => Value::Int(i),
                        None => return Err(out_of_range("BIGINT", &self.spelled(e, || format!("abs({i})")))),
                    },
                    Some(Number::UInt(u)) => Value::UInt(u),
                    Some(Number::Decimal(d)) => Value::Decimal(d.abs()),
                    Some(Number::Double(d)) => Value::Double(d.abs()),
                })
            }
            F::Ceil | F::Floor => {
                let v = self.eval(&args[0])?;
                self.demand_number("DOUBLE", &v)?;
                Ok(match number(&v, &*self.context) {
                    None => Value::Null,
                    Some(Number::Int(i)) => Value::Int(i),
                    Some(Number::UInt(u)) => Value::UInt(u),
                    Some(Number::Decimal(d)) => {
                        let r = if func == F::Ceil { d.ceiling() } else { d.floor() };
                        match (r.to_i64(), r.to_u64()) {
                            _ if e.ty.kind == TypeKind::Decimal => Value::Decimal(r),
                            (Ok(i), _) => Value::Int(i),
                            (_, Ok(u)) => Value::UInt(u),
                            _ => Value::Decimal(r),
                        }
                    }
                    Some(Number::Double(d)) => Value::Double(if func == F::Ceil { d.ceil() } else { d.floor() }),
                })
            }
            F::Round | F::Truncate => {
                let v = self.eval(&args[0])?;
                self.demand_number("DOUBLE", &v)?;
                let digits = match args.get(1) {
                    Some(a) => match self.int_arg(a)? {
                        Some(d) => d,
                        None => return Ok(Value::Null),
                    },
                    None => 0,
                };
                Ok(round(&v, digits, func == F::Round, e, &*self.context))
            }
            F::Mod => {
                let call =
                    Expr { kind: ExprKind::Arith(ArithOp::Mod, Box::new(args[0].clone()), Box::new(args[1].clone())), ty: e.ty.clone() };
                self.eval(&call)
            }
            F::Pow => {
                let (Some(x), Some(y)) = (self.double_arg(&args[0])?, self.double_arg(&args[1])?) else { return Ok(Value::Null) };
                let r = x.powf(y);
                if r.is_finite() { Ok(Value::Double(r)) } else { Err(out_of_range("DOUBLE", &self.spelled(e, || format!("pow({x},{y})")))) }
            }
            F::Exp => {
                let Some(x) = self.double_arg(&args[0])? else { return Ok(Value::Null) };
                let r = x.exp();
                if r.is_finite() { Ok(Value::Double(r)) } else { Err(out_of_range("DOUBLE", &self.spelled(e, || format!("exp({x})")))) }
            }
            F::Ln | F::Log2 | F::Log10 | F::Log => {
                let Some(x) = self.double_arg(&args[0])? else { return Ok(Value::Null) };
                if let Some(second) = args.get(1) {
                    // LOG(base, x)
                    let Some(y) = self.double_arg(second)? else { return Ok(Value::Null) };
                    if x <= 0.0 || x == 1.0 || y <= 0.0 {
                        return self.bad_logarithm();
                    }
                    return Ok(Value::Double(y.ln() / x.ln()));
                }
                if x <= 0.0 {
                    return self.bad_logarithm();
                }
                Ok(Value::Double(match func {
                    F::Log2 => x.log2(),
                    F::Log10 => x.log10(),
                    _ => x.ln(),
                }))
            }
            F::Sqrt => {
                let Some(x) = self.double_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(if x < 0.0 { Value::Null } else { Value::Double(x.sqrt()) })
            }
            F::Sin | F::Cos | F::Tan | F::Cot | F::Asin | F::Acos | F::Degrees | F::Radians => {
                let Some(x) = self.double_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::Double(match func {
                    F::Sin => x.sin(),
                    F::Cos => x.cos(),
                    F::Tan => x.tan(),
                    F::Cot => {
                        let t = x.tan();
                        if t == 0.0 {
                            return Err(out_of_range("DOUBLE", &self.spelled(e, || format!("cot({x})"))));
                        }
                        1.0 / t
                    }
                    F::Asin | F::Acos if !(-1.0..=1.0).contains(&x) => return Ok(Value::Null),
                    F::Asin => x.asin(),
                    F::Acos => x.acos(),
                    F::Degrees => x.to_degrees(),
                    _ => x.to_radians(),
                }))
            }
            F::Atan => {
                let Some(x) = self.double_arg(&args[0])? else { return Ok(Value::Null) };
                match args.get(1) {
                    None => Ok(Value::Double(x.atan())),
                    Some(a) => Ok(self.double_arg(a)?.map_or(Value::Null, |y| Value::Double(x.atan2(y)))),
                }
            }
            F::Pi => Ok(Value::Double(std::f64::consts::PI)),
            F::Sign => {
                let v = self.eval(&args[0])?;
                self.demand_number("DOUBLE", &v)?;
                Ok(match number(&v, &*self.context) {
                    None => Value::Null,
                    Some(Number::Int(i)) => Value::Int(i.signum()),
                    Some(Number::UInt(u)) => Value::Int(i64::from(u > 0)),
                    Some(Number::Decimal(d)) => Value::Int(if d.is_zero() {
                        0
                    } else if d.is_negative() {
                        -1
                    } else {
                        1
                    }),
                    Some(Number::Double(d)) => Value::Int(if d > 0.0 {
                        1
                    } else if d < 0.0 {
                        -1
                    } else {
                        0
                    }),
                })
            }
            F::Rand => match args.first() {
                None => Ok(Value::Double(self.context.random())),
                Some(seed) => {
                    let seed = self.int_arg(seed)?.unwrap_or(0) as u64;
                    Ok(Value::Double(self.seeded_random(seed, e)))
                }
            },
            F::Crc32 => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                Ok(Value::UInt(u64::from(crc32(&t))))
            }
            F::Conv => {
                let Some(t) = self.text_arg(&args[0])? else { return Ok(Value::Null) };
                let (Some(from), Some(to)) = (self.int_arg(&args[1])?, self.int_arg(&args[2])?) else { return Ok(Value::Null) };
                Ok(conv(&t, from, to).map_or(Value::Null, Value::from))
            }
            F::BitCount => {
                let v = self.eval(&args[0])?;
                match &v {
                    Value::Null => return Ok(v),
                    Value::Bytes(b) if has_bits_of_bytes(&args[0]) => {
                        return Ok(Value::Int(b.iter().map(|x| i64::from(x.count_ones())).sum()));
                    }
                    _ => self.demand_number("INTEGER", &v)?,
                }
                Ok(Value::Int(i64::from(convert::to_u64(&v, &*self.context).count_ones())))
            }
            F::Format => {
                let v = self.eval(&args[0])?;
                let Some(digits) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                if v.is_null() {
                    return Ok(v);
                }
                let digits = digits.clamp(0, 30) as u8;
                let text = match number(&v, &*self.context).as_ref().and_then(number_decimal).and_then(|d| d.rescale(digits)) {
                    Some(d) => {
                        let mut out = Vec::new();
                        d.write_to(&mut out);
                        String::from_utf8_lossy(&out).into_owned()
                    }
                    None => format!("{:.*}", usize::from(digits), convert::to_f64(&v, &*self.context)),
                };
                Ok(Value::from(self.locale_arg(args.get(2))?.digits.write(&text)))
            }
            _ => self.call_temporal(func, args, e),
        }
    }

    /// The locale that FORMAT's third argument names; one that there is not is the default, with a warning.
    fn locale_arg(&mut self, arg: Option<&Expr>) -> Result<&'static Locale> {
        let Some(arg) = arg else { return Ok(&LOCALES[ENGLISH]) };
        let name = self.text_arg(arg)?;
        let found = name.as_deref().and_then(crate::locales::find);
        if found.is_none() {
            let name = name.as_deref().map_or("NULL".into(), String::from_utf8_lossy);
            self.warn(1649, format!("Unknown locale: '{name}'"));
        }
        Ok(&LOCALES[found.unwrap_or(ENGLISH)])
    }

    fn bad_logarithm(&mut self) -> Result<Value> {
        self.warn(3020, "Invalid argument for logarithm".to_owned());
        Ok(Value::Null)
    }

    /// RAND(n): a sequence of its own for each call in the statement, the same for the same seed.
    fn seeded_random(&mut self, seed: u64, e: &Expr) -> f64 {
        // MySQL's own sequence is not reproduced.
        let at = std::ptr::from_ref(e) as usize;
        self.random_sequences.entry(at).or_insert_with(|| SplitMix64::new(seed)).fraction()
    }
}

fn round(v: &Value, digits: i64, half_up: bool, e: &Expr, context: &dyn crate::context::StatementContext) -> Value {
    let digits = digits.clamp(-65, 30) as i32;
    match number(v, context) {
        None => Value::Null,
        Some(Number::Int(i)) if digits >= 0 => Value::Int(i),
        Some(Number::UInt(u)) if digits >= 0 => Value::UInt(u),
        Some(n @ (Number::Int(_) | Number::UInt(_))) => {
            let d = number_decimal(&n).unwrap_or(Decimal::ZERO);
            let r = if half_up { d.round(digits) } else { d.truncate(digits) };
            match (r.to_i64(), r.to_u64()) {
                (Ok(i), _) if !e.ty.unsigned => Value::Int(i),
                (_, Ok(u)) => Value::UInt(u),
                (Ok(i), _) => Value::Int(i),
                _ => Value::Decimal(r),
            }
        }
        Some(Number::Decimal(d)) => {
            let r = if half_up { d.round(digits) } else { d.truncate(digits) };
            // The scale that the type shows.
            let scale = if e.ty.kind == TypeKind::Decimal { e.ty.decimals } else { digits.clamp(0, i32::from(d.scale())) as u8 };
            Value::Decimal(r.rescale(scale).unwrap_or(r))
        }
        Some(Number::Double(d)) => {
            if digits > 17 {
                return Value::Double(d);
            }
            let factor = 10f64.powi(digits.abs());
            let scaled = if digits >= 0 { d * factor } else { d / factor };
            if !scaled.is_finite() {
                return Value::Double(d);
            }
            let cut = if half_up { scaled.round_ties_even() } else { scaled.trunc() };
            Value::Double(if digits >= 0 { cut / factor } else { cut * factor })
        }
    }
}

/// What a byte does to a CRC-32.
const CRC32_OF_BYTE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// CRC-32 of IEEE 802.3.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| crc >> 8 ^ CRC32_OF_BYTE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// CONV: the number at the start of a text, from one base to another; `None` for bases that do not exist and for an empty text.
pub fn conv(text: &[u8], from: i64, to: i64) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let (base_in, base_out) = (from.unsigned_abs(), to.unsigned_abs());
    if !(2..=36).contains(&base_in) || !(2..=36).contains(&base_out) {
        return None;
    }
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut n: u64 = 0;
    for c in digits {
        let Some(d) = (*c as char).to_digit(base_in as u32) else { break };
        n = n.saturating_mul(base_in).saturating_add(u64::from(d));
    }
    if negative {
        n = n.wrapping_neg();
    }
    let (minus, mut n) = if to < 0 && (n as i64) < 0 { (true, (n as i64).unsigned_abs()) } else { (false, n) };
    let mut out = Vec::new();
    loop {
        out.push(char::from_digit((n % base_out) as u32, base_out as u32)?.to_ascii_uppercase());
        n /= base_out;
        if n == 0 {
            break;
        }
    }
    if minus {
        out.push('-');
    }
    Some(out.into_iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_follow_the_manual() {
        assert_eq!(conv(b"a", 16, 2).as_deref(), Some("1010"));
        assert_eq!(conv(b"6E", 18, 8).as_deref(), Some("172"));
        assert_eq!(conv(b"-17", 10, -18).as_deref(), Some("-H"));
        assert_eq!(crc32(b"MySQL"), 3_259_397_556);
        assert_eq!(crc32(b"mysql"), 2_501_908_538);
    }
}
