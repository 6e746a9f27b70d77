//! USING and NATURAL: what a join shows, where two columns become one.
//!
//! # Invariants
//! 1. A join with USING or NATURAL has a list of what it shows ([`JoinColumns`]): `*`, unqualified names, and the USING and NATURAL of joins around it go by it.
//!    A part of FROM without such a join shows the columns of its tables as they are written, and has no list.
//! 2. A scope's lists are those of joins that lie in no other one with a list, in the order of their relations.
//! 3. A list decides about names without a table alone. LATERAL and JSON_TABLE do not see lists: they find the columns of all tables before them, as in MySQL.

use crate::binder::{Binder, Result, Scope};
use crate::conditions::compare_expr;
use crate::expr::{CmpOp, Expr};
use crate::logical::JoinTree;
use crate::typing::text_beside_whole;
use mysql_error::{SqlError, codes};
use parser::ast;
use std::ops::Range;

/// A column of FROM, and how it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownColumn {
    /// Number of its relation.
    relation: usize,
    /// Its number there.
    column: usize,
    /// It stands for both sides of the join that the list is of: `*` shows it even where it is invisible.
    is_merged: bool,
}

/// What a join with USING or NATURAL shows.
#[derive(Debug, Clone)]
pub struct JoinColumns {
    /// Its relations.
    relations: Range<usize>,
    /// Its columns in the order of `*`.
    columns: Vec<ShownColumn>,
}

impl Scope {
    /// The columns that `*` stands for: (relation, column).
    pub(super) fn star(&self) -> Vec<(usize, usize)> {
        let mut columns = Vec::with_capacity(self.relations.iter().map(|r| r.columns.len()).sum());
        self.for_each_shown(0..self.relations.len(), &mut |shown| {
            if shown.is_merged || !self.relations[shown.relation].columns[shown.column].invisible {
                columns.push((shown.relation, shown.column));
            }
        });
        columns
    }

    /// The column that a name without a table means by the lists of FROM; 1052 when they are several.
    pub(crate) fn shown_column(&self, name: &str) -> Result<Option<(usize, usize)>> {
        let mut found = None;
        let mut is_unique = true;
        self.for_each_shown(self.visible.start..self.visible.end.min(self.relations.len()), &mut |shown| {
            if self.relations[shown.relation].columns[shown.column].name.eq_ignore_ascii_case(name) {
                is_unique &= found.replace((shown.relation, shown.column)).is_none();
            }
        });
        if is_unique { Ok(found) } else { Err(codes::non_uniq_error(name, self.clause.words())) }
    }

    /// Calls `f` with each column that these relations show, joins with a list being whole among them.
    fn for_each_shown(&self, relations: Range<usize>, f: &mut dyn FnMut(ShownColumn)) {
        let mut at = relations.start;
        while at < relations.end {
            at = self.show(at, f);
        }
    }

    /// The same of the join or relation that begins with this relation; what is returned is where the next one begins.
    fn show(&self, relation: usize, f: &mut dyn FnMut(ShownColumn)) -> usize {
        if let Some(join) = self.join_of(relation) {
            join.columns.iter().for_each(|column| f(*column));
            return join.relations.end;
        }
        if !self.relations[relation].of_view {
            let columns = self.relations[relation].columns.iter().enumerate().filter(|(_, column)| !column.hidden);
            columns.for_each(|(column, _)| f(ShownColumn { relation, column, is_merged: false }));
        }
        relation + 1
    }

    /// The list that a relation is in.
    fn join_of(&self, relation: usize) -> Option<&JoinColumns> {
        self.joins.iter().find(|join| join.relations.contains(&relation))
    }

    /// What an operand of USING or NATURAL shows. Of a RIGHT JOIN in it that is the right side's columns first, whatever `*` would show.
    fn shown_by(&self, operand: &JoinTree) -> Vec<ShownColumn> {
        let mut columns = Vec::new();
        let mut last = None;
        operand.relations(&mut |r| {
            // The tables of a merged view stand before it.
            let named = || (r..self.relations.len()).find(|at| !self.relations[*at].of_view).unwrap_or(r);
            let at = self.join_of(r).map_or_else(named, |join| join.relations.start);
            if last.replace(at) != Some(at) {
                self.show(at, &mut |column| columns.push(column));
            }
        });
        columns
    }

