//! JSON_TABLE: rows made of a document.
//!
//! A path makes rows of the parts that it leads to; what is nested in it makes further rows of each, one nested path after the other, with NULL in
//! the columns of the others. A part of which nothing nested makes a row is a row itself.
//!
//! # Invariants
//! 1. Every column is written for each row, those of nested paths that made no row with NULL.
//! 2. A column that nobody reads is computed only where it may fail.

use crate::document::sql_scalar;
use crate::document_cast::Wanted;
use crate::errors::Error;
use crate::exec::Exec;
use crate::functions::unquoted;
use crate::run::{Flow, Next, Result};
use json::{Json, View};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use planner::expr::ExprKind;
use planner::json_table::{Column, Instead, JsonTableNode, Level, Rule};
use planner::typing;
use std::rc::Rc;
use types::{Decimal, LocalTime, StoreContext, TypeKind, Value};

/// Whole numbers of a double that are told apart.
const INTEGER_MAX: f64 = 9.2e18;

/// What is remembered of a node between its runs.
#[derive(Default)]
pub(crate) struct State {
    /// For each column what is taken on empty and on error, converted.
    defaults: Option<Rc<Vec<[Value; 2]>>>,
    /// The last text, and its document.
    parsed: Option<(types::ByteString, Rc<[u8]>)>,
}

/// Why a value is none of a column's.
enum Fault {
    /// It is an array or an object, or there are several values.
    Container,
    /// The document is no value of the kind.
    Cast(SqlError),
    /// The column has no room for it.
    Store(SqlError),
}

/// One run.
struct Run<'a> {
    node: &'a JsonTableNode,
    defaults: Rc<Vec<[Value; 2]>>,
}

impl<'a> Exec<'a> {
    /// Runs JSON_TABLE.
    pub fn run_json_table(&mut self, node: &'a JsonTableNode, next: Next<'_, 'a>) -> Result<Flow> {
        let address = std::ptr::from_ref(node).addr();
        let at = match self.json_tables.iter().position(|(known, _)| *known == address) {
            Some(at) => at,
            None => {
                self.json_tables.push((address, State::default()));
                self.json_tables.len() - 1
            }
        };
        let defaults = match &self.json_tables[at].1.defaults {
            Some(defaults) => Rc::clone(defaults),
            None => {
                let defaults = Rc::new(self.json_defaults(node)?);
                self.json_tables[at].1.defaults = Some(Rc::clone(&defaults));
                defaults
            }
        };
        let Some(document) = self.json_table_document(node, at)? else { return Ok(Flow::Continue) };
        self.memory.take(document.len())?;
        let (flow, _) = self.json_level(&Run { node, defaults }, &node.table.root, View::new(&document), next)?;
        self.memory.give_back(document.len());
        Ok(flow)
    }

    /// The document, in its binary form; `None` for NULL.
    fn json_table_document(&mut self, node: &'a JsonTableNode, at: usize) -> Result<Option<Rc<[u8]>>> {
        let e = &node.table.document;
        let value = self.eval(e)?;
        let wrong_type = || codes::invalid_type_for_json(1, "json_table").into();
        if typing::is_number(&e.ty) || e.ty.kind.is_temporal() {
            return Err(wrong_type());
        }
        match value {
            // A parameter has no type while it is NULL.
            Value::Null if matches!(e.kind, ExprKind::Param(_)) => Err(wrong_type()),
            Value::Null => Ok(None),
            Value::Json(document) => Ok(Some(Rc::from(&document[..]))),
            Value::Bytes(_) if e.ty.is_bytes() => Err(codes::invalid_json_charset("binary").into()),
            Value::Bytes(text) => {
                if let Some((known, document)) = &self.json_tables[at].1.parsed
                    && *known == text
                {
                    return Ok(Some(Rc::clone(document)));
                }
                match crate::document::parse(&text)? {
                    Ok(tree) => {
                        let document: Rc<[u8]> = Rc::from(json::encode(&tree)?);
                        self.json_tables[at].1.parsed = Some((text, Rc::clone(&document)));
                        Ok(Some(document))
                    }
                    Err((message, position)) => Err(codes::invalid_json_text_in_param(1, "json_table", message, position).into()),
                }
            }
            _ => Err(wrong_type()),
        }
    }

