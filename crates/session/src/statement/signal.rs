//! SIGNAL and RESIGNAL outside of stored programs: a condition of the client's own making. RESIGNAL has nothing to raise again there.

use crate::client_session::ClientSession;
use crate::diagnostics::Signalled;
use crate::error_map::Outcome;
use executor::StatementContext;
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast::{ConditionItem, Raised, Signal};
use types::Value;

/// Characters of a message, as MySQL's.
const MESSAGE_CHARS_MAX: usize = 128;
/// Characters of any other item.
const NAME_CHARS_MAX: usize = 64;

impl ClientSession {
    /// Raises a condition: an error, or (class 01) a warning.
    #[inline(never)]
    pub(crate) fn signal(&mut self, signal: &Signal<'_>, sql: &[u8]) -> Result<(), Outcome> {
        let state = match signal.condition {
            // Conditions have names in stored programs only.
            Some(Raised::Named(name)) => return Err(codes::sp_cond_mismatch(name).into()),
            Some(Raised::State(state)) => Some(sqlstate(state)?),
            None => None,
        };
        let Some(state) = state.filter(|_| !signal.again) else { return Err(codes::resignal_without_active_handler().into()) };
        // Without a message of its own it has that of its class.
        let plain = match &state[..2] {
            b"01" => codes::signal_warn(),
            b"02" => codes::signal_not_found(),
            _ => codes::signal_exception(),
        };
        let (mut code, mut message) = (plain.code, plain.message);
        let mut signalled = Signalled { state, items: Vec::new() };
        let mut said: Vec<ConditionItem> = Vec::new();
        for (item, _) in signal.items {
            if said.contains(item) {
                return Err(codes::dup_signal_set(item.word()).into());
            }
            said.push(*item);
        }
        let values = self.evaluate_each(signal.items, sql)?;
        for ((item, _), value) in signal.items.iter().zip(values) {
            match item {
                ConditionItem::MysqlErrno => code = number(&value)?,
                ConditionItem::MessageText => message = self.item_text(*item, &value, MESSAGE_CHARS_MAX)?,
                _ => signalled.items.push((*item, self.item_text(*item, &value, NAME_CHARS_MAX)?)),
            }
        }
        self.core.diagnostics.signal(signalled);
        if &state[..2] == b"01" {
            self.core.warn(Warning { level: WarningLevel::Warning, code, message });
            return Ok(());
        }
        Err(SqlError { code, sqlstate: state, message }.into())
    }

    fn evaluate_each(&mut self, items: &[(ConditionItem, parser::ast::Expr<'_>)], sql: &[u8]) -> Result<Vec<Value>, Outcome> {
        let exprs: Vec<parser::ast::Expr<'_>> = items.iter().map(|(_, expr)| *expr).collect();
        Ok(if exprs.is_empty() { Vec::new() } else { self.evaluate(&exprs, sql)? })
    }

    /// The text of an item: 1231 for NULL, 1648 for one that is too long (which is cut where `sql_mode` is not strict).
    fn item_text(&self, item: ConditionItem, value: &Value, chars_max: usize) -> Result<String, SqlError> {
        if *value == Value::Null {
            return Err(codes::wrong_value_for_var(item.word(), "NULL"));
        }
        let text = shown(value);
        if text.chars().count() <= chars_max {
            return Ok(text);
        }
        if self.core.settings.sql_mode.is_strict() {
            Err(codes::cond_item_too_long(item.word()))
        } else {
            Ok(text.chars().take(chars_max).collect())
        }
    }
}

/// A value as text.
fn shown(value: &Value) -> String {
    let mut out = Vec::new();
    crate::reply::value_text::write(value, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A state of five digits and capitals that does not say success.
fn sqlstate(text: &[u8]) -> Result<[u8; 5], SqlError> {
    let is_state =
        |state: &[u8; 5]| state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) && !state.starts_with(b"00");
    let state = <[u8; 5]>::try_from(text).ok().filter(is_state);
    state.ok_or_else(|| codes::sp_bad_sqlstate(String::from_utf8_lossy(text)))
}

/// An error's number: 1231 for what can be none.
fn number(value: &Value) -> Result<u16, SqlError> {
    let rounded = match value {
        Value::Int(n) => Some(*n as f64),
        Value::UInt(n) => Some(*n as f64),
        Value::Double(n) => Some(n.round()),
        Value::Decimal(n) => Some(n.to_f64().round()),
        Value::Bytes(text) => text.to_text().trim().parse().ok(),
        Value::Null => return Err(codes::wrong_value_for_var("MYSQL_ERRNO", "NULL")),
        _ => None,
    };
    let number = rounded.filter(|n: &f64| (1.0..=65535.0).contains(n));
    number.map(|n| n as u16).ok_or_else(|| codes::wrong_value_for_var("MYSQL_ERRNO", shown(value)))
}
