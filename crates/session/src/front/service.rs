//! The seam between the network front (`server`) and what answers commands.
//!
//! The server is generic over [`Service`]: in production the sessions of this crate, in the server's own tests and in the
//! canned-answer bench something trivial. Calls are static, one per command.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lsn;
use mysql_error::SqlError;
use protocol::PacketWriter;
use tls::Tls;

pub use engine::WaitOver;

use crate::accounts::Accounts;
use crate::front::command::{ClientIo, Command, Flow, Login};
use crate::front::compression::CompressionChoice;
use crate::front::connections::{Connection, Connections};

/// Settings of the front that may change while the server runs; read at each login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontSettings {
    /// `version`, sent in the greeting.
    pub server_version: String,
    /// `max_connections`; one more is let in for an administrator.
    pub max_connections: u32,
    /// `thread_cache_size`.
    pub thread_cache_size: u32,
    /// `altiplano_shared_threads_from`; asked at start only.
    pub shared_threads_from: u32,
    /// `altiplano_shared_threads_at_work`: sessions share threads also while so many of them, or more, send commands all the time; 0: only by the number of connections.
    pub shared_threads_at_work: u32,
    /// `altiplano_rest_after`: a session whose client has been silent for so long gives back its memory and thread; zero: never.
    pub rest_after: Duration,
    /// `altiplano_look_for_client`: for so long a thread that serves one session looks for its next command before it sleeps, if the client has been quick and nobody else is at work; zero: never.
    pub look_for_client: Duration,
    /// `altiplano_stand_in`: on two processors a client of the same machine is not looked for; a thread keeps the other processor busy, so that the client stays beside its thread.
    pub stand_in: bool,
    /// `altiplano_replies_together`: where sessions share threads, short replies go to the kernel some at a time; asked at start only.
    pub replies_together: bool,
    /// `max_allowed_packet`.
    pub max_allowed_packet: usize,
    /// `connect_timeout`.
    pub connect_timeout: Duration,
    /// `wait_timeout`.
    pub wait_timeout: Duration,
    /// `interactive_timeout`.
    pub interactive_timeout: Duration,
    /// `net_read_timeout`.
    pub net_read_timeout: Duration,
    /// `net_write_timeout`.
    pub net_write_timeout: Duration,
    /// `require_secure_transport`: only TLS and the unix socket are let in (3159).
    pub require_secure_transport: bool,
    /// `protocol_compression_algorithms`.
    pub compression: CompressionChoice,
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            server_version: "8.0.40-altiplano".to_owned(),
            max_connections: 10_000,
            thread_cache_size: 512,
            shared_threads_from: 16,
            shared_threads_at_work: 3,
            rest_after: Duration::from_secs(3),
            look_for_client: Duration::from_micros(50),
            stand_in: true,
            replies_together: true,
            max_allowed_packet: 64 << 20,
            connect_timeout: Duration::from_secs(10),
            wait_timeout: Duration::from_secs(28_800),
            interactive_timeout: Duration::from_secs(28_800),
            net_read_timeout: Duration::from_secs(30),
            net_write_timeout: Duration::from_secs(60),
            require_secure_transport: false,
            compression: CompressionChoice::default(),
        }
    }
}

/// What answers connections.
pub trait Service: Send + Sync + 'static {
    /// Answers one connection's commands.
    type Session: Session + Send;

    /// The registry, which KILL and the process list use.
    fn connections(&self) -> &Arc<Connections>;

    /// Connections are accepted from now on: what the first of them need not wait for may begin.
    fn accepts(&self) {}

    /// How many statements wait for a slot of admission.
    fn waiting_for_slots(&self) -> u32 {
        0
    }

    /// Whether a transaction that begins now would find a slot of admission. Whoever has one to begin, and is told no, asks again within a millisecond or so.
    fn has_room(&self) -> bool {
        true
    }

    /// Whether the log is durable up to there, or will never be.
    fn is_durable(&self, _up_to: Lsn) -> bool {
        true
    }

    /// Returns when it is; for so many sessions that wait for it without threads.
    fn make_durable(&self, _up_to: Lsn, _sessions: u32) {}

    /// Called by the watcher a few times a second, for what needs the time only roughly.
    fn tick(&self) {}

    /// Who may log in.
    fn accounts(&self) -> &dyn Accounts;

    /// What encrypts connections, if anything does.
    fn tls(&self) -> Option<&Tls> {
        None
    }

    /// Current settings.
    fn settings(&self) -> FrontSettings;

    /// Whether a login may take the connection that is kept free above `max_connections`.
    fn is_administrator(&self, login: &Login) -> bool;

    /// The client of a connection was not let in: told why, or (`None`) gone before it could be.
    fn login_refused(&self, _connection: u32, _error: Option<&SqlError>) {}

    /// Begins a session for a client that has authenticated. An error (unknown database, …) is sent and the connection ends.
    fn begin(&self, connection: Arc<Connection>, login: Login) -> Result<Self::Session, SqlError>;
}

