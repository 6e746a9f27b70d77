//! Keys as written to index definitions: names, lengths, order.

use super::FullName;
use super::definition::{Definer, DraftColumn, comment_text};
use super::expression::{Owner, index_expression_type, stored};
use catalog::{ColumnDef, DefaultValue, Generated, HIDDEN_PRIMARY, IndexDef, Visibility, WrittenIndex};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast::{KeyDef, KeyKind, KeyTarget};
use record::KeyPart;
use types::{ColumnType, TypeKind};

const KEYS_MAX: usize = 64;
const KEY_PARTS_MAX: usize = 16;
/// Bytes of a key as its columns' types bound them; InnoDB's figure.
const KEY_BYTES_MAX: u64 = 3072;
const KEY_COMMENT_CHARS_MAX: usize = 1024;
const PRIMARY: &str = "PRIMARY";
/// What a functional index without a name is called.
const FUNCTIONAL: &str = "functional_index";

/// A column of a key, by what is known of it.
#[derive(Debug, Clone)]
pub(super) enum KeyColumn {
    /// The name of a column of the new table.
    Named(String),
    /// The column that was at this position of the old table.
    Old(usize),
    /// What an expression yields, by its text: a functional index.
    Expression(String),
}

/// A part of a key that is being defined.
#[derive(Debug, Clone)]
pub(super) struct DraftPart {
    pub column: KeyColumn,
    pub prefix: Option<u32>,
    pub descending: bool,
}

/// A key that is being defined.
#[derive(Debug, Clone)]
pub(super) struct DraftKey {
    pub primary: bool,
    pub unique: bool,
    /// `None`: named after its first column.
    pub name: Option<String>,
    pub parts: Vec<DraftPart>,
    pub comment: String,
    pub invisible: bool,
    pub written: WrittenIndex,
    /// Position among the indexes of the old table.
    pub from: Option<usize>,
    /// Made for a foreign key: it goes where another key serves.
    pub made: bool,
}

impl DraftKey {
    /// The key of a column's own PRIMARY KEY or UNIQUE.
    pub fn of_column(column: &str, primary: bool) -> DraftKey {
        let part = DraftPart { column: KeyColumn::Named(column.into()), prefix: None, descending: false };
        DraftKey {
            primary,
            unique: true,
            name: None,
            parts: vec![part],
            comment: String::new(),
            invisible: false,
            written: WrittenIndex::default(),
            from: None,
            made: false,
        }
    }

    /// A key as written. The second result says that HASH was asked for, which is a note.
    pub fn from_ast(definer: &Definer<'_>, key: &KeyDef<'_>) -> Result<(DraftKey, bool), SqlError> {
        match key.kind {
            KeyKind::FullText => return Err(codes::not_supported_yet("FULLTEXT indexes")),
            KeyKind::Spatial => return Err(codes::not_supported_yet("SPATIAL indexes")),
            KeyKind::Primary | KeyKind::Unique | KeyKind::Index => {}
        }
        if key.options.parser.is_some() {
            return Err(codes::not_supported_yet("WITH PARSER"));
        }
        if key.options.using == Some("RTREE") {
            return Err(codes::not_supported_yet("RTREE indexes"));
        }
        let primary = key.kind == KeyKind::Primary;
        let name = if primary { None } else { key.name.or(key.constraint) };
        if let Some(name) = name
            && (name.is_empty() || name.ends_with(' ') || name.eq_ignore_ascii_case(PRIMARY))
        {
            return Err(codes::wrong_name_for_index(name));
        }
        let mut parts = Vec::with_capacity(key.parts.len());
        for part in key.parts {
            let (column, prefix) = match part.target {
                KeyTarget::Column(column, Some(0)) => return Err(codes::key_part_0(column)),
                KeyTarget::Column(column, prefix) => (KeyColumn::Named(column.into()), prefix),
                KeyTarget::Expr(_) if primary => return Err(codes::functional_index_primary_key()),
                KeyTarget::Expr(expr) => {
                    let normal = stored(definer, expr, Owner::Index(name.unwrap_or(FUNCTIONAL)), &definer.table)?;
                    if normal.is_column {
                        return Err(codes::functional_index_on_field());
                    }
                    (KeyColumn::Expression(normal.text), None)
                }
            };
            parts.push(DraftPart { column, prefix, descending: part.descending });
        }
        let shown = name.unwrap_or(PRIMARY);
        let too_long = || codes::too_long_index_comment(shown, KEY_COMMENT_CHARS_MAX);
        let comment = comment_text(key.options.comment.unwrap_or_default(), KEY_COMMENT_CHARS_MAX, too_long)?;
        let unique = primary || key.kind == KeyKind::Unique;
        if primary && key.options.invisible {
            return Err(codes::pk_index_cant_be_invisible());
        }
        let invisible = key.options.invisible;
        let written = WrittenIndex {
            btree: key.options.using == Some("BTREE"),
            block_size: key.options.key_block_size.map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX)),
            made_for_key: false,
        };
        let name = name.map(str::to_owned);
        let draft = DraftKey { primary, unique, name, parts, comment, invisible, written, from: None, made: false };
        Ok((draft, key.options.using == Some("HASH")))
    }
}

