//! Packets from strangers: no decoder may panic or take more memory than the bytes justify.
#![no_main]

#[path = "../../crates/protocol/tests/every_decoder/mod.rs"]
mod every_decoder;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| every_decoder::run(input));
