//! Shares with a policy: what each person may do, and what changes when the policy does.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use visapult_copy::{Access, Delete, Event, copy};
use visapult_ripp_net::{Options, RippUrl, Session, Trust};

use crate::shares::{StopAtEnd, awaited, done, eventually, options, run, served, text};

#[test]
fn each_person_may_do_what_the_policy_says() {
    let (dir, target, source) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let share = dir.path().join("share");
    for folder in ["runs/12", "secret", "in"] {
        fs::create_dir_all(share.join(folder)).unwrap();
        fs::write(share.join(folder).join("file"), folder).unwrap();
    }
    // Links that stay in the share lead out of what is granted.
    symlink("../secret", share.join("runs/link")).unwrap();
    symlink("../secret/file", share.join("runs/stolen")).unwrap();
    symlink("../secret", share.join("in/link")).unwrap();
    fs::write(source.path().join("new"), b"new").unwrap();
    let policy = dir.path().join("people.toml");
    let people = "ask = \"Ada\"\n[[person]]\nname = \"grace\"\nread = [\"runs\"]\nwrite = [\"in\"]\nmost_rate = \"500M\"\n\
                [[person]]\nname = \"ada\"\nread = [\".\"]\nwrite = [\".\"]\n";
    fs::write(&policy, people).unwrap();
    let new = source.path().join("new");
    let (_, audits) = served(&share, Access::Policy(policy), |urls, _| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let refused = |from: &str, to: &str| run(&options(&[from], to)).0.unwrap_err().to_string();
        assert_eq!(done(&[&format!("{grace}/runs")], text(target.path())).tally.files, 1);
        assert_eq!(done(&[&format!("{grace}/runs/12/file")], text(&target.path().join("one"))).tally.files, 1);
        assert_eq!(done(&[text(&new)], &format!("{grace}/in/sub/")).tally.files, 1);
        for path in ["", "/secret", "/secret/file", "/in", "/runs2"] {
            let why = refused(&format!("{grace}{path}"), text(target.path()));
            assert!(why.contains("grace may not read") && why.ends_with("only runs; ask Ada"), "{path}: {why}");
        }
        for path in ["/runs/link", "/runs/stolen", "/runs/link/file"] {
            let why = refused(&format!("{grace}{path}"), text(target.path()));
            assert!(why.contains("leads out"), "{path}: {why}");
        }
        for path in ["", "/runs", "/secret/x", "/new"] {
            let why = refused(text(&new), &format!("{grace}{path}"));
            assert!(why.contains("grace may not write") && why.ends_with("only in; ask Ada"), "{path}: {why}");
        }
        assert!(refused(text(&new), &format!("{grace}/in/link/new")).contains("leads out"));
        assert_eq!(done(&[&format!("{ada}/secret/file")], text(&target.path().join("two"))).tally.files, 1);
    });
    assert_eq!(fs::read_link(target.path().join("runs/link")).unwrap(), Path::new("../secret"));
    assert_eq!(fs::read(share.join("in/sub/new")).unwrap(), b"new");
    assert_eq!(fs::read_dir(share.join("secret")).unwrap().count(), 1);
    assert_eq!((audits[0].who.as_deref(), audits.last().unwrap().who.as_deref()), (Some("grace"), Some("ada")));
    assert!(audits[3].fault.as_deref().is_some_and(|fault| fault.contains("may not read")));
}

