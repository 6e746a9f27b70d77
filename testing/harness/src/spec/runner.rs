//! Runs the steps of a spec at one level.

use super::file::{Action, Level, SpecFile};
use super::session::{Answer, Session};
use super::waits::Waits;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// When a step has neither been answered nor is known to wait: a hang. Only reached by failures.
const STEP_DEADLINE: Duration = Duration::from_secs(60);

/// A server that runs.
#[derive(Debug, Clone)]
pub struct Place {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A database that the specs may drop and create.
    pub database: String,
}

impl Place {
    /// A server at `HOST:PORT`.
    pub fn parse(address: &str, database: &str) -> Result<Place, String> {
        let (host, port) = address.rsplit_once(':').ok_or(format!("{address}: expected HOST:PORT"))?;
        let port = port.parse().map_err(|_| format!("{address}: no port number"))?;
        Ok(Place { host: host.into(), port, database: database.into() })
    }

    pub(super) fn connect(&self, database: Option<&str>) -> Result<mysql::Conn, String> {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some(&self.host))
            .tcp_port(self.port)
            .user(Some("root"))
            .db_name(database)
            .prefer_socket(false);
        mysql::Conn::new(options).map_err(|e| e.to_string())
    }
}

struct Runner<'p> {
    place: &'p Place,
    level: Level,
    waits: Waits,
    sessions: BTreeMap<String, Session>,
}

/// Runs a spec in a fresh database; the answers are those of each step.
pub(super) fn run(place: &Place, spec: &SpecFile, level: Level) -> Result<Vec<Answer>, String> {
    let mut runner = Runner::begin(place, spec, level)?;
    let mut answers = Vec::new();
    for (text, action) in spec.steps() {
        answers.push(runner.step(action).map_err(|e| format!("{text}: {e}"))?);
    }
    runner.end()?;
    Ok(answers)
}

/// Runs a spec in a fresh database as far as it can be run: a step of a session that still waits, or of one that has gone, is left out, and has no answer.
pub fn attempt(place: &Place, spec: &SpecFile, level: Level) -> Result<Vec<Option<Vec<String>>>, String> {
    let mut runner = Runner::begin(place, spec, level)?;
    let mut answers = Vec::new();
    for (text, action) in spec.steps() {
        let can = match action {
            Action::Run { session, .. } => !runner.sessions.get(session).is_some_and(|session| session.pending),
            Action::Await { session } => runner.sessions.get(session).is_some_and(|session| session.pending),
            Action::Close { session } => runner.sessions.contains_key(session),
        };
        answers.push(if can { Some(runner.step(action).map_err(|e| format!("{text}: {e}"))?) } else { None });
    }
    runner.end()?;
    Ok(answers)
}

impl<'p> Runner<'p> {
    fn begin(place: &'p Place, spec: &SpecFile, level: Level) -> Result<Runner<'p>, String> {
        let mut waits = Waits::open(place)?;
        let database = &place.database;
        for sql in [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}"), format!("USE {database}")] {
            waits.run(&sql)?;
        }
        for sql in &spec.setup {
            waits.run(sql)?;
        }
        Ok(Runner { place, level, waits, sessions: BTreeMap::new() })
    }

    /// No session may wait any more.
    fn end(mut self) -> Result<(), String> {
        if let Some((name, _)) = self.sessions.iter().find(|(_, session)| session.pending) {
            return Err(format!("session {name} still waits at the end"));
        }
        self.sessions.clear();
        self.waits.run(&format!("DROP DATABASE {}", self.place.database))
    }

    fn step(&mut self, action: &Action) -> Result<Answer, String> {
        match action {
            Action::Run { session, sql, times } => {
                let sql = self.with_ids(sql)?;
                self.session(session)?.start(sql, *times)?;
                let mut answers = self.settle(None)?;
                let mut own = answers.remove(session).unwrap_or_else(|| vec!["waits".into()]);
                own.extend(others(answers));
                Ok(own)
            }
            Action::Await { session } => {
                if !self.session(session)?.pending {
                    return Err("the session has been answered".into());
                }
                Ok(others(self.settle(Some(session))?))
            }
            Action::Close { session } => {
                let closed = self.sessions.remove(session).ok_or("no such session")?;
                let id = closed.id;
                drop(closed);
                let deadline = Instant::now() + STEP_DEADLINE;
                while self.waits.connections()?.contains(&id) {
                    if Instant::now() > deadline {
                        return Err("the server keeps the connection".into());
                    }
                    std::thread::yield_now();
                }
                Ok(others(self.settle(None)?))
            }
        }
    }

    fn session(&mut self, name: &str) -> Result<&mut Session, String> {
        if !self.sessions.contains_key(name) {
            self.sessions.insert(name.into(), Session::open(self.place, &self.place.database, self.level)?);
        }
        self.sessions.get_mut(name).ok_or_else(|| "just opened".into())
    }

    /// Puts connection ids in the place of `$NAME`.
    fn with_ids(&mut self, sql: &str) -> Result<String, String> {
        let mut out = sql.to_string();
        for (name, session) in &self.sessions {
            out = out.replace(&format!("${name}"), &session.id.to_string());
        }
        if out.contains('$') { Err("$ names no session".into()) } else { Ok(out) }
    }

    /// Collects answers until each session either has answered or is seen waiting for a lock; `awaited` must answer.
    fn settle(&mut self, awaited: Option<&str>) -> Result<BTreeMap<String, Answer>, String> {
        let deadline = Instant::now() + STEP_DEADLINE;
        let mut answers = BTreeMap::new();
        let mut looks = 0;
        loop {
            let patience = self.waits.patience();
            let mut patience = Some(patience);
            let before = answers.len();
            for (name, session) in self.sessions.iter_mut().filter(|(_, session)| session.pending) {
                if let Some(answer) = session.poll(patience.take().unwrap_or_default()) {
                    answers.insert(name.clone(), answer);
                }
            }
            if answers.len() > before {
                looks = 0;
            }
            let pending: Vec<u32> = self.sessions.values().filter(|s| s.pending).map(|s| s.id).collect();
            if pending.is_empty() {
                return Ok(answers);
            }
            let waiting = self.waits.waiting()?;
            let still = awaited.is_some_and(|name| !answers.contains_key(name));
            looks = if !still && pending.iter().all(|id| waiting.contains(id)) { looks + 1 } else { 0 };
            if looks >= self.waits.looks() {
                return Ok(answers);
            }
            if Instant::now() > deadline {
                return Err(format!("no answer and no lock wait after {STEP_DEADLINE:?}"));
            }
        }
    }
}

/// The answers of sessions that this step let go on, with their names.
fn others(answers: BTreeMap<String, Answer>) -> Answer {
    answers.into_iter().flat_map(|(name, lines)| lines.into_iter().map(move |line| format!("{name}: {line}"))).collect()
}
