//! Operators: arithmetic, comparison, logic, IN, LIKE, CASE.

use crate::bind_expr::bits::bit_not;
use crate::bind_expr::literal::fraction_digits;
use crate::binder::{Binder, Result};
use crate::charsets;
use crate::conditions::{beside_rows, bool_type, compare_expr, logic, not, temporal_constant, temporal_subquery};
use crate::expr::{ArithOp, CastTo, CmpOp, ComparedRows, Expr, ExprKind, ListedRows, SubqueryKind};
use crate::func::{Func, Returns};
use crate::members::{member_number, replace};
use crate::plan::{TakenAs, ToldAs};
use crate::typing;
use mysql_error::codes;
use parser::ast;
use types::{Collation, ColumnType, Decimal, SqlMode, TypeKind, Value};

impl<'c> Binder<'c> {
    #[inline(never)]
    pub(super) fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr<'_>) -> Result<Expr> {
        if op == ast::UnaryOp::Neg
            && let ast::ExprKind::Literal(ast::Literal::Int(n)) = operand.kind
            && n == 1 << 63
        {
            return Ok(Expr::literal(Value::Int(i64::MIN), ColumnType { length: 20, ..ColumnType::bigint() }.not_null()));
        }
        if op == ast::UnaryOp::Not
            && let ast::ExprKind::Exists(query) = operand.kind
        {
            let subplan = self.exists(query)?;
            let kind = SubqueryKind::Exists { negated: true };
            return Ok(Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(false) });
        }
        let a = match op {
            ast::UnaryOp::Neg => self.number(operand)?,
            ast::UnaryOp::BitNot => self.bits(operand)?,
            ast::UnaryOp::Not => self.condition(operand)?,
            _ => self.expr(operand)?,
        };
        Ok(match op {
            ast::UnaryOp::Plus => a,
            ast::UnaryOp::Not => not(a),
            ast::UnaryOp::BitNot => bit_not(a),
            ast::UnaryOp::Binary => self.cast_to(a, CastTo::Binary { length: None }),
            ast::UnaryOp::Neg if matches!(typing::class(&a.ty), typing::Class::DateTime | typing::Class::Time) => {
                let (number, ty) = super::function::moment_number(a);
                Expr { kind: ExprKind::Neg(Box::new(number)), ty }
            }
            ast::UnaryOp::Neg => {
                // Past BIGINT a literal's value says whether it is a BIGINT negated (see below).
                if let ExprKind::Param(n) = a.kind
                    && a.ty.unsigned
                {
                    self.by_value(n)?;
                }
                let ty = typing::unfilled(&typing::negation(&operand_type(&a)));
                match a.kind {
                    ExprKind::Literal(Value::Int(n)) if n != i64::MIN => Expr::literal(Value::Int(-n), ty.not_null()),
                    // Past BIGINT a negated constant is exact.
                    ExprKind::Literal(Value::UInt(n)) => {
                        Expr::literal(Value::Decimal(Decimal::new(-i128::from(n), 0)), ColumnType::decimal(20, 0).not_null())
                    }
                    ExprKind::Literal(Value::Decimal(d)) => Expr::literal(Value::Decimal(d.negate()), ty),
                    ExprKind::Literal(Value::Double(d)) => Expr::literal(Value::Double(-d), ty),
                    _ => Expr { kind: ExprKind::Neg(Box::new(a)), ty },
                }
            }
        })
    }

    #[inline(never)]
    pub(super) fn binary(&mut self, op: ast::BinaryOp, left: &ast::Expr<'_>, right: &ast::Expr<'_>) -> Result<Expr> {
        use ast::BinaryOp as B;
        if op.is_comparison() {
            return self.compare(comparison(op), left, right);
        }
        let arith = match op {
            _ if let Some(arith) = arithmetic_op(op) => arith,
            B::Xor => {
                let (a, b) = (self.condition(left)?, self.condition(right)?);
                let ty = bool_type(a.ty.nullable || b.ty.nullable);
                return Ok(Expr { kind: ExprKind::Xor(Box::new(a), Box::new(b)), ty });
            }
            B::Concat => {
                let (first, links) = left.run_of(ast::Run::Concat);
                let args = if links.len() < parser::RUN_HEIGHT_MAX {
                    vec![self.expr(left)?, self.expr(right)?]
                } else {
                    let mut args = vec![self.expr(first)?];
                    for (_, operand) in links.into_iter().rev().chain([(op, right)]) {
                        args.push(self.expr(operand)?);
                    }
                    args
                };
                return self.typed_function(Func::Concat, Returns::Str, args);
            }
            B::SoundsLike => {
                let wrap =
                    |e: Expr| Expr { ty: ColumnType::varchar(255, Collation::DEFAULT), kind: ExprKind::Func(Func::Soundex, vec![e]) };
                let (a, b) = (wrap(self.expr(left)?), wrap(self.expr(right)?));
                let ty = bool_type(true);
                return Ok(Expr { kind: ExprKind::Compare(CmpOp::Eq, Collation::DEFAULT, Box::new(a), Box::new(b)), ty });
            }
            _ => {
                let args = vec![self.document_arg(left)?, self.expr(right)?];
                return self.document_function(Func::MemberOf, Returns::Int, args);
            }
        };
        let (start, links) = left.run_of(ast::Run::Arithmetic);
        let links = links.into_iter().rev().filter_map(|(op, operand)| Some((arithmetic_op(op)?, operand)));
        let chain: Vec<_> = links.chain([(arith, right)]).collect();
        let runs = chain.len() > parser::RUN_HEIGHT_MAX;
        let mut result = match chain.first() {
            Some((op, _)) if op.is_bitwise() => self.expr(start)?,
            _ => self.number(start)?,
        };
        let mut of = Some(start);
        for (op, operand) in chain {
            if op.is_bitwise() {
                result = self.bit_operation(op, result, of.take(), operand)?;
                result = if runs { result.into_run() } else { result };
                continue;
            }
            of = None;
            let operand = self.number(operand)?;
            let ty = typing::arithmetic(op, &operand_type(&result), &operand_type(&operand), self.context.div_precision_increment());
            let ty = if op == ArithOp::Sub && self.sql_mode().contains(SqlMode::NO_UNSIGNED_SUBTRACTION) {
                ColumnType { unsigned: false, ..ty }
            } else {
                ty
            };
            result = Expr { kind: ExprKind::Arith(op, Box::new(result), Box::new(operand)), ty };
            result = if runs { result.into_run() } else { result };
        }
        Ok(result)
    }

    #[inline(never)]
    fn compare(&mut self, op: CmpOp, left: &ast::Expr<'_>, right: &ast::Expr<'_>) -> Result<Expr> {
        if let (ast::ExprKind::Row(l), ast::ExprKind::Row(r)) = (&left.kind, &right.kind) {
            return self.compare_rows(op, l, r);
        }
        if let (ast::ExprKind::Row(l), ast::ExprKind::Subquery(query)) = (&left.kind, &right.kind) {
            let mut needle = self.exprs(l)?;
            let (subplan, columns) = self.subquery(query)?;
            if columns.len() != needle.len() {
                return Err(codes::operand_columns(needle.len()));
            }
            let collations = self.compared_with(&mut needle, subplan, &columns)?;
            let kind = SubqueryKind::Row { needle, op, collations };
            return Ok(Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(true) });
        }
        if let ast::ExprKind::Row(l) = &left.kind {
            return Err(codes::operand_columns(l.len()));
        }
        let (mut a, mut b) = (self.expr(left)?, self.expr(right)?);
        if a.ty.kind == TypeKind::Json {
            b = self.document_operand(b, right);
        } else if b.ty.kind == TypeKind::Json {
            a = self.document_operand(a, left);
        }
        a = self.beside_members(a, &b);
        b = self.beside_members(b, &a);
        let (mut a, mut b) = members_beside_numbers(a, b);
        let collation = self.collation_for(&[&a, &b], op.symbol())?;
        charsets::under(collation, [&mut a, &mut b]);
        self.note_moment_numbers((&a, left), (&b, right));
        let b = self.temporal_operand(b, &a);
        let a = self.temporal_operand(a, &b);
        let b = beside_rows(b, &a, collation);
        let a = beside_rows(a, &b, collation);
        let (a, b) = self.numbers_beside_columns((a, left), (b, right));
        Ok(compare_expr(op, collation, a, b))
    }

    #[inline(never)]
    fn compare_rows(&mut self, op: CmpOp, left: &[ast::Expr<'_>], right: &[ast::Expr<'_>]) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(codes::operand_columns(left.len()));
        }
        let (mut a, mut b) = (self.exprs(left)?, self.exprs(right)?);
        let mut collations = Vec::with_capacity(a.len());
        for ((x, of_x), (y, of_y)) in a.iter_mut().zip(left).zip(b.iter_mut().zip(right)) {
            match (x.ty.kind, y.ty.kind) {
                (TypeKind::Json, _) => replace(y, |e| self.document_operand(e, of_y)),
                (_, TypeKind::Json) => replace(x, |e| self.document_operand(e, of_x)),
                _ => {}
            }
            let nothing = || Expr::literal(Value::Null, ColumnType::new(TypeKind::Null));
            let (own_x, own_y) = members_beside_numbers(std::mem::replace(x, nothing()), std::mem::replace(y, nothing()));
            let collation = self.collation_of(&[&own_x, &own_y])?;
            collations.push(collation);
            if op == CmpOp::Eq {
                // As MySQL, which takes it for the comparisons of its parts.
                self.note_moment_numbers((&own_x, of_x), (&own_y, of_y));
            }
            let (own_x, own_y) = match op {
                CmpOp::Eq => {
                    let own_y = temporal_constant(own_y, &own_x);
                    (temporal_constant(own_x, &own_y), own_y)
                }
                _ => (own_x, own_y),
            };
            let own_y = beside_rows(own_y, &own_x, collation);
            let own_x = beside_rows(own_x, &own_y, collation);
            (*x, *y) = self.numbers_beside_columns((own_x, of_x), (own_y, of_y));
        }
        if op == CmpOp::Eq {
            // A row equality is a conjunction, which range analysis and joins understand.
            let parts = a.into_iter().zip(b).zip(collations).map(|((x, y), c)| compare_expr(CmpOp::Eq, c, x, y));
            return Ok(logic(ExprKind::And, parts.collect()));
        }
        Ok(Expr {
            kind: ExprKind::CompareRows(op, Box::new(ComparedRows { collations, left: a, right: b })),
            ty: bool_type(op != CmpOp::NullSafeEq),
        })
    }

    /// Two operands with what was written: a text beside a column of whole numbers or of decimals as the number that it says.
    fn numbers_beside_columns(&mut self, (a, of_a): (Expr, &ast::Expr<'_>), (b, of_b): (Expr, &ast::Expr<'_>)) -> (Expr, Expr) {
        let a = self.number_constant(a, of_a, &b);
        let b = self.number_constant(b, of_b, &a);
        let a = typing::text_beside_whole(a, &b);
        let b = typing::text_beside_whole(b, &a);
        (a, b)
    }

    /// A constant that is compared: a text beside a number is noted ([`Plan::told_constants`]); beside a column of whole numbers or of decimals it is the number
    /// that it says, as in MySQL (a parameter becomes one when the plan runs). `written` is its text: what an alias stands for is shown elsewhere, too, as it is.
    pub(super) fn number_constant(&mut self, text: Expr, written: &ast::Expr<'_>, other: &Expr) -> Expr {
        let decimal = other.ty.kind == TypeKind::Decimal;
        let exact = matches!(other.kind, ExprKind::Slot(_)) && (decimal || other.ty.kind.is_integer());
        self.note_number_text(&text, other);
        let bound = match (&text.kind, &written.kind) {
            (ExprKind::Param(n), ast::ExprKind::Param(_)) => Some(*n),
            _ => None,
        };
        if let Some(n) = bound
            && typing::class(&other.ty) == typing::Class::DateTime
            && !self.is_lifted(n)
        {
            self.taken_as.push((n, TakenAs::Moment));
            return text;
        }
        if let ExprKind::Param(_) = text.kind
            && exact
        {
            // Whether it is a text may be known only when it runs.
            if let Some(n) = bound {
                self.taken_as.push((n, if decimal { TakenAs::Decimal } else { TakenAs::Whole }));
                return text;
            }
            return if text.ty.unsigned { text } else { number_operand(text, decimal) };
        }
        if !exact || !typing::is_string_class(&text.ty) || text.ty.unsigned {
            return text;
        }
        match &text.kind {
            ExprKind::Literal(Value::Bytes(said)) => match types::number_operand(said, decimal) {
                Some(number) => number_literal(number),
                None => text,
            },
            ExprKind::Literal(_) => text,
            _ if text.is_settled() || self.is_lone_subquery(&text) => number_operand(text, decimal),
            _ => text,
        }
    }

    /// What is compared with a column of dates or years, as one of them where it is the same for all rows.
    fn temporal_operand(&self, e: Expr, other: &Expr) -> Expr {
        if self.is_lone_subquery(&e) { temporal_subquery(e, other) } else { temporal_constant(e, other) }
    }

    /// Whether an expression is a subquery with one value for all rows.
    fn is_lone_subquery(&self, e: &Expr) -> bool {
        let ExprKind::Subquery(number, _) = e.kind else { return false };
        match &self.pending[number as usize] {
            Some(block) => block.scope.outer.is_empty(),
            None => self.subplans[number as usize].outer_slots.is_empty(),
        }
    }

    #[inline(never)]
    pub(super) fn in_list(&mut self, operand: &ast::Expr<'_>, written: &[ast::Expr<'_>], negated: bool) -> Result<Expr> {
        if let ast::ExprKind::Row(parts) = &operand.kind {
            let mut operand = self.exprs(parts)?;
            let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(written.len());
            for item in written {
                let ast::ExprKind::Row(items) = &item.kind else { return Err(codes::operand_columns(parts.len())) };
                if items.len() != parts.len() {
                    return Err(codes::operand_columns(parts.len()));
                }
                rows.push(self.exprs(items)?);
            }
            for (i, o) in operand.iter_mut().enumerate() {
                if typing::is_number(&o.ty) {
                    rows.iter_mut().for_each(|r| replace(&mut r[i], member_number));
                } else if let [row] = rows.as_slice()
                    && typing::is_number(&row[i].ty)
                {
                    // As MySQL, in which an ENUM or SET counts as a number beside one row alone.
                    replace(o, member_number);
                }
            }
            let mut collations = Vec::with_capacity(operand.len());
            for (i, o) in operand.iter().enumerate() {
                let mut all = vec![o];
                all.extend(rows.iter().map(|r| &r[i]));
                collations.push(self.collation_of(&all)?);
            }
            let several = rows.len() > 1;
            let mut numbered = Vec::with_capacity(rows.len());
            for (row, item) in rows.into_iter().zip(written) {
                let ast::ExprKind::Row(items) = &item.kind else { return Err(codes::operand_columns(parts.len())) };
                let mut numbers = Vec::with_capacity(row.len());
                for ((e, of), o) in row.into_iter().zip(*items).zip(&operand) {
                    let told = self.told_constants.len();
                    // As in a list of several values.
                    let e = if several && o.ty.is_year_column() { e } else { temporal_constant(e, o) };
                    numbers.push(self.number_constant(e, of, o));
                    if several && o.ty.kind.is_integer() {
                        // As MySQL names it there.
                        self.told_constants[told..].iter_mut().for_each(|text| text.told_as = ToldAs::Number("INTEGER"));
                    }
                }
                numbered.push(numbers);
            }
            let rows = numbered;
            return Ok(Expr {
                kind: ExprKind::InRows(Box::new(ListedRows { operand, list: rows, negated, collations })),
                ty: bool_type(true),
            });
        }
        let written_operand = operand;
        let mut operand = self.expr(operand)?;
        let mut items = self.exprs(written)?;
        if is_whole_column(&operand) && items.iter().zip(written).all(|(e, of)| is_whole_number(e, of)) {
            return self.in_whole_numbers(operand, items, negated);
        }
        if operand.ty.kind == TypeKind::Json {
            items.iter_mut().zip(written).for_each(|(item, of)| replace(item, |e| self.document_operand(e, of)));
        }
        let list: Vec<Expr> = items.into_iter().map(|e| self.beside_members(e, &operand)).collect();
        let (numbers, count) = (list.iter().filter(|e| typing::is_number(&e.ty)).count(), list.len());
        if numbers == count {
            operand = member_number(operand);
        } else if numbers > 0 && typing::has_members(&operand.ty) {
            // Numbers are compared with the member's number, texts with its text.
            let mut parts = Vec::with_capacity(list.len());
            for e in list {
                let own = operand.clone();
                let own = if typing::is_number(&e.ty) { member_number(own) } else { own };
                let collation = self.collation_of(&[&own, &e])?;
                parts.push(compare_expr(CmpOp::Eq, collation, own, e));
            }
            let any = logic(ExprKind::Or, parts);
            return Ok(if negated { not(any) } else { any });
        }
        let mut list: Vec<Expr> = if typing::is_number(&operand.ty) { list.into_iter().map(member_number).collect() } else { list };
        let mut all = vec![&operand];
        all.extend(list.iter());
        let collation = self.collation_for(&all, if list.len() == 1 { "=" } else { " IN " })?;
        charsets::under(collation, std::iter::once(&mut operand).chain(&mut list));
        let null = operand.ty.nullable || list.iter().any(|e| e.ty.nullable);
        let first_told = self.told_constants.len();
        self.note_listed_moments(&list, &operand, written_operand);
        // As MySQL, which takes a number for a year only where it stands alone.
        let years = operand.ty.is_year_column() && list.len() > 1;
        // Nor a number for a moment where texts stand beside it.
        let kept = |e: &Expr| years || (numbers < count && typing::is_number(&e.ty));
        let list: Vec<Expr> = list.into_iter().map(|e| if kept(&e) { e } else { temporal_constant(e, &operand) }).collect();
        // Beside numbers, too: MySQL has all digits of the text there where it looks into an index or the text is a parameter, else a DOUBLE.
        let told = self.told_constants.len();
        let list: Vec<Expr> = list.into_iter().zip(written).map(|(e, of)| self.number_constant(e, of, &operand)).collect();
        if list.len() > 1 {
            self.tell_of_doubles(told);
        }
        self.tell_of_list(first_told, list.len());
        Ok(Expr { kind: ExprKind::InList { operand: Box::new(operand), list: list.into(), negated, collation }, ty: bool_type(null) })
    }

    /// A column of whole numbers in a list of such that stand ready, which may be long: nothing of it is converted, or told of.
    fn in_whole_numbers(&mut self, operand: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
        // As `number_constant` notes them: a client may bind a text.
        self.taken_as.extend(list.iter().filter_map(|e| if let ExprKind::Param(n) = e.kind { Some((n, TakenAs::Whole)) } else { None }));
        let collation = self.collation_for(&[&operand], " IN ")?;
        let ty = bool_type(operand.ty.nullable || list.iter().any(|e| e.ty.nullable));
        Ok(Expr { kind: ExprKind::InList { operand: Box::new(operand), list: list.into(), negated, collation }, ty })
    }

    pub(super) fn escape(&mut self, escape: Option<&ast::Expr<'_>>) -> Result<Option<char>> {
        let Some(escape) = escape else {
            let off = self.sql_mode().contains(SqlMode::NO_BACKSLASH_ESCAPES);
            return Ok(if off { None } else { Some('\\') });
        };
        let bytes = match &escape.kind {
            ast::ExprKind::Literal(ast::Literal::String(s)) => s.to_vec(),
            ast::ExprKind::Literal(ast::Literal::Introduced(s)) => s.value.to_vec(),
            ast::ExprKind::Param(n) => {
                self.by_value(*n)?;
                return Err(codes::wrong_arguments("ESCAPE"));
            }
            _ => return Err(codes::wrong_arguments("ESCAPE")),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (c, None) => Ok(c),
            _ => Err(codes::wrong_arguments("ESCAPE")),
        }
    }

    pub(super) fn row_or_single(&mut self, e: &ast::Expr<'_>) -> Result<Vec<Expr>> {
        match &e.kind {
            ast::ExprKind::Row(parts) => self.exprs(parts),
            _ => Ok(vec![self.expr(e)?]),
        }
    }

    #[inline(never)]
    pub(super) fn case(&mut self, case: &ast::Case<'_>) -> Result<Expr> {
        let operand = case.operand.as_ref().map(|o| self.expr(o)).transpose()?;
        let mut branches = Vec::with_capacity(case.whens.len());
        for (when, then) in case.whens {
            let when = if operand.is_some() { self.expr(when)? } else { self.choice(when)? };
            branches.push((when, self.expr(then)?));
        }
        let mut operand = self.case_of_documents(operand, &mut branches);
        if let Some(o) = &mut operand {
            if branches.iter().all(|(when, _)| typing::is_number(&when.ty)) {
                replace(o, member_number);
            } else if typing::is_number(&o.ty) {
                branches.iter_mut().for_each(|(when, _)| replace(when, member_number));
            }
        }
        let mut otherwise = case.otherwise.as_ref().map(|o| self.expr(o)).transpose()?;
        let collation = match &operand {
            Some(o) => {
                let mut all = vec![o];
                all.extend(branches.iter().map(|(w, _)| w));
                self.collation_for(&all, "case")?
            }
            None => Collation::DEFAULT,
        };
        charsets::bits_beside_text(branches.iter_mut().map(|(_, then)| then).chain(&mut otherwise));
        let mut ty = self.common_type(branches.iter().map(|(_, t)| t).chain(otherwise.iter()), "case")?;
        if typing::is_string_class(&ty) {
            let values = branches.iter_mut().map(|(_, then)| then).chain(&mut otherwise);
            values.for_each(|e| replace(e, |e| charsets::text_of_bytes(e, ty.collation)));
        }
        ty.nullable |= otherwise.is_none();
        let kind =
            ExprKind::Case { operand: operand.map(Box::new), branches: branches.into(), otherwise: otherwise.map(Box::new), collation };
        Ok(Expr { kind, ty })
    }

    /// Common type of expressions, with the collation of the strongest.
    pub(super) fn common_type<'e>(&self, exprs: impl Iterator<Item = &'e Expr> + Clone, operation: &str) -> Result<ColumnType> {
        if self.text_beats_bytes(exprs.clone()) {
            let texts = exprs.clone().filter(|e| typing::is_string_class(&e.ty) && !charsets::is_bytes(e));
            let strings: Vec<&Expr> = texts.collect();
            let collation = self.joined_collation(self.collation_for(&strings, operation), &strings)?;
            let types: Vec<ColumnType> = exprs.map(|e| charsets::type_as_text(&e.ty, collation)).collect();
            let ty = typing::common(types.iter());
            return Ok(if typing::is_string_class(&ty) { ColumnType { collation, ..ty } } else { ty });
        }
        let mut ty = typing::common(exprs.clone().map(|e| &e.ty));
        if typing::is_string_class(&ty) {
            let strings: Vec<&Expr> = exprs.filter(|e| typing::is_string_class(&e.ty)).collect();
            let collation = self.joined_collation(self.collation_for(&strings, operation), &strings)?;
            if !strings.is_empty() && (ty.collation == Collation::Binary) == (collation == Collation::Binary) {
                ty.collation = collation;
            }
        }
        Ok(ty)
    }

    pub(super) fn truths(&mut self, list: &[ast::Expr<'_>]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.condition(e)).collect()
    }

    /// A condition of IF or CASE WHEN: there a document is true by its number, and not because it is another one than 0.
    pub(super) fn choice(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        let condition = self.expr(e)?;
        Ok(self.as_choice(condition, e))
    }

    /// The same of what is bound already; `e` is its text.
    pub(super) fn as_choice(&mut self, condition: Expr, e: &ast::Expr<'_>) -> Expr {
        if condition.ty.kind == TypeKind::Json {
            let named = self.named_document(condition, e);
            return self.document_number(named);
        }
        member_number(condition)
    }

    /// An expression whose truth is asked: ENUM and SET are true by their number.
    pub fn condition(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        let condition = self.expr(e)?;
        if condition.ty.kind == TypeKind::Json {
            return Ok(self.document_condition(condition));
        }
        Ok(member_number(condition))
    }
}

