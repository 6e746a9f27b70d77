//! Migrations, CRUD, types, transactions, errors; one database, so one test at a time.

use bigdecimal::BigDecimal;
use chrono::NaiveDate;
use diesel::dsl::{avg, count_star, max, sum};
use diesel::mysql::MysqlConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::{DatabaseErrorKind, Error};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use shop::{Author, Book, NewAuthor, authors, books};
use std::str::FromStr;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

fn url() -> String {
    std::env::var("DATABASE_URL").expect("DATABASE_URL")
}

fn decimal(text: &str) -> BigDecimal {
    BigDecimal::from_str(text).unwrap()
}

/// A connection to tables without rows.
fn shop() -> MysqlConnection {
    let mut connection = MysqlConnection::establish(&url()).unwrap();
    connection.revert_all_migrations(MIGRATIONS).unwrap();
    connection.run_pending_migrations(MIGRATIONS).unwrap();
    connection
}

fn book(id: i32, author_id: u64, title: &str, price: &str) -> Book {
    let published = NaiveDate::from_ymd_opt(1974, 5, 1).unwrap().and_hms_micro_opt(10, 20, 30, 123_456);
    Book {
        id,
        author_id,
        title: title.into(),
        price: decimal(price),
        stock: u32::MAX,
        published_at: published,
        opens: chrono::NaiveTime::from_hms_opt(23, 59, 59),
        details: Some(serde_json::json!({"pages": 341, "of": [1, 2.5, null, "ü"]})),
        cover: Some(vec![0, 255, 39, 92, 10]),
        rating: Some(-0.125),
        sold: true,
    }
}

fn add_author(connection: &mut MysqlConnection, name: &str) -> u64 {
    let email = format!("{name}@example.org");
    diesel::insert_into(authors::table)
        .values(NewAuthor { name, email: &email, born: NaiveDate::from_ymd_opt(1929, 10, 21) })
        .execute(connection)
        .unwrap();
    authors::table.select(max(authors::id)).first::<Option<u64>>(connection).unwrap().unwrap()
}

#[test]
fn migrations_go_up_and_down() {
    let mut connection = shop();
    assert!(!connection.has_pending_migration(MIGRATIONS).unwrap());
    assert_eq!(connection.applied_migrations().unwrap().len(), 2);
    connection.revert_last_migration(MIGRATIONS).unwrap();
    assert!(connection.has_pending_migration(MIGRATIONS).unwrap());
    assert_eq!(connection.run_pending_migrations(MIGRATIONS).unwrap().len(), 1);
}

#[test]
fn every_type_comes_back() {
    let mut connection = shop();
    let author = add_author(&mut connection, "Стругацкие 😀");
    let (full, empty) = (
        book(1, author, "Пикник", "12345678.90"),
        Book { published_at: None, opens: None, details: None, cover: None, rating: None, ..book(2, author, "", "0.00") },
    );
    diesel::insert_into(books::table).values(&vec![full.clone(), empty.clone()]).execute(&mut connection).unwrap();
    assert_eq!(books::table.order(books::id).select(Book::as_select()).load(&mut connection).unwrap(), vec![full, empty]);
}

#[test]
fn rows_are_changed_and_deleted() {
    let mut connection = shop();
    let author = add_author(&mut connection, "a");
    diesel::insert_into(books::table)
        .values(&vec![book(1, author, "x", "1.50"), book(2, author, "y", "2.50")])
        .execute(&mut connection)
        .unwrap();
    let changed = diesel::update(books::table.filter(books::title.eq("x")))
        .set((books::stock.eq(7), books::price.eq(books::price + decimal("0.25"))))
        .execute(&mut connection)
        .unwrap();
    assert_eq!(changed, 1);
    assert_eq!(
        books::table.find(1).select((books::stock, books::price)).first::<(u32, BigDecimal)>(&mut connection).unwrap(),
        (7, decimal("1.75"))
    );
    // The client asks for found rows, so that a change to the same value counts.
    assert_eq!(diesel::update(books::table.find(1)).set(books::stock.eq(7)).execute(&mut connection).unwrap(), 1);
    assert_eq!(diesel::delete(books::table.filter(books::price.gt(decimal("2")))).execute(&mut connection).unwrap(), 1);
    assert_eq!(books::table.select(count_star()).first::<i64>(&mut connection).unwrap(), 1);
    let replaced = diesel::replace_into(books::table).values(book(1, author, "z", "3.00")).execute(&mut connection).unwrap();
    assert_eq!(replaced, 2);
    let upserted = diesel::insert_into(books::table)
        .values(book(1, author, "never", "9.00"))
        .on_conflict(diesel::dsl::DuplicatedKeys)
        .do_update()
        .set(books::stock.eq(11))
        .execute(&mut connection)
        .unwrap();
    assert_eq!(upserted, 2);
    assert_eq!(diesel::insert_or_ignore_into(books::table).values(book(1, author, "never", "9.00")).execute(&mut connection).unwrap(), 0);
}

