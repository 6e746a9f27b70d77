//! Binding of expressions: syntax to [`Expr`], with names resolved and types inferred.

mod aggregate;
mod bits;
mod cast;
mod document;
mod function;
mod literal;
mod operator;
mod told;
mod window;

use crate::bind_expr::operator::comparison;
use crate::bind_query::SubqueryColumn;
use crate::binder::{Binder, Clause, Relation, Result, check_stack};
use crate::charsets;
use crate::conditions::{bool_type, logic, not, temporal_constant};
use crate::expr::{CastTo, Expr, ExprKind, Slot, SubqueryKind, VariableScope};
use crate::func::{Func, Returns};
use crate::members::{hexadecimal_number, member_number, replace, text_number};
use crate::typing::{self};
use crate::widths;
use mysql_error::{SqlError, codes};
use parser::ast;
use types::{Charset, Collation, ColumnType, TypeKind, Value};

impl<'c> Binder<'c> {
    /// Binds an expression that must be a single value.
    pub fn expr(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        check_stack()?;
        self.expr_inner(e)
    }

    /// 1287.
    pub(crate) fn warn_deprecated(&mut self, message: &str) {
        self.warnings.push(SqlError::with_message(codes::ER_WARN_DEPRECATED_SYNTAX, message).into());
    }

