//! Calendars: a day by its number, and back. Dates are year, month and day, which count from 1.

/// Which day is which date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// Julian, and from October 1582 on Gregorian.
    Standard,
    /// Gregorian, also before there was one.
    Proleptic,
    /// Every fourth year has a day more.
    Julian,
    /// All years are alike: days of February, where the other months have theirs.
    Alike(i64),
    /// All months have 30 days.
    Even,
}

/// Days of four years of the Julian calendar, and of 400 of the Gregorian one.
const JULIAN_CYCLE: i64 = 1461;
const GREGORIAN_CYCLE: i64 = 146_097;
/// The first days of March of their year 0, where 1970-01-01 is day 0.
const JULIAN_MARCH: i64 = GREGORIAN_MARCH - 2;
const GREGORIAN_MARCH: i64 = -719_468;
/// The first day that was counted by the Gregorian calendar, 1582-10-15.
const GREGORIAN_FROM: i64 = -141_427;

impl Calendar {
    /// The one that netCDF calls so, in small letters.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::Proleptic,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::Alike(28),
            "all_leap" | "366_day" => Self::Alike(29),
            "360_day" => Self::Even,
            _ => return None,
        })
    }

    /// Whether its dates are those of the present.
    pub const fn is_usual(self) -> bool {
        matches!(self, Self::Standard | Self::Proleptic)
    }

    /// The day of a date; `None` if it has no such date.
    pub fn day_that_is(self, date: [i64; 3]) -> Option<i64> {
        let day = (1..=12).contains(&date[1]).then(|| self.day_of(date))?;
        (self.date_of(day) == date).then_some(day)
    }

    /// The day of a date, 1970-01-01 being 0, or that long after the first day of year 0 where all years are alike.
    fn day_of(self, date: [i64; 3]) -> i64 {
        match self {
            Self::Standard => {
                let day = Self::Julian.day_of(date);
                if day <= GREGORIAN_FROM { day } else { Self::Proleptic.day_of(date) }
            }
            Self::Proleptic => {
                let (year, in_year) = from_march(date);
                let leap = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
                GREGORIAN_MARCH + 365 * year + leap + in_year
            }
            Self::Julian => {
                let (year, in_year) = from_march(date);
                JULIAN_MARCH + (year * JULIAN_CYCLE).div_euclid(4) + in_year
            }
            Self::Alike(_) | Self::Even => {
                let ([year, month, day], months) = (date, self.months());
                year * months.iter().sum::<i64>() + months[..month as usize - 1].iter().sum::<i64>() + day - 1
            }
        }
    }

    /// The date of such a day.
    pub fn date_of(self, day: i64) -> [i64; 3] {
        match self {
            Self::Standard if day < GREGORIAN_FROM => Self::Julian.date_of(day),
            Self::Standard | Self::Proleptic => {
                let days = day - GREGORIAN_MARCH;
                let (cycles, in_cycle) = (days.div_euclid(GREGORIAN_CYCLE), days.rem_euclid(GREGORIAN_CYCLE));
                // Without the days that four years, a century and all four of them have more than their years.
                let leap = in_cycle / 1460 - in_cycle / 36_524 + in_cycle / 146_096;
                let year = (in_cycle - leap) / 365;
                to_march(400 * cycles + year, in_cycle - (365 * year + year / 4 - year / 100))
            }
            Self::Julian => {
                let days = day - JULIAN_MARCH;
                let year = (4 * days + 3).div_euclid(JULIAN_CYCLE);
                to_march(year, days - (year * JULIAN_CYCLE).div_euclid(4))
            }
            Self::Alike(_) | Self::Even => {
                let months = self.months();
                let length = months.iter().sum();
                let (year, mut in_year) = (day.div_euclid(length), day.rem_euclid(length));
                let mut month = 0;
                while in_year >= months[month] {
                    in_year -= months[month];
                    month += 1;
                }
                [year, month as i64 + 1, in_year + 1]
            }
        }
    }

    /// Days of the months, of which all years are alike.
    const fn months(self) -> [i64; 12] {
        match self {
            Self::Alike(february) => [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
            _ => [30; 12],
        }
    }
}

/// Years are counted from March, so that days are added at their end: which one, and days since it began.
const fn from_march([year, month, day]: [i64; 3]) -> (i64, i64) {
    let year = if month > 2 { year } else { year - 1 };
    (year, (153 * ((month + 9) % 12) + 2) / 5 + day - 1)
}

/// The date of a day of a year that is counted so.
const fn to_march(year: i64, in_year: i64) -> [i64; 3] {
    let months = (5 * in_year + 2) / 153;
    let month = (months + 2) % 12 + 1;
    [if month > 2 { year } else { year + 1 }, month, in_year - (153 * months + 2) / 5 + 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_one_date_and_follows_the_day_before() {
        for calendar in [Calendar::Standard, Calendar::Proleptic, Calendar::Julian, Calendar::Alike(29), Calendar::Even]
        {
            let mut before = calendar.date_of(-800_000);
            for day in -799_999..800_000 {
                let date = calendar.date_of(day);
                assert_eq!(calendar.day_of(date), day, "{calendar:?} {date:?}");
                assert!(date > before, "{calendar:?} {date:?} follows {before:?}");
                before = date;
            }
        }
    }
}
