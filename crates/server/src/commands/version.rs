//! `altiplano version`: which program this is and how it was built, as `build.rs` noted it.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

/// Options of `version`.
#[derive(Debug, Default, Args)]
pub struct VersionOptions {
    /// One JSON object instead of lines
    #[arg(long)]
    pub json: bool,
}

/// Name and value, in the order in which they are told.
fn facts() -> [(&'static str, String); 7] {
    [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("commit", env!("ALTIPLANO_BUILT_COMMIT").to_owned()),
        ("profile", concat!(env!("ALTIPLANO_BUILT_PROFILE"), ", opt-level ", env!("ALTIPLANO_BUILT_OPT_LEVEL")).to_owned()),
        ("lto", env!("ALTIPLANO_BUILT_LTO").to_owned()),
        ("pgo", env!("ALTIPLANO_BUILT_PGO").to_owned()),
        ("target", env!("ALTIPLANO_BUILT_TARGET").to_owned()),
        ("rustc", env!("ALTIPLANO_BUILT_RUSTC").to_owned()),
    ]
}

fn lines() -> String {
    let [(_, version), rest @ ..] = facts();
    let mut out = format!("altiplano {version}\n");
    for (name, value) in rest {
        out.push_str(&format!("{name:8} {value}\n"));
    }
    out
}

fn json() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let members: Vec<String> = facts().iter().map(|(name, value)| format!("\"{name}\": \"{}\"", quoted(value))).collect();
    format!("{{{}}}\n", members.join(", "))
}

/// Prints it.
pub fn run(options: &VersionOptions) -> ExitCode {
    let text = if options.json { json() } else { lines() };
    // Who asked may have gone.
    if std::io::stdout().write_all(text.as_bytes()).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
