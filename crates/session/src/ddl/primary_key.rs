//! Primary keys that tables must have, or are given: `sql_require_primary_key`, `sql_generate_invisible_primary_key`.
//!
//! # Invariants
//! 1. A generated key is known by its look, as in MySQL: the invisible AUTO_INCREMENT column `my_row_id` in the first place, alone in the primary key. So dumps
//!    and replicas keep it one, and a column that is made visible is one like others.
//! 2. A unique key that cannot hold NULL is as good as a primary one.

use super::definition::DraftColumn;
use super::key::{DraftKey, KeyColumn};
use super::{find_column, same_name};
use crate::client_session::ClientSession;
use crate::context::Core;
use crate::variables::variable;
use catalog::{ColumnDef, TableDef, Visibility};
use mysql_error::{SqlError, codes};
use parser::ast::AlterAction;
use types::{ColumnType, TypeKind};

/// What the column of a generated key is called.
const GENERATED: &str = "my_row_id";

/// Whether a table's primary key was generated.
pub(crate) fn is_generated(def: &TableDef) -> bool {
    let (Some(column), Some(primary)) = (def.columns.first(), def.indexes.first()) else { return false };
    column.name == GENERATED
        && column.visibility == Visibility::Invisible
        && column.auto_increment
        && (column.ty.kind, column.ty.unsigned) == (TypeKind::BigInt, true)
        && matches!(primary.parts.as_slice(), [part] if part.column == 0)
}

impl Core {
    /// Whether generated keys are told of: `show_gipk_in_create_table_and_information_schema`.
    pub(crate) fn tells_generated_keys(&self) -> bool {
        self.number(variable!("show_gipk_in_create_table_and_information_schema")) == 1
    }
}

/// Whether one of the keys tells all rows apart.
fn has_key(columns: &[DraftColumn], keys: &[DraftKey]) -> bool {
    let holds_null = |column: &KeyColumn| {
        let column = match column {
            KeyColumn::Named(name) => find_column(columns, name).map(|at| &columns[at]),
            KeyColumn::Old(at) => columns.iter().find(|column| column.from == Some(*at)),
            KeyColumn::Expression(_) => None,
        };
        column.is_none_or(|column| column.def.ty.nullable || column.def.visibility == Visibility::Hidden)
    };
    let whole = |key: &DraftKey| key.parts.iter().all(|part| part.prefix.is_none() && !holds_null(&part.column));
    keys.iter().any(|key| key.primary || key.unique && whole(key))
}

/// Gives a table that would have no primary key one.
pub(super) fn generate(columns: &mut Vec<DraftColumn>, keys: &mut Vec<DraftKey>) -> Result<(), SqlError> {
    if has_key(columns, keys) {
        return Ok(());
    }
    if find_column(columns, GENERATED).is_some() {
        return Err(codes::failed_to_generate_invisible_pk_column_exists(GENERATED));
    }
    if columns.iter().any(|column| column.def.auto_increment) {
        return Err(codes::failed_to_generate_invisible_pk_auto_increment());
    }
    let ty = ColumnType { nullable: false, ..ColumnType::bigint_unsigned() };
    let def = ColumnDef { auto_increment: true, visibility: Visibility::Invisible, ..ColumnDef::new(GENERATED, ty) };
    columns.insert(0, DraftColumn { def, explicit_null: false, from: None });
    keys.insert(0, DraftKey::of_column(GENERATED, true));
    Ok(())
}

/// The same of a definition: whether a key tells all rows apart.
fn definition_has_key(def: &TableDef) -> bool {
    let whole = |index: &catalog::IndexDef| {
        let holds_null =
            |part: &record::KeyPart| def.columns[part.column].ty.nullable || def.columns[part.column].visibility == Visibility::Hidden;
        index.unique && index.parts.iter().all(|part| part.prefix_chars.is_none() && !holds_null(part))
    };
    !def.has_hidden_key() || def.indexes[1..].iter().any(whole)
}

/// 4110 for actions on the column of a generated key. It may be dropped with the key, and made visible.
pub(super) fn check_actions(old: &TableDef, actions: &[AlterAction<'_>]) -> Result<(), SqlError> {
    if !is_generated(old) {
        return Ok(());
    }
    let changed = |action: &AlterAction<'_>| match action {
        AlterAction::ModifyColumn(column, _) => same_name(column.name, GENERATED),
        AlterAction::ChangeColumn(name, ..)
        | AlterAction::RenameColumn(name, _)
        | AlterAction::SetDefault(name, _)
        | AlterAction::DropDefault(name) => same_name(name, GENERATED),
        _ => false,
    };
    if actions.iter().any(changed) { Err(codes::generated_invisible_pk_alter_not_allowed(GENERATED)) } else { Ok(()) }
}

impl ClientSession {
    /// 3750 for a new table without a primary key.
    pub(super) fn require_key(&self, def: &TableDef) -> Result<(), SqlError> {
        if self.requires_key() && !definition_has_key(def) { Err(codes::table_without_pk()) } else { Ok(()) }
    }

    fn requires_key(&self) -> bool {
        self.core.number(variable!("sql_require_primary_key")) == 1
    }

    /// What a change may not leave behind.
    pub(super) fn check_key_after(
        &self,
        old: &TableDef,
        actions: &[AlterAction<'_>],
        columns: &[DraftColumn],
        keys: &[DraftKey],
    ) -> Result<(), SqlError> {
        let has = has_key(columns, keys);
        if !has && self.core.number(variable!("sql_generate_invisible_primary_key")) == 1 && definition_has_key(old) {
            return Err(codes::not_supported_yet(
                "an operation that leaves the table without a PRIMARY KEY or a UNIQUE NOT NULL key while @@sql_generate_invisible_primary_key=ON.",
            ));
        }
        let stays = is_generated(old) && columns.iter().any(|column| column.from == Some(0));
        if stays && !keys.iter().any(|key| key.primary && key.from == Some(0)) {
            return Err(codes::drop_pk_column_to_drop_gipk());
        }
        let renames_only = !actions.is_empty() && actions.iter().all(|action| matches!(action, AlterAction::Rename(_)));
        if !has && !renames_only && self.requires_key() { Err(codes::table_without_pk()) } else { Ok(()) }
    }
}
