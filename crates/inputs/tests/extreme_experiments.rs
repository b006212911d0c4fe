//! Experiments whose numbers are extreme: the smallest one of every entry and the shipped ones, some keys of which are as large or small as their kind has it.
//! Each is run, or refused in words: nothing panics, and no number of a result ends at the largest one without a flag.
//!
//! A build without overflow checks must do the same: `crates/inputs/extremes.sh` runs 25,000 files with both and compares what each file came to.
//! By hand: `CASES=5000 SEED=2 cargo test --profile checked -p netloom-inputs --test extreme_experiments`; with `OUTCOMES=FILE` a line for each file,
//! and with `ONLY=N` one of them is shown.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(clippy::print_stdout, reason = "what files came to is read by extremes.sh")]

mod common;

use base::{
    diag::Diagnostics,
    param::{Kind, Value},
    rng::{Purpose, Stream},
    time::{NS, Ps},
};
use netloom::model::{Finished, Progress, run::Watch, section::Section};
use netloom::{
    Error, ErrorKind, Input, MemoryLimit, Registry, RunOptions, Watcher,
    book::examples::example,
    catalog::shelves,
    experiment,
    prepare::{Prepared, prepare_text},
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex},
    time::{Duration, Instant},
};

/// What times are set to: virtual time ends at 2^59 ps, delays at 1000 s, numbers at 2^64.
const TIMES: &[&str] = &[
    "0 s",
    "1 ps",
    "0.001 ps",
    "1 us",
    "1 s",
    "1000 s",
    "1001 s",
    "576460752303423487 ps",
    "576460752303423488 ps",
    "1152921504606846976 ps",
    "9223372036854775807 ps",
    "18446744073709551615 ps",
    "1e300 s",
];
/// What numbers of bytes are set to.
const BYTES: &[&str] = &[
    "0 B",
    "1 B",
    "65535 B",
    "65536 B",
    "1 GiB",
    "4294967295 B",
    "4294967296 B",
    "1 TiB",
    "1125899906842624 B",
    "9223372036854775807 B",
    "18446744073709551615 B",
];
/// What bandwidths are set to.
const RATES: &[&str] = &[
    "0 B/s",
    "1 B/s",
    "0.000001 B/s",
    "1 bit/s",
    "1 kB/s",
    "999999999999999 B/s",
    "1000000000000 B/s",
    "1000000000000000000 B/s",
    "18446744073709551615 B/s",
    "1e300 B/s",
];
/// Whole numbers that are tried beside the ends of a range.
const WHOLE: &[u64] =
    &[0, 1, 2, 63, 64, 255, 65535, 65536, 1 << 31, u32::MAX as u64, 1 << 32, (1 << 53) + 1, u64::MAX >> 1];
/// Events after which a run is left: what is longer is compared up to there.
const EVENTS: u64 = 20_000;
/// Virtual time between pauses of file after file: every fourth one has those of its model alone, so that what is rare and far away is reached too.
const EVERY: [Ps; 4] = [0, 500 * NS, 500 * NS, 500 * NS];
/// Memory that a run may need: small networks.
const MEMORY: u64 = 48 << 20;
/// Pauses after which a run is left, if there is a time between them.
const PAUSES: u64 = 64;

/// What names mean.
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::standard);

/// An experiment that is changed, and its keys with their kinds and the values that they have.
struct Base {
    name: String,
    file: PathBuf,
    text: String,
    set: Vec<String>,
    keys: Vec<Key>,
}

/// A key that may be changed.
struct Key {
    path: String,
    kind: Kind,
    value: Option<Value>,
}

/// The keys of an experiment; none if it is no single run.
fn keys(file: &Path, text: &str, set: &[String]) -> Vec<Key> {
    let mut diagnostics = Diagnostics::default();
    let name = file.display().to_string();
    let Some(e) = experiment::read(&REGISTRY, &name, text, set, &mut diagnostics) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut add = |at: &str, section: &Section| {
        let numbers = section.params.iter().filter(|p| {
            !matches!(p.kind, Kind::Bool | Kind::Text | Kind::Texts | Kind::File | Kind::Choice(_))
        });
        all.extend(numbers.map(|p| Key {
            path: format!("{at}.{}", p.name),
            kind: p.kind,
            value: section.get(p.name).cloned(),
        }));
    };
    add("experiment", &e.experiment);
    e.fabric.iter().for_each(|f| add("fabric", &f.section));
    e.links.iter().for_each(|(class, section)| add(&format!("fabric.link.{class}"), section));
    e.faults.iter().for_each(|section| add("faults", section));
    e.routing.iter().for_each(|r| add("routing", &r.section));
    (0..).zip(&e.jobs).for_each(|(n, job)| add(&format!("job.{n}"), &job.section));
    e.model.iter().for_each(|m| add("model", &m.section));
    e.own.iter().for_each(|own| add(own.entry.about.name, &own.section));
    add("output", &e.output);
    add("engine", &e.engine);
    all
}

