//! How much of the machine's processor time nobody has used.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Looks at the kernel's account of processor time (`/proc/stat`, proc_stat(5)) now and then. What the machine has, not what a container may use of it: where that is less, the share is too high.
#[derive(Debug)]
pub struct IdleTime {
    file: Option<File>,
    /// Ticks of all processors until the last look: idle, and all.
    last: (u64, u64),
}

impl Default for IdleTime {
    fn default() -> Self {
        Self::new()
    }
}

impl IdleTime {
    /// Processors with a smaller share are busy: what waits there waits for its turn, and more of it brings nothing.
    pub const SPARE: f64 = 0.1;

    /// Looks for the first time.
    pub fn new() -> Self {
        let mut new = Self { file: File::open("/proc/stat").ok(), last: (0, 0) };
        new.share();
        new
    }

    /// The share of processor time since the last look in which processors had nothing to do or waited for disks: 0 to 1. The kernel counts in ticks of 10 ms on each processor, so a look after
    /// less than some of them says little. `None` where the kernel does not tell, or nothing has passed.
    pub fn share(&mut self) -> Option<f64> {
        let mut line = [0; 256];
        let read = self.file.as_ref()?.read_at(&mut line, 0).ok()?;
        let now = of_all(std::str::from_utf8(&line[..read]).ok()?.lines().next()?)?;
        let (idle, all) = (now.0.saturating_sub(self.last.0), now.1.saturating_sub(self.last.1));
        self.last = now;
        (all > 0).then(|| idle as f64 / all as f64)
    }
}

/// Idle ticks and all, of the line for all processors: user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in the first two as well.
fn of_all(line: &str) -> Option<(u64, u64)> {
    let mut ticks = line.strip_prefix("cpu ")?.split_ascii_whitespace().take(8).map_while(|word| word.parse::<u64>().ok());
    let (busy, idle, waiting) = (ticks.by_ref().take(3).sum::<u64>(), ticks.next()?, ticks.next()?);
    Some((idle + waiting, busy + idle + waiting + ticks.sum::<u64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_disks_is_idle_and_guests_count_once() {
        assert_eq!(of_all("cpu  10 1 4 70 5 2 3 5 9 9"), Some((75, 100)));
        assert_eq!(of_all("cpu0 10 1 4 70 5 2 3 5 9 9"), None);
        assert_eq!(of_all("cpu  10 1 4"), None);
    }

    #[test]
    fn what_the_kernel_says_is_read() {
        let mut idle = IdleTime::new();
        assert!(idle.last.1 > 0, "{idle:?}");
        idle.last = (0, 0);
        let share = idle.share().unwrap();
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}
