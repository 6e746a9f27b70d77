//! DELETE, of one table or several.

use super::{hint_one, never};
use crate::binder::{Binder, Result, Scope, Source};
use crate::plan::{Body, Delete, DeleteTarget};
use crate::virtual_table::is_setup;
use accounts::Privileges;
use mysql_error::codes;
use parser::ast;

impl Binder<'_> {
    /// DELETE.
    pub fn delete(&mut self, d: &ast::Delete<'_>) -> Result<Body> {
        let ctes = self.ctes.len();
        let bound = self.bind_with(d.with);
        let result = bound.and_then(|()| self.enter(Scope::new(), |b| b.delete_in_scope(d)).1);
        self.changed.clear();
        self.ctes.truncate(ctes);
        result.map(|d| Body::Delete(Box::new(d)))
    }

    fn delete_in_scope(&mut self, d: &ast::Delete<'_>) -> Result<Delete> {
        self.accesses.next = d.targets.is_empty().then_some(Privileges::DELETE);
        let trees = self.changed_tables(d.from, d.hints, "DELETE")?;
        let depth = self.scopes.len() - 1;
        let multi = !d.targets.is_empty();
        let mut target_relations = Vec::new();
        if multi {
            for name in d.targets {
                let found = self.scopes[depth]
                    .relations
                    .iter()
                    .position(|r| !r.of_view && r.alias == name.name && name.schema.is_none_or(|s| s == r.database));
                match found {
                    Some(r) => target_relations.push(r),
                    None => return Err(codes::unknown_table(name.name, "MULTI DELETE")),
                }
            }
        } else {
            target_relations.push(self.scopes[depth].relations.iter().position(|r| !r.of_view).unwrap_or(0));
        }
        self.check_using()?;
        let mut targets = Vec::new();
        for r in target_relations {
            let r = self.deleted_relation(depth, r)?;
            if let Source::Virtual(table) = self.scopes[depth].relations[r].source {
                if !multi && is_setup(table, "DELETE") {
                    continue;
                }
                return Err(self.context.virtual_table_denied(table, "DELETE"));
            }
            let Source::Base(table) = self.scopes[depth].relations[r].source else {
                let alias = self.scopes[depth].relations[r].alias.clone();
                return Err(codes::non_updatable_table(alias, "DELETE"));
            };
            self.access_deleted(depth, r);
            let key_slot = self.keep_key(depth, r);
            let (name, _) = self.target_view(depth, r);
            self.changed.push((self.tables[table as usize].def.id, name));
            targets.push(DeleteTarget { table, key_slot });
        }
        let mut filter = self.where_clause(d.filter)?;
        self.refuse_changed_in_on()?;
        if targets.is_empty() {
            filter = vec![never()];
        }
        let (mut input, limit) = self.dml_input(trees, filter, d.order_by, d.limit, multi)?;
        if limit.is_some() {
            hint_one(&mut input);
        }
        Ok(Delete { input, targets, buffered: false, limit, ignore: d.ignore })
    }
}
