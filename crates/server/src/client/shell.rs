//! The shell of `altiplano sql`: reads lines, runs statements, prints what comes back.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, config::Configurer};

use super::connection::{ClientConnection, ClientError, Outcome, Target};
use super::statements::{Ending, Inside, Splitter};
use super::table::{self, Style};
use crate::options::{ServerOptions, SqlOptions};

const HELP: &str = "\
Statements end with ; or \\g (table) or \\G (one line per column). Also:
  \\c        clear the current input         \\h, help    this text
  \\d X      use X instead of ;              \\q, quit    leave
  \\. FILE   run the statements in a file    \\s, status  about the connection
  \\u DB     use a database                  \\r          connect again
";

/// What a line that is not SQL asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'a> {
    Quit,
    Help,
    Clear,
    Status,
    Reconnect,
    Delimiter(&'a str),
    Source(&'a str),
    Use(&'a str),
}

/// What some editors begin a file with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The wish in a line, if it is one. Words are taken only where a statement may begin.
fn wish<'a>(line: &'a [u8], delimiter: &[u8]) -> Option<Wish<'a>> {
    let has_delimiter = !delimiter.is_empty() && line.windows(delimiter.len()).any(|bytes| bytes == delimiter);
    let line = std::str::from_utf8(line).ok()?.trim();
    let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    let word = word.trim_end_matches(';').to_ascii_lowercase();
    Some(match (word.as_str(), argument) {
        ("\\q" | "quit" | "exit", "") => Wish::Quit,
        ("\\h" | "\\?" | "?" | "help", "") => Wish::Help,
        ("\\c" | "clear", "") => Wish::Clear,
        ("\\s" | "status", "") => Wish::Status,
        ("\\r" | "connect", "") => Wish::Reconnect,
        ("\\d" | "delimiter", delimiter) if !delimiter.is_empty() => Wish::Delimiter(delimiter),
        ("\\." | "source", file) if !file.is_empty() => Wish::Source(file.trim_end_matches(';').trim()),
        ("\\u", database) if !database.is_empty() => Wish::Use(database.trim_end_matches(';').trim()),
        // With a delimiter it is a statement like others.
        ("use", database) if !has_delimiter && is_name(database) => Wish::Use(database),
        _ => return None,
    })
}

/// Whether a text is one name, plain or quoted.
fn is_name(text: &str) -> bool {
    match text.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
        Some(quoted) => !quoted.is_empty() && !quoted.contains('`'),
        None => !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$') || c >= '\u{80}'),
    }
}

struct Shell {
    target: Target,
    connection: ClientConnection,
    style: Style,
    with_names: bool,
    force: bool,
    /// Say how many rows and how long.
    chatty: bool,
}

