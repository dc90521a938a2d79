//! Ranks that are behind: begun again by themselves while others went on, they are left out until they have come as far.
//!
//! Invariant: while a rank is left out, another is there that is not: nobody is behind where nobody has gone on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use visapult_publish::messages::{FromBackEnd, Want, note};
use visapult_ripp_net::Session;
use visapult_volume::StepIndex;

use super::super::options::FlowOptions;
use super::{Link, State};

/// Ranks that are so many steps apart are named.
const FAR_APART: StepIndex = 10;
/// Where they are for so long: words that were held up, as by a process that was stopped, come at once and not of all ranks together.
const APART_FOR: Duration = Duration::from_secs(2);
/// The same where one of them says nothing more: that of a process that was stopped would have lost its session by then.
const SILENT_FOR: Duration = Duration::from_secs(10);

/// Whether ranks have been far apart for long.
#[derive(Default)]
pub(in crate::flow) struct Apart {
    /// Since when some have been.
    since: Option<Instant>,
    is_named: bool,
}

impl Link {
    /// It is there, and not left out.
    pub(in crate::flow) const fn is_present(&self) -> bool {
        self.session.is_some() && !self.is_behind
    }

    /// It has gone on where it was.
    const fn has_gone_on(&self) -> bool {
        self.session.is_some() && !self.is_anew
    }
}

