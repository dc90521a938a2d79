//! Where something is: a path on this machine, one below what `visapult share` prints, or something in an object store.

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;
use visapult_objects::{At, ObjectUrl, unescaped};
use visapult_ripp_net::{RippUrl, UrlError};
use visapult_volume_io::{FOR_THE_SHELL, shell_path};

use crate::names::{Name, inner_path};

const SCHEME: &str = "ripp://";

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// On this machine.
    Here(PathBuf),
    /// In a share.
    There(Remote),
    /// In an object store, which this machine talks to.
    Stored(ObjectUrl),
}

/// Something in a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The share.
    pub url: RippUrl,
    /// Below it.
    pub path: PathBuf,
    /// It was written as a folder, with a `/` in the end.
    pub is_folder: bool,
    /// It was written as what is in a folder, with `/.` in the end.
    pub is_content: bool,
}

/// Why it is nowhere. Never says what stood where the token belongs.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// The URL of the share.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// A `%` without two digits.
    #[error("in the path, a % must be followed by two hexadecimal digits; write %25 for the % itself")]
    Escape,
    /// A path out of the share.
    #[error("the path leads out of the share, or is too long")]
    Outside,
    /// An empty text, such as a variable of a shell that is not set, where something is to be copied from.
    #[error("the name of a source is empty: the folder that you are in is `.`")]
    NoSource,
    /// And where it is to be copied to.
    #[error("the name of the destination is empty: the folder that you are in is `.`")]
    NoDestination,
    /// Written as other programs write standard input and output.
    #[error(
        "standard input and output cannot be copied, for a copy has to know what is there: name a file; one of this name is ./-"
    )]
    Standard,
    /// Written as other programs write what is elsewhere.
    #[error(
        "this is neither a path nor a URL of ripp://, s3:// or https://, which are written in small letters; a file of this name is ./NAME, and a machine \
         that is reached by ssh shares with `visapult share`"
    )]
    Elsewhere,
    /// Written as shells write the folder of a user.
    #[error("{}: {FOR_THE_SHELL}", .0.display())]
    Shell(PathBuf),
    /// What is in a file, as the other commands name it.
    #[error("{named} names a field in {file}: copy {file} with --field {field}, to NAME.zarr")]
    Field {
        /// What was written.
        named: String,
        /// The file.
        file: String,
        /// The path in it.
        field: String,
    },
    /// A part of its samples, or a level, as the other commands name it.
    #[error("{named} names a part of {file}: copy {file} with {options}, to NAME.zarr")]
    Part {
        /// What was written.
        named: String,
        /// The file or folder.
        file: String,
        /// As a copy is asked for it.
        options: String,
    },
    /// Of an object store.
    #[error(transparent)]
    Objects(#[from] visapult_objects::UrlError),
    /// Of the web.
    #[error(
        "from https:// one file is copied: the URL has to end with its name, for servers tell in no common way what is in a folder"
    )]
    Folder,
}

impl Endpoint {
    /// Whether anything can be copied from there: it has a name, and of the web it is a file.
    pub(crate) fn check_source(&self) -> Result<(), EndpointError> {
        if self.is_empty() {
            return Err(EndpointError::NoSource);
        }
        self.check_shell()?;
        let Self::Stored(url @ ObjectUrl { at: At::Web { .. }, .. }) = self else { return Ok(()) };
        let name = url.name().and_then(|name| Name::new(&name)).filter(|name| !name.is_ours());
        if url.is_folder || name.is_none() { Err(EndpointError::Folder) } else { Ok(()) }
    }

    /// Whether anything can be copied to there.
    pub(crate) fn check_destination(&self) -> Result<(), EndpointError> {
        if self.is_empty() { Err(EndpointError::NoDestination) } else { self.check_shell() }
    }

    /// Whether it is a path that programs understand.
    pub(crate) fn check_shell(&self) -> Result<(), EndpointError> {
        match self {
            Self::Here(path) if shell_path(path) => Err(EndpointError::Shell(path.clone())),
            _ => Ok(()),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Here(path) if path.as_os_str().is_empty())
    }

