//! A connection to a store: what is there, and reading of it.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, future};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::http::HttpBuilder;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::{ClientOptions, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, RetryConfig, path};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::fault::Fault;
use super::keys::Renaming;
use super::url::{At, ObjectUrl, allows_plain, is_loopback};
use crate::error::CopyError;
use crate::listing::Mtime;

/// Requests for content under way at one time.
const REQUESTS: usize = 32;
/// A store that says nothing for so long is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// One that is sent to says nothing until it has it all: a dozen parts at a time over a slow uplink.
pub(super) const SENDING_PATIENCE: Duration = Duration::from_secs(600);
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// A request is made again so many times, and not once so much time has passed.
const RETRIES: usize = 6;
const RETRY_FOR: Duration = Duration::from_secs(180);
/// How soon it is noticed that nobody wants to know any more.
const POLL: Duration = Duration::from_millis(50);

/// What is told of an object, as far as copies want to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) size: u64,
    /// In whole seconds: not all that tells it tells more.
    pub(crate) mtime: Mtime,
}

impl Told {
    /// An answer is of the object as it was listed. Where it has a version, parts are held against that, and not every store tells its times alike.
    fn is_of(self, meta: &ObjectMeta) -> bool {
        meta.size == self.size && (meta.e_tag.is_some() || Self::from(meta) == self)
    }
}

impl From<&ObjectMeta> for Told {
    fn from(meta: &ObjectMeta) -> Self {
        Self { size: meta.size, mtime: Mtime { s: meta.last_modified.timestamp(), ns: 0 } }
    }
}

/// Some bytes of an object, as it was listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) path: &'a Path,
    pub(crate) told: Told,
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// A place in a store, and the connections to it.
pub(crate) struct Store {
    runtime: Runtime,
    objects: Arc<dyn ObjectStore>,
    /// The same where it is a bucket.
    bucket: Option<AmazonS3>,
    url: ObjectUrl,
    is_anonymous: bool,
    /// The one object that is meant; else what is below the key.
    one: Option<Told>,
    /// The server gives parts of files.
    gives_parts: bool,
    requests: Semaphore,
    /// The versions of objects that are read in parts.
    versions: Mutex<HashMap<path::Path, String>>,
    /// Where it gives no parts: what comes next, and from where on.
    passing: Mutex<Option<Passing>>,
    is_closed: AtomicBool,
}

struct Passing {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    at: u64,
    /// Of what came last, what has not been asked for.
    rest: Bytes,
}

impl fmt::Debug for Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Store({})", self.url)
    }
}

impl Store {
    /// Connects to what `url` names, and sees that it is there.
    ///
    /// # Errors
    /// If it is not, or cannot be told of.
    pub(crate) fn open(url: &ObjectUrl, stop: &AtomicBool) -> Result<Self, CopyError> {
        let mut store = Self::connect(url, PATIENCE)?;
        let wrong = |store: &Self, fault: &Fault| match fault {
            Fault::Stopped => CopyError::Stopped,
            _ => CopyError::Here(format!("{url}: {}", store.why(fault))),
        };
        let found = match &url.at {
            At::Web { .. } => store.find_file(stop).map(|(told, gives_parts)| {
                store.gives_parts = gives_parts;
                Some(told)
            }),
            At::Bucket { key, .. } => store.find_key(key, url.is_folder, stop),
        };
        match found {
            Ok(one) => store.one = one,
            Err(fault) => return Err(wrong(&store, &fault)),
        }
        Ok(store)
    }