/// The smallest experiment of every entry of the reference, by shelves.
fn smallest(folder: &Path) -> Vec<Vec<Base>> {
    let registry = &*REGISTRY;
    let mut all = Vec::new();
    for shelf in shelves(registry) {
        let mut bases = Vec::new();
        for (index, about) in shelf.entries.iter().enumerate() {
            let Some(example) = example(registry, &shelf, index) else { continue };
            let name = format!("{}/{}", shelf.plural, about.name);
            let home = folder.join(name.replace(['/', ' '], "-"));
            fs::create_dir_all(&home).unwrap();
            for (name, text) in &example.files {
                fs::write(home.join(name), text).unwrap();
            }
            // A tenth of it has met most of what there is to meet.
            let short = example.text.lines().any(|line| line == "duration = \"10 us\"");
            let set = short.then(|| "experiment.duration=1 us".to_owned()).into_iter().collect();
            let file = home.join("example.toml");
            bases.push(Base { name, file, text: example.text, set, keys: Vec::new() });
        }
        all.push(bases);
    }
    all
}

/// The shipped experiments of small networks, cut short.
fn shipped() -> Vec<Base> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if ["65536", "524288", "8448", "1056"].iter().any(|n| name.contains(n)) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let lasts = text.lines().any(|line| line.starts_with("duration"));
        let short: &[&str] =
            if lasts { &["experiment.duration=500 ns", "experiment.warmup=0 s"] } else { &[] };
        let set = short.iter().map(|&s| s.to_owned()).collect();
        all.push(Base { name, file, text, set, keys: Vec::new() });
    }
    all
}

/// All that is changed: by shelves of the reference, of which each is taken as often, and the shipped ones three times as often.
fn bases(folder: &Path) -> Vec<Vec<Base>> {
    let mut all = smallest(folder);
    for n in 0..3 {
        all.push(shipped().into_iter().skip(n).step_by(3).collect());
    }
    all.iter_mut().flatten().for_each(|base| base.keys = keys(&base.file, &base.text, &base.set));
    all.iter_mut().for_each(|shelf| shelf.retain(|base| !base.keys.is_empty()));
    all.retain(|shelf| !shelf.is_empty());
    all
}

/// An extreme value of a kind, as `--set` has it.
fn extreme(key: &Key, dice: &mut Stream) -> String {
    fn one<T: Copy>(dice: &mut Stream, of: &[T]) -> T {
        of[dice.below(of.len() as u64) as usize]
    }
    let mut whole = |min: u64, max: u64| match dice.below(10) {
        0 => min,
        1 => max,
        2 => max.saturating_add(1),
        3 => one(dice, WHOLE),
        _ => one(dice, WHOLE).clamp(min, max),
    };
    match key.kind {
        // Who waits for nothing posts all iterations at one instant, which has no pause; runs of static congestion have pauses of their own,
        // and a million ranks take seconds to read.
        Kind::Int { min, .. }
            if [".iterations", ".runs", ".ranks_per_terminal"].iter().any(|end| key.path.ends_with(end)) =>
        {
            whole(min, 4096).min(4096).to_string()
        }
        // Every mean is drawn so often: a million take a second.
        Kind::Int { min, max } if key.path.ends_with(".samples") => {
            whole(min, max).min(1_000_000).to_string()
        }
        Kind::Int { min, max } => whole(min, max).to_string(),
        Kind::Ints { min, max } => {
            let mut all = match &key.value {
                Some(Value::Ints(all)) if !all.is_empty() => all.clone(),
                _ => vec![1],
            };
            let place = whole(0, all.len() as u64 - 1) as usize % all.len();
            // A sweep of so many points takes longer than anybody waits.
            let most = if key.path.ends_with(".points") { 4096 } else { u64::MAX };
            all[place] = whole(min, max).min(most);
            format!("{all:?}")
        }
        Kind::Real { min, max } => {
            let tiny = [min, max, 0.0, 5e-324, 1e-300, 1e-12, 1.0, 1.0 - f64::EPSILON, 1e18, 1e300];
            let value = one(dice, &tiny);
            if dice.below(8) > 0 { format!("{:?}", value.clamp(min, max)) } else { format!("{value:?}") }
        }
        Kind::Time | Kind::Bytes | Kind::Bandwidth => {
            let all = match key.kind {
                Kind::Time => TIMES,
                Kind::Bytes => BYTES,
                _ => RATES,
            };
            // The last ones are too large for most keys.
            let some = if dice.below(4) > 0 { &all[..all.len() - 3] } else { all };
            one(dice, some).to_owned()
        }
        _ => unreachable!("keys without numbers were left out"),
    }
}

