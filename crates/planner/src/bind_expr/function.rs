//! Calls of scalar functions and the types of their results.

use crate::bind_expr::operator::{operand_type, string_decimals};
use crate::binder::{Binder, Result};
use crate::charsets;
use crate::conditions::bool_type;
use crate::conditions::{is_moment_column, temporal_constant};
use crate::expr::{ArithOp, CastTo, Expr, ExprKind};
use crate::func::{self, Family, Func, Returns};
use crate::members::{is_text_moment, member_number, numbers_beside_numbers, replace, text_number};
use crate::typing::{self, Class, class};
use crate::widths;
use mysql_error::{SqlError, codes};
use parser::ast;
use types::{Charset, Collation, ColumnType, DECIMALS_NOT_FIXED, TypeKind, Value};

/// FLOOR and CEILING of a decimal with more digits than these stay decimals.
const DIGITS_OF_WHOLE: u32 = 18;

impl<'c> Binder<'c> {
    #[inline(never)]
    pub(super) fn function(&mut self, call: &ast::FunctionCall<'_>) -> Result<Expr> {
        let name = call.name.name.to_ascii_lowercase();
        if let Some(schema) = call.name.schema {
            return self.stored_function(schema, call);
        }
        if call.stored {
            return self.stored_function(self.current_database()?, call);
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
            "grouping" => return self.grouping(call.args),
            ast::AT_TIME_ZONE => return self.at_time_zone(call.args),
            _ if name.starts_with("st_") => return Err(codes::not_supported_yet("spatial functions")),
            _ => {}
        }
        let found = func::lookup(&name).filter(|info| match info.func {
            Func::QueryAttribute => self.context.has_query_attributes(),
            func => !func.is_of_sys(),
        });
        let Some(info) = found else {
            return self.stored_function(self.current_database()?, call);
        };
        let pairs = match info.func {
            Func::JsonObject => call.args.len().is_multiple_of(2),
            Func::JsonSet | Func::JsonInsert | Func::JsonReplace | Func::JsonArrayAppend | Func::JsonArrayInsert => {
                call.args.len() % 2 == 1
            }
            _ => true,
        };
        if !pairs || call.args.len() < info.args_min || call.args.len() > info.args_max {
            return Err(SqlError::with_message(
                1582,
                format!("Incorrect parameter count in the call to native function '{}'", call.name.name),
            ));
        }
        if info.func.is_volatile() {
            self.note_volatile();
        }
        self.assigns_insert_id |= info.func == Func::LastInsertId && !call.args.is_empty();
        self.differs_elsewhere |= info.func.differs_elsewhere();
        if info.func == Func::FoundRows {
            self.warn_deprecated("FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) instead.");
        }
        if info.func.is_json() {
            if name == "json_merge" {
                self.warnings.push(codes::warn_deprecated_syntax("JSON_MERGE", "JSON_MERGE_PRESERVE/JSON_MERGE_PATCH").into());
            }
            let args = match info.func {
                // What names are made of is text: there TRUE is the number 1.
                Func::JsonObject => self.names_and_documents(call.args)?,
                _ => self.document_args(call.args)?,
            };
            return self.document_function(info.func, info.returns, args);
        }
        let mut args = match info.func {
            // Its arguments are numbers, also those in hexadecimal.
            Func::Char => call.args.iter().map(|arg| self.number(arg)).collect::<Result<Vec<_>>>()?,
            _ => self.exprs(call.args)?,
        };
        if let (Func::NullIf, [_, other]) = (info.func, call.args)
            && args[0].ty.kind == TypeKind::Json
        {
            replace(&mut args[1], |bound| self.document_operand(bound, other));
        }
        if let (Func::NullIf, [first, second]) = (info.func, call.args) {
            self.note_moment_numbers((&args[0], first), (&args[1], second));
            if is_moment_column(&args[0]) || args[0].ty.is_year_column() {
                let other = args.remove(1);
                args.push(temporal_constant(other, &args[0]));
            }
        }
        if let (Func::If, [condition, ..]) = (info.func, call.args) {
            replace(&mut args[0], |bound| self.as_choice(bound, condition));
        }
        if info.func == Func::WeightString && !args.is_empty() {
            charsets::weighed(&mut args, call.charset)?;
        }
        if info.func == Func::Char {
            let charset = call.charset.map(|name| charsets::named_charset(self, name)).transpose()?;
            let collation = charset.map_or(Collation::Binary, Charset::default_collation);
            let of = if collation.charset().is_utf8_bytes() { collation } else { Collation::Binary };
            let ty = typing::string(4 * args.len() as u64, of);
            return Ok(charsets::converted(Expr { kind: ExprKind::Func(Func::Char, args), ty }, collation));
        }
        if matches!(info.func, Func::Charset | Func::CollationOf) {
            // Known from the argument's type; numbers, dates and columns of documents count as binary.
            let is_column = matches!(args[0].kind, ExprKind::Slot(_));
            let is_text = typing::is_string_class(&args[0].ty) && !(is_column && args[0].ty.kind == TypeKind::Json);
            let collation = if is_text { args[0].ty.collation } else { Collation::Binary };
            let name = if info.func == Func::Charset { collation.charset().name() } else { collation.name() };
            let ty = typing::string(64, self.connection_collation()).not_null();
            return Ok(Expr::literal(Value::from(name), ty));
        }
        let of_text = args.first().is_some_and(|arg| typing::is_string_class(&arg.ty));
        let typed = self.typed_function(info.func, info.returns, args)?;
        if self.views.names.is_some() && matches!(info.func, Func::TimeOf | Func::Timestamp) {
            self.note_digits(call, if of_text { 6 } else { typed.ty.decimals });
        }
        Ok(typed)
    }

