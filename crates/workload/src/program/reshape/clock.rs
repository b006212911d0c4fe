//! Which collectives lie in a span of recorded time.
//!
//! A program can be cut at collectives of all ranks alone. So a span grows to the next ones: it begins behind the last collective that all ranks had called by
//! its beginning, and ends with the first one that no rank had called before its end. Time counts from the first record of any rank. Clocks are taken as they were recorded.

use super::{Known, tally::Span};
use crate::program::{
    Damage,
    lower::comms,
    mpi::{Call, Script},
};
use base::{index::RankId, time::Ps};
use std::sync::Arc;

/// The collectives between two times; to the end if there is no second one, or no collective behind it.
///
/// # Errors
/// If the script is damaged, or its collectives have no times.
pub fn between(script: &dyn Script, from: Ps, to: Option<Ps>) -> Result<Span, Damage> {
    let comms = Arc::new(comms::resolve(script)?);
    // When the first and the last rank called each.
    let (mut called, mut origin): (Vec<(Ps, Ps)>, _) = (Vec::new(), Ps::MAX);
    for rank in RankId::first(script.ranks()) {
        let (mut calls, mut known, mut n) = (script.open(rank), Known::new(&comms, rank), 0);
        while let Some((call, position)) = calls.next()? {
            let time = calls.time();
            origin = origin.min(time.unwrap_or(Ps::MAX));
            if let Call::Collective(c) = &call
                && known.get(c.comm).is_ok_and(|comm| comm.of_all)
            {
                let message = "calls have no recorded times: cut by collectives";
                let time = time.ok_or_else(|| super::at(script, rank, position, message))?;
                match called.get_mut(n) {
                    Some((first, last)) => (*first, *last) = ((*first).min(time), (*last).max(time)),
                    None => called.push((time, time)),
                }
                n += 1;
            }
            known.see(&call);
        }
    }
    let after = called.iter().take_while(|(_, last)| last.saturating_sub(origin) <= from).count();
    let rest = called.iter().skip(after);
    let end = to.and_then(|to| rest.clone().position(|(first, _)| first.saturating_sub(origin) >= to));
    let count = end.map(|n| n as u64 + 1);
    Ok(Span { after: after as u64, count })
}