/// What a file came to.
struct Outcome {
    /// How it ended: `ran`, `refused`, `cut` or the kind of its failure.
    kind: &'static str,
    /// All that a user sees of it, as a hash.
    hash: String,
    /// What is wrong with it, if anything is.
    wrong: Option<String>,
}

/// Hears what is said.
#[derive(Default)]
struct Heard(Mutex<String>);

impl Watcher for Heard {
    fn remark(&self, text: &str) {
        let _ = writeln!(self.0.lock().unwrap(), "{text}");
    }
}

/// Runs what was prepared, up to the first pause after [`EVENTS`], or after [`PAUSES`] if there are any but those of the model.
fn watched(prepared: &Prepared, every: Ps) -> Result<Finished, String> {
    let (mut pauses, mut left) = (0, None);
    let mut pause = |at: Progress, _: &mut dyn FnMut() -> Vec<u8>| {
        pauses += 1;
        let long = at.events >= EVENTS || every > 0 && pauses >= PAUSES;
        // Its pauses follow the clock.
        let clock = prepared.model.about.name == "congestion";
        left = (long && !clock).then_some((at.now, at.events));
        left.is_none()
    };
    let done = prepared.run.watch(Watch { every, ..Watch::new(&mut pause) });
    done.map_err(|e| left.map_or_else(|| format!("failed: {e}"), |left| format!("cut at {left:?}")))
}

/// Numbers of a summary that are the largest of their kind, by their paths.
fn ends(json: &serde_json::Value, path: &str, found: &mut Vec<String>) {
    match json {
        serde_json::Value::Number(n) if n.as_u64().is_some_and(|n| n >= u64::MAX >> 1) => {
            found.push(format!("{path} = {n}"));
        }
        serde_json::Value::Array(all) => all.iter().for_each(|one| ends(one, path, found)),
        serde_json::Value::Object(all) => {
            all.iter().for_each(|(key, one)| ends(one, &format!("{path}/{key}"), found));
        }
        _ => {}
    }
}

/// A base and what is set in it: always the same for a seed and a number.
fn drawn(shelves: &[Vec<Base>], seed: u64, number: u64) -> (&Base, Vec<String>) {
    let dice = &mut Stream::new(seed, Purpose::Test, number);
    let bases = &shelves[dice.below(shelves.len() as u64) as usize];
    let base = &bases[dice.below(bases.len() as u64) as usize];
    let mut set = base.set.clone();
    for _ in 0..[1, 1, 1, 2, 3][dice.below(5) as usize] {
        // Keys that have a value, mostly: others may not be there.
        let keys: [&Key; 8] =
            std::array::from_fn(|_| &base.keys[dice.below(base.keys.len() as u64) as usize]);
        let key = keys.into_iter().find(|key| key.value.is_some()).unwrap_or(keys[0]);
        set.push(format!("{}={}", key.path, extreme(key, dice)));
    }
    (base, set)
}

