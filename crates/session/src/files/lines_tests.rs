//! Lines against what MySQL 9.7 makes of the same bytes, however they are cut into pieces.

use super::*;
use parser::ast::FileFormat;

/// A line with its fields each by itself.
#[derive(Debug, PartialEq, Eq)]
struct Apart {
    fields: Vec<Option<Vec<u8>>>,
    has_more: bool,
}

fn apart(line: &Line) -> Apart {
    Apart { fields: line.fields().map(|field| field.map(<[u8]>::to_vec)).collect(), has_more: line.has_more }
}

fn read(text: &[u8], format: &FileFormat<'_>, wanted: usize, widths: &[usize]) -> Vec<Apart> {
    let format = Format::new(format).expect("a format");
    let mut lines = Lines::new(Input::of_text(text), format, wanted, widths.to_vec());
    std::iter::from_fn(|| lines.next().map(apart)).collect()
}

fn check(text: &str, format: &FileFormat<'_>, expect: &[&[Option<&str>]]) {
    let owned = |field: &Option<&str>| field.map(|text| text.as_bytes().to_vec());
    let expected: Vec<Vec<Option<Vec<u8>>>> = expect.iter().map(|line| line.iter().map(owned).collect()).collect();
    let got: Vec<_> = read(text.as_bytes(), format, 9, &[]).into_iter().map(|line| line.fields).collect();
    assert_eq!(got, expected, "{text:?}");
}

const QUOTED: FileFormat<'static> = FileFormat {
    fields_terminated: Some(b","),
    enclosed: Some(b"\""),
    optionally_enclosed: false,
    escaped: None,
    lines_starting: None,
    lines_terminated: Some(b"\n"),
};

#[test]
fn the_default_format() {
    let format = FileFormat::default();
    check("", &format, &[]);
    check("\n", &format, &[&[Some("")]]);
    check("1\tone\n2\ttwo", &format, &[&[Some("1"), Some("one")], &[Some("2"), Some("two")]]);
    check("\\N\tx\\N\tNULL\n", &format, &[&[None, Some("xN"), Some("NULL")]]);
    check("a\\\nb\tc\\\td\\qe\\0\\bf\n", &format, &[&[Some("a\nb"), Some("c\tdqe\0\u{8}f")]]);
    check("2\t", &format, &[&[Some("2"), Some("")]]);
}

#[test]
fn lines_without_width_and_end_are_none() {
    let format = FileFormat { fields_terminated: Some(b""), lines_terminated: Some(b""), ..FileFormat::default() };
    assert_eq!(read(b"abc", &format, 1, &[0]), []);
    assert_eq!(read(b"abcd", &format, 2, &[0, 2]).len(), 2);
}

#[test]
fn quotes() {
    check("\"a\"b\",x\"y,\"p\"q\"\n", &QUOTED, &[&[Some("a\"b"), Some("x\"y"), Some("p\"q")]]);
    check("\"\\N\",\\Nabc,NULL\n\"NULL\",\\N,\"un\n", &QUOTED, &[&[None, Some("Nabc"), None], &[Some("NULL"), None, Some("\"un\n")]]);
    check("\"o\"\"ne\",\"x,y\"", &QUOTED, &[&[Some("o\"ne"), Some("x,y")]]);
}

#[test]
fn prefixes_and_long_separators() {
    let format = FileFormat { lines_starting: Some(b">>"), lines_terminated: Some(b";;"), fields_terminated: Some(b"##"), ..QUOTED };
    check("no>>1##a;;>2>>3##b;c;;x", &format, &[&[Some("1"), Some("a")], &[Some("3"), Some("b;c")]]);
}

#[test]
fn without_ends_of_lines_fields_are_counted() {
    let format = FileFormat { lines_terminated: Some(b""), ..FileFormat::default() };
    let lines = read(b"1\tone\n1\tuno\n2\ttwo", &format, 2, &[]);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1].fields, [Some(b"uno\n2".to_vec()), Some(b"two".to_vec())]);
}

#[test]
fn fixed_widths_and_fields_that_nobody_wants() {
    let format = FileFormat { fields_terminated: Some(b""), enclosed: Some(b""), ..FileFormat::default() };
    let lines = read(b"1  ab \n22 c\n", &format, 2, &[3, 3]);
    assert_eq!(lines[0].fields, [Some(b"1  ".to_vec()), Some(b"ab ".to_vec())]);
    assert_eq!(lines[1].fields, [Some(b"22 ".to_vec()), Some(b"c".to_vec())]);
    let line = &read(b"1\t2\t3\n", &FileFormat::default(), 2, &[])[0];
    assert!(line.has_more && line.fields.len() == 2);
    // Nothing behind a last terminator is nothing too many; two of them are.
    assert!(!read(b"1\t2\t\n", &FileFormat::default(), 2, &[])[0].has_more);
    assert!(read(b"1\t2\t\t\n", &FileFormat::default(), 2, &[])[0].has_more);
}

#[test]
fn whatever_comes_ends() {
    // Deterministic noise over the bytes that mean something; each is read to its end in pieces of every size that the source gives.
    let alphabet = b"ab\"\\,\n;>N0";
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..2000 {
        let mut text = Vec::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push(alphabet[(state >> 33) as usize % alphabet.len()]);
        }
        let lines = read(&text, &QUOTED, 3, &[]);
        assert!(lines.len() <= text.len() && lines.iter().all(|line| line.fields.len() <= 3));
    }
}
