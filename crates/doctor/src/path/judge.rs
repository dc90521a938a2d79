//! What the figures of a path mean.

use visapult_ripp_net::perf::Report;
use visapult_ripp_net::{RippUrl, Transport};

use super::{Direction, NoPath, Path, Way};
use crate::change::Change;
use crate::finding::{Finding, Findings, Unseen};
use crate::text::{rate, share, time};

/// A share of datagrams that is lost on an idle path, and how many at least, to be found.
const LEAST_LOSS: f64 = 1e-3;
const LEAST_LOST: u64 = 3;
/// What is lost at full rate, beyond what is lost below it, where a queue would have delayed first.
const POLICED_LOSS: f64 = 0.01;
const POLICED_DELAY_S: f64 = 0.005;
/// What an end that does not keep up loses at least, to be found.
const BUSY_LOSS: f64 = 0.01;
/// Bytes of IP and UDP headers.
const HEADERS_V4: usize = 28;
const HEADERS_V6: usize = 48;
/// Bytes of headers and seal in each packet.
const HEADERS: f64 = 61.0;
const ETHERNET_MTU: f64 = 1500.0;
const LEAST_SHARE: f64 = 0.005;
/// Of the rate asked for, what is as good as all of it: headers, and the start.
const NEARLY_ALL: f64 = 0.85;

pub(super) fn no_path(no_path: &NoPath, url: &RippUrl, findings: &mut Findings) {
    if no_path.is_reached {
        let why = format!("the other end does not measure with us: {}", no_path.why);
        findings.no_path = Some(Unseen { what: format!("the path to {}", url.authority()), why });
        return;
    }
    findings.add(
        Finding::new(
            "no-session",
            "the connection",
            format!("there is no session with {}: {}", url.authority(), no_path.why),
        )
        .cost("nothing can be moved over this path")
        .better(
            "a listener that is running there, a TCP port that is open up to it, and the whole URL as it was printed",
        )
        .limit(0.0),
    );
}

/// Judges a path; `asked_bps` is a rate that somebody asked for, if so.
pub fn judge_path(path: &Path, asked_bps: Option<u64>, findings: &mut Findings) {
    blocked(path, findings);
    if path.out.fast.transport == Transport::Udp {
        packet_size(path, findings);
    }
    for (direction, way) in path.ways().filter(|(_, way)| way.fast.transport == Transport::Udp) {
        // A policer's bucket may lose the first train of an idle path, too.
        if !policed(direction, way, findings) {
            lost(direction, way, findings);
        }
        if !coalesced(way, findings) {
            busy(direction, way, findings);
        }
    }
    for (direction, way) in path.ways() {
        if let Some(asked) = asked_bps {
            slow(direction, way, asked as f64, findings);
        }
    }
    if path.back.is_none() {
        findings.unseen("the way back", "the other end did not send");
    }
}

/// Datagrams do not come through, and nobody has asked for streams.
fn blocked(path: &Path, findings: &mut Findings) {
    let report = &path.out.fast;
    let rulings = [&report.policy.sender, &report.policy.receiver].into_iter().flatten();
    let is_wanted = rulings.into_iter().any(|ruling| ruling.transport == Some(Transport::Tcp));
    if report.transport == Transport::Udp || is_wanted {
        return findings.fine();
    }
    findings.add(
        Finding::new("udp-blocked", "a firewall", "no datagram comes through: UDP is blocked, here, there or between")
            .cost(format!(
                "data moves over TLS/TCP streams, at {} here; a session begins up to 2 s later, and each lost packet costs a stream much of its rate",
                rate(carried(report))
            ))
            .better("UDP let through, in both directions, to the listening machine's ports above 1023 (the system picks one for each lane)")
            .by_hand("there: nft add rule inet filter input udp dport 32768-60999 accept    # as the ranges of your firewall are")
            .limit(carried(report)),
    );
}

