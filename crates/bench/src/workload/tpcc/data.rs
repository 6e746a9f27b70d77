//! The schema and its first rows.

use super::super::{Rows, in_parallel};
use super::{DISTRICTS, LINES_MAX, LINES_MIN, last_name, mask, money, names, non_uniform};
use crate::blocking::Blocking;
use crate::options::PrepareOptions;
use crate::random::Random;

// The standard asks for sums of twelve digits at least; what is paid in a run of hours is more (`w_ytd`).
const TABLES: [(&str, &str); 9] = [
    (
        "warehouse",
        "w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), \
         w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(18,2), PRIMARY KEY (w_id)",
    ),
    (
        "district",
        "d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), \
         d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(18,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)",
    ),
    (
        "customer",
        "c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), \
         c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), \
         c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), \
         c_ytd_payment DECIMAL(18,2), c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id), \
         KEY idx_customer (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        "history",
        "h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_date DATETIME, \
         h_amount DECIMAL(6,2), h_data VARCHAR(24), KEY idx_h_w_id (h_w_id)",
    ),
    ("new_order", "no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)"),
    (
        "orders",
        "o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT, \
         o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY idx_order (o_w_id, o_d_id, o_c_id, o_id)",
    ),
    (
        "order_line",
        "ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT NOT NULL, \
         ol_supply_w_id INT, ol_delivery_d DATETIME, ol_quantity INT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), \
         PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        "stock",
        "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), \
         s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), \
         s_dist_10 CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)",
    ),
    ("item", "i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id)"),
];

fn letters(random: &mut Random, low: u64, high: u64) -> String {
    (0..random.between(low, high)).map(|_| char::from(b'a' + random.between(0, 25) as u8)).collect()
}

fn digits(random: &mut Random, count: u64) -> String {
    (0..count).map(|_| char::from(b'0' + random.between(0, 9) as u8)).collect()
}

/// Street twice, city, state and postal code.
fn address(random: &mut Random) -> String {
    let streets = (letters(random, 10, 20), letters(random, 10, 20), letters(random, 10, 20));
    let (state, zip) = (letters(random, 2, 2).to_uppercase(), digits(random, 4));
    format!("'{}','{}','{}','{state}','{zip}11111'", streets.0, streets.1, streets.2)
}

/// Data of items and stock; a tenth is marked.
fn data(random: &mut Random) -> String {
    let text = letters(random, 26, 42);
    if random.percent(10) { format!("{text}ORIGINAL") } else { text }
}

pub(in super::super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    let mut control = options.server.connect(true)?;
    for (name, columns) in TABLES {
        control.must(&format!("DROP TABLE IF EXISTS {name}"))?;
        control.must(&format!("CREATE TABLE {name} ({columns})"))?;
    }
    drop(control);
    in_parallel(options, options.size.warehouses + 1, |connection, part| match part {
        0 => items(connection, options.size.items),
        warehouse => {
            let mut random = Random::new(warehouse);
            let (items, customers) = (options.size.items, options.size.customers);
            warehouse_and_stock(connection, &mut random, warehouse, items)?;
            (1..=DISTRICTS).try_for_each(|district| {
                people(connection, &mut random, warehouse, district, customers)?;
                orders(connection, &mut random, warehouse, district, customers, items)
            })
        }
    })
}

fn items(connection: &mut Blocking, count: u64) -> Result<(), String> {
    let mut random = Random::new(0);
    let mut rows = Rows::new(connection, "item");
    for id in 1..=count {
        let (image, name) = (random.between(1, 10_000), letters(&mut random, 14, 24));
        let (price, data) = (money(random.between(100, 10_000) as i64), data(&mut random));
        rows.add(format_args!("{id},{image},'{name}',{price},'{data}'"))?;
    }
    rows.end()
}

