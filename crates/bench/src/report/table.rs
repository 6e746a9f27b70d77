//! A table of texts, for a terminal, a page or a markdown file.

use super::plot::escape;
use std::fmt::Write;

/// A head and rows; columns stand at the right unless their number is below `words`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub head: Vec<String>,
    /// How many of the first columns are words.
    pub words: usize,
    /// As many values each as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Without rows.
    pub fn new(words: usize, head: &[&str]) -> Table {
        Table { head: head.iter().map(|name| (*name).to_owned()).collect(), words, rows: Vec::new() }
    }

    /// Adds a row; what is missing at its end is empty.
    pub fn row(&mut self, mut values: Vec<String>) {
        values.resize(self.head.len(), String::new());
        self.rows.push(values);
    }

    /// Takes out columns that are empty in all rows.
    pub fn compact(mut self) -> Table {
        for at in (0..self.head.len()).rev() {
            if self.rows.iter().all(|row| row[at].is_empty()) {
                self.head.remove(at);
                self.rows.iter_mut().for_each(|row| {
                    row.remove(at);
                });
                self.words -= usize::from(at < self.words);
            }
        }
        self
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let widths: Vec<usize> = (0..self.head.len()).map(|at| lines().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
        let mut out = String::new();
        for line in lines() {
            let mut text = String::new();
            for (at, (value, width)) in line.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - value.chars().count());
                let _ = if at < self.words { write!(text, "{value}{gap}  ") } else { write!(text, "{gap}{value}  ") };
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }

    /// As HTML, to be moved sideways where it is wider than the screen.
    pub fn html(&self) -> String {
        let line = |tag: &str, values: &[String], out: &mut String| {
            out.push_str("<tr>");
            for (at, value) in values.iter().enumerate() {
                let class = if at < self.words { " class=\"w\"" } else { "" };
                let _ = write!(out, "<{tag}{class}>{}</{tag}>", escape(value));
            }
            out.push_str("</tr>\n");
        };
        let mut out = String::from("<div class=\"table\" tabindex=\"0\"><table><thead>");
        line("th", &self.head, &mut out);
        out.push_str("</thead><tbody>\n");
        self.rows.iter().for_each(|row| line("td", row, &mut out));
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// As markdown.
    pub fn markdown(&self) -> String {
        let line = |values: &[String]| {
            let cells: Vec<String> = values.iter().map(|v| escape(v).replace('|', "\\|").replace(['\n', '\r'], " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = (0..self.head.len()).map(|at| if at < self.words { "---|" } else { "--:|" });
        let mut out = format!("{}|{}\n", line(&self.head), rule.collect::<String>());
        self.rows.iter().for_each(|row| out.push_str(&line(row)));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut it = Table::new(1, &["server", "tx/s", "none"]);
        it.row(vec!["<é>|x".to_owned(), "1,000".to_owned()]);
        it.row(vec!["b".to_owned(), "7".to_owned()]);
        it.compact()
    }

    #[test]
    fn columns_stand_in_line() {
        assert_eq!(table().text(), "server   tx/s\n<é>|x   1,000\nb           7\n");
    }

    #[test]
    fn what_is_in_a_cell_is_text() {
        assert_eq!(table().markdown(), "| server | tx/s |\n|---|--:|\n| &lt;é&gt;\\|x | 1,000 |\n| b | 7 |\n");
        assert!(table().html().contains("<td class=\"w\">&lt;é&gt;|x</td><td>1,000</td>"));
    }
}
