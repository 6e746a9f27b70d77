//! JSON functions.

use crate::document::{self, to_tree, value_of};
use crate::exec::Exec;
use crate::run::Result;
use json::{Edit, Json, Leg, Object, Path, View};
use mysql_error::{SqlError, codes};
use planner::expr::{Expr, ExprKind};
use planner::func::Func;
use planner::typing;
use std::collections::HashSet;
use types::{ByteString, Collation, Value};

/// 3149.
fn wild_path() -> SqlError {
    SqlError {
        code: 3149,
        sqlstate: *b"42000",
        message: "In this situation, path expressions may not contain the * and ** tokens or an array range.".into(),
    }
}

/// 3154.
fn one_or_all(function: &str) -> SqlError {
    let message = format!("The oneOrAll argument to {function} may take these values: 'one' or 'all'.");
    SqlError { code: 3154, sqlstate: *b"42000", message }
}

/// 3064.
fn wrong_type(argument: usize, function: &str) -> SqlError {
    SqlError { code: 3064, sqlstate: *b"HY000", message: format!("Incorrect type for argument {argument} in function {function}.") }
}

impl Exec<'_> {
    /// Calls a JSON function.
    #[inline(never)]
    pub(super) fn call_json(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        use Func as F;
        match func {
            F::JsonNamed => self.eval(&args[0]),
            F::JsonArray => {
                let list = args.iter().map(|a| self.tree_arg(a)).collect::<Result<Vec<_>>>()?;
                value_of(&Json::Array(list))
            }
            F::JsonObject => self.json_object(args),
            F::JsonExtract => self.json_extract(args),
            F::JsonValue => self.json_value(args),
            F::JsonSchemaValid | F::JsonSchemaReport => self.json_schema(func, args),
            F::JsonUnquote => self.json_unquote(&args[0]),
            F::JsonQuote => self.json_quote(&args[0]),
            F::JsonSet | F::JsonInsert | F::JsonReplace | F::JsonArrayAppend | F::JsonArrayInsert => self.json_change(func, args),
            F::JsonRemove => self.json_remove(args),
            F::JsonMergePreserve => self.json_merge_preserve(args),
            F::JsonMergePatch => self.json_merge_patch(args),
            F::JsonContains => self.json_contains(args),
            F::JsonContainsPath => self.json_contains_path(args),
            F::JsonOverlaps => {
                let Some(a) = self.document_arg(func, args, 0)? else { return Ok(Value::Null) };
                Ok(match self.document_arg(func, args, 1)? {
                    Some(b) => Value::bool(json::overlaps(View::new(&a), View::new(&b), &|| self.check_cancel())?),
                    None => Value::Null,
                })
            }
            F::MemberOf => {
                let value = self.eval(&args[0])?;
                if value.is_null() {
                    return Ok(value);
                }
                let Some(list) = self.document_arg(func, args, 1)? else { return Ok(Value::Null) };
                let value = json::encode(&to_tree(&value, &args[0], &*self.context)?)?;
                Ok(Value::bool(json::member_of(View::new(&value), View::new(&list))?))
            }
            F::JsonSearch => self.json_search(args),
            F::JsonKeys | F::JsonLength => self.json_part(func, args),
            F::JsonValid => {
                let value = self.eval(&args[0])?;
                Ok(match &value {
                    _ if is_member(&args[0]) => Value::FALSE,
                    // A number is none, whatever it is.
                    Value::Null if typing::is_number(&args[0].ty) || args[0].ty.kind.is_temporal() => Value::FALSE,
                    Value::Null => Value::Null,
                    Value::Json(_) => Value::TRUE,
                    Value::Bytes(text) if !args[0].ty.is_bytes() => Value::bool(document::parse(text)?.is_ok()),
                    _ => Value::FALSE,
                })
            }
            _ => {
                let Some(document) = self.document_arg(func, args, 0)? else { return Ok(Value::Null) };
                let view = View::new(&document);
                Ok(match func {
                    F::JsonDepth => Value::Int(view.depth()? as i64),
                    F::JsonType => Value::from(view.type_name()?),
                    F::JsonStorageSize => Value::Int(document.len() as i64),
                    F::JsonStorageFree => Value::Int(0),
                    F::JsonPretty => {
                        let mut text = Vec::new();
                        json::pretty(view, &mut text)?;
                        Value::Bytes(text.into())
                    }
                    _ => return Err(super::not_answered(func)),
                })
            }
        }
    }

    /// An argument that is put into a document.
    fn tree_arg(&mut self, e: &Expr) -> Result<Json> {
        let value = self.eval(e)?;
        to_tree(&value, e, &*self.context)
    }

    /// An argument that is a document or its text; `None` for NULL.
    pub(super) fn document_arg(&mut self, func: Func, args: &[Expr], at: usize) -> Result<Option<ByteString>> {
        let value = self.eval(&args[at])?;
        // The words TRUE and FALSE are no documents here, and neither is what is NULL by chance.
        let of = &args[at];
        let word = matches!((&of.kind, &value), (ExprKind::Literal(_), Value::Json(_)));
        if word || is_member(of) || planner::typing::is_number(&of.ty) || of.ty.kind.is_temporal() {
            return Err(codes::invalid_type_for_json(at + 1, func.name()).into());
        }
        match value {
            Value::Null => Ok(None),
            Value::Json(document) => Ok(Some(document)),
            Value::Bytes(_) if args[at].ty.is_bytes() => Err(codes::invalid_json_charset("binary").into()),
            Value::Bytes(text) => match document::parse(&text)? {
                Ok(tree) => Ok(Some(json::encode(&tree)?.into())),
                Err((message, position)) => Err(codes::invalid_json_text_in_param(at + 1, func.name(), message, position).into()),
            },
            _ => Err(codes::invalid_type_for_json(at + 1, func.name()).into()),
        }
    }

    /// An argument that is a path; `None` for NULL.
    pub(super) fn path_arg(&mut self, e: &Expr) -> Result<Option<Path>> {
        let Some(text) = self.text_arg(e)? else { return Ok(None) };
        if e.ty.is_bytes() {
            return Err(codes::invalid_json_charset("binary").into());
        }
        match Path::parse(&text) {
            Ok(path) => Ok(Some(path)),
            Err(at) => Err(codes::invalid_json_path(at).into()),
        }
    }

    /// The same of a path that leads to one place.
    fn plain_path_arg(&mut self, e: &Expr) -> Result<Option<Path>> {
        match self.path_arg(e)? {
            Some(path) if path.is_wild() => Err(wild_path().into()),
            path => Ok(path),
        }
    }

    fn json_object(&mut self, args: &[Expr]) -> Result<Value> {
        let mut members = Vec::with_capacity(args.len() / 2);
        for pair in args.chunks_exact(2) {
            let Some(name) = self.text_arg(&pair[0])? else { return Err(codes::json_document_null_key().into()) };
            if pair[0].ty.is_bytes() {
                return Err(codes::invalid_json_charset("binary").into());
            }
            members.push((String::from_utf8_lossy(&name).into_owned(), self.tree_arg(&pair[1])?));
        }
        value_of(&Json::Object(Object::from_members(members)))
    }

    fn json_extract(&mut self, args: &[Expr]) -> Result<Value> {
        // An argument that is NULL ends the look at them: what follows may be wrong.
        let Some(document) = self.document_arg(Func::JsonExtract, args, 0)? else { return Ok(Value::Null) };
        let mut paths = Vec::with_capacity(args.len() - 1);
        for e in &args[1..] {
            match self.path_arg(e)? {
                Some(path) => paths.push(path),
                None => return Ok(Value::Null),
            }
        }
        let view = View::new(&document);
        if let [path] = paths.as_slice()
            && !path.is_wild()
        {
            return Ok(path.first(view, &|| self.check_cancel())?.map_or(Value::Null, |found| Value::Json(found.bytes().into())));
        }
        let mut list = Vec::new();
        for path in &paths {
            for found in path.find(view, &|| self.check_cancel())? {
                list.push(found.to_tree()?);
            }
        }
        if list.is_empty() { Ok(Value::Null) } else { value_of(&Json::Array(list)) }
    }

    fn json_unquote(&mut self, e: &Expr) -> Result<Value> {
        let value = self.eval(e)?;
        match value {
            Value::Null => Ok(Value::Null),
            Value::Json(document) => unquoted(View::new(&document)),
            Value::Bytes(text) if text.len() >= 2 && text.first() == Some(&b'"') && text.last() == Some(&b'"') => {
                match document::parse(&text)? {
                    Ok(Json::String(text)) => Ok(Value::from(text)),
                    Ok(_) => Ok(Value::Bytes(text)),
                    Err((message, at)) => Err(codes::invalid_json_text_in_param(1, "json_unquote", message, at).into()),
                }
            }
            Value::Bytes(text) => Ok(Value::Bytes(text)),
            _ => Err(wrong_type(1, "json_unquote").into()),
        }
    }

    fn json_quote(&mut self, e: &Expr) -> Result<Value> {
        match self.eval(e)? {
            Value::Null => Ok(Value::Null),
            Value::Bytes(_) if e.ty.is_bytes() => Err(codes::invalid_json_charset("binary").into()),
            Value::Bytes(text) => {
                let mut out = Vec::with_capacity(text.len() + 2);
                json::append_quoted(&text.to_text(), &mut out);
                Ok(Value::Bytes(out.into()))
            }
            _ => Err(wrong_type(1, "json_quote").into()),
        }
    }

    fn json_change(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        let Some(document) = self.document_arg(func, args, 0)? else { return Ok(Value::Null) };
        let mut tree = View::new(&document).to_tree()?;
        for pair in args[1..].chunks_exact(2) {
            let Some(path) = self.plain_path_arg(&pair[0])? else { return Ok(Value::Null) };
            if func == Func::JsonArrayInsert && !matches!(path.legs.last(), Some(Leg::Cell(_))) {
                let message = "A path expression is not a path to a cell in an array.".into();
                return Err(SqlError { code: 3165, sqlstate: *b"42000", message }.into());
            }
            let new = self.tree_arg(&pair[1])?;
            let tree = &mut tree;
            match func {
                Func::JsonSet => json::change(tree, &path, Edit::Set, new),
                Func::JsonInsert => json::change(tree, &path, Edit::Insert, new),
                Func::JsonReplace => json::change(tree, &path, Edit::Replace, new),
                Func::JsonArrayAppend => json::array_append(tree, &path, new),
                _ => json::array_insert(tree, &path, new),
            }
        }
        value_of(&tree)
    }

    fn json_remove(&mut self, args: &[Expr]) -> Result<Value> {
        let Some(document) = self.document_arg(Func::JsonRemove, args, 0)? else { return Ok(Value::Null) };
        let mut paths = Vec::with_capacity(args.len() - 1);
        for e in &args[1..] {
            match self.plain_path_arg(e)? {
                Some(path) => paths.push(path),
                None => return Ok(Value::Null),
            }
        }
        let mut tree = View::new(&document).to_tree()?;
        for path in &paths {
            if path.legs.is_empty() {
                let message = "The path expression '$' is not allowed in this context.".into();
                return Err(SqlError { code: 3153, sqlstate: *b"42000", message }.into());
            }
            json::remove(&mut tree, path);
        }
        value_of(&tree)
    }

    fn json_merge_preserve(&mut self, args: &[Expr]) -> Result<Value> {
        let mut merged: Option<Json> = None;
        for at in 0..args.len() {
            let Some(document) = self.document_arg(Func::JsonMergePreserve, args, at)? else { return Ok(Value::Null) };
            let tree = View::new(&document).to_tree()?;
            merged = Some(match merged {
                None => tree,
                Some(so_far) => json::merge_preserve(so_far, tree),
            });
        }
        merged.as_ref().map_or(Ok(Value::Null), value_of)
    }

    fn json_merge_patch(&mut self, args: &[Expr]) -> Result<Value> {
        let mut merged: Option<Json> = None;
        for at in 0..args.len() {
            let patch = self.document_arg(Func::JsonMergePatch, args, at)?;
            let patch = patch.map(|document| View::new(&document).to_tree()).transpose()?;
            merged = match (merged, patch) {
                (_, None) => None,
                (None, Some(patch @ Json::Object(_))) if at > 0 => {
                    // NULL patched with an object stays unknown; what is no object replaces it.
                    drop(patch);
                    None
                }
                (so_far, Some(patch)) if at == 0 || so_far.is_none() => Some(patch),
                (so_far, Some(patch)) => Some(json::merge_patch(so_far.unwrap_or_default(), patch)),
            };
        }
        merged.as_ref().map_or(Ok(Value::Null), value_of)
    }

    fn json_contains(&mut self, args: &[Expr]) -> Result<Value> {
        let Some(target) = self.document_arg(Func::JsonContains, args, 0)? else { return Ok(Value::Null) };
        let Some(candidate) = self.document_arg(Func::JsonContains, args, 1)? else { return Ok(Value::Null) };
        let path = match args.get(2) {
            Some(e) => match self.plain_path_arg(e)? {
                Some(path) => path,
                None => return Ok(Value::Null),
            },
            None => Path::default(),
        };
        let look = || self.check_cancel();
        match path.first(View::new(&target), &look)? {
            Some(part) => Ok(Value::bool(json::contains(part, View::new(&candidate), &look)?)),
            None => Ok(Value::Null),
        }
    }

    /// `one` or `all`: whether all; `None` for NULL.
    fn all_arg(&mut self, func: Func, e: &Expr) -> Result<Option<bool>> {
        let Some(word) = self.text_arg(e)? else { return Ok(None) };
        if word.eq_ignore_ascii_case(b"all") {
            Ok(Some(true))
        } else if word.eq_ignore_ascii_case(b"one") {
            Ok(Some(false))
        } else {
            Err(one_or_all(func.name()).into())
        }
    }

    fn json_contains_path(&mut self, args: &[Expr]) -> Result<Value> {
        let Some(document) = self.document_arg(Func::JsonContainsPath, args, 0)? else { return Ok(Value::Null) };
        let Some(all) = self.all_arg(Func::JsonContainsPath, &args[1])? else { return Ok(Value::Null) };
        for e in &args[2..] {
            let Some(path) = self.path_arg(e)? else { return Ok(Value::Null) };
            if path.exists(View::new(&document), &|| self.check_cancel())? != all {
                return Ok(Value::bool(!all));
            }
        }
        Ok(Value::bool(all))
    }

    fn json_search(&mut self, args: &[Expr]) -> Result<Value> {
        let Some(document) = self.document_arg(Func::JsonSearch, args, 0)? else { return Ok(Value::Null) };
        let Some(all) = self.all_arg(Func::JsonSearch, &args[1])? else { return Ok(Value::Null) };
        let pattern = self.text_arg(&args[2])?;
        let escape = match args.get(3) {
            None => Some(u32::from(b'\\')),
            Some(e) => match self.text_arg(e)? {
                None => Some(u32::from(b'\\')),
                Some(text) => {
                    let mut chars = std::str::from_utf8(&text).unwrap_or_default().chars();
                    match (chars.next(), chars.next()) {
                        // An empty one: nothing escapes.
                        (escape, None) => escape.map(u32::from),
                        _ => return Err(codes::wrong_arguments("ESCAPE").into()),
                    }
                }
            },
        };
        let mut paths = Vec::new();
        for e in args.get(4..).unwrap_or_default() {
            match self.path_arg(e)? {
                Some(path) => paths.push(path),
                None => return Ok(Value::Null),
            }
        }
        if paths.is_empty() {
            paths.push(Path::default());
        }
        let Some(pattern) = pattern else { return Ok(Value::Null) };
        let mut found: Vec<String> = Vec::new();
        let several = paths.len() > 1;
        let mut known = HashSet::new();
        for mut path in paths {
            path.legs.push(Leg::Ellipsis);
            for (own, view) in path.find_with_paths(View::new(&document), &|| self.check_cancel())? {
                let Some(text) = view.as_str()? else { continue };
                if !Collation::Utf8mb4Bin.like(text.as_bytes(), &pattern, escape) {
                    continue;
                }
                let own = own.to_string();
                if !all {
                    return value_of(&Json::String(own));
                }
                if !several || known.insert(own.clone()) {
                    found.push(own);
                }
            }
        }
        match found.len() {
            0 => Ok(Value::Null),
            1 => value_of(&Json::String(found.remove(0))),
            _ => value_of(&Json::Array(found.into_iter().map(Json::String).collect())),
        }
    }

    /// JSON_KEYS and JSON_LENGTH, of the document or of a part.
    fn json_part(&mut self, func: Func, args: &[Expr]) -> Result<Value> {
        let Some(document) = self.document_arg(func, args, 0)? else { return Ok(Value::Null) };
        let path = match args.get(1) {
            Some(e) if func == Func::JsonKeys => self.plain_path_arg(e)?,
            Some(e) => self.path_arg(e)?,
            None => Some(Path::default()),
        };
        let Some(path) = path else { return Ok(Value::Null) };
        let view = View::new(&document);
        if path.is_wild() {
            let count = path.find(view, &|| self.check_cancel())?.len();
            return Ok(if count == 0 { Value::Null } else { Value::Int(count as i64) });
        }
        if func == Func::JsonLength {
            let part = path.first(view, &|| self.check_cancel())?;
            return part.map_or(Ok(Value::Null), |part| Ok(Value::Int(part.len()? as i64)));
        }
        let Some(part) = path.exact(view)?.filter(|part| part.is_object()) else { return Ok(Value::Null) };
        let mut names = Vec::new();
        for member in part.iter_members()? {
            names.push(Json::String(member?.0.to_owned()));
        }
        value_of(&Json::Array(names))
    }
}

