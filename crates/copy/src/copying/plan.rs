//! Which way things go, as the places of sources and destination have it.

use std::sync::atomic::AtomicU64;

use visapult_objects::escaped;
use visapult_ripp_net::RippUrl;

use super::CopyOptions;
use super::near::Near;
use crate::dialling::fresh_job;
use crate::endpoint::{Endpoint, Remote};
use crate::error::CopyError;
use crate::fields::{NEEDS_GROUP, ONE_SOURCE};
use crate::landing::PART_NEEDS_NAME;
use crate::request::Verb;
use crate::stripes::Striped;

/// Which way things go.
pub(super) enum Plan<'a> {
    /// Into a share.
    Push { sources: Vec<Near<'a>>, to: &'a Remote, into: bool, job: String },
    /// Out of a share.
    Pull { striped: Box<Striped<'a>>, to: Near<'a>, into: bool },
    /// From one share into another.
    Between { from: &'a RippUrl, paths: Vec<String>, to: &'a Remote, into: bool, job: String },
    /// On this machine.
    Here { sources: Vec<Near<'a>>, to: Near<'a>, into: bool },
}

impl<'a> Plan<'a> {
    pub(super) fn of(options: &'a CopyOptions) -> Result<Self, CopyError> {
        let CopyOptions { sources, destination, .. } = options;
        let mut here = Vec::new();
        let mut there: Vec<&Remote> = Vec::new();
        for source in sources {
            match source {
                Endpoint::Here(path) => here.push(Near::Path(path)),
                Endpoint::Stored(url) => here.push(Near::Stored(url)),
                Endpoint::There(remote) => there.push(remote),
            }
        }
        let into = sources.len() > 1
            || destination.is_folder()
            || options.part.is_some()
            || here.iter().any(|near| near.is_content())
            || there.iter().any(|remote| remote.is_content);
        check_parts(options, into)?;
        if let Some(first) = there.first()
            && (!here.is_empty() || there.iter().any(|remote| remote.url != first.url))
        {
            return Err(CopyError::Misfit(
                "all sources must be in one share, or none in any: copy one after the other".to_owned(),
            ));
        }
        let path = |remote: &&Remote| {
            let path = escaped(remote.path.as_os_str().as_encoded_bytes());
            if remote.is_content { path + "/." } else { path }
        };
        let paths = there.iter().map(path).collect();
        if options.detach && !matches!((destination, there.first()), (Endpoint::There(_), Some(_))) {
            return Err(CopyError::Misfit("only a copy from one share into another can go on alone".to_owned()));
        }
        match (destination, there.first()) {
            (Endpoint::There(to), None) => Ok(Self::Push { sources: here, to, into, job: fresh_job()? }),
            (Endpoint::Here(to), None) => Ok(Self::Here { sources: here, to: Near::Path(to), into }),
            (Endpoint::Here(to), Some(first)) => Self::pull(options, first, paths, Near::Path(to), into),
            (Endpoint::Stored(to), Some(first)) => Self::pull(options, first, paths, Near::Stored(to), into),
            (Endpoint::Stored(to), None) => Ok(Self::Here { sources: here, to: Near::Stored(to), into }),
            (Endpoint::There(to), Some(first)) => {
                Ok(Self::Between { from: &first.url, paths, to, into, job: fresh_job()? })
            }
        }
    }

    fn pull(
        options: &CopyOptions,
        first: &'a Remote,
        paths: Vec<String>,
        to: Near<'a>,
        into: bool,
    ) -> Result<Self, CopyError> {
        static NO_LIMIT: AtomicU64 = AtomicU64::new(0);
        let (only, part) = (options.only.clone(), options.part());
        let verb = Verb::Get { paths, only, span: options.span, part };
        let request = options.request(&fresh_job()?, verb);
        let striped = Striped::new(&first.url, request, options.session.clone(), &|_| true, &NO_LIMIT);
        Ok(Self::Pull { striped: Box::new(striped), to, into })
    }
}

/// Holds a part of fields, or of a file, against where it comes from and where it goes.
fn check_parts(options: &CopyOptions, into: bool) -> Result<(), CopyError> {
    let CopyOptions { sources, destination, .. } = options;
    if options.part.is_some() {
        if sources.len() > 1 {
            return Err(CopyError::Misfit(ONE_SOURCE.to_owned()));
        }
        if let Endpoint::Stored(to) = destination {
            let why = "a part of fields is made in a folder or a share; copy that into the store then";
            return Err(CopyError::Misfit(format!("{to}: {why}")));
        }
        if !destination.is_named_like(".zarr") {
            return Err(CopyError::Misfit(NEEDS_GROUP.to_owned()));
        }
    }
    if options.span.is_some() && into {
        return Err(CopyError::Misfit(PART_NEEDS_NAME.to_owned()));
    }
    Ok(())
}
