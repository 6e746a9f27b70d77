//! A small TPC-C: one warehouse, ten districts of a hundred customers, a thousand items. Columns as the standard has them, and as many
//! statements per transaction as on the full size; the trees are one or two levels high instead of three.

use super::{CUSTOMERS, DISTRICTS, ITEMS, last_name};
use crate::client::Client;
use crate::window::Random;

const TABLES: [&str; 9] = [
    "warehouse (w_id INT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), \
     w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2), PRIMARY KEY (w_id))",
    "district (d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), \
     d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id))",
    "customer (c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), \
     c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, \
     c_credit CHAR(2), c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), \
     c_payment_cnt INT, c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id), \
     KEY idx_customer (c_w_id, c_d_id, c_last, c_first))",
    "history (h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_date DATETIME, \
     h_amount DECIMAL(6,2), h_data VARCHAR(24), KEY idx_h_w_id (h_w_id))",
    "new_order (no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    "orders (o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT, \
     o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY idx_order (o_w_id, o_d_id, o_c_id, o_id))",
    "order_line (ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT NOT NULL, \
     ol_supply_w_id INT, ol_delivery_d DATETIME, ol_quantity INT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), \
     PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    "stock (s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT, s_dist_01 CHAR(24), s_dist_02 CHAR(24), s_dist_03 CHAR(24), \
     s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), \
     s_dist_10 CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))",
    "item (i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50), PRIMARY KEY (i_id))",
];

/// Makes the tables and their rows.
pub fn load(client: &mut Client) {
    client.run("CREATE DATABASE tpcc");
    client.run("USE tpcc");
    TABLES.iter().for_each(|table| client.run(&format!("CREATE TABLE {table}")));
    let random = &mut Random::new(20);
    let place = address(random);
    client.run(&format!("INSERT INTO warehouse VALUES (1,'altiplano',{place},0.1234,300000.00)"));
    insert(client, "item", 1..=ITEMS, |id| {
        let (image, cents) = (random.below(10_000) + 1, random.below(9900) + 100);
        format!("{id},{image},'{}',{}.{:02},'{}'", letters(random, 20), cents / 100, cents % 100, letters(random, 34))
    });
    insert(client, "stock", 1..=ITEMS, |item| {
        let districts: Vec<String> = (0..DISTRICTS).map(|_| format!("'{}'", letters(random, 24))).collect();
        format!("{item},1,{},{},0,0,0,'{}'", random.below(91) + 10, districts.join(","), letters(random, 34))
    });
    for district in 1..=DISTRICTS {
        let place = address(random);
        client.run(&format!(
            "INSERT INTO district VALUES ({district},1,'{}',{place},0.0567,30000.00,{})",
            letters(random, 8),
            CUSTOMERS + 1
        ));
        people(client, random, district);
        orders(client, random, district);
    }
}

fn people(client: &mut Client, random: &mut Random, district: u64) {
    insert(client, "customer", 1..=CUSTOMERS, |id| {
        let credit = if random.below(10) == 0 { "BC" } else { "GC" };
        let (first, last, place, data) = (letters(random, 12), last_name(id), address(random), letters(random, 400));
        format!(
            "{id},{district},1,'{first}','OE','{last}',{place},'{:016}','2026-01-01 00:00:00','{credit}',50000.00,0.{:04},-10.00,10.00,1,0,\
             '{data}'",
            random.below(1 << 31),
            random.below(5000)
        )
    });
    insert(client, "history", 1..=CUSTOMERS, |id| {
        format!("{id},{district},1,{district},1,'2026-01-01 00:00:00',10.00,'{}'", letters(random, 18))
    });
}

/// One order of ten lines for each customer, the last third of them new.
fn orders(client: &mut Client, random: &mut Random, district: u64) {
    let first_new = CUSTOMERS - CUSTOMERS * 3 / 10 + 1;
    // Each customer once, in another order than the numbers.
    insert(client, "orders", 1..=CUSTOMERS, |order| {
        let carrier = if order < first_new { "5" } else { "NULL" };
        format!("{order},{district},1,{},'2026-01-01 00:00:00',{carrier},10,1", order * 37 % CUSTOMERS + 1)
    });
    insert(client, "order_line", 0..=CUSTOMERS * 10 - 1, |n| {
        let (order, number) = (n / 10 + 1, n % 10 + 1);
        let delivered = if order < first_new { "'2026-01-01 00:00:00'" } else { "NULL" };
        format!("{order},{district},1,{number},{},1,{delivered},5,42.50,'{}'", random.below(ITEMS) + 1, letters(random, 24))
    });
    insert(client, "new_order", first_new..=CUSTOMERS, |order| format!("{order},{district},1"));
}

/// A row for each number, a hundred to a statement.
fn insert(client: &mut Client, table: &str, numbers: std::ops::RangeInclusive<u64>, row: impl FnMut(u64) -> String) {
    let rows: Vec<String> = numbers.map(row).collect();
    for rows in rows.chunks(100) {
        client.run(&format!("INSERT INTO {table} VALUES ({})", rows.join("),(")));
    }
}

fn letters(random: &mut Random, count: u64) -> String {
    (0..count).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// Streets, city, state and postal code.
fn address(random: &mut Random) -> String {
    format!("'{}','{}','{}','BO','123411111'", letters(random, 15), letters(random, 15), letters(random, 12))
}
