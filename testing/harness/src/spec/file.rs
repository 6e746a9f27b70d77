//! The text of a spec file: reading it, and writing it with the answers of a run.

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
    /// REPEATABLE READ with `snapshot_isolation=ON`, which no MySQL has.
    SnapshotIsolation,
}

impl Level {
    const ALL: [Level; 5] =
        [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable, Level::SnapshotIsolation];

    /// As files name it.
    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
            Level::SnapshotIsolation => "SNAPSHOT ISOLATION",
        }
    }

    /// The statements that set it for a session.
    pub(super) fn set(self) -> Vec<String> {
        let isolation = if self == Level::SnapshotIsolation { Level::RepeatableRead } else { self };
        let mut all = vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", isolation.name())];
        if self == Level::SnapshotIsolation {
            all.push("SET SESSION snapshot_isolation = ON".into());
        }
        all
    }

    fn prefix(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "RU| ",
            Level::ReadCommitted => "RC| ",
            Level::RepeatableRead => "RR| ",
            Level::Serializable => "SE| ",
            Level::SnapshotIsolation => "SI| ",
        }
    }

    fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// A session runs a statement, so many times.
    Run { session: String, sql: String, times: usize },
    /// Waits for the answer of a session whose lock wait ends by itself.
    Await { session: String },
    /// The client hangs up.
    Close { session: String },
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    /// Comments, blank lines, setup: kept as they are.
    Verbatim(String),
    /// A step; what is expected of it is written anew.
    Step { text: String, action: Action },
}

/// A parsed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFile {
    /// Levels at which it runs.
    pub levels: Vec<Level>,
    /// Statements run before, on a connection of their own.
    pub(super) setup: Vec<String>,
    lines: Vec<Line>,
}

impl SpecFile {
    /// Reads a file's text; an error begins with the line number.
    pub fn parse(text: &str) -> Result<SpecFile, String> {
        let mut file = SpecFile { levels: vec![Level::RepeatableRead], setup: Vec::new(), lines: Vec::new() };
        for (at, line) in text.lines().enumerate() {
            let wrong = |why: &str| format!("{}: {why}: {line}", at + 1);
            if line.starts_with(' ') {
                if !matches!(file.lines.last(), Some(Line::Step { .. })) {
                    return Err(wrong("an answer without a step"));
                }
            } else if line.is_empty() || line.starts_with('#') {
                file.lines.push(Line::Verbatim(line.into()));
            } else if let Some(levels) = line.strip_prefix("levels ") {
                file.levels = levels.split(", ").map(Level::parse).collect::<Option<Vec<Level>>>().ok_or_else(|| wrong("unknown level"))?;
                file.lines.push(Line::Verbatim(line.into()));
            } else if let Some(sql) = line.strip_prefix("setup ") {
                file.setup.push(sql.into());
                file.lines.push(Line::Verbatim(line.into()));
            } else {
                let action = parse_action(line).ok_or_else(|| wrong("neither a directive nor SESSION: SQL"))?;
                file.lines.push(Line::Step { text: line.into(), action });
            }
        }
        Ok(file)
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = (&str, &Action)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Step { text, action } => Some((text.as_str(), action)),
            Line::Verbatim(_) => None,
        })
    }

    /// How many steps it has.
    pub fn step_count(&self) -> usize {
        self.steps().count()
    }

    /// The file with what each step answered, at each level.
    pub(super) fn with_answers(&self, by_level: &[Vec<Vec<String>>]) -> String {
        let mut out = String::new();
        let mut push = |indent: &str, line: &str| {
            out.push_str(indent);
            out.push_str(line);
            out.push('\n');
        };
        let mut step_no = 0;
        for line in &self.lines {
            match line {
                Line::Verbatim(text) => push("", text),
                Line::Step { text, .. } => {
                    push("", text);
                    let first = &by_level[0][step_no];
                    if by_level.iter().all(|answers| &answers[step_no] == first) {
                        first.iter().for_each(|answer| push("  ", answer));
                    } else {
                        for (level, answers) in self.levels.iter().zip(by_level) {
                            answers[step_no].iter().for_each(|answer| push("  ", &format!("{}{answer}", level.prefix())));
                        }
                    }
                    step_no += 1;
                }
            }
        }
        out
    }
}

fn parse_action(line: &str) -> Option<Action> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
    if let Some(session) = line.strip_prefix("await ") {
        return is_name(session).then(|| Action::Await { session: session.into() });
    }
    if let Some(session) = line.strip_prefix("close ") {
        return is_name(session).then(|| Action::Close { session: session.into() });
    }
    let (times, rest) = match line.strip_prefix("repeat ") {
        Some(rest) => rest.split_once(' ').and_then(|(times, rest)| Some((times.parse().ok()?, rest)))?,
        None => (1, line),
    };
    let (session, sql) = rest.split_once(": ")?;
    is_name(session).then(|| Action::Run { session: session.into(), sql: sql.into(), times })
}

/// The steps whose answers differ, with both answers.
pub(super) fn differences(expected: &str, got: &str) -> String {
    let blocks = |text: &str| {
        let mut blocks: Vec<(usize, Vec<String>)> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.starts_with(' ') {
                blocks.last_mut().expect("parsed before").1.push(line.into());
            } else {
                blocks.push((at + 1, vec![line.into()]));
            }
        }
        blocks
    };
    let mut out = String::new();
    for ((line_no, expected), (_, got)) in blocks(expected).into_iter().zip(blocks(got)) {
        if expected != got {
            let (expected_rest, got_rest) = (expected[1..].join("\n  "), got[1..].join("\n  "));
            out.push_str(&format!("line {line_no}: {}\n expected\n  {expected_rest}\n got\n  {got_rest}\n", expected[0]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Title.\nlevels READ COMMITTED, REPEATABLE READ\nsetup CREATE TABLE t (id INT)\n\na: SELECT 1\n  1\nrepeat 3 b: UPDATE t SET id = 1\n  RC| ok\n  RR| waits\nawait b\n  b: ok\nclose a\n";

    #[test]
    fn a_file_is_written_as_it_was_read() {
        let spec = SpecFile::parse(TEXT).expect("a good file");
        assert_eq!((spec.levels.len(), spec.setup.len(), spec.step_count()), (2, 1, 4));
        let answers = |second: &str| vec![vec!["1".into()], vec![second.to_string()], vec!["b: ok".into()], vec![]];
        assert_eq!(spec.with_answers(&[answers("ok"), answers("waits")]), TEXT);
        assert_eq!(differences(TEXT, TEXT), "");
        let other = spec.with_answers(&[answers("ok"), answers("ok")]);
        assert!(differences(TEXT, &other).starts_with("line 7: repeat 3 b: UPDATE t SET id = 1\n"));
    }

    #[test]
    fn what_is_no_step_is_refused_with_its_line() {
        for text in ["  ok\n", "levels CHAOS\n", "nonsense\n", "repeat x a: SELECT 1\n", "await a b\n"] {
            assert!(SpecFile::parse(text).is_err_and(|e| e.starts_with("1: ")), "{text}");
        }
    }
}
