//! The condition list that SHOW WARNINGS shows.

use mysql_error::{SqlError, Warning, WarningLevel};
use parser::ast::ConditionItem;

/// Conditions of the last statement that had any effect on them.
#[derive(Debug)]
pub struct Diagnostics {
    list: Vec<Warning>,
    warnings: u32,
    errors: u32,
    /// How many conditions, and how many errors among them, the statement before left.
    before: (u32, u32),
    /// What SIGNAL said of the first condition.
    signalled: Option<Box<Signalled>>,
    /// Conditions kept of one statement (`max_error_count`, at most 65,535); more are only counted.
    kept_max: usize,
}

/// What SIGNAL says of the condition that it raises, beside its number and message.
#[derive(Debug, Default)]
pub struct Signalled {
    /// `RETURNED_SQLSTATE`.
    pub state: [u8; 5],
    /// The items that it has set.
    pub items: Vec<(ConditionItem, String)>,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Diagnostics { list: Vec::new(), warnings: 0, errors: 0, before: (0, 0), signalled: None, kept_max: 1024 }
    }
}

impl Diagnostics {
    /// A statement begins: what there is is that of the one before. (A statement that reports on it leaves the list, others clear it.)
    #[inline]
    pub fn next_statement(&mut self) {
        self.before = (self.warnings + self.errors, self.errors);
    }

    /// What the statement before left: all conditions, and the errors among them. `@@warning_count` and `@@error_count`.
    pub fn before(&self) -> (u32, u32) {
        self.before
    }

    /// Forgets the list.
    #[inline]
    pub fn clear(&mut self) {
        if self.warnings + self.errors > 0 {
            self.list.clear();
            self.signalled = None;
            self.warnings = 0;
            self.errors = 0;
        }
    }

    /// SIGNAL raises the first condition of the list.
    pub fn signal(&mut self, signalled: Signalled) {
        self.signalled = Some(Box::new(signalled));
    }

    /// What SIGNAL said of a condition.
    pub fn signalled(&self, at: usize) -> Option<&Signalled> {
        self.signalled.as_deref().filter(|_| at == 0)
    }

    /// Sets how many conditions are kept of a statement.
    pub fn set_kept_max(&mut self, count: usize) {
        self.kept_max = count;
    }

    /// Adds a condition.
    pub fn push(&mut self, warning: Warning) {
        match warning.level {
            WarningLevel::Error => self.errors += 1,
            WarningLevel::Warning | WarningLevel::Note => self.warnings += 1,
        }
        if self.list.len() < self.kept_max {
            self.list.push(warning);
        }
    }

    /// Takes the conditions back that came after the first `since`, none of them errors; and the number of those that were only counted.
    pub fn take(&mut self, since: u32) -> (Vec<Warning>, u32) {
        let taken = self.total().saturating_sub(since);
        self.warnings -= taken.min(self.warnings);
        let list = self.list.split_off(self.list.len().min(since as usize));
        let unkept = taken.saturating_sub(list.len() as u32);
        (list, unkept)
    }

    /// Counts conditions that are not kept.
    pub fn count(&mut self, count: u32) {
        self.warnings += count;
    }

    /// The statement failed.
    pub fn push_error(&mut self, error: &SqlError) {
        self.push(error.clone().into_warning(WarningLevel::Error));
    }

    /// Conditions that are no errors, as an OK packet counts them.
    pub fn warning_count(&self) -> u32 {
        self.warnings
    }

    /// All conditions.
    pub fn total(&self) -> u32 {
        self.warnings + self.errors
    }

    /// Errors.
    pub fn error_count(&self) -> u32 {
        self.errors
    }

    /// The list.
    pub fn list(&self) -> &[Warning] {
        &self.list
    }
}
