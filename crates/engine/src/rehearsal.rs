//! A rehearsal: one thread plays all threads of the conservative scheduler, one after the other, and measures what each has to do in each window.
//!
//! Windows, mail and order are those of [`crate::conservative`]; so are the events that are committed. What is learned is the critical path of the
//! windows, a bound of what threads can gain, without the processors that they would need.

use crate::{
    crew::Crew,
    domain::{Domain, Observer},
    group::Group,
    lookahead::Lookahead,
};
use base::{
    threads::Rehearsal,
    time::{NEVER, Ps},
};
use std::time::{Duration, Instant};

/// Pairs of looks at the clock of which the quickest says what a look costs.
const LOOKS: u32 = 100;

/// Plays the groups to the end, and adds what they did.
pub(crate) fn run<D, O>(groups: &mut [Group<'_, D, O>], crew: &Crew, total: &mut Rehearsal)
where
    D: Domain,
    O: Observer<D::Record>,
{
    let count = groups.len() as u32;
    let ahead = Lookahead::new(count, |from, to| groups[from as usize].lookahead(to));
    let look = cost_of_a_look();
    let mut reached: Vec<Ps> = vec![0; groups.len()];
    loop {
        let next: Vec<Ps> = groups.iter().map(Group::next_time).collect();
        let first = next.iter().copied().min().unwrap_or(NEVER);
        if first >= crew.end || groups.iter().map(|g| g.events).sum::<u64>() >= crew.budget {
            return;
        }
        let (mut most, mut longest) = (0, 0);
        for (me, group) in groups.iter_mut().enumerate() {
            let bound = ahead.bound(me, &next).min(crew.end);
            reached[me] = bound;
            // Who has nothing to do in a window does not even look at the clock.
            if next[me] >= bound {
                continue;
            }
            let (before, begun) = (group.events, Instant::now());
            group.run_to(bound, crew.budget);
            let took = begun.elapsed().saturating_sub(look);
            let (events, took) = (group.events - before, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
            (total.events, total.time) = (total.events + events, total.time.saturating_add(took));
            (most, longest) = (most.max(events), longest.max(took));
        }
        total.windows += 1;
        total.critical_events += most;
        total.critical_time = total.critical_time.saturating_add(longest);
        hand_over(groups, &reached);
    }
}

/// Hands over what the groups sent each other; `reached` says how far each has run.
fn hand_over<D, O>(groups: &mut [Group<'_, D, O>], reached: &[Ps])
where
    D: Domain,
    O: Observer<D::Record>,
{
    for from in 0..groups.len() {
        for (to, &bound) in reached.iter().enumerate().filter(|&(to, _)| to != from) {
            // Taken out for as long as the other group is written to, and put back with its memory.
            let mut mail = std::mem::take(&mut groups[from].outgoing[to]);
            mail.drain(..).for_each(|envelope| groups[to].deliver(&envelope, bound));
            groups[from].outgoing[to] = mail;
            groups[from].sent[to] = NEVER;
        }
    }
}

/// What looking at the clock twice takes: windows of a few events are no longer than that.
fn cost_of_a_look() -> Duration {
    let looks = (0..LOOKS).map(|_| Instant::now().elapsed());
    looks.min().unwrap_or_default()
}
