//! Files and names: as programs see them, and what of them would survive.

use super::Lie;
use env::SplitMix64;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};

/// What a disk writes wholly or not at all.
const SECTOR: u64 = 512;
const BLOCK: u64 = 4096;
/// The number of the directory that everything is in.
pub const ROOT: u64 = 1;

/// What power failures have taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Failures.
    pub failures: u64,
    /// Writes and changes of length that were not synced.
    pub unsynced: u64,
    /// Of these, lost.
    pub dropped: u64,
    /// Of these, lost in part.
    pub torn: u64,
    /// Changes of names that were lost.
    pub names: u64,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} power failures: {} writes were not synced, of which {} were lost and {} torn; {} changes of names lost",
            self.failures, self.unsynced, self.dropped, self.torn, self.names
        )
    }
}

/// Bytes with holes.
#[derive(Default)]
struct Bytes(BTreeMap<u64, Box<[u8; BLOCK as usize]>>);

impl Bytes {
    /// Pieces of `offset..offset + len`: block, where in it, where in the range.
    fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
        let end = offset + len as u64;
        (offset / BLOCK..end.div_ceil(BLOCK)).map(move |block| {
            let (from, to) = (offset.max(block * BLOCK), end.min((block + 1) * BLOCK));
            let within = (from - block * BLOCK) as usize..(to - block * BLOCK) as usize;
            (block, within, (from - offset) as usize..(to - offset) as usize)
        })
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) {
        for (block, within, at) in Self::pieces(offset, buffer.len()) {
            match self.0.get(&block) {
                Some(bytes) => buffer[at].copy_from_slice(&bytes[within]),
                None => buffer[at].fill(0),
            }
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        for (block, within, at) in Self::pieces(offset, data.len()) {
            self.0.entry(block).or_insert_with(|| Box::new([0; BLOCK as usize]))[within].copy_from_slice(&data[at]);
        }
    }

    /// Zeroes all from `size` on.
    fn truncate(&mut self, size: u64) {
        self.0.split_off(&size.div_ceil(BLOCK));
        if let Some(last) = self.0.get_mut(&(size / BLOCK)) {
            last[(size % BLOCK) as usize..].fill(0);
        }
    }

    fn get(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut buffer = vec![0; len];
        self.read(offset, &mut buffer);
        buffer
    }
}

/// What a file was before a change.
enum Before {
    Bytes { offset: u64, bytes: Vec<u8> },
    Size(u64),
}

/// A file.
#[derive(Default)]
struct File {
    bytes: Bytes,
    size: u64,
    /// Changes that no sync has covered, oldest first, with their numbers.
    unsynced: Vec<(u64, Before)>,
}

/// What a number stands for.
enum Node {
    File(File),
    Directory,
    /// A socket.
    Special,
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A socket.
    Special,
}

/// What a program is told when it cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// ENOENT
    Missing,
    /// EEXIST
    Exists,
    /// ENOTEMPTY
    NotEmpty,
    /// EINVAL
    Invalid,
}

type Name = (u64, OsString);

/// A change of names, all of it or nothing: each with what it named before.
struct NameChange {
    number: u64,
    edits: Vec<(Name, Option<u64>)>,
}

/// The disk.
pub struct Disk {
    nodes: HashMap<u64, Node>,
    names: BTreeMap<Name, u64>,
    /// Paths as of a node's making, for [`Lie`].
    paths: HashMap<u64, String>,
    unsynced_names: Vec<NameChange>,
    next_node: u64,
    next_change: u64,
    lie: Lie,
    lost: Lost,
}

impl Disk {
    pub fn new(lie: Lie) -> Disk {
        Disk {
            nodes: HashMap::from([(ROOT, Node::Directory)]),
            names: BTreeMap::new(),
            paths: HashMap::from([(ROOT, String::new())]),
            unsynced_names: Vec::new(),
            next_node: ROOT + 1,
            next_change: 0,
            lie,
            lost: Lost::default(),
        }
    }

    fn change(&mut self) -> u64 {
        self.next_change += 1;
        self.next_change
    }

    pub fn lookup(&self, directory: u64, name: &OsStr) -> Result<u64, Refused> {
        self.names.get(&(directory, name.to_owned())).copied().ok_or(Refused::Missing)
    }

