//! What a URL asks of a source behind its name: `?level=1`, `?spacing=even`, `?box=0:256,:,128:&level=1`.

use std::path::Path;

use crate::SourceError;

const LEVEL: &str = "level";
const SPACING: &str = "spacing";
const BOX: &str = "box";
const KNOWN: [&str; 3] = [LEVEL, SPACING, BOX];

/// What is asked of a source, or of what other options have left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// The level that is to be shown alone, 0 being the finest.
    Level(usize),
    /// Samples are to be equally far apart that are not.
    Even,
    /// The samples that are to be shown alone, as they are written: what is wrong with them is told with what there is.
    Part(&'a str),
}

/// A URL without its options, and those in the order in which they are written. Where a file has a name with options in it, or nothing of them is known and they may be the
/// store's, there are none.
///
/// # Errors
/// [`SourceError::Option`] says what is not understood, and what would be.
pub(crate) fn split(url: &str) -> Result<(&str, Vec<Asked<'_>>), SourceError> {
    let Some((source, query)) = query_of(url) else { return Ok((url, Vec::new())) };
    let wrong = |problem: String| SourceError::Option { url: url.to_owned(), problem };
    if query_of(source).is_some_and(|(_, query)| pairs(query).any(|(key, _)| is_known(key))) {
        return Err(wrong("options are parted by &, as in ?spacing=even&level=1".to_owned()));
    }
    if let Some((key, _)) = pairs(query).find(|(key, _)| !is_known(key)) {
        if !Path::new(source).exists() && !pairs(query).any(|(key, _)| is_known(key)) {
            return Ok((url, Vec::new()));
        }
        return Err(wrong(format!(
            "unknown option '{key}'; accepted are level=N, 0 being the finest, spacing=even, and box=Z,Y,X as in box=0:256,:,128:"
        )));
    }
    if let Some(key) = KNOWN.into_iter().find(|known| pairs(query).filter(|(key, _)| key == known).count() > 1) {
        return Err(wrong(format!("{key} is said twice")));
    }
    let asked = pairs(query).map(|(key, value)| match (key, value) {
        (LEVEL, number) => {
            number.parse().map(Asked::Level).map_err(|_| "a level is a number, 0 being the finest".to_owned())
        }
        (BOX, samples) => Ok(Asked::Part(samples)),
        (_, "even") => Ok(Asked::Even),
        _ => Err(format!("unknown spacing '{value}'; it can be made even")),
    });
    Ok((source, asked.collect::<Result<_, _>>().map_err(wrong)?))
}

/// Whether options of a source stand in a URL, which are for who has it.
pub fn names_options(url: &str) -> bool {
    let known = KNOWN.iter().any(|key| url.contains(&format!("?{key}=")));
    known && !Path::new(url).exists()
}

/// Whether `url` names one level of a source, and so no other.
pub fn names_level(url: &str) -> bool {
    query_of(url).is_some_and(|(_, query)| pairs(query).any(|(key, _)| key == LEVEL))
}

/// The name of a source with one option more.
pub(crate) fn with_option(name: &str, option: &str) -> String {
    let has_some = query_of(name).is_some_and(|(_, query)| pairs(query).any(|(key, _)| is_known(key)));
    format!("{name}{}{option}", if has_some { '&' } else { '?' })
}

fn is_known(key: &str) -> bool {
    KNOWN.contains(&key)
}

/// What stands before and behind the last `?` of a URL that is no file's name; options are given values.
fn query_of(url: &str) -> Option<(&str, &str)> {
    let (source, query) = url.rsplit_once('?')?;
    (query.contains('=') && !Path::new(url).exists()).then_some((source, query))
}

fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

    #[test]
    fn options_are_told_from_the_name_in_the_order_in_which_they_are_written() {
        use Asked::{Even, Level, Part};
        for (query, due) in [
            ("level=3", vec![Level(3)]),
            ("spacing=even", vec![Even]),
            ("spacing=even&level=0", vec![Even, Level(0)]),
            ("level=0&spacing=even", vec![Level(0), Even]),
            ("box=0:256,:,7&spacing=even", vec![Part("0:256,:,7"), Even]),
            ("level=1&box=:,:,9:", vec![Level(1), Part(":,:,9:")]),
        ] {
            let url = format!("run.nc?{query}");
            assert_eq!(split(&url).unwrap(), ("run.nc", due));
            assert_eq!((names_level(&url), names_options(&url)), (query.contains("level"), true));
        }
        for url in [HERE, "run.nc", "what?.nc", "https://example.org/field.zarr?version=3"] {
            assert_eq!(split(url).unwrap(), (url, Vec::new()));
            assert!(!names_level(url) && !names_options(url));
        }
    }

    #[test]
    fn an_option_that_is_not_understood_is_named() {
        let problem = |query: &str| split(&format!("{HERE}?{query}")).unwrap_err().to_string();
        let unknown = "unknown option 'leve'; accepted are level=N, 0 being the finest, spacing=even, and box=Z,Y,X as in box=0:256,:,128:";
        for query in ["leve=1", "level=1&leve=1", "leve=1&spacing=even"] {
            assert!(problem(query).ends_with(&format!("?{query}: {unknown}")), "{}", problem(query));
        }
        assert!(problem("spacing=even?level=1").ends_with("options are parted by &, as in ?spacing=even&level=1"));
        assert!(problem("level=one").ends_with("a level is a number, 0 being the finest"));
        assert!(problem("spacing=odd").ends_with("unknown spacing 'odd'; it can be made even"));
        assert!(problem("level=1&box=0,:,:&level=2").ends_with(": level is said twice"));
    }

    #[test]
    fn a_name_gets_options_one_behind_another() {
        let even = with_option("run.nc", "spacing=even");
        assert_eq!(with_option(&even, "level=2"), "run.nc?spacing=even&level=2");
        assert_eq!(with_option("what?.nc", "level=2"), "what?.nc?level=2");
    }
}
