//! REGEXP, REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.
//!
//! Patterns are read by `regexp_pattern.rs` and matched by `fancy_regex`. What was compiled is kept while the statement runs.

use crate::exec::Exec;
use crate::functions::bounded::{Growing, Refusal};
use crate::functions::regexp_pattern::{Flags, bad_group_name, illegal_argument, out_of_bounds, timeout, translate};
use crate::run::Result;
use fancy_regex::{Captures, Regex, RegexBuilder};
use mysql_error::{SqlError, codes};
use planner::expr::Expr;
use planner::func::Func;
use planner::typing;
use std::sync::Arc;
use types::{Collation, Value};

/// Patterns that a statement keeps compiled.
const KEPT_MAX: usize = 16;
/// Steps back that a match may take: about what MySQL's `regexp_time_limit` allows.
const BACKTRACK_MAX: usize = 300_000;
/// Bytes of a subject whose every place may be tried, with some steps back each, within these.
const SUBJECT_BYTES: usize = 64 << 10;
/// Steps back more for each byte of a longer one.
const BACKTRACK_PER_BYTE: usize = 4;
/// Bytes that a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 8 << 20;
/// Groups within one another that are compiled on the stack of the statement.
const DEPTH_HERE_MAX: usize = 5;
/// Stack for deeper ones: the library takes some 5 KiB for a group within another, more in unoptimised code, and refuses the 64th.
const DEEP_STACK_BYTES: usize = 8 << 20;

/// Compiles a pattern with so many groups within one another; `None` for one that the library does not take. It works recursively, so that deep ones
/// need more stack than a connection has.
pub(super) fn compile(pattern: String, depth: usize, steps_max: usize) -> Option<Regex> {
    if depth > DEPTH_HERE_MAX { compile_deep(pattern, steps_max) } else { build(&pattern, steps_max) }
}

fn build(pattern: &str, steps_max: usize) -> Option<Regex> {
    RegexBuilder::new(pattern)
        .backtrack_limit(steps_max)
        .delegate_size_limit(COMPILED_BYTES_MAX)
        .delegate_dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .ok()
}

#[cold]
fn compile_deep(pattern: String, steps_max: usize) -> Option<Regex> {
    let thread = sync::thread::Builder::new().name("pattern".to_owned()).stack_size(DEEP_STACK_BYTES);
    thread.spawn(move || build(&pattern, steps_max)).ok()?.join().ok()?
}

/// Compiled patterns of a statement.
#[derive(Default)]
pub struct Patterns {
    kept: Vec<(Arc<str>, Flags, usize, Arc<Pattern>)>,
}

/// A compiled pattern.
struct Pattern {
    regex: Regex,
    group_count: u32,
}

impl Patterns {
    /// For a subject of so many bytes.
    fn get(&mut self, text: &str, flags: Flags, subject_bytes: usize) -> std::result::Result<Arc<Pattern>, SqlError> {
        let steps_max = backtrack_max(subject_bytes);
        let same = |kept: &&(Arc<str>, Flags, usize, Arc<Pattern>)| kept.1 == flags && kept.2 == steps_max && *kept.0 == *text;
        if let Some((_, _, _, pattern)) = self.kept.iter().find(same) {
            return Ok(Arc::clone(pattern));
        }
        let translated = translate(text, flags)?;
        let regex = compile(translated.pattern, translated.depth, steps_max).ok_or_else(illegal_argument)?;
        let pattern = Arc::new(Pattern { regex, group_count: translated.group_count });
        if self.kept.len() == KEPT_MAX {
            self.kept.remove(0);
        }
        self.kept.push((text.into(), flags, steps_max, Arc::clone(&pattern)));
        Ok(pattern)
    }
}

/// The matcher counts a step for each place where it begins anew, so that a longer subject needs more. Few limits, as each is a pattern compiled.
fn backtrack_max(subject_bytes: usize) -> usize {
    if subject_bytes <= SUBJECT_BYTES {
        return BACKTRACK_MAX;
    }
    BACKTRACK_MAX.saturating_add(subject_bytes.checked_next_power_of_two().unwrap_or(subject_bytes).saturating_mul(BACKTRACK_PER_BYTE))
}

/// Subject and pattern of a call.
struct Call {
    subject: String,
    pattern: Arc<Pattern>,
    /// Bytes, each of them a character.
    binary: bool,
}

