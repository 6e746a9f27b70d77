//! One thread: its connections' tasks, polled when their replies have arrived.

use crate::link::Link;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

type Task = Pin<Box<dyn Future<Output = ()>>>;

struct Slot {
    link: Rc<Link>,
    task: Task,
}

/// The tasks of a thread.
pub struct Reactor {
    epoll: OwnedFd,
    slots: Vec<Option<Slot>>,
    events: Vec<epoll::Event>,
    buffer: Vec<u8>,
    running: usize,
    replies: u64,
}

/// Events taken at once: few enough that replies do not grow old in the list.
const EVENTS_MAX: usize = 256;
/// Received at once; a reply longer than this is received in pieces.
const RECEIVE_BYTES: usize = 64 << 10;

impl Reactor {
    /// Without tasks.
    pub fn new() -> Result<Reactor, String> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| format!("epoll: {e}"))?;
        Ok(Reactor {
            epoll,
            slots: Vec::new(),
            events: Vec::with_capacity(EVENTS_MAX),
            buffer: vec![0; RECEIVE_BYTES],
            running: 0,
            replies: 0,
        })
    }

    /// Adds a task and runs it until it waits.
    pub fn spawn(&mut self, link: Rc<Link>, task: impl Future<Output = ()> + 'static) -> Result<(), String> {
        let data = epoll::EventData::new_u64(self.slots.len() as u64);
        // Edge-triggered, so that nothing has to be set again: whoever is woken takes all there is.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, link.fd(), data, flags).map_err(|e| format!("epoll: {e}"))?;
        self.slots.push(Some(Slot { link, task: Box::pin(task) }));
        self.running += 1;
        self.poll(self.slots.len() - 1);
        Ok(())
    }

    /// Tasks that have not ended.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Replies that have arrived.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    fn poll(&mut self, at: usize) {
        let Some(slot) = &mut self.slots[at] else { return };
        if slot.task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            // Closing the socket takes it out of the epoll set.
            self.slots[at] = None;
            self.running -= 1;
        }
    }

    /// Polls all tasks: what they wait for is not only a reply.
    pub fn poll_all(&mut self) {
        (0..self.slots.len()).for_each(|at| self.poll(at));
    }

    /// Waits at most so long for replies and lets their tasks go on.
    pub fn turn(&mut self, millis: i64) -> Result<(), String> {
        let timeout = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("epoll: {error}")),
        }
        for index in 0..self.events.len() {
            let at = self.events[index].data.u64() as usize;
            let Some(slot) = &self.slots[at] else { continue };
            if slot.link.ready(&mut self.buffer) {
                self.replies += 1;
                self.poll(at);
            }
        }
        Ok(())
    }
}
