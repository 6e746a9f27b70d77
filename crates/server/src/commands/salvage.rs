//! `altiplano salvage DIR --to FILE`: what can be read of a data directory, as SQL.

use super::progress::{self, ProgressLine};
use check::{Report, SalvageReport, Source};
use clap::Args;
use env::ReadOnlyDisk;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `salvage`.
#[derive(Debug, Args)]
pub struct SalvageOptions {
    /// The data directory; nothing in it is changed
    pub dir: PathBuf,
    /// Where the SQL goes, a file that there is not yet; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// Where recovery writes what it would change: room for about what the log holds [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
}

/// Salvages; 0 when all could be read, 1 when something is missing in the output, 2 when there is none.
pub fn run(options: &SalvageOptions) -> ExitCode {
    let progress = Arc::new(ProgressLine::on_terminal());
    let report = progress::report(&progress, |finding| eprintln!("{finding}"));
    let salvaged = write(options, &report);
    progress.clear();
    match salvaged {
        Ok(done) => {
            let broken = if done.rows_broken > 0 { format!(", {} rows could not be read", done.rows_broken) } else { String::new() };
            let lost = if done.pages_lost > 0 { format!(", {} pages could not be read", done.pages_lost) } else { String::new() };
            let unfinished = match done.rows_unfinished {
                0 => String::new(),
                count => format!(", {count} rows that were not committed are in comments"),
            };
            let views = if done.views > 0 { format!(", {} views", done.views) } else { String::new() };
            eprintln!("{} tables{views}, {} rows{broken}{unfinished}{lost}", done.tables, done.rows);
            ExitCode::from(u8::from(report.errors() > 0))
        }
        Err(error) => {
            eprintln!("altiplano: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(options: &SalvageOptions, report: &Report) -> Result<SalvageReport, Box<dyn std::error::Error>> {
    let disk = ReadOnlyDisk::open(&options.dir).map_err(|error| format!("{}: {error}", options.dir.display()))?;
    let scratch = options.temp.clone().unwrap_or_else(std::env::temp_dir);
    session::begin_expressions();
    let source = Source { disk: Arc::new(disk), scratch: &scratch };
    let texts = check::Texts { table: &session::create_table_text, view: &session::whole_view_text };
    let salvage = |out: &mut dyn Write| check::salvage(&source, &texts, out, report);
    if options.to == Path::new("-") {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
        let done = salvage(&mut out)?;
        out.flush()?;
        return Ok(done);
    }
    let named = |error: std::io::Error| format!("{}: {error}", options.to.display());
    if options.to.symlink_metadata().is_ok() {
        return Err(named(std::io::ErrorKind::AlreadyExists.into()).into());
    }
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, Output { path: &options.to, file: None });
    let done = salvage(&mut out).map_err(|error| error.to_string()).and_then(|done| {
        out.flush().and_then(|()| out.get_ref().sync()).map_err(named)?;
        Ok(done)
    });
    if done.is_err() {
        // What is half written is easily taken for the whole.
        out.into_parts().0.remove();
    }
    Ok(done?)
}

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// A file that is made when something is written: a directory that cannot be read at all leaves none.
struct Output<'o> {
    path: &'o Path,
    file: Option<File>,
}

impl Output<'_> {
    /// Makes the file and its name durable.
    fn sync(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        file.sync_all()?;
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()
    }

    /// Takes a file of ours away.
    fn remove(self) {
        if self.file.is_some() {
            // Nobody is helped by a second error.
            let _ = std::fs::remove_file(self.path);
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create_new(self.path)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
