//! Statements that nest deeper than a connection's stack is: they are read, planned and run on a larger one, which is made for each of them.
//!
//! A connection's stack has room for what people and mappers write; what a program writes by nesting one condition into the next may go to thousands of levels, which MySQL
//! takes. Only the parser knows, and before anything was done: it refuses what is too deep (1436) and is asked again here.
//!
//! # Invariants
//! 1. What definitions keep is read again on any thread, so no definition is deep: CREATE and ALTER are refused as before.
//! 2. A deep plan is in no cache: whoever found it there would have to know how to run it.

use parser::ast;

/// The larger stack. Only what is touched of it takes memory; a level takes up to 20 KiB in an unoptimised build.
const STACK_BYTES: usize = 192 << 20;

/// Runs this with room for statements of any depth that the parser reads.
#[cold]
pub(crate) fn with_room<R>(run: impl FnOnce() -> R) -> R {
    stacker::grow(STACK_BYTES, run)
}

/// Whether a statement that was found too deep is to be tried with more room.
#[cold]
pub(crate) fn asks_for_room(error: &parser::ParseError) -> bool {
    error.is_too_deep() && !parser::has_room()
}

/// Refuses statements that may not be deep.
///
/// # Errors
/// 1436.
pub(crate) fn checked(parsed: parser::Parsed<'_>) -> Result<parser::Parsed<'_>, parser::ParseError> {
    let may_be = match &parsed.statement {
        ast::Statement::Set(_) | ast::Statement::Do(_) => true,
        ast::Statement::Explain(explain) => match explain.target {
            ast::ExplainTarget::Statement(statement) => super::planning::is_planned(statement),
            _ => false,
        },
        statement => super::planning::is_planned(statement),
    };
    if parsed.is_deep && !may_be { Err(parser::ParseError::too_deep()) } else { Ok(parsed) }
}
