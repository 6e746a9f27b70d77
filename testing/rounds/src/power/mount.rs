//! The disk as a mounted file system.

use super::disk::{Disk, Kind, ROOT, Refused};
use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, MountOption,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite,
    Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use sync::{Arc, Mutex};

/// Nothing is kept by the kernel: after a failure it would be wrong.
const TTL: Duration = Duration::ZERO;
/// Threads that answer: as many syncs may take their time at once.
const THREADS: usize = 8;
/// Bits of a mode that say what kind a node is, and those of a regular file.
const KIND_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
/// Of `fallocate`.
const KEEP_SIZE: i32 = 1;
const PUNCH_HOLE: i32 = 2;

/// A mounted disk; taken away when dropped.
pub struct Mounted {
    // Before the directory it is mounted on.
    session: Option<fuser::BackgroundSession>,
    directory: tempfile::TempDir,
}

impl Mounted {
    pub fn new(disk: Arc<Mutex<Disk>>, sync_time: Duration) -> std::io::Result<Mounted> {
        let directory = tempfile::Builder::new().prefix("altiplano-power-").tempdir()?;
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("power".into()), MountOption::NoAtime];
        config.n_threads = Some(THREADS);
        config.clone_fd = true;
        let session = fuser::spawn_mount(Served { disk, sync_time }, directory.path(), &config)?;
        Ok(Mounted { session: Some(session), directory })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(session) = self.session.take()
            && let Err(error) = session.umount_and_join()
        {
            eprintln!("{}: {error}", self.directory.path().display());
        }
    }
}

struct Served {
    disk: Arc<Mutex<Disk>>,
    sync_time: Duration,
}

fn errno(refused: Refused) -> Errno {
    match refused {
        Refused::Missing => Errno::ENOENT,
        Refused::Exists => Errno::EEXIST,
        Refused::NotEmpty => Errno::ENOTEMPTY,
        Refused::Invalid => Errno::EINVAL,
    }
}

fn attributes(node: u64, kind: Kind) -> FileAttr {
    let (size, kind, perm) = match kind {
        Kind::File(size) => (size, FileType::RegularFile, 0o640),
        Kind::Directory => (0, FileType::Directory, 0o750),
        Kind::Special => (0, FileType::Socket, 0o777),
    };
    FileAttr {
        ino: INodeNo(node),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Served {
    fn make(&self, directory: INodeNo, name: &OsStr, kind: Kind) -> Result<FileAttr, Refused> {
        let mut disk = self.disk.lock();
        let node = disk.make(directory.0, name, kind)?;
        Ok(attributes(node, disk.kind(node)?))
    }

    fn entry(made: Result<FileAttr, Refused>, reply: ReplyEntry) {
        match made {
            Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn empty(done: Result<(), Refused>, reply: ReplyEmpty) {
        match done {
            Ok(()) => reply.ok(),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    /// What was written when a sync begins is on the disk when it ends.
    fn sync(&self, node: INodeNo, reply: ReplyEmpty) {
        let newest = self.disk.lock().newest();
        #[expect(clippy::disallowed_methods, reason = "a sync that takes as long as it is told to")]
        std::thread::sleep(self.sync_time);
        self.disk.lock().synced(node.0, newest);
        reply.ok();
    }
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let disk = self.disk.lock();
        Self::entry(disk.lookup(parent.0, name).and_then(|node| Ok(attributes(node, disk.kind(node)?))), reply);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.disk.lock().kind(node.0) {
            Ok(kind) => reply.attr(&TTL, &attributes(node.0, kind)),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        node: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut disk = self.disk.lock();
        let done = size.map_or(Ok(()), |size| disk.set_size(node.0, size)).and_then(|()| disk.kind(node.0));
        match done {
            Ok(kind) => reply.attr(&TTL, &attributes(node.0, kind)),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn mknod(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        let kind = if mode & KIND_BITS == REGULAR { Kind::File(0) } else { Kind::Special };
        Self::entry(self.make(parent, name, kind), reply);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        Self::entry(self.make(parent, name, Kind::Directory), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        Self::empty(self.disk.lock().remove(parent.0, name), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        Self::empty(self.disk.lock().remove(parent.0, name), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut disk = self.disk.lock();
        let done = if !flags.is_empty() && disk.lookup(to_parent.0, to_name).is_ok() {
            Err(Refused::Exists)
        } else {
            disk.rename((parent.0, name), (to_parent.0, to_name))
        };
        Self::empty(done, reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        match self.make(parent, name, Kind::File(0)) {
            Ok(attributes) => reply.created(&TTL, &attributes, Generation(0), FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.disk.lock().read(node.0, offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn write(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.disk.lock().write(node.0, offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(refused) => reply.error(errno(refused)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(node, reply);
    }

    fn fsyncdir(&self, _: &Request, node: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.sync(node, reply);
    }

    fn readdir(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let disk = self.disk.lock();
        let dots = [(".".into(), node.0), ("..".into(), ROOT)];
        for (at, (name, node)) in dots.into_iter().chain(disk.list(node.0)).enumerate().skip(offset as usize) {
            let Ok(kind) = disk.kind(node) else { continue };
            if reply.add(INodeNo(node), at as u64 + 1, attributes(node, kind).kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        // A terabyte, mostly free.
        let (blocks, files) = (1 << 28, 1 << 20);
        reply.statfs(blocks, blocks, blocks, files, files, 4096, 255, 4096);
    }

    fn fallocate(&self, _: &Request, node: INodeNo, _: FileHandle, offset: u64, length: u64, mode: i32, reply: ReplyEmpty) {
        let mut disk = self.disk.lock();
        let done = match disk.kind(node.0) {
            Ok(Kind::File(_)) if mode == PUNCH_HOLE | KEEP_SIZE => disk.punch(node.0, offset, length),
            Ok(Kind::File(size)) if mode == 0 && offset + length > size => disk.set_size(node.0, offset + length),
            Ok(Kind::File(_)) if mode == 0 => Ok(()),
            Ok(_) => Err(Refused::Invalid),
            Err(refused) => Err(refused),
        };
        match done {
            Err(Refused::Invalid) => reply.error(Errno::EOPNOTSUPP),
            done => Self::empty(done, reply),
        }
    }
}
