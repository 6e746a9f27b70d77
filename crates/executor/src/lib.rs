//! Operators, expressions, functions.
