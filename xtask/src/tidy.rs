//! Rules that no compiler checks: levels, module docs, marks of unfinished work, links of COMPAT.md.

use crate::levels::level;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prints each broken rule; fails when there is one.
pub fn run() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let mut found = Vec::new();
    check_levels(root, &mut found);
    check_sources(root, &mut found);
    check_compat_links(root, &mut found);
    for line in &found {
        eprintln!("tidy: {line}");
    }
    if found.is_empty() {
        println!("tidy: nothing to say");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Product dependencies (not those of tests) go to strictly lower levels, except inside level 0.
fn check_levels(root: &Path, found: &mut Vec<String>) {
    for directory in children(&root.join("crates")) {
        let name = file_name(&directory);
        let Some(own) = level(&name) else {
            found.push(format!("crates/{name}: no level in xtask/src/levels.rs"));
            continue;
        };
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default();
        for dependency in product_dependencies(&manifest) {
            if let Some(other) = level(&dependency)
                && other >= own
                && own > 0
            {
                found.push(format!("crates/{name} (level {own}) depends on {dependency} (level {other})"));
            }
        }
    }
}

/// Names under `[dependencies]` and `[target.….dependencies]`.
fn product_dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-dependencies") && !line.contains("build-dependencies");
        } else if inside && let Some(end) = line.find(['.', ' ', '=']) {
            names.push(line[..end].to_string());
        }
    }
    names
}

fn check_sources(root: &Path, found: &mut Vec<String>) {
    // Split so that this file does not find itself.
    let unfinished = [concat!("TO", "DO"), concat!("XX", "X"), concat!("HA", "CK")];
    for top in ["crates", "testing", "xtask"] {
        for path in rust_files(&root.join(top)) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let shown = path.strip_prefix(root).unwrap_or(&path).display();
            if !text.trim_start_matches(|c: char| c.is_whitespace()).starts_with("//!") && !text.starts_with("#![") {
                found.push(format!("{shown}: opens without module documentation (//!)"));
            }
            for (number, line) in text.lines().enumerate() {
                let comment = line.split_once("//").map_or("", |(_, c)| c);
                if unfinished.iter().any(|word| comment.split(|c: char| !c.is_alphanumeric()).any(|w| w == *word)) {
                    found.push(format!("{shown}:{}: mark of unfinished work", number + 1));
                }
                if line.contains(concat!("FIX", "ME")) && !line.contains(concat!("FIX", "ME(#")) {
                    found.push(format!("{shown}:{}: a lasting doubt names its issue", number + 1));
                }
            }
        }
    }
}

/// Every test that COMPAT.md names exists.
fn check_compat_links(root: &Path, found: &mut Vec<String>) {
    let text = fs::read_to_string(root.join("COMPAT.md")).unwrap_or_default();
    for piece in text.split('`').filter(|p| p.ends_with(".slt") || p.ends_with(".spec")) {
        if !root.join("tests").join(piece).exists() {
            found.push(format!("COMPAT.md names tests/{piece}, which does not exist"));
        }
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in children(directory) {
        if path.is_dir() && file_name(&path) != "target" {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_tests_do_not_count() {
        let manifest = "[dependencies]\nbase.workspace = true\n[dev-dependencies]\nserver.workspace = true\n";
        assert_eq!(product_dependencies(manifest), ["base"]);
    }

    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(run(), ExitCode::SUCCESS);
    }
}