    /// Whether a path of this machine is meant: `HOST:PATH` is one only where there is something of that name.
    ///
    /// # Errors
    /// If it is a place on another machine, as scp has it, or a part of what is here, as commands that read sources have it.
    pub fn check_here(&self) -> Result<(), EndpointError> {
        let Self::Here(path) = self else { return Ok(()) };
        check_is_whole(path)?;
        let Some(Component::Normal(first)) = path.components().next() else { return Ok(()) };
        let host = first.as_bytes().split(|&byte| byte == b':').next().filter(|host| host.len() < first.len());
        let is_elsewhere = host.is_some_and(is_host) && Path::new(first).symlink_metadata().is_err();
        if is_elsewhere { Err(EndpointError::Elsewhere) } else { Ok(()) }
    }

    /// What is there, as that itself or, where it is a folder, what is in it.
    #[must_use]
    pub fn content(mut self, is_content: bool) -> Self {
        match &mut self {
            Self::Here(path) if is_content => path.as_mut_os_string().push("/."),
            Self::Here(_) => {}
            Self::There(remote) => remote.is_content = is_content,
            Self::Stored(url) => url.is_content = is_content,
        }
        self
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    /// `ripp://TOKEN@host:port/NAME/path#FINGERPRINT`, or with the path behind the fingerprint, as it comes when a path is appended to a URL;
    /// `s3://bucket/key` and `https://host/path` are in object stores; anything else is a path on this machine.
    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let text = if text.contains("://") { text.trim() } else { text };
        if let Some(url) = ObjectUrl::parse(text) {
            return Ok(Self::Stored(url?));
        }
        if text == "-" {
            return Err(EndpointError::Standard);
        }
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return if is_elsewhere(text) { Err(EndpointError::Elsewhere) } else { Ok(Self::Here(text.into())) };
        };
        let (before, behind) = rest.split_once('#').map_or((rest, None), |(before, behind)| (before, Some(behind)));
        let (fingerprint, appended) = match behind {
            Some(behind) => behind.split_once('/').map_or((Some(behind), ""), |(print, path)| (Some(print), path)),
            None => (None, ""),
        };
        let is_appended = behind.is_some_and(|behind| behind.contains('/'));
        let mut parts = before.splitn(3, '/');
        let (authority, name, inner) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next());
        let mut url = format!("{SCHEME}{authority}/{name}");
        if let Some(fingerprint) = fingerprint {
            url = url + "#" + fingerprint;
        }
        let written = format!("{}/{appended}", inner.unwrap_or(""));
        let path = unescaped(&written).ok_or(EndpointError::Escape)?;
        let last = if is_appended { appended } else { inner.unwrap_or("") };
        let is_content = last == "." || last.ends_with("/.");
        let is_folder = if is_appended {
            appended.is_empty() || appended.ends_with('/')
        } else {
            inner.is_some_and(|inner| inner.is_empty() || inner.ends_with('/'))
        };
        let path = inner_path(&path).ok_or(EndpointError::Outside)?;
        Ok(Self::There(Remote { url: url.parse()?, path, is_folder, is_content }))
    }
}

impl TryFrom<OsString> for Endpoint {
    type Error = EndpointError;

    /// As text is read; names of files may be none.
    fn try_from(written: OsString) -> Result<Self, EndpointError> {
        match written.into_string() {
            Ok(text) => text.parse(),
            Err(written) if written.as_bytes().starts_with(SCHEME.as_bytes()) => {
                let mut text = String::new();
                for chunk in written.as_bytes().utf8_chunks() {
                    text += chunk.valid();
                    text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
                }
                text.parse()
            }
            Err(written) => Ok(Self::Here(written.into())),
        }
    }
}

/// `scheme:/...`, `host:/path` or `user@host:path`: a destination of this kind would be made here, and taken for a copy elsewhere.
fn is_elsewhere(text: &str) -> bool {
    let (first, rest) = text.split_once('/').map_or((text, None), |(first, rest)| (first, Some(rest)));
    let is_scheme = rest.is_some() && first.trim_start().len() > 1 && first.ends_with(':');
    is_scheme || first.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains(':'))
}

