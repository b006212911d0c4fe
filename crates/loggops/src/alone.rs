//! Runs without the engine: what they have in common, from start to results.

use super::{
    domain::{Context, Place},
    finish::{self, DelayFinished, Ended},
    follow::Claims,
    observe::Observer,
    setup::DelaySetup,
};
use base::time::Ps;
use engine::kept::Damaged;
use model::{
    failure::Failure,
    performance::Clock,
    run::{Progress, Watch},
};
use ranks::{roster::GlobalRank, stuck::Stuck};

/// A run of all ranks in one partition that needs no engine.
pub trait Alone: Sized {
    /// What is done before whoever watches is asked, as [`Alone::go_on`] counts.
    const WORK: u64;
    /// Goes on for about so many turns or steps. False once nothing is left to do.
    fn go_on(&mut self, work: u64) -> bool;
    /// A time that all ranks have nearly reached.
    fn now(&self) -> Ps;
    /// What was done so far, for progress and rates.
    fn events(&self) -> u64;
    /// True if something was left out because it lay beyond the end of the run.
    fn was_cut(&self) -> bool;
    /// Last processor time of each host.
    fn makespans(&self) -> Vec<Ps>;
    /// Why ranks did not come to their end, if so.
    fn stuck(&self) -> Stuck;
    /// Appends the state.
    fn save(&mut self, to: &mut Vec<u8>);
    /// Goes on from a state that was saved of the same setup.
    ///
    /// # Errors
    /// If the bytes are not what was saved.
    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged>;
    /// What the state says, to be compared with what records say.
    fn claims(&self) -> Claims;
    /// What was measured, to look at.
    fn observed(&self) -> &Observer;
    /// What was measured.
    fn observer(self) -> Observer;
    /// The first source that turned out to be damaged: host and message.
    fn damage(&self) -> Option<(GlobalRank, String)> {
        None
    }
}

/// Simulates to the end.
pub(super) fn run<R: Alone>(
    setup: &DelaySetup,
    cx: &Context,
    mut run: R,
    clock: &Clock,
    watch: Watch<'_>,
) -> Result<DelayFinished, Failure> {
    if let Some(mut state) = watch.resume
        && (run.load(&mut state).is_err() || !state.is_empty())
    {
        return Err(Failure::Damaged);
    }
    while run.go_on(R::WORK) {
        let (now, events) = (run.now(), run.events());
        let at = Progress { now, end: setup.limit, events, partitions: 1, ..Progress::default() };
        let save = &mut || {
            let mut state = Vec::new();
            run.save(&mut state);
            state
        };
        if !(watch.pause)(at, save) {
            return Err(Failure::Stopped(now));
        }
    }
    if let Some((host, message)) = run.damage() {
        return Err(damaged(setup, *cx.place(host), &message));
    }
    let performance = clock.alone(run.events());
    let (stuck, makespans, dry) = (run.stuck(), run.makespans(), !run.was_cut());
    finish::check(run.observed(), || run.claims())?;
    let observer = run.observer();
    let operations = observer.operations();
    let (mut summary, tables, stuck) = finish::finish(setup, cx, Ended { stuck, makespans, observer, dry });
    summary.performance = Some(performance);
    Ok(DelayFinished { summary, tables, stuck, operations })
}

/// The failure of a run one of whose programs is damaged.
pub(super) fn damaged(setup: &DelaySetup, place: Place, message: &str) -> Failure {
    let job = &setup.jobs[place.job as usize].name;
    Failure::Setup(format!("job `{job}`, rank {}: {message}", place.rank))
}

/// What the tests of planted faults have in common.
#[cfg(test)]
pub(super) mod planting {
    use super::Alone;

    /// What `--check` says of a run now.
    pub fn verdict<R: Alone>(run: &R) -> Vec<String> {
        run.observed().follower.as_ref().expect("it is checked").verdict(&run.claims())
    }

    /// A sound run has no fault at any step.
    pub fn is_sound<R: Alone>(mut run: R) {
        let mut left = true;
        while left {
            assert_eq!(verdict(&run), Vec::<String>::new(), "after {}", run.events());
            left = run.go_on(1);
        }
        assert_eq!(verdict(&run), Vec::<String>::new());
        assert!(run.stuck().is_done());
    }

    /// Plants a fault as soon as it can be planted. True if it is found, at once or at the end.
    pub fn is_found<R: Alone>(mut run: R, fault: impl Fn(&mut R) -> Option<()>) -> bool {
        while run.events() < 20 || fault(&mut run).is_none() {
            if !run.go_on(1) {
                return false;
            }
        }
        // What changes a time alone is seen when the message is received, so the run goes on where nothing is found at once.
        if verdict(&run).is_empty() {
            while run.go_on(1_000) {}
        }
        !verdict(&run).is_empty()
    }
}
