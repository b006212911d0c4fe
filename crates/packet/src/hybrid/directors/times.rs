//! Switches at times from the file.

use super::{Built, DirectorEntry, Frame, Step, Strategy, View};
use crate::hybrid::{HybridSetup, Treatment, learn::Forget};
use base::{
    param::{Kind, Param, Problem},
    registry::About,
    time::{NEVER, Ps},
    units::{parse_time, print_time},
};

/// The director `times`.
pub const ENTRY: DirectorEntry = DirectorEntry {
    about: About {
        name: "times",
        summary: "switches at given virtual times",
        doc: "The first time switches to the surrogate, the second back, and so on; after an odd number the run ends in the surrogate. \
              See `in_phase` for traffic with a period.",
        source: "Cruz-Camacho et al., section 4; CODES' director",
        params: &[Param {
            name: "switch",
            kind: Kind::Texts,
            default: None,
            doc: "Virtual times, ascending, such as `[\"2 ms\", \"7 ms\"]`.",
        }],
    },
    sketches: false,
    build,
};

fn build(setup: &HybridSetup, frame: &Frame) -> Built {
    let texts = setup.values.texts("switch");
    let mut times = Vec::new();
    for text in &texts {
        let bad = |message| {
            vec![Problem::new("switch", message).help("write times such as `[\"2 ms\", \"7 ms\"]`")]
        };
        let time = parse_time(text).map_err(|_| bad(format!("`{text}` is no time")))?;
        if time == 0 || times.last().is_some_and(|&last| last >= time) {
            return Err(bad("switch times must be above zero and ascend".to_owned()));
        }
        times.push(time);
    }
    if times.is_empty() {
        return Err(vec![
            Problem::new("switch", "there is no switch")
                .help("give at least one time, or use model \"packet\""),
        ]);
    }
    if let Some(late) = times.iter().find(|&&t| t >= frame.end) {
        let message = format!("the switch at {} would come when the run is over", print_time(*late));
        return Err(vec![Problem::new("switch", message).help("switch earlier, or run longer")]);
    }
    if setup.window == 0 {
        let message = "predictors learn from packets that are delivered in this span: it cannot be 0 s";
        return Err(vec![Problem::new("window", message)]);
    }
    let mut plan = Vec::new();
    let mut last = 0;
    for stay in times.chunks(2) {
        // The return is kept, the entry put off.
        let whole = stay.get(1).and_then(|back| Some((back, frame.in_phase(setup, back - stay[0])?)));
        let enter = whole.map_or(stay[0], |(back, length)| back - length);
        let learn = enter.saturating_sub(setup.window).max(last);
        // Learning begins a window before the entry, unless the network came back only after that.
        if learn > last {
            plan.push((learn, Planned::Learn));
        }
        plan.push((enter, Planned::Step(Step::Enter)));
        let Some(&back) = stay.get(1) else { break };
        if setup.treatment == Treatment::Reheat {
            plan.push((back.saturating_sub(setup.reheat).max(stay[0] + 1), Planned::Step(Step::Reheat)));
        }
        if plan.last().is_none_or(|p| p.0 < back) {
            plan.push((back, Planned::Step(Step::Return)));
        } else {
            return Err(vec![Problem::new("switch", "a stay is too short to re-heat the network")]);
        }
        last = back;
    }
    debug_assert!(plan.is_sorted_by(|a, b| a.0 < b.0), "a plan ascends");
    Ok(Box::new(Times(plan)))
}

#[derive(Clone, Copy, PartialEq)]
enum Planned {
    Learn,
    Step(Step),
}

/// All that will be done, by time.
struct Times(Vec<(Ps, Planned)>);

impl Times {
    fn at(&self, now: Ps) -> Option<Planned> {
        self.0.binary_search_by_key(&now, |p| p.0).ok().map(|i| self.0[i].1)
    }
}

impl Strategy for Times {
    fn next_tick(&self, now: Ps) -> Ps {
        // The plan is sorted, and never changes: a run that goes on needs no memory of it.
        self.0.get(self.0.partition_point(|p| p.0 <= now)).map_or(NEVER, |p| p.0)
    }

    fn may_enter(&self, now: Ps) -> bool {
        self.at(now) == Some(Planned::Step(Step::Enter))
    }

    fn enters(&self, now: Ps) -> bool {
        self.may_enter(now)
    }

    fn forget(&self, now: Ps) -> Forget {
        match self.at(now) {
            Some(Planned::Learn | Planned::Step(Step::Return)) => Forget::All,
            _ => Forget::Nothing,
        }
    }

    fn decide(&mut self, view: &View<'_>) -> Step {
        match self.at(view.now) {
            Some(Planned::Step(step)) => step,
            Some(Planned::Learn) => Step::Learn,
            None => Step::Stay,
        }
    }

    fn memory(&self) -> Vec<u64> {
        Vec::new()
    }

    fn recall(&mut self, memory: &[u64]) -> bool {
        memory.is_empty()
    }
}
