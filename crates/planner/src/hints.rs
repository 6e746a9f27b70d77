//! Optimizer hints: `/*+ … */` behind SELECT, INSERT, REPLACE, UPDATE and DELETE.
//!
//! Honoured: `JOIN_FIXED_ORDER`, `JOIN_ORDER`, `JOIN_PREFIX`, `JOIN_SUFFIX`, `INDEX` and `NO_INDEX` (and their JOIN_, GROUP_ and ORDER_ forms, which are
//! one here), `SKIP_SCAN`, `INDEX_MERGE` and their NO_ forms, `BKA`, `NO_BKA`, `MRR` and `NO_MRR` (of joins by keys: `join/batches.rs`), `MAX_EXECUTION_TIME`, `QB_NAME` for the names of the
//! own block; `SET_VAR`, which is the session's to carry out ([`hinted_variables`]). Hints that choose an algorithm which the planner has no two of (`BNL` …) are read and change
//! nothing. What cannot be read, or names what is not there, warns as in MySQL.

mod ways;

pub use ways::{Way, WayHint};

use crate::binder::{Binder, Source};
use mysql_error::{Warning, WarningLevel};
use parser::ast::IndexHintKind;

/// Hints that are read and change nothing.
const WITHOUT_EFFECT: &[&str] = &[
    "BNL",
    "NO_BNL",
    "HASH_JOIN",
    "NO_HASH_JOIN",
    "DERIVED_CONDITION_PUSHDOWN",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "MERGE",
    "NO_ICP",
    "NO_RANGE_OPTIMIZATION",
    "SEMIJOIN",
    "NO_SEMIJOIN",
    "SUBQUERY",
    "SET_VAR",
    "RESOURCE_GROUP",
];

/// How the tables that a hint names stand in the order of the join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In this order, others anywhere.
    Anywhere,
    /// First.
    Prefix,
    /// Last.
    Suffix,
}

/// Whether many keys of a table are looked up at once; nothing is said where `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchHints {
    /// `BKA`, `NO_BKA`.
    pub keys: Option<bool>,
    /// `MRR`, `NO_MRR`.
    pub rows: Option<bool>,
}

impl BatchHints {
    /// The hint of this name, and what it says.
    fn named(&mut self, name: &str) -> Option<(&mut Option<bool>, bool)> {
        Some(match name {
            "BKA" => (&mut self.keys, true),
            "NO_BKA" => (&mut self.keys, false),
            "MRR" => (&mut self.rows, true),
            "NO_MRR" => (&mut self.rows, false),
            _ => return None,
        })
    }
}

/// Hints of a statement as a whole.
#[derive(Debug, Default)]
pub struct StatementHints {
    /// The statement is a SELECT, not part of another one.
    pub standalone: bool,
    /// `MAX_EXECUTION_TIME`.
    pub max_execution_time_ms: Option<u32>,
    /// `JOIN_FIXED_ORDER` of an UPDATE or DELETE.
    pub fixed_order: bool,
    /// Hints of an INSERT, which are those of the first block of its SELECT: where they stand in the text.
    pub of_insert: Vec<std::ops::Range<usize>>,
}

/// What `SET_VAR` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintedVariable<'h> {
    /// The variable.
    pub name: &'h str,
    /// Its value as written: a number, a word, or a quoted text.
    pub value: &'h str,
}

impl<'h> HintedVariable<'h> {
    /// Reads `name = value`; the error is the text from where it cannot be read.
    fn read(text: &'h str) -> Result<HintedVariable<'h>, &'h str> {
        let word = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))).unwrap_or(text.len());
        let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let rest = rest.trim_start();
        let value = rest.strip_prefix('=').filter(|_| !name.is_empty()).ok_or(rest)?.trim();
        let end = match value.chars().next() {
            Some(quote @ ('\'' | '"')) => value[1..].find(quote).filter(|at| *at > 0).map(|at| at + 2).ok_or(value)?,
            _ => word(value),
        };
        match (end, &value[end..]) {
            (0, _) => Err(value),
            (_, "") => Ok(HintedVariable { name, value }),
            (_, behind) => Err(behind),
        }
    }

    /// The value, if it is a number.
    pub fn number(&self) -> Option<&'h str> {
        self.value.starts_with(|c: char| c.is_ascii_digit()).then_some(self.value)
    }

    /// The value without quotes.
    pub fn text(&self) -> &'h str {
        let quoted = ['\'', '"'].iter().find_map(|quote| self.value.strip_prefix(*quote)?.strip_suffix(*quote));
        quoted.unwrap_or(self.value)
    }
}

