//! Times that count from a date, as dates (Climate and Forecast conventions, 4.4), in the words of the page (`web/src/ui/dates.ts`).

use std::sync::LazyLock;

use regex::{Captures, Regex};

use visapult_volume::Calendar;

const DAY_MS: i64 = 86_400_000;
/// Milliseconds that doubles tell apart: the page counts in those.
const MOST_MS: f64 = 9_007_199_254_740_991.0;

/// `hours since 2001-01-01 00:00:00 +02:00`, in the spellings that are met.
static SINCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let date = r"([0-9]{1,4})-([0-9]{1,2})-([0-9]{1,2})";
    let clock = r"(?:[ T]+([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2}(?:\.[0-9]*)?))?)?)?";
    let zone = r"(?:Z|UTC|GMT|([-+])([0-9]{1,2}):?([0-9]{2})?)?";
    Regex::new(&format!(r"(?i)^([a-z]+)\s+since\s+{date}{clock}\s*{zone}$")).ok()
});

/// The date of a time in `unit`; `None` where that counts from none that there is, or in a calendar that is not known.
pub(crate) fn date_words(time: f64, unit: &str, calendar: &str) -> Option<String> {
    let found = SINCE.as_ref()?.captures(unit.trim())?;
    let name = calendar.to_ascii_lowercase();
    let known = Calendar::named(&name)?;
    let part = |number: usize| found.get(number).map_or("", |part| part.as_str());
    let whole = |number: usize| part(number).parse::<i64>().unwrap_or(0);
    let first = known.day_that_is([2, 3, 4].map(whole))?;
    let milliseconds = (1000.0 * (clock_seconds(&found) + time * seconds_of(part(1))?) + 0.5).floor();
    if !time.is_finite() || milliseconds.abs() > MOST_MS {
        return None;
    }
    let milliseconds = milliseconds as i64;
    let [year, month, day] = known.date_of(first + milliseconds.div_euclid(DAY_MS));
    // Before year 1 calendars differ in whether there is a year 0.
    let of = if known.is_usual() { " UTC".to_owned() } else { format!(" ({name})") };
    let clock = clock_words(milliseconds.rem_euclid(DAY_MS));
    (year >= 1).then(|| format!("{year:04}-{month:02}-{day:02} {clock}{of}"))
}

/// Seconds that the clock is after midnight where it is in step with UTC.
fn clock_seconds(found: &Captures<'_>) -> f64 {
    let part = |number: usize| found.get(number).and_then(|part| part.as_str().parse::<f64>().ok()).unwrap_or(0.0);
    let ahead = 3600.0 * part(9) + 60.0 * part(10);
    let is_west = found.get(8).is_some_and(|sign| sign.as_str() == "-");
    3600.0 * part(5) + 60.0 * part(6) + part(7) - if is_west { -ahead } else { ahead }
}

/// Seconds in a unit of such a name.
fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "nanosec" | "nanosecs" | "nanosecond" | "nanoseconds" | "ns" | "nsec" | "nsecs" => 1e-9,
        "microsec" | "microsecs" | "microsecond" | "microseconds" | "us" | "usec" | "usecs" => 1e-6,
        "millisec" | "millisecs" | "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

/// Hours and minutes, and seconds where there are any.
fn clock_words(milliseconds: i64) -> String {
    let minutes = format!("{:02}:{:02}", milliseconds / 3_600_000, milliseconds / 60_000 % 60);
    match (milliseconds / 1000 % 60, milliseconds % 1000) {
        (0, 0) => minutes,
        (seconds, 0) => format!("{minutes}:{seconds:02}"),
        (seconds, parts) => format!("{minutes}:{seconds:02}.{parts:03}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Cases = BTreeMap<String, Vec<(f64, String, String, Option<String>)>>;

    #[test]
    fn times_are_told_in_the_words_of_the_page() {
        let cases: Cases = serde_json::from_str(include_str!("../../../testdata/dates.json")).unwrap();
        for (time, unit, calendar, words) in cases.into_values().flatten() {
            assert_eq!(date_words(time, &unit, &calendar), words, "{time} {unit} {calendar}");
        }
        assert_eq!(date_words(f64::NAN, "days since 2001-01-01", ""), None);
    }
}
