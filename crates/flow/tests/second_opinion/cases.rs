//! Small cases at random: few sizes, times and bandwidths, so that many are the same, or none that are.

use base::{
    rng::{Purpose, Stream},
    time::Ps,
};
use fabric::platform::{Change, Policy};
use flow::rules::Rules;

/// A link as it is at the beginning: bytes per second, seconds.
#[derive(Clone, Debug)]
pub struct Link {
    pub bandwidth: f64,
    pub latency: f64,
    pub policy: Policy,
}

/// A route: links with the part of a flow that crosses each, the same of the way back, and seconds spent between links.
#[derive(Clone, Debug)]
pub struct Path {
    pub links: Vec<(u32, f64)>,
    pub back: Vec<(u32, f64)>,
    pub between: f64,
    pub divided: bool,
}

/// A message; its rate in bytes per second is the most that it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub at: Ps,
    pub path: usize,
    pub bytes: u64,
    pub rate: Option<f64>,
}

/// A message goes on over another route from some time on, if it is not over.
#[derive(Clone, Debug)]
pub struct Detour {
    pub at: Ps,
    pub message: usize,
    pub path: usize,
}

/// All that happens. Messages, detours and looks are in order of time; changes are not, but those of one time come in their order.
#[derive(Clone, Debug)]
pub struct Case {
    pub rules: Rules,
    pub links: Vec<Link>,
    pub paths: Vec<Path>,
    pub messages: Vec<Message>,
    pub changes: Vec<(Ps, u32, Change)>,
    pub detours: Vec<Detour>,
    /// When rates are looked at.
    pub looks: Vec<Ps>,
}

/// One of some.
fn one<T: Copy>(dice: &mut Stream, of: &[T]) -> T {
    of[dice.below(of.len() as u64) as usize]
}

/// True once in so many times.
fn once_in(dice: &mut Stream, n: u64) -> bool {
    dice.below(n) == 0
}

fn rules(dice: &mut Stream) -> Rules {
    let presets =
        [Rules::plain(), Rules::plain(), Rules::maxmin(), Rules::cm02(), Rules::lv08(), Rules::smpi()];
    let mut rules = presets[dice.below(6) as usize].clone();
    if once_in(dice, 3) {
        rules.cross = one(dice, &[0.0, 0.05]);
    }
    if once_in(dice, 3) {
        // Small enough for it to count on short routes.
        let some = 1e5 * dice.unit_open();
        rules.window = one(dice, &[None, Some(20_000.0), Some(some)]);
    }
    if once_in(dice, 4) {
        rules.scale = one(dice, &[0.0, 8_775.0, 20_537.0]);
    }
    rules.weighted ^= once_in(dice, 6);
    rules.frozen ^= once_in(dice, 4);
    if once_in(dice, 6) {
        rules.factors = one(dice, &[Rules::plain, Rules::lv08, Rules::smpi])().factors;
    }
    rules
}

fn bandwidth(dice: &mut Stream) -> f64 {
    let some = 1e8 * 50f64.powf(dice.unit_open());
    one(dice, &[1e9, 1e9, 1e9, 2e9, 5e8, 3e9, some, some])
}

fn latency(dice: &mut Stream) -> f64 {
    let some = 1e-6 * 100f64.powf(dice.unit_open());
    one(dice, &[1e-6, 1e-6, 1e-6, 5e-6, 2e-5, some, some])
}

/// A time: one of few, or any of two milliseconds.
fn time(dice: &mut Stream, mode: u64) -> Ps {
    match mode {
        0 => 0,
        1 => 100_000_000 * dice.below(12),
        _ => dice.below(2_000_000_000),
    }
}

