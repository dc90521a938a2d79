//! What a URL asks of a source behind its name: `?level=1`, `?spacing=even`, `?spacing=even&level=1`.

use std::path::Path;

use crate::SourceError;

const LEVEL: &str = "level";
const SPACING: &str = "spacing";

/// The options of a URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The level that is to be shown alone, 0 being the finest.
    pub(crate) level: Option<usize>,
    /// Whether samples are to be equally far apart that are not.
    pub(crate) is_even: bool,
}

impl Options {
    /// A URL without its options, and those. Where a file has a name with options in it, or nothing of them is known and they may be the store's, they are none.
    ///
    /// # Errors
    /// [`SourceError::Option`] says what is not understood, and what would be.
    pub(crate) fn split(url: &str) -> Result<(&str, Self), SourceError> {
        let Some((source, query)) = query_of(url) else { return Ok((url, Self::default())) };
        let wrong = |problem: String| SourceError::Option { url: url.to_owned(), problem };
        if query_of(source).is_some_and(|(_, query)| pairs(query).any(|(key, _)| is_known(key))) {
            return Err(wrong("options are parted by &, as in ?spacing=even&level=1".to_owned()));
        }
        if let Some((key, _)) = pairs(query).find(|(key, _)| !is_known(key)) {
            if !Path::new(source).exists() && !pairs(query).any(|(key, _)| is_known(key)) {
                return Ok((url, Self::default()));
            }
            return Err(wrong(format!(
                "unknown option '{key}'; accepted are level=N, 0 being the finest, and spacing=even"
            )));
        }
        let mut options = Self::default();
        for (key, value) in pairs(query) {
            match (key, value) {
                (LEVEL, number) => {
                    let level = number.parse().map_err(|_| wrong("a level is a number, 0 being the finest".to_owned()));
                    options.level = Some(level?);
                }
                (_, "even") => options.is_even = true,
                _ => return Err(wrong(format!("unknown spacing '{value}'; it can be made even"))),
            }
        }
        Ok((source, options))
    }
}

/// Whether options of a source stand in a URL, which are for who has it.
pub fn names_options(url: &str) -> bool {
    let known = [LEVEL, SPACING].iter().any(|key| url.contains(&format!("?{key}=")));
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
    [LEVEL, SPACING].contains(&key)
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
    fn options_are_told_from_the_name_in_any_order() {
        let asked = |level, is_even| Options { level, is_even };
        for (query, due) in [
            ("level=3", asked(Some(3), false)),
            ("spacing=even", asked(None, true)),
            ("spacing=even&level=0", asked(Some(0), true)),
            ("level=0&spacing=even", asked(Some(0), true)),
        ] {
            assert_eq!(Options::split(&format!("run.nc?{query}")).unwrap(), ("run.nc", due));
            assert_eq!(names_level(&format!("run.nc?{query}")), query.contains("level"));
        }
        for url in [HERE, "run.nc", "what?.nc", "https://example.org/field.zarr?version=3"] {
            assert_eq!(Options::split(url).unwrap(), (url, Options::default()));
            assert!(!names_level(url));
        }
    }

    #[test]
    fn an_option_that_is_not_understood_is_named() {
        let problem = |query: &str| Options::split(&format!("{HERE}?{query}")).unwrap_err().to_string();
        let unknown = "unknown option 'leve'; accepted are level=N, 0 being the finest, and spacing=even";
        for query in ["leve=1", "level=1&leve=1", "leve=1&spacing=even"] {
            assert!(problem(query).ends_with(&format!("?{query}: {unknown}")), "{}", problem(query));
        }
        assert!(problem("spacing=even?level=1").ends_with("options are parted by &, as in ?spacing=even&level=1"));
        assert!(problem("level=one").ends_with("a level is a number, 0 being the finest"));
        assert!(problem("spacing=odd").ends_with("unknown spacing 'odd'; it can be made even"));
    }

    #[test]
    fn a_name_gets_options_one_behind_another() {
        let even = with_option("run.nc", "spacing=even");
        assert_eq!(with_option(&even, "level=2"), "run.nc?spacing=even&level=2");
        assert_eq!(with_option("what?.nc", "level=2"), "what?.nc?level=2");
    }
}
