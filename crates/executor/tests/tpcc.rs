//! The queries of TPC-C load tools, and statements past the bounds.

mod support;

use support::Database;
use types::{Collation, ColumnType, TypeKind, Value};

fn database() -> Database {
    let mut db = Database::new();
    let int = || ColumnType::int().not_null();
    let null = ColumnType::int;
    let money = || ColumnType::decimal(12, 2);
    let at = || ColumnType::temporal(TypeKind::DateTime, 0);
    db.table("warehouse", &[("w_id", int()), ("w_ytd", money())], &[("PRIMARY", true, &["w_id"])]);
    db.table(
        "district",
        &[("d_id", int()), ("d_w_id", int()), ("d_ytd", money()), ("d_next_o_id", null())],
        &[("PRIMARY", true, &["d_w_id", "d_id"])],
    );
    db.table(
        "customer",
        &[
            ("c_id", int()),
            ("c_d_id", int()),
            ("c_w_id", int()),
            ("c_last", ColumnType::varchar(16, Collation::DEFAULT)),
            ("c_balance", money()),
        ],
        &[("PRIMARY", true, &["c_w_id", "c_d_id", "c_id"]), ("idx_customer", false, &["c_w_id", "c_d_id", "c_last"])],
    );
    db.table(
        "history",
        &[("h_c_id", int()), ("h_c_d_id", int()), ("h_c_w_id", int()), ("h_d_id", int()), ("h_w_id", int()), ("h_amount", money())],
        &[],
    );
    db.table(
        "new_order",
        &[("no_o_id", int()), ("no_d_id", int()), ("no_w_id", int())],
        &[("PRIMARY", true, &["no_w_id", "no_d_id", "no_o_id"])],
    );
    db.table(
        "orders",
        &[("o_id", int()), ("o_d_id", int()), ("o_w_id", int()), ("o_c_id", null()), ("o_carrier_id", null()), ("o_ol_cnt", null())],
        &[("PRIMARY", true, &["o_w_id", "o_d_id", "o_id"]), ("idx_order", false, &["o_w_id", "o_d_id", "o_c_id", "o_id"])],
    );
    db.table(
        "order_line",
        &[
            ("ol_o_id", int()),
            ("ol_d_id", int()),
            ("ol_w_id", int()),
            ("ol_number", int()),
            ("ol_delivery_d", at()),
            ("ol_amount", money()),
        ],
        &[("PRIMARY", true, &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"])],
    );
    db.table("stock", &[("s_i_id", int()), ("s_w_id", int()), ("s_quantity", null())], &[("PRIMARY", true, &["s_w_id", "s_i_id"])]);
    let mut statements = vec!["INSERT INTO warehouse VALUES (1, 60), (2, 60)".to_owned()];
    for w in 1..=2 {
        for d in 1..=3 {
            statements.push(format!("INSERT INTO district VALUES ({d},{w},20,5)"));
            for n in 1..=4 {
                statements.push(format!("INSERT INTO customer VALUES ({n},{d},{w},'N{}',5)", n % 2));
                statements.push(format!("INSERT INTO history VALUES ({n},{d},{w},{d},{w},5)"));
                let open = n == 4;
                let carrier = if open { "NULL".to_owned() } else { n.to_string() };
                let delivered = if open { "NULL" } else { "'2024-01-01'" };
                statements.push(format!("INSERT INTO orders VALUES ({n},{d},{w},{n},{carrier},2)"));
                statements.push(format!("INSERT INTO order_line VALUES ({n},{d},{w},1,{delivered},4),({n},{d},{w},2,{delivered},6)"));
                if open {
                    statements.push(format!("INSERT INTO new_order VALUES ({n},{d},{w})"));
                }
            }
        }
        statements.push(format!("INSERT INTO stock VALUES (1,{w},10),(2,{w},20),(3,{w},30)"));
    }
    for s in statements {
        db.change(&s);
    }
    db
}

#[test]
fn consistency_checks() {
    let mut db = database();
    let cases = [
        ("SELECT sum(d_ytd) - max(w_ytd) diff FROM district, warehouse WHERE d_w_id = w_id AND w_id = 1 group by d_w_id", "0.00"),
        (
            "SELECT POWER((d_next_o_id -1 - mo), 2) + POWER((d_next_o_id -1 - mno), 2) diff FROM district dis, (SELECT o_d_id,max(o_id) mo FROM orders WHERE o_w_id= 1 GROUP BY o_d_id) q, (select no_d_id,max(no_o_id) mno from new_order where no_w_id= 1 group by no_d_id) no where d_w_id = 1 and q.o_d_id=dis.d_id and no.no_d_id=dis.d_id",
            "0, 0, 0",
        ),
        ("SELECT max(no_o_id)-min(no_o_id)+1 - count(*) diff from new_order where no_w_id = 1 group by no_d_id", "0, 0, 0"),
        (
            "SELECT count(*) FROM (SELECT o_d_id, SUM(o_ol_cnt) sm1, MAX(cn) as cn FROM orders,(SELECT ol_d_id, COUNT(*) cn FROM order_line WHERE ol_w_id = 1 GROUP BY ol_d_id) ol WHERE o_w_id = 1 AND ol_d_id=o_d_id GROUP BY o_d_id) t1 WHERE sm1<>cn",
            "0",
        ),
        (
            "SELECT count(*)  FROM orders LEFT JOIN new_order ON (no_w_id=o_w_id AND o_d_id=no_d_id AND o_id=no_o_id) where o_w_id = 1 and ((o_carrier_id IS NULL and no_o_id IS  NULL) OR (o_carrier_id IS NOT NULL and no_o_id IS NOT NULL  )) ",
            "0",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT o_ol_cnt, order_line_count FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) order_line_count FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id ORDER by ol_w_id, ol_d_id, ol_o_id) AS order_line ON orders.o_w_id = order_line.ol_w_id AND orders.o_d_id = order_line.ol_d_id AND orders.o_id = order_line.ol_o_id WHERE orders.o_w_id = 1) AS T WHERE T.o_ol_cnt != T.order_line_count",
            "0",
        ),
        (
            "SELECT count(*) FROM orders, order_line WHERE o_id=ol_o_id AND o_d_id=ol_d_id AND ol_w_id=o_w_id AND o_w_id = 1 AND ((ol_delivery_d IS NULL and o_carrier_id IS NOT NULL) or (o_carrier_id IS NULL and ol_delivery_d IS NOT NULL ))",
            "0",
        ),
        (
            "SELECT count(*) cn FROM (SELECT w_id,w_ytd,SUM(h_amount) sm FROM history,warehouse WHERE h_w_id=w_id and w_id = 1 GROUP BY w_id) t1 WHERE w_ytd<>sm",
            "0",
        ),
        (
            "SELECT COUNT(*) FROM (select d_id,d_w_id,sum(d_ytd) s1 from district group by d_id,d_w_id) d,(select h_d_id,h_w_id,sum(h_amount) s2 from history WHERE  h_w_id = 1 group by h_d_id, h_w_id) h WHERE h_d_id=d_id AND d_w_id=h_w_id and d_w_id= 1 and s1<>s2",
            "0",
        ),
        (
            "SELECT count(*) FROM (  SELECT  c.c_id, c.c_d_id, c.c_w_id, c.c_balance c1, (SELECT sum(ol_amount) FROM orders, order_line WHERE OL_W_ID=O_W_ID AND OL_D_ID = O_D_ID AND OL_O_ID = O_ID AND OL_DELIVERY_D IS NOT NULL AND O_W_ID=1 AND O_D_ID=c.C_D_ID AND O_C_ID=c.C_ID) sm, (SELECT  sum(h_amount)  from  history WHERE H_C_W_ID=1 AND H_C_D_ID=c.C_D_ID AND H_C_ID=c.C_ID) smh FROM customer c WHERE  c.c_w_id = 1 ) t WHERE c1<>sm-smh",
            "0",
        ),
        ("SELECT s_quantity FROM stock WHERE (s_w_id, s_i_id) IN ((1,1),(1,3),(2,2)) FOR UPDATE", "10, 30, 20"),
        (
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id < 5 AND ol_o_id >= 1 AND s_w_id = 1 AND s_i_id = ol_number AND s_quantity < 15",
            "1",
        ),
        ("SELECT c_id FROM customer WHERE c_w_id = 1 AND c_d_id = 1 AND c_last = 'n1' ORDER BY c_id", "1, 3"),
        ("SELECT o_id FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_c_id = 2 ORDER BY o_id DESC LIMIT 1", "2"),
        ("SELECT no_o_id FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", "4"),
    ];
    for (sql, expect) in cases {
        let got = db.query(sql);
        assert_eq!(got, expect, "{sql}\n{}", db.explain(sql));
    }
}

