//! NumPy's `.npy`: arrays of shape `(nz, ny, nx)` or `(steps, nz, ny, nx)`, in C or Fortran order.
//!
//! The header is read here, not by a crate: it is one line of three known keys, and must neither recurse nor allocate by
//! what the file claims. Format: NumPy Enhancement Proposal 1 and numpy.lib.format, versions 1 to 3.

use std::fs::File;

use visapult_volume::{FieldInfo, Grid, Reversed, ScalarType};

use crate::axes::remarked;
use crate::bytes::BytesAt;
use crate::flat::{FlatArray, FlatSource, Layout};
use crate::place::Place;
use crate::scalar::{ByteOrder, Encoding};
use crate::witness::Witness;
use crate::{SourceError, SourceInfo, shape};

/// Longest header that is read: NumPy's own limit is 10 000 bytes.
const MAX_HEADER: usize = 1 << 16;

/// Opens a `.npy` file.
pub(crate) fn open(place: &Place) -> Result<FlatSource<File>, SourceError> {
    let shown = place.display();
    let wrong = |problem: String| SourceError::format(&shown, problem);
    let (file, length) = place.open()?;
    let witness = Witness::fixed(place, &file)?;
    let (text, offset) = header_text(&file, length).map_err(wrong)?;
    let header = Header::parse(&text).map_err(wrong)?;
    let encoding = encoding_of(&header.descr).map_err(wrong)?;
    let (steps, size) = shape::steps_and_size(&header.shape).map_err(wrong)?;
    let layout = if header.fortran_order { Layout::steps_fastest(size, steps) } else { Layout::x_fastest(size, steps) };
    let layout = layout.ok_or_else(|| wrong(format!("shape {:?} is too large to address", header.shape)))?;
    let grid = Grid::of_size(size);
    grid.validate().map_err(|e| wrong(e.to_string()))?;
    let array = FlatArray::new(shown.clone(), file, length, offset, encoding.clone(), layout)?;
    let order = if header.fortran_order { "Fortran order" } else { "C order" };
    let field = FieldInfo {
        name: shape::file_stem(place.shown()),
        unit: String::new(),
        scalar_type: encoding.scalar,
        declared_range: None,
    };
    let info = SourceInfo {
        name: shape::file_name(place.shown()),
        format: remarked(format!("NumPy .npy, {order}"), shape::doubt(&header.shape).as_slice()),
        levels: vec![grid],
        fields: vec![field],
        times: Vec::new(),
        time_unit: String::new(),
        calendar: String::new(),
        along: Default::default(),
        live: false,
    };
    Ok(FlatSource::new(info, array, Reversed::default(), witness))
}

/// The header's text, and the byte at which the values begin.
fn header_text(file: &File, length: u64) -> Result<(String, u64), String> {
    let short = |_| format!("it ends inside its header ({length} bytes): it is truncated; write it again");
    let mut start = [0; 12];
    let known = start.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    file.read_at(0, &mut start[..known]).map_err(short)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err("it does not begin with the mark of a NumPy file: save it with numpy.save".to_owned());
    }
    let (text_at, text_len) = match start[6] {
        1 => (10, usize::from(u16::from_le_bytes([start[8], start[9]]))),
        2 | 3 => (12, u32::from_le_bytes([start[8], start[9], start[10], start[11]]) as usize),
        other => return Err(format!("byte 6 gives format version {other}: versions 1 to 3 are known; save it again")),
    };
    if text_len > MAX_HEADER {
        return Err(format!("its header claims {text_len} bytes, at most {MAX_HEADER} are read: it is damaged"));
    }
    let mut text = vec![0; text_len];
    file.read_at(text_at, &mut text).map_err(short)?;
    let text = String::from_utf8(text).map_err(|e| format!("its header is not text at byte {}", e.utf8_error()))?;
    Ok((text, text_at + text_len as u64))
}

/// The three keys of the header.
#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    fn parse(text: &str) -> Result<Self, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut rest = Literal(text);
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" => descr = Some(rest.scalar_descr()?.to_owned()),
                "fortran_order" => fortran_order = Some(rest.boolean()?),
                "shape" => shape = Some(rest.integers()?),
                other => return Err(format!("its header has an unknown key '{other}': save it again")),
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        let missing = |key: &str| format!("its header has no '{key}': save it again with numpy.save");
        Ok(Self {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }
}

