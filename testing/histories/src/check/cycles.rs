//! Cycles: strongly connected components, and in each the shortest cycle of the worst class.

use super::graph::{Edge, Graph, Node};
use crate::anomaly::{Anomaly, Kind};
use std::collections::VecDeque;

/// Strongly connected components of more than one node (Tarjan, without recursion).
fn components(graph: &Graph, uses: impl Fn(Edge) -> bool) -> Vec<Vec<usize>> {
    const NONE: usize = usize::MAX;
    let count = graph.nodes.len();
    let (mut index, mut low, mut on_stack) = (vec![NONE; count], vec![0; count], vec![false; count]);
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..count {
        if index[root] != NONE {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some((node, at)) = calls.last_mut() {
            let node = *node;
            if *at == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some((to, edge)) = graph.edges[node].get(*at) {
                *at += 1;
                if !uses(*edge) {
                    continue;
                }
                if index[*to] == NONE {
                    calls.push((*to, 0));
                } else if on_stack[*to] {
                    low[node] = low[node].min(index[*to]);
                }
                continue;
            }
            calls.pop();
            if let Some((parent, _)) = calls.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let from = stack.iter().rposition(|member| *member == node).expect("it is on the stack");
                let members = stack.split_off(from);
                members.iter().for_each(|member| on_stack[*member] = false);
                if members.len() > 1 {
                    found.push(members);
                }
            }
        }
    }
    found
}

/// A way from one node to another by some edges within a component, the shortest.
fn path(graph: &Graph, inside: &[bool], from: usize, to: usize, uses: impl Fn(Edge) -> bool) -> Option<Vec<(usize, Edge)>> {
    let mut came: Vec<Option<(usize, Edge)>> = vec![None; graph.nodes.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for (next, edge) in &graph.edges[node] {
            if !inside[*next] || !uses(*edge) || came[*next].is_some() || *next == from && to != from {
                continue;
            }
            came[*next] = Some((node, *edge));
            if *next == to {
                let mut steps = Vec::new();
                let mut at = to;
                loop {
                    let (before, edge) = came[at].expect("it was reached");
                    steps.push((at, edge));
                    at = before;
                    if at == from {
                        steps.reverse();
                        return Some(steps);
                    }
                }
            }
            queue.push_back(*next);
        }
    }
    None
}

/// A cycle, as the nodes it comes to and the edges by which it comes there.
pub(super) struct Cycle {
    pub(super) kind: Kind,
    steps: Vec<(usize, Edge)>,
}

fn is_rw(edge: Edge) -> bool {
    matches!(edge, Edge::Rw(_))
}

/// The shortest of the cycles that begin with an edge chosen by `first` and go on by edges chosen by `rest`.
fn shortest(graph: &Graph, members: &[usize], first: impl Fn(Edge) -> bool, rest: impl Fn(Edge) -> bool) -> Option<Vec<(usize, Edge)>> {
    let mut inside = vec![false; graph.nodes.len()];
    members.iter().for_each(|member| inside[*member] = true);
    let mut best: Option<Vec<(usize, Edge)>> = None;
    for node in members {
        for (next, edge) in graph.edges[*node].iter().filter(|(next, edge)| inside[*next] && first(*edge)) {
            if let Some(way) = path(graph, &inside, *next, *node, &rest)
                && best.as_ref().is_none_or(|best| way.len() + 1 < best.len())
            {
                let mut steps = vec![(*next, *edge)];
                steps.extend(way);
                best = Some(steps);
            }
            if best.as_ref().is_some_and(|best| best.len() == 2) {
                return best;
            }
        }
    }
    best
}

/// The worst cycle of each component: G0, G1c, G-single, G2, and those that only real time closes.
pub(super) fn worst(graph: &Graph) -> Vec<Cycle> {
    let no_time = |edge: Edge| edge != Edge::Time;
    let (ww, ww_wr) = (|edge: Edge| matches!(edge, Edge::Ww(_)), |edge: Edge| matches!(edge, Edge::Ww(_) | Edge::Wr(_)));
    let mut found = Vec::new();
    for members in components(graph, |_| true) {
        let cycle = |kind, steps: Option<Vec<_>>| steps.map(|steps| Cycle { kind, steps });
        let worst = cycle(Kind::G0, shortest(graph, &members, ww, ww))
            .or_else(|| cycle(Kind::G1c, shortest(graph, &members, ww_wr, ww_wr)))
            .or_else(|| cycle(Kind::GSingle, shortest(graph, &members, is_rw, ww_wr)))
            .or_else(|| cycle(Kind::G2, shortest(graph, &members, no_time, no_time)))
            .or_else(|| cycle(Kind::Realtime, shortest(graph, &members, |_| true, |_| true)));
        found.extend(worst.map(|cycle| cycle.named(graph)));
    }
    found
}