/// Two operands of a comparison: beside a number an ENUM or SET counts as one.
fn members_beside_numbers(a: Expr, b: Expr) -> (Expr, Expr) {
    match (typing::is_number(&a.ty), typing::is_number(&b.ty)) {
        (false, true) => (member_number(a), b),
        (true, false) => (a, member_number(b)),
        _ => (a, b),
    }
}

/// Whether it is a column of whole numbers.
fn is_whole_column(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Slot(_)) && e.ty.kind.is_integer()
}

/// Whether it is a whole number that stands ready, and is written as one.
fn is_whole_number(e: &Expr, written: &ast::Expr<'_>) -> bool {
    e.is_value() && e.ty.kind.is_integer() && matches!(written.kind, ast::ExprKind::Param(_) | ast::ExprKind::Literal(_))
}

fn arithmetic_op(op: ast::BinaryOp) -> Option<ArithOp> {
    use ast::BinaryOp as B;
    Some(match op {
        B::Add => ArithOp::Add,
        B::Sub => ArithOp::Sub,
        B::Mul => ArithOp::Mul,
        B::Div => ArithOp::Div,
        B::IntDiv => ArithOp::IntDiv,
        B::Mod => ArithOp::Mod,
        B::BitOr => ArithOp::BitOr,
        B::BitAnd => ArithOp::BitAnd,
        B::BitXor => ArithOp::BitXor,
        B::ShiftLeft => ArithOp::ShiftLeft,
        B::ShiftRight => ArithOp::ShiftRight,
        _ => return None,
    })
}