impl State {
    /// Those that are there, and not left out.
    pub(in crate::flow) fn present(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| link.is_present())
    }

    /// A rank has come: with it a new run begins, if all were started anew; or it goes on with the others, if it is not behind them.
    pub(super) fn begin_or_go_on(&mut self, rank: usize, session: &Session, options: &FlowOptions) {
        if self.links.iter().all(|link| link.session.is_some() && link.is_anew) {
            return self.begin_run(options);
        }
        self.tell_apart(options);
        if self.links[rank].is_behind {
            return;
        }
        if rank == 0 {
            self.declare_parameters();
        }
        self.ask_again(rank, session);
    }

    /// Leaves out who is behind, and takes in who is not any more: called whenever a rank has come, gone, or come further.
    pub(in crate::flow) fn tell_apart(&mut self, options: &FlowOptions) {
        let on = self.slowest().map(|(_, newest)| newest);
        for rank in 0..self.links.len() {
            let link = &mut self.links[rank];
            let Some(session) = link.session.clone().filter(|_| link.is_anew) else { continue };
            let is_behind = on.is_some_and(|on| link.newest < on);
            let was_behind = std::mem::replace(&mut link.is_behind, is_behind);
            if !is_behind && on.is_some() {
                link.is_anew = false;
                link.is_late = true;
            }
            if is_behind && !was_behind {
                self.leave_out(rank, &session, options);
            } else if was_behind && !is_behind {
                self.take_in(rank, &session, options);
            }
        }
    }

    /// Of the ranks that have gone on the one that has come least far, and its newest step; none where nobody has.
    fn slowest(&self) -> Option<(usize, Option<StepIndex>)> {
        let on = self.links.iter().enumerate().filter(|(_, link)| link.has_gone_on());
        on.map(|(rank, link)| (rank, link.newest)).min_by_key(|(_, newest)| *newest)
    }

    /// Nothing waits for the rank, and it waits for nobody. What is on its way of it comes.
    fn leave_out(&mut self, rank: usize, session: &Session, options: &FlowOptions) {
        self.comings += 1;
        // It is not heard on what was asked of it.
        self.coordinator.on_leave(rank);
        self.tell_decided();
        if self.crew.is_some() {
            // Other processes wait for what comes of each step.
            self.begin_all_asked();
        }
        self.assemblies.values_mut().for_each(|assembly| assembly.do_without(rank));
        self.keep_finished(options.history_bytes);
        let_go(session);
    }

    /// The rank has come as far as the others, or they are all gone: it is asked for what they are.
    fn take_in(&mut self, rank: usize, session: &Session, options: &FlowOptions) {
        self.comings += 1;
        self.subscribe(session, options);
        self.ask_again(rank, session);
    }

    /// Says how the back end is split now to all that are there.
    pub(in crate::flow) fn subscribe_all(&self, options: &FlowOptions) {
        for link in &self.links {
            let Some(session) = &link.session else { continue };
            self.subscribe(session, options);
            if link.is_behind {
                let_go(session);
            }
        }
    }

    /// What to say of a rank that is left out: once for each.
    pub(in crate::flow) fn name_left_out(&mut self) -> Option<String> {
        let (slowest, Some(on)) = self.slowest()? else { return None };
        let unnamed = self.links.iter().position(|link| link.is_behind && !link.is_named && link.newest.is_some());
        let rank = unnamed?;
        let link = &mut self.links[rank];
        link.is_named = true;
        let newest = link.newest?;
        Some(format!(
            "rank {rank} has come back at step {newest} where rank {slowest} is at step {on}: it is left out until it has come that far; \
             a program that goes on from a restart file says with visapult_begin_at which step it does"
        ))
    }

    /// What to say of ranks that are so far apart that few steps are whole, once.
    pub(in crate::flow) fn name_apart(&mut self, now: Instant) -> Option<String> {
        if self.apart.is_named {
            return None;
        }
        let there = self.links.iter().enumerate().filter(|(_, link)| link.is_present());
        let (first, ahead) = there.clone().max_by_key(|(_, link)| link.newest)?;
        let (last, behind) = there.min_by_key(|(_, link)| link.newest)?;
        // A rank that has done none may begin where the others did.
        let apart = ahead.newest? - behind.newest.or(ahead.first)?;
        // By fewer, or by what they do before it is known here, ranks seem to be apart that are not.
        if apart <= FAR_APART.max(self.on_the_way_now()) {
            self.apart.since = None;
            return None;
        }
        let since = *self.apart.since.get_or_insert(now);
        // One that has ended no step has nothing to say.
        let has_spoken = |link: &Link| link.newest.is_none() || link.heard.is_some_and(|heard| heard > since);
        let enough = if has_spoken(ahead) && has_spoken(behind) { APART_FOR } else { SILENT_FOR };
        if now.saturating_duration_since(since) < enough {
            return None;
        }
        self.apart.is_named = true;
        if behind.newest.is_none() {
            return Some(format!(
                "rank {last} has ended no step where rank {first} has ended {apart}: a step is shown once all ranks have ended it"
            ));
        }
        Some(format!(
            "rank {last} is {apart} steps behind rank {first}: a step is shown once all ranks have done it, and few steps wait for that; \
             more are shown where ranks keep together, as by a barrier now and then"
        ))
    }

    /// Whether `session` is that of the rank, and no later one has taken its place.
    pub(in crate::flow) fn is_of(&self, rank: usize, session: &Arc<Session>) -> bool {
        let own = self.links.get(rank).and_then(|link| link.session.as_ref());
        own.is_some_and(|own| Arc::ptr_eq(own, session))
    }
}

