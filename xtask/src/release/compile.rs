//! The builds, and the tools of the compiler's LLVM.

use super::root;
use std::collections::HashSet;
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
        Err(format!("no llvm-profdata of LLVM {major}, which rustc uses: rustup component add llvm-tools, or Debian's llvm-{major}"))
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

    /// The program that counts what it does, at `copy`. Built with the same settings as the program for users but for what counts: the names of
    /// functions, by which a profile is applied, have in them what Cargo makes of a profile's settings, link-time optimisation among them.
    pub fn instrumented(&self, lto: Lto, copy: &Path) -> Result<PathBuf, String> {
        // Where nothing else is said (LLVM_PROFILE_FILE) what it writes is lost.
        let program = self.build("-Cprofile-generate=/tmp", &[("CARGO_PROFILE_RELEASE_LTO", lto.name())])?;
        // The next build puts its own in this place.
        fs::copy(&program, copy).map_err(|e| format!("{}: {e}", copy.display()))?;
        Ok(copy.to_owned())
    }

    /// Whether the profile is of this program's functions: by their names, of which link-time optimisation leaves some two thirds.
    pub fn fits(&self, profdata: &Path, merged: &Path, program: &Path) -> Result<(), String> {
        let shown = said(Command::new(profdata).args(["show", "--all-functions"]).arg(merged)).ok_or("the profile cannot be shown")?;
        let bytes = fs::read(program).map_err(|e| format!("{}: {e}", program.display()))?;
        share_of_names(&shown, &bytes)
            .filter(|share| *share >= SHARE_THAT_FITS)
            .map(|share| println!("the profile names {:.0} % of the program's own functions", share * 100.0))
            .ok_or_else(|| "the profile does not fit: it is of functions that the program has not".to_owned())
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
        self.build(&flags, &environment)
    }

    fn build(&self, flags: &str, environment: &[(&str, &str)]) -> Result<PathBuf, String> {
        let all = [std::env::var("RUSTFLAGS").unwrap_or_default(), flags.to_owned()].join(" ");
        // A named target keeps the flags from build scripts and macros, which run here and now.
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(root()).args(["build", "--release", "--target", &self.host, "--package", "server", "--bin", "altiplano"]);
        command.env("RUSTFLAGS", all.trim()).env("CARGO_INCREMENTAL", "0").envs(environment.iter().copied());
        succeeded(&mut command)?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        Ok(target.join(&self.host).join("release").join("altiplano"))
    }
}

/// How much of the program's own functions a profile of it names at least; one of another build names nearly none.
const SHARE_THAT_FITS: f64 = 0.3;
/// Crates whose functions tell.
const CRATES: [&str; 4] = ["_ZN5btree", "_ZN6engine", "_ZN7session", "_ZN8executor"];

/// How many of the functions of our crates that are in the program the profile names; `None` where there are none.
fn share_of_names(shown: &str, program: &[u8]) -> Option<f64> {
    let own = |name: &str| CRATES.iter().any(|of| name.starts_with(of));
    // Of a function that only its module has, the module stands before it.
    let names = shown.lines().filter_map(|line| line.trim().strip_suffix(':')).filter_map(|name| name.rsplit(';').next());
    let named: HashSet<&str> = names.filter(|name| own(name)).collect();
    let names = program.split(|byte| *byte == 0).filter(|text| text.starts_with(b"_ZN")).filter_map(|text| std::str::from_utf8(text).ok());
    // What link-time optimisation has made local has a suffix.
    let there: HashSet<&str> = names.filter(|name| own(name)).map(|name| name.split(".llvm.").next().unwrap_or(name)).collect();
    (!there.is_empty()).then(|| there.iter().filter(|name| named.contains(*name)).count() as f64 / there.len() as f64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_another_build_is_told_from_one_that_fits() {
        let program = b"x\0_ZN6engine4read17h0123E\0_ZN5btree3ops17h4567E.llvm.99\0_ZN3std2fs17hffffE\0y";
        let shown = |hashes: [&str; 2]| {
            format!(
                "Counters:\n  _ZN6engine4read17h{}E:\n    Hash: 1\n  btree.77-cgu.0;_ZN5btree3ops17h{}E:\n    Hash: 2\n",
                hashes[0], hashes[1]
            )
        };
        assert_eq!(share_of_names(&shown(["0123", "4567"]), program), Some(1.0));
        assert_eq!(share_of_names(&shown(["0123", "aaaa"]), program), Some(0.5));
        assert_eq!(share_of_names(&shown(["bbbb", "aaaa"]), program), Some(0.0));
        assert_eq!(share_of_names("", b"no names"), None);
    }
}
