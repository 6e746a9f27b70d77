//! All decoders over bytes from strangers; used by `tests/hostile.rs` and by the fuzzer in `fuzz/`.

use protocol::command::Command;
use protocol::constants::Capabilities;
use protocol::handshake::{ChangeUser, Greeting, HandshakeResponse};
use protocol::reply::{ErrReply, OkReply};
use protocol::{ColumnDefinition, PacketReader};

/// One input of the fuzzer: capabilities, parameter count, piece length, then the bytes.
pub fn run(input: &[u8]) {
    let Some((head, bytes)) = input.split_first_chunk::<6>() else { return };
    let flags = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    decode_everything(bytes, flags, usize::from(head[4]));
    read_packets(bytes, usize::from(head[5]) + 1, usize::from(head[4]) * 16);
}

/// Runs every decoder over `bytes`.
pub fn decode_everything(bytes: &[u8], flags: u32, params: usize) {
    let capabilities = Capabilities(flags);
    if let Ok(command) = Command::parse(bytes, capabilities) {
        match command {
            Command::StmtExecute(execute) => {
                let mut types = protocol::ParamTypes::new();
                for _ in 0..2 {
                    let _ = execute.params(params, &mut types, |index| index % 5 == 4, |_, _| {});
                }
            }
            Command::ChangeUser(rest) => {
                let _ = ChangeUser::parse(rest, capabilities);
            }
            Command::Query { attributes, .. } => {
                assert!(attributes.decode().is_ok(), "attributes were checked when the command was parsed");
            }
            _ => {}
        }
    }
    let _ = HandshakeResponse::parse(bytes, capabilities);
    let _ = Greeting::parse(bytes);
    let _ = OkReply::parse(bytes, capabilities);
    let _ = ErrReply::parse(bytes);
    let _ = ColumnDefinition::parse(bytes);
}

/// Feeds `bytes` to a reader in pieces; the reader must hold no more memory than the bytes justify.
pub fn read_packets(bytes: &[u8], piece: usize, limit: usize) {
    let mut reader = PacketReader::new();
    for part in bytes.chunks(piece) {
        let mut part = part;
        while !part.is_empty() {
            let room = reader.room();
            let count = room.len().min(part.len());
            room[..count].copy_from_slice(&part[..count]);
            reader.filled(count);
            part = &part[count..];
        }
        loop {
            match reader.next(limit) {
                Ok(Some(place)) => assert!(reader.payload(&place).len() <= limit),
                Ok(None) => break,
                Err(protocol::ReadError::OutOfOrder) => return,
                Err(protocol::ReadError::TooLarge { .. } | protocol::ReadError::NoMemory { .. }) => reader.expect_sequence(0),
            }
        }
    }
    assert!(reader.capacity() <= 4 * (bytes.len() + 16 * 1024));
}
