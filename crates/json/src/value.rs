//! A document as a tree.

use types::{Date, DateTime, Decimal, Time};

/// A document or a part of one.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Json {
    /// The JSON null (SQL's NULL is no document).
    #[default]
    Null,
    /// true, false.
    Bool(bool),
    /// A number without point or exponent.
    Int(i64),
    /// The same, past the signed ones or made from an unsigned number.
    UInt(u64),
    /// A number with point or exponent, and integers of more than 64 bits.
    Double(f64),
    /// Made from an SQL DECIMAL; text has none.
    Decimal(Decimal),
    /// Text.
    String(String),
    /// Values in order.
    Array(Vec<Json>),
    /// Named values.
    Object(Object),
    /// Made from an SQL DATE.
    Date(Date),
    /// Made from an SQL TIME.
    Time(Time),
    /// Made from an SQL DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// Bytes, with the number that the client protocol gives their SQL type.
    Opaque(u8, Vec<u8>),
}

/// The members of an object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object {
    members: Vec<(String, Json)>,
}

/// What kind of value, in the order of comparison: a value of a later kind is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Null,
    Number,
    String,
    Object,
    Array,
    Bool,
    Date,
    Time,
    DateTime,
    Opaque,
    Bit,
    Blob,
}

/// Protocol numbers of the types whose values count as BLOB.
fn is_blob(field_type: u8) -> bool {
    matches!(field_type, 249..=252 | 15 | 253 | 254)
}

impl Kind {
    /// The kind of bytes of an SQL type.
    pub(crate) fn of_opaque(field_type: u8) -> Kind {
        match field_type {
            16 => Kind::Bit,
            other if is_blob(other) => Kind::Blob,
            _ => Kind::Opaque,
        }
    }
}

/// The order of names: shorter ones first, then by bytes.
pub(crate) fn name_order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Object {
    /// Without members.
    pub fn new() -> Object {
        Object::default()
    }

    /// From members in any order; of several with one name the last stays.
    pub fn from_members(mut members: Vec<(String, Json)>) -> Object {
        // Stable: equal names keep their order, so the last of a run is the one that came last.
        members.sort_by(|a, b| name_order(a.0.as_bytes(), b.0.as_bytes()));
        let mut sorted: Vec<(String, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match sorted.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => sorted.push(member),
            }
        }
        Object { members: sorted }
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.members.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The members by value, sorted.
    pub fn into_members(self) -> Vec<(String, Json)> {
        self.members
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.members.binary_search_by(|(own, _)| name_order(own.as_bytes(), name.as_bytes()))
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.find(name).ok().map(|at| &self.members[at].1)
    }

    /// The value of a member, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.find(name).ok().map(|at| &mut self.members[at].1)
    }

    /// Sets a member.
    pub fn insert(&mut self, name: String, value: Json) {
        match self.find(&name) {
            Ok(at) => self.members[at].1 = value,
            Err(at) => self.members.insert(at, (name, value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.find(name).ok().map(|at| self.members.remove(at).1)
    }
}

impl Json {
    /// Containers within one another: 1 for a scalar and for an empty container.
    pub fn depth(&self) -> usize {
        match self {
            Json::Array(list) => 1 + list.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(object) => 1 + object.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }
}