/// What the hints of these comments set.
pub fn hinted_variables<'h>(texts: &[&'h str]) -> Vec<HintedVariable<'h>> {
    let of = |text: &&'h str| split(text).0.into_iter().filter(|hint| hint.name == "SET_VAR");
    texts.iter().flat_map(of).map_while(|hint| HintedVariable::read(hint.arguments).ok()).collect()
}

/// One hint: its name in capitals, what stands in its parentheses, and where it begins.
struct Hint<'h> {
    name: String,
    arguments: &'h str,
    /// Where its parentheses close.
    end: usize,
}

fn warning(code: u16, message: String) -> Warning {
    Warning { level: WarningLevel::Warning, code, message }
}

/// Splits the text of a hint comment; the rest from where it cannot be read.
fn split(text: &str) -> (Vec<Hint<'_>>, Option<&str>) {
    let mut hints = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = rest[..end].to_ascii_uppercase();
        let known = WITHOUT_EFFECT.contains(&name.as_str())
            || index_kind(&name).is_some()
            || BatchHints::default().named(&name).is_some()
            || ways::way_of(&name).is_some()
            || matches!(
                name.as_str(),
                "JOIN_FIXED_ORDER" | "JOIN_ORDER" | "JOIN_PREFIX" | "JOIN_SUFFIX" | "MAX_EXECUTION_TIME" | "NO_MERGE" | "QB_NAME"
            );
        if !known {
            return (hints, Some(rest));
        }
        let after = rest[end..].trim_start();
        let Some(inside) = after.strip_prefix('(') else { return (hints, Some(after)) };
        let mut quote = None;
        let close = inside.char_indices().find(|(_, c)| match (quote, *c) {
            (Some(open), c) => {
                if c == open {
                    quote = None;
                }
                false
            }
            (None, '\'' | '"' | '`') => {
                quote = Some(*c);
                false
            }
            (None, c) => c == ')',
        });
        let Some((close, _)) = close else { return (hints, Some(&rest[rest.len()..])) };
        let end = text.len() - inside[close..].len();
        hints.push(Hint { name, arguments: inside[..close].trim(), end });
        rest = inside[close + 1..].trim_start();
    }
    (hints, None)
}

/// Index hints: what they mean for the indexes they name.
fn index_kind(name: &str) -> Option<IndexHintKind> {
    Some(match name {
        "INDEX" | "JOIN_INDEX" | "GROUP_INDEX" | "ORDER_INDEX" => IndexHintKind::Force,
        "NO_INDEX" | "NO_JOIN_INDEX" | "NO_GROUP_INDEX" | "NO_ORDER_INDEX" => IndexHintKind::Ignore,
        _ => return None,
    })
}

/// Names between commas and blanks, without their quotes.
fn names(arguments: &str) -> Vec<&str> {
    arguments.split([',', ' ', '\t', '\n']).map(|n| n.trim_matches('`')).filter(|n| !n.is_empty()).collect()
}

