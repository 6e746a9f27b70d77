//! A packet that there is no memory for is thrown away and told; the next one is whole.

use protocol::{PacketReader, ReadError};

/// One test: the limit is the process's.
#[test]
fn a_packet_without_memory_is_skipped_and_the_next_is_whole() {
    let mut reader = PacketReader::new();
    let mut stream = vec![0x40, 0x42, 0x0F, 0];
    stream.resize(1_000_004, 7);
    stream.extend([2, 0, 0, 1, 4, 5]);
    let mut rest = stream.as_slice();
    let mut told = Vec::new();
    memory::set_limit(memory::total() + (100 << 10));
    loop {
        match reader.next(1 << 24) {
            Ok(Some(place)) => told.push(Ok(reader.payload(&place).to_vec())),
            Ok(None) if rest.is_empty() => break,
            Ok(None) => {
                let room = reader.room();
                let count = room.len().min(rest.len()).min(9000);
                room[..count].copy_from_slice(&rest[..count]);
                reader.filled(count);
                rest = &rest[count..];
            }
            Err(error) => told.push(Err(error)),
        }
    }
    assert_eq!(told, [Err(ReadError::NoMemory { sequence: 1 }), Ok(vec![4, 5])]);
    assert!(reader.capacity() <= 256 << 10, "{}", reader.capacity());
    // With memory the same packet comes through.
    memory::set_limit(u64::MAX);
    reader.expect_sequence(0);
    let mut rest = &stream[..1_000_004];
    let place = loop {
        if let Some(place) = reader.next(1 << 24).expect("in order") {
            break place;
        }
        let room = reader.room();
        let count = room.len().min(rest.len());
        room[..count].copy_from_slice(&rest[..count]);
        reader.filled(count);
        rest = &rest[count..];
    };
    assert_eq!(place.len(), 1_000_000);
}
