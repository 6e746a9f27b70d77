//! Correlated aggregates of the TPC-C consistency checks: by an index when it bounds the rows, else by one grouped run.

mod support;

use support::Database;
use types::{ColumnType, TypeKind};

const CUSTOMERS: i32 = 400;

/// One warehouse with two districts; customer n has n % 5 orders of two lines.
fn database(order_index: bool) -> Database {
    let mut db = Database::new();
    let int = || ColumnType::int().not_null();
    let money = || ColumnType::decimal(12, 2);
    db.table(
        "customer",
        &[("c_id", int()), ("c_d_id", int()), ("c_w_id", int()), ("c_balance", money())],
        &[("PRIMARY", true, &["c_w_id", "c_d_id", "c_id"])],
    );
    db.table(
        "history",
        &[("h_c_id", int()), ("h_c_d_id", int()), ("h_c_w_id", int()), ("h_amount", money())],
        &[("idx_h_c_w_id", false, &["h_c_w_id"])],
    );
    let primary: (&str, bool, &[&str]) = ("PRIMARY", true, &["o_w_id", "o_d_id", "o_id"]);
    let by_customer: (&str, bool, &[&str]) = ("idx_order", false, &["o_w_id", "o_d_id", "o_c_id", "o_id"]);
    let indexes = if order_index { vec![primary, by_customer] } else { vec![primary] };
    db.table("orders", &[("o_id", int()), ("o_d_id", int()), ("o_w_id", int()), ("o_c_id", ColumnType::int())], &indexes);
    db.table(
        "order_line",
        &[
            ("ol_o_id", int()),
            ("ol_d_id", int()),
            ("ol_w_id", int()),
            ("ol_number", int()),
            ("ol_delivery_d", ColumnType::temporal(TypeKind::DateTime, 0)),
            ("ol_amount", money()),
        ],
        &[("PRIMARY", true, &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"])],
    );
    for d in 1..=2 {
        let (mut customers, mut history, mut orders, mut lines) = (vec![], vec![], vec![], vec![]);
        let mut o = 0;
        for c in 1..=CUSTOMERS {
            customers.push(format!("({c},{d},1,{})", (c % 5) * 10 - 7));
            history.push(format!("({c},{d},1,7)"));
            for _ in 0..c % 5 {
                o += 1;
                orders.push(format!("({o},{d},1,{c})"));
                lines.push(format!("({o},{d},1,1,'2024-01-01',4),({o},{d},1,2,'2024-01-01',6),({o},{d},1,3,NULL,5)"));
            }
        }
        for (table, rows) in [("customer", customers), ("history", history), ("orders", orders), ("order_line", lines)] {
            db.change(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
        }
    }
    db
}

/// go-tpc's check 3.3.2.10.
fn check_10() -> String {
    "SELECT count(*) FROM (  SELECT  c.c_id, c.c_d_id, c.c_w_id, c.c_balance c1, (SELECT sum(ol_amount) FROM orders, order_line WHERE OL_W_ID=O_W_ID AND OL_D_ID = O_D_ID AND OL_O_ID = O_ID AND OL_DELIVERY_D IS NOT NULL AND O_W_ID=1 AND O_D_ID=c.C_D_ID AND O_C_ID=c.C_ID) sm, (SELECT  sum(h_amount)  from  history WHERE H_C_W_ID=1 AND H_C_D_ID=c.C_D_ID AND H_C_ID=c.C_ID) smh FROM customer c WHERE  c.c_w_id = 1 ) t WHERE c1<>sm-smh".into()
}

fn shape(tree: &str) -> String {
    // Estimates and conditions are not part of the shape.
    tree.lines()
        .map(|l| l.split("  (").next().unwrap_or(l).split(": ").next().unwrap_or(l))
        .collect::<Vec<_>>()
        .join("\n")
        .trim_end()
        .to_owned()
}

#[test]
fn a_join_without_an_index_is_grouped_once() {
    let mut db = database(false);
    // All rows are of one warehouse: no index is worth its seeks.
    let expect = "\
-> Aggregate
    -> Filter
        -> Table scan on t
            -> Materialize
                -> Filter
                    -> Index lookup on c using PRIMARY (c_w_id = 1)
                -> Select #2 (subquery in projection; grouped lookup on 2 keys)
                    -> Aggregate using temporary table
                        -> Inner hash join (order_line.ol_d_id = orders.o_d_id), (order_line.ol_o_id = orders.o_id)
                            -> Filter
                                -> Table scan on order_line
                            -> Hash
                                -> Filter
                                    -> Table scan on orders
                -> Select #3 (subquery in projection; grouped lookup on 2 keys)
                    -> Aggregate using temporary table
                        -> Filter
                            -> Table scan on history";
    assert_eq!(shape(&db.explain(&check_10())), expect);
    assert_eq!(db.query(&check_10()), "0");
    db.change("UPDATE customer SET c_balance = 1 WHERE c_id = 3");
    assert_eq!(db.query(&check_10()), "2");
}

#[test]
fn an_index_that_finds_the_rows_is_used_by_its_longest_prefix() {
    let mut db = database(true);
    let one = "SELECT sum(ol_amount) FROM orders, order_line WHERE ol_w_id=o_w_id AND ol_d_id=o_d_id AND ol_o_id=o_id AND ol_delivery_d IS NOT NULL AND o_w_id=1 AND o_d_id=c_d_id AND o_c_id=c_id";
    let few = format!("SELECT c_id, ({one}) FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id IN (4, 5, 6)");
    let tree = shape(&db.explain(&few));
    assert!(tree.contains("; dependent)") && tree.contains("Covering index lookup on orders using idx_order"), "{tree}");
    assert_eq!(db.query(&few), "4|40.00, 5|NULL, 6|10.00");
    assert_eq!(db.query(&check_10()), "0");
}
