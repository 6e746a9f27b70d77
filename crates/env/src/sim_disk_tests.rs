//! Tests of the simulated disk's crash model.

use super::*;

fn file(disk: &SimDisk, path: &str) -> Arc<dyn File> {
    disk.open(path, OpenMode::Create, FileKind::Buffered).expect("opens")
}

fn contents(disk: &SimDisk, path: &str) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Existing, FileKind::Buffered).expect("exists");
    let mut bytes = vec![0; file.len().expect("len") as usize];
    file.read_at(&mut bytes, 0).expect("reads");
    bytes
}

#[test]
fn synced_contents_under_a_synced_name_survive_every_crash() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let f = file(&disk, "f");
        f.write_at(&[1; 2000], 0).expect("writes");
        f.sync().expect("syncs");
        disk.sync_dir("").expect("syncs");
        f.write_at(&[2; 2000], 0).expect("writes");
        disk.crash();
        let bytes = contents(&disk, "f");
        assert_eq!(bytes.len(), 2000);
        for sector in bytes.chunks(512) {
            assert!(sector.iter().all(|&b| b == sector[0] && (b == 1 || b == 2)), "seed {seed}: a sector is whole");
        }
        assert!(f.sync().is_err(), "an old handle is dead");
    }
}

#[test]
fn crashes_keep_drop_and_tear() {
    let mut all = CrashReport::default();
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        file(&disk, "f").write_at(&[1; 4096], 0).expect("writes");
        disk.sync_dir("").expect("syncs");
        let report = disk.crash();
        all.kept += report.kept;
        all.dropped += report.dropped;
        all.torn += report.torn;
    }
    assert!(all.kept > 5 && all.dropped > 5 && all.torn > 5, "{all:?}");
}

/// Without a sync between them nothing orders two writes: of one file, or of two.
#[test]
fn a_later_write_may_outlive_an_earlier_one() {
    let mut seen = [[false; 4]; 2];
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let (one, other) = (file(&disk, "one"), file(&disk, "other"));
        for f in [&one, &other] {
            f.write_at(&[0; 1024], 0).expect("writes");
            f.sync().expect("syncs");
        }
        disk.sync_dir("").expect("syncs");
        one.write_at(&[1; 512], 0).expect("writes");
        one.write_at(&[1; 512], 512).expect("writes");
        other.write_at(&[1; 512], 0).expect("writes");
        disk.crash();
        let (one, other) = (contents(&disk, "one"), contents(&disk, "other"));
        // Which of the two is there: neither, the earlier, the later, both.
        seen[0][usize::from(one[0] + 2 * one[512])] = true;
        seen[1][usize::from(one[0] + 2 * other[0])] = true;
    }
    assert_eq!(seen, [[true; 4]; 2]);
}

#[test]
fn the_same_seed_gives_the_same_crash() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        let f = file(&disk, "f");
        disk.sync_dir("").expect("syncs");
        for i in 0..20u8 {
            f.write_at(&[i; 1024], u64::from(i) * 700).expect("writes");
        }
        (disk.crash(), contents(&disk, "f"))
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn names_survive_as_a_prefix() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        file(&disk, "old").write_at(b"x", 0).expect("writes");
        disk.sync_dir("").expect("syncs");
        file(&disk, "new");
        disk.rename("new", "old").expect("renames");
        disk.crash();
        outcomes.insert(disk.list("").expect("lists"));
    }
    let expect: [&[&str]; 2] = [&["new", "old"], &["old"]];
    assert_eq!(outcomes.len(), expect.len(), "{outcomes:?}");
}

#[test]
fn an_unsynced_removal_may_come_back() {
    let survived = (0..50)
        .filter(|&seed| {
            let disk = SimDisk::new(seed);
            file(&disk, "f").write_at(b"abc", 0).expect("writes");
            file(&disk, "f").sync().expect("syncs");
            disk.sync_dir("").expect("syncs");
            disk.remove("f").expect("removes");
            disk.crash();
            disk.exists("f").expect("asks") && contents(&disk, "f") == b"abc"
        })
        .count();
    assert!(survived > 5 && survived < 45, "{survived}");
}

#[test]
fn a_planned_crash_stops_everything() {
    let disk = SimDisk::new(1);
    let f = file(&disk, "f");
    f.sync().expect("syncs");
    disk.sync_dir("").expect("syncs");
    disk.crash_at(2);
    f.write_at(b"a", 0).expect("the first change passes");
    assert!(f.sync().is_err() && disk.is_down());
    assert!(f.write_at(b"a", 0).is_err() && disk.list("").is_err() && f.len().is_err());
    disk.crash();
    assert!(disk.exists("f").expect("up again"));
}

