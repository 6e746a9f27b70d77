//! `altiplano check DIR`: is everything in a data directory as it must be?

use super::progress::{self, ProgressLine};
use check::{CheckReport, Report, Source};
use clap::Args;
use env::ReadOnlyDisk;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// The data directory; nothing in it is changed
    pub dir: PathBuf,
    /// Where recovery writes what it would change: room for about what the log holds [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
    /// Findings only, no summary
    #[arg(short, long)]
    pub quiet: bool,
}

/// Checks; 0 when all is well, 1 when something is wrong or the directory cannot be looked at.
pub fn run(options: &CheckOptions) -> ExitCode {
    let progress = Arc::new(ProgressLine::on_terminal());
    let report = progress::report(&progress, |finding| println!("{finding}"));
    let checked = look(options, &report);
    progress.clear();
    match checked {
        Ok(done) => {
            if !options.quiet {
                println!("{}", summary(&done, &report));
            }
            ExitCode::from(u8::from(report.errors() > 0))
        }
        Err(error) => {
            eprintln!("altiplano: {}: {error}", options.dir.display());
            ExitCode::FAILURE
        }
    }
}

fn look(options: &CheckOptions, report: &Report) -> Result<CheckReport, Box<dyn std::error::Error>> {
    let disk = Arc::new(ReadOnlyDisk::open(&options.dir)?);
    session::begin_expressions();
    let scratch = options.temp.clone().unwrap_or_else(std::env::temp_dir);
    Ok(check::check(&Source { disk, scratch: &scratch }, report)?)
}

fn summary(done: &CheckReport, report: &Report) -> String {
    let errors = match report.errors() {
        0 => "no errors".to_owned(),
        1 => "1 error".to_owned(),
        count => format!("{count} errors"),
    };
    format!(
        "{errors}, {} notes: {} pages, {} log records, {} tables, {} rows, {} index entries",
        report.notes(),
        done.pages,
        done.records,
        done.tables,
        done.rows,
        done.entries
    )
}
