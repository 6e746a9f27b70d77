//! Patterns of JSON Schema: regular expressions of ECMAScript, as MySQL reads them, written for `fancy_regex`.
//!
//! What only `fancy_regex` has must not reach it: calls of groups (`\g<1>`), which it expands without a bound, look-behind, flags, conditions.

/// A pattern that has been read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SchemaPattern {
    /// For the library.
    pub pattern: String,
    /// Groups within one another.
    pub depth: usize,
}

/// Reads a pattern; `None` for a text that is none.
pub(super) fn read(text: &str) -> Option<SchemaPattern> {
    let mut rest = text;
    let mut pattern = String::with_capacity(text.len() + 16);
    let (mut open, mut depth) = (0_usize, 0_usize);
    while let Some(c) = take(&mut rest) {
        match c {
            '\\' => escape(&mut rest, false, &mut pattern)?,
            '[' => set(&mut rest, &mut pattern)?,
            '(' => {
                if let Some(kind) = rest.strip_prefix('?') {
                    kind.starts_with([':', '=', '!']).then_some(())?;
                }
                open += 1;
                depth = depth.max(open);
                pattern.push('(');
            }
            ')' => {
                open = open.checked_sub(1)?;
                pattern.push(')');
            }
            '{' => {
                let (counts, _) = rest.split_once('}')?;
                let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
                let digits = |count: &str| count.bytes().all(|byte| byte.is_ascii_digit());
                (!least.is_empty() && digits(least) && digits(most)).then_some(())?;
                pattern.push('{');
            }
            '.' => pattern.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            c => pattern.push(c),
        }
    }
    (open == 0).then_some(SchemaPattern { pattern, depth })
}

fn take(rest: &mut &str) -> Option<char> {
    let mut chars = rest.chars();
    let c = chars.next();
    *rest = chars.as_str();
    c
}

/// A character that means itself.
fn literal(c: char, out: &mut String) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        out.push_str(&format!("\\x{{{:X}}}", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// Behind a backslash.
fn escape(rest: &mut &str, in_set: bool, out: &mut String) -> Option<()> {
    let c = take(rest)?;
    let class = match c {
        'd' => Some(("[0-9]", "0-9")),
        'D' => Some(("[^0-9]", "[^0-9]")),
        'w' => Some(("[0-9A-Za-z_]", "0-9A-Za-z_")),
        'W' => Some(("[^0-9A-Za-z_]", "[^0-9A-Za-z_]")),
        's' => Some((r"\s", r"\s")),
        'S' => Some((r"\S", r"\S")),
        _ => None,
    };
    if let Some((outside, inside)) = class {
        out.push_str(if in_set { inside } else { outside });
        return Some(());
    }
    let hexadecimal = |rest: &mut &str, digits: usize| {
        let number = rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        *rest = &rest[digits..];
        char::from_u32(u32::from_str_radix(number, 16).ok()?)
    };
    let c = match c {
        'b' if in_set => '\x08',
        'b' | 'B' | '1'..='9' if !in_set => {
            // Braced, that a digit behind it is none of its number.
            out.push_str(&format!("(?:\\{c})"));
            return Some(());
        }
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'f' => '\x0C',
        'v' => '\x0B',
        '0' => '\0',
        'c' => char::from_u32(u32::from(take(rest)?) & 0x1F)?,
        'x' => hexadecimal(rest, 2)?,
        'u' => hexadecimal(rest, 4)?,
        c => c,
    };
    literal(c, out);
    Some(())
}

/// Names of classes.
const CLASSES: [&str; 12] = ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// A set, behind its opening bracket.
fn set(rest: &mut &str, out: &mut String) -> Option<()> {
    // An empty set is what no character is in.
    for (empty, means) in [("]", "[a&&b]"), ("^]", r"[\s\S]")] {
        if let Some(after) = rest.strip_prefix(empty) {
            *rest = after;
            out.push_str(means);
            return Some(());
        }
    }
    out.push('[');
    if let Some(after) = rest.strip_prefix('^') {
        *rest = after;
        out.push('^');
    }
    // Whether a range may begin with what stands before.
    let mut may_begin = false;
    loop {
        match take(rest)? {
            ']' => break,
            '\\' => {
                may_begin = !rest.starts_with(['d', 'D', 'w', 'W', 's', 'S']);
                escape(rest, true, out)?;
            }
            '[' if rest.starts_with(':') => {
                let end = rest.find(":]")? + 2;
                CLASSES.contains(&&rest[1..end - 2]).then_some(())?;
                out.push('[');
                out.push_str(&rest[..end]);
                *rest = &rest[end..];
                may_begin = false;
            }
            '-' if may_begin && !rest.starts_with(']') => {
                out.push('-');
                match take(rest)? {
                    '\\' => escape(rest, true, out)?,
                    end => literal(end, out),
                }
                may_begin = false;
            }
            c => {
                literal(c, out);
                may_begin = true;
            }
        }
    }
    out.push(']');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::regexp::compile;

    #[test]
    fn patterns_mean_what_mysqls_mean() {
        let check = |pattern: &str, text: &str, expect: Option<bool>| {
            let regex = read(pattern).and_then(|read| compile(read.pattern, read.depth, 1000));
            assert_eq!(regex.map(|regex| regex.is_match(text).unwrap()), expect, "{pattern} {text}: {:?}", read(pattern));
        };
        // Each of these was asked of MySQL 9.7, which takes a schema with a text that is no pattern for one without.
        for none in [
            "(?<=a)b",
            "(?>a)b",
            "(?i)b",
            "(?i:b)",
            "(?<n>b)",
            "(?#x)b",
            "(?P<n>b)",
            "(?~b)",
            "(a)?(?(1)b|c)",
            "[a",
            "a{",
            "{",
            "a{x}",
            r"\p{L}",
            r"\x4",
            r"\x",
            "a\\",
            "(b)\\2",
            "[[:foo:]]",
            "*",
            "a|*",
            "a**",
            "(a",
            "a)",
        ] {
            check(none, "xx", None);
        }
        check("(?:b)", "xx", Some(false));
        check("(?=b)", "xx", Some(false));
        check("(?!b)", "b", Some(true));
        check(r"(b)\g<1>", "bb", Some(false));
        check(r"(b)\g<1>", "bg<1>", Some(true));
        check(r"\g", "g", Some(true));
        check(r"\A", "x", Some(false));
        check(r"\K", "1", Some(false));
        check(r"(b)\1", "bb", Some(true));
        check(r"(b)\1", "x", Some(false));
        check("a}", "a}", Some(true));
        check("[]a]", "a]", Some(false));
        check("[^]", "a", Some(true));
        check("[]", "a", Some(false));
        check("[[a]]", "x", Some(false));
        check("[[a]", "[", Some(true));
        check("[a-c&&b]", "a", Some(true));
        check("[a-c&&b]", "&", Some(true));
        check("[a-]", "-", Some(true));
        check("[+--]", ",", Some(true));
        check(r"\x41", "A", Some(true));
        check(r"\u0041", "B", Some(false));
        check(r"\<b", "<b", Some(true));
        check(r"\é", "é", Some(true));
        check(r"^\w$", "é", Some(false));
        check(r"\d", "٣", Some(false));
        check(r"[\d]", "7", Some(true));
        check(r"[\g]", "g", Some(true));
        check(r"[\b]", "b", Some(false));
        check("[[:alpha:]]", "a", Some(true));
        check("[[:alpha:]]", "1", Some(false));
        check("^a.b$", "a\nb", Some(false));
        check("a{2,3}", "aa", Some(true));
        check("a{2,}", "a", Some(false));
        check("", "x", Some(true));
    }
}
