//! Calls of functions and the types of CAST: what MySQL prints them as.

use super::Printer;
use crate::ast::{BinaryOp, DataType, DataTypeKind, Expr, ExprKind, FLOAT_BITS_MAX, FunctionCall, Literal};
use std::fmt::Write;

/// The name that a function is printed with.
fn printed_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "substring" | "mid" => "substr".into(),
        "lcase" => "lower".into(),
        "ucase" => "upper".into(),
        "ceil" => "ceiling".into(),
        "power" => "pow".into(),
        "character_length" => "char_length".into(),
        "octet_length" => "length".into(),
        "position" => "locate".into(),
        "day" => "dayofmonth".into(),
        "atan2" => "atan".into(),
        "current_date" => "curdate".into(),
        "current_time" => "curtime".into(),
        "current_timestamp" | "localtime" | "localtimestamp" => "now".into(),
        "schema" => "database".into(),
        "session_user" | "system_user" => "user".into(),
        _ => name,
    }
}

impl Printer<'_> {
    pub(super) fn function(&mut self, call: &FunctionCall<'_>) {
        let name = printed_name(call.name.name);
        if let Some(schema) = call.name.schema {
            self.name(schema);
            self.put(".");
            self.name(call.name.name);
            self.put("(");
            self.list(call.args);
            self.put(")");
            self.out.functions.push(format!("`{schema}`.`{}`", call.name.name));
            return;
        }
        match (name.as_str(), call.args) {
            ("mod", [a, b]) => return self.binary(BinaryOp::Mod, a, b),
            ("isnull", [a]) => return self.wrapped("(", a, " is null)"),
            ("instr", [text, needle]) => return self.call("locate", &[needle, text]),
            ("date", [a]) => return self.wrapped("cast(", a, " as date)"),
            ("time", [a]) if self.names.is_none() => return self.wrapped("cast(", a, " as time)"),
            ("timestamp", [a]) if self.names.is_none() => return self.wrapped("cast(", a, " as datetime)"),
            ("time" | "timestamp", [a]) => {
                // A view keeps the fraction that there may be. Where that is not known the call itself says it.
                if let Some(digits) = self.names.and_then(|names| names.digits(call)) {
                    self.wrapped("cast(", a, if name == "time" { " as time" } else { " as datetime" });
                    let _ = if digits > 0 { write!(self.out.text, "({digits}))") } else { write!(self.out.text, ")") };
                    return;
                }
            }
            ("get_format", [Expr { kind: ExprKind::Literal(Literal::String(kind)), .. }, format]) => {
                let kind =
                    if kind.eq_ignore_ascii_case(b"timestamp") { "DATETIME".into() } else { String::from_utf8_lossy(kind).to_uppercase() };
                self.put(&format!("get_format({kind}, "));
                self.wrapped("", format, ")");
                return self.out.functions.push(name);
            }
            ("round", [a]) => return self.wrapped("round(", a, ",0)"),
            ("weight_string", [a, length]) => {
                self.wrapped("weight_string(", a, " as ");
                self.put(call.charset.unwrap_or("char"));
                self.wrapped("(", length, "))");
                return self.out.functions.push(name);
            }
            ("week", [a]) => {
                self.wrapped("week(", a, "");
                let _ = write!(self.out.text, ",{})", self.under.week_format);
                return;
            }
            ("yearweek", [a]) => return self.wrapped("yearweek(", a, ",0)"),
            ("weekofyear", [a]) => return self.wrapped("week(", a, ",3)"),
            ("bin", [a]) => return self.wrapped("conv(", a, ",10,2)"),
            ("oct", [a]) => return self.wrapped("conv(", a, ",10,8)"),
            ("adddate" | "date_add", [a, days]) => return self.shifted(a, days, "day", false),
            ("subdate" | "date_sub", [a, days]) => return self.shifted(a, days, "day", true),
            ("datediff", [a, b]) => {
                self.wrapped("(to_days(", a, ") - ");
                return self.wrapped("to_days(", b, "))");
            }
            _ => {}
        }
        self.put(&name);
        self.put("(");
        self.list(call.args);
        if let Some(charset) = call.charset {
            let _ = write!(self.out.text, " using {}", charset.to_ascii_lowercase());
        }
        self.put(")");
        self.out.functions.push(name);
    }

    pub(super) fn cast_type(&mut self, ty: &DataType<'_>) {
        use DataTypeKind as K;
        let digits = |name: &str| ty.length.filter(|n| *n > 0).map_or(name.to_owned(), |n| format!("{name}({n})"));
        let text = match ty.kind {
            K::Decimal => format!("decimal({},{})", ty.length.filter(|n| *n > 0).unwrap_or(10), ty.decimals.unwrap_or(0)),
            K::Double => "double".into(),
            // More bits than a FLOAT has.
            K::Float if ty.length.is_some_and(|bits| bits > FLOAT_BITS_MAX) => "double".into(),
            K::Float => "float".into(),
            K::Date => "date".into(),
            K::Year => "year".into(),
            K::Json => "json".into(),
            K::Time => digits("time"),
            K::DateTime | K::Timestamp => digits("datetime"),
            K::Char | K::VarChar | K::Binary | K::VarBinary => {
                let length = ty.length.map_or(String::new(), |n| format!("({n})"));
                let charset = if matches!(ty.kind, K::Binary | K::VarBinary) { "binary" } else { ty.charset.unwrap_or(self.under.charset) };
                let binary = if ty.binary { " binary" } else { "" };
                format!("char{length} charset {}{binary}", charset.to_ascii_lowercase())
            }
            _ if ty.unsigned => "unsigned".into(),
            _ => "signed".into(),
        };
        self.put(&text);
    }
}
