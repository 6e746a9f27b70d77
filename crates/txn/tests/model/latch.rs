//! A ranked mutex over shuttle, for models that compile product sources a second time.

pub use sync::Rank;

/// Guard of [`Mutex`].
#[allow(dead_code)]
pub type MutexGuard<'a, T> = shuttle::sync::MutexGuard<'a, T>;

/// Like `sync::Mutex`, without the check of ranks.
#[derive(Debug)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

#[allow(dead_code)]
impl<T> Mutex<T> {
    pub fn new(_rank: Rank, value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub fn with_order(_rank: Rank, _order: u32, value: T) -> Self {
        Self::new(_rank, value)
    }

    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
