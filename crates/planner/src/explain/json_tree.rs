//! EXPLAIN FORMAT=JSON of version 2: the operations of a plan, an object each, with MySQL's members.

use super::document::{Json, text};
use super::operation::{self, Operation};
use super::{Actual, Actuals};
use crate::plan::{Body, Plan};

/// The version of what is printed.
const SCHEMA_VERSION: &str = "2.0";
/// What stands for the plan of a change that ANALYZE does not carry out.
pub const NOT_EXECUTABLE: &str = "<not executable by iterator executor>";

/// EXPLAIN FORMAT=JSON of version 2; `query` is the statement's text.
pub fn json_tree(plan: &Plan, query: &str) -> String {
    document(plan, Some(query), object(operation::of(plan), None))
}

/// EXPLAIN ANALYZE FORMAT=JSON: with what was counted.
pub fn analyzed_json_tree(plan: &Plan, query: &str, actuals: &Actuals) -> String {
    document(plan, Some(query), object(operation::of(plan), Some(actuals)))
}

/// EXPLAIN ANALYZE FORMAT=JSON of a change that is not carried out.
pub fn not_executable_json_tree(plan: &Plan) -> String {
    document(plan, None, Json::Object(vec![("operation", text(NOT_EXECUTABLE))]))
}

fn document(plan: &Plan, query: Option<&str>, query_plan: Json) -> String {
    let query_type = match &plan.body {
        Body::Query(_) => "select",
        Body::Insert(i) if i.replace => "replace",
        Body::Insert(_) => "insert",
        Body::Update(_) => "update",
        Body::Delete(_) => "delete",
    };
    let mut members = vec![("query_plan", query_plan), ("query_type", text(query_type)), ("json_schema_version", text(SCHEMA_VERSION))];
    members.extend(query.map(|query| ("query", text(query))));
    let mut out = String::new();
    sorted(members).print(0, &mut out);
    out
}

/// An object with its members in the order that MySQL's JSON type has: short names first.
fn sorted(mut members: Vec<(&'static str, Json)>) -> Json {
    members.sort_by_key(|(name, _)| (name.len(), *name));
    Json::Object(members)
}

fn object(operation: Operation, actuals: Option<&Actuals>) -> Json {
    let Operation { heading, text: line, access, rows, cost, first_cost, node, mut members, inputs, select_list } = operation;
    members.push(("operation", text(line)));
    members.extend(heading.map(|heading| ("heading", text(heading))));
    members.extend(access.map(|access| ("access_type", text(access))));
    members.extend(rows.map(|rows| ("estimated_rows", Json::Real(rows))));
    members.extend(cost.map(|cost| ("estimated_total_cost", Json::Real(cost))));
    members.extend(first_cost.map(|cost| ("estimated_first_row_cost", Json::Real(cost))));
    if let (Some(actuals), Some(node)) = (actuals, node) {
        members.extend(counted(actuals.get(&node).copied().unwrap_or_default()));
    }
    for (name, list) in [("inputs", inputs), ("inputs_from_select_list", select_list)] {
        if !list.is_empty() {
            members.push((name, Json::Array(list.into_iter().map(|operation| object(operation, actuals)).collect())));
        }
    }
    sorted(members)
}

/// What was counted, per run; nulls of what was never run.
fn counted(actual: Actual) -> [(&'static str, Json); 4] {
    let told = |value: Json| if actual.loops == 0 { Json::Null } else { value };
    [
        ("actual_rows", told(Json::Real(actual.each(actual.rows)))),
        ("actual_loops", told(Json::Number(actual.loops))),
        ("actual_first_row_ms", told(Json::Real(actual.each(actual.first_ns) / 1e6))),
        ("actual_last_row_ms", told(Json::Real(actual.each(actual.last_ns) / 1e6))),
    ]
}
