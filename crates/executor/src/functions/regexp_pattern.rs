//! Regular expressions as MySQL's (ICU) write them, translated to those of `fancy_regex`, with MySQL's errors for what is wrong in them.
//!
//! # Invariants
//! 1. What [`translate`] accepts has balanced groups and brackets, operands for its quantifiers, and back-references to groups that exist: these errors are
//!    found here, with MySQL's numbers. What the matching library refuses beyond that is 3685.
//! 2. Group numbers and names are those of the text.
//!
//! # Not here
//! Full case folding (`ß` does not match `SS`), `\N{name}`, `\X` with all of its rules, CRLF as one line end for `^` and `$` inside a text.

use mysql_error::SqlError;

/// How a pattern is meant, beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags {
    /// Case counts.
    pub case_sensitive: bool,
    /// `^` and `$` match at line ends.
    pub multi_line: bool,
    /// `.` matches line ends.
    pub dot_all: bool,
    /// Only `\n` ends lines.
    pub unix_lines: bool,
    /// The subject ends in a line end, before which `$` matches, too.
    pub line_end_last: bool,
}

/// Largest count in a `{min,max}` interval.
const COUNT_MAX: u64 = i32::MAX as u64;
/// Deepest nesting of groups and sets.
const DEPTH_MAX: usize = 200;
/// Groups within one another that `$` and `^` are written as.
const OWN_DEPTH: usize = 2;

fn error(code: u16, message: &str) -> SqlError {
    SqlError::with_message(code, message.to_owned())
}

/// 3685.
pub fn illegal_argument() -> SqlError {
    error(3685, "Illegal argument to a regular expression.")
}

/// 3686.
pub fn out_of_bounds() -> SqlError {
    error(3686, "Index out of bounds in regular expression search.")
}

/// 3699.
pub fn timeout() -> SqlError {
    error(3699, "Timeout exceeded in regular expression match.")
}

/// 3887.
pub fn bad_group_name() -> SqlError {
    error(3887, "A capture group has an invalid name.")
}

fn parenthesis() -> SqlError {
    error(3691, "Mismatched parenthesis in regular expression.")
}

fn interval() -> SqlError {
    error(3692, "Incorrect description of a {min,max} interval.")
}

fn unclosed() -> SqlError {
    error(3696, "The regular expression contains an unclosed bracket expression.")
}

fn escape() -> SqlError {
    error(3689, "Unrecognized escape sequence in regular expression.")
}

fn back_reference() -> SqlError {
    error(3694, "Invalid back-reference in regular expression.")
}

/// Line ends, as a class.
const LINE_ENDS: &str = r"\n\x0B\f\r\x{85}\x{2028}\x{2029}";

/// A group that is open.
struct Group {
    /// What held outside of it.
    dot_all: bool,
    multi_line: bool,
    comments: bool,
    look_behind: bool,
}

struct Translator<'p> {
    text: Vec<char>,
    at: usize,
    out: String,
    flags: Flags,
    /// `(?x)`.
    comments: bool,
    groups: Vec<Group>,
    /// Most groups within one another.
    depth: usize,
    group_count: u32,
    names: Vec<String>,
    /// Highest group that a `\1` names.
    referred: u32,
    /// Something stands before that a quantifier can be about.
    operand: bool,
    source: &'p str,
}

/// A translated pattern.
#[derive(Debug)]
pub struct Translated {
    /// For the library.
    pub pattern: String,
    /// Groups in it.
    pub group_count: u32,
    /// Of those, and of what is written as one, within one another.
    pub depth: usize,
}

