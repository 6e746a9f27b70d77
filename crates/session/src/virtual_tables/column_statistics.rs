//! `information_schema.COLUMN_STATISTICS`: histograms, as MySQL writes them.

use super::VirtualTable;
use super::column::{bytes_text, folded, information_schema};
use super::listing::each_table;
use crate::context::Core;
use catalog::histogram::Histogram;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use json::{Json, Object};
use types::{Collation, ColumnType, DateTime, LocalTime, TypeKind, Utc, Value};

/// Characters of a line of base64.
const LINE_CHARS: usize = 76;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("SCHEMA_NAME", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("COLUMN_NAME", folded(64).not_null()),
        ("HISTOGRAM", ColumnType::new(TypeKind::Json).not_null()),
    ];
    VirtualTable { def: information_schema("COLUMN_STATISTICS", &["SCHEMA_NAME", "TABLE_NAME"], 100.0, columns), rows }
}

fn rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |listed| {
        let Some(def) = listed.def() else { return Vec::new() };
        let row = |column: &catalog::ColumnDef| -> Option<VirtualRow> {
            let histogram = json::encode(&document(&column.ty, column.histogram.as_ref()?)).ok()?;
            Some(vec![def.database.as_str().into(), def.name.as_str().into(), column.name.as_str().into(), Value::Json(histogram.into())])
        };
        def.columns.iter().filter_map(row).collect()
    })
}

fn document(ty: &ColumnType, histogram: &Histogram) -> Json {
    let value = |value: &Value| shown(ty, value);
    let bucket = |bucket: &catalog::histogram::Bucket| {
        let share = Json::Double(bucket.cumulative);
        Json::Array(match histogram.equi_height {
            true => vec![value(&bucket.low), value(&bucket.high), share, Json::Int(bucket.distinct as i64)],
            false => vec![value(&bucket.low), share],
        })
    };
    let collation = match ty.kind {
        TypeKind::Bit => u64::from(Collation::Binary.id()),
        kind if kind.is_string() || matches!(kind, TypeKind::Enum | TypeKind::Set) => u64::from(ty.collation.id()),
        // Numbers and times are latin1 to MySQL.
        _ => 8,
    };
    let updated = DateTime::from_unix_micros(histogram.updated_micros).unwrap_or(DateTime::ZERO);
    let members = vec![
        ("buckets", Json::Array(histogram.buckets.iter().map(bucket).collect())),
        ("data-type", Json::String(data_type(ty).to_owned())),
        ("auto-update", Json::Bool(histogram.auto_update)),
        ("null-values", Json::Double(histogram.nulls)),
        ("collation-id", Json::Int(collation as i64)),
        ("last-updated", Json::DateTime(updated)),
        ("sampling-rate", Json::Double(histogram.sampling_rate)),
        ("histogram-type", Json::String(if histogram.equi_height { "equi-height" } else { "singleton" }.to_owned())),
        ("number-of-buckets-specified", Json::Int(i64::from(histogram.buckets_asked))),
    ];
    Json::Object(Object::from_members(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
}

fn data_type(ty: &ColumnType) -> &'static str {
    match ty.kind {
        TypeKind::BigInt if ty.unsigned => "uint",
        TypeKind::Float | TypeKind::Double => "double",
        TypeKind::Decimal => "decimal",
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        TypeKind::DateTime | TypeKind::Timestamp => "datetime",
        TypeKind::Enum => "enum",
        TypeKind::Set => "set",
        TypeKind::Bit | TypeKind::Year => "int",
        kind if kind.is_integer() => "int",
        _ => "string",
    }
}

/// A value as a histogram shows it: members by their numbers, strings in base64.
fn shown(ty: &ColumnType, value: &Value) -> Json {
    match value {
        Value::Null | Value::Json(_) => Json::Null,
        Value::Int(n) => Json::Int(*n),
        Value::UInt(n) => i64::try_from(*n).map_or(Json::UInt(*n), Json::Int),
        Value::Float(n) => Json::Double(f64::from(*n)),
        Value::Double(n) => Json::Double(*n),
        Value::Decimal(n) => Json::Decimal(n.clone()),
        Value::Date(date) => Json::Date(*date),
        Value::Time(time) => Json::Time(*time),
        Value::DateTime(at) => Json::DateTime(*at),
        Value::Timestamp(at) => Json::DateTime(Utc.to_local(*at)),
        Value::Bytes(text) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => {
            ty.member_number(text).map_or(Json::Null, |number| Json::Int(number as i64))
        }
        Value::Bytes(bits) if ty.kind == TypeKind::Bit => {
            Json::Int(bits.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)) as i64)
        }
        Value::Bytes(text) => {
            // The bytes of the column's character set.
            let mut bytes = Vec::with_capacity(text.len());
            ty.collation.charset().encode(text, &mut bytes);
            Json::String(format!("base64:type254:{}", base64(&bytes)))
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    let mut line = 0;
    for chunk in bytes.chunks(3) {
        if line == LINE_CHARS {
            out.push('\n');
            line = 0;
        }
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize] as char;
            out.push(if at > chunk.len() { '=' } else { digit });
        }
        line += 4;
    }
    out
}