    /// The database in which a function is looked for.
    fn current_database(&self) -> Result<&'c str> {
        self.context.database().filter(|database| !database.is_empty()).ok_or_else(codes::no_db_error)
    }

    /// A function call with its result type.
    #[inline(never)]
    pub fn typed_function(&mut self, func: Func, returns: Returns, mut args: Vec<Expr>) -> Result<Expr> {
        for (at, arg) in args.iter_mut().enumerate().filter(|(_, arg)| arg.ty.kind == TypeKind::Bit) {
            if charsets::takes_string(func, at) {
                replace(arg, charsets::bits_as_bytes);
            }
        }
        if matches!(func, Func::RegexpLike | Func::RegexpInstr | Func::RegexpReplace | Func::RegexpSubstr) {
            refuse_mixed_bytes(func, &args[0], &args[1])?;
            if func == Func::RegexpReplace {
                refuse_mixed_bytes(func, &args[0], &args[2])?;
            }
        }
        if func == Func::Coercibility {
            let rank = match &args[0].kind {
                ExprKind::Literal(Value::Null) => typing::IGNORABLE,
                // Also where it is a number.
                ExprKind::UserVariable(_) => typing::IMPLICIT,
                ExprKind::Slot(_) if args[0].ty.kind == TypeKind::Bit => typing::IMPLICIT,
                _ if !typing::is_string_class(&args[0].ty) && args[0].ty.kind != TypeKind::Null => 5,
                ExprKind::Slot(_) => self.coercibility_within(&args[0]),
                _ => typing::coercibility_in_union(&args[0]),
            };
            return Ok(Expr::literal(Value::Int(i64::from(rank)), ColumnType { length: 10, ..ColumnType::bigint() }.not_null()));
        }
        match func {
            Func::Field => numbers_beside_numbers(&mut args),
            Func::Interval => {
                args.iter_mut()
                    .filter(|arg| typing::is_string_class(&arg.ty))
                    .for_each(|arg| replace(arg, |e| text_number(member_number(e))));
            }
            _ => {}
        }
        if matches!(func, Func::StrCmp | Func::FindInSet) {
            let collation = self.collation_for(&[&args[0], &args[1]], func.name())?;
            charsets::under(collation, &mut args);
        }
        if matches!(func, Func::Instr | Func::Locate) {
            // Bytes are looked for in a text as text.
            let (within, sought) = if func == Func::Instr { (0, 1) } else { (1, 0) };
            let collation = match class(&args[within].ty) {
                Class::String => args[within].ty.collation,
                _ => self.connection_collation(),
            };
            replace(&mut args[sought], |e| charsets::text_of_bytes(e, collation));
        }
        if matches!(func, Func::NullIf | Func::RegexpLike) {
            self.collation_for(&[&args[0], &args[1]], func.name())?;
        }
        // The value of a hexadecimal literal has no base of its own.
        if func == Func::Conv && args[0].ty.unsigned && matches!(args[0].kind, ExprKind::Literal(Value::Bytes(_))) {
            let ten = Expr::literal(Value::Int(10), ColumnType::bigint().not_null());
            let literal = std::mem::replace(&mut args[0], ten.clone());
            args[0] = member_number(literal);
            args[1] = ten;
        }
        for (at, arg) in args.iter_mut().enumerate() {
            let members = typing::has_members(&arg.ty);
            if (arg.ty.unsigned || members || is_text_moment(arg)) && wants_number(func, at, members) {
                let placeholder = Expr::literal(Value::Null, ColumnType::new(TypeKind::Null));
                *arg = member_number(std::mem::replace(arg, placeholder));
            }
        }
        let mut of_moment = None;
        if matches!(func, Func::Abs | Func::Ceil | Func::Floor | Func::Round | Func::Truncate)
            && matches!(class(&args[0].ty), Class::DateTime | Class::Time)
        {
            let (number, ty) = moment_number(args.remove(0));
            of_moment = Some(ty);
            args.insert(0, number);
        }
        let of_bytes = args.iter_mut().enumerate().filter(|(at, _)| charsets::takes_bytes(func, *at));
        of_bytes.for_each(|(_, arg)| replace(arg, charsets::as_bytes));
        let null = args.iter().any(|a| a.ty.nullable);
        let fraction = |at: usize| match args.get(at).map(|a| &a.kind) {
            Some(ExprKind::Literal(Value::Int(n))) => (*n).clamp(0, 6) as u8,
            _ => 0,
        };
        let arg_decimals = args.first().map_or(0, |a| a.ty.decimals.min(6));
        let string_decimals = args.first().map_or(0, self::string_decimals);
        let ty = match returns {
            Returns::Int | Returns::UInt => {
                let nullable = match func {
                    Func::Field | Func::Interval => false,
                    _ => null || widths::may_be_null(func),
                };
                ColumnType { nullable, ..widths::whole(widths::of_function(func), returns == Returns::UInt) }
            }
            Returns::Bool => bool_type(null && func != Func::IsNull),
            Returns::Double => ColumnType::double(),
            Returns::Binary => typing::string(self.string_chars(func, &args) * 4, Collation::Binary),
            Returns::Str => {
                if func == Func::Quote {
                    // As MySQL, of which it is text whatever is quoted.
                    let text = self.connection_collation();
                    replace(&mut args[0], |e| charsets::text_of_bytes(e, text));
                }
                let chars = self.string_chars(func, &args);
                // What these say of bytes is text.
                let own = charsets::makes_own_text(func);
                let ty = self.string_result(func, if own { &[] } else { &args[..] }, chars)?;
                if !own {
                    charsets::joined(func, ty.collation, &mut args);
                }
                ColumnType { nullable: true, ..ty }
            }
            Returns::Date => ColumnType::new(TypeKind::Date),
            Returns::Time => match func {
                Func::CurTime | Func::UtcTime => ColumnType::temporal(TypeKind::Time, fraction(0)).not_null(),
                Func::TimeDiff => ColumnType::temporal(TypeKind::Time, args.iter().map(self::string_decimals).max().unwrap_or(0)),
                Func::MakeTime => {
                    let decimals = match typing::class(&args[2].ty) {
                        typing::Class::Int => 0,
                        Class::Decimal | Class::DateTime | Class::Time => args[2].ty.decimals.min(6),
                        _ => 6,
                    };
                    ColumnType::temporal(TypeKind::Time, decimals)
                }
                Func::SecToTime if typing::is_string_class(&args[0].ty) => ColumnType::temporal(TypeKind::Time, 6),
                Func::SecToTime => ColumnType::temporal(TypeKind::Time, arg_decimals),
                _ => ColumnType::temporal(TypeKind::Time, string_decimals),
            },
            Returns::DateTime => match func {
                Func::Timestamp => ColumnType::temporal(TypeKind::DateTime, args.iter().map(self::string_decimals).max().unwrap_or(0)),
                Func::Now | Func::SysDate | Func::UtcTimestamp => ColumnType::temporal(TypeKind::DateTime, fraction(0)).not_null(),
                _ => ColumnType::temporal(TypeKind::DateTime, string_decimals),
            },
            Returns::Number if func == Func::Abs && class(&args[0].ty) == Class::Double && of_moment.is_none() => {
                let ColumnType { decimals, nullable, .. } = args[0].ty;
                ColumnType { length: if decimals < DECIMALS_NOT_FIXED { 22 } else { 0 }, decimals, nullable, ..ColumnType::double() }
            }
            Returns::Number if func == Func::Abs && class(&args[0].ty) == Class::Int => {
                let ColumnType { unsigned, nullable, .. } = args[0].ty;
                ColumnType { nullable, ..widths::whole(typing::display_chars(&args[0].ty), unsigned) }
            }
            Returns::Number => of_moment.unwrap_or_else(|| self.number_type(&args[0].ty)),
            Returns::Common => {
                let first = usize::from(func == Func::If);
                charsets::bits_beside_text(args.iter_mut().skip(first));
                let mut ty = self.common_type(args[first..].iter(), func.name())?;
                if typing::is_string_class(&ty) {
                    let values = args.iter_mut().skip(first);
                    values.for_each(|e| replace(e, |e| charsets::text_of_bytes(e, ty.collation)));
                }
                ty.nullable = match func {
                    Func::IfNull | Func::Coalesce => args.iter().all(|a| a.ty.nullable),
                    // A condition that is NULL is false.
                    Func::If => args[1..].iter().any(|a| a.ty.nullable),
                    _ => args.iter().any(|a| a.ty.nullable),
                };
                ty
            }
            Returns::Json => ColumnType::new(TypeKind::Json),
            Returns::Special => self.special_type(func, &args)?,
        };
        Ok(Expr { kind: ExprKind::Func(func, args), ty })
    }

    fn number_type(&self, ty: &ColumnType) -> ColumnType {
        match class(ty) {
            Class::Int => ColumnType { nullable: ty.nullable, ..widths::whole(widths::ANY, ty.unsigned) },
            Class::Decimal => ty.clone(),
            Class::Unknown | Class::Double | Class::String => ColumnType::double(),
            Class::DateTime | Class::Time => {
                typing::arithmetic(ArithOp::Add, ty, &ColumnType::bigint(), self.context.div_precision_increment())
            }
        }
    }

    #[inline(never)]
    fn special_type(&mut self, func: Func, args: &[Expr]) -> Result<ColumnType> {
        if func == Func::Pi {
            return Ok(ColumnType { length: 8, decimals: 6, ..ColumnType::double() }.not_null());
        }
        // UNIX_TIMESTAMP() is the only other one that may have none.
        let Some(Expr { ty: first, .. }) = args.first() else { return Ok(widths::whole(widths::ANY, false).not_null()) };
        Ok(match func {
            Func::NullIf => ColumnType { nullable: true, ..typing::unfilled(first) },
            Func::AnyValue => typing::unfilled(first),
            Func::YearOperand
            | Func::MomentOperand
            | Func::NoDocument
            | Func::WholeOperand
            | Func::DecimalOperand
            | Func::TextOfBytes
            | Func::BareZero
            | Func::JsonNamed => first.clone(),
            Func::WholeText => typing::whole_text(first.nullable),
            Func::TextMoment => ColumnType { nullable: first.nullable, ..ColumnType::double() },
            Func::YearMoment => ColumnType { nullable: first.nullable, ..ColumnType::temporal(TypeKind::DateTime, 0) },
            Func::Year => ColumnType::year_number(),
            Func::JsonType => typing::string(17, Collation::Utf8mb4Bin),
            Func::JsonValue => args[5].ty.clone(),
            Func::JsonQuote => typing::string(6 * u64::from(typing::display_chars(first)) + 2, Collation::Utf8mb4Bin),
            Func::JsonUnquote => typing::string(u64::from(typing::display_chars(first)), Collation::Utf8mb4Bin),
            Func::AesEncrypt => {
                let bytes = 4 * u64::from(typing::display_chars(first));
                typing::string(bytes / 16 * 16 + 16, Collation::Binary)
            }
            Func::AesDecrypt => typing::string(u64::from(typing::display_chars(first)), Collation::Binary),
            Func::Compress => typing::string(24 * u64::from(typing::display_chars(first)) / 5 + 16, Collation::Binary),
            Func::LoadFile | Func::Uncompress => ColumnType { collation: Collation::Binary, ..ColumnType::new(TypeKind::LongBlob) },
            Func::StatementDigest | Func::StatementDigestText => self.digest_type(func, args)?,
            Func::JsonPretty => ColumnType { collation: Collation::Utf8mb4Bin, ..ColumnType::new(TypeKind::LongText) },
            Func::Ceil | Func::Floor => match class(first) {
                Class::Int => self.number_type(first),
                Class::Decimal => {
                    let (digits, scale) = typing::decimal_digits(first);
                    let digits = digits + u32::from(scale > 0);
                    let whole = if digits > DIGITS_OF_WHOLE { typing::decimal(digits, 0) } else { widths::whole(widths::ANY, false) };
                    ColumnType { nullable: first.nullable, ..whole }
                }
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
            Func::Mod => {
                typing::arithmetic(ArithOp::Mod, &operand_type(&args[0]), &operand_type(&args[1]), self.context.div_precision_increment())
            }
            Func::AddTime | Func::SubTime => match first.kind {
                TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => {
                    let kind = if first.kind == TypeKind::Time { TypeKind::Time } else { TypeKind::DateTime };
                    ColumnType::temporal(kind, first.decimals.max(string_decimals(&args[1])))
                }
                _ => typing::temporal_string(self.connection_collation()),
            },
            Func::StrToDate => {
                let format = match &args[1].kind {
                    ExprKind::Literal(Value::Bytes(b)) => b.to_text().into_owned(),
                    ExprKind::Param(n) => {
                        self.by_value(*n)?;
                        "%Y-%m-%d %H:%i:%s.%f".to_owned()
                    }
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
                Some(a) if a.ty.decimals > 0 && matches!(class(&a.ty), Class::DateTime | Class::Time | Class::Decimal) => {
                    typing::decimal(11, u32::from(a.ty.decimals.min(6)))
                }
                // What is no date shows all digits.
                Some(Expr { kind: ExprKind::Literal(Value::Bytes(text)), .. })
                    if types::parse_datetime(text, types::SqlMode::NONE).is_none() =>
                {
                    typing::decimal(11, 6)
                }
                Some(a) if typing::is_string_class(&a.ty) && string_decimals(a) > 0 => typing::decimal(11, u32::from(string_decimals(a))),
                _ => ColumnType { nullable: first.nullable, ..widths::whole(widths::ANY, false) },
            },
            Func::FromUnixtime if args.len() == 2 => typing::string(255, self.connection_collation()),
            Func::FromUnixtime => {
                let decimals = match class(first) {
                    Class::Decimal | Class::DateTime | Class::Time => first.decimals.min(6),
                    Class::Int => 0,
                    _ => 6,
                };
                ColumnType::temporal(TypeKind::DateTime, decimals)
            }
            _ => first.clone(),
        })
    }

    /// A digest is text of the statement's character set; the text of a statement is no bytes (3987).
    fn digest_type(&self, func: Func, args: &[Expr]) -> Result<ColumnType> {
        let statement = &args[0].ty;
        if typing::is_string_class(statement) && statement.collation == Collation::Binary {
            let message = format!("The function {} does not support the character set 'binary'.", func.name());
            return Err(SqlError::with_message(3987, message));
        }
        let ty = self.string_result(func, args, 64)?;
        let collation = if statement.kind == TypeKind::Null { Collation::Binary } else { ty.collation };
        Ok(match func {
            Func::StatementDigest => ColumnType { nullable: true, collation, ..ty },
            _ if collation == Collation::Binary => ColumnType { collation, ..ColumnType::new(TypeKind::LongBlob) },
            _ => ColumnType { collation, ..ColumnType::new(TypeKind::LongText) },
        })
    }

    /// Most characters that a function's result has.
    fn string_chars(&self, func: Func, args: &[Expr]) -> u64 {
        // Among bytes text counts by its bytes.
        let in_bytes = args.iter().any(charsets::is_bytes);
        let length = |a: &Expr| u64::from(if in_bytes { typing::display_bytes(&a.ty) } else { typing::display_chars(&a.ty) });
        let len = |at: usize| args.get(at).map_or(0, length);
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
            // By the constant that names the digest: what names none is as 256.
            Func::Sha2 => match (number(1), args.get(1).map(|a| &a.kind)) {
                (Some(224), _) => 56,
                (Some(384), _) => 96,
                (Some(512), _) => 128,
                (_, Some(ExprKind::Literal(_))) => 64,
                _ => 128,
            },
            Func::Uuid => 36,
            Func::Repeat => number(1).map_or(ANY_CHARS, |n| n.saturating_mul(len(0))),
            Func::LPad | Func::RPad => number(1).unwrap_or(ANY_CHARS),
            Func::Space => number(0).unwrap_or(ANY_CHARS),
            Func::MakeSet => total - len(0) + args.len().saturating_sub(2) as u64,
            Func::ExportSet => 64 * len(1).max(len(2)) + 63 * if args.len() > 3 { len(3) } else { 1 },
            Func::Format => len(0) * 2 + 40,
            Func::Conv | Func::Bin | Func::Oct => 65,
            Func::DateFormat | Func::TimeFormat => 255,
            Func::DayName => self.context.name_chars().0,
            Func::MonthName => self.context.name_chars().1,
            Func::Replace => len(0).saturating_mul(len(2).max(1)),
            Func::Elt => (1..args.len()).map(len).max().unwrap_or(0),
            Func::Database => 64,
            Func::User | Func::CurrentUser => 288,
            Func::Version => 60,
            Func::Insert => len(0) + len(3),
            Func::ToBase64 => len(0) * 6,
            Func::Charset | Func::CollationOf => 64,
            Func::InetNtoa => 31,
            Func::Inet6Ntoa => 39,
            Func::BinToUuid => 36,
            Func::FormatBytes | Func::FormatPicoTime | Func::GetFormat => 17,
            Func::Inet6Aton | Func::UuidToBin => 4,
            Func::RandomBytes => 256,
            Func::CurrentRole => 16_383,
            Func::QueryAttribute => 1024,
            _ => len(0).max(total.min(16_383)),
        }
    }

    /// The type of the text that a function makes of its arguments.
    pub(super) fn string_result(&self, func: Func, args: &[Expr], chars: u64) -> Result<ColumnType> {
        let strings = args.iter().enumerate().filter(|(at, e)| typing::is_string_class(&e.ty) && charsets::decides(func, *at));
        let mut strings: Vec<&Expr> = strings.map(|(_, e)| e).collect();
        let changes_first = charsets::changes_first(func);
        if strings.iter().any(|e| charsets::is_bytes(e)) {
            let as_text = if changes_first { !charsets::is_bytes(&args[0]) } else { self.text_beats_bytes(strings.iter().copied()) };
            strings.retain(|e| as_text != charsets::is_bytes(e));
        }
        let first_is_text = args.first().is_some_and(|e| typing::is_string_class(&e.ty));
        let operation = if matches!(func, Func::LTrim | Func::RTrim) { Func::Trim.name() } else { func.name() };
        let collation = if strings.is_empty() || changes_first && !first_is_text {
            self.connection_collation()
        } else if charsets::is_bytes(strings[0]) {
            Collation::Binary
        } else {
            match self.collation_for(&strings, operation) {
                Err(_) if changes_first => args[0].ty.collation,
                merged => self.joined_collation(merged, &strings)?,
            }
        };
        Ok(ColumnType { nullable: args.iter().any(|a| a.ty.nullable), ..typing::string(chars, collation) })
    }
}

