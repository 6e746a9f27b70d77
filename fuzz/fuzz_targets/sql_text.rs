//! Any bytes as SQL text: no panic, and the parser lifts what the fingerprint lifts.
#![no_main]

#[path = "../../crates/parser/tests/any_text/mod.rs"]
mod any_text;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| any_text::run(input));
