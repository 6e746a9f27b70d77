//! A table's new definition in the making: what the actions of ALTER TABLE make of the old one.
//!
//! All actions of a statement speak of the table as it was, so the new definition is built from the old one in MySQL's order: columns
//! dropped and changed, columns added, positions; then indexes dropped, renamed, added.

use super::work::stored_alike;
use crate::client_session::ClientSession;
use crate::ddl::check::{alter_checks, follow_table_name};
use crate::ddl::convert::keeps_counter;
use crate::ddl::create_table::{check_columns, check_size, define_key};
use crate::ddl::data_type::{resolve_collation, smallest_text, variable_length, warn_of_charset};
use crate::ddl::definition::{Definer, DraftColumn, define_column, define_default};
use crate::ddl::expression::{check_expressions, names};
use crate::ddl::foreign_keys::{self, DraftForeignKey};
use crate::ddl::key::{DraftKey, DraftPart, KeyColumn, define_indexes, warn_of_repeated};
use crate::ddl::options::Options;
use crate::ddl::{FullName, find_column, primary_key, same_name};
use catalog::{CheckDef, ColumnDef, DefaultValue, TableDef, Visibility};
use mysql_error::{SqlError, Warning, codes};
use parser::ast::{AlterAction, ColumnPosition};
use types::{Charset, Collation, ColumnType, TypeKind, Value};

/// A table's new definition in the making.
pub(in crate::ddl) struct Draft {
    pub(super) columns: Vec<DraftColumn>,
    pub(super) keys: Vec<DraftKey>,
    checks: Vec<CheckDef>,
    pub(super) options: Options,
    collation: Collation,
    pub(super) new_name: Option<(String, String)>,
    /// FORCE or ENGINE=InnoDB.
    pub(super) rebuild: bool,
    /// The first column is that of a generated key, and stays the first while it is there.
    has_generated_key: bool,
}

