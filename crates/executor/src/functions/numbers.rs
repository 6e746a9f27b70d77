//! Numeric functions.

use super::not_answered;
use crate::convert::{self, Number, number, number_decimal};
use crate::errors::out_of_range;
use crate::exec::Exec;
use crate::locales::{ENGLISH, LOCALES, Locale};
use crate::run::Result;
use env::SplitMix64;
use mysql_error::codes;
use planner::expr::{ArithOp, Expr, ExprKind};
use planner::func::Func;
use planner::typing::has_bits_of_bytes;
use types::{Decimal, TypeKind, Value};

impl Exec<'_> {
    /// Calls a numeric function.
    #[inline(never)]
    pub(super) fn call_number(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::Abs => {
                let v = self.eval(&args[0])?;
                self.demand_double(&v, &args[0])?;
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
                self.demand_double(&v, &args[0])?;
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
                self.demand_double(&v, &args[0])?;
                let digits = match args.get(1) {
                    Some(a) => match self.int_arg(a)? {
                        Some(d) => d,
                        None => return Ok(Value::Null),
                    },
                    None => 0,
                };
                match round(&v, digits, func == F::Round, e, &*self.context) {
                    Ok(v) => Ok(v),
                    Err(kind) => Err(out_of_range(kind, &self.spelled(e, || format!("{}({digits} digits)", func.name())))),
                }
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
                let r = match func {
                    F::Sin => x.sin(),
                    F::Cos => x.cos(),
                    F::Tan => x.tan(),
                    F::Cot => 1.0 / x.tan(),
                    F::Asin | F::Acos if !(-1.0..=1.0).contains(&x) => return Ok(Value::Null),
                    F::Asin => x.asin(),
                    F::Acos => x.acos(),
                    F::Degrees => x.to_degrees(),
                    _ => x.to_radians(),
                };
                if r.is_finite() {
                    return Ok(Value::Double(r));
                }
                Err(out_of_range("DOUBLE", &self.spelled(e, || format!("{}({x})", func.name()))))
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
                self.demand_double(&v, &args[0])?;
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
                let (Some(from), Some(to)) = (self.int_arg(&args[1])?, self.int_arg(&args[2])?) else { return Ok(Value::Null) };
                // MySQL takes 32 bits of them.
                self.conv(&args[0], from as i32, to as i32)
            }
            F::BitCount => {
                let v = self.eval(&args[0])?;
                match &v {
                    Value::Null => Ok(v),
                    Value::Bytes(b) if has_bits_of_bytes(&args[0]) => Ok(Value::Int(b.iter().map(|x| i64::from(x.count_ones())).sum())),
                    _ => Ok(Value::Int(i64::from(self.bits_of_operand(&v, &args[0])?.count_ones()))),
                }
            }
            F::Format => {
                let v = self.eval(&args[0])?;
                let Some(digits) = self.int_arg(&args[1])? else { return Ok(Value::Null) };
                if v.is_null() {
                    return Ok(v);
                }
                let digits = digits.clamp(0, 30) as u8;
                self.demand_double(&v, &args[0])?;
                let number = number(&v, &*self.context);
                let exact = number.as_ref().filter(|n| !matches!(n, Number::Double(_))).and_then(number_decimal);
                let text = match exact.and_then(|d| d.rescale(digits)) {
                    Some(d) => {
                        let mut out = Vec::new();
                        d.write_to(&mut out);
                        String::from_utf8_lossy(&out).into_owned()
                    }
                    None => fixed(convert::to_f64(&v, &*self.context), digits),
                };
                Ok(Value::from(self.locale_arg(args.get(2))?.digits.write(&text)))
            }
            _ => Err(not_answered(func)),
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

    /// CONV, BIN and OCT. A negative base says that the number has a sign.
    pub(super) fn conv(&mut self, e: &Expr, from: i32, to: i32) -> Result<Value> {
        let v = self.eval(e)?;
        let (text, from) = match &v {
            Value::Null => return Ok(v),
            // A number, whose base nobody needs to know.
            Value::UInt(n) if e.ty.kind == TypeKind::Bit && is_base(from) => (n.to_string().into_bytes(), 10),
            other => (self.text_of(other, e), from),
        };
        let Some(made) = conv(&text, from, to) else { return Ok(Value::Null) };
        if made.cut {
            self.truncated("DECIMAL", &text)?;
        }
        Ok(Value::from(made.digits))
    }

    fn bad_logarithm(&mut self) -> Result<Value> {
        self.tell(codes::invalid_argument_for_logarithm())?;
        Ok(Value::Null)
    }

    /// RAND(n): a sequence of its own for each call in the statement, the same for the same seed.
    fn seeded_random(&mut self, seed: u64, e: &Expr) -> f64 {
        // MySQL's own sequence is not reproduced.
        let at = std::ptr::from_ref(e) as usize;
        let known = self.random_sequences.iter().position(|(call, _)| *call == at);
        let known = known.unwrap_or_else(|| {
            self.random_sequences.push((at, SplitMix64::new(seed)));
            self.random_sequences.len() - 1
        });
        self.random_sequences[known].1.fraction()
    }
}

