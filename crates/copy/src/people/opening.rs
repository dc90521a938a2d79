//! Opens what a policy tells of: folders of the share, and tokens in files beside it. What cannot be had is withheld from its person alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use visapult_ripp_net::private::PrivateError;
use visapult_ripp_net::{Member, Token};

use super::written::{Place, Plan, Planned, Text};
use super::{Granted, Person};
use crate::error::{CopyError, reason};
use crate::names::shown;

/// Opens what the policy tells of.
pub(super) struct Opener<'a> {
    text: &'a Text<'a>,
    share: &'a Dir,
    shared: &'a Path,
    /// What could not be had.
    pub(super) withheld: Vec<String>,
}

impl<'a> Opener<'a> {
    /// The share is at `shared`.
    pub(super) fn new(text: &'a Text<'a>, share: &'a Dir, shared: &'a Path) -> Self {
        Self { text, share, shared, withheld: Vec::new() }
    }

    pub(super) fn people(&mut self, plan: &Plan) -> Result<Vec<Person>, CopyError> {
        let mut people: Vec<Person> = Vec::new();
        for planned in &plan.people {
            let Some(person) = self.person(planned) else { continue };
            if people.iter().any(|other| other.member.token == person.member.token) {
                let why = format!("{:?} has the token of another", person.member.name);
                return Err(self.text.fault(planned.at, &why));
            }
            people.push(person);
        }
        Ok(people)
    }

    /// None if there is no token to know them by.
    fn person(&mut self, planned: &Planned) -> Option<Person> {
        let Planned { name, token_file, most_bps, weight, read, write, hours, .. } = planned;
        let token = match self.token(&token_file.path) {
            Ok(token) => token,
            Err(why) => {
                self.withhold(token_file.at, &format!("token_file: {why}; until then {name} is not let in"));
                return None;
            }
        };
        let member = Member { name: name.clone(), token, most_bps: *most_bps };
        let (read, write) = (self.grants("read", read), self.grants("write", write));
        Some(Person { member, weight: *weight, read, write, hours: hours.clone() })
    }

    fn grants(&mut self, key: &str, places: &[Place]) -> Vec<Granted> {
        let granted = |Place { path, at }: &Place| {
            let opened = if path.as_os_str().is_empty() { self.share.try_clone() } else { self.share.open_dir(path) };
            if let Err(cause) = &opened {
                let place = shown(path);
                let why = format!(
                    "{key}: {place} is to be a folder in the share: {}; until then nothing is granted there",
                    reason(cause)
                );
                self.withhold(*at, &why);
            }
            Granted { path: path.clone(), dir: opened.ok().map(Arc::new) }
        };
        places.iter().map(granted).collect()
    }

    fn withhold(&mut self, at: usize, why: &str) {
        self.withheld.push(format!("{}: mend that, and save the policy anew", self.text.fault(at, why)));
    }

    fn token(&self, path: &Path) -> Result<Token, String> {
        let path = self.beside(path);
        refuse_within(self.shared, &path)?;
        Token::load_or_create_at(&path).map_err(|cause| match cause {
            PrivateError::Keep { path, cause } => format!("{}: {}", shown(&path), reason(&cause)),
            cause => cause.to_string(),
        })
    }

    /// A path that is written in the policy.
    pub(super) fn beside(&self, path: &Path) -> PathBuf {
        self.text.file.parent().unwrap_or(Path::new("")).join(path)
    }
}

/// What tells of rights is nothing to be shared.
pub(super) fn refuse_within(shared: &Path, file: &Path) -> Result<(), String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_within = |path: &Path| fs::canonicalize(path).is_ok_and(|real| real.starts_with(shared));
    if is_within(folder) || is_within(file) {
        let what = "says or holds who may do what, and lies in the folder that is shared: put it elsewhere";
        return Err(format!("{} {what}", shown(file)));
    }
    Ok(())
}
