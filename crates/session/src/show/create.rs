//! SHOW CREATE TABLE: the text that makes the table again.

use crate::client_session::ClientSession;
use crate::ddl::has_generated_key;
use crate::variables::variable;
use catalog::{CheckDef, ColumnDef, ColumnFormat, DefaultValue, IndexDef, Storage, TableDef, TableEntry, Visibility};
use std::fmt::Write;
use types::{ColumnType, LocalTime, SqlMode, TypeKind, Utc, Value};

/// How names are written: `sql_quote_show_create`, and `sql_mode`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quotes {
    always: bool,
    mode: SqlMode,
    /// A generated primary key is told of.
    generated_keys: bool,
}

impl Quotes {
    /// As the session wants it.
    pub(super) fn of(session: &ClientSession) -> Quotes {
        Quotes {
            always: session.core.number(variable!("sql_quote_show_create")) != 0,
            mode: session.core.settings.sql_mode,
            generated_keys: session.core.tells_generated_keys(),
        }
    }

    /// Whether only what standard SQL has is written: no options of tables, views and indexes.
    pub(super) fn plain(self) -> bool {
        self.mode.contains(SqlMode::ANSI)
    }

    /// A name, in quotes always or where it needs them.
    pub(super) fn quoted(self, name: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !self.always && begins_well && name.chars().all(plain) && !parser::is_reserved_word(name) {
            return name.to_owned();
        }
        let quote = if self.mode.contains(SqlMode::ANSI_QUOTES) { '"' } else { '`' };
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }
}

/// The statement; who runs it in this time zone makes the same defaults.
pub(super) fn table(entry: &TableEntry, quotes: Quotes, zone: &dyn LocalTime) -> String {
    let head = if entry.temporary { "CREATE TEMPORARY TABLE" } else { "CREATE TABLE" };
    definition(head, &entry.def, entry.storage.auto_increment(), quotes, zone)
}

/// The statement for a table whose storage is not open: the name always in backquotes, times in UTC, `next` where its AUTO_INCREMENT goes on.
pub fn create_table_text(def: &TableDef, next: u64) -> String {
    definition("CREATE TABLE", def, next, Quotes { always: true, mode: SqlMode::NONE, generated_keys: true }, &Utc)
}

fn definition(head: &str, def: &TableDef, next: u64, quotes: Quotes, zone: &dyn LocalTime) -> String {
    // Its column is the first, and so is it.
    let hides = usize::from(!quotes.generated_keys && has_generated_key(def));
    let mut lines: Vec<String> = def.columns[hides..def.user_columns()].iter().map(|c| column(def, c, quotes, zone)).collect();
    lines.extend(def.indexes[hides..].iter().filter(|i| !i.parts.is_empty()).map(|i| index(def, i, quotes)));
    lines.extend(def.foreign_keys.iter().map(|key| key.text(def, |name| quotes.quoted(name))));
    lines.extend(def.checks.iter().map(|check: &CheckDef| {
        let suffix = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
        format!("CONSTRAINT {} CHECK ({}){suffix}", quotes.quoted(&check.name), check.text)
    }));
    let mut out = format!("{head} {} (\n  {}\n)", quotes.quoted(&def.name), lines.join(",\n  "));
    if quotes.plain() {
        return out;
    }
    out.push_str(" ENGINE=InnoDB");
    if def.auto_increment_column().is_some() && next > 1 && hides == 0 {
        let _ = write!(out, " AUTO_INCREMENT={next}");
    }
    let _ = write!(out, " DEFAULT CHARSET={}", def.charset.name());
    // Only that of utf8mb4 is always named.
    if def.charset == types::Charset::Utf8mb4 || def.collation != def.charset.default_collation() {
        let _ = write!(out, " COLLATE={}", def.collation.name());
    }
    for (name, value) in &def.shown_options {
        let _ = write!(out, " {name}={value}");
    }
    if !def.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", types::quoted_text(&def.comment));
    }
    out
}

