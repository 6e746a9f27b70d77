//! Which version of a row a reader sees.
//!
//! # Invariants
//! 1. The chain is walked under the leaf's latch. On the way to a row that the reader sees nothing is released: every version up to and including that one was
//!    written by a transaction that the reader's view does not see, or is the seen one. Where the reader sees no row a record on the way may be gone (invariant 3).
//! 2. A row whose header has no undo address has no older version.
//! 3. Where a record on the way was released, no open view sees anything behind it.

use crate::undo_record::{Change, OldHeader, UndoRecord, older_body};
use crate::{Error, Result};
use base::{TxnId, UndoPtr};
use record::header::{DELETE_MARK, HEADER_BYTES, RowHeader};
use txn::ReadView;
use undo::UndoStore;

/// Reads the header of a row value.
#[inline]
pub(crate) fn header(value: &[u8]) -> Result<RowHeader> {
    RowHeader::read(value).map_err(|_| Error::corrupt("row shorter than its header"))
}

/// The bytes of the version that `view` sees, or `None` when for this reader there is no such row. Older versions are built in `buffer`.
#[inline]
pub(crate) fn visible<'v>(
    undo: &UndoStore,
    view: &ReadView,
    own: TxnId,
    value: &'v [u8],
    buffer: &'v mut Vec<u8>,
) -> Result<Option<&'v [u8]>> {
    let newest = header(value)?;
    if view.sees(newest.txn, own) {
        return Ok((newest.flags & DELETE_MARK == 0).then_some(value));
    }
    match walk(undo, newest, value, buffer, |version| view.sees(version.txn, own)) {
        Ok(Some(version)) if version.flags & DELETE_MARK == 0 => Ok(Some(buffer)),
        // What purge has released it has released because no open view sees anything behind it (`prune.rs`).
        Ok(_) | Err(Error::UndoGone) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of a row's newest version whose writer holds no locks any more, given that the newest one's does: `None` when there is no such row.
/// Older versions are built in `buffer`. [`Error::UndoGone`] when that writer has finished meanwhile: look again.
pub(crate) fn last_committed<'b>(
    undo: &UndoStore,
    holds_locks: impl Fn(TxnId) -> bool,
    value: &[u8],
    buffer: &'b mut Vec<u8>,
) -> Result<Option<&'b [u8]>> {
    let newest = header(value)?;
    // That writer may finish at any moment: what it wrote on the way to its newest version is nobody's to see then either.
    let found = walk(undo, newest, value, buffer, |version| version.txn != newest.txn && !holds_locks(version.txn))?;
    Ok(found.filter(|version| version.flags & DELETE_MARK == 0).map(|_| buffer.as_slice()))
}

/// Walks from the newest version to older ones until `stop` accepts one, and leaves that version's bytes in `buffer`.
/// `None` when the chain ends first.
pub(crate) fn walk(
    undo: &UndoStore,
    newest: RowHeader,
    value: &[u8],
    buffer: &mut Vec<u8>,
    mut stop: impl FnMut(&RowHeader) -> bool,
) -> Result<Option<RowHeader>> {
    let mut chain = Chain::new(undo, newest, value, std::mem::take(buffer));
    let found = loop {
        match chain.step() {
            Ok(Some(version)) if stop(&version) => break Ok(Some(version)),
            Ok(Some(_)) => {}
            Ok(None) => break Ok(None),
            Err(error) => break Err(error),
        }
    };
    *buffer = chain.buffer;
    found
}

/// Whether a version stands for a row that did not exist: deleted by nobody. (A row of nobody that is not deleted was copied by ALTER TABLE, and all see it.)
pub(crate) fn is_nothing(version: &RowHeader) -> bool {
    version.txn.is_none() && version.flags & DELETE_MARK != 0
}

/// Records for who may not read the undo file, as he holds a latch: those in memory, and some that were read before.
pub(crate) struct AtHand<'a> {
    pub(crate) undo: &'a UndoStore,
    pub(crate) read: &'a [(UndoPtr, Vec<u8>)],
}

impl AtHand<'_> {
    /// `None` when the record is not at hand.
    pub(crate) fn read<R>(&self, at: UndoPtr, f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        match self.read.iter().find(|(address, _)| *address == at) {
            Some((_, record)) => Ok(Some(f(record))),
            None => Ok(self.undo.read_in_memory(at, f)?),
        }
    }
}

