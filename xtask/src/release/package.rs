//! What is put around the program: an archive, a Debian package, a directory that the container file builds from, and sums of all.
//!
//! The package is made by dpkg-deb from a tree that is laid out here: one program, a unit, a settings file and three scripts need no more.

use super::compile::{said, succeeded};
use super::root;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes all of it in `out`.
pub fn all(program: &Path, out: &Path) -> Result<(), String> {
    let version = said(Command::new(program).arg("version")).ok_or_else(|| format!("{} does not run", program.display()))?;
    print!("{version}");
    let number = version.lines().next().and_then(|line| line.strip_prefix("altiplano ")).ok_or("the program names no version")?.to_owned();
    let glibc =
        glibc(&fs::read(program).map_err(|e| format!("{}: {e}", program.display()))?).ok_or("the program names no version of libc")?;
    println!("needs glibc {}.{} or newer", glibc.0, glibc.1);
    let stripped = out.join("altiplano");
    copy(program, &stripped, 0o755)?;
    // Names of functions stay, for backtraces; line tables are most of the file and go.
    succeeded(Command::new("strip").arg("--strip-debug").arg(&stripped))?;
    let mut made = vec![archive(out, &stripped, &number)?];
    if said(Command::new("dpkg-deb").arg("--version")).is_some() {
        made.push(debian(out, &stripped, &number, glibc)?);
    } else {
        println!("left out: the Debian package, dpkg-deb is not installed");
    }
    copy(&root().join("packaging/Containerfile"), &out.join("Containerfile"), 0o644)?;
    let names = made.iter().filter_map(|path| path.file_name());
    let sums = said(Command::new("sha256sum").current_dir(out).args(names)).ok_or("sha256sum does not run")?;
    write(&out.join("SHA256SUMS"), &sums, 0o644)?;
    println!("in {}:\n{sums}", out.display());
    Ok(())
}

/// The archive for everybody else: the program, its licence and pages, the unit and the settings file.
fn archive(out: &Path, program: &Path, number: &str) -> Result<PathBuf, String> {
    let name = format!("altiplano-{number}-{}-linux-gnu", std::env::consts::ARCH);
    let tree = fresh(&out.join(&name))?;
    copy(program, &tree.join("altiplano"), 0o755)?;
    for file in ["LICENSE", "README.md", "CHANGELOG.md", "COMPAT.md", "packaging/altiplano.service", "packaging/altiplano.toml"] {
        let from = root().join(file);
        copy(&from, &tree.join(from.file_name().expect("a file")), 0o644)?;
    }
    let file = out.join(format!("{name}.tar.gz"));
    succeeded(Command::new("tar").args(["--owner=0", "--group=0", "-C"]).arg(out).arg("-czf").arg(&file).arg(&name))?;
    fs::remove_dir_all(&tree).map_err(|e| e.to_string())?;
    Ok(file)
}

/// The package of Debian and Ubuntu.
fn debian(out: &Path, program: &Path, number: &str, (major, minor): (u32, u32)) -> Result<PathBuf, String> {
    let architecture = said(Command::new("dpkg").arg("--print-architecture")).ok_or("dpkg names no architecture")?.trim().to_owned();
    let tree = fresh(&out.join("deb"))?;
    copy(program, &tree.join("usr/bin/altiplano"), 0o755)?;
    let packaging = root().join("packaging");
    copy(&packaging.join("altiplano.service"), &tree.join("usr/lib/systemd/system/altiplano.service"), 0o644)?;
    copy(&packaging.join("altiplano.toml"), &tree.join("etc/altiplano/altiplano.toml"), 0o644)?;
    let doc = tree.join("usr/share/doc/altiplano");
    for (file, name) in [("LICENSE", "copyright"), ("README.md", "README.md"), ("CHANGELOG.md", "CHANGELOG.md"), ("COMPAT.md", "COMPAT.md")]
    {
        copy(&root().join(file), &doc.join(name), 0o644)?;
    }
    for script in ["postinst", "prerm", "postrm"] {
        copy(&packaging.join("debian").join(script), &tree.join("DEBIAN").join(script), 0o755)?;
    }
    write(&tree.join("DEBIAN/conffiles"), "/etc/altiplano/altiplano.toml\n", 0o644)?;
    // What `dpkg -V` compares with.
    let sums = said(Command::new("sh").current_dir(&tree).args(["-c", "find usr -type f | LC_ALL=C sort | xargs md5sum"]))
        .ok_or("md5sum does not run")?;
    write(&tree.join("DEBIAN/md5sums"), &sums, 0o644)?;
    let kib = fs::metadata(program).map_err(|e| e.to_string())?.len() / 1024;
    write(&tree.join("DEBIAN/control"), &control(number, &architecture, kib, &format!("{major}.{minor}")), 0o644)?;
    let file = out.join(format!("altiplano_{number}_{architecture}.deb"));
    succeeded(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&file))?;
    fs::remove_dir_all(&tree).map_err(|e| e.to_string())?;
    Ok(file)
}

fn control(number: &str, architecture: &str, kib: u64, glibc: &str) -> String {
    format!(
        "Package: altiplano\nVersion: {number}\nArchitecture: {architecture}\nMaintainer: The Altiplano maintainers <altiplano@localhost>\n\
         Section: database\nPriority: optional\nInstalled-Size: {kib}\nDepends: libc6 (>= {glibc}), libgcc-s1, passwd\n\
         Description: OLTP database server that speaks MySQL\n One program: server, client, backup and restore, check, load tool.\n"
    )
}

/// The newest version of the C library that the program asks for, by the names of versions in it (`GLIBC_2.34`).
fn glibc(program: &[u8]) -> Option<(u32, u32)> {
    let name = b"GLIBC_";
    let versions = program.windows(name.len()).enumerate().filter(|(_, window)| window == name).filter_map(|(at, _)| {
        let rest = &program[at + name.len()..];
        let text: String = rest.iter().take(8).map(|byte| char::from(*byte)).take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let mut numbers = text.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max()
}

fn fresh(directory: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    Ok(directory.to_owned())
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    let bytes = fs::read(from).map_err(|e| format!("{}: {e}", from.display()))?;
    put(to, &bytes, mode)
}

fn write(to: &Path, text: &str, mode: u32) -> Result<(), String> {
    put(to, text.as_bytes(), mode)
}

/// A file of exactly this mode, and directories that everybody may enter, whatever the builder's umask.
fn put(to: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    let named = |e: std::io::Error| format!("{}: {e}", to.display());
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    if let Some(parent) = to.parent() {
        let missing: Vec<&Path> = parent.ancestors().take_while(|path| !path.exists()).collect();
        fs::create_dir_all(parent).map_err(named)?;
        missing.iter().try_for_each(|path| set(path, 0o755)).map_err(named)?;
    }
    fs::write(to, bytes).map_err(named)?;
    set(to, mode).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_libc_counts_by_number() {
        assert_eq!(glibc(b"..GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.2.5\0GLIBC_PRIVATE\0"), Some((2, 34)));
        assert_eq!(glibc(b"nothing"), None);
    }

    #[test]
    fn a_package_names_what_it_needs() {
        let text = control("0.1.0", "amd64", 40_000, "2.34");
        assert!(text.contains("\nVersion: 0.1.0\n") && text.contains("\nDepends: libc6 (>= 2.34), "), "{text}");
        assert!(text.ends_with('\n') && text.lines().all(|line| line.starts_with(' ') || line.contains(": ")), "{text}");
    }
}
