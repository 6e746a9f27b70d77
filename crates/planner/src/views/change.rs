//! INSERT, UPDATE and DELETE through views.

use super::Merged;
use crate::binder::{Binder, Relation, Result, Scope, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::row_rules::RowRules;
use catalog::{DefaultValue, TableEntry, ViewEntry, Visibility};
use mysql_error::{SqlError, WarningLevel, codes};
use std::sync::Arc;

/// What WITH CHECK OPTION asks of a row that a statement writes.
#[derive(Debug)]
pub struct ViewCheck {
    /// Database of the view that the statement names.
    pub database: Box<str>,
    /// Its name.
    pub view: Box<str>,
    /// Slot of the first column of the row; the others follow.
    pub first_slot: Slot,
    /// It must be true.
    pub condition: Expr,
}

/// Where the rows of an INSERT go.
pub(crate) struct InsertTarget {
    /// The table.
    pub entry: Arc<TableEntry>,
    /// Through a view: its columns, each with the table's.
    columns: Option<Vec<(String, usize)>>,
    /// The views that lead to the table, from the outermost inward.
    pub links: Arc<[ViewLink]>,
    check: Option<ViewCheck>,
}

/// A view on the way to a table that a statement changes.
#[derive(Debug)]
pub(crate) struct ViewLink {
    /// The view.
    pub view: Arc<ViewEntry>,
    /// Its columns that are the table's, each with the table's position.
    pub columns: Vec<(String, usize)>,
}

/// The views that lead to a relation of a block, from the outermost inward.
pub(crate) fn view_links(scope: &Scope, target: usize) -> Vec<ViewLink> {
    let slots = &scope.relations[target].slots;
    let mut around: Vec<(&Relation, &Merged)> = scope
        .relations
        .iter()
        .filter_map(|r| match &r.source {
            Source::Merged(merged) if merged.members.contains(&target) => Some((r, &**merged)),
            _ => None,
        })
        .collect();
    around.sort_by_key(|(_, merged)| std::cmp::Reverse(merged.members.len()));
    let link = |(relation, merged): (&Relation, &Merged)| {
        let place = |e: &Expr| match e.kind {
            ExprKind::Slot(slot) => slots.iter().position(|s| *s == Some(slot)),
            _ => None,
        };
        let columns = relation.columns.iter().zip(&merged.exprs).filter_map(|(column, e)| Some((column.name.clone(), place(e)?)));
        ViewLink { view: Arc::clone(&merged.view), columns: columns.collect() }
    };
    around.into_iter().map(link).collect()
}

impl InsertTarget {
    /// The table's column that a name means.
    pub fn column(&self, name: &str) -> Option<usize> {
        match &self.columns {
            None => self.entry.def.column_index(name),
            Some(columns) => columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, at)| *at),
        }
    }

    /// The columns that a statement means which names none.
    pub fn all(&self) -> Vec<usize> {
        let columns = &self.entry.def.columns;
        match &self.columns {
            None => (0..columns.len()).filter(|at| columns[*at].visibility == Visibility::Visible).collect(),
            Some(columns) => columns.iter().map(|(_, at)| *at).collect(),
        }
    }

    /// Names the columns of a relation over the table as the view does.
    pub fn rename(&self, relation: &mut Relation) {
        let Some(columns) = &self.columns else { return };
        for (at, column) in relation.columns.iter_mut().enumerate() {
            match columns.iter().find(|(_, of)| *of == at) {
                Some((name, _)) => column.name.clone_from(name),
                None => {
                    column.name.clear();
                    column.hidden = true;
                }
            }
        }
    }
}

fn as_one(conditions: &[Expr]) -> Option<Expr> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(Expr { kind: ExprKind::And(many.to_vec()), ty: crate::conditions::bool_type(true) }),
    }
}

