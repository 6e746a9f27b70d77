//! Warm starts: which pages were in memory is written down, and a server that starts anew reads those pages again beside its first statements
//! (`docs/design/warm-start.md`).
//!
//! # Invariants
//! 1. The list is advice: without it, with one of another directory or with garbage in its place the server starts and serves, only colder.
//! 2. A page is read for the list's sake only into a frame that nobody needs, and only when it belongs to an index now.
//! 3. A good list is not replaced by one of a pool that is still being filled from it.
//! 4. All of it is done by one thread, a batch of pages at a time; between two batches it can be told to stop.
//!
//! # In this room
//! - `list.rs`: the list as bytes; `file.rs`: the file.
//!
//! # Start at
//! [`Engine::begin_warm_start`].

mod file;
mod list;

use crate::Result;
use crate::engine::Engine;
use base::PageNo;
use env::Disk;
use list::Unfit;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Mutex, Rank, Signal, thread};

/// The file's name unless another is set.
pub(crate) const FILE_DEFAULT: &str = "ib_buffer_pool";
/// Pages in flight at once: enough to keep a disk busy, and few enough that who reads one page waits for no more than these.
const BATCH_PAGES: usize = 32;
/// How often the list is written beside the statements, so that a start after a crash finds one: what it costs, some hundred kilobytes and a sync for each GiB of
/// pool, is not felt so seldom.
const INTERVAL: Duration = Duration::from_secs(120);

/// How warm starts are to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarmSettings {
    /// `innodb_buffer_pool_filename`: a file in the data directory.
    pub file: String,
    /// `innodb_buffer_pool_dump_pct`: how many of the pages in memory are listed, those that are used most.
    pub percent: u64,
    /// `innodb_buffer_pool_dump_at_shutdown`: the list is written when the engine is closed, and from time to time before.
    pub keeps: bool,
    /// `innodb_buffer_pool_load_at_startup`: the pages of the list are read when warm starts begin.
    pub loads: bool,
    /// Time between two lists while the engine runs.
    pub interval: Duration,
}

impl Default for WarmSettings {
    fn default() -> Self {
        WarmSettings { file: FILE_DEFAULT.to_owned(), percent: 100, keeps: true, loads: true, interval: INTERVAL }
    }
}

/// How the writing of a list stands (`Innodb_buffer_pool_dump_status`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpStatus {
    /// None has been written yet.
    NotBegun,
    /// It is under way, to this file.
    Running(String),
    /// Done at this time: microseconds since the epoch.
    Done(i64),
    /// The file could not be written, and why.
    Failed(String, String),
}

/// How the reading of the listed pages stands (`Innodb_buffer_pool_load_status`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadStatus {
    /// None were read yet.
    NotBegun,
    /// This file's turn comes, or it is being read.
    Begun(String),
    /// So many of so many pages were looked at.
    Running(usize, usize),
    /// Done at this time: microseconds since the epoch.
    Done(i64),
    /// The same, and nothing was in this file.
    Empty(i64, String),
    /// The file could not be read, and why.
    Unreadable(String, String),
    /// What is in the file is no list.
    Malformed(String),
    /// Somebody wanted it to end.
    Aborted,
}

/// What is asked of the thread, and how it stands.
struct State {
    settings: WarmSettings,
    wants_dump: bool,
    wants_load: bool,
    /// Pages are read, or their turn comes.
    loads: bool,
    /// Nobody has ended it before it was done.
    cut_short: bool,
    dump: DumpStatus,
    load: LoadStatus,
    /// Checksum and length of the list as it was written last.
    written: Option<(u32, usize)>,
    /// Why no list could be written, as the operator was told last: not each time.
    told: Option<String>,
}

struct Running {
    thread: thread::JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

/// Warm starts of an engine.
pub(crate) struct WarmStart {
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
    /// Somebody wants the pages not to be read on.
    abort: AtomicBool,
    wake: Signal,
    running: Mutex<Option<Running>>,
}

/// Why a list is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// Somebody said so.
    Asked,
    /// It was time, or the engine is being closed.
    Kept,
}

impl WarmStart {
    pub(crate) fn new(disk: Arc<dyn Disk>) -> WarmStart {
        let state = State {
            settings: WarmSettings::default(),
            wants_dump: false,
            wants_load: false,
            loads: false,
            cut_short: false,
            dump: DumpStatus::NotBegun,
            load: LoadStatus::NotBegun,
            written: None,
            told: None,
        };
        WarmStart {
            disk,
            state: Mutex::new(Rank::Leaf, state),
            abort: AtomicBool::new(false),
            wake: Signal::new(),
            running: Mutex::with_order(Rank::Catalog, 3, None),
        }
    }

