//! Rules that no compiler checks: levels, module docs, marks of unfinished work, what pages name and link to.

use crate::levels::{LEVELS, level};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prints each broken rule; fails when there is one.
pub fn run() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    let mut found = Vec::new();
    check_levels(root, &mut found);
    check_sources(root, &mut found);
    check_compat_links(root, &mut found);
    check_compat_differences(root, &mut found);
    check_architecture(root, &mut found);
    check_links(root, &mut found);
    check_names(root, &mut found);
    check_folders(root, &mut found);
    check_dependencies(root, &mut found);
    check_scripts(root, &mut found);
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

/// COMPAT.md counts the blocks that assert a difference from MySQL: for each file, and in all.
fn check_compat_differences(root: &Path, found: &mut Vec<String>) {
    let text = fs::read_to_string(root.join("COMPAT.md")).unwrap_or_default();
    let told = text.split("| File | Blocks |").nth(1).unwrap_or_default();
    let tests = root.join("tests");
    let mut total = 0;
    for path in files_below(&tests.join("sql"), "slt") {
        let blocks = fs::read_to_string(&path).unwrap_or_default().lines().filter(|line| line.starts_with("---- mysql")).count();
        let name = path.strip_prefix(&tests).unwrap_or(&path).display().to_string();
        let row = told.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        if row != (blocks > 0).then(|| format!("| `{name}` | {blocks} |")).as_deref() {
            found
                .push(format!("COMPAT.md: {name} has {blocks} blocks that differ from MySQL, its table says {}", row.unwrap_or("nothing")));
        }
        total += blocks;
    }
    if !text.contains(&format!(": {total} of them")) {
        found.push(format!("COMPAT.md: {total} blocks differ from MySQL in all, its text says otherwise"));
    }
}

/// ARCHITECTURE.md names files that exist and shows the levels as `levels.rs` has them.
fn check_architecture(root: &Path, found: &mut Vec<String>) {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    for piece in text.split('`').skip(1).step_by(2).filter(|p| p.ends_with(".rs") && p.contains('/') && !p.contains('*')) {
        let in_crate = piece.split_once('/').map(|(first, rest)| root.join("crates").join(first).join("src").join(rest));
        let places = [root.join(piece), root.join("crates").join(piece)];
        if !places.iter().chain(&in_crate).any(|place| place.exists()) && !found_below(&root.join("crates"), piece) {
            found.push(format!("ARCHITECTURE.md names {piece}, which does not exist"));
        }
    }
    let table = text.split("## Levels").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    for (name, level) in LEVELS {
        let shown = table.lines().any(|line| line.starts_with(&format!("| {level} |")) && line.contains(&format!("`{name}`")));
        if !shown {
            found.push(format!("ARCHITECTURE.md does not show {name} at level {level}"));
        }
    }
}

/// Whether some crate has a source file of this relative path.
fn found_below(crates: &Path, piece: &str) -> bool {
    children(crates).iter().any(|directory| directory.join("src").join(piece).exists())
}

/// Our own pages.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = files(root, "md");
    for folder in ["docs", "tests", "testing", "scripts", "crates", "fuzz"] {
        pages.extend(files_below(&root.join(folder), "md"));
    }
    pages
}

/// Relative links of our own pages lead somewhere, to a heading too.
fn check_links(root: &Path, found: &mut Vec<String>) {
    for page in pages(root) {
        let text = fs::read_to_string(&page).unwrap_or_default();
        let shown = page.strip_prefix(root).unwrap_or(&page).display();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.contains(char::is_whitespace) {
                continue;
            }
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let led_to = if path.is_empty() { page.clone() } else { page.parent().unwrap_or(root).join(path) };
            if !led_to.exists() {
                found.push(format!("{shown} links to {path}, which does not exist"));
            } else if !heading.is_empty() && led_to.extension().is_some_and(|e| e == "md") {
                let there = fs::read_to_string(&led_to).unwrap_or_default();
                if !headings(&there).iter().any(|name| name == heading) {
                    found.push(format!("{shown} links to {target}, where no such heading is"));
                }
            }
        }
    }
}

