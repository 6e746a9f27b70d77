//! Foreign keys as written to definitions, and what DDL may do to tables that have a part in them.
//!
//! # Invariants
//! 1. A key is added with the parent taken alone, too: no statement that was planned without it runs on.
//! 2. Each key has an index of its own table that begins with its columns, and, while its parent is there, an index of the parent that does. What takes one of
//!    them away is refused.

use super::definition::DraftColumn;
use super::expression::names;
use super::key::{DraftKey, DraftPart, KeyColumn};
use super::{FullName, LockedTable, same_name};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::variables::variable;
use catalog::{Catalog, CatalogError, ForeignKeyDef, IndexDef, ReferenceAction, TableDef};
use mysql_error::{SqlError, codes};
use parser::ast::{self, AlterAction, References};
use types::{ColumnType, TypeKind};

/// A foreign key that is being defined.
#[derive(Debug, Clone)]
pub(super) struct DraftForeignKey {
    /// `None`: made from the table's.
    name: Option<String>,
    /// Name of the index that is made for it where there is none.
    index_name: Option<String>,
    columns: Vec<KeyColumn>,
    parent: FullName,
    parent_columns: Vec<String>,
    on_delete: ReferenceAction,
    on_update: ReferenceAction,
    /// How many of the statement's keys come before it.
    keys_before: usize,
    /// It is one of the old table's.
    is_old: bool,
}

/// A foreign key where a statement writes it: by itself, or at a column. Whoever looks for those of a statement finds them by this.
pub(crate) struct WrittenKey<'s> {
    constraint: Option<&'s str>,
    index_name: Option<&'s str>,
    columns: &'s [&'s str],
    references: &'s References<'s>,
    keys_before: usize,
}

impl<'s> WrittenKey<'s> {
    fn at_column(column: &'s ast::ColumnDef<'s>) -> Option<Self> {
        let references = column.attributes.references?;
        Some(Self { constraint: None, index_name: None, columns: std::slice::from_ref(&column.name), references, keys_before: 0 })
    }

    fn by_itself(key: &'s ast::ForeignKey<'s>, keys_before: usize) -> Self {
        Self { constraint: key.constraint, index_name: key.name, columns: key.columns, references: &key.references, keys_before }
    }

    /// Those of CREATE TABLE: at columns, then the table's.
    pub(crate) fn of_create(create: &'s ast::CreateTable<'s>) -> impl Iterator<Item = Self> {
        let at_columns = create.columns.iter().filter_map(Self::at_column);
        at_columns.chain(create.foreign_keys.iter().map(|key| Self::by_itself(key, key.keys_before)))
    }

    /// Those that ALTER TABLE adds.
    pub(crate) fn of_alter(actions: &'s [AlterAction<'s>]) -> impl Iterator<Item = Self> {
        actions.iter().filter_map(|action| match action {
            AlterAction::AddForeignKey(key) => Some(Self::by_itself(key, 0)),
            AlterAction::AddColumn(column, _) | AlterAction::ModifyColumn(column, _) | AlterAction::ChangeColumn(_, column, _) => {
                Self::at_column(column)
            }
            _ => None,
        })
    }

    /// The table that it refers to, of a table in this database.
    pub(crate) fn parent(&self, database: &str) -> FullName {
        let table = &self.references.table;
        FullName { database: table.schema.unwrap_or(database).to_owned(), table: table.name.to_owned() }
    }
}

fn action(written: Option<ast::ReferenceAction>) -> ReferenceAction {
    match written {
        None | Some(ast::ReferenceAction::NoAction) => ReferenceAction::NoAction,
        Some(ast::ReferenceAction::Restrict) => ReferenceAction::Restrict,
        Some(ast::ReferenceAction::Cascade) => ReferenceAction::Cascade,
        Some(ast::ReferenceAction::SetNull) => ReferenceAction::SetNull,
        Some(ast::ReferenceAction::SetDefault) => ReferenceAction::SetDefault,
    }
}

