//! ALTER TABLE, CREATE INDEX, DROP INDEX: the new definition, then what must be done to the rows.
//!
//! All actions of a statement speak of the table as it was, so the new definition is built from the old one in MySQL's order: columns
//! dropped and changed, columns added, positions; then indexes dropped, renamed, added.

use super::check::{alter_checks, follow_table_name, judges_anew};
use super::convert::{keeps_counter, value_of_new_column};
use super::create_table::{check_columns, check_size, define_key};
use super::data_type::{resolve_collation, smallest_text, variable_length, warn_of_charset};
use super::definition::{Definer, DraftColumn, define_column, define_default};
use super::expression::{check_expressions, is_computed, names};
use super::foreign_keys::{self, DraftForeignKey, WrittenKey};
use super::key::{DraftKey, DraftPart, KeyColumn, define_indexes, warn_of_repeated};
use super::online::{self, Beside, TableCopy};
use super::options::Options;
use super::primary_key;
use super::virtual_columns::{self, follows_from_rows, reads_otherwise};
use super::{DdlDone, FullName, LockedTable, check_table_name, find_column, full_name, same_name};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use catalog::{
    CheckDef, ColumnDef, DefaultValue, ROW_VERSIONS_MAX, RowVersions, TableDef, Visibility, older_rows_lack_generated, older_versions,
};
use engine::format::Feature;
use engine::{Direction, Isolation, KeyRange, Read, Step};
use executor::StatementContext;
use mysql_error::{SqlError, Warning, codes};
use parser::ast::{AlterAction, AlterTable, ColumnPosition, CreateIndex, DropIndex, ObjectName};
use types::{Charset, Collation, ColumnType, SqlMode, TypeKind, Value};

pub(super) fn create_index(session: &mut ClientSession, create: &CreateIndex<'_>) -> Result<DdlDone, Outcome> {
    run(session, &create.table, &[AlterAction::AddKey(&create.key)], Wishes { algorithm: create.algorithm, lock: create.lock })
}

pub(super) fn drop_index(session: &mut ClientSession, drop: &DropIndex<'_>) -> Result<DdlDone, Outcome> {
    run(session, &drop.table, &[dropped_index(drop)], Wishes { algorithm: drop.algorithm, lock: drop.lock })
}

/// DROP INDEX as a clause of ALTER TABLE.
pub(super) fn dropped_index<'a>(drop: &DropIndex<'a>) -> AlterAction<'a> {
    if drop.name.eq_ignore_ascii_case("PRIMARY") { AlterAction::DropPrimaryKey } else { AlterAction::DropKey(drop.name) }
}

pub(super) fn alter(session: &mut ClientSession, alter: &AlterTable<'_>) -> Result<DdlDone, Outcome> {
    run(session, &alter.name, alter.actions, Wishes { algorithm: alter.algorithm, lock: alter.lock })
}

/// ALGORITHM and LOCK as written.
#[derive(Clone, Copy)]
pub(super) struct Wishes<'a> {
    pub algorithm: Option<&'a str>,
    pub lock: Option<&'a str>,
}

