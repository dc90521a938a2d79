//! The receiving half of a lane: opens datagrams, remembers which came, and reports.

use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::record::{LaneSecret, Opener};
use crate::time::{Time, wire_difference_us};
use crate::window::{ReceiveWindow, Seen, WINDOW};
use crate::wire::{ClearHeader, Page, Ping, Report};

/// Most reports made at one time.
const MOST_PAGES: usize = 4;
/// Datagrams that were not authentic, after which keys are not to be trusted any longer: a quarter of what ChaCha20-Poly1305 bears, the least of
/// the ciphers (RFC 9001, section 6.6).
const MOST_FORGED: u64 = 1 << 34;
const FIRST_INTERVAL: Duration = Duration::from_millis(2);
const INTERVALS: std::ops::RangeInclusive<u32> = 200..=50_000;

/// What the receiving end allows.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    /// Datagrams that may be under way.
    pub datagrams: u64,
    /// Greatest rate in bits per second; 0 sets no limit.
    pub most_rate_bps: u64,
    /// How long an allowance holds.
    pub lifetime: Duration,
}

impl Default for Credit {
    fn default() -> Self {
        Self { datagrams: WINDOW / 2, most_rate_bps: 0, lifetime: Duration::from_millis(500) }
    }
}

/// Datagrams that changed nothing, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections {
    /// Not a datagram of this version, or of another lane.
    pub malformed: u64,
    /// Not authentic.
    pub forged: u64,
    /// Seen before, or too old to know.
    pub replayed: u64,
}

/// An authentic datagram that was not seen before.
#[derive(Debug)]
pub struct Opened<'a> {
    /// Its packet number, to be handed to [`LaneIn::accept`] once its content is in its place.
    pub number: u64,
    /// Its frame.
    pub frame: &'a [u8],
}

/// What arrived since the last report.
#[derive(Clone, Copy, Debug)]
struct Interval {
    arrivals: Arrivals,
    delay_least: u32,
    delay_most: u32,
}

/// The receiving half of a lane.
#[derive(Debug)]
pub struct LaneIn {
    opener: Opener,
    window: ReceiveWindow,
    credit: Credit,
    rejections: Rejections,
    /// Below this the sender needs no reports.
    settled: u64,
    /// Below this everything that is missing counts as lost: it was passed before the last report.
    judged: u64,
    /// Ends of the window at the last reports, the oldest first: how long a gap may stay open before it counts.
    ends: [u64; 2],
    /// Where the next page begins, if the last report could not tell all.
    cursor: u64,
    interval: Option<Interval>,
    echo: Option<(u32, Time)>,
    bytes: u64,
    datagrams: u64,
    marked: u64,
    kernel_drops: u64,
    late: u64,
    /// Longest that a datagram waited for the receiving thread since the last report.
    waited: Duration,
    report_every: Duration,
    last_report: Time,
    /// End of the window when data or a ping last came: reports go on until everything below is judged. Reports and pongs ask for none, lest
    /// two ends report each other's reports for ever.
    asked: u64,
    /// Data or a ping came since the last report, or gaps are not judged yet.
    owes_report: bool,
}

impl LaneIn {
    /// A lane that opens datagrams under `secret`.
    #[must_use]
    pub fn new(secret: LaneSecret, credit: Credit, now: Time) -> Self {
        Self {
            opener: Opener::new(secret),
            window: ReceiveWindow::default(),
            credit,
            rejections: Rejections::default(),
            settled: 0,
            judged: 0,
            ends: [0; 2],
            cursor: 0,
            interval: None,
            echo: None,
            bytes: 0,
            datagrams: 0,
            marked: 0,
            kernel_drops: 0,
            late: 0,
            waited: Duration::ZERO,
            report_every: FIRST_INTERVAL,
            last_report: now,
            asked: 0,
            owes_report: false,
        }
    }

