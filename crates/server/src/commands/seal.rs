//! `altiplano seal DIR`: lets a data directory use what newer formats can, after which older programs refuse it.

use super::finish;
use clap::Args;
use engine::format::{FORMAT_NEWEST, Feature, seal};
use env::RealDisk;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `seal`.
#[derive(Debug, Args)]
pub struct SealOptions {
    /// The data directory; no server may run on it
    pub dir: PathBuf,
    /// The format [default: the newest that this program knows]
    #[arg(long, value_name = "N")]
    pub format: Option<u32>,
}

/// Seals; 0 when the directory has the format now.
pub fn run(options: &SealOptions) -> ExitCode {
    finish(raise(options).map_err(|error| format!("{}: {error}", options.dir.display())))
}

fn raise(options: &SealOptions) -> Result<String, Box<dyn std::error::Error>> {
    // Opening the directory for writing would make it.
    if !options.dir.join("data").is_file() {
        return Err("there is no file `data`: this is no data directory".into());
    }
    let disk = RealDisk::open(&options.dir)?;
    let format = options.format.unwrap_or(FORMAT_NEWEST);
    let had = seal(&disk, format)?;
    if had == format {
        return Ok(format!("{} has format {format} already", options.dir.display()));
    }
    let new: Vec<&str> = Feature::ALL.iter().filter(|f| (had + 1..=format).contains(&f.format())).map(|f| f.name()).collect();
    Ok(format!(
        "{} has format {format} now, it had {had}: {} can be used; programs that do not read format {format} refuse it",
        options.dir.display(),
        new.join(", ")
    ))
}
