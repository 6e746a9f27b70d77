//! TPC-C's five transactions, each as the statements of a load tool (prepared, one connection): what a whole transaction costs.
//!
//! Statements are those of `crates/bench`; keys come from a fixed seed, orders have ten lines. What the client does with a reply is not counted.

mod data;

use crate::client::{Client, Param, connect, open};
use crate::window::{Random, budget_done, budget_window};
use engine::Engine;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const DISTRICTS: u64 = 10;
/// Of each district, who also has as many orders at the beginning.
const CUSTOMERS: u64 = 100;
const ITEMS: u64 = 1000;
const LINES: usize = 10;
/// The only one.
const WAREHOUSE: Param<'_> = Param::Int(1);

/// A client that runs the transactions.
struct Terminal {
    client: Client,
    prepared: BTreeMap<&'static str, u32>,
    random: Random,
    /// Whether what the server does is counted.
    counted: bool,
}

/// Counts all; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (engine, service) = open(directory);
    let mut client = connect(&service);
    data::load(&mut client);
    let mut terminal = Terminal { client, prepared: BTreeMap::new(), random: Random::new(21), counted: false };
    // So many are uncounted, so many are counted.
    measure("tpcc_new_order", &mut terminal, &engine, (20, 80), Terminal::new_order);
    measure("tpcc_payment", &mut terminal, &engine, (20, 80), Terminal::payment);
    measure("tpcc_order_status", &mut terminal, &engine, (20, 80), Terminal::order_status);
    measure("tpcc_delivery", &mut terminal, &engine, (5, 20), Terminal::delivery);
    measure("tpcc_stock_level", &mut terminal, &engine, (10, 40), Terminal::stock_level);
}

fn measure(name: &str, terminal: &mut Terminal, engine: &Arc<Engine>, (warm, times): (u64, u64), transaction: fn(&mut Terminal)) {
    for n in 0..warm + times {
        // As it runs beside a server's writers.
        if n % 4 == 0 {
            engine.purge_all();
        }
        terminal.counted = n >= warm;
        transaction(terminal);
    }
    budget_done(name, times);
}

impl Terminal {
    fn answer(&mut self) {
        if self.counted { budget_window(&mut || self.client.answer()) } else { self.client.answer() }
    }

