//! The transactions.

use super::super::Client;
use super::{DELIVERY, DISTRICTS, LINES_MAX, LINES_MIN, NEW_ORDER, ORDER_STATUS, PAYMENT, last_name, mask, money, names, non_uniform};
use crate::ledger::{Entry, Ledger};
use crate::options::RunOptions;
use crate::session::{Done, Failure, Param, Statement};
use std::sync::Arc;

const BEGIN: usize = 0;
const COMMIT: usize = 1;
const ROLLBACK: usize = 2;
const CUSTOMER_AND_TAX: usize = 3;
const DISTRICT_FOR_UPDATE: usize = 4;
const NEXT_ORDER: usize = 5;
const INSERT_ORDER: usize = 6;
const INSERT_NEW_ORDER: usize = 7;
const UPDATE_STOCK: usize = 8;
const PAY_DISTRICT: usize = 9;
const READ_DISTRICT: usize = 10;
const PAY_WAREHOUSE: usize = 11;
const READ_WAREHOUSE: usize = 12;
const CUSTOMERS_BY_NAME: usize = 13;
const CUSTOMER_FOR_UPDATE: usize = 14;
const CUSTOMER_DATA: usize = 15;
const PAY_BAD_CUSTOMER: usize = 16;
const PAY_CUSTOMER: usize = 17;
const INSERT_HISTORY: usize = 18;
const CUSTOMER: usize = 19;
const LAST_ORDER: usize = 20;
const ORDER_LINES: usize = 21;
const OLDEST_NEW_ORDER: usize = 22;
const DELETE_NEW_ORDER: usize = 23;
const ORDER_CUSTOMER: usize = 24;
const SET_CARRIER: usize = 25;
const SUM_LINES: usize = 26;
const SET_DELIVERED: usize = 27;
const CREDIT_CUSTOMER: usize = 28;
const NEXT_ORDER_ID: usize = 29;
const LOW_STOCK: usize = 30;

const TEXTS: [&str; 31] = [
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id=? AND c_w_id=w_id AND c_d_id=? AND c_id=?",
    "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id=? AND d_id=? FOR UPDATE",
    "UPDATE district SET d_next_o_id=? WHERE d_w_id=? AND d_id=?",
    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?,?,?,?,NOW(),?,?)",
    "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?,?,?)",
    "UPDATE stock SET s_quantity=?, s_ytd=s_ytd+?, s_order_cnt=s_order_cnt+1, s_remote_cnt=s_remote_cnt+? WHERE s_w_id=? AND s_i_id=?",
    "UPDATE district SET d_ytd=d_ytd+? WHERE d_w_id=? AND d_id=?",
    "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id=? AND d_id=?",
    "UPDATE warehouse SET w_ytd=w_ytd+? WHERE w_id=?",
    "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id=?",
    "SELECT c_id FROM customer WHERE c_w_id=? AND c_d_id=? AND c_last=? ORDER BY c_first",
    "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, c_discount, \
     c_balance, c_since FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=? FOR UPDATE",
    "SELECT c_data FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=?",
    "UPDATE customer SET c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1, c_data=? \
     WHERE c_w_id=? AND c_d_id=? AND c_id=?",
    "UPDATE customer SET c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1 \
     WHERE c_w_id=? AND c_d_id=? AND c_id=?",
    "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?,?,?,?,?,NOW(),?,?)",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id=? AND c_d_id=? AND c_id=?",
    "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY o_id DESC LIMIT 1",
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
    "SELECT no_o_id FROM new_order WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    "DELETE FROM new_order WHERE no_w_id=? AND no_d_id=? AND no_o_id=?",
    "SELECT o_c_id FROM orders WHERE o_w_id=? AND o_d_id=? AND o_id=?",
    "UPDATE orders SET o_carrier_id=? WHERE o_w_id=? AND o_d_id=? AND o_id=?",
    "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
    "UPDATE order_line SET ol_delivery_d=NOW() WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?",
    "UPDATE customer SET c_balance=c_balance+?, c_delivery_cnt=c_delivery_cnt+1 WHERE c_w_id=? AND c_d_id=? AND c_id=?",
    "SELECT d_next_o_id FROM district WHERE d_w_id=? AND d_id=?",
    "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? AND ol_o_id>=? AND s_w_id=? \
     AND s_i_id=ol_i_id AND s_quantity<?",
];
/// Behind them: for each number of lines of an order, reading the items, reading the stock, writing the lines.
const ITEMS: usize = TEXTS.len();
const STOCK: usize = ITEMS + LINE_COUNTS;
const INSERT_LINES: usize = STOCK + LINE_COUNTS;
const LINE_COUNTS: usize = (LINES_MAX - LINES_MIN + 1) as usize;