    /// The rows of a level below a part of the level above; whether there were any.
    fn json_level(&mut self, run: &Run<'a>, level: &'a Level, above: View<'_>, next: Next<'_, 'a>) -> Result<(Flow, bool)> {
        planner::check_stack()?;
        let parts = level.path.find(above, &|| self.check_cancel())?;
        let any = !parts.is_empty();
        for (no, part) in parts.into_iter().enumerate() {
            self.tick()?;
            for column in &level.columns {
                self.json_column(run, *column as usize, no, part)?;
            }
            level.nested.iter().for_each(|nested| self.clear_level(run, nested));
            let mut emitted = false;
            for nested in &level.nested {
                let (flow, some) = self.json_level(run, nested, part, next)?;
                if flow == Flow::Stop {
                    return Ok((flow, true));
                }
                if some {
                    self.clear_level(run, nested);
                    emitted = true;
                }
            }
            if !emitted && next(self)? == Flow::Stop {
                return Ok((Flow::Stop, true));
            }
        }
        Ok((Flow::Continue, any))
    }

    fn clear_level(&mut self, run: &Run<'a>, level: &Level) {
        let (from, to) = level.all;
        for slot in run.node.slots[from as usize..to as usize].iter().flatten() {
            self.set(*slot, Value::Null);
        }
    }

    /// Computes a column of a part.
    fn json_column(&mut self, run: &Run<'a>, number: usize, no: usize, part: View<'_>) -> Result<()> {
        let column = &run.node.table.columns[number];
        let slot = run.node.slots[number];
        let value = match &column.rule {
            Rule::Ordinality => Value::Int(no as i64 + 1),
            Rule::Exists(path) => {
                let exists = path.exists(part, &|| self.check_cancel())?;
                self.json_exists(run.node, column, exists)?
            }
            Rule::Value { on_empty, on_error, .. }
                if slot.is_none() && !matches!(on_empty, Instead::Error) && !matches!(on_error, Instead::Error) =>
            {
                return Ok(());
            }
            Rule::Value { path, on_empty, on_error } => {
                let parts = path.find(part, &|| self.check_cancel())?;
                match parts.as_slice() {
                    [] => match on_empty {
                        Instead::Null => Value::Null,
                        Instead::Error => return Err(missing(&column.name)),
                        Instead::Default(_) => run.defaults[number][0].clone(),
                    },
                    [one] if one.is_null() => Value::Null,
                    parts => {
                        let told = matches!(on_error, Instead::Error);
                        match (self.json_converted(column, parts, told)?, on_error) {
                            (Ok(value), _) => value,
                            (Err(fault), Instead::Error) => return Err(self.json_fault(fault, &column.name)),
                            (Err(_), Instead::Default(_)) => run.defaults[number][1].clone(),
                            (Err(_), Instead::Null) => Value::Null,
                        }
                    }
                }
            }
        };
        if let Some(slot) = slot {
            self.set(slot, value);
        }
        Ok(())
    }

    /// The defaults of all columns, as values of theirs.
    fn json_defaults(&mut self, node: &'a JsonTableNode) -> Result<Vec<[Value; 2]>> {
        let mut all = Vec::with_capacity(node.table.columns.len());
        for column in &node.table.columns {
            let mut own = [Value::Null, Value::Null];
            if let Rule::Value { on_empty, on_error, .. } = &column.rule {
                for (value, instead) in own.iter_mut().zip([on_empty, on_error]) {
                    if let Instead::Default(document) = instead {
                        *value = match self.json_converted(column, &[View::new(document)], true)? {
                            Ok(value) => value,
                            Err(fault) => return Err(self.json_fault(fault, &column.name)),
                        };
                    }
                }
            }
            all.push(own);
        }
        Ok(all)
    }

    /// What the statement fails with; what the column would have said of the value is a warning.
    fn json_fault(&mut self, fault: Fault, column: &str) -> Error {
        match fault {
            Fault::Container => {
                refused(3666, b"2203F", format!("Can't store an array or an object in the scalar JSON_TABLE column '{column}'"))
            }
            Fault::Cast(error) => error.into(),
            Fault::Store(error) => {
                self.tell_of_column(error.into_warning(WarningLevel::Warning));
                refused(3669, b"22003", format!("Value is out of range for JSON_TABLE's column '{column}'"))
            }
        }
    }

    fn tell_of_column(&mut self, warning: Warning) {
        match &mut self.hushed {
            Some(told) => *told = true,
            None => self.context.warn(warning),
        }
    }

    /// EXISTS PATH: 1 or 0 as the column holds it, whatever it makes of them.
    fn json_exists(&mut self, node: &JsonTableNode, column: &Column, exists: bool) -> Result<Value> {
        if column.ty.kind == TypeKind::Json {
            let name = format!("{}.{}", node.alias, column.name);
            return Err(codes::invalid_json_text("not a JSON text, may need CAST", 0, name).into());
        }
        let (stored, warnings) = self.json_stored(Value::Int(i64::from(exists)), column, false);
        if column.ty.kind.is_temporal() {
            warnings.into_iter().for_each(|warning| self.tell_of_column(warning));
        }
        Ok(stored.unwrap_or(Value::Null))
    }

