//! WEIGHT_STRING().

use crate::exec::Exec;
use crate::run::Result;
use planner::expr::Expr;
use types::{Value, utf8};

impl Exec<'_> {
    /// The weights of the first argument, cut and filled to as many characters as the second one says.
    pub(super) fn weight_string(&mut self, args: &[Expr]) -> Result<Value> {
        let value = self.eval(&args[0])?;
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
            if chars > self.context.max_allowed_packet() {
                return Ok(Value::Null);
            }
            text.truncate(collation.chars_prefix_bytes(&text, chars));
            if collation.pads_space() {
                let missing = chars - utf8::char_count(&text);
                text.resize(text.len() + missing, b' ');
            }
        }
        let mut weights = Vec::new();
        collation.weight_string(&text, &mut weights);
        self.bounded(weights, "weight_string")
    }
}
