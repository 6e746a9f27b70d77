//! Room for ten thousand sleepers in the kernel's table of futexes.
//!
//! Since Linux 6.16 each process has a futex table of its own, of four buckets for each processor and 16 at least. A
//! waker walks all who sleep in the bucket, touching the stack of each: with ten thousand sleeping threads on two
//! processors that were 625 cache misses for each wake-up, of a row lock, a commit or an admission. The table can be
//! asked to be larger (prctl(2), `PR_FUTEX_HASH`). Older kernels share one table of 256 buckets for each processor
//! among all processes and cannot be asked.

/// Buckets of 64 bytes; a power of two. About as many as the sleepers of a server with very many connections.
const SLOTS: libc::c_ulong = 16_384;

const PR_FUTEX_HASH: libc::c_int = 78;
const PR_FUTEX_HASH_SET_SLOTS: libc::c_ulong = 1;

/// Asks for it. A kernel that does not know the question changes nothing, and nothing depends on the answer.
pub fn enlarge() {
    // SAFETY: the call takes integers only and changes nothing but the size of the kernel's own table.
    unsafe { libc::prctl(PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS, SLOTS, 0 as libc::c_ulong, 0 as libc::c_ulong) };
}