impl Draft {
    pub(in crate::ddl) fn new(
        definer: &mut Definer<'_>,
        old: &TableDef,
        actions: &[AlterAction<'_>],
        current: Option<&str>,
    ) -> Result<Draft, SqlError> {
        refuse_unsupported(actions)?;
        primary_key::check_actions(old, actions)?;
        let mut draft = Draft {
            has_generated_key: primary_key::is_generated(old),
            columns: Vec::new(),
            keys: old_keys(old),
            checks: Vec::new(),
            options: Options { stays: true, ..Options::default() },
            collation: old.collation,
            new_name: None,
            rebuild: false,
        };
        for action in actions {
            match action {
                AlterAction::Option(option) => draft.options.read(definer, &old.name, option)?,
                AlterAction::Force => draft.rebuild = true,
                AlterAction::EnableKeys(_) => definer.note(codes::illegal_ha(&old.name)),
                AlterAction::Rename(name) => {
                    let database = name.schema.or(current).unwrap_or(&old.database);
                    draft.new_name = Some((database.to_owned(), name.name.to_owned()));
                }
                _ => {}
            }
        }
        draft.rebuild |= draft.options.engine;
        let mut convert_to = None;
        draft.collation = draft.options.table_collation(old.collation)?;
        for action in actions {
            if let AlterAction::ConvertCharset(charset, collation) = action {
                draft.collation = resolve_collation(*charset, *collation, old.collation)?;
                warn_of_charset(definer, *charset, *collation);
                convert_to = Some(draft.collation);
            }
        }
        draft.change_columns(definer, old, actions)?;
        if let Some(collation) = convert_to {
            draft.convert_columns(collation)?;
        }
        draft.place_columns(definer, old, actions)?;
        if draft.columns.is_empty() {
            return Err(codes::cant_remove_all_fields());
        }
        draft.change_keys(definer, old, actions)?;
        draft.checks = alter_checks(definer, old, &draft.columns, actions)?;
        refuse_dependent(old, &draft.columns)?;
        Ok(draft)
    }

    /// Refuses what `sql_require_primary_key` and a generated key forbid.
    pub(in crate::ddl) fn check_primary_key(
        &self,
        session: &ClientSession,
        old: &TableDef,
        actions: &[AlterAction<'_>],
    ) -> Result<(), SqlError> {
        session.check_key_after(old, actions, &self.columns, &self.keys)
    }

    /// Database and table of RENAME.
    pub(in crate::ddl) fn new_name(&self) -> Option<(&String, &String)> {
        self.new_name.as_ref().map(|(database, table)| (database, table))
    }

    /// AUTO_INCREMENT as written.
    pub(in crate::ddl) fn wanted_counter(&self) -> Option<u64> {
        self.options.auto_increment
    }

    /// Old columns: dropped, changed, with new defaults.
    fn change_columns(&mut self, definer: &mut Definer<'_>, old: &TableDef, actions: &[AlterAction<'_>]) -> Result<(), SqlError> {
        let unknown = |name: &str| codes::bad_field_error(name, &old.name);
        let position = |name: &str| old.columns.iter().position(|column| same_name(&column.name, name));
        let mut columns: Vec<Option<DraftColumn>> = old
            .columns
            .iter()
            .enumerate()
            .map(|(no, def)| Some(DraftColumn { def: def.clone(), explicit_null: false, from: Some(no) }))
            .collect();
        // A column may be defined anew once; a second time it is not there under its old name any more.
        let mut changed = vec![false; columns.len()];
        for action in actions {
            match action {
                AlterAction::DropColumn(name) => {
                    let at = position(name).ok_or_else(|| codes::cant_drop_field_or_key(name))?;
                    columns[at].take().ok_or_else(|| codes::cant_drop_field_or_key(name))?;
                }
                AlterAction::ModifyColumn(column, _) => {
                    let at = position(column.name).ok_or_else(|| unknown(column.name))?;
                    let slot = columns[at].as_mut().ok_or_else(|| unknown(column.name))?;
                    if std::mem::replace(&mut changed[at], true) {
                        return Err(unknown(column.name));
                    }
                    let draft = self.redefine(definer, column, at)?;
                    refuse_other_storage(&old.columns[at], &draft.def)?;
                    *slot = draft;
                }
                AlterAction::ChangeColumn(name, column, _) => {
                    let at = position(name).ok_or_else(|| unknown(name))?;
                    let slot = columns[at].as_mut().ok_or_else(|| unknown(name))?;
                    if std::mem::replace(&mut changed[at], true) {
                        return Err(unknown(name));
                    }
                    let draft = self.redefine(definer, column, at)?;
                    refuse_other_storage(&old.columns[at], &draft.def)?;
                    *slot = draft;
                }
                AlterAction::RenameColumn(name, new) => {
                    let slot = position(name).and_then(|at| columns[at].as_mut()).ok_or_else(|| unknown(name))?;
                    if new.is_empty() || new.ends_with(' ') {
                        return Err(codes::wrong_column_name(new));
                    }
                    slot.def.name = (*new).to_owned();
                }
                AlterAction::SetDefault(name, default) => {
                    let slot = position(name).and_then(|at| columns[at].as_mut()).ok_or_else(|| unknown(name))?;
                    if slot.def.auto_increment {
                        return Err(codes::invalid_default(name));
                    }
                    if slot.def.generated.is_some() {
                        return Err(codes::wrong_usage("DEFAULT", "generated column"));
                    }
                    slot.def.default = define_default(definer, name, &slot.def.ty, Some(default))?;
                }
                AlterAction::DropDefault(name) => {
                    let slot = position(name).and_then(|at| columns[at].as_mut()).ok_or_else(|| unknown(name))?;
                    slot.def.default = DefaultValue::None;
                }
                AlterAction::SetColumnVisible(name, visible) => {
                    let slot = position(name).and_then(|at| columns[at].as_mut()).ok_or_else(|| unknown(name))?;
                    if slot.def.visibility == Visibility::Hidden {
                        return Err(unknown(name));
                    }
                    slot.def.visibility = if *visible { Visibility::Visible } else { Visibility::Invisible };
                }
                _ => {}
            }
        }
        self.columns = columns.into_iter().flatten().collect();
        Ok(())
    }

    fn redefine(&mut self, definer: &mut Definer<'_>, column: &parser::ast::ColumnDef<'_>, at: usize) -> Result<DraftColumn, SqlError> {
        let mut draft = define_column(definer, column, self.collation)?;
        draft.from = Some(at);
        self.add_column_keys(column);
        Ok(draft)
    }

    fn add_column_keys(&mut self, column: &parser::ast::ColumnDef<'_>) {
        if column.attributes.primary_key {
            self.keys.push(DraftKey::of_column(column.name, true));
        }
        if column.attributes.unique {
            self.keys.push(DraftKey::of_column(column.name, false));
        }
    }

    fn place(&mut self, column: DraftColumn, place: &ColumnPosition<'_>, table: &str) -> Result<(), SqlError> {
        let at = match place {
            ColumnPosition::Default => self.columns.iter().take_while(|column| column.def.visibility != Visibility::Hidden).count(),
            ColumnPosition::First => usize::from(self.has_generated_key && self.columns.first().is_some_and(|first| first.from == Some(0))),
            ColumnPosition::After(name) => find_column(&self.columns, name).ok_or_else(|| codes::bad_field_error(name, table))? + 1,
        };
        self.columns.insert(at, column);
        Ok(())
    }

    /// New columns, and old ones that move: one after the other as written, so that AFTER names what is there by then, a changed column by
    /// its new name.
    fn place_columns(&mut self, definer: &mut Definer<'_>, old: &TableDef, actions: &[AlterAction<'_>]) -> Result<(), SqlError> {
        for action in actions {
            match action {
                AlterAction::AddColumn(column, place) => {
                    let draft = define_column(definer, column, self.collation)?;
                    self.place(draft, place, &old.name)?;
                    self.add_column_keys(column);
                }
                AlterAction::ModifyColumn(column, place) | AlterAction::ChangeColumn(_, column, place)
                    if *place != ColumnPosition::Default =>
                {
                    // One that is added under the same name is a duplicate, which is told below.
                    if let Some(at) = find_column(&self.columns, column.name) {
                        let moved = self.columns.remove(at);
                        self.place(moved, place, &old.name)?;
                    }
                }
                _ => {}
            }
        }
        for (no, column) in self.columns.iter().enumerate() {
            if find_column(&self.columns[..no], &column.def.name).is_some() {
                return Err(codes::dup_fieldname(&column.def.name));
            }
        }
        Ok(())
    }

