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
    awaited: &'static str,
}

/// Where the back end is put that pages wait for. Dropped empty, it says that none will come.
pub struct Stage(watch::Sender<Option<Arc<BackEnd>>>);

/// A back end to come; pages are told what is `awaited`.
pub fn stage(awaited: &'static str) -> (Stage, Shown) {
    let (stage, back_end) = watch::channel(None);
    (Stage(stage), Shown { back_end, awaited })
}

impl Stage {
    /// Shows it to all pages, those that wait and those to come.
    pub fn show(&self, back_end: Arc<BackEnd>) {
        self.0.send_replace(Some(back_end));
    }

    /// Whether nobody is left who could be shown anything: the server has stopped.
    pub fn is_deserted(&self) -> bool {
        self.0.is_closed()
    }
}

impl Shown {
    pub(crate) fn awaited(&self) -> &'static str {
        self.awaited
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
