//! Disk, clock and entropy as traits: real, and simulated with crashes.