/// Translates a pattern.
pub fn translate(pattern: &str, flags: Flags) -> Result<Translated, SqlError> {
    if pattern.is_empty() {
        return Err(illegal_argument());
    }
    let mut translator = Translator {
        text: pattern.chars().collect(),
        at: 0,
        out: String::with_capacity(pattern.len() + 16),
        flags,
        comments: false,
        groups: Vec::new(),
        depth: 0,
        group_count: 0,
        names: Vec::new(),
        referred: 0,
        operand: false,
        source: pattern,
    };
    if !flags.case_sensitive {
        translator.out.push_str("(?i)");
    }
    translator.run()?;
    Ok(Translated { pattern: translator.out, group_count: translator.group_count, depth: translator.depth + OWN_DEPTH })
}

impl Translator<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.text[self.at..].iter().copied().take(text.chars().count()).eq(text.chars());
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// 3688 at a character, counted from 0.
    fn syntax(&self, at: usize) -> SqlError {
        let before = &self.text[..at.min(self.text.len())];
        let line = before.iter().filter(|c| **c == '\n').count() + 1;
        let column = before.iter().rev().take_while(|c| **c != '\n').count() + 1;
        error(3688, &format!("Syntax error in regular expression on line {line}, character {column}."))
    }

    fn run(&mut self) -> Result<(), SqlError> {
        while let Some(c) = self.next() {
            self.one(c)?;
        }
        if !self.groups.is_empty() {
            return Err(parenthesis());
        }
        if self.referred > self.group_count {
            return Err(back_reference());
        }
        Ok(())
    }

    fn one(&mut self, c: char) -> Result<(), SqlError> {
        match c {
            '(' => return self.open(),
            ')' => {
                let group = self.groups.pop().ok_or_else(parenthesis)?;
                (self.flags.dot_all, self.flags.multi_line, self.comments) = (group.dot_all, group.multi_line, group.comments);
                self.out.push(')');
                self.operand = true;
            }
            '|' => {
                self.out.push('|');
                self.operand = false;
            }
            '*' | '+' | '?' => return self.quantifier(c),
            '{' => return self.interval(),
            '[' => {
                self.set(0)?;
                self.operand = true;
            }
            '.' => {
                match (self.flags.dot_all, self.flags.unix_lines) {
                    (true, _) => self.out.push_str(r"(?s:.)"),
                    (false, true) => self.out.push_str(r"[^\n]"),
                    (false, false) => {
                        self.out.push_str("[^");
                        self.out.push_str(LINE_ENDS);
                        self.out.push(']');
                    }
                }
                self.operand = true;
            }
            '^' => {
                match (self.flags.multi_line, self.flags.unix_lines) {
                    (false, _) => self.out.push_str(r"\A"),
                    (true, true) => self.out.push_str("(?m:^)"),
                    (true, false) => {
                        self.out.push_str(r"(?:\A|(?<=[\n\x0B\f\x{85}\x{2028}\x{2029}])|(?<=\r)(?!\n))");
                    }
                }
                self.operand = true;
            }
            '$' => {
                self.end();
                self.operand = true;
            }
            '\\' => return self.escaped(),
            '#' if self.comments => while self.next().is_some_and(|c| c != '\n') {},
            c if self.comments && c.is_whitespace() => {}
            '}' => return Err(self.syntax(self.at - 1)),
            c => {
                push_literal(&mut self.out, c);
                self.operand = true;
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        match (self.flags.multi_line, self.flags.unix_lines) {
            (true, true) => self.out.push_str("(?m:$)"),
            (true, false) => {
                self.out.push_str(r"(?:\z|(?=[\r\x0B\f\x{85}\x{2028}\x{2029}])|(?<!\r)(?=\n))");
            }
            (false, true) if self.flags.line_end_last => self.out.push_str(r"(?=\n?\z)"),
            (false, false) if self.flags.line_end_last => {
                self.out.push_str(r"(?:\z|(?=\r\n\z)|(?=[\r\x0B\f\x{85}\x{2028}\x{2029}]\z)|(?<!\r)(?=\n\z))");
            }
            (false, _) => self.out.push_str(r"\z"),
        }
    }

    fn open(&mut self) -> Result<(), SqlError> {
        if self.groups.len() >= DEPTH_MAX {
            return Err(error(3693, "Overflow in the regular expression backtrack stack."));
        }
        let mut group = Group {
            dot_all: self.flags.dot_all,
            multi_line: self.flags.multi_line,
            comments: self.comments,
            look_behind: self.groups.last().is_some_and(|outer| outer.look_behind),
        };
        self.operand = false;
        if !self.eat("?") {
            self.group_count += 1;
            self.out.push('(');
            self.enter(group);
            return Ok(());
        }
        for (word, look_behind) in [(":", false), (">", false), ("=", false), ("!", false), ("<=", true), ("<!", true)] {
            if self.eat(word) {
                group.look_behind |= look_behind;
                self.out.push_str("(?");
                self.out.push_str(word);
                self.enter(group);
                return Ok(());
            }
        }
        if self.eat("#") {
            while self.next().ok_or_else(parenthesis)? != ')' {}
            return Ok(());
        }
        if self.eat("<") {
            let name = self.name()?;
            if self.names.contains(&name) {
                return Err(bad_group_name());
            }
            self.group_count += 1;
            self.out.push_str("(?<");
            self.out.push_str(&name);
            self.out.push('>');
            self.names.push(name);
            self.enter(group);
            return Ok(());
        }
        self.modes(group)
    }

    fn enter(&mut self, group: Group) {
        self.groups.push(group);
        self.depth = self.depth.max(self.groups.len());
    }

    /// `(?i)`, `(?i-s:…)`.
    fn modes(&mut self, group: Group) -> Result<(), SqlError> {
        let (mut on, mut case) = (true, None);
        loop {
            match self.next() {
                Some('-') if on => on = false,
                Some('i') => case = Some(on),
                Some('s') => self.flags.dot_all = on,
                Some('m') => self.flags.multi_line = on,
                Some('x') => self.comments = on,
                Some('w') => {}
                Some(end @ (')' | ':')) => {
                    self.out.push_str(match case {
                        Some(true) => "(?i",
                        Some(false) => "(?-i",
                        None if end == ')' => return Ok(()),
                        None => "(?",
                    });
                    self.out.push(end);
                    if end == ':' {
                        self.enter(group);
                    }
                    return Ok(());
                }
                Some(_) => return Err(self.syntax(self.at - 1)),
                None => return Err(self.syntax(self.at - 1)),
            }
        }
    }

    fn name(&mut self) -> Result<String, SqlError> {
        let mut name = String::new();
        loop {
            match self.next() {
                Some('>') if !name.is_empty() => return Ok(name),
                Some(c) if c.is_ascii_alphabetic() || (!name.is_empty() && c.is_ascii_digit()) => name.push(c),
                _ => return Err(bad_group_name()),
            }
        }
    }

    fn quantifier(&mut self, c: char) -> Result<(), SqlError> {
        if !self.operand {
            return Err(self.syntax(self.at - 1));
        }
        if c != '?' {
            self.unbounded()?;
        }
        self.out.push(c);
        self.after_quantifier();
        Ok(())
    }

    /// Lazy or possessive; then no other quantifier follows.
    fn after_quantifier(&mut self) {
        if let Some(how @ ('?' | '+')) = self.peek() {
            self.at += 1;
            self.out.push(how);
        }
        self.operand = false;
    }

    fn unbounded(&self) -> Result<(), SqlError> {
        match self.groups.last() {
            Some(group) if group.look_behind => Err(error(3695, "The look-behind assertion exceeds the limit in regular expression.")),
            _ => Ok(()),
        }
    }

    fn interval(&mut self) -> Result<(), SqlError> {
        if !self.operand {
            return Err(self.syntax(self.at - 1));
        }
        let least = self.count()?.ok_or_else(interval)?;
        let most = match self.next() {
            Some('}') => Some(least),
            Some(',') => {
                let most = self.count()?;
                if self.next() != Some('}') {
                    return Err(interval());
                }
                most
            }
            _ => return Err(interval()),
        };
        match most {
            None => self.unbounded()?,
            Some(most) if most < least => return Err(error(3693, "The maximum is less than the minumum in a {min,max} interval.")),
            Some(_) => {}
        }
        let most = most.map(|most| most.to_string()).unwrap_or_default();
        self.out.push_str(&format!("{{{least},{most}}}"));
        self.after_quantifier();
        Ok(())
    }

    fn count(&mut self) -> Result<Option<u64>, SqlError> {
        let mut count = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            let value = count.unwrap_or(0) * 10 + u64::from(digit);
            if value > COUNT_MAX {
                return Err(error(4007, "Decimal number in regular expression is too large."));
            }
            count = Some(value);
        }
        Ok(count)
    }

    /// Behind a backslash, outside of a set.
    fn escaped(&mut self) -> Result<(), SqlError> {
        let c = self.next().ok_or_else(escape)?;
        self.operand = true;
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'b' | 'B' | 'A' | 'z' | 'G' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'Z' => {
                let multi_line = std::mem::take(&mut self.flags.multi_line);
                self.end();
                self.flags.multi_line = multi_line;
            }
            'R' => self.out.push_str(&format!(r"(?:\r\n|[{LINE_ENDS}])")),
            'X' => self.out.push_str(r"(?:\r\n|\P{M}\p{M}*|\p{M}+)"),
            'Q' => {
                while !self.eat("\\E") {
                    let Some(c) = self.next() else { break };
                    push_literal(&mut self.out, c);
                }
            }
            'E' => {}
            'k' => {
                if self.next() != Some('<') {
                    return Err(bad_group_name());
                }
                let name = self.name()?;
                if !self.names.contains(&name) {
                    return Err(bad_group_name());
                }
                self.out.push_str(&format!(r"(?:\k<{name}>)"));
            }
            '1'..='9' => {
                let mut number = c as u32 - '0' as u32;
                // As many digits as there are groups for.
                while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
                    if number * 10 + digit > self.group_count {
                        break;
                    }
                    number = number * 10 + digit;
                    self.at += 1;
                }
                self.referred = self.referred.max(number);
                self.out.push_str(&format!(r"(?:\{number})"));
            }
            _ => {
                let class = self.class_escape(c)?;
                match class {
                    Class::Char(c) => push_literal(&mut self.out, c),
                    Class::Set(set) => {
                        self.out.push('[');
                        self.out.push_str(&set);
                        self.out.push(']');
                    }
                }
            }
        }
        Ok(())
    }

    /// What `\c` is inside and outside of sets.
    fn class_escape(&mut self, c: char) -> Result<Class, SqlError> {
        Ok(match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => Class::Set(format!("\\{c}")),
            'h' => Class::Set(r"\p{Zs}\t".into()),
            'H' => Class::Set(r"[^\p{Zs}\t]".into()),
            'v' => Class::Set(LINE_ENDS.into()),
            'V' => Class::Set(format!("[^{LINE_ENDS}]")),
            't' => Class::Char('\t'),
            'n' => Class::Char('\n'),
            'r' => Class::Char('\r'),
            'f' => Class::Char('\x0c'),
            'a' => Class::Char('\x07'),
            'e' => Class::Char('\x1b'),
            'x' if self.eat("{") => Class::Char(self.hexadecimal(1, 6, true)?),
            'x' => Class::Char(self.hexadecimal(2, 2, false)?),
            'u' => Class::Char(self.hexadecimal(4, 4, false)?),
            'U' => Class::Char(self.hexadecimal(8, 8, false)?),
            '0' => {
                let mut value = 0;
                let mut digits = 0;
                while let Some(digit) = self.peek().and_then(|c| c.to_digit(8))
                    && digits < 3
                {
                    self.at += 1;
                    digits += 1;
                    value = value * 8 + digit;
                }
                match char::from_u32(value) {
                    Some(c) if digits > 0 => Class::Char(c),
                    _ => return Err(escape()),
                }
            }
            'c' => match self.next() {
                Some(c) => Class::Char(char::from_u32(c as u32 & 0x1f).ok_or_else(escape)?),
                None => return Err(escape()),
            },
            'p' | 'P' => {
                if !self.eat("{") {
                    return Err(illegal_argument());
                }
                let mut name = String::new();
                loop {
                    match self.next() {
                        Some('}') => break,
                        Some(c) => name.push(c),
                        None => return Err(illegal_argument()),
                    }
                }
                Class::Set(format!("\\{c}{{{name}}}"))
            }
            'N' => return Err(escape()),
            c => Class::Char(c),
        })
    }

    fn hexadecimal(&mut self, least: usize, most: usize, braced: bool) -> Result<char, SqlError> {
        let mut value = 0_u32;
        let mut digits = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(16))
            && digits < most
        {
            self.at += 1;
            digits += 1;
            value = value << 4 | digit;
        }
        if digits < least || (braced && self.next() != Some('}')) {
            return Err(escape());
        }
        char::from_u32(value).ok_or_else(escape)
    }

    /// A set, behind its opening bracket.
    fn set(&mut self, depth: usize) -> Result<(), SqlError> {
        if depth >= DEPTH_MAX {
            return Err(illegal_argument());
        }
        self.out.push('[');
        if let Some(class) = self.class_alone()? {
            self.out.push_str(class);
            self.out.push(']');
            return Ok(());
        }
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        // The last single character, which a range may begin with.
        let mut from: Option<char> = None;
        loop {
            let c = self.next().ok_or_else(unclosed)?;
            let one = match c {
                ']' if !first => break,
                '[' if self.eat(":") => {
                    let end = self.source_find(":]").ok_or_else(illegal_argument)?;
                    let name: String = self.text[self.at..end].iter().collect();
                    self.at = end + 2;
                    self.out.push_str(posix(&name).ok_or_else(illegal_argument)?);
                    None
                }
                '[' => {
                    self.set(depth + 1)?;
                    None
                }
                '&' if self.eat("&") => {
                    self.out.push_str("&&");
                    None
                }
                '-' if self.eat("-") => {
                    self.out.push_str("--");
                    None
                }
                '-' if from.is_some() && self.peek().is_some_and(|c| c != ']') => {
                    let low = from.take().unwrap_or_default();
                    let high = match self.next() {
                        Some('\\') => {
                            let c = self.next().ok_or_else(escape)?;
                            match self.class_escape(c)? {
                                Class::Char(c) => c,
                                Class::Set(_) => return Err(illegal_argument()),
                            }
                        }
                        Some('[') => {
                            // A difference: `[a-z-[aeiou]]`.
                            self.out.push_str("--");
                            self.set(depth + 1)?;
                            first = false;
                            continue;
                        }
                        Some(c) => c,
                        None => return Err(unclosed()),
                    };
                    if high < low {
                        let message = "The regular expression contains an [x-y] character range where x comes after y.";
                        return Err(error(3697, message));
                    }
                    self.out.push('-');
                    push_member(&mut self.out, high);
                    first = false;
                    continue;
                }
                '\\' => {
                    let c = self.next().ok_or_else(escape)?;
                    match self.class_escape(c)? {
                        Class::Char(c) => Some(c),
                        Class::Set(set) => {
                            self.out.push_str(&set);
                            None
                        }
                    }
                }
                c => Some(c),
            };
            first = false;
            if let Some(c) = one {
                push_member(&mut self.out, c);
            }
            from = one;
        }
        self.out.push(']');
        Ok(())
    }

    /// Where a text comes next.
    /// `[:alpha:]` without brackets around it is the class, too.
    fn class_alone(&mut self) -> Result<Option<&'static str>, SqlError> {
        if self.peek() != Some(':') {
            return Ok(None);
        }
        let Some(end) = self.source_find(":]").filter(|end| *end > self.at + 1) else { return Ok(None) };
        let name = &self.text[self.at + 1..end];
        let bare = name.strip_prefix(&['^']).unwrap_or(name);
        if bare.is_empty() || !bare.iter().all(char::is_ascii_alphabetic) {
            return Ok(None);
        }
        let name: String = name.iter().map(char::to_ascii_lowercase).collect();
        self.at = end + 2;
        posix(&name).map(Some).ok_or_else(illegal_argument)
    }

    fn source_find(&self, text: &str) -> Option<usize> {
        debug_assert!(self.source.len() >= self.text.len());
        let wanted: Vec<char> = text.chars().collect();
        (self.at..self.text.len()).find(|at| self.text[*at..].starts_with(&wanted))
    }
}

