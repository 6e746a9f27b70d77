//! JSON, as much of it as a report needs.

use std::fmt::Write;

/// An object in the making.
#[derive(Debug, Default)]
pub struct Object(String);

impl Object {
    /// An empty one.
    pub fn new() -> Object {
        Object::default()
    }

    fn key(&mut self, key: &str) -> &mut String {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        quote(key, &mut self.0);
        self.0.push(':');
        &mut self.0
    }

    /// Adds a string.
    pub fn text(mut self, key: &str, value: &str) -> Object {
        quote(value, self.key(key));
        self
    }

    /// Adds a whole number.
    pub fn whole(mut self, key: &str, value: u64) -> Object {
        let _ = write!(self.key(key), "{value}");
        self
    }

    /// Adds a number, to three decimals; what is not finite becomes null.
    pub fn number(mut self, key: &str, value: f64) -> Object {
        let out = self.key(key);
        let _ = if value.is_finite() { write!(out, "{value:.3}") } else { write!(out, "null") };
        self
    }

    /// Adds what is JSON already.
    pub fn raw(mut self, key: &str, value: &str) -> Object {
        self.key(key).push_str(value);
        self
    }

    /// The text.
    pub fn end(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_json() {
        let text = Object::new().text("a", "x\"\\\n").whole("b", 3).number("c", 0.5).number("d", f64::NAN).raw("e", "[1,2]").end();
        assert_eq!(text, r#"{"a":"x\"\\\u000a","b":3,"c":0.500,"d":null,"e":[1,2]}"#);
        assert_eq!(Object::new().end(), "{}");
    }
}
