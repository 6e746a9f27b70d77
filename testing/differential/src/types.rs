//! Columns of each type as arguments of each function, as operands of each operator, and beside columns of each other type.
//!
//! # Invariants
//! 1. What a function is made for does not matter: an argument is a column of any type ([`stores`]'s tables), now and then a literal.
//! 2. Rows come in one order.

use crate::functions::{AGGREGATES, FUNCTIONS, literals, words};
use crate::node::{MARK, Node, Sort};
use crate::stores;
use env::SplitMix64 as Random;

/// What chooses one of two values, or joins them.
const CHOICES: &[&str] = &[
    "COALESCE(#, #)",
    "IFNULL(#, #)",
    "IF(y.id < 5, #, #)",
    "CASE WHEN y.id > 4 THEN # ELSE # END",
    "GREATEST(#, #)",
    "LEAST(#, #)",
    "NULLIF(#, #)",
    "CONCAT(#, #)",
    "CONCAT_WS(#, #, '-')",
    "FIELD(#, #)",
    "INSTR(#, #)",
    "REPLACE(#, #, 'x')",
    "JSON_ARRAY(#, #)",
    "TIMEDIFF(#, #)",
    "DATEDIFF(#, #)",
    "ADDTIME(#, #)",
    "(# IN (#, 7))",
    "(# BETWEEN # AND #)",
    "((#, 1) > (#, 1))",
    "(# LIKE #)",
];

/// A column of any type.
fn column(r: &mut Random, table: &str) -> Node {
    Node::leaf(Sort::Scalar, format!("{table}.v{}", r.below(stores::columns() as u64)))
}

/// A template with arguments of any type.
fn filled(r: &mut Random, template: &str) -> Node {
    let (mut text, mut parts) = (String::new(), Vec::new());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(['{', '#']) {
        let is_kind = rest.as_bytes()[before.len()] == b'{';
        text.push_str(before);
        let (word, behind) = if is_kind { after.split_once('}').unwrap_or((after, "")) } else { ("A", after) };
        match words(word) {
            Some(list) => text.push_str(r.pick(list)),
            None => {
                text.push(MARK);
                let kind = word.chars().next().unwrap_or('A');
                let literal = is_kind && r.below(8) == 0;
                parts.push(if literal { Node::leaf(Sort::Scalar, r.pick(literals(kind))) } else { column(r, "y") });
            }
        }
        rest = behind;
    }
    text.push_str(rest);
    Node::new(Sort::Scalar, text, parts)
}

/// The next query. `without`: functions that are not called.
pub fn query(r: &mut Random, without: &[String]) -> Node {
    let is_left_out = |template: &str| without.iter().any(|name| template.contains(name.as_str()));
    let operator = r.pick(&["=", "<", "<=>", ">="]);
    let (template, parts) = match r.below(10) {
        0 => {
            let parts = vec![column(r, "x"), column(r, "y")];
            (format!("SELECT x.id, y.id FROM k_from AS x JOIN k_from AS y ON {MARK} {operator} {MARK} ORDER BY x.id, y.id"), parts)
        }
        1 => {
            let form = r.pick(&["IN (SELECT #", "= ANY (SELECT #", "< ALL (SELECT #", "NOT IN (SELECT #"]).replace('#', &MARK.to_string());
            let parts = vec![column(r, "x"), column(r, "y")];
            (format!("SELECT x.id FROM k_from AS x WHERE {MARK} {form} FROM k_from AS y) ORDER BY x.id"), parts)
        }
        2 => {
            let set = r.pick(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
            let parts = vec![column(r, "x"), column(r, "y")];
            (format!("SELECT HEX({MARK}) AS h FROM k_from AS x {set} SELECT HEX({MARK}) FROM k_from AS y ORDER BY h"), parts)
        }
        3 => {
            let fitting: Vec<&str> = AGGREGATES.iter().map(|(_, template)| *template).filter(|template| !is_left_out(template)).collect();
            let template = r.pick(&fitting);
            (format!("SELECT {MARK} FROM k_from AS y"), vec![filled(r, template)])
        }
        4 | 5 => {
            let template = r.pick(CHOICES);
            (format!("SELECT y.id, {MARK} FROM k_from AS y ORDER BY y.id"), vec![filled(r, template)])
        }
        _ => {
            let fitting: Vec<&str> = FUNCTIONS.iter().map(|(_, template)| *template).filter(|template| !is_left_out(template)).collect();
            let template = r.pick(&fitting);
            (format!("SELECT y.id, {MARK} FROM k_from AS y ORDER BY y.id"), vec![filled(r, template)])
        }
    };
    Node::new(Sort::Fixed, template, parts)
}
