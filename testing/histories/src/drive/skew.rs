//! What invites write skew: a transaction reads what another one writes and writes what that one has read, by rows and by predicates.

use super::client::{Client, Step};
use super::lists::Locking;
use super::profile::Focus;
use super::statement::Failure;

impl Client<'_, '_> {
    /// Two or three plain reads, then a change or two of the same kind.
    pub(super) fn skew(&mut self) -> Step {
        let by_rows = match self.run.profile.focus {
            Focus::Lists => true,
            Focus::Sets => false,
            Focus::All => self.random.coin(),
        };
        for _ in 0..2 + self.random.below(2) {
            let read = if by_rows { self.read_list(Locking::None) } else { self.read_sets(Locking::None) };
            pass(read)?;
        }
        for _ in 0..1 + self.random.below(2) {
            let change = match (by_rows, self.random.below(4)) {
                (true, _) => self.append(),
                (false, 0) => self.remove_member(),
                (false, 1) => self.move_member(),
                (false, _) => self.insert_members(),
            };
            pass(change)?;
        }
        Ok(())
    }
}

/// What was only not done leaves the transaction as it is.
fn pass(step: Step) -> Step {
    match step {
        Err(Failure::Refused | Failure::Interrupted) => Ok(()),
        other => other,
    }
}