    /// Says for each operator of a chain that it is written as a sign that MySQL wants to give up.
    fn warn_of_signs(&mut self, operands: &[ast::Expr<'_>], sign: &[u8; 2], what: &str, instead: &str) {
        for pair in operands.windows(2) {
            let between = self.sql.get(pair[0].span.end as usize..pair[1].span.start as usize).unwrap_or_default();
            if between.windows(2).any(|two| two == sign) {
                self.warnings.push(codes::warn_deprecated_syntax(what, instead).into());
            }
        }
    }

    pub(crate) fn exprs(&mut self, list: &[ast::Expr<'_>]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.expr(e)).collect()
    }

    fn expr_inner(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        use ast::ExprKind as A;
        Ok(match e.kind {
            A::Literal(literal) => self.literal(literal)?,
            A::Param(n) => self.param(n),
            A::Column(c) => {
                self.column_at(e.span.start);
                self.resolve_column(c.schema, c.table, c.column)?
            }
            A::UserVar(name) => {
                self.note_volatile();
                self.user_variable(name)
            }
            A::Assign { var, value } => {
                self.note_volatile();
                self.warn_deprecated(
                    "Setting user variables within expressions is deprecated and will be removed in a future release. Consider alternatives: \
                     'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'.",
                );
                let value = self.expr(value)?;
                let ty = value.ty.clone();
                let value = self.as_computed(value);
                let name: Box<str> = var.to_lowercase().into();
                self.assigned_variables.push(name.clone());
                Expr { kind: ExprKind::AssignVariable(name, Box::new(value)), ty }
            }
            A::SysVar(v) => {
                let name = match v.component {
                    Some(c) => format!("{}.{}", c.to_lowercase(), v.name.to_lowercase()),
                    None => v.name.to_lowercase(),
                };
                let ty = self.context.system_variable_type(&name)?;
                if let Some(warning) = self.context.system_variable_warning(&name) {
                    self.warnings.push(warning.into());
                }
                let scope = match v.scope {
                    None => VariableScope::Default,
                    Some(ast::VarScope::Session) => VariableScope::Session,
                    Some(_) => VariableScope::Global,
                };
                Expr { kind: ExprKind::SystemVariable(scope, name.into()), ty }
            }
            A::Unary(op, operand) => {
                if op == ast::UnaryOp::Binary {
                    self.warnings.push(codes::warn_deprecated_syntax("BINARY expr", "CAST").into());
                }
                let bound = self.unary(op, operand)?;
                if op == ast::UnaryOp::Not && self.sql.get(e.span.start as usize) == Some(&b'!') {
                    self.warnings.push(codes::warn_deprecated_syntax("!", "NOT").into());
                }
                bound
            }
            A::Binary { op, left, right } => self.binary(op, left, right)?,
            A::And(list) => {
                let truths = self.truths(list)?;
                self.warn_of_signs(list, b"&&", "&&", "AND");
                logic(ExprKind::And, truths)
            }
            A::Or(list) => {
                let truths = self.truths(list)?;
                self.warn_of_signs(list, b"||", "|| as a synonym for OR", "OR");
                logic(ExprKind::Or, truths)
            }
            A::Is { expr, test, negated } => {
                let operand = match test {
                    ast::IsTest::True | ast::IsTest::False => self.condition(expr)?,
                    ast::IsTest::Null | ast::IsTest::Unknown => self.expr(expr)?,
                };
                let operand = Box::new(operand);
                let kind = match test {
                    ast::IsTest::Null => ExprKind::IsNull { operand, negated },
                    ast::IsTest::Unknown => ExprKind::IsNull { operand, negated },
                    ast::IsTest::True => ExprKind::IsTruth { operand, truth: true, negated },
                    ast::IsTest::False => ExprKind::IsTruth { operand, truth: false, negated },
                };
                Expr { kind, ty: bool_type(false) }
            }
            A::In { expr, list, negated } => self.in_list(expr, list, negated)?,
            A::InSubquery { expr, query, negated } => {
                let mut needle = self.row_or_single(expr)?;
                let (subplan, columns) = self.subquery(query)?;
                if columns.len() != needle.len() {
                    return Err(codes::operand_columns(needle.len()));
                }
                let collations = self.compared_with(&mut needle, subplan, &columns)?;
                let kind = SubqueryKind::In { needle, negated, collations };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(true) }
            }
            A::Between { expr, low: low_written, high: high_written, negated } => {
                let mut operand = self.expr(expr)?;
                let (low, high) = (self.expr(low_written)?, self.expr(high_written)?);
                let (mut low, mut high) = (self.beside_members(low, &operand), self.beside_members(high, &operand));
                if typing::is_number(&operand.ty) {
                    (low, high) = (member_number(low), member_number(high));
                }
                if typing::is_number(&low.ty) && typing::is_number(&high.ty) {
                    operand = member_number(operand);
                }
                // One number among texts makes numbers of all three.
                if typing::has_members(&operand.ty) && (typing::is_number(&low.ty) || typing::is_number(&high.ty)) {
                    operand = member_number(operand);
                }
                if typing::is_string_class(&operand.ty) {
                    match (typing::is_number(&low.ty), typing::is_number(&high.ty)) {
                        (true, false) if typing::is_string_class(&high.ty) => high = text_number(high),
                        (false, true) if typing::is_string_class(&low.ty) => low = text_number(low),
                        _ => {}
                    }
                }
                let collation = self.collation_for(&[&operand, &low, &high], "between")?;
                charsets::under(collation, [&mut operand, &mut low, &mut high]);
                let null = operand.ty.nullable || low.ty.nullable || high.ty.nullable;
                self.note_moment_bound(&low, &operand, expr);
                self.note_moment_bound(&high, &operand, expr);
                let (low, high) = (temporal_constant(low, &operand), temporal_constant(high, &operand));
                let told = self.told_constants.len();
                let low = self.number_constant(low, low_written, &operand);
                let high = self.number_constant(high, high_written, &operand);
                self.tell_of_doubles(told);
                let kind = ExprKind::Between { operand: Box::new(operand), low: Box::new(low), high: Box::new(high), negated, collation };
                Expr { kind, ty: bool_type(null) }
            }
            A::Like { expr, pattern, escape, negated } => {
                let mut operand = self.expr(expr)?;
                let mut pattern = self.expr(pattern)?;
                let escape = self.escape(escape)?;
                let collation = self.collation_for(&[&operand, &pattern], "like")?;
                charsets::under(collation, [&mut operand, &mut pattern]);
                let null = operand.ty.nullable || pattern.ty.nullable;
                let kind = ExprKind::Like { operand: Box::new(operand), pattern: Box::new(pattern), escape, negated, collation };
                Expr { kind, ty: bool_type(null) }
            }
            A::Regexp { expr, pattern, negated } => {
                let args = vec![self.expr(expr)?, self.expr(pattern)?];
                let test = self.typed_function(Func::RegexpLike, Returns::Bool, args)?;
                if negated { not(test) } else { test }
            }
            A::Quantified { op, left, all, query } => {
                let mut needle = self.expr(left)?;
                let (subplan, columns) = self.subquery(query)?;
                if columns.len() != 1 {
                    return Err(codes::operand_columns(1));
                }
                let collation = self.compared_with(std::slice::from_mut(&mut needle), subplan, &columns)?[0];
                let kind = SubqueryKind::Quantified { needle: Box::new(needle), op: comparison(op), all, collation };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(true) }
            }
            A::Exists(query) => {
                let subplan = self.exists(query)?;
                let kind = SubqueryKind::Exists { negated: false };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(false) }
            }
            A::Subquery(query) => {
                let (subplan, columns) = self.subquery(query)?;
                if columns.len() != 1 {
                    return Err(codes::operand_columns(1));
                }
                columns[0].value(subplan)
            }
            A::Row(_) => return Err(codes::operand_columns(1)),
            A::Case(case) => self.case(case)?,
            A::Cast { expr, ty, array } => {
                if array {
                    return Err(codes::not_supported_yet("CAST ... AS ... ARRAY"));
                }
                let operand = if ty.kind == ast::DataTypeKind::Json { self.document_arg(expr)? } else { self.expr(expr)? };
                let operand = self.named_document(operand, expr);
                self.cast(operand, ty)?
            }
            A::ConvertUsing { expr, charset } => {
                let operand = self.expr(expr)?;
                let charset = charsets::named_charset(self, charset)?;
                self.cast_to(
                    operand,
                    if charset == Charset::Binary {
                        CastTo::Binary { length: None }
                    } else {
                        CastTo::Char { length: None, collation: charset.default_collation() }
                    },
                )
            }
            A::Collate { expr, collation } => {
                let operand = self.expr(expr)?;
                let collation = Collation::from_name(collation).ok_or_else(|| codes::unknown_collation(collation))?;
                charsets::check_collate(&operand, collation, self.connection_collation())?;
                let text = match operand.ty.kind {
                    TypeKind::Json => ColumnType { collation, ..ColumnType::new(TypeKind::LongText) },
                    _ => typing::string(u64::from(typing::display_chars(&operand.ty)), collation),
                };
                let ty = ColumnType { nullable: operand.ty.nullable, ..text };
                Expr { kind: ExprKind::Collate(Box::new(operand), collation), ty }
            }
            A::DateAdd { expr, amount, unit, subtract } => self.date_add(expr, amount, unit, subtract)?,
            A::TimestampAdd { unit, amount, expr } => self.date_add(expr, amount, unit, false)?,
            A::Extract { unit, expr } => {
                let operand = self.expr(expr)?;
                Expr { kind: ExprKind::Extract(unit, Box::new(operand)), ty: widths::whole(widths::of_extract(unit), false) }
            }
            A::TimestampDiff { unit, from, to } => {
                let (from, to) = (self.expr(from)?, self.expr(to)?);
                let ty = widths::whole(widths::ANY, false);
                Expr { kind: ExprKind::TimestampDiff(unit, Box::new(from), Box::new(to)), ty }
            }
            A::Trim { mode, remove, expr } => {
                let mut args = vec![self.expr(expr)?];
                if let Some(remove) = remove {
                    args.push(self.expr(remove)?);
                }
                let func = match mode {
                    ast::TrimMode::Both => Func::Trim,
                    ast::TrimMode::Leading => Func::LTrim,
                    ast::TrimMode::Trailing => Func::RTrim,
                };
                let ty = self.string_result(func, &args, u64::from(typing::display_chars(&args[0].ty)))?;
                charsets::joined(func, ty.collation, &mut args);
                Expr { kind: ExprKind::Func(func, args), ty }
            }
            A::Function(call) => self.function(call)?,
            A::Aggregate(call) => self.aggregate(call)?,
            A::Window(call) => self.window_function(call)?,
            A::Match(_) => return Err(codes::not_supported_yet("MATCH ... AGAINST")),
            A::Default => {
                return Err(codes::parse_error("You have an error in your SQL syntax; DEFAULT is not allowed here", "DEFAULT", 1));
            }
            A::DefaultOf(column) => {
                self.column_at(e.span.start);
                self.default_of(column)?
            }
            A::InsertValue(column) => self.insert_value(column)?,
            A::JsonValue(call) => self.json_value(call)?,
            A::JsonPath { column, path, unquote } => {
                self.column_at(e.span.start);
                self.json_path(column, path, unquote)?
            }
            A::Odbc { name, expr } => match name.to_ascii_lowercase().as_str() {
                "d" | "t" | "ts" | "fn" => self.expr(expr)?,
                _ => self.expr(expr)?,
            },
        })
    }

    pub(crate) fn note_volatile(&mut self) {
        self.volatile = true;
        for scope in self.scopes.iter_mut() {
            scope.volatile = true;
        }
    }

    /// Whether a parameter is a literal lifted from the text. The plan serves texts with other literals of its kind, too (and, of decimals, of its scale): nothing but estimates may rest
    /// on the value.
    pub(crate) fn is_lifted(&self, n: u32) -> bool {
        self.context.param_types().get(n as usize).is_some()
    }

    /// Asks for a plan of its own for the text where the value of parameter `n` would decide what the plan is and it is a lifted literal.
    fn by_value(&self, n: u32) -> Result<()> {
        if self.is_lifted(n) { Err(crate::generated::by_value()) } else { Ok(()) }
    }

    /// A parameter with the type known for it.
    pub fn param(&mut self, n: u32) -> Expr {
        self.param_count = self.param_count.max(n + 1);
        let ty = match self.context.param_types().get(n as usize) {
            Some(ty) => ty.clone(),
            // What a select list shows is of the type that the client bound, as far as nothing else decides it.
            None if self.scopes.last().is_some_and(|scope| scope.clause == Clause::Fields) => {
                let bound = self.context.bound_type(n);
                self.free_params.push((n, bound.as_ref().map(|ty| (ty.kind, ty.unsigned))));
                bound.unwrap_or_else(|| ColumnType::new(TypeKind::Null))
            }
            None => ColumnType::new(TypeKind::Null),
        };
        Expr { kind: ExprKind::Param(n), ty }
    }

    /// A prepared statement's parameter that is compared with an ENUM or SET: one that is bound as a number asks for the member's number.
    pub(super) fn beside_members(&mut self, e: Expr, other: &Expr) -> Expr {
        let ExprKind::Param(n) = e.kind else { return e };
        if !typing::has_members(&other.ty) || self.context.param_types().get(n as usize).is_some() {
            return e;
        }
        let bound = self.context.bound_type(n);
        self.free_params.push((n, bound.as_ref().map(|ty| (ty.kind, ty.unsigned))));
        match bound {
            Some(ty) if typing::is_number(&ty) => Expr { ty, ..e },
            _ => e,
        }
    }

    /// The collation under which these operands are compared.
    pub fn collation_of(&self, operands: &[&Expr]) -> Result<Collation> {
        self.collation_for(operands, "=")
    }

    /// Makes operands and the columns of a subquery ready to be compared, and tells under which collations they are.
    fn compared_with(&mut self, needle: &mut [Expr], subplan: u32, columns: &[SubqueryColumn]) -> Result<Vec<Collation>> {
        let collation_of = |(needle, column): (&Expr, &SubqueryColumn)| self.collation_of(&[needle, &column.value(0)]);
        let collations = needle.iter().zip(columns).map(collation_of).collect::<Result<Vec<_>>>()?;
        let number = subplan as usize;
        for (at, (needle, collation)) in needle.iter_mut().zip(&collations).enumerate() {
            charsets::under(*collation, [&mut *needle]);
            let column = match &mut self.pending[number] {
                Some(block) => block.items.get_mut(at).map(|(item, _)| item),
                None => self.subplans[number].query.output.get_mut(at),
            };
            if let Some(column) = column {
                // Beside a number an ENUM or SET counts as one.
                if typing::is_number(&needle.ty) {
                    replace(column, |e| if typing::has_members(&e.ty) { member_number(e) } else { hexadecimal_number(e) });
                } else if typing::is_number(&column.ty) && typing::has_members(&needle.ty) {
                    replace(needle, member_number);
                }
                charsets::under(*collation, [&mut *column]);
                replace(needle, |e| typing::any_text_beside_whole(e, column));
                replace(column, |e| typing::any_text_beside_whole(e, needle));
                let ty = column.ty.clone();
                self.subplans[number].types[at] = ty;
            }
        }
        Ok(collations)
    }

    #[inline(never)]
    fn default_of(&mut self, column: &ast::ColumnRef<'_>) -> Result<Expr> {
        let resolved = self.resolve_column(column.schema, column.table, column.column)?;
        let ExprKind::Slot(slot) = resolved.kind else { return Err(codes::bad_field_error(column.column, "field list")) };
        let of = |column: &catalog::ColumnDef| match column.default {
            catalog::DefaultValue::Expression(_) => Err(codes::default_as_val_generated()),
            // The first member of an ENUM, which rows get, is no default that can be asked for.
            catalog::DefaultValue::None if !column.ty.nullable => {
                Ok(Expr { kind: ExprKind::NoDefault(column.name.as_str().into()), ty: column.ty.clone() })
            }
            _ => Ok(crate::dml::default_expr(column)),
        };
        if let Some((first, columns)) = &self.row_columns {
            return of(&columns[(slot - first) as usize]);
        }
        for scope in self.scopes.iter().rev() {
            for relation in &scope.relations {
                if let crate::binder::Source::Base(table) = relation.source
                    && let Some(at) = relation.slots.iter().position(|s| *s == Some(slot))
                {
                    let table = self.tables[table as usize].clone();
                    return of(&table.def.columns[at]);
                }
            }
        }
        Err(codes::bad_field_error(column.column, "field list"))
    }

    #[inline(never)]
    fn user_variable(&mut self, name: &str) -> Expr {
        let name: Box<str> = name.to_lowercase().into();
        let known = self.context.user_variable_type(&name);
        let ty = known.clone().unwrap_or_else(|| typing::of_variable(self.connection_collation()));
        if !self.user_variables.iter().any(|(other, _)| *other == name) {
            self.user_variables.push((name.clone(), known));
        }
        Expr { kind: ExprKind::UserVariable(name), ty }
    }

    #[inline(never)]
    fn insert_value(&mut self, column: &ast::ColumnRef<'_>) -> Result<Expr> {
        let Some(row) = self.insert_row else {
            // Outside ON DUPLICATE KEY UPDATE, VALUES(col) is NULL.
            self.warnings.push(codes::warn_deprecated_syntax_no_replacement("VALUES function").into());
            self.resolve_column(column.schema, column.table, column.column)?;
            return Ok(Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)));
        };
        let instead =
            "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE clause with alias.col";
        self.warnings.push(codes::warn_deprecated_syntax("VALUES function", instead).into());
        // The column is one of the row that is there, as the statement names it: behind a view, by the view's name for it.
        let unknown = || codes::bad_field_error(crate::binder::spelled(column.schema, column.table, column.column), "field list");
        let is_row = |relation: &Relation| relation.slots.first() == Some(&Some(row.existing_slots));
        let places = self.scopes.iter().enumerate().rev();
        let place = places.filter_map(|(depth, scope)| Some((depth, scope.relations.iter().position(is_row)?))).next();
        let (depth, relation) = place.ok_or_else(unknown)?;
        let Relation { alias, database, columns, .. } = &self.scopes[depth].relations[relation];
        if column.table.is_some_and(|table| table != alias) || column.schema.is_some_and(|schema| schema != database) {
            return Err(unknown());
        }
        let at = columns.iter().position(|c| c.name.eq_ignore_ascii_case(column.column)).ok_or_else(unknown)?;
        Ok(Expr::slot(row.new_slots + at as Slot, columns[at].ty.clone()))
    }
}
