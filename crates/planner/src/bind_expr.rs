//! Binding of expressions: syntax to [`Expr`], with names resolved and types inferred.

use crate::binder::{Binder, Clause, DEPTH_MAX, Result, spelled};
use crate::expr::{ArithOp, CastTo, CmpOp, Expr, ExprKind, SubqueryKind, Unit, VariableScope};
use crate::func::{self, Func, Returns};
use crate::plan::{Aggregate, AggregateKind};
use crate::typing::{self, Class, class};
use mysql_error::{SqlError, codes};
use parser::ast;
use types::{Charset, Collation, ColumnType, Decimal, SqlMode, TypeKind, Value};

const DIV_INCREMENT: u8 = 4;

impl<'c> Binder<'c> {
    /// Binds an expression that must be a single value.
    pub fn expr(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            self.depth -= 1;
            return Err(SqlError::with_message(1436, "Thread stack overrun: expression is nested too deeply"));
        }
        let bound = match self.check_stack() {
            Ok(()) => self.expr_inner(e),
            Err(e) => Err(e),
        };
        self.depth -= 1;
        bound
    }

    fn exprs(&mut self, list: &[ast::Expr<'_>]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.expr(e)).collect()
    }

    fn expr_inner(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        use ast::ExprKind as A;
        Ok(match e.kind {
            A::Literal(literal) => self.literal(literal)?,
            A::Param(n) => self.param(n),
            A::Column(c) => self.resolve_column(c.schema, c.table, c.column)?,
            A::UserVar(name) => {
                self.note_volatile();
                let ty = ColumnType { ..typing::string(16_383, self.context.connection_collation()) };
                Expr { kind: ExprKind::UserVariable(name.to_lowercase().into()), ty }
            }
            A::Assign { var, value } => {
                self.note_volatile();
                let value = self.expr(value)?;
                let ty = value.ty.clone();
                Expr { kind: ExprKind::AssignVariable(var.to_lowercase().into(), Box::new(value)), ty }
            }
            A::SysVar(v) => {
                let name = match v.component {
                    Some(c) => format!("{}.{}", c.to_lowercase(), v.name.to_lowercase()),
                    None => v.name.to_lowercase(),
                };
                let ty = self.context.system_variable_type(&name)?;
                let scope = match v.scope {
                    None => VariableScope::Default,
                    Some(ast::VarScope::Session) => VariableScope::Session,
                    Some(_) => VariableScope::Global,
                };
                Expr { kind: ExprKind::SystemVariable(scope, name.into()), ty }
            }
            A::Unary(op, operand) => self.unary(op, operand)?,
            A::Binary { op, left, right } => self.binary(op, left, right)?,
            A::And(list) => {
                let list = self.truths(list)?;
                logic(ExprKind::And, list)
            }
            A::Or(list) => {
                let list = self.truths(list)?;
                logic(ExprKind::Or, list)
            }
            A::Is { expr, test, negated } => {
                let operand = Box::new(self.expr(expr)?);
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
                let needle = self.row_or_single(expr)?;
                let (subplan, types) = self.subquery(query)?;
                if types.len() != needle.len() {
                    return Err(codes::operand_columns(needle.len()));
                }
                let collations = needle.iter().zip(&types).map(|(n, t)| self.collation_with(n, t)).collect::<Result<_>>()?;
                let kind = SubqueryKind::In { needle, negated, collations };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(true) }
            }
            A::Between { expr, low, high, negated } => {
                let operand = self.expr(expr)?;
                let low = self.expr(low)?;
                let high = self.expr(high)?;
                let collation = self.collation_of(&[&operand, &low, &high])?;
                let null = operand.ty.nullable || low.ty.nullable || high.ty.nullable;
                let (low, high) = (temporal_constant(low, &operand), temporal_constant(high, &operand));
                let kind = ExprKind::Between { operand: Box::new(operand), low: Box::new(low), high: Box::new(high), negated, collation };
                Expr { kind, ty: bool_type(null) }
            }
            A::Like { expr, pattern, escape, negated } => {
                let operand = self.expr(expr)?;
                let pattern = self.expr(pattern)?;
                let escape = self.escape(escape)?;
                let collation = self.collation_of(&[&operand, &pattern])?;
                let null = operand.ty.nullable || pattern.ty.nullable;
                let kind = ExprKind::Like { operand: Box::new(operand), pattern: Box::new(pattern), escape, negated, collation };
                Expr { kind, ty: bool_type(null) }
            }
            A::Regexp { expr, pattern, negated } => {
                let args = vec![self.expr(expr)?, self.expr(pattern)?];
                let test = Expr { kind: ExprKind::Func(Func::RegexpLike, args), ty: bool_type(true) };
                if negated { not(test) } else { test }
            }
            A::Quantified { op, left, all, query } => {
                let needle = self.expr(left)?;
                let (subplan, types) = self.subquery(query)?;
                if types.len() != 1 {
                    return Err(codes::operand_columns(1));
                }
                let collation = self.collation_with(&needle, &types[0])?;
                let kind = SubqueryKind::Quantified { needle: Box::new(needle), op: comparison(op), all, collation };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(true) }
            }
            A::Exists(query) => {
                let (subplan, _) = self.subquery(query)?;
                let kind = SubqueryKind::Exists { negated: false };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(false) }
            }
            A::Subquery(query) => {
                let (subplan, types) = self.subquery(query)?;
                if types.len() != 1 {
                    return Err(codes::operand_columns(1));
                }
                let ty = ColumnType { nullable: true, ..types[0].clone() };
                Expr { kind: ExprKind::Subquery(subplan, Box::new(SubqueryKind::Scalar)), ty }
            }
            A::Row(_) => return Err(codes::operand_columns(1)),
            A::Case(case) => self.case(case)?,
            A::Cast { expr, ty, array } => {
                if array {
                    return Err(codes::not_supported_yet("CAST ... AS ... ARRAY"));
                }
                let operand = self.expr(expr)?;
                self.cast(operand, ty)?
            }
            A::ConvertUsing { expr, charset } => {
                let operand = self.expr(expr)?;
                let charset = charset_of(charset)?;
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
                let ty = if typing::is_string_class(&operand.ty) {
                    ColumnType { collation, ..operand.ty.clone() }
                } else {
                    ColumnType { nullable: operand.ty.nullable, ..typing::string(u64::from(typing::display_chars(&operand.ty)), collation) }
                };
                Expr { kind: ExprKind::Collate(Box::new(operand), collation), ty }
            }
            A::DateAdd { expr, amount, unit, subtract } => self.date_add(expr, amount, unit, subtract)?,
            A::TimestampAdd { unit, amount, expr } => self.date_add(expr, amount, unit, false)?,
            A::Extract { unit, expr } => {
                let operand = self.expr(expr)?;
                Expr { kind: ExprKind::Extract(map_unit(unit), Box::new(operand)), ty: ColumnType::bigint() }
            }
            A::TimestampDiff { unit, from, to } => {
                let (from, to) = (self.expr(from)?, self.expr(to)?);
                Expr { kind: ExprKind::TimestampDiff(map_unit(unit), Box::new(from), Box::new(to)), ty: ColumnType::bigint() }
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
                let ty = self.string_result(&args, u64::from(typing::display_chars(&args[0].ty)))?;
                Expr { kind: ExprKind::Func(func, args), ty }
            }
            A::Function(call) => self.function(call)?,
            A::Aggregate(call) => self.aggregate(call)?,
            A::Window(_) => return Err(codes::not_supported_yet("window functions")),
            A::Match(_) => return Err(codes::not_supported_yet("MATCH ... AGAINST")),
            A::Default => {
                return Err(codes::parse_error("You have an error in your SQL syntax; DEFAULT is not allowed here", "DEFAULT", 1));
            }
            A::DefaultOf(column) => self.default_of(column)?,
            A::InsertValue(column) => self.insert_value(column)?,
            A::JsonPath { .. } => return Err(codes::not_supported_yet("JSON")),
            A::Odbc { name, expr } => match name.to_ascii_lowercase().as_str() {
                "d" | "t" | "ts" | "fn" => self.expr(expr)?,
                _ => self.expr(expr)?,
            },
        })
    }

    fn note_volatile(&mut self) {
        self.volatile = true;
        for scope in &mut self.scopes {
            scope.volatile = true;
        }
    }

    fn truths(&mut self, list: &[ast::Expr<'_>]) -> Result<Vec<Expr>> {
        self.exprs(list)
    }

    /// The value of a parameter that is a literal lifted from the text, whose value is part of what the plan is cached under. A prepared
    /// statement's parameters change from one execution to the next, so nothing but estimates may rest on them.
    fn lifted(&self, n: u32) -> Option<&Value> {
        self.context.param_types().get(n as usize)?;
        self.context.params().get(n as usize)
    }

    /// A parameter with the type known for it.
    pub fn param(&mut self, n: u32) -> Expr {
        self.param_count = self.param_count.max(n + 1);
        let ty = match self.context.param_types().get(n as usize) {
            Some(ty) => ty.clone(),
            None => ColumnType::new(TypeKind::Null),
        };
        Expr { kind: ExprKind::Param(n), ty }
    }

    #[inline(never)]
    fn literal(&mut self, literal: ast::Literal<'_>) -> Result<Expr> {
        use ast::Literal as L;
        let connection = self.context.connection_collation();
        let text = |bytes: &[u8], collation: Collation| {
            let chars = std::str::from_utf8(bytes).map_or(bytes.len(), |s| s.chars().count());
            Expr::literal(Value::bytes(bytes), typing::string(chars as u64, collation).not_null())
        };
        Ok(match literal {
            L::Null => Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)),
            L::Bool(b) => Expr::literal(Value::bool(b), ColumnType { length: 1, ..ColumnType::bigint() }.not_null()),
            L::Int(n) => {
                let length = n.checked_ilog10().unwrap_or(0) + 1;
                match i64::try_from(n) {
                    Ok(i) => Expr::literal(Value::Int(i), ColumnType { length, ..ColumnType::bigint() }.not_null()),
                    Err(_) => Expr::literal(Value::UInt(n), ColumnType { length, ..ColumnType::bigint_unsigned() }.not_null()),
                }
            }
            L::Decimal(s) => {
                let value = Decimal::parse(s.as_bytes()).value;
                let scale = value.scale();
                let digits = s.bytes().filter(u8::is_ascii_digit).count() as u32;
                let ty = ColumnType::decimal(digits.clamp(1, 65).max(u32::from(scale)), scale).not_null();
                Expr::literal(Value::Decimal(value), ty)
            }
            L::Float(s) => {
                let value: f64 = s.parse().map_err(|_| codes::illegal_value_for_type("double", s))?;
                if value.is_infinite() {
                    return Err(codes::illegal_value_for_type("double", s));
                }
                Expr::literal(Value::Double(value), ColumnType::double().not_null())
            }
            L::String(s) | L::National(s) => {
                if connection.charset() == Charset::Utf8mb4 && std::str::from_utf8(s).is_err() {
                    return Err(invalid_text("utf8mb4", s));
                }
                text(s, connection)
            }
            L::Hex(s) | L::Bit(s) => text(s, Collation::Binary),
            L::Introduced(i) => {
                // What is ASCII is the same text in all of these.
                let ascii = i.value.is_ascii() && ["latin1", "ascii"].iter().any(|name| name.eq_ignore_ascii_case(i.charset));
                let charset = if ascii { Charset::Utf8mb4 } else { charset_of(i.charset)? };
                if charset == Charset::Utf8mb4 && std::str::from_utf8(i.value).is_err() {
                    return Err(invalid_text("utf8mb4", i.value));
                }
                text(i.value, charset.default_collation())
            }
            L::Date(s) => {
                let at = types::parse_datetime(s, self.context.sql_mode());
                match at {
                    Some(at) => Expr::literal(Value::Date(at.date()), ColumnType::new(TypeKind::Date).not_null()),
                    None => return Err(codes::wrong_value("DATE", String::from_utf8_lossy(s))),
                }
            }
            L::Time(s) => match types::parse_time(s) {
                Some(t) => {
                    let digits = fraction_digits(s);
                    Expr::literal(Value::Time(t), ColumnType::temporal(TypeKind::Time, digits).not_null())
                }
                None => return Err(codes::wrong_value("TIME", String::from_utf8_lossy(s))),
            },
            L::Timestamp(s) => match types::parse_datetime(s, self.context.sql_mode()) {
                Some(at) => {
                    let digits = fraction_digits(s);
                    Expr::literal(Value::DateTime(at), ColumnType::temporal(TypeKind::DateTime, digits).not_null())
                }
                None => return Err(codes::wrong_value("DATETIME", String::from_utf8_lossy(s))),
            },
        })
    }

    /// An operand of arithmetic: there a hexadecimal or bit literal is an unsigned integer.
    fn number(&mut self, e: &ast::Expr<'_>) -> Result<Expr> {
        if let ast::ExprKind::Literal(ast::Literal::Hex(s) | ast::Literal::Bit(s)) = e.kind
            && s.len() <= 8
        {
            let value = s.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
            return Ok(Expr::literal(Value::UInt(value), ColumnType::bigint_unsigned().not_null()));
        }
        self.expr(e)
    }

    #[inline(never)]
    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr<'_>) -> Result<Expr> {
        if op == ast::UnaryOp::Neg
            && let ast::ExprKind::Literal(ast::Literal::Int(n)) = operand.kind
            && n == 1 << 63
        {
            return Ok(Expr::literal(Value::Int(i64::MIN), ColumnType { length: 20, ..ColumnType::bigint() }.not_null()));
        }
        if op == ast::UnaryOp::Not
            && let ast::ExprKind::Exists(query) = operand.kind
        {
            let (subplan, _) = self.subquery(query)?;
            let kind = SubqueryKind::Exists { negated: true };
            return Ok(Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(false) });
        }
        let a = match op {
            ast::UnaryOp::Neg | ast::UnaryOp::BitNot => self.number(operand)?,
            _ => self.expr(operand)?,
        };
        Ok(match op {
            ast::UnaryOp::Plus => a,
            ast::UnaryOp::Not => not(a),
            ast::UnaryOp::BitNot => {
                let ty = ColumnType { nullable: a.ty.nullable, ..ColumnType::bigint_unsigned() };
                Expr { kind: ExprKind::BitNot(Box::new(a)), ty }
            }
            ast::UnaryOp::Binary => self.cast_to(a, CastTo::Binary { length: None }),
            ast::UnaryOp::Neg => {
                let ty = typing::negation(&a.ty);
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
    fn binary(&mut self, op: ast::BinaryOp, left: &ast::Expr<'_>, right: &ast::Expr<'_>) -> Result<Expr> {
        use ast::BinaryOp as B;
        if op.is_comparison() {
            return self.compare(comparison(op), left, right);
        }
        let arith = match op {
            _ if let Some(arith) = arithmetic_op(op) => arith,
            B::Xor => {
                let (a, b) = (self.expr(left)?, self.expr(right)?);
                let ty = bool_type(a.ty.nullable || b.ty.nullable);
                return Ok(Expr { kind: ExprKind::Xor(Box::new(a), Box::new(b)), ty });
            }
            B::Concat => {
                let args = vec![self.expr(left)?, self.expr(right)?];
                return self.typed_function(Func::Concat, Returns::Str, args);
            }
            B::SoundsLike => {
                let wrap =
                    |e: Expr| Expr { ty: ColumnType::varchar(255, Collation::DEFAULT), kind: ExprKind::Func(Func::Soundex, vec![e]) };
                let (a, b) = (wrap(self.expr(left)?), wrap(self.expr(right)?));
                let ty = bool_type(true);
                return Ok(Expr { kind: ExprKind::Compare(CmpOp::Eq, Collation::DEFAULT, Box::new(a), Box::new(b)), ty });
            }
            _ => return Err(codes::not_supported_yet("MEMBER OF")),
        };
        // Chains of one operator lean left; walk down without recursion so that their length is not nesting.
        let mut chain = vec![(arith, right)];
        let mut start = left;
        while let ast::ExprKind::Binary { op: inner, left: l, right: r } = start.kind {
            let Some(inner) = arithmetic_op(inner) else { break };
            chain.push((inner, r));
            start = l;
        }
        if chain.len() > DEPTH_MAX as usize {
            return Err(SqlError::with_message(1436, "Thread stack overrun: expression is nested too deeply"));
        }
        let mut result = self.number(start)?;
        for (op, operand) in chain.into_iter().rev() {
            let operand = self.number(operand)?;
            let ty = typing::arithmetic(op, &result.ty, &operand.ty, DIV_INCREMENT);
            let ty = if op == ArithOp::Sub && self.context.sql_mode().contains(SqlMode::NO_UNSIGNED_SUBTRACTION) {
                ColumnType { unsigned: false, ..ty }
            } else {
                ty
            };
            result = Expr { kind: ExprKind::Arith(op, Box::new(result), Box::new(operand)), ty };
        }
        Ok(result)
    }

    #[inline(never)]
    fn compare(&mut self, op: CmpOp, left: &ast::Expr<'_>, right: &ast::Expr<'_>) -> Result<Expr> {
        if let (ast::ExprKind::Row(l), ast::ExprKind::Row(r)) = (&left.kind, &right.kind) {
            if l.len() != r.len() {
                return Err(codes::operand_columns(l.len()));
            }
            let (a, b) = (self.exprs(l)?, self.exprs(r)?);
            let collations = a.iter().zip(&b).map(|(x, y)| self.collation_of(&[x, y])).collect::<Result<Vec<_>>>()?;
            if matches!(op, CmpOp::Eq) {
                // A row equality is a conjunction, which range analysis and joins understand.
                let parts = a.into_iter().zip(b).zip(collations).map(|((x, y), c)| compare_expr(CmpOp::Eq, c, x, y)).collect();
                return Ok(logic(ExprKind::And, parts));
            }
            let null = op != CmpOp::NullSafeEq;
            return Ok(Expr { kind: ExprKind::CompareRows(op, collations, a, b), ty: bool_type(null) });
        }
        if let (ast::ExprKind::Row(l), ast::ExprKind::Subquery(query)) = (&left.kind, &right.kind) {
            let needle = self.exprs(l)?;
            let (subplan, types) = self.subquery(query)?;
            if types.len() != needle.len() {
                return Err(codes::operand_columns(needle.len()));
            }
            let collations = needle.iter().zip(&types).map(|(n, t)| self.collation_with(n, t)).collect::<Result<_>>()?;
            let kind = SubqueryKind::Row { needle, op, collations };
            return Ok(Expr { kind: ExprKind::Subquery(subplan, Box::new(kind)), ty: bool_type(true) });
        }
        if let ast::ExprKind::Row(l) = &left.kind {
            return Err(codes::operand_columns(l.len()));
        }
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        let collation = self.collation_of(&[&a, &b])?;
        let b = temporal_constant(b, &a);
        let a = temporal_constant(a, &b);
        Ok(compare_expr(op, collation, a, b))
    }

    #[inline(never)]
    fn in_list(&mut self, operand: &ast::Expr<'_>, list: &[ast::Expr<'_>], negated: bool) -> Result<Expr> {
        if let ast::ExprKind::Row(parts) = &operand.kind {
            let operand = self.exprs(parts)?;
            let mut rows = Vec::with_capacity(list.len());
            for item in list {
                let ast::ExprKind::Row(items) = &item.kind else { return Err(codes::operand_columns(parts.len())) };
                if items.len() != parts.len() {
                    return Err(codes::operand_columns(parts.len()));
                }
                rows.push(self.exprs(items)?);
            }
            let mut collations = Vec::with_capacity(operand.len());
            for (i, o) in operand.iter().enumerate() {
                let mut all = vec![o];
                all.extend(rows.iter().map(|r| &r[i]));
                collations.push(self.collation_of(&all)?);
            }
            let rows = rows.into_iter().map(|r| r.into_iter().zip(&operand).map(|(v, o)| temporal_constant(v, o)).collect()).collect();
            return Ok(Expr { kind: ExprKind::InRows { operand, list: rows, negated, collations }, ty: bool_type(true) });
        }
        let operand = self.expr(operand)?;
        let list = self.exprs(list)?;
        let mut all = vec![&operand];
        all.extend(list.iter());
        let collation = self.collation_of(&all)?;
        let null = operand.ty.nullable || list.iter().any(|e| e.ty.nullable);
        let list = list.into_iter().map(|e| temporal_constant(e, &operand)).collect();
        Ok(Expr { kind: ExprKind::InList { operand: Box::new(operand), list, negated, collation }, ty: bool_type(null) })
    }

    fn row_or_single(&mut self, e: &ast::Expr<'_>) -> Result<Vec<Expr>> {
        match &e.kind {
            ast::ExprKind::Row(parts) => self.exprs(parts),
            _ => Ok(vec![self.expr(e)?]),
        }
    }

    fn escape(&mut self, escape: Option<&ast::Expr<'_>>) -> Result<Option<char>> {
        let Some(escape) = escape else {
            let off = self.context.sql_mode().contains(SqlMode::NO_BACKSLASH_ESCAPES);
            return Ok(if off { None } else { Some('\\') });
        };
        let bytes = match &escape.kind {
            ast::ExprKind::Literal(ast::Literal::String(s)) => s.to_vec(),
            ast::ExprKind::Param(n) => match self.lifted(*n) {
                Some(Value::Bytes(b)) => b.to_vec(),
                _ => return Err(codes::wrong_arguments("ESCAPE")),
            },
            _ => return Err(codes::wrong_arguments("ESCAPE")),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (c, None) => Ok(c),
            _ => Err(codes::wrong_arguments("ESCAPE")),
        }
    }

    /// The collation under which these operands are compared.
    pub fn collation_of(&self, operands: &[&Expr]) -> Result<Collation> {
        typing::comparison_collation(operands.iter().copied()).map_err(|(a, b)| {
            SqlError::with_message(
                1267,
                format!("Illegal mix of collations ({},IMPLICIT) and ({},IMPLICIT) for operation '='", a.name(), b.name()),
            )
        })
    }

    fn collation_with(&self, needle: &Expr, ty: &ColumnType) -> Result<Collation> {
        let other = Expr::slot(0, ty.clone());
        self.collation_of(&[needle, &other])
    }

    #[inline(never)]
    fn case(&mut self, case: &ast::Case<'_>) -> Result<Expr> {
        let operand = case.operand.as_ref().map(|o| self.expr(o)).transpose()?;
        let mut branches = Vec::with_capacity(case.whens.len());
        for (when, then) in case.whens {
            branches.push((self.expr(when)?, self.expr(then)?));
        }
        let otherwise = case.otherwise.as_ref().map(|o| self.expr(o)).transpose()?;
        let collation = match &operand {
            Some(o) => {
                let mut all = vec![o];
                all.extend(branches.iter().map(|(w, _)| w));
                self.collation_of(&all)?
            }
            None => Collation::DEFAULT,
        };
        let mut ty = self.common_type(branches.iter().map(|(_, t)| t).chain(otherwise.iter()));
        ty.nullable |= otherwise.is_none();
        let kind = ExprKind::Case { operand: operand.map(Box::new), branches, otherwise: otherwise.map(Box::new), collation };
        Ok(Expr { kind, ty })
    }

    /// Common type of expressions, with the collation of the strongest.
    fn common_type<'e>(&self, exprs: impl Iterator<Item = &'e Expr> + Clone) -> ColumnType {
        let mut ty = typing::common(exprs.clone().map(|e| &e.ty));
        if typing::is_string_class(&ty)
            && let Ok(collation) = typing::comparison_collation(exprs)
            && (ty.collation == Collation::Binary) == (collation == Collation::Binary)
        {
            ty.collation = collation;
        }
        ty
    }

    #[inline(never)]
    fn cast(&mut self, operand: Expr, ty: &ast::DataType<'_>) -> Result<Expr> {
        use ast::DataTypeKind as K;
        let target = match ty.kind {
            K::BigInt | K::Int | K::SmallInt | K::MediumInt | K::TinyInt => {
                if ty.unsigned {
                    CastTo::Unsigned
                } else {
                    CastTo::Signed
                }
            }
            K::Decimal => {
                let precision = ty.length.unwrap_or(10);
                let scale = ty.decimals.unwrap_or(0);
                if scale > 30 {
                    return Err(codes::too_big_scale(scale, "CAST", 30));
                }
                if precision > 65 {
                    return Err(codes::too_big_precision(precision, "CAST", 65));
                }
                if u64::from(scale) > precision {
                    return Err(codes::m_bigger_than_d("CAST"));
                }
                CastTo::Decimal { precision: if precision == 0 { 10 } else { precision as u8 }, scale: scale as u8 }
            }
            K::Double => CastTo::Double,
            K::Float => CastTo::Float,
            K::Date => CastTo::Date,
            K::Time => CastTo::Time { fraction: fraction(ty)? },
            K::DateTime | K::Timestamp => CastTo::DateTime { fraction: fraction(ty)? },
            K::Year => CastTo::Year,
            K::Char | K::VarChar => {
                let collation = match ty.charset {
                    Some(name) => charset_of(name)?.default_collation(),
                    None => self.context.connection_collation(),
                };
                if collation == Collation::Binary {
                    CastTo::Binary { length: ty.length.map(|l| l as u32) }
                } else {
                    CastTo::Char { length: ty.length.map(|l| l as u32), collation }
                }
            }
            K::Binary | K::VarBinary => CastTo::Binary { length: ty.length.map(|l| l as u32) },
            K::Json => return Err(codes::not_supported_yet("JSON")),
            _ => return Err(codes::not_supported_yet("CAST to this type")),
        };
        Ok(self.cast_to(operand, target))
    }

    fn cast_to(&mut self, operand: Expr, target: CastTo) -> Expr {
        let chars = u64::from(typing::display_chars(&operand.ty));
        let null = operand.ty.nullable;
        let ty = match target {
            CastTo::Signed => ColumnType::bigint(),
            CastTo::Unsigned => ColumnType::bigint_unsigned(),
            CastTo::Double => ColumnType::double(),
            CastTo::Float => ColumnType::new(TypeKind::Float),
            CastTo::Decimal { precision, scale } => ColumnType::decimal(u32::from(precision), scale),
            CastTo::Date => ColumnType::new(TypeKind::Date),
            CastTo::Time { fraction } => ColumnType::temporal(TypeKind::Time, fraction),
            CastTo::DateTime { fraction } => ColumnType::temporal(TypeKind::DateTime, fraction),
            CastTo::Year => ColumnType::new(TypeKind::Year),
            CastTo::Char { length, collation } => typing::string(length.map_or(chars, u64::from), collation),
            CastTo::Binary { length } => typing::string(length.map_or(chars * 4, u64::from), Collation::Binary),
        };
        let temporal = matches!(target, CastTo::Date | CastTo::Time { .. } | CastTo::DateTime { .. } | CastTo::Year);
        Expr { kind: ExprKind::Cast(Box::new(operand), target), ty: ColumnType { nullable: null || temporal, ..ty } }
    }

    #[inline(never)]
    fn date_add(&mut self, date: &ast::Expr<'_>, amount: &ast::Expr<'_>, unit: ast::IntervalUnit, negated: bool) -> Result<Expr> {
        let date = self.expr(date)?;
        let amount = self.expr(amount)?;
        let unit = map_unit(unit);
        let whole_days = matches!(unit, Unit::Day | Unit::Week | Unit::Month | Unit::Quarter | Unit::Year | Unit::YearMonth);
        let micros = matches!(
            unit,
            Unit::Microsecond | Unit::SecondMicrosecond | Unit::MinuteMicrosecond | Unit::HourMicrosecond | Unit::DayMicrosecond
        );
        let of_amount = if unit == Unit::Second { string_amount_decimals(&amount) } else { 0 };
        let decimals = if micros { 6 } else { date.ty.decimals.min(6).max(of_amount) };
        let ty = match date.ty.kind {
            TypeKind::Date if whole_days => ColumnType::new(TypeKind::Date),
            TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => ColumnType::temporal(TypeKind::DateTime, decimals),
            TypeKind::Time if !whole_days => ColumnType::temporal(TypeKind::Time, decimals),
            TypeKind::Time => ColumnType::temporal(TypeKind::DateTime, decimals),
            // A string stays a string: with or without a time part as the value says.
            _ => typing::string(29, self.context.connection_collation()),
        };
        let kind = ExprKind::DateAdd { date: Box::new(date), amount: Box::new(amount), unit, negated };
        Ok(Expr { kind, ty: ColumnType { nullable: true, ..ty } })
    }

    #[inline(never)]
    fn function(&mut self, call: &ast::FunctionCall<'_>) -> Result<Expr> {
        let name = call.name.name.to_ascii_lowercase();
        if call.name.schema.is_some() {
            return Err(codes::sp_does_not_exist("FUNCTION", spelled(None, call.name.schema, call.name.name)));
        }
        match name.as_str() {
            "adddate" | "date_add" if call.args.len() == 2 => {
                return self.date_add(&call.args[0], &call.args[1], ast::IntervalUnit::Day, false);
            }
            "subdate" | "date_sub" if call.args.len() == 2 => {
                return self.date_add(&call.args[0], &call.args[1], ast::IntervalUnit::Day, true);
            }
            "values" if call.args.len() == 1 => {
                if let ast::ExprKind::Column(c) = call.args[0].kind {
                    return self.insert_value(c);
                }
            }
            "grouping" => return Err(codes::not_supported_yet("GROUPING")),
            _ if name.starts_with("json_") => return Err(codes::not_supported_yet("JSON")),
            _ if name.starts_with("st_") => return Err(codes::not_supported_yet("spatial functions")),
            _ => {}
        }
        let Some(info) = func::lookup(&name) else {
            let database = self.context.database().unwrap_or("");
            let shown = if database.is_empty() { call.name.name.to_owned() } else { format!("{database}.{}", call.name.name) };
            return Err(codes::sp_does_not_exist("FUNCTION", shown));
        };
        if call.args.len() < info.args_min || call.args.len() > info.args_max {
            return Err(SqlError::with_message(
                1582,
                format!("Incorrect parameter count in the call to native function '{}'", call.name.name),
            ));
        }
        if info.func.is_volatile() {
            self.note_volatile();
        }
        let args = self.exprs(call.args)?;
        if info.func == Func::Char {
            let charset = call.charset.map(charset_of).transpose()?;
            let collation = charset.map_or(Collation::Binary, Charset::default_collation);
            let ty = typing::string(4 * args.len() as u64, collation);
            return Ok(Expr { kind: ExprKind::Func(Func::Char, args), ty });
        }
        if matches!(info.func, Func::Charset | Func::CollationOf) {
            // Known from the argument's type; numbers and dates count as binary.
            let collation = if typing::is_string_class(&args[0].ty) { args[0].ty.collation } else { Collation::Binary };
            let name = if info.func == Func::Charset { collation.charset().name() } else { collation.name() };
            let ty = typing::string(64, self.context.connection_collation()).not_null();
            return Ok(Expr::literal(Value::from(name), ty));
        }
        self.typed_function(info.func, info.returns, args)
    }

    /// A function call with its result type.
    #[inline(never)]
    pub fn typed_function(&mut self, func: Func, returns: Returns, args: Vec<Expr>) -> Result<Expr> {
        let null = args.iter().any(|a| a.ty.nullable);
        let fraction = |at: usize| match args.get(at).map(|a| &a.kind) {
            Some(ExprKind::Literal(Value::Int(n))) => (*n).clamp(0, 6) as u8,
            _ => 0,
        };
        let arg_decimals = args.first().map_or(0, |a| a.ty.decimals.min(6));
        let string_decimals = args.first().map_or(0, self::string_decimals);
        let ty = match returns {
            Returns::Int => ColumnType { nullable: null, ..ColumnType::bigint() },
            Returns::UInt => ColumnType { nullable: null, ..ColumnType::bigint_unsigned() },
            Returns::Bool => bool_type(null && func != Func::IsNull),
            Returns::Double => ColumnType::double(),
            Returns::Binary => typing::string(self.string_chars(func, &args) * 4, Collation::Binary),
            Returns::Str => {
                let chars = self.string_chars(func, &args);
                let ty = self.string_result(&args, chars)?;
                ColumnType { nullable: true, ..ty }
            }
            Returns::Date => ColumnType::new(TypeKind::Date),
            Returns::Time => match func {
                Func::CurTime | Func::UtcTime => ColumnType::temporal(TypeKind::Time, fraction(0)).not_null(),
                Func::TimeDiff => ColumnType::temporal(TypeKind::Time, args.iter().map(self::string_decimals).max().unwrap_or(0)),
                Func::SecToTime if typing::is_string_class(&args[0].ty) => ColumnType::temporal(TypeKind::Time, 6),
                Func::SecToTime => ColumnType::temporal(TypeKind::Time, arg_decimals),
                _ => ColumnType::temporal(TypeKind::Time, string_decimals),
            },
            Returns::DateTime => match func {
                Func::Now | Func::SysDate | Func::UtcTimestamp => ColumnType::temporal(TypeKind::DateTime, fraction(0)).not_null(),
                _ => ColumnType::temporal(TypeKind::DateTime, string_decimals),
            },
            Returns::Number => self.number_type(&args[0].ty),
            Returns::Common => {
                let values: Vec<&Expr> = if func == Func::If { args[1..].iter().collect() } else { args.iter().collect() };
                let mut ty = self.common_type(values.iter().copied());
                ty.nullable = match func {
                    Func::IfNull | Func::Coalesce => args.iter().all(|a| a.ty.nullable),
                    _ => args.iter().any(|a| a.ty.nullable),
                };
                ty
            }
            Returns::Special => self.special_type(func, &args)?,
        };
        Ok(Expr { kind: ExprKind::Func(func, args), ty })
    }

    fn number_type(&self, ty: &ColumnType) -> ColumnType {
        match class(ty) {
            Class::Int => ColumnType { unsigned: ty.unsigned, nullable: ty.nullable, ..ColumnType::bigint() },
            Class::Decimal => ty.clone(),
            Class::Unknown | Class::Double | Class::String => ColumnType::double(),
            Class::DateTime | Class::Time => typing::arithmetic(ArithOp::Add, ty, &ColumnType::bigint(), DIV_INCREMENT),
        }
    }

    #[inline(never)]
    fn special_type(&mut self, func: Func, args: &[Expr]) -> Result<ColumnType> {
        let first = &args[0].ty;
        Ok(match func {
            Func::NullIf => ColumnType { nullable: true, ..first.clone() },
            Func::AnyValue => first.clone(),
            Func::Ceil | Func::Floor => match class(first) {
                Class::Int => self.number_type(first),
                Class::Decimal => ColumnType { nullable: first.nullable, ..ColumnType::bigint() },
                _ => ColumnType::double(),
            },
            Func::Round | Func::Truncate => {
                let digits = match args.get(1).map(|a| &a.kind) {
                    None => Some(0),
                    Some(ExprKind::Literal(Value::Int(n))) => Some(*n),
                    Some(_) => None,
                };
                let number = self.number_type(first);
                match (class(&number), digits) {
                    (Class::Decimal, Some(d)) => {
                        let (integer, scale) = typing::decimal_digits(&number);
                        let kept = d.clamp(0, i64::from(scale)) as u32;
                        ColumnType { nullable: first.nullable, ..typing::decimal(integer + u32::from(func == Func::Round), kept) }
                    }
                    _ => number,
                }
            }
            Func::Mod => typing::arithmetic(ArithOp::Mod, first, &args[1].ty, DIV_INCREMENT),
            Func::AddTime | Func::SubTime => match first.kind {
                TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => {
                    let decimals = first.decimals.max(string_decimals(&args[1]));
                    ColumnType { nullable: true, decimals, ..first.clone() }
                }
                _ => typing::string(29, self.context.connection_collation()),
            },
            Func::StrToDate => {
                let format = match &args[1].kind {
                    ExprKind::Literal(Value::Bytes(b)) => b.to_text().into_owned(),
                    ExprKind::Param(n) => match self.lifted(*n) {
                        Some(Value::Bytes(b)) => b.to_text().into_owned(),
                        _ => "%Y-%m-%d %H:%i:%s.%f".to_owned(),
                    },
                    _ => "%Y-%m-%d %H:%i:%s.%f".to_owned(),
                };
                let has = |set: &str| format.split('%').skip(1).any(|s| s.chars().next().is_some_and(|c| set.contains(c)));
                let date = has("aDdjMmUuVvWXxYybce");
                let time = has("fHhIiklprSsT");
                let micros = if has("f") { 6 } else { 0 };
                match (date, time) {
                    (true, false) => ColumnType::new(TypeKind::Date),
                    (false, true) => ColumnType::temporal(TypeKind::Time, micros),
                    _ => ColumnType::temporal(TypeKind::DateTime, micros),
                }
            }
            Func::UnixTimestamp => match args.first() {
                Some(a) if a.ty.decimals > 0 && class(&a.ty) == Class::DateTime => typing::decimal(11, u32::from(a.ty.decimals)),
                Some(a) if typing::is_string_class(&a.ty) && string_decimals(a) > 0 => typing::decimal(11, u32::from(string_decimals(a))),
                _ => ColumnType::bigint(),
            },
            Func::FromUnixtime if args.len() == 2 => typing::string(255, self.context.connection_collation()),
            Func::FromUnixtime => {
                let decimals = match class(first) {
                    Class::Decimal => first.decimals.min(6),
                    Class::Int => 0,
                    _ => 6,
                };
                ColumnType::temporal(TypeKind::DateTime, decimals)
            }
            _ => first.clone(),
        })
    }

    fn string_chars(&self, func: Func, args: &[Expr]) -> u64 {
        let len = |at: usize| args.get(at).map_or(0, |a| u64::from(typing::display_chars(&a.ty)));
        let total: u64 = (0..args.len()).map(len).sum();
        let number = |at: usize| match args.get(at).map(|a| &a.kind) {
            Some(ExprKind::Literal(Value::Int(n))) => Some((*n).max(0) as u64),
            _ => None,
        };
        match func {
            Func::Concat => total,
            Func::ConcatWs => total + len(0) * args.len() as u64,
            Func::Left | Func::Right => number(1).map_or(len(0), |n| n.min(len(0))),
            Func::Substring => number(2).map_or(len(0), |n| n.min(len(0))),
            Func::Hex | Func::Quote => len(0) * 8 + 2,
            Func::Md5 => 32,
            Func::Sha1 => 40,
            Func::Sha2 => 128,
            Func::Uuid => 36,
            Func::Repeat => number(1).map_or(16_383, |n| n.saturating_mul(len(0))),
            Func::LPad | Func::RPad => number(1).unwrap_or(16_383),
            Func::Space => number(0).unwrap_or(16_383),
            Func::Format => len(0) * 2 + 40,
            Func::Conv | Func::Bin | Func::Oct => 65,
            Func::DateFormat | Func::TimeFormat => 255,
            Func::DayName | Func::MonthName => 9,
            Func::Replace => len(0).saturating_mul(len(2).max(1)).min(16_383),
            Func::Elt => (1..args.len()).map(len).max().unwrap_or(0),
            Func::Database => 64,
            Func::User | Func::CurrentUser => 288,
            Func::Version => 60,
            Func::Insert => len(0) + len(3),
            Func::ToBase64 => len(0) * 6,
            Func::Charset | Func::CollationOf => 64,
            Func::InetNtoa => 31,
            _ => len(0).max(total.min(16_383)),
        }
    }

    fn string_result(&self, args: &[Expr], chars: u64) -> Result<ColumnType> {
        let any_binary = args.iter().any(|a| typing::is_string_class(&a.ty) && a.ty.collation == Collation::Binary);
        let strings: Vec<&Expr> = args.iter().filter(|a| typing::is_string_class(&a.ty)).collect();
        let collation = if strings.is_empty() {
            self.context.connection_collation()
        } else if any_binary {
            Collation::Binary
        } else {
            self.collation_of(&strings)?
        };
        Ok(ColumnType { nullable: args.iter().any(|a| a.ty.nullable), ..typing::string(chars, collation) })
    }

    #[inline(never)]
    fn aggregate(&mut self, call: &ast::AggregateCall<'_>) -> Result<Expr> {
        use ast::AggregateFn as F;
        if call.over.is_some() {
            return Err(codes::not_supported_yet("window functions"));
        }
        let kind = match call.func {
            F::Count if call.args.is_empty() => AggregateKind::CountStar,
            F::Count => AggregateKind::Count,
            F::Sum => AggregateKind::Sum,
            F::Avg => AggregateKind::Avg,
            F::Min => AggregateKind::Min,
            F::Max => AggregateKind::Max,
            F::GroupConcat => AggregateKind::GroupConcat,
            F::BitAnd => AggregateKind::BitAnd,
            F::BitOr => AggregateKind::BitOr,
            F::BitXor => AggregateKind::BitXor,
            F::StdPop => AggregateKind::StdPop,
            F::StdSamp => AggregateKind::StdSamp,
            F::VarPop => AggregateKind::VarPop,
            F::VarSamp => AggregateKind::VarSamp,
            F::JsonArrayAgg | F::JsonObjectAgg => return Err(codes::not_supported_yet("JSON")),
        };
        let Some(scope) = self.scopes.last_mut() else { return Err(codes::invalid_group_func_use()) };
        if !scope.aggregates_allowed || scope.in_aggregate {
            return Err(codes::invalid_group_func_use());
        }
        scope.in_aggregate = true;
        let clause = std::mem::replace(&mut scope.clause, Clause::Fields);
        let args = self.exprs(call.args);
        let order = args.and_then(|args| {
            let mut order = Vec::with_capacity(call.order_by.len());
            for item in call.order_by {
                let expr = match item.expr.kind {
                    ast::ExprKind::Literal(ast::Literal::Int(n)) if n >= 1 && (n as usize) <= args.len() => args[n as usize - 1].clone(),
                    _ => self.expr(&item.expr)?,
                };
                let collation = expr.ty.collation;
                order.push(crate::plan::SortKey { expr, descending: item.descending, collation });
            }
            Ok((args, order))
        });
        let scope = self.scope();
        scope.in_aggregate = false;
        scope.clause = clause;
        let (args, order) = order?;
        if args.iter().any(|a| a.any(&mut |e| matches!(e.kind, ExprKind::Subquery(..)))) && kind == AggregateKind::GroupConcat {
            // Allowed; evaluated like any other argument.
        }
        let first = args.first().map(|a| a.ty.clone()).unwrap_or_else(ColumnType::bigint);
        let ty = match kind {
            AggregateKind::CountStar | AggregateKind::Count => ColumnType::bigint().not_null(),
            AggregateKind::Sum => typing::sum(&first),
            AggregateKind::Avg => typing::avg(&first, DIV_INCREMENT),
            AggregateKind::Min | AggregateKind::Max | AggregateKind::AnyValue => ColumnType { nullable: true, ..first.clone() },
            AggregateKind::GroupConcat => {
                let collation = if typing::is_string_class(&first) { first.collation } else { self.context.connection_collation() };
                let kind = if collation == Collation::Binary { TypeKind::Blob } else { TypeKind::Text };
                ColumnType { collation, ..ColumnType::new(kind) }
            }
            AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor => ColumnType::bigint_unsigned().not_null(),
            _ => ColumnType::double(),
        };
        let collation = if typing::is_string_class(&first) { first.collation } else { Collation::Binary };
        let separator = match call.separator {
            Some(s) => String::from_utf8_lossy(s).into_owned(),
            None => ",".to_owned(),
        };
        let aggregate = Aggregate { kind, distinct: call.distinct, args, ty: ty.clone(), collation, order, separator: separator.into() };
        // The same aggregate written twice is computed once.
        let text = format!("{aggregate:?}");
        if let Some((slot, _)) = self.scope().aggregates.iter().find(|(_, a)| format!("{a:?}") == text) {
            return Ok(Expr::slot(*slot, ty));
        }
        let slot = self.new_slot(ty.clone());
        self.scope().aggregates.push((slot, aggregate));
        Ok(Expr::slot(slot, ty))
    }

    #[inline(never)]
    fn default_of(&mut self, column: &ast::ColumnRef<'_>) -> Result<Expr> {
        let resolved = self.resolve_column(column.schema, column.table, column.column)?;
        let ExprKind::Slot(slot) = resolved.kind else { return Err(codes::bad_field_error(column.column, "field list")) };
        for scope in self.scopes.iter().rev() {
            for relation in &scope.relations {
                if let crate::binder::Source::Base(table) = relation.source
                    && let Some(at) = relation.slots.iter().position(|s| *s == Some(slot))
                {
                    let table = self.tables[table as usize].clone();
                    return Ok(crate::dml::default_expr(&table.def.columns[at]));
                }
            }
        }
        Err(codes::bad_field_error(column.column, "field list"))
    }

    #[inline(never)]
    fn insert_value(&mut self, column: &ast::ColumnRef<'_>) -> Result<Expr> {
        let Some((table, first)) = self.insert_row else {
            // Outside ON DUPLICATE KEY UPDATE, VALUES(col) is NULL.
            self.resolve_column(column.schema, column.table, column.column)?;
            return Ok(Expr::literal(Value::Null, ColumnType::new(TypeKind::Null)));
        };
        let table = self.tables[table as usize].clone();
        match table.def.columns.iter().position(|c| c.name.eq_ignore_ascii_case(column.column)) {
            Some(at) => Ok(Expr::slot(first + at as u32, table.def.columns[at].ty.clone())),
            None => Err(codes::bad_field_error(column.column, "field list")),
        }
    }
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

/// Fraction digits that an amount of seconds brings: its scale, six for strings and doubles.
fn string_amount_decimals(e: &Expr) -> u8 {
    match class(&e.ty) {
        Class::Decimal => e.ty.decimals.min(6),
        Class::Int => 0,
        _ => 6,
    }
}

/// Fraction digits of a temporal value made of an argument: those of a constant's text, six of any other string.
fn string_decimals(e: &Expr) -> u8 {
    match &e.kind {
        ExprKind::Literal(Value::Bytes(text)) => fraction_digits(text),
        _ if typing::is_string_class(&e.ty) => 6,
        _ => e.ty.decimals.min(6),
    }
}

/// `INT(1)`, the type of conditions.
pub fn bool_type(nullable: bool) -> ColumnType {
    ColumnType { nullable, length: 1, ..ColumnType::bigint() }
}

/// A conjunction or disjunction, flattened.
pub fn logic(make: fn(Vec<Expr>) -> ExprKind, mut list: Vec<Expr>) -> Expr {
    if list.len() == 1 {
        return list.remove(0);
    }
    let null = list.iter().any(|e| e.ty.nullable);
    Expr { kind: make(list), ty: bool_type(null) }
}

/// `NOT a`, pushed into what has a negated form.
pub fn not(a: Expr) -> Expr {
    let ty = bool_type(a.ty.nullable);
    let kind = match a.kind {
        ExprKind::IsNull { operand, negated } => ExprKind::IsNull { operand, negated: !negated },
        ExprKind::IsTruth { operand, truth, negated } => ExprKind::IsTruth { operand, truth, negated: !negated },
        ExprKind::Between { operand, low, high, negated, collation } => {
            ExprKind::Between { operand, low, high, negated: !negated, collation }
        }
        ExprKind::InList { operand, list, negated, collation } => ExprKind::InList { operand, list, negated: !negated, collation },
        ExprKind::InRows { operand, list, negated, collations } => ExprKind::InRows { operand, list, negated: !negated, collations },
        ExprKind::Like { operand, pattern, escape, negated, collation } => {
            ExprKind::Like { operand, pattern, escape, negated: !negated, collation }
        }
        ExprKind::Compare(op, collation, l, r) if op.negated().is_some() => {
            ExprKind::Compare(op.negated().expect("checked"), collation, l, r)
        }
        ExprKind::Subquery(n, mut kind) => {
            match &mut *kind {
                SubqueryKind::Exists { negated } | SubqueryKind::In { negated, .. } => *negated = !*negated,
                _ => return Expr { kind: ExprKind::Not(Box::new(Expr { kind: ExprKind::Subquery(n, kind), ty: ty.clone() })), ty },
            }
            ExprKind::Subquery(n, kind)
        }
        kind => ExprKind::Not(Box::new(Expr { kind, ty: a.ty })),
    };
    Expr { kind, ty }
}

/// `a op b`.
pub fn compare_expr(op: CmpOp, collation: Collation, a: Expr, b: Expr) -> Expr {
    let null = op != CmpOp::NullSafeEq && (a.ty.nullable || b.ty.nullable);
    Expr { kind: ExprKind::Compare(op, collation, Box::new(a), Box::new(b)), ty: bool_type(null) }
}

/// A string constant compared with a temporal column is converted once, here.
fn temporal_constant(constant: Expr, other: &Expr) -> Expr {
    let ExprKind::Literal(Value::Bytes(bytes)) = &constant.kind else { return constant };
    if !matches!(other.kind, ExprKind::Slot(_)) {
        return constant;
    }
    match other.ty.kind {
        TypeKind::Date | TypeKind::DateTime => match types::parse_datetime(bytes, SqlMode::NONE) {
            Some(at) if other.ty.kind == TypeKind::Date && at.micros_of_day() == 0 => {
                Expr::literal(Value::Date(at.date()), ColumnType::new(TypeKind::Date).not_null())
            }
            Some(at) => Expr::literal(Value::DateTime(at), ColumnType::temporal(TypeKind::DateTime, 6).not_null()),
            None => constant,
        },
        _ => constant,
    }
}

fn comparison(op: ast::BinaryOp) -> CmpOp {
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

fn map_unit(unit: ast::IntervalUnit) -> Unit {
    use ast::IntervalUnit as I;
    match unit {
        I::Microsecond => Unit::Microsecond,
        I::Second => Unit::Second,
        I::Minute => Unit::Minute,
        I::Hour => Unit::Hour,
        I::Day => Unit::Day,
        I::Week => Unit::Week,
        I::Month => Unit::Month,
        I::Quarter => Unit::Quarter,
        I::Year => Unit::Year,
        I::SecondMicrosecond => Unit::SecondMicrosecond,
        I::MinuteMicrosecond => Unit::MinuteMicrosecond,
        I::MinuteSecond => Unit::MinuteSecond,
        I::HourMicrosecond => Unit::HourMicrosecond,
        I::HourSecond => Unit::HourSecond,
        I::HourMinute => Unit::HourMinute,
        I::DayMicrosecond => Unit::DayMicrosecond,
        I::DaySecond => Unit::DaySecond,
        I::DayMinute => Unit::DayMinute,
        I::DayHour => Unit::DayHour,
        I::YearMonth => Unit::YearMonth,
    }
}

fn fraction(ty: &ast::DataType<'_>) -> Result<u8> {
    let digits = ty.length.unwrap_or(0);
    if digits > 6 { Err(codes::too_big_precision(digits, "CAST", 6)) } else { Ok(digits as u8) }
}

fn fraction_digits(text: &[u8]) -> u8 {
    match text.iter().position(|b| *b == b'.') {
        Some(at) => text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count().min(6) as u8,
        None => 0,
    }
}

fn charset_of(name: &str) -> Result<Charset> {
    // utf8mb3 text is utf8mb4 text; `utf8` is its old name.
    if ["utf8", "utf8mb3"].iter().any(|n| n.eq_ignore_ascii_case(name)) {
        return Ok(Charset::Utf8mb4);
    }
    Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))
}

fn invalid_text(charset: &str, bytes: &[u8]) -> SqlError {
    let bad = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), |_| 0);
    let shown: String = bytes[bad..].iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
    codes::invalid_character_string(charset, shown)
}
