//! Stands in for the crate of this name in sqlx's tree, which is on no registry: what its MySQL tests call. Written for `scripts/suites/rust_sqlx.py`; not sqlx's code.

use sqlx::pool::PoolOptions;
use sqlx::{Connection, Database, Pool};

fn url() -> anyhow::Result<String> {
    Ok(std::env::var("DATABASE_URL")?)
}

pub fn setup_if_needed() {}

/// A connection to the database of the environment.
pub async fn new<DB: Database>() -> anyhow::Result<DB::Connection> {
    Ok(DB::Connection::connect(&url()?).await?)
}

/// A small pool of such connections.
pub async fn pool<DB: Database>() -> anyhow::Result<Pool<DB>> {
    let patience = std::time::Duration::from_secs(30);
    Ok(PoolOptions::new().max_connections(5).acquire_timeout(patience).connect(&url()?).await?)
}

/// Values as literals of the text protocol, and as parameters and results of the binary one.
#[macro_export]
macro_rules! test_type {
    ($name:ident<$ty:ty>($db:ident, $sql:literal, $($text:literal == $value:expr),+ $(,)?)) => {
        $crate::test_prepared_type!($name<$ty>($db, $sql, $($text == $value),+));
        $crate::test_unprepared_type!($name<$ty>($db, $($text == $value),+));
    };
    ($name:ident<$ty:ty>($db:ident, $($text:literal == $value:expr),+ $(,)?)) => {
        $crate::test_prepared_type!($name<$ty>($db, $($text == $value),+));
        $crate::test_unprepared_type!($name<$ty>($db, $($text == $value),+));
    };
    ($name:ident($db:ident, $($text:literal == $value:expr),+ $(,)?)) => {
        $crate::test_type!($name<$name>($db, $($text == $value),+));
    };
}

/// A literal, read from a result of the text protocol.
#[macro_export]
macro_rules! test_unprepared_type {
    ($name:ident<$ty:ty>($db:ident, $($text:literal == $value:expr),+ $(,)?)) => {
        paste::item! {
            #[sqlx_macros::test]
            async fn [<unprepared_ $name>]() -> anyhow::Result<()> {
                use sqlx::{Executor, Row};
                let mut conn = sqlx_test::new::<$db>().await?;
                $(
                    let row = conn.fetch_one(concat!("SELECT ", $text)).await?;
                    assert_eq!(row.try_get::<$ty, _>(0)?, $value, "{}", $text);
                )+
                Ok(())
            }
        }
    };
}

/// A parameter: equal to the literal, which comes back as a value of the type, as does the parameter.
#[macro_export]
macro_rules! test_prepared_type {
    ($name:ident<$ty:ty>($db:ident, $sql:literal, $($text:literal == $value:expr),+ $(,)?)) => {
        paste::item! {
            #[sqlx_macros::test]
            async fn [<prepared_ $name>]() -> anyhow::Result<()> {
                use sqlx::Row;
                let mut conn = sqlx_test::new::<$db>().await?;
                $(
                    let query = sqlx::AssertSqlSafe(format!($sql, $text));
                    let row = sqlx::query(query).bind($value).bind($value).fetch_one(&mut conn).await?;
                    assert!(row.try_get::<Option<i32>, _>(0)?.is_some_and(|equal| equal != 0), "{} is not what was bound", $text);
                    assert_eq!(row.try_get::<$ty, _>(1)?, $value, "{}", $text);
                    assert_eq!(row.try_get::<$ty, _>(2)?, $value, "{}, bound", $text);
                )+
                Ok(())
            }
        }
    };
    ($name:ident<$ty:ty>($db:ident, $($text:literal == $value:expr),+ $(,)?)) => {
        $crate::test_prepared_type!($name<$ty>($db, "SELECT CAST({0} <=> ? AS SIGNED INTEGER), {0}, ?", $($text == $value),+));
    };
}