#[test]
fn unindexed_correlation_becomes_a_lookup() {
    let db = database();
    let tree = db.explain(
        "SELECT c_id, (SELECT sum(h_amount) FROM history WHERE h_c_w_id = 1 AND h_c_d_id = c_d_id AND h_c_id = c.c_id) FROM customer c",
    );
    assert!(tree.contains("grouped lookup on 2 keys"), "{tree}");
    let tree = db.explain("SELECT s_quantity FROM stock WHERE (s_w_id, s_i_id) IN ((1,1),(1,3)) FOR UPDATE");
    assert!(tree.contains("Index range scan on stock using PRIMARY"), "{tree}");
}

#[test]
fn deep_and_long_statements_do_not_overflow_a_small_stack() {
    let run = || {
        let mut db = Database::new();
        let sum = vec!["1"; 120].join("+");
        assert_eq!(db.query(&format!("SELECT {sum}")), "120");
        let long = vec!["1"; 50_000].join("+");
        assert_eq!(db.query(&format!("SELECT {long}")), "50000");
        let nested = format!("SELECT {}1{}", "ABS(".repeat(240), ")".repeat(240));
        let deep = db.query(&nested);
        assert!(deep == "1" || deep.starts_with("ERROR 1436"), "{deep}");
        let either = (0..3000).map(|i| format!("{i} = 9999")).collect::<Vec<_>>().join(" OR ");
        assert_eq!(db.query(&format!("SELECT {either}")), "0");
    };
    std::thread::Builder::new().stack_size(1920 << 10).spawn(run).expect("a thread").join().expect("no overflow");
}

#[test]
fn point_statements_by_parameter() {
    let mut db = database();
    let update = db.plan("UPDATE stock SET s_quantity = s_quantity - ? WHERE s_w_id = ? AND s_i_id = ?", &[]).expect("a plan");
    let params = [Value::Int(4), Value::Int(1), Value::Int(2)];
    db.run_plan(&update, &params).expect("an update");
    assert_eq!(db.query("SELECT s_quantity FROM stock WHERE s_w_id = 1 AND s_i_id = 2"), "16");
    let delete = db.plan("DELETE FROM stock WHERE s_w_id = ? AND s_i_id = ?", &[]).expect("a plan");
    db.run_plan(&delete, &[Value::Int(1), Value::from("2")]).expect("a delete");
    assert_eq!(db.query("SELECT COUNT(*) FROM stock"), "5");
}
