//! Places in texts and lists, and items of lists.

use super::{not_answered, pair_collation};
use crate::context::StatementContext;
use crate::convert;
use crate::exec::Exec;
use crate::functions::bounded::Growing;
use crate::functions::locate::locate;
use crate::run::Result;
use planner::expr::{Expr, ExprKind};
use planner::func::Func;
use planner::typing::{Class, class, comparison_collation, is_string_class};
use std::cmp::Ordering;
use types::{Collation, ColumnType, TypeKind, Value};

/// As what FIELD compares: all of its arguments count, not only the two that are compared.
#[derive(Clone, Copy)]
enum Alike {
    /// Integers of 64 bits, whose sign is not looked at.
    Integers,
    /// Numbers without an approximate one among them.
    Exact,
    Doubles,
    /// Texts, under the collation of the one that is looked for.
    Texts(Collation),
}

impl Alike {
    fn of(args: &[Expr]) -> Alike {
        let has = |wanted: Class| args.iter().any(|arg| class(&arg.ty) == wanted);
        if has(Class::Double) {
            Alike::Doubles
        } else if has(Class::Decimal) {
            Alike::Exact
        } else if has(Class::Int) {
            Alike::Integers
        } else if is_string_class(&args[0].ty) {
            Alike::Texts(args[0].ty.collation)
        } else {
            Alike::Texts(comparison_collation(args.iter()).unwrap_or(Collation::Binary))
        }
    }

    fn are_equal(self, (a, a_type): (&Value, &ColumnType), (b, b_type): (&Value, &ColumnType), context: &dyn StatementContext) -> bool {
        match (self, a, b) {
            (Alike::Texts(collation), ..) => collation.equal(&convert::text(a, a_type, context), &convert::text(b, b_type, context)),
            (Alike::Doubles, ..) => convert::to_f64(a, context) == convert::to_f64(b, context),
            (Alike::Integers, Value::Int(i), Value::UInt(u)) | (Alike::Integers, Value::UInt(u), Value::Int(i)) => *i as u64 == *u,
            _ => convert::compare(a, b, Collation::Binary, context) == Some(Ordering::Equal),
        }
    }
}

impl Exec<'_> {
    /// Calls one of them. `e` is the call itself, for its result type.
    #[inline(never)]
    pub(super) fn call_search(&mut self, func: Func, args: &[Expr], e: &Expr) -> Result<Value> {
        use Func as F;
        match func {
            F::Instr | F::Locate => {
                let (haystack, needle) = if func == F::Instr { (&args[0], &args[1]) } else { (&args[1], &args[0]) };
                let Some(h) = self.text_arg(haystack)? else { return Ok(Value::Null) };
                let Some(n) = self.text_arg(needle)? else { return Ok(Value::Null) };
                let from = match args.get(2) {
                    Some(a) if func == F::Locate => match self.int_arg(a)? {
                        Some(p) => p,
                        None => return Ok(Value::Null),
                    },
                    _ => 1,
                };
                // What is looked for has no say, whatever COLLATE it has.
                let collation = if is_string_class(&haystack.ty) { haystack.ty.collation } else { pair_collation(haystack, needle) };
                Ok(Value::Int(locate(&h, &n, from, collation, || self.check_cancel())?))
            }
            F::Field => {
                let v = self.eval(&args[0])?;
                if v.is_null() {
                    return Ok(Value::Int(0));
                }
                let alike = Alike::of(args);
                for (i, a) in args[1..].iter().enumerate() {
                    let w = self.eval(a)?;
                    if !w.is_null() && alike.are_equal((&v, &args[0].ty), (&w, &a.ty), &*self.context) {
                        return Ok(Value::Int(i as i64 + 1));
                    }
                }
                Ok(Value::Int(0))
            }
            F::Elt => {
                let Some(n) = self.int_arg(&args[0])? else { return Ok(Value::Null) };
                if n < 1 || n as usize >= args.len() {
                    return Ok(Value::Null);
                }
                self.eval_as(&args[n as usize], e)
            }
            F::FindInSet => {
                let Some(t) = self.texts(args)? else { return Ok(Value::Null) };
                if t[1].is_empty() {
                    return Ok(Value::Int(0));
                }
                let collation = pair_collation(&args[0], &args[1]);
                // Trailing spaces count here also where a comparison pads them.
                let spaces = |text: &[u8]| if collation.pads_space() { text.iter().rev().take_while(|b| **b == b' ').count() } else { 0 };
                let mut at = t[1].split(|b| *b == b',').position(|part| collation.equal(part, &t[0]) && spaces(part) == spaces(&t[0]));
                if at.is_some() && args[1].ty.kind == TypeKind::Set && matches!(args[0].kind, ExprKind::Literal(_)) {
                    // As MySQL, which asks for the bit: the number of the member, wherever it stands in the text.
                    at = args[1].ty.member_list().iter().position(|member| collation.equal(member, &t[0])).or(at);
                }
                Ok(Value::Int(at.map_or(0, |p| p as i64 + 1)))
            }
            F::MakeSet => {
                let Some(bits) = self.bits_arg(&args[0])? else { return Ok(Value::Null) };
                // MySQL bounds it not.
                let chosen = args[1..].iter().take(64).enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
                self.joined(Growing::unbounded(), b",", chosen.map(|(_, text)| text), "make_set")
            }
            F::ExportSet => {
                let Some(bits) = self.bits_arg(&args[0])? else { return Ok(Value::Null) };
                let Some(on_off) = self.texts(&args[1..3])? else { return Ok(Value::Null) };
                let separator = match args.get(3) {
                    Some(a) => match self.text_arg(a)? {
                        Some(s) => s,
                        None => return Ok(Value::Null),
                    },
                    None => b",".to_vec(),
                };
                let count = match args.get(4) {
                    Some(a) => match self.int_arg(a)? {
                        Some(count @ 0..64) => count,
                        Some(_) => 64,
                        None => return Ok(Value::Null),
                    },
                    None => 64,
                };
                let mut out = self.growing();
                let made = (0..count).try_for_each(|i| {
                    if i > 0 {
                        out.push(&separator)?;
                    }
                    out.push(&on_off[usize::from(bits >> i & 1 == 0)])
                });
                self.grown(made.map(|()| out), "export_set")
            }
            F::StrCmp => {
                let Some(t) = self.texts(args)? else { return Ok(Value::Null) };
                Ok(Value::Int(pair_collation(&args[0], &args[1]).compare(&t[0], &t[1]) as i64))
            }
            _ => Err(not_answered(func)),
        }
    }
}