    /// CONVERT TO CHARACTER SET: all character columns; to `binary`, the types for bytes.
    fn convert_columns(&mut self, collation: Collation) -> Result<(), SqlError> {
        for column in &mut self.columns {
            let ty = &mut column.def.ty;
            if !ty.is_character() || ty.kind == TypeKind::Json {
                continue;
            }
            if collation.charset() == Charset::Binary {
                // As long as before: as many bytes as there were characters.
                ty.kind = match ty.kind {
                    TypeKind::Char => TypeKind::Binary,
                    TypeKind::VarChar => TypeKind::VarBinary,
                    TypeKind::TinyText => TypeKind::TinyBlob,
                    TypeKind::Text => TypeKind::Blob,
                    TypeKind::MediumText => TypeKind::MediumBlob,
                    TypeKind::LongText => TypeKind::LongBlob,
                    kind => kind,
                };
            } else if ty.kind == TypeKind::VarChar {
                variable_length(&column.def.name, ty.length.into(), collation)?;
            } else if ty.kind.is_blob() {
                // As many characters as before, which may take more bytes now.
                let (was, is) = (ty.collation.charset().bytes_per_char_max(), collation.charset().bytes_per_char_max());
                if is > was {
                    let nullable = ty.nullable;
                    *ty =
                        ColumnType { nullable, ..ColumnType::new(smallest_text(u64::from(ty.length / was) * u64::from(is)).max(ty.kind)) };
                }
            }
            if ty.collation != collation {
                refuse_unfit(&column.def.name, ty, &column.def.default, collation)?;
                ty.collation = collation;
                // It is of values in the old order.
                column.def.histogram = None;
            }
        }
        Ok(())
    }

