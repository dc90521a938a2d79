//! How much of the processor there is: cores that may be used, quotas, and how fast they run.

use super::Host;
use super::cgroup::least_limit;
use super::costs::CORE_BPS;
use crate::change::Change;
use crate::finding::{Finding, Findings};
use crate::text::{rate, share};

/// Drivers whose governor `powersave` only prefers to save, and still speeds up under load.
const RESPONSIVE: [&str; 4] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp", "cppc_cpufreq"];
const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn check(host: &Host, findings: &mut Findings) {
    let cores = allowed_cores(host);
    match cores {
        Some(cores) => {
            quota(host, cores, findings);
        }
        None => findings.unseen("processor cores", "/proc/self/status does not tell which may be used"),
    }
    governor(host, findings);
}

/// Cores that this process may run on.
fn allowed_cores(host: &Host) -> Option<f64> {
    let status = host.roots.read("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(cores_of(list).len() as f64)
}

/// The numbers in a list such as `0-3,8`; one that is too long is cut.
pub(super) fn cores_of(list: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().take(8192).collect()
}

fn quota(host: &Host, cores: f64, findings: &mut Findings) {
    let allowed = match quota_of_cgroup(host) {
        Ok(quota) => quota.map_or(cores, |quota| quota.min(cores)),
        Err(why) => {
            findings.unseen("processor quota of the container", why);
            cores
        }
    };
    let limit = allowed * CORE_BPS;
    let (seen, better) = if allowed < cores {
        (format!("the control group gives {allowed:.2} of {cores} cores (cpu.max)"), "a larger cpu.max, or none")
    } else {
        (format!("this process may run on {cores} core(s)"), "more cores")
    };
    let finding = Finding::new("processor-quota", "the processor quota", seen)
        .cost(format!(
            "encrypting, hashing and moving takes a core for about {}: here {}, and a program that has used up its share stands still for up to 100 ms",
            rate(CORE_BPS), rate(limit)
        ))
        .better(better)
        .by_hand("docker update --cpus N CONTAINER, or systemctl set-property UNIT CPUQuota=")
        .limit(limit);
    findings.judge(host.wanted(), finding);
}

/// Cores' worth of time that all control groups of this process leave; `None` if they set no limit.
fn quota_of_cgroup(host: &Host) -> Result<Option<f64>, String> {
    least_limit(
        host,
        "cpu",
        "cpu.cfs_period_us",
        |group, is_v2| {
            if is_v2 { quota_v2(host, group) } else { quota_v1(host, group) }
        },
    )
}

fn quota_v2(host: &Host, group: &str) -> Option<f64> {
    let text = host.roots.read(&format!("{group}/cpu.max")).ok()?;
    let (quota, period) = text.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok().filter(|period| *period > 0.0)?)
}

fn quota_v1(host: &Host, group: &str) -> Option<f64> {
    let quota = host.roots.number(&format!("{group}/cpu.cfs_quota_us")).filter(|quota| *quota > 0)?;
    let period = host.roots.number(&format!("{group}/cpu.cfs_period_us")).filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

/// Cores that are kept slow.
fn governor(host: &Host, findings: &mut Findings) {
    let cores: Vec<_> = host.roots.names(CPUS).into_iter().filter(|name| is_core(name)).collect();
    let slow: Vec<_> = cores.iter().filter_map(|core| Some((core, speed_kept(host, core)?))).collect();
    if slow.is_empty() {
        return findings
            .unseen("processor governor", "this machine does not tell (no cpufreq: as in most virtual machines)");
    }
    let Some((_, (kept, name))) =
        slow.iter().filter(|(_, (kept, _))| *kept < 1.0).min_by(|a, b| a.1.0.total_cmp(&b.1.0))
    else {
        return findings.fine();
    };
    let limit = kept * CORE_BPS;
    let count = slow.iter().filter(|(_, (kept, _))| *kept < 1.0).count();
    let mut finding = Finding::new(
        "processor-governor",
        "the processor's governor",
        format!("{count} of {} cores are governed by `{name}`", slow.len()),
    )
    .cost(format!(
        "they run at {} of their speed: about {} a core in place of {}",
        share(*kept),
        rate(limit),
        rate(CORE_BPS)
    ))
    .better("`performance`, or `schedutil`, which speeds up under load")
    .limit(limit);
    for (core, _) in slow.iter().filter(|(_, (kept, _))| *kept < 1.0) {
        finding = finding.change(Change::file(format!("{CPUS}/{core}/cpufreq/scaling_governor"), "performance"));
    }
    findings.judge(host.wanted(), finding);
}

/// The share of its speed that a core is kept at, and the governor that keeps it; `None` if that is not told.
fn speed_kept(host: &Host, core: &str) -> Option<(f64, String)> {
    let at = |what: &str| format!("{CPUS}/{core}/cpufreq/{what}");
    let governor = host.roots.read(&at("scaling_governor")).ok()?;
    let driver = host.roots.read(&at("scaling_driver")).unwrap_or_default();
    let most = host.roots.number(&at("cpuinfo_max_freq")).filter(|most| *most > 0)? as f64;
    let kept = match governor.as_str() {
        "powersave" if !RESPONSIVE.contains(&driver.as_str()) => host.roots.number(&at("scaling_min_freq"))?,
        "userspace" => {
            host.roots.number(&at("scaling_setspeed")).or_else(|| host.roots.number(&at("scaling_cur_freq")))?
        }
        _ => return Some((1.0, governor)),
    };
    Some(((kept as f64 / most).min(1.0), governor))
}

fn is_core(name: &str) -> bool {
    name.strip_prefix("cpu")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores_are_read() {
        assert_eq!(cores_of("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cores_of(" 5"), [5]);
        assert!(cores_of("").is_empty());
        assert_eq!(cores_of("0-4294967295").len(), 8192);
    }
}
