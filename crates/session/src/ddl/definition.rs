//! Columns as written to column definitions: nullability, defaults, attributes.

use super::data_type::column_type;
use super::expression::{Owner, stored};
use catalog::{ColumnDef, ColumnFormat, DefaultValue, Generated, Storage, Visibility, WrittenColumn};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::WrittenUnder;
use parser::ast::{self, ColumnDefault, Expr, ExprKind, Literal, UnaryOp};
use types::{Collation, ColumnType, Decimal, LocalTime, SqlMode, StoreContext, TypeKind, Value, store_convert};

const COLUMN_COMMENT_CHARS_MAX: usize = 1024;

/// What definitions depend on beside their text, and the warnings they give rise to.
pub(crate) struct Definer<'a> {
    /// Modes in force.
    pub mode: SqlMode,
    /// Time zone of the session: TIMESTAMP defaults are instants.
    pub zone: &'a dyn LocalTime,
    /// Start of the statement.
    pub now_micros: i64,
    /// Character set of the session's literals.
    pub charset: &'static str,
    /// `default_week_format`.
    pub week_format: u8,
    /// Name of the table.
    pub table: String,
    /// Tables without a primary key get one.
    pub generates_keys: bool,
    /// Notes and warnings.
    pub warnings: Vec<Warning>,
}

impl Definer<'_> {
    /// What expressions are written under.
    pub(super) fn under(&self) -> WrittenUnder<'static> {
        WrittenUnder { charset: self.charset, week_format: self.week_format }
    }

    pub(super) fn warn(&mut self, error: SqlError) {
        self.warnings.push(error.into_warning(WarningLevel::Warning));
    }

    pub(super) fn warn_text(&mut self, code: u16, text: &str) {
        self.warnings.push(Warning { level: WarningLevel::Warning, code, message: text.into() });
    }

    pub(super) fn note(&mut self, error: SqlError) {
        self.warnings.push(error.into_warning(WarningLevel::Note));
    }
}

/// A column of a table that is being defined.
#[derive(Debug, Clone)]
pub(super) struct DraftColumn {
    pub def: ColumnDef,
    /// NULL was written: a primary key must not take the column.
    pub explicit_null: bool,
    /// Its position in the table as it was; `None` for a new one.
    pub from: Option<usize>,
}

/// Text of a comment, checked.
pub(super) fn comment_text(bytes: &[u8], chars_max: usize, too_long: impl FnOnce() -> SqlError) -> Result<String, SqlError> {
    let text = std::str::from_utf8(bytes).map_err(|_| codes::invalid_character_string("utf8mb4", String::from_utf8_lossy(bytes)))?;
    if text.chars().count() > chars_max { Err(too_long()) } else { Ok(text.into()) }
}

/// The definition of a column.
pub(super) fn define_column(
    definer: &mut Definer<'_>,
    column: &ast::ColumnDef<'_>,
    table_collation: Collation,
) -> Result<DraftColumn, SqlError> {
    let (name, attributes) = (column.name, &column.attributes);
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(codes::wrong_column_name(name));
    }
    refuse_unsupported(attributes)?;
    let mut ty = column_type(definer, name, &column.ty, attributes, table_collation)?;
    ty.nullable = attributes.nullable != Some(false) && !attributes.auto_increment;
    let explicit_null = attributes.nullable == Some(true);
    if attributes.primary_key {
        if explicit_null {
            return Err(codes::primary_cant_have_null());
        }
        ty.nullable = false;
    }
    if attributes.auto_increment && attributes.generated.is_none() {
        if !ty.kind.is_integer() {
            return Err(codes::wrong_field_spec(name));
        }
        if attributes.default.is_some() {
            return Err(codes::invalid_default(name));
        }
    }
    if let Some(digits) = attributes.on_update_now
        && (!ty.kind.is_datetime() || digits != ty.decimals)
    {
        return Err(codes::invalid_on_update(name));
    }
    let comment = attributes.comment.unwrap_or_default();
    let too_long = || SqlError::with_message(1629, format!("Comment for field '{name}' is too long (max = {COLUMN_COMMENT_CHARS_MAX})"));
    let comment = comment_text(comment, COLUMN_COMMENT_CHARS_MAX, too_long)?;
    let generated = define_generated(definer, name, attributes)?;
    let default = match generated {
        Some(_) => DefaultValue::None,
        None => define_default(definer, name, &ty, attributes.default)?,
    };
    let def = ColumnDef {
        default,
        on_update_now: attributes.on_update_now.is_some(),
        auto_increment: attributes.auto_increment,
        comment,
        generated,
        visibility: if attributes.visible == Some(false) { Visibility::Invisible } else { Visibility::Visible },
        written: written_of(column, &ty),
        ..ColumnDef::new(name, ty)
    };
    Ok(DraftColumn { def, explicit_null, from: None })
}

