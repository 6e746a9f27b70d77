//! The control file: two slots written in turn, each naming a checkpoint; and the checkpoint's payload in a file of its own.
//!
//! A slot is one sector. The payload file that the newest valid slot names is never written, so a crash at any moment leaves
//! that slot and its payload whole.
//!
//! # Invariant
//! A slot whose write failed may be on the disk all the same. Until the same place was written anew and synced it may be the newest, so the payload file that it
//! names is not written either.

use crate::WalError;
use base::{Lsn, Reader, crc32c, put_u8, put_u32, put_u64};
use env::{AlignedBuf, DIRECT_ALIGN, Disk, File, FileKind, OpenMode};
use std::sync::Arc;

/// The control file.
pub const PATH: &str = "log/control";
const PAYLOAD_PATHS: [&str; 2] = ["log/checkpoint-0", "log/checkpoint-1"];
const MAGIC: u64 = u64::from_le_bytes(*b"ALTIWAL1");
const SLOT_BYTES: usize = 512;
/// Slots are this far apart, so that a device with 4 KiB sectors never tears both.
const SLOT_STRIDE: u64 = 4096;

/// No segment is larger.
const SEGMENT_BYTES_MAX: u64 = 1 << 40;
/// No log gets so long.
const POSITION_MAX: u64 = 1 << 62;

/// Where recovery begins and what it needs besides the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Every change below this position is in the data file or in the payload.
    pub redo_lsn: Lsn,
    /// The engine's own state.
    pub payload: Vec<u8>,
}

/// Contents of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) sequence: u64,
    pub(crate) epoch: u32,
    pub(crate) redo: u64,
    /// The log was durable up to here when the slot was written; a log that ends before is damaged.
    pub(crate) durable: u64,
    pub(crate) segment_bytes: u64,
    /// Whether there is a payload (no checkpoint was taken yet when not).
    pub(crate) has_payload: bool,
    pub(crate) payload_file: u8,
    pub(crate) payload_len: u64,
    pub(crate) payload_crc: u32,
}

impl Slot {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SLOT_BYTES);
        put_u64(&mut out, MAGIC);
        put_u64(&mut out, self.sequence);
        put_u32(&mut out, self.epoch);
        put_u64(&mut out, self.redo);
        put_u64(&mut out, self.durable);
        put_u64(&mut out, self.segment_bytes);
        put_u8(&mut out, u8::from(self.has_payload));
        put_u8(&mut out, self.payload_file);
        put_u64(&mut out, self.payload_len);
        put_u32(&mut out, self.payload_crc);
        let crc = crc32c(&out);
        put_u32(&mut out, crc);
        out.resize(SLOT_BYTES, 0);
        out
    }

    /// Whether the log can be as the slot says: its checksum tells only that these bytes were written. What is computed from them relies on it.
    fn is_possible(&self) -> bool {
        let segment_fits = self.segment_bytes.is_multiple_of(DIRECT_ALIGN as u64) && self.segment_bytes <= SEGMENT_BYTES_MAX;
        segment_fits && self.redo.max(self.durable) < POSITION_MAX
    }

    fn decode(bytes: &[u8]) -> Option<Slot> {
        let mut r = Reader::new(bytes);
        let mut slot = || {
            let magic = r.u64()?;
            let slot = Slot {
                sequence: r.u64()?,
                epoch: r.u32()?,
                redo: r.u64()?,
                durable: r.u64()?,
                segment_bytes: r.u64()?,
                has_payload: r.u8()? != 0,
                payload_file: r.u8()?,
                payload_len: r.u64()?,
                payload_crc: r.u32()?,
            };
            Ok::<_, base::Malformed>((magic, slot))
        };
        let (magic, slot) = slot().ok()?;
        let covered = bytes.len() - r.rest().len();
        let crc_fits = r.u32().ok()? == crc32c(&bytes[..covered]);
        (magic == MAGIC && crc_fits && slot.payload_file < 2 && slot.epoch > 0 && slot.segment_bytes > 0).then_some(slot)
    }
}

pub(crate) struct Control {
    file: Arc<dyn File>,
    disk: Arc<dyn Disk>,
    newest: Slot,
    /// The write of the slot behind [`Self::newest`] failed, or its sync.
    in_doubt: bool,
    /// Whether the names of the payload files are known to be durable. That a file is there does not say so: who made it may have failed, or died, before
    /// the directory was synced.
    payload_is_named: [bool; 2],
}

impl Control {
    pub(crate) fn exists(disk: &dyn Disk) -> Result<bool, WalError> {
        if !disk.exists(PATH)? {
            return Ok(false);
        }
        // A crash while the log was made leaves a control file without a valid slot: then there is no log.
        let file = disk.open(PATH, OpenMode::Existing, FileKind::Buffered)?;
        Ok(newest_slot(disk, &*file)?.is_some())
    }

