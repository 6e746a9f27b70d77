//! Which compression of packets clients may choose (`protocol_compression_algorithms`), and what a connection chose.

use crate::front::connections::Connection;
use crate::shared::Shared;
use crate::variables::variable;
use mysql_error::{SqlError, codes};
use protocol::compressed::{Algorithm, ZSTD_LEVEL, ZSTD_LEVEL_MAX};
use protocol::{Capabilities, HandshakeResponse};
use types::Value;

/// What `protocol_compression_algorithms` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressionChoice {
    zlib: bool,
    zstd: bool,
    uncompressed: bool,
}

impl Default for CompressionChoice {
    fn default() -> Self {
        Self { zlib: true, zstd: true, uncompressed: true }
    }
}

impl CompressionChoice {
    /// Reads the variable's list; `None` when a name in it is unknown or there is none.
    pub fn parse(list: &str) -> Option<Self> {
        let mut choice = Self { zlib: false, zstd: false, uncompressed: false };
        for name in list.split(',').map(str::trim) {
            match name.to_ascii_lowercase().as_str() {
                "zlib" => choice.zlib = true,
                "zstd" => choice.zstd = true,
                "uncompressed" => choice.uncompressed = true,
                _ => return None,
            }
        }
        Some(choice)
    }

    /// What the greeting offers.
    pub fn offered(self) -> Capabilities {
        let mut offered = Capabilities::empty();
        offered.set(Capabilities::COMPRESS, self.zlib);
        offered.set(Capabilities::ZSTD_COMPRESSION, self.zstd);
        offered
    }

    /// What a client gets by its answer, which holds only what was offered; 3922 when that is not allowed.
    pub fn choose(self, response: &HandshakeResponse<'_>) -> Result<Option<Algorithm>, SqlError> {
        if response.capabilities.contains(Capabilities::COMPRESS) {
            return Ok(Some(Algorithm::Zlib));
        }
        if response.capabilities.contains(Capabilities::ZSTD_COMPRESSION) {
            return match response.zstd_level.unwrap_or(ZSTD_LEVEL) {
                level @ 1..=ZSTD_LEVEL_MAX => Ok(Some(Algorithm::Zstd(level))),
                level => Err(codes::wrong_compression_level_client(level)),
            };
        }
        if self.uncompressed { Ok(None) } else { Err(codes::wrong_compression_algorithm_client("uncompressed")) }
    }
}

impl Shared {
    /// What new connections may choose.
    pub(crate) fn compression(&self) -> CompressionChoice {
        match self.variables.get(variable!("protocol_compression_algorithms")) {
            Value::Bytes(list) => CompressionChoice::parse(&list.to_text()).unwrap_or_default(),
            _ => CompressionChoice::default(),
        }
    }
}

/// `Compression…` of a connection.
pub(crate) fn status(connection: Option<&Connection>) -> Vec<(&'static str, String)> {
    let algorithm = connection.and_then(Connection::compression);
    vec![
        ("Compression", if algorithm.is_some() { "ON" } else { "OFF" }.to_owned()),
        ("Compression_algorithm", algorithm.map_or("", Algorithm::name).to_owned()),
        ("Compression_level", algorithm.map_or(0, Algorithm::level).to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_known_names_only() {
        assert_eq!(CompressionChoice::parse("zlib,zstd,uncompressed"), Some(CompressionChoice::default()));
        assert_eq!(CompressionChoice::parse("ZSTD"), Some(CompressionChoice { zlib: false, zstd: true, uncompressed: false }));
        for list in ["", "lz4", "zlib,,zstd", "zlib;zstd"] {
            assert_eq!(CompressionChoice::parse(list), None, "{list}");
        }
    }
}