/// What an escape stands for.
enum Class {
    Char(char),
    Set(String),
}

/// A character that means itself.
fn push_literal(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        out.push_str(&format!("\\x{{{:X}}}", c as u32));
    } else {
        out.push(c);
    }
}

/// The same inside a set.
fn push_member(out: &mut String, c: char) {
    push_literal(out, c);
}

/// The set of a `[:name:]`.
fn posix(name: &str) -> Option<&'static str> {
    let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
    Some(match (name, negated) {
        ("alpha", false) => r"\p{Alphabetic}",
        ("alpha", true) => r"\P{Alphabetic}",
        ("alnum", false) => r"\p{Alphabetic}\p{Nd}",
        ("alnum", true) => r"[^\p{Alphabetic}\p{Nd}]",
        ("ascii", false) => r"\x00-\x7F",
        ("blank", false) => r"\p{Zs}\t",
        ("cntrl", false) => r"\p{Cc}",
        ("digit", false) => r"\p{Nd}",
        ("digit", true) => r"\P{Nd}",
        ("graph", false) => r"[^\p{White_Space}\p{Cc}\p{Cs}\p{Cn}]",
        ("lower", false) => r"\p{Lowercase}",
        ("lower", true) => r"\P{Lowercase}",
        ("print", false) => r"[^\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]",
        ("punct", false) => r"\p{P}",
        ("punct", true) => r"\P{P}",
        ("space", false) => r"\p{White_Space}",
        ("space", true) => r"\P{White_Space}",
        ("upper", false) => r"\p{Uppercase}",
        ("upper", true) => r"\P{Uppercase}",
        ("word", false) => r"\w",
        ("word", true) => r"\W",
        ("xdigit", false) => r"\p{Nd}a-fA-F",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_mysqls_numbers() {
        let check = |pattern: &str, expect: u16| {
            let result = translate(pattern, Flags::default());
            assert_eq!(result.as_ref().map_or_else(|error| error.code, |_| 0), expect, "{pattern}: {result:?}");
        };
        check("", 3685);
        check("(", 3691);
        check("a)", 3691);
        check("[", 3696);
        check("[]", 3696);
        check("[^]", 3696);
        check("[b-a]", 3697);
        check("a{2,1}", 3693);
        check("a{", 3692);
        check("a{,2}", 3692);
        check("a{99999999999}", 4007);
        check("*a", 3688);
        check("a**", 3688);
        check("a}", 3688);
        check("\\", 3689);
        check("\\x{zz}", 3689);
        check("(a)\\2", 3694);
        check("[[:nosuch:]]", 3685);
        check("(?<=a*)b", 3695);
        check("(?z)a", 3688);
        check("(?<a", 3887);
        check("(?<n>a)(?<n>b)", 3887);
        check("\\k<x>", 3887);
        check("[]a]", 0);
        check("\\q", 0);
        check(&"(".repeat(100_000), 3693);
    }
}