#[test]
fn a_failed_sync_may_lose_what_a_later_sync_claims() {
    let lost = (0..50)
        .filter(|&seed| {
            let disk = SimDisk::new(seed);
            let f = file(&disk, "f");
            disk.sync_dir("").expect("syncs");
            f.write_at(b"a", 0).expect("writes");
            disk.fail_sync(1);
            f.sync().expect_err("planned");
            f.sync().expect("the second pretends");
            assert_eq!(contents(&disk, "f"), b"a");
            disk.crash();
            contents(&disk, "f").is_empty()
        })
        .count();
    assert!(lost > 5 && lost < 45, "{lost}");
}

#[test]
fn what_the_page_cache_forgets_is_read_from_the_device() {
    let mut differed = 0;
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        disk.set_refuses_direct(seed % 2 == 0);
        let f = disk.open("f", OpenMode::Create, FileKind::Direct).expect("opens");
        f.write_at(&[1; 4096], 0).expect("writes");
        f.sync().expect("syncs");
        disk.sync_dir("").expect("syncs");
        f.write_at(&[2; 4096], 0).expect("writes");
        disk.fail_sync(1);
        f.sync().expect_err("planned");
        f.write_at(&[3; 4096], 4096).expect("writes");
        f.forget_cached().expect("forgets");
        assert_eq!(contents(&disk, "f")[4096..], [3; 4096], "what waits for a sync stays");
        f.sync().expect("pretends");
        f.forget_cached().expect("forgets");
        let seen = contents(&disk, "f");
        disk.crash();
        let left = contents(&disk, "f");
        if seed % 2 == 0 {
            assert_eq!(seen, left, "seed {seed}");
        } else {
            differed += u32::from(seen != left);
        }
    }
    assert!(differed > 0, "direct files have nothing in the page cache to forget");
}