    pub fn kind(&self, node: u64) -> Result<Kind, Refused> {
        match self.nodes.get(&node) {
            Some(Node::File(file)) => Ok(Kind::File(file.size)),
            Some(Node::Directory) => Ok(Kind::Directory),
            Some(Node::Special) => Ok(Kind::Special),
            None => Err(Refused::Missing),
        }
    }

    pub fn list(&self, directory: u64) -> Vec<(OsString, u64)> {
        let from = (directory, OsString::new());
        self.names.range(from..(directory + 1, OsString::new())).map(|((_, name), node)| (name.clone(), *node)).collect()
    }

    fn edit_names(&mut self, edits: Vec<(Name, Option<u64>)>) {
        let number = self.change();
        let edits = edits
            .into_iter()
            .map(|(name, node)| {
                let before = match node {
                    Some(node) => self.names.insert(name.clone(), node),
                    None => self.names.remove(&name),
                };
                (name, before)
            })
            .collect();
        self.unsynced_names.push(NameChange { number, edits });
    }

    pub fn make(&mut self, directory: u64, name: &OsStr, kind: Kind) -> Result<u64, Refused> {
        if self.lookup(directory, name).is_ok() {
            return Err(Refused::Exists);
        }
        let node = self.next_node;
        self.next_node += 1;
        let made = match kind {
            Kind::File(_) => Node::File(File::default()),
            Kind::Directory => Node::Directory,
            Kind::Special => Node::Special,
        };
        self.nodes.insert(node, made);
        let parent = self.paths.get(&directory).cloned().unwrap_or_default();
        self.paths.insert(node, format!("{parent}/{}", name.to_string_lossy()));
        self.edit_names(vec![((directory, name.to_owned()), Some(node))]);
        Ok(node)
    }

    pub fn remove(&mut self, directory: u64, name: &OsStr) -> Result<(), Refused> {
        let node = self.lookup(directory, name)?;
        if matches!(self.nodes.get(&node), Some(Node::Directory)) && !self.list(node).is_empty() {
            return Err(Refused::NotEmpty);
        }
        self.edit_names(vec![((directory, name.to_owned()), None)]);
        Ok(())
    }