    fn json_stored(&mut self, value: Value, column: &Column, strict: bool) -> (std::result::Result<Value, SqlError>, Vec<Warning>) {
        let mut warnings = Vec::new();
        let mode = self.context.sql_mode();
        let now_micros = self.context.statement_micros();
        let zone: &dyn LocalTime = &*self.context;
        let mut store = StoreContext { mode, strict, column: &column.name, row: 1, zone, now_micros, warnings: &mut warnings };
        let stored = types::store_convert(value, &column.ty, &mut store);
        (stored, warnings)
    }

    /// What was found as a value of the column; `told` has notes told that MySQL leaves out otherwise.
    fn json_converted(&mut self, column: &Column, parts: &[View<'_>], told: bool) -> Result<std::result::Result<Value, Fault>> {
        let kind = column.ty.kind;
        let view = match parts {
            [one] if kind == TypeKind::Json => return Ok(Ok(Value::Json(one.bytes().into()))),
            many if kind == TypeKind::Json => {
                let list = many.iter().map(|view| view.to_tree()).collect::<std::result::Result<Vec<_>, _>>()?;
                return Ok(Ok(Value::Json(json::encode(&Json::Array(list))?.into())));
            }
            [one] if !one.is_array() && !one.is_object() => *one,
            _ => return Ok(Err(Fault::Container)),
        };
        let value = if kind.is_numeric() || kind == TypeKind::Year {
            match number(view, kind)? {
                Some(value) => value,
                None => {
                    let error =
                        codes::invalid_json_value_for_cast(Wanted::by(column.ty.kind).map_or("INTEGER", Wanted::word), &*column.name, 1);
                    return Ok(Err(Fault::Cast(error)));
                }
            }
        } else {
            text(view)?
        };
        // A text that is no member is an error; told of nobody it is the empty member.
        let lenient = kind == TypeKind::Enum && !told;
        let (stored, warnings) = self.json_stored(value, column, !lenient);
        for warning in warnings {
            if told || kind.is_temporal() && warning.level == WarningLevel::Note {
                self.tell_of_column(warning);
            }
        }
        Ok(stored.map_err(Fault::Store))
    }
}

/// A scalar as a number; `None` where it is none. A string must be one to its end.
fn number(view: View<'_>, kind: TypeKind) -> Result<Option<Value>> {
    let is_integer = !matches!(kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double);
    if let Some(text) = view.as_str()? {
        let bytes = text.as_bytes();
        if is_integer {
            let text = text.trim_ascii_start();
            let signed = text.parse::<i64>().ok().map(Value::Int);
            return Ok(signed.or_else(|| text.parse::<u64>().ok().map(Value::UInt)));
        }
        // An empty text is the double zero, and no decimal; blanks may follow a decimal, and no double.
        let bytes = if kind == TypeKind::Decimal { bytes.trim_ascii() } else { bytes };
        let parsed = types::parse_double(bytes);
        let whole = parsed.consumed == bytes.len() && !parsed.overflow && !(kind == TypeKind::Decimal && bytes.is_empty());
        let value = || if kind == TypeKind::Decimal { Value::Decimal(Decimal::parse(bytes).value) } else { Value::Double(parsed.value) };
        return Ok(whole.then(value));
    }
    let value = sql_scalar(view.bytes()).filter(|value| !matches!(value, Value::Date(_) | Value::Time(_) | Value::DateTime(_)));
    Ok(match value {
        // Halves of doubles go to the even neighbour.
        Some(Value::Double(v)) if is_integer && v.abs() < INTEGER_MAX => Some(Value::Int(v.round_ties_even() as i64)),
        Some(Value::Decimal(v)) if is_integer => Some(Value::Decimal(v.round(0))),
        other => other,
    })
}

/// A scalar as text; bytes stay what they are.
fn text(view: View<'_>) -> Result<Value> {
    if view.as_str()?.is_none()
        && let Some(Json::Opaque(_, bytes)) = view.scalar()?
    {
        return Ok(Value::Bytes(bytes.into()));
    }
    unquoted(view)
}

fn missing(column: &str) -> Error {
    refused(3665, b"22035", format!("Missing value for JSON_TABLE column '{column}'"))
}

fn refused(code: u16, sqlstate: &[u8; 5], message: String) -> Error {
    SqlError { code, sqlstate: *sqlstate, message }.into()
}
