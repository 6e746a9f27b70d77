//! WEIGHT_STRING().

use crate::convert;
use crate::exec::Exec;
use crate::run::Result;
use planner::expr::{Expr, ExprKind};
use types::{Value, utf8};

impl Exec<'_> {
    /// The weights of the first argument, cut and filled to as many characters as the second one says.
    pub(super) fn weight_string(&mut self, args: &[Expr]) -> Result<Value> {
        let value = match self.eval(&args[0])? {
            // Members are sorted by their numbers.
            v if matches!(args[0].kind, ExprKind::Slot(_)) => match convert::member_number(&v, &args[0].ty) {
                Some(number) => Value::Int(number.cast_signed()),
                None => v,
            },
            v => v,
        };
        let collation = args[0].ty.collation;
        let mut text = match &value {
            Value::Null => return Ok(Value::Null),
            // As they are sorted: the sign first.
            Value::Int(n) => return Ok(Value::from(&(*n as u64 ^ 1 << 63).to_be_bytes()[..])),
            Value::UInt(n) => return Ok(Value::from(&n.to_be_bytes()[..])),
            // Other numbers have none.
            Value::Decimal(_) | Value::Double(_) | Value::Float(_) => return Ok(Value::Null),
            other => self.text_of(other, &args[0]),
        };
        if let Some(length) = args.get(1) {
            let Some(chars) = self.int_arg(length)? else { return Ok(Value::Null) };
            let chars = chars.max(0) as usize;
            if chars.saturating_mul(collation.weight_bytes_max()) > self.context.max_allowed_packet() {
                return self.too_long("weight_string");
            }
            text.truncate(collation.chars_prefix_bytes(&text, chars));
            if collation.pads_space() {
                let missing = chars - utf8::char_count(&text);
                text.resize(text.len() + missing, b' ');
            }
        }
        // As MySQL before it makes them.
        let most = text.len().saturating_mul(collation.weight_bytes_max());
        if most > self.context.max_allowed_packet() {
            return self.too_long("weight_string");
        }
        let mut weights = Vec::new();
        memory::ask(most)?;
        collation.weight_string(&text, &mut weights);
        Ok(Value::Bytes(weights.into()))
    }
}
