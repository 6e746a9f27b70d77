//! The allocator of the program, counted by thread (crate `memory`), and its peace with huge pages.
//!
//! mimalloc asks the kernel for huge pages under its heaps. With a heap per thread that makes an idle connection cost
//! 340 KiB instead of 70 (measured with 3,000 of them). It can be told to leave that, by an environment variable that it
//! reads before `main`; but then it forbids huge pages to the whole process, and the buffer pool wants them. So: the
//! variable is set before the allocator looks, and `main` takes the ban back.

#[global_allocator]
static ALLOCATOR: memory::Heap<mimalloc::MiMalloc> = memory::Heap::new(mimalloc::MiMalloc);

/// Sets memory aside for allocations that cannot fail, as far as it is not there.
pub fn set_aside() {
    ALLOCATOR.set_aside();
}

/// Runs before the allocator's own initialiser, which has no priority and thus comes later.
#[used]
#[unsafe(link_section = ".init_array.00099")]
static BEFORE_THE_ALLOCATOR: extern "C" fn() = no_huge_pages_for_the_heap;

extern "C" fn no_huge_pages_for_the_heap() {
    // SAFETY: both strings end in zero, and before `main` there is no other thread that could read the environment.
    // An operator's own setting stays (overwrite is 0).
    unsafe { libc::setenv(c"MIMALLOC_ALLOW_THP".as_ptr(), c"0".as_ptr(), 0) };
}

/// Lets the rest of the process have huge pages again.
pub fn allow_huge_pages_elsewhere() {
    // SAFETY: the call takes integers only. It fails on kernels that do not know it, which then forbid nothing.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 0, 0, 0, 0) };
}
