//! The builds, and the tools of the compiler's LLVM.

use super::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Link-time optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lto {
    /// Over all crates as one.
    Fat,
    /// Over summaries of them.
    Thin,
}

impl Lto {
    /// By its name.
    pub fn parse(name: &str) -> Option<Lto> {
        [Lto::Fat, Lto::Thin].into_iter().find(|lto| lto.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Lto::Fat => "fat",
            Lto::Thin => "thin",
        }
    }
}

/// The compiler that `cargo` uses.
pub struct Toolchain {
    host: String,
    llvm: String,
    sysroot: PathBuf,
}

impl Toolchain {
    /// Asks it.
    pub fn find() -> Result<Toolchain, String> {
        let rustc = || Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let about = said(rustc().arg("-vV")).ok_or("rustc does not run")?;
        let line = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned());
        let (host, llvm) = (line("host:").ok_or("rustc names no host")?, line("LLVM version:").ok_or("rustc names no LLVM")?);
        let sysroot = said(rustc().args(["--print", "sysroot"])).ok_or("rustc names no sysroot")?;
        Ok(Toolchain { host, llvm, sysroot: PathBuf::from(sysroot.trim()) })
    }

    /// llvm-profdata of the compiler's LLVM: another version cannot read what the program writes.
    pub fn profdata(&self) -> Result<PathBuf, String> {
        let major = self.llvm.split('.').next().unwrap_or_default();
        let own = self.sysroot.join("lib/rustlib").join(&self.host).join("bin/llvm-profdata");
        let named = PathBuf::from(format!("llvm-profdata-{major}"));
        for tool in [own, named, PathBuf::from("llvm-profdata")] {
            // Its `show` tells the version; so do all tools of LLVM.
            if said(Command::new(&tool).args(["merge", "--version"])).is_some_and(|about| about.contains(&format!("LLVM version {major}.")))
            {
                return Ok(tool);
            }
        }
        Err(format!("no llvm-profdata of LLVM {major}, which rustc uses: rustup component add llvm-tools"))
    }

    /// One profile of all that was written to `raw`.
    pub fn merge(&self, profdata: &Path, raw: &Path, merged: &Path) -> Result<(), String> {
        let files: Vec<PathBuf> =
            fs::read_dir(raw).map_err(|e| format!("{}: {e}", raw.display()))?.flatten().map(|file| file.path()).collect();
        if files.is_empty() {
            return Err("the training wrote no profile".to_owned());
        }
        succeeded(Command::new(profdata).args(["merge", "-o"]).arg(merged).args(files))
    }

    /// The program that counts what it does.
    pub fn instrumented(&self) -> Result<PathBuf, String> {
        // Where nothing else is said (LLVM_PROFILE_FILE) what it writes is lost.
        self.build("instrumented", "-Cprofile-generate=/tmp", &[])
    }

    /// The program for users.
    pub fn optimised(&self, lto: Lto, profile: Option<&Path>, how: &str) -> Result<PathBuf, String> {
        let flags = match profile {
            Some(profile) => {
                // Cargo compiles anew where flags differ, not where a file that they name does: so the name tells what is in it.
                let sum = said(Command::new("sha256sum").arg(profile)).ok_or_else(|| format!("{} cannot be read", profile.display()))?;
                let profile = fs::canonicalize(profile).map_err(|e| format!("{}: {e}", profile.display()))?;
                let named = profile.with_file_name(format!("{sum:.16}.profdata"));
                fs::copy(&profile, &named).map_err(|e| format!("{}: {e}", named.display()))?;
                format!("-Cprofile-use={}", named.display())
            }
            None => String::new(),
        };
        let commit = commit();
        let environment = [
            ("CARGO_PROFILE_RELEASE_LTO", lto.name()),
            ("ALTIPLANO_BUILD_LTO", lto.name()),
            ("ALTIPLANO_BUILD_PGO", how),
            ("ALTIPLANO_BUILD_COMMIT", &commit),
        ];
        self.build("release", &flags, &environment)
    }

    fn build(&self, profile: &str, flags: &str, environment: &[(&str, &str)]) -> Result<PathBuf, String> {
        let all = [std::env::var("RUSTFLAGS").unwrap_or_default(), flags.to_owned()].join(" ");
        // A named target keeps the flags from build scripts and macros, which run here and now.
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root()).args([
            "build",
            "--profile",
            profile,
            "--target",
            &self.host,
            "--package",
            "server",
            "--bin",
            "altiplano",
        ]);
        command.env("RUSTFLAGS", all.trim()).env("CARGO_INCREMENTAL", "0").envs(environment.iter().copied());
        succeeded(&mut command)?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Ok(target.join(&self.host).join(profile).join("altiplano"))
    }
}

/// The commit, with a word of what is not committed; empty, and the program's own build script says why, where there is no git.
fn commit() -> String {
    let git = |arguments: &[&str]| said(Command::new("git").arg("-C").arg(root()).args(arguments));
    if !root().join(".git").exists() {
        return String::new();
    }
    let Some(commit) = git(&["log", "-1", "--format=%h of %cs"]) else { return String::new() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|said| !said.trim().is_empty());
    format!("{}{}", commit.trim(), if changed { ", and changes" } else { "" })
}

/// What a command printed, if it succeeded.
pub fn said(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that must succeed.
pub fn succeeded(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("cannot run {name}: {error}")),
    }
}
