//! GET_LOCK and its family as one session sees them. The locks are the session's, not a transaction's: they stay until they are released, or
//! the session ends or is reset.

use crate::context::Core;
use executor::UserLockCall;
use lock_manager::user_locks::Released;
use lock_manager::{Asker, LockError, WaitPolicy};
use mysql_error::codes;
use std::time::{Duration, Instant};
use types::Value;

/// Longest name of a lock.
const NAME_CHARS_MAX: usize = 64;

impl Core {
    fn lock_holder(&self) -> u64 {
        u64::from(self.connection.id())
    }

    /// Carries out one of the functions; `name` is as written.
    pub(crate) fn call_user_lock(&mut self, call: UserLockCall, name: Option<&str>) -> executor::Result<Value> {
        let owner = self.lock_holder();
        let name = match name {
            None => return Err(codes::user_lock_wrong_name("NULL").into()),
            Some("") => return Err(codes::user_lock_wrong_name("").into()),
            Some(name) if name.chars().count() > NAME_CHARS_MAX => return Err(codes::user_lock_overlong_name(name).into()),
            Some(name) => name.to_lowercase(),
        };
        let locks = &self.shared.user_locks;
        Ok(match call {
            UserLockCall::Get { timeout_s } => {
                let deadline = if timeout_s < 0 { None } else { Instant::now().checked_add(Duration::from_secs(timeout_s as u64)) };
                let policy = if timeout_s == 0 { WaitPolicy::NoWait } else { WaitPolicy::Wait(deadline) };
                let member = Asker::new(self.shared.engine.locks(), &self.lock_owner, &self.cancel);
                match locks.acquire(owner, &name, policy, member) {
                    Ok(()) => {
                        *self.user_locks.entry(name.into()).or_insert(0) += 1;
                        Value::Int(1)
                    }
                    Err(LockError::Killed) => return Err(self.stop_error().into()),
                    Err(LockError::Deadlock) => return Err(codes::user_lock_deadlock().into()),
                    // Only requests for rows are queued and left.
                    Err(LockError::Timeout | LockError::WouldBlock | LockError::Queued) => Value::Int(0),
                }
            }
            UserLockCall::Release => match locks.release(owner, &name) {
                Released::Yes => {
                    if let Some(count) = self.user_locks.get_mut(name.as_str()) {
                        *count -= 1;
                        if *count == 0 {
                            self.user_locks.remove(name.as_str());
                        }
                    }
                    Value::Int(1)
                }
                Released::NotHolder => Value::Int(0),
                Released::Free => Value::Null,
            },
            UserLockCall::IsFree => Value::bool(locks.holder(&name).is_none()),
            UserLockCall::IsUsed => locks.holder(&name).map_or(Value::Null, |id| Value::Int(id as i64)),
        })
    }

    /// Gives all the session's locks back; how many there were, each as often as it was taken.
    pub(crate) fn release_user_locks(&mut self) -> u64 {
        let owner = self.lock_holder();
        let mut total = 0;
        for (name, count) in std::mem::take(&mut self.user_locks) {
            for _ in 0..count {
                self.shared.user_locks.release(owner, &name);
            }
            total += count;
        }
        total
    }
}
