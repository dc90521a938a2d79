//! The policy of a share: who may read and write what of it, how fast and when. Folders that are granted are held open.

mod opening;
pub(crate) mod written;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use visapult_ripp_net::private::{self, PrivateError};
use visapult_ripp_net::{Member, Token};

use self::opening::{Opener, refuse_within};
use self::written::Text;
use crate::error::CopyError;
use crate::hours::{Hours, Moment};
use crate::names::shown;

/// Who may do what.
#[derive(Debug)]
pub(crate) struct People {
    people: Vec<Person>,
    /// The files that their tokens are in, those of who cannot be let in among them.
    token_files: Vec<PathBuf>,
    /// Whom to ask for more.
    ask: String,
    /// What is granted and cannot be: where that stands, why, and what mends it.
    withheld: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Person {
    member: Member,
    weight: u32,
    read: Vec<Granted>,
    write: Vec<Granted>,
    /// None: always.
    hours: Vec<Hours>,
}

/// A folder that somebody may read or write, held open: whatever takes its name later is another.
#[derive(Clone, Debug)]
struct Granted {
    path: PathBuf,
    /// Where there is none, nothing is granted.
    dir: Option<Arc<Dir>>,
}

impl PartialEq for Granted {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.dir.is_some() == other.dir.is_some()
    }
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    Read,
    Write,
}

impl People {
    /// Reads the file, and tokens from files beside it; those that are not there are made. `share` lies at `shared`, and none of them in it.
    /// A folder or a token that cannot be had is withheld from its person alone: what else the file says, and what it says no more, holds.
    ///
    /// # Errors
    /// What is wrong, in which line, and what is allowed.
    pub(crate) fn read(file: &Path, share: &Dir, shared: &Path) -> Result<Self, CopyError> {
        refuse_within(shared, file).map_err(CopyError::Here)?;
        let text = private::read_rules(file).map_err(|cause| match cause {
            PrivateError::Keep { cause, .. } => CopyError::at(file, &cause),
            cause => CopyError::Here(cause.to_string()),
        })?;
        let text = text.ok_or_else(|| CopyError::at(file, &ErrorKind::NotFound.into()))?;
        let text = Text { file, text: &text };
        let plan = text.plan()?;
        let mut opener = Opener::new(&text, share, shared);
        let people = opener.people(&plan)?;
        let token_files = plan.people.iter().map(|planned| opener.beside(&planned.token_file.path)).collect();
        Ok(Self { people, token_files, ask: plan.ask, withheld: opener.withheld })
    }

    /// Those of them whom a file names that has a mistake: who is taken out of it is out, whatever else is wrong there. None where it names
    /// all, or nobody, and is no policy at all.
    pub(crate) fn still_named(&self, file: &Path) -> Option<Self> {
        let text = private::read_anybodys(file).ok()??;
        let lines = || text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let is_named = |person: &&Person| {
            let name = person.member.name.as_str();
            let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
            lines().flat_map(|line| line.split(|sign| !is_sign(sign))).any(|word| word == name)
        };
        let people: Vec<Person> = self.people.iter().filter(is_named).cloned().collect();
        let (token_files, ask) = (self.token_files.clone(), self.ask.clone());
        (1..self.people.len()).contains(&people.len()).then(|| Self { people, token_files, ask, withheld: Vec::new() })
    }

    /// Who has tokens.
    pub(crate) fn members(&self) -> Vec<Member> {
        self.people.iter().map(|person| person.member.clone()).collect()
    }

    /// The files that their tokens are in.
    pub(crate) fn token_files(&self) -> impl Iterator<Item = &Path> {
        self.token_files.iter().map(PathBuf::as_path)
    }

    /// What is granted and cannot be: where that stands, why, and what mends it.
    pub(crate) fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// Somebody may do something.
    pub(crate) fn grant_anything(&self) -> bool {
        let mut grants = self.people.iter().flat_map(|person| person.read.iter().chain(&person.write));
        grants.any(|one| one.dir.is_some())
    }