fn packet_size(path: &Path, findings: &mut Findings) {
    let Some(believed) = path.believed_mtu else {
        return findings.unseen("the path's packet size", "this host does not tell what it believes");
    };
    let headers = if path.peer.ip().to_canonical().is_ipv4() { HEADERS_V4 } else { HEADERS_V6 };
    let carried = path.out.fast.datagram as usize + headers;
    let lost = 1.0 - payload(carried as f64) / payload(ETHERNET_MTU);
    // Sizes between those that are tried are not known; beyond 9000 nothing is.
    if carried + 100 < believed.min(9000) {
        let finding = Finding::new("mtu-hole", "a hole for large packets", format!("packets of {believed} bytes vanish without a word; those of {carried} arrive"))
            .cost(format!(
                "Visapult finds its way around it ({} of the line goes to headers); other programs, and TCP as this host has it set, connect and then hang as \
                 soon as they send a full packet",
                share(lost.max(0.0))
            ))
            .better("a path that says so: ICMP `fragmentation needed` and `packet too big` are not to be dropped; or TCP that tries by itself")
            .change(Change::sysctl("net.ipv4.tcp_mtu_probing", 1))
            .by_hand(format!("ip route change ... mtu {carried}    # or the interface's MTU, if all paths are like this one"));
        return findings.add(finding);
    }
    if lost < LEAST_SHARE {
        return findings.fine();
    }
    findings.add(
        Finding::new(
            "path-mtu",
            "the path's packet size",
            format!("the path takes packets of {carried} bytes at most"),
        )
        .cost(format!("{} more of the line goes to headers than in packets of 1500 bytes", share(lost)))
        .better("1500 bytes, unless a tunnel or its like cannot do without the rest"),
    );
}

fn payload(mtu: f64) -> f64 {
    (mtu - HEADERS).max(1.0) / mtu
}

/// What is lost though the path is nearly idle.
fn lost(direction: Direction, way: &Way, findings: &mut Findings) {
    let Some(slow) = &way.slow else { return };
    let lost = lost_share(slow);
    if lost < LEAST_LOSS || slow.datagrams_lost < LEAST_LOST {
        return findings.fine();
    }
    let (id, what) = match direction {
        Direction::Out => ("loss-out", "loss on the way there"),
        Direction::Back => ("loss-back", "loss on the way back"),
    };
    let rtt_s = slow.rtt_us.min as f64 * 1e-6;
    // Mathis et al. 1997.
    let tcp = 1460.0 * 8.0 / rtt_s.max(1e-5) * 1.22 / lost.sqrt();
    findings.add(
        Finding::new(id, what, format!(
            "{} of the datagrams {} are lost ({} of {}) at {}, when the path is nearly idle",
            share(lost), direction.words(), slow.datagrams_lost, slow.datagrams, rate(slow.kept_bps.max(slow.goodput_bps))
        ))
        .cost(format!(
            "Visapult sends that share again and keeps its rate; one stream of TCP stays below about {} at {} (CUBIC)",
            rate(tcp), time(rtt_s)
        ))
        .better("no loss: a bad cable, optic or radio, a duplex that does not match, an overloaded firewall; compare with the other direction to find the device")
        .by_hand("ip -s link; ethtool -S INTERFACE | grep -i -e err -e crc    # on each device of the way"),
    );
}

/// What exceeds a rate is lost at once, where a queue would have kept it for a while.
fn policed(direction: Direction, way: &Way, findings: &mut Findings) -> bool {
    let excess = lost_share(&way.fast) - way.slow.as_ref().map_or(0.0, lost_share);
    let delay_s = (way.fast.rtt_us.p99.saturating_sub(way.fast.rtt_us.min)) as f64 * 1e-6;
    let is_told = ["policer", "shallow-queue"].contains(&way.fast.limited_by.as_str());
    if excess < POLICED_LOSS || !(is_told || delay_s < POLICED_DELAY_S) {
        findings.fine();
        return false;
    }
    findings.add(
        Finding::new("policed", "a policer", format!(
            "what exceeds about {} {} is dropped at once: {} of the datagrams, {} more than below that rate",
            rate(carried(&way.fast)), direction.words(), share(lost_share(&way.fast)), share(excess)
        ))
        .cost(format!("{} passes; what is tried beyond it is sent in vain, and TCP takes it for congestion", rate(carried(&way.fast))))
        .better("a rate by agreement: if the path is policed by contract, send at that rate (--rate), else have the policer or short queue removed")
        .limit(carried(&way.fast)),
    );
    true
}

/// Receive offload that costs more than it saves, on this machine.
fn coalesced(way: &Way, findings: &mut Findings) -> bool {
    let Some(singly) = &way.singly else {
        findings.fine();
        return false;
    };
    let (together, singly) = (carried(&way.fast), carried(singly));
    findings.add(
        Finding::new("coalescing-hurts", "receive offload that hurts", format!(
            "{} arrive where this machine puts datagrams together (GRO), {} where it hands over each by itself; both were tried twice",
            rate(together), rate(singly)
        ))
        .cost("packets wait to be put together, or the core that does it cannot keep up, and what comes meanwhile is lost")
        .better(format!("GRO off for the interface: {}; or a newer kernel or driver, for without it a core takes no more than about 9 Gbit/s", rate(singly)))
        .by_hand("ethtool -K INTERFACE gro off    # then run the doctor again; other programs on this machine receive with more work")
        .limit(together),
    );
    true
}