    fn change_keys(&mut self, definer: &mut Definer<'_>, old: &TableDef, actions: &[AlterAction<'_>]) -> Result<(), SqlError> {
        for action in actions {
            match action {
                AlterAction::DropKey(name) => {
                    let is_it =
                        |key: &DraftKey| key.from.is_some() && key.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name));
                    let primary = name.eq_ignore_ascii_case("PRIMARY");
                    let found = self.keys.iter().position(|key| is_it(key) || (primary && key.primary && key.from.is_some()));
                    self.keys.remove(found.ok_or_else(|| codes::cant_drop_field_or_key(name))?);
                }
                AlterAction::DropConstraint(name)
                    if !old.checks.iter().any(|check| same_name(&check.name, name))
                        && !old.foreign_keys.iter().any(|key| same_name(&key.name, name)) =>
                {
                    let own = |key: &DraftKey| key.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name));
                    let is_it = |key: &DraftKey| {
                        key.from.is_some() && key.unique && (key.primary && name.eq_ignore_ascii_case("PRIMARY") || own(key))
                    };
                    let found = self.keys.iter().position(is_it);
                    self.keys.remove(found.ok_or_else(|| codes::constraint_not_found(name))?);
                }
                AlterAction::DropPrimaryKey => {
                    let found = self.keys.iter().position(|key| key.primary && key.from.is_some());
                    self.keys.remove(found.ok_or_else(|| codes::cant_drop_field_or_key("PRIMARY"))?);
                }
                AlterAction::RenameKey(name, new) => {
                    let unknown = || codes::key_does_not_exits(name, &old.name);
                    let key = self
                        .keys
                        .iter_mut()
                        .find(|key| {
                            !key.primary && key.from.is_some() && key.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
                        })
                        .ok_or_else(unknown)?;
                    if new.is_empty() || new.ends_with(' ') || new.eq_ignore_ascii_case("PRIMARY") {
                        return Err(codes::wrong_name_for_index(new));
                    }
                    key.name = Some((*new).to_owned());
                    // Somebody wants it, whatever it was made for.
                    key.made = false;
                }
                AlterAction::SetKeyVisible(name, visible) => {
                    let is_it = |key: &&mut DraftKey| {
                        let own = key.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name));
                        key.from.is_some() && (own || key.primary && name.eq_ignore_ascii_case("PRIMARY"))
                    };
                    let key = self.keys.iter_mut().find(is_it).ok_or_else(|| codes::key_does_not_exits(name, &old.name))?;
                    key.invisible = !visible;
                }
                _ => {}
            }
        }
        for action in actions {
            if let AlterAction::AddKey(key) = action {
                self.keys.push(define_key(definer, key)?);
            }
        }
        // Parts on dropped columns go with them; a key without parts goes, too.
        for key in &mut self.keys {
            let columns = &self.columns;
            key.parts.retain(|part| match part.column {
                KeyColumn::Old(at) => columns.iter().any(|column| column.from == Some(at)),
                KeyColumn::Named(_) | KeyColumn::Expression(_) => true,
            });
            for part in &mut key.parts {
                if let KeyColumn::Old(at) = part.column
                    && let Some(column) = columns.iter().find(|column| column.from == Some(at))
                {
                    fit_prefix(part, &old.columns[at].ty, &column.def.ty);
                }
            }
        }
        self.keys.retain(|key| !key.parts.is_empty());
        // The columns behind functional indexes go with them.
        let keys = &self.keys;
        let is_used = |at: Option<usize>| {
            keys.iter().flat_map(|key| &key.parts).any(|part| matches!(part.column, KeyColumn::Old(old) if Some(old) == at))
        };
        self.columns.retain(|column| column.def.visibility != Visibility::Hidden || is_used(column.from));
        Ok(())
    }

    /// The definition, where each column comes from, and what is to be said of it. Indexes that stand keep their trees.
    pub(in crate::ddl) fn finish(
        &self,
        old: &TableDef,
        foreign: &[DraftForeignKey],
    ) -> Result<(TableDef, Vec<Option<usize>>, Vec<Warning>), SqlError> {
        let mut columns = self.columns.clone();
        let (mut indexes, drafts) = define_indexes(&mut columns, &self.keys, &old.name)?;
        let name = match &self.new_name {
            Some((database, table)) => FullName { database: database.clone(), table: table.clone() },
            None => FullName { database: old.database.clone(), table: old.name.clone() },
        };
        let warnings = warn_of_repeated(&self.keys, &indexes, &drafts, &name);
        let made = |no: usize| drafts[no].is_some_and(|draft| self.keys[draft].made);
        let foreign_keys = foreign_keys::define(&name, &old.name, &columns, &indexes, made, foreign)?;
        let from: Vec<Option<usize>> = columns.iter().map(|column| column.from).collect();
        let columns: Vec<ColumnDef> = columns.into_iter().map(|column| column.def).collect();
        for (index, draft) in indexes.iter_mut().zip(&drafts) {
            let before = match draft {
                Some(no) => self.keys[*no].from,
                None => old.has_hidden_key().then_some(0),
            };
            let Some(before) = before.map(|no| &old.indexes[no]) else { continue };
            let stands = before.unique == index.unique
                && before.parts.len() == index.parts.len()
                && before.parts.iter().zip(&index.parts).all(|(a, b)| {
                    from[b.column] == Some(a.column)
                        && a.prefix_chars == b.prefix_chars
                        && a.descending == b.descending
                        && same_keys(&old.columns[a.column].ty, &columns[b.column].ty)
                });
            if stands {
                (index.id, index.root) = (before.id, before.root);
            }
        }
        let checks = self.checks.clone();
        let (charset, collation) = (self.collation.charset(), self.collation);
        let mut new = TableDef { columns, indexes, checks, foreign_keys, charset, collation, ..old.clone() };
        if let Some((database, name)) = &self.new_name {
            follow_table_name(&mut new.checks, &old.name, name)?;
            (new.database, new.name) = (database.clone(), name.clone());
        }
        if let Some(comment) = &self.options.comment {
            new.comment = comment.clone();
        }
        match self.options.auto_increment {
            Some(start) => new.auto_increment_start = start.max(1),
            // Another column's numbers begin anew.
            None if !keeps_counter(old, &new, &from) => new.auto_increment_start = 1,
            None => {}
        }
        self.options.apply_shown(&mut new.shown_options, &mut new.indexes);
        check_size(&new)?;
        check_columns(&new)?;
        check_expressions(&new)?;
        Ok((new, from, warnings))
    }
}