#[test]
fn who_may_only_write_learns_of_nothing_that_they_do_not_name() {
    let (dir, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let share = dir.path().join("share");
    fs::create_dir_all(share.join("in")).unwrap();
    fs::create_dir(share.join("runs")).unwrap();
    fs::write(share.join("in/of-ada"), b"hers").unwrap();
    fs::write(source.path().join("new"), b"new").unwrap();
    let policy = dir.path().join("people.toml");
    let person = |name, read| format!("[[person]]\nname = \"{name}\"\nread = [\"{read}\"]\nwrite = [\"in\"]\n");
    fs::write(&policy, format!("ask = \"Ada\"\n{}{}", person("grace", "runs"), person("eve", "in"))).unwrap();
    served(&share, Access::Policy(policy), |urls, _| {
        let [grace, eve] = urls else { panic!("{urls:?}") };
        let mut wanted = options(&[text(&source.path().join("."))], &format!("{grace}/in/"));
        let mut of_eve = options(&[text(&source.path().join("."))], &format!("{eve}/in/"));
        for (delete, dry_run) in
            [(Delete::InFolders, true), (Delete::InFolders, false), (Delete::Nothing, true), (Delete::Nothing, false)]
        {
            (wanted.wish.delete, wanted.wish.dry_run) = (delete, dry_run);
            let (outcome, events) = run(&wanted);
            assert!(!events.iter().any(|event| format!("{event:?}").contains("of-ada")), "{events:?}");
            if delete == Delete::Nothing {
                outcome.unwrap();
            } else {
                let why = outcome.unwrap_err().to_string();
                let told = "delete tells what is there, and grace may not read in here, only runs; ask Ada";
                assert!(why.ends_with(told) && events.is_empty(), "{why} {events:?}");
            }
        }
        assert_eq!(fs::read(share.join("in/new")).unwrap(), b"new");
        assert!(share.join("in/of-ada").exists());
        of_eve.wish.delete = Delete::InFolders;
        assert_eq!(run(&of_eve).1, [Event::Deleted("of-ada".to_owned())]);
    });
}

#[test]
fn a_policy_that_changes_holds_from_then_on() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    for folder in ["runs", "secret"] {
        fs::create_dir_all(share.join(folder)).unwrap();
        fs::write(share.join(folder).join("file"), vec![7; 16 << 20]).unwrap();
    }
    let person = |name: &str, folder: &str| format!("[[person]]\nname = \"{name}\"\nread = [\"{folder}\"]\n");
    let say = |people: &str| fs::write(&policy, format!("ask = \"Ada\"\n{people}")).unwrap();
    say(&(person("grace", "runs") + &person("ada", "runs")));
    served(&share, Access::Policy(policy.clone()), |urls, heard| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let result = |url: &str, folder: &str| run(&options(&[&format!("{url}/{folder}/file")], text(target.path()))).0;
        let until = |url: &str, folder: &str, may: bool| {
            let what = if may { "that it may be read" } else { "that it may not be read" };
            eventually(what, || result(url, folder).is_ok() == may);
        };
        result(grace, "runs").unwrap();
        result(grace, "secret").unwrap_err();
        // What is under way ends where its person's rights are others now, and goes on where they are not.
        let slow = |url: &str, to: &str| {
            let mut slow = options(&[&format!("{url}/runs/file")], text(&target.path().join(to)));
            slow.session.most_receive_bps = 50_000_000;
            run(&slow).0
        };
        thread::scope(|scope| {
            let of_grace = scope.spawn(|| slow(grace, "one"));
            let of_ada = scope.spawn(|| slow(ada, "two"));
            let begun = |name: &str| target.path().join(format!("{name}.visapult-part")).exists();
            eventually("the begin of both copies", || begun("one") && begun("two"));
            say(&(person("grace", "secret") + &person("ada", "runs")));
            let why = of_grace.join().unwrap().unwrap_err().to_string();
            assert!(why.contains("has changed for you") || why.contains("only secret"), "{why}");
            of_ada.join().unwrap().unwrap();
        });
        until(grace, "secret", true);
        result(grace, "runs").unwrap_err();
        // A mistake changes nothing, and is told.
        say("mistake");
        eventually("a word of the mistake", || !heard.mistakes.lock().unwrap().is_empty());
        assert!(heard.mistakes.lock().unwrap()[0].contains("people.toml line 2"), "{:?}", heard.mistakes);
        result(grace, "secret").unwrap();
        assert!(heard.audits.lock().unwrap().iter().any(|audit| audit.fault.is_some()));
        // Who is new has a token, and who is gone may do nothing.
        say(&(person("eve", "runs") + &person("ada", "runs")));
        until(grace, "secret", false);
        let token = fs::read_to_string(dir.path().join("eve.token")).unwrap();
        let (_, host) = ada.split_once('@').unwrap();
        result(&format!("ripp://{}@{host}", token.trim()), "runs").unwrap();
    });
}

