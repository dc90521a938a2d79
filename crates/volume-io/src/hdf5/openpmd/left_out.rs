//! What is not read, of which a few are told.

/// How many.
const MOST_LISTED: usize = 4;

#[derive(Debug, Default)]
pub(super) struct LeftOut {
    told: Vec<String>,
    count: usize,
}

impl LeftOut {
    pub(super) fn add(&mut self, what: String) {
        self.count += 1;
        if self.told.len() < MOST_LISTED {
            self.told.push(what);
        }
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn listed(&self) -> String {
        let more = self.count - self.told.len();
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        self.told.join(", ") + &more
    }

    pub(super) fn remark(&self) -> Option<String> {
        (self.count > 0).then(|| format!("not read: {}", self.listed()))
    }
}
