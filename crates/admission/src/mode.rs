//! What an operator may choose.

use crate::SLOTS_MAX;
use std::fmt;

/// How the number of slots is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// By measuring throughput.
    Adaptive,
    /// This many.
    Fixed(u32),
    /// No slots: everybody works at once.
    Off,
}

impl Mode {
    /// `adaptive`, `fixed:N` with N from 1 to [`SLOTS_MAX`], or `off`.
    pub fn parse(text: &str) -> Option<Mode> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "adaptive" => Some(Mode::Adaptive),
            "off" => Some(Mode::Off),
            _ => {
                let count = text.strip_prefix("fixed:")?.parse().ok()?;
                (1..=SLOTS_MAX).contains(&count).then_some(Mode::Fixed(count))
            }
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mode::Adaptive => f.write_str("adaptive"),
            Mode::Fixed(count) => write!(f, "fixed:{count}"),
            Mode::Off => f.write_str("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_shown() {
        for mode in [Mode::Adaptive, Mode::Fixed(1), Mode::Fixed(SLOTS_MAX), Mode::Off] {
            assert_eq!(Mode::parse(&mode.to_string()), Some(mode));
        }
        assert_eq!(Mode::parse(" FIXED:8 "), Some(Mode::Fixed(8)));
        for wrong in ["", "on", "fixed", "fixed:0", "fixed:1025", "fixed:-1", "adaptive:3"] {
            assert_eq!(Mode::parse(wrong), None, "{wrong}");
        }
    }
}
