//! How much memory there is.

/// Memory that this process may have: the machine's, or less where its control group has a limit.
pub fn bytes_of_machine() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| of_meminfo(&text, "MemTotal:")).unwrap_or(u64::MAX);
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups);
    limits.iter().filter_map(|path| read(path)?.trim().parse::<u64>().ok()).fold(machine, u64::min)
}

/// What of it is free now, or held by the kernel for want of a better use. (Of the machine; what others in the control group hold is not known.)
pub fn bytes_available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").ok();
    text.and_then(|text| of_meminfo(&text, "MemAvailable:")).map_or_else(bytes_of_machine, |bytes| bytes.min(bytes_of_machine()))
}

fn of_meminfo(text: &str, key: &str) -> Option<u64> {
    let kib = text.lines().find_map(|line| line.strip_prefix(key))?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    Some(kib << 10)
}

/// Files with the limits of the groups in `/proc/self/cgroup` and of those that they are in. ("max" is no number and so no limit.)
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            list if list.split(',').any(|name| name == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            files.push(format!("{root}{path}/{file}"));
            match path.rsplit_once('/') {
                Some((up, _)) => path = up,
                None => break,
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_kinds_of_groups_are_looked_for() {
        assert_eq!(
            limit_files("8:memory:/a/b\n4:cpu:/x\n0::/c\n"),
            [
                "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/c/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        let text = "MemTotal:       24683736 kB\nMemFree: 1 kB\nMemAvailable:   20 kB\n";
        assert_eq!((of_meminfo(text, "MemTotal:"), of_meminfo(text, "MemAvailable:")), (Some(24_683_736 << 10), Some(20 << 10)));
        assert!(bytes_available() <= bytes_of_machine());
        assert!(bytes_of_machine() > 64 << 20);
    }
}
