//! The level of each crate: a crate depends only on crates of lower levels. ARCHITECTURE.md shows the same table.

/// Crate name and level.
pub const LEVELS: &[(&str, u32)] = &[
    ("base", 0),
    ("sync", 0),
    ("mysql_error", 0),
    ("accounts", 1),
    ("memory", 1),
    ("metrics", 1),
    ("types", 1),
    ("env", 2),
    ("json", 2),
    ("record", 2),
    ("lock_manager", 2),
    ("parser", 2),
    ("protocol", 2),
    ("tls", 2),
    ("admission", 3),
    ("wal", 3),
    ("page_store", 3),
    ("spill", 3),
    ("undo", 3),
    ("buffer_pool", 4),
    ("space_map", 5),
    ("btree", 6),
    ("txn", 7),
    ("engine", 8),
    ("catalog", 9),
    ("backup", 9),
    ("check", 10),
    ("planner", 10),
    ("bench", 11),
    ("executor", 11),
    ("bench", 11),
    ("session", 12),
    ("server", 13),
];

/// Level of a crate of this workspace.
pub fn level(name: &str) -> Option<u32> {
    LEVELS.iter().find(|(n, _)| *n == name).map(|(_, level)| *level)
}