fn column(table: &TableDef, column: &ColumnDef, quotes: Quotes, zone: &dyn LocalTime) -> String {
    let ty = &column.ty;
    let mut out = format!("{} {ty}", quotes.quoted(&column.name));
    if ty.is_character() && ty.kind != TypeKind::Json && (ty.collation != table.collation || column.written.collation) {
        let _ = write!(out, " CHARACTER SET {} COLLATE {}", ty.collation.charset().name(), ty.collation.name());
    } else if ty.is_character() && ty.kind != TypeKind::Json && ty.collation != ty.collation.charset().default_collation() {
        let _ = write!(out, " COLLATE {}", ty.collation.name());
    }
    if let Some(generated) = &column.generated {
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {}", generated.text, if generated.stored { "STORED" } else { "VIRTUAL" });
    }
    if !ty.nullable {
        out.push_str(" NOT NULL");
    } else if ty.kind == TypeKind::Timestamp {
        out.push_str(" NULL");
    }
    if let Some(storage) = column.written.storage {
        let _ = write!(out, " /*!50606 STORAGE {} */", if storage == Storage::Disk { "DISK" } else { "MEMORY" });
    }
    if let Some(format) = column.written.format {
        let _ = write!(out, " /*!50606 COLUMN_FORMAT {} */", if format == ColumnFormat::Fixed { "FIXED" } else { "DYNAMIC" });
    }
    match &column.default {
        DefaultValue::None => {}
        DefaultValue::Null if ty.kind.is_blob() => {}
        DefaultValue::Null => out.push_str(" DEFAULT NULL"),
        DefaultValue::Constant(value) => {
            let _ = write!(out, " DEFAULT {}", default_literal(ty, value, zone));
        }
        DefaultValue::CurrentTimestamp => {
            let _ = write!(out, " DEFAULT {}", now(ty));
        }
        DefaultValue::Expression(text) => {
            let _ = write!(out, " DEFAULT ({text})");
        }
    }
    if column.on_update_now {
        let _ = write!(out, " ON UPDATE {}", now(ty));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.visibility == Visibility::Invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", types::quoted_text(&column.comment));
    }
    out
}

fn now(ty: &ColumnType) -> String {
    if ty.decimals == 0 { "CURRENT_TIMESTAMP".into() } else { format!("CURRENT_TIMESTAMP({})", ty.decimals) }
}

fn default_literal(ty: &ColumnType, value: &Value, zone: &dyn LocalTime) -> String {
    if let (TypeKind::Bit, Value::UInt(bits)) = (ty.kind, value) {
        return format!("b'{bits:b}'");
    }
    if let (true, Value::Bytes(bytes)) = (ty.kind.is_binary_string(), value)
        && bytes.as_str().is_none()
    {
        return format!("0x{}", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>());
    }
    types::quoted_text(&default_text(ty, value, zone).unwrap_or_default())
}

/// A default as text, in the column's own form; `None` for NULL.
pub(super) fn default_text(ty: &ColumnType, value: &Value, zone: &dyn LocalTime) -> Option<String> {
    let mut out = Vec::new();
    match value {
        Value::Null => return None,
        Value::Time(time) => time.write_to(ty.decimals, &mut out),
        Value::DateTime(datetime) => datetime.write_to(ty.decimals, &mut out),
        Value::Timestamp(instant) => zone.to_local(*instant).write_to(ty.decimals, &mut out),
        Value::UInt(year) if ty.kind == TypeKind::Year => return Some(format!("{year:04}")),
        Value::Float(n) => types::write_float(*n, ty.decimals, &mut out),
        Value::Double(n) => types::write_double(*n, ty.decimals, &mut out),
        other => crate::reply::value_text::write(other, &mut out),
    }
    if ty.zerofill {
        ty.fill_up(0, &mut out);
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn index(table: &TableDef, index: &IndexDef, quotes: Quotes) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| {
            let prefix = part.prefix_chars.map_or_else(String::new, |chars| format!("({chars})"));
            let column = &table.columns[part.column];
            let what = match &column.generated {
                Some(generated) if column.visibility == Visibility::Hidden => format!("({})", generated.text),
                _ => quotes.quoted(&column.name),
            };
            format!("{what}{prefix}{}", if part.descending { " DESC" } else { "" })
        })
        .collect();
    let head = match (index.name.as_str(), index.unique) {
        ("PRIMARY", _) => "PRIMARY KEY".into(),
        (name, true) => format!("UNIQUE KEY {}", quotes.quoted(name)),
        (name, false) => format!("KEY {}", quotes.quoted(name)),
    };
    let mut out = format!("{head} ({})", parts.join(","));
    if quotes.plain() {
        return out;
    }
    if index.written.btree {
        out.push_str(" USING BTREE");
    }
    let of_table = table.shown_options.iter().find(|(name, _)| name == "KEY_BLOCK_SIZE");
    if of_table.is_some_and(|(_, size)| index.written.block_size > 0 && *size != index.written.block_size.to_string()) {
        let _ = write!(out, " KEY_BLOCK_SIZE={}", index.written.block_size);
    }
    if !index.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", types::quoted_text(&index.comment));
    }
    if index.invisible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out
}
