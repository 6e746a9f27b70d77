//! Any bytes as SQL text: no panic, and the parser lifts what the fingerprint lifts. Seeds: `crates/parser/tests/corpus`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use parser::{Bump, SqlMode, fingerprint, parse, parse_parameterised};

fuzz_target!(|input: (u8, &[u8])| {
    let (mode, sql) = input;
    let mode = SqlMode(u64::from(mode & 15) | (u64::from(mode & 16) << 16) | (u64::from(mode & 32) << 24));
    let arena = Bump::new();
    let _ = parse(sql, mode, &arena);
    let mut params = Vec::new();
    let print = fingerprint(sql, mode, &mut params);
    if let Ok(parsed) = parse_parameterised(sql, mode, &arena)
        && print.cacheable
    {
        assert_eq!(parsed.param_count as usize, params.len());
        assert_eq!(parsed.rest, print.rest);
    }
});
