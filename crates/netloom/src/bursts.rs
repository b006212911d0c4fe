//! Runs that hold too little of their traffic: fewer than two bursts, or not all that a file lists.

use base::{
    index::RankId,
    time::{Ps, display},
    units::print_bytes,
};
use model::{
    Parts,
    setup::{JobSetup, Until},
};

/// Messages of a burst that are looked at, at most.
const LONGEST: u64 = 1 << 20;

/// Bursts that a run should hold, at least.
const FEW: f64 = 2.0;

/// A line for each job whose bursts are fewer than [`FEW`] in a run that ends at a time, and for each whose list is not heeded whole.
pub fn notes(parts: &Parts<'_>, heeds_rates: bool) -> Vec<String> {
    let listed = parts.jobs.iter().flat_map(|job| left_out(job, parts.until, heeds_rates));
    let Some(Until::Time(end)) = parts.until else { return listed.collect() };
    parts.jobs.iter().filter_map(|job| note(job, end)).chain(listed).collect()
}

/// What a list of messages has that the run does not heed.
fn left_out(job: &JobSetup, until: Option<Until>, heeds_rates: bool) -> Vec<String> {
    let Some(traffic) = job.work.traffic() else { return Vec::new() };
    let end = match until {
        Some(Until::Time(end)) => end,
        _ => Ps::MAX,
    };
    let (name, found) = (&job.name, traffic.left_out(end.saturating_sub(job.start)));
    let mut all = Vec::new();
    if found.late > 0 {
        let (late, end) = (found.late, display(end));
        all.push(format!("job {name}: {late} of its messages would be created after {end}, when the run is over: they are not sent"));
    }
    if found.rated > 0 && !heeds_rates {
        let rated = found.rated;
        all.push(format!(
            "job {name}: {rated} of its messages have a rate, which this model does not heed: \"flow\" does"
        ));
    }
    all
}

fn note(job: &JobSetup, end: Ps) -> Option<String> {
    let traffic = job.work.traffic()?;
    let offered = traffic.offered_bytes_per_s().filter(|rate| *rate > 0.0)?;
    let first = traffic.message(RankId::new(0), 0, 0)?;
    let more = (1..LONGEST).map_while(|n| traffic.message(RankId::new(0), n, first.time));
    let (count, bytes) = more
        .take_while(|message| message.time == first.time)
        .fold((1_u64, first.bytes), |(count, bytes), message| (count + 1, bytes + message.bytes));
    // In picoseconds: how long a burst takes at the offered load.
    let each = bytes as f64 / offered * 1e12;
    (count > 1 && end as f64 <= each * FEW).then(|| {
        let (name, bytes, each, end) = (&job.name, print_bytes(bytes), display(each as Ps), display(end));
        format!(
            "job {name}: a burst of {count} messages, {bytes} in all, takes {each} at this load, and the run ends at {end}: it holds \
             fewer than two, and says nothing of what the network keeps up with"
        )
    })
}