/// ROUND and TRUNCATE; the error is the type that cannot hold the result.
fn round(
    v: &Value,
    digits: i64,
    half_up: bool,
    e: &Expr,
    context: &dyn crate::context::StatementContext,
) -> std::result::Result<Value, &'static str> {
    let places = digits.clamp(-65, 30) as i32;
    Ok(match number(v, context) {
        None => Value::Null,
        Some(Number::Int(i)) if digits >= 0 => Value::Int(i),
        Some(Number::UInt(u)) if digits >= 0 => Value::UInt(u),
        Some(n @ (Number::Int(_) | Number::UInt(_))) => {
            let d = number_decimal(&n).unwrap_or(Decimal::ZERO);
            let r = if half_up { d.round(places) } else { d.truncate(places) };
            match n {
                Number::UInt(_) => Value::UInt(r.to_u64().map_err(|_| "BIGINT UNSIGNED")?),
                _ => Value::Int(r.to_i64().map_err(|_| "BIGINT")?),
            }
        }
        Some(Number::Decimal(d)) => {
            let r = if half_up { d.round(places) } else { d.truncate(places) };
            // The scale that the type shows.
            let scale = if e.ty.kind == TypeKind::Decimal { e.ty.decimals } else { places.clamp(0, i32::from(d.scale())) as u8 };
            Value::Decimal(r.rescale(scale).unwrap_or(r))
        }
        Some(Number::Double(d)) => Value::Double(round_double(d, digits, half_up)),
    })
}

/// By a power of ten that may be infinite: nothing is left of a number then, or nothing of it is cut.
fn round_double(d: f64, digits: i64, half_up: bool) -> f64 {
    let factor = power_of_ten(digits.unsigned_abs());
    let scaled = if digits >= 0 { d * factor } else { d / factor };
    if digits >= 0 && !scaled.is_finite() {
        return d;
    }
    let cut = if half_up { scaled.round_ties_even() } else { scaled.trunc() };
    match (digits >= 0, factor.is_finite()) {
        (true, _) => cut / factor,
        (false, true) => cut * factor,
        (false, false) => 0.0,
    }
}

/// The nearest double.
fn power_of_ten(n: u64) -> f64 {
    match n {
        // Products of these are exact.
        0..=22 => 10f64.powi(n as i32),
        23..=308 => format!("1e{n}").parse().unwrap_or(f64::INFINITY),
        _ => f64::INFINITY,
    }
}

