//! Text and bytes of character sets in expressions: where the bytes of a text show, or where bytes become text.
//!
//! Inside the server all text is UTF-8 (`types::Charset`), so only what is not UTF-8 outside, latin1, needs a conversion between text and
//! bytes; it is a cast that the binder puts around the operand. Expressions of other character sets stay as they are.

use crate::binder::{Binder, Relation, Result};
use crate::expr::{CastTo, Expr, ExprKind};
use crate::func::Func;
use crate::members::replace;
use crate::typing::{self, Clash, display_chars, is_string_class};
use mysql_error::{SqlError, codes};
use types::{Charset, Collation, ColumnType, TypeKind, Value};

/// The character set of an expression's text; `None` when it is none.
pub(crate) fn charset_of_text(ty: &ColumnType) -> Option<Charset> {
    is_string_class(ty).then(|| ty.collation.charset())
}

/// Whether the bytes of its text are others outside than inside.
fn has_own_bytes(ty: &ColumnType) -> bool {
    charset_of_text(ty).is_some_and(|charset| !charset.is_utf8_bytes())
}

/// An expression whose value has the bytes of its character set.
pub(crate) fn as_bytes(e: Expr) -> Expr {
    if has_own_bytes(&e.ty) { cast(e, CastTo::Binary { length: None }) } else { e }
}

/// An expression as text of a collation's character set, or as bytes for `binary`. What needs no conversion stays as it is, but for its type.
pub(crate) fn converted(e: Expr, to: Collation) -> Expr {
    let Some(from) = charset_of_text(&e.ty) else { return e };
    match (from, to.charset()) {
        (from, to) if from == to => e,
        (_, Charset::Binary) => as_bytes(e),
        (Charset::Binary, charset) if !charset.is_utf8_bytes() => cast(e, CastTo::Char { length: None, collation: to }),
        _ => e,
    }
}

/// An expression that is stored into a column of a type.
pub(crate) fn stored(e: Expr, ty: &ColumnType) -> Expr {
    if ty.kind == TypeKind::Json && e.ty.is_bytes() {
        return Expr { ty: e.ty.clone(), kind: ExprKind::Func(Func::NoDocument, vec![e]) };
    }
    if is_string_class(&e.ty) && is_string_class(ty) { converted(e, ty.collation) } else { e }
}

/// The same for several sources.
pub(crate) fn store_all(sources: &mut [Expr], types: &[&ColumnType]) {
    for (e, ty) in sources.iter_mut().zip(types) {
        replace(e, |e| stored(e, ty));
    }
}

/// Makes operands ready to be compared or joined under a collation.
pub(crate) fn under<'e>(collation: Collation, operands: impl IntoIterator<Item = &'e mut Expr>) {
    let charset = collation.charset();
    for e in operands {
        let mixed = charset_of_text(&e.ty).is_some_and(|own| own != charset && (!own.is_utf8_bytes() || !charset.is_utf8_bytes()));
        if mixed {
            replace(e, |e| converted(e, collation));
        }
    }
}

/// A cast of text to other text or bytes; of a constant its result.
fn cast(e: Expr, to: CastTo) -> Expr {
    let from = e.ty.collation.charset();
    let collation = match to {
        CastTo::Char { collation, .. } => collation,
        _ => Collation::Binary,
    };
    let chars = u64::from(display_chars(&e.ty));
    let ty = ColumnType { nullable: e.ty.nullable, ..typing::string(chars, collation) };
    if let ExprKind::Literal(Value::Bytes(text)) = &e.kind {
        let mut out = Vec::new();
        if collation == Collation::Binary {
            from.encode(text, &mut out);
        } else {
            out.extend_from_slice(&collation.charset().decode_lossy(text));
        }
        return Expr::literal(Value::bytes(out), ty);
    }
    Expr { kind: ExprKind::Cast(Box::new(e), to), ty }
}

/// Whether a function is about the bytes of its argument at this place.
pub(crate) fn takes_bytes(func: Func, at: usize) -> bool {
    use Func as F;
    match func {
        // The text, the key, the first block.
        F::AesEncrypt | F::AesDecrypt => at < 3,
        F::Ascii | F::BitLength | F::Compress | F::Crc32 | F::Hex | F::Length | F::Md5 | F::Ord | F::Sha1 | F::Sha2 | F::ToBase64 => {
            at == 0
        }
        F::Uncompress | F::UncompressedLength => at == 0,
        _ => false,
    }
}

