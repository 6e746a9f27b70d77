//! Bytes from strangers: no decoder may panic, whatever it gets. The same entry point serves the fuzzer in `fuzz/`.

use proptest::prelude::*;
use protocol::command::Command;
use protocol::constants::Capabilities;
use protocol::handshake::{ChangeUser, Greeting, HandshakeResponse};
use protocol::reply::{ErrReply, OkReply};
use protocol::{ColumnDefinition, PacketReader};

/// Runs every decoder over `bytes`.
fn decode_everything(bytes: &[u8], flags: u32, params: usize) {
    let capabilities = Capabilities(flags);
    if let Ok(command) = Command::parse(bytes, capabilities) {
        match command {
            Command::StmtExecute(execute) => {
                let mut types = Vec::new();
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
fn read_packets(bytes: &[u8], piece: usize, limit: usize) {
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
                Err(protocol::ReadError::TooLarge { .. }) => reader.expect_sequence(0),
            }
        }
    }
    assert!(reader.capacity() <= 4 * (bytes.len() + 16 * 1024));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), flags in any::<u32>(), params in 0usize..20) {
        decode_everything(&bytes, flags, params);
    }

    #[test]
    fn random_commands_never_panic(
        command in prop::sample::select(vec![0x03u8, 0x04, 0x11, 0x16, 0x17, 0x18, 0x19, 0x1C]),
        mut bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0u8), Just(1), Just(0xFE)], 0..100),
        flags in any::<u32>(),
        params in 0usize..20,
    ) {
        bytes.insert(0, command);
        decode_everything(&bytes, flags, params);
    }

    #[test]
    fn random_streams_never_panic(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0u8), Just(1), Just(0xFF)], 0..600),
        piece in 1usize..64,
        limit in 0usize..300,
    ) {
        read_packets(&bytes, piece, limit);
    }
}

#[test]
fn a_header_that_announces_much_costs_nothing() {
    let mut reader = PacketReader::new();
    reader.room()[..4].copy_from_slice(&[0xFE, 0xFF, 0xFF, 0]);
    reader.filled(4);
    assert_eq!(reader.next(1 << 30), Ok(None));
    assert!(reader.capacity() < 64 * 1024);
}

#[test]
fn an_execution_that_announces_many_parameters_costs_nothing() {
    let payload = [0x17, 1, 0, 0, 0, 8, 1, 0, 0, 0, 0xFD, 0xFF, 0xFF, 0xFF];
    let Ok(Command::StmtExecute(execute)) = Command::parse(&payload, Capabilities::QUERY_ATTRIBUTES) else { panic!("not an execution") };
    assert!(execute.params(0, &mut Vec::new(), |_| false, |_, _| {}).is_err());
}
