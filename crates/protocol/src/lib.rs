//! Bytes to MySQL packets and back; no socket.
