//! Where the ranks of the delay model stand at the end: what [`Stuck`] reports of them.

use super::domain::DelayDomain;
use ranks::{
    roster::GlobalRank,
    stuck::{self, Left, RankState, Stuck},
};

/// Looks at the state in which nothing is pending any more.
#[must_use]
pub fn of(machines: &[&DelayDomain]) -> Stuck {
    let Some(cx) = machines.first().map(|m| &m.cx) else { return Stuck::default() };
    let ranks: Vec<RankState> = machines.iter().flat_map(|m| (0..m.count()).map(|h| state(m, h))).collect();
    let op = |host: usize, number: u32| {
        let m = machines.iter().rev().find(|m| m.first.index() <= host)?;
        let mut rows = m.window().of_rank(m.row(GlobalRank::from_index(host))).map(|r| m.window().get(r));
        rows.find(|r| r.number == number).map(|r| r.op)
    };
    Stuck::of(&ranks, &op, &|job, rank, op| stuck::place(&*cx.programs[job as usize], rank, op))
}

fn state(m: &DelayDomain, host: u32) -> RankState {
    let place = m.cx.place(m.rank(host));
    let mut state = RankState { job: place.job, rank: place.rank, ended: true, ..RankState::default() };
    if m.window().open() > 0 {
        let rows = m.window().of_rank(host).map(|r| m.window().get(r)).filter(|r| !r.is_finished());
        for row in rows {
            state.ended = false;
            if row.is_started() {
                state.waiting.push(row.number);
            } else {
                state.idle += 1;
            }
        }
        state.waiting.sort_unstable();
    }
    let mut messages: Vec<_> = m.matching().messages(host).collect();
    // Ranks that run ahead send in turns, not in the order of time.
    messages.sort_by_key(|&(label, row)| (m.message(row).arrival, label.source, m.message(row).number));
    let left = |(label, row): (ranks::matching::Label, u32)| Left {
        from: label.source,
        tag: label.tag,
        context: label.context,
        bytes: m.message(row).bytes,
    };
    state.messages = messages.into_iter().map(left).collect();
    state
}