/// Whether a function makes text of its own, in the connection's character set, whatever its argument's is.
pub(crate) fn makes_own_text(func: Func) -> bool {
    use Func::{AddTime, BinToUuid, DayName, Hex, Inet6Ntoa, Md5, MonthName, Sha1, Sha2, SubTime, ToBase64};
    matches!(func, AddTime | BinToUuid | DayName | Hex | Inet6Ntoa | Md5 | MonthName | Sha1 | Sha2 | SubTime | ToBase64)
}

/// The arguments of WEIGHT_STRING(): `AS BINARY(n)` is about the first one's bytes, `AS CHAR(n)` stays a second argument.
pub(crate) fn weighed(args: &mut Vec<Expr>, unit: Option<&str>) -> Result<()> {
    if matches!(typing::class(&args[0].ty), typing::Class::DateTime | typing::Class::Time) {
        return Err(codes::not_supported_yet("WEIGHT_STRING() of this type"));
    }
    if let (Some("binary"), Some(Expr { kind: ExprKind::Literal(Value::Int(length)), .. })) = (unit, args.get(1)) {
        let length = u32::try_from(*length).unwrap_or(u32::MAX);
        args.truncate(1);
        replace(&mut args[0], |e| {
            let ty = ColumnType { nullable: e.ty.nullable, ..typing::string(u64::from(length), Collation::Binary) };
            Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Binary { length: Some(length) }), ty }
        });
    }
    Ok(())
}

/// 1253 when a collation is not one of the character set that an operand of COLLATE has.
pub(crate) fn check_collate(operand: &Expr, collation: Collation, connection: Collation) -> Result<()> {
    let charset = match operand.kind {
        ExprKind::Literal(Value::Null) => Charset::Binary,
        _ => match charset_of_text(&operand.ty) {
            Some(charset) => charset,
            None if operand.ty.kind == TypeKind::Bit => Charset::Binary,
            // Numbers and dates become text of whatever is wished.
            None if operand.ty.kind != types::TypeKind::Null => return Ok(()),
            // A value that is not known yet comes as text of the connection.
            None => connection.charset(),
        },
    };
    if charset == collation.charset() { Ok(()) } else { Err(codes::collation_charset_mismatch(collation.name(), charset.name())) }
}

/// What a character set's name is warned of: utf8mb3 is deprecated, and so is its name of old.
pub fn of_charset(name: &str) -> Option<SqlError> {
    if name.eq_ignore_ascii_case("utf8") {
        return Some(SqlError::with_message(
            3719,
            "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future release. Please consider \
             using UTF8MB4 in order to be unambiguous.",
        ));
    }
    (Charset::from_name(name) == Some(Charset::Utf8mb3)).then(|| codes::warn_deprecated_syntax("utf8mb3", "utf8mb4"))
}

/// The same of a collation.
pub fn of_collation(collation: Collation) -> Option<SqlError> {
    (collation.charset() == Charset::Utf8mb3).then(|| {
        let name = collation.name();
        SqlError::with_message(
            3778,
            format!(
                "'{name}' is a collation of the deprecated character set UTF8MB3. Please consider using UTF8MB4 with an appropriate collation instead."
            ),
        )
    })
}

/// The character set of a name as an expression has it, with what it is warned of.
pub(crate) fn named_charset(binder: &mut Binder<'_>, name: &str) -> Result<Charset> {
    let charset = Charset::from_name(name).ok_or_else(|| codes::unknown_character_set(name))?;
    if let Some(warning) = of_charset(name) {
        binder.warnings.push(warning.into());
    }
    Ok(charset)
}

impl<'c> Binder<'c> {
    /// The collation under which the operands of an operation are compared or joined.
    pub(crate) fn collation_for(&self, operands: &[&Expr], operation: &str) -> Result<Collation> {
        let found = typing::comparison_collation_by(operands.iter().copied(), |e| self.firmness(e)).or_else(|clash| {
            let operands = operands.iter().copied();
            typing::comparison_collation_by(operands, |e| self.coercibility_within(e)).map_err(|_| clash)
        });
        found.map_err(|clash| self.illegal_mix(operands, clash, operation))
    }

    /// How strongly an operand holds to its collation: a derived table's column as a table's, but where COLLATE was said inside.
    fn firmness(&self, expr: &Expr) -> u8 {
        match self.coercibility_within(expr) {
            typing::EXPLICIT => typing::EXPLICIT,
            _ if self.is_unset(expr) => typing::IGNORABLE,
            _ => typing::coercibility(expr),
        }
    }