impl Binder<'_> {
    /// The rules of a table, and what a view asks beside them.
    pub(crate) fn rules_with(&mut self, entry: &TableEntry, check: Option<ViewCheck>) -> Result<Option<Box<RowRules>>> {
        let mut rules = self.row_rules(&entry.def)?;
        if let Some(check) = check {
            rules.get_or_insert_with(|| Box::new(RowRules::none())).view_check = Some(Box::new(check));
        }
        Ok(rules)
    }

    /// The table that rows are inserted into, by its name or a view's. `columns`: the statement names them.
    pub(crate) fn insert_target(
        &mut self,
        database: &str,
        name: &str,
        columns: Option<&[&str]>,
        command: &'static str,
    ) -> Result<(u32, InsertTarget)> {
        self.views.command = command;
        let error = match self.context.table(database, name) {
            Ok(entry) => {
                let number = self.add_table(entry.clone());
                self.references.push((number, entry.def.name.as_str().into()));
                return Ok((number, InsertTarget { entry, columns: None, links: Arc::default(), check: None }));
            }
            Err(error) => error,
        };
        let view = self.view_instead(database, name, error)?;
        self.views.whole_rows = true;
        // Nothing is read: what it takes is noted with the columns.
        let silent = std::mem::replace(&mut self.accesses.silent, true);
        let (scope, bound) = self.enter(Scope::new(), |b| b.view_relation(Arc::clone(&view), name.to_owned(), database.to_owned()));
        self.accesses.silent = silent;
        self.views.whole_rows = false;
        bound?;
        self.through_view(&view, scope, name, columns, command)
    }

    fn through_view(
        &mut self,
        view: &Arc<ViewEntry>,
        scope: Scope,
        name: &str,
        columns: Option<&[&str]>,
        command: &'static str,
    ) -> Result<(u32, InsertTarget)> {
        let def = &view.def;
        let refused = || match command {
            "REPLACE" => codes::non_insertable_table(name, "INSERT"),
            "LOAD" => codes::non_updatable_table(name, command),
            _ => codes::non_insertable_table(name, command),
        };
        let Some((relation, merged)) = scope.relations.last().and_then(|r| match &r.source {
            Source::Merged(merged) => Some((r, merged)),
            _ => None,
        }) else {
            return Err(refused());
        };
        if !def.updatable || merged.outer_join {
            return Err(refused());
        }
        let mut of_view = Vec::with_capacity(merged.exprs.len());
        // Of the columns that are named, first of all: whether they are there, and columns of a table.
        for name in columns.into_iter().flatten() {
            let at = relation.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            let at = at.ok_or_else(|| codes::bad_field_error(name, "field list"))?;
            base_column(&scope, &merged.exprs[at]).ok_or_else(|| codes::nonupdateable_column(name))?;
        }
        for (column, e) in relation.columns.iter().zip(&merged.exprs) {
            let place = match (base_column(&scope, e), columns) {
                (Some(place), _) => place,
                (None, None) => return Err(codes::nonupdateable_column(&column.name)),
                (None, Some(_)) => return Err(refused()),
            };
            if of_view.iter().any(|(_, other)| *other == place) {
                return Err(refused());
            }
            of_view.push((column.name.clone(), place));
        }
        let is_join = base_relations(&scope, merged).count() > 1;
        if is_join && command == "REPLACE" {
            return Err(codes::view_delete_merge_view(&def.database, &def.name));
        }
        let target = match (is_join, columns) {
            (false, _) => base_relations(&scope, merged).next().ok_or_else(refused)?,
            (true, None | Some([])) => return Err(codes::view_no_insert_field_list(&def.database, &def.name)),
            (true, Some(columns)) => {
                let mut target = None;
                for column in columns {
                    let place = of_view.iter().find(|(name, _)| name.eq_ignore_ascii_case(column)).map(|(_, (r, _))| *r);
                    let place = place.ok_or_else(|| codes::bad_field_error(column, "field list"))?;
                    if *target.get_or_insert(place) != place {
                        return Err(codes::view_multiupdate(&def.database, &def.name));
                    }
                }
                target.ok_or_else(refused)?
            }
        };
        let Source::Base(number) = scope.relations[target].source else { return Err(refused()) };
        let entry = Arc::clone(&self.tables[number as usize]);
        let of_table: Vec<(String, usize)> = of_view.into_iter().filter(|(_, (r, _))| *r == target).map(|(n, (_, c))| (n, c)).collect();
        self.refuse_without_default(view, &entry, &of_table, columns)?;
        let first_slot = scope.relations[target].slots.first().copied().flatten().unwrap_or_default();
        let check = as_one(&merged.checked).map(|condition| ViewCheck {
            database: def.database.as_str().into(),
            view: def.name.as_str().into(),
            first_slot,
            condition,
        });
        let links = view_links(&scope, target).into();
        Ok((number, InsertTarget { entry, columns: Some(of_table), links, check }))
    }

    /// Columns that neither the statement nor a default gives a value: 1423.
    fn refuse_without_default(
        &mut self,
        view: &ViewEntry,
        entry: &TableEntry,
        of_view: &[(String, usize)],
        columns: Option<&[&str]>,
    ) -> Result<()> {
        let given = |at: usize| {
            of_view
                .iter()
                .any(|(name, of)| *of == at && columns.is_none_or(|columns| columns.iter().any(|column| column.eq_ignore_ascii_case(name))))
        };
        let lacking = entry.def.columns.iter().enumerate().any(|(at, column)| {
            let has_none = matches!(column.default, DefaultValue::None) && !column.ty.nullable && column.ty.kind != types::TypeKind::Enum;
            has_none && !column.auto_increment && column.generated.is_none() && !given(at)
        });
        if !lacking {
            return Ok(());
        }
        let (database, name) = (&view.def.database, &view.def.name);
        let error =
            SqlError::with_message(1423, format!("Field of view '{database}.{name}' underlying table doesn't have a default value"));
        if self.context.sql_mode().is_strict() {
            return Err(error);
        }
        self.warnings.push(error.into_warning(WarningLevel::Warning));
        Ok(())
    }

    /// The rules of an INSERT's table.
    pub(crate) fn insert_rules(&mut self, target: &mut InsertTarget) -> Result<Option<Box<RowRules>>> {
        let entry = Arc::clone(&target.entry);
        self.rules_with(&entry, target.check.take())
    }

    /// The table's column behind a view's that an UPDATE assigns.
    pub(crate) fn assigned_column(&self, depth: usize, relation: usize, column: u32) -> Result<(usize, u32)> {
        let scope = &self.scopes[depth];
        let rel = &scope.relations[relation];
        let Source::Merged(merged) = &rel.source else { return Ok((relation, column)) };
        if !merged.view.def.updatable || merged.outer_join {
            return Err(codes::non_updatable_table(&rel.alias, "UPDATE"));
        }
        let expr = &merged.exprs[column as usize];
        let made = |r: &Relation| {
            matches!(r.source, Source::JsonTable(..))
                && r.slots.iter().flatten().any(|s| matches!(expr.kind, ExprKind::Slot(own) if own == *s))
        };
        if scope.relations.iter().any(made) {
            return Err(codes::non_updatable_table(&rel.alias, "UPDATE"));
        }
        let place = base_column(scope, expr);
        place.map(|(r, c)| (r, c as u32)).ok_or_else(|| codes::nonupdateable_column(&rel.columns[column as usize].name))
    }

    /// Refuses an UPDATE of several tables through one view.
    pub(crate) fn refuse_several(&self, depth: usize, targets: &[usize]) -> Result<()> {
        for relation in self.scopes[depth].relations.iter().filter(|r| !r.of_view) {
            if let Source::Merged(merged) = &relation.source
                && targets.iter().filter(|r| merged.members.contains(r)).count() > 1
            {
                return Err(codes::view_multiupdate(&merged.view.def.database, &merged.view.def.name));
            }
        }
        Ok(())
    }

    /// The name that a statement knows a target by, and what the view that it is behind asks of its rows.
    pub(crate) fn target_view(&mut self, depth: usize, target: usize) -> (String, Option<ViewCheck>) {
        let relations = &self.scopes[depth].relations;
        let behind = relations.iter().filter(|r| !r.of_view).find_map(|r| match &r.source {
            Source::Merged(merged) if merged.members.contains(&target) => Some((r, merged)),
            _ => None,
        });
        let Some((relation, merged)) = behind else { return (relations[target].alias.clone(), None) };
        let first_slot = relations[target].slots.first().copied().flatten().unwrap_or_default();
        let check = as_one(&merged.checked).map(|condition| ViewCheck {
            database: merged.view.def.database.as_str().into(),
            view: merged.view.def.name.as_str().into(),
            first_slot,
            condition,
        });
        let name = relation.alias.clone();
        self.views.changes_view = true;
        (name, check)
    }

    /// The table's relation that a DELETE from a view deletes from.
    pub(crate) fn deleted_relation(&self, depth: usize, relation: usize) -> Result<usize> {
        let scope = &self.scopes[depth];
        let rel = &scope.relations[relation];
        let Source::Merged(merged) = &rel.source else { return Ok(relation) };
        if !merged.view.def.updatable {
            return Err(codes::non_updatable_table(&rel.alias, "DELETE"));
        }
        let mut tables = base_relations(scope, merged);
        match (tables.next(), tables.next()) {
            (Some(table), None) if matches!(scope.relations[table].source, Source::Base(_)) => Ok(table),
            _ => Err(codes::view_delete_merge_view(&merged.view.def.database, &merged.view.def.name)),
        }
    }
}

/// The relations of a view that are no views themselves.
fn base_relations<'s>(scope: &'s Scope, merged: &'s Merged) -> impl Iterator<Item = usize> + 's {
    merged.members.clone().filter(|r| !matches!(scope.relations[*r].source, Source::Merged(_)))
}

/// The table's column that an expression is: relation, column.
fn base_column(scope: &Scope, e: &Expr) -> Option<(usize, usize)> {
    let ExprKind::Slot(slot) = e.kind else { return None };
    scope.relations.iter().enumerate().find_map(|(r, relation)| {
        let is_base = matches!(relation.source, Source::Base(_));
        relation.slots.iter().position(|s| is_base && *s == Some(slot)).map(|c| (r, c))
    })
}
