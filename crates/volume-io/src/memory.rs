//! What this process can still have of the memory of its machine.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that this process can still have, one of so many `processes` of a back end on this machine: its share of the least of what the machine
/// and the control groups that it is in leave, and no more than its own limit leaves.
pub fn free_bytes(processes: usize) -> u64 {
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
pub fn peak_bytes() -> Option<u64> {
    in_kib(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
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
    fn the_kernels_tables_are_read() {
        assert_eq!(in_kib("MemTotal: 9 kB\nMemAvailable:   2048 kB\n", "MemAvailable:"), Some(2 << 20));
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  4096  unlimited  bytes\n";
        assert_eq!(address_space(limits), Some(4096));
        assert_eq!(address_space(&limits.replace("4096", "unlimited")), None);
    }
}
