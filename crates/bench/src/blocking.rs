//! A session whose caller waits: for loading data, looking at counters, and checks.

use crate::endpoint::Endpoint;
use crate::link::Link;
use crate::session::{Account, Done, Failure, Session};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// A connection that is used by one thread alone.
pub struct Blocking {
    link: Rc<Link>,
    session: Session,
    endpoint: Endpoint,
}

/// Longest time for a login; statements may take as long as they take.
const LOGIN_SECONDS: u64 = 20;
const UNKNOWN_DATABASE: u16 = 1049;

impl Blocking {
    /// Connects and logs in; what is wrong is told in one line for the user.
    pub fn connect(to: Endpoint, account: &Account) -> Result<Blocking, String> {
        let link = Rc::new(Link::connect(&to, None)?);
        let deadline = Instant::now() + Duration::from_secs(LOGIN_SECONDS);
        match block_on(&link, Session::log_in(Rc::clone(&link), account, false), Some(deadline)) {
            Some(Ok(session)) => Ok(Blocking { link, session, endpoint: to }),
            Some(Err(Failure::Server(error))) if error.code == UNKNOWN_DATABASE => {
                Err(format!("{to}: {} (`altiplano bench prepare` makes it)", error.message))
            }
            Some(Err(failure @ Failure::Server(_))) => Err(format!("{to} does not let in user `{}`: {failure}", account.user)),
            Some(Err(failure)) => Err(format!("{to} cannot be used: {failure}")),
            None => Err(format!("{to} does not answer")),
        }
    }

    /// Where the server listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The server's process, when it is on this machine and may be looked into.
    pub fn server_process(&self) -> Option<u32> {
        self.link.server_process(&self.endpoint)
    }

    /// The server's version and its comment; empty when it does not tell.
    pub fn version(&mut self) -> String {
        let told = self.query("SELECT VERSION(), @@version_comment").is_ok();
        let reply = self.session.reply();
        let parts = [reply.text(0, 0), reply.text(0, 1)];
        if told { parts.join(" ").trim().to_owned() } else { String::new() }
    }

    /// Runs a statement.
    pub fn query(&mut self, sql: &str) -> Result<(), Failure> {
        self.wait(|session| session.query(sql))
    }

    /// Runs a statement that must succeed.
    pub fn must(&mut self, sql: &str) -> Result<(), String> {
        let shown: String = sql.chars().take(120).collect();
        self.query(sql).map_err(|e| format!("{e} (of `{shown}`)"))
    }

    /// Streams rows as the file of a LOAD DATA LOCAL INFILE; `rows` appends some and says whether there are more.
    pub fn load(&mut self, sql: &str, rows: impl FnMut(&mut Vec<u8>) -> bool) -> Result<(), Failure> {
        self.wait(|session| session.load(sql, rows))
    }

    fn wait<'a, F: Future<Output = Done> + 'a>(&'a mut self, work: impl FnOnce(&'a mut Session) -> F) -> Done {
        let link = Rc::clone(&self.link);
        block_on(&link, work(&mut self.session), None).unwrap_or_else(|| Err(Failure::Lost("no answer".to_owned())))
    }

    /// The first column of the first row, as text.
    pub fn text(&mut self, sql: &str) -> Result<String, String> {
        self.must(sql)?;
        Ok(self.session.reply().text(0, 0))
    }

    /// A column of the first row, as text.
    pub fn cell(&mut self, sql: &str, column: usize) -> Result<String, String> {
        self.must(sql)?;
        Ok(self.session.reply().text(0, column))
    }

    /// The first column of the first row, as a number.
    pub fn number(&mut self, sql: &str) -> Result<i64, String> {
        self.must(sql)?;
        Ok(self.session.reply().int(0, 0))
    }

    /// A column of the last row, as text.
    pub fn last_of(&mut self, sql: &str, column: usize) -> Result<String, String> {
        self.must(sql)?;
        let reply = self.session.reply();
        Ok(reply.text(reply.row_count().saturating_sub(1), column))
    }

    /// Rows that the last statement changed.
    pub fn affected_rows(&self) -> u64 {
        self.session.reply().affected_rows
    }

    /// All rows of two columns.
    pub fn pairs(&mut self, sql: &str) -> Result<Vec<(String, String)>, String> {
        self.must(sql)?;
        let reply = self.session.reply();
        Ok((0..reply.row_count()).map(|row| (reply.text(row, 0), reply.text(row, 1))).collect())
    }
}

/// Nothing when the deadline has passed.
fn block_on<F: Future>(link: &Link, future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut buffer = vec![0; 64 << 10];
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return None;
        }
        let timeout = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) });
        let fd = link.fd();
        let flags = if link.is_sending() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [PollFd::new(&fd, flags)];
        // An interrupted wait is one that ended early; the link says what there is.
        let _ = poll(&mut fds, timeout.as_ref());
        link.ready(&mut buffer, false);
    }
}