fn run(session: &mut ClientSession, name: &ObjectName<'_>, actions: &[AlterAction<'_>], wishes: Wishes<'_>) -> Result<DdlDone, Outcome> {
    let name = full_name(session, name)?;
    let locked = session.lock_related(std::slice::from_ref(&name), |session| related(session, &name, actions))?;
    let is_it = |table: &&LockedTable| table.entry.def.database == name.database && table.entry.def.name == name.table;
    let table = locked.iter().find(is_it).ok_or_else(|| codes::no_such_table(&name.database, &name.table))?;
    let old = &table.entry.def;
    let foreign = foreign_keys::of_alter(session, &name, old, actions)?;
    let children = if table.entry.children.is_empty() { Vec::new() } else { session.children_of(&name)? };
    let mut definer = session.definer(&name.table);
    let draft = Draft::new(&mut definer, old, actions, session.core.database.as_deref());
    let warnings = std::mem::take(&mut definer.warnings);
    let mut draft = draft?;
    session.ddl_warnings(warnings);
    draft.check_primary_key(session, old, actions)?;
    check_new_name(session, &name, &draft)?;
    foreign_keys::check_dropped_columns(old, &draft.columns, &foreign, &children)?;
    let written = draft.keys.len();
    foreign_keys::place_made_keys(&draft.columns, &mut draft.keys, written, &foreign)?;
    let (new, from, warnings) = draft.finish(old, &foreign)?;
    session.ddl_warnings(warnings);
    let _names = session.take_check_names(&new, Some(old))?;
    let is_new = |key: &catalog::ForeignKeyDef| !old.foreign_keys.iter().any(|before| before.name == key.name);
    foreign_keys::check_key_columns(&new)?;
    session.check_altered(old, &new, &from, &children)?;
    session.check_new_keys(&new, is_new)?;
    if draft.new_name.is_some() {
        session.check_awaited(&new)?;
    }
    let adds_keys = new.foreign_keys.iter().any(is_new);
    let checks_rows = adds_keys && session.checks_foreign_keys();
    let allows = |feature| session.engine.engine().allows(feature).is_ok();
    let format = FormatAllows { row_versions: allows(Feature::RowVersions), computed_columns: allows(Feature::ComputedColumns) };
    let mut work = Work::new(old, &new, &from, draft.rebuild, format, session.core.settings.sql_mode);
    if wishes.algorithm == Some("COPY") {
        work.copy_all();
    }
    // What was found of rows that a new foreign key checks must stay true until it is there.
    let writers = work.lets_write && !checks_rows;
    if !work.copies {
        virtual_columns::check_wishes(wishes, &new, &from)?;
    }
    work.check_wishes(wishes, adds_keys, checks_rows, writers)?;
    if checks_rows {
        session.check_referring_rows(&table.entry, &new, &from, is_new)?;
    }
    let awaited = session.missing_parents(&new, is_new)?;
    let zero_date = refused_zero_date(session.core.settings.sql_mode, &new, &from);
    apply(session, table, new, &from, &draft, &work, &Beside { tables: &locked, lock: wishes.lock, writers, zero_date, awaited })
}