fn warehouse_and_stock(connection: &mut Blocking, random: &mut Random, warehouse: u64, items: u64) -> Result<(), String> {
    let (name, tax) = (letters(random, 6, 10), random.between(0, 2000));
    let address_text = address(random);
    connection.must(&format!("INSERT INTO warehouse VALUES ({warehouse},'{name}',{address_text},0.{tax:04},300000.00)"))?;
    let mut rows = Rows::new(connection, "stock");
    for item in 1..=items {
        let districts: Vec<String> = (0..DISTRICTS).map(|_| format!("'{}'", letters(random, 24, 24))).collect();
        let (quantity, data) = (random.between(10, 100), data(random));
        rows.add(format_args!("{item},{warehouse},{quantity},{},0,0,0,'{data}'", districts.join(",")))?;
    }
    rows.end()
}

/// A district with its customers and their history.
fn people(connection: &mut Blocking, random: &mut Random, warehouse: u64, district: u64, customers: u64) -> Result<(), String> {
    let (name, tax) = (letters(random, 6, 10), random.between(0, 2000));
    let place = address(random);
    connection
        .must(&format!("INSERT INTO district VALUES ({district},{warehouse},'{name}',{place},0.{tax:04},30000.00,{})", customers + 1))?;
    let mut rows = Rows::new(connection, "customer");
    for id in 1..=customers {
        let number = if id <= 1000 { id - 1 } else { non_uniform(random, 255, 0, names(customers) - 1) };
        let (first, last, place) = (letters(random, 8, 16), last_name(number), address(random));
        let (phone, credit) = (digits(random, 16), if random.percent(10) { "BC" } else { "GC" });
        let (discount, data) = (random.between(0, 5000), letters(random, 300, 500));
        rows.add(format_args!(
            "{id},{district},{warehouse},'{first}','OE','{last}',{place},'{phone}','2026-01-01 00:00:00','{credit}',50000.00,0.{discount:04},\
             -10.00,10.00,1,0,'{data}'"
        ))?;
    }
    rows.end()?;
    let mut rows = Rows::new(connection, "history");
    for id in 1..=customers {
        let data = letters(random, 12, 24);
        rows.add(format_args!("{id},{district},{warehouse},{district},{warehouse},'2026-01-01 00:00:00',10.00,'{data}'"))?;
    }
    rows.end()
}

/// One order for each customer, the last third of them new.
fn orders(connection: &mut Blocking, random: &mut Random, warehouse: u64, district: u64, customers: u64, items: u64) -> Result<(), String> {
    let first_new = customers - customers * 3 / 10 + 1;
    let mut buyers: Vec<u64> = (1..=customers).collect();
    (1..buyers.len()).rev().for_each(|at| buyers.swap(at, random.between(0, at as u64) as usize));
    let counts: Vec<u64> = buyers.iter().map(|_| random.between(LINES_MIN, LINES_MAX)).collect();
    let mut rows = Rows::new(connection, "orders");
    for ((order, buyer), count) in (1..).zip(&buyers).zip(&counts) {
        let carrier = if order < first_new { random.between(1, 10).to_string() } else { "NULL".to_owned() };
        rows.add(format_args!("{order},{district},{warehouse},{buyer},'2026-01-01 00:00:00',{carrier},{count},1"))?;
    }
    rows.end()?;
    let mut rows = Rows::new(connection, "order_line");
    for (order, count) in (1..).zip(&counts) {
        for number in 1..=*count {
            let (item, info) = (non_uniform(random, mask(items, 8), 1, items), letters(random, 24, 24));
            let (delivered, amount) =
                if order < first_new { ("'2026-01-01 00:00:00'", 0) } else { ("NULL", random.between(1, 999_999) as i64) };
            let amount = money(amount);
            rows.add(format_args!("{order},{district},{warehouse},{number},{item},{warehouse},{delivered},5,{amount},'{info}'"))?;
        }
    }
    rows.end()?;
    let mut rows = Rows::new(connection, "new_order");
    (first_new..=customers).try_for_each(|order| rows.add(format_args!("{order},{district},{warehouse}")))?;
    rows.end()
}
