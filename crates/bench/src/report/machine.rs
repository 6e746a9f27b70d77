//! The machine that measured, as its kernel describes it.

use std::fs;

/// What a reader has to know to judge a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many of them this process may use.
    pub cores: usize,
    /// Memory in KiB.
    pub memory_kib: u64,
    /// The kernel.
    pub kernel: String,
    /// Processes that ran or waited for the disk in the last minute, at the beginning.
    pub load_average: f64,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let word = |text: String| text.split_whitespace().next().unwrap_or_default().to_owned();
        Machine {
            cpu: processor(&file("/proc/cpuinfo")).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_kib: memory_kib(&file("/proc/meminfo")),
            kernel: format!("{} {}", file("/proc/sys/kernel/ostype").trim(), file("/proc/sys/kernel/osrelease").trim()),
            load_average: word(file("/proc/loadavg")).parse().unwrap_or(0.0),
        }
    }

    /// What does not change, in one line.
    pub fn described(&self) -> String {
        let memory = self.memory_kib as f64 / f64::from(1 << 20);
        format!("{} cores of {}, {memory:.1} GiB, {}", self.cores, self.cpu, self.kernel)
    }

    /// All of it in one line.
    pub fn in_short(&self) -> String {
        format!("{}, load average {:.2} at the beginning", self.described(), self.load_average)
    }
}

/// `model name` of the first processor; what other architectures call it.
fn processor(cpuinfo: &str) -> Option<String> {
    let value = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned()).filter(|value| !value.is_empty())
    };
    ["model name", "Model", "Hardware", "cpu"].into_iter().find_map(value)
}

fn memory_kib(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name() {
        let here = Machine::here();
        assert!(!here.cpu.is_empty() && here.cores > 0 && here.memory_kib > 1 << 10 && here.kernel.starts_with("Linux "), "{here:?}");
    }

    #[test]
    fn other_files_than_this_kernels() {
        assert_eq!(processor("processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nmodel name\t: x\n").as_deref(), Some("AMD EPYC"));
        assert_eq!(processor("processor : 0\nModel : Raspberry Pi 4\n").as_deref(), Some("Raspberry Pi 4"));
        assert_eq!((processor(""), memory_kib("")), (None, 0));
        assert_eq!(memory_kib("MemTotal:       24000000 kB\nMemFree: 1 kB\n"), 24_000_000);
    }
}