/// A program that waits until each of its steps is taken goes on where only later ones are wanted, until others are.
pub(super) fn let_go(session: &Session) {
    let want = FromBackEnd::Want(Want { step: StepIndex::MAX, or_newer: false, fields: Vec::new() });
    // A session that has ended is noticed by its thread.
    let _ = session.note(&note(&want));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use visapult_publish::Action;
    use visapult_publish::messages::{Declaration, FromPublisher};
    use visapult_ripp_net::{Clients, Listener, ListenerOptions, Mode, Options, Trust};
    use visapult_volume::{FieldInfo, Grid, ScalarType};

    use super::super::super::receiver::Receiver;
    use super::super::join;
    use super::*;

    const SIZE: [usize; 3] = [9, 4, 4];
    const NOBODY: [usize; 0] = [];

    /// Three ranks of a simulation, and what is known of them.
    struct Scene {
        listener: Listener,
        options: FlowOptions,
        state: State,
    }

    impl Scene {
        /// All ranks have come to `step`.
        fn at(step: StepIndex) -> Self {
            let options = ListenerOptions {
                identity: None,
                token: None,
                clients: Clients::default(),
                session: Options::default(),
            };
            let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
            let mut scene = Self { listener, options: FlowOptions::default(), state: State::new(usize::MAX, None) };
            (0..3).for_each(|rank| scene.join(rank, None).unwrap());
            (0..3).for_each(|rank| scene.have(rank, step));
            assert!(scene.left_out().is_empty());
            scene
        }

        /// A rank comes whose newest step is `newest`.
        fn join(&mut self, rank: usize, newest: Option<StepIndex>) -> Result<(), String> {
            let url = self.listener.url("127.0.0.1", "test");
            let session = Session::begin(&url, &Trust::InsecureLoopback, None, &Options::default()).unwrap();
            let field = FieldInfo {
                name: "p".to_owned(),
                unit: String::new(),
                scalar_type: ScalarType::F32,
                declared_range: None,
            };
            let declaration = Declaration {
                name: "test".to_owned(),
                format: "a test".to_owned(),
                rank: rank as u32,
                ranks: 3,
                grid: (&Grid::of_size(SIZE)).into(),
                fields: vec![(&field).into()],
                block: [[3 * rank, 0, 0], [3 * rank + 3, SIZE[1], SIZE[2]]],
                live: true,
                steps: newest.map(|newest| [newest; 2]),
                times: Vec::new(),
                time_unit: String::new(),
                calendar: String::new(),
                along: Default::default(),
                every: false,
                parameters: Vec::new(),
            };
            join(&mut self.state, &self.options, declaration, &Arc::new(session)).map(|joined| assert_eq!(joined, rank))
        }

        fn leave(&mut self, rank: usize) {
            self.state.leave(rank, &self.options);
        }

        fn have(&mut self, rank: usize, newest: StepIndex) {
            self.state.links[rank].on_newest(newest);
            self.state.tell_apart(&self.options);
        }

        fn left_out(&self) -> Vec<usize> {
            (0..3).filter(|&rank| self.state.links[rank].is_behind).collect()
        }
    }

    #[test]
    fn a_rank_that_begins_again_is_left_out_until_it_has_come_as_far_as_the_slowest() {
        let mut scene = Scene::at(40);
        scene.have(2, 44);
        scene.leave(1);
        scene.join(1, None).unwrap();
        scene.have(0, 41);
        scene.have(1, 40);
        assert_eq!((scene.left_out(), scene.state.present().count()), (vec![1], 2));
        scene.have(1, 41);
        assert_eq!((scene.left_out(), scene.state.present().count()), (vec![], 3));
        // From here on it is as the others: who is slower now is waited for.
        scene.have(0, 60);
        assert_eq!(scene.left_out(), NOBODY);
    }

    #[test]
    fn a_rank_that_comes_back_where_the_others_are_is_not_left_out() {
        let mut scene = Scene::at(40);
        scene.leave(1);
        scene.join(1, None).unwrap();
        scene.have(1, 41);
        assert_eq!(scene.left_out(), NOBODY);
        scene.leave(1);
        scene.have(0, 50);
        scene.join(1, Some(41)).unwrap();
        assert_eq!(scene.left_out(), NOBODY, "it has lost its session, not its steps");
    }

    #[test]
    fn what_was_asked_of_a_rank_that_is_left_out_since_is_not_waited_for() {
        let mut scene = Scene::at(40);
        (0..3).for_each(|rank| scene.leave(rank));
        scene.join(1, None).unwrap();
        assert_eq!(scene.left_out(), NOBODY);
        scene.state.coordinator.ask("ann", Action::Pause, 0, BTreeSet::from([1])).unwrap();
        // It has lost its session, not its steps.
        scene.join(0, Some(40)).unwrap();
        assert_eq!(scene.left_out(), [1]);
        let entry = &scene.state.coordinator.view.log[0];
        assert!(entry.at.is_none() && entry.problem.as_deref().unwrap().contains("rank 1 has left"), "{entry:?}");
    }

    #[test]
    fn it_is_said_once_of_each_who_is_left_out_and_at_which_step() {
        let mut scene = Scene::at(40);
        scene.leave(1);
        scene.join(1, None).unwrap();
        assert_eq!(scene.state.name_left_out(), None, "it is not known yet where it begins");
        scene.have(1, 3);
        let said = scene.state.name_left_out().unwrap();
        assert!(said.contains("rank 1 has come back at step 3") && said.contains("rank 0 is at step 40"), "{said}");
        scene.have(1, 4);
        assert_eq!(scene.state.name_left_out(), None);
    }

    #[test]
    fn a_rank_that_ends_no_step_is_named_once_the_others_have_ended_some() {
        let mut scene = Scene::at(40);
        (0..3).for_each(|rank| scene.leave(rank));
        (0..3).for_each(|rank| scene.join(rank, None).unwrap());
        // They go on from a restart file.
        (0..2).for_each(|rank| scene.have(rank, 5000));
        let now = Instant::now();
        assert_eq!(scene.state.name_apart(now + APART_FOR), None, "the word of the third is on its way");
        (0..2).for_each(|rank| scene.have(rank, 5000 + FAR_APART + scene.state.on_the_way_now() + 1));
        let now = Instant::now();
        assert_eq!(scene.state.name_apart(now), None, "it is seen for the first time");
        let ahead = scene.state.links[1].newest.unwrap();
        (0..2).for_each(|rank| scene.have(rank, ahead));
        let said = scene.state.name_apart(now + APART_FOR).unwrap();
        assert!(said.starts_with("rank 2 has ended no step where rank 1 has ended"), "{said}");
        assert_eq!(scene.state.name_apart(now + 2 * APART_FOR), None);
    }

    #[test]
    fn ranks_whose_words_were_held_up_are_not_apart_and_those_that_stay_apart_are() {
        let mut scene = Scene::at(40);
        let far = 41 + FAR_APART + scene.state.on_the_way_now();
        (0..2).for_each(|rank| scene.have(rank, far));
        let began = Instant::now();
        assert_eq!(scene.state.name_apart(began), None);
        assert_eq!(scene.state.name_apart(began + 2 * APART_FOR), None, "the third has said nothing since");
        // What it had to say comes.
        scene.have(2, far);
        assert_eq!(scene.state.name_apart(began + 2 * APART_FOR), None);
        let later = far + 1000 * (far + FAR_APART);
        scene.have(0, later);
        let again = Instant::now();
        assert_eq!(scene.state.name_apart(again), None);
        (0..3).for_each(|rank| scene.have(rank, [later, far, far + 1][rank]));
        let said = scene.state.name_apart(again + APART_FOR);
        assert!(said.is_some_and(|said| said.starts_with("rank 1 is ")));
    }

    #[test]
    fn a_rank_that_says_nothing_more_is_named_after_a_while() {
        let mut scene = Scene::at(40);
        let far = 41 + FAR_APART + scene.state.on_the_way_now();
        (0..2).for_each(|rank| scene.have(rank, far));
        let began = Instant::now();
        assert_eq!([Duration::ZERO, APART_FOR].map(|after| scene.state.name_apart(began + after)), [None, None]);
        let said = scene.state.name_apart(began + SILENT_FOR);
        assert!(said.is_some_and(|said| said.starts_with("rank 2 is ")));
    }

    #[test]
    fn of_a_new_run_it_is_told_anew_that_ranks_are_apart() {
        let mut scene = Scene::at(40);
        scene.state.apart = Apart { since: Some(Instant::now()), is_named: true };
        (0..3).for_each(|rank| scene.leave(rank));
        (0..3).for_each(|rank| scene.join(rank, None).unwrap());
        assert!(scene.state.run_begins && !scene.state.apart.is_named && scene.state.apart.since.is_none());
    }

    /// The ranks wait until each of their steps is taken.
    fn waiting() -> Scene {
        let mut scene = Scene::at(40);
        scene.state.declared.as_mut().unwrap().first.every = true;
        scene
    }

    #[test]
    fn who_waits_is_asked_for_more_when_another_leaves_in_the_middle_of_all_that_was_asked_for() {
        let mut scene = waiting();
        scene.state.convoy.span_before = Some(visapult_volume::StepSpan { first: 40, last: 40 });
        scene.state.ask_ahead();
        let asked: Vec<StepIndex> = scene.state.asked.keys().copied().collect();
        for &step in &asked {
            let assembly = scene.state.assembly(step).unwrap();
            [0, 2].into_iter().for_each(|rank| assembly.give_up(rank));
            assert!(assembly.waits_for(1));
        }
        scene.leave(1);
        assert!(!asked.is_empty() && !scene.state.asked.is_empty());
        assert!(asked.iter().all(|&step| !scene.state.is_waited_for(step)), "they cannot be whole");
    }

    #[test]
    fn who_waits_is_let_go_once_where_others_do_not_come() {
        let mut scene = waiting();
        scene.leave(1);
        let now = Instant::now();
        assert!(!scene.state.let_go_of_who_waits(now), "it may come back");
        let later = now + Duration::from_secs(60);
        assert!(scene.state.let_go_of_who_waits(later) && !scene.state.let_go_of_who_waits(later));
        scene.join(1, Some(40)).unwrap();
        assert!(!scene.state.let_go_of_who_waits(later + Duration::from_secs(60)), "all are there, and are asked");
    }

    #[test]
    fn ranks_that_do_not_come_are_named_with_what_may_be_wrong() {
        let mut scene = Scene::at(40);
        scene.state = State::new(usize::MAX, None);
        assert_eq!(scene.state.missing(), None);
        scene.join(0, None).unwrap();
        let now = Instant::now();
        assert_eq!(scene.state.name_missing(now), None, "they are on their way");
        let said = scene.state.name_missing(now + Duration::from_secs(60)).unwrap();
        assert!(
            said.starts_with("1 of 3 ranks are there, ranks 1, 2 are missing") && said.contains("VISAPULT_URL"),
            "{said}"
        );
        scene.join(2, None).unwrap();
        scene.state.trouble = Some("blocks overlap".to_owned());
        let said = scene.state.missing().unwrap();
        assert!(said.contains("rank 1 is missing") && said.ends_with("blocks overlap"), "{said}");
        scene.join(1, None).unwrap();
        assert_eq!(scene.state.missing(), None);
    }

    #[test]
    fn a_simulation_that_is_started_anew_begins_a_run_though_its_ranks_come_one_by_one() {
        for lingering in 0..3 {
            let mut scene = Scene::at(40);
            let [first, second] = [(lingering + 1) % 3, (lingering + 2) % 3];
            for rank in [first, second] {
                scene.leave(rank);
                scene.join(rank, None).unwrap();
                scene.have(rank, 2);
            }
            assert!(!scene.state.run_begins && scene.left_out().len() == 2);
            scene.leave(lingering);
            assert_eq!(scene.left_out(), NOBODY, "nobody has gone on");
            scene.join(lingering, None).unwrap();
            assert!(scene.state.run_begins && scene.state.links.iter().all(|link| link.is_present() && !link.is_anew));
        }
    }

    #[test]
    fn ranks_that_come_when_all_are_gone_begin_a_run_and_are_never_left_out() {
        let mut scene = Scene::at(40);
        (0..3).for_each(|rank| scene.leave(rank));
        for rank in [2, 0, 1] {
            assert!(!scene.state.run_begins);
            scene.join(rank, None).unwrap();
            assert_eq!(scene.left_out(), NOBODY);
        }
        assert!(scene.state.run_begins);
    }

    #[test]
    fn a_rank_whose_others_all_die_is_not_left_out_any_more_and_is_again_once_one_is_back() {
        let mut scene = Scene::at(40);
        scene.leave(1);
        scene.join(1, Some(3)).unwrap();
        scene.leave(0);
        assert_eq!(scene.left_out(), [1]);
        scene.leave(2);
        assert_eq!(scene.left_out(), NOBODY);
        scene.join(2, Some(40)).unwrap();
        assert_eq!(scene.left_out(), [1]);
    }

    #[test]
    fn steps_that_are_begun_come_without_a_rank_that_is_left_out_and_later_ones_with_it_once_it_is_not() {
        let mut scene = Scene::at(40);
        scene.leave(2);
        scene.leave(0);
        scene.leave(1);
        scene.join(1, None).unwrap();
        scene.state.asked.extend([(50, vec![0]), (51, vec![0])]);
        assert!(scene.state.assembly(50).unwrap().waits_for(1));
        scene.join(0, Some(40)).unwrap();
        assert!(!scene.state.is_waited_for(50), "nobody who is asked for it has anything of it");
        assert!(!scene.state.assembly(51).unwrap().waits_for(1));
        scene.state.asked.insert(52, vec![0]);
        scene.have(1, 45);
        let is_waited_for = |step| scene.state.assembly(step).unwrap().waits_for(1);
        assert_eq!([51, 52].map(is_waited_for), [false, true]);
    }

    #[test]
    fn what_a_rank_has_passed_while_it_caught_up_comes_without_it() {
        for caught_up in [true, false] {
            let mut scene = Scene::at(40);
            if caught_up {
                scene.leave(1);
                scene.join(1, None).unwrap();
                scene.have(1, 40);
            }
            scene.state.asked.insert(42, vec![0]);
            scene.state.on_gone(1, 42, 45, None);
            let assembly = scene.state.assembly(42).unwrap();
            assert_eq!((assembly.is_abandoned(), assembly.waits_for(0)), (!caught_up, true));
        }
    }

    #[test]
    fn a_session_that_is_noticed_late_to_have_ended_takes_nothing_from_the_one_in_its_place() {
        let mut scene = Scene::at(40);
        let ended = scene.state.links[1].session.clone().unwrap();
        let refused = scene.join(1, None).unwrap_err();
        assert!(refused.contains("there is a rank 1 already"), "{refused}");
        ended.end_because("the test has ended it");
        scene.state.asked.insert(42, vec![0]);
        assert!(scene.state.assembly(42).unwrap().waits_for(1));
        scene.options.mode = Mode::Lossy;
        scene.join(1, None).unwrap();
        assert!(!scene.state.assembly(42).unwrap().waits_for(1), "it was asked of the session that has ended");
        let receiver = Receiver::new(FlowOptions::default());
        std::mem::swap(&mut *receiver.lock(), &mut scene.state);
        receiver.on_note(&ended, &mut Some(1), FromPublisher::Have { newest: 60 }).unwrap_err();
        receiver.on_end(&ended, Some(1), None);
        let state = receiver.lock();
        assert_eq!((state.ranks(), state.links[1].newest, state.links[1].is_behind), (3, None, true));
    }

    #[test]
    fn what_a_rank_that_is_left_out_cannot_send_is_no_reason_to_ask_later() {
        let mut scene = Scene::at(40);
        scene.leave(1);
        scene.join(1, None).unwrap();
        scene.state.asked.insert(42, vec![0]);
        let lead = scene.state.pace.lead();
        scene.state.on_gone(1, 42, 30, None);
        assert!(!scene.state.assembly(42).unwrap().is_abandoned());
        assert_eq!(scene.state.pace.lead(), lead);
    }
}
