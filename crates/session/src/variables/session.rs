//! A session's values: what differs from the server's values at its start.

use super::table::{Definition, Scope, index_of};
use std::sync::Arc;
use types::Value;

/// A session's values.
pub struct SessionVariables {
    /// The server's values when the session began; shared by sessions that began alike.
    base: Arc<[Value]>,
    /// Positions and values set since.
    own: Vec<(u16, Value)>,
}

impl SessionVariables {
    /// Values of a new session.
    pub fn new(base: Arc<[Value]>) -> SessionVariables {
        SessionVariables { base, own: Vec::new() }
    }

    /// The value in this session.
    pub fn get(&self, definition: &'static Definition) -> &Value {
        let at = index_of(definition);
        self.own.iter().find(|(no, _)| usize::from(*no) == at).map_or(&self.base[at], |(_, value)| value)
    }

    /// Sets a checked value.
    pub fn set(&mut self, definition: &'static Definition, value: Value) {
        debug_assert_ne!(definition.scope, Scope::Global);
        let at = index_of(definition);
        match self.own.iter_mut().find(|(no, _)| usize::from(*no) == at) {
            Some((_, old)) => *old = value,
            None => self.own.push((at as u16, value)),
        }
    }
}