/// Whether an expression is an ENUM or SET column, whose texts are never those of documents. (What functions choose of them is text, as in MySQL.)
pub(super) fn is_member(e: &Expr) -> bool {
    planner::typing::has_members(&e.ty) && matches!(e.kind, ExprKind::Slot(_))
}

/// What messages call an operand: the binder has said it, or it is a function's name.
pub(super) fn e_name(e: &Expr) -> &str {
    match &e.kind {
        ExprKind::Func(Func::JsonNamed, args) => match args.get(1).map(|a| &a.kind) {
            Some(ExprKind::Literal(Value::Bytes(name))) => name.as_str().unwrap_or_default(),
            _ => "",
        },
        ExprKind::Func(func, _) => func.name(),
        ExprKind::Cast(..) => "cast_as_json",
        _ => "",
    }
}

/// The text of a string without quotes, of all else as it prints.
pub(crate) fn unquoted(view: View<'_>) -> Result<Value> {
    if let Some(text) = view.as_str()? {
        return Ok(Value::from(text));
    }
    let mut out = Vec::new();
    json::text(view, &mut out)?;
    // Dates and bytes print as strings: their quotes go too.
    if let [b'"', inner @ .., b'"'] = out.as_slice() {
        return Ok(Value::from(inner));
    }
    Ok(Value::Bytes(out.into()))
}