    fn text(&mut self, sql: &'static str) {
        self.client.text(sql);
        self.answer();
        self.client.succeeded(sql);
    }

    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) {
        let statement = match self.prepared.get(sql) {
            Some(statement) => *statement,
            None => {
                let statement = self.client.prepare(sql);
                self.prepared.insert(sql, statement);
                statement
            }
        };
        self.client.execution_of(statement, params);
        self.answer();
        self.client.succeeded(sql);
    }

    fn rows(&mut self, sql: &'static str, params: &[Param<'_>]) -> Vec<Vec<String>> {
        self.execute(sql, params);
        self.client.rows()
    }

    fn district(&mut self) -> Param<'static> {
        Param::Int(self.random.below(DISTRICTS) + 1)
    }

    fn customer(&mut self) -> Param<'static> {
        Param::Int(self.random.below(CUSTOMERS) + 1)
    }

    fn new_order(&mut self) {
        let (w, d, customer) = (WAREHOUSE, self.district(), self.customer());
        let mut items: Vec<u64> = Vec::new();
        while items.len() < LINES {
            let item = self.random.below(ITEMS) + 1;
            if !items.contains(&item) {
                items.push(item);
            }
        }
        items.sort_unstable();
        self.text("BEGIN");
        self.execute(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id=? AND c_w_id=w_id AND c_d_id=? AND c_id=?",
            &[w, d, customer],
        );
        let district = self.rows("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id=? AND d_id=? FOR UPDATE", &[w, d]);
        let order = number(&district[0][0]);
        let o = Param::Int(order);
        self.execute("UPDATE district SET d_next_o_id=? WHERE d_w_id=? AND d_id=?", &[Param::Int(order + 1), w, d]);
        self.execute(
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?,?,?,?,NOW(),?,?)",
            &[o, d, w, customer, Param::Int(LINES as u64), Param::Int(1)],
        );
        self.execute("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?,?,?)", &[o, d, w]);
        let ids: Vec<Param<'_>> = items.iter().map(|item| Param::Int(*item)).collect();
        let found = self.rows("SELECT i_price, i_name, i_data, i_id FROM item WHERE i_id IN (?,?,?,?,?,?,?,?,?,?)", &ids);
        let prices: BTreeMap<u64, String> = found.iter().map(|row| (number(&row[3]), row[0].clone())).collect();
        let keys: Vec<Param<'_>> = items.iter().flat_map(|item| [w, Param::Int(*item)]).collect();
        let stock = self.rows(
            "SELECT s_i_id, s_w_id, s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
             s_dist_08, s_dist_09, s_dist_10 FROM stock \
             WHERE (s_w_id, s_i_id) IN ((?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?),(?,?)) FOR UPDATE",
            &keys,
        );
        let mut lines = Vec::new();
        for (at, row) in stock.iter().enumerate() {
            let (item, quantity) = (number(&row[0]), number(&row[2]));
            let left = if quantity >= 15 { quantity - 5 } else { quantity + 86 };
            self.execute(
                "UPDATE stock SET s_quantity=?, s_ytd=s_ytd+?, s_order_cnt=s_order_cnt+1, s_remote_cnt=s_remote_cnt+? \
                 WHERE s_w_id=? AND s_i_id=?",
                &[Param::Int(left), Param::Int(5), Param::Int(0), w, Param::Int(item)],
            );
            let (at, item) = (Param::Int(at as u64 + 1), Param::Int(item));
            lines.push([o, d, w, at, item, w, Param::Int(5), Param::Text(&prices[&number(&row[0])]), Param::Text(&row[4])]);
        }
        assert_eq!(lines.len(), LINES);
        self.execute(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
             VALUES (?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),\
             (?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?),(?,?,?,?,?,?,?,?,?)",
            &lines.concat(),
        );
        self.text("COMMIT");
    }

    /// A customer by number (two of five), or the middle one of those with a last name.
    fn find_customer(&mut self, d: Param<'_>) -> Param<'static> {
        if self.random.below(5) < 2 {
            return self.customer();
        }
        let name = last_name(self.random.below(CUSTOMERS) + 1);
        let sql = "SELECT c_id FROM customer WHERE c_w_id=? AND c_d_id=? AND c_last=? ORDER BY c_first";
        let found = self.rows(sql, &[WAREHOUSE, d, Param::Text(&name)]);
        Param::Int(number(&found[found.len().div_ceil(2) - 1][0]))
    }

    fn payment(&mut self) {
        let (w, d) = (WAREHOUSE, self.district());
        let amount = format!("{}.50", 1000 + self.random.below(4000));
        let amount = Param::Text(&amount);
        self.text("BEGIN");
        self.execute("UPDATE district SET d_ytd=d_ytd+? WHERE d_w_id=? AND d_id=?", &[amount, w, d]);
        self.execute("SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id=? AND d_id=?", &[w, d]);
        self.execute("UPDATE warehouse SET w_ytd=w_ytd+? WHERE w_id=?", &[amount, w]);
        self.execute("SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id=?", &[w]);
        let customer = self.find_customer(d);
        let key = [w, d, customer];
        let found = self.rows(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, \
             c_balance, c_since FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=? FOR UPDATE",
            &key,
        );
        if found[0][9] == "BC" {
            let old = self.rows("SELECT c_data FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=?", &key);
            let mut data = format!("1 2 3 4 {}", old[0][0]);
            data.truncate(500);
            self.execute(
                "UPDATE customer SET c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1, c_data=? \
                 WHERE c_w_id=? AND c_d_id=? AND c_id=?",
                &[amount, amount, Param::Text(&data), w, d, customer],
            );
        } else {
            self.execute(
                "UPDATE customer SET c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1 \
                 WHERE c_w_id=? AND c_d_id=? AND c_id=?",
                &[amount, amount, w, d, customer],
            );
        }
        self.execute(
            "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?,?,?,?,?,NOW(),?,?)",
            &[d, w, customer, d, w, amount, Param::Text("altiplano    district")],
        );
        self.text("COMMIT");
    }

    fn order_status(&mut self) {
        let (w, d) = (WAREHOUSE, self.district());
        self.text("BEGIN");
        let customer = self.find_customer(d);
        self.execute("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=?", &[w, d, customer]);
        let last = self.rows(
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY o_id DESC LIMIT 1",
            &[w, d, customer],
        );
        let sql = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                   WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?";
        assert_eq!(self.rows(sql, &[w, d, Param::Int(number(&last[0][0]))]).len(), LINES);
        self.text("COMMIT");
    }

    fn delivery(&mut self) {
        let w = WAREHOUSE;
        self.text("BEGIN");
        for district in 1..=DISTRICTS {
            let d = Param::Int(district);
            let oldest =
                self.rows("SELECT no_o_id FROM new_order WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id LIMIT 1 FOR UPDATE", &[w, d]);
            let o = Param::Int(number(&oldest[0][0]));
            self.execute("DELETE FROM new_order WHERE no_w_id=? AND no_d_id=? AND no_o_id=?", &[w, d, o]);
            let customer = self.rows("SELECT o_c_id FROM orders WHERE o_w_id=? AND o_d_id=? AND o_id=?", &[w, d, o]);
            self.execute("UPDATE orders SET o_carrier_id=? WHERE o_w_id=? AND o_d_id=? AND o_id=?", &[Param::Int(7), w, d, o]);
            let sum = self.rows("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?", &[w, d, o]);
            self.execute("UPDATE order_line SET ol_delivery_d=NOW() WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?", &[w, d, o]);
            self.execute(
                "UPDATE customer SET c_balance=c_balance+?, c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id=? AND c_d_id=? AND c_id=?",
                &[Param::Text(&sum[0][0]), w, d, Param::Int(number(&customer[0][0]))],
            );
        }
        self.text("COMMIT");
    }

    fn stock_level(&mut self) {
        let (w, d) = (WAREHOUSE, self.district());
        self.text("BEGIN");
        let next = number(&self.rows("SELECT d_next_o_id FROM district WHERE d_w_id=? AND d_id=?", &[w, d])[0][0]);
        let low = self.rows(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? AND ol_o_id>=? AND s_w_id=? \
             AND s_i_id=ol_i_id AND s_quantity<?",
            &[w, d, Param::Int(next), Param::Int(next - 20), w, Param::Int(15)],
        );
        assert!(number(&low[0][0]) > 0, "nothing is low");
        self.text("COMMIT");
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// A last name for a customer's number: three customers of each district share one.
fn last_name(id: u64) -> String {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let number = (id % 33) as usize;
    [number / 5, number % 10, (number * 3) % 10].iter().map(|digit| SYLLABLES[*digit]).collect()
}
