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

/// See the module. Two boxes, as what is exchanged between sessions is cold on one side: a pointer is one line of it, and the tools themselves are the post's, and warm.
#[derive(Default)]
pub struct Tools {
    buffers: Box<engine::Buffers>,
    statement: Box<StatementTools>,
}

/// What a statement works with above the engine.
#[derive(Default)]
pub(crate) struct StatementTools {
    pub(crate) scratch: Scratch,
    pub(crate) plans: OwnPlans,
    pub(crate) texts: OwnTexts,
    /// Parameter values of the running statement.
    pub(crate) params: Vec<Value>,
    /// Literals lifted from the running statement's text.
    pub(crate) lifted: Vec<LiftedLiteral>,
    /// Syntax trees live here for one statement.
    pub(crate) arena: Bump,
}

impl StatementTools {
    /// Gives back what a session does not need that has been silent for a while; its plans stay in the server's cache.
    pub(crate) fn rest(&mut self) {
        self.scratch.shrink();
        let scratch = std::mem::take(&mut self.scratch);
        *self = StatementTools { scratch, ..StatementTools::default() };
    }
}

impl crate::ClientSession {
    /// Exchanges the session's tools for these.
    pub(crate) fn swap_tools(&mut self, tools: &mut Tools) {
        self.engine.exchange_buffers(&mut tools.buffers);
        std::mem::swap(&mut self.tools, &mut tools.statement);
    }
}
