//! The general query log: a line for each command, written before it runs.

use super::text::instant;

/// `time<TAB>  id command<TAB>argument`.
pub(super) fn entry(micros: i64, id: u32, command: &str, argument: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + argument.len());
    instant(micros, &mut out);
    out.extend_from_slice(format!("\t{id:>5} {command}\t").as_bytes());
    out.extend_from_slice(argument);
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_that_of_mysql() {
        let line = entry(1_795_416_647_742_320, 9, "Query", b"set long_query_time=0");
        assert_eq!(String::from_utf8_lossy(&line), "2026-11-23T06:50:47.742320Z\t    9 Query\tset long_query_time=0\n");
    }
}
