//! Tables that are empty in a MySQL whose `performance_schema` is OFF, that replicates nothing, and has neither spatial nor compressed data nor full-text indexes, as here: instruments,
//! statement digests, replication, plug-ins. They have their columns and no rows, so that tools which join them get an answer.
//!
//! Their columns were asked of MySQL 9.7 and lie in `quiet/*.txt`: `=table`, with `emptied` where TRUNCATE is allowed, then a line `name null|full collation|- type` for each column.

use super::column::{columns, has_own_names};
use super::{INFORMATION_SCHEMA, MYSQL, PERFORMANCE_SCHEMA, SYS, VirtualTable, listed, log_tables};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualTableDef};
use executor::VirtualRows;
use types::{ByteString, Collation, ColumnType, TypeKind};

/// All of them.
pub(super) fn tables() -> Vec<VirtualTable> {
    let mut tables = Vec::new();
    for (database, text) in [
        (INFORMATION_SCHEMA, include_str!("quiet/information_schema.txt")),
        (PERFORMANCE_SCHEMA, include_str!("quiet/performance_schema.txt")),
        (SYS, include_str!("quiet/sys.txt")),
        (MYSQL, include_str!("quiet/mysql.txt")),
    ] {
        for part in text.split('=').filter(|part| !part.trim().is_empty()) {
            let mut lines = part.lines();
            let name = lines.next().and_then(|line| line.split(' ').next()).unwrap_or_default();
            let list = lines.filter_map(column).collect();
            let def = VirtualTableDef {
                database,
                name,
                columns: columns(list),
                keys: Vec::new(),
                rows: 0.0,
                is_view: database == SYS || database == INFORMATION_SCHEMA && has_own_names(name),
                is_dictionary: false,
            };
            let rows = match (database, name) {
                (MYSQL, "component") => components,
                (MYSQL, "general_log") => log_tables::general,
                (MYSQL, "slow_log") => log_tables::slow,
                _ => rows,
            };
            tables.push(VirtualTable { def, rows });
        }
    }
    tables
}

/// Whether a table has nothing and may be emptied all the same: summaries and histories, which tools reset.
pub(crate) fn is_emptied(database: &str, name: &str) -> bool {
    database == PERFORMANCE_SCHEMA
        && include_str!("quiet/performance_schema.txt")
            .lines()
            .filter_map(|line| line.strip_prefix('=')?.strip_suffix(" emptied"))
            .any(|emptied| emptied == name)
}

fn rows(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(Vec::new()))
}

fn components(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(crate::components::rows(core)))
}

/// A column's line.
fn column(line: &'static str) -> Option<(&'static str, ColumnType)> {
    let mut words = line.splitn(4, ' ');
    let (name, null, collation, text) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let collation = Collation::from_name(collation).unwrap_or(Collation::Utf8mb3GeneralCi);
    let mut ty = column_type(text, collation)?;
    if null == "full" {
        ty = ty.not_null();
    }
    Some((name, ty))
}

/// A type as `information_schema.COLUMNS` writes it.
fn column_type(text: &str, collation: Collation) -> Option<ColumnType> {
    let end = text.find(['(', ' ']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let inside = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(inside, _)| inside);
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
    let of = |kind| ColumnType { collation, ..ColumnType::new(kind) };
    let members = || {
        let list = rest.trim_start_matches('(').trim_end_matches(')');
        list.split(',').map(|member| ByteString::from(member.trim_matches('\''))).collect::<Vec<_>>()
    };
    let ty = match word {
        "bigint" => ColumnType::bigint(),
        "int" => ColumnType::int(),
        "mediumint" => ColumnType::new(TypeKind::MediumInt),
        "smallint" => ColumnType::new(TypeKind::SmallInt),
        "tinyint" => ColumnType { length: number(inside), ..ColumnType::new(TypeKind::TinyInt) },
        "decimal" => {
            let (digits, scale) = inside?.split_once(',')?;
            ColumnType::decimal(number(Some(digits)), number(Some(scale)) as u8)
        }
        "double" => ColumnType::double(),
        "float" => ColumnType::new(TypeKind::Float),
        "date" => ColumnType::new(TypeKind::Date),
        "time" => ColumnType::temporal(TypeKind::Time, number(inside) as u8),
        "datetime" => ColumnType::temporal(TypeKind::DateTime, number(inside) as u8),
        "timestamp" => ColumnType::temporal(TypeKind::Timestamp, number(inside) as u8),
        "char" => ColumnType { length: number(inside), ..of(TypeKind::Char) },
        "varchar" => ColumnType::varchar(number(inside), collation),
        "text" => of(TypeKind::Text),
        "mediumtext" => of(TypeKind::MediumText),
        "longtext" => of(TypeKind::LongText),
        "blob" => ColumnType::new(TypeKind::Blob),
        "mediumblob" => ColumnType::new(TypeKind::MediumBlob),
        "longblob" => ColumnType::new(TypeKind::LongBlob),
        "json" => ColumnType::new(TypeKind::Json),
        "enum" => ColumnType::with_members(TypeKind::Enum, members(), collation),
        "set" => ColumnType::with_members(TypeKind::Set, members(), collation),
        _ => return None,
    };
    Some(if text.ends_with(" unsigned") { ty.unsigned() } else { ty })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_column() {
        let text = concat!(
            include_str!("quiet/information_schema.txt"),
            include_str!("quiet/performance_schema.txt"),
            include_str!("quiet/sys.txt"),
            include_str!("quiet/mysql.txt")
        );
        let lines = text.lines().filter(|line| !line.starts_with('='));
        let mut count = 0;
        for line in lines {
            assert!(column(line).is_some(), "{line}");
            count += 1;
        }
        let made: usize = tables().iter().map(|table| table.def.columns.len()).sum();
        assert_eq!(made, count);
    }
}
