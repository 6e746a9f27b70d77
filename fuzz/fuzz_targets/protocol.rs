//! Packets from strangers: no decoder may panic or take more memory than the bytes justify.

#![no_main]

#[path = "../../crates/protocol/tests/every_decoder/mod.rs"]
mod every_decoder;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((head, bytes)) = input.split_first_chunk::<6>() else { return };
    let flags = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    every_decoder::decode_everything(bytes, flags, usize::from(head[4]));
    every_decoder::read_packets(bytes, usize::from(head[5]) + 1, usize::from(head[4]) * 16);
});