    pub(super) fn connect(url: &ObjectUrl, patience: Duration) -> Result<Self, CopyError> {
        let wrong = |cause: &dyn fmt::Display| CopyError::Here(format!("{url}: {cause}"));
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("objects").enable_all().build();
        let runtime = runtime.map_err(|cause| wrong(&cause))?;
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_FOR, ..RetryConfig::default() };
        // A request may carry much: what counts is that something comes.
        let options = ClientOptions::new()
            .with_timeout_disabled()
            .with_read_timeout(patience)
            .with_connect_timeout(CONNECT_PATIENCE)
            .with_user_agent(object_store::HeaderValue::from_static(concat!("visapult/", env!("CARGO_PKG_VERSION"))));
        let (objects, bucket, is_anonymous): (Arc<dyn ObjectStore>, _, _) = match &url.at {
            At::Bucket { bucket, .. } => {
                let (mut builder, is_anonymous) = from_environment(options);
                builder = builder.with_bucket_name(bucket).with_retry(retry).with_http_connector(Renaming);
                let bucket = builder.build().map_err(|cause| wrong(&Fault::from(cause).why(is_anonymous)))?;
                (Arc::new(bucket.clone()), Some(bucket), is_anonymous)
            }
            At::Web { url: text, is_plain, .. } => {
                let builder = HttpBuilder::new().with_url(text).with_retry(retry);
                let web = builder.with_client_options(options.with_allow_http(*is_plain)).build();
                // What the library says of a URL may hold all of it.
                (Arc::new(web.map_err(|_| wrong(&"is no URL that can be asked for"))?), None, false)
            }
        };
        Ok(Self {
            runtime,
            objects,
            bucket,
            url: url.clone(),
            is_anonymous,
            one: None,
            gives_parts: true,
            requests: Semaphore::new(REQUESTS),
            versions: Mutex::default(),
            passing: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// The file of a server, and whether that gives parts of it.
    fn find_file(&self, stop: &AtomicBool) -> Result<(Told, bool), Fault> {
        let ask = |range| {
            let options = GetOptions { range, ..GetOptions::default() };
            let told = async { Ok(Told::from(&self.objects.get_opts(&path::Path::ROOT, options).await?.meta)) };
            self.run(told, stop)
        };
        match ask(Some(GetRange::Bounded(0..1))) {
            Ok(told) => Ok((told, true)),
            Err(fault) if fault.is_of_ranges() => ask(None).map(|told| (told, false)),
            Err(fault) => Err(fault),
        }
    }

    /// The object of a key, or none if others are below it.
    fn find_key(&self, key: &str, is_folder: bool, stop: &AtomicBool) -> Result<Option<Told>, Fault> {
        let mut missing = None;
        if !key.is_empty() && !is_folder {
            match self.look(key, stop) {
                Ok(told) => return Ok(Some(told)),
                // Of one object stores say no more than that they will not; of a list they say why.
                Err(fault) if fault.is_answer() => missing = Some(fault),
                Err(fault) => return Err(fault),
            }
        }
        let prefix = self.prefix();
        let prefix = Some(prefix.as_str()).filter(|prefix| !prefix.is_empty());
        let first = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        let Some(bucket) = &self.bucket else { return Ok(None) };
        let found = self.run(async { Ok(bucket.list_paginated(prefix, first).await?) }, stop)?;
        let is_there = key.is_empty() || !found.result.objects.is_empty();
        if is_there { Ok(None) } else { Err(missing.unwrap_or(Fault::Missing)) }
    }

    /// What there is under a key.
    pub(super) fn look(&self, key: &str, stop: &AtomicBool) -> Result<Told, Fault> {
        let location = location(key)?;
        let options = GetOptions { head: true, ..GetOptions::default() };
        self.run(async { Ok(Told::from(&self.objects.get_opts(&location, options).await?.meta)) }, stop)
    }

    /// What all keys begin with of what is meant.
    pub(super) fn prefix(&self) -> String {
        match &self.url.at {
            At::Bucket { key, .. } if !key.is_empty() => format!("{key}/"),
            _ => String::new(),
        }
    }

    /// All objects below the prefix, as the store lists them.
    pub(super) fn list(&self) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        let below = match &self.url.at {
            At::Bucket { key, .. } => path::Path::parse(key).ok(),
            At::Web { .. } => None,
        };
        self.objects.list(below.as_ref())
    }

    /// Does `work` until it is done, or nobody wants to know any more.
    pub(super) fn run<T>(&self, work: impl Future<Output = Result<T, Fault>>, stop: &AtomicBool) -> Result<T, Fault> {
        let stopped = async {
            while !stop.load(Ordering::Relaxed) && !self.is_closed.load(Ordering::Relaxed) {
                tokio::time::sleep(POLL).await;
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                done = work => done,
                () = stopped => Err(Fault::Stopped),
            }
        })
    }

