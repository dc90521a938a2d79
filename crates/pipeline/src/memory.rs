//! What a step takes in memory, and what this process can still have of it.
//!
//! Invariant: whoever allocates what a source claims has held it against [`free_bytes`], and can still be refused by the system. Processes of one
//! back end that run on one machine count a share each: none takes what another has been promised.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

use visapult_ripp_net::units::bytes_for_people;
use visapult_volume_io::{Source, SourceInfo, from_level, levels_of, names_level};

use crate::error::PipelineError;

/// Bytes of samples that are read at most to make a coarser level of them that nobody has asked for: some half a minute of it.
const MOST_READ: u64 = 16_000_000_000;

/// Bytes of a step of so many samples: 32-bit values, and a seventh of that for the coarser levels.
pub(crate) fn step_bytes(samples: usize) -> u64 {
    (samples as u64).saturating_mul(32) / 7
}

/// Holds a step of so many samples against what each of so many `processes` can have: how many bytes it takes, and are free.
///
/// # Errors
/// [`PipelineError::TooLarge`] if it does not fit.
pub(crate) fn check(info: &SourceInfo, samples: usize, processes: usize) -> Result<[u64; 2], PipelineError> {
    let (needed, free) = (step_bytes(samples), free_bytes(processes));
    if needed > free { Err(too_large(info, needed, free, processes)) } else { Ok([needed, free]) }
}

/// Memory for so many values, all 0.
///
/// # Errors
/// [`PipelineError::TooLarge`] if the system does not give it.
pub(crate) fn values(info: &SourceInfo, samples: usize) -> Result<Vec<f32>, PipelineError> {
    let refused = |()| too_large(info, step_bytes(samples), free_bytes(1), 1);
    bytemuck::allocation::try_zeroed_vec(samples).map_err(refused)
}

/// The source at the finest of its levels of which a step fits in memory, and, where that is not the finest, which it is. Where none fits that
/// it stores, a coarser one is made as it is read; unchanged where that would take too long to be done unasked.
///
/// # Errors
/// [`PipelineError::Source`] if the level cannot be had.
pub(crate) fn fitting_level(source: Box<dyn Source>) -> Result<(Box<dyn Source>, Option<ShownCoarser>), PipelineError> {
    let free = free_bytes(1);
    let info = source.info();
    let levels = levels_of(info);
    let fits = levels.iter().position(|grid| step_bytes(grid.sample_count()) <= free);
    let Some(level) = fits.filter(|level| *level > 0) else { return Ok((source, None)) };
    let sizes = [level, 0].map(|level| levels[level].size);
    let needed = step_bytes(levels[0].sample_count());
    let is_stored = level < info.levels.len();
    let read = info.levels.last().map_or(0, |coarsest| coarsest.sample_count() as u64 * 4);
    if !is_stored && read > MOST_READ {
        return Ok((source, None));
    }
    let notice = ShownCoarser { source_name: info.name.clone(), level, is_stored, sizes, needed, free };
    let coarser = from_level(source, level).map_err(PipelineError::source)?;
    Ok((coarser, Some(notice)))
}

/// A source is shown at a coarser level than its finest, which does not fit in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownCoarser {
    source_name: String,
    level: usize,
    /// Otherwise its samples are means.
    is_stored: bool,
    /// Samples of the level that is shown, and of the finest.
    sizes: [[usize; 3]; 2],
    /// Bytes that a step of the finest takes.
    needed: u64,
    /// Bytes that there were.
    free: u64,
}

impl fmt::Display for ShownCoarser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source_name, level, is_stored, .. } = self;
        let means = if *is_stored { "" } else { ", means of the finer samples" };
        let [shown, finest] = self.sizes.map(|size| size.map(|edge| edge.to_string()).join(" x "));
        let [needed, free] = [self.needed, self.free].map(bytes_for_people);
        write!(
            f,
            "{source_name} is shown at level {level} ({shown}{means}): a step of level 0 ({finest}) needs {needed}, this machine has {free} free"
        )
    }
}

/// Bytes that this process can still have, one of so many `processes` of a back end on this machine: its share of the least of what the machine
/// and the control groups that it is in leave, and no more than its own limit leaves.
pub(crate) fn free_bytes(processes: usize) -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let of_machine = in_kib(&read("/proc/meminfo"), "MemAvailable:");
    let of_groups = groups(&read("/proc/self/cgroup")).into_iter().filter_map(Group::free).min();
    let used = in_kib(&read("/proc/self/status"), "VmSize:");
    let of_process = address_space(&read("/proc/self/limits")).map(|limit| limit.saturating_sub(used.unwrap_or(0)));
    least([of_machine, of_groups], of_process, processes)
}