    /// Whether an expression is a user variable that has no value: its NULL has no collation either.
    fn is_unset(&self, expr: &Expr) -> bool {
        let ExprKind::UserVariable(name) = &expr.kind else { return false };
        self.user_variables.iter().any(|(other, known)| other == name && known.is_none())
    }

    /// The collation of what a function makes of several strings: where columns of one character set disagree it is none of theirs.
    pub(crate) fn joined_collation(&self, merged: Result<Collation>, strings: &[&Expr]) -> Result<Collation> {
        // Literals give way.
        let strings: Vec<&&Expr> = strings.iter().filter(|e| typing::coercibility(e) < typing::COERCIBLE).collect();
        let charset = strings.first().map(|e| e.ty.collation.charset());
        let explicit = strings.iter().filter(|e| self.firmness(e) == typing::EXPLICIT).count() > 1;
        let mut by_character = strings.iter().map(|e| e.ty.collation).filter(|collation| collation.is_binary());
        let first_by_character = by_character.next();
        let is_one = by_character.all(|collation| Some(collation) == first_by_character);
        match (merged, charset) {
            (Err(_), Some(charset)) if !explicit && is_one && strings.iter().all(|e| e.ty.collation.charset() == charset) => {
                Ok(charset.binary_collation())
            }
            (merged, _) => merged,
        }
    }

    /// 1267, 1270 or 1271, by the number of operands.
    fn illegal_mix(&self, operands: &[&Expr], clash: Clash, operation: &str) -> SqlError {
        let rank = |e: &Expr| if self.firmness(e) == typing::EXPLICIT { typing::EXPLICIT } else { typing::coercibility_in_union(e) };
        let named = |e: &Expr| (e.ty.collation.name(), typing::coercibility_name(rank(e)));
        match operands {
            [a, b] => {
                let ((a, x), (b, y)) = (named(a), named(b));
                codes::cant_aggregate_2collations(a, x, b, y, operation)
            }
            [a, b, c] if [a, b, c].iter().all(|e| is_string_class(&e.ty)) => {
                let ((a, x), (b, y), (c, z)) = (named(a), named(b), named(c));
                SqlError::with_message(
                    1270,
                    format!("Illegal mix of collations ({a},{x}), ({b},{y}), ({c},{z}) for operation '{operation}'"),
                )
            }
            _ if operands.len() > 2 => codes::cant_aggregate_ncollations(operation),
            _ => {
                let ((x, a), (y, b)) = (clash.left, clash.right);
                let name = typing::coercibility_name;
                codes::cant_aggregate_2collations(a.name(), name(x), b.name(), name(y), operation)
            }
        }
    }

    /// How strongly an expression holds to its collation: a derived table's column as strongly as what it is made of.
    pub(crate) fn coercibility_within(&self, expr: &Expr) -> u8 {
        let ExprKind::Slot(slot) = expr.kind else { return typing::coercibility(expr) };
        let mut relations = self.scopes.iter().flat_map(|scope| &scope.relations);
        let column =
            |relation: &Relation| relation.slots.iter().position(|s| *s == Some(slot)).map(|c| relation.columns[c].meta.coercibility);
        relations.find_map(column).unwrap_or(typing::IMPLICIT)
    }
}

/// Whether the character set of the argument at this place decides on that of a function's text. Positions, counts, formats and what a number is made of do not.
pub(crate) fn decides(func: Func, at: usize) -> bool {
    use Func as F;
    match func {
        F::Left | F::Right | F::Substring | F::Repeat => at == 0,
        F::LPad | F::RPad => at != 1,
        F::Insert => at == 0 || at == 3,
        F::SubstringIndex | F::RegexpSubstr => at < 2,
        F::RegexpReplace => at < 3,
        F::Elt | F::MakeSet => at > 0,
        F::ExportSet => (1..4).contains(&at),
        F::Bin
        | F::Conv
        | F::DateFormat
        | F::Format
        | F::FormatBytes
        | F::FormatPicoTime
        | F::InetNtoa
        | F::Oct
        | F::Space
        | F::TimeFormat => false,
        _ => true,
    }
}

/// Whether a function takes its argument at this place for a string, so that of a BIT it takes the bytes: what is made of them is bytes.
pub(crate) fn takes_string(func: Func, at: usize) -> bool {
    use Func as F;
    match func {
        F::Concat | F::ConcatWs | F::LTrim | F::Lower | F::Quote | F::RTrim | F::Replace | F::Reverse | F::Soundex | F::Trim | F::Upper => {
            true
        }
        F::Elt | F::ExportSet | F::Insert | F::LPad | F::Left | F::MakeSet | F::RPad => decides(func, at),
        F::RegexpReplace | F::RegexpSubstr | F::Repeat | F::Right | F::Substring | F::SubstringIndex => decides(func, at),
        F::Instr | F::Locate | F::RegexpInstr | F::RegexpLike => at < 2,
        F::StatementDigest | F::StatementDigestText => true,
        _ => false,
    }
}

