//! What a change of a definition asks of the rows: nothing, indexes, a copy; and what MySQL would say of it (ALGORITHM, LOCK).

use crate::ddl::check::judges_anew;
use crate::ddl::expression::{is_computed, names};
use crate::ddl::virtual_columns::{follows_from_rows, reads_otherwise};
use catalog::{ColumnDef, ROW_VERSIONS_MAX, TableDef, older_rows_lack_generated, older_versions};
use mysql_error::{SqlError, codes};
use types::{Charset, ColumnType, SqlMode, TypeKind};

/// ALGORITHM and LOCK as written.
#[derive(Clone, Copy)]
pub(in crate::ddl) struct Wishes<'a> {
    pub(in crate::ddl) algorithm: Option<&'a str>,
    pub(in crate::ddl) lock: Option<&'a str>,
}

/// Whether rows with the old type can be read as rows with the new one.
pub(in crate::ddl) fn stored_alike(old: &ColumnType, new: &ColumnType) -> bool {
    if old == new {
        return true;
    }
    if old.nullable != new.nullable || old.collation != new.collation {
        return false;
    }
    let members_kept = || new.member_list().starts_with(old.member_list());
    match (old.kind, new.kind) {
        (TypeKind::VarChar, TypeKind::VarChar) | (TypeKind::VarBinary, TypeKind::VarBinary) => old.length <= new.length,
        // Only how it is shown differs.
        (a, b) if a == b && a.is_integer() => old.unsigned == new.unsigned,
        (TypeKind::Enum, TypeKind::Enum) | (TypeKind::Set, TypeKind::Set) => members_kept(),
        _ => false,
    }
}

/// Whether text of one character set is the same bytes in the other.
fn same_bytes(old: Charset, new: Charset) -> bool {
    old == new || (old == Charset::Utf8mb3 && new == Charset::Utf8mb4)
}

/// Whether a column of this type gets another collation, of its character set or of a wider one, and nothing that is stored follows from how its values compare. A CHECK does not judge again, as in MySQL.
fn only_recollated(old: &TableDef, new: &TableDef, before: &ColumnDef, ty: &ColumnType, column: &ColumnDef) -> bool {
    let has_collation = |ty: &ColumnType| ty.is_character() && ty.kind != TypeKind::Json;
    let recollated = ColumnType { collation: column.ty.collation, ..ty.clone() };
    let is_indexed = || new.indexes.iter().flat_map(|index| &index.parts).any(|part| new.columns[part.column].name == column.name);
    let is_read = |def: &TableDef, name: &str| {
        def.columns.iter().filter_map(|column| column.generated.as_ref()).any(|generated| names(&generated.text, name))
    };
    ty.collation != column.ty.collation
        && same_bytes(ty.collation.charset(), column.ty.collation.charset())
        && has_collation(ty)
        && before.generated == column.generated
        && stored_alike(&recollated, &column.ty)
        && !is_indexed()
        && !is_read(old, &before.name)
        && !is_read(new, &column.name)
}

/// What a change does to the list of columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The same columns, in the same order.
    Same,
    /// More at the end.
    Longer,
    /// Some are gone, moved, or came before others.
    Changed,
}

impl Shape {
    pub(super) fn of(old: &TableDef, from: &[Option<usize>]) -> Shape {
        let kept = from.iter().enumerate().take_while(|(no, from)| **from == Some(*no)).count();
        if kept < old.columns.len() || from[kept..].iter().any(Option::is_some) {
            Shape::Changed
        } else if kept < from.len() {
            Shape::Longer
        } else {
            Shape::Same
        }
    }
}

const CHECKS_ROWS: &str = "Adding foreign keys needs foreign_key_checks=OFF";
const FILLS_NULLS: &str = "cannot silently convert NULL values, as required in this SQL_MODE";
const MIXES_VIRTUAL: &str = "INPLACE ADD or DROP of virtual columns cannot be combined with other ALTER TABLE actions";
const NUMBERS_ROWS: &str = "Adding an auto-increment column requires a lock";

