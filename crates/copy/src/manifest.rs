//! Manifests: the hash of every file, a line each, as `b3sum` writes and checks them.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use blake3::{Hash, Hasher};
use visapult_objects::MOST_PATH;

use crate::error::{CopyError, reason};
use crate::names::{inner_path, shown};

/// Bytes of a line at most: a hash, and a path all of whose bytes are escaped.
const MOST_LINE: u64 = 80 + 2 * MOST_PATH as u64;

/// What came of holding files against a manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Files that are what they should be.
    pub right: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Files that are not, or not there.
    pub wrong: u64,
}

/// Writes a manifest. Names that are no text in UTF-8 come last, for `b3sum --check` ends at the first of them.
#[derive(Debug)]
pub struct ManifestWriter<W> {
    out: W,
    last: Vec<u8>,
}

impl<W: Write> ManifestWriter<W> {
    /// To there.
    pub const fn new(out: W) -> Self {
        Self { out, last: Vec::new() }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, path: &[u8], hash: &str) -> io::Result<()> {
        let line = manifest_line(path, hash);
        if std::str::from_utf8(path).is_ok() {
            return self.out.write_all(&line);
        }
        self.last.extend(line);
        Ok(())
    }

    /// That was all; returns where it went.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.last)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A line of a manifest. A path that holds a line's end or a backslash has these written as `\n` and `\\`, and the line begins with a backslash.
pub(crate) fn manifest_line(path: &[u8], hash: &str) -> Vec<u8> {
    let mut line = Vec::new();
    if path.iter().any(|byte| b"\n\r\\".contains(byte)) {
        line.push(b'\\');
    }
    line.extend(hash.as_bytes());
    line.extend(b"  ");
    for &byte in path {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            b'\\' => line.extend(b"\\\\"),
            other => line.push(other),
        }
    }
    line.push(b'\n');
    line
}

