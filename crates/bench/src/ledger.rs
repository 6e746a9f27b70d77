//! What clients were told, kept outside of the server: after a crash all of it must be there.

use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// An acknowledged transaction of TPC-C that changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A new order.
    Order {
        /// Warehouse, district and number.
        key: (u64, u64, u64),
        /// Who ordered.
        customer: u64,
        /// Its lines.
        lines: u64,
        /// The sum of their amounts.
        cents: i64,
    },
    /// A payment.
    Payment {
        /// It stands in `h_data`; no other payment has it.
        tag: String,
        /// Warehouse and district.
        place: (u64, u64),
        /// Warehouse, district and number of the customer.
        customer: (u64, u64, u64),
        /// How much.
        cents: i64,
    },
    /// A delivery: the orders, and who carries them.
    Delivery {
        /// Warehouse, district and number of each.
        orders: Vec<(u64, u64, u64)>,
        /// `o_carrier_id`.
        carrier: u64,
    },
}

/// Acknowledged transactions.
pub struct Ledger {
    entries: Mutex<Vec<Entry>>,
    tags: AtomicU64,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { entries: Mutex::new(Rank::Leaf, Vec::new()), tags: AtomicU64::new(0) }
    }
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

impl Ledger {
    /// Notes a transaction whose commit was acknowledged.
    pub fn note(&self, entry: Entry) {
        self.entries.lock().push(entry);
    }

    /// A tag that no payment has had.
    pub fn tag(&self) -> String {
        format!("P{}", self.tags.fetch_add(1, Ordering::Relaxed))
    }

    /// Tags given out.
    pub fn tags(&self) -> u64 {
        self.tags.load(Ordering::Relaxed)
    }

    /// What was noted since the last call.
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries.lock())
    }
}