/// Refuses members and a default that are not to be written in another character set, and members that are one under another collation.
fn refuse_unfit(column: &str, ty: &ColumnType, default: &DefaultValue, to: Collation) -> Result<(), SqlError> {
    let (from, charset) = (ty.collation.charset(), to.charset());
    let is_lost = |text: &[u8]| charset != Charset::Binary && *charset.fit(text) != *text;
    let members = ty.member_list();
    for (no, member) in members.iter().enumerate() {
        if is_lost(member) {
            let mut bytes = Vec::new();
            from.encode(member, &mut bytes);
            return Err(executor::cannot_convert(&bytes, from, charset));
        }
        if let Some(other) = members[..no].iter().find(|other| to.equal(other, member)) {
            let kind = if ty.kind == TypeKind::Set { "SET" } else { "ENUM" };
            return Err(codes::duplicated_value_in_type(column, other.to_text(), kind));
        }
    }
    match default {
        DefaultValue::Constant(Value::Bytes(text)) if is_lost(text) => Err(codes::invalid_default(column)),
        _ => Ok(()),
    }
}

/// Columns that stored expressions of others read stay, under their names.
fn refuse_dependent(old: &TableDef, columns: &[DraftColumn]) -> Result<(), SqlError> {
    for (at, column) in old.columns.iter().enumerate() {
        if columns.iter().any(|new| new.from == Some(at) && same_name(&new.def.name, &column.name)) {
            continue;
        }
        for reader in columns.iter().filter_map(|new| new.from.map(|from| (&new.def, &old.columns[from]))) {
            let (new, before) = reader;
            // What is said anew is judged by the new columns.
            match (&new.generated, &before.generated) {
                (Some(generated), Some(said)) if generated == said && names(&said.text, &column.name) => {
                    return Err(match new.visibility {
                        Visibility::Hidden => codes::dependent_by_functional_index(&column.name),
                        _ => codes::dependent_by_generated_column(&column.name),
                    });
                }
                _ => {}
            }
            if let (DefaultValue::Expression(text), true) = (&new.default, new.default == before.default)
                && names(text, &column.name)
            {
                return Err(codes::dependent_by_default_generated_value(&column.name, &old.name));
            }
        }
    }
    Ok(())
}

