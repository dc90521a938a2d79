//! Whether there is room for what is to come: it is told before the disk is full, hours later perhaps.

use cap_std::fs::Dir;

use crate::landing::Ground;
use crate::report::size;

/// What other threads may have given back since there was none.
const FEW_INODES: u64 = 16;

/// What the disk had free when the copy began, and what new files need of it.
pub(super) struct Room {
    /// `None` where that cannot be told.
    free: Option<u64>,
    needed: u64,
    /// Files of which it is not known yet what is there.
    open: u64,
    is_told: bool,
}

impl Room {
    pub(super) fn of(ground: Option<&Ground>) -> Self {
        let free = match ground {
            Some(Ground::Folder(base)) => rustix::fs::fstatvfs(base).ok().filter(|disk| disk.f_blocks > 0),
            _ => None,
        };
        Self { free: free.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)), needed: 0, open: 0, is_told: false }
    }

    /// So much of a new file is not there. Of one that replaces another it is not known what that leaves.
    pub(super) const fn need(&mut self, bytes: u64) {
        self.needed = self.needed.saturating_add(bytes);
    }

    /// Of a file it will be known what is there.
    pub(super) const fn open(&mut self) {
        self.open += 1;
    }

    /// Of one of those it is: so much is needed.
    pub(super) const fn opened(&mut self, bytes: u64) {
        self.open = self.open.saturating_sub(1);
        self.need(bytes);
    }

    /// What is to be told where there is not enough, once.
    pub(super) fn lack(&mut self) -> Option<String> {
        let free = self.free.filter(|free| *free < self.needed && self.open == 0 && !self.is_told)?;
        self.is_told = true;
        Some(format!(
            "there may be too little room: {} are free at the destination, new files that are known by now have {}",
            size(free),
            size(self.needed)
        ))
    }
}

/// It takes no further file, whatever room there is. Where files are not counted, none at all are told of.
pub(super) fn has_no_inodes(base: &Dir) -> bool {
    rustix::fs::fstatvfs(base).is_ok_and(|disk| disk.f_files > 0 && disk.f_favail < FEW_INODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_is_told_once_and_not_where_nothing_is_known() {
        let mut room = Room { free: Some(3000), needed: 0, open: 0, is_told: false };
        room.need(3000);
        assert_eq!(room.lack(), None);
        room.open();
        room.need(200);
        assert_eq!(room.lack(), None);
        room.opened(300);
        let told = room.lack().unwrap();
        assert!(told.contains("3.0 kB are free") && told.contains("have 3.5 kB"), "{told}");
        assert_eq!(room.lack(), None);
        let mut unknown = Room::of(None);
        unknown.need(u64::MAX);
        assert_eq!(unknown.lack(), None);
    }
}
