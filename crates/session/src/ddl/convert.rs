//! Rows of a table as rows of its new definition.

use catalog::{CatalogError, DefaultValue, TableDef};
use executor::{AutoIncrementSettings, RuleRun, StatementContext};
use mysql_error::{SqlError, Warning, codes};
use planner::typing::has_members;
use record::{RowLayout, RowRef};
use types::{Charset, ColumnType, LocalTime, SqlMode, StoreContext, Timestamp, TypeKind, Value, implicit_default, store_convert};

/// Where the values of a new column come from.
enum Source {
    /// The old column at this position, of the same type.
    Same(usize),
    /// The old column at this position, to be converted.
    Convert(usize),
    /// The same, where text becomes bytes or bytes text: of this type, to this character set.
    Recode(usize, ColumnType, Charset),
    /// The same, where a moment becomes text: with so many fraction digits.
    Moment(usize, u8),
    /// The same, where a number that is filled up with zeros, or a floating one, becomes text: of this type.
    Filled(usize, ColumnType),
    /// The same, where bytes of no character set would become a document: an error.
    Bytes(usize),
    /// The same, where an ENUM or SET of this type becomes a number: that of its member.
    Member(usize, ColumnType),
    /// The same, an ENUM of this type that becomes another: without a member it stays so.
    Enum(usize, ColumnType),
    /// The same, where a number becomes a document: by its text.
    NumberText(usize),
    /// This value for every row.
    Constant(Value),
    /// The counter's numbers: an AUTO_INCREMENT column that is new.
    Number,
}

/// The numbers of a column that becomes AUTO_INCREMENT: as INSERT of all rows would give them.
struct Numbers {
    next: u64,
    series: AutoIncrementSettings,
}

impl Numbers {
    fn take(&mut self, column: &catalog::ColumnDef) -> Result<Value, SqlError> {
        let number = engine::align_to_series(self.next, self.series.increment, self.series.offset);
        self.next = number.saturating_add(1);
        executor::counter_value(&column.ty, number)
    }

    /// A row has brought its own: those to come are larger.
    fn note(&mut self, value: &Value) {
        let number = match value {
            Value::Int(number) => u64::try_from(*number).unwrap_or(0),
            Value::UInt(number) => *number,
            Value::Double(number) => *number as u64,
            Value::Float(number) => *number as u64,
            _ => 0,
        };
        self.next = self.next.max(number.saturating_add(1));
    }
}

/// Whether the column that is to be AUTO_INCREMENT was it before: then its values stay, a zero, too, and the counter goes on.
pub(super) fn keeps_counter(old: &TableDef, new: &TableDef, from: &[Option<usize>]) -> bool {
    new.auto_increment_column().and_then(|column| from[column]).is_some_and(|at| old.columns[at].auto_increment)
}

/// Converts rows one after the other.
pub(super) struct RowConverter<'a> {
    new: &'a TableDef,
    layout: RowLayout,
    sources: Vec<Source>,
    /// Whose statement it is.
    context: &'a mut dyn StatementContext,
    /// Rows converted.
    pub rows: u64,
    numbers: Numbers,
    /// The column whose empty values get numbers: one that becomes AUTO_INCREMENT.
    numbered: Option<usize>,
    values: Vec<Value>,
    /// What was adjusted of one row in non-strict mode, until the statement has it.
    warnings: Vec<Warning>,
    /// Why the conversion ended early.
    pub failure: Option<SqlError>,
    /// What the definition computes of a row and asks of it.
    pub rules: Option<RuleRun<'a>>,
    is_new: Vec<bool>,
}

/// The value that rows get in a column that they did not have.
pub(super) fn value_of_new_column(column: &catalog::ColumnDef, now_micros: i64, zone: &dyn LocalTime) -> Value {
    match &column.default {
        DefaultValue::Constant(value) => value.clone(),
        DefaultValue::CurrentTimestamp => now_value(column, now_micros, zone),
        DefaultValue::Null if column.ty.nullable => Value::Null,
        // Computed row by row, by whoever has the row.
        DefaultValue::Expression(_) if column.ty.nullable => Value::Null,
        DefaultValue::None | DefaultValue::Null | DefaultValue::Expression(_) => implicit_default(&column.ty),
    }
}

/// Whether a date or time with fraction digits becomes text, which has all of them.
fn is_moment_as_text(old: &ColumnType, new: &ColumnType) -> bool {
    old.kind.is_temporal() && (1..=6).contains(&old.decimals) && new.kind.is_string()
}

/// Whether a number becomes the text that it is shown as: one that is filled up with zeros, and a floating one, which INSERT would shorten.
fn is_shown_as_text(old: &ColumnType, new: &ColumnType) -> bool {
    (old.zerofill && old.kind != TypeKind::Year || old.kind.is_float()) && new.kind.is_string() && !has_members(new)
}

/// A moment as text, with so many fraction digits.
fn moment_text(value: Value, digits: u8, zone: &dyn LocalTime) -> Value {
    let mut text = Vec::new();
    match value {
        Value::Time(time) => time.write_to(digits, &mut text),
        Value::DateTime(datetime) => datetime.write_to(digits, &mut text),
        Value::Timestamp(instant) => zone.to_local(instant).write_to(digits, &mut text),
        other => return other,
    }
    Value::bytes(text)
}