    fn is_running(&self) -> bool {
        self.running.lock().is_some()
    }

    fn ask_for_load(&self) {
        let mut state = self.state.lock();
        // Before it is wanted: who wants it to end after this is heard.
        self.abort.store(false, Ordering::SeqCst);
        (state.wants_load, state.loads, state.cut_short) = (true, true, false);
        state.load = LoadStatus::Begun(state.settings.file.clone());
    }

    fn loaded(&self, status: LoadStatus) {
        let mut state = self.state.lock();
        // Asked for once more meanwhile: that is what is told of.
        if !state.wants_load {
            state.loads = false;
            state.load = status;
        }
    }
}

impl Engine {
    /// Says how warm starts are to be, from now on.
    pub fn set_warm_start(&self, settings: WarmSettings) {
        self.warm.state.lock().settings = settings;
    }

    /// Begins to read the pages of the list, if they are to be read at a start, and to write lists. To be called once sessions are served: until then nothing is read
    /// or written, whatever is asked for.
    pub fn begin_warm_start(self: &Arc<Engine>) -> Result<()> {
        let mut running = self.warm.running.lock();
        if running.is_some() {
            return Ok(());
        }
        if self.warm.state.lock().settings.loads {
            self.warm.ask_for_load();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let thread = self.spawn("warm-start", &stop, |engine, stop| engine.warm_loop(stop));
        *running = Some(Running { thread: thread.map_err(|error| crate::Error::Io(error.to_string()))?, stop });
        Ok(())
    }

    /// Has a list written soon (`innodb_buffer_pool_dump_now`).
    pub fn dump_pages_soon(&self) {
        if self.warm.is_running() {
            let mut state = self.warm.state.lock();
            state.wants_dump = true;
            state.dump = DumpStatus::Running(state.settings.file.clone());
            drop(state);
            self.warm.wake.notify();
        }
    }

    /// Has the pages of the list read soon (`innodb_buffer_pool_load_now`).
    pub fn load_pages_soon(&self) {
        if self.warm.is_running() {
            self.warm.ask_for_load();
            self.warm.wake.notify();
        }
    }

    /// Ends the reading of the list's pages, if it is under way (`innodb_buffer_pool_load_abort`).
    pub fn abort_load(&self) {
        let state = self.warm.state.lock();
        if state.loads {
            self.warm.abort.store(true, Ordering::SeqCst);
        }
    }

    /// How the writing of the list stands.
    pub fn dump_status(&self) -> DumpStatus {
        self.warm.state.lock().dump.clone()
    }

    /// How the reading of the list's pages stands.
    pub fn load_status(&self) -> LoadStatus {
        self.warm.state.lock().load.clone()
    }

    /// Ends the thread. With `clean` the list is written, if it is to be.
    pub(crate) fn end_warm_start(&self, clean: bool) {
        let Some(running) = self.warm.running.lock().take() else { return };
        running.stop.store(true, Ordering::SeqCst);
        self.warm.wake.notify();
        let _ = running.thread.join();
        if clean && self.warm.state.lock().settings.keeps {
            self.dump_pages(Occasion::Kept);
        }
    }

    fn warm_loop(&self, stop: &AtomicBool) {
        let mut last = Instant::now();
        while !stop.load(Ordering::SeqCst) {
            let (wants_dump, wants_load, keeps, interval) = {
                let mut state = self.warm.state.lock();
                let wants = (std::mem::take(&mut state.wants_dump), std::mem::take(&mut state.wants_load));
                (wants.0, wants.1, state.settings.keeps, state.settings.interval)
            };
            if wants_load {
                self.load_pages(stop);
            }
            if wants_dump {
                self.dump_pages(Occasion::Asked);
            }
            if last.elapsed() >= interval {
                last = Instant::now();
                if keeps {
                    self.dump_pages(Occasion::Kept);
                }
            }
            if !stop.load(Ordering::SeqCst) {
                self.warm.wake.wait(Some(last + interval));
            }
        }
    }

    /// Writes the list for somebody who has no thread for that, and says how that has ended.
    pub(crate) fn dump_pages_here(&self) -> DumpStatus {
        self.dump_pages(Occasion::Asked);
        self.dump_status()
    }

    /// Reads the pages of the list for somebody who has no thread for that, and says how that has ended.
    pub(crate) fn load_pages_here(&self) -> LoadStatus {
        self.load_pages(&AtomicBool::new(false));
        self.load_status()
    }

    /// Writes the list.
    fn dump_pages(&self, occasion: Occasion) {
        let (settings, written) = {
            let state = self.warm.state.lock();
            if occasion == Occasion::Kept && (state.loads || state.cut_short) {
                return;
            }
            (state.settings.clone(), state.written)
        };
        let mut pages = self.pool.resident_pages();
        pages.truncate(share(pages.len(), settings.percent));
        let bytes = list::encode(&pages);
        let now = Some((base::crc32c(&bytes), bytes.len()));
        // An idle server writes nothing.
        let outcome =
            if occasion == Occasion::Kept && now == written { Ok(()) } else { file::write(&*self.warm.disk, &settings.file, &bytes) };
        let failure = outcome.as_ref().err().map(|error| format!("the list of the buffer pool's pages, {}: {error}", settings.file));
        let is_news = {
            let mut state = self.warm.state.lock();
            state.written = if failure.is_none() { now } else { None };
            state.dump = match outcome {
                Ok(()) => DumpStatus::Done(self.clock.wall_us()),
                Err(error) => DumpStatus::Failed(settings.file, error.to_string()),
            };
            std::mem::replace(&mut state.told, failure.clone()) != failure
        };
        if let (Some(text), true) = (failure, is_news) {
            (self.config.on_warning)(&text);
        }
    }

    /// Reads the pages of the list.
    pub(crate) fn load_pages(&self, stop: &AtomicBool) {
        let name = self.warm.state.lock().settings.file.clone();
        let begun = Instant::now();
        let status = match file::read(&*self.warm.disk, &name, self.pool.config().frames) {
            Ok(pages) if pages.is_empty() => LoadStatus::Empty(self.clock.wall_us(), name),
            Ok(pages) => {
                let Some((read, status)) = self.bring_listed(&pages, stop) else {
                    let mut state = self.warm.state.lock();
                    (state.loads, state.cut_short) = (false, true);
                    return;
                };
                let (count, seconds) = (pages.len(), begun.elapsed().as_secs_f64());
                (self.config.on_note)(&format!("buffer pool: {read} of the {count} pages listed in {name} read in {seconds:.2} s"));
                status
            }
            Err(Unfit::Malformed) => {
                (self.config.on_warning)(&format!("{name} is no list of the buffer pool's pages, or not all of one; it is passed over"));
                LoadStatus::Malformed(name)
            }
            Err(Unfit::Io(error)) => {
                // A new directory has none.
                if error.kind() != std::io::ErrorKind::NotFound {
                    (self.config.on_warning)(&format!("the list of the buffer pool's pages, {name}: {error}; it is passed over"));
                }
                LoadStatus::Unreadable(name, error.to_string())
            }
        };
        self.warm.loaded(status);
    }

    /// Brings listed pages into memory, as far as there is room: how many, and how that has ended; `None` when the engine is being closed meanwhile.
    fn bring_listed(&self, pages: &[PageNo], stop: &AtomicBool) -> Option<(usize, LoadStatus)> {
        let (mut read, mut wanted) = (0, Vec::with_capacity(BATCH_PAGES));
        for (number, batch) in pages.chunks(BATCH_PAGES).enumerate() {
            if stop.load(Ordering::SeqCst) {
                return None;
            }
            if self.warm.abort.swap(false, Ordering::SeqCst) {
                return Some((read, LoadStatus::Aborted));
            }
            wanted.clear();
            for page in batch.iter().copied() {
                match self.is_to_be_brought(page) {
                    Ok(true) => wanted.push(page),
                    Ok(false) => {}
                    // A broken page of the map: not to be read in vain for each of its pages, and most of these are.
                    Err(_) => break,
                }
            }
            let brought = self.pool.bring_kept(&wanted);
            read += brought.read;
            if brought.out_of_frames {
                break;
            }
            let mut state = self.warm.state.lock();
            if !state.wants_load {
                state.load = LoadStatus::Running(number * BATCH_PAGES + batch.len(), pages.len());
            }
        }
        Some((read, LoadStatus::Done(self.clock.wall_us())))
    }

    /// Whether a listed page is an index's and not in memory.
    fn is_to_be_brought(&self, page: PageNo) -> Result<bool> {
        if page.0 >= self.pool.store().page_count() || self.pool.is_resident(page) {
            return Ok(false);
        }
        Ok(self.space.owner_of(page)?.is_some())
    }
}

/// So many percent, rounded up.
fn share(count: usize, percent: u64) -> usize {
    (count as u64 * percent.min(100)).div_ceil(100) as usize
}

/// A list of any pages, in the place of the engine's own.
pub(crate) fn write_list(disk: &dyn Disk, pages: &[PageNo]) -> std::io::Result<()> {
    file::write(disk, FILE_DEFAULT, &list::encode(pages))
}
