//! The dependency graph: current parts of transactions, snapshots, and moments of real time.

use super::observe::{Observation, Seen};
use super::outcome::Outcome;
use crate::history::{Element, End, Group, History, Key, Moment, Reading};
use crate::levels::{Level, PlainRead};
use std::collections::HashMap;

/// What a node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Node {
    /// What a transaction wrote, and read with locks.
    Current(usize),
    /// What a transaction's plain reads saw: of all of it, or of one statement.
    Snapshot(usize, Option<usize>),
    /// A moment: what ended before comes before what began after.
    Moment(usize),
}

impl Node {
    pub(super) fn txn(self) -> Option<usize> {
        match self {
            Node::Current(txn) | Node::Snapshot(txn, _) => Some(txn),
            Node::Moment(_) => None,
        }
    }
}

/// Why one node comes before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Edge {
    /// The second overwrote the first.
    Ww(Item),
    /// The second read what the first wrote.
    Wr(Item),
    /// The first read what the second then overwrote, or did not see what the second wrote.
    Rw(Item),
    /// Real time, or the order within a transaction.
    Time,
}

/// What an edge is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Item {
    List(Key),
    Member(Element, Group),
}

/// Nodes and edges.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Vec<(usize, Edge)>>,
    numbers: HashMap<Node, usize>,
}

impl Graph {
    pub(super) fn node(&mut self, node: Node) -> usize {
        let next = self.nodes.len();
        let number = *self.numbers.entry(node).or_insert(next);
        if number == next {
            self.nodes.push(node);
            self.edges.push(Vec::new());
        }
        number
    }

    fn edge(&mut self, from: Node, to: Node, edge: Edge) {
        if from != to {
            let (from, to) = (self.node(from), self.node(to));
            if !self.edges[from].contains(&(to, edge)) {
                self.edges[from].push((to, edge));
            }
        }
    }

    /// The same with each transaction as one node, without real time.
    pub(super) fn merged(&self) -> Graph {
        let mut merged = Graph::default();
        for (from, edges) in self.edges.iter().enumerate() {
            for (to, edge) in edges {
                if let (Some(from), Some(to)) = (self.nodes[from].txn(), self.nodes[*to].txn())
                    && *edge != Edge::Time
                {
                    merged.edge(Node::Current(from), Node::Current(to), *edge);
                }
            }
        }
        merged
    }

    pub(super) fn build(history: &History, outcome: &Outcome, observations: &[Observation]) -> Graph {
        let mut graph = Graph::default();
        graph.write_order(history, outcome);
        for observation in observations {
            if let Some((node, sees_gaps)) = node_of(history, outcome, observation) {
                graph.node(node);
                graph.reads(history, outcome, observation, node, sees_gaps);
            }
        }
        // A transaction's snapshot is older than its commit.
        for node in graph.nodes.clone() {
            if let Node::Snapshot(txn, _) = node
                && graph.numbers.contains_key(&Node::Current(txn))
            {
                graph.edge(node, Node::Current(txn), Edge::Time);
            }
        }
        graph.real_time(history);
        graph
    }

    fn write_order(&mut self, history: &History, outcome: &Outcome) {
        let committed = |by: Option<&usize>| by.copied().filter(|by| outcome.committed[*by]);
        for (key, list) in &history.final_lists {
            let writers: Vec<usize> = list.iter().filter_map(|element| committed(outcome.appended_by.get(&(*key, *element)))).collect();
            for pair in writers.windows(2) {
                self.edge(Node::Current(pair[0]), Node::Current(pair[1]), Edge::Ww(Item::List(*key)));
            }
            writers.iter().for_each(|by| {
                self.node(Node::Current(*by));
            });
        }
        for (pair, remover) in &outcome.removed_by {
            if let Some(inserter) = committed(outcome.inserted_by.get(pair)) {
                self.edge(Node::Current(inserter), Node::Current(*remover), Edge::Ww(Item::Member(pair.0, pair.1)));
            }
        }
    }