fn now_value(column: &catalog::ColumnDef, now_micros: i64, zone: &dyn LocalTime) -> Value {
    // Cut to the column's digits, as NOW(n) is.
    let unit = 10i64.pow(6 - u32::from(column.ty.decimals.min(6)));
    let instant = Timestamp::from_micros(now_micros - now_micros.rem_euclid(unit));
    if column.ty.kind == types::TypeKind::Timestamp { Value::Timestamp(instant) } else { Value::DateTime(zone.to_local(instant)) }
}

impl<'a> RowConverter<'a> {
    /// A converter to `new`, whose columns come from the old ones at `from`.
    pub fn new(old: &TableDef, new: &'a TableDef, from: &[Option<usize>], context: &'a mut dyn StatementContext) -> Self {
        let now_micros = context.statement_micros();
        let numbered = new.auto_increment_column().filter(|_| !keeps_counter(old, new, from));
        let types: Vec<_> = new.columns.iter().map(|column| column.ty.clone()).collect();
        let sources = new
            .columns
            .iter()
            .zip(from)
            .map(|(column, from)| match from {
                Some(at) if old.columns[*at].ty == column.ty && (old.columns[*at].auto_increment || !column.auto_increment) => {
                    Source::Same(*at)
                }
                // Computed when the other columns have their values.
                _ if column.generated.is_some() => Source::Constant(Value::Null),
                Some(at) => match recoded(&old.columns[*at].ty, &column.ty) {
                    Some(to) => Source::Recode(*at, old.columns[*at].ty.clone(), to),
                    None if is_moment_as_text(&old.columns[*at].ty, &column.ty) => Source::Moment(*at, old.columns[*at].ty.decimals),
                    None if is_shown_as_text(&old.columns[*at].ty, &column.ty) => Source::Filled(*at, old.columns[*at].ty.clone()),
                    None if has_members(&old.columns[*at].ty) && column.ty.kind.stores_numbers() => {
                        Source::Member(*at, old.columns[*at].ty.clone())
                    }
                    None if old.columns[*at].ty.kind == TypeKind::Enum && column.ty.kind == TypeKind::Enum => {
                        Source::Enum(*at, old.columns[*at].ty.clone())
                    }
                    None if is_taken_by_text(&old.columns[*at].ty, &column.ty) => Source::NumberText(*at),
                    None if old.columns[*at].ty.is_bytes() && column.ty.kind == TypeKind::Json => Source::Bytes(*at),
                    None => Source::Convert(*at),
                },
                None if column.auto_increment => Source::Number,
                None => Source::Constant(value_of_new_column(column, now_micros, &*context)),
            })
            .collect();
        RowConverter {
            new,
            layout: RowLayout::new(&types, new.schema_version),
            sources,
            rows: 0,
            numbers: Numbers { next: new.auto_increment_start.max(1), series: context.auto_increment() },
            numbered,
            context,
            values: Vec::with_capacity(types.len()),
            warnings: Vec::new(),
            failure: None,
            rules: None,
            is_new: from.iter().map(Option::is_none).collect(),
        }
    }

    /// Whether what the primary key is made of stays, value by value. A generated column may come out otherwise, and so may one that rows are numbered by.
    pub fn keeps_key(&self) -> bool {
        self.new.indexes[0]
            .parts
            .iter()
            .all(|part| matches!(self.sources[part.column], Source::Same(_)) && self.new.columns[part.column].generated.is_none())
    }

    /// Converts one row. The reason of a failure stays in `failure`; the catalogue gets one that it passes on.
    pub fn convert(&mut self, row: RowRef<'_>, out: &mut Vec<u8>) -> Result<(), CatalogError> {
        self.rows += 1;
        let result = self.fill_values(row).and_then(|()| {
            self.layout.encode(&self.values, out).map_err(|error| SqlError::with_message(1105, format!("a converted row: {error}")))
        });
        // Row by row: the statement keeps as many as `max_error_count` says, and counts the rest.
        for warning in self.warnings.drain(..) {
            self.context.warn(warning);
        }
        result.map_err(|error| {
            let text = error.message.clone();
            self.failure = Some(error);
            CatalogError::Damaged(text)
        })
    }