impl Call {
    /// A result as it goes out.
    fn value(&self, text: &str) -> Value {
        if self.binary { Value::bytes(text.chars().map(|c| c as u32 as u8).collect::<Vec<u8>>()) } else { Value::from(text) }
    }

    /// Where the character with this number (from 1) begins.
    fn offset(&self, position: i64) -> Option<usize> {
        let index = usize::try_from(position.checked_sub(1)?).ok()?;
        let ends = std::iter::once(self.subject.len());
        self.subject.char_indices().map(|(at, _)| at).chain(ends).nth(index)
    }

    fn find(&self, from: usize) -> Result<Option<(usize, usize)>> {
        match self.pattern.regex.find_from_pos(self.subject.as_str(), from) {
            Ok(found) => Ok(found.map(|found| (found.start(), found.end()))),
            Err(error) => Err(matching_error(&error).into()),
        }
    }

    /// Where the search goes on behind a match.
    fn behind(&self, (start, end): (usize, usize)) -> Option<usize> {
        if end > start {
            return Some(end);
        }
        let next = self.subject[end..].chars().next()?;
        Some(end + next.len_utf8())
    }

    /// The match with this number (from 1).
    fn occurrence(&self, mut from: usize, count: i64) -> Result<Option<(usize, usize)>> {
        let mut left = count.max(1);
        loop {
            let Some(found) = self.find(from)? else { return Ok(None) };
            left -= 1;
            if left == 0 {
                return Ok(Some(found));
            }
            let Some(next) = self.behind(found) else { return Ok(None) };
            from = next;
        }
    }
}

fn matching_error(error: &fancy_regex::Error) -> SqlError {
    match error {
        fancy_regex::Error::RuntimeError(_) => timeout(),
        _ => illegal_argument(),
    }
}