impl DraftForeignKey {
    fn new(session: &ClientSession, own: &FullName, written: &WrittenKey<'_>) -> Result<DraftForeignKey, Outcome> {
        let WrittenKey { constraint, index_name, columns, references, keys_before } = *written;
        let parent = written.parent(&own.database);
        let mut parent_columns: Vec<String> = references.columns.iter().map(|name| (*name).to_owned()).collect();
        if let Some(def) = session.definition_of(&parent)? {
            if parent_columns.is_empty() {
                parent_columns = def.indexes[0].parts.iter().map(|part| def.columns[part.column].name.clone()).collect();
            }
            // As the parent spells them.
            for name in &mut parent_columns {
                if let Some(at) = def.column_index(name) {
                    name.clone_from(&def.columns[at].name);
                }
            }
        }
        if parent_columns.len() != columns.len() {
            let name = constraint.unwrap_or("foreign key without name");
            return Err(codes::wrong_fk_def(name, "Key reference and table reference don't match").into());
        }
        let too_long = [constraint, index_name].into_iter().flatten().find(|name| name.chars().count() > 64);
        if let Some(name) = too_long {
            return Err(codes::too_long_ident(name).into());
        }
        Ok(DraftForeignKey {
            name: constraint.map(str::to_owned),
            index_name: index_name.map(str::to_owned),
            columns: columns.iter().map(|name| KeyColumn::Named((*name).to_owned())).collect(),
            parent,
            parent_columns,
            on_delete: action(references.on_delete),
            on_update: action(references.on_update),
            keys_before,
            is_old: false,
        })
    }

    /// A parent's column as a new key has it, whose parent may be its own table.
    fn spelled_within(&self, table: &FullName, columns: &[DraftColumn], name: &str) -> String {
        let own = (!self.is_old && self.parent == *table).then_some(columns);
        let found = own.and_then(|columns| columns.iter().find(|column| same_name(&column.def.name, name)));
        found.map_or_else(|| name.to_owned(), |column| column.def.name.clone())
    }

    fn of_old(key: &ForeignKeyDef) -> DraftForeignKey {
        DraftForeignKey {
            name: Some(key.name.clone()),
            index_name: None,
            columns: key.columns.iter().map(|column| KeyColumn::Old(*column)).collect(),
            parent: FullName { database: key.parent_database.clone(), table: key.parent_table.clone() },
            parent_columns: key.parent_columns.clone(),
            on_delete: key.on_delete,
            on_update: key.on_update,
            keys_before: 0,
            is_old: true,
        }
    }

    fn positions(&self, columns: &[DraftColumn]) -> Option<Vec<usize>> {
        self.columns.iter().map(|column| position(columns, column)).collect()
    }

    /// The index that is made for it.
    fn made_key(&self) -> DraftKey {
        let part = |column: &KeyColumn| DraftPart { column: column.clone(), prefix: None, descending: false };
        DraftKey {
            primary: false,
            unique: false,
            name: self.name.clone().or_else(|| self.index_name.clone()),
            parts: self.columns.iter().map(part).collect(),
            comment: String::new(),
            invisible: false,
            written: Default::default(),
            from: None,
            made: true,
        }
    }
}

fn position(columns: &[DraftColumn], column: &KeyColumn) -> Option<usize> {
    match column {
        KeyColumn::Named(name) => super::find_column(columns, name),
        KeyColumn::Old(at) => columns.iter().position(|column| column.from == Some(*at)),
        KeyColumn::Expression(_) => None,
    }
}

/// The foreign keys of CREATE TABLE: those of columns, then the table's.
pub(super) fn of_create(session: &ClientSession, name: &FullName, create: &ast::CreateTable<'_>) -> Result<Vec<DraftForeignKey>, Outcome> {
    let drafts: Vec<_> = WrittenKey::of_create(create).map(|key| DraftForeignKey::new(session, name, &key)).collect::<Result<_, _>>()?;
    if !drafts.is_empty() && create.select.is_some() {
        return Err(codes::fk_with_create_select().into());
    }
    Ok(drafts)
}