/// The workload.
pub struct Tpcc {
    warehouses: u64,
    items: u64,
    customers: u64,
    roaming: bool,
    ledger: Option<Arc<Ledger>>,
    statements: Vec<Statement>,
}

/// A line of a new order.
struct Line {
    supply: u64,
    item: u64,
    quantity: i64,
    price_cents: i64,
    district_info: String,
}

impl Tpcc {
    pub(in super::super) fn new(options: &RunOptions) -> Tpcc {
        let mut statements: Vec<Statement> = TEXTS.iter().map(|text| Statement::new(*text)).collect();
        let list = |of: &str, count: u64| vec![of; count as usize].join(",");
        let counts = || LINES_MIN..=LINES_MAX;
        statements.extend(
            counts().map(|n| Statement::new(format!("SELECT i_price, i_name, i_data, i_id FROM item WHERE i_id IN ({})", list("?", n)))),
        );
        statements.extend(counts().map(|n| {
            let columns = "s_i_id, s_w_id, s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
                           s_dist_08, s_dist_09, s_dist_10";
            Statement::new(format!("SELECT {columns} FROM stock WHERE (s_w_id, s_i_id) IN ({}) FOR UPDATE", list("(?,?)", n)))
        }));
        statements.extend(counts().map(|n| {
            let columns = "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info";
            Statement::new(format!("INSERT INTO order_line ({columns}) VALUES {}", list("(?,?,?,?,?,?,?,?,?)", n)))
        }));
        let size = &options.work.size;
        Tpcc {
            warehouses: size.warehouses,
            items: size.items,
            customers: size.customers,
            roaming: options.work.roaming,
            ledger: options.ledger.clone(),
            statements,
        }
    }

    pub(in super::super) async fn transaction(&self, client: &mut Client, kind: usize) -> Done {
        let home = if self.roaming { client.random.between(1, self.warehouses) } else { client.number as u64 % self.warehouses + 1 };
        match kind {
            NEW_ORDER => self.new_order(client, home).await,
            PAYMENT => self.payment(client, home).await,
            ORDER_STATUS => self.order_status(client, home).await,
            DELIVERY => self.delivery(client, home).await,
            _ => self.stock_level(client, home).await,
        }
    }

    /// Notes what has just been acknowledged.
    fn note(&self, entry: impl FnOnce() -> Entry) {
        if let Some(ledger) = &self.ledger {
            ledger.note(entry());
        }
    }

    fn customer(&self, client: &mut Client) -> u64 {
        non_uniform(&mut client.random, mask(self.customers, 2), 1, self.customers)
    }

    fn other_warehouse(&self, client: &mut Client, home: u64) -> u64 {
        let other = client.random.between(1, self.warehouses.max(2) - 1);
        if self.warehouses == 1 { home } else { (home - 1 + other) % self.warehouses + 1 }
    }