    pub fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) -> Result<(), Refused> {
        let node = self.lookup(from.0, from.1)?;
        self.edit_names(vec![((from.0, from.1.to_owned()), None), ((to.0, to.1.to_owned()), Some(node))]);
        Ok(())
    }

    fn file(&mut self, node: u64) -> Result<&mut File, Refused> {
        match self.nodes.get_mut(&node) {
            Some(Node::File(file)) => Ok(file),
            Some(_) => Err(Refused::Invalid),
            None => Err(Refused::Missing),
        }
    }

    pub fn read(&mut self, node: u64, offset: u64, len: usize) -> Result<Vec<u8>, Refused> {
        let file = self.file(node)?;
        let len = len.min(file.size.saturating_sub(offset) as usize);
        Ok(file.bytes.get(offset, len))
    }

    pub fn write(&mut self, node: u64, offset: u64, data: &[u8]) -> Result<(), Refused> {
        let number = self.change();
        let file = self.file(node)?;
        if offset + data.len() as u64 > file.size {
            file.unsynced.push((number, Before::Size(file.size)));
            file.size = offset + data.len() as u64;
        }
        file.unsynced.push((number, Before::Bytes { offset, bytes: file.bytes.get(offset, data.len()) }));
        file.bytes.write(offset, data);
        Ok(())
    }

    pub fn set_size(&mut self, node: u64, size: u64) -> Result<(), Refused> {
        let number = self.change();
        let file = self.file(node)?;
        if size < file.size {
            // What is cut off comes back with the length.
            let cut: Vec<u64> = file.bytes.0.range(size / BLOCK..).map(|(block, _)| *block).collect();
            for block in cut {
                let offset = size.max(block * BLOCK);
                let bytes = file.bytes.get(offset, ((block + 1) * BLOCK - offset) as usize);
                file.unsynced.push((number, Before::Bytes { offset, bytes }));
            }
            file.bytes.truncate(size);
        }
        file.unsynced.push((number, Before::Size(file.size)));
        file.size = size;
        Ok(())
    }

    pub fn punch(&mut self, node: u64, offset: u64, len: u64) -> Result<(), Refused> {
        let number = self.change();
        let file = self.file(node)?;
        let held: Vec<u64> = file.bytes.0.range(offset / BLOCK..(offset + len).div_ceil(BLOCK)).map(|(block, _)| *block).collect();
        for block in held {
            let (from, to) = (offset.max(block * BLOCK), (offset + len).min((block + 1) * BLOCK));
            let bytes = file.bytes.get(from, (to - from) as usize);
            file.bytes.write(from, &vec![0; bytes.len()]);
            file.unsynced.push((number, Before::Bytes { offset: from, bytes }));
        }
        Ok(())
    }

    /// The newest change; a sync that begins now covers it.
    pub fn newest(&self) -> u64 {
        self.next_change
    }

    /// Whether syncs of this are ignored.
    fn lies_about(&self, node: u64) -> bool {
        match &self.lie {
            Lie::None => false,
            Lie::About(part) => self.paths.get(&node).is_some_and(|path| path.contains(part.as_str())),
        }
    }

    /// A sync of a file or directory that covers changes up to this one has ended.
    pub fn synced(&mut self, node: u64, newest: u64) {
        if self.lies_about(node) {
            return;
        }
        match self.nodes.get_mut(&node) {
            Some(Node::File(file)) => file.unsynced.retain(|(number, _)| *number > newest),
            Some(Node::Directory) => {
                self.unsynced_names.retain(|change| change.number > newest || change.edits.iter().all(|((of, _), _)| *of != node))
            }
            _ => {}
        }
    }

    /// Everything is on the disk.
    pub fn settle(&mut self) {
        self.unsynced_names.clear();
        for node in self.nodes.values_mut() {
            if let Node::File(file) = node {
                file.unsynced.clear();
            }
        }
    }

    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The power fails.
    pub fn fail(&mut self, random: &mut SplitMix64) -> Lost {
        let before = self.lost;
        self.lost.failures += 1;
        // How much had reached the disk: nothing, everything, or of each write what chance says.
        let share = [0, 25, 50, 75, 100, 50][random.below(6) as usize];
        let kept = if random.coin() { self.unsynced_names.len() as u64 } else { random.below(self.unsynced_names.len() as u64 + 1) };
        for change in self.unsynced_names.split_off(kept as usize).into_iter().rev() {
            self.lost.names += 1;
            for (name, before) in change.edits.into_iter().rev() {
                match before {
                    Some(node) => self.names.insert(name, node),
                    None => self.names.remove(&name),
                };
            }
        }
        self.unsynced_names.clear();
        let mut nodes: Vec<u64> = self.nodes.keys().copied().collect();
        nodes.sort_unstable();
        for node in nodes {
            if let Some(Node::File(file)) = self.nodes.get_mut(&node) {
                file.fail(share, random, &mut self.lost);
            }
        }
        let lost = &self.lost;
        Lost {
            failures: 1,
            unsynced: lost.unsynced - before.unsynced,
            dropped: lost.dropped - before.dropped,
            torn: lost.torn - before.torn,
            names: lost.names - before.names,
        }
    }
}

/// What becomes of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
    /// Each sector by itself.
    Torn,
}

