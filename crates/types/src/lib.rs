//! SQL values, decimal, temporal types, collations.