#[test]
fn queries_join_group_and_page() {
    let mut connection = shop();
    let (one, two) = (add_author(&mut connection, "one"), add_author(&mut connection, "two"));
    add_author(&mut connection, "none");
    diesel::insert_into(books::table)
        .values(&vec![book(1, one, "b", "1.00"), book(2, one, "a", "2.00"), book(3, two, "100%", "4.00")])
        .execute(&mut connection)
        .unwrap();
    let joined: Vec<(String, Option<String>)> = authors::table
        .left_join(books::table)
        .select((authors::name, books::title.nullable()))
        .order((authors::name, books::title))
        .load(&mut connection)
        .unwrap();
    let text = |a: &str, b: Option<&str>| (a.to_owned(), b.map(str::to_owned));
    assert_eq!(joined, vec![text("none", None), text("one", Some("a")), text("one", Some("b")), text("two", Some("100%"))]);
    let grouped: Vec<(u64, i64, Option<BigDecimal>, Option<BigDecimal>)> = books::table
        .group_by(books::author_id)
        .select((books::author_id, count_star(), sum(books::price), avg(books::price)))
        .order(books::author_id)
        .load(&mut connection)
        .unwrap();
    assert_eq!(
        grouped,
        vec![(one, 2, Some(decimal("3.00")), Some(decimal("1.500000"))), (two, 1, Some(decimal("4.00")), Some(decimal("4.000000")))]
    );
    let found: Vec<i32> = books::table
        .filter(books::title.like("%\\%").or(books::id.eq_any([2, 9])))
        .select(books::id)
        .order(books::id.desc())
        .limit(5)
        .offset(0)
        .load(&mut connection)
        .unwrap();
    assert_eq!(found, vec![3, 2]);
    let of_one: Vec<Book> = Book::belonging_to(&authors::table.find(one).first::<Author>(&mut connection).unwrap())
        .order(books::id)
        .load(&mut connection)
        .unwrap();
    assert_eq!(of_one.len(), 2);
    assert!(
        diesel::select(diesel::dsl::exists(authors::table.filter(authors::name.eq("NONE")))).get_result::<bool>(&mut connection).unwrap()
    );
}

#[test]
fn transactions_nest() {
    let mut connection = shop();
    let done = connection.transaction::<_, Error, _>(|connection| {
        add_author(connection, "kept");
        let inner = connection.transaction::<(), Error, _>(|connection| {
            add_author(connection, "lost");
            Err(Error::RollbackTransaction)
        });
        assert_eq!(inner, Err(Error::RollbackTransaction));
        authors::table.for_update().skip_locked().select(authors::name).load::<String>(connection)
    });
    assert_eq!(done.unwrap(), vec!["kept"]);
    let lost = connection.transaction::<(), Error, _>(|connection| {
        diesel::delete(authors::table).execute(connection)?;
        Err(Error::RollbackTransaction)
    });
    assert_eq!(lost, Err(Error::RollbackTransaction));
    assert_eq!(authors::table.count().get_result::<i64>(&mut connection).unwrap(), 1);
}

#[test]
fn errors_have_their_kinds() {
    let mut connection = shop();
    let author = add_author(&mut connection, "a");
    let kind = |result: QueryResult<usize>| match result {
        Err(Error::DatabaseError(kind, _)) => kind,
        other => panic!("{other:?}"),
    };
    let twice =
        diesel::insert_into(authors::table).values(NewAuthor { name: "b", email: "A@example.org", born: None }).execute(&mut connection);
    assert!(matches!(kind(twice), DatabaseErrorKind::UniqueViolation));
    let orphan = diesel::insert_into(books::table).values(book(1, author + 9, "x", "1")).execute(&mut connection);
    assert!(matches!(kind(orphan), DatabaseErrorKind::ForeignKeyViolation));
    let negative = diesel::insert_into(books::table).values(book(1, author, "x", "-1")).execute(&mut connection);
    assert!(matches!(kind(negative), DatabaseErrorKind::CheckViolation));
    let missing = diesel::sql_query("INSERT INTO books (author_id, title, price) VALUES (1, NULL, 1)").execute(&mut connection);
    assert!(matches!(kind(missing), DatabaseErrorKind::NotNullViolation));
}

#[test]
fn a_pool_serves_threads() {
    drop(shop());
    let pool = Pool::builder().max_size(4).test_on_check_out(true).build(ConnectionManager::<MysqlConnection>::new(url())).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|at| {
            let pool = pool.clone();
            std::thread::spawn(move || {
                let mut connection = pool.get().unwrap();
                for round in 0..10 {
                    let email = format!("{at}-{round}@example.org");
                    diesel::insert_into(authors::table)
                        .values(NewAuthor { name: "n", email: &email, born: None })
                        .execute(&mut connection)
                        .unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(authors::table.count().get_result::<i64>(&mut pool.get().unwrap()).unwrap(), 80);
}
