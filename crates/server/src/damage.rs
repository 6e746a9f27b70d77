//! Damaged pages in the error log: each once, with the table and index that it belongs to.
//!
//! Whoever reads such a page gets an error and may hold latches; what the page belongs to is looked up by a thread of its own.

use catalog::Catalog;
use engine::{Engine, PageNo};
use server::log::{self, Level};
use std::io;
use std::sync::mpsc;
use std::sync::{Arc, Weak};

/// Messages that wait to be written; more are dropped.
const WAITING_MAX: usize = 1_000;

/// Begins to write of damaged pages to the error log.
pub fn watch(engine: &Arc<Engine>, catalog: &Arc<Catalog>) -> io::Result<()> {
    let (send, receive) = mpsc::sync_channel::<(PageNo, String)>(WAITING_MAX);
    engine.on_damaged_page(move |page, what| {
        // The statements that need the page say it again.
        let _ = send.try_send((page, what.to_owned()));
    });
    let (engine, catalog) = (Arc::downgrade(engine), Arc::downgrade(catalog));
    sync::thread::Builder::new().name("damage".to_owned()).spawn(move || {
        for (page, what) in receive {
            log::write(
                Level::Error,
                0,
                &format!("{what}{}; statements that need it fail, all others go on", whose(&engine, &catalog, page)),
            );
        }
    })?;
    Ok(())
}

/// What a page belongs to, as far as that can be read.
fn whose(engine: &Weak<Engine>, catalog: &Weak<Catalog>, page: PageNo) -> String {
    let (Some(engine), Some(catalog)) = (engine.upgrade(), catalog.upgrade()) else { return String::new() };
    let Ok(Some(index)) = engine.owner_of_page(page) else { return String::new() };
    match catalog.index_name(index) {
        Ok(Some((database, table, name))) => format!(": index {name} of table {database}.{table}"),
        _ => format!(": index number {index}"),
    }
}
