//! Values as bytes: equal bytes for equal values (hashing), and bytes that order as values do (sorting).

use ::memory::Excess;
use types::{Collation, Value};

/// Set of keys.
pub type KeySet = hashbrown::HashSet<Box<[u8]>, foldhash::fast::RandomState>;
/// Map from keys.
pub type KeyMap<V> = hashbrown::HashMap<Box<[u8]>, V, foldhash::fast::RandomState>;

/// A key as it is looked up.
#[derive(Clone, Copy, Debug)]
pub enum Key<'k> {
    /// A single number that is an integer of 64 bits.
    Int(i64),
    /// Everything else, as [`append`] writes it.
    Bytes(&'k [u8]),
}

/// Map from keys with a table of its own for the commonest kind, a single integer: no bytes to write, to allocate and to compare.
#[derive(Debug)]
pub struct KeyTable<V> {
    ints: hashbrown::HashMap<i64, V, foldhash::fast::RandomState>,
    bytes: KeyMap<V>,
}

impl<V> Default for KeyTable<V> {
    fn default() -> KeyTable<V> {
        KeyTable { ints: hashbrown::HashMap::default(), bytes: KeyMap::default() }
    }
}

impl<V> KeyTable<V> {
    /// The value of a key.
    #[inline]
    pub fn get(&self, key: Key<'_>) -> Option<&V> {
        match key {
            Key::Int(i) => self.ints.get(&i),
            Key::Bytes(b) => self.bytes.get(b),
        }
    }

    /// Sets the value of a key; whether it is new. Fails where there is no room to grow.
    #[inline]
    pub fn insert(&mut self, key: Key<'_>, value: V) -> Result<bool, Excess> {
        match key {
            Key::Int(i) => {
                room_for_one(&mut self.ints)?;
                Ok(self.ints.insert(i, value).is_none())
            }
            Key::Bytes(b) => {
                room_for_one(&mut self.bytes)?;
                Ok(self.bytes.insert(b.into(), value).is_none())
            }
        }
    }
}

/// Room for one more entry; a table doubles when it is full.
#[inline]
fn room_for_one<K: Eq + std::hash::Hash, V>(map: &mut hashbrown::HashMap<K, V, foldhash::fast::RandomState>) -> Result<(), Excess> {
    if map.len() < map.capacity() {
        return Ok(());
    }
    ::memory::ask(2 * map.capacity() * (size_of::<(K, V)>() + 1))?;
    ::memory::fallible(|| map.try_reserve(1)).map_err(|_| ::memory::failed())
}

/// Adds a key to a set; whether it is new. Fails where there is no room to grow.
#[inline]
pub fn insert_key(set: &mut KeySet, key: &[u8]) -> Result<bool, Excess> {
    if set.len() == set.capacity() {
        ::memory::ask(2 * set.capacity() * (size_of::<Box<[u8]>>() + 1))?;
        ::memory::fallible(|| set.try_reserve(1)).map_err(|_| ::memory::failed())?;
    }
    Ok(set.insert(key.into()))
}

impl Key<'_> {
    /// Bytes that an entry takes, for memory accounting.
    pub fn entry_bytes(self) -> usize {
        match self {
            Key::Int(_) => 24,
            Key::Bytes(b) => b.len() + 48,
        }
    }
}

/// The key of a lone value. Numbers of all kinds that equal the same integer give the same key.
#[inline]
pub fn lone_key<'k>(v: &Value, collation: Collation, buffer: &'k mut Vec<u8>) -> Key<'k> {
    if let Some(i) = integer_of(v) {
        return Key::Int(i);
    }
    buffer.clear();
    append(v, collation, buffer);
    Key::Bytes(buffer)
}

