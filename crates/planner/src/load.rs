//! LOAD DATA: an INSERT whose rows are handed in at execution.

use crate::binder::{Binder, Clause, Result, Scope};
use crate::expr::{Expr, Slot};
use crate::members::stored_in;
use crate::plan::{Body, Insert, InsertColumn, InsertSource, Load, LoadField, Plan};
use crate::statement::finish;
use crate::views::InsertTarget;
use crate::{PlanContext, charsets};
use accounts::Privileges;
use mysql_error::codes;
use parser::ast;
use std::sync::Arc;

/// Plans LOAD DATA. `sql` is the text that was parsed; with `ignore` rows that do not go in are left out. The user variables that lines are read into are
/// text from then on: the context must say so already.
pub fn plan_load(load: &ast::LoadData<'_>, sql: &[u8], ignore: bool, context: &dyn PlanContext) -> Result<Plan> {
    let mut b = Binder::new(context, sql);
    let (name, replace) = (load.table.name, load.on_duplicate == ast::LoadDuplicates::Replace);
    let database = match load.table.schema.or(context.database()) {
        Some(db) => db.to_owned(),
        None => return Err(codes::no_db_error()),
    };
    b.access_table(&database, name, Privileges::INSERT)?;
    if let Some(table) = context.virtual_table(&database, name)? {
        return Err(context.virtual_table_denied(table, "INSERT"));
    }
    let listed: Vec<&str> = load
        .columns
        .iter()
        .filter_map(|target| match target {
            ast::LoadTarget::Column(column) => Some(*column),
            ast::LoadTarget::User(_) => None,
        })
        .collect();
    let all = load.columns.is_empty();
    let (number, mut target) = b.insert_target(&database, name, (!all).then_some(&listed[..]), "LOAD")?;
    let entry = Arc::clone(&target.entry);
    let def = &entry.def;
    let mut columns = vec![InsertColumn::Default; def.columns.len()];
    let mut fields = Vec::with_capacity(load.columns.len());
    if all {
        fields.extend(target.all().into_iter().map(|at| LoadField::Column(at as u32)));
    }
    for field in load.columns {
        fields.push(match field {
            ast::LoadTarget::User(variable) => LoadField::Variable(variable.to_lowercase().into()),
            ast::LoadTarget::Column(column) => {
                let at = target.column(column).ok_or_else(|| codes::bad_field_error(column, "field list"))?;
                LoadField::Column(at as u32)
            }
        });
    }
    for (no, field) in fields.iter().enumerate() {
        if let LoadField::Column(at) = field {
            columns[*at as usize] = InsertColumn::Source(no as u32);
        }
    }
    b.access_written(&database, &target, &columns, all, replace);
    let new_slots = b.row_slots(&def.columns);
    let existing_slots = b.row_slots(&def.columns);
    let set = b.load_assignments(load.set, &target, (&database, name), new_slots)?;
    for (at, _) in &set {
        b.accesses.column(&database, &def.name, &def.columns[*at as usize].name, Privileges::INSERT);
        // Given, though by no field.
        columns[*at as usize] = InsertColumn::Source(u32::MAX);
    }
    let body = Body::Insert(Box::new(Insert {
        table: number,
        source: InsertSource::External(Box::new(Load { fields, set })),
        columns,
        replace,
        ignore,
        order: None,
        on_duplicate: Vec::new(),
        met: None,
        new_slots,
        existing_slots,
        source_slots: Vec::new(),
        rules: b.insert_rules(&mut target)?,
    }));
    finish(b, body, Vec::new())
}

impl Binder<'_> {
    /// SET of LOAD DATA: what it reads of the row are the line's fields, and the defaults of the other columns.
    fn load_assignments(
        &mut self,
        list: &[ast::Assignment<'_>],
        target: &InsertTarget,
        (database, name): (&str, &str),
        new_slots: Slot,
    ) -> Result<Vec<(u32, Expr)>> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        let def = &target.entry.def;
        let mut scope = Scope::new();
        scope.clause = Clause::FieldList;
        let mut relation = self.base_relation(Arc::clone(&target.entry), name.to_owned(), database.to_owned(), Vec::new());
        target.rename(&mut relation);
        relation.slots = (0..def.columns.len()).map(|c| Some(new_slots + c as Slot)).collect();
        scope.relations.push(relation);
        self.changed.push((def.id, name.to_owned()));
        let (_, set) = self.enter(scope, |b| {
            let mut set = Vec::with_capacity(list.len());
            for a in list {
                let unknown =
                    || codes::bad_field_error(crate::binder::spelled(a.column.schema, a.column.table, a.column.column), "field list");
                if a.column.table.is_some_and(|table| table != name) {
                    return Err(unknown());
                }
                let at = target.column(a.column.column).ok_or_else(unknown)?;
                let column = &def.columns[at];
                let value = match a.value.kind {
                    // What is computed is computed afterwards, whatever it is given.
                    ast::ExprKind::Default if column.generated.is_some() => continue,
                    ast::ExprKind::Default => b.default_of_row(def, column, new_slots)?,
                    _ => charsets::stored(stored_in(b.expr(&a.value)?, &column.ty), &column.ty),
                };
                set.push((at as u32, value));
            }
            Ok(set)
        });
        self.changed.clear();
        set
    }
}
