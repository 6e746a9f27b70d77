//! Values of ENUM and SET: their texts, and the numbers that rows and keys hold.
//!
//! A text says its number, with one exception: where '' is a member. `''` of `SET('', 'a')` is the set of nothing or the set of that member, and
//! `''` of `ENUM('a', '')` the member or the value 0 that a wrong text became. The less usual one of the two has a mark beside its text
//! ([`ByteString::marked`]): in a SET the empty member that the text does not show, in an ENUM the 0.

use crate::{ByteString, ColumnType, TypeKind};

impl ColumnType {
    /// The place of a member that is spelled exactly so.
    fn member_place(&self, name: &[u8]) -> Option<usize> {
        self.member_list().iter().position(|member| **member == *name)
    }

    /// The text of an ENUM's number; `None` when there are not so many members.
    pub fn enum_text(&self, number: u64) -> Option<ByteString> {
        match usize::try_from(number).ok()?.checked_sub(1) {
            Some(place) => self.member_list().get(place).cloned(),
            None if self.member_place(b"").is_some() => Some(ByteString::new().marked()),
            None => Some(ByteString::new()),
        }
    }

    /// The text of a SET's bits: its members, separated by commas; `None` when there are not so many members.
    pub fn set_text(&self, bits: u64) -> Option<ByteString> {
        let members = self.member_list();
        if members.len() < 64 && bits >> members.len() != 0 {
            return None;
        }
        let mut text = Vec::new();
        let mut hides = false;
        for (_, member) in members.iter().enumerate().take(64).filter(|(at, _)| bits >> at & 1 == 1) {
            hides |= text.is_empty() && member.is_empty();
            if !text.is_empty() {
                text.push(b',');
            }
            text.extend_from_slice(member);
        }
        let text = ByteString::from(text);
        Some(if hides { text.marked() } else { text })
    }

    /// The bit of the empty member that a value of a SET has beside what its text shows.
    fn hidden_bit(&self, text: &ByteString) -> u64 {
        if !text.is_marked() {
            return 0;
        }
        self.member_place(b"").map_or(0, |place| 1 << place.min(63))
    }

    /// The number that stands for an ENUM or SET value in rows and keys; `None` when the text names no member.
    pub fn member_number(&self, text: &ByteString) -> Option<u64> {
        if self.kind == TypeKind::Enum {
            return match self.member_place(text) {
                Some(place) if !text.is_marked() => Some(place as u64 + 1),
                _ => text.is_empty().then_some(0),
            };
        }
        let hidden = self.hidden_bit(text);
        if text.is_empty() {
            return Some(hidden);
        }
        text.split(|byte| *byte == b',').try_fold(hidden, |bits, name| Some(bits | 1 << self.member_place(name)?.min(63)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    fn of(kind: TypeKind, members: &[&str]) -> ColumnType {
        ColumnType::with_members(kind, members.iter().map(|member| ByteString::from(*member)), Collation::DEFAULT)
    }

    #[test]
    fn every_number_comes_back_from_its_text() {
        for members in [&["a", "b"][..], &["", "a", "b"], &["a", "", "b"], &["a", "b", ""], &[""]] {
            let (set, listed) = (of(TypeKind::Set, members), of(TypeKind::Enum, members));
            for bits in 0..1 << members.len() {
                let text = set.set_text(bits).expect("so many members");
                assert_eq!(set.member_number(&text), Some(bits), "{members:?} {text:?}");
            }
            assert_eq!(set.set_text(1 << members.len()), None);
            for number in 0..=members.len() as u64 {
                let text = listed.enum_text(number).expect("so many members");
                assert_eq!(listed.member_number(&text), Some(number), "{members:?} {text:?}");
            }
            assert_eq!(listed.enum_text(members.len() as u64 + 1), None);
        }
    }

    #[test]
    fn what_is_no_member_has_no_number() {
        assert_eq!(of(TypeKind::Set, &["a"]).member_number(&"b".into()), None);
        assert_eq!(of(TypeKind::Set, &["a"]).member_number(&"a,".into()), None);
        assert_eq!(of(TypeKind::Enum, &["a"]).member_number(&"b".into()), None);
        assert_eq!(of(TypeKind::Enum, &["a"]).member_number(&"".into()), Some(0));
    }
}
