//! What a folder's disk takes and gives, measured with a bounded file.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::finding::{Finding, Findings};
use crate::text::rate;

const MOST_BYTES: u64 = 256 << 20;
const MOST_TIME: Duration = Duration::from_millis(1_000);
const CHUNK: usize = 4 << 20;

/// Rates of a disk, in bits per second.
#[derive(Clone, Copy, Debug)]
pub struct DiskSpeed {
    /// Until it is on the disk.
    pub write_bps: f64,
    /// Not from memory, where the system forgets it when asked to.
    pub read_bps: f64,
}

/// Writes and reads at most 256 MiB in `folder`, for about a second each. The file has no name for longer than it takes to open it.
///
/// # Errors
/// The system's: no such folder, no right, no room.
pub fn disk_speed(folder: &Path) -> io::Result<DiskSpeed> {
    let path = folder.join(format!(".visapult-doctor-{}", std::process::id()));
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    // Not zeros: some file systems do not write them.
    let mut chunk: Vec<u8> = (0..CHUNK as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let began = Instant::now();
    let mut written = 0;
    while written < MOST_BYTES && began.elapsed() < MOST_TIME {
        file.write_all(&chunk)?;
        written += CHUNK as u64;
    }
    file.sync_data()?;
    let write_bps = written as f64 * 8.0 / began.elapsed().as_secs_f64();
    forget(&file);
    file.rewind()?;
    let began = Instant::now();
    let mut read = 0;
    while read < written && began.elapsed() < MOST_TIME {
        file.read_exact(&mut chunk)?;
        read += CHUNK as u64;
    }
    Ok(DiskSpeed { write_bps, read_bps: read as f64 * 8.0 / began.elapsed().as_secs_f64() })
}

/// Asks the system not to keep the file in memory.
fn forget(file: &std::fs::File) {
    #[expect(unsafe_code, reason = "no safe wrapper with the features in use")]
    // SAFETY: the descriptor is open; no memory is involved.
    unsafe {
        libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED);
    }
}

/// Holds a disk against the rate that is asked of it.
pub fn judge_disk(folder: &Path, speed: DiskSpeed, asked_bps: u64, findings: &mut Findings) {
    let asked = asked_bps as f64;
    for (way, bps, verb) in [("write", speed.write_bps, "takes"), ("read", speed.read_bps, "gives")] {
        let finding =
            Finding::new("disk", &format!("the disk ({way})"), format!("{} {verb} {}", folder.display(), rate(bps)))
                .cost(format!("a copy at {} waits for it; in memory it makes no difference", rate(asked)))
                .better("a folder on a faster disk, or several copies to several disks")
                .limit(bps);
        findings.judge(asked, finding);
    }
}