/// A date or time as the floating number that it is to the minus sign, ABS, ROUND and their like, and the type of what they make: it shows the digits of
/// the fraction.
pub(super) fn moment_number(moment: Expr) -> (Expr, ColumnType) {
    let ColumnType { decimals, nullable, .. } = moment.ty;
    let number = Expr { kind: ExprKind::Cast(Box::new(moment), CastTo::Double), ty: ColumnType { nullable, ..ColumnType::double() } };
    (number, ColumnType { length: 22, decimals, nullable, ..ColumnType::double() })
}

/// Whether the argument at this place counts as a number, so that ENUM, SET and hexadecimal literals do.
fn wants_number(func: Func, at: usize, members: bool) -> bool {
    use Func as F;
    match func {
        F::Crc32 => false,
        F::Conv | F::RegexpInstr | F::RegexpReplace | F::RegexpSubstr => at > 0 && is_position(func, at) && !members,
        F::Bin | F::Oct => at == 0 && !members,
        F::BitCount | F::If | F::Elt | F::MakeSet | F::InetNtoa | F::Space => at == 0,
        F::ExportSet => at == 0 || at == 4,
        F::Sha2 => at == 1,
        F::Char | F::Interval | F::MakeDate | F::MakeTime | F::PeriodAdd | F::PeriodDiff => true,
        F::FromDays | F::SecToTime | F::FromUnixtime | F::FormatBytes | F::FormatPicoTime => at == 0,
        F::Left | F::Right | F::Substring | F::Repeat | F::LPad | F::RPad | F::Week | F::YearWeek => at > 0 && at < 3 && !pads(func, at),
        F::SubstringIndex | F::Locate => at == 2,
        F::Insert => at == 1 || at == 2,
        F::Format => at < 2,
        _ => func.family() == Family::Numbers,
    }
}

