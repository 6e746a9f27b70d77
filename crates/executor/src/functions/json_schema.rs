//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: draft 4 of JSON Schema, as MySQL 9.7 reads it.
//!
//! # Invariants
//! 1. What a keyword's value makes no sense of is as if it were not there.
//! 2. Only references within the schema are followed, and none that leads to what contains it: 1235 and 3157, before anything is validated.

use crate::exec::Exec;
use crate::functions::regexp::compile;
use crate::functions::schema_pattern;
use crate::run::Result;
use fancy_regex::Regex;
use json::{Json, Kind, Object, View};
use mysql_error::{SqlError, codes};
use planner::expr::Expr;
use planner::func::Func;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use types::Value;

/// Schemas within schemas, references counted.
const DEPTH_MAX: usize = 100;
/// Steps between two looks whether the statement was killed.
const STEPS_PER_LOOK: usize = 64;

/// Steps of a pattern that goes back and forth.
const PATTERN_STEPS_MAX: usize = 1_000_000;

/// Why a document is not valid.
struct Failure {
    document: String,
    schema: String,
    keyword: &'static str,
}

/// Appends a step to a location: a JSON pointer as a fragment of an address.
fn append_step(location: &mut String, name: &str) {
    location.push('/');
    for byte in name.bytes() {
        match byte {
            b'/' => location.push_str("~1"),
            b'~' => location.push_str("~0"),
            b'-' | b'.' | b'_' => location.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => location.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(location, "%{byte:02X}")),
        }
    }
}

/// A step of a reference.
fn read_step(step: &str) -> String {
    let mut bytes = Vec::with_capacity(step.len());
    let mut rest = step.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|text| u8::from_str_radix(text, 16).ok());
        match (first, tail) {
            (b'%', [a, b, after @ ..]) if hex(&[*a, *b]).is_some() => {
                bytes.extend(hex(&[*a, *b]));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

fn number(view: View<'_>) -> Result<Option<f64>> {
    Ok(match view.scalar()? {
        Some(Json::Int(n)) => Some(n as f64),
        Some(Json::UInt(n)) => Some(n as f64),
        Some(Json::Double(n)) => Some(n),
        Some(Json::Decimal(n)) => Some(n.to_f64()),
        _ => None,
    })
}

/// A count that a keyword says.
fn count_of(schema: View<'_>, keyword: &str) -> Result<Option<usize>> {
    let Some(view) = schema.get(keyword)? else { return Ok(None) };
    Ok(match view.scalar()? {
        Some(Json::Int(n)) => usize::try_from(n).ok(),
        Some(Json::UInt(n)) => usize::try_from(n).ok(),
        _ => None,
    })
}

fn is_true(schema: View<'_>, keyword: &str) -> Result<bool> {
    let Some(view) = schema.get(keyword)? else { return Ok(false) };
    Ok(matches!(view.scalar()?, Some(Json::Bool(true))))
}

fn is_false(view: View<'_>) -> Result<bool> {
    Ok(matches!(view.scalar()?, Some(Json::Bool(false))))
}

/// A keyword's value, where it is an array.
fn list<'s>(schema: View<'s>, keyword: &str) -> Result<Option<View<'s>>> {
    Ok(schema.get(keyword)?.filter(|view| view.is_array()))
}