    fn reads(&mut self, history: &History, outcome: &Outcome, observation: &Observation, node: Node, sees_gaps: bool) {
        let committed = |by: Option<&usize>| by.copied().filter(|by| outcome.committed[*by]);
        match &observation.seen {
            Seen::List { key, version, absent } => {
                let list = history.final_lists.get(key).map(Vec::as_slice).unwrap_or_default();
                let writer = |at: usize| list.get(at).and_then(|element| committed(outcome.appended_by.get(&(*key, *element))));
                if let Some(by) = version.checked_sub(1).and_then(writer) {
                    self.edge(Node::Current(by), node, Edge::Wr(Item::List(*key)));
                }
                if let Some(by) = writer(*version)
                    && (sees_gaps || !absent)
                {
                    self.edge(node, Node::Current(by), Edge::Rw(Item::List(*key)));
                }
            }
            Seen::Sets { groups, members, own } => {
                for pair in members {
                    let item = Item::Member(pair.0, pair.1);
                    if let Some(by) = committed(outcome.inserted_by.get(pair)) {
                        self.edge(Node::Current(by), node, Edge::Wr(item));
                    }
                    if let Some(by) = outcome.removed_by.get(pair) {
                        self.edge(node, Node::Current(*by), Edge::Rw(item));
                    }
                }
                if !sees_gaps {
                    return;
                }
                // Who came and was not seen comes later; who has gone since may as well have gone before.
                for (pair, by) in &outcome.inserted_by {
                    let came = outcome.committed[*by] && outcome.effects[*by].inserts.contains(pair);
                    if came
                        && (groups.0..=groups.1).contains(&pair.1)
                        && !members.contains(pair)
                        && !own.contains(pair)
                        && !outcome.may_be_removed(pair)
                    {
                        self.edge(node, Node::Current(*by), Edge::Rw(Item::Member(pair.0, pair.1)));
                    }
                }
            }
        }
    }

    /// Adds a chain of moments: what has ended before one comes before it, what begins after it comes after.
    fn real_time(&mut self, history: &History) {
        let mut times: Vec<(Moment, bool, usize)> = Vec::new();
        for (number, node) in self.nodes.clone().into_iter().enumerate() {
            let (start, end) = interval(history, node);
            // At the same moment what begins comes first: it is not known to be later.
            times.push((start, false, number));
            if let Some(end) = end {
                times.push((end, true, number));
            }
        }
        times.sort_unstable();
        let mut last: Option<usize> = None;
        let mut open = false;
        for (at, (_, is_end, number)) in times.into_iter().enumerate() {
            let node = self.nodes[number];
            if is_end {
                if !open {
                    let moment = self.node(Node::Moment(at));
                    if let Some(last) = last {
                        self.edges[last].push((moment, Edge::Time));
                    }
                    last = Some(moment);
                    open = true;
                }
                let moment = self.nodes[last.expect("just made")];
                self.edge(node, moment, Edge::Time);
            } else {
                open = false;
                if let Some(last) = last {
                    let moment = self.nodes[last];
                    self.edge(moment, node, Edge::Time);
                }
            }
        }
    }
}

/// Which node a read belongs to, if any, and whether what it did not find counts.
fn node_of(history: &History, outcome: &Outcome, observation: &Observation) -> Option<(Node, bool)> {
    let (index, txn) = (observation.txn, &history.txns[observation.txn]);
    let current = || outcome.committed[index].then_some((Node::Current(index), txn.level.locks_gaps() && !history.without_gaps));
    match observation.reading {
        Reading::Current => current(),
        Reading::Plain => match txn.level.plain_read(txn.autocommit) {
            PlainRead::Dirty => None,
            PlainRead::OfStatement => Some((Node::Snapshot(index, Some(observation.statement)), true)),
            PlainRead::OfTransaction => Some((Node::Snapshot(index, None), true)),
            PlainRead::Locking => current(),
        },
    }
}

/// From when to when a node's moment may have been; without an end it may be at any time later.
fn interval(history: &History, node: Node) -> (Moment, Option<Moment>) {
    match node {
        Node::Current(txn) => match history.txns[txn].end {
            End::Committed { sent, answered } => (sent, Some(answered)),
            End::Unknown { sent } => (sent, None),
            End::Aborted => (0, None),
        },
        Node::Snapshot(txn, Some(statement)) => {
            let statement = &history.txns[txn].statements[statement];
            (statement.sent, Some(statement.answered))
        }
        Node::Snapshot(txn, None) => {
            let txn = &history.txns[txn];
            let reads = |statement: &&crate::history::Statement| {
                statement.reading == Reading::Plain && statement.events.iter().any(crate::history::Event::is_read)
            };
            // A read that failed may have made it.
            let tried = |statement: &&crate::history::Statement| {
                statement.reading == Reading::Plain && statement.events.contains(&crate::history::Event::TriedRead)
            };
            let attempt = txn.statements.iter().find(|statement| reads(statement) || tried(statement)).map_or(0, |first| first.sent);
            // Where the first updater wins, the snapshot is as old as the first statement of any kind.
            let begins = if txn.level == Level::SnapshotIsolation { txn.statements.first().map(|first| first.sent) } else { None };
            let first = || txn.statements.iter().find(reads).map_or((0, None), |read| (begins.unwrap_or(attempt), Some(read.answered)));
            txn.snapshot.map_or_else(first, |(sent, answered)| (sent, Some(answered)))
        }
        Node::Moment(_) => (0, None),
    }
}