/// Reads and runs an experiment: how it ended, what is left of it as text, and numbers that are the largest of their kind.
fn run(base: &Base, set: Vec<String>, every: Ps, said: &Heard) -> (&'static str, String, Vec<String>) {
    let options = RunOptions { memory: Some(MemoryLimit::Bytes(MEMORY)), ..RunOptions::default() };
    let input = Input { file: base.file.clone(), set };
    let prepared = match prepare_text(&REGISTRY, &input, base.text.clone(), &options, said) {
        Ok(prepared) => prepared,
        Err(e @ Error::Experiment(_)) => return ("refused", format!("{e:?}"), Vec::new()),
        // Rows of a build with assertions are larger, so its predictions are other numbers.
        Err(Error::Message { kind: ErrorKind::Limit, message, .. })
            if message.contains("may need") || message.contains("more may be used") =>
        {
            return ("memory", String::new(), Vec::new());
        }
        Err(e) => return ("failed", e.to_string(), Vec::new()),
    };
    let done = match watched(&prepared, every) {
        Ok(done) => done,
        Err(text) => return (if text.starts_with("cut") { "cut" } else { "failed" }, text, Vec::new()),
    };
    let json = serde_json::to_value(done.summary.without_performance()).unwrap();
    let mut largest = Vec::new();
    if done.summary.verdict.flags.is_empty() {
        for (key, value) in json.as_object().unwrap().iter().filter(|(key, _)| *key != "experiment") {
            ends(value, key, &mut largest);
        }
    }
    ("ran", format!("{json}{:?}", done.tables), largest)
}

/// What a file comes to.
fn outcome(base: &Base, set: &[String], every: Ps, folder: &Path) -> Outcome {
    let said = Heard::default();
    let done = catch_unwind(AssertUnwindSafe(|| run(base, set.to_vec(), every, &said)));
    let (kind, text, wrong) = match done {
        Ok((kind, text, largest)) => (kind, text, (!largest.is_empty()).then(|| largest.join(", "))),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned();
            ("panicked", text.clone(), Some(format!("panicked: {text}")))
        }
    };
    let text = format!("{text}{}", said.0.lock().unwrap_or_else(|broken| broken.into_inner()));
    let text = text.replace(&folder.display().to_string(), "FOLDER");
    if number("ONLY").is_some() {
        println!("{} with {}\n{kind}: {text}", base.name, set.join("; "));
    }
    Outcome { kind, hash: blake3::hash(text.as_bytes()).to_hex()[..16].to_owned(), wrong }
}

/// Files of a seed in turn; words on what is wrong with some.
fn all(seed: u64, numbers: std::ops::Range<u64>, said: &dyn Fn(String)) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    let shelves = bases(scratch.path());
    let bases: usize = shelves.iter().map(Vec::len).sum();
    assert!(shelves.len() > 20 && bases > 100, "{bases} experiments");
    let mut list = std::env::var_os("OUTCOMES").map(|path| File::create(path).unwrap());
    let (mut kinds, mut wrong, mut whole) = (BTreeMap::new(), Vec::new(), blake3::Hasher::new());
    let (mut slowest, mut which) = (0.0, 0);
    for number in numbers {
        let begun = Instant::now();
        let (base, set) = drawn(&shelves, seed, number);
        let what = format!("file {number} of seed {seed}: {} with {}", base.name, set.join("; "));
        said(what.clone());
        let Outcome { kind, hash, wrong: fault } =
            outcome(base, &set, EVERY[number as usize % EVERY.len()], scratch.path());
        wrong.extend(fault.map(|fault| format!("{what}: {fault}")));
        let took = begun.elapsed().as_secs_f64();
        if took > slowest {
            (slowest, which) = (took, number);
        }
        *kinds.entry(kind).or_insert(0) += 1;
        whole.update(hash.as_bytes());
        if let Some(list) = &mut list {
            writeln!(list, "{number} {kind} {hash}").unwrap();
        }
    }
    let hash = &whole.finalize().to_hex()[..16];
    println!("{kinds:?}, all of them {hash}; the slowest was file {which} with {slowest:.2} s");
    let ran = kinds.get("ran").copied().unwrap_or(0);
    let files: i32 = kinds.values().sum();
    assert!(files < 100 || ran * 8 > files, "{ran} of {files} files run");
    wrong
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().unwrap())
}

/// A file that takes longer is run for ever: in seconds.
const HANGS: Duration = Duration::from_secs(120);

#[test]
fn extreme_experiments_are_run_or_refused_in_words() {
    let (seed, cases) = (number("SEED").unwrap_or(0), number("CASES").unwrap_or(400));
    let numbers = number("ONLY").map_or(0..cases, |n| n..n + 1);
    let wrong = common::watched(HANGS, move |said| all(seed, numbers, said));
    assert!(wrong.is_empty(), "{} files\n{}", wrong.len(), wrong.join("\n"));
}