/// Runs `altiplano sql`; the exit code.
pub fn run(options: SqlOptions) -> i32 {
    match start(options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

fn start(options: SqlOptions) -> Result<i32, ClientError> {
    let interactive = options.execute.is_none() && io::stdin().is_terminal();
    let password = match options.password {
        Some(text) if text.is_empty() && io::stdin().is_terminal() => ask_password()?,
        other => other.unwrap_or_default(),
    };
    let ServerOptions { place, user } = options.server;
    let target = Target { place, user, password, database: options.database, local_infile: options.local_infile };
    let connection = ClientConnection::connect(&target)?;
    let tables = options.table || (!options.batch && io::stdout().is_terminal());
    let mut shell = Shell {
        target,
        connection,
        style: if tables { Style::Table } else { Style::Tabs },
        with_names: !options.skip_column_names,
        force: options.force,
        chatty: interactive,
    };
    let fine = match options.execute {
        Some(sql) => shell.run_text(&sql),
        None if interactive => shell.talk(),
        None => shell.run_stream(io::stdin().lock()),
    };
    shell.connection.quit();
    Ok(i32::from(!fine))
}

fn ask_password() -> Result<String, ClientError> {
    // The terminal must not show what is typed; its old state comes back whatever happens.
    let stdin = io::stdin();
    let old = rustix::termios::tcgetattr(&stdin).map_err(io::Error::from)?;
    let mut quiet = old.clone();
    quiet.local_modes.remove(rustix::termios::LocalModes::ECHO);
    rustix::termios::tcsetattr(&stdin, rustix::termios::OptionalActions::Now, &quiet).map_err(io::Error::from)?;
    eprint!("Enter password: ");
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    rustix::termios::tcsetattr(&stdin, rustix::termios::OptionalActions::Now, &old).map_err(io::Error::from)?;
    eprintln!();
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

impl Shell {
    /// Runs all statements of a text; false after an error.
    fn run_text(&mut self, text: &str) -> bool {
        self.run_stream(io::Cursor::new(text.as_bytes().to_vec()))
    }

    /// Runs all statements of a file or pipe; false after an error.
    fn run_stream(&mut self, input: impl BufRead) -> bool {
        let mut splitter = Splitter::default();
        let mut fine = true;
        for (index, line) in input.split(b'\n').enumerate() {
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    eprintln!("cannot read: {error}");
                    return false;
                }
            };
            let line = if index == 0 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) } else { &line };
            if splitter.is_empty()
                && let Some(wish) = wish(line, &splitter.delimiter)
            {
                // Comments that wait are of no use to it.
                splitter.clear();
                match wish {
                    Wish::Quit => return fine,
                    Wish::Delimiter(delimiter) => splitter.delimiter = delimiter.as_bytes().to_vec(),
                    other if !self.fulfil(&other) => {
                        fine = false;
                        if !self.force {
                            return false;
                        }
                    }
                    _ => {}
                }
                continue;
            }
            splitter.push_line(line);
            while let Some((statement, ending)) = splitter.take_statement() {
                if !self.run_statement(&statement, ending) {
                    fine = false;
                    if !self.force {
                        return false;
                    }
                }
            }
        }
        match splitter.take_rest() {
            Some(statement) => self.run_statement(&statement, Ending::Table) && fine,
            None => fine,
        }
    }

    /// The interactive loop.
    fn talk(&mut self) -> bool {
        let mut editor = match DefaultEditor::new() {
            Ok(editor) => editor,
            Err(error) => {
                eprintln!("cannot use the terminal: {error}");
                return false;
            }
        };
        let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".altiplano_history"));
        editor.set_auto_add_history(false);
        if let Some(path) = &history {
            // There is none before the first time.
            let _ = editor.load_history(path);
        }
        println!("Connected to {} ({}), connection {}.", self.target.place, self.connection.server_version, self.connection.id);
        println!("Statements end with ;  help with \\h  leave with \\q\n");
        let mut splitter = Splitter::default();
        let mut typed = String::new();
        loop {
            let prompt = match splitter.inside() {
                _ if splitter.is_empty() => "altiplano> ",
                Inside::Statement => "        -> ",
                Inside::Quote(b'\'') => "        '> ",
                Inside::Quote(b'"') => "        \"> ",
                Inside::Quote(_) => "        `> ",
                Inside::Comment => "       /*> ",
            };
            let line = match editor.readline(prompt) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => {
                    splitter.clear();
                    typed.clear();
                    continue;
                }
                Err(_) => break,
            };
            typed.push_str(&line);
            if splitter.is_empty()
                && let Some(wish) = wish(line.as_bytes(), &splitter.delimiter)
            {
                splitter.clear();
                // History is a convenience; a full disk must not end the session.
                let _ = editor.add_history_entry(std::mem::take(&mut typed));
                match wish {
                    Wish::Quit => break,
                    Wish::Delimiter(delimiter) => splitter.delimiter = delimiter.as_bytes().to_vec(),
                    other => {
                        self.fulfil(&other);
                    }
                }
                continue;
            }
            if line.trim_end().ends_with("\\c") {
                splitter.clear();
                typed.clear();
                continue;
            }
            typed.push('\n');
            splitter.push_line(line.as_bytes());
            while let Some((statement, ending)) = splitter.take_statement() {
                self.run_statement(&statement, ending);
            }
            if splitter.is_empty() {
                let _ = editor.add_history_entry(typed.trim_end());
                typed.clear();
            }
        }
        if let Some(path) = &history {
            let _ = editor.save_history(path);
        }
        println!("Bye");
        true
    }

    fn fulfil(&mut self, wish: &Wish<'_>) -> bool {
        match wish {
            Wish::Help => print!("{HELP}"),
            Wish::Status => println!(
                "Connection {} to {} as {}, server {}",
                self.connection.id, self.target.place, self.target.user, self.connection.server_version
            ),
            Wish::Reconnect => return self.reconnect(),
            Wish::Source(path) => match std::fs::File::open(path) {
                Ok(file) => return self.run_stream(io::BufReader::new(file)),
                Err(error) => {
                    eprintln!("{path}: {error}");
                    return false;
                }
            },
            Wish::Use(database) => {
                let statement = format!("USE `{}`", database.trim_matches('`').replace('`', "``"));
                return self.run_statement(statement.as_bytes(), Ending::Table);
            }
            Wish::Quit | Wish::Clear | Wish::Delimiter(_) => {}
        }
        true
    }

    fn reconnect(&mut self) -> bool {
        match ClientConnection::connect(&self.target) {
            Ok(connection) => {
                self.connection = connection;
                println!("Connection {} to {}", self.connection.id, self.target.place);
                true
            }
            Err(error) => {
                eprintln!("{error}");
                false
            }
        }
    }

    fn run_statement(&mut self, sql: &[u8], ending: Ending) -> bool {
        let style = if ending == Ending::Vertical { Style::Vertical } else { self.style };
        let (with_names, chatty) = (self.with_names, self.chatty);
        let mut since = Instant::now();
        let result = self.connection.query(sql, |outcome| {
            // A reader that has gone (`| head`) ends the program at the next write of the standard library.
            let _ = report(&mut io::stdout().lock(), &outcome, style, with_names, chatty, since.elapsed().as_secs_f64());
            since = Instant::now();
        });
        let Err(error) = result else { return true };
        eprintln!("{error}");
        if matches!(error, ClientError::Lost(_)) && self.chatty {
            self.reconnect();
        }
        false
    }
}

