//! A connection to a store: whom it is asked as, how often and how long, and what it answers.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::HttpClient;
use object_store::http::HttpBuilder;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::{
    ClientOptions, GetOptions, GetRange, GetResult, HeaderMap, HeaderValue, ObjectStore, RetryConfig, path,
};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::alone::Alone;
use crate::asker::{self, Asker};
use crate::fault::Fault;
use crate::folders::Folders;
use crate::keys::Renaming;
use crate::url::{At, ObjectUrl, allows_plain, is_loopback};
use crate::variables;

/// What servers are told that asks them.
const OURSELVES: &str = concat!("visapult/", env!("CARGO_PKG_VERSION"));
/// Requests for content under way at one time.
const REQUESTS: usize = 32;
/// A store that says nothing for so long is asked again.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// One that is sent to says nothing until it has it all: a dozen parts at a time over a slow uplink.
pub const SENDING_PATIENCE: Duration = Duration::from_secs(600);
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// A request is made again so many times, and not once so much time has passed.
pub(crate) const RETRIES: usize = 6;
pub(crate) const RETRY_FOR: Duration = Duration::from_secs(180);
/// An answer that breaks off is asked for again so many times, beyond what the library does by itself.
const MOST_BROKEN: usize = 2;
/// How soon it is noticed that nobody wants to know any more.
const POLL: Duration = Duration::from_millis(50);
/// Memory for an answer that is not yet here; more comes as it does.
const FIRST_CAPACITY: u64 = 1 << 20;

/// A place in a store, and the connections to it.
pub struct Connection {
    handle: Handle,
    /// Given up in the end without waiting: that may be on a thread that must not.
    runtime: Option<Runtime>,
    objects: Arc<dyn ObjectStore>,
    /// The same where it is a bucket.
    bucket: Option<AmazonS3>,
    /// Where it is a server.
    folders: Option<Box<Folders>>,
    url: ObjectUrl,
    asker: Asker,
    requests: Semaphore,
    is_closed: AtomicBool,
}

/// What a store has answered.
#[derive(Clone, Debug)]
pub struct Got {
    /// What was asked for.
    pub bytes: Bytes,
    /// Of the whole object, where the store tells it.
    pub version: Option<String>,
    /// When the object was written, in seconds since 1970.
    pub modified_s: i64,
}

