//! What a thread has taken of the machine, as the kernel counts it.

/// Counts of one thread since it began (getrusage(2), `RUSAGE_THREAD`). What Linux does not count (swaps, messages) is not here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Microseconds of the processor outside of the kernel.
    pub user_micros: i64,
    /// Microseconds of the processor in the kernel.
    pub system_micros: i64,
    /// Times that it waited.
    pub voluntary_switches: i64,
    /// Times that it was interrupted.
    pub involuntary_switches: i64,
    /// Blocks of 512 bytes read from disks.
    pub blocks_in: i64,
    /// Blocks of 512 bytes written.
    pub blocks_out: i64,
    /// Page faults that needed a disk.
    pub major_faults: i64,
    /// Page faults that needed none.
    pub minor_faults: i64,
}

impl ThreadUsage {
    /// What was taken since an earlier look by the same thread.
    pub fn since(&self, before: &ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            user_micros: self.user_micros - before.user_micros,
            system_micros: self.system_micros - before.system_micros,
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
            blocks_in: self.blocks_in - before.blocks_in,
            blocks_out: self.blocks_out - before.blocks_out,
            major_faults: self.major_faults - before.major_faults,
            minor_faults: self.minor_faults - before.minor_faults,
        }
    }

    /// The calling thread's; zeros where the kernel does not tell.
    pub fn now() -> ThreadUsage {
        // SAFETY: rusage is made of integers, for all of which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a whole rusage, exclusively borrowed.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0 {
            return ThreadUsage::default();
        }
        let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
        ThreadUsage {
            user_micros: micros(usage.ru_utime),
            system_micros: micros(usage.ru_stime),
            voluntary_switches: usage.ru_nvcsw,
            involuntary_switches: usage.ru_nivcsw,
            blocks_in: usage.ru_inblock,
            blocks_out: usage.ru_oublock,
            major_faults: usage.ru_majflt,
            minor_faults: usage.ru_minflt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadUsage;

    #[test]
    fn touching_memory_is_counted() {
        let before = ThreadUsage::now();
        let memory = vec![1_u8; 64 << 20];
        assert_eq!(memory[memory.len() / 2], 1);
        let after = ThreadUsage::now();
        assert!(after.minor_faults > before.minor_faults, "{before:?} {after:?}");
        assert!(after.user_micros + after.system_micros >= before.user_micros + before.system_micros);
    }
}