/// What is kept of a column's text to be shown.
fn written_of(column: &ast::ColumnDef<'_>, ty: &ColumnType) -> WrittenColumn {
    let attributes = &column.attributes;
    let is_written = column.ty.charset.is_some() || column.ty.collation.is_some() || attributes.collation.is_some();
    WrittenColumn {
        // A text of the character set binary is shown as what it has become.
        collation: is_written && ty.collation != Collation::Binary,
        format: match attributes.column_format {
            Some("FIXED") => Some(ColumnFormat::Fixed),
            Some("DYNAMIC") => Some(ColumnFormat::Dynamic),
            _ => None,
        },
        storage: match attributes.storage {
            Some("DISK") => Some(Storage::Disk),
            Some("MEMORY") => Some(Storage::Memory),
            _ => None,
        },
    }
}

/// What is read and not carried out is named, never dropped.
fn refuse_unsupported(attributes: &ast::ColumnAttributes<'_>) -> Result<(), SqlError> {
    let refused = [(attributes.srid.is_some(), "SRID")];
    match refused.into_iter().find(|(is_written, _)| *is_written) {
        Some((_, what)) => Err(codes::not_supported_yet(what)),
        None => Ok(()),
    }
}

/// What a column is generated from.
fn define_generated(definer: &Definer<'_>, name: &str, attributes: &ast::ColumnAttributes<'_>) -> Result<Option<Generated>, SqlError> {
    let Some(generated) = attributes.generated else { return Ok(None) };
    let beside = [
        (attributes.default.is_some(), "DEFAULT"),
        (attributes.auto_increment, "AUTO_INCREMENT"),
        (attributes.on_update_now.is_some(), "ON UPDATE"),
        (attributes.column_format.is_some(), "COLUMN_FORMAT"),
        (attributes.storage.is_some(), "STORAGE"),
    ];
    if let Some((_, what)) = beside.into_iter().find(|(is_written, _)| *is_written) {
        return Err(codes::wrong_usage(what, "generated column"));
    }
    let normal = stored(definer, &generated.expr, Owner::Generated(name), &definer.table)?;
    Ok(Some(Generated { text: normal.text, stored: generated.stored }))
}

/// The default that a DEFAULT clause, or none, gives a column.
pub(super) fn define_default(
    definer: &mut Definer<'_>,
    name: &str,
    ty: &ColumnType,
    written: Option<&ColumnDefault<'_>>,
) -> Result<DefaultValue, SqlError> {
    match written {
        None if ty.nullable => Ok(DefaultValue::Null),
        None => Ok(DefaultValue::None),
        Some(ColumnDefault::Now(digits)) if ty.kind.is_datetime() && *digits == ty.decimals => Ok(DefaultValue::CurrentTimestamp),
        Some(ColumnDefault::Now(_)) => Err(codes::invalid_default(name)),
        Some(ColumnDefault::Expr(expr)) => {
            let table = definer.table.clone();
            stored(definer, expr, Owner::Default(name), &table).map(|normal| DefaultValue::Expression(normal.text))
        }
        Some(ColumnDefault::Literal(expr)) => match literal(expr, ty) {
            None => Err(codes::invalid_default(name)),
            Some(Value::Null) if ty.nullable => Ok(DefaultValue::Null),
            Some(Value::Null) => Err(codes::invalid_default(name)),
            // An empty default that dumps of old servers give to TEXT is left out where the mode is not strict.
            Some(Value::Bytes(text)) if ty.kind.is_blob() && text.is_empty() && !definer.mode.is_strict() => {
                definer.warn(codes::blob_cant_have_default(name));
                Ok(if ty.nullable { DefaultValue::Null } else { DefaultValue::None })
            }
            Some(_) if ty.kind.is_blob() || ty.kind == TypeKind::Json => Err(codes::blob_cant_have_default(name)),
            Some(value) => convert_default(definer, name, ty, text_for(expr, value, ty)).map(DefaultValue::Constant),
        },
    }
}