fn path(dice: &mut Stream, links: u64) -> Path {
    let between = one(dice, &[0.0, 0.0, 0.0, 3e-7]);
    if once_in(dice, 25) {
        return Path { links: Vec::new(), back: Vec::new(), between, divided: false };
    }
    let divided = once_in(dice, 4);
    let mut all: Vec<u32> = (0..links as u32).collect();
    dice.shuffle(&mut all);
    all.truncate(1 + dice.below(4) as usize);
    if !divided && once_in(dice, 20) {
        // There and back over one link.
        all.push(all[0]);
    }
    let third = 1.0 / 3.0;
    let mut parts = |list: Vec<u32>| -> Vec<(u32, f64)> {
        let part = |link| (link, if divided { one(dice, &[1.0, 0.5, 0.5, 0.25, third]) } else { 1.0 });
        list.into_iter().map(part).collect()
    };
    let there = parts(all.clone());
    all.reverse();
    let mirror = parts(all.clone());
    let back = match dice.below(4) {
        0 => Vec::new(),
        1 => vec![(dice.below(links) as u32, 1.0)],
        _ => mirror,
    };
    Path { links: there, back, between, divided }
}

fn messages(dice: &mut Stream, paths: u64) -> Vec<Message> {
    let (most, sizes, times) = (one(dice, &[2, 5, 9, 9, 14, 40]), dice.below(3), dice.below(4));
    let rates = once_in(dice, 3);
    let mut all: Vec<Message> = Vec::new();
    for _ in 0..=dice.below(most) {
        let any = dice.below(2_000_000);
        let bytes = match sizes {
            0 => 1_000_000,
            1 => one(dice, &[0, 1, 257, 1426, 65_472, 100_000, 500_000, 1_000_000]),
            _ => any,
        };
        let some = 1e9 * 100f64.powf(-dice.unit_open());
        let rate = rates.then(|| one(dice, &[None, Some(1e8), Some(5e8), Some(some)])).flatten();
        let new = Message { at: time(dice, times), path: dice.below(paths) as usize, bytes, rate };
        // Some are as the one before in all things.
        let twin = all.last().cloned().filter(|_| once_in(dice, 4));
        all.push(twin.unwrap_or(new));
    }
    all.sort_by_key(|m| m.at);
    all
}

fn changes(dice: &mut Stream, links: u64) -> Vec<(Ps, u32, Change)> {
    let mut all = Vec::new();
    if once_in(dice, 2) {
        return all;
    }
    let times = 1 + dice.below(2);
    for _ in 0..=dice.below(4) {
        let (at, link) = (time(dice, times), dice.below(links) as u32);
        let later = at + 1 + time(dice, times);
        match dice.below(8) {
            0 => all.extend([(at, link, Change::Up(false)), (later, link, Change::Up(true))]),
            1 => all.push((at, link, Change::Latency(latency(dice)))),
            2 => {
                let again = Change::Bandwidth(bandwidth(dice));
                all.extend([(at, link, Change::Bandwidth(0.0)), (later, link, again)]);
            }
            3 if once_in(dice, 4) => all.push((at, link, Change::Up(false))),
            _ => all.push((at, link, Change::Bandwidth(bandwidth(dice)))),
        }
    }
    all
}

/// The case of a seed.
pub fn draw(seed: u64) -> Case {
    let dice = &mut Stream::new(seed, Purpose::Setup, 0);
    let rules = rules(dice);
    let (links, paths) = (1 + dice.below(6), 1 + dice.below(5));
    // Weights as 1 / latency and routes without latency: some flows weigh a million times more than others.
    let without_latency = !rules.weighted || once_in(dice, 10);
    let link = |dice: &mut Stream| Link {
        bandwidth: if once_in(dice, 30) { 0.0 } else { bandwidth(dice) },
        latency: if without_latency && once_in(dice, 3) { 0.0 } else { latency(dice) },
        policy: if once_in(dice, 4) { Policy::FatPipe } else { Policy::Shared },
    };
    let all = (0..links).map(|_| link(dice)).collect();
    let changes = changes(dice, links);
    let messages = messages(dice, paths);
    let mut detours = Vec::new();
    if once_in(dice, 5) {
        for _ in 0..=dice.below(2) {
            let message = dice.below(messages.len() as u64) as usize;
            let at = messages[message].at + 1 + dice.below(2_000_000_000);
            detours.push(Detour { at, message, path: dice.below(paths) as usize });
        }
        detours.sort_by_key(|d| d.at);
    }
    let mut looks: Vec<Ps> = (0..dice.below(4)).map(|_| dice.below(3_000_000_000)).collect();
    looks.sort_unstable();
    looks.dedup();
    let paths = (0..paths).map(|_| path(dice, links)).collect();
    Case { rules, links: all, paths, messages, changes, detours, looks }
}
