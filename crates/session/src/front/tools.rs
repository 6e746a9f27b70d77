//! [`Tools`]: what a session works with and keeps nothing in.
//!
//! A session with a thread of its own has its own. One that is served in turns by threads that serve others as well (`server/src/front/turns.rs`) takes up the thread's when its
//! turn begins, which the turn before has left warm, and lays them down at its end: ten thousand sessions then work with some dozens of sets.
//!
//! # Invariant
//! Between commands nothing here is of this session rather than another: buffers are empty or about to be written over, and plans are found by keys that hold all that they depend on
//! (`plan_cache.rs`).

use crate::statement::plan_cache::{OwnPlans, OwnTexts};
use executor::Scratch;
use parser::{Bump, LiftedLiteral};
use types::Value;

/// See the module.
#[derive(Default)]
pub struct Tools {
    /// Boxed, as what is exchanged between sessions is cold on one side: a pointer is one line of it.
    buffers: Box<engine::Buffers>,
    scratch: Box<Scratch>,
    plans: OwnPlans,
    texts: OwnTexts,
    params: Vec<Value>,
    lifted: Vec<LiftedLiteral>,
    arena: Bump,
}

impl crate::ClientSession {
    /// Exchanges the session's tools for these.
    pub(crate) fn swap_tools(&mut self, tools: &mut Tools) {
        use std::mem::swap;
        self.engine.exchange_buffers(&mut tools.buffers);
        swap(&mut self.scratch, &mut tools.scratch);
        swap(&mut self.own_plans, &mut tools.plans);
        swap(&mut self.own_texts, &mut tools.texts);
        swap(&mut self.params, &mut tools.params);
        swap(&mut self.lifted, &mut tools.lifted);
        swap(&mut self.arena, &mut tools.arena);
    }
}
