//! What can be wrong with a history, by the names of Adya, Elle and Hermitage.

use std::fmt;

/// A kind of anomaly, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An acknowledged change is not there at the end.
    LostCommit,
    /// A transaction is there in part.
    TornCommit,
    /// Something that was rolled back is there at the end.
    Resurrected,
    /// A list has an element twice, or one that nobody wrote.
    Garbage,
    /// Index and row, or two ways to read the same, differ.
    TornRow,
    /// A row that must be there was not found, or was found twice in one statement.
    LostRow,
    /// Two reads show two orders of the same list.
    IncompatibleOrder,
    /// A transaction does not see what it wrote, or sees what it took back.
    Internal,
    /// G0, dirty write: writes of transactions interleave.
    G0,
    /// G1a, aborted read.
    G1a,
    /// G1b, intermediate read.
    G1b,
    /// G1c, circular information flow.
    G1c,
    /// A snapshot shows one part of a transaction and misses another.
    Fractured,
    /// A row changed since it was read, and was overwritten all the same.
    LostUpdate,
    /// G-single, read skew: a cycle with exactly one anti-dependency.
    GSingle,
    /// A cycle of several anti-dependencies, no two of them neighbours (snapshot isolation forbids it).
    GNonadjacent,
    /// G2: a cycle of several anti-dependencies (write skew, phantoms).
    G2,
    /// A cycle that needs the order of real time: a snapshot that is stale, or sees what was not committed yet.
    Realtime,
}

impl Kind {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::LostCommit => "lost commit",
            Kind::TornCommit => "torn commit",
            Kind::Resurrected => "resurrected",
            Kind::Garbage => "garbage",
            Kind::TornRow => "torn row",
            Kind::LostRow => "lost row",
            Kind::IncompatibleOrder => "incompatible order",
            Kind::Internal => "internal",
            Kind::G0 => "G0",
            Kind::G1a => "G1a",
            Kind::G1b => "G1b",
            Kind::G1c => "G1c",
            Kind::Fractured => "fractured read",
            Kind::LostUpdate => "lost update",
            Kind::GSingle => "G-single",
            Kind::GNonadjacent => "G-nonadjacent",
            Kind::G2 => "G2",
            Kind::Realtime => "realtime",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// One of them, found.
#[derive(Debug, Clone)]
pub struct Anomaly {
    /// Which.
    pub kind: Kind,
    /// What it consists of.
    pub text: String,
    /// Transactions that take part, by their place in the history.
    pub txns: Vec<usize>,
}