/// All classes of cycles that a merged graph has.
pub(super) fn classes(graph: &Graph) -> Vec<Cycle> {
    let (ww, ww_wr) = (|edge: Edge| matches!(edge, Edge::Ww(_)), |edge: Edge| matches!(edge, Edge::Ww(_) | Edge::Wr(_)));
    let mut found = Vec::new();
    for members in components(graph, |_| true) {
        let mut add = |kind, steps: Option<Vec<_>>| found.extend(steps.map(|steps| Cycle { kind, steps }));
        add(Kind::G0, shortest(graph, &members, ww, ww));
        add(Kind::G1c, shortest(graph, &members, |edge| matches!(edge, Edge::Wr(_)), ww_wr));
        add(Kind::GSingle, shortest(graph, &members, is_rw, ww_wr));
        add(Kind::G2, shortest(graph, &members, is_rw, is_rw));
    }
    found.into_iter().map(|cycle| cycle.named(graph)).collect()
}

/// A cycle without two neighbouring anti-dependencies, which snapshot isolation forbids. Each node is taken twice, by how it was
/// reached; an anti-dependency leads on only from where none came.
pub(super) fn nonadjacent(graph: &Graph) -> Option<Cycle> {
    let count = graph.nodes.len();
    let mut doubled = Graph::default();
    doubled.nodes = (0..2 * count).map(Node::Moment).collect();
    doubled.edges = vec![Vec::new(); 2 * count];
    for (from, edges) in graph.edges.iter().enumerate() {
        for (to, edge) in edges {
            if is_rw(*edge) {
                doubled.edges[from].push((count + to, *edge));
            } else {
                doubled.edges[from].push((*to, *edge));
                doubled.edges[count + from].push((*to, *edge));
            }
        }
    }
    let members = components(&doubled, |_| true).into_iter().min_by_key(Vec::len)?;
    let steps = shortest(&doubled, &members, |_| true, |_| true)?;
    let steps: Vec<(usize, Edge)> = steps.into_iter().map(|(node, edge)| (node % count, edge)).collect();
    let anti = steps.iter().filter(|(_, edge)| is_rw(*edge)).count();
    let kind = match anti {
        0 => Kind::G1c,
        1 => Kind::GSingle,
        _ => Kind::GNonadjacent,
    };
    Some(Cycle { kind, steps }.named(graph))
}

impl Cycle {
    /// Gives special cases of two nodes their own names.
    fn named(mut self, graph: &Graph) -> Cycle {
        if self.kind == Kind::GSingle && self.steps.len() == 2 {
            let (mut anti, mut back) = (None, None);
            for (to, edge) in &self.steps {
                match edge {
                    Edge::Rw(item) => anti = Some((*item, *to)),
                    Edge::Ww(item) => back = Some((*item, true)),
                    Edge::Wr(item) => back = Some((*item, false)),
                    Edge::Time => {}
                }
            }
            match (anti, back) {
                (Some((read, _)), Some((written, true))) if read == written => self.kind = Kind::LostUpdate,
                (Some((_, writer)), Some((_, false)))
                    if self.steps.iter().any(|(to, _)| *to != writer && is_snapshot(graph.nodes[*to])) =>
                {
                    self.kind = Kind::Fractured;
                }
                _ => {}
            }
        }
        self
    }

    pub(super) fn anomaly(&self, graph: &Graph) -> Anomaly {
        let name = |node: Node| match node {
            Node::Current(txn) => format!("T{txn}"),
            Node::Snapshot(txn, None) => format!("T{txn}'s snapshot"),
            Node::Snapshot(txn, Some(statement)) => format!("T{txn}'s statement {}", statement + 1),
            Node::Moment(_) => "(time)".into(),
        };
        let mut text = name(graph.nodes[self.steps.last().expect("a cycle has steps").0]);
        for (to, edge) in &self.steps {
            text.push_str(&match edge {
                Edge::Ww(item) => format!(" -ww {item:?}-> "),
                Edge::Wr(item) => format!(" -wr {item:?}-> "),
                Edge::Rw(item) => format!(" -rw {item:?}-> "),
                Edge::Time => " -time-> ".into(),
            });
            text.push_str(&name(graph.nodes[*to]));
        }
        let mut txns: Vec<usize> = self.steps.iter().filter_map(|(node, _)| graph.nodes[*node].txn()).collect();
        txns.sort_unstable();
        txns.dedup();
        Anomaly { kind: self.kind, text, txns }
    }
}

fn is_snapshot(node: Node) -> bool {
    matches!(node, Node::Snapshot(..))
}
