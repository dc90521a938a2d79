//! The control groups that this process is in, of either version, and what they allow.

use super::Host;

/// The least of what all groups with this controller allow; `sign` is the file that is there where version 1 of it is mounted, and `limit_of`
/// reads a group's folder, of version 2 or not.
pub(super) fn least_limit(
    host: &Host,
    controller: &str,
    sign: &str,
    limit_of: impl Fn(&str, bool) -> Option<f64>,
) -> Result<Option<f64>, String> {
    let groups = host.roots.read("/proc/self/cgroup").map_err(|cause| format!("/proc/self/cgroup: {cause}"))?;
    let mut least: Option<f64> = None;
    let mut looked = false;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let is_v2 = controllers.is_empty();
        if !is_v2 && !controllers.split(',').any(|one| one == controller) {
            continue;
        }
        let base = if is_v2 { "/sys/fs/cgroup".to_owned() } else { format!("/sys/fs/cgroup/{controllers}") };
        looked |= host.roots.path(&format!("{base}/{}", if is_v2 { "cgroup.controllers" } else { sign })).exists();
        for group in ancestors(path) {
            least = [least, limit_of(&format!("{base}{group}"), is_v2)].into_iter().flatten().reduce(f64::min);
        }
    }
    if looked { Ok(least) } else { Err(format!("no {controller} controller is mounted below /sys/fs/cgroup")) }
}

/// A path and all above it; the top is empty.
fn ancestors(path: &str) -> Vec<&str> {
    let path = path.trim_end_matches('/');
    let cuts = path.match_indices('/').map(|(at, _)| &path[..at]);
    cuts.chain([path]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_and_all_above_it_count() {
        assert_eq!(ancestors("/a/b"), ["", "/a", "/a/b"]);
        assert_eq!(ancestors("/"), [""]);
    }
}
