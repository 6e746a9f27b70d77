//! Tells the program how it is built, for `altiplano version`: commit, profile, link-time optimisation, profile guidance, target, compiler.
//!
//! `cargo xtask release` says what only it knows (`ALTIPLANO_BUILD_…`). Nothing here makes a build dirty that is not: optimised builds look
//! at git's log of HEAD, which changes with each commit; builds of the dev and test profiles name no commit and look at nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["COMMIT", "LTO", "PGO"] {
        println!("cargo::rerun-if-env-changed=ALTIPLANO_BUILD_{name}");
    }
    let profile = profile();
    tell("COMMIT", &said("COMMIT").unwrap_or_else(|| commit(env::var("PROFILE").is_ok_and(|kind| kind == "release"))));
    tell("PROFILE", &profile);
    tell("OPT_LEVEL", &env::var("OPT_LEVEL").unwrap_or_default());
    tell("LTO", &said("LTO").unwrap_or_else(|| link_time_optimisation(&profile)));
    tell("PGO", &said("PGO").unwrap_or_else(guidance));
    tell("TARGET", &env::var("TARGET").unwrap_or_default());
    tell("RUSTC", &run(Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version")).unwrap_or_default());
}

fn tell(name: &str, value: &str) {
    println!("cargo::rustc-env=ALTIPLANO_BUILT_{name}={}", value.replace('\n', " "));
}

/// What the builder's environment says.
fn said(name: &str) -> Option<String> {
    env::var(format!("ALTIPLANO_BUILD_{name}")).ok().filter(|value| !value.is_empty())
}

/// The profile's name, which is in the path of what is built: `…/target/[TRIPLE/]NAME/build/server-…/out`.
fn profile() -> String {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let name = out.ancestors().skip_while(|path| path.file_name().is_none_or(|name| name != "build")).nth(1).and_then(Path::file_name);
    name.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The commit and its day; a sentence where there is none to name.
fn commit(optimised: bool) -> String {
    if !optimised {
        return "not recorded (an unoptimised build)".to_owned();
    }
    // A worktree has its own log; a tarball that lies inside some other project's checkout must not take that one's commit.
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    if !root.join(".git").exists() {
        return "unknown (not built from a git checkout)".to_owned();
    }
    let git = |arguments: &[&str]| run(Command::new("git").arg("-C").arg(&root).args(arguments));
    for name in ["logs/HEAD", "HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).map(|path| root.join(path)).filter(|path| fs::metadata(path).is_ok()) {
            println!("cargo::rerun-if-changed={}", path.display());
            break;
        }
    }
    git(&["log", "-1", "--format=%h of %cs"]).unwrap_or_else(|| "unknown (git tells nothing)".to_owned())
}

/// As the profile in the workspace's Cargo.toml has it, or the environment instead.
fn link_time_optimisation(profile: &str) -> String {
    let variable = format!("CARGO_PROFILE_{}_LTO", profile.to_uppercase().replace('-', "_"));
    println!("cargo::rerun-if-env-changed={variable}");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../Cargo.toml");
    println!("cargo::rerun-if-changed={}", manifest.display());
    let text = fs::read_to_string(manifest).unwrap_or_default();
    let mut name = profile.to_owned();
    let mut value = env::var(variable).ok();
    // A profile may inherit; what ends the chain has none.
    for _ in 0..8 {
        let table = text.split(&format!("[profile.{name}]\n")).nth(1).map_or("", |rest| rest.split("\n[").next().unwrap_or_default());
        let entry = |key: &str| table.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('=')).map(unquoted);
        value = value.or_else(|| entry("lto"));
        match entry("inherits") {
            Some(parent) if value.is_none() => name = parent,
            _ => break,
        }
    }
    match value.as_deref() {
        Some("fat" | "true") => "fat",
        Some("thin") => "thin",
        _ => "none",
    }
    .to_owned()
}

fn unquoted(value: &str) -> String {
    value.trim().trim_matches('"').to_owned()
}

/// Whether the compiler is given a profile, or makes one.
fn guidance() -> String {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.contains("profile-use") {
        "by a profile of the builder's".to_owned()
    } else if flags.contains("profile-generate") {
        "none (instrumented: slow, for training)".to_owned()
    } else {
        "none".to_owned()
    }
}

fn run(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}
