//! Columns of `information_schema` that results have with another type than `information_schema.COLUMNS` says, and than a table that keeps them has: to MySQL most of these
//! tables are views, and a result is told the type of the view's expression. As MySQL 9.7 answers, column by column. Clients that check types (sqlx, .NET) see no difference.

use super::INFORMATION_SCHEMA;
use super::column::folded;
use planner::plan::OutputColumn;
use types::{ColumnType, TypeKind};

/// Gives the columns of a client's result the types that it is told.
pub(crate) fn as_sent(columns: &mut [OutputColumn]) {
    for column in columns {
        if &*column.database == INFORMATION_SCHEMA
            && let Some(ty) = type_of(&column.org_table, &column.org_name, &column.ty)
        {
            column.ty = ColumnType { nullable: column.ty.nullable, ..ty };
        }
    }
}

fn type_of(table: &str, column: &str, own: &ColumnType) -> Option<ColumnType> {
    // A comment is as long as its table lets it be.
    let comment = || folded(2048);
    Some(match (table, column) {
        ("COLUMNS", "NUMERIC_PRECISION" | "NUMERIC_SCALE") => ColumnType { unsigned: true, ..ColumnType::int() },
        ("COLUMNS", "COLUMN_COMMENT") | ("PARTITIONS", "PARTITION_COMMENT") | ("TABLES", "TABLE_COMMENT") => comment(),
        ("STATISTICS", "NON_UNIQUE") => ColumnType { length: 2, ..ColumnType::new(TypeKind::BigInt) },
        ("TABLES", "VERSION") => ColumnType { length: 3, ..ColumnType::new(TypeKind::BigInt) },
        ("PARTITIONS", "PARTITION_ORDINAL_POSITION" | "SUBPARTITION_ORDINAL_POSITION") => ColumnType::bigint_unsigned(),
        ("FILES", "FILE_NAME") => folded(512),
        ("INNODB_BUFFER_POOL_STATS", _) if own.kind == TypeKind::Float => ColumnType::double(),
        ("USER_ATTRIBUTES", "USER" | "HOST") => ColumnType { kind: TypeKind::Char, ..own.clone() },
        ("OPTIMIZER_TRACE", "QUERY" | "TRACE") | ("PLUGINS", "PLUGIN_DESCRIPTION") | ("PROCESSLIST", "INFO") => {
            ColumnType { kind: TypeKind::MediumText, ..own.clone() }
        }
        // Never anything but NULL.
        _ if own.kind == TypeKind::VarBinary && own.length == 0 => ColumnType::new(TypeKind::Null),
        _ => return None,
    })
}