/// Whether `required` or `dependencies` names a member.
fn is_named(schema: View<'_>, name: &str) -> Result<bool> {
    let has_it = |names: View<'_>| -> Result<bool> {
        for one in names.iter_elements()? {
            if one?.as_str()? == Some(name) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if let Some(names) = list(schema, "required")?
        && has_it(names)?
    {
        return Ok(true);
    }
    let Some(dependencies) = object(schema, "dependencies")? else { return Ok(false) };
    for dependency in dependencies.iter_members()? {
        let (of, wants) = dependency?;
        if of == name || wants.is_array() && has_it(wants)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An integer.
fn integer(view: View<'_>) -> Result<Option<i128>> {
    Ok(match view.scalar()? {
        Some(Json::Int(n)) => Some(i128::from(n)),
        Some(Json::UInt(n)) => Some(i128::from(n)),
        _ => None,
    })
}

/// A keyword's value, where it is an object.
fn object<'s>(schema: View<'s>, keyword: &str) -> Result<Option<View<'s>>> {
    Ok(schema.get(keyword)?.filter(|view| view.is_object()))
}

fn has_type(value: View<'_>, name: &str) -> Result<bool> {
    Ok(match value.kind()? {
        Kind::Null => name == "null",
        Kind::Bool => name == "boolean",
        Kind::Object => name == "object",
        Kind::Array => name == "array",
        Kind::Number => name == "number" || name == "integer" && matches!(value.scalar()?, Some(Json::Int(_) | Json::UInt(_))),
        _ => name == "string",
    })
}

/// Whether a number is a multiple; so is every one of what is no step.
fn is_multiple(value: View<'_>, step: View<'_>) -> Result<bool> {
    if let (Some(value), Some(step)) = (integer(value)?, integer(step)?) {
        return Ok(step <= 0 || value % step == 0);
    }
    let (Some(value), Some(step)) = (number(value)?, number(step)?) else { return Ok(true) };
    if step <= 0.0 {
        return Ok(true);
    }
    // 0.3 is three times 0.1, though the doubles are not: as much as a quotient of doubles may be off.
    let times = (value / step).abs();
    let off = (times - times.round()).abs();
    Ok(off <= (times + times.round()) * f64::EPSILON || off < f64::MIN_POSITIVE)
}

struct Validator<'s> {
    root: View<'s>,
    /// Where in the document.
    document: String,
    /// Where in the schema.
    schema: String,
    failure: Option<Failure>,
    depth: usize,
    /// Schemas applied, and texts looked at.
    steps: usize,
    /// Says whether the statement was killed.
    look: &'s dyn Fn() -> Result<()>,
    /// Patterns of the schema; `None` for a text that is none.
    patterns: HashMap<&'s str, Option<Regex>>,
}

