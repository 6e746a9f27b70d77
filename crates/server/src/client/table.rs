//! Results as text: boxed tables, a line per column, or tab-separated lines.

use std::io::{self, Write};

use super::connection::Column;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A box around columns.
    Table,
    /// A line per column.
    Vertical,
    /// Tab-separated, special characters escaped: for other programs.
    Tabs,
}

type Rows = [Vec<Option<Vec<u8>>>];

/// Prints rows.
pub fn print(out: &mut impl Write, style: Style, columns: &[Column], rows: &Rows, with_names: bool) -> io::Result<()> {
    match style {
        Style::Table => print_table(out, columns, rows, with_names),
        Style::Vertical => print_vertical(out, columns, rows),
        Style::Tabs => print_tabs(out, columns, rows, with_names),
    }
}

/// A value as text: bytes that are no text as hex.
fn text(column: &Column, value: Option<&[u8]>) -> String {
    let Some(value) = value else { return "NULL".to_owned() };
    match std::str::from_utf8(value) {
        Ok(text) if !column.is_binary || text.chars().all(|c| !c.is_control()) => text.to_owned(),
        _ => value.iter().fold(String::from("0x"), |text, byte| format!("{text}{byte:02X}")),
    }
}

/// Columns of a terminal that a character takes: none for marks, two for East Asian wide ones and emoji.
fn char_width(c: char) -> usize {
    match c as u32 {
        0x0300..=0x036F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

fn print_table(out: &mut impl Write, columns: &[Column], rows: &Rows, with_names: bool) -> io::Result<()> {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| columns.iter().zip(row).map(|(column, value)| text(column, value.as_deref()).replace('\0', "\\0")).collect())
        .collect();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let name = if with_names { width(&column.name) } else { 0 };
            cells.iter().map(|row| row.get(index).map_or(0, |cell| width(cell))).fold(name, usize::max)
        })
        .collect();
    let rule: String = widths.iter().map(|width| format!("+-{}-", "-".repeat(*width))).chain(std::iter::once("+".to_owned())).collect();
    writeln!(out, "{rule}")?;
    if with_names {
        for (column, total) in columns.iter().zip(&widths) {
            write!(out, "| {}{} ", column.name, " ".repeat(total - width(&column.name)))?;
        }
        writeln!(out, "|\n{rule}")?;
    }
    for row in &cells {
        for ((column, cell), total) in columns.iter().zip(row).zip(&widths) {
            let pad = " ".repeat(total - width(cell));
            if column.is_number { write!(out, "| {pad}{cell} ")? } else { write!(out, "| {cell}{pad} ")? }
        }
        writeln!(out, "|")?;
    }
    writeln!(out, "{rule}")
}

fn print_vertical(out: &mut impl Write, columns: &[Column], rows: &Rows) -> io::Result<()> {
    let longest = columns.iter().map(|column| width(&column.name)).max().unwrap_or(0);
    for (number, row) in rows.iter().enumerate() {
        writeln!(out, "*************************** {}. row ***************************", number + 1)?;
        for (column, value) in columns.iter().zip(row) {
            let pad = " ".repeat(longest - width(&column.name));
            writeln!(out, "{pad}{}: {}", column.name, text(column, value.as_deref()))?;
        }
    }
    Ok(())
}

fn print_tabs(out: &mut impl Write, columns: &[Column], rows: &Rows, with_names: bool) -> io::Result<()> {
    let mut line = Vec::new();
    if with_names {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                line.push(b'\t');
            }
            line.extend_from_slice(column.name.as_bytes());
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    for row in rows {
        line.clear();
        for (index, value) in row.iter().enumerate() {
            if index > 0 {
                line.push(b'\t');
            }
            match value {
                None => line.extend_from_slice(b"NULL"),
                Some(value) => value.iter().for_each(|byte| match byte {
                    b'\n' => line.extend_from_slice(b"\\n"),
                    b'\t' => line.extend_from_slice(b"\\t"),
                    b'\\' => line.extend_from_slice(b"\\\\"),
                    0 => line.extend_from_slice(b"\\0"),
                    byte => line.push(*byte),
                }),
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(style: Style, expect: &str) {
        let column = |name: &str, is_number, is_binary| Column { name: name.to_owned(), is_number, is_binary };
        let columns = [column("id", true, false), column("name", false, false), column("b", false, true)];
        let value = |text: &str| Some(text.as_bytes().to_vec());
        let rows = [
            vec![value("1"), value("ünïcode 漢"), Some(vec![1, 254])],
            vec![value("100"), None, value("text")],
            vec![value("2"), value("a\tb\\"), None],
        ];
        let mut out = Vec::new();
        print(&mut out, style, &columns, if style == Style::Tabs { &rows[1..] } else { &rows[..2] }, true).expect("written");
        assert_eq!(String::from_utf8(out).expect("text"), expect);
    }

    #[test]
    fn results_are_printed_in_three_styles() {
        check(Style::Tabs, "id\tname\tb\n100\tNULL\ttext\n2\ta\\tb\\\\\tNULL\n");
        check(
            Style::Table,
            "\
+-----+------------+--------+
| id  | name       | b      |
+-----+------------+--------+
|   1 | ünïcode 漢 | 0x01FE |
| 100 | NULL       | text   |
+-----+------------+--------+
",
        );
        check(
            Style::Vertical,
            "\
*************************** 1. row ***************************
  id: 1
name: ünïcode 漢
   b: 0x01FE
*************************** 2. row ***************************
  id: 100
name: NULL
   b: text
",
        );
    }
}
