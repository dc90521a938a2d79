//! The policy file: TOML, read once, every fault with its line and what is allowed there.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;
use visapult_ripp::control::Transport;
use visapult_ripp::memory::Memory;

use super::network::Network;
use super::{Policy, Rule, Ruling};
use crate::private::{self, PrivateError};
use crate::text::line_of;
use crate::units::{check_mtu, parse_memory, parse_rate, parse_transport};

const KEYS: &str = "to, most_send, most_receive, dedicated, transport, mtu and memory";

/// Why a policy cannot be obeyed.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// The file that was named is not there.
    #[error("there is no policy file {path}: make it, or name another")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read the policy file {path}: {cause}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: io::Error,
    },
    /// Somebody else may have written it, or it is no text, or too much.
    #[error(transparent)]
    Refused(PrivateError),
    /// It would lie in a home that is not there.
    #[error("the rules for paths (paths.toml) cannot be read: {0}")]
    NoHome(String),
    /// Something in it is not understood.
    #[error("{path} line {line}: {fault}")]
    Form {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// The key, what is wrong with it, and what is allowed.
        fault: String,
    },
    /// The program insists on another transport.
    #[error("{place} allows only transport {} on this path, and {} was asked for", name(*.allowed), name(*.asked))]
    Transport {
        /// File and line.
        place: String,
        /// What is allowed.
        allowed: Transport,
        /// What was asked for.
        asked: Transport,
    },
}

const fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    path: Vec<Spanned<WrittenRule>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    to: Spanned<OneOrMore>,
    most_send: Option<Spanned<String>>,
    most_receive: Option<Spanned<String>>,
    #[serde(default)]
    dedicated: bool,
    transport: Option<Spanned<String>>,
    mtu: Option<Spanned<i64>>,
    memory: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a network, address or host name in quotes, or a list of them")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// Reads the policy at `path`; `None` if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Policy>, PolicyError> {
    let unreadable = |cause| PolicyError::Unreadable { path: path.to_owned(), cause };
    let text = private::read_rules(path).map_err(|cause| match cause {
        PrivateError::Keep { cause, .. } => unreadable(cause),
        cause => PolicyError::Refused(cause),
    })?;
    let Some(text) = text else {
        // A link that leads nowhere is somebody's rules that are not there: they are not taken for none.
        return if path.is_symlink() { Err(unreadable(io::ErrorKind::NotFound.into())) } else { Ok(None) };
    };
    parse(path, &text).map(Some)
}