    fn fill_values(&mut self, row: RowRef<'_>) -> Result<(), SqlError> {
        self.values.clear();
        let mode = self.context.sql_mode();
        for (no, (column, source)) in self.new.columns.iter().zip(&self.sources).enumerate() {
            let unreadable = || SqlError::with_message(1712, "Index is corrupted: a row cannot be read");
            // It may be a generated column whose expression fails.
            let read = |at: usize| row.value(at).map_err(|_| executor::take_failure().unwrap_or_else(unreadable));
            let value = match source {
                Source::Same(at) => read(*at)?,
                Source::Constant(value) => value.clone(),
                Source::Number => self.numbers.take(column)?,
                Source::Enum(at, from) if let Some(same) = executor::same_no_member(&read(*at)?, from, &column.ty) => same,
                Source::Convert(at)
                | Source::Enum(at, _)
                | Source::Recode(at, ..)
                | Source::Bytes(at)
                | Source::Moment(at, _)
                | Source::Filled(at, _)
                | Source::Member(at, _)
                | Source::NumberText(at) => {
                    let value = match (read(*at)?, source) {
                        (Value::Bytes(_), Source::Bytes(_)) => return Err(codes::invalid_json_charset("binary")),
                        (value, Source::Moment(_, digits)) => moment_text(value, *digits, &*self.context),
                        (value, Source::Filled(_, from)) if !value.is_null() => {
                            Value::bytes(executor::text(&value, from, &*self.context).into_owned())
                        }
                        (Value::Bytes(text), Source::Member(_, from)) => from.member_number(&text).map_or(Value::Bytes(text), Value::UInt),
                        (value, Source::NumberText(_)) if !value.is_null() => {
                            let mut text = Vec::new();
                            types::text_of(&value, &mut text);
                            Value::bytes(text)
                        }
                        // Stored from another column, what is behind the point is cut.
                        (Value::Float(number), Source::Convert(_)) if is_rounded(&column.ty) => Value::Float(number.round_ties_even()),
                        (Value::Double(number), Source::Convert(_)) if is_rounded(&column.ty) => Value::Double(number.round_ties_even()),
                        (Value::Bytes(text), Source::Recode(_, from, to)) => Value::bytes(executor::to_charset(text.into_vec(), from, *to)),
                        (value, _) => value,
                    };
                    let becomes_counter = self.numbered == Some(no);
                    if becomes_counter && value.is_null() {
                        self.numbers.take(column)?
                    } else {
                        let strict = mode.is_strict();
                        if value.is_null() && !column.ty.nullable && strict {
                            return Err(codes::invalid_use_of_null());
                        }
                        let value = if matches!(value, Value::Json(_)) || column.ty.kind == types::TypeKind::Json {
                            document(value, column, self.rows, &self.new.name, mode, &mut self.warnings)?
                        } else {
                            value
                        };
                        let mut context = StoreContext {
                            mode,
                            strict,
                            column: &column.name,
                            row: self.rows,
                            zone: &*self.context,
                            now_micros: self.context.statement_micros(),
                            warnings: &mut self.warnings,
                        };
                        let value = store_convert(value, &column.ty, &mut context)?;
                        if becomes_counter && is_zero(&value) && !mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO) {
                            self.numbers.take(column)?
                        } else {
                            if becomes_counter {
                                self.numbers.note(&value);
                            }
                            value
                        }
                    }
                }
            };
            self.values.push(value);
        }
        if let Some(rules) = &mut self.rules {
            rules.complete(&mut self.values, self.rows, |at| self.is_new[at], self.context).map_err(|error| match error {
                executor::Error::Sql(error) => error,
                error => SqlError::with_message(1105, format!("{error:?}")),
            })?;
        }
        Ok(())
    }
}

/// The character set to convert to where a column's text becomes bytes, or its bytes text, that are others than the server's.
fn recoded(old: &ColumnType, new: &ColumnType) -> Option<Charset> {
    let is_text = |ty: &ColumnType| ty.kind.is_string() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    let (from, to) = (old.collation.charset(), new.collation.charset());
    let mixed = is_text(old) && is_text(new) && (from == Charset::Binary) != (to == Charset::Binary);
    (mixed && !(from.is_utf8_bytes() && to.is_utf8_bytes())).then_some(to)
}

/// Whether numbers are taken by their text: into documents, and where one with a fraction is no member.
fn is_taken_by_text(old: &ColumnType, new: &ColumnType) -> bool {
    match new.kind {
        TypeKind::Json => old.kind.stores_numbers(),
        TypeKind::Enum | TypeKind::Set => matches!(old.kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double),
        _ => false,
    }
}

fn is_rounded(ty: &ColumnType) -> bool {
    matches!(ty.kind, TypeKind::Year | TypeKind::Bit)
}

/// A value for a JSON column, or a document for another one.
fn document(
    value: Value,
    column: &catalog::ColumnDef,
    row: u64,
    table: &str,
    mode: SqlMode,
    warnings: &mut Vec<Warning>,
) -> Result<Value, SqlError> {
    let named = |error| match executor::document_error_with_table(error, table) {
        executor::Error::Sql(error) => error,
        executor::Error::Engine(_) => codes::out_of_resources(),
    };
    let ty = &column.ty;
    let Value::Json(document) = &value else { return executor::document_for_column(value, &column.name).map_err(named) };
    if ty.kind == TypeKind::Json {
        return executor::document_for_column(value, &column.name).map_err(named);
    }
    let (value, wrong) = executor::document_for_other_column(document, ty, mode, &column.name, row).map_err(named)?;
    match wrong {
        Some(error) if mode.is_strict() => return Err(error),
        Some(error) => warnings.push(error.into()),
        None => {}
    }
    Ok(if value.is_null() && !ty.nullable { implicit_default(ty) } else { value })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number == 0,
        Value::UInt(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::Float(number) => *number == 0.0,
        _ => false,
    }
}
