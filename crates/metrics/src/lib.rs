//! Counters, histograms and wait causes.