impl File {
    fn fail(&mut self, share: u64, random: &mut SplitMix64, lost: &mut Lost) {
        let changes = std::mem::take(&mut self.unsynced);
        lost.unsynced += changes.len() as u64;
        // The content of each changed sector after each of the changes, newest first, while going back.
        let mut settled = std::collections::HashSet::new();
        let mut size = self.size;
        let mut size_is_settled = false;
        for (_, before) in changes.into_iter().rev() {
            let kept = random.below(100) < share;
            match before {
                Before::Size(earlier) => {
                    // Lengths go back to that of some moment.
                    size_is_settled |= kept;
                    if !size_is_settled {
                        size = earlier;
                        lost.dropped += 1;
                    }
                }
                Before::Bytes { offset, bytes } => {
                    let fate = match (random.below(4) == 0 && bytes.len() as u64 > SECTOR, kept) {
                        (true, _) if !share.is_multiple_of(100) => Fate::Torn,
                        (_, true) => Fate::Kept,
                        (_, false) => Fate::Dropped,
                    };
                    lost.dropped += u64::from(fate == Fate::Dropped);
                    lost.torn += u64::from(fate == Fate::Torn);
                    let end = offset + bytes.len() as u64;
                    for sector in offset / SECTOR..end.div_ceil(SECTOR) {
                        // The newest kept write decides what a sector holds.
                        if settled.contains(&sector) {
                            continue;
                        }
                        if fate == Fate::Kept || fate == Fate::Torn && random.coin() {
                            settled.insert(sector);
                            continue;
                        }
                        let (from, to) = (offset.max(sector * SECTOR), end.min((sector + 1) * SECTOR));
                        self.bytes.write(from, &bytes[(from - offset) as usize..(to - offset) as usize]);
                    }
                }
            }
        }
        self.size = size;
        self.bytes.truncate(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> (Disk, u64) {
        let mut disk = Disk::new(Lie::About("liar".into()));
        let node = disk.make(ROOT, OsStr::new("file"), Kind::File(0)).expect("made");
        disk.write(node, 0, &[1; 4096]).expect("written");
        disk.settle();
        (disk, node)
    }

    fn content(disk: &mut Disk, node: u64) -> Vec<u8> {
        disk.read(node, 0, 1 << 20).expect("a file")
    }

    #[test]
    fn what_is_synced_survives_and_later_writes_come_by_sectors() {
        let mut seen = [false; 3];
        for seed in 0..200 {
            let (mut disk, node) = disk();
            disk.write(node, 512, &[2; 1024]).expect("written");
            disk.synced(node, disk.newest());
            disk.write(node, 1024, &[3; 1024]).expect("written");
            disk.write(node, 4096, &[4; 512]).expect("written");
            disk.fail(&mut SplitMix64::new(seed));
            let found = content(&mut disk, node);
            assert!(found.len() == 4096 || found.len() == 4608, "{}", found.len());
            assert_eq!((found[0], found[512], found[2048]), (1, 2, 1));
            assert!([2, 3].contains(&found[1024]) && [1, 3].contains(&found[1536]));
            seen[0] |= (found[1024], found[1536]) == (3, 1);
            seen[1] |= (found[1024], found[1536]) == (2, 1) && found.len() == 4608 && found[4096] == 4;
            seen[2] |= (found[1024], found[1536]) == (2, 1) && found.len() == 4096;
        }
        assert_eq!(seen, [true; 3], "torn, out of order, lost");
    }

    #[test]
    fn names_come_and_go_in_their_order_unless_synced() {
        let mut seen = [false; 3];
        for seed in 0..200 {
            let (mut disk, node) = disk();
            disk.rename((ROOT, OsStr::new("file")), (ROOT, OsStr::new("other"))).expect("renamed");
            disk.make(ROOT, OsStr::new("new"), Kind::File(0)).expect("made");
            disk.synced(node, disk.newest());
            if seed % 2 == 0 {
                disk.synced(ROOT, disk.newest());
            }
            disk.fail(&mut SplitMix64::new(seed));
            let names: Vec<OsString> = disk.list(ROOT).into_iter().map(|(name, _)| name).collect();
            seen[0] |= names == ["file"];
            seen[1] |= names == ["other"];
            seen[2] |= names == ["new", "other"];
            assert!(seed % 2 == 1 || names == ["new", "other"], "{names:?}");
            assert!(names == ["file"] || names == ["other"] || names == ["new", "other"], "{names:?}");
        }
        assert_eq!(seen, [true; 3]);
    }

    #[test]
    fn a_length_cut_or_grown_goes_back_with_its_bytes() {
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let (mut disk, node) = disk();
            disk.set_size(node, 100).expect("cut");
            disk.set_size(node, 8192).expect("grown");
            disk.punch(node, 0, 50).expect("punched");
            assert!(content(&mut disk, node).iter().enumerate().all(|(at, byte)| *byte == u8::from((50..100).contains(&at))));
            disk.fail(&mut SplitMix64::new(seed));
            lengths.insert(content(&mut disk, node).len());
        }
        assert_eq!(lengths, [100, 4096, 8192].into());
    }

    #[test]
    fn a_disk_that_lies_loses_what_it_has_synced() {
        let mut lost = 0;
        for seed in 0..50 {
            let mut disk = Disk::new(Lie::About("liar".into()));
            let node = disk.make(ROOT, OsStr::new("liar"), Kind::File(0)).expect("made");
            disk.synced(ROOT, disk.newest());
            disk.write(node, 0, &[1; 512]).expect("written");
            disk.synced(node, disk.newest());
            disk.fail(&mut SplitMix64::new(seed));
            lost += u32::from(content(&mut disk, node) != [1; 512]);
        }
        assert!(lost > 10, "{lost}");
    }
}
