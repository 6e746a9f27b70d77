//! The values of parameters that are compared, as what they are compared with asks: numbers of texts, days of texts and numbers. Once, before a plan runs.

use crate::context::StatementContext;
use crate::convert;
use crate::odd_number::changes_strictly;
use crate::run::Result;
use mysql_error::codes;
use planner::plan::{Plan, TakenAs};
use std::borrow::Cow;
use types::{SqlMode, Value};

/// Whether parameters may be taken for others than they are ([`as_compared`]): seldom.
#[inline]
pub fn may_differ(plan: &Plan, params: &[Value]) -> bool {
    plan.taken_as.iter().any(|(n, taken_as)| match params.get(*n as usize) {
        Some(Value::Bytes(_)) => true,
        Some(Value::Int(_) | Value::UInt(_)) => *taken_as == TakenAs::Moment,
        _ => false,
    })
}

/// The parameters, each as what it is compared with asks ([`Plan::taken_as`]). A text that a client binds beside a column of numbers and that is none is told of: 1292.
///
/// # Errors
/// 1292 where a strict statement changes rows.
#[inline(never)]
pub fn as_compared<'p>(plan: &Plan, params: &'p [Value], context: &mut dyn StatementContext) -> Result<Cow<'p, [Value]>> {
    let mut own = Cow::Borrowed(params);
    for (n, taken_as) in &plan.taken_as {
        let at = *n as usize;
        let Some(param) = params.get(at) else { continue };
        let value = match taken_as {
            TakenAs::Whole => number(plan, param, "INTEGER", context)?,
            TakenAs::Decimal => number(plan, param, "DECIMAL", context)?,
            TakenAs::Moment => moment(param),
        };
        if let Some(value) = value {
            own.to_mut()[at] = value;
        }
    }
    Ok(own)
}

fn number(plan: &Plan, param: &Value, kind: &str, context: &mut dyn StatementContext) -> Result<Option<Value>> {
    let Value::Bytes(said) = param else { return Ok(None) };
    // Literals are told of by `odd_constants`.
    if !plan.lifted && (convert::is_odd_number(param) || said.trim_ascii().is_empty()) {
        let error = codes::truncated_wrong_value(kind, String::from_utf8_lossy(said));
        if changes_strictly(plan, context.sql_mode()) {
            return Err(error.into());
        }
        context.warn(error.into());
    }
    Ok(types::number_operand(said, kind == "DECIMAL"))
}

/// The day, or the moment, of what is compared otherwise as it is.
fn moment(param: &Value) -> Option<Value> {
    let number = match param {
        Value::Bytes(said) if types::parse_datetime(said, SqlMode::NONE).is_some() => return None,
        Value::Bytes(said) => {
            let parsed = types::parse_datetime_full(said, SqlMode::ALLOW_INVALID_DATES)?;
            return (!parsed.truncated).then_some(Value::DateTime(parsed.value));
        }
        Value::Int(number) => *number,
        Value::UInt(number) => i64::try_from(*number).ok()?,
        _ => return None,
    };
    let (moment, _) = types::datetime_from_number(number, SqlMode::ALLOW_INVALID_DATES)?;
    Some(Value::DateTime(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_a_month_has_not_and_numbers_are_taken_for_moments() {
        let shown = |param: Value| moment(&param).map(|value| format!("{value:?}"));
        let the_31st = shown(Value::from(&b"2024-02-31"[..]));
        assert_eq!(the_31st, shown(Value::Int(20_240_231)));
        assert_eq!(the_31st, shown(Value::UInt(240_231)));
        assert!(the_31st.is_some());
        for text in ["2024-02-29", "2024-02-32", "2024-02-31x", "2024-13-01", "", "abc"] {
            assert_eq!(shown(Value::from(text.as_bytes())), None, "{text}");
        }
        assert_eq!((shown(Value::Int(7)), shown(Value::UInt(u64::MAX)), shown(Value::Null)), (None, None, None));
    }
}
