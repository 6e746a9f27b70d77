//! A server with a table of numbers: `d.n (id, v)`, ids from 1 on, each `v` 1.

use harness::Server;
use mysql::Conn;
use mysql::prelude::Queryable;

/// Starts it.
pub fn server(arguments: &[&str], rows: usize) -> Server {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments);
    server.connect().query_drop("CREATE DATABASE d").expect("a database");
    let mut connection = connect(&server);
    connection.query_drop("CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)").expect("a table");
    connection.query_drop(format!("INSERT INTO n (v) VALUES {}", vec!["(1)"; rows].join(","))).expect("rows");
    server
}

/// A connection whose database is `d`.
pub fn connect(server: &Server) -> Conn {
    Conn::new(server.options(Some("d"))).expect("a connection")
}
