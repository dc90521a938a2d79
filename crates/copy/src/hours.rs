//! At which hours something is allowed: days of the week and times of the day, as the machine's clock on the wall has them.

use std::fmt;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MINUTES_PER_DAY: u16 = 24 * 60;

/// A minute of a week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// 0 is Monday.
    day: usize,
    /// Since midnight.
    minute: u16,
}

impl Moment {
    /// Now, here.
    pub(crate) fn now() -> Self {
        let now = jiff::Zoned::now();
        let day = now.weekday().to_monday_zero_offset().unsigned_abs();
        Self {
            day: day.into(),
            minute: u16::from(now.hour().unsigned_abs()) * 60 + u16::from(now.minute().unsigned_abs()),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {:02}:{:02}", DAYS[self.day], self.minute / 60, self.minute % 60)
    }
}

/// Hours of some days, such as `mon-fri 18:00-07:30`: what ends before it begins ends the next day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hours {
    days: [bool; 7],
    from: u16,
    to: u16,
    written: String,
}

impl Hours {
    /// # Errors
    /// What is wrong with `text`, and what it may be.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} are no hours: write \"mon-fri 18:00-07:30\", \"sat,sun\" or \"20:00-24:00\"");
        let lower = text.trim().to_ascii_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let (days, times) = match words[..] {
            [times] if times.contains(':') => ([true; 7], times),
            [days] => (parse_days(days).ok_or_else(wrong)?, "00:00-24:00"),
            [days, times] => (parse_days(days).ok_or_else(wrong)?, times),
            _ => return Err(wrong()),
        };
        let times = times.split_once('-').and_then(|(from, to)| Some((parse_time(from)?, parse_time(to)?)));
        let (from, to) = times.filter(|(from, to)| from != to && *from < MINUTES_PER_DAY).ok_or_else(wrong)?;
        Ok(Self { days, from, to, written: lower })
    }

    pub(crate) fn hold(&self, moment: Moment) -> bool {
        let Moment { day, minute } = moment;
        if self.from < self.to {
            return self.days[day] && (self.from..self.to).contains(&minute);
        }
        let yesterday = (day + 6) % 7;
        self.days[day] && minute >= self.from || self.days[yesterday] && minute < self.to
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

fn parse_days(text: &str) -> Option<[bool; 7]> {
    let day = |name: &str| DAYS.iter().position(|day| *day == name);
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        let count = (last + 7 - first) % 7 + 1;
        (first..first + count).for_each(|day| days[day % 7] = true);
    }
    Some(days)
}

fn parse_time(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number =
        |text: &str| text.parse::<u16>().ok().filter(|_| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()));
    let (hour, minute) = (number(hour)?, number(minute)?);
    (minute < 60 && hour * 60 + minute <= MINUTES_PER_DAY).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: usize, hour: u16, minute: u16) -> Moment {
        Moment { day, minute: hour * 60 + minute }
    }

    #[test]
    fn nights_belong_to_the_day_on_which_they_begin() {
        let nights = Hours::parse("mon-fri 18:00-07:30").unwrap();
        for (moment, holds) in [
            (at(0, 17, 59), false),
            (at(0, 18, 0), true),
            (at(0, 7, 0), false),
            (at(1, 7, 29), true),
            (at(1, 7, 30), false),
            (at(5, 7, 0), true),
            (at(5, 18, 0), false),
        ] {
            assert_eq!(nights.hold(moment), holds, "{moment}");
        }
        let weekend = Hours::parse("Sat,Sun").unwrap();
        assert!(weekend.hold(at(6, 23, 59)) && weekend.hold(at(5, 0, 0)) && !weekend.hold(at(0, 0, 0)));
        let around = Hours::parse("sat-mon 09:00-24:00").unwrap();
        assert!(around.hold(at(0, 23, 59)) && !around.hold(at(1, 9, 0)) && !around.hold(at(6, 8, 59)));
        assert!(Hours::parse("20:00-24:00").unwrap().hold(at(3, 20, 0)));
    }

    #[test]
    fn what_are_no_hours_is_told_with_what_are() {
        for wrong in [
            "",
            "monday",
            "mon-fri 8-17",
            "25:00-26:00",
            "08:00-08:00",
            "24:00-02:00",
            "mon 08:00-09:00 x",
            "mon 8:00-9:00",
        ] {
            assert!(Hours::parse(wrong).unwrap_err().contains("mon-fri 18:00-07:30"), "{wrong}");
        }
    }
}
