//! Simple models that tests compare with.
