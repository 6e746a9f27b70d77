//! Types and column attributes.

use super::{PResult, Parser};
use crate::ast::{
    Check, ColumnAttributes, ColumnDef, ColumnDefault, DataType, DataTypeKind, Expr, ExprKind, Generated, Literal, ReferenceAction,
    References, UnaryOp,
};
use crate::keyword::Kw;
use crate::lexer::{LIFTED, Tok};

impl<'a> Parser<'a> {
    /// `name type attributes`.
    pub(super) fn column_def(&mut self) -> PResult<ColumnDef<'a>> {
        let name = self.name()?;
        self.column_def_named(name)
    }

    /// `type attributes` of the column `name`.
    pub(super) fn column_def_named(&mut self, name: &'a str) -> PResult<ColumnDef<'a>> {
        let ty = self.data_type()?;
        let attributes = self.column_attributes(&ty)?;
        Ok(ColumnDef { name, ty, attributes })
    }

    /// Whether CHARACTER SET, CHAR SET or CHARSET comes.
    pub(super) fn at_charset(&self) -> bool {
        match self.tok.kw {
            Kw::CHARSET => true,
            Kw::CHARACTER | Kw::CHAR => self.peek().kw == Kw::SET,
            _ => false,
        }
    }

    /// `CHARACTER SET name`, which is known to come.
    pub(super) fn charset_clause(&mut self) -> PResult<&'a str> {
        if !self.eat(Kw::CHARSET) {
            self.bump();
            self.expect(Kw::SET)?;
        }
        self.eat_tok(Tok::Eq);
        self.charset_name()
    }

    /// Name of a character set or collation: a word, a string, or BINARY.
    pub(super) fn charset_name(&mut self) -> PResult<&'a str> {
        if self.eat(Kw::BINARY) {
            return Ok("binary");
        }
        self.name_or_string()
    }

    fn parens_int(&mut self) -> PResult<Option<u64>> {
        if !self.eat_tok(Tok::LParen) {
            return Ok(None);
        }
        let value = self.int()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Some(value))
    }

    /// `(m[,d])` when it is there.
    fn precision(&mut self, ty: &mut DataType<'a>) -> PResult<()> {
        if self.eat_tok(Tok::LParen) {
            ty.length = Some(self.int()?);
            if self.eat_tok(Tok::Comma) {
                ty.decimals = Some(self.small_int()?);
            }
            self.expect_tok(Tok::RParen)?;
        }
        Ok(())
    }

    /// A column type.
    #[inline(never)]
    pub(super) fn data_type(&mut self) -> PResult<DataType<'a>> {
        use DataTypeKind as T;
        let kw = self.tok.kw;
        if self.tok.tok != Tok::Keyword {
            return Err(self.unexpected());
        }
        let mut ty = plain(T::Int);
        ty.kind = match kw {
            Kw::TINYINT | Kw::INT1 | Kw::BOOL | Kw::BOOLEAN => T::TinyInt,
            Kw::SMALLINT | Kw::INT2 => T::SmallInt,
            Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => T::MediumInt,
            Kw::INT | Kw::INTEGER | Kw::INT4 => T::Int,
            Kw::BIGINT | Kw::INT8 | Kw::SERIAL => T::BigInt,
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => T::Decimal,
            Kw::FLOAT | Kw::FLOAT4 => T::Float,
            Kw::DOUBLE | Kw::FLOAT8 => T::Double,
            Kw::REAL if self.lexer.mode.has(crate::SqlMode::REAL_AS_FLOAT) => T::Float,
            Kw::REAL => T::Double,
            Kw::BIT => T::Bit,
            Kw::DATE => T::Date,
            Kw::TIME => T::Time,
            Kw::DATETIME => T::DateTime,
            Kw::TIMESTAMP => T::Timestamp,
            Kw::YEAR => T::Year,
            Kw::CHAR | Kw::CHARACTER | Kw::NCHAR => T::Char,
            Kw::VARCHAR | Kw::VARCHARACTER | Kw::NVARCHAR => T::VarChar,
            Kw::NATIONAL => T::Char,
            Kw::BINARY => T::Binary,
            Kw::VARBINARY => T::VarBinary,
            Kw::TINYBLOB => T::TinyBlob,
            Kw::BLOB => T::Blob,
            Kw::MEDIUMBLOB => T::MediumBlob,
            Kw::LONGBLOB => T::LongBlob,
            Kw::TINYTEXT => T::TinyText,
            Kw::TEXT => T::Text,
            Kw::MEDIUMTEXT | Kw::LONG => T::MediumText,
            Kw::LONGTEXT => T::LongText,
            Kw::ENUM => T::Enum,
            Kw::SET => T::Set,
            Kw::JSON => T::Json,
            Kw::VECTOR => T::Vector,
            Kw::GEOMETRY => T::Geometry,
            Kw::POINT => T::Point,
            Kw::LINESTRING => T::LineString,
            Kw::POLYGON => T::Polygon,
            Kw::MULTIPOINT => T::MultiPoint,
            Kw::MULTILINESTRING => T::MultiLineString,
            Kw::MULTIPOLYGON => T::MultiPolygon,
            Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => T::GeometryCollection,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        match kw {
            Kw::BOOL | Kw::BOOLEAN => {
                ty.length = Some(1);
                return Ok(ty);
            }
            Kw::SERIAL => {
                ty.unsigned = true;
                ty.serial = true;
                return Ok(ty);
            }
            Kw::DOUBLE => {
                self.eat(Kw::PRECISION);
            }
            Kw::NCHAR | Kw::NVARCHAR => ty.charset = Some("utf8mb3"),
            Kw::NATIONAL => {
                ty.charset = Some("utf8mb3");
                if self.eat(Kw::VARCHAR) || self.eat(Kw::VARCHARACTER) {
                    ty.kind = T::VarChar;
                } else if self.eat(Kw::CHAR) || self.eat(Kw::CHARACTER) {
                    if self.eat(Kw::VARYING) {
                        ty.kind = T::VarChar;
                    }
                } else {
                    return Err(self.unexpected());
                }
            }
            Kw::LONG => {
                if self.eat(Kw::VARBINARY) {
                    ty.kind = T::MediumBlob;
                    return Ok(ty);
                }
                if !self.eat(Kw::VARCHAR)
                    && !self.eat(Kw::VARCHARACTER)
                    && (self.at(Kw::CHAR) || self.at(Kw::CHARACTER))
                    && self.peek().kw == Kw::VARYING
                {
                    self.bump();
                    self.bump();
                }
            }
            _ => {}
        }
        if matches!(kw, Kw::CHAR | Kw::CHARACTER | Kw::NCHAR) {
            if self.eat(Kw::VARYING) || (kw == Kw::NCHAR && (self.eat(Kw::VARCHAR) || self.eat(Kw::VARCHARACTER))) {
                ty.kind = T::VarChar;
            } else if kw == Kw::CHAR && self.eat(Kw::BYTE) {
                ty.kind = T::Binary;
            }
        }
        self.type_arguments(&mut ty)?;
        Ok(ty)
    }

    fn type_arguments(&mut self, ty: &mut DataType<'a>) -> PResult<()> {
        use DataTypeKind as T;
        match ty.kind {
            T::TinyInt | T::SmallInt | T::MediumInt | T::Int | T::BigInt => {
                ty.length = self.parens_int()?;
                self.number_attributes(ty);
            }
            T::Decimal | T::Float | T::Double => {
                self.precision(ty)?;
                self.number_attributes(ty);
            }
            T::Year => {
                ty.length = self.parens_int()?;
                self.number_attributes(ty);
            }
            T::Bit | T::Time | T::DateTime | T::Timestamp | T::Binary | T::Blob | T::Vector => ty.length = self.parens_int()?,
            T::VarBinary => {
                if !self.at_tok(Tok::LParen) {
                    return Err(self.unexpected());
                }
                ty.length = self.parens_int()?;
            }
            T::VarChar => {
                if !self.at_tok(Tok::LParen) {
                    return Err(self.unexpected());
                }
                ty.length = self.parens_int()?;
                self.text_attributes(ty)?;
            }
            T::Char | T::Text => {
                ty.length = self.parens_int()?;
                self.text_attributes(ty)?;
            }
            T::TinyText | T::MediumText | T::LongText => self.text_attributes(ty)?,
            T::Enum | T::Set => {
                ty.members = self.parens(Self::text_or_hex)?;
                self.text_attributes(ty)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn number_attributes(&mut self, ty: &mut DataType<'a>) {
        loop {
            match self.tok.kw {
                Kw::UNSIGNED => ty.unsigned = true,
                Kw::ZEROFILL => {
                    ty.unsigned = true;
                    ty.zerofill = true;
                }
                Kw::SIGNED => {}
                _ => return,
            }
            self.bump();
        }
    }

    /// CHARACTER SET and its shorthands, BINARY, COLLATE.
    fn text_attributes(&mut self, ty: &mut DataType<'a>) -> PResult<()> {
        loop {
            match self.tok.kw {
                Kw::CHARSET | Kw::CHARACTER | Kw::CHAR if self.at_charset() => ty.charset = Some(self.charset_clause()?),
                Kw::ASCII => {
                    self.bump();
                    ty.charset = Some("latin1");
                }
                Kw::UNICODE => {
                    self.bump();
                    ty.charset = Some("ucs2");
                }
                Kw::BYTE => {
                    self.bump();
                    ty.charset = Some("binary");
                }
                Kw::BINARY => {
                    self.bump();
                    ty.binary = true;
                }
                Kw::COLLATE => {
                    self.bump();
                    ty.collation = Some(self.charset_name()?);
                }
                _ => return Ok(()),
            }
        }
    }

    /// A character set and BINARY behind CHAR in CAST, each at most once; no collation.
    fn cast_charset(&mut self, ty: &mut DataType<'a>) -> PResult<()> {
        ty.binary = self.eat(Kw::BINARY);
        let word = match self.tok.kw {
            Kw::CHARSET | Kw::CHARACTER | Kw::CHAR if self.at_charset() => None,
            Kw::ASCII => Some("latin1"),
            Kw::UNICODE => Some("ucs2"),
            Kw::BYTE if !ty.binary => Some("binary"),
            _ => return Ok(()),
        };
        match word {
            None => ty.charset = Some(self.charset_clause()?),
            Some(_) => {
                ty.charset = word;
                self.bump();
            }
        }
        // BYTE takes nothing more.
        if word == Some("binary") {
            return Ok(());
        }
        ty.binary = ty.binary || self.eat(Kw::BINARY);
        Ok(())
    }

    /// The target of CAST.
    pub(super) fn cast_type(&mut self) -> PResult<DataType<'a>> {
        use DataTypeKind as T;
        let kw = self.tok.kw;
        let mut ty = plain(match kw {
            Kw::SIGNED | Kw::UNSIGNED => T::BigInt,
            Kw::CHAR | Kw::CHARACTER | Kw::NCHAR => T::Char,
            Kw::BINARY => T::Binary,
            Kw::DATE => T::Date,
            Kw::TIME => T::Time,
            Kw::DATETIME => T::DateTime,
            Kw::YEAR => T::Year,
            Kw::DECIMAL | Kw::DEC => T::Decimal,
            Kw::FLOAT => T::Float,
            Kw::DOUBLE => T::Double,
            Kw::REAL if self.lexer.mode.has(crate::SqlMode::REAL_AS_FLOAT) => T::Float,
            Kw::REAL => T::Double,
            Kw::JSON => T::Json,
            Kw::POINT | Kw::LINESTRING | Kw::POLYGON | Kw::MULTIPOINT | Kw::MULTILINESTRING | Kw::MULTIPOLYGON | Kw::GEOMETRYCOLLECTION => {
                return Err(Box::new(crate::ParseError::unsupported("CAST to a spatial type")));
            }
            _ => return Err(self.unexpected()),
        });
        self.bump();
        match kw {
            Kw::SIGNED | Kw::UNSIGNED => {
                ty.unsigned = kw == Kw::UNSIGNED;
                if !self.eat(Kw::INT) {
                    self.eat(Kw::INTEGER);
                }
            }
            Kw::CHAR | Kw::CHARACTER => {
                ty.length = self.parens_int()?;
                self.cast_charset(&mut ty)?;
            }
            Kw::NCHAR => {
                ty.length = self.parens_int()?;
                ty.charset = Some("utf8mb3");
            }
            Kw::DECIMAL | Kw::DEC => self.precision(&mut ty)?,
            Kw::DOUBLE => {
                self.eat(Kw::PRECISION);
            }
            Kw::BINARY | Kw::TIME | Kw::DATETIME | Kw::FLOAT => ty.length = self.parens_int()?,
            _ => {}
        }
        Ok(ty)
    }

    /// Everything after a column's type.
    #[inline(never)]
    fn column_attributes(&mut self, ty: &DataType<'a>) -> PResult<ColumnAttributes<'a>> {
        let mut attributes = ColumnAttributes { collation: ty.collation, ..ColumnAttributes::default() };
        if ty.serial {
            attributes.nullable = Some(false);
            attributes.auto_increment = true;
            attributes.unique = true;
        }
        let mut checks = self.vec();
        // An expression comes before all that is said of the column, but for its collation.
        let mut generated_may_come = true;
        loop {
            let word = self.tok.kw;
            let expected = generated_may_come;
            generated_may_come &= word == Kw::COLLATE;
            match word {
                Kw::NULL => {
                    self.bump();
                    attributes.nullable = Some(true);
                }
                Kw::NOT => {
                    self.bump();
                    if self.bytes(self.tok).eq_ignore_ascii_case(b"SECONDARY") {
                        self.bump();
                        continue;
                    }
                    self.expect(Kw::NULL)?;
                    attributes.nullable = Some(false);
                }
                Kw::DEFAULT => {
                    self.bump();
                    let default = self.column_default()?;
                    attributes.default = Some(self.arena.alloc(default));
                }
                Kw::ON => {
                    self.bump();
                    self.expect(Kw::UPDATE)?;
                    attributes.on_update_now = Some(self.now()?);
                }
                Kw::AUTO_INCREMENT => {
                    self.bump();
                    attributes.auto_increment = true;
                }
                Kw::SERIAL => {
                    self.bump();
                    self.expect(Kw::DEFAULT)?;
                    self.expect(Kw::VALUE)?;
                    attributes.nullable = Some(false);
                    attributes.auto_increment = true;
                    attributes.unique = true;
                }
                Kw::PRIMARY => {
                    self.bump();
                    self.expect(Kw::KEY)?;
                    attributes.primary_key = true;
                }
                Kw::KEY => {
                    self.bump();
                    attributes.primary_key = true;
                }
                Kw::UNIQUE => {
                    self.bump();
                    self.eat(Kw::KEY);
                    attributes.unique = true;
                }
                Kw::COMMENT => {
                    self.bump();
                    attributes.comment = Some(self.string()?);
                }
                Kw::COLLATE => {
                    self.bump();
                    attributes.collation = Some(self.charset_name()?);
                }
                Kw::COLUMN_FORMAT | Kw::STORAGE => {
                    self.bump();
                    let value = match (word, self.tok.kw) {
                        (_, kw @ Kw::DEFAULT) => Some(kw.text()),
                        (Kw::COLUMN_FORMAT, kw @ (Kw::FIXED | Kw::DYNAMIC)) | (Kw::STORAGE, kw @ (Kw::DISK | Kw::MEMORY)) => {
                            Some(kw.text())
                        }
                        _ => return Err(self.unexpected()),
                    };
                    self.bump();
                    if word == Kw::STORAGE {
                        attributes.storage = value;
                    } else {
                        attributes.column_format = value;
                    }
                }
                Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => self.engine_attribute()?,
                Kw::GENERATED | Kw::AS if !expected => return Err(self.unexpected()),
                Kw::GENERATED | Kw::AS => attributes.generated = Some(self.generated()?),
                Kw::VISIBLE | Kw::INVISIBLE => {
                    attributes.visible = Some(self.at(Kw::VISIBLE));
                    self.bump();
                }
                Kw::CONSTRAINT | Kw::CHECK => checks.push(self.column_check()?),
                // A changed column refers to none; MySQL reads it as the end of the definition.
                Kw::REFERENCES if self.changes_column => return Err(self.unexpected()),
                Kw::REFERENCES => {
                    let references = self.references()?;
                    attributes.references = Some(self.arena.alloc(references));
                }
                Kw::SRID => {
                    self.bump();
                    attributes.srid = Some(self.small_int()?);
                }
                _ => break,
            }
        }
        attributes.checks = checks.into_bump_slice();
        Ok(attributes)
    }

    /// ENGINE_ATTRIBUTE and SECONDARY_ENGINE_ATTRIBUTE of a column or an index: there is no engine that takes them.
    pub(super) fn engine_attribute(&mut self) -> PResult<()> {
        let is_secondary = self.at(Kw::SECONDARY_ENGINE_ATTRIBUTE);
        self.bump();
        self.eat_tok(Tok::Eq);
        self.string()?;
        Err(Box::new(match is_secondary {
            true => crate::ParseError::unsupported("SECONDARY_ENGINE_ATTRIBUTE"),
            false => crate::ParseError::new(3981, "HY000", "Storage engine 'InnoDB' does not support ENGINE_ATTRIBUTE.".into()),
        }))
    }

    fn column_check(&mut self) -> PResult<Check<'a>> {
        let mut name = None;
        if self.eat(Kw::CONSTRAINT) && !self.at(Kw::CHECK) {
            name = Some(self.name()?);
        }
        self.check(name)
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`.
    pub(super) fn check(&mut self, name: Option<&'a str>) -> PResult<Check<'a>> {
        self.expect(Kw::CHECK)?;
        self.expect_tok(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        let mut enforced = true;
        if self.at(Kw::NOT) && self.peek().kw == Kw::ENFORCED {
            self.bump();
            self.bump();
            enforced = false;
        } else {
            self.eat(Kw::ENFORCED);
        }
        Ok(Check { name, expr, enforced })
    }

    fn generated(&mut self) -> PResult<&'a Generated<'a>> {
        if self.eat(Kw::GENERATED) {
            self.expect(Kw::ALWAYS)?;
        }
        self.expect(Kw::AS)?;
        self.expect_tok(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        let stored = self.eat(Kw::STORED);
        if !stored {
            self.eat(Kw::VIRTUAL);
        }
        Ok(self.arena.alloc(Generated { expr, stored }))
    }

    /// What follows DEFAULT.
    pub(super) fn column_default(&mut self) -> PResult<ColumnDefault<'a>> {
        match self.tok.kw {
            Kw::NOW | Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => return Ok(ColumnDefault::Now(self.now()?)),
            _ => {}
        }
        if self.eat_tok(Tok::LParen) {
            let expr = self.expr()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(ColumnDefault::Expr(expr));
        }
        Ok(ColumnDefault::Literal(self.signed_literal()?))
    }

    /// A literal, a number perhaps with a sign.
    pub(super) fn signed_literal(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let sign = match self.tok.tok {
            Tok::Minus => Some(UnaryOp::Neg),
            Tok::Plus => Some(UnaryOp::Plus),
            _ => None,
        };
        if sign.is_some() {
            self.bump();
        }
        let at = self.tok;
        if at.has(LIFTED) || matches!(at.tok, Tok::LParen | Tok::LBrace) {
            return Err(self.unexpected());
        }
        let value = self.simple()?;
        let number = matches!(value.kind, ExprKind::Literal(Literal::Int(_) | Literal::Decimal(_) | Literal::Float(_)));
        match (value.kind, sign) {
            (ExprKind::Literal(_), None) => Ok(value),
            (ExprKind::Literal(_), Some(op)) if number => {
                let operand = self.arena.alloc(value);
                Ok(self.node(start, ExprKind::Unary(op, operand)))
            }
            _ => Err(self.error_at(at)),
        }
    }

    /// NOW and its synonyms: the fractional digits.
    fn now(&mut self) -> PResult<u8> {
        if !matches!(self.tok.kw, Kw::NOW | Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP) {
            return Err(self.unexpected());
        }
        let needs_parens = self.at(Kw::NOW);
        if needs_parens && !self.is_call() {
            return Err(self.unexpected());
        }
        self.bump();
        let mut digits = 0;
        if needs_parens || self.at_tok(Tok::LParen) {
            self.expect_tok(Tok::LParen)?;
            if self.at_tok(Tok::Int) {
                digits = self.small_int()?;
            }
            self.expect_tok(Tok::RParen)?;
        }
        u8::try_from(digits).map_err(|_| self.unexpected())
    }

    /// REFERENCES.
    pub(super) fn references(&mut self) -> PResult<References<'a>> {
        self.expect(Kw::REFERENCES)?;
        let table = self.object()?;
        let columns = self.optional_names()?;
        if self.eat(Kw::MATCH) {
            if !matches!(self.tok.kw, Kw::FULL | Kw::PARTIAL | Kw::SIMPLE) {
                return Err(self.unexpected());
            }
            self.bump();
        }
        let (mut on_delete, mut on_update) = (None, None);
        while self.at(Kw::ON) {
            let word = self.peek().kw;
            let place = match word {
                Kw::DELETE => &mut on_delete,
                Kw::UPDATE => &mut on_update,
                _ => return Err(self.unexpected()),
            };
            if place.is_some() {
                return Err(self.error_at(self.peek()));
            }
            self.bump();
            self.bump();
            *place = Some(self.reference_action()?);
        }
        Ok(References { table, columns, on_delete, on_update })
    }

    fn reference_action(&mut self) -> PResult<ReferenceAction> {
        if self.eat(Kw::RESTRICT) {
            return Ok(ReferenceAction::Restrict);
        }
        if self.eat(Kw::CASCADE) {
            return Ok(ReferenceAction::Cascade);
        }
        if self.eat(Kw::NO) {
            self.expect(Kw::ACTION)?;
            return Ok(ReferenceAction::NoAction);
        }
        self.expect(Kw::SET)?;
        if self.eat(Kw::NULL) {
            return Ok(ReferenceAction::SetNull);
        }
        self.expect(Kw::DEFAULT)?;
        Ok(ReferenceAction::SetDefault)
    }
}

/// The type `kind` without anything after it.
fn plain<'a>(kind: DataTypeKind) -> DataType<'a> {
    DataType {
        kind,
        length: None,
        decimals: None,
        unsigned: false,
        zerofill: false,
        charset: None,
        collation: None,
        binary: false,
        members: &[],
        serial: false,
    }
}