/// The indexes of a table, in MySQL's order: primary, unique without NULL, unique, others. Columns of the primary key become NOT NULL.
/// Ids and roots are the caller's to fill in. The second list says which draft each index comes from (`None`: the hidden primary key).
pub(super) fn define_indexes(
    columns: &mut Vec<DraftColumn>,
    keys: &[DraftKey],
    table: &str,
) -> Result<(Vec<IndexDef>, Vec<Option<usize>>), SqlError> {
    if keys.len() > KEYS_MAX {
        return Err(codes::too_many_keys(KEYS_MAX));
    }
    if keys.iter().filter(|key| key.primary).count() > 1 {
        return Err(codes::multiple_pri_key());
    }
    let mut made: Vec<(IndexDef, usize)> = Vec::with_capacity(keys.len() + 1);
    for (no, key) in keys.iter().enumerate() {
        let functional = key.parts.iter().any(|part| matches!(part.column, KeyColumn::Expression(_)));
        let key = &with_columns(columns, key, table)?;
        let parts = define_parts(columns, key)?;
        let name = match &key.name {
            _ if key.primary => PRIMARY.to_owned(),
            Some(name) => {
                if made.iter().any(|(index, _)| index.name.eq_ignore_ascii_case(name)) {
                    return Err(codes::dup_keyname(name));
                }
                name.clone()
            }
            None if functional => generated_name(FUNCTIONAL, &made),
            None => generated_name(&columns[parts[0].column].def.name, &made),
        };
        let index = IndexDef {
            comment: key.comment.clone(),
            invisible: key.invisible,
            written: WrittenIndex { made_for_key: key.made, ..key.written },
            ..IndexDef::new(name, key.unique, parts)
        };
        made.push((index, no));
    }
    let auto = |column: &DraftColumn| column.def.auto_increment;
    let auto_columns: Vec<usize> = (0..columns.len()).filter(|no| auto(&columns[*no])).collect();
    let leads_a_key = |column: &usize| made.iter().any(|(index, _)| index.parts[0].column == *column);
    if auto_columns.len() > 1 || !auto_columns.iter().all(leads_a_key) {
        return Err(codes::wrong_auto_key());
    }
    made.sort_by_key(|(index, no)| {
        let primary = keys[*no].primary;
        let nullable = index.parts.iter().any(|part| columns[part.column].def.ty.nullable);
        let prefixed = index.parts.iter().any(|part| part.prefix_chars.is_some());
        let is_virtual = index.parts.iter().any(|part| columns[part.column].def.is_virtual());
        if index.unique { (false, !primary, nullable, prefixed, is_virtual) } else { (true, false, false, false, is_virtual) }
    });
    let mut drafts: Vec<Option<usize>> = made.iter().map(|(_, no)| Some(*no)).collect();
    let mut indexes: Vec<IndexDef> = made.into_iter().map(|(index, _)| index).collect();
    if !keys.iter().any(|key| key.primary) {
        indexes.insert(0, hidden_primary());
        drafts.insert(0, None);
    }
    Ok((indexes, drafts))
}

/// 1831 for each key written now that is as another one is, by what [`define_indexes`] made of them.
pub(super) fn warn_of_repeated(keys: &[DraftKey], indexes: &[IndexDef], drafts: &[Option<usize>], table: &FullName) -> Vec<Warning> {
    let parts_of = |no: usize| drafts.iter().position(|draft| *draft == Some(no)).map(|at| &indexes[at].parts);
    let is_functional = |key: &DraftKey| key.parts.iter().any(|part| matches!(part.column, KeyColumn::Expression(_)));
    let comes_before = |no: usize, other: usize| other < no || keys[other].from.is_some();
    let is_repeated = |no: usize| {
        (0..keys.len()).any(|other| {
            other != no
                && comes_before(no, other)
                && !keys[other].primary
                && keys[other].unique == keys[no].unique
                && parts_of(other) == parts_of(no)
        })
    };
    let is_written = |key: &DraftKey| key.from.is_none() && !key.made && !key.primary && !is_functional(key);
    let repeated = (0..keys.len()).filter(|no| is_written(&keys[*no]) && is_repeated(*no));
    let index = |no: usize| drafts.iter().position(|draft| *draft == Some(no)).map(|at| indexes[at].name.as_str());
    let warning = |name: &str| codes::dup_index(name, &table.database, &table.table).into_warning(WarningLevel::Warning);
    repeated.filter_map(index).map(warning).collect()
}