#[test]
fn full_disk_and_planned_errors_are_reported() {
    let disk = SimDisk::new(1);
    let f = file(&disk, "f");
    disk.set_capacity(Some(1000));
    f.reserve(0..1000).expect("fits");
    assert_eq!(f.write_at(&[0; 8], 996).expect_err("full").kind(), io::ErrorKind::StorageFull);
    disk.fail_write(2);
    f.write_at(b"a", 0).expect("first");
    f.write_at(b"a", 0).expect_err("second");
    f.write_at(b"a", 0).expect("third");
    disk.fail_read(1);
    f.read_at(&mut [0], 0).expect_err("planned");
    f.read_at(&mut [0], 0).expect("once");
    let direct = disk.open("f", OpenMode::Existing, FileKind::Direct).expect("opens");
    assert_eq!(direct.write_at(&[0; 512], 0).expect_err("unaligned").kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn room_is_taken_by_what_was_written_or_reserved_and_not_punched_out() {
    let disk = SimDisk::new(1);
    let f = file(&disk, "f");
    const MIB: u64 = 1 << 20;
    f.set_len(4 * MIB).expect("sparse");
    assert_eq!(disk.used(), 0);
    f.reserve(MIB..2 * MIB).expect("room");
    f.write_at(&[1; 4096], 3 * MIB).expect("room");
    assert_eq!(disk.used(), MIB + 4096);
    f.punch_hole(MIB + 100, MIB).expect("punches");
    assert_eq!(disk.used(), 4096 + 4096, "of a block that is punched in part all stays");
    disk.set_capacity(Some(3 * 4096));
    f.write_at(&[2; 4096], 3 * MIB).expect("has room");
    f.write_at(&[2; 4096], 0).expect("the last block");
    assert_eq!(f.write_at(&[2; 4096], 2 * MIB).expect_err("a hole").kind(), io::ErrorKind::StorageFull);
    assert_eq!(f.reserve(2 * MIB..3 * MIB).expect_err("a hole").kind(), io::ErrorKind::StorageFull);
    f.set_len(8 * MIB).expect("takes nothing");
    f.reserve(4 * MIB..4 * MIB).expect("nothing");
    disk.set_capacity(None);
    disk.set_full(Some("f"));
    f.reserve(2 * MIB..3 * MIB).expect_err("takes no more room");
    f.set_len(4096).expect("cuts");
    assert_eq!(disk.used(), 4096);
}

#[test]
fn directories_list_their_own_entries() {
    let disk = SimDisk::new(1);
    assert!(disk.open("a/f", OpenMode::Create, FileKind::Direct).is_err());
    disk.create_dir_all("a/b").expect("makes");
    file(&disk, "a/f");
    file(&disk, "top");
    assert_eq!(disk.list("").expect("lists"), ["a", "top"]);
    assert_eq!(disk.list("a").expect("lists"), ["b", "f"]);
}

#[test]
fn silent_damage_shows_in_what_is_read_and_heals_unless_written_since() {
    let page = |fill: u8| vec![fill; 16 * 1024];
    let disk = SimDisk::new(2);
    let f = file(&disk, "data");
    (0..4).for_each(|no| f.write_at(&page(1), no * 16 * 1024).expect("writes"));
    f.sync().expect("syncs");
    disk.sync_dir("").expect("syncs");
    disk.plan_write("log", 1, WriteFault::Lost);
    disk.plan_write("data", 2, WriteFault::Lost);
    f.write_at(&page(2), 0).expect("writes");
    f.write_at(&page(2), 16 * 1024).expect("says so");
    disk.plan_write("data", 1, WriteFault::Misdirected);
    f.write_at(&page(2), 2 * 16 * 1024).expect("says so");
    disk.flip_bit("data", 5, 0).expect("there is one");
    let bytes = contents(&disk, "data");
    assert!(disk.is_damaged() && bytes[2 * 16 * 1024] == 1, "what was misdirected is not here");
    f.write_at(&page(9), 0).expect("writes over the flipped bit");
    assert!(disk.heal() >= 2 && !disk.is_damaged());
    let bytes = contents(&disk, "data");
    assert_eq!([bytes[5], bytes[16 * 1024], bytes[2 * 16 * 1024]], [9, 2, 2]);
    f.sync().expect("syncs");
    disk.crash();
    assert_eq!(contents(&disk, "data"), bytes);
}

/// A twin on which no bits flip: what is healed is as the twin, whatever was written, appended, synced, cut off and lost between.
#[test]
fn healed_flips_leave_nothing_behind_whatever_is_written_beside_them() {
    for seed in 0..400 {
        let [disk, twin] = [SimDisk::new(seed), SimDisk::new(seed)];
        let mut random = SplitMix64::new(seed);
        let [mut f, mut t] = [file(&disk, "log"), file(&twin, "log")];
        [&disk, &twin].iter().for_each(|disk| disk.sync_dir("").expect("syncs"));
        for _ in 0..40 {
            let len = f.len().expect("has one");
            match random.below(8) {
                0 | 1 => {
                    let (at, bytes) = (random.below(len + 1), vec![random.next() as u8; 1 + random.below(1500) as usize]);
                    [&f, &t].iter().for_each(|f| f.write_at(&bytes, at).expect("writes"));
                }
                2 => [&f, &t].iter().for_each(|f| f.write_at(&[7; 40], len).expect("appends")),
                3 => [&f, &t].iter().for_each(|f| f.sync().expect("syncs")),
                4 => {
                    let (cut, hole) = (len - random.below(len / 8 + 1), random.below(len + 1));
                    [&f, &t].iter().for_each(|f| f.set_len(cut).and_then(|()| f.punch_hole(hole, 100)).expect("cuts"));
                }
                5 | 6 => disk.flip_bit("log", random.below(len + 1), random.below(8) as u8).expect("is there"),
                _ => {
                    [&disk, &twin].iter().for_each(|disk| {
                        disk.crash();
                    });
                    [f, t] = [file(&disk, "log"), file(&twin, "log")];
                }
            }
        }
        if random.coin() {
            disk.heal();
            assert_eq!(contents(&disk, "log"), contents(&twin, "log"), "seed {seed}: what is read");
        }
        [&disk, &twin].iter().for_each(|disk| {
            disk.crash();
        });
        disk.heal();
        assert!(!disk.is_damaged());
        assert_eq!(contents(&disk, "log"), contents(&twin, "log"), "seed {seed}: what is durable");
    }
}

#[test]
fn faults_meet_the_files_they_are_planned_for() {
    let disk = SimDisk::new(5);
    let (data, log) = (file(&disk, "data"), file(&disk, "log"));
    disk.set_full(Some("log"));
    data.write_at(&[1; 2048], 0).expect("grows");
    assert_eq!(log.write_at(&[1; 512], 0).expect_err("full").kind(), io::ErrorKind::StorageFull);
    disk.set_full(None);
    log.write_at(&[1; 512], 0).expect("room again");
    disk.plan_sync("log", 1);
    data.sync().expect("another file");
    log.sync().expect_err("planned");
    disk.plan_write("data", 1, WriteFault::Short);
    data.write_at(&[2; 2048], 0).expect_err("planned");
    let written = contents(&disk, "data").iter().filter(|byte| **byte == 2).count();
    assert!(written.is_multiple_of(512) && contents(&disk, "data")[written..].iter().all(|byte| *byte == 1), "a part from the beginning");
    disk.plan_read("data", 1, ReadFault::Garbled);
    let mut bytes = [0; 2048];
    data.read_at(&mut bytes, 0).expect("reads");
    assert_ne!(bytes[..], contents(&disk, "data")[..]);
}