/// Whether CONV's base or a position or count of a regular expression's function is at this place.
fn is_position(func: Func, at: usize) -> bool {
    match func {
        Func::Conv => at < 3,
        Func::RegexpInstr => (2..5).contains(&at),
        Func::RegexpReplace => (3..5).contains(&at),
        _ => (2..4).contains(&at),
    }
}

/// Characters of a text whose length is not known: it is a LONGTEXT.
const ANY_CHARS: u64 = u32::MAX as u64;

/// The text that LPAD and RPAD fill with.
fn pads(func: Func, at: usize) -> bool {
    matches!(func, Func::LPad | Func::RPad) && at == 2
}

/// 3995: a regular expression is about text or about bytes, and so is what it is matched with; a BLOB or BINARY column may be either (not where it is
/// replaced), and so may a user variable.
fn refuse_mixed_bytes(func: Func, subject: &Expr, pattern: &Expr) -> Result<()> {
    use TypeKind as K;
    let is_slot = |e: &Expr| matches!(e.kind, ExprKind::Slot(_)) && func != Func::RegexpReplace;
    let is_bytes = |e: &Expr| is_slot(e) && matches!(e.ty.kind, K::Bit | K::Binary | K::TinyBlob | K::Blob | K::MediumBlob | K::LongBlob);
    let may_be_either = |e: &Expr| match &e.kind {
        ExprKind::Cast(bits, CastTo::Binary { .. }) => is_bytes(bits) && bits.ty.kind == K::Bit,
        ExprKind::UserVariable(_) => true,
        _ => is_bytes(e),
    };
    if may_be_either(subject) || may_be_either(pattern) {
        return Ok(());
    }
    let (subject, pattern) = (&subject.ty, &pattern.ty);
    let (a, b) = (subject.collation, pattern.collation);
    if typing::is_string_class(subject) && typing::is_string_class(pattern) && (a == Collation::Binary) != (b == Collation::Binary) {
        let message = format!("Character set '{}' cannot be used in conjunction with '{}' in call to {}.", a.name(), b.name(), func.name());
        return Err(SqlError::with_message(3995, message));
    }
    Ok(())
}
