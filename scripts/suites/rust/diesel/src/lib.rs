//! Tables and rows of the shop.

use bigdecimal::BigDecimal;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use diesel::prelude::*;

diesel::table! {
    authors (id) { id -> Unsigned<Bigint>, name -> Varchar, email -> Varchar, born -> Nullable<Date>, }
}
diesel::table! {
    books (id) {
        id -> Integer, author_id -> Unsigned<Bigint>, title -> Varchar, price -> Decimal, stock -> Unsigned<Integer>, published_at -> Nullable<Datetime>, opens -> Nullable<Time>,
        details -> Nullable<Json>, cover -> Nullable<Blob>, rating -> Nullable<Double>, sold -> Bool,
    }
}
diesel::joinable!(books -> authors (author_id));
diesel::allow_tables_to_appear_in_same_query!(authors, books);

#[derive(Debug, Clone, PartialEq, Queryable, Identifiable, Selectable, AsChangeset)]
#[diesel(table_name = authors)]
pub struct Author {
    pub id: u64,
    pub name: String,
    pub email: String,
    pub born: Option<NaiveDate>,
}

#[derive(Insertable)]
#[diesel(table_name = authors)]
pub struct NewAuthor<'a> {
    pub name: &'a str,
    pub email: &'a str,
    pub born: Option<NaiveDate>,
}

#[derive(Debug, Clone, PartialEq, Queryable, Identifiable, Selectable, Associations, Insertable)]
#[diesel(table_name = books, belongs_to(Author))]
pub struct Book {
    pub id: i32,
    pub author_id: u64,
    pub title: String,
    pub price: BigDecimal,
    pub stock: u32,
    pub published_at: Option<NaiveDateTime>,
    pub opens: Option<NaiveTime>,
    pub details: Option<serde_json::Value>,
    pub cover: Option<Vec<u8>>,
    pub rating: Option<f64>,
    pub sold: bool,
}