/// The foreign keys that ALTER TABLE leaves and adds.
pub(super) fn of_alter(
    session: &ClientSession,
    name: &FullName,
    old: &TableDef,
    actions: &[AlterAction<'_>],
) -> Result<Vec<DraftForeignKey>, Outcome> {
    let mut drafts: Vec<DraftForeignKey> = old.foreign_keys.iter().map(DraftForeignKey::of_old).collect();
    for action in actions {
        let (dropped, is_key) = match action {
            AlterAction::DropForeignKey(dropped) => (*dropped, true),
            AlterAction::DropConstraint(dropped) => (*dropped, false),
            _ => continue,
        };
        let found = drafts.iter().position(|key| key.name.as_deref().is_some_and(|own| same_name(own, dropped)));
        match found {
            Some(at) => drop(drafts.remove(at)),
            None if is_key => return Err(codes::cant_drop_field_or_key(dropped).into()),
            // The name of something else, which others look for.
            None => {}
        }
    }
    for key in WrittenKey::of_alter(actions) {
        drafts.push(DraftForeignKey::new(session, name, &key)?);
        if let Some(constraint) = key.constraint
            && old.foreign_keys.iter().any(|key| same_name(&key.name, constraint))
        {
            return Err(codes::fk_dup_name(constraint).into());
        }
    }
    Ok(drafts)
}

/// Puts the indexes that are made for keys among the written ones: `first` of those come before the first that the statement counts.
pub(super) fn place_made_keys(
    columns: &[DraftColumn],
    keys: &mut Vec<DraftKey>,
    first: usize,
    drafts: &[DraftForeignKey],
) -> Result<(), SqlError> {
    for (placed, draft) in drafts.iter().filter(|draft| !draft.is_old).enumerate() {
        for column in &draft.columns {
            if let KeyColumn::Named(name) = column
                && position(columns, column).is_none()
            {
                return Err(codes::key_column_does_not_exits(name));
            }
        }
        let at = (first + draft.keys_before + placed).min(keys.len());
        keys.insert(at, draft.made_key());
    }
    drop_covered(columns, keys);
    Ok(())
}

/// Drops the made indexes whose columns another index begins with, ascending; of made ones alike the last stays, as MySQL's does.
fn drop_covered(columns: &[DraftColumn], keys: &mut Vec<DraftKey>) {
    let parts = |key: &DraftKey| -> Vec<Option<usize>> {
        key.parts.iter().map(|part| if part.prefix.is_some() || part.descending { None } else { position(columns, &part.column) }).collect()
    };
    let all: Vec<Vec<Option<usize>>> = keys.iter().map(parts).collect();
    let serves = |other: usize, made: usize| {
        let (theirs, ours) = (&all[other], &all[made]);
        let is_better = !keys[other].made || theirs.len() > ours.len() || other > made;
        other != made && is_better && theirs.len() >= ours.len() && theirs[..ours.len()] == ours[..] && !ours.contains(&None)
    };
    let stays: Vec<bool> = (0..keys.len()).map(|no| !(keys[no].made && (0..keys.len()).any(|other| serves(other, no)))).collect();
    let mut stays = stays.into_iter();
    keys.retain(|_| stays.next().unwrap_or(true));
}

/// The keys' definitions for a table of this name. `indexes` are its own; `made` says which of them were made for keys.
pub(super) fn define(
    table: &FullName,
    old_name: &str,
    columns: &[DraftColumn],
    indexes: &[IndexDef],
    made: impl Fn(usize) -> bool,
    drafts: &[DraftForeignKey],
) -> Result<Vec<ForeignKeyDef>, SqlError> {
    let number_of = |name: &str| {
        let rest = name.strip_prefix(old_name).or_else(|| name.strip_prefix(table.table.as_str()))?;
        rest.strip_prefix("_ibfk_")?.parse::<u32>().ok()
    };
    let mut number = drafts.iter().filter(|draft| draft.is_old).filter_map(|draft| number_of(draft.name.as_deref()?)).max().unwrap_or(0);
    let mut defined: Vec<ForeignKeyDef> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let name = match &draft.name {
            Some(name) => name.clone(),
            None => {
                // From the largest on it begins again, as in MySQL.
                number = number.wrapping_add(1);
                format!("{old_name}_ibfk_{number}")
            }
        };
        if defined.iter().any(|key| same_name(&key.name, &name)) {
            return Err(codes::fk_dup_name(&name));
        }
        let Some(positions) = draft.positions(columns) else {
            // A column that goes takes no key with it.
            let gone = draft.columns.iter().position(|column| position(columns, column).is_none());
            return Err(codes::fk_column_cannot_drop(gone.map_or_else(String::new, |at| at.to_string()), name));
        };
        let made_for_it = indexes.iter().enumerate().find(|(no, index)| {
            made(*no)
                && index.parts.len() == positions.len()
                && index.parts.iter().zip(&positions).all(|(part, column)| part.column == *column)
        });
        defined.push(ForeignKeyDef {
            name,
            columns: positions,
            parent_database: draft.parent.database.clone(),
            parent_table: draft.parent.table.clone(),
            parent_columns: draft.parent_columns.iter().map(|name| draft.spelled_within(table, columns, name)).collect(),
            on_delete: draft.on_delete,
            on_update: draft.on_update,
            made_index: made_for_it.map_or_else(String::new, |(_, index)| index.name.clone()),
        });
    }
    defined.sort_by_key(|key| key.name.to_lowercase());
    for key in &defined {
        let sets_null = key.on_delete == ReferenceAction::SetNull || key.on_update == ReferenceAction::SetNull;
        if let Some(column) = key.columns.iter().find(|column| !columns[**column].def.ty.nullable).filter(|_| sets_null) {
            return Err(codes::fk_column_not_null(&columns[*column].def.name, &key.name));
        }
    }
    Ok(defined)
}