/// What the headings of a page are called in links to them.
fn headings(page: &str) -> Vec<String> {
    let (mut names, mut seen, mut code) = (Vec::new(), Vec::<String>::new(), false);
    for line in page.lines() {
        code ^= line.starts_with("```");
        let Some((_, title)) = line.split_once("# ").filter(|(marks, _)| !code && marks.chars().all(|c| c == '#')) else { continue };
        // A link in a heading counts by its text.
        let text: String = title
            .split('[')
            .map(|part| {
                part.split_once("](")
                    .map_or(part.to_string(), |(text, rest)| text.to_string() + rest.split_once(')').map_or("", |(_, after)| after))
            })
            .collect();
        let name: String = text
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let times = seen.iter().filter(|known| **known == name).count();
        names.push(if times == 0 { name.clone() } else { format!("{name}-{times}") });
        seen.push(name);
    }
    names
}

/// What the pages that explain the code call `Type::name` is there under these names.
fn check_names(root: &Path, found: &mut Vec<String>) {
    let mut words = HashSet::new();
    for top in ["crates", "testing", "xtask", "fuzz"] {
        for path in rust_files(&root.join(top)) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            words.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_string));
        }
    }
    let explains = |page: &PathBuf| {
        let path = page.strip_prefix(root).unwrap_or(page);
        path == Path::new("ARCHITECTURE.md") || path.starts_with("docs/design") || path.starts_with("crates")
    };
    for page in pages(root).into_iter().filter(explains) {
        let text = fs::read_to_string(&page).unwrap_or_default();
        let shown = page.strip_prefix(root).unwrap_or(&page).display();
        for name in text.split('`').skip(1).step_by(2) {
            let parts: Vec<&str> = name.trim_end_matches("()").split("::").collect();
            let is_path =
                parts.len() > 1 && parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'));
            if let Some(gone) = parts.iter().find(|part| is_path && !words.contains(**part)) {
                found.push(format!("{shown} names `{name}`, but no source has {gone}"));
            }
        }
    }
}

/// A folder without Rust says what it is for.
fn check_folders(root: &Path, found: &mut Vec<String>) {
    for folder in ["testing", "tests", "fuzz", "scripts", "docs/format", "docs/design"] {
        let path = root.join(folder);
        if path.exists() && !path.join("README.md").exists() {
            found.push(format!("{folder}: opens without a README.md"));
        }
    }
}

/// Each third-party dependency of the workspace says why it is there, and somebody uses it.
fn check_dependencies(root: &Path, found: &mut Vec<String>) {
    let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let table = workspace.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).unwrap_or_default();
    let mut members = children(&root.join("crates"));
    members.extend(children(&root.join("testing")));
    members.push(root.join("xtask"));
    let manifests: Vec<String> = members.iter().map(|m| fs::read_to_string(m.join("Cargo.toml")).unwrap_or_default()).collect();
    for line in table.lines().filter(|line| !line.starts_with('#') && line.contains('=')) {
        let name = line.split([' ', '=']).next().unwrap_or_default();
        if !manifests
            .iter()
            .any(|manifest| manifest.lines().any(|l| l.starts_with(&format!("{name}.workspace")) || l.starts_with(&format!("{name} ="))))
        {
            found.push(format!("Cargo.toml: nobody uses {name}"));
        }
        if !line.contains("path =") && !line.contains('#') {
            found.push(format!("Cargo.toml: {name} does not say why"));
        }
    }
}

/// What says how it is run may be run: pages name scripts as commands.
fn check_scripts(root: &Path, found: &mut Vec<String>) {
    let scripts = root.join("scripts");
    for path in children(&scripts).into_iter().chain(files_below(&scripts, "py")).chain(files_below(&scripts, "sh")) {
        let says_how = fs::read(&path).unwrap_or_default().starts_with(b"#!");
        let may_run = fs::metadata(&path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
        if says_how && !may_run {
            found.push(format!("{}: begins with #! and may not be run", path.strip_prefix(root).unwrap_or(&path).display()));
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

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    children(directory).into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

fn files_below(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = files(directory, extension);
    for path in children(directory).into_iter().filter(|path| path.is_dir() && file_name(path) != "target") {
        found.extend(files_below(&path, extension));
    }
    found
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    files_below(directory, "rs")
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
    fn headings_are_called_as_links_call_them() {
        let page = "# A page\n## Rates, by `altiplano bench`\n```\n# no heading\n```\n### A page\n## A page\n## See [the *plain*](x.md#y) too\n#no heading\n";
        assert_eq!(headings(page), ["a-page", "rates-by-altiplano-bench", "a-page-1", "a-page-2", "see-the-plain-too"]);
    }

    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(run(), ExitCode::SUCCESS);
    }
}