/// Prints one outcome, with the words of the `mysql` client.
fn report(out: &mut impl Write, outcome: &Outcome, style: Style, with_names: bool, chatty: bool, seconds: f64) -> io::Result<()> {
    let (summary, warnings) = match outcome {
        Outcome::Rows { columns, rows, warnings } => {
            if !rows.is_empty() {
                table::print(out, style, columns, rows, with_names)?;
            }
            let summary = match rows.len() {
                0 => "Empty set".to_owned(),
                1 => "1 row in set".to_owned(),
                count => format!("{count} rows in set"),
            };
            (summary, *warnings)
        }
        Outcome::Done { affected_rows, warnings, .. } => {
            (format!("Query OK, {affected_rows} row{} affected", if *affected_rows == 1 { "" } else { "s" }), *warnings)
        }
    };
    if chatty {
        let warnings = match warnings {
            0 => String::new(),
            1 => ", 1 warning".to_owned(),
            count => format!(", {count} warnings"),
        };
        writeln!(out, "{summary}{warnings} ({seconds:.3} sec)")?;
        if let Outcome::Done { info, .. } = outcome
            && !info.is_empty()
        {
            writeln!(out, "{info}")?;
        }
        writeln!(out)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_told_from_statements() {
        for (line, expect) in [
            ("quit", Some(Wish::Quit)),
            (" exit; ", Some(Wish::Quit)),
            ("\\q", Some(Wish::Quit)),
            ("delimiter //", Some(Wish::Delimiter("//"))),
            ("source /tmp/a b.sql", Some(Wish::Source("/tmp/a b.sql"))),
            ("\\u test;", Some(Wish::Use("test"))),
            ("use test", Some(Wish::Use("test"))),
            ("USE  `a b`", Some(Wish::Use("`a b`"))),
            ("USE test;", None),
            ("use a; use b;", None),
            ("use test \\G", None),
            ("use", None),
            ("SELECT 1;", None),
            ("help me", None),
            ("", None),
        ] {
            assert_eq!(wish(line.as_bytes(), b";"), expect, "{line}");
        }
        assert_eq!(wish(b"use a$$", b"$$"), None, "its delimiter ends a statement");
        assert_eq!(wish(b"source \xff", b";"), None);
    }
}
