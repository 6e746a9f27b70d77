//! TPC-C under crashes, with a ledger.

use crate::Report;
use bench::ledger::{Entry, Ledger};
use bench::options::{Action, CommandLine};
use clap::Parser;
use env::SplitMix64;
use histories::Place;
use mysql::prelude::{FromRow, Queryable};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};
use sync::Arc;

const DATABASE: &str = "rounds";
const WAREHOUSES: u64 = 2;
const ITEMS: u64 = 500;
const CUSTOMERS: u64 = 150;
/// Orders up to this one were delivered when the data was made.
const DELIVERED_FIRST: u64 = CUSTOMERS - CUSTOMERS * 3 / 10;
/// Acknowledged changes before a crash, at most: the crash comes after a random number of them.
const CHANGES_MAX: u64 = 400;
/// So many crashes and the data is made anew, so that looking at all of it stays quick.
const CRASHES_PER_DATA: usize = 25;
/// A load that has not come so far by then hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// How often the ledger is looked at: the crash comes up to so much later than its number of changes says.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

type Key = (u64, u64, u64);

/// Crashes under TPC-C's transactions.
pub fn tpcc(place: &Place, crashes: usize, connections: usize, seed: u64) -> Result<Report, String> {
    let before = place.restarts().len();
    let mut random = SplitMix64::new(seed);
    let mut report = Report::default();
    let mut ledger = Arc::new(Ledger::default());
    let mut known = Known::default();
    for crash in 0..crashes {
        if crash.is_multiple_of(CRASHES_PER_DATA) {
            prepare(place)?;
            ledger = Arc::new(Ledger::default());
            known = Known::default();
        }
        let changes = 1 + random.below(CHANGES_MAX);
        let run = run(place, &ledger, connections, random.next())?;
        let deadline = Instant::now() + PATIENCE;
        let begun = known.count;
        while known.count < begun + changes {
            known.add(ledger.take());
            if run.is_finished() || Instant::now() > deadline {
                return Err(format!("crash {crash}: the load ended by itself, or hangs: {:?}", run.join()));
            }
            #[expect(clippy::disallowed_methods, reason = "the ledger is looked at at intervals while the load runs")]
            std::thread::sleep(LOOK_INTERVAL);
        }
        place.restart();
        let summary = run.join().map_err(|_| "the load panicked".to_owned())??;
        known.add(ledger.take());
        known.verify(place, &ledger).map_err(|why| format!("crash {crash}, after {changes} changes: {why} (the load: {summary})"))?;
        report.acknowledged += known.count - begun;
        // Of each connection one transaction has no answer; whether it was at its commit is not known.
        report.unanswered += connections as u64;
    }
    report.restarts = place.restarts().split_off(before);
    Ok(report)
}

fn action(place: &Place, verb: &str, more: &[&str]) -> Result<Action, String> {
    let (address, warehouses) = (place.address(), WAREHOUSES.to_string());
    let (items, customers) = (ITEMS.to_string(), CUSTOMERS.to_string());
    let arguments = ["bench", verb, "--server", &address, "--database", DATABASE, "--workload", "tpcc", "--warehouses", &warehouses];
    let size = ["--items", &items, "--customers", &customers];
    let arguments = arguments.iter().chain(&size).chain(more);
    CommandLine::try_parse_from(arguments).map(|line| line.action).map_err(|error| error.to_string())
}

fn prepare(place: &Place) -> Result<(), String> {
    match action(place, "prepare", &[])? {
        Action::Prepare(options) => bench::workload::prepare(&options),
        _ => unreachable!("prepare was asked for"),
    }
}

type Run = std::thread::JoinHandle<Result<String, String>>;