/// What must be done to the rows.
pub(super) struct Work {
    /// Every row is written anew.
    pub(super) copies: bool,
    /// Indexes are built.
    builds: bool,
    /// MySQL would copy, too, and count the rows.
    pub(super) counts_rows: bool,
    /// A row becomes the same each time that it is converted, and others may write it meanwhile.
    pub(super) lets_write: bool,
    /// Why MySQL could not do it in place.
    reason: &'static str,
    /// Why MySQL could not do it at once, where it says so.
    not_instant: Option<&'static str>,
    /// Rows are numbered by a column that they did not have.
    numbers_rows: bool,
    /// It does not say why.
    silent: bool,
    /// It would not do it at once, either, and says so.
    only_copy: bool,
    /// An indexed column goes: no rows are touched, but MySQL does not call that instant.
    drops_indexed: bool,
    /// A text gets another collation: no rows are touched, but MySQL does not call that instant, either.
    recollates: bool,
    /// Rows have as many versions as they may: of this table.
    versions_full: Option<String>,
}

/// What the directory's format can hold.
#[derive(Clone, Copy)]
pub(super) struct FormatAllows {
    pub(super) row_versions: bool,
    pub(super) computed_columns: bool,
}

impl Work {
    pub(super) fn new(old: &TableDef, new: &TableDef, from: &[Option<usize>], rebuild: bool, format: FormatAllows, mode: SqlMode) -> Work {
        let judges = judges_anew(old, new);
        let shape = Shape::of(old, from);
        let versions_full = shape != Shape::Same && (older_versions(old) >= ROW_VERSIONS_MAX || old.schema_version == u16::MAX);
        let lacks = older_rows_lack_generated(old);
        let readable = |column: &ColumnDef, from: &Option<usize>| match from.map(|at| &old.columns[at]) {
            Some(before) => {
                (stored_alike(&before.ty, &column.ty) || only_recollated(old, new, before, &before.ty, column))
                    && (before.auto_increment || !column.auto_increment)
                    && before.generated == column.generated
                    && !(lacks && reads_otherwise(before, column))
            }
            None if is_computed(column) => format.computed_columns && follows_from_rows(&new.columns, column),
            None => !column.auto_increment,
        };
        let in_place = !rebuild
            && new.columns.iter().zip(from).all(|(column, from)| readable(column, from))
            && !judges
            && !new.indexes[0].id.is_none()
            && !versions_full
            // A directory whose format cannot list what older rows hold takes columns at the end only.
            && (shape != Shape::Changed || format.row_versions);
        let type_changed = new.columns.iter().zip(from).any(|(column, from)| {
            let Some(at) = from.filter(|_| !column.is_virtual()) else { return false };
            let before = ColumnType { nullable: column.ty.nullable, ..old.columns[at].ty.clone() };
            (!stored_alike(&before, &column.ty) && !only_recollated(old, new, &old.columns[at], &before, column))
                || (column.auto_increment && !old.columns[at].auto_increment)
        });
        // As MySQL, which copies for these but for VIRTUAL columns that are new.
        let computes = new.columns.iter().zip(from).any(|(column, from)| {
            let before = from.map(|at| &old.columns[at]);
            let is_another = |before: &ColumnDef| {
                let ty = ColumnType { nullable: column.ty.nullable, ..before.ty.clone() };
                let is_alike = || stored_alike(&ty, &column.ty) || only_recollated(old, new, before, &ty, column);
                before.generated != column.generated || (column.is_virtual() && !is_alike())
            };
            is_computed(column) && before.map_or(!column.is_virtual(), is_another)
        });
        let primary_dropped = !old.has_hidden_key() && new.has_hidden_key();
        let becomes = |nullable: bool| {
            let is_other = |column: &ColumnDef, at: usize| column.ty.nullable == nullable && old.columns[at].ty.nullable != nullable;
            new.columns.iter().zip(from).any(|(column, from)| !column.is_virtual() && from.is_some_and(|at| is_other(column, at)))
        };
        // Where a NULL is no error, it is another value, and MySQL copies.
        let fills_nulls = !mode.is_strict() && becomes(false);
        let rebuilds = rebuild || new.indexes[0].id.is_none() || becomes(true) || becomes(false);
        let adds_virtual = new.columns.iter().zip(from).any(|(column, from)| from.is_none() && column.is_virtual());
        let drops_virtual = old.columns.iter().enumerate().any(|(at, column)| column.is_virtual() && !from.contains(&Some(at)));
        let mixes_virtual = rebuilds && (adds_virtual || drops_virtual);
        let says_why = if fills_nulls { Some(FILLS_NULLS) } else { mixes_virtual.then_some(MIXES_VIRTUAL) };
        let numbers_rows = new.columns.iter().zip(from).any(|(column, from)| from.is_none() && column.auto_increment);
        let counts_rows = type_changed || primary_dropped || judges || computes || fills_nulls || mixes_virtual;
        Work {
            copies: !in_place,
            builds: !in_place || new.indexes.iter().any(|index| index.id.is_none()),
            counts_rows,
            lets_write: in_place || !(counts_rows || numbers_rows),
            not_instant: match type_changed {
                true => Some("Need to rebuild the table to change column type"),
                false => says_why.or(numbers_rows.then_some(NUMBERS_ROWS)),
            },
            numbers_rows,
            silent: (judges || computes) && !type_changed && says_why.is_none() && !primary_dropped,
            only_copy: judges,
            drops_indexed: old.indexes.iter().flat_map(|index| &index.parts).any(|part| !from.contains(&Some(part.column))),
            recollates: new.columns.iter().zip(from).any(|(column, from)| {
                let is_text = column.ty.kind.is_string();
                is_text && from.is_some_and(|at| old.columns[at].ty.collation != column.ty.collation)
            }),
            versions_full: versions_full.then(|| format!("{}/{}", old.database, old.name)),
            reason: if type_changed {
                "Cannot change column type INPLACE"
            } else if let Some(why) = says_why {
                why
            } else if judges || computes {
                "COPY algorithm requires a lock"
            } else {
                "Dropping a primary key is not allowed without also adding a new primary key"
            },
        }
    }