    /// Makes the file; the log exists from the moment the slot is durable.
    pub(crate) fn create(disk: Arc<dyn Disk>, slot: Slot) -> Result<Control, WalError> {
        let file = disk.open(PATH, OpenMode::Create, FileKind::Buffered)?;
        // Written, not only grown, so that no later slot finds the disk full.
        file.write_at(&[0; 2 * SLOT_STRIDE as usize], 0)?;
        disk.sync_dir(crate::segments::DIR)?;
        let mut control = Control { file, disk, newest: slot, in_doubt: false, payload_is_named: [false; 2] };
        control.write_slot(slot)?;
        Ok(control)
    }

    /// Reads the newest slot and its payload. The slot is durable on return.
    pub(crate) fn open(disk: Arc<dyn Disk>) -> Result<(Control, Option<Checkpoint>), WalError> {
        if !disk.exists(PATH)? {
            return Err(WalError::Missing);
        }
        let file = disk.open(PATH, OpenMode::Existing, FileKind::Buffered)?;
        // What the device has: a slot whose sync has failed may be in the page cache as if it had come through.
        file.sync()?;
        file.forget_cached()?;
        let newest = newest_slot(&*disk, &*file)?.ok_or(WalError::Missing)?;
        if !newest.is_possible() {
            return Err(WalError::Corrupt { what: "the control file says what cannot be", lsn: Lsn(newest.redo) });
        }
        let checkpoint = read_payload(&*disk, &newest)?.map(|payload| Checkpoint { redo_lsn: Lsn(newest.redo), payload });
        let mut control = Control { file, disk, newest, in_doubt: false, payload_is_named: [false; 2] };
        // A process that was killed behind its write has left it in the page cache alone. Recovery acts on it (it gives places of undo away that this
        // checkpoint does not list), and a loss of power after that must not bring the one before back, which lists them. Written, not only synced: a sync of
        // it that failed may have left it there as if it were on the disk.
        control.write_slot(newest)?;
        Ok((control, checkpoint))
    }

    pub(crate) fn newest(&self) -> &Slot {
        &self.newest
    }

    /// A new epoch over the same checkpoint.
    pub(crate) fn write_epoch(&mut self, epoch: u32, durable: u64) -> Result<(), WalError> {
        self.write_slot(Slot { sequence: self.newest.sequence + 1, epoch, durable, ..self.newest })
    }

    /// A new checkpoint in the same epoch.
    pub(crate) fn write_checkpoint(&mut self, checkpoint: &Checkpoint, durable: u64) -> Result<(), WalError> {
        if self.in_doubt {
            // What is the newest for certain once more, in the place of what may be.
            self.write_slot(Slot { sequence: self.newest.sequence + 1, ..self.newest })?;
        }
        let payload_file = 1 - self.newest.payload_file;
        let path = PAYLOAD_PATHS[usize::from(payload_file)];
        let file = self.disk.open(path, OpenMode::Create, FileKind::Buffered)?;
        file.set_len(checkpoint.payload.len() as u64)?;
        if !checkpoint.payload.is_empty() {
            file.write_at(&checkpoint.payload, 0)?;
        }
        file.sync()?;
        if !self.payload_is_named[usize::from(payload_file)] {
            self.disk.sync_dir(crate::segments::DIR)?;
            self.payload_is_named[usize::from(payload_file)] = true;
        }
        self.write_slot(Slot {
            sequence: self.newest.sequence + 1,
            redo: checkpoint.redo_lsn.0,
            durable,
            has_payload: true,
            payload_file,
            payload_len: checkpoint.payload.len() as u64,
            payload_crc: crc32c(&checkpoint.payload),
            ..self.newest
        })
    }

    fn write_slot(&mut self, slot: Slot) -> Result<(), WalError> {
        self.in_doubt = true;
        self.file.write_at(&slot.encode(), slot.sequence % 2 * SLOT_STRIDE)?;
        self.file.sync()?;
        (self.newest, self.in_doubt) = (slot, false);
        Ok(())
    }
}

/// One of the two slots of a control file, as a tool sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlSlot {
    /// Never written.
    Empty,
    /// Bytes that are no slot: damage, or a write that a crash cut off.
    Invalid,
    /// A good slot.
    Good {
        /// Counts the slots written.
        sequence: u64,
        /// Recovery starts here.
        redo: Lsn,
        /// The log was durable up to here.
        durable: Lsn,
        /// Whether the checkpoint's payload that it names is whole.
        payload_fits: bool,
    },
}

