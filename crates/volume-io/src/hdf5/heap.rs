//! Looks for damage in global heaps that the HDF5 library would not come back from.
//!
//! A heap holds texts and references of variable length. The library steps from object to object by their lengths, and
//! an object 0 (free space) of length 0 holds it for ever (H5HG__cache_heap_deserialize, seen in 2.2.0).
//! Layout: HDF5 File Format Specification, "Level 1E - Global Heap", with lengths of eight bytes.

use std::fs::File;
use std::io;

use crate::bytes::BytesAt;

/// Signature, version and reserved bytes of a heap.
const HEAD: &[u8; 8] = b"GCOL\x01\0\0\0";
/// Bytes at the beginning and at the end of a file that are searched: metadata lies there, values in between.
const SEARCHED: u64 = 4 << 20;
const WINDOW: usize = 1 << 16;
/// Bytes of a heap's, and of an object's header.
const HEADER: u64 = 16;
/// Objects that are looked at in one heap.
const MAX_OBJECTS: usize = 1 << 16;

/// Refuses a file whose heaps would hold the library.
pub(super) fn check(file: &File, length: u64) -> Result<(), String> {
    let tail = length.saturating_sub(SEARCHED);
    let ranges = if tail <= SEARCHED { vec![(0, length)] } else { vec![(0, SEARCHED), (tail, length)] };
    let mut window = vec![0; WINDOW];
    for (start, end) in ranges {
        let mut at = start;
        while at < end {
            let count = WINDOW.min((end - at) as usize);
            file.read_at(at, &mut window[..count]).map_err(|e| format!("byte {at} cannot be read: {e}"))?;
            for (place, _) in window[..count].windows(HEAD.len()).enumerate().filter(|(_, bytes)| bytes == HEAD) {
                let heap = at + place as u64;
                if !ends(file, length, heap).unwrap_or(true) {
                    let problem = "holds an object without length: the file is damaged; copy it again";
                    return Err(format!("its global heap at byte {heap} {problem}"));
                }
            }
            // Windows overlap by a head less one byte.
            at += (count + 1).saturating_sub(HEAD.len()).max(1) as u64;
        }
    }
    Ok(())
}

/// Whether stepping through the objects of the heap at `heap` comes to an end.
fn ends(file: &File, length: u64, heap: u64) -> io::Result<bool> {
    let mut header = [0; HEADER as usize];
    file.read_at(heap, &mut header)?;
    let end = heap.saturating_add(length_in(&header)).min(length);
    let mut at = heap + HEADER;
    for _ in 0..MAX_OBJECTS {
        if at.saturating_add(HEADER) > end {
            return Ok(true);
        }
        file.read_at(at, &mut header)?;
        let index = u16::from_le_bytes([header[0], header[1]]);
        let step = match (index, length_in(&header)) {
            (0, length) => length,
            (_, length) => length.saturating_add(7).saturating_add(HEADER) & !7,
        };
        if step == 0 {
            return Ok(false);
        }
        at = at.saturating_add(step);
    }
    Ok(true)
}

fn length_in(header: &[u8; HEADER as usize]) -> u64 {
    header.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn checked(objects: &[(u16, u64)]) -> Result<(), String> {
        let mut bytes = vec![7; WINDOW - 3];
        bytes.extend(HEAD);
        bytes.extend(4096_u64.to_le_bytes());
        for (index, length) in objects {
            bytes.extend(index.to_le_bytes());
            bytes.extend([0; 6]);
            bytes.extend(length.to_le_bytes());
            bytes.extend(vec![0; if *index == 0 { 0 } else { length.min(&4096).next_multiple_of(8) as usize }]);
        }
        bytes.resize(WINDOW - 3 + 4096, 0);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        check(&file, bytes.len() as u64)
    }

    #[test]
    fn sound_heaps_pass_and_one_that_never_ends_does_not() {
        assert_eq!(checked(&[(1, 5), (2, 16), (0, 4096 - 16 - 24 - 32)]), Ok(()));
        assert_eq!(checked(&[(1, 1 << 60)]), Ok(()));
        let endless = checked(&[(1, 5), (0, 0)]).unwrap_err();
        assert!(endless.contains("heap at byte 65533"), "{endless}");
    }
}