impl Exec<'_> {
    /// Calls one of them.
    #[inline(never)]
    pub fn call_regexp(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        match func {
            Func::RegexpLike => {
                let Some(call) = self.regexp_call(func, args, 2)? else { return Ok(Value::Null) };
                let matched = call.pattern.regex.is_match(call.subject.as_str()).map_err(|error| matching_error(&error))?;
                Ok(Value::bool(matched))
            }
            Func::RegexpInstr => self.regexp_instr(args),
            Func::RegexpSubstr => {
                let Some(call) = self.regexp_call(func, args, 4)? else { return Ok(Value::Null) };
                let (Some(position), Some(occurrence)) = (self.regexp_number(args.get(2))?, self.regexp_number(args.get(3))?) else {
                    return Ok(Value::Null);
                };
                if position < 1 {
                    return Err(wrong_parameters("regexp_substr").into());
                }
                let from = call.offset(position).ok_or_else(out_of_bounds)?;
                Ok(match call.occurrence(from, occurrence)? {
                    Some((start, end)) => call.value(&call.subject[start..end]),
                    None => Value::Null,
                })
            }
            Func::RegexpReplace => self.regexp_replace(args),
            _ => Err(super::not_answered(func)),
        }
    }

    fn regexp_instr(&mut self, args: &[Expr]) -> Result<Value> {
        let returns = match args.get(4) {
            None => Some(0),
            Some(e) => self.int_arg(e)?,
        };
        if returns.is_some_and(|returns| !(0..=1).contains(&returns)) {
            return Err(SqlError::with_message(1210, "Incorrect arguments to regexp_instr: return_option must be 1 or 0.").into());
        }
        let Some(call) = self.regexp_call(Func::RegexpInstr, args, 5)? else { return Ok(Value::Null) };
        let (Some(position), Some(occurrence)) = (self.regexp_number(args.get(2))?, self.regexp_number(args.get(3))?) else {
            return Ok(Value::Null);
        };
        let Some(returns) = returns else { return Ok(Value::Null) };
        if call.subject.is_empty() && position > 1 {
            return Ok(Value::Int(0));
        }
        let from = call.offset(position).filter(|from| *from < call.subject.len() || (position == 1 && call.subject.is_empty()));
        let from = from.ok_or_else(out_of_bounds)?;
        Ok(match call.occurrence(from, occurrence)? {
            Some((start, end)) => {
                let at = if returns == 1 { end } else { start };
                Value::Int(call.subject[..at].chars().count() as i64 + 1)
            }
            None => Value::Int(0),
        })
    }

    fn regexp_replace(&mut self, args: &[Expr]) -> Result<Value> {
        let Some(call) = self.regexp_call(Func::RegexpReplace, args, 5)? else { return Ok(Value::Null) };
        let Some(replacement) = self.text_arg(&args[2])? else { return Ok(Value::Null) };
        let replacement = to_text(&replacement, call.binary);
        let occurrence = match args.get(4) {
            None => Some(0),
            Some(e) => self.int_arg(e)?,
        };
        let (Some(position), Some(occurrence)) = (self.regexp_number(args.get(3))?, occurrence) else { return Ok(Value::Null) };
        if position < 1 {
            return Err(wrong_parameters("regexp_replace").into());
        }
        let mut from = call.offset(position).ok_or_else(out_of_bounds)?;
        if call.subject.is_empty() {
            return Ok(call.value(""));
        }
        let only = (occurrence != 0).then(|| occurrence.max(1));
        let mut out = self.growing();
        let (mut copied, mut number) = (0, 0);
        loop {
            self.tick()?;
            let found = call.pattern.regex.captures_from_pos(call.subject.as_str(), from).map_err(|error| matching_error(&error))?;
            let Some(groups) = found else { break };
            let Some(whole) = groups.get(0).map(|whole| (whole.start(), whole.end())) else { break };
            number += 1;
            if only.is_none_or(|only| only == number) {
                let made = out.push(&call.subject.as_bytes()[copied..whole.0]).map_err(Stop::from);
                let made = made.and_then(|()| write_replacement(&replacement, &groups, call.pattern.group_count, &mut out));
                match made {
                    Ok(()) => copied = whole.1,
                    Err(Stop::Refused(refusal)) => return self.refused(refusal, "regexp_replace"),
                    Err(Stop::Failed(error)) => return Err(error.into()),
                }
            }
            if only.is_some_and(|only| number >= only) {
                break;
            }
            let Some(next) = call.behind(whole) else { break };
            from = next;
        }
        let made = out.push(&call.subject.as_bytes()[copied..]);
        if let (Ok(()), true) = (&made, call.binary) {
            return Ok(call.value(&String::from_utf8_lossy(&out.into_bytes())));
        }
        self.grown(made.map(|()| out), "regexp_replace")
    }

    /// The first two arguments and the match type, which is argument `types_at`; `None` when one of them is NULL.
    fn regexp_call(&mut self, func: Func, args: &[Expr], types_at: usize) -> Result<Option<Call>> {
        let binary = |e: &Expr| typing::is_string_class(&e.ty) && e.ty.collation == Collation::Binary;
        let both_binary = binary(&args[0]) && binary(&args[1]);
        let collation = super::pair_collation(&args[0], &args[1]);
        let mut flags = Flags { case_sensitive: both_binary || !collation.name().ends_with("_ci"), ..Flags::default() };
        let types = match args.get(types_at) {
            None => Some(Vec::new()),
            Some(e) => self.text_arg(e)?.map(|types| types.to_vec()),
        };
        for word in types.iter().flatten() {
            match word {
                b'c' => flags.case_sensitive = true,
                b'i' => flags.case_sensitive = false,
                b'm' => flags.multi_line = true,
                b'n' => flags.dot_all = true,
                b'u' => flags.unix_lines = true,
                _ => return Err(codes::wrong_arguments(func.name()).into()),
            }
        }
        let Some(pattern) = self.text_arg(&args[1])? else { return Ok(None) };
        let pattern = to_text(&pattern, both_binary);
        let Some(subject) = self.text_arg(&args[0])? else {
            // A wrong pattern is told all the same.
            self.patterns.get(&pattern, flags, 0)?;
            return Ok(None);
        };
        let subject = to_text(&subject, both_binary);
        flags.line_end_last = subject.ends_with(['\n', '\x0b', '\x0c', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        let pattern = self.patterns.get(&pattern, flags, subject.len())?;
        Ok(types.map(|_| Call { subject, pattern, binary: both_binary }))
    }

    /// A position or a count: 1 where it is not given.
    fn regexp_number(&mut self, e: Option<&Expr>) -> Result<Option<i64>> {
        e.map_or(Ok(Some(1)), |e| self.int_arg(e))
    }
}

/// 1583.
fn wrong_parameters(function: &str) -> SqlError {
    SqlError::with_message(1583, format!("Incorrect parameters in the call to native function '{function}'"))
}

fn to_text(bytes: &[u8], binary: bool) -> String {
    if binary { bytes.iter().map(|b| char::from(*b)).collect() } else { String::from_utf8_lossy(bytes).into_owned() }
}

/// Why a replacement is not written.
enum Stop {
    Refused(Refusal),
    Failed(SqlError),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Failed(error)
    }
}