    /// The same whose first packet is `number`, at both ends alike; for the simulator, in which the lower bits of numbers are to come round.
    #[must_use]
    pub fn beginning_at(self, number: u64) -> Self {
        Self {
            opener: self.opener.beginning_at(number),
            window: ReceiveWindow::beginning_at(number),
            settled: number,
            judged: number,
            ends: [number; 2],
            ..self
        }
    }

    /// Allows no more than this from here on, in bits per second; 0 sets no limit.
    pub const fn set_most_rate(&mut self, most_rate_bps: u64) {
        self.credit.most_rate_bps = most_rate_bps;
    }

    /// What stands in the clear header of this lane's datagrams.
    #[must_use]
    pub const fn key_id(&self) -> u16 {
        self.opener.key_id()
    }

    /// Datagrams that changed nothing.
    #[must_use]
    pub const fn rejections(&self) -> Rejections {
        self.rejections
    }

    /// So many forgeries were tried that the lane must end before one succeeds.
    #[must_use]
    pub const fn is_worn_out(&self) -> bool {
        self.rejections.forged >= MOST_FORGED
    }

    /// Datagrams, and bytes of IP packets of data accepted.
    #[must_use]
    pub const fn received(&self) -> (u64, u64) {
        (self.datagrams, self.bytes)
    }