/// The integer of 64 bits that a number equals.
#[inline]
pub fn integer_of(v: &Value) -> Option<i64> {
    match v {
        Value::Int(i) => Some(*i),
        Value::UInt(u) => i64::try_from(*u).ok(),
        Value::Decimal(d) => match d.normalize().as_i128() {
            Some((unscaled, 0)) => i64::try_from(unscaled).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Appends an integer as [`append`] does.
#[inline]
pub fn append_integer(i: i128, out: &mut Vec<u8>) {
    match i64::try_from(i) {
        Ok(i) => {
            let mut bytes = [11; 9];
            bytes[1..].copy_from_slice(&i.to_le_bytes());
            out.extend_from_slice(&bytes);
        }
        Err(_) => {
            let mut bytes = [1; 17];
            bytes[1..].copy_from_slice(&i.to_le_bytes());
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a string as [`append`] does.
#[inline]
pub fn append_bytes(text: &[u8], collation: Collation, out: &mut Vec<u8>) {
    out.push(5);
    append_text_key(text, collation, out);
}

/// Appends a string as [`append_ordered`] does.
#[inline]
pub fn append_ordered_bytes(text: &[u8], collation: Collation, out: &mut Vec<u8>) {
    out.push(1);
    append_text_key(text, collation, out);
}

/// Appends a value so that values that SQL calls equal give equal bytes. Exact numbers of any kind are one class.
pub fn append(v: &Value, collation: Collation, out: &mut Vec<u8>) {
    match v {
        Value::Null => out.push(0),
        Value::Int(i) => append_integer(i128::from(*i), out),
        Value::UInt(u) => append_integer(i128::from(*u), out),
        Value::Decimal(d) => {
            let normal = d.normalize();
            match normal.as_i128() {
                Some((unscaled, 0)) => append_integer(unscaled, out),
                Some((unscaled, scale)) => {
                    out.push(2);
                    out.push(scale);
                    out.extend_from_slice(&unscaled.to_le_bytes());
                }
                None => {
                    out.push(3);
                    let start = out.len();
                    out.extend_from_slice(&[0; 2]);
                    normal.write_to(out);
                    let bytes = (out.len() - start - 2) as u16;
                    out[start..start + 2].copy_from_slice(&bytes.to_le_bytes());
                }
            }
        }
        Value::Float(f) => append_double(f64::from(*f), out),
        Value::Double(d) => append_double(*d, out),
        Value::Bytes(b) => append_bytes(b, collation, out),
        Value::Date(d) => {
            out.push(6);
            out.extend_from_slice(&types::DateTime::from_date(*d).packed().to_le_bytes());
        }
        Value::DateTime(at) => {
            out.push(6);
            out.extend_from_slice(&at.packed().to_le_bytes());
        }
        Value::Time(t) => {
            out.push(7);
            out.extend_from_slice(&t.micros().to_le_bytes());
        }
        Value::Json(document) => {
            out.push(10);
            append_document(document, out);
        }
        Value::Timestamp(t) => {
            out.push(8);
            out.extend_from_slice(&t.micros().to_le_bytes());
        }
    }
}

/// Equal documents give equal bytes, and bytes order as documents do.
#[cold]
fn append_document(document: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if json::append_key(json::View::new(document), out).is_err() {
        // Damaged: equal to itself only, behind all that is not.
        out.truncate(start);
        out.push(0xFF);
        append_exact(&Value::Bytes(document.into()), out);
    }
}

fn append_double(d: f64, out: &mut Vec<u8>) {
    out.push(4);
    // Both zeros are equal.
    let d = if d == 0.0 { 0.0 } else { d };
    out.extend_from_slice(&d.to_bits().to_le_bytes());
}

fn append_text_key(b: &[u8], collation: Collation, out: &mut Vec<u8>) {
    // The key of a string carries its own end, so that the next value cannot be taken for a part of it.
    collation.append_key(b, out);
}

/// Appends a value so that only identical values give equal bytes (cache keys). Equal ones may differ: a document with 1 is another one than that with 1.0, two
/// of a SET may have the same text, a zero may have a sign.
pub fn append_exact(v: &Value, out: &mut Vec<u8>) {
    match v {
        Value::Bytes(b) | Value::Json(b) => {
            out.push(match v {
                Value::Json(_) => 10,
                _ if b.is_marked() => 12,
                _ => 9,
            });
            out.extend_from_slice(&(b.len() as u32).to_le_bytes());
            out.extend_from_slice(b);
        }
        Value::Double(d) => {
            out.push(13);
            out.extend_from_slice(&d.to_bits().to_le_bytes());
        }
        Value::Float(f) => {
            out.push(14);
            out.extend_from_slice(&f.to_bits().to_le_bytes());
        }
        Value::Decimal(d) => {
            out.extend_from_slice(&[15, d.scale()]);
            append(v, Collation::Binary, out);
        }
        Value::UInt(_) | Value::Date(_) => {
            out.push(16);
            append(v, Collation::Binary, out);
        }
        Value::Null | Value::Int(_) | Value::DateTime(_) | Value::Time(_) | Value::Timestamp(_) => append(v, Collation::Binary, out),
    }
}

/// Appends a value so that bytes order as values of one type do; NULL first.
pub fn append_ordered(v: &Value, collation: Collation, out: &mut Vec<u8>) {
    match v {
        Value::Null => {
            out.push(0);
            return;
        }
        _ => out.push(1),
    }
    match v {
        Value::Null => {}
        Value::Int(i) => {
            // Signed and unsigned integers of one expression order together: a sign byte, then the bits.
            out.push(u8::from(*i >= 0));
            out.extend_from_slice(&(*i as u64).to_be_bytes());
        }
        Value::UInt(u) => {
            out.push(1);
            out.extend_from_slice(&u.to_be_bytes());
        }
        Value::Decimal(d) => {
            if !d.encode_ordered(65, 30, out) {
                // More than 35 integer digits: as a double, which is all the order that is left.
                out.push(if d.is_negative() { 0 } else { 0xff });
                ordered_double(d.to_f64(), out);
            }
        }
        Value::Float(f) => ordered_double(f64::from(*f), out),
        Value::Double(d) => ordered_double(*d, out),
        Value::Bytes(b) => append_text_key(b, collation, out),
        Value::Date(d) => out.extend_from_slice(&types::DateTime::from_date(*d).packed().to_be_bytes()),
        Value::DateTime(at) => out.extend_from_slice(&at.packed().to_be_bytes()),
        Value::Time(t) => out.extend_from_slice(&((t.micros() as u64) ^ (1 << 63)).to_be_bytes()),
        Value::Timestamp(t) => out.extend_from_slice(&((t.micros() as u64) ^ (1 << 63)).to_be_bytes()),
        Value::Json(document) => append_document(document, out),
    }
}

fn ordered_double(d: f64, out: &mut Vec<u8>) {
    let d = if d == 0.0 { 0.0 } else { d };
    let bits = d.to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.extend_from_slice(&ordered.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Decimal;

    fn key(v: Value) -> Vec<u8> {
        let mut out = Vec::new();
        append(&v, Collation::DEFAULT, &mut out);
        out
    }

    #[test]
    fn equal_numbers_hash_equally() {
        assert_eq!(key(Value::Int(5)), key(Value::UInt(5)));
        assert_eq!(key(Value::Int(5)), key(Value::Decimal(Decimal::new(500, 2))));
        assert_ne!(key(Value::Int(5)), key(Value::Decimal(Decimal::new(501, 2))));
        assert_eq!(key(Value::Double(0.0)), key(Value::Double(-0.0)));
        assert_eq!(key(Value::from("a")), key(Value::from("A")));
    }

    #[test]
    fn equal_values_that_differ_have_exact_keys_of_their_own() {
        let exact = |v: &Value| {
            let mut out = Vec::new();
            append_exact(v, &mut out);
            out
        };
        let text = types::ByteString::from(b"a".to_vec());
        let pairs = [
            (Value::Double(0.0), Value::Double(-0.0)),
            (Value::Float(0.0), Value::Float(-0.0)),
            (Value::Decimal(Decimal::new(10, 1)), Value::Decimal(Decimal::new(100, 2))),
            (Value::Int(1), Value::UInt(1)),
            (Value::from("a"), Value::from("A")),
            (Value::Bytes(text.clone()), Value::Bytes(text.marked())),
        ];
        for (a, b) in &pairs {
            assert_eq!(key(a.clone()), key(b.clone()));
            assert_ne!(exact(a), exact(b));
            assert_eq!(exact(b), exact(&b.clone()));
        }
    }

    #[test]
    fn equal_numbers_have_one_lone_key() {
        let mut table = KeyTable::default();
        let mut buffer = Vec::new();
        let mut add = |v: Value| table.insert(lone_key(&v, Collation::DEFAULT, &mut buffer), ()).expect("room");
        assert!(add(Value::Int(5)));
        assert!(!add(Value::UInt(5)));
        assert!(!add(Value::Decimal(Decimal::new(500, 2))));
        assert!(add(Value::Decimal(Decimal::new(501, 2))));
        assert!(add(Value::UInt(u64::MAX)));
        assert!(!add(Value::Decimal(Decimal::new(i128::from(u64::MAX), 0))));
        assert!(add(Value::Int(-1)));
        assert!(add(Value::Null));
        assert!(!add(Value::Null));
    }

    #[test]
    fn ordered_bytes_order() {
        let check = |list: &[Value]| {
            let keys: Vec<Vec<u8>> = list
                .iter()
                .map(|v| {
                    let mut out = Vec::new();
                    append_ordered(v, Collation::DEFAULT, &mut out);
                    out
                })
                .collect();
            assert!(keys.windows(2).all(|w| w[0] < w[1]), "{list:?}");
        };
        check(&[Value::Null, Value::Int(i64::MIN), Value::Int(-1), Value::Int(0), Value::Int(7), Value::UInt(u64::MAX)]);
        check(&[Value::Double(-1e9), Value::Double(-1.5), Value::Double(0.0), Value::Double(2.0)]);
        check(&[Value::from(""), Value::from("a"), Value::from("ab"), Value::from("b")]);
    }
}
