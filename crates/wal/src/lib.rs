//! The one log: ring buffer, group commit, segments, checkpoint header, reader.