/// The versions of a row, from the newest to older ones, as a reader meets them who sees none: where an undo record says that those who do not see the version
/// behind it go on further back, so does this.
pub(crate) struct Chain<'u> {
    undo: &'u UndoStore,
    version: RowHeader,
    /// The bytes of the version that the chain stands on.
    pub(crate) buffer: Vec<u8>,
    scratch: Vec<u8>,
    /// Where readers go on that do not see this version: header, prefix and suffix; its middle is in `skip_middle`.
    skip: Option<(RowHeader, usize, usize)>,
    skip_middle: Vec<u8>,
}

/// What a [`Chain`] builds rows in.
#[derive(Default)]
pub(crate) struct ChainBuffers {
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    skip_middle: Vec<u8>,
}

impl<'u> Chain<'u> {
    /// Stands on the newest version, whose bytes are copied into `buffer`.
    pub(crate) fn new(undo: &'u UndoStore, newest: RowHeader, value: &[u8], mut buffer: Vec<u8>) -> Chain<'u> {
        buffer.clear();
        buffer.extend_from_slice(value);
        Chain { undo, version: newest, buffer, scratch: Vec::new(), skip: None, skip_middle: Vec::new() }
    }

    /// [`Chain::new`] over a row with buffers that served before.
    pub(crate) fn with(undo: &'u UndoStore, newest: RowHeader, value: &[u8], buffers: ChainBuffers) -> Chain<'u> {
        let ChainBuffers { buffer, scratch, skip_middle } = buffers;
        Chain { scratch, skip_middle, ..Chain::new(undo, newest, value, buffer) }
    }

    /// The buffers, for another chain.
    pub(crate) fn into_buffers(self) -> ChainBuffers {
        ChainBuffers { buffer: self.buffer, scratch: self.scratch, skip_middle: self.skip_middle }
    }

    /// The header of the version that the chain stands on.
    pub(crate) fn version(&self) -> RowHeader {
        self.version
    }

    /// Whether the next step leads further back than to the version before.
    pub(crate) fn skips(&self) -> bool {
        self.skip.is_some()
    }

    /// Goes to the next older version that somebody may see who does not see this one. `None` when there is none.
    ///
    /// [`Error::UndoGone`] when the record was released: nobody sees what is behind it.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<Option<RowHeader>> {
        match self.skip.take() {
            Some((older, prefix, suffix)) => {
                let middle = std::mem::take(&mut self.skip_middle);
                self.apply(prefix, suffix, &middle)?;
                self.skip_middle = middle;
                Ok(Some(self.arrive(older)))
            }
            None => self.step_direct(),
        }
    }

    /// Goes to the version before this one.
    pub(crate) fn step_direct(&mut self) -> Result<Option<RowHeader>> {
        self.skip = None;
        let undo = self.undo;
        if self.version.undo.is_none() {
            return Ok(None);
        }
        let at = self.version.undo;
        undo.read(at, |bytes| self.take_record(bytes))??;
        self.went_back()
    }

    /// Like [`Chain::step`], when it needs no record that is not at hand; `Some(None)` when there is no version before, `None` when the record is not at hand.
    pub(crate) fn step_at_hand(&mut self, records: &AtHand<'_>) -> Result<Option<Option<RowHeader>>> {
        if self.skip.is_some() {
            return self.step().map(Some);
        }
        if self.version.undo.is_none() {
            return Ok(Some(None));
        }
        let at = self.version.undo;
        match records.read(at, |bytes| self.take_record(bytes))? {
            None => Ok(None),
            Some(taken) => taken.and_then(|()| self.went_back()).map(Some),
        }
    }

    fn went_back(&mut self) -> Result<Option<RowHeader>> {
        Ok((!is_nothing(&self.version)).then_some(self.version))
    }

    fn arrive(&mut self, older: RowHeader) -> RowHeader {
        self.version = older;
        older.write(&mut self.buffer);
        older
    }

    fn apply(&mut self, prefix: usize, suffix: usize, middle: &[u8]) -> Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.buffer[..HEADER_BYTES]);
        older_body(&self.buffer[HEADER_BYTES..], prefix, suffix, middle, &mut self.scratch)
            .ok_or_else(|| Error::corrupt("undo record that does not fit its row"))?;
        std::mem::swap(&mut self.buffer, &mut self.scratch);
        Ok(())
    }

    /// Takes the version back that an undo record describes.
    fn take_record(&mut self, bytes: &[u8]) -> Result<()> {
        let record = UndoRecord::decode(bytes).map_err(|_| Error::corrupt("undo record"))?;
        if record.txn != self.version.txn {
            return Err(Error::corrupt(format!("undo record of transaction {} behind a row of {}", record.txn, self.version.txn)));
        }
        match record.change {
            Change::Update { old, prefix, suffix, middle, skip, .. } => {
                self.apply(prefix, suffix, middle)?;
                if let Some(skip) = skip {
                    self.skip = Some((skip.old.into(), skip.prefix, skip.suffix));
                    self.skip_middle.clear();
                    self.skip_middle.extend_from_slice(skip.middle);
                }
                self.arrive(old.into());
            }
            Change::Delete { old, .. } => {
                self.arrive(old.into());
            }
            Change::Insert | Change::InsertRun { .. } | Change::Chain { .. } => {
                self.version.txn = TxnId::NONE;
                self.version.flags |= DELETE_MARK;
            }
        }
        Ok(())
    }
}

