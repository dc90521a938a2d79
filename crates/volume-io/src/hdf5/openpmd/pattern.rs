//! Names with the number of an iteration in them, as openPMD writes them: `data%T.h5`, `data_%06T.h5`.

/// Digits of a number at most.
const MOST_DIGITS: usize = 19;

/// A name in which a number stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    before: String,
    /// Digits that the number has at least.
    digits: usize,
    after: String,
}

impl Pattern {
    /// `None` where no `%T` is in it, or more than one.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once('%')?;
        let (digits, after) = rest.split_once('T')?;
        let is_width =
            digits.is_empty() || (digits.starts_with('0') && digits.bytes().all(|sign| sign.is_ascii_digit()));
        let digits = digits.parse().unwrap_or(0);
        let is_one = is_width && digits <= MOST_DIGITS && !after.contains('%');
        is_one.then(|| Self { before: before.to_owned(), digits, after: after.to_owned() })
    }

    /// The number in such a name.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let number = name.strip_prefix(&self.before)?.strip_suffix(&self.after)?;
        let is_number = number.len() >= self.digits.max(1) && number.bytes().all(|sign| sign.is_ascii_digit());
        number.parse().ok().filter(|_| is_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_stands_where_the_pattern_has_it() {
        let number = |pattern: &str, name: &str| Pattern::of(pattern).and_then(|pattern| pattern.number(name));
        assert_eq!(number("data%T.h5", "data100.h5"), Some(100));
        assert_eq!(number("data_%06T.h5", "data_000100.h5"), Some(100));
        assert_eq!(number("data_%06T.h5", "data_1234567.h5"), Some(1_234_567));
        assert_eq!(number("%T", "0"), Some(0));
        for (pattern, name) in [
            ("data_%06T.h5", "data_100.h5"),
            ("data%T.h5", "data.h5"),
            ("data%T.h5", "data-1.h5"),
            ("data%T.h5", "data100.bp"),
            ("%T", "99999999999999999999"),
            ("data%d.h5", "data1.h5"),
            ("%T_%T", "1_1"),
            ("%6T", "000001"),
        ] {
            assert_eq!(number(pattern, name), None, "{pattern} {name}");
        }
    }
}