    /// Packet numbers below the highest, of a lane that began with 0, under which nothing was accepted: lost on the way, or not here yet.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.window.end().saturating_sub(self.datagrams)
    }

    /// Opens a datagram in place. Nothing changes but a count of what was refused.
    pub fn open<'a>(&mut self, datagram: &'a mut [u8]) -> Option<Opened<'a>> {
        let header = ClearHeader::read(datagram).ok().filter(|header| header.key_id == self.opener.key_id());
        let Some(header) = header else {
            self.rejections.malformed += 1;
            return None;
        };
        let number = self.window.widen(header.number_low);
        match self.window.look(number) {
            Seen::New => {}
            Seen::Before | Seen::TooOld => {
                self.rejections.replayed += 1;
                return None;
            }
            Seen::TooFar => {
                self.rejections.forged += 1;
                return None;
            }
        }
        let Some(frame) = self.opener.open(number, datagram) else {
            self.rejections.forged += 1;
            return None;
        };
        Some(Opened { number, frame })
    }

    /// Counts an opened datagram as arrived: `data_bytes` long as an IP packet if it carries data, else 0. What is not accepted is reported
    /// missing, and sent again. It had `waited` in the system's queue: how fast datagrams come is told by when they came there.
    pub fn accept(
        &mut self,
        now: Time,
        waited: Duration,
        number: u64,
        data_bytes: u64,
        marked: bool,
        sent_us: Option<u32>,
    ) {
        if self.window.look(number) != Seen::New {
            // Opened twice before it was accepted once: a copy that came with the original.
            self.rejections.replayed += 1;
            return;
        }
        if number < self.judged {
            self.late += 1;
        }
        self.window.mark(number);
        self.opener.advance(number);
        self.datagrams += 1;
        self.bytes += data_bytes;
        self.marked += u64::from(marked);
        let Some(sent_us) = sent_us else { return };
        self.owes_report = true;
        self.asked = self.window.end();
        let delay = now.wire_us().wrapping_sub(sent_us);
        // Within an interval the latest; the first of an interval always, whatever the sender's clock did in a long pause.
        if self.interval.is_none() || self.echo.is_none_or(|(echo, _)| wire_difference_us(sent_us, echo) >= 0) {
            self.echo = Some((sent_us, now));
        }
        let arrived = now.before(waited);
        match &mut self.interval {
            Some(interval) => {
                interval.arrivals.note(arrived, data_bytes);
                if wire_difference_us(delay, interval.delay_least) < 0 {
                    interval.delay_least = delay;
                }
                if wire_difference_us(delay, interval.delay_most) > 0 {
                    interval.delay_most = delay;
                }
            }
            empty => {
                let arrivals = Arrivals::after(arrived);
                *empty = Some(Interval { arrivals, delay_least: delay, delay_most: delay });
            }
        }
    }

    /// Takes note of what a ping says.
    pub fn on_ping(&mut self, ping: &Ping) {
        self.settled = self.settled.max(ping.settled.min(self.window.end()));
        let interval = ping.report_interval_us.clamp(*INTERVALS.start(), *INTERVALS.end());
        self.report_every = Duration::from_micros(u64::from(interval));
        self.owes_report = true;
        self.asked = self.window.end();
    }

    /// The kernel has dropped this many of the lane's datagrams in all.
    pub fn set_kernel_drops(&mut self, drops: u64) {
        self.kernel_drops = drops;
    }

    /// A datagram had waited so long in the system's queue when it was taken.
    pub fn note_wait(&mut self, waited: Duration) {
        self.waited = self.waited.max(waited);
    }

    /// How often the sender would like reports.
    #[must_use]
    pub const fn report_every(&self) -> Duration {
        self.report_every
    }

    /// When the next report is due: what arrives after a pause is gathered first, so that the report tells how fast it came.
    #[must_use]
    pub fn next_report(&self) -> Option<Time> {
        let from = self.interval.map_or(self.last_report, |interval| interval.arrivals.first().max(self.last_report));
        self.owes_report.then(|| from.after(self.report_every))
    }

    /// Makes the reports that are due, one for each page of what is missing.
    pub fn report(&mut self, now: Time, mut send: impl FnMut(&Report)) {
        if self.next_report().is_none_or(|due| due > now) {
            return;
        }
        let mut report = self.summary(now);
        self.judged = self.ends[0];
        let start = self.settled.max(self.window.start());
        let mut from = if self.cursor > start && self.cursor < self.judged { self.cursor } else { start };
        for _ in 0..MOST_PAGES {
            report.page = self.page(from);
            send(&report);
            from = report.page.to;
            if from >= self.judged {
                break;
            }
        }
        // What did not fit is told next; else all that is unsettled is told again, for reports are lost as well.
        self.cursor = if from < self.judged { from } else { 0 };
        self.owes_report = self.judged < self.asked;
        self.ends = [self.ends[1], self.window.end()];
        self.last_report = now;
        self.interval = None;
        self.waited = Duration::ZERO;
    }

    fn page(&self, from: u64) -> Page {
        let mut missing: Vec<_> = self.window.missing(from, self.judged).take(crate::wire::MOST_RANGES + 1).collect();
        let mut to = self.judged.max(from);
        if missing.len() > crate::wire::MOST_RANGES
            && let Some((first, _)) = missing.pop()
        {
            to = first;
        }
        Page { from, to, missing }
    }

    fn summary(&self, now: Time) -> Report {
        let (echo_us, hold) = self.echo.map_or((0, Duration::ZERO), |(echo, at)| (echo, now.since(at)));
        let interval =
            self.interval.unwrap_or(Interval { arrivals: Arrivals::after(now), delay_least: 0, delay_most: 0 });
        let (span, span_bytes) = interval.arrivals.median();
        Report {
            busy: share_of_255(self.waited, now.since(self.last_report)),
            interval_us: now.since(self.last_report).as_micros() as u32,
            highest: self.window.end().saturating_sub(1),
            echo_us,
            hold_us: hold.as_micros() as u32,
            now_us: now.wire_us(),
            bytes: self.bytes & crate::wire::MOST_OFFSET,
            marked: self.marked as u32,
            kernel_drops: self.kernel_drops as u32,
            late: self.late as u32,
            delay_least_us: interval.delay_least,
            delay_most_us: interval.delay_most,
            span_us: span.as_micros() as u32,
            span_bytes: span_bytes as u32,
            credit: self.window.end() + self.credit.datagrams,
            most_rate_bps: self.credit.most_rate_bps,
            lifetime_ms: self.credit.lifetime.as_millis() as u32,
            page: Page::default(),
        }
    }
}