/// The path and hash of a line, without its end; none if it is no such line.
pub(crate) fn read_line(line: &[u8]) -> Option<(Vec<u8>, Hash)> {
    let (is_escaped, line) = line.strip_prefix(b"\\").map_or((false, line), |rest| (true, rest));
    let (hash, rest) = line.split_at_checked(64)?;
    let hash = Hash::from_hex(hash).ok()?;
    let written = rest.strip_prefix(b"  ")?;
    if !is_escaped {
        return Some((written.to_vec(), hash));
    }
    let mut path = Vec::new();
    let mut signs = written.iter();
    while let Some(&sign) = signs.next() {
        path.push(match sign {
            b'\\' => match signs.next()? {
                b'n' => b'\n',
                b'r' => b'\r',
                b'\\' => b'\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some((path, hash))
}

/// Whether a manifest is of one file, which is called `name`.
#[must_use]
pub fn is_manifest_of(manifest: &Path, name: &OsStr) -> bool {
    let Ok(file) = File::open(manifest) else { return false };
    let mut lines = BufReader::new(file);
    let first = next_line(&mut lines).unwrap_or_default();
    let is_all = next_line(&mut lines).is_ok_and(|second| second.is_empty());
    let read = read_line(first.strip_suffix(b"\n").unwrap_or(&first));
    is_all && read.is_some_and(|(path, _)| path == name.as_bytes())
}

/// Holds the files below `folder` against a manifest; tells `wrong` of each that is not what it should be, and why.
///
/// # Errors
/// If the manifest cannot be read, or is none.
pub fn verify(manifest: &Path, folder: &Path, wrong: &mut dyn FnMut(&str, &str)) -> Result<Verified, CopyError> {
    let here = |cause: io::Error| CopyError::at(manifest, &cause);
    let mut verified = Verified::default();
    let mut lines = BufReader::new(File::open(manifest).map_err(here)?);
    for number in 1_u64.. {
        let line = next_line(&mut lines).map_err(here)?;
        if line.is_empty() {
            break;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let read = read_line(line).and_then(|(path, hash)| Some((inner_path(&path)?, hash)));
        let Some((path, hash)) = read else {
            let manifest = shown(manifest);
            return Err(CopyError::Here(format!("{manifest} line {number}: not a hash and a path inside the folder")));
        };
        match hash_file(&folder.join(&path)) {
            Ok((found, bytes)) if found == hash => {
                verified.right += 1;
                verified.bytes += bytes;
            }
            outcome => {
                verified.wrong += 1;
                let why =
                    outcome.map_or_else(|cause| reason(&cause), |_| "is not what it was when it was copied".to_owned());
                wrong(&shown(&path), &why);
            }
        }
    }
    Ok(verified)
}

/// With its end; nothing where there is none. One that is longer than any of a manifest is cut, and so is none.
fn next_line(lines: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    lines.take(MOST_LINE).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn hash_file(path: &Path) -> io::Result<(Hash, u64)> {
    // A pipe that has the file's name must not make us wait.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is no file"));
    }
    let mut hasher = Hasher::new();
    hasher.update_reader(file)?;
    Ok((hasher.finalize(), hasher.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_whatever_the_path() {
        let hash = blake3::hash(b"x");
        for path in [&b"a/b c"[..], b"a\nb\\c\r", b"\xff", b" "] {
            let line = manifest_line(path, hash.to_hex().as_str());
            assert_eq!(read_line(line.strip_suffix(b"\n").unwrap()), Some((path.to_vec(), hash)));
        }
        for wrong in ["", "x", &"0".repeat(66), &format!("\\{hash}  a\\x")] {
            assert_eq!(read_line(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_manifest_of_one_file_is_told_from_others() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |name: &[u8]| manifest_line(name, blake3::hash(name).to_hex().as_str());
        let is_of_a = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).unwrap();
            is_manifest_of(file.path(), OsStr::new("a"))
        };
        assert!(is_of_a(&line(b"a")));
        for other in [&b""[..], b"a\n", &line(b"b"), &line(b"b/a"), &[line(b"a"), line(b"b")].concat()] {
            assert!(!is_of_a(other));
        }
    }

    #[test]
    fn names_that_are_no_text_come_last() {
        let mut written = Vec::new();
        let mut manifest = ManifestWriter::new(&mut written);
        for path in [&b"a"[..], b"\xff", b"\xc3\xbc"] {
            manifest.add(path, "0").unwrap();
        }
        manifest.finish().unwrap();
        assert_eq!(written, b"0  a\n0  \xc3\xbc\n0  \xff\n");
    }

    #[test]
    fn what_is_not_as_it_was_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = dir.path().join("manifest");
        let mut lines = Vec::new();
        for name in ["good", "bad", "gone", "pipe"] {
            lines.extend(manifest_line(name.as_bytes(), blake3::hash(name.as_bytes()).to_hex().as_str()));
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        std::fs::write(&manifest, &lines).unwrap();
        std::fs::write(dir.path().join("bad"), "changed").unwrap();
        std::fs::remove_file(dir.path().join("gone")).unwrap();
        let pipe = dir.path().join("pipe");
        std::fs::remove_file(&pipe).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let mut told = Vec::new();
        let verified = verify(&manifest, dir.path(), &mut |path, why| told.push(format!("{path} {why}"))).unwrap();
        assert_eq!(verified, Verified { right: 1, bytes: 4, wrong: 3 });
        let expected =
            ["bad is not what it was when it was copied", "gone there is no such file or folder", "pipe is no file"];
        assert_eq!(told, expected);
        std::fs::write(&manifest, manifest_line(b"../x", blake3::hash(b"").to_hex().as_str())).unwrap();
        let outside = verify(&manifest, dir.path(), &mut |_, _| {}).unwrap_err().to_string();
        assert!(outside.contains("line 1"), "{outside}");
        // What is no manifest at all may have no lines, and any length.
        let none = File::create(&manifest).unwrap();
        none.set_len(1 << 36).unwrap();
        assert!(verify(&manifest, dir.path(), &mut |_, _| {}).unwrap_err().to_string().contains("line 1: not a hash"));
    }
}