/// Looks at both slots of the control file.
pub fn control_slots(disk: &dyn Disk) -> Result<[ControlSlot; 2], WalError> {
    if !disk.exists(PATH)? {
        return Err(WalError::Missing);
    }
    let file = disk.open(PATH, OpenMode::Existing, FileKind::Buffered)?;
    let slots = read_slots(disk, &*file)?;
    Ok(slots.map(|found| match found {
        Found::Slot(good) => ControlSlot::Good {
            sequence: good.sequence,
            redo: Lsn(good.redo),
            durable: Lsn(good.durable),
            payload_fits: read_payload(disk, &good).is_ok(),
        },
        Found::Zeros => ControlSlot::Empty,
        Found::Invalid => ControlSlot::Invalid,
    }))
}

/// What is where a slot belongs.
enum Found {
    Slot(Slot),
    /// It was never written.
    Zeros,
    Invalid,
}

/// Reads both slots. One that is neither a slot nor empty is read again past the page cache: it may have been spoilt on its way from the device, and the
/// other slot alone would lead to an older checkpoint.
fn read_slots(disk: &dyn Disk, file: &dyn File) -> Result<[Found; 2], WalError> {
    let len = file.len()?;
    let mut slots = [Found::Invalid, Found::Invalid];
    for (slot, start) in slots.iter_mut().zip([0, SLOT_STRIDE]) {
        if len < start + SLOT_BYTES as u64 {
            continue;
        }
        let mut bytes = [0; SLOT_BYTES];
        file.read_at(&mut bytes, start)?;
        *slot = judge(&bytes);
        if matches!(slot, Found::Invalid) && len >= start + SLOT_STRIDE {
            let direct = disk.open(PATH, OpenMode::Existing, FileKind::Direct)?;
            let mut block = AlignedBuf::new(SLOT_STRIDE as usize);
            direct.read_at(&mut block, start)?;
            *slot = judge(&block[..SLOT_BYTES]);
        }
    }
    Ok(slots)
}

fn judge(bytes: &[u8]) -> Found {
    match Slot::decode(bytes) {
        Some(slot) => Found::Slot(slot),
        None if bytes.iter().all(|byte| *byte == 0) => Found::Zeros,
        None => Found::Invalid,
    }
}

fn newest_slot(disk: &dyn Disk, file: &dyn File) -> Result<Option<Slot>, WalError> {
    let good = read_slots(disk, file)?.into_iter().filter_map(|found| if let Found::Slot(slot) = found { Some(slot) } else { None });
    Ok(good.max_by_key(|slot| slot.sequence))
}