impl fmt::Debug for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Connection({})", self.url)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Connection {
    /// Makes ready to ask for what `url` names; nothing is asked yet. A store may be silent for so long.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub fn new(url: &ObjectUrl, patience: Duration) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("objects").enable_all().build();
        let runtime = runtime.map_err(|cause| cause.to_string())?;
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_FOR, ..RetryConfig::default() };
        let (objects, bucket, folders, asker): (Arc<dyn ObjectStore>, _, _, _) = match &url.at {
            At::Bucket { bucket, .. } => {
                // A request may carry much: what counts is that something comes.
                let options = ClientOptions::new()
                    .with_timeout_disabled()
                    .with_read_timeout(patience)
                    .with_connect_timeout(CONNECT_PATIENCE)
                    .with_user_agent(HeaderValue::from_static(OURSELVES));
                let (mut builder, asker) = from_environment(options)?;
                builder = builder.with_bucket_name(bucket).with_retry(retry).with_http_connector(Renaming);
                let bucket = builder.build().map_err(|cause| Fault::from(cause).why(asker))?;
                (Arc::new(bucket.clone()), Some(bucket), None, asker)
            }
            At::Web { url: text, is_plain } => {
                let headers = asker::of_web(text)?;
                // The URL itself may let one in.
                let is_somebody = headers.is_some() || text.contains('?');
                let asker = if is_somebody { Asker::Somebody } else { Asker::NobodyOfWeb };
                let client = web_client(headers.unwrap_or_default(), patience, *is_plain)?;
                let folders = Box::new(Folders::of(text, client.clone())?);
                let web = HttpBuilder::new().with_url(text).with_retry(retry);
                let web = web.with_http_connector(Alone(client)).build();
                // What the library says of a URL may hold all of it.
                (Arc::new(web.map_err(|_| "is no URL that can be asked for".to_owned())?), None, Some(folders), asker)
            }
        };
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            objects,
            bucket,
            folders,
            url: url.clone(),
            asker,
            requests: Semaphore::new(REQUESTS),
            is_closed: AtomicBool::new(false),
        })
    }

    /// What is meant.
    #[must_use]
    pub const fn url(&self) -> &ObjectUrl {
        &self.url
    }

    /// The library's view of it: a bucket, or what is below a URL.
    #[must_use]
    pub fn objects(&self) -> &dyn ObjectStore {
        self.objects.as_ref()
    }

    /// The bucket, if it is one.
    #[must_use]
    pub const fn bucket(&self) -> Option<&AmazonS3> {
        self.bucket.as_ref()
    }

    /// Makes a folder of a server, whose own is there; of a bucket, none.
    pub async fn make_folder(&self, folder: &path::Path) {
        if let Some(folders) = &self.folders {
            let _turn = self.turn().await;
            folders.make(folder).await;
        }
    }

    /// As a person is told it.
    #[must_use]
    pub fn why(&self, fault: &Fault) -> String {
        fault.why(self.asker)
    }

    /// Does `work` until it is done, or nobody wants to know any more.
    ///
    /// # Errors
    /// [`Fault::Stopped`], or what becomes of the work.
    pub fn run<T>(&self, work: impl Future<Output = Result<T, Fault>>, stop: &AtomicBool) -> Result<T, Fault> {
        let stopped = async {
            while !stop.load(Ordering::Relaxed) && !self.is_closed.load(Ordering::Relaxed) {
                tokio::time::sleep(POLL).await;
            }
        };
        self.wait(async {
            tokio::select! {
                done = work => done,
                () = stopped => Err(Fault::Stopped),
            }
        })
    }

    /// Does `work` on this thread until it is done.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }

    /// Nobody wants anything of it any more.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Waits until there are fewer requests.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.requests.acquire().await.ok()
    }

    /// The bytes of an object, or some of them; `most` at most.
    ///
    /// # Errors
    /// Why they cannot be had; that is [`Fault::is_missing`] where there is no such object.
    pub async fn get(&self, at: &path::Path, range: Option<GetRange>, most: u64) -> Result<Got, Fault> {
        let mut broken = 0;
        loop {
            let _turn = self.turn().await;
            let options = GetOptions { range: range.clone(), ..GetOptions::default() };
            let found = self.objects.get_opts(at, options).await?;
            match gathered(found, most).await {
                Err(Fault::Store(_) | Fault::Short) if broken < MOST_BROKEN => broken += 1,
                outcome => return outcome,
            }
        }
    }

    /// When an object was written, in seconds since 1970, and its version.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn head(&self, at: &path::Path) -> Result<(i64, Option<String>), Fault> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        let meta = self.objects.get_opts(at, options).await?.meta;
        Ok((meta.last_modified.timestamp(), meta.e_tag))
    }

    /// The names of what is between `prefix`, which ends with a `/` or is empty, and the next `/` of keys, in order, `most` at most.
    ///
    /// # Errors
    /// If the store does not list, or will not.
    pub async fn folders(&self, prefix: &str, most: usize) -> Result<Vec<String>, Fault> {
        let Some(bucket) = &self.bucket else { return Err(Fault::Unlisted) };
        let mut names = Vec::new();
        let mut page = None;
        loop {
            let delimiter = Some("/".into());
            let options = PaginatedListOptions { delimiter, page_token: page, ..PaginatedListOptions::default() };
            let found = bucket.list_paginated(Some(prefix).filter(|prefix| !prefix.is_empty()), options).await?;
            let folders = found.result.common_prefixes.iter().filter_map(|folder| folder.filename());
            names.extend(folders.map(str::to_owned));
            page = found.page_token;
            if page.is_none() || names.len() >= most {
                names.truncate(most);
                return Ok(names);
            }
        }
    }
}

/// All of an answer.
async fn gathered(found: GetResult, most: u64) -> Result<Got, Fault> {
    let length = found.range.end.saturating_sub(found.range.start);
    if length > most {
        return Err(Fault::Long);
    }
    let (version, modified_s) = (found.meta.e_tag.clone(), found.meta.last_modified.timestamp());
    let mut bytes = Vec::with_capacity(length.min(FIRST_CAPACITY) as usize);
    let mut stream = found.into_stream();
    while let Some(some) = stream.next().await {
        bytes.extend_from_slice(&some?);
        if bytes.len() as u64 > length {
            return Err(Fault::Changed);
        }
    }
    if bytes.len() as u64 == length { Ok(Got { bytes: bytes.into(), version, modified_s }) } else { Err(Fault::Short) }
}

/// A key as the library writes it.
///
/// # Errors
/// If it can be no path.
pub fn location(key: &str) -> Result<path::Path, Fault> {
    path::Path::parse(key).map_err(|cause| Fault::Store(cause.into()))
}

/// Asks servers of the web, with these `headers`. Who is redirected elsewhere does not tell there by which URL, in which there may be a signature.
///
/// # Errors
/// If none can be made here.
fn web_client(headers: HeaderMap, patience: Duration, is_plain: bool) -> Result<HttpClient, String> {
    let client = reqwest::Client::builder()
        .user_agent(OURSELVES)
        .default_headers(headers)
        .read_timeout(patience)
        .connect_timeout(CONNECT_PATIENCE)
        .referer(false)
        // Of HTTP/2 a connection cannot be ended with an answer.
        .http1_only()
        // What is counted is what was asked for.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .https_only(!is_plain)
        .build();
    client.map(HttpClient::new).map_err(|cause| cause.to_string())
}

/// What the environment says of the store, and as whom it is asked: as nobody nothing is signed.
///
/// # Errors
/// Which variable makes no sense.
fn from_environment(options: ClientOptions) -> Result<(AmazonS3Builder, Asker), String> {
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
            variables::check(name, value)?;
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
    let asker = if is_anonymous { Asker::NobodyOfStore } else { Asker::Somebody };
    Ok((if is_anonymous { builder.with_skip_signature(true) } else { builder }, asker))
}
