//! Seeded runs of the storage engine with faults.
