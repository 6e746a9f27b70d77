//! The standard's consistency conditions (3.3.2.1 to 3.3.2.12): what must be true of the tables at any time.
//!
//! | | condition | how |
//! |--:|---|---|
//! | 1 | `w_ytd` is the sum of its districts' `d_ytd` | each warehouse |
//! | 2 | `d_next_o_id` - 1 is the newest order, and the newest new order | each district |
//! | 3 | new orders have no gaps | each district |
//! | 4 | orders have as many lines as they say | sums of each district |
//! | 5 | an order has no carrier exactly if it is new | each order |
//! | 6 | an order has as many lines as it says | each order |
//! | 7 | a line has no delivery date exactly if its order has no carrier | each line |
//! | 8 | `w_ytd` is the sum of the history | each warehouse |
//! | 9 | `d_ytd` is the sum of the history | each district |
//! | 10 | a customer's balance is what was delivered less what was paid | each customer: what was paid is `c_ytd_payment`; the rest is 12 |
//! | 11 | 2,100 orders of a district are not new | not here: it is true of the first rows only |
//! | 12 | a customer's balance and payments are what was delivered | each customer |
//!
//! With fewer customers than the standard's the first history is smaller than the first `w_ytd` and `d_ytd`; 8 and 9 allow for that.

use crate::blocking::Blocking;
use std::collections::BTreeMap;

/// Two queries of keys and values that must agree.
struct Condition {
    number: u32,
    what: &'static str,
    one: String,
    other: String,
    /// What a key that is missing on one side stands for: nothing, if keys must be the same.
    missing: Option<&'static str>,
}

const DISTRICT: &str = "CONCAT(d_w_id, '/', d_id)";