/// Bytes that become the default of a column of text.
fn text_for(expr: &Expr<'_>, value: Value, ty: &ColumnType) -> Value {
    let charset = match expr.kind {
        ExprKind::Literal(Literal::Hex(_) | Literal::Bit(_)) => ty.collation.charset(),
        ExprKind::Literal(Literal::Introduced(introduced)) => types::Charset::from_name(introduced.charset)
            .filter(|charset| *charset != types::Charset::Binary)
            .unwrap_or(ty.collation.charset()),
        _ => return value,
    };
    match value {
        Value::Bytes(bytes) if ty.is_character() && !bytes.is_ascii() => Value::bytes(&*charset.decode_lossy(&bytes)),
        value => value,
    }
}

/// A default must be a value of its column whatever the mode; only dates follow the mode's rules.
fn convert_default(definer: &Definer<'_>, name: &str, ty: &ColumnType, value: Value) -> Result<Value, SqlError> {
    let mut warnings = Vec::new();
    let mode = if definer.mode.is_strict() { definer.mode } else { definer.mode.without(SqlMode::NO_ZERO_DATE | SqlMode::NO_ZERO_IN_DATE) };
    let mut context = StoreContext {
        mode,
        strict: true,
        column: name,
        row: 1,
        zone: definer.zone,
        now_micros: definer.now_micros,
        warnings: &mut warnings,
    };
    let converted = store_convert(value, ty, &mut context).map_err(|_| codes::invalid_default(name))?;
    if warnings.iter().any(|warning| warning.level == WarningLevel::Warning) {
        return Err(codes::invalid_default(name));
    }
    Ok(converted)
}

/// The value of a literal with its sign. Hexadecimal and bit literals are numbers for numeric columns and bytes for all others.
fn literal(expr: &Expr<'_>, ty: &ColumnType) -> Option<Value> {
    match &expr.kind {
        ExprKind::Unary(UnaryOp::Plus, operand) => literal(operand, ty),
        ExprKind::Unary(UnaryOp::Neg, operand) => negate(literal(operand, ty)?),
        ExprKind::Literal(literal) => literal_value(literal, ty),
        _ => None,
    }
}

fn negate(value: Value) -> Option<Value> {
    Some(match value {
        Value::Int(n) => Value::Int(n.checked_neg()?),
        Value::UInt(n) if n == 1 << 63 => Value::Int(i64::MIN),
        Value::UInt(n) => match i64::try_from(n) {
            Ok(n) => Value::Int(-n),
            Err(_) => Value::Decimal(Decimal::parse_exact(format!("-{n}").as_bytes())?),
        },
        Value::Double(n) => Value::Double(-n),
        Value::Decimal(d) => {
            let mut text = b"-".to_vec();
            d.write_to(&mut text);
            Value::Decimal(Decimal::parse_exact(&text)?)
        }
        _ => return None,
    })
}

fn literal_value(literal: &Literal<'_>, ty: &ColumnType) -> Option<Value> {
    Some(match literal {
        Literal::Null => Value::Null,
        Literal::Bool(truth) => Value::bool(*truth),
        Literal::Int(n) => i64::try_from(*n).map_or(Value::UInt(*n), Value::Int),
        Literal::Decimal(text) => Value::Decimal(Decimal::parse_exact(text.as_bytes())?),
        Literal::Float(text) => Value::Double(text.parse().ok()?),
        Literal::String(bytes) | Literal::National(bytes) | Literal::Date(bytes) | Literal::Time(bytes) | Literal::Timestamp(bytes) => {
            Value::from(*bytes)
        }
        Literal::Introduced(introduced) => Value::from(introduced.value),
        Literal::Hex(bytes) | Literal::Bit(bytes) if ty.kind.is_numeric() && ty.kind != TypeKind::Year => {
            let significant = &bytes[bytes.iter().take_while(|byte| **byte == 0).count()..];
            if significant.len() > 8 {
                return None;
            }
            Value::UInt(significant.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        }
        Literal::Hex(bytes) | Literal::Bit(bytes) => Value::from(*bytes),
    })
}
