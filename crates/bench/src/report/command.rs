//! `altiplano bench report IN.json … --output OUT.html`.

use super::{Form, Report, machine::Machine, markdown, now, read, replace, write};
use clap::Args;
use std::path::PathBuf;

/// The `report` command.
#[derive(Debug, Clone, Args)]
pub struct ReportCommand {
    /// Reports that were written as JSON
    #[arg(required = true, value_name = "FILE.json")]
    pub inputs: Vec<PathBuf>,
    /// Write all of them here; the name's end says how: .json, .csv, .html, .md
    #[arg(long, value_name = "FILE", required = true)]
    pub output: Vec<PathBuf>,
    /// For .md: write charts into this folder, and name them in the text
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// Beginning of the charts' names
    #[arg(long, value_name = "WORD", default_value = "bench")]
    pub prefix: String,
    /// How the text names the charts' folder
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub link: String,
}

impl ReportCommand {
    /// Reads and writes.
    pub fn execute(&self) -> Result<(), String> {
        let reports = self.inputs.iter().map(|path| read(path)).collect::<Result<Vec<Report>, String>>()?;
        for path in &self.output {
            match (&self.plots, Form::of(path)?) {
                (Some(folder), Form::Markdown) => replace(path, &markdown::with_pictures(&reports, folder, &self.prefix, &self.link)?)?,
                _ => write(path, &reports)?,
            }
        }
        Ok(())
    }
}

impl Report {
    /// Of this program, this machine, this moment; nothing is measured yet.
    pub fn here() -> Report {
        Report {
            program: format!("altiplano {}", env!("CARGO_PKG_VERSION")),
            command: shell_line(std::env::args()),
            begun: now(),
            machine: Machine::here(),
            ..Report::default()
        }
    }

    /// With what a comparison gave.
    pub fn with(mut self, measured: &crate::compare::Measured) -> Report {
        self.outcomes.clone_from(&measured.outcomes);
        self.comparisons.clone_from(&measured.comparisons);
        self.notes.clone_from(&measured.notes);
        self
    }
}

/// What would have to be typed; a password is not told.
fn shell_line(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=:,./@%+".contains(c);
    let (mut out, mut secret) = (Vec::new(), false);
    for (at, word) in words.enumerate() {
        let word = match word.as_str() {
            _ if secret => "***".to_owned(),
            // The program's place on this disk is of no interest.
            path if at == 0 => path.rsplit('/').next().unwrap_or_default().to_owned(),
            option if option.starts_with("--password=") => "--password=***".to_owned(),
            _ => word,
        };
        secret = word == "--password";
        let quote = word.is_empty() || !word.chars().all(plain) && !word.ends_with("***");
        out.push(if quote { format!("'{}'", word.replace('\'', "'\\''")) } else { word });
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_can_be_typed_again_but_for_the_password() {
        let line = |words: &[&str]| shell_line(words.iter().map(|w| (*w).to_owned()));
        let said = line(&["/opt/bin/altiplano", "bench", "run", "--password", "secret", "--label", "it's a test", ""]);
        assert_eq!(said, "altiplano bench run --password *** --label 'it'\\''s a test' ''");
        assert_eq!(line(&["a", "--password=geheim", "--keys=zipf:0.9"]), "a --password=*** --keys=zipf:0.9");
    }
}
