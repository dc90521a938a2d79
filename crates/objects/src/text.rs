//! Names, and text that may be shown or written into a URL.

/// Bytes of a name at most, as file systems have it.
pub const MOST_NAME: usize = 255;
/// Bytes of a path at most, as systems have it.
pub const MOST_PATH: usize = 4096;

/// Whether it can be the name of one thing in a folder: 1 to 255 bytes without `/` and NUL, neither `.` nor `..`.
#[must_use]
pub fn is_name(bytes: &[u8]) -> bool {
    (1..=MOST_NAME).contains(&bytes.len())
        && !bytes.iter().any(|&byte| byte == b'/' || byte == 0)
        && bytes != b"."
        && bytes != b".."
}

/// As a terminal may show it: what is no text, would move the cursor, or would turn the text around it, is replaced.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let replaced = |sign: char| sign.is_control() || turns(sign);
    text.chars().map(|sign| if replaced(sign) { char::REPLACEMENT_CHARACTER } else { sign }).collect()
}

/// Whether it is not seen itself and turns the text around it: Unicode's marks, embeddings, overrides and isolates.
#[must_use]
pub const fn turns(sign: char) -> bool {
    matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first of `text`, `most` bytes at most.
#[must_use]
pub fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Bytes as text that a URL may hold: all but letters, digits and `-._~/` become `%XX`.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(byte.into());
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

/// The bytes that `text` stands for; what is not written as `%XX` stands for itself. None if a `%` is followed by something else.
#[must_use]
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digit = |at: usize| char::from(*rest.get(at)?).to_digit(16);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = &rest[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_moves_no_cursor() {
        assert_eq!(printable(b"a\x1b[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }

    #[test]
    fn what_is_shown_is_read_in_its_order() {
        for turning in ["\u{61c}", "\u{200e}", "\u{200f}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}"] {
            assert_eq!(printable(format!("a{turning}gpj.exe").as_bytes()), "a\u{fffd}gpj.exe");
        }
        assert_eq!(printable("\u{5d0}\u{200b}\u{2070}".as_bytes()), "\u{5d0}\u{200b}\u{2070}");
    }

    #[test]
    fn any_bytes_can_be_written_as_text() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&escaped(&all)), Some(all));
        assert_eq!(unescaped("a b"), Some(b"a b".to_vec()));
        for wrong in ["%", "%1", "%zz", "%+1"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }
}