/// Reads the policy that stands as `text` in the file at `path`.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Policy, PolicyError> {
    Reader { path, text }.policy()
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    fn policy(&self) -> Result<Policy, PolicyError> {
        let written: Written = toml::from_str(self.text).map_err(|cause| self.not_toml(&cause))?;
        let rules = written.path.iter().map(|rule| self.rule(rule)).collect::<Result<_, _>>()?;
        Ok(Policy { rules })
    }

    fn rule(&self, rule: &Spanned<WrittenRule>) -> Result<Rule, PolicyError> {
        let place = format!("{} line {}", self.path.display(), line_of(self.text, rule.span().start));
        let rule = rule.get_ref();
        let transport = rule.transport.as_ref().map(|text| self.transport(text)).transpose()?.flatten();
        let ruling = Ruling {
            place,
            most_send_bps: self.rate("most_send", rule.most_send.as_ref())?,
            most_receive_bps: self.rate("most_receive", rule.most_receive.as_ref())?,
            dedicated: rule.dedicated,
            transport,
            mtu: rule.mtu.as_ref().map(|mtu| self.mtu(mtu)).transpose()?,
            memory: rule.memory.as_ref().map(|text| self.memory(text)).transpose()?,
        };
        Ok(Rule { to: self.networks(&rule.to)?, ruling })
    }

    fn networks(&self, to: &Spanned<OneOrMore>) -> Result<Vec<Network>, PolicyError> {
        let texts = match to.get_ref() {
            OneOrMore::One(text) => std::slice::from_ref(text),
            OneOrMore::More(texts) => texts,
        };
        if texts.is_empty() {
            let fault = "to: the list is empty, so that this fits nobody: name a network, an address or a host, or leave the [[path]] out";
            return Err(self.fault(to.span().start, fault.to_owned()));
        }
        let network = |text: &String| {
            let fault = || {
                format!(
                    "to: {text:?} is neither a network (10.7.0.0/16), nor an address, nor a host name (*.example.org)"
                )
            };
            Network::parse(text).ok_or_else(|| self.fault(to.span().start, fault()))
        };
        texts.iter().map(network).collect()
    }

    fn rate(&self, key: &str, text: Option<&Spanned<String>>) -> Result<Option<u64>, PolicyError> {
        let parse = |text: &Spanned<String>| {
            parse_rate(text.get_ref()).map_err(|fault| self.fault(text.span().start, format!("{key}: {fault}")))
        };
        text.map(parse).transpose()
    }

    fn transport(&self, text: &Spanned<String>) -> Result<Option<Transport>, PolicyError> {
        parse_transport(text.get_ref()).map_err(|fault| self.fault(text.span().start, format!("transport: {fault}")))
    }

    fn mtu(&self, mtu: &Spanned<i64>) -> Result<u16, PolicyError> {
        check_mtu(*mtu.get_ref()).map_err(|fault| self.fault(mtu.span().start, format!("mtu: {fault}")))
    }

    fn memory(&self, text: &Spanned<String>) -> Result<Memory, PolicyError> {
        parse_memory(text.get_ref()).map_err(|fault| self.fault(text.span().start, format!("memory: {fault}")))
    }

    fn not_toml(&self, cause: &toml::de::Error) -> PolicyError {
        let at = cause.span().map_or(0, |span| span.start);
        let key = self.key_at(at).map(|key| format!("{key}: ")).unwrap_or_default();
        self.fault(at, format!("{key}{}; in a [[path]] are allowed {KEYS}", cause.message().replace('\n', " ")))
    }

    /// The key whose value stands at `at`.
    fn key_at(&self, at: usize) -> Option<&str> {
        let before = self.text.get(..at)?;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        before[start..].split_once('=').map(|(key, _)| key.trim())
    }

    fn fault(&self, at: usize, fault: String) -> PolicyError {
        PolicyError::Form { path: self.path.to_owned(), line: line_of(self.text, at), fault }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parse(text: &str) -> Result<Policy, PolicyError> {
        Reader { path: Path::new("paths.toml"), text }.policy()
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let policy = parse(
            "# ours\n[[path]]\nto = \"10.7.0.0/16\"\nmost_send = \"900M\"\ndedicated = true\ntransport = \"udp\"\nmtu = 9000\nmemory = \"64MiB\"\n\n\
             [[path]]\nto = [\"10.0.0.0/8\", \"*.example.org\"]\nmost_receive = \"1Gbit\"\n",
        )
        .unwrap();
        let near = policy.ruling(None, "10.7.1.1".parse().unwrap()).unwrap();
        assert_eq!((near.most_send_bps, near.dedicated, near.mtu), (Some(900_000_000), true, Some(9_000)));
        assert_eq!(near.memory.map(Memory::bytes), Some(64 << 20));
        assert_eq!((near.transport, near.place.as_str()), (Some(Transport::Udp), "paths.toml line 2"));
        let far = policy.ruling(Some("data.example.org"), "::ffff:192.0.2.1".parse().unwrap()).unwrap();
        assert_eq!((far.most_receive_bps, far.most_send_bps, far.transport), (Some(1_000_000_000), None, None));
        assert!(policy.ruling(None, "192.0.2.1".parse().unwrap()).is_none());
    }

    #[test]
    fn no_file_is_no_policy_and_a_link_that_leads_nowhere_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("paths.toml");
        assert!(read(&path).unwrap().is_none());
        std::os::unix::fs::symlink(folder.path().join("gone"), &path).unwrap();
        assert!(matches!(read(&path), Err(PolicyError::Unreadable { .. })));
    }

    #[test]
    fn a_fault_is_told_with_line_key_and_what_is_allowed() {
        for (text, needles) in [
            ("[[path]]\nto = \"*\"\nspeed = \"1G\"\n", ["line 3", "speed", "most_send"]),
            ("[[road]]\nto = \"*\"\n", ["line 1", "road", "path"]),
            ("[[path]]\nmtu = 1500\n", ["line 1", "to", "[[path]]"]),
            ("[[path]]\nto = \"here and there\"\n", ["line 2", "to:", "10.7.0.0/16"]),
            ("[[path]]\nmtu = 1500\nto = []\n", ["line 3", "to:", "fits nobody"]),
            ("[[path]]\nto = 5\n", ["line 2", "to:", "a list"]),
            ("[[path]]\nto = \"*\"\nmost_send = \"fast\"\n", ["line 3", "most_send:", "950M"]),
            ("[[path]]\nto = \"*\"\nmost_receive = 10\n", ["line 3", "most_receive:", "string"]),
            ("[[path]]\nto = \"*\"\nmost_receive = \"0\"\n", ["line 3", "most_receive:", "950M"]),
            ("[[path]]\nto = \"*\"\ntransport = \"pigeon\"\n", ["line 3", "transport:", "\"tcp\""]),
            ("[[path]]\nto = \"*\"\nmtu = 100\n", ["line 3", "mtu:", "1200"]),
            ("[[path]]\nto = \"*\"\nmemory = \"1MiB\"\n", ["line 3", "memory:", "32MiB"]),
            ("[[path]]\nto = \"*\"\nmemory = \"plenty\"\n", ["line 3", "memory:", "64MiB"]),
            ("[[path]]\nto = \"*\"\nmemory = 64\n", ["line 3", "memory:", "string"]),
            ("[[path]]\nto = \"*\"\ndedicated = \"yes\"\n", ["line 3", "dedicated:", "boolean"]),
            ("[[path]\n", ["line 1", "paths.toml", "[[path]]"]),
        ] {
            let refusal = parse(text).unwrap_err().to_string();
            assert!(needles.iter().all(|needle| refusal.contains(needle)), "{text:?}: {refusal}");
            assert!(!refusal.contains('\n'), "{refusal}");
        }
    }

    #[test]
    fn no_file_is_no_policy_and_a_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Policy::of_folder(folder.path()).unwrap(), Policy::default());
        fs::create_dir(folder.path().join("paths.toml")).unwrap();
        assert!(matches!(Policy::of_folder(folder.path()), Err(PolicyError::Unreadable { .. })));
    }
}