fn share_of_255(part: Duration, whole: Duration) -> u8 {
    (part.min(whole).as_micros() * 255 / whole.as_micros().max(1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Cipher;
    use crate::record::End;

    #[test]
    fn reports_and_pongs_ask_for_no_report() {
        let secret = LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, 0, End::Dialer);
        let mut lane = LaneIn::new(secret, Credit::default(), Time::ZERO);
        lane.accept(Time::ZERO, Duration::ZERO, 0, 100, false, Some(5));
        let mut reports = 0;
        for number in 1..50 {
            lane.accept(Time::from_ns(number), Duration::ZERO, number, 100, false, None);
            if let Some(due) = lane.next_report() {
                lane.report(due, |_| reports += 1);
            }
        }
        assert!((2..5).contains(&reports), "{reports}");
    }

    #[test]
    fn a_lane_ends_long_before_a_forgery_may_succeed() {
        let secret = LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, 0, End::Dialer);
        let mut lane = LaneIn::new(secret, Credit::default(), Time::ZERO);
        lane.rejections.forged = MOST_FORGED - 1;
        assert!(!lane.is_worn_out());
        let mut forged = [0; 100];
        ClearHeader::of(lane.key_id(), 1).write(&mut forged);
        assert!(lane.open(&mut forged).is_none() && lane.is_worn_out());
    }

    #[test]
    fn a_report_tells_for_which_share_of_its_time_datagrams_waited() {
        let secret = LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, 0, End::Dialer);
        let mut lane = LaneIn::new(secret, Credit::default(), Time::ZERO);
        let mut told = Vec::new();
        for (at_ms, waited_ms) in [(100, 75), (200, 0), (300, 900)] {
            lane.note_wait(Duration::from_millis(waited_ms));
            lane.accept(Time::from_ns(at_ms * 1_000_000 - 10_000_000), Duration::ZERO, at_ms, 100, false, Some(5));
            lane.report(Time::from_ns(at_ms * 1_000_000), |report| told.push(report.busy));
        }
        assert_eq!(told, [191, 0, 255]);
    }

    /// A lane that has taken those of the first `count` numbers that `came`.
    fn gapped(count: u64, came: impl Fn(&u64) -> bool) -> LaneIn {
        let secret = LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, 0, End::Dialer);
        let mut lane = LaneIn::new(secret, Credit::default(), Time::ZERO);
        (0..count).filter(came).for_each(|n| lane.accept(Time::ZERO, Duration::ZERO, n, 100, false, Some(5)));
        lane
    }

    /// The pages of reports, each after one more datagram has come behind the first `count`.
    fn pages(mut lane: LaneIn, count: u64) -> Vec<Vec<Page>> {
        let report = |at: u64| {
            let now = Time::ZERO.after(Duration::from_millis(100 * (at + 1)));
            lane.accept(now, Duration::ZERO, count + at, 100, false, Some(5));
            let mut pages = Vec::new();
            lane.report(now.after(Duration::from_millis(60)), |report| pages.push(report.page.clone()));
            pages
        };
        (0..40).map(report).collect()
    }

    #[test]
    fn a_gap_is_lost_when_two_reports_have_passed() {
        let reports = pages(gapped(10, |n| *n != 5), 10);
        let tells = |pages: &Vec<Page>| pages.iter().any(|page| page.missing.contains(&(5, 1)));
        assert_eq!(reports[..4].iter().map(tells).collect::<Vec<_>>(), [false, false, true, true]);
    }

    #[test]
    fn what_the_pages_of_a_report_do_not_hold_the_next_one_tells() {
        let reports = pages(gapped(4_000, |n| n.is_multiple_of(2)), 4_000);
        assert!(reports.iter().flatten().any(|page| page.missing.contains(&(3_997, 1))));
    }
}