/// A key whose expressions have become hidden columns, which are added to the table's.
fn with_columns(columns: &mut Vec<DraftColumn>, key: &DraftKey, table: &str) -> Result<DraftKey, SqlError> {
    let mut key = key.clone();
    let index = key.name.clone().unwrap_or_else(|| FUNCTIONAL.to_owned());
    for part in &mut key.parts {
        let KeyColumn::Expression(text) = &part.column else { continue };
        let ty = index_expression_type(columns.iter().map(|column| &column.def), text, &index, table)?;
        let is_free = |name: &String| super::find_column(columns, name).is_none();
        let name = (0..).map(|number| format!("!hidden!{index}!{number}")).find(is_free).unwrap_or_default();
        let def = ColumnDef {
            generated: Some(Generated { text: text.clone(), stored: false }),
            visibility: Visibility::Hidden,
            ..ColumnDef::new(name.clone(), ColumnType { nullable: true, ..ty })
        };
        columns.push(DraftColumn { def, explicit_null: false, from: None });
        part.column = KeyColumn::Named(name);
    }
    Ok(key)
}

fn hidden_primary() -> IndexDef {
    IndexDef::new(HIDDEN_PRIMARY, true, Vec::new())
}

/// The first column's name, or that with `_2`, `_3` …
fn generated_name(column: &str, made: &[(IndexDef, usize)]) -> String {
    let is_taken = |name: &str| name.eq_ignore_ascii_case(PRIMARY) || made.iter().any(|(index, _)| index.name.eq_ignore_ascii_case(name));
    if !is_taken(column) {
        return column.to_owned();
    }
    (2..).map(|number| format!("{column}_{number}")).find(|name| !is_taken(name)).unwrap_or_default()
}

fn define_parts(columns: &mut [DraftColumn], key: &DraftKey) -> Result<Vec<KeyPart>, SqlError> {
    if key.parts.len() > KEY_PARTS_MAX {
        return Err(codes::too_many_key_parts(KEY_PARTS_MAX));
    }
    let mut parts: Vec<KeyPart> = Vec::with_capacity(key.parts.len());
    let mut bytes = 0;
    for part in &key.parts {
        let at = match &part.column {
            KeyColumn::Named(name) => super::find_column(columns, name).ok_or_else(|| codes::key_column_does_not_exits(name))?,
            KeyColumn::Old(position) => columns
                .iter()
                .position(|column| column.from == Some(*position))
                .ok_or_else(|| codes::key_column_does_not_exits(position))?,
            KeyColumn::Expression(text) => return Err(codes::key_column_does_not_exits(text)),
        };
        if parts.iter().any(|other| other.column == at) {
            return Err(codes::dup_fieldname(&columns[at].def.name));
        }
        if key.primary {
            make_not_null(&mut columns[at])?;
        }
        let def = &columns[at].def;
        let prefix_chars = checked_prefix(&def.name, &def.ty, part)?;
        let part_bytes = key_bytes(&def.ty, prefix_chars);
        bytes += part_bytes;
        if part_bytes > KEY_BYTES_MAX || bytes > KEY_BYTES_MAX {
            return Err(codes::too_long_key(KEY_BYTES_MAX));
        }
        parts.push(KeyPart { column: at, prefix_chars, descending: part.descending });
    }
    Ok(parts)
}

fn make_not_null(column: &mut DraftColumn) -> Result<(), SqlError> {
    if column.explicit_null {
        return Err(codes::primary_cant_have_null());
    }
    if column.def.ty.nullable {
        column.def.ty.nullable = false;
        if column.def.default == DefaultValue::Null {
            column.def.default = DefaultValue::None;
        }
    }
    Ok(())
}

fn checked_prefix(name: &str, ty: &ColumnType, part: &DraftPart) -> Result<Option<u32>, SqlError> {
    if ty.kind == TypeKind::Json {
        return Err(codes::json_used_as_key(name));
    }
    match part.prefix {
        None if ty.kind.is_blob() => Err(codes::blob_key_without_length(name)),
        None => Ok(None),
        // The length of the whole value is no prefix.
        Some(prefix) if ty.member_list().is_empty() && ty.packed_bytes() == Some(prefix) => Ok(None),
        Some(_) if !ty.kind.is_string() => Err(codes::wrong_sub_key()),
        Some(prefix) if ty.kind.is_blob() => Ok(Some(prefix)),
        Some(prefix) if prefix > ty.length => Err(codes::wrong_sub_key()),
        Some(prefix) if prefix == ty.length => Ok(None),
        Some(prefix) => Ok(Some(prefix)),
    }
}

/// Bytes of a key part as MySQL counts them.
fn key_bytes(ty: &ColumnType, prefix_chars: Option<u32>) -> u64 {
    let characters = prefix_chars.map_or(ty.bytes_max(), |chars| u64::from(chars) * u64::from(ty.collation.charset().bytes_per_char_max()));
    match ty.kind {
        kind if kind.is_string() => characters,
        kind if kind.is_integer() => kind.integer_bytes().unwrap_or(8) as u64,
        TypeKind::Enum => 2,
        _ => 8,
    }
}
