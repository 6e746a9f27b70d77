//! What a process has used: processor time, context switches, memory, from `/proc`.

use std::fs;

/// Processor time of a process so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuTime {
    /// Microseconds in user mode.
    pub user_us: f64,
    /// Microseconds in the kernel.
    pub system_us: f64,
}

impl CpuTime {
    /// Of this process, if it can be read.
    pub fn of(pid: u32) -> Option<CpuTime> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold spaces.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
        let tick_us = 1e6 / rustix::param::clock_ticks_per_second() as f64;
        let time = |at: usize| fields.get(at)?.parse::<f64>().ok().map(|ticks| ticks * tick_us);
        Some(CpuTime { user_us: time(11)?, system_us: time(12)? })
    }

    /// What was used since.
    pub fn since(self, before: CpuTime) -> CpuTime {
        CpuTime { user_us: self.user_us - before.user_us, system_us: self.system_us - before.system_us }
    }
}

/// Context switches of all threads that live; with thousands of threads reading this takes a while, so it is read outside of what is timed.
pub fn context_switches(pid: u32) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let of_thread = |path: std::path::PathBuf| {
        let text = fs::read_to_string(path.join("status")).unwrap_or_default();
        text.lines().filter_map(|line| line.split_once("_ctxt_switches:")).filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum::<u64>()
    };
    threads.flatten().map(|entry| of_thread(entry.path())).sum()
}

/// Resident memory in KiB.
pub fn resident_kib(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        let pid = std::process::id();
        assert!(CpuTime::of(pid).is_some());
        assert!(resident_kib(pid) > 100);
        assert!(CpuTime::of(u32::MAX).is_none());
    }
}
