//! Path expressions as text.

use crate::{DEPTH_MAX, Json, Leg, Path, Place};
use std::fmt;

type Result<T> = std::result::Result<T, usize>;

/// Parses a path; the error is where it went wrong.
pub(crate) fn parse(text: &[u8]) -> Result<Path> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => return Err(error.valid_up_to()),
    };
    let mut parser = Parser { text, at: 0 };
    parser.skip_space();
    match parser.peek() {
        Some('$') => parser.at += 1,
        Some(_) => return Err(parser.at + 1),
        None => return Err(parser.at),
    }
    let mut legs = Vec::new();
    loop {
        parser.skip_space();
        let Some(next) = parser.peek() else { break };
        let leg = match next {
            '.' => parser.member()?,
            '[' => parser.cell()?,
            '*' => parser.ellipsis()?,
            _ => return Err(parser.at),
        };
        legs.push(leg);
        if legs.len() > DEPTH_MAX {
            return Err(parser.at);
        }
    }
    if legs.last() == Some(&Leg::Ellipsis) {
        return Err(parser.at);
    }
    Ok(Path { legs })
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn ellipsis(&mut self) -> Result<Leg> {
        if !self.rest().starts_with("**") {
            return Err(self.at + 1);
        }
        self.at += 2;
        // What follows must be a step; a third star is none.
        if self.peek() == Some('*') { Err(self.at) } else { Ok(Leg::Ellipsis) }
    }

    fn member(&mut self) -> Result<Leg> {
        self.at += 1;
        self.skip_space();
        match self.peek() {
            None => Err(self.at),
            Some('*') => {
                self.at += 1;
                Ok(Leg::AnyMember)
            }
            Some('"') => {
                let start = self.at;
                let mut escaped = false;
                let end = self.rest()[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let Some(end) = end else { return Err(self.text.len()) };
                self.at = start + end + 2;
                match crate::parse(&self.text.as_bytes()[start..self.at]) {
                    Ok(Json::String(name)) => Ok(Leg::Member(name)),
                    _ => Err(self.at),
                }
            }
            Some(_) => {
                let start = self.at;
                let length = self.rest().find(['.', '[', '*', ' ', '\t', '\n', '\r']).unwrap_or(self.rest().len());
                self.at += length;
                let name = &self.text[start..self.at];
                // As in a quoted name, \uXXXX stands for a character.
                match crate::parse(format!("\"{name}\"").as_bytes()) {
                    Ok(Json::String(name)) if is_identifier(&name) => Ok(Leg::Member(name)),
                    _ => Err(self.at),
                }
            }
        }
    }

    fn cell(&mut self) -> Result<Leg> {
        self.at += 1;
        self.skip_space();
        if self.peek() == Some('*') {
            self.at += 1;
            self.close()?;
            return Ok(Leg::AnyCell);
        }
        let from = self.place()?;
        let before = self.at;
        self.skip_space();
        if self.at > before && self.rest().starts_with("to") && self.rest()[2..].starts_with([' ', '\t', '\n', '\r']) {
            self.at += 2;
            self.skip_space();
            let to = self.place()?;
            let backwards = match (from, to) {
                (Place::Start(a), Place::Start(b)) => a > b,
                (Place::End(a), Place::End(b)) => a < b,
                _ => false,
            };
            if backwards {
                return Err(self.at);
            }
            self.close()?;
            return Ok(Leg::Range(from, to));
        }
        self.close()?;
        Ok(Leg::Cell(from))
    }

    fn close(&mut self) -> Result<()> {
        self.skip_space();
        if self.peek() != Some(']') {
            return Err(self.at);
        }
        self.at += 1;
        Ok(())
    }

    fn place(&mut self) -> Result<Place> {
        if !self.rest().starts_with("last") {
            return Ok(Place::Start(self.number()?));
        }
        self.at += 4;
        let before = self.at;
        self.skip_space();
        if self.peek() != Some('-') {
            self.at = before;
            return Ok(Place::End(0));
        }
        self.at += 1;
        self.skip_space();
        Ok(Place::End(self.number()?))
    }

    fn number(&mut self) -> Result<u32> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse().map_err(|_| self.at)?;
        self.at += digits;
        Ok(number)
    }
}

/// Whether a name needs no quotes: an identifier of ECMAScript.
fn is_identifier(name: &str) -> bool {
    let start = |c: char| c.is_alphabetic() || matches!(c, '$' | '_');
    let part = |c: char| start(c) || c.is_numeric() || matches!(c, '\u{200c}' | '\u{200d}');
    let mut chars = name.chars();
    chars.next().is_some_and(start) && chars.all(part)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        let place = |place: &Place| match place {
            Place::Start(at) => at.to_string(),
            Place::End(0) => "last".to_owned(),
            Place::End(back) => format!("last-{back}"),
        };
        for leg in &self.legs {
            match leg {
                Leg::Member(name) if is_identifier(name) => write!(f, ".{name}")?,
                Leg::Member(name) => {
                    let mut quoted = Vec::new();
                    crate::append_quoted(name, &mut quoted);
                    write!(f, ".{}", String::from_utf8_lossy(&quoted))?;
                }
                Leg::AnyMember => f.write_str(".*")?,
                Leg::Cell(at) => write!(f, "[{}]", place(at))?,
                Leg::Range(from, to) => write!(f, "[{} to {}]", place(from), place(to))?,
                Leg::AnyCell => f.write_str("[*]")?,
                Leg::Ellipsis => f.write_str("**")?,
            }
        }
        Ok(())
    }
}