/// An end that does not keep up with the path.
fn busy(direction: Direction, way: &Way, findings: &mut Findings) {
    let here =
        matches!((direction, way.fast.limited_by.as_str()), (Direction::Out, "sender") | (Direction::Back, "receiver"));
    let there =
        matches!((direction, way.fast.limited_by.as_str()), (Direction::Out, "receiver") | (Direction::Back, "sender"));
    if !(here || there) || lost_share(&way.fast) < BUSY_LOSS {
        return findings.fine();
    }
    let (which, hint) = if here {
        ("this machine", "see the findings of this machine")
    } else {
        ("the other machine", "run visapult doctor there, too")
    };
    findings.add(
        Finding::new(
            "end-busy",
            "an end that does not keep up",
            format!("{} {} {which} does not keep up with the path", rate(carried(&way.fast)), direction.words()),
        )
        .cost("what arrives and is not read in time is lost, and sent again")
        .better(format!("fewer other things to do, larger buffers, more cores: {hint}"))
        .limit(carried(&way.fast)),
    );
}

fn slow(direction: Direction, way: &Way, asked: f64, findings: &mut Findings) {
    if carried(&way.fast) >= NEARLY_ALL * asked {
        return findings.fine();
    }
    findings.add(
        Finding::new(
            "path-rate",
            "the path",
            format!("{} pass {}, of {} asked for", rate(carried(&way.fast)), direction.words(), rate(asked)),
        )
        .cost(format!("the rate asked for is not had; limited by: {}", way.fast.limited_by))
        .better("see the other findings; if there is none, it is the path's own rate, or others use it")
        .limit(carried(&way.fast)),
    );
}

fn lost_share(report: &Report) -> f64 {
    report.datagrams_lost as f64 / report.datagrams.max(1) as f64
}

/// What arrives in most tenths of a second, once it has begun.
pub(super) fn carried(report: &Report) -> f64 {
    const LEAST_SAMPLES: usize = 5;
    let mut tenths = report.bytes_per_100_ms.clone();
    tenths.sort_unstable();
    let usual = tenths.get(tenths.len() * 3 / 4).filter(|_| tenths.len() >= LEAST_SAMPLES);
    usual.map_or(0.0, |bytes| *bytes as f64 * 80.0).max(report.goodput_bps)
}

pub(super) fn summary(path: &Path) -> String {
    let each = path.ways().map(|(direction, way)| format!("{} {}", rate(carried(&way.fast)), direction.words()));
    format!("The path carries about {}.", each.collect::<Vec<_>>().join(" and "))
}

pub(super) fn lines(path: &Path) -> Vec<String> {
    let mut lines: Vec<_> = path.ways().map(|(direction, way)| line(direction, way)).collect();
    let report = &path.out.fast;
    let transport = match report.transport {
        Transport::Udp => format!("datagrams of {} bytes", report.datagram),
        Transport::Tcp => "TLS/TCP streams".to_owned(),
    };
    let ms = |us: u64| time(us as f64 * 1e-6);
    let idle = path.out.slow.as_ref().unwrap_or(report).rtt_us;
    lines.push(format!(
        "round trip {} at best, {} mostly, {} at worst (99 %); {transport}",
        ms(least_rtt_us(path).unwrap_or(idle.min)),
        ms(idle.median),
        ms(idle.p99)
    ));
    lines
}

/// Of all measurements: in a single one, pauses of a busy machine may be in every round trip.
fn least_rtt_us(path: &Path) -> Option<u64> {
    let reports = path.ways().flat_map(|(_, way)| [Some(&way.fast), way.slow.as_ref(), way.singly.as_ref()]);
    reports.flatten().map(|report| report.rtt_us.min).filter(|us| *us > 0).min()
}