/// Refuses keys whose actions would change what other columns or CHECK constraints are made of.
pub(super) fn check_key_columns(def: &TableDef) -> Result<(), SqlError> {
    for key in &def.foreign_keys {
        let clause = match (key.on_update, key.on_delete) {
            (ReferenceAction::Cascade, _) => Some("ON UPDATE CASCADE"),
            (ReferenceAction::SetNull, _) => Some("ON UPDATE SET NULL"),
            (_, ReferenceAction::SetNull) => Some("ON DELETE SET NULL"),
            _ => None,
        };
        for column in key.columns.iter().map(|column| &def.columns[*column]) {
            match (&column.generated, clause) {
                (Some(generated), _) if !generated.stored => return Err(codes::fk_cannot_use_virtual_column(&key.name, &column.name)),
                (Some(_), Some(clause)) => return Err(codes::wrong_fk_option_for_generated_column(clause)),
                _ => {}
            }
            if clause.is_none() {
                continue;
            }
            if let Some(check) = def.checks.iter().find(|check| names(&check.text, &column.name)) {
                return Err(codes::check_constraint_clause_using_fk_refer_action_column(&column.name, &check.name, &key.name));
            }
            let of_it =
                |other: &catalog::ColumnDef| other.generated.as_ref().is_some_and(|made| made.stored && names(&made.text, &column.name));
            if def.columns.iter().any(of_it) {
                return Err(codes::cannot_add_foreign());
            }
        }
    }
    Ok(())
}

/// Refuses dropped columns that keys need: the table's own (1828), or those of others (1829).
pub(super) fn check_dropped_columns(
    old: &TableDef,
    columns: &[DraftColumn],
    drafts: &[DraftForeignKey],
    children: &[TableDef],
) -> Result<(), SqlError> {
    let is_gone = |at: usize| !columns.iter().any(|column| column.from == Some(at));
    for draft in drafts {
        for column in &draft.columns {
            if let KeyColumn::Old(at) = column
                && is_gone(*at)
            {
                return Err(codes::fk_column_cannot_drop(&old.columns[*at].name, draft.name.as_deref().unwrap_or_default()));
            }
        }
    }
    for (child, key) in keys_to(old, children) {
        // Its own keys may be on their way out.
        let stands = child.id != old.id || drafts.iter().any(|draft| draft.name.as_deref() == Some(&key.name));
        for name in key.parent_columns.iter().filter(|_| stands) {
            if old.column_index(name).is_some_and(is_gone) {
                return Err(codes::fk_column_cannot_drop_child(name, &key.name, &child.name));
            }
        }
    }
    Ok(())
}

/// The keys that refer to a table, with whose they are.
pub(super) fn keys_to<'c>(table: &'c TableDef, children: &'c [TableDef]) -> impl Iterator<Item = (&'c TableDef, &'c ForeignKeyDef)> {
    let refers = |key: &&ForeignKeyDef| key.refers_to(&table.database, &table.name);
    children.iter().flat_map(move |child| child.foreign_keys.iter().filter(refers).map(move |key| (child, key)))
}

/// Whether values of the two types can be compared as keys.
fn compatible(child: &ColumnType, parent: &ColumnType) -> bool {
    if child.kind.is_blob() || parent.kind.is_blob() {
        return false;
    }
    let text = |ty: &ColumnType| matches!(ty.kind, TypeKind::Char | TypeKind::VarChar);
    let bytes = |ty: &ColumnType| matches!(ty.kind, TypeKind::Binary | TypeKind::VarBinary);
    if text(child) || text(parent) {
        return text(child) && text(parent) && child.collation == parent.collation;
    }
    if bytes(child) || bytes(parent) {
        return bytes(child) && bytes(parent);
    }
    child.kind == parent.kind && (!child.kind.is_integer() || child.unsigned == parent.unsigned)
}

