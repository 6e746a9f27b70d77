//! Text to syntax tree; no catalog.