impl<'s> Validator<'s> {
    /// Few references may name one schema very often, and patterns go back and forth: the statement can be killed meanwhile.
    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_PER_LOOK) { (self.look)() } else { Ok(()) }
    }

    /// Whether a text matches; `None` for a pattern that is none.
    fn matches(&mut self, pattern: &'s str, text: &str) -> Result<Option<bool>> {
        self.step()?;
        let build = || schema_pattern::read(pattern).and_then(|read| compile(read.pattern, read.depth, PATTERN_STEPS_MAX));
        let regex = self.patterns.entry(pattern).or_insert_with(build);
        Ok(regex.as_ref().map(|regex| regex.is_match(text).unwrap_or(false)))
    }

    /// What a reference within the schema leads to, with its location.
    fn resolve(&self, reference: &str) -> Result<Option<(View<'s>, String)>> {
        let mut view = self.root;
        let mut location = "#".to_owned();
        for step in reference.trim_start_matches('#').split('/').skip(1) {
            let step = read_step(step);
            let next = match view.is_array() {
                true => step.parse().ok().map_or(Ok(None), |at| view.element(at))?,
                false if view.is_object() => view.get(&step)?,
                false => None,
            };
            let Some(next) = next else { return Ok(None) };
            append_step(&mut location, &step);
            view = next;
        }
        Ok(Some((view, location)))
    }

    /// The reference that a schema is.
    fn reference(schema: View<'s>) -> Result<Option<&'s str>> {
        match schema.get("$ref")? {
            Some(reference) => Ok(reference.as_str()?),
            None => Ok(None),
        }
    }

    /// Refuses references that lead out of the schema or to what contains them.
    fn look_at_references(&self, view: View<'s>, within: &mut Vec<usize>, done: &mut HashSet<usize>) -> Result<()> {
        let place = view.bytes().as_ptr() as usize;
        if within.len() > DEPTH_MAX || within.contains(&place) {
            return Err(json::Error::TooDeep.into());
        }
        if !(view.is_object() || view.is_array()) || done.contains(&place) {
            return Ok(());
        }
        within.push(place);
        if view.is_array() {
            for element in view.iter_elements()? {
                self.look_at_references(element?, within, done)?;
            }
        } else {
            if let Some(reference) = Self::reference(view)? {
                if !reference.starts_with('#') {
                    return Err(codes::not_supported_yet("references in JSON Schema").into());
                }
                if let Some((target, _)) = self.resolve(reference)? {
                    self.look_at_references(target, within, done)?;
                }
            }
            for member in view.iter_members()? {
                self.look_at_references(member?.1, within, done)?;
            }
        }
        within.pop();
        done.insert(place);
        Ok(())
    }

    fn fail(&mut self, keyword: &'static str) -> Result<bool> {
        self.failure = Some(Failure { document: self.document.clone(), schema: self.schema.clone(), keyword });
        Ok(false)
    }

    /// Validates by a schema below this one.
    fn below(&mut self, steps: &[&str], schema: View<'s>, value: View<'_>) -> Result<bool> {
        let length = self.schema.len();
        steps.iter().for_each(|step| append_step(&mut self.schema, step));
        let valid = self.check(schema, value);
        self.schema.truncate(length);
        valid
    }

    /// The same of a part of the document.
    fn part(&mut self, name: &str, steps: &[&str], schema: View<'s>, value: View<'_>) -> Result<bool> {
        let length = self.document.len();
        append_step(&mut self.document, name);
        let valid = self.below(steps, schema, value);
        self.document.truncate(length);
        valid
    }

    /// A part of the document fails a keyword of this schema.
    fn fail_part(&mut self, name: &str, keyword: &'static str) -> Result<bool> {
        let length = self.document.len();
        append_step(&mut self.document, name);
        let failed = self.fail(keyword);
        self.document.truncate(length);
        failed
    }

    fn check(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        if self.depth > DEPTH_MAX {
            return Err(json::Error::TooDeep.into());
        }
        if !schema.is_object() {
            return Ok(true);
        }
        self.step()?;
        self.depth += 1;
        let valid = self.check_here(schema, value);
        self.depth -= 1;
        valid
    }

    fn check_here(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        if let Some(reference) = Self::reference(schema)? {
            let Some((target, location)) = self.resolve(reference)? else { return Ok(true) };
            let here = std::mem::replace(&mut self.schema, location);
            let valid = self.check(target, value);
            self.schema = here;
            return valid;
        }
        if let Some(wanted) = schema.get("type")? {
            let mut fits = match wanted.as_str()? {
                Some(name) => has_type(value, name)?,
                None => false,
            };
            if wanted.is_array() {
                for name in wanted.iter_elements()? {
                    if let Some(name) = name?.as_str()? {
                        fits |= has_type(value, name)?;
                    }
                }
            }
            if !fits {
                return self.fail("type");
            }
        }
        let valid = match value.kind()? {
            Kind::Object => self.check_object(schema, value)?,
            Kind::Array => self.check_array(schema, value)?,
            Kind::String => self.check_string(schema, value)?,
            Kind::Number => self.check_number(schema, value)?,
            _ => true,
        };
        Ok(valid && self.check_any(schema, value)?)
    }

    /// What may be asked of any value.
    fn check_any(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        if let Some(values) = list(schema, "enum")?.filter(|values| values.len().is_ok_and(|count| count > 0)) {
            let mut found = false;
            for one in values.iter_elements()? {
                found |= json::compare(one?, value)? == Ordering::Equal;
            }
            if !found {
                return self.fail("enum");
            }
        }
        for (keyword, wanted) in [("allOf", usize::MAX), ("anyOf", 0), ("oneOf", 1)] {
            let Some(schemas) = list(schema, keyword)? else { continue };
            let (mut fits, count) = (0, schemas.len()?);
            if count == 0 {
                // Nothing is asked.
                continue;
            }
            for (at, one) in schemas.iter_elements()?.enumerate() {
                fits += usize::from(self.below(&[keyword, &at.to_string()], one?, value)?);
            }
            let valid = match wanted {
                usize::MAX => fits == count,
                0 => fits > 0,
                _ => fits == 1,
            };
            if !valid {
                return self.fail(keyword);
            }
        }
        // What is no schema is one that everything fits.
        if let Some(other) = schema.get("not")?
            && self.below(&["not"], other, value)?
        {
            return self.fail("not");
        }
        Ok(true)
    }

    fn check_object(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        let (properties, patterns) = (object(schema, "properties")?, object(schema, "patternProperties")?);
        let additional = schema.get("additionalProperties")?;
        for member in value.iter_members()? {
            let (name, item) = member?;
            let mut known = false;
            if let Some(properties) = properties
                && let Some(property) = properties.get(name)?
            {
                known = true;
                if !self.part(name, &["properties", name], property, item)? {
                    return Ok(false);
                }
            }
            if let Some(patterns) = patterns {
                for pattern in patterns.iter_members()? {
                    let (pattern, property) = pattern?;
                    if self.matches(pattern, name)? != Some(true) {
                        continue;
                    }
                    known = true;
                    if !self.part(name, &["patternProperties", pattern], property, item)? {
                        return self.fail_part(name, "patternProperties");
                    }
                }
            }
            // A name that other keywords speak of is a known one in MySQL.
            if additional.is_some() && !known {
                known = is_named(schema, name)?;
            }
            match additional {
                Some(rest) if !known && is_false(rest)? => return self.fail_part(name, "additionalProperties"),
                Some(rest) if !known && !self.part(name, &["additionalProperties"], rest, item)? => return Ok(false),
                _ => {}
            }
        }
        if let Some(names) = list(schema, "required")? {
            for name in names.iter_elements()? {
                if let Some(name) = name?.as_str()?
                    && value.get(name)?.is_none()
                {
                    return self.fail("required");
                }
            }
        }
        if count_of(schema, "minProperties")?.is_some_and(|least| value.len().is_ok_and(|count| count < least)) {
            return self.fail("minProperties");
        }
        if count_of(schema, "maxProperties")?.is_some_and(|most| value.len().is_ok_and(|count| count > most)) {
            return self.fail("maxProperties");
        }
        if let Some(dependencies) = object(schema, "dependencies")? {
            for dependency in dependencies.iter_members()? {
                let (name, wants) = dependency?;
                if value.get(name)?.is_none() {
                    continue;
                }
                let mut valid = true;
                if wants.is_array() {
                    for other in wants.iter_elements()? {
                        if let Some(other) = other?.as_str()? {
                            valid &= value.get(other)?.is_some();
                        }
                    }
                } else {
                    valid = self.below(&["dependencies", name], wants, value)?;
                }
                if !valid {
                    return self.fail("dependencies");
                }
            }
        }
        Ok(true)
    }

    fn check_array(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        let items = schema.get("items")?;
        let additional = schema.get("additionalItems")?;
        let unique = is_true(schema, "uniqueItems")?;
        let mut seen = HashSet::new();
        for (at, item) in value.iter_elements()?.enumerate() {
            let (item, name) = (item?, at.to_string());
            match items {
                Some(each) if each.is_object() && !self.part(&name, &["items"], each, item)? => return Ok(false),
                Some(tuple) if tuple.is_array() => {
                    let valid = match (tuple.element(at)?, additional) {
                        (Some(one), _) => self.part(&name, &["items", &name], one, item)?,
                        (None, Some(rest)) if is_false(rest)? => self.fail_part(&name, "additionalItems")?,
                        (None, Some(rest)) => self.part(&name, &["additionalItems"], rest, item)?,
                        (None, None) => true,
                    };
                    if !valid {
                        return Ok(false);
                    }
                }
                _ => {}
            }
            if unique {
                let mut key = Vec::new();
                json::append_key(item, &mut key)?;
                if !seen.insert(key) {
                    return self.fail_part(&name, "uniqueItems");
                }
            }
        }
        if count_of(schema, "minItems")?.is_some_and(|least| value.len().is_ok_and(|count| count < least)) {
            return self.fail("minItems");
        }
        if count_of(schema, "maxItems")?.is_some_and(|most| value.len().is_ok_and(|count| count > most)) {
            return self.fail("maxItems");
        }
        Ok(true)
    }

    fn check_string(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        let text = value.as_str()?.unwrap_or_default();
        let length = || text.chars().count();
        if count_of(schema, "minLength")?.is_some_and(|least| length() < least) {
            return self.fail("minLength");
        }
        if count_of(schema, "maxLength")?.is_some_and(|most| length() > most) {
            return self.fail("maxLength");
        }
        if let Some(pattern) = schema.get("pattern")?
            && let Some(pattern) = pattern.as_str()?
            && self.matches(pattern, text)? == Some(false)
        {
            return self.fail("pattern");
        }
        Ok(true)
    }

    fn check_number(&mut self, schema: View<'s>, value: View<'_>) -> Result<bool> {
        for (keyword, exclusive, beyond) in
            [("minimum", "exclusiveMinimum", Ordering::Less), ("maximum", "exclusiveMaximum", Ordering::Greater)]
        {
            let Some(bound) = schema.get(keyword)? else { continue };
            if bound.kind()? != Kind::Number {
                continue;
            }
            let order = json::compare(value, bound)?;
            if order == beyond || order == Ordering::Equal && is_true(schema, exclusive)? {
                return self.fail(keyword);
            }
        }
        if let Some(step) = schema.get("multipleOf")?
            && !is_multiple(value, step)?
        {
            return self.fail("multipleOf");
        }
        Ok(true)
    }
}

