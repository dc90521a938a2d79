//! Names, units and other words that are shown: what they may be, and how much of them is told.

/// Most bytes of a name or a unit.
pub const MOST_NAME: usize = 200;

/// Whether `what`, a run or something of it, can have this name: it is shown, and asked for by it.
///
/// # Errors
/// Why not, in words.
pub fn check_name(what: &str, name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err(format!("{what} has no name: give it one, by which it is shown and asked for"));
    }
    if name.chars().any(char::is_control) {
        return Err(format!(
            "{what} is called {name:?}, which cannot be shown: leave out tabs, ends of lines and the like"
        ));
    }
    if name.len() > MOST_NAME {
        return Err(format!("{what} has a name of {} bytes: {MOST_NAME} are possible", name.len()));
    }
    Ok(())
}

/// Whether `what`, a run or something of it, can have this unit: it is shown.
///
/// # Errors
/// Why not, in words.
pub(crate) fn check_unit(what: &str, unit: &str) -> Result<(), String> {
    if unit.len() > MOST_NAME {
        return Err(format!("{what} has a unit of {} bytes: {MOST_NAME} are possible", unit.len()));
    }
    if unit.chars().any(char::is_control) {
        return Err(format!(
            "{what} has the unit {unit:?}, which cannot be shown: leave out tabs, ends of lines and the like"
        ));
    }
    Ok(())
}

/// Calendars whose names netCDF knows (Climate and Forecast conventions, 4.4.1).
const CALENDARS: [&str; 11] = [
    "",
    "standard",
    "gregorian",
    "proleptic_gregorian",
    "julian",
    "noleap",
    "365_day",
    "all_leap",
    "366_day",
    "360_day",
    "none",
];

/// Whether times of a program can count in this calendar.
///
/// # Errors
/// Why not, in words.
pub fn check_calendar(calendar: &str) -> Result<(), String> {
    if CALENDARS.iter().any(|known| known.eq_ignore_ascii_case(calendar)) {
        return Ok(());
    }
    Err(format!("calendar {calendar:?} is none of {}", CALENDARS[1..].join(", ")))
}

/// As much of what a source says as can be told.
pub fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MOST_NAME)].to_owned()
}

/// A format with as many whole remarks behind it as can be declared; where those are not all, `more` says so.
pub fn remarks_that_fit(format: &str, more: &str) -> String {
    if format.len() <= MOST_NAME {
        return format.to_owned();
    }
    let most = format.floor_char_boundary(MOST_NAME - "; ".len() - more.len());
    let end = format[..most].rfind("; ").unwrap_or(most);
    format!("{}; {more}", &format[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_format_ends_at_a_whole_remark_and_says_that_there_is_more() {
        let more = "and more where it is served";
        let short = "NetCDF-4; time is not even";
        assert_eq!(remarks_that_fit(short, more), short);
        let remark = "the name of this axis is \u{e9}galit\u{e9}, which is not read";
        let long = ["NetCDF-4", remark, remark, remark, remark, remark].join("; ");
        let told = remarks_that_fit(&long, more);
        assert!(told.len() <= MOST_NAME, "{told}");
        assert_eq!(told, ["NetCDF-4", remark, remark, more].join("; "));
        assert!(remarks_that_fit(&"\u{e9}".repeat(MOST_NAME), more).len() <= MOST_NAME);
    }
}
