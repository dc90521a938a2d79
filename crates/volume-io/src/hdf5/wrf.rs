//! Output of the Weather Research and Forecasting model: the dates of its steps, and how far its samples are apart.
//!
//! Layout: WRF User's Guide, "WRF Output Fields" (`Times`, `XTIME`, `DX`, `DY`). Its axes have names, and no coordinates.

use std::sync::Arc;

use hdf5_metno::types::FixedAscii;
use hdf5_metno::{Dataset, Group};
use visapult_volume::Calendar;

use super::attributes::{MAX_VALUES, number, text};
use super::find::{is_hard, is_in_file};
use super::scales::{Scales, name_of};
use crate::coordinates::{Coordinates, Found};

/// Signs of a date at most.
const MOST_SIGNS: usize = 32;
/// Steps whose dates are read.
const MOST_DATES: usize = 1 << 16;
/// Axes, the attribute of the file that tells how far samples along them are apart, and in which unit they are then told.
const AXES: [(&str, Option<&str>, &str); 3] =
    [("west_east", Some("DX"), "m"), ("south_north", Some("DY"), "m"), ("bottom_top", None, "level")];
/// What the names of axes end with along which samples are at the faces of cells.
const AT_FACES: &str = "_stag";

/// Where samples are along the axis of a scale that has no coordinates: from the centre of the first cell on, in metres, or levels upwards.
pub(super) fn along(scale: &Dataset, count: usize, known: &mut Scales) -> Option<Found> {
    let name = name_of(scale);
    let (centres, first) = name.strip_suffix(AT_FACES).map_or((name.as_str(), 0.0), |centres| (centres, -0.5));
    let (_, attribute, unit) = AXES.into_iter().find(|(axis, ..)| centres == *axis)?;
    let root = root(scale)?;
    let told = |name| number(&root, name).filter(|spacing| spacing.is_finite() && *spacing > 0.0);
    // Without it the file is another model's.
    let horizontal = told("DX")?;
    let spacing = attribute.map_or(Some(1.0), |name| if name == "DX" { Some(horizontal) } else { told(name) })?;
    let fits = scale.shape() == [count] && count <= MAX_VALUES;
    let values = || (0..count).map(|place| (place as f64 + first) * spacing).collect();
    let are_downwards = attribute.is_none().then_some(false);
    let made =
        || Some(Found::new(Coordinates { name: name.clone(), unit: unit.to_owned(), values: values(), are_downwards }));
    if fits { known.known_or(scale, count, made) } else { None }
}

/// When steps are along a scale that has no coordinates, and by which calendar: by their dates, else by the minutes since the run began.
pub(super) fn times(scale: &Dataset, steps: usize, known: &mut Scales) -> Option<(Found, String)> {
    if name_of(scale) != "Time" {
        return None;
    }
    let minutes = in_root(scale, "XTIME");
    let calendar = minutes.as_ref().and_then(|minutes| text(minutes, "calendar")).unwrap_or_default();
    let found = dates(scale, steps, &calendar, known).or_else(|| known.coordinates(&minutes?, steps));
    found.map(|found| (found, calendar))
}

/// The dates of so many steps as seconds since the first of them.
fn dates(scale: &Dataset, steps: usize, calendar: &str, known: &mut Scales) -> Option<Found> {
    let calendar = Calendar::named(&calendar.to_ascii_lowercase())?;
    let dates = in_root(scale, "Times")?;
    let [count, signs] = *dates.shape().as_slice() else { return None };
    if count != steps || !(1..=MOST_SIGNS).contains(&signs) || !(1..=MOST_DATES).contains(&count) {
        return None;
    }
    known.known_or(&dates, count, || {
        let read = dates.read_raw::<FixedAscii<1>>().ok()?;
        let signs: Vec<u8> = read.iter().map(|sign| sign.as_bytes().first().copied().unwrap_or(0)).collect();
        let texts: Option<Vec<_>> =
            signs.chunks(signs.len() / count).map(|date| std::str::from_utf8(date).ok()).collect();
        let (values, unit) = since_first(&texts?, calendar)?;
        Some(Found::new(Coordinates { name: "Times".to_owned(), unit, values, are_downwards: None }))
    })
}

fn root(dataset: &Dataset) -> Option<Group> {
    dataset.file().ok()?.group("/").ok()
}

/// A dataset in the root of the file of another.
fn in_root(dataset: &Dataset, name: &str) -> Option<Dataset> {
    let root = root(dataset)?;
    is_hard(&root, name).then(|| root.dataset(name).ok())?.filter(is_in_file)
}

fn since_first(dates: &[&str], calendar: Calendar) -> Option<(Arc<[f64]>, String)> {
    let seconds: Option<Vec<_>> = dates.iter().map(|date| seconds(date, calendar)).collect();
    let seconds = seconds?;
    let first = dates.first()?.replace('_', " ");
    Some((seconds.iter().map(|one| (one - seconds[0]) as f64).collect(), format!("seconds since {first}")))
}

/// A date such as `2005-08-28_00:00:00`, in seconds.
fn seconds(date: &str, calendar: Calendar) -> Option<i64> {
    let (day, time) = date.split_once('_')?;
    let numbers = |text: &str, mark: char| {
        let numbers: Option<Vec<i64>> =
            text.split(mark).map(|number| number.parse().ok().filter(|n| (0..=9999).contains(n))).collect();
        <[i64; 3]>::try_from(numbers?).ok()
    };
    let (date, [hours, minutes, seconds]) = (numbers(day, '-')?, numbers(time, ':')?);
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    Some(((calendar.day_that_is(date)? * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_since_the_first() {
        let dates = ["2004-02-28_18:00:00", "2004-02-29_00:00:00", "2004-03-01_00:00:30", "2005-03-01_00:00:30"];
        let (seconds, unit) = since_first(&dates, Calendar::Standard).unwrap();
        assert_eq!(*seconds, [0.0, 21_600.0, 108_030.0, 108_030.0 + 365.0 * 86_400.0]);
        assert_eq!(unit, "seconds since 2004-02-28 18:00:00");
        for other in ["", "2004-02-28", "2004-13-28_00:00:00", "2004-02-28_00:00", "2004-02-28_00:00:-1", "a-b-c_d:e:f"]
        {
            assert_eq!(since_first(&[other], Calendar::Standard), None, "{other}");
        }
    }

    #[test]
    fn what_no_clock_and_no_calendar_shows_is_no_date() {
        let is_date = |date: &str, calendar| since_first(&[date], calendar).is_some();
        assert!(is_date("2004-02-29_23:59:59", Calendar::Standard));
        for other in [
            "2004-02-29_24:00:00",
            "2004-02-29_00:60:00",
            "2004-02-29_00:00:60",
            "2004-02-31_00:00:00",
            "2004-02-00_00:00:00",
        ] {
            assert!(!is_date(other, Calendar::Standard), "{other}");
        }
        assert!(!is_date("2004-02-29_00:00:00", Calendar::Alike(28)));
        let days = since_first(&["2004-02-28_00:00:00", "2004-03-01_00:00:00"], Calendar::Alike(28));
        assert_eq!(*days.unwrap().0, [0.0, 86_400.0]);
    }
}