/// What a key refers to.
#[derive(PartialEq, Eq)]
pub(super) enum ParentKey {
    Unique,
    /// An index that is not unique, or not as long as it.
    Repeats,
}

/// Checks that a parent has the columns of a key, of fitting types, and an index on them, a unique one where only such are wanted.
fn fits_parent(child: &TableDef, key: &ForeignKeyDef, parent: &TableDef, unique: bool) -> Result<ParentKey, SqlError> {
    let mut positions = Vec::with_capacity(key.columns.len());
    for name in &key.parent_columns {
        positions.push(parent.column_index(name).ok_or_else(|| codes::fk_no_column_parent(name, &key.name, &parent.name))?);
    }
    for (own, other) in key.columns.iter().zip(&positions) {
        let (own, other) = (&child.columns[*own], &parent.columns[*other]);
        if !compatible(&own.ty, &other.ty) {
            return Err(codes::fk_incompatible_columns(&own.name, &other.name, &key.name));
        }
    }
    let is_itself = (&parent.database, &parent.name) == (&child.database, &child.name) && positions == key.columns;
    if parent.index_on(&positions, true).is_some() && !is_itself {
        return Ok(ParentKey::Unique);
    }
    if unique {
        return Err(codes::fk_no_unique_index_parent(&key.name, &parent.name));
    }
    match parent.index_on(&positions, false) {
        Some(_) => Ok(ParentKey::Repeats),
        None => Err(codes::fk_no_index_parent(&key.name, &parent.name)),
    }
}

/// New keys whose parents were not there when their statement began. Nobody's lock keeps others from making them while it builds indexes.
#[derive(Default)]
pub(super) struct AwaitedParents {
    keys: Vec<ForeignKeyDef>,
    unique: bool,
}

impl AwaitedParents {
    /// Checks those parents that have come since.
    pub(super) fn check(&self, own: &TableDef, catalog: &Catalog) -> Result<Result<(), SqlError>, CatalogError> {
        for key in &self.keys {
            if let Some(parent) = catalog.definition(&key.parent_database, &key.parent_table)?
                && let Err(error) = fits_parent(own, key, &parent, self.unique)
            {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }
}

/// Where a column's name and type stand.
fn typed<'d>(def: &'d TableDef, name: &str) -> Option<(&'d str, &'d ColumnType)> {
    def.column_index(name).map(|at| (def.columns[at].name.as_str(), &def.columns[at].ty))
}

impl ClientSession {
    /// A table's definition; `None` when there is none.
    pub(super) fn definition_of(&self, name: &FullName) -> Result<Option<TableDef>, Outcome> {
        self.shared().catalog.definition(&name.database, &name.table).map_err(|error| self.catalog_error(error))
    }

