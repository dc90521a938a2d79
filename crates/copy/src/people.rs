//! The policy of a share: who may read and write what of it, how fast and when. Folders that are granted are held open.

pub(crate) mod written;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use visapult_ripp_net::{Member, Token};

use self::written::{Place, Plan, Planned, Text};
use crate::error::{CopyError, reason};
use crate::hours::{Hours, Moment};
use crate::names::shown;

const MOST_BYTES: u64 = 1 << 20;

/// Who may do what.
#[derive(Debug)]
pub(crate) struct People {
    people: Vec<Person>,
    /// Whom to ask for more.
    ask: String,
}

#[derive(Debug, PartialEq)]
struct Person {
    member: Member,
    token_file: PathBuf,
    weight: u32,
    read: Vec<Granted>,
    write: Vec<Granted>,
    /// None: always.
    hours: Vec<Hours>,
}

/// A folder that somebody may read or write, held open: whatever takes its name later is another.
#[derive(Debug)]
struct Granted {
    path: PathBuf,
    dir: Arc<Dir>,
}

impl PartialEq for Granted {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
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
    ///
    /// # Errors
    /// What is wrong, in which line, and what is allowed.
    pub(crate) fn read(file: &Path, share: &Dir, shared: &Path) -> Result<Self, CopyError> {
        refuse_within(shared, file).map_err(CopyError::Here)?;
        let length = fs::metadata(file).map_err(|cause| CopyError::at(file, &cause))?.len();
        if length > MOST_BYTES {
            return Err(CopyError::Here(format!("{}: is larger than 1 MiB", shown(file))));
        }
        let text = fs::read_to_string(file).map_err(|cause| CopyError::at(file, &cause))?;
        let text = Text { file, text: &text };
        let plan = text.plan()?;
        let people = Opener { text: &text, share, shared }.people(&plan)?;
        Ok(Self { people, ask: plan.ask })
    }

    /// Who has tokens.
    pub(crate) fn members(&self) -> Vec<Member> {
        self.people.iter().map(|person| person.member.clone()).collect()
    }

    /// The files that their tokens are in.
    pub(crate) fn token_files(&self) -> impl Iterator<Item = &Path> {
        self.people.iter().map(|person| person.token_file.as_path())
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
        let held = granted.iter().filter_map(|one| Some((one, path.strip_prefix(&one.path).ok()?)));
        let innermost = held.max_by_key(|(one, _)| one.path.components().count());
        innermost.map(|(one, rest)| (Arc::clone(&one.dir), one.path.as_path(), rest)).ok_or_else(|| {
            let verb = if right == Right::Read { "read" } else { "write" };
            let what = listed(granted.iter().map(|one| place(&one.path)));
            let only = if what.is_empty() { "nothing".to_owned() } else { format!("only {what}") };
            CopyError::Here(format!("{name} may not {verb} {} here, {only}; {}", place(path), self.whom_to_ask()))
        })
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

/// Opens what the policy tells of.
struct Opener<'a> {
    text: &'a Text<'a>,
    share: &'a Dir,
    shared: &'a Path,
}

impl Opener<'_> {
    fn people(&self, plan: &Plan) -> Result<Vec<Person>, CopyError> {
        let mut people: Vec<Person> = Vec::new();
        for planned in &plan.people {
            let person = self.person(planned)?;
            if people.iter().any(|other| other.member.token == person.member.token) {
                let why = format!("{:?} has the token of another", person.member.name);
                return Err(self.text.fault(planned.at, &why));
            }
            people.push(person);
        }
        Ok(people)
    }

    fn person(&self, planned: &Planned) -> Result<Person, CopyError> {
        let Planned { name, token_file, most_bps, weight, read, write, hours, .. } = planned;
        let (token_file, token) = self.token(token_file)?;
        let member = Member { name: name.clone(), token, most_bps: *most_bps };
        let grants = |key, paths: &[Place]| paths.iter().map(|path| self.grant(key, path)).collect::<Result<_, _>>();
        let (read, write) = (grants("read", read)?, grants("write", write)?);
        Ok(Person { member, token_file, weight: *weight, read, write, hours: hours.clone() })
    }