/// A [`Chain`] of headers alone: for those who ask which records a reader comes by, not what the rows were.
pub(crate) struct Headers<'u> {
    undo: &'u UndoStore,
    version: RowHeader,
    skip: Option<RowHeader>,
}

impl<'u> Headers<'u> {
    pub(crate) fn new(undo: &'u UndoStore, newest: RowHeader) -> Headers<'u> {
        Headers { undo, version: newest, skip: None }
    }

    /// As [`Chain::version`].
    pub(crate) fn version(&self) -> RowHeader {
        self.version
    }

    /// As [`Chain::skips`].
    pub(crate) fn skips(&self) -> bool {
        self.skip.is_some()
    }

    /// As [`Chain::step`].
    pub(crate) fn step(&mut self) -> Result<Option<RowHeader>> {
        match self.skip.take() {
            Some(older) => {
                self.version = older;
                Ok(Some(older))
            }
            None => self.step_direct(),
        }
    }

    /// As [`Chain::step_direct`].
    pub(crate) fn step_direct(&mut self) -> Result<Option<RowHeader>> {
        let at = self.version.undo;
        if at.is_none() {
            return Ok(None);
        }
        let writer = self.version.txn;
        let found = self.undo.read(at, |bytes| Behind::of(bytes, writer))??;
        Ok(self.went_back(found))
    }

    /// As [`Chain::step_at_hand`].
    pub(crate) fn step_at_hand(&mut self, records: &AtHand<'_>) -> Result<Option<Option<RowHeader>>> {
        if self.skip.is_some() {
            return self.step().map(Some);
        }
        let at = self.version.undo;
        if at.is_none() {
            return Ok(Some(None));
        }
        let writer = self.version.txn;
        match records.read(at, |bytes| Behind::of(bytes, writer))? {
            None => Ok(None),
            Some(found) => Ok(Some(self.went_back(found?))),
        }
    }

    fn went_back(&mut self, behind: Behind) -> Option<RowHeader> {
        self.skip = behind.skip.map(RowHeader::from);
        match behind.older {
            Some(older) => self.version = older.into(),
            None => {
                self.version.txn = TxnId::NONE;
                self.version.flags |= DELETE_MARK;
            }
        }
        (!is_nothing(&self.version)).then_some(self.version)
    }
}

/// What an undo record says of the versions behind the one that it belongs to.
struct Behind {
    /// The one before; `None` where there was no row.
    older: Option<OldHeader>,
    /// Where readers go on that do not see that one.
    skip: Option<OldHeader>,
}

impl Behind {
    /// Of a record that is to be of a change by `writer`.
    fn of(bytes: &[u8], writer: TxnId) -> Result<Behind> {
        let record = UndoRecord::decode(bytes).map_err(|_| Error::corrupt("undo record"))?;
        if record.txn != writer {
            return Err(Error::corrupt(format!("undo record of transaction {} behind a row of {writer}", record.txn)));
        }
        let (older, skip) = match record.change {
            Change::Update { old, skip, .. } => (Some(old), skip.map(|skip| skip.old)),
            Change::Delete { old, .. } => (Some(old), None),
            Change::Insert | Change::InsertRun { .. } | Change::Chain { .. } => (None, None),
        };
        Ok(Behind { older, skip })
    }
}