    /// ALGORITHM=COPY: done as said, whatever would be less work, and the rows are counted.
    pub(super) fn copy_all(&mut self) {
        let reason = "COPY algorithm requires a lock";
        *self = Work {
            copies: true,
            builds: true,
            counts_rows: true,
            lets_write: false,
            reason,
            not_instant: None,
            numbers_rows: false,
            silent: false,
            only_copy: false,
            drops_indexed: false,
            recollates: false,
            versions_full: None,
        };
    }

    pub(super) fn check_wishes(
        &self,
        wishes: Wishes<'_>,
        adds_keys: bool,
        checks_rows: bool,
        beside_writers: bool,
    ) -> Result<(), SqlError> {
        match wishes.algorithm {
            Some(algorithm @ ("INPLACE" | "INSTANT")) if checks_rows => {
                let other = if algorithm == "INSTANT" { "ALGORITHM=COPY/INPLACE" } else { "ALGORITHM=COPY" };
                return Err(codes::alter_operation_not_supported_reason(format!("ALGORITHM={algorithm}"), CHECKS_ROWS, other));
            }
            Some("INSTANT") if adds_keys => {
                return Err(codes::alter_operation_not_supported("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"));
            }
            Some("INSTANT") if let Some(reason) = self.not_instant => {
                return Err(codes::alter_operation_not_supported_reason("ALGORITHM=INSTANT", reason, "ALGORITHM=COPY/INPLACE"));
            }
            Some("INSTANT") if let Some(table) = &self.versions_full => return Err(codes::innodb_max_row_version(table)),
            Some("INSTANT") if self.builds || self.drops_indexed || self.recollates => {
                let other = if self.only_copy { "ALGORITHM=COPY" } else { "ALGORITHM=COPY/INPLACE" };
                return Err(codes::alter_operation_not_supported("ALGORITHM=INSTANT", other));
            }
            Some("INPLACE") if self.silent => {
                return Err(codes::alter_operation_not_supported("ALGORITHM=INPLACE", "ALGORITHM=COPY"));
            }
            Some("INPLACE") if self.counts_rows => {
                return Err(codes::alter_operation_not_supported_reason("ALGORITHM=INPLACE", self.reason, "ALGORITHM=COPY"));
            }
            _ => {}
        }
        match wishes.lock {
            Some("NONE") if checks_rows && wishes.algorithm != Some("COPY") => {
                Err(codes::alter_operation_not_supported_reason("LOCK=NONE", CHECKS_ROWS, "LOCK=SHARED"))
            }
            // Readers are in nobody's way.
            Some("NONE") if self.builds && !beside_writers => {
                if self.silent && !self.only_copy {
                    return Err(codes::alter_operation_not_supported("LOCK=NONE", "LOCK=SHARED"));
                }
                if self.counts_rows {
                    return Err(codes::alter_operation_not_supported_reason("LOCK=NONE", self.reason, "LOCK=SHARED"));
                }
                if self.numbers_rows {
                    return Err(codes::alter_operation_not_supported_reason("LOCK=NONE", NUMBERS_ROWS, "LOCK=SHARED"));
                }
                Err(codes::alter_operation_not_supported("LOCK=NONE", "LOCK=SHARED"))
            }
            _ => Ok(()),
        }
    }
}
