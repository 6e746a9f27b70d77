//! Times one small durable append in the ways the kernel offers; the figures are in docs/design/wal-io.md.
//!
//! `cargo run --release -p wal --example sync_methods -- DIR [ROUNDS]`

use env::{AlignedBuf, DIRECT_ALIGN};
use rustix::fs::{Mode, OFlags};
use std::time::Instant;

const FILE_BYTES: usize = 64 << 20;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| ".".into());
    let rounds: u64 = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(2000);
    let path = format!("{dir}/sync_methods.tmp");
    std::fs::write(&path, vec![0u8; FILE_BYTES])?;
    std::fs::File::open(&path)?.sync_all()?;
    let ways: [(&str, OFlags, bool, usize); 6] = [
        ("O_DIRECT 4 KiB + fdatasync", OFlags::DIRECT, true, 4096),
        ("O_DIRECT|O_DSYNC 4 KiB", OFlags::DIRECT.union(OFlags::DSYNC), false, 4096),
        ("O_DIRECT 512 B + fdatasync", OFlags::DIRECT, true, 512),
        ("buffered 200 B + fdatasync", OFlags::empty(), true, 200),
        ("buffered 4 KiB + fdatasync", OFlags::empty(), true, 4096),
        ("buffered|O_DSYNC 200 B", OFlags::DSYNC, false, 200),
    ];
    println!("{:<28} {:>9} {:>9} {:>9}", "way", "mean µs", "median", "p99");
    for pass in 0..3 {
        for (name, flags, sync, bytes) in ways {
            let fd = rustix::fs::open(&path, OFlags::RDWR | flags, Mode::empty())?;
            let buf = AlignedBuf::padded_copy(&vec![7; bytes.max(DIRECT_ALIGN)]);
            let mut times = Vec::new();
            let mut position = 0u64;
            for _ in 0..rounds {
                // Appends of 200 bytes: the last block is written again and again, as a log does.
                let offset =
                    if flags.contains(OFlags::DIRECT) || bytes == 4096 { position / bytes as u64 * bytes as u64 } else { position };
                let start = Instant::now();
                rustix::io::pwrite(&fd, &buf[..bytes], offset)?;
                if sync {
                    rustix::fs::fdatasync(&fd)?;
                }
                times.push(start.elapsed().as_nanos() as u64);
                position += 200;
            }
            times.sort();
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1000.0;
            let at = |q: f64| times[(times.len() as f64 * q) as usize] as f64 / 1000.0;
            println!("{:<28} {:>9.1} {:>9.1} {:>9.1}   (pass {pass})", name, mean, at(0.5), at(0.99));
        }
    }
    std::fs::remove_file(&path)
}