#[test]
fn who_is_taken_out_is_out_though_a_folder_of_somebody_else_is_missing() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    fs::create_dir_all(share.join("runs")).unwrap();
    fs::write(share.join("runs/file"), b"file").unwrap();
    let person = |name: &str, read: &str| format!("[[person]]\nname = \"{name}\"\nread = [{read}]\n");
    let say = |people: &str| fs::write(&policy, format!("ask = \"Ada\"\n{people}")).unwrap();
    // It is missing from the beginning.
    say(&(person("grace", "\"runs\"") + &person("ada", "\"runs\", \"new\"")));
    served(&share, Access::Policy(policy.clone()), |urls, heard| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let get = |url: &str, path: &str| run(&options(&[&format!("{url}/{path}")], text(target.path()))).0;
        let told = |number: usize| {
            awaited(&format!("mistake {number}"), || heard.mistakes.lock().unwrap().get(number - 1).cloned())
        };
        let missing = told(1);
        assert!(missing.contains("people.toml line 7: read: new is to be a folder"), "{missing}");
        get(grace, "runs/file").unwrap();
        // Grace is revoked, and Eve's folder is not made yet.
        say(&(person("ada", "\"runs\", \"new\"") + &person("eve", "\"eve\"")));
        assert!(told(3).contains("people.toml line 7: read: eve is to be a folder"), "{}", told(3));
        assert!(get(grace, "runs/file").unwrap_err().to_string().contains("the token is wrong"));
        get(ada, "runs/file").unwrap();
        let why = get(ada, "new").unwrap_err().to_string();
        assert!(why.contains("new is granted, and was no folder") && why.ends_with("ask Ada"), "{why}");
        // Nor does what takes the name later get what is granted, before the policy is saved anew.
        fs::create_dir(share.join("new")).unwrap();
        assert!(get(ada, "new").is_err());
        say(&person("ada", "\"new\", \"runs\""));
        eventually("that Ada may read it", || get(ada, "new").is_ok());
    });
}

#[test]
fn a_token_that_cannot_be_had_lets_in_nobody_and_holds_up_nothing() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    fs::create_dir(&share).unwrap();
    fs::write(share.join("file"), b"file").unwrap();
    let person = |name: &str| format!("[[person]]\nname = \"{name}\"\nread = [\".\"]\n");
    fs::write(&policy, format!("ask = \"Ada\"\n{}{}", person("grace"), person("ada"))).unwrap();
    served(&share, Access::Policy(policy), |urls, heard| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let get = |url: &str| run(&options(&[&format!("{url}/file")], text(target.path()))).0;
        get(grace).unwrap();
        fs::write(dir.path().join("grace.token"), "no token").unwrap();
        eventually("that Grace is not let in", || get(grace).is_err());
        let told = heard.mistakes.lock().unwrap()[0].clone();
        assert!(told.contains("line 3: token_file: ") && told.contains("until then grace is not let in"), "{told}");
        get(ada).unwrap();
        // Whoever removes it gets another one.
        fs::remove_file(dir.path().join("grace.token")).unwrap();
        let token = awaited("another token", || fs::read_to_string(dir.path().join("grace.token")).ok());
        let (_, place) = grace.split_once('@').unwrap();
        let grace = format!("ripp://{}@{place}", token.trim());
        eventually("that Grace is let in again", || get(&grace).is_ok());
        // Nor is anybody let in, or told anything else, where nobody is left.
        for name in ["grace", "ada"] {
            fs::write(dir.path().join(format!("{name}.token")), "no token").unwrap();
        }
        eventually("that nobody is let in", || get(&grace).is_err() && get(ada).is_err());
        let why = get(ada).unwrap_err().to_string();
        assert!(why.contains("the token is wrong"), "{why}");
    });
}

