//! Row encoding, memory-comparable keys, decode plans.
