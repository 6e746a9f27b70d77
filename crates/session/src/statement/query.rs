//! COM_QUERY: one or several statements as text, each through the plan cache where it can be.

use crate::client_session::ClientSession;
use crate::error_map::{Outcome, parse_error};
use crate::statement::deep;
use crate::statement::enter::{STALE_PLANS_MAX, too_stale};
use crate::statement::plan_cache::{CachedPlan, PlanKey};
use crate::statement::planning::is_planned;
use crate::statement::run::Ran;
use crate::transaction::words;
use mysql_error::codes;
use parser::{LiteralKind, ast};
use protocol::ResultSink;
use std::sync::Arc;
use types::{Decimal, Value};

/// How an attempt at a statement of a text ended.
enum Tried {
    /// Its plan was stale, and nothing was done.
    Stale,
    /// It ran. `next`: where the statement that follows it begins, if one does.
    Done { next: Option<usize> },
}

impl Tried {
    #[inline]
    fn of(ran: Ran, next: Option<usize>) -> Tried {
        match ran {
            Ran::Stale => Tried::Stale,
            // Left only where nothing follows: the reply is written when it has gone on.
            Ran::Done | Ran::Left => Tried::Done { next },
        }
    }
}

impl ClientSession {
    /// Runs the statements of a text, one after the other, until one fails.
    #[inline(never)]
    pub(crate) fn query(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) {
        if self.logged.is_some() {
            return self.query_logged(sql, sink);
        }
        self.connection.set_statement(sql);
        let mut rest = sql;
        loop {
            self.more_results = false;
            match self.one_statement(rest, sink) {
                Ok(Some(at)) => {
                    rest = &rest[at..];
                    if !self.turn_to(rest, sink) {
                        return;
                    }
                    if self.is_logged() {
                        // Since a statement of this text.
                        return self.go_on_logged(rest, sink);
                    }
                }
                Ok(None) => return,
                Err(outcome) => {
                    self.more_results = false;
                    self.fail(sink, outcome);
                    return;
                }
            }
            if !self.begin_next(sink) {
                return;
            }
        }
    }

    /// Sends what a statement has answered, and turns to what follows it in its text: that may take long, and the client may want the answer before. False when the client has gone.
    pub(crate) fn turn_to(&mut self, rest: &[u8], sink: &mut ResultSink<'_>) -> bool {
        if sink.flush().is_err() {
            self.more_results = false;
            self.fail(sink, codes::query_interrupted().into());
            return false;
        }
        self.connection.set_statement(rest);
        true
    }

    /// Begins the next statement of a text; false when the account has run as many as it may.
    pub(crate) fn begin_next(&mut self, sink: &mut ResultSink<'_>) -> bool {
        self.begin_statement();
        if self.core.standing.is_limited()
            && let Err(error) = self.count_limited()
        {
            self.more_results = false;
            self.fail(sink, error.into());
            return false;
        }
        true
    }

