//! Messages on a stream: `[u32 big-endian length][bytes]`.

/// Bytes of a message at most; a longer one is a protocol error.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;

pub(super) const HEADER_BYTES: usize = 4;

/// The header of a message of `bytes` bytes, which the caller has held against [`MAX_MESSAGE_BYTES`].
pub(super) fn header(bytes: usize) -> [u8; HEADER_BYTES] {
    (bytes as u32).to_be_bytes()
}

/// Cuts a stream into messages. Holds no more than has arrived.
#[derive(Default)]
pub(crate) struct FrameReader {
    bytes: Vec<u8>,
    taken: usize,
}

/// A length that no message may have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong(pub(super) usize);

/// The messages of a stream that are whole, and the bytes that they take.
pub(crate) fn whole(stream: &[u8]) -> Result<(Vec<&[u8]>, usize), TooLong> {
    let mut messages = Vec::new();
    let mut rest = stream;
    while let Some((header, body)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let length = u32::from_be_bytes(*header) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(TooLong(length));
        }
        let Some((message, left)) = body.split_at_checked(length) else { break };
        messages.push(message);
        rest = left;
    }
    Ok((messages, stream.len() - rest.len()))
}

impl FrameReader {
    pub(crate) fn push(&mut self, arrived: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(arrived);
    }

    /// What was pushed and not taken, cut or not.
    pub(super) fn into_rest(mut self) -> Vec<u8> {
        self.bytes.drain(..self.taken);
        self.bytes
    }

    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let rest = &self.bytes[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*header) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(TooLong(length));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = message.to_vec();
        self.taken += HEADER_BYTES + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_whole_however_the_stream_is_cut() {
        let messages: [&[u8]; 3] = [b"", b"one", &[7; 1000]];
        let stream: Vec<u8> = messages.iter().flat_map(|m| [&header(m.len()), *m].concat()).collect();
        for cut in [1, 2, 3, 5, 999, 2000] {
            let mut reader = FrameReader::default();
            let mut found = Vec::new();
            for arrived in stream.chunks(cut) {
                reader.push(arrived);
                while let Some(message) = reader.next().unwrap() {
                    found.push(message);
                }
            }
            assert_eq!(found, messages, "cut every {cut} bytes");
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_its_bytes_come() {
        let mut reader = FrameReader::default();
        reader.push(&header(MAX_MESSAGE_BYTES));
        assert_eq!(reader.next(), Ok(None));
        let mut reader = FrameReader::default();
        reader.push(&u32::MAX.to_be_bytes());
        assert_eq!(reader.next(), Err(TooLong(u32::MAX as usize)));
        assert!(reader.bytes.capacity() < 100);
    }
}