/// A column does not become VIRTUAL, nor a VIRTUAL one anything else.
fn refuse_other_storage(old: &ColumnDef, new: &ColumnDef) -> Result<(), SqlError> {
    if old.is_virtual() == new.is_virtual() {
        return Ok(());
    }
    Err(codes::unsupported_action_on_generated_column("Changing the STORED status"))
}

/// What is read and not carried out is named.
fn refuse_unsupported(actions: &[AlterAction<'_>]) -> Result<(), SqlError> {
    for action in actions {
        let what = match action {
            AlterAction::OrderBy(_) => "ALTER TABLE ... ORDER BY",
            AlterAction::Unsupported(what) => what,
            _ => continue,
        };
        return Err(codes::not_supported_yet(what));
    }
    Ok(())
}

fn old_keys(old: &TableDef) -> Vec<DraftKey> {
    old.indexes
        .iter()
        .enumerate()
        .filter(|(_, index)| !index.parts.is_empty())
        .map(|(no, index)| DraftKey {
            primary: no == 0,
            unique: index.unique,
            name: Some(index.name.clone()),
            parts: index
                .parts
                .iter()
                .map(|part| DraftPart { column: KeyColumn::Old(part.column), prefix: part.prefix_chars, descending: part.descending })
                .collect(),
            comment: index.comment.clone(),
            invisible: index.invisible,
            written: index.written,
            from: Some(no),
            // Of definitions of format 4 and before only the foreign key tells, while it is there.
            made: index.written.made_for_key || old.foreign_keys.iter().any(|key| key.made_index == index.name),
        })
        .collect()
}

/// A prefix that the changed column cannot have any more is dropped, as MySQL does.
fn fit_prefix(part: &mut DraftPart, old: &ColumnType, new: &ColumnType) {
    if old == new {
        return;
    }
    if let Some(prefix) = part.prefix
        && (!new.kind.is_string() || (!new.kind.is_blob() && prefix >= new.length))
    {
        part.prefix = None;
    }
}

/// Whether values of the old type make the same keys as the same values of the new one.
fn same_keys(old: &ColumnType, new: &ColumnType) -> bool {
    old.nullable == new.nullable && stored_alike(old, new)
}