    fn grant(&self, key: &str, Place { path, at }: &Place) -> Result<Granted, CopyError> {
        let opened = if path.as_os_str().is_empty() { self.share.try_clone() } else { self.share.open_dir(path) };
        let dir = opened.map_err(|cause| {
            let why = format!("{key}: {} is to be a folder in the share: {}", shown(path), reason(&cause));
            self.text.fault(*at, &why)
        })?;
        Ok(Granted { path: path.clone(), dir: Arc::new(dir) })
    }

    /// The file, and the token in it.
    fn token(&self, Place { path, at }: &Place) -> Result<(PathBuf, Token), CopyError> {
        let path = self.text.file.parent().unwrap_or(Path::new("")).join(path);
        let token = refuse_within(self.shared, &path).and_then(|()| read_or_make_token(&path));
        let token = token.map_err(|why| self.text.fault(*at, &format!("token_file: {}: {why}", shown(&path))))?;
        Ok((path, token))
    }
}

/// What tells of rights is nothing to be shared.
fn refuse_within(shared: &Path, file: &Path) -> Result<(), String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_within = |path: &Path| fs::canonicalize(path).is_ok_and(|real| real.starts_with(shared));
    if is_within(folder) || is_within(file) {
        let what = "says or holds who may do what, and lies in the folder that is shared: put it elsewhere";
        return Err(format!("{} {what}", shown(file)));
    }
    Ok(())
}

/// The token in a file that nobody else may read; where there is none, a fresh one is put there.
fn read_or_make_token(path: &Path) -> Result<Token, String> {
    let told = |cause: io::Error| reason(&cause);
    if !path.try_exists().map_err(told)? {
        Token::keep_fresh(path).map_err(told)?;
    }
    let metadata = fs::metadata(path).map_err(told)?;
    if metadata.mode() & 0o077 != 0 {
        return Err("may be read or changed by others: run chmod 600 on it, or remove it to have a new one".to_owned());
    }
    if metadata.len() > 1024 {
        return Err("is no token: remove it to have a new one".to_owned());
    }
    let text = fs::read_to_string(path).map_err(told)?;
    Token::parse(text.trim()).map_err(|_| "is no token: remove it to have a new one".to_owned())
}

/// What the last part of a path is called.
pub(crate) fn last_name(path: &Path) -> Option<crate::names::Name> {
    path.file_name().and_then(|name| crate::names::Name::new(name.as_bytes()))
}

#[cfg(test)]
mod tests {
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
        let told = read(&dir, policy).unwrap_err().to_string();
        assert!(told.contains("line 4") && told.contains("put it elsewhere"), "{told}");
        assert!(!dir.path().join("share/runs/g.token").exists());
        let shared = fs::canonicalize(dir.path().join("share")).unwrap();
        let inside = shared.join("in/people.toml");
        fs::write(&inside, policy).unwrap();
        let share = Dir::open_ambient_dir(&shared, cap_std::ambient_authority()).unwrap();
        assert!(People::read(&inside, &share, &shared).unwrap_err().to_string().contains("put it elsewhere"));
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let dir = share();
        fs::write(dir.path().join("open.token"), "x").unwrap();
        fs::set_permissions(dir.path().join("open.token"), fs::Permissions::from_mode(0o644)).unwrap();
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
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\"out\"]\n", "line 4", "leads out of the folder"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nwrite = [\"none\"]\n", "line 4", "no such file or folder"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\nmost_rate = \"fast\"\n", "line 5", "950M"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\nweight = 0\n", "line 5", "1 to 1000"),
            ("ask = \"A\"\n[[person]]\nname = \"g\"\nread = [\".\"]\nhours = [\"noon\"]\n", "line 5", "mon-fri"),
            ("ask = \"A\"\n[[person]]\nname = \"open\"\nread = [\".\"]\n", "line 3", "chmod 600"),
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
