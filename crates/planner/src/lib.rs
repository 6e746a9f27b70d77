//! Planner: binds names, infers types, rewrites and optimises; its plans are what the executor runs.
//!
//! # Invariants
//! 1. A plan does not depend on parameter values except through estimates, so one plan serves all values.
//! 2. Ranges cover at least the rows their conditions accept; the conditions stay in the filter, which is left out only where ranges come out exact
//!    ([`plan::ExactRead`], short plans).
//! 3. Every slot of the frame has one writer ([`plan`], invariant 2).
//!
//! # Not here
//! Evaluation of expressions and operators: crate `executor`. Statements without rows (DDL, SHOW, SET …): crate `session`.
//!
//! # Start at
//! [`plan_statement`], then `bind_query.rs`, `optimize.rs`, `join.rs`, `access.rs`.

mod access;
pub mod accesses;
mod alike;
mod bind_expr;
mod bind_query;
mod binder;
pub mod charsets;
mod conditions;
mod context;
mod derived;
mod distinct_rows;
pub mod dives;
mod dml;
mod examined;
pub mod explain;
pub mod expr;
pub mod foreign_keys;
mod found_rows;
pub mod func;
mod generated;
pub mod hints;
mod join;
pub mod json_table;
pub mod keys;
mod literal_rows;
mod load;
mod logical;
mod members;
mod only_tested;
mod optimize;
mod padding;
pub mod plan;
mod ranges;
mod row_rules;
pub mod sample;
mod scopes;
mod selectivity;
pub mod shape;
pub mod short;
mod statement;
pub mod switches;
pub mod sys_functions;
pub mod typing;
pub mod views;
mod virtual_table;
pub mod widths;
pub mod window;

pub use bind_query::is_int_literal;
pub use binder::check_stack;
pub use context::PlanContext;
pub use dml::{default_expr, now_expr};
pub use join::{PARTNERS_TOGETHER_MAX, key_form};
pub use literal_rows::LiteralRows;
pub use load::plan_load;
pub use plan::Plan;
pub use row_rules::{RowRules, plan_generated, plan_row_rules, stored_expression_type};
pub use statement::{by_digits as kept_by_digits, plan as plan_statement, plan_condition, plan_expressions};
