//! Text to tree, with MySQL's messages and positions.

use crate::{DEPTH_MAX, Json, Object};

/// Why a text is no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// MySQL's message, and the byte where the text went wrong.
    Text(&'static str, usize),
    /// More than [`DEPTH_MAX`] containers within one another.
    TooDeep,
    /// No memory.
    Memory(memory::Excess),
}

impl From<memory::Excess> for ParseError {
    fn from(excess: memory::Excess) -> ParseError {
        ParseError::Memory(excess)
    }
}

type Result<T> = std::result::Result<T, ParseError>;

const INVALID_VALUE: &str = "Invalid value.";
const BAD_ESCAPE: &str = "Invalid escape character in string.";
const BAD_HEX: &str = "Incorrect hex digit after \\u escape in string.";
const BAD_SURROGATE: &str = "The surrogate pair in string is invalid.";
const BAD_ENCODING: &str = "Invalid encoding in string.";
const NO_QUOTE: &str = "Missing a closing quotation mark in string.";

/// Parses a document.
///
/// # Errors
/// The first thing that is wrong with the text.
pub fn parse(text: &[u8]) -> Result<Json> {
    let mut parser = Parser { text, at: 0 };
    parser.skip_space();
    if parser.peek().is_none() {
        return parser.fail("The document is empty.");
    }
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.peek().is_some() {
        return parser.fail("The document root must not be followed by other values.");
    }
    Ok(value)
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn fail<T>(&self, message: &'static str) -> Result<T> {
        Err(ParseError::Text(message, self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'n') => self.word(b"null", Json::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Result<Json> {
        for byte in word {
            if self.peek() != Some(*byte) {
                return self.fail(INVALID_VALUE);
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn enter(&mut self, depth: usize) -> Result<()> {
        if depth >= DEPTH_MAX {
            return Err(ParseError::TooDeep);
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        self.enter(depth)?;
        let mut list = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(list));
        }
        loop {
            let item = self.value(depth + 1)?;
            memory::reserve(&mut list, 1)?;
            list.push(item);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(list));
                }
                _ => return self.fail("Missing a comma or ']' after an array element."),
            }
            self.skip_space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        self.enter(depth)?;
        let mut members = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Object::new()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fail("Missing a name for object member.");
            }
            let name = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.fail("Missing a colon after a name of object member.");
            }
            self.at += 1;
            self.skip_space();
            let value = self.value(depth + 1)?;
            memory::reserve(&mut members, 1)?;
            members.push((name, value));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(Object::from_members(members)));
                }
                _ => return self.fail("Missing a comma or '}' after an object member."),
            }
            self.skip_space();
        }
    }

    fn string(&mut self) -> Result<String> {
        self.at += 1;
        let mut out: Vec<u8> = Vec::new();
        loop {
            let start = self.at;
            while self.peek().is_some_and(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            let piece = &self.text[start..self.at];
            if let Err(error) = std::str::from_utf8(piece) {
                self.at = start + error.valid_up_to();
                return self.fail(BAD_ENCODING);
            }
            memory::reserve(&mut out, piece.len() + 4)?;
            out.extend_from_slice(piece);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return String::from_utf8(out).map_err(|_| ParseError::Text(BAD_ENCODING, start));
                }
                Some(b'\\') => {
                    let mut utf8 = [0; 4];
                    let escaped = self.escape()?;
                    out.extend_from_slice(escaped.encode_utf8(&mut utf8).as_bytes());
                }
                None | Some(0) => return self.fail(NO_QUOTE),
                Some(_) => return self.fail(BAD_ENCODING),
            }
        }
    }

    /// A character after a backslash. Errors point at the backslash.
    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        let fail = |message| Err(ParseError::Text(message, start));
        let Some(byte) = self.text.get(self.at + 1) else { return fail(BAD_ESCAPE) };
        self.at += 2;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(*byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let Some(high) = self.hex4() else { return fail(BAD_HEX) };
                if !(0xD800..0xE000).contains(&high) {
                    return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                if high >= 0xDC00 || self.text.get(self.at..self.at + 2) != Some(b"\\u") {
                    return fail(BAD_SURROGATE);
                }
                self.at += 2;
                let Some(low) = self.hex4() else { return fail(BAD_HEX) };
                if !(0xDC00..0xE000).contains(&low) {
                    return fail(BAD_SURROGATE);
                }
                match char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)) {
                    Some(character) => character,
                    None => return fail(BAD_SURROGATE),
                }
            }
            _ => return fail(BAD_ESCAPE),
        })
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let mut number = 0;
        for digit in digits {
            number = number << 4 | char::from(*digit).to_digit(16)?;
        }
        self.at += 4;
        Some(number)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        if negative {
            self.at += 1;
        }
        match self.peek() {
            // No digit may follow a leading zero; what does is more than the number.
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => {
                self.digits();
            }
            _ => return self.fail(INVALID_VALUE),
        }
        let mut integer = true;
        if self.peek() == Some(b'.') {
            integer = false;
            self.at += 1;
            if self.digits() == 0 {
                return self.fail("Miss fraction part in number.");
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.fail("Miss exponent in number.");
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if integer {
            // As MySQL's parser: what 32 bits do not hold is unsigned, unless it is negative.
            if let Ok(number) = text.parse::<u64>()
                && number > u64::from(u32::MAX)
            {
                return Ok(Json::UInt(number));
            }
            if let Ok(number) = text.parse::<i64>() {
                return Ok(Json::Int(number));
            }
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Json::Double(number)),
            _ => Err(ParseError::Text("Number too big to be stored in double.", start)),
        }
    }
}