/// Refuses what names a part of a file or folder that is here.
fn check_is_whole(path: &Path) -> Result<(), EndpointError> {
    let Some(named) = path.to_str().filter(|_| path.symlink_metadata().is_err()) else { return Ok(()) };
    let is_here = |file: &str| Path::new(file).exists();
    let (whole, asked) = named.rsplit_once('?').filter(|(file, _)| !file.is_empty()).unzip();
    let options = asked.and_then(as_options);
    let whole = whole.filter(|_| options.is_some()).unwrap_or(named);
    let named = named.to_owned();
    if let Some((file, field)) = whole.rsplit_once(":/").filter(|(file, _)| Path::new(file).is_file()) {
        let options = options.map_or_else(String::new, |options| format!(" {options}"));
        return Err(EndpointError::Field { named, file: file.to_owned(), field: format!("/{field}{options}") });
    }
    match options {
        Some(options) if is_here(whole) => Err(EndpointError::Part { named, file: whole.to_owned(), options }),
        _ => Ok(()),
    }
}

/// What is asked of a source behind its name, as a copy is asked for it.
fn as_options(asked: &str) -> Option<String> {
    let option = |pair: &str| {
        let (key, value) = pair.split_once('=').filter(|(key, _)| ["level", "box"].contains(key))?;
        Some(format!("--{key} {value}"))
    };
    let options = asked.split('&').map(option).collect::<Option<Vec<_>>>()?.join(" ");
    let counts_finer = options.starts_with("--box") && options.contains("--level");
    Some(if counts_finer { format!("{options} (there the box counts samples of the level)") } else { options })
}

/// What a machine may be called, and the time of a day is not.
fn is_host(name: &[u8]) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_name = name.len() > 1 && name[0].is_ascii_alphabetic() && name.iter().all(is_sign);
    is_name || std::str::from_utf8(name).is_ok_and(|name| name.parse::<Ipv4Addr>().is_ok())
}

impl Endpoint {
    /// Its last name ends like this.
    pub(crate) fn is_named_like(&self, ending: &str) -> bool {
        let path = match self {
            Self::Here(path) => path,
            Self::There(remote) => &remote.path,
            Self::Stored(_) => return false,
        };
        path.file_name().is_some_and(|name| name.as_bytes().ends_with(ending.as_bytes()))
    }

    /// What it is called at the destination; none of what is in a folder, or of all of a share or bucket.
    pub(crate) fn last_name(&self) -> Option<OsString> {
        match self {
            Self::Here(path) if path.as_os_str().as_bytes().ends_with(b"/.") => None,
            Self::Here(path) => path.file_name().map(ToOwned::to_owned),
            Self::There(remote) if remote.is_content => None,
            Self::There(remote) if remote.path.as_os_str().is_empty() => Some(remote.url.name.clone().into()),
            Self::There(remote) => remote.path.file_name().map(ToOwned::to_owned),
            Self::Stored(url) if url.is_content => None,
            Self::Stored(url) => url.name().map(OsString::from_vec),
        }
    }