/// One connection's session. Dropping it rolls back what is open and frees what it holds.
pub trait Session {
    /// What a session needs only while it is served, and any session could use: buffers, plans that the server's cache has as well. A thread that serves many sessions
    /// in turns lends some that are warm, so that the others bring none from afar.
    type Tools: Default + Send;

    /// Asks the processor's caches for what lies apart from the session and its next command touches: other sessions' commands have driven it out. A hint.
    fn bring_near(&self) {}

    /// Exchanges the session's tools for these. Between commands only.
    fn exchange_tools(&mut self, tools: &mut Self::Tools);

    /// Right after the login: the error that the client is told instead of the answer to its first command, behind which the connection ends.
    fn init_error(&self) -> Option<SqlError> {
        None
    }

    /// Answers one command. The reply is in `out` or already sent through `io`. Never called with Quit or ChangeUser.
    fn handle(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow;

    /// After [`Flow::Later`]: how far the log must be durable before the reply may go.
    fn awaits(&self) -> Lsn {
        Lsn::NONE
    }

    /// What is left to do of a command that ended with [`Flow::Later`], before anything else is asked of the session. Waits for the log, if that is not durable yet. An error takes the place of
    /// the reply.
    fn finish(&mut self) -> Result<(), SqlError> {
        Ok(())
    }

    /// Statements may wait for rows without a thread from now on ([`Flow::Left`], where [`ClientIo::may_reply_later`]). Who is told is told at the end of each such wait, perhaps before the
    /// command that waits has returned, and perhaps once more when another has begun.
    fn tell_of_waits(&mut self, _told: Arc<dyn WaitOver>) {}

    /// After [`Flow::Left`]: whether the wait is over.
    fn wait_is_over(&self) -> bool {
        true
    }

    /// After [`Flow::Left`]: what tells the row that it waits for apart from others that are waited for.
    fn waits_for(&self) -> u64 {
        0
    }

    /// After [`Flow::Left`]: when its time is over, at which [`Session::time_is_over`] ends it.
    fn waits_until(&self) -> Option<Instant> {
        None
    }

    /// Ends the wait of [`Flow::Left`]; nobody is told. `false` where it was over.
    fn time_is_over(&self) -> bool {
        false
    }

    /// After [`Flow::Left`], when the wait is over: goes on with the command, as [`Session::handle`] does.
    fn go_on(&mut self, _out: &mut PacketWriter, _io: &mut dyn ClientIo) -> Flow {
        Flow::Continue
    }

    /// COM_CHANGE_USER after authentication: all session state begins anew. The server sends OK or the error (and hangs up).
    fn change_user(&mut self, login: Login) -> Result<(), SqlError>;

    /// Status flags for replies that the server writes itself.
    fn status(&self) -> protocol::ServerStatus;

    /// Whether the session, which waits for its next command, is between transactions and holds nothing that others may wait for (no lock of any kind).
    fn holds_nothing(&self) -> bool;

    /// Whether a transaction of the session, or a statement that was its own, has asked for a slot of admission since this was asked last.
    fn take_asked(&mut self) -> bool {
        false
    }

    /// The client has sent COM_QUIT; the session ends next.
    fn client_quits(&mut self) {}

    /// The client has gone without a COM_QUIT, or was hung up; the session ends next.
    fn client_is_lost(&self) {}

    /// The client has been silent for a while: what takes memory and can be made again goes.
    fn rest(&mut self);

    /// What the session keeps over a silence is made anew by the calling thread, as far as it is small. A heap keeps a page for each size of what was made on it: on
    /// the session's own thread, which is gone, some dozens of bytes pin some dozens of KiB; on a thread that does this for all they lie close together.
    fn pack(&mut self) {}

    /// Largest packet that the session takes.
    fn max_allowed_packet(&self) -> usize;
}
