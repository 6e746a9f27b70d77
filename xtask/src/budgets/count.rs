//! Counting: the program of `testing/budgets` under callgrind, which counts inside `budget_window` only and writes a file at each return
//! of `budget_done`. Instructions do not depend on what else the machine does; address randomisation is off, so that hashes of
//! addresses do not either; glibc is told which of its string functions to take, so that the processor's model matters little.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The same string functions of glibc on every processor (glibc's manual, Hardware Capability Tunables): which one it chooses, and from what size on it copies otherwise, made one to two per cent of a count. Names that a version does not know are no matter.
const SAME_EVERYWHERE: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load\
    :glibc.cpu.x86_non_temporal_threshold=0xc0000:glibc.cpu.x86_rep_movsb_threshold=0x10000000:glibc.cpu.x86_rep_stosb_threshold=0x10000000";

/// What was counted: instructions per operation, by name, in order.
pub type Counts = Vec<(String, f64)>;

/// One run of the program under callgrind, whose files go to `directory`.
pub fn count(program: &Path, directory: &Path) -> Result<Counts, String> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let out = directory.join("count");
    let fixed_addresses =
        Command::new("setarch").args(["-R", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    let mut command = if fixed_addresses { Command::new("setarch") } else { Command::new("valgrind") };
    if fixed_addresses {
        command.args(["-R", "valgrind"]);
    }
    command.args(["--tool=callgrind", "--quiet", "--toggle-collect=*budget_window*", "--dump-after=*budget_done*"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    command.env("GLIBC_TUNABLES", SAME_EVERYWHERE);
    let output = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot run valgrind: {e}"))?;
    if !output.status.success() {
        return Err(format!("{} failed under valgrind", program.display()));
    }
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut totals = Vec::new();
    for (number, line) in printed.lines().enumerate() {
        let (name, times) =
            line.split_once(' ').and_then(|(name, n)| Some((name, n.parse::<f64>().ok()?))).ok_or("output not understood")?;
        let file = out.with_extension((number + 1).to_string());
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        totals.push((name.to_owned(), total(&text).ok_or_else(|| format!("{}: no total", file.display()))? / times));
    }
    Ok(totals)
}

/// Instructions of one file of callgrind's.
fn total(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:")))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrind_files_tell_their_total() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 5\n\ntotals: 1234\n"), Some(1234.0));
        assert_eq!(total("version: 1\n"), None);
    }
}
