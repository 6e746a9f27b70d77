//! The protocol loop with canned answers: what the front itself costs. Compare with `ceiling.c` under the same client.
//!
//! `cargo run --release -p server --example canned -- PORT`

#[path = "../tests/canned/mod.rs"]
mod canned;

use std::sync::Arc;

use canned::Canned;
use server::listener::Listeners;
use server::server::Server;
use session::service::FrontSettings;

#[path = "../src/heap.rs"]
mod heap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    heap::allow_huge_pages_elsewhere();
    heap::set_aside();
    let port = std::env::args().nth(1).ok_or("usage: canned PORT")?.parse()?;
    let listeners = Listeners::bind("127.0.0.1", port, None)?;
    let server = Server::start(Arc::new(Canned::new(FrontSettings::default())), listeners, server::watcher::WATCH_INTERVAL)?;
    loop {
        sync::thread::park();
        if server.front().open_connections() == u32::MAX {
            return Ok(());
        }
    }
}
