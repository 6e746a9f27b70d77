//! What a backup reads from: a running engine, in this process or behind a connection.

use crate::frame::Frame;
use crate::{Error, Result};

/// What is asked for next. Each is answered by one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A checkpoint to start from.
    Start,
    /// To go on with an earlier start, whose log was copied up to here: `Log` from the block before it on, or `Gone`.
    Resume(u64),
    /// The next pages from this number on. With `next == first`: there are no more.
    Pages(u64),
    /// `Same` if the images of the pages from this number up to the second still have this checksum, else `Pages`.
    Check(u64, u64, u32),
    /// The undo extent of this number.
    Undo(u64),
    /// Log from this position on, a multiple of 4096.
    Log(u64),
    /// All pages are copied: the end LSN.
    Finish,
    /// The copy is complete, or given up: nothing needs to be kept.
    Stop(u64),
}

impl Step {
    /// As a statement of the server.
    pub fn statement(&self) -> String {
        match self {
            Step::Start => "BACKUP START".into(),
            Step::Resume(lsn) => format!("BACKUP RESUME {lsn}"),
            Step::Pages(page) => format!("BACKUP PAGES {page}"),
            Step::Check(first, next, crc) => format!("BACKUP COMPARE {first}, {next}, {crc}"),
            Step::Undo(number) => format!("BACKUP VERSIONS {number}"),
            Step::Log(lsn) => format!("BACKUP LOG {lsn}"),
            Step::Finish => "BACKUP FINISH".into(),
            Step::Stop(lsn) => format!("BACKUP STOP {lsn}"),
        }
    }

    /// From the words of such a statement.
    pub fn parse(word: &str, numbers: &[u64]) -> Option<Step> {
        Some(match (word.to_ascii_uppercase().as_str(), numbers) {
            ("START", []) => Step::Start,
            ("RESUME", [lsn]) => Step::Resume(*lsn),
            ("PAGES", [page]) => Step::Pages(*page),
            ("COMPARE", [first, next, crc]) => Step::Check(*first, *next, u32::try_from(*crc).ok()?),
            ("VERSIONS", [number]) => Step::Undo(*number),
            ("LOG", [lsn]) => Step::Log(*lsn),
            ("FINISH", []) => Step::Finish,
            ("STOP", []) => Step::Stop(0),
            ("STOP", [lsn]) => Step::Stop(*lsn),
            _ => return None,
        })
    }
}

/// A running engine, for a backup.
pub trait Source {
    /// Asks for the next piece.
    fn step(&mut self, step: Step) -> Result<Frame>;
}

impl<F: FnMut(Step) -> Result<Frame>> Source for F {
    fn step(&mut self, step: Step) -> Result<Frame> {
        self(step)
    }
}

/// A frame of another kind than was asked for.
pub(crate) fn unexpected(frame: &Frame, step: Step) -> Error {
    Error::Damaged(format!("the server answered {:?} to {}", frame.kind, step.statement()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_say_what_is_parsed() {
        for step in [
            Step::Start,
            Step::Resume(7),
            Step::Pages(0),
            Step::Check(64, 128, u32::MAX),
            Step::Undo(1),
            Step::Log(4096),
            Step::Finish,
            Step::Stop(9),
        ] {
            let text = step.statement();
            let mut words = text.splitn(3, ' ').skip(1);
            let word = words.next().unwrap();
            let numbers: Vec<u64> = words.next().map_or(Vec::new(), |list| list.split(", ").map(|n| n.parse().unwrap()).collect());
            assert_eq!(Step::parse(word, &numbers), Some(step), "{text}");
        }
        assert_eq!(Step::parse("PAGES", &[]), None);
    }
}
