//! Texts that functions make: their length and the memory for it are looked at while they grow, so that no statement asks for more than its result may
//! have, and an allocator that gives nothing is an error of the statement.

use crate::exec::Exec;
use crate::run::Result;
use memory::Excess;
use mysql_error::codes;
use planner::expr::Expr;
use types::Value;

/// Why a text does not grow.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It would be longer than it may.
    TooLong,
    /// There is no memory for it.
    Memory(Excess),
}

/// What making a text comes to.
pub(crate) type Made<T> = std::result::Result<T, Refusal>;

/// A text that grows up to a length.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    bytes: Vec<u8>,
    /// At least the length of `bytes`.
    most: usize,
}

impl Growing {
    /// An empty one.
    pub(crate) fn up_to(most: usize) -> Growing {
        Growing { bytes: Vec::new(), most }
    }

    /// One that only memory bounds.
    pub(crate) fn unbounded() -> Growing {
        Growing::up_to(usize::MAX)
    }

    /// Appends.
    #[inline]
    pub(crate) fn push(&mut self, part: &[u8]) -> Made<()> {
        self.reserve(part.len())?;
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// Appends a character.
    #[inline]
    pub(crate) fn push_char(&mut self, c: char) -> Made<()> {
        self.push(c.encode_utf8(&mut [0; 4]).as_bytes())
    }

    /// Appends a text so many times.
    pub(crate) fn repeat(&mut self, part: &[u8], times: usize) -> Made<()> {
        self.reserve(part.len().saturating_mul(times))?;
        match part {
            [] => {}
            [byte] => self.bytes.resize(self.bytes.len() + times, *byte),
            part => (0..times).for_each(|_| self.bytes.extend_from_slice(part)),
        }
        Ok(())
    }

    /// Makes room.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) -> Made<()> {
        if more > self.most - self.bytes.len() {
            return Err(Refusal::TooLong);
        }
        memory::reserve(&mut self.bytes, more).map_err(Refusal::Memory)
    }

    /// What was made.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl std::fmt::Write for Growing {
    /// Fails when the text does not grow: too long where it is bounded, else for want of memory.
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        self.push(part.as_bytes()).map_err(|_| std::fmt::Error)
    }
}

/// A copy of a text as a value.
pub(super) fn copied(text: &[u8]) -> Result<Value> {
    if text.len() < memory::LARGE_BYTES {
        return Ok(Value::from(text));
    }
    let mut bytes = Vec::new();
    memory::reserve(&mut bytes, text.len())?;
    bytes.extend_from_slice(text);
    Ok(Value::Bytes(bytes.into()))
}

/// A part of a text as a value.
pub(super) fn part_of(mut text: Vec<u8>, from: usize, bytes: usize) -> Value {
    text.truncate(from + bytes);
    text.drain(..from);
    Value::Bytes(text.into())
}

impl Exec<'_> {
    /// A text that grows up to max_allowed_packet.
    pub(super) fn growing(&self) -> Growing {
        Growing::up_to(self.context.max_allowed_packet())
    }

    /// A text as a result of a function: NULL with warning 1301 past max_allowed_packet.
    pub(super) fn grown(&mut self, made: Made<Growing>, function: &str) -> Result<Value> {
        match made {
            Ok(text) => Ok(Value::Bytes(text.bytes.into())),
            Err(refusal) => self.refused(refusal, function),
        }
    }

    /// Texts with a separator between them, as the result of a function; those that are NULL are left out.
    pub(super) fn joined<'e>(
        &mut self,
        mut out: Growing,
        separator: &[u8],
        texts: impl Iterator<Item = &'e Expr>,
        function: &str,
    ) -> Result<Value> {
        let mut first = true;
        for text in texts {
            let Some(text) = self.text_arg(text)? else { continue };
            let made = if first { Ok(()) } else { out.push(separator) };
            if let Err(refusal) = made.and_then(|()| out.push(&text)) {
                return self.refused(refusal, function);
            }
            first = false;
        }
        self.grown(Ok(out), function)
    }

    #[cold]
    pub(super) fn refused(&mut self, refusal: Refusal, function: &str) -> Result<Value> {
        match refusal {
            Refusal::TooLong => self.too_long(function),
            Refusal::Memory(excess) => Err(excess.into()),
        }
    }

    /// NULL with warning 1301.
    #[cold]
    pub(crate) fn too_long(&mut self, function: &str) -> Result<Value> {
        let max = self.context.max_allowed_packet();
        self.tell(codes::warn_allowed_packet_overflowed(function, max))?;
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_at_its_bound() {
        let mut text = Growing::up_to(5);
        text.push(b"abc").expect("room");
        assert!(matches!(text.push(b"def"), Err(Refusal::TooLong)));
        text.repeat(b"d", 2).expect("room");
        assert!(matches!(text.repeat(b"xy", usize::MAX), Err(Refusal::TooLong)));
        assert!(matches!(text.push_char('é'), Err(Refusal::TooLong)));
        assert_eq!(text.into_bytes(), b"abcdd");
    }

    #[test]
    fn a_part_is_cut_out() {
        assert_eq!(part_of(b"abcdef".to_vec(), 2, 3), Value::from("cde"));
        assert_eq!(part_of(b"abcdef".to_vec(), 6, 0), Value::from(""));
    }
}
