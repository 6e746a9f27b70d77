//! The scopes of the query blocks that are being bound, one within the other.
//!
//! Each block's scope is there as long as the block is bound, and its owner gets it back: [`Binder::enter`] is the only way in, and takes it out again however
//! binding ended. Beside the blocks stands a scope of no block, without relations: what is bound there finds no names, so that the innermost scope can always be asked
//! for.

use crate::binder::{Binder, Scope};
use std::ops::{Deref, DerefMut};

/// Query blocks from the outermost inward; as a slice, without the scope of no block.
#[derive(Debug)]
pub struct Scopes {
    blocks: Vec<Scope>,
    outside: Scope,
}

impl Scopes {
    /// No block.
    pub fn new() -> Scopes {
        Scopes { blocks: Vec::new(), outside: Scope::new() }
    }

    /// The innermost scope.
    pub fn innermost(&mut self) -> &mut Scope {
        self.blocks.last_mut().unwrap_or(&mut self.outside)
    }
}

impl Deref for Scopes {
    type Target = [Scope];

    fn deref(&self) -> &[Scope] {
        &self.blocks
    }
}

impl DerefMut for Scopes {
    fn deref_mut(&mut self) -> &mut [Scope] {
        &mut self.blocks
    }
}

impl<'c> Binder<'c> {
    /// Binds something in a scope within those that there are, and gives the scope back.
    pub fn enter<T>(&mut self, scope: Scope, bind: impl FnOnce(&mut Binder<'c>) -> T) -> (Scope, T) {
        self.scopes.blocks.push(scope);
        let bound = bind(self);
        // Every other entry has been left by now: the last one is this one.
        let scope = self.scopes.blocks.pop().unwrap_or_else(Scope::new);
        (scope, bound)
    }

    /// Binds something with none of the scopes in sight.
    pub fn outside_of_blocks<T>(&mut self, bind: impl FnOnce(&mut Binder<'c>) -> T) -> T {
        let blocks = std::mem::take(&mut self.scopes.blocks);
        let bound = bind(self);
        self.scopes.blocks = blocks;
        bound
    }
}