    /// Runs the first statement of `sql`; `Some` offset when more statements follow.
    pub(crate) fn one_statement(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Option<usize>, Outcome> {
        for _ in 0..STALE_PLANS_MAX {
            if let Tried::Done { next } = self.try_statement(sql, sink)? {
                return Ok(next);
            }
        }
        Err(too_stale())
    }

    /// One attempt at a statement.
    fn try_statement(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Tried, Outcome> {
        if sql.len() <= words::BYTES_MAX
            && let Some(statement) = words::read(sql)
        {
            return self.run_statement(&statement, sql, sink).map(|ran| Tried::of(ran, None));
        }
        self.try_planned(sql, sink)
    }

    /// An attempt at a statement that is no short one about the transaction, which that one shall not pay for.
    #[inline(never)]
    fn try_planned(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Tried, Outcome> {
        let mode = self.lexical_mode();
        let environment = self.environment();
        let version = self.shared().catalog.version();
        if let Some((place, plan)) = self.tools.texts.take(sql, mode, environment, version, &self.core, &mut self.tools.lifted) {
            if self.bind_literals(sql).is_err() {
                self.tools.texts.put_back(place, plan);
                return self.query_plainly(sql, sink);
            }
            if self.suits_values(&plan) {
                let ran = self.run_or_leave(&plan, sink);
                self.tools.texts.put_back(place, plan);
                return ran.map(|ran| Tried::of(ran, None));
            }
        }
        let fingerprint = parser::fingerprint(sql, mode, &mut self.tools.lifted);
        if fingerprint.cacheable {
            let key = PlanKey { text: fingerprint.hash, environment };
            let found = match self.take_plan(&key) {
                Some(plan) if self.bind_literals(sql).is_err() => {
                    self.tools.plans.put(key, plan);
                    None
                }
                Some(plan) if self.suits_values(&plan) => Some((plan, self.following(sql, fingerprint.rest))),
                _ => self.plan_lifted(sql, &key, fingerprint.rest).map(|plan| (plan, self.following(sql, fingerprint.rest))),
            };
            if let Some((plan, next)) = found {
                let ran = next.and_then(|next| self.run_or_leave(&plan, sink).map(|ran| Tried::of(ran, next)));
                self.tools.texts.put(sql, environment, &plan);
                self.tools.plans.put(key, plan);
                return ran;
            }
        }
        self.query_plainly(sql, sink)
    }

    /// Without a plan by text: also where a literal's bytes are not of the type that its place in a plan has, and for the error to report.
    #[inline(never)]
    fn query_plainly(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) -> Result<Tried, Outcome> {
        let arena = std::mem::take(&mut self.tools.arena);
        let result = self.parse_and_run(sql, &arena, sink);
        self.give_back(arena);
        result
    }

    /// Plans a text whose literals are lifted, and binds them. `None` when it must go the plain way, which also finds the error to report.
    #[inline(never)]
    fn plan_lifted(&mut self, sql: &[u8], key: &PlanKey, rest: usize) -> Option<Arc<CachedPlan>> {
        self.stage("optimizing", "plan_lifted");
        let arena = std::mem::take(&mut self.tools.arena);
        let planned = match parser::parse_parameterised(sql, self.lexical_mode(), &arena) {
            Ok(parsed) if is_planned(&parsed.statement) => match self.bind_literals(sql) {
                Ok(()) => self.plan(&parsed.statement, sql).ok(),
                Err(_) => None,
            },
            _ => None,
        };
        self.give_back(arena);
        let mut plan = planned?;
        // Of several statements only the first would be told by the text as a whole.
        plan.template = if rest == sql.len() { parser::Template::new(sql, &self.tools.lifted) } else { None };
        let plan = Arc::new(plan);
        self.keep_plan(*key, &plan);
        Some(plan)
    }

    #[inline(never)]
    fn parse_and_run(&mut self, sql: &[u8], arena: &parser::Bump, sink: &mut ResultSink<'_>) -> Result<Tried, Outcome> {
        let parsed = match parser::parse(sql, self.lexical_mode(), arena).and_then(deep::checked) {
            Ok(parsed) => parsed,
            Err(error) if deep::asks_for_room(&error) => return deep::with_room(|| self.parse_and_run(sql, arena, sink)),
            Err(error) => {
                self.core.diagnostics.clear();
                return Err(parse_error(error).into());
            }
        };
        let next = self.following(sql, parsed.rest)?;
        if next.is_some() && matches!(parsed.statement, ast::Statement::Empty) {
            // Nothing before a semicolon is nothing only at the end.
            let at = sql[..parsed.rest].iter().rposition(|byte| *byte == b';').unwrap_or(parsed.rest);
            return Err(parse_error(parser::ParseError::syntax(sql, at)).into());
        }
        self.tools.params.clear();
        if parsed.param_count > 0 {
            // A placeholder has a meaning only in a prepared statement.
            return Err(parse_error(parser::ParseError::syntax(sql, placeholder_at(sql))).into());
        }
        let text = &sql[..parsed.rest.min(sql.len())];
        self.run_statement(&parsed.statement, text, sink).map(|ran| Tried::of(ran, next))
    }

    /// Where the next statement begins, if there is one and the client may send several.
    fn following(&mut self, sql: &[u8], rest: usize) -> Result<Option<usize>, Outcome> {
        let after = sql.get(rest..).unwrap_or_default();
        let is_nothing = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b';' | 0);
        // To who may send several, a comment is a statement that does nothing.
        if after.iter().all(is_nothing) || !self.multi_statements && is_blank(after) {
            return Ok(None);
        }
        if !self.multi_statements {
            return Err(parse_error(parser::ParseError::syntax(sql, rest)).into());
        }
        // As in MySQL only what runs is shown.
        let text = sql[..rest].trim_ascii();
        self.connection.set_statement(text.strip_suffix(b";").unwrap_or(text));
        self.more_results = true;
        Ok(Some(rest))
    }

    /// The lifted literals as parameter values.
    #[inline(never)]
    fn bind_literals(&mut self, sql: &[u8]) -> Result<(), Outcome> {
        self.tools.params.clear();
        let mode = self.lexical_mode();
        for literal in &self.tools.lifted {
            let value = match literal.kind {
                LiteralKind::Int => Value::Int(literal.int as i64),
                LiteralKind::UInt => Value::UInt(literal.int),
                LiteralKind::Decimal => match Decimal::parse_exact(literal.text(sql)) {
                    Some(decimal) => Value::Decimal(decimal),
                    None => Value::Double(types::parse_double_prefix(literal.text(sql))),
                },
                LiteralKind::Float => {
                    let text = String::from_utf8_lossy(literal.text(sql));
                    let value: f64 = text.parse().unwrap_or_default();
                    if value.is_infinite() {
                        return Err(mysql_error::codes::illegal_value_for_type("double", text).into());
                    }
                    Value::Double(value)
                }
                LiteralKind::String if !literal.escaped && types::is_ascii(literal.text(sql)) => Value::bytes(literal.text(sql)),
                LiteralKind::String => {
                    let mut text = Vec::new();
                    literal.write_string(sql, mode, &mut text).map_err(parse_error)?;
                    Value::bytes(text)
                }
            };
            self.tools.params.push(value);
        }
        Ok(())
    }

    /// The modes that change how text is read.
    #[inline]
    pub(crate) fn lexical_mode(&self) -> parser::SqlMode {
        self.core.settings.lexical_mode
    }

    /// Keeps a used arena for the next statement; one that grew large is given up.
    pub(crate) fn give_back(&mut self, mut arena: parser::Bump) {
        const KEPT_BYTES_MAX: usize = 64 << 10;
        if arena.allocated_bytes() <= KEPT_BYTES_MAX {
            arena.reset();
            self.tools.arena = arena;
        }
    }
}

/// White space, semicolons, comments and nothing else: what may follow a statement where several are not allowed.
pub(crate) fn is_blank(mut text: &[u8]) -> bool {
    let after = |text: &[u8], end: &[u8]| text.windows(end.len()).position(|at| at == end).map(|at| at + end.len());
    loop {
        let skipped = match text {
            [] => return true,
            [b';' | 0, ..] => 1,
            [space, ..] if space.is_ascii_whitespace() => 1,
            [b'#', ..] | [b'-', b'-'] | [b'-', b'-', 0..=b' ', ..] => after(text, b"\n").unwrap_or(text.len()),
            // What a comment with a version holds may be a statement.
            [b'/', b'*', rest @ ..] if rest.first() != Some(&b'!') => match after(rest, b"*/") {
                Some(end) => end + 2,
                None => return false,
            },
            _ => return false,
        };
        text = &text[skipped..];
    }
}

fn placeholder_at(sql: &[u8]) -> usize {
    sql.iter().position(|b| *b == b'?').unwrap_or(0)
}

/// 1065 for a text without a statement.
pub(crate) fn empty_query() -> Outcome {
    codes::empty_query().into()
}
