//! Constants that are told of before a plan runs, where they are none of what they are compared with ([`Plan::told_constants`](crate::Plan)).

use crate::binder::Binder;
use crate::conditions::is_moment_column;
use crate::expr::{Expr, ExprKind};
use crate::plan::{ToldAs, ToldConstant};
use crate::typing;
use parser::ast;
use types::TypeKind;

impl Binder<'_> {
    /// A text that is compared with a number.
    pub(super) fn note_number_text(&mut self, text: &Expr, other: &Expr) {
        if typing::is_told_once(text, other) {
            let told_as = match other.ty.kind {
                TypeKind::Decimal => ToldAs::Number("DECIMAL"),
                TypeKind::Year => ToldAs::Year,
                _ => ToldAs::Number("DOUBLE"),
            };
            self.told_constants.push(ToldConstant { value: text.clone(), told_as, padded: false });
        }
    }

    /// Texts that have been noted from here on are one of several beside a number: there MySQL makes doubles of them, beside decimals, too.
    pub(super) fn tell_of_doubles(&mut self, from: usize) {
        for told in &mut self.told_constants[from..] {
            if matches!(told.told_as, ToldAs::Number(_)) {
                told.told_as = ToldAs::Number("DOUBLE");
            }
        }
    }

    /// Two operands that are compared, with what was written: a number beside a column of dates or times.
    pub(super) fn note_moment_numbers(&mut self, (a, of_a): (&Expr, &ast::Expr<'_>), (b, of_b): (&Expr, &ast::Expr<'_>)) {
        self.note_moment_number(a, b, of_b);
        self.note_moment_number(b, a, of_a);
    }

    /// An end of a range in which a column of dates or times is looked for: as in MySQL a text that is no date fails nothing by itself.
    pub(super) fn note_moment_bound(&mut self, end: &Expr, column: &Expr, written: &ast::Expr<'_>) {
        if let ast::ExprKind::Column(name) = written.kind
            && self.is_told_beside(end, column)
        {
            let told_as = ToldAs::MomentBound(column.ty.clone(), name.column.into());
            self.told_constants.push(ToldConstant { value: end.clone(), told_as, padded: false });
        }
    }

    /// A number, or a text that may be more than a date, that is compared with a column of dates or times.
    pub(super) fn note_moment_number(&mut self, number: &Expr, column: &Expr, written: &ast::Expr<'_>) {
        let name = match written.kind {
            ast::ExprKind::Column(name) if self.is_told_beside(number, column) => name.column,
            // A date that is computed has no name.
            ast::ExprKind::Column(_) => return,
            _ if column.ty.kind.has_date() && !column.is_settled() && self.is_literal_text(number) => "",
            _ => return,
        };
        let told_as = ToldAs::Moment(column.ty.clone(), name.into());
        self.told_constants.push(ToldConstant { value: number.clone(), told_as, padded: false });
    }

    /// The numbers of a list in which a column of dates or times is looked for. As in MySQL none of several beside a DATE is told of, nor any beside texts and columns.
    pub(super) fn note_listed_moments(&mut self, list: &[Expr], column: &Expr, written: &ast::Expr<'_>) {
        if let [number] = list {
            return self.note_moment_number(number, column, written);
        }
        let is_null = |e: &Expr| e.ty.kind == TypeKind::Null;
        if column.ty.kind != TypeKind::Date && list.iter().all(|e| is_null(e) || self.is_told_beside_moments(e, column)) {
            let told =
                |value: &Expr| ToldConstant { value: value.clone(), told_as: ToldAs::ListedMoment(column.ty.clone()), padded: false };
            self.told_constants.extend(list.iter().filter(|e| !is_null(e)).map(told));
        }
    }

    /// What has been noted from here on is of a list of so many values.
    pub(super) fn tell_of_list(&mut self, from: usize, length: usize) {
        if length > parser::PADDED_MIN as usize {
            self.told_constants[from..].iter_mut().for_each(|told| told.padded = true);
        }
    }

    fn is_told_beside(&self, constant: &Expr, column: &Expr) -> bool {
        self.is_told_beside_moments(constant, column) || self.is_text_beside_moments(constant, column)
    }

    fn is_text_beside_moments(&self, text: &Expr, column: &Expr) -> bool {
        let is_time = matches!(column.kind, ExprKind::Slot(_)) && column.ty.kind == TypeKind::Time;
        (is_time || is_moment_column(column)) && self.is_literal_text(text)
    }

    fn is_literal_text(&self, text: &Expr) -> bool {
        let is_literal = match text.kind {
            ExprKind::Literal(_) => true,
            ExprKind::Param(n) => self.is_lifted(n),
            _ => false,
        };
        is_literal && typing::is_string_class(&text.ty)
    }

    /// What a client binds and what variables hold is not told of, as in MySQL where no index is looked into.
    fn is_told_beside_moments(&self, number: &Expr, column: &Expr) -> bool {
        use TypeKind as K;
        let is_moments =
            matches!(column.ty.kind, K::Date | K::DateTime | K::Timestamp | K::Time) && matches!(column.kind, ExprKind::Slot(_));
        is_moments
            && typing::is_number(&number.ty)
            && !number.any(&mut |e| match e.kind {
                ExprKind::Literal(_) | ExprKind::Neg(_) | ExprKind::Arith(..) | ExprKind::Run(..) | ExprKind::Cast(..) => false,
                ExprKind::Param(n) => !self.is_lifted(n),
                _ => true,
            })
    }
}