fn least(of_all: [Option<u64>; 2], of_process: Option<u64>, processes: usize) -> u64 {
    let share = of_all.into_iter().flatten().min().map(|free| free / processes.max(1) as u64);
    [share, of_process].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// Most memory that this process has held, in bytes; none where the system does not tell.
pub(crate) fn peak_bytes() -> Option<u64> {
    in_kib(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

fn too_large(info: &SourceInfo, needed: u64, free: u64, processes: usize) -> PipelineError {
    let levels = levels_of(info);
    let fits = levels.iter().position(|grid| step_bytes(grid.sample_count()) <= free);
    // One of a level that was named is counted from there.
    let level = fits.filter(|_| !names_level(&info.name)).map_or_else(|| "N".to_owned(), |level| level.to_string());
    let (source_name, needed, free) = (info.name.clone(), bytes_for_people(needed), bytes_for_people(free));
    PipelineError::TooLarge { source_name, needed, free, processes, level }
}

/// The number after `name` in a table of KiB as the kernel writes them, in bytes.
fn in_kib(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024))
}

/// The soft limit of the address space, in bytes; none where there is no limit.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A control group that may limit memory, of version 1 or 2 of that interface.
struct Group {
    folder: PathBuf,
    limit: &'static str,
    used: &'static str,
    /// Lines of `memory.stat` that tell what of it the kernel gives back when it is wanted.
    cached: [&'static str; 2],
}

impl Group {
    fn free(self) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (limit, used) = (number(self.limit)?, number(self.used)?);
        let statistics = read("memory.stat").unwrap_or_default();
        let cached = |name: &&str| {
            let line = statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
        };
        let cached: u64 = self.cached.iter().map(cached).sum();
        Some(limit.saturating_sub(used.saturating_sub(cached)))
    }
}

/// The groups that a process is in, with all above them; in a container the upper ones are not to be seen.
fn groups(of_process: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in of_process.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let inside = Path::new(path.trim_start_matches('/'));
        for folder in inside.ancestors() {
            if controllers.is_empty() {
                groups.push(Group {
                    folder: Path::new("/sys/fs/cgroup").join(folder),
                    limit: "memory.max",
                    used: "memory.current",
                    cached: ["inactive_file", "active_file"],
                });
            } else if controllers.split(',').any(|name| name == "memory") {
                groups.push(Group {
                    folder: Path::new("/sys/fs/cgroup/memory").join(folder),
                    limit: "memory.limit_in_bytes",
                    used: "memory.usage_in_bytes",
                    cached: ["total_inactive_file", "total_active_file"],
                });
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_counts_with_all_above_it() {
        let folders = |told: &str| groups(told).into_iter().map(|group| group.folder).collect::<Vec<_>>();
        let of = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            folders("0::/user.slice/shell.scope\n"),
            of(&["/sys/fs/cgroup/user.slice/shell.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/"])
        );
        assert_eq!(
            folders("5:cpu,cpuacct:/a\n3:memory:/job\n"),
            of(&["/sys/fs/cgroup/memory/job", "/sys/fs/cgroup/memory/"])
        );
    }

    #[test]
    fn a_group_leaves_what_it_does_not_use_or_can_give_back() {
        let folder = tempfile::tempdir().unwrap();
        let group = || Group {
            folder: folder.path().to_owned(),
            limit: "memory.max",
            used: "memory.current",
            cached: ["inactive_file", "active_file"],
        };
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("memory.current", "700\n");
        write("memory.stat", "anon 300\nfile 400\ninactive_file 150\nactive_file 250\n");
        write("memory.max", "max\n");
        assert_eq!(group().free(), None);
        write("memory.max", "1000\n");
        assert_eq!(group().free(), Some(700));
    }

    #[test]
    fn processes_on_one_machine_have_a_share_each_and_their_own_limits() {
        let share = |of_process, processes| least([Some(900), Some(600)], of_process, processes);
        assert_eq!([share(None, 1), share(None, 3), share(Some(150), 3)], [600, 200, 150]);
        assert_eq!(least([None, None], None, 3), u64::MAX);
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_to_do() {
        let told = |processes| {
            let (source_name, needed, free) = ("a.h5".to_owned(), "9 GB".to_owned(), "2 GB".to_owned());
            PipelineError::TooLarge { source_name, needed, free, processes, level: "2".to_owned() }.to_string()
        };
        assert!(told(1).contains("this machine has 2 GB free: choose a coarser level (?level=2)"), "{}", told(1));
        assert!(told(3).contains("this machine has 2 GB free for each of 3 processes: choose"), "{}", told(3));
    }

    #[test]
    fn the_kernels_tables_are_read() {
        assert_eq!(in_kib("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", "MemAvailable:"), Some(2 << 20));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  4096  unlimited  bytes\n";
        assert_eq!(address_space(limits), Some(4096));
        assert_eq!(address_space(&limits.replace("4096", "unlimited")), None);
    }

    #[test]
    fn a_step_takes_its_values_and_a_seventh_for_coarser_levels() {
        assert_eq!(step_bytes(8000 * 8000 * 8000), 2_340_571_428_571);
        assert_eq!(step_bytes(usize::MAX), u64::MAX / 7);
    }
}
