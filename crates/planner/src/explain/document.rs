//! JSON as EXPLAIN prints it: members keep the order that they are given.
//!
//! # Not here
//! Documents as values (crate `json`): those are bounded in depth, a plan is as deep as its joins.

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Object(Vec<(&'static str, Json)>),
    Array(Vec<Json>),
    Text(String),
    Number(u64),
    Real(f64),
    Bool(bool),
    Null,
}

impl Json {
    /// An array of texts.
    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Json {
        Json::Array(texts.into_iter().map(text).collect())
    }

    /// Appends it in lines, indented.
    pub(super) fn print(&self, depth: usize, out: &mut String) {
        let pad = |depth: usize, out: &mut String| {
            out.push('\n');
            out.push_str(&"  ".repeat(depth));
        };
        match self {
            Json::Object(members) if members.is_empty() => out.push_str("{}"),
            Json::Array(items) if items.is_empty() => out.push_str("[]"),
            Json::Object(members) => {
                out.push('{');
                for (at, (name, value)) in members.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    pad(depth + 1, out);
                    out.push_str(&format!("\"{name}\": "));
                    value.print(depth + 1, out);
                }
                pad(depth, out);
                out.push('}');
            }
            Json::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    pad(depth + 1, out);
                    item.print(depth + 1, out);
                }
                pad(depth, out);
                out.push(']');
            }
            Json::Text(text) => quoted(text, out),
            Json::Number(n) => out.push_str(&n.to_string()),
            Json::Real(v) => real(*v, out),
            Json::Bool(b) => out.push_str(&b.to_string()),
            Json::Null => out.push_str("null"),
        }
    }
}

/// A text.
pub(super) fn text(s: impl Into<String>) -> Json {
    Json::Text(s.into())
}

fn quoted(text: &str, out: &mut String) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    json::append_quoted(text, &mut bytes);
    out.push_str(&String::from_utf8_lossy(&bytes));
}

/// A number that shows that it is not a whole one.
fn real(value: f64, out: &mut String) {
    if !value.is_finite() {
        return out.push_str("null");
    }
    let mut bytes = Vec::new();
    types::format_double(value, &mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    out.push_str(&text);
    if !text.contains(['.', 'e']) {
        out.push_str(".0");
    }
}
