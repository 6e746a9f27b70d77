//! EXPLAIN FORMAT=TREE: the operations of a plan, a line each.

use super::operation::{self, Operation};
use super::{Actual, Actuals};
use crate::plan::Plan;

/// EXPLAIN FORMAT=TREE.
pub fn tree(plan: &Plan) -> String {
    Tree { actuals: None, text: String::new() }.of(plan)
}

/// EXPLAIN ANALYZE: the tree with what was counted.
pub fn analyzed_tree(plan: &Plan, actuals: &Actuals) -> String {
    Tree { actuals: Some(actuals), text: String::new() }.of(plan)
}

struct Tree<'t> {
    actuals: Option<&'t Actuals>,
    text: String,
}

impl Tree<'_> {
    fn of(mut self, plan: &Plan) -> String {
        self.operation(&operation::of(plan), 0);
        self.text
    }

    fn operation(&mut self, operation: &Operation, mut depth: usize) {
        let outer = depth;
        if let Some(heading) = &operation.heading {
            self.line(depth, heading);
            depth += 1;
        }
        let estimate = estimate(operation);
        let actual = self.actual(operation);
        let gap = if estimate.is_empty() && actual.is_empty() { "" } else { "  " };
        let between = if estimate.is_empty() || actual.is_empty() { "" } else { " " };
        self.line(depth, &format!("{}{gap}{estimate}{between}{actual}", operation.text));
        operation.inputs.iter().for_each(|input| self.operation(input, depth + 1));
        // They are asked beside the rows.
        operation.select_list.iter().for_each(|subquery| self.operation(subquery, outer));
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.text.push_str(&"    ".repeat(depth));
        self.text.push_str("-> ");
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// What was counted of an operation, to stand at the end of its line.
    fn actual(&self, operation: &Operation) -> String {
        let (Some(actuals), Some(node)) = (self.actuals, operation.node) else { return String::new() };
        match actuals.get(&node) {
            None | Some(Actual { loops: 0, .. }) => "(never executed)".into(),
            Some(actual) => {
                let ms = |ns: u64| significant(actual.each(ns) / 1e6);
                format!(
                    "(actual time={}..{} rows={} loops={})",
                    ms(actual.first_ns),
                    ms(actual.last_ns),
                    significant(actual.each(actual.rows)),
                    actual.loops
                )
            }
        }
    }
}

fn estimate(operation: &Operation) -> String {
    let Some(rows) = operation.rows.map(significant) else { return String::new() };
    match (operation.first_cost, operation.cost) {
        (_, None) => format!("(rows={rows})"),
        (None, Some(cost)) => format!("(cost={} rows={rows})", significant(cost)),
        (Some(first), Some(cost)) => format!("(cost={}..{} rows={rows})", significant(first), significant(cost)),
    }
}

/// A number with three digits, as MySQL shows estimates and times.
fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    if value.abs() < 0.001 {
        return format!("{}e-6", significant(value * 1e6));
    }
    if value.abs() >= 999_500.0 {
        let thousands = ((value.abs() * 1.0005).log10() / 3.0).floor() as i32;
        return format!("{}e+{}", significant(value / 1000f64.powi(thousands)), 3 * thousands);
    }
    let digits = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_have_three_digits() {
        let check = |value: f64, expect: &str| assert_eq!(significant(value), expect, "{value}");
        check(0.0, "0");
        check(6.25, "6.25");
        check(0.042_503, "0.0425");
        check(60.0, "60");
        check(14_658.0, "14658");
        check(0.000_087, "87e-6");
        check(1_296_371.0, "1.3e+6");
        check(12_960_000.0, "13e+6");
        check(4.5e12, "4.5e+12");
        check(f64::INFINITY, "0");
    }
}
