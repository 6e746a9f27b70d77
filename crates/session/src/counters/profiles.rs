//! Profiles of a session's statements (`profiling`): what each spent its time on, for SHOW PROFILES, SHOW PROFILE and `information_schema.PROFILING`.
//!
//! # Invariants
//! 1. Profiles are a session's own; nothing of them is shared but the count of sessions that keep any (`QueryLogs::count_profiler`), by which statements take the way of
//!    those that are logged.
//! 2. A statement is kept when profiling was on as it began and is on as it ends; statements about profiles are not kept.
//! 3. Stages bear MySQL's names where they do what MySQL's stage of that name does. Stages that MySQL has and that are no step of their own here are not told.

use crate::context::Core;
use crate::shared::Shared;
use crate::variables::variable;
use env::ThreadUsage;
use parser::ast::{PrepareSource, ShowKind, Statement};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a statement's text that are kept, as MySQL's.
const TEXT_BYTES_MAX: usize = 300;

/// A moment, and what the thread had taken until then.
#[derive(Clone, Copy)]
struct Moment {
    time: Instant,
    usage: ThreadUsage,
}

impl Moment {
    fn now() -> Moment {
        Moment { time: Instant::now(), usage: ThreadUsage::now() }
    }
}

/// Where in the program a stage begins.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub function: &'static str,
    location: &'static Location<'static>,
}

impl Place {
    /// The file's name, without its directory.
    pub(crate) fn file(&self) -> &'static str {
        let path = self.location.file();
        path.rsplit('/').next().unwrap_or(path)
    }

    pub(crate) fn line(&self) -> u32 {
        self.location.line()
    }
}

struct Begun {
    name: &'static str,
    place: Option<Place>,
    at: Moment,
}

/// The profile of a statement that runs.
pub(crate) struct Running {
    text: Vec<u8>,
    stages: Vec<Begun>,
}

impl Running {
    fn begin() -> Running {
        Running { text: Vec::new(), stages: vec![Begun { name: "starting", place: None, at: Moment::now() }] }
    }

    /// The statement's next stage begins.
    #[track_caller]
    pub(crate) fn stage(&mut self, name: &'static str, function: &'static str) {
        let place = Place { function, location: Location::caller() };
        self.stages.push(Begun { name, place: Some(place), at: Moment::now() });
    }

    /// Keeps a text, unless it has one already.
    pub(crate) fn take_text(&mut self, text: &[u8]) {
        if self.text.is_empty() {
            self.text.extend_from_slice(&text[..text.len().min(TEXT_BYTES_MAX)]);
        }
    }
}

/// The profile of a statement that has run.
pub(crate) struct Profile {
    /// Its number: the first one of a session is 1.
    pub id: u32,
    /// The first bytes of its text.
    pub text: Vec<u8>,
    stages: Vec<Begun>,
    ended: Moment,
}

/// A stage of a profile: its name, where it began, how long it took and what its thread took meanwhile.
pub(crate) struct Stage {
    pub name: &'static str,
    pub place: Option<Place>,
    pub time: Duration,
    pub usage: ThreadUsage,
}

impl Profile {
    /// How long the statement took.
    pub(crate) fn time(&self) -> Duration {
        self.stages.first().map_or(Duration::ZERO, |first| self.ended.time.saturating_duration_since(first.at.time))
    }

    /// Its stages, in their order.
    pub(crate) fn stages(&self) -> impl Iterator<Item = Stage> {
        let ends = self.stages.iter().skip(1).map(|next| next.at).chain([self.ended]);
        self.stages.iter().zip(ends).map(|(stage, end)| Stage {
            name: stage.name,
            place: stage.place,
            time: end.time.saturating_duration_since(stage.at.time),
            usage: end.usage.since(&stage.at.usage),
        })
    }
}

/// The profiles that a session keeps.
pub struct Profiles {
    shared: Arc<Shared>,
    is_on: bool,
    last_id: u32,
    kept: VecDeque<Profile>,
}

impl Profiles {
    /// Those that are kept, the oldest first.
    pub(crate) fn kept(&self) -> &VecDeque<Profile> {
        &self.kept
    }

    fn switch(&mut self, on: bool) {
        if self.is_on != on {
            self.is_on = on;
            self.shared.query_logs.count_profiler(on);
        }
    }

    fn keep_only(&mut self, count: usize) {
        self.kept.drain(..self.kept.len().saturating_sub(count));
    }
}

impl Drop for Profiles {
    fn drop(&mut self) {
        self.switch(false);
    }
}

impl Core {
    /// `profiling` is set. What has been kept stays when it is switched off.
    pub(crate) fn switch_profiling(&mut self, on: bool) {
        if on && self.profiles.is_none() {
            let (shared, kept) = (Arc::clone(&self.shared), VecDeque::new());
            self.profiles = Some(Box::new(Profiles { shared, is_on: false, last_id: 0, kept }));
        }
        if let Some(profiles) = &mut self.profiles {
            profiles.switch(on);
        }
    }

    /// `profiling_history_size` is set: the newest stay.
    pub(crate) fn keep_profiles(&mut self, count: usize) {
        if let Some(profiles) = &mut self.profiles {
            profiles.keep_only(count);
        }
    }

    /// A profile of the statement that begins, if the session keeps any.
    pub(crate) fn begin_profile(&self) -> Option<Running> {
        self.profiles.as_ref().filter(|profiles| profiles.is_on).map(|_| Running::begin())
    }

    /// Keeps the profile of a statement that has ended.
    pub(crate) fn keep_profile(&mut self, running: Running) {
        let count = self.number(variable!("profiling_history_size")) as usize;
        let Some(profiles) = self.profiles.as_mut().filter(|profiles| profiles.is_on) else { return };
        profiles.last_id = profiles.last_id.wrapping_add(1);
        let Running { text, stages } = running;
        profiles.kept.push_back(Profile { id: profiles.last_id, text, stages, ended: Moment::now() });
        profiles.keep_only(count);
    }
}

/// Whether the first statement of a text shows profiles, or prepares to.
pub(crate) fn is_about_profiles(sql: &[u8], mode: parser::SqlMode) -> bool {
    // Most are not: they need not be read again.
    let words = sql.trim_ascii_start();
    let begins = |word: &str| words.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()));
    if !begins("show") && !begins("prepare") && !words.starts_with(b"/") && !words.starts_with(b"-") && !words.starts_with(b"#") {
        return false;
    }
    let arena = parser::Bump::new();
    let Ok(parsed) = parser::parse(sql, mode, &arena) else { return false };
    match &parsed.statement {
        Statement::Show(show) => matches!(show.what, ShowKind::Profiles | ShowKind::Profile { .. }),
        Statement::Prepare { source: PrepareSource::Text(text), .. } => is_about_profiles(text, mode),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::ddl::tests::Server;

    #[test]
    fn who_keeps_profiles_is_looked_at_alone() {
        let server = Server::new();
        let (mut one, two) = (server.connect(), server.connect());
        assert_eq!(one.run("SET profiling = 1"), "ok 0");
        assert!(one.session.is_logged());
        assert!(!two.session.is_logged());
    }
}
