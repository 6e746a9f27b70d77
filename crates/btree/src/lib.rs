//! B+tree over pages; keys and values are bytes.