    /// It was written as a folder, with a `/` in the end.
    pub(crate) fn is_folder(&self) -> bool {
        match self {
            Self::Here(path) => path.as_os_str().as_bytes().ends_with(b"/"),
            Self::There(remote) => remote.is_folder,
            Self::Stored(url) => url.is_folder,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "MDEyMzQ1Njc4OWFiY2RlZg";
    const FINGERPRINT: &str = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";

    #[test]
    fn what_looks_like_another_place_is_no_path_here() {
        for elsewhere in [
            "RIPP://t@h:1/data#f",
            "ripp:/t@h:1/data",
            "user@host:/data/",
            "user@host:data",
            "host:/data",
            "s3:/b/x",
            "S3://b/x",
            "ftp://h/x",
            "file:///data",
            " RIPP://t@h:1/data",
        ] {
            assert!(matches!(elsewhere.parse::<Endpoint>(), Err(EndpointError::Elsewhere)), "{elsewhere}");
        }
        for here in ["a:b", "./user@host:data", "run@12/x:y", "data/a:/b", "C:", "12:30", ".", "/a:/b"] {
            assert!(matches!(here.parse::<Endpoint>(), Ok(Endpoint::Here(_))), "{here}");
        }
        assert!(matches!(format!(" ripp://{TOKEN}@host:1/data ").parse::<Endpoint>(), Ok(Endpoint::There(_))));
    }

    #[test]
    fn what_may_be_another_machine_is_here_only_if_it_is_there() {
        for elsewhere in ["cluster:data", "cluster:", "login.site.org:run/12", "10.0.0.7:run"] {
            let place = elsewhere.parse::<Endpoint>().unwrap();
            assert!(matches!(place.check_here(), Err(EndpointError::Elsewhere)), "{elsewhere}");
        }
        for here in
            ["./cluster:data", "12:30", "2026-11-23T12:30/run", "a:b", "run 1:2", "data/cluster:x", "/cluster:x", "src"]
        {
            assert!(here.parse::<Endpoint>().unwrap().check_here().is_ok(), "{here}");
        }
    }

    #[test]
    fn paths_stand_before_the_fingerprint_or_behind_it() {
        let share = format!("ripp://{TOKEN}@host:1/data");
        let remote = |text: &str| match text.parse::<Endpoint>().unwrap() {
            Endpoint::There(remote) => (remote.path.display().to_string(), remote.is_folder, remote.url.to_string()),
            other => panic!("{other:?}"),
        };
        let url = format!("{share}#{FINGERPRINT}");
        let found = |path: &str, is_folder| (path.to_owned(), is_folder, url.clone());
        assert_eq!(remote(&url), found("", false));
        assert_eq!(remote(&format!("{share}/run/a%20b.h5#{FINGERPRINT}")), found("run/a b.h5", false));
        assert_eq!(remote(&format!("{url}/run/a b.h5")), found("run/a b.h5", false));
        assert_eq!(remote(&format!("{url}/run/")), found("run", true));
        assert_eq!(remote(&format!("{url}/")), found("", true));
        assert_eq!(remote(&format!("{share}/run/#{FINGERPRINT}")), found("run", true));
        let content = |text: &str| matches!(text.parse().unwrap(), Endpoint::There(Remote { is_content: true, .. }));
        assert!(content(&format!("{url}/.")) && content(&format!("{share}/run/.#{FINGERPRINT}")) && !content(&url));
        assert_eq!("a/b#c".parse::<Endpoint>().unwrap(), Endpoint::Here("a/b#c".into()));
    }

    #[test]
    fn names_that_are_no_text_are_places_too() {
        let place = |bytes: &[u8]| Endpoint::try_from(OsString::from_vec(bytes.to_vec())).unwrap();
        assert_eq!(place(b"caf\xe9/a b"), Endpoint::Here(OsString::from_vec(b"caf\xe9/a b".to_vec()).into()));
        assert_eq!(place(b"a/b#c"), Endpoint::Here("a/b#c".into()));
        let url = format!("ripp://{TOKEN}@host:1/data#{FINGERPRINT}");
        let Endpoint::There(remote) = place(&[url.as_bytes(), b"/caf\xe9/\xfc.h5"].concat()) else { panic!() };
        assert_eq!((remote.path.as_os_str().as_bytes(), remote.url.to_string()), (&b"caf\xe9/\xfc.h5"[..], url));
    }

    #[test]
    fn what_leads_nowhere_is_refused_without_the_token() {
        for wrong in [format!("ripp://{TOKEN}@host:1/data/../x"), format!("ripp://{TOKEN}@host:1/d#{FINGERPRINT}/%4")] {
            let told = wrong.parse::<Endpoint>().unwrap_err().to_string();
            assert!(!told.contains(TOKEN) && told.contains("path"), "{told}");
        }
        assert!("ripp://host/x".parse::<Endpoint>().is_err());
        assert!(matches!("-".parse::<Endpoint>(), Err(EndpointError::Standard)));
        assert_eq!("./-".parse::<Endpoint>().unwrap(), Endpoint::Here("./-".into()));
        let empty: Endpoint = "".parse().unwrap();
        assert!(matches!(empty.check_source(), Err(EndpointError::NoSource)));
        assert!(matches!(empty.check_destination(), Err(EndpointError::NoDestination)));
        for wrong in ["~", "~/runs"].map(|wrong| wrong.parse::<Endpoint>().unwrap()) {
            for refused in [wrong.check_source(), wrong.check_destination()] {
                assert!(refused.unwrap_err().to_string().contains("./~"));
            }
        }
        for here in ["./~", "./~/runs", "~runs", "a/~"].map(|here| here.parse::<Endpoint>().unwrap()) {
            assert!(here.check_source().is_ok() && here.check_destination().is_ok(), "{here:?}");
        }
        for wrong in ["https://h", "https://h/", "https://h/a/", "https://h/%2e%2e", "https://h/a.visapult-part"] {
            assert!(matches!(wrong.parse::<Endpoint>().unwrap().check_source(), Err(EndpointError::Folder)), "{wrong}");
        }
    }
}