    /// Nobody wants anything of it any more.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn bucket(&self) -> Option<AmazonS3> {
        self.bucket.clone()
    }

    /// Waits until there are fewer requests.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.requests.acquire().await.ok()
    }

    pub(crate) const fn url(&self) -> &ObjectUrl {
        &self.url
    }

    /// The one object that is meant; none if all below the key are.
    pub(crate) const fn one(&self) -> Option<Told> {
        self.one
    }

    /// Several parts of a file can be read at one time.
    pub(crate) const fn gives_parts(&self) -> bool {
        self.gives_parts
    }

    pub(crate) fn why(&self, fault: &Fault) -> String {
        fault.why(self.is_anonymous)
    }

    /// Where the object at `path` below what is meant is.
    fn location_of(&self, path: &Path) -> Result<path::Path, Fault> {
        match (&self.url.at, self.one) {
            (At::Web { .. }, _) => Ok(path::Path::ROOT),
            (At::Bucket { key, .. }, Some(_)) => location(key),
            (At::Bucket { .. }, None) => location(&(self.prefix() + path.to_str().ok_or(Fault::Missing)?)),
        }
    }

    /// Small objects as they were listed, several at one time: what is wanted of each, or why there is none.
    pub(crate) fn read_all(&self, wanted: &[Wanted<'_>], over: &AtomicBool) -> Vec<Result<Vec<u8>, Fault>> {
        if !self.gives_parts {
            let read = |one: &Wanted<'_>| self.read(one.path, one.told, one.start..one.start + one.length, over);
            return wanted.iter().map(read).collect();
        }
        let reads = wanted.iter().map(|wanted| self.get(wanted));
        let all = async { Ok(future::join_all(reads).await) };
        self.run(all, over).unwrap_or_else(|_| wanted.iter().map(|_| Err(Fault::Stopped)).collect())
    }

    /// Some bytes of an object as it was listed.
    pub(crate) fn read(&self, path: &Path, told: Told, part: Range<u64>, over: &AtomicBool) -> Result<Vec<u8>, Fault> {
        let location = self.location_of(path)?;
        if !self.gives_parts {
            return self.read_on(&location, told, part, over);
        }
        let work = async {
            let _turn = self.turn().await;
            let range = Some(GetRange::Bounded(part.clone()));
            let found = self.objects.get_opts(&location, GetOptions { range, ..GetOptions::default() }).await?;
            if let Some(version) = &found.meta.e_tag {
                let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
                if versions.entry(location.clone()).or_insert_with(|| version.clone()) != version {
                    return Err(Fault::Changed);
                }
            }
            gathered(found, told, part.clone()).await
        };
        self.run(work, over)
    }

    async fn get(&self, wanted: &Wanted<'_>) -> Result<Vec<u8>, Fault> {
        let &Wanted { path, told, start, length } = wanted;
        let location = self.location_of(path)?;
        let _turn = self.turn().await;
        let whole = start == 0 && length == told.size;
        let range = (!whole).then_some(GetRange::Bounded(start..start + length));
        let found = self.objects.get_opts(&location, GetOptions { range, ..GetOptions::default() }).await?;
        gathered(found, told, start..start + length).await
    }

    /// The same of a server that gives all or nothing: parts are to be asked for in order.
    fn read_on(
        &self,
        location: &path::Path,
        told: Told,
        part: Range<u64>,
        over: &AtomicBool,
    ) -> Result<Vec<u8>, Fault> {
        let mut passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = passing.take().filter(|passing| passing.at <= part.start);
        let work = async {
            let mut now = match before {
                Some(before) => before,
                None => {
                    let found = self.objects.get_opts(location, GetOptions::default()).await?;
                    if !told.is_of(&found.meta) {
                        return Err(Fault::Changed);
                    }
                    Passing { stream: found.into_stream(), at: 0, rest: Bytes::new() }
                }
            };
            let mut bytes = Vec::new();
            while now.at < part.end {
                if now.rest.is_empty() {
                    now.rest = now.stream.next().await.ok_or(Fault::Short)??;
                }
                let (until, wanted) = if now.at < part.start { (part.start, false) } else { (part.end, true) };
                let taken = now.rest.split_to(now.rest.len().min((until - now.at) as usize));
                now.at += taken.len() as u64;
                if wanted {
                    bytes.extend_from_slice(&taken);
                }
            }
            Ok((bytes, now))
        };
        let (bytes, now) = self.run(work, over)?;
        *passing = Some(now);
        Ok(bytes)
    }
}

/// All of an answer, which is to be of the object as it was listed.
async fn gathered(found: GetResult, told: Told, part: Range<u64>) -> Result<Vec<u8>, Fault> {
    if !told.is_of(&found.meta) {
        return Err(Fault::Changed);
    }
    let length = part.end - part.start;
    let mut bytes = Vec::with_capacity(length as usize);
    let mut stream = found.into_stream();
    while let Some(some) = stream.next().await {
        bytes.extend_from_slice(&some?);
        if bytes.len() as u64 > length {
            return Err(Fault::Changed);
        }
    }
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Fault::Short) }
}

pub(super) fn location(key: &str) -> Result<path::Path, Fault> {
    path::Path::parse(key).map_err(|cause| Fault::Store(cause.into()))
}

/// What the environment says of the store, and whether it names nobody: then nothing is signed.
fn from_environment(options: ClientOptions) -> (AmazonS3Builder, bool) {
    let mut builder = AmazonS3Builder::new();
    let mut options = options;
    let said: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty())
        .collect();
    let of = |wanted: &str| said.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let endpoint = of("AWS_ENDPOINT_URL_S3").or(of("AWS_ENDPOINT_URL")).or(of("AWS_ENDPOINT"));
    let is_here = endpoint
        .and_then(|url| url.strip_prefix("http://"))
        .is_some_and(|rest| is_loopback(rest.split('/').next().unwrap_or_default()));
    options = options.with_allow_http(is_here || allows_plain());
    builder = builder.with_client_options(options);
    for (name, value) in &said {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    // Without these the library asks the metadata service of a cloud's machine, for minutes where there is none.
    let sources = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_METADATA_ENDPOINT",
    ];
    let is_anonymous = sources.iter().all(|source| of(source).is_none());
    (if is_anonymous { builder.with_skip_signature(true) } else { builder }, is_anonymous)
}