    /// The columns that USING names, or those that NATURAL finds on both sides, in the order of the first side. Each is to be there once on each side.
    fn common_columns(
        &self,
        using: Option<&[&str]>,
        first: &[ShownColumn],
        second: &[ShownColumn],
    ) -> Result<Vec<(ShownColumn, ShownColumn)>> {
        let column = |shown: &ShownColumn| &self.relations[shown.relation].columns[shown.column];
        let is_named = |shown: &ShownColumn, name: &str| column(shown).name.eq_ignore_ascii_case(name);
        let is_compared = |shown: &ShownColumn| match using {
            Some(names) => names.iter().any(|name| is_named(shown, name)),
            None => !column(shown).invisible,
        };
        let mut pairs: Vec<(ShownColumn, ShownColumn)> = Vec::new();
        for shown in first.iter().filter(|shown| is_compared(shown)) {
            let name = column(shown).name.as_str();
            let mut others = second.iter().filter(|other| is_named(other, name) && is_compared(other));
            let Some(other) = others.next() else { continue };
            if others.next().is_some() || pairs.iter().any(|(pair, _)| is_named(pair, name)) {
                return Err(codes::non_uniq_error(name, "from clause"));
            }
            pairs.push((*shown, *other));
        }
        let is_missing = |name: &&&str| !pairs.iter().any(|(pair, _)| is_named(pair, name));
        match using.into_iter().flatten().find(is_missing) {
            Some(name) => Err(codes::bad_field_error(name, "from clause")),
            None => Ok(pairs),
        }
    }
}

impl Binder<'_> {
    /// Tells what is wrong with USING or NATURAL: after all tables of FROM, and what is wrong inside of derived ones, but before any other name.
    pub(crate) fn check_using(&mut self) -> Result<()> {
        self.scope().using_error.take().map_or(Ok(()), Err)
    }

    /// Does what USING or NATURAL says, if the join has either, and notes what is wrong with it. What is wrong in an operand comes before, and that of the operand
    /// which is not kept first.
    pub(super) fn using_or_natural(
        &mut self,
        join: &ast::Join<'_>,
        [left, right]: [(&JoinTree, Option<SqlError>); 2],
        relations: Range<usize>,
        on: &mut Vec<Expr>,
    ) {
        let ((first, of_first), (second, of_second)) = if join.kind == ast::JoinKind::Right { (right, left) } else { (left, right) };
        let mut wrong = of_second.or(of_first);
        if wrong.is_none() && (join.natural || matches!(join.condition, ast::JoinCondition::Using(_))) {
            wrong = self.merge_columns(join, first, second, relations, on).err();
        }
        self.scope().using_error = wrong;
    }

    /// Compares the columns that USING names, or those that NATURAL finds in both operands, and gives the join its list: what is compared, in the order of the operand
    /// that is kept (`first`: the left one, but the right one of RIGHT JOIN), then the other columns of that operand, then those of the other one.
    fn merge_columns(
        &mut self,
        join: &ast::Join<'_>,
        first: &JoinTree,
        second: &JoinTree,
        relations: Range<usize>,
        on: &mut Vec<Expr>,
    ) -> Result<()> {
        let depth = self.scopes.len() - 1;
        let scope = &self.scopes[depth];
        let using = match join.condition {
            ast::JoinCondition::Using(names) => Some(names),
            _ => None,
        };
        let (first, second) = (scope.shown_by(first), scope.shown_by(second));
        let pairs = scope.common_columns(using, &first, &second)?;
        let mut columns: Vec<ShownColumn> = pairs.iter().map(|(shown, _)| ShownColumn { is_merged: true, ..*shown }).collect();
        let others = first.into_iter().chain(second).filter(|shown| !pairs.iter().any(|(a, b)| a == shown || b == shown));
        columns.extend(others.map(|shown| ShownColumn { is_merged: false, ..shown }));
        for (a, b) in pairs {
            self.note_join(join, depth, (a.relation, a.column), (b.relation, b.column));
            let a = self.column_expr(depth, a.relation, a.column);
            let b = self.column_expr(depth, b.relation, b.column);
            match self.collation_of(&[&a, &b]) {
                Ok(collation) => {
                    let a = text_beside_whole(a, &b);
                    let b = text_beside_whole(b, &a);
                    on.push(compare_expr(CmpOp::Eq, collation, a, b));
                }
                // As it would be of the same condition in ON.
                Err(error) => _ = self.scope().on_error.get_or_insert(error),
            }
        }
        let joins = &mut self.scopes[depth].joins;
        joins.retain(|join| !relations.contains(&join.relations.start));
        joins.push(JoinColumns { relations, columns });
        Ok(())
    }
}
