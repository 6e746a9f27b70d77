//! A session whose caller waits: for loading data, looking at counters, and checks.

use crate::link::Link;
use crate::session::{Account, Failure, Session};
use rustix::event::{PollFd, PollFlags, poll};
use std::future::Future;
use std::net::SocketAddrV4;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A connection that is used by one thread alone.
pub struct Blocking {
    link: Rc<Link>,
    session: Session,
}

impl Blocking {
    /// Connects and logs in.
    pub fn connect(to: SocketAddrV4, account: &Account) -> Result<Blocking, String> {
        let link = Rc::new(Link::connect(to, None)?);
        let session = block_on(&link, Session::log_in(Rc::clone(&link), account, false)).map_err(|e| format!("{to}: {e}"))?;
        Ok(Blocking { link, session })
    }

    /// Runs a statement.
    pub fn query(&mut self, sql: &str) -> Result<(), Failure> {
        block_on(&self.link, self.session.query(sql))
    }

    /// Runs a statement that must succeed.
    pub fn must(&mut self, sql: &str) -> Result<(), String> {
        let shown: String = sql.chars().take(120).collect();
        self.query(sql).map_err(|e| format!("{e} (of `{shown}`)"))
    }

    /// The first column of the first row, as text.
    pub fn text(&mut self, sql: &str) -> Result<String, String> {
        self.must(sql)?;
        Ok(self.session.reply().text(0, 0))
    }

    /// The first column of the first row, as a number.
    pub fn number(&mut self, sql: &str) -> Result<i64, String> {
        self.must(sql)?;
        Ok(self.session.reply().int(0, 0))
    }

    /// All rows of two columns.
    pub fn pairs(&mut self, sql: &str) -> Result<Vec<(String, String)>, String> {
        self.must(sql)?;
        let reply = self.session.reply();
        Ok((0..reply.row_count()).map(|row| (reply.text(row, 0), reply.text(row, 1))).collect())
    }
}

fn block_on<F: Future>(link: &Link, future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut buffer = vec![0; 64 << 10];
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        let fd = link.fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        // An interrupted wait is one that ended early; the link says what there is.
        let _ = poll(&mut fds, None);
        link.ready(&mut buffer);
    }
}