    async fn run(&self, client: &mut Client, number: usize, params: &[Param<'_>]) -> Done {
        client.session.run(&self.statements, number, params).await
    }

    async fn rows(&self, client: &mut Client, number: usize, params: &[Param<'_>]) -> Done {
        client.session.rows(&self.statements, number, params).await
    }

    fn lines(&self, client: &mut Client, home: u64) -> Vec<Line> {
        let count = client.random.between(LINES_MIN, LINES_MAX) as usize;
        let mut lines: Vec<Line> = Vec::with_capacity(count);
        while lines.len() < count {
            let supply = if client.random.percent(1) { self.other_warehouse(client, home) } else { home };
            let item = non_uniform(&mut client.random, mask(self.items, 8), 1, self.items);
            if lines.iter().all(|line| line.item != item) {
                let quantity = client.random.between(1, 10) as i64;
                lines.push(Line { supply, item, quantity, price_cents: 0, district_info: String::new() });
            }
        }
        // Everybody locks stock in this order.
        lines.sort_by_key(|line| (line.supply, line.item));
        lines
    }

    async fn new_order(&self, client: &mut Client, home: u64) -> Done {
        let district = client.random.between(1, DISTRICTS);
        let customer = self.customer(client);
        // One order in a hundred names an item that does not exist, and is taken back.
        let unknown_item = client.random.percent(1);
        let mut lines = self.lines(client, home);
        let (w, d) = (Param::from(home), Param::from(district));
        let of_count = lines.len() - LINES_MIN as usize;

        self.run(client, BEGIN, &[]).await?;
        self.run(client, CUSTOMER_AND_TAX, &[w, d, Param::from(customer)]).await?;
        self.rows(client, DISTRICT_FOR_UPDATE, &[w, d]).await?;
        let order = client.session.reply().int(0, 0);
        let o = Param::Int(order);
        self.run(client, NEXT_ORDER, &[Param::Int(order + 1), w, d]).await?;
        let all_local = i64::from(lines.iter().all(|line| line.supply == home));
        let count = Param::from(lines.len() as u64);
        self.run(client, INSERT_ORDER, &[o, d, w, Param::from(customer), count, Param::Int(all_local)]).await?;
        self.run(client, INSERT_NEW_ORDER, &[o, d, w]).await?;

        let mut ids: Vec<Param<'_>> = lines.iter().map(|line| Param::from(line.item)).collect();
        if unknown_item {
            *ids.last_mut().expect("at least five") = Param::from(self.items + 1);
        }
        self.rows(client, ITEMS + of_count, &ids).await?;
        {
            let reply = client.session.reply();
            for row in 0..reply.row_count() {
                let (id, price) = (reply.int(row, 3) as u64, reply.text(row, 0));
                if let Some(line) = lines.iter_mut().find(|line| line.item == id) {
                    line.price_cents = (price.parse::<f64>().unwrap_or(0.0) * 100.0).round() as i64;
                }
            }
        }
        if unknown_item {
            return self.run(client, ROLLBACK, &[]).await;
        }
        let keys: Vec<Param<'_>> = lines.iter().flat_map(|line| [Param::from(line.supply), Param::from(line.item)]).collect();
        self.rows(client, STOCK + of_count, &keys).await?;
        let mut quantities = vec![0; lines.len()];
        {
            let reply = client.session.reply();
            for row in 0..reply.row_count() {
                let key = (reply.int(row, 1) as u64, reply.int(row, 0) as u64);
                if let Some(at) = lines.iter().position(|line| (line.supply, line.item) == key) {
                    quantities[at] = reply.int(row, 2);
                    lines[at].district_info = reply.text(row, 3 + district as usize);
                }
            }
        }
        for (line, quantity) in lines.iter().zip(quantities) {
            let left = if quantity >= line.quantity + 10 { quantity - line.quantity } else { quantity - line.quantity + 91 };
            let remote = i64::from(line.supply != home);
            let key = [Param::from(line.supply), Param::from(line.item)];
            let update = [Param::Int(left), Param::Int(line.quantity), Param::Int(remote), key[0], key[1]];
            self.run(client, UPDATE_STOCK, &update).await?;
        }
        let amounts: Vec<String> = lines.iter().map(|line| money(line.price_cents * line.quantity)).collect();
        let mut values = Vec::with_capacity(9 * lines.len());
        for (at, line) in lines.iter().enumerate() {
            let (number, amount) = (Param::from(at as u64 + 1), Param::Decimal(&amounts[at]));
            let (item, supply) = (Param::from(line.item), Param::from(line.supply));
            values.extend([o, d, w, number, item, supply, Param::Int(line.quantity), amount, Param::Text(&line.district_info)]);
        }
        self.run(client, INSERT_LINES + of_count, &values).await?;
        self.run(client, COMMIT, &[]).await?;
        self.note(|| Entry::Order {
            key: (home, district, order as u64),
            customer,
            lines: lines.len() as u64,
            cents: lines.iter().map(|line| line.price_cents * line.quantity).sum(),
        });
        Ok(())
    }

    /// A customer by number (40 %) or the middle one of those with a last name; reads within the open transaction.
    async fn find_customer(&self, client: &mut Client, w: u64, d: u64) -> Result<u64, crate::session::Failure> {
        if !client.random.percent(60) {
            return Ok(self.customer(client));
        }
        let name = last_name(non_uniform(&mut client.random, 255, 0, names(self.customers) - 1));
        self.rows(client, CUSTOMERS_BY_NAME, &[Param::from(w), Param::from(d), Param::Text(&name)]).await?;
        let reply = client.session.reply();
        Ok(reply.int(reply.row_count().div_ceil(2).saturating_sub(1), 0).max(1) as u64)
    }

    async fn payment(&self, client: &mut Client, home: u64) -> Done {
        let district = client.random.between(1, DISTRICTS);
        let cents = client.random.between(100, 500_000) as i64;
        let amount = money(cents);
        let (w, d, amount) = (Param::from(home), Param::from(district), Param::Decimal(&amount));
        let (cw, cd) = if client.random.percent(15) {
            (self.other_warehouse(client, home), client.random.between(1, DISTRICTS))
        } else {
            (home, district)
        };
        self.run(client, BEGIN, &[]).await?;
        self.run(client, PAY_DISTRICT, &[amount, w, d]).await?;
        self.rows(client, READ_DISTRICT, &[w, d]).await?;
        let district_name = client.session.reply().text(0, 5);
        self.run(client, PAY_WAREHOUSE, &[amount, w]).await?;
        self.rows(client, READ_WAREHOUSE, &[w]).await?;
        let warehouse_name = client.session.reply().text(0, 5);
        let customer = self.find_customer(client, cw, cd).await?;
        let key = [Param::from(cw), Param::from(cd), Param::from(customer)];
        self.rows(client, CUSTOMER_FOR_UPDATE, &key).await?;
        let bad_credit = client.session.reply().text(0, 9) == "BC";
        if bad_credit {
            self.rows(client, CUSTOMER_DATA, &key).await?;
            let mut data = format!("{customer} {cd} {cw} {district} {home} {}", client.session.reply().text(0, 0));
            data.truncate(500);
            self.run(client, PAY_BAD_CUSTOMER, &[amount, amount, Param::Text(&data), key[0], key[1], key[2]]).await?;
        } else {
            self.run(client, PAY_CUSTOMER, &[amount, amount, key[0], key[1], key[2]]).await?;
        }
        let data = self.ledger.as_ref().map_or_else(|| format!("{warehouse_name}    {district_name}"), |ledger| ledger.tag());
        self.run(client, INSERT_HISTORY, &[key[1], key[0], key[2], d, w, amount, Param::Text(&data)]).await?;
        self.run(client, COMMIT, &[]).await?;
        self.note(|| Entry::Payment { tag: data, place: (home, district), customer: (cw, cd, customer), cents });
        Ok(())
    }

    async fn order_status(&self, client: &mut Client, home: u64) -> Done {
        let district = client.random.between(1, DISTRICTS);
        let (w, d) = (Param::from(home), Param::from(district));
        self.run(client, BEGIN, &[]).await?;
        let customer = self.find_customer(client, home, district).await?;
        self.run(client, CUSTOMER, &[w, d, Param::from(customer)]).await?;
        self.rows(client, LAST_ORDER, &[w, d, Param::from(customer)]).await?;
        let order = client.session.reply().int(0, 0);
        self.run(client, ORDER_LINES, &[w, d, Param::Int(order)]).await?;
        self.run(client, COMMIT, &[]).await
    }

    async fn delivery(&self, client: &mut Client, home: u64) -> Done {
        let carrier = client.random.between(1, 10);
        let w = Param::from(home);
        let mut delivered = Vec::new();
        self.run(client, BEGIN, &[]).await?;
        for district in 1..=DISTRICTS {
            let d = Param::from(district);
            self.rows(client, OLDEST_NEW_ORDER, &[w, d]).await?;
            if client.session.reply().row_count() == 0 {
                continue;
            }
            let order = client.session.reply().int(0, 0);
            let o = Param::Int(order);
            delivered.push((home, district, order as u64));
            self.run(client, DELETE_NEW_ORDER, &[w, d, o]).await?;
            self.rows(client, ORDER_CUSTOMER, &[w, d, o]).await?;
            if client.session.reply().row_count() == 0 {
                // The queue was empty when the snapshot was taken: the locking read has found an order that was made since, and a delivery of it would credit nobody.
                return Err(Failure::Stale);
            }
            let customer = Param::Int(client.session.reply().int(0, 0));
            self.run(client, SET_CARRIER, &[Param::from(carrier), w, d, o]).await?;
            self.rows(client, SUM_LINES, &[w, d, o]).await?;
            let amount = Some(client.session.reply().text(0, 0)).filter(|sum| sum.parse::<f64>().is_ok()).unwrap_or_else(|| "0".into());
            self.run(client, SET_DELIVERED, &[w, d, o]).await?;
            self.run(client, CREDIT_CUSTOMER, &[Param::Decimal(&amount), w, d, customer]).await?;
        }
        self.run(client, COMMIT, &[]).await?;
        self.note(|| Entry::Delivery { orders: delivered, carrier });
        Ok(())
    }

    async fn stock_level(&self, client: &mut Client, home: u64) -> Done {
        // The standard gives each terminal a district of its own.
        let district = client.number as u64 / self.warehouses % DISTRICTS + 1;
        let (w, d) = (Param::from(home), Param::from(district));
        let threshold = client.random.between(10, 20);
        self.run(client, BEGIN, &[]).await?;
        self.rows(client, NEXT_ORDER_ID, &[w, d]).await?;
        let next = client.session.reply().int(0, 0);
        self.run(client, LOW_STOCK, &[w, d, Param::Int(next), Param::Int(next - 20), w, Param::from(threshold)]).await?;
        self.run(client, COMMIT, &[]).await
    }
}