    /// Who may do something else by `newer`, or has another token, or is not there any more.
    pub(crate) fn changed_by(&self, newer: &Self) -> Vec<String> {
        let changed = self.people.iter().filter(|person| newer.find(&person.member.name) != Some(person));
        changed.map(|person| person.member.name.clone()).collect()
    }

    /// Who has a token that nobody has by `older`.
    pub(crate) fn with_tokens_unlike(&self, older: &Self) -> Vec<String> {
        let had = |token: &Token| older.people.iter().any(|person| person.member.token == *token);
        let members = self.people.iter().map(|person| &person.member);
        members.filter(|member| !had(&member.token)).map(|member| member.name.clone()).collect()
    }

    /// The bound of this person's rate, if there is one.
    pub(crate) fn most_bps(&self, name: &str) -> Option<u64> {
        self.find(name)?.member.most_bps
    }

    /// This person's weight where copies share a link.
    pub(crate) fn weight(&self, name: &str) -> u32 {
        self.find(name).map_or(1, |person| person.weight)
    }

    /// Why this person may not copy now, if so.
    pub(crate) fn out_of_hours(&self, name: &str, now: Moment) -> Option<String> {
        let person = self.find(name)?;
        if person.hours.is_empty() || person.hours.iter().any(|hours| hours.hold(now)) {
            return None;
        }
        let hours = listed(person.hours.iter().map(ToString::to_string));
        Some(format!("{name} may copy here at {hours} only, and it is {now} there; {}", self.whom_to_ask()))
    }

    /// The folder that is granted to this person and holds `path`, its own path, and the rest of the path.
    ///
    /// # Errors
    /// What is not allowed, and whom to ask.
    pub(crate) fn granted<'a>(
        &self,
        name: &str,
        right: Right,
        path: &'a Path,
    ) -> Result<(Arc<Dir>, &Path, &'a Path), CopyError> {
        let granted = self.find(name).map_or(&[][..], |person| match right {
            Right::Read => &person.read,
            Right::Write => &person.write,
        });
        let held = granted.iter().filter_map(|one| {
            let rest = path.strip_prefix(&one.path).ok()?;
            Some((Arc::clone(one.dir.as_ref()?), one.path.as_path(), rest))
        });
        let innermost = held.max_by_key(|(_, at, _)| at.components().count());
        innermost.ok_or_else(|| match granted.iter().find(|one| path.starts_with(&one.path)) {
            Some(withheld) => self.absent(&withheld.path),
            None => self.not_granted(name, right, granted, path),
        })
    }

    /// The outermost of the folders below `path` that are granted to this person, where neither that is nor what holds it.
    pub(crate) fn readable_below(&self, name: &str, path: &Path) -> Vec<&Path> {
        let granted =
            || self.find(name).into_iter().flat_map(|person| person.read.iter().map(|one| one.path.as_path()));
        if granted().any(|at| path.starts_with(at)) {
            return Vec::new();
        }
        let is_outermost = |at: &&Path| !granted().any(|other| other != *at && at.starts_with(other));
        granted().filter(|at| at.starts_with(path)).filter(is_outermost).collect()
    }

    fn not_granted(&self, name: &str, right: Right, granted: &[Granted], path: &Path) -> CopyError {
        let verb = if right == Right::Read { "read" } else { "write" };
        let what = listed(granted.iter().map(|one| place(&one.path)));
        let only = if what.is_empty() { "nothing".to_owned() } else { format!("only {what}") };
        CopyError::Here(format!("{name} may not {verb} {} here, {only}; {}", place(path), self.whom_to_ask()))
    }

    /// There was no folder at this path when it was to be granted.
    fn absent(&self, path: &Path) -> CopyError {
        let what = "is granted, and was no folder when the policy was read: once it is one, that is to be saved anew";
        CopyError::Here(format!("{} {what}; {}", place(path), self.whom_to_ask()))
    }

    /// Somebody has moved the folder at this path that was granted, or taken it away.
    pub(crate) fn gone(&self, path: &Path) -> CopyError {
        let what = "is not the folder any more that was granted: once it is right, its policy is to be saved anew";
        CopyError::Here(format!("{} {what}; {}", place(path), self.whom_to_ask()))
    }

    fn find(&self, name: &str) -> Option<&Person> {
        self.people.iter().find(|person| person.member.name == name)
    }

    fn whom_to_ask(&self) -> String {
        format!("ask {}", self.ask)
    }
}

