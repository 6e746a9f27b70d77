//! GET DIAGNOSTICS: what the diagnostics area says, into user variables.
//!
//! # Invariants
//! 1. The statement that is asked about stays what it is: its conditions, ROW_COUNT() and FOUND_ROWS() are those of before.
//! 2. A condition that there is none of is no error of the statement: 1758 joins the conditions, and the variables stay as they were.

use crate::client_session::ClientSession;
use crate::diagnostics::Signalled;
use crate::error_map::Outcome;
use executor::StatementContext;
use mysql_error::{Warning, codes, lookup};
use parser::ast::{self, ConditionItem, Diagnosed, StatementItem};
use protocol::{OkReply, ResultSink};
use types::{Collation, Value};

impl ClientSession {
    /// Carries it out and replies.
    #[inline(never)]
    pub(crate) fn get_diagnostics(&mut self, get: &ast::GetDiagnostics<'_>, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        // Handlers are of stored programs.
        if get.stacked {
            return Err(codes::get_stacked_da_without_active_handler().into());
        }
        let total = self.core.diagnostics.total();
        match &get.about {
            Diagnosed::Statement(items) => {
                for (variable, item) in *items {
                    let value = match item {
                        StatementItem::Number => Value::UInt(self.core.diagnostics.list().len() as u64),
                        StatementItem::RowCount => Value::Int(self.core.row_count),
                    };
                    self.core.set_user_variable(variable, value, Some(Collation::Utf8mb3GeneralCi));
                }
            }
            Diagnosed::Condition { number, items } => {
                let number = self.condition_number(number, sql)?;
                let condition = number.and_then(|at| Some((at, self.core.diagnostics.list().get(at)?.clone())));
                match condition {
                    Some((at, condition)) => {
                        for (variable, item) in *items {
                            let signalled = self.core.diagnostics.signalled(at).map(|signalled| signalled_item(signalled, *item));
                            let value = signalled.flatten().unwrap_or_else(|| item_of(&condition, *item));
                            self.core.set_user_variable(variable, value, Some(Collation::Utf8mb3GeneralCi));
                        }
                    }
                    None => self.core.diagnostics.push_error(&codes::da_invalid_condition_number()),
                }
            }
        }
        let warnings = self.core.diagnostics.total() - total;
        let session_state = self.session_state();
        let reply = OkReply { status: self.server_status(), warnings, session_state: &session_state, ..OkReply::default() };
        sink.ok(&reply);
        Ok(())
    }

    /// The place of a condition in the list, if its number can be one.
    fn condition_number(&mut self, number: &ast::Expr<'_>, sql: &[u8]) -> Result<Option<usize>, Outcome> {
        // Bytes count as a number where they are written as digits of a radix, as text elsewhere.
        if let ast::ExprKind::Literal(ast::Literal::Hex(bytes) | ast::Literal::Bit(bytes)) = number.kind {
            let number = bytes.iter().try_fold(0usize, |n, byte| n.checked_mul(256)?.checked_add(usize::from(*byte)));
            return Ok(number.and_then(|n| n.checked_sub(1)));
        }
        let (row_count, found_rows) = (self.core.row_count, self.core.found_rows);
        let values = self.evaluate(std::slice::from_ref(number), sql)?;
        (self.core.row_count, self.core.found_rows) = (row_count, found_rows);
        let number = match values.first() {
            Some(Value::Int(n)) => *n as f64,
            Some(Value::UInt(n)) => *n as f64,
            Some(Value::Double(n)) => *n,
            Some(Value::Decimal(n)) => n.to_f64(),
            Some(Value::Bytes(text)) => leading_number(text),
            _ => return Ok(None),
        };
        let number = number.round();
        Ok((1.0..=f64::from(u32::MAX)).contains(&number).then(|| number as usize - 1))
    }
}

/// The whole number that a text begins with.
fn leading_number(text: &[u8]) -> f64 {
    let digits: Vec<u8> = text.trim_ascii_start().iter().copied().take_while(u8::is_ascii_digit).collect();
    String::from_utf8_lossy(&digits).parse().unwrap_or(0.0)
}

/// What SIGNAL has said of a condition; of the number and the message the condition itself tells.
fn signalled_item(signalled: &Signalled, item: ConditionItem) -> Option<Value> {
    match item {
        ConditionItem::MessageText | ConditionItem::MysqlErrno => None,
        ConditionItem::ReturnedSqlstate => Some(Value::from(&*String::from_utf8_lossy(&signalled.state))),
        _ => {
            let said = signalled.items.iter().find(|(of, _)| *of == item);
            Some(Value::from(said.map_or("", |(_, text)| text.as_str())))
        }
    }
}

/// What is known of a condition. Nobody says yet which table, column or constraint it is about, as in MySQL.
fn item_of(condition: &Warning, item: ConditionItem) -> Value {
    let state = lookup(condition.code).map_or(*b"HY000", |info| info.sqlstate);
    let state = std::str::from_utf8(&state).unwrap_or("HY000");
    // Classes that begin with these are the standard's (ISO 9075-2, "SQLSTATE"); the others are left to implementations.
    let standard = state.starts_with(|class: char| matches!(class, '0'..='4' | 'A'..='H'));
    let origin = |standard: bool| Value::from(if standard { "ISO 9075" } else { "MySQL" });
    match item {
        ConditionItem::ClassOrigin => origin(standard),
        ConditionItem::SubclassOrigin => origin(standard || state.ends_with("000")),
        ConditionItem::ReturnedSqlstate => Value::from(state),
        ConditionItem::MessageText => Value::from(condition.message.as_str()),
        ConditionItem::MysqlErrno => Value::UInt(u64::from(condition.code)),
        ConditionItem::ConstraintCatalog
        | ConditionItem::ConstraintSchema
        | ConditionItem::ConstraintName
        | ConditionItem::CatalogName
        | ConditionItem::SchemaName
        | ConditionItem::TableName
        | ConditionItem::ColumnName
        | ConditionItem::CursorName => Value::from(""),
    }
}
