//! Row locks, wait-for graph, deadlock victim.
