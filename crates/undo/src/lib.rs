//! Before-images of running and recent transactions.