/// The tables that a change has to have alone beside its own: new parents, and those whose definitions follow when names change.
fn related(session: &ClientSession, name: &FullName, actions: &[AlterAction<'_>]) -> Result<Vec<FullName>, Outcome> {
    let mut related: Vec<FullName> = WrittenKey::of_alter(actions).map(|key| key.parent(&name.database)).collect();
    let renames =
        |action: &AlterAction<'_>| matches!(action, AlterAction::Rename(_) | AlterAction::RenameColumn(..) | AlterAction::ChangeColumn(..));
    if actions.iter().any(renames) {
        let children = session.children_of(name)?.into_iter();
        related.extend(children.map(|child| FullName { database: child.database, table: child.name }));
    }
    related.retain(|other| other != name);
    Ok(related)
}

fn check_new_name(session: &ClientSession, old: &FullName, draft: &Draft) -> Result<(), Outcome> {
    let Some((database, table)) = &draft.new_name else { return Ok(()) };
    check_table_name(table)?;
    let new = FullName { database: database.clone(), table: table.clone() };
    if &new != old && session.table_exists(&new)? {
        return Err(codes::table_exists_error(table).into());
    }
    Ok(())
}

/// A table's new definition in the making.
pub(super) struct Draft {
    columns: Vec<DraftColumn>,
    keys: Vec<DraftKey>,
    checks: Vec<CheckDef>,
    options: Options,
    collation: Collation,
    new_name: Option<(String, String)>,
    /// FORCE or ENGINE=InnoDB.
    rebuild: bool,
    /// The first column is that of a generated key, and stays the first while it is there.
    has_generated_key: bool,
}

impl Draft {
    pub(super) fn new(
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
    pub(super) fn check_primary_key(&self, session: &ClientSession, old: &TableDef, actions: &[AlterAction<'_>]) -> Result<(), SqlError> {
        session.check_key_after(old, actions, &self.columns, &self.keys)
    }

    /// Database and table of RENAME.
    pub(super) fn new_name(&self) -> Option<(&String, &String)> {
        self.new_name.as_ref().map(|(database, table)| (database, table))
    }

    /// AUTO_INCREMENT as written.
    pub(super) fn wanted_counter(&self) -> Option<u64> {
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
                let bytes = ty.bytes_max();
                ty.kind = match ty.kind {
                    TypeKind::Char => TypeKind::Binary,
                    TypeKind::VarChar => TypeKind::VarBinary,
                    TypeKind::TinyText => TypeKind::TinyBlob,
                    TypeKind::Text => TypeKind::Blob,
                    TypeKind::MediumText => TypeKind::MediumBlob,
                    TypeKind::LongText => TypeKind::LongBlob,
                    kind => kind,
                };
                if matches!(ty.kind, TypeKind::Binary | TypeKind::VarBinary) {
                    ty.length = u32::try_from(bytes).unwrap_or(u32::MAX);
                }
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
    pub(super) fn finish(
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
        self.options.apply_shown(&mut new.shown_options);
        check_size(&new)?;
        check_columns(&new)?;
        check_expressions(&new)?;
        Ok((new, from, warnings))
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
            from: Some(no),
            made: old.foreign_keys.iter().any(|key| key.made_index == index.name),
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

/// Whether rows with the old type can be read as rows with the new one.
pub(super) fn stored_alike(old: &ColumnType, new: &ColumnType) -> bool {
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
enum Shape {
    /// The same columns, in the same order.
    Same,
    /// More at the end.
    Longer,
    /// Some are gone, moved, or came before others.
    Changed,
}

impl Shape {
    fn of(old: &TableDef, from: &[Option<usize>]) -> Shape {
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
struct Work {
    /// Every row is written anew.
    copies: bool,
    /// Indexes are built.
    builds: bool,
    /// MySQL would copy, too, and count the rows.
    counts_rows: bool,
    /// A row becomes the same each time that it is converted, and others may write it meanwhile.
    lets_write: bool,
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
struct FormatAllows {
    row_versions: bool,
    computed_columns: bool,
}

impl Work {
    fn new(old: &TableDef, new: &TableDef, from: &[Option<usize>], rebuild: bool, format: FormatAllows, mode: SqlMode) -> Work {
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
    fn copy_all(&mut self) {
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

    fn check_wishes(&self, wishes: Wishes<'_>, adds_keys: bool, checks_rows: bool, beside_writers: bool) -> Result<(), SqlError> {
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

fn apply(
    session: &mut ClientSession,
    table: &LockedTable,
    mut new: TableDef,
    from: &[Option<usize>],
    draft: &Draft,
    work: &Work,
    beside: &Beside<'_>,
) -> Result<DdlDone, Outcome> {
    let entry = &table.entry;
    let now_micros = session.core.statement_micros();
    let zone = session.core.settings.zone.clone();
    if let Some(error) = &beside.zero_date {
        let has_rows = online::has_rows(&mut session.engine, entry);
        if has_rows.map_err(|error| crate::error_map::engine_error(error, || session.stop_error()))? {
            return Err(error.clone().into());
        }
    }
    let renamed: Vec<catalog::Renamed> = new
        .columns
        .iter()
        .zip(from)
        .filter_map(|(column, from)| from.map(|at| (entry.def.columns[at].name.clone(), column.name.clone())))
        .filter(|(before, after)| before != after)
        .collect();
    let wanted_counter = match draft.options.auto_increment {
        Some(wanted) => {
            let counter = counter_for(&mut session.engine, entry, wanted);
            Some(counter.map_err(|error| crate::error_map::engine_error(error, || session.stop_error()))?)
        }
        None => None,
    };
    if !work.copies && new == entry.def && wanted_counter.is_none() {
        return Ok(DdlDone::NOTHING);
    }
    // The log says that the counter was higher: only a table with another id begins with a lower one after a crash, too.
    let is_lowered =
        entry.def.auto_increment_column().is_some() && wanted_counter.is_some_and(|wanted| wanted < entry.storage.auto_increment());
    if !work.copies && !is_lowered {
        let shape = Shape::of(&entry.def, from);
        if shape != Shape::Same {
            new.schema_version += 1;
        }
        if shape == Shape::Changed || (shape == Shape::Longer && !entry.def.row_versions.is_empty()) {
            new.row_versions = RowVersions::after(&entry.def, from);
        }
        for (column, from) in new.columns.iter_mut().zip(from) {
            (column.added_in, column.instant_default) = match from.map(|at| &entry.def.columns[at]) {
                Some(before) => (before.added_in, before.instant_default.clone()),
                None => (new.schema_version, value_of_new_column(column, now_micros, &*zone)),
            };
        }
        if let Some(counter) = wanted_counter {
            new.auto_increment_start = counter;
        }
        let name = FullName { database: new.database.clone(), table: new.name.clone() };
        online::alter_in_place(session, table, new, &renamed, beside)?;
        if let Some(counter) = wanted_counter {
            let storage = &session.find_table(&name)?.storage;
            match entry.def.auto_increment_column() {
                // Others may have had more numbers while indexes were built.
                Some(_) => storage.note_auto_increment(counter.saturating_sub(1)),
                None => storage.set_auto_increment(counter),
            }
        }
        return Ok(DdlDone::NOTHING);
    }
    let copy = TableCopy { new, from, renamed: &renamed, counter: draft.options.auto_increment };
    let rows = online::copy(session, table, copy, beside)?;
    Ok(DdlDone::of(if work.counts_rows { rows } else { 0 }))
}

/// A new NOT NULL date column without a default would hold zero dates in rows that exist: refused where the mode refuses them.
pub(super) fn check_zero_dates(mode: SqlMode, rows: u64, new: &TableDef, from: &[Option<usize>]) -> Result<(), SqlError> {
    match refused_zero_date(mode, new, from) {
        Some(error) if rows > 0 => Err(error),
        _ => Ok(()),
    }
}

/// Why such a column is refused once there are rows; `None` where nothing is.
fn refused_zero_date(mode: SqlMode, new: &TableDef, from: &[Option<usize>]) -> Option<SqlError> {
    if !mode.is_strict() || !mode.contains(SqlMode::NO_ZERO_DATE) {
        return None;
    }
    new.columns.iter().zip(from).find_map(|(column, from)| {
        let without = from.is_none() && !column.ty.nullable && column.default == DefaultValue::None;
        let (kind, zero) = match column.ty.kind {
            TypeKind::Date => ("date", "0000-00-00"),
            TypeKind::DateTime | TypeKind::Timestamp => ("datetime", "0000-00-00 00:00:00"),
            _ => return None,
        };
        let message = format!("Incorrect {kind} value: '{zero}' for column '{}' at row 1", column.name);
        without.then(|| SqlError::with_message(1292, message))
    })
}

/// The AUTO_INCREMENT counter that ALTER TABLE asks for: not below the largest value in the table.
pub(super) fn counter_for(session: &mut engine::Session, entry: &catalog::TableEntry, wanted: u64) -> engine::Result<u64> {
    let Some(column) = entry.def.auto_increment_column() else { return Ok(wanted.max(1)) };
    let Some(index_no) = entry.def.indexes.iter().position(|index| index.parts.first().is_some_and(|part| part.column == column)) else {
        return Ok(wanted.max(entry.storage.auto_increment()));
    };
    let direction = if entry.def.indexes[index_no].parts[0].descending { Direction::Forward } else { Direction::Backward };
    let mut largest = 0;
    session.begin(Isolation::ReadCommitted, true);
    let scanned = session.scan(&entry.storage, index_no, KeyRange::all(), direction, Read::Snapshot).and_then(|mut scan| {
        scan.for_each(|row, _| {
            largest = match row.value(column) {
                Ok(Value::Int(n)) => u64::try_from(n).unwrap_or(0),
                Ok(Value::UInt(n)) => n,
                _ => 0,
            };
            Step::Stop
        })
    });
    let ended = session.commit();
    scanned?;
    ended?;
    Ok(wanted.max(largest.saturating_add(1)))
}