/// What writing a replacement comes to.
type Written = std::result::Result<(), Stop>;

/// A replacement with its `$1`, `${name}` and `\x`.
fn write_replacement(replacement: &str, groups: &Captures<'_, str>, group_count: u32, out: &mut Growing) -> Written {
    let mut rest = replacement.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => rest.next().map_or(Ok(()), |c| out.push_char(c))?,
            '$' => match rest.peek() {
                Some(digit) if digit.is_ascii_digit() => {
                    let mut number = 0;
                    let mut digits = 0;
                    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                        if digits > 0 && number * 10 + digit > group_count {
                            break;
                        }
                        number = number * 10 + digit;
                        digits += 1;
                        rest.next();
                    }
                    if number > group_count {
                        return Err(out_of_bounds().into());
                    }
                    out.push(groups.get(number as usize).map_or("", |group| group.as_str()).as_bytes())?;
                }
                Some('{') => {
                    rest.next();
                    let name: String = rest.by_ref().take_while(|c| *c != '}').collect();
                    match groups.name(&name) {
                        Some(group) => out.push(group.as_str().as_bytes())?,
                        None => return Err(bad_group_name().into()),
                    }
                }
                _ => return Err(bad_group_name().into()),
            },
            c => out.push_char(c)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::schema_pattern;

    /// A small part of what a statement has left of its stack wherever it calls a function (`planner::check_stack`).
    const STACK_BYTES: usize = 64 << 10;

    fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
        sync::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread").join().expect("no panic");
    }

    #[test]
    fn patterns_nested_to_any_depth_fit_a_small_stack() {
        for (open, close) in [
            ("(", ")"),
            ("(a|(?=a)", ")"),
            ("(?=a", ")"),
            ("(?:a|b(?:", ")*)+?"),
            ("(?<=a|", ")"),
            ("(a*(?!b)", ")*"),
            ("(?>a|", ")?"),
            ("((", ")\\1)"),
        ] {
            let mut compiled = 0;
            for depth in 1..=210 {
                let text = format!("{}a{}", open.repeat(depth), close.repeat(depth));
                let done = Arc::new(sync::atomic::AtomicU32::new(0));
                let count = Arc::clone(&done);
                on_a_small_stack(move || {
                    if let Ok(translated) = translate(&text, Flags::default()) {
                        let regex = compile(translated.pattern, translated.depth, BACKTRACK_MAX);
                        if regex.is_some_and(|regex| regex.is_match("aaaa").is_ok()) {
                            count.fetch_add(1, sync::atomic::Ordering::Relaxed);
                        }
                    }
                    let _ = schema_pattern::read(&text).and_then(|read| compile(read.pattern, read.depth, BACKTRACK_MAX));
                });
                compiled += done.load(sync::atomic::Ordering::Relaxed);
            }
            assert!(compiled >= 28, "{open}: {compiled}");
        }
    }

    #[test]
    fn what_repeats_without_groups_fits_a_small_stack() {
        for (text, end) in [
            ("[", "a"),
            ("[^a", "]"),
            ("a|", "a"),
            ("a{2}", ""),
            ("(?i)", "a"),
            ("a+?", ""),
            ("\\g<1>(a)", ""),
            ("(a\\g<2>)", "(b)"),
            ("$", ""),
            ("^", ""),
            ("\\Q(", ""),
        ] {
            for count in [1, 2, 30, 100, 199, 250, 5000] {
                let text = format!("{}{}", text.repeat(count), end.repeat(if end == "]" { count } else { 1 }));
                on_a_small_stack(move || {
                    let _ = translate(&text, Flags { multi_line: true, line_end_last: true, ..Flags::default() })
                        .map(|t| compile(t.pattern, t.depth, BACKTRACK_MAX));
                    let _ = schema_pattern::read(&text).and_then(|read| compile(read.pattern, read.depth, BACKTRACK_MAX));
                });
            }
        }
    }
}