    /// The definitions of the tables that refer to one of this name.
    pub(super) fn children_of(&self, name: &FullName) -> Result<Vec<TableDef>, Outcome> {
        let names = self.shared().catalog.children(&name.database, &name.table).map_err(|error| self.catalog_error(error))?;
        let defs = names.into_iter().map(|(database, table)| self.definition_of(&FullName { database, table }));
        Ok(defs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Takes tables alone: those named, and those of `more` that are there. Again until `more` is the same after as before.
    pub(super) fn lock_related(
        &self,
        names: &[FullName],
        more: impl Fn(&ClientSession) -> Result<Vec<FullName>, Outcome>,
    ) -> Result<Vec<LockedTable>, Outcome> {
        loop {
            let mut related = more(self)?;
            related.sort();
            related.dedup();
            let mut all = names.to_vec();
            for name in &related {
                if self.definition_of(name)?.is_some() {
                    all.push(name.clone());
                }
            }
            let locked = self.lock_tables(&all)?;
            let mut after = more(self)?;
            after.sort();
            after.dedup();
            if after == related {
                return Ok(locked);
            }
        }
    }

    /// Checks a key against its parent. With `foreign_key_checks` off the parent need not be there.
    pub(super) fn check_parent_of(&mut self, child: &TableDef, key: &ForeignKeyDef, parent: Option<&TableDef>) -> Result<(), SqlError> {
        let Some(parent) = parent else {
            return if self.checks_foreign_keys() { Err(codes::fk_cannot_open_parent(&key.parent_table)) } else { Ok(()) };
        };
        if fits_parent(child, key, parent, self.wants_unique_parents())? == ParentKey::Repeats {
            self.ddl_warnings(vec![codes::warn_non_unique_fk(&key.name).into_warning(mysql_error::WarningLevel::Warning)]);
        }
        Ok(())
    }

    /// `restrict_fk_on_non_standard_key`.
    fn wants_unique_parents(&self) -> bool {
        self.core.number(variable!("restrict_fk_on_non_standard_key")) != 0
    }

    /// The new keys of a definition, by name, whose parents are not there.
    pub(super) fn missing_parents(&self, own: &TableDef, is_new: impl Fn(&ForeignKeyDef) -> bool) -> Result<AwaitedParents, Outcome> {
        let mut keys = Vec::new();
        for key in own.foreign_keys.iter().filter(|key| is_new(key) && !key.refers_to(&own.database, &own.name)) {
            let parent = FullName { database: key.parent_database.clone(), table: key.parent_table.clone() };
            if self.definition_of(&parent)?.is_none() {
                keys.push(key.clone());
            }
        }
        Ok(AwaitedParents { keys, unique: self.wants_unique_parents() })
    }

    /// `foreign_key_checks`.
    pub(super) fn checks_foreign_keys(&self) -> bool {
        self.core.number(variable!("foreign_key_checks")) != 0
    }

    /// Checks the keys of a definition that are new, by name, against their parents. `own` is the definition itself.
    pub(super) fn check_new_keys(&mut self, own: &TableDef, is_new: impl Fn(&ForeignKeyDef) -> bool) -> Result<(), Outcome> {
        for key in own.foreign_keys.iter().filter(|key| is_new(key)) {
            if key.refers_to(&own.database, &own.name) {
                self.check_parent_of(own, key, Some(own))?;
                continue;
            }
            let name = FullName { database: key.parent_database.clone(), table: key.parent_table.clone() };
            let parent = self.definition_of(&name)?;
            self.check_parent_of(own, key, parent.as_ref())?;
        }
        Ok(())
    }

    /// A table of this definition comes under a name that others refer to: it must be what they refer to.
    pub(super) fn check_awaited(&mut self, def: &TableDef) -> Result<(), Outcome> {
        let children = self.children_of(&FullName { database: def.database.clone(), table: def.name.clone() })?;
        self.check_awaited_by(def, &children)
    }

    /// The same, by those who refer to the name.
    pub(super) fn check_awaited_by(&mut self, def: &TableDef, children: &[TableDef]) -> Result<(), Outcome> {
        for (child, key) in keys_to(def, children) {
            if let Err(error) = self.check_parent_of(child, key, Some(def)) {
                return Err(if self.checks_foreign_keys() { codes::cannot_add_foreign() } else { error }.into());
            }
        }
        Ok(())
    }

    /// Refuses to take tables away that others, not among them, refer to (3730).
    pub(super) fn refuse_referenced(&self, dropped: &[FullName]) -> Result<(), Outcome> {
        if !self.checks_foreign_keys() {
            return Ok(());
        }
        for name in dropped {
            for child in self.children_of(name)? {
                let of_child = FullName { database: child.database.clone(), table: child.name.clone() };
                if dropped.contains(&of_child) {
                    continue;
                }
                if let Some(key) = child.foreign_keys.iter().find(|key| key.refers_to(&name.database, &name.table)) {
                    return Err(codes::fk_cannot_drop_parent(&name.table, &key.name, &child.name).into());
                }
            }
        }
        Ok(())
    }

    /// Checks what ALTER TABLE makes of a table that has a part in foreign keys: its columns' types, and that no index is gone which a key needs.
    pub(super) fn check_altered(
        &mut self,
        old: &TableDef,
        new: &TableDef,
        from: &[Option<usize>],
        children: &[TableDef],
    ) -> Result<(), Outcome> {
        let is_old = |key: &ForeignKeyDef| old.foreign_keys.iter().any(|before| before.name == key.name);
        let dropped: Vec<&IndexDef> = old.indexes.iter().filter(|index| !new.indexes.iter().any(|now| now.id == index.id)).collect();
        let named = |columns: &[usize]| {
            let serves =
                |index: &&&IndexDef| columns.iter().zip(&index.parts).all(|(a, b)| *a == b.column) && index.parts.len() >= columns.len();
            dropped.iter().find(serves).map_or_else(String::new, |index| index.name.clone())
        };
        for key in &new.foreign_keys {
            if is_old(key) && new.index_on(&key.columns, false).is_none() {
                let before: Vec<usize> = key.columns.iter().filter_map(|column| from[*column]).collect();
                return Err(codes::drop_index_fk(named(&before)).into());
            }
        }
        let now = |at: usize| from.iter().position(|from| *from == Some(at));
        for (child, key) in keys_to(old, children) {
            if child.id == old.id && !new.foreign_keys.iter().any(|own| own.name == key.name) {
                continue;
            }
            let before: Vec<usize> = key.parent_columns.iter().filter_map(|name| old.column_index(name)).collect();
            let Some(after) = before.iter().map(|at| now(*at)).collect::<Option<Vec<usize>>>() else { continue };
            let unique = old.index_on(&before, true).is_some();
            if new.index_on(&after, unique).is_none() && old.index_on(&before, unique).is_some() {
                return Err(codes::drop_index_fk(named(&before)).into());
            }
        }
        self.check_altered_types(old, new, from, children)
    }

    fn check_altered_types(
        &mut self,
        old: &TableDef,
        new: &TableDef,
        from: &[Option<usize>],
        children: &[TableDef],
    ) -> Result<(), Outcome> {
        let changed = |at: usize, ty: &ColumnType| {
            let before = ColumnType { nullable: ty.nullable, ..old.columns[at].ty.clone() };
            let long = |ty: &ColumnType| ty.kind.is_string() && ty.bytes_max() > 255;
            !super::alter::stored_alike(&before, ty) || long(&before) != long(ty)
        };
        let checks = self.checks_foreign_keys();
        let was = |key: &ForeignKeyDef| old.foreign_keys.iter().any(|before| before.name == key.name);
        // Its own keys to itself with both sides as they are to be; parents go before children, as in MySQL.
        let own_keys = new.foreign_keys.iter().filter(|key| key.refers_to(&old.database, &old.name) && was(key));
        let keys = keys_to(old, children).filter(|(child, _)| child.id != old.id).chain(own_keys.map(|key| (new, key)));
        for (child, key) in keys {
            for (no, name) in key.parent_columns.iter().enumerate() {
                let Some(at) = old.column_index(name) else { continue };
                let Some(column) = from.iter().position(|from| *from == Some(at)).map(|no| &new.columns[no]) else { continue };
                let own = &child.columns[key.columns[no]];
                let own_at = if child.id == old.id { from[key.columns[no]] } else { None };
                let changes = changed(at, &column.ty);
                if !changes && !own_at.is_some_and(|at| changed(at, &own.ty)) {
                    continue;
                }
                if !compatible(&own.ty, &column.ty) {
                    return Err(codes::fk_incompatible_columns(&own.name, &column.name, &key.name).into());
                }
                if checks && changes {
                    let child_name = format!("{}.{}", old.database, old.name);
                    let child_name = if child.id == old.id { child_name } else { format!("{}.{}", child.database, child.name) };
                    return Err(codes::fk_column_cannot_change_child(name, &key.name, child_name).into());
                }
            }
        }
        for key in &new.foreign_keys {
            let (own_parent, name) = (
                key.refers_to(&old.database, &old.name),
                FullName { database: key.parent_database.clone(), table: key.parent_table.clone() },
            );
            for (no, column) in key.columns.iter().enumerate() {
                let Some(at) = from[*column] else { continue };
                let ty = &new.columns[*column].ty;
                if !changed(at, ty) {
                    continue;
                }
                let parent = if own_parent { Some(new.clone()) } else { self.definition_of(&name)? };
                if let Some((other, other_ty)) = parent.as_ref().and_then(|parent| typed(parent, &key.parent_columns[no]))
                    && !compatible(ty, other_ty)
                {
                    return Err(codes::fk_incompatible_columns(&new.columns[*column].name, other, &key.name).into());
                }
                if checks && was(key) {
                    return Err(codes::fk_column_cannot_change(&old.columns[at].name, &key.name).into());
                }
            }
        }
        Ok(())
    }
}
