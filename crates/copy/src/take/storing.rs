//! What is done at the taking end where that is a bucket, or a server of WebDAV.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::pool::{Done, Fault, Job, Pending, Placed};
use crate::bundle::{self, Item};
use crate::listing::Mtime;
use crate::objects::{StoreDestination, Upload};

/// Puts things into a bucket, or onto a server.
pub(super) struct Storing {
    pub(super) target: Arc<StoreDestination>,
    pub(super) over: Arc<AtomicBool>,
}

impl Storing {
    pub(super) fn do_job(&self, job: Job) -> Done {
        match job {
            Job::Open { entry, pending, .. } => Done::Begun { entry, upload: self.begin(&pending).map(Arc::new) },
            Job::Place { bundle, files } => {
                let bytes = bundle.bytes();
                Done::Placed { bytes: bytes.len() as u64, files: self.place(bytes, files) }
            }
            Job::Put { entry, upload, index, hash, buffer } => {
                let put = upload.put(index, hash, &buffer, &self.over);
                let whole = put.and_then(|is_last| if is_last { upload.keep(&self.over).map(Some) } else { Ok(None) });
                Done::Put { entry, whole: whole.map_err(|fault| self.fault(&fault)) }
            }
            Job::Keep { entry, .. } => {
                let why = "a file of this machine is no object".to_owned();
                Done::Kept { entry, hash: Err(Fault { why, is_full: false }) }
            }
            // What a store has taken it keeps.
            Job::Write { entry, .. } => Done::Written { entry, outcome: Ok(()) },
            Job::Hash { entry, pending } => {
                let hash = self.target.hash(&pending.path(), pending.origin.size, &self.over);
                let fault =
                    |fault| Fault { why: format!("cannot be read back: {}", self.target.why(&fault)), is_full: false };
                Done::Hashed { entry, pending, hash: hash.map_err(fault) }
            }
        }
    }

    fn begin(&self, pending: &Pending) -> Result<Upload, Fault> {
        if let Some(why) = self.target.too_large(pending.origin.size) {
            return Err(Fault { why, is_full: false });
        }
        Upload::begin(&self.target, pending.path(), pending.origin, &self.over).map_err(|fault| self.fault(&fault))
    }

    fn place(&self, bytes: &[u8], files: Vec<Option<(u64, Pending)>>) -> Vec<Placed> {
        let items = bundle::read(bytes).unwrap_or_default();
        let files: Vec<_> = items.iter().zip(files).filter_map(|((_, item), file)| Some((item, file?))).collect();
        let mut wanted: Vec<(PathBuf, Mtime, &[u8])> = Vec::new();
        for (item, (_, pending)) in &files {
            if let Item::Here { mtime, content, .. } = item {
                wanted.push((pending.path(), *mtime, *content));
            }
        }
        let mut put = self.target.put_all(&wanted, &self.over).into_iter();
        let mut outcome = |item: &Item<'_>| match item {
            Item::Not { why } => Err(Fault { why: why.clone(), is_full: false }),
            Item::Here { hash, content, .. } => {
                let put = put.next().unwrap_or(Err(visapult_objects::Fault::Stopped));
                put.map(|()| (content.len() as u64, *hash)).map_err(|fault| self.fault(&fault))
            }
        };
        files.into_iter().map(|(item, (entry, pending))| (entry, pending, outcome(item))).collect()
    }

    fn fault(&self, fault: &visapult_objects::Fault) -> Fault {
        let why = if fault.is_missing() {
            "the server takes nothing there (404): see whether the folder is there, and may be written".to_owned()
        } else {
            self.target.why(fault)
        };
        Fault { why: format!("cannot be written: {why}"), is_full: false }
    }
}
