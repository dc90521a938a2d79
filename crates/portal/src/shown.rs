//! The back end that pages show: there from the start, or to come.

use std::future;
use std::sync::Arc;

use tokio::sync::watch;
use visapult_pipeline::BackEnd;

/// What pages show, as the server sees it.
#[derive(Clone)]
pub struct Shown {
    back_end: watch::Receiver<Option<Arc<BackEnd>>>,
    /// What pages are told until it has come.
    awaited: watch::Receiver<String>,
}

/// Where the back end is put that pages wait for. Dropped empty, it says that none will come.
pub struct Stage {
    back_end: watch::Sender<Option<Arc<BackEnd>>>,
    awaited: watch::Sender<String>,
}

/// A back end to come; pages are told what is `awaited`.
pub fn stage(awaited: &str) -> (Stage, Shown) {
    let (put, back_end) = watch::channel(None);
    let (say, awaited) = watch::channel(awaited.to_owned());
    (Stage { back_end: put, awaited: say }, Shown { back_end, awaited })
}

impl Stage {
    /// Shows it to all pages, those that wait and those to come.
    pub fn show(&self, back_end: Arc<BackEnd>) {
        self.back_end.send_replace(Some(back_end));
    }

    /// Tells the pages that wait, and those to come, what is awaited from here on.
    pub fn await_instead(&self, awaited: String) {
        self.awaited.send_replace(awaited);
    }

    /// Whether nobody is left who could be shown anything: the server has stopped.
    pub fn is_deserted(&self) -> bool {
        self.back_end.is_closed()
    }
}

impl Shown {
    /// What is awaited, as it changes.
    pub(crate) fn awaited(&self) -> watch::Receiver<String> {
        self.awaited.clone()
    }

    /// The back end, if it has come.
    pub(crate) fn now(&self) -> Option<Arc<BackEnd>> {
        self.back_end.borrow().clone()
    }

    /// The back end, once it has come; none if it will not.
    pub(crate) async fn coming(mut self) -> Option<Arc<BackEnd>> {
        self.back_end.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// Returns when no back end will come.
    pub(crate) async fn is_given_up(&self) {
        if self.clone().coming().await.is_some() {
            future::pending().await
        }
    }
}
