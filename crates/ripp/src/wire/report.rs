//! Report: what the receiving end of a lane has seen, its credit, and a page of what is missing.
//!
//! ```text
//! 0  kind = 2                    44 one-way delay, least and greatest (4 + 4)
//! 1  waiting, 1/255 of it         52 arrival span (4), bytes within it (4)
//! 2  report interval, us (4)     60 credit: packet number (8), rate (8), lifetime ms (4)
//! 6  highest packet number (8)   80 page: from (8), to (8), ranges (2)
//! 14 its send time (4)           98 ranges: gap, length - 1, each a varint
//! 18 hold time (4)
//! 22 receiver's clock (4)
//! 26 bytes received (6)
//! 32 CE marks, kernel drops, late datagrams (4 + 4 + 4)
//! ```
//! Times are microseconds modulo 2^26. Bytes are of IP packets that carried data. Counts are since the lane began, modulo 2^32 (bytes: 2^48).

use super::bytes::{Reader, Writer};
use super::{CLEAR_HEADER, LEAST_DATAGRAM, REPORT, TAG, WireError};

/// Most ranges of missing datagrams in one report.
pub const MOST_RANGES: usize = 300;

const FIXED: usize = 98;

/// All packet numbers from `from` to below `to` have arrived, except those listed as missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// First packet number this page speaks of.
    pub from: u64,
    /// First packet number it does not speak of.
    pub to: u64,
    /// Missing packet numbers as `(first, count)`, ascending, within the page.
    pub missing: Vec<(u64, u64)>,
}

/// What the receiving end of a lane tells the sending end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Share of the time since the report before in which datagrams waited for the receiver, in 1/255.
    pub busy: u8,
    /// Time since the report before, in microseconds.
    pub interval_us: u32,
    /// Highest packet number seen.
    pub highest: u64,
    /// Send time of that datagram.
    pub echo_us: u32,
    /// Time since its arrival.
    pub hold_us: u32,
    /// The receiver's clock.
    pub now_us: u32,
    /// Bytes of data received in all, all headers included; modulo 2^48.
    pub bytes: u64,
    /// Datagrams that carried a congestion-experienced mark.
    pub marked: u32,
    /// Datagrams that the receiver's kernel dropped for want of room.
    pub kernel_drops: u32,
    /// Datagrams that arrived after they had been reported missing.
    pub late: u32,
    /// Least `arrival - send time` since the report before.
    pub delay_least_us: u32,
    /// Greatest.
    pub delay_most_us: u32,
    /// Time from the first arrival to the last, since the report before, of those that tell how fast they came.
    pub span_us: u32,
    /// Bytes of theirs that arrived after the first.
    pub span_bytes: u32,
    /// The sender may use packet numbers below this one.
    pub credit: u64,
    /// And not send faster than this, in bits per second; 0 sets no limit.
    pub most_rate_bps: u64,
    /// And only for this long after it got the report.
    pub lifetime_ms: u32,
    /// What has arrived and what is missing.
    pub page: Page,
}

impl Report {
    /// Most bytes of a report's frame: every path carries it.
    pub const MOST: usize = LEAST_DATAGRAM - CLEAR_HEADER - TAG;

    /// Writes the frame; returns its length. Ranges that do not fit are left out and the page shortened to what is told.
    ///
    /// # Panics
    /// If the buffer is smaller than [`Report::MOST`].
    pub fn write(&self, frame: &mut [u8]) -> usize {
        let mut writer = Writer::new(frame);
        writer.u8(REPORT);
        writer.u8(self.busy);
        writer.u32(self.interval_us);
        writer.u64(self.highest);
        writer.u32(self.echo_us);
        writer.u32(self.hold_us);
        writer.u32(self.now_us);
        writer.u48(self.bytes);
        for value in [self.marked, self.kernel_drops, self.late] {
            writer.u32(value);
        }
        for value in [self.delay_least_us, self.delay_most_us, self.span_us, self.span_bytes] {
            writer.u32(value);
        }
        writer.u64(self.credit);
        writer.u64(self.most_rate_bps);
        writer.u32(self.lifetime_ms);
        self.write_page(writer)
    }

    fn write_page(&self, mut writer: Writer<'_>) -> usize {
        let fit = self.ranges_that_fit();
        let to = self.page.missing.get(fit).map_or(self.page.to, |&(first, _)| first);
        writer.u64(self.page.from);
        writer.u64(to);
        writer.u16(fit as u16);
        let mut at = self.page.from;
        for &(first, count) in &self.page.missing[..fit] {
            writer.varint(first - at);
            writer.varint(count - 1);
            at = first + count;
        }
        writer.used()
    }

    fn ranges_that_fit(&self) -> usize {
        let mut room = Self::MOST - FIXED;
        let mut at = self.page.from;
        let fits = |&(first, count): &(u64, u64)| {
            let needed = varint_length(first - at) + varint_length(count - 1);
            at = first + count;
            let fits = needed <= room;
            room = room.saturating_sub(needed);
            fits
        };
        self.page.missing.iter().take(MOST_RANGES).map(fits).take_while(|&fits| fits).count()
    }

    pub(super) fn read(mut reader: Reader<'_>) -> Result<Self, WireError> {
        Ok(Self {
            busy: reader.u8()?,
            interval_us: reader.u32()?,
            highest: reader.u64()?,
            echo_us: reader.u32()?,
            hold_us: reader.u32()?,
            now_us: reader.u32()?,
            bytes: reader.u48()?,
            marked: reader.u32()?,
            kernel_drops: reader.u32()?,
            late: reader.u32()?,
            delay_least_us: reader.u32()?,
            delay_most_us: reader.u32()?,
            span_us: reader.u32()?,
            span_bytes: reader.u32()?,
            credit: reader.u64()?,
            most_rate_bps: reader.u64()?,
            lifetime_ms: reader.u32()?,
            page: read_page(&mut reader)?,
        })
    }
}

fn varint_length(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

fn read_page(reader: &mut Reader<'_>) -> Result<Page, WireError> {
    let from = reader.u64()?;
    let to = reader.u64()?;
    let ranges = usize::from(reader.u16()?);
    if to < from || ranges > MOST_RANGES {
        return Err(WireError::Field("page of a report"));
    }
    let mut missing = Vec::with_capacity(ranges);
    let mut at = from;
    for _ in 0..ranges {
        let first = at.checked_add(reader.varint()?).ok_or(WireError::Field("missing range"))?;
        let count = reader.varint()? + 1;
        at = first.checked_add(count).filter(|&end| end <= to).ok_or(WireError::Field("missing range"))?;
        missing.push((first, count));
    }
    Ok(Page { from, to, missing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_ranges_than_fit_a_report_says_less_and_nothing_wrong() {
        // Each takes several bytes.
        let missing: Vec<_> = (0..MOST_RANGES as u64).map(|at| (1_000 * at, 500)).collect();
        let page = Page { from: 0, to: 1_000_000, missing: missing.clone() };
        let mut frame = [0; Report::MOST];
        let length = Report { page, ..Report::default() }.write(&mut frame);
        let told = Report::read(Reader::new(&frame[1..length])).unwrap().page;
        assert!(told.missing.len() < MOST_RANGES);
        assert_eq!((told.to, &told.missing[..]), (missing[told.missing.len()].0, &missing[..told.missing.len()]));
    }
}