#[test]
fn nothing_goes_to_a_folder_that_is_not_the_one_any_more_that_was_granted() {
    let (dir, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    fs::create_dir_all(share.join("in/grace")).unwrap();
    fs::write(source.path().join("new"), b"new").unwrap();
    let told = "ask = \"Ada\"\n[[person]]\nname = \"grace\"\nread = [\"in\"]\nwrite = [\"in/grace\"]\n";
    fs::write(&policy, told).unwrap();
    let new = source.path().join("new");
    served(&share, Access::Policy(policy.clone()), |urls, _| {
        let put = || run(&options(&[text(&new)], &format!("{}/in/grace/", urls[0]))).0;
        put().unwrap();
        // What she has sent is put away, and her folder made anew.
        fs::rename(share.join("in/grace"), share.join("old")).unwrap();
        fs::remove_file(share.join("old/new")).unwrap();
        for made in [false, true] {
            let why = put().unwrap_err().to_string();
            assert!(
                why.contains("in/grace is not the folder any more that was granted") && why.ends_with("Ada"),
                "{why}"
            );
            assert_eq!(fs::read_dir(share.join("old")).unwrap().count(), 0);
            if !made {
                fs::create_dir(share.join("in/grace")).unwrap();
            }
        }
        fs::remove_file(&policy).unwrap();
        fs::write(&policy, told).unwrap();
        eventually("that it goes to the folder that is granted now", || put().is_ok());
        assert_eq!(fs::read(share.join("in/grace/new")).unwrap(), b"new");
    });
}

#[test]
fn copies_of_one_person_keep_nobody_else_from_having_one() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    fs::create_dir(&share).unwrap();
    fs::write(share.join("large"), vec![7; 32 << 20]).unwrap();
    fs::write(share.join("small"), b"small").unwrap();
    let person = |name: &str| format!("[[person]]\nname = \"{name}\"\nread = [\".\"]\n");
    fs::write(&policy, format!("ask = \"Ada\"\n{}{}", person("grace"), person("ada"))).unwrap();
    served(&share, Access::Policy(policy), |urls, _| {
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let stop = AtomicBool::new(false);
        let slow = |number: usize| {
            let mut slow = options(&[&format!("{grace}/large")], text(&target.path().join(number.to_string())));
            slow.session.most_receive_bps = 1_000_000;
            copy(&slow, &stop, &mut |_| {})
        };
        let slow = &slow;
        thread::scope(|scope| {
            let all: Vec<_> = (0..32).map(|number| scope.spawn(move || slow(number))).collect();
            let begun = |number: usize| target.path().join(format!("{number}.visapult-part")).exists();
            let _stop = StopAtEnd(&stop);
            eventually("the begin of all copies", || {
                assert!(!all.iter().any(|one| one.is_finished()), "one ended before all had begun");
                (0..32).all(begun)
            });
            let one = |url: &str| run(&options(&[&format!("{url}/small")], text(&target.path().join("small")))).0;
            let (of_grace, of_ada) = (one(grace), one(ada));
            stop.store(true, Ordering::Relaxed);
            all.into_iter().for_each(|one| drop(one.join().unwrap()));
            assert!(of_grace.unwrap_err().to_string().contains("busy with 32 copies"));
            assert_eq!(of_ada.unwrap().tally.files, 1);
        });
    });
}

#[test]
fn nobody_takes_the_place_of_a_copy_of_somebody_else() {
    let dir = tempfile::tempdir().unwrap();
    let (share, policy) = (dir.path().join("share"), dir.path().join("people.toml"));
    fs::create_dir(&share).unwrap();
    fs::write(share.join("file"), b"file").unwrap();
    let person = |name: &str| format!("[[person]]\nname = \"{name}\"\nread = [\".\"]\n");
    fs::write(&policy, format!("ask = \"Ada\"\n{}{}", person("grace"), person("ada"))).unwrap();
    served(&share, Access::Policy(policy), |urls, heard| {
        let request = r#"{"kind":"copy","version":2,"job":"one","verb":"get","paths":["file"]}"#;
        let dial = |url: &str| {
            let url: RippUrl = url.parse().unwrap();
            let asked = Options { request: request.to_owned(), ..Options::default() };
            Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &asked).unwrap()
        };
        let [grace, ada] = urls else { panic!("{urls:?}") };
        let _sessions = [ada, grace, grace].map(|url| dial(url));
        let ended = || heard.audits.lock().unwrap().iter().filter_map(|audit| audit.who.clone()).collect::<Vec<_>>();
        // Of grace's two the second is the first that is back.
        eventually("the end of one of Grace's", || ended().iter().any(|who| who == "grace"));
        assert_eq!(ended(), ["grace"]);
    });
}