impl Binder<'_> {
    /// Takes the hints of the block whose FROM has just been bound; whether it keeps the order as written.
    pub(crate) fn take_hints(&mut self, texts: &[&str]) -> bool {
        let above = std::mem::take(&mut self.hints.of_insert);
        let texts: Vec<&str> =
            above.into_iter().filter_map(|at| std::str::from_utf8(self.sql.get(at)?).ok()).chain(texts.iter().copied()).collect();
        let mut fixed = false;
        let mut block_name: Option<&str> = None;
        let mut ordered = false;
        for text in texts {
            let (hints, unread) = split(text);
            for hint in hints {
                let conflicting = |shown: String| warning(3126, format!("Hint {shown} is ignored as conflicting/duplicated"));
                match hint.name.as_str() {
                    "QB_NAME" => match block_name {
                        None => block_name = names(hint.arguments).first().copied(),
                        Some(_) => self.warnings.push(conflicting(format!("QB_NAME(`{}`)", hint.arguments.trim_matches('`')))),
                    },
                    "SET_VAR" => {
                        if let Err(rest) = HintedVariable::read(hint.arguments) {
                            self.hint_syntax(rest);
                            return fixed;
                        }
                    }
                    "MAX_EXECUTION_TIME" => match hint.arguments.parse::<u32>() {
                        Err(_) => self.hint_syntax(hint.arguments),
                        Ok(_) if !self.hints.standalone || self.scopes.len() > 1 => self.warnings.push(warning(
                            3125,
                            "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only".into(),
                        )),
                        Ok(ms) if self.hints.max_execution_time_ms.is_some() => {
                            self.warnings.push(conflicting(format!("MAX_EXECUTION_TIME({ms})")));
                        }
                        Ok(ms) => self.hints.max_execution_time_ms = Some(ms),
                    },
                    "JOIN_FIXED_ORDER" if fixed => self.warnings.push(conflicting("JOIN_FIXED_ORDER( )".into())),
                    "JOIN_FIXED_ORDER" => {
                        fixed = true;
                        ordered = true;
                    }
                    "JOIN_ORDER" | "JOIN_PREFIX" | "JOIN_SUFFIX" if !(ordered && fixed) => {
                        let place = match hint.name.as_str() {
                            "JOIN_ORDER" => Place::Anywhere,
                            "JOIN_PREFIX" => Place::Prefix,
                            _ => Place::Suffix,
                        };
                        let tables = self.tables_of_hint(&hint, block_name);
                        self.scope().join_hints.push((place, tables));
                    }
                    "NO_MERGE" => {
                        let mut tables = self.tables_of_hint(&hint, block_name);
                        if names(hint.arguments).is_empty() {
                            tables = (0..self.scope().relations.len()).collect();
                        }
                        tables.into_iter().for_each(|at| self.scope().relations[at].merges = false);
                    }
                    name => {
                        if let Some(kind) = index_kind(name) {
                            self.index_hint(&hint, kind, block_name);
                        } else if let Some(way) = ways::way_of(name) {
                            self.way_hint(&hint, way, block_name);
                        } else if !self.batch_hint(&hint, block_name) {
                            self.hint_syntax(&text[hint.end..]);
                            return fixed;
                        }
                    }
                }
            }
            if let Some(rest) = unread {
                self.hint_syntax(rest);
            }
        }
        fixed
    }

    /// Leaves the hints of an INSERT to the SELECT that it reads.
    pub(crate) fn hints_of_insert(&mut self, texts: &[&str]) {
        let start = self.sql.as_ptr().addr();
        let place = |text: &&str| {
            let at = text.as_ptr().addr().wrapping_sub(start);
            at..at.saturating_add(text.len())
        };
        self.hints.of_insert = texts.iter().map(place).collect();
    }

    /// 1064 as a warning, from where a hint cannot be read to the end of the statement.
    fn hint_syntax(&mut self, rest: &str) {
        let (start, text) = (self.sql.as_ptr().addr(), self.sql);
        let at = rest.as_ptr().addr().wrapping_sub(start);
        let near = text.get(at..).map_or_else(|| rest.to_owned(), |near| String::from_utf8_lossy(near).into_owned());
        let near: String = near.trim_start().chars().take(80).collect();
        let line = text.get(..at).map_or(1, |before| before.iter().filter(|b| **b == b'\n').count() + 1);
        self.warnings.push(warning(1064, format!("Optimizer hint syntax error near '{near}' at line {line}")));
    }

    /// The number of a table in the block by its name in a hint (`t` or `t@block`).
    fn table_of_hint(&self, name: &str, block_name: Option<&str>) -> Option<usize> {
        let (table, block) =
            name.split_once('@').map_or((name, None), |(table, block)| (table.trim_matches('`'), Some(block.trim_matches('`'))));
        if block.is_some_and(|block| Some(block) != block_name) {
            return None;
        }
        let relations = &self.scopes.last()?.relations;
        relations.iter().position(|r| !r.of_view && r.alias.eq_ignore_ascii_case(table) && !matches!(r.source, Source::Merged(_)))
    }

    fn tables_of_hint(&mut self, hint: &Hint<'_>, block_name: Option<&str>) -> Vec<usize> {
        let mut tables = Vec::new();
        for name in names(hint.arguments) {
            match self.table_of_hint(name, block_name) {
                Some(table) => tables.push(table),
                None => self.warnings.push(warning(3128, format!("Unresolved name `{name}` for {} hint", hint.name))),
            }
        }
        tables
    }

    /// `BKA(t, …)`, for all tables without any; `MRR(t i, …)`, of one. `false` when it cannot be read.
    fn batch_hint(&mut self, hint: &Hint<'_>, block_name: Option<&str>) -> bool {
        if BatchHints::default().named(&hint.name).is_none() {
            return true;
        }
        let list = names(hint.arguments);
        let (tables, indexes) = if hint.name.ends_with("MRR") { list.split_at(list.len().min(1)) } else { (list.as_slice(), &[][..]) };
        if tables.is_empty() {
            if hint.name.ends_with("MRR") {
                return false;
            }
            let all = 0..self.scope().relations.len();
            self.say_batches(&hint.name, "", all.collect());
        }
        let block = self.scopes.len();
        for table in tables {
            let shown: String = std::iter::once(table).chain(indexes).map(|name| format!("`{name}` ")).collect();
            let Some(at) = self.table_of_hint(table, block_name) else {
                let indexes: String = indexes.iter().map(|name| format!(" `{name}`")).collect();
                self.warnings.push(warning(3128, format!("Unresolved name `{table}`@`select#{block}`{indexes} for {} hint", hint.name)));
                continue;
            };
            let mut known = indexes.is_empty();
            if let Source::Base(number) = self.scope().relations[at].source {
                for index in indexes {
                    match self.tables[number as usize].def.index_no(index) {
                        Some(_) => known = true,
                        None => self
                            .warnings
                            .push(warning(3128, format!("Unresolved name `{table}`@`select#{block}` `{index}` for {} hint", hint.name))),
                    }
                }
            }
            if known {
                self.say_batches(&hint.name, &shown, vec![at]);
            }
        }
        true
    }

    /// Notes what a hint says of tables; a table that another one has said it of keeps that.
    fn say_batches(&mut self, name: &str, shown: &str, tables: Vec<usize>) {
        let mut conflicting = false;
        for at in tables {
            if let Some((said, says)) = self.scope().relations[at].batches.named(name) {
                conflicting |= said.is_some();
                said.get_or_insert(says);
            }
        }
        if conflicting {
            let shown = if shown.is_empty() { " " } else { shown };
            self.warnings.push(warning(3126, format!("Hint {name}({shown}) is ignored as conflicting/duplicated")));
        }
    }

    fn index_hint(&mut self, hint: &Hint<'_>, kind: IndexHintKind, block_name: Option<&str>) {
        let mut list = names(hint.arguments).into_iter();
        let Some(name) = list.next() else { return };
        let number = self.scopes.len();
        let Some(at) = self.table_of_hint(name, block_name) else {
            self.warnings.push(warning(3128, format!("Unresolved name `{name}`@`select#{number}` for {} hint", hint.name)));
            return;
        };
        let Some(relation) = self.scopes.last().and_then(|scope| scope.relations.get(at)) else { return };
        let Source::Base(table) = relation.source else { return };
        let entry = std::sync::Arc::clone(&self.tables[table as usize]);
        let had = relation.hints.iter().any(|(k, _)| *k == kind);
        let mut numbers = Vec::new();
        let mut named = false;
        for index in list {
            named = true;
            match entry.def.index_no(index).filter(|no| !entry.def.indexes[*no].invisible) {
                Some(no) => numbers.push(no as u32),
                None => self
                    .warnings
                    .push(warning(3128, format!("Unresolved name `{name}`@`select#{number}` `{index}` for {} hint", hint.name))),
            }
        }
        if had {
            let shown: Vec<String> = names(hint.arguments)[1..].iter().map(|n| format!("`{n}`")).collect();
            let message = format!("Hint {}(`{name}`  {}) is ignored as conflicting/duplicated", hint.name, shown.join(", "));
            self.warnings.push(warning(3126, message));
            return;
        }
        if !named {
            numbers = (0..entry.def.indexes.len() as u32).collect();
        }
        if !numbers.is_empty() {
            self.scope().relations[at].hints.push((kind, numbers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        let read = |text| HintedVariable::read(text).map(|v| (v.name, v.text()));
        assert_eq!(read("a=1"), Ok(("a", "1")));
        assert_eq!(read("sql_mode = 'x y'"), Ok(("sql_mode", "x y")));
        assert_eq!(read("a=OFF"), Ok(("a", "OFF")));
        for (text, rest) in
            [("a", ""), ("a=''", "''"), ("a=-1", "-1"), ("a.b=1", ".b=1"), ("@@a=1", "@@a=1"), ("a=1 2", " 2"), ("a='x", "'x")]
        {
            assert_eq!(read(text), Err(rest), "{text}");
        }
    }

    #[test]
    fn hints_are_split() {
        let check = |text: &str, expect: &[(&str, &str)], unread: Option<&str>| {
            let (hints, rest) = split(text);
            let found: Vec<(&str, &str)> = hints.iter().map(|h| (h.name.as_str(), h.arguments)).collect();
            assert_eq!((found.as_slice(), rest), (expect, unread), "{text}");
        };
        check("index(t a, b) JOIN_FIXED_ORDER()", &[("INDEX", "t a, b"), ("JOIN_FIXED_ORDER", "")], None);
        check("QB_NAME(`)`) FOO(x)", &[("QB_NAME", "`)`")], Some("FOO(x)"));
        check("INDEX(t", &[], Some(""));
        check("INDEX", &[], Some(""));
        check("SET_VAR(sql_mode = 'a)b') BKA(t)", &[("SET_VAR", "sql_mode = 'a)b'"), ("BKA", "t")], None);
        check("ö", &[], Some("ö"));
    }
}