/// What is left of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    fn take(&mut self, wanted: char) -> bool {
        let rest = self.0.trim_start().strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(self.unexpected(&format!("'{wanted}'"))) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found: String = self.0.trim_start().chars().take(16).collect();
        format!("its header has {found:?} where {wanted} should be: it is damaged; save it again")
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"')).ok_or_else(|| self.unexpected("a name"))?;
        let (inside, rest) = text[1..].split_once(quote).ok_or_else(|| self.unexpected("a closed name"))?;
        self.0 = rest;
        Ok(inside)
    }

    fn scalar_descr(&mut self) -> Result<&'a str, String> {
        if self.0.trim_start().starts_with('[') {
            return Err("its values are structures, not numbers: save each field as an array of its own".to_owned());
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let text = self.0.trim_start();
        let (value, rest) = if let Some(rest) = text.strip_prefix("True") {
            (true, rest)
        } else if let Some(rest) = text.strip_prefix("False") {
            (false, rest)
        } else {
            return Err(self.unexpected("True or False"));
        };
        self.0 = rest;
        Ok(value)
    }

    fn integers(&mut self) -> Result<Vec<u64>, String> {
        self.expect('(')?;
        let mut values = Vec::new();
        while !self.take(')') {
            let text = self.0.trim_start();
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = text[..digits].parse().map_err(|_| self.unexpected("a size"))?;
            values.push(number);
            // Python 2 wrote long integers as 12L.
            self.0 = text[digits..].strip_prefix('L').unwrap_or(&text[digits..]);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(values)
    }
}

/// `<f4` and the like: byte order, kind, bytes.
fn encoding_of(descr: &str) -> Result<Encoding, String> {
    let (order, kind) = match descr.split_at_checked(1) {
        Some(("<" | "|", kind)) => (ByteOrder::Little, kind),
        Some((">", kind)) => (ByteOrder::Big, kind),
        Some(("=", kind)) => (ByteOrder::NATIVE, kind),
        _ => return Err(unusable(descr)),
    };
    let scalar = match kind {
        "b1" | "u1" => ScalarType::U8,
        "i1" => ScalarType::I8,
        "u2" => ScalarType::U16,
        "i2" => ScalarType::I16,
        "u4" => ScalarType::U32,
        "i4" => ScalarType::I32,
        "u8" => ScalarType::U64,
        "i8" => ScalarType::I64,
        "f2" => ScalarType::F16,
        "f4" => ScalarType::F32,
        "f8" => ScalarType::F64,
        _ => return Err(unusable(descr)),
    };
    Ok(Encoding::plain(scalar, order))
}

fn unusable(descr: &str) -> String {
    let what = match descr.get(1..2) {
        Some("c") => "complex numbers: save their real part, imaginary part or modulus",
        Some("U" | "S" | "a") => "text: save numbers",
        Some("O") => "Python objects: save numbers",
        Some("M" | "m") => "dates: save numbers",
        _ => "not integers of 1-8 bytes or floats of 2-8 bytes: convert them with numpy.astype",
    };
    format!("its values ('{descr}') are {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_shapes_parse() {
        let parsed = Header::parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4L, 5), }  \n").unwrap();
        assert_eq!(parsed, Header { descr: "<f4".into(), fortran_order: false, shape: vec![3, 4, 5] });
        let parsed = Header::parse("{\"shape\":(7,),\"fortran_order\":True,\"descr\":\"|u1\"}").unwrap();
        assert_eq!(parsed, Header { descr: "|u1".into(), fortran_order: true, shape: vec![7] });
    }

    #[test]
    fn damaged_headers_are_refused_where_they_break() {
        for (text, part) in [
            ("", "'{'"),
            ("{'descr': '<f4'", "'}'"),
            ("{'descr': '<f4'}", "fortran_order"),
            ("{'descr': [('a', '<f4')], 'shape': (1,)}", "structures"),
            ("{'shape': (1, -2), }", "a size"),
            ("{'shape': (99999999999999999999999,), }", "a size"),
            ("{'shape': ((((((((((1,),),),),),),),),),)}", "a size"),
            ("{'\u{e9}", "closed name"),
            ("{'x': 1}", "unknown key 'x'"),
        ] {
            let error = Header::parse(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    #[test]
    fn types_that_are_not_real_numbers_are_named() {
        for (descr, part) in
            [("<c8", "complex"), ("<U5", "text"), ("|O", "objects"), ("<f16", "astype"), ("", "astype")]
        {
            assert!(encoding_of(descr).unwrap_err().contains(part), "{descr}");
        }
    }
}
