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
    /// Positions that were set since somebody looked; `None` when nobody does.
    touched: Option<Vec<u16>>,
}

impl SessionVariables {
    /// Values of a new session.
    pub fn new(base: Arc<[Value]>) -> SessionVariables {
        SessionVariables { base, own: Vec::new(), touched: None }
    }

    /// The value in this session.
    pub fn get(&self, definition: &'static Definition) -> &Value {
        let at = index_of(definition);
        self.own.iter().find(|(no, _)| usize::from(*no) == at).map_or(&self.base[at], |(_, value)| value)
    }

    /// Notes from now on which are set, or does not.
    pub fn watch(&mut self, on: bool) {
        self.touched = on.then(Vec::new);
    }

    /// Whether any was set since somebody looked.
    pub fn has_touched(&self) -> bool {
        self.touched.as_ref().is_some_and(|touched| !touched.is_empty())
    }

    /// Positions of those that were set since somebody looked.
    pub fn take_touched(&mut self) -> Vec<u16> {
        self.touched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sets a checked value.
    pub fn set(&mut self, definition: &'static Definition, value: Value) {
        debug_assert_ne!(definition.scope, Scope::Global);
        if let Some(touched) = &mut self.touched {
            touched.push(index_of(definition) as u16);
        }
        self.set_silently(definition, value);
    }

    /// The same, which nobody is told.
    pub fn set_silently(&mut self, definition: &'static Definition, value: Value) {
        let at = index_of(definition);
        match self.own.iter_mut().find(|(no, _)| usize::from(*no) == at) {
            Some((_, old)) => *old = value,
            None => self.own.push((at as u16, value)),
        }
    }
}