fn line(direction: Direction, way: &Way) -> String {
    let fast = format!("{}: {}, limited by {}", direction.words(), rate(carried(&way.fast)), way.fast.limited_by);
    let Some(slow) = &way.slow else { return fast };
    let at_rate = slow.kept_bps.max(slow.goodput_bps);
    format!(
        "{fast}; lost {} at that rate, {} at {}",
        share(lost_share(&way.fast)),
        share(lost_share(slow)),
        rate(at_rate)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of 100 Mbit/s and 20 ms with nothing wrong.
    fn report(change: impl Fn(&mut Report)) -> Report {
        let plain = r#"{"goodput_bps":1e8,"bytes":1,"verified":true,"faults":[],"wire_bytes":1,"datagrams":10000,"datagrams_lost":0,"bytes_lost":0,
            "bytes_retransmitted":0,"rtt_us":{"min":20000,"median":20500,"p99":30000},"ramp_to_90_s":0.1,"seconds":1,"setup_s":0.1,"sender_cpu_s":1,
            "receiver_cpu_s":1,"rate_error_ppm":null,"limited_by":"link","limits":[],"transport":"udp","datagram":1472,"lanes":1,"bytes_per_100_ms":[]}"#;
        let mut report = serde_json::from_str(plain).unwrap();
        change(&mut report);
        report
    }

    fn ids(fast: impl Fn(&mut Report), slow: impl Fn(&mut Report), asked: Option<u64>) -> Vec<&'static str> {
        let out = Way { fast: report(fast), slow: Some(report(slow)), singly: None };
        let back = Some(Way { fast: report(|_| ()), slow: Some(report(|_| ())), singly: None });
        let path = Path { peer: ([10, 0, 0, 2], 7410).into(), out, back, believed_mtu: Some(1500) };
        let mut findings = Findings::default();
        judge_path(&path, asked, &mut findings);
        assert!(!path.lines().is_empty());
        findings.found.iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn nothing_is_found_on_a_good_path_nor_where_a_queue_overflows() {
        assert!(ids(|_| (), |_| (), Some(100_000_000)).is_empty());
        assert!(ids(|fast| fast.datagrams_lost = 300, |_| (), None).is_empty());
    }

    #[test]
    fn receive_offload_is_blamed_where_it_hurts_each_time() {
        let at = |bps: f64| report(|report| report.goodput_bps = bps);
        let tried = |rates: &[f64]| {
            let mut rates = rates.iter();
            let found = super::super::singly_faster(&at(1e8), |_| Ok(at(*rates.next().unwrap()))).unwrap();
            (found.map(|singly| singly.goodput_bps), rates.len())
        };
        assert_eq!(tried(&[1.05e8]), (None, 0));
        assert_eq!(tried(&[2e8, 1.9e8, 2e8]), (None, 0));
        assert_eq!(tried(&[2e8, 1e8, 1.8e8]), (Some(2e8), 0));
        let way = |singly| Way { fast: at(1e8), slow: Some(report(|_| ())), singly };
        let (out, back) = (way(None), Some(way(Some(at(2e8)))));
        let path = Path { peer: ([10, 0, 0, 2], 7410).into(), out, back, believed_mtu: Some(1500) };
        let mut findings = Findings::default();
        judge_path(&path, None, &mut findings);
        assert_eq!(findings.found.iter().map(|finding| finding.id).collect::<Vec<_>>(), ["coalescing-hurts"]);
    }

    #[test]
    fn the_best_round_trip_is_that_of_all_measurements() {
        let way = |fast_us, slow_us| Way {
            fast: report(|report| report.rtt_us.min = fast_us),
            slow: Some(report(|report| report.rtt_us.min = slow_us)),
            singly: None,
        };
        let path = Path {
            peer: ([10, 0, 0, 2], 7410).into(),
            out: way(9_300, 900_000),
            back: Some(way(0, 9_100)),
            believed_mtu: None,
        };
        assert!(lines(&path).last().unwrap().starts_with("round trip 9.1 ms at best"), "{:?}", lines(&path));
    }

    #[test]
    fn each_fault_is_told_by_its_name() {
        assert_eq!(ids(|_| (), |slow| slow.datagrams_lost = 50, None), ["loss-out"]);
        assert_eq!(ids(|_| (), |_| (), Some(1_000_000_000)), ["path-rate", "path-rate"]);
        let policed = |fast: &mut Report| {
            fast.datagrams_lost = 800;
            fast.limited_by = "policer".to_owned();
        };
        assert_eq!(ids(policed, |_| (), None), ["policed"]);
        assert_eq!(ids(|fast| fast.datagram = 1200, |_| (), None), ["mtu-hole"]);
        assert_eq!(ids(|fast| fast.transport = Transport::Tcp, |_| (), None), ["udp-blocked"]);
        let busy = |fast: &mut Report| {
            fast.datagrams_lost = 200;
            fast.limited_by = "receiver".to_owned();
        };
        assert_eq!(ids(busy, |_| (), None), ["end-busy"]);
    }
}
