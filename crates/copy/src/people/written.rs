//! The policy file of a share as it is written: every fault is told with its line and what is allowed. Nothing is opened for it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use visapult_ripp_net::line_of;
use visapult_ripp_net::units::parse_rate;

use crate::error::CopyError;
use crate::hours::Hours;
use crate::names::{inner_path, shown};
use crate::weights::MOST_WEIGHT;

const KEYS: &str = "allowed are ask, and in a [[person]] name, token_file, read, write, most_rate, weight and hours";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ask: Spanned<String>,
    #[serde(default)]
    person: Vec<Spanned<WrittenPerson>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPerson {
    name: Spanned<String>,
    token_file: Option<Spanned<String>>,
    #[serde(default)]
    read: Vec<Spanned<String>>,
    #[serde(default)]
    write: Vec<Spanned<String>>,
    most_rate: Option<Spanned<String>>,
    weight: Option<Spanned<u32>>,
    #[serde(default)]
    hours: Vec<Spanned<String>>,
}

/// What the file says.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) people: Vec<Planned>,
    /// Whom to ask for more.
    pub(crate) ask: String,
}

/// Somebody, and what is to be theirs. Names differ.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) name: String,
    /// Beside the policy, if it is no absolute path.
    pub(crate) token_file: Place,
    pub(crate) most_bps: Option<u64>,
    pub(crate) weight: u32,
    /// Folders below the share.
    pub(crate) read: Vec<Place>,
    pub(crate) write: Vec<Place>,
    /// None: always.
    pub(crate) hours: Vec<Hours>,
    pub(crate) at: usize,
}

/// A path, and where in the file it stands.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) at: usize,
}

/// The file and what is in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) file: &'a Path,
    pub(crate) text: &'a str,
}

impl Text<'_> {
    /// What it says.
    ///
    /// # Errors
    /// What is wrong, in which line, and what is allowed.
    pub(crate) fn plan(&self) -> Result<Plan, CopyError> {
        let written: Written = toml::from_str(self.text).map_err(|cause| {
            let at = cause.span().map_or(0, |span| span.start);
            self.fault(at, &format!("{}; {KEYS}", cause.message().replace('\n', " ")))
        })?;
        let mut people: Vec<Planned> = Vec::new();
        for one in &written.person {
            let person = self.person(one)?;
            if people.iter().any(|other| other.name == person.name) {
                let at = one.get_ref().name.span().start;
                return Err(self.fault(at, &format!("name: there is a {:?} already", person.name)));
            }
            people.push(person);
        }
        if people.is_empty() {
            return Err(self.fault(0, "there is no [[person]] in it, so nobody could copy anything"));
        }
        Ok(Plan { people, ask: written.ask.into_inner() })
    }

    fn person(&self, one: &Spanned<WrittenPerson>) -> Result<Planned, CopyError> {
        let person = one.get_ref();
        let (name, at) = (person.name.get_ref(), person.name.span().start);
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_sign) || name.starts_with('.') {
            let why = format!("name: {name:?} is to be of letters, digits and - _ . (64 at most)");
            return Err(self.fault(at, &why));
        }
        if person.read.is_empty() && person.write.is_empty() {
            let why = format!("{name} may neither read nor write anything: give read = [\".\"], or write");
            return Err(self.fault(at, &why));
        }
        let token_file = match &person.token_file {
            Some(file) => Place { path: file.get_ref().into(), at: file.span().start },
            None => Place { path: format!("{name}.token").into(), at },
        };
        let most = |text: &Spanned<String>| {
            parse_rate(text.get_ref()).map_err(|why| self.fault(text.span().start, &format!("most_rate: {why}")))
        };
        let hours = |text: &Spanned<String>| {
            Hours::parse(text.get_ref()).map_err(|why| self.fault(text.span().start, &format!("hours: {why}")))
        };
        let weight = person.weight.as_ref().map_or(Ok(1), |weight| match *weight.get_ref() {
            weight @ 1..=MOST_WEIGHT => Ok(weight),
            other => Err(self.fault(weight.span().start, &format!("weight: {other} is to be 1 to {MOST_WEIGHT}"))),
        })?;
        Ok(Planned {
            name: name.clone(),
            token_file,
            most_bps: person.most_rate.as_ref().map(most).transpose()?,
            weight,
            read: person.read.iter().map(|path| self.folder("read", path)).collect::<Result<_, _>>()?,
            write: person.write.iter().map(|path| self.folder("write", path)).collect::<Result<_, _>>()?,
            hours: person.hours.iter().map(hours).collect::<Result<_, _>>()?,
            at: one.span().start,
        })
    }

    fn folder(&self, key: &str, text: &Spanned<String>) -> Result<Place, CopyError> {
        let (written, at) = (text.get_ref(), text.span().start);
        let path = inner_path(written.as_bytes()).filter(|_| !written.starts_with('/'));
        let path = path.ok_or_else(|| {
            let why = format!("{key}: {written:?} leads out of the share: write a path in it, \".\" for all of it");
            self.fault(at, &why)
        })?;
        Ok(Place { path, at })
    }

    /// What is wrong, with its file and line.
    pub(crate) fn fault(&self, at: usize, why: &str) -> CopyError {
        let line = line_of(self.text, at);
        CopyError::Here(format!("{} line {line}: {why}", shown(self.file)))
    }
}
