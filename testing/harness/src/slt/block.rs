//! The text of a file as blocks, and a block as text.

/// One block: comments, a directive, SQL, and what is expected after `----`.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Lines that start with `#`.
    pub comments: Vec<String>,
    /// Empty where the block is plain SQL.
    pub directive: Vec<String>,
    /// The statement.
    pub sql: String,
    /// `None` where no `----` stands.
    pub expected: Option<Vec<String>>,
    /// Where MySQL answers otherwise: its directive and what it expects, after `---- mysql: `.
    pub mysql: Option<(Vec<String>, Option<Vec<String>>)>,
    /// Where it stands in the file.
    pub line: usize,
}

const DIRECTIVES: [&str; 7] = ["statement", "query", "connection", "disconnect", "send", "reap", "restart"];

/// Cuts a file into blocks.
pub fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut start = 1;
    for (index, line) in text.lines().chain([""]).enumerate() {
        if !line.is_empty() {
            lines.push(line);
            continue;
        }
        if !lines.is_empty() {
            blocks.extend(parse_one(&lines, start));
            lines.clear();
        }
        start = index + 2;
    }
    blocks
}

fn parse_one(lines: &[&str], line: usize) -> Vec<Block> {
    let is_comment = |l: &&&str| l.starts_with('#');
    let comments: Vec<String> = lines.iter().take_while(is_comment).map(ToString::to_string).collect();
    let rest = &lines[comments.len()..];
    let directive: Vec<String> = rest.first().map(|l| l.split_whitespace().map(ToString::to_string).collect()).unwrap_or_default();
    let known = directive.first().is_some_and(|d| DIRECTIVES.contains(&d.as_str()));
    if !known {
        return plain_sql(comments, rest, line);
    }
    let body = &rest[1..];
    let (body, mysql) = match body.iter().position(|l| l.starts_with(MYSQL)) {
        Some(at) => (&body[..at], Some(mysql_side(body[at], &body[at + 1..]))),
        None => (body, None),
    };
    let split = body.iter().position(|l| *l == "----");
    let sql = body[..split.unwrap_or(body.len())].join("\n");
    let expected = split.map(|at| body[at + 1..].iter().map(ToString::to_string).collect());
    vec![Block { comments, directive, sql, expected, mysql, line }]
}

/// Begins the part that says how MySQL answers.
const MYSQL: &str = "---- mysql: ";

fn mysql_side(head: &str, lines: &[&str]) -> (Vec<String>, Option<Vec<String>>) {
    let directive: Vec<String> = head[MYSQL.len()..].split_whitespace().map(ToString::to_string).collect();
    let is_query = directive.first().is_some_and(|d| d == "query");
    let expected = (is_query || !lines.is_empty()).then(|| lines.iter().map(ToString::to_string).collect());
    (directive, expected)
}

/// Statements that end in `;` at the end of a line; lines that are directives of their own stand between them.
fn plain_sql(comments: Vec<String>, lines: &[&str], line: usize) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut sql: Vec<&str> = Vec::new();
    let mut pending = comments;
    for text in lines {
        let words: Vec<&str> = text.split_whitespace().collect();
        if sql.is_empty() && text.starts_with('#') {
            pending.push(text.to_string());
            continue;
        }
        if sql.is_empty() && matches!(words.first(), Some(&("connection" | "disconnect" | "restart" | "reap"))) {
            let directive = words.iter().map(ToString::to_string).collect();
            blocks.push(Block { comments: std::mem::take(&mut pending), directive, line, ..Block::default() });
            continue;
        }
        sql.push(text);
        if let Some(last) = text.strip_suffix(';') {
            sql.pop();
            sql.push(last);
            let mut joined = sql.join("\n");
            let mut directive = Vec::new();
            if let Some(rest) = joined.strip_prefix("send ") {
                (directive, joined) = (vec!["send".to_string()], rest.to_string());
            }
            blocks.push(Block { comments: std::mem::take(&mut pending), directive, sql: joined, line, ..Block::default() });
            sql.clear();
        }
    }
    if !sql.is_empty() || !pending.is_empty() {
        blocks.push(Block { comments: pending, sql: sql.join("\n"), line, ..Block::default() });
    }
    blocks
}

/// A file of these blocks.
pub fn print(blocks: &[Block]) -> String {
    let mut out = String::new();
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let mut lines = block.comments.clone();
        if !block.directive.is_empty() {
            lines.push(block.directive.join(" "));
        }
        if !block.sql.is_empty() {
            lines.push(block.sql.clone());
        }
        if let Some(expected) = &block.expected {
            lines.push("----".into());
            lines.extend(expected.iter().cloned());
        }
        if let Some((directive, expected)) = &block.mysql {
            lines.push(format!("{MYSQL}{}", directive.join(" ")));
            lines.extend(expected.iter().flatten().cloned());
        }
        for line in lines {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_prints_as_it_was_read() {
        let text = "# description: x\nstatement ok\nCREATE TABLE t (a INT)\n\nquery rowsort\nSELECT *\nFROM t\n----\n1 | NULL\n\nconnection b\n\n\
             statement error 1235 42000\nXA RECOVER\n----\nNo\n---- mysql: query\n\nquery\nSELECT 1\n----\n1\n---- mysql: query names\nx\n1\n";
        assert_eq!(print(&parse(text)), text);
    }

    #[test]
    fn plain_sql_becomes_one_block_a_statement() {
        let blocks = parse("# about\nSELECT 1;\nSELECT\n2;\nconnection b\nsend SELECT 3;\nreap\n");
        let shapes: Vec<(String, &str)> = blocks.iter().map(|b| (b.directive.join(" "), b.sql.as_str())).collect();
        let expect = [("", "SELECT 1"), ("", "SELECT\n2"), ("connection b", ""), ("send", "SELECT 3"), ("reap", "")];
        assert_eq!(shapes, expect.map(|(d, s)| (d.to_string(), s)));
        assert_eq!(blocks[0].comments, ["# about"]);
    }
}