/// A double with so many digits behind the point: its shortest ones, and zeros.
fn fixed(d: f64, digits: u8) -> String {
    let digits = usize::from(digits);
    let mut text = round_double(d, digits as i64, true).to_string();
    let behind = text.find('.').map(|point| text.len() - point - 1);
    match behind {
        // More than there is room for has been left by rounding.
        Some(behind) if behind > digits => return format!("{d:.digits$}"),
        None if digits > 0 => text.push('.'),
        _ => {}
    }
    text.extend(std::iter::repeat_n('0', digits - behind.unwrap_or(0)));
    text
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

/// What CONV makes of a text.
#[derive(Debug, PartialEq)]
struct Converted {
    digits: String,
    /// The text says no number, or one past the range.
    cut: bool,
}

fn is_base(base: i32) -> bool {
    (2..=36).contains(&base.unsigned_abs())
}

/// CONV: the number at the start of a text, from one base to another; `None` for bases that do not exist and for an empty text.
fn conv(text: &[u8], from: i32, to: i32) -> Option<Converted> {
    if text.is_empty() || !is_base(from) || !is_base(to) {
        return None;
    }
    let (base_in, base_out) = (from.unsigned_abs(), u64::from(to.unsigned_abs()));
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut amount: Option<u64> = Some(0);
    let mut any = false;
    for c in digits {
        let Some(d) = char::from(*c).to_digit(base_in) else { break };
        any = true;
        amount = amount.and_then(|n| n.checked_mul(u64::from(base_in))?.checked_add(u64::from(d)));
    }
    // Past the range it stops at the end; without a sign what is negative counts from above.
    let (n, past) = match (from < 0, negative, amount) {
        (false, false, n) => (n.unwrap_or(u64::MAX), n.is_none()),
        (false, true, n) => (n.map_or(0, u64::wrapping_neg), n.is_none()),
        (true, false, n) => match n.and_then(|n| i64::try_from(n).ok()) {
            Some(n) => (n.cast_unsigned(), false),
            None => (i64::MAX.cast_unsigned(), true),
        },
        (true, true, n) => match n.and_then(|n| 0i64.checked_sub_unsigned(n)) {
            Some(n) => (n.cast_unsigned(), false),
            None => (i64::MIN.cast_unsigned(), true),
        },
    };
    let (minus, mut n) = if to < 0 && n.cast_signed() < 0 { (true, n.cast_signed().unsigned_abs()) } else { (false, n) };
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
    Some(Converted { digits: out.into_iter().rev().collect(), cut: past || !any })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_follow_the_manual() {
        let check = |text: &str, from: i32, to: i32, digits: &str, cut: bool| {
            assert_eq!(conv(text.as_bytes(), from, to), Some(Converted { digits: digits.to_owned(), cut }), "{text} from {from} to {to}");
        };
        check("a", 16, 2, "1010", false);
        check("6E", 18, 8, "172", false);
        check("-17", 10, -18, "-H", false);
        check("-1", -10, 10, "18446744073709551615", false);
        check("-9223372036854775808", -10, -10, "-9223372036854775808", false);
        check("99999999999999999999", -10, 10, "9223372036854775807", true);
        check("-99999999999999999999", 10, 10, "0", true);
        check("-99999999999999999999", -10, 10, "9223372036854775808", true);
        check("abc", 10, 2, "0", true);
        assert_eq!((conv(b"", 10, 2), conv(b"5", 1, 10), conv(b"5", 10, i32::MIN)), (None, None, None));
        assert_eq!(crc32(b"MySQL"), 3_259_397_556);
        assert_eq!(crc32(b"mysql"), 2_501_908_538);
    }

    #[test]
    fn doubles_are_rounded_by_powers_of_ten() {
        let check = |d: f64, digits: i64, rounded: f64, cut: f64| {
            assert_eq!((round_double(d, digits, true), round_double(d, digits, false)), (rounded, cut), "{d} to {digits}");
        };
        check(1e300, -301, 0.0, 0.0);
        check(1e308, -301, 1e308, 1e308);
        check(123_456_789.123, 20, 123_456_789.123_000_01, 123_456_789.123_000_01);
        check(1.5e-20, 20, 2e-20, 1e-20);
        check(5e-324, 400, 5e-324, 5e-324);
        check(5e-324, 308, 0.0, 0.0);
        check(1e308, 5, 1e308, 1e308);
        check(1.5, -1000, 0.0, 0.0);
        check(2.5, 0, 2.0, 2.0);
        check(0.29, 2, 0.29, 0.28);
        assert_eq!((fixed(2.5, 0), fixed(1.005, 2), fixed(0.1, 20)), ("2".into(), "1.00".into(), "0.10000000000000000000".into()));
        assert_eq!((fixed(-0.4, 0), fixed(1e15 + 0.3, 5)), ("-0".into(), "1000000000000000.40000".into()));
    }
}