impl Exec<'_> {
    /// Schema and document.
    #[inline(never)]
    pub(super) fn json_schema(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        let Some(schema) = self.document_arg(func, args, 0)? else { return Ok(Value::Null) };
        let root = View::new(&schema);
        if !root.is_object() {
            let message = format!("Invalid JSON type in argument 1 to function {}; an object is required.", func.name());
            return Err(SqlError { code: 3853, sqlstate: *b"22032", message }.into());
        }
        let Some(document) = self.document_arg(func, args, 1)? else { return Ok(Value::Null) };
        let look = || self.check_cancel();
        let mut validator = Validator {
            root,
            document: "#".into(),
            schema: "#".into(),
            failure: None,
            depth: 0,
            steps: 0,
            look: &look,
            patterns: HashMap::new(),
        };
        validator.look_at_references(root, &mut Vec::new(), &mut HashSet::new())?;
        let valid = validator.check(root, View::new(&document))?;
        if func == Func::JsonSchemaValid {
            return Ok(Value::bool(valid));
        }
        let mut members = vec![("valid".to_owned(), Json::Bool(valid))];
        if let Some(Failure { document, schema, keyword }) = validator.failure.filter(|_| !valid) {
            let reason =
                format!("The JSON document location '{document}' failed requirement '{keyword}' at JSON Schema location '{schema}'");
            members.push(("reason".to_owned(), Json::String(reason)));
            members.push(("schema-location".to_owned(), Json::String(schema)));
            members.push(("document-location".to_owned(), Json::String(document)));
            members.push(("schema-failed-keyword".to_owned(), Json::String(keyword.to_owned())));
        }
        crate::document::value_of(&Json::Object(Object::from_members(members)))
    }
}
