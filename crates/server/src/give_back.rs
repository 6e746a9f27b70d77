//! Freed memory goes back to the system, also when nothing happens any more.
//!
//! The allocator gives back what has been free for a second, but only when somebody allocates or frees just then. A server that has answered
//! one huge statement and falls silent would keep hundreds of megabytes, so a thread asks now and then. Threads of connections ask when their client has been silent.

use std::time::Duration;

/// How often the allocator is asked.
const GIVE_BACK_INTERVAL: Duration = Duration::from_millis(500);

unsafe extern "C" {
    /// mimalloc's: gives back what has been free for its purge delay, and with `force` all that is free.
    fn mi_collect(force: bool);
}

/// Starts the thread that asks.
pub fn start() -> std::io::Result<()> {
    crate::heap::set_aside();
    // SAFETY: as below.
    server::threads::set_give_back(|| unsafe { mi_collect(true) });
    let work = || {
        loop {
            #[expect(clippy::disallowed_methods, reason = "it asks at intervals")]
            std::thread::sleep(GIVE_BACK_INTERVAL);
            // What was spent when memory ran out is set aside again once there is some.
            crate::heap::set_aside();
            // SAFETY: any thread may call it at any time; it touches what this thread owns and what nobody owns.
            unsafe { mi_collect(false) };
        }
    };
    sync::thread::Builder::new().name("heap".to_owned()).stack_size(64 << 10).spawn(work).map(drop)
}
