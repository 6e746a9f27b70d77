//! `cargo xtask release`: the program as it is given to users, with link-time optimisation, guided by a profile of what it does under load,
//! and the packages around it. docs/release.md tells what comes out and what it is worth.
//!
//! Three builds would be two too many for a day's work: this is for releases. What it needs beyond a Rust toolchain is llvm-profdata of the
//! compiler's LLVM (`rustup component add llvm-tools`), and dpkg-deb for the Debian package.

mod compile;
mod package;
mod train;

use compile::{Lto, Toolchain};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask release [--lto fat|thin] [--no-pgo | --profile-data FILE] [--instrumented FILE] [--client 'PROGRAM ARGUMENT...'] [--out DIR] [--package-only BINARY]

  (nothing)             builds instrumented, trains, builds guided, packs: target/dist
  --lto fat|thin        link-time optimisation [default: fat]
  --no-pgo              without a profile: one build
  --profile-data FILE   with this merged profile instead of training
  --instrumented FILE   trains this build of the instrumented program
  --client 'PROGRAM …'  the load client of the training [default: the instrumented program's own `bench`]
  --out DIR             where the artefacts go
  --package-only BINARY packs this program, builds nothing";

struct Options {
    lto: Lto,
    pgo: bool,
    profile: Option<PathBuf>,
    instrumented: Option<PathBuf>,
    client: Option<Vec<String>>,
    out: PathBuf,
    package_only: Option<PathBuf>,
}

/// The command.
pub fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match release(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("release: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Option<Options> {
    let mut options = Options {
        lto: Lto::Fat,
        pgo: true,
        profile: None,
        instrumented: None,
        client: None,
        out: root().join("target/dist"),
        package_only: None,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--lto" => options.lto = Lto::parse(rest.next()?)?,
            "--no-pgo" => options.pgo = false,
            "--profile-data" => options.profile = Some(PathBuf::from(rest.next()?)),
            "--client" => {
                options.client = Some(rest.next()?.split_whitespace().map(str::to_owned).collect()).filter(|c: &Vec<_>| !c.is_empty())
            }
            "--instrumented" => options.instrumented = Some(PathBuf::from(rest.next()?)),
            "--out" => options.out = PathBuf::from(rest.next()?),
            "--package-only" => options.package_only = Some(PathBuf::from(rest.next()?)),
            _ => return None,
        }
    }
    (options.pgo || options.profile.is_none()).then_some(options)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

fn release(options: &Options) -> Result<(), String> {
    fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;
    if let Some(program) = &options.package_only {
        return package::all(program, &options.out);
    }
    let toolchain = Toolchain::find()?;
    let (profile, how) = match (&options.profile, options.pgo) {
        (Some(profile), _) => (Some(profile.clone()), "by a profile made before".to_owned()),
        (None, true) => {
            // Looked for first: ten minutes later is too late to hear of it.
            let profdata = toolchain.profdata()?;
            let raw = options.out.join("profile");
            let _ = fs::remove_dir_all(&raw);
            fs::create_dir_all(&raw).map_err(|e| format!("{}: {e}", raw.display()))?;
            let instrumented = match &options.instrumented {
                Some(program) => program.clone(),
                None => step("instrumented build", || toolchain.instrumented(options.lto, &options.out.join("instrumented")))?,
            };
            step("training", || train::run(&instrumented, options.client.as_deref(), &raw))?;
            let merged = options.out.join("altiplano.profdata");
            step("merging", || toolchain.merge(&profdata, &raw, &merged))?;
            (Some(merged), format!("trained on {}", train::MIX))
        }
        (None, false) => (None, "none".to_owned()),
    };
    let program = step("optimised build", || toolchain.optimised(options.lto, profile.as_deref(), &how))?;
    if let Some(profile) = profile.as_deref()
        && options.profile.is_none()
    {
        toolchain.fits(&toolchain.profdata()?, profile, &program)?;
    }
    step("packing", || package::all(&program, &options.out))
}

fn step<T>(name: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    println!("== {name}");
    let started = Instant::now();
    let done = work().map_err(|error| format!("{name}: {error}"))?;
    println!("== {name}: {} s", started.elapsed().as_secs());
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_contradict_or_are_unknown_are_refused() {
        let parse = |line: &str| parse(&line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>());
        let default = parse("").expect("options");
        assert!(default.pgo && default.lto == Lto::Fat && default.profile.is_none());
        assert_eq!(parse("--lto thin --no-pgo").map(|options| (options.lto, options.pgo)), Some((Lto::Thin, false)));
        assert_eq!(parse("--client target/fast/load").and_then(|options| options.client), Some(vec!["target/fast/load".to_owned()]));
        assert!(["--lto", "--lto slim", "--no-pgo --profile-data x", "--fast"].iter().all(|line| parse(line).is_none()));
    }
}