/// A load that goes on until the server dies.
fn run(place: &Place, ledger: &Arc<Ledger>, connections: usize, seed: u64) -> Result<Run, String> {
    let seed = seed.to_string();
    let more = ["--seed", &seed, "--warmup", "0", "--seconds", "3600", "--drain-seconds", "5", "--roaming"];
    match action(place, "run", &more)? {
        Action::Run(command) => {
            let mut options = command.options(connections);
            options.ledger = Some(Arc::clone(ledger));
            Ok(std::thread::spawn(move || bench::run::run(&options).map(|report| report.summary())))
        }
        _ => unreachable!("run was asked for"),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Order {
    customer: u64,
    lines: u64,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Payment {
    place: (u64, u64),
    customer: Key,
    cents: i64,
}

/// All that was acknowledged since the data was made.
#[derive(Default)]
struct Known {
    count: u64,
    orders: HashMap<Key, Order>,
    payments: HashMap<String, Payment>,
    delivered: HashMap<Key, u64>,
}

impl Known {
    fn add(&mut self, entries: Vec<Entry>) {
        self.count += entries.len() as u64;
        for entry in entries {
            match entry {
                Entry::Order { key, customer, lines, cents } => drop(self.orders.insert(key, Order { customer, lines, cents })),
                Entry::Payment { tag, place, customer, cents } => drop(self.payments.insert(tag, Payment { place, customer, cents })),
                Entry::Delivery { orders, carrier } => self.delivered.extend(orders.into_iter().map(|order| (order, carrier))),
            }
        }
    }

    fn verify(&self, place: &Place, ledger: &Ledger) -> Result<(), String> {
        let mut connection = place.connect_patiently(Some(DATABASE))?;
        let there = There::read(&mut connection)?;
        for (key, order) in &self.orders {
            if there.orders.get(key).map(|found| &found.order) != Some(order) {
                return Err(format!("order {key:?} was acknowledged as {order:?} and is {:?}", there.orders.get(key)));
            }
        }
        for (key, carrier) in &self.delivered {
            let found = there.orders.get(key);
            if found.map(|order| order.carrier) != Some(*carrier) || there.new_orders.contains(key) {
                return Err(format!("order {key:?} was delivered by {carrier} and is {found:?}, new: {}", there.new_orders.contains(key)));
            }
        }
        for (tag, payment) in &self.payments {
            if there.payments.get(tag) != Some(payment) {
                return Err(format!("payment {tag} was acknowledged as {payment:?} and is {:?}", there.payments.get(tag)));
            }
        }
        let of_nobody = |tag: &&String| tag[1..].parse::<u64>().is_ok_and(|number| number >= ledger.tags());
        if let Some(tag) = there.payments.keys().find(of_nobody) {
            return Err(format!("nobody has made payment {tag}"));
        }
        there.check(&mut connection)?;
        // Conditions 1 to 4 and 6, and what indexes say beside what tables say.
        match action(place, "check", &[])? {
            Action::Check(options) => drop(bench::workload::check(&options)?),
            _ => unreachable!("check was asked for"),
        }
        for (table, index) in [("orders", "idx_order"), ("customer", "idx_customer")] {
            let column = if table == "orders" { "o_id" } else { "c_id" };
            let sum = |hint: &str| format!("SELECT COUNT(*), SUM({column}) FROM {table} FORCE INDEX ({hint}) WHERE {column} >= 0");
            let [by_index, by_table] = [index, "PRIMARY"].map(|hint| rows::<(u64, u64)>(&mut connection, &sum(hint)));
            if by_index? != by_table? {
                return Err(format!("{index} has other entries than {table} has rows"));
            }
        }
        Ok(())
    }
}

#[derive(Debug)]
struct OrderThere {
    order: Order,
    carrier: u64,
}

/// What the server has.
struct There {
    orders: HashMap<Key, OrderThere>,
    payments: HashMap<String, Payment>,
    new_orders: HashSet<Key>,
}

impl There {
    fn read(connection: &mut mysql::Conn) -> Result<There, String> {
        let lines: Vec<(u64, u64, u64, u64, i64)> = rows(
            connection,
            "SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*), CAST(SUM(ol_amount) * 100 AS SIGNED) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id",
        )?;
        let lines: HashMap<Key, (u64, i64)> = lines.into_iter().map(|(w, d, o, count, cents)| ((w, d, o), (count, cents))).collect();
        let heads: Vec<(u64, u64, u64, u64, u64, u64)> =
            rows(connection, "SELECT o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt, IFNULL(o_carrier_id, 0) FROM orders")?;
        let mut orders = HashMap::new();
        for (w, d, o, customer, count, carrier) in heads {
            let (lines, cents) = lines.get(&(w, d, o)).copied().unwrap_or_default();
            if lines != count {
                return Err(format!("order {:?} says {count} lines and has {lines}", (w, d, o)));
            }
            orders.insert((w, d, o), OrderThere { order: Order { customer, lines, cents }, carrier });
        }
        if lines.len() != orders.len() {
            return Err(format!("lines of {} orders, and {} orders", lines.len(), orders.len()));
        }
        let history: Vec<(String, u64, u64, u64, u64, u64, i64)> = rows(
            connection,
            "SELECT h_data, h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, CAST(h_amount * 100 AS SIGNED) FROM history WHERE h_data LIKE 'P%'",
        )?;
        let mut payments = HashMap::new();
        for (tag, w, d, cw, cd, c, cents) in history {
            // Data of the beginning may begin so, too.
            let is_tag = tag.strip_prefix('P').is_some_and(|number| number.parse::<u64>().is_ok());
            let payment = Payment { place: (w, d), customer: (cw, cd, c), cents };
            if is_tag && let Some(twice) = payments.insert(tag.clone(), payment) {
                return Err(format!("payment {tag} is there twice: {twice:?}"));
            }
        }
        let new: Vec<Key> = rows(connection, "SELECT no_w_id, no_d_id, no_o_id FROM new_order")?;
        Ok(There { orders, payments, new_orders: new.into_iter().collect() })
    }

    /// What must follow from the orders and payments that are there.
    fn check(&self, connection: &mut mysql::Conn) -> Result<(), String> {
        let (mut of_warehouses, mut of_districts) = (BTreeMap::<u64, i64>::new(), BTreeMap::<(u64, u64), i64>::new());
        // Of customers: balance, payments, deliveries.
        let mut of_customers = BTreeMap::<Key, (i64, u64, u64)>::new();
        for payment in self.payments.values() {
            *of_warehouses.entry(payment.place.0).or_default() += payment.cents;
            *of_districts.entry(payment.place).or_default() += payment.cents;
            let customer = of_customers.entry(payment.customer).or_default();
            *customer = (customer.0 - payment.cents, customer.1 + 1, customer.2);
        }
        for ((w, d, o), order) in self.orders.iter().filter(|(key, order)| order.carrier != 0 && key.2 > DELIVERED_FIRST) {
            if self.new_orders.contains(&(*w, *d, *o)) {
                return Err(format!("order {:?} has a carrier and is new", (w, d, o)));
            }
            let customer = of_customers.entry((*w, *d, order.order.customer)).or_default();
            *customer = (customer.0 + order.order.cents, customer.1, customer.2 + 1);
        }
        for (w, cents) in rows::<(u64, i64)>(connection, "SELECT w_id, CAST(w_ytd * 100 AS SIGNED) - 30000000 FROM warehouse")? {
            let expected = of_warehouses.get(&w).copied().unwrap_or(0);
            same("w_ytd", w, cents, expected)?;
        }
        for (w, d, cents) in
            rows::<(u64, u64, i64)>(connection, "SELECT d_w_id, d_id, CAST(d_ytd * 100 AS SIGNED) - 3000000 FROM district")?
        {
            let expected = of_districts.get(&(w, d)).copied().unwrap_or(0);
            same("d_ytd", (w, d), cents, expected)?;
        }
        let sql = "SELECT c_w_id, c_d_id, c_id, CAST(c_balance * 100 AS SIGNED) + 1000, c_payment_cnt - 1, c_delivery_cnt FROM customer";
        for (w, d, c, cents, payments, deliveries) in rows::<(u64, u64, u64, i64, u64, u64)>(connection, sql)? {
            let expected = of_customers.get(&(w, d, c)).copied().unwrap_or_default();
            same("balance, payments and deliveries of customer", (w, d, c), (cents, payments, deliveries), expected).map_err(|why| {
                let wait = self.new_orders.iter().filter(|order| (order.0, order.1) == (w, d)).count();
                format!("{why}; {wait} new orders wait in the district")
            })?;
        }
        let stock = "SELECT s_w_id, CAST(SUM(s_ytd) AS SIGNED), CAST(SUM(s_order_cnt) AS SIGNED) FROM stock GROUP BY s_w_id";
        let sold = format!(
            "SELECT ol_supply_w_id, CAST(SUM(ol_quantity) AS SIGNED), COUNT(*) FROM order_line WHERE ol_o_id > {CUSTOMERS} GROUP BY ol_supply_w_id"
        );
        let sold: Vec<(u64, i64, i64)> = rows(connection, &sold)?;
        for (w, quantity, count) in rows::<(u64, i64, i64)>(connection, stock)? {
            let expected = sold.iter().find(|row| row.0 == w).map_or((0, 0), |row| (row.1, row.2));
            same("stock given out by warehouse", w, (quantity, count), expected)?;
        }
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, of: impl std::fmt::Debug, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what} {of:?} is {found:?}, and {expected:?} follows from what is there")) }
}

fn rows<T: FromRow>(connection: &mut mysql::Conn, sql: &str) -> Result<Vec<T>, String> {
    connection.query(sql).map_err(|error| format!("{sql}: {error}"))
}