/// A path in the share, as people read it.
fn place(path: &Path) -> String {
    if path.as_os_str().is_empty() { "all of it".to_owned() } else { shown(path) }
}

fn listed(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn share() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("share/runs/old")).unwrap();
        fs::create_dir(dir.path().join("share/in")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        symlink("../outside", dir.path().join("share/out")).unwrap();
        dir
    }

    fn read(dir: &tempfile::TempDir, text: &str) -> Result<People, CopyError> {
        let file = dir.path().join("people.toml");
        fs::write(&file, text).unwrap();
        let shared = fs::canonicalize(dir.path().join("share")).unwrap();
        let share = Dir::open_ambient_dir(&shared, cap_std::ambient_authority()).unwrap();
        People::read(&file, &share, &shared)
    }

    #[test]
    fn each_may_do_what_is_granted_and_is_told_what_is_not() {
        let dir = share();
        let text = "ask = \"Ada\"\n[[person]]\nname = \"grace\"\nread = [\"runs\", \"runs/old\"]\nwrite = [\"in\"]\nmost_rate = \"10M\"\nweight = 3\n\
                    [[person]]\nname = \"ada\"\nread = [\".\"]\n";
        let people = read(&dir, text).unwrap();
        let told = |name, right, path: &str| match people.granted(name, right, path.as_ref()) {
            Ok((_, at, rest)) => format!("{} {}", at.display(), rest.display()),
            Err(cause) => cause.to_string(),
        };
        assert_eq!(told("grace", Right::Read, "runs/12/a"), "runs 12/a");
        assert_eq!(told("grace", Right::Read, "runs/old/a"), "runs/old a");
        assert_eq!(told("ada", Right::Read, "x"), " x");
        let refused = told("grace", Right::Read, "runs-not");
        assert_eq!(refused, "grace may not read runs-not here, only runs and runs/old; ask Ada");
        assert_eq!(
            told("grace", Right::Read, ""),
            "grace may not read all of it here, only runs and runs/old; ask Ada"
        );
        assert_eq!(told("ada", Right::Write, "in"), "ada may not write in here, nothing; ask Ada");
        assert!(told("eve", Right::Read, "runs").contains("nothing"));
        let below = |name, path: &str| people.readable_below(name, path.as_ref()).len();
        assert_eq!(people.readable_below("grace", "".as_ref()), [Path::new("runs")]);
        assert_eq!((below("grace", "runs"), below("grace", "in"), below("ada", ""), below("eve", "")), (0, 0, 0, 0));
        assert_eq!((people.weight("grace"), people.weight("ada")), (3, 1));
        assert!(people.most_bps("grace") == Some(10_000_000) && people.most_bps("ada").is_none());
        // Tokens are made once, for their owner alone.
        let tokens: Vec<_> = people.members().into_iter().map(|member| member.token).collect();
        let again: Vec<_> = read(&dir, text).unwrap().members().into_iter().map(|member| member.token).collect();
        assert!(tokens == again && tokens[0] != tokens[1]);
        assert_eq!(fs::metadata(dir.path().join("grace.token")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn no_policy_and_no_token_lies_in_what_is_shared() {
        let dir = share();
        let policy = "ask = \"A\"\n[[person]]\nname = \"g\"\ntoken_file = \"share/runs/g.token\"\nread = [\".\"]\n";
        let people = read(&dir, policy).unwrap();
        let told = people.withheld()[0].as_str();
        assert!(told.contains("line 4") && told.contains("put it elsewhere") && people.members().is_empty(), "{told}");
        assert!(!dir.path().join("share/runs/g.token").exists());
        let shared = fs::canonicalize(dir.path().join("share")).unwrap();
        let inside = shared.join("in/people.toml");
        fs::write(&inside, policy).unwrap();
        let share = Dir::open_ambient_dir(&shared, cap_std::ambient_authority()).unwrap();
        assert!(People::read(&inside, &share, &shared).unwrap_err().to_string().contains("put it elsewhere"));
    }

    #[test]
    fn what_cannot_be_granted_is_withheld_and_told_and_all_else_holds() {
        let dir = share();
        fs::write(dir.path().join("open.token"), "x").unwrap();
        fs::set_permissions(dir.path().join("open.token"), fs::Permissions::from_mode(0o644)).unwrap();
        let text = "ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\"runs\", \"runs/none\", \"none\"]\nwrite = [\"out\"]\n\
                    [[person]]\nname = \"open\"\nread = [\".\"]\n";
        let people = read(&dir, text).unwrap();
        let names: Vec<_> = people.members().into_iter().map(|member| member.name).collect();
        assert_eq!((names, people.token_files().count()), (vec!["g".to_owned()], 2));
        for (told, line, needle) in [
            (0, "line 4", "runs/none is to be a folder in the share: there is no such file or folder"),
            (1, "line 4", "none is to be a folder"),
            (2, "line 5", "leads out of the folder"),
            (3, "line 7", "mode 644): run chmod 600 on it; until then open is not let in"),
        ] {
            let told = &people.withheld()[told];
            assert!(told.contains(line) && told.contains(needle) && told.ends_with("save the policy anew"), "{told}");
        }
        let granted = |right, path: &str| people.granted("g", right, path.as_ref()).map(|(_, at, _)| at.to_owned());
        // It lies in one that is granted as well.
        assert_eq!(granted(Right::Read, "runs/none/a").unwrap(), Path::new("runs"));
        let told = granted(Right::Read, "none/a").unwrap_err().to_string();
        assert!(told.starts_with("none is granted, and was no folder") && told.ends_with("ask A"), "{told}");
        assert!(granted(Right::Write, "out").is_err() && people.granted("open", Right::Read, "runs".as_ref()).is_err());
        fs::create_dir(dir.path().join("share/none")).unwrap();
        let mended = read(&dir, text).unwrap();
        assert!(mended.granted("g", Right::Read, "none".as_ref()).is_ok());
        assert_eq!(people.changed_by(&mended), ["g"]);
        let none = read(&dir, "ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\"nowhere\"]\n").unwrap();
        assert!(mended.grant_anything() && !none.grant_anything());
    }

    #[test]
    fn a_policy_that_others_may_write_is_none() {
        let dir = share();
        let text = "ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\"runs\"]\n";
        assert!(read(&dir, text).is_ok());
        fs::set_permissions(dir.path().join("people.toml"), fs::Permissions::from_mode(0o666)).unwrap();
        let refusal = read(&dir, text).unwrap_err().to_string();
        assert!(refusal.contains("people.toml") && refusal.contains("chmod go-w"), "{refusal}");
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let dir = share();
        for (text, line, needle) in [
            ("", "line 1", "ask"),
            ("ask = \"A\"\n", "line 1", "no [[person]]"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nraed = []\n", "line 4", "raed"),
            ("ask = \"A\"\n[[person]]\nname = \"g/h\"\nread = [\".\"]\n", "line 3", "letters"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\n", "line 3", "neither read nor write"),
            (
                "ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\"runs\",\n\"../x\"]\n",
                "line 5",
                "leads out of the share",
            ),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\"/etc\"]\n", "line 4", "leads out of the share"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\nmost_rate = \"fast\"\n", "line 5", "950M"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\nweight = 0\n", "line 5", "1 to 1000"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\nhours = [\"noon\"]\n", "line 5", "mon-fri"),
            (
                "ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\n[[person]]\nname = \"g\"\nread = [\".\"]\n",
                "line 6",
                "already",
            ),
            (
                "ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\n[[person]]\nname = \"h\"\ntoken_file = \"g.token\"\nread = [\".\"]\n",
                "line 5",
                "token of another",
            ),
        ] {
            let told = read(&dir, text).unwrap_err().to_string();
            assert!(told.contains(line) && told.contains(needle) && !told.contains('\n'), "{text}: {told}");
        }
    }
}