fn conditions(customers: i64) -> Vec<Condition> {
    let condition =
        |number, what, one: &str, other: &str| Condition { number, what, one: one.to_owned(), other: other.to_owned(), missing: None };
    // Of the first rows: what the standard's warehouse and district have been paid, and what the history of so many customers adds up to.
    let (unpaid_warehouse, unpaid_district) = (300_000 - customers * 100, 30_000 - customers * 10);
    let none = |number, what, one: &str| Condition {
        number,
        what,
        one: format!("SELECT 'rows', {one}"),
        other: "SELECT 'rows', 0".into(),
        missing: None,
    };
    let sums = |number, what, one: &str, other: &str| Condition { missing: Some("0.00"), ..condition(number, what, one, other) };
    vec![
        condition(
            1,
            "w_ytd is the sum of its districts'",
            "SELECT w_id, w_ytd FROM warehouse",
            "SELECT d_w_id, SUM(d_ytd) FROM district GROUP BY d_w_id",
        ),
        condition(
            2,
            "d_next_o_id follows the newest order",
            &format!("SELECT {DISTRICT}, d_next_o_id - 1 FROM district"),
            "SELECT CONCAT(o_w_id, '/', o_d_id), MAX(o_id) FROM orders GROUP BY o_w_id, o_d_id",
        ),
        condition(
            2,
            "d_next_o_id follows the newest new order",
            &format!(
                "SELECT {DISTRICT}, d_next_o_id - 1 FROM district WHERE EXISTS (SELECT 1 FROM new_order WHERE no_w_id=d_w_id AND no_d_id=d_id)"
            ),
            "SELECT CONCAT(no_w_id, '/', no_d_id), MAX(no_o_id) FROM new_order GROUP BY no_w_id, no_d_id",
        ),
        condition(
            3,
            "new orders have no gaps",
            "SELECT CONCAT(no_w_id, '/', no_d_id), MAX(no_o_id) - MIN(no_o_id) + 1 FROM new_order GROUP BY no_w_id, no_d_id",
            "SELECT CONCAT(no_w_id, '/', no_d_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id",
        ),
        condition(
            4,
            "orders have as many lines as they say",
            "SELECT CONCAT(o_w_id, '/', o_d_id), SUM(o_ol_cnt) FROM orders GROUP BY o_w_id, o_d_id",
            "SELECT CONCAT(ol_w_id, '/', ol_d_id), COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id",
        ),
        none(
            5,
            "an order has no carrier exactly if it is new",
            "COUNT(*) FROM orders LEFT JOIN new_order ON no_w_id=o_w_id AND no_d_id=o_d_id AND no_o_id=o_id \
             WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
        ),
        none(5, "a new order is an order", "(SELECT COUNT(*) FROM new_order) - (SELECT COUNT(*) FROM orders WHERE o_carrier_id IS NULL)"),
        none(
            6,
            "an order has as many lines as it says",
            "COUNT(*) FROM orders LEFT JOIN (SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, COUNT(*) AS n FROM order_line \
             GROUP BY ol_w_id, ol_d_id, ol_o_id) AS ls ON w=o_w_id AND d=o_d_id AND o=o_id WHERE n IS NULL OR n <> o_ol_cnt",
        ),
        none(
            7,
            "a line has no delivery date exactly if its order has no carrier",
            "COUNT(*) FROM orders JOIN order_line ON ol_w_id=o_w_id AND ol_d_id=o_d_id AND ol_o_id=o_id \
             WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
        ),
        condition(
            8,
            "w_ytd is what the history says",
            &format!("SELECT w_id, w_ytd - {unpaid_warehouse} FROM warehouse"),
            "SELECT h_w_id, SUM(h_amount) FROM history GROUP BY h_w_id",
        ),
        condition(
            9,
            "d_ytd is what the history says",
            &format!("SELECT {DISTRICT}, d_ytd - {unpaid_district} FROM district"),
            "SELECT CONCAT(h_w_id, '/', h_d_id), SUM(h_amount) FROM history GROUP BY h_w_id, h_d_id",
        ),
        sums(
            10,
            "c_ytd_payment is what the history says",
            "SELECT CONCAT(c_w_id, '/', c_d_id, '/', c_id), c_ytd_payment FROM customer",
            "SELECT CONCAT(h_c_w_id, '/', h_c_d_id, '/', h_c_id), SUM(h_amount) FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id",
        ),
        sums(
            12,
            "c_balance and c_ytd_payment are what was delivered",
            "SELECT CONCAT(c_w_id, '/', c_d_id, '/', c_id), c_balance + c_ytd_payment FROM customer",
            "SELECT CONCAT(o_w_id, '/', o_d_id, '/', o_c_id), SUM(ol_amount) FROM orders JOIN order_line \
             ON ol_w_id=o_w_id AND ol_d_id=o_d_id AND ol_o_id=o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id",
        ),
    ]
}

/// Checks all of them; says which, or what is not so.
pub(in super::super) fn check(control: &mut Blocking) -> Result<String, String> {
    let customers = control.number("SELECT COUNT(*) FROM customer WHERE c_w_id=1 AND c_d_id=1")?;
    let mut compared = 0;
    for Condition { number, what, one, other, missing } in conditions(customers) {
        let [one, other] = [one, other].map(|sql| control.pairs(&sql).map(|pairs| pairs.into_iter().collect::<BTreeMap<_, _>>()));
        let (one, other) = (one?, other?);
        // No new order is left where all are delivered; of everything else there is some.
        if one.is_empty() && !what.contains("new order") {
            return Err(format!("tpcc, condition {number}: there is nothing to compare"));
        }
        let differing = one.keys().chain(other.keys()).find(|key| {
            let [one, other] = [&one, &other].map(|side| side.get(*key).map(String::as_str).or(missing));
            one != other
        });
        if let Some(key) = differing {
            let (one, other) = (one.get(key), other.get(key));
            return Err(format!("tpcc, condition {number}: it is not so that {what}: {key} has {one:?} and {other:?}"));
        }
        compared += one.len();
    }
    Ok(format!("tpcc: conditions 1 to 10 and 12 of the standard hold, {compared} comparisons"))
}