fn read_payload(disk: &dyn Disk, slot: &Slot) -> Result<Option<Vec<u8>>, WalError> {
    if !slot.has_payload {
        return Ok(None);
    }
    let damaged = WalError::Corrupt { what: "the checkpoint's payload does not fit its checksum", lsn: Lsn(slot.redo) };
    let path = PAYLOAD_PATHS[usize::from(slot.payload_file)];
    if !disk.exists(path)? {
        return Err(damaged);
    }
    let file = disk.open(path, OpenMode::Existing, FileKind::Buffered)?;
    if file.len()? < slot.payload_len {
        return Err(damaged);
    }
    let mut payload = vec![0; slot.payload_len as usize];
    if !payload.is_empty() {
        file.read_at(&mut payload, 0)?;
    }
    if crc32c(&payload) == slot.payload_crc { Ok(Some(payload)) } else { Err(damaged) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SimDisk;

    const SLOT: Slot = Slot {
        sequence: 1,
        epoch: 1,
        redo: 4096,
        durable: 4096,
        segment_bytes: 1 << 16,
        has_payload: false,
        payload_file: 0,
        payload_len: 0,
        payload_crc: 0,
    };

    #[test]
    fn slots_round_trip_and_a_flipped_bit_is_found() {
        let mut bytes = SLOT.encode();
        assert_eq!(Slot::decode(&bytes), Some(SLOT));
        bytes[20] ^= 1;
        assert_eq!(Slot::decode(&bytes), None);
    }

    /// A checkpoint that found the disk full has made the payload's file, and its name is not durable; nor need it be when the process before has died.
    #[test]
    fn a_payload_whose_file_was_there_is_found_after_a_crash() {
        for seed in 0..20 {
            for killed in [false, true] {
                let disk = SimDisk::new(seed);
                disk.create_dir_all("log").expect("makes");
                let mut control = Control::create(Arc::new(disk.clone()), SLOT).expect("creates");
                let checkpoint = Checkpoint { redo_lsn: Lsn(5000), payload: vec![7; 3000] };
                disk.set_capacity(Some(2 * SLOT_STRIDE));
                control.write_checkpoint(&checkpoint, 4096).expect_err("no room");
                disk.set_capacity(None);
                if killed {
                    disk.kill();
                    (control, _) = Control::open(Arc::new(disk.clone())).expect("opens");
                }
                control.write_checkpoint(&checkpoint, 4096).expect("writes");
                disk.crash();
                let (_, found) = Control::open(Arc::new(disk)).unwrap_or_else(|error| panic!("seed {seed}, killed {killed}: {error}"));
                assert_eq!(found, Some(checkpoint));
            }
        }
    }

    /// A process is killed between the write of a slot and its sync, or stops as the sync has failed: what the next one has acted on stays, whatever the power does.
    #[test]
    fn a_slot_that_was_read_is_durable() {
        let mut newer = [0, 0];
        for seed in 0..40 {
            for sync_fails in [false, true] {
                let disk = SimDisk::new(seed);
                disk.create_dir_all("log").expect("makes");
                let mut control = Control::create(Arc::new(disk.clone()), SLOT).expect("creates");
                let checkpoint = |n: u8| Checkpoint { redo_lsn: Lsn(4096 + u64::from(n)), payload: vec![n; 2000] };
                (1..=2).for_each(|n| control.write_checkpoint(&checkpoint(n), 4096).expect("writes"));
                if sync_fails {
                    disk.plan_sync("log/control", 1);
                } else {
                    // Its payload's length, bytes and sync, the slot's bytes, its sync.
                    disk.crash_at(5);
                }
                control.write_checkpoint(&checkpoint(3), 4096).expect_err("fails");
                disk.kill();
                let (_, seen) = Control::open(Arc::new(disk.clone())).expect("opens");
                disk.crash();
                let (_, found) = Control::open(Arc::new(disk)).expect("opens");
                assert_eq!(found, seen, "seed {seed}, the sync fails: {sync_fails}");
                newer[usize::from(sync_fails)] += u32::from(seen == Some(checkpoint(3)));
            }
        }
        assert_eq!(newer[0], 40, "the page cache has what a killed process has written");
        assert!(newer[1] > 0, "{newer:?}");
    }

    /// The write or the sync of a slot fails, and the slot is there all the same; then a crash at any operation of the next checkpoints.
    #[test]
    fn a_slot_whose_write_failed_names_no_payload_that_is_written_again() {
        let mut came_through = 0;
        for seed in 0..60 {
            for at in 1..=10 {
                for fault in [Some(env::WriteFault::Full), Some(env::WriteFault::Short), Some(env::WriteFault::Torn), None] {
                    let disk = SimDisk::new(seed);
                    disk.create_dir_all("log").expect("makes");
                    let mut control = Control::create(Arc::new(disk.clone()), SLOT).expect("creates");
                    let checkpoint = |n: u8| Checkpoint { redo_lsn: Lsn(4096 + u64::from(n)), payload: vec![n; 2000 + usize::from(n)] };
                    (1..=2).for_each(|n| control.write_checkpoint(&checkpoint(n), 4096).expect("writes"));
                    match fault {
                        Some(fault) => disk.plan_write("log/control", 1, fault),
                        None => disk.plan_sync("log/control", 1),
                    }
                    control.write_checkpoint(&checkpoint(3), 4096).expect_err("fails");
                    disk.crash_at(at);
                    let last = (4..=6).take_while(|n| control.write_checkpoint(&checkpoint(*n), 4096).is_ok()).last();
                    disk.crash();
                    let (control, found) =
                        Control::open(Arc::new(disk)).unwrap_or_else(|error| panic!("seed {seed} at {at}, {fault:?}: {error}"));
                    let found = found.expect("has one").redo_lsn.0 - 4096;
                    assert!(found >= u64::from(last.unwrap_or(2)), "seed {seed} at {at}, {fault:?}: {found} after {last:?}");
                    came_through += u64::from(found == 3);
                    assert_eq!(control.newest().epoch, 1);
                }
            }
        }
        assert!(came_through > 0, "a slot whose write failed was there");
    }

    /// A crash at any operation of a checkpoint leaves the old or the new one, whole.
    #[test]
    fn a_crash_during_a_checkpoint_leaves_one_of_the_two() {
        for seed in 0..20 {
            for at in 1..=6 {
                let disk = SimDisk::new(seed);
                disk.create_dir_all("log").expect("makes");
                let mut control = Control::create(Arc::new(disk.clone()), SLOT).expect("creates");
                let checkpoint = |n: u8| Checkpoint { redo_lsn: Lsn(4096 + u64::from(n)), payload: vec![n; 2000 * usize::from(n)] };
                for n in 1..=3 {
                    control.write_checkpoint(&checkpoint(n), 4096).expect("writes");
                }
                control.write_epoch(2, 4096).expect("writes");
                disk.crash_at(at);
                let acknowledged = control.write_checkpoint(&checkpoint(4), 4096).is_ok();
                disk.crash();
                let (control, found) = Control::open(Arc::new(disk)).expect("opens");
                let found = found.expect("has one");
                assert_eq!(control.newest().epoch, 2);
                assert!(found == checkpoint(4) || (!acknowledged && found == checkpoint(3)), "seed {seed} at {at}: {:?}", found.redo_lsn);
            }
        }
    }
}
