//! Every entry point of the parser over bytes from strangers; used by `tests/hostile.rs` and by the fuzzer in `fuzz/`.

use parser::{Bump, SqlMode, fingerprint, parse, parse_parameterised};

/// The first byte chooses the lexical modes, the rest is the text. No panic, and the parser lifts what the fingerprint lifts.
pub fn run(input: &[u8]) {
    let Some((mode, sql)) = input.split_first() else { return };
    let mode = SqlMode(u64::from(mode & 15) | (u64::from(mode & 16) << 16) | (u64::from(mode & 32) << 24));
    let arena = Bump::new();
    if let Ok(parsed) = parse(sql, mode, &arena) {
        assert!(parsed.rest <= sql.len());
    }
    let mut params = Vec::new();
    let print = fingerprint(sql, mode, &mut params);
    if let Ok(parsed) = parse_parameterised(sql, mode, &arena)
        && print.cacheable
    {
        assert_eq!(parsed.param_count as usize, params.len());
        assert_eq!(parsed.rest, print.rest);
    }
}