pub(super) fn comparison(op: ast::BinaryOp) -> CmpOp {
    use ast::BinaryOp as B;
    match op {
        B::NullSafeEq => CmpOp::NullSafeEq,
        B::Ne => CmpOp::Ne,
        B::Lt => CmpOp::Lt,
        B::Le => CmpOp::Le,
        B::Gt => CmpOp::Gt,
        B::Ge => CmpOp::Ge,
        _ => CmpOp::Eq,
    }
}

/// The type of an operand of arithmetic, where NULL is a DOUBLE without digits behind the point. (A parameter whose value is not known is nothing yet.)
pub(super) fn operand_type(e: &Expr) -> ColumnType {
    match e.kind {
        ExprKind::Literal(Value::Null) => ColumnType { length: 22, decimals: 0, ..ColumnType::double() },
        _ => e.ty.clone(),
    }
}

/// Fraction digits of a temporal value made of an argument: those of a constant's text, six of any other string.
pub(super) fn string_decimals(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Literal(Value::Bytes(text)) => fraction_digits(text),
        _ if typing::is_string_class(&e.ty) => 6,
        _ => e.ty.decimals.min(6),
    }
}

/// A text as the number that it says, made when it is asked.
fn number_operand(text: Expr, decimal: bool) -> Expr {
    let (ty, operand) = (text.ty.clone(), if decimal { Func::DecimalOperand } else { Func::WholeOperand });
    Expr { kind: ExprKind::Func(operand, vec![text]), ty }
}

fn number_literal(number: Value) -> Expr {
    let ty = match &number {
        Value::UInt(_) => ColumnType::bigint_unsigned(),
        Value::Decimal(decimal) => ColumnType::decimal(Decimal::DIGITS_MAX, decimal.scale()),
        _ => ColumnType::bigint(),
    };
    Expr::literal(number, ty.not_null())
}
