//! Memory for packets under way: filled front to back in chunks, a chunk is used again when its last packet has left.

/// Room for the largest packet and its vnet header.
pub const ROOM: usize = 65_536 + 64;
const CHUNK: usize = 1 << 20;
const PAGE: usize = 4096;

#[derive(Debug)]
struct Chunk {
    bytes: Box<[u8]>,
    live: u32,
}

/// All chunks. Invariant: never more than `most` bytes.
#[derive(Debug)]
pub struct Arena {
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    current: u32,
    used: usize,
    most: usize,
}

impl Arena {
    /// An arena whose first `ready` bytes are touched now, because the first touch of memory is slow.
    #[must_use]
    pub fn new(ready: usize, most: usize) -> Self {
        let mut arena = Self { chunks: Vec::new(), free: Vec::new(), current: 0, used: 0, most: most.max(2 * CHUNK) };
        for _ in 0..(ready / CHUNK + 1).min(arena.most / CHUNK) {
            let place = arena.add();
            arena.chunks[place as usize].bytes.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
            arena.free.push(place);
        }
        arena.current = arena.free.pop().unwrap_or_else(|| arena.add());
        arena
    }

    fn add(&mut self) -> u32 {
        self.chunks.push(Chunk { bytes: vec![0; CHUNK].into_boxed_slice(), live: 0 });
        (self.chunks.len() - 1) as u32
    }

    /// Where the next packet may be read to, [`ROOM`] bytes at least; `None` if the memory is used up.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        if CHUNK - self.used < ROOM {
            self.advance()?;
        }
        Some(&mut self.chunks[self.current as usize].bytes[self.used..])
    }

    fn advance(&mut self) -> Option<()> {
        if self.chunks[self.current as usize].live > 0 {
            self.current = match self.free.pop() {
                Some(place) => place,
                None if (self.chunks.len() + 1) * CHUNK <= self.most => self.add(),
                None => return None,
            };
        }
        self.used = 0;
        Some(())
    }

    /// Keeps the `length` bytes just read; says in which chunk and where. The caller retains the chunk for each packet in them.
    pub fn keep(&mut self, length: usize) -> (u32, u32) {
        let at = (self.current, self.used as u32);
        self.used += length.next_multiple_of(8);
        at
    }

    /// The bytes that [`Arena::keep`] kept.
    #[must_use]
    pub fn bytes(&self, chunk: u32, start: u32) -> &[u8] {
        &self.chunks[chunk as usize].bytes[start as usize..]
    }

    /// One more packet lives in the chunk.
    pub fn retain(&mut self, chunk: u32) {
        self.chunks[chunk as usize].live += 1;
    }

    /// One packet of the chunk has left.
    pub fn release(&mut self, chunk: u32) {
        let live = &mut self.chunks[chunk as usize].live;
        *live -= 1;
        if *live == 0 && chunk != self.current {
            self.free.push(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_used_again_when_their_last_packet_left() {
        let mut arena = Arena::new(0, 64 * CHUNK);
        for _ in 0..10_000 {
            assert!(arena.room().unwrap().len() >= ROOM);
            let (chunk, _) = arena.keep(9000);
            arena.retain(chunk);
            arena.release(chunk);
        }
        assert!(arena.chunks.len() <= 2, "{}", arena.chunks.len());
    }

    #[test]
    fn memory_is_bounded() {
        let mut arena = Arena::new(0, 4 * CHUNK);
        let mut kept = 0;
        while arena.room().is_some() {
            let (chunk, _) = arena.keep(60_000);
            arena.retain(chunk);
            kept += 60_000;
        }
        assert!(kept > 3 * CHUNK && kept <= 4 * CHUNK, "{kept}");
    }
}