/// A BIT as the bytes that it is where a string is asked for; anything else as it is.
pub(crate) fn bits_as_bytes(e: Expr) -> Expr {
    if e.ty.kind != TypeKind::Bit {
        return e;
    }
    let ty = ColumnType { nullable: e.ty.nullable, ..typing::string(u64::from(e.ty.length), Collation::Binary) };
    Expr { kind: ExprKind::Cast(Box::new(e), CastTo::Binary { length: None }), ty }
}

/// The same of values of which one is chosen, if others are no numbers.
pub(crate) fn bits_beside_text<'e>(values: impl Iterator<Item = &'e mut Expr>) {
    let mut values: Vec<&mut Expr> = values.collect();
    if values.iter().any(|e| e.ty.kind == TypeKind::Bit) && values.iter().any(|e| !typing::is_number(&e.ty) && e.ty.kind != TypeKind::Null)
    {
        values.iter_mut().for_each(|e| replace(e, bits_as_bytes));
    }
}

/// Makes the arguments of a function ready to be joined to text of a collation.
pub(crate) fn joined(func: Func, collation: Collation, args: &mut [Expr]) {
    let is_format = |at| at == 1 && matches!(func, Func::DateFormat | Func::TimeFormat);
    for (at, e) in args.iter_mut().enumerate() {
        if decides(func, at) || is_format(at) {
            replace(e, |e| text_of_bytes(e, collation));
        }
    }
    under(collation, args);
}

/// Whether a function changes one string by others, and so leaves it its own character set, whatever theirs are.
pub(crate) fn changes_first(func: Func) -> bool {
    use Func as F;
    matches!(func, F::Insert | F::LPad | F::LTrim | F::Replace | F::RPad | F::RTrim | F::SubstringIndex | F::Trim)
}

/// Whether an expression is a binary string.
pub(crate) fn is_bytes(e: &Expr) -> bool {
    is_of_bytes(&e.ty)
}

/// Whether a type is of binary strings.
pub(crate) fn is_of_bytes(ty: &ColumnType) -> bool {
    is_string_class(ty) && ty.collation == Collation::Binary
}

/// The type of [`text_of_bytes`]; that of anything else as it is.
pub(crate) fn type_as_text(ty: &ColumnType, collation: Collation) -> ColumnType {
    match is_of_bytes(ty) {
        true => ColumnType { nullable: ty.nullable, ..typing::string(u64::from(display_chars(ty)), collation) },
        false => ty.clone(),
    }
}

/// Bytes as text of a collation's character set, where text that they meet is stronger; anything else as it is. What is no text of it is error 3854 once it is
/// asked for.
pub(crate) fn text_of_bytes(e: Expr, to: Collation) -> Expr {
    if to == Collation::Binary || !is_bytes(&e) {
        return e;
    }
    let ty = type_as_text(&e.ty, to);
    if let ExprKind::Literal(Value::Bytes(bytes)) = &e.kind
        && let Ok(text) = to.charset().decode(bytes)
    {
        return Expr::literal(Value::bytes(text.into_owned()), ty);
    }
    Expr { kind: ExprKind::Func(Func::TextOfBytes, vec![e]), ty }
}

impl Binder<'_> {
    /// Whether the text among operands makes text of the bytes among them: it does where it holds to its character set more strongly, as a column beside a
    /// literal of bytes.
    pub(crate) fn text_beats_bytes<'e>(&self, operands: impl Iterator<Item = &'e Expr>) -> bool {
        let (mut text, mut bytes) = (None, None);
        for e in operands.filter(|e| is_string_class(&e.ty)) {
            let strongest = if is_bytes(e) { &mut bytes } else { &mut text };
            let rank = match e.kind {
                ExprKind::Slot(_) => self.coercibility_within(e),
                // Bytes that a client binds are as strong as a column.
                ExprKind::Param(n) if is_bytes(e) && !self.is_lifted(n) => typing::IMPLICIT,
                _ => typing::coercibility_in_union(e),
            };
            *strongest = Some(strongest.map_or(rank, |so_far: u8| so_far.min(rank)));
        }
        matches!((text, bytes), (Some(text), Some(bytes)) if text < bytes)
    }
}
