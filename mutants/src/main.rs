//! Mutation testing: a drawn operator, call or function of the sources is changed, and a test is to notice.
//!
//! ```console
//! $ cargo run --release --manifest-path mutants/Cargo.toml -- --to /tmp/mutants --seed 24 --count 60 --limit 900
//! ```
//!
//! `--count` places are drawn in each area (`src/areas.rs`), always the same for a seed. All of them are built at once, into a copy of the tree at `--to`,
//! where a variable of the environment turns one on. What is found is kept in `target/mutants` there, by draw; remove it when sources have changed. Then every test is run alone and tells which mutants it reaches; and each mutant is tried on
//! those, quick ones first. A call ends after about `--limit` seconds; the same call again goes on. `--area NAME` keeps to one area, `--lanes N` tries as
//! many at a time, `--most SECONDS` bounds the tests of each, `--again ID,..` tries some anew, `--root DIR` takes another tree, `--list` only shows what is drawn. docs/mutants.md has what was found.
#![expect(clippy::print_stdout, reason = "a command prints")]

mod areas;
mod places;
mod tree;
mod trial;

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    time::{Duration, Instant},
};

use base::rng::{Purpose, Stream};

use crate::{
    areas::{AREAS, Area, files, wanted},
    tree::{Mutant, Program},
    trial::{Fate, Test},
};

/// What the command line says.
struct Options {
    root: PathBuf,
    to: PathBuf,
    seed: u64,
    count: usize,
    area: Option<String>,
    until: Instant,
    lanes: usize,
    most: f64,
    again: BTreeSet<usize>,
    list: bool,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value =
        |key: &str| arguments.iter().position(|a| a == key).and_then(|at| arguments.get(at + 1)).cloned();
    let number = |key: &str, default: u64| value(key).map_or(Ok(default), |text| text.parse());
    let again = value("--again").unwrap_or_default();
    Ok(Options {
        root: value("--root").unwrap_or_else(|| format!("{}/..", env!("CARGO_MANIFEST_DIR"))).into(),
        to: value("--to").ok_or("say where the copy is to be: --to DIR")?.into(),
        seed: number("--seed", 1)?,
        count: number("--count", 10)? as usize,
        area: value("--area"),
        until: Instant::now() + Duration::from_secs(number("--limit", 900)?),
        lanes: number("--lanes", 1)? as usize,
        most: number("--most", 60)? as f64,
        again: again.split(',').filter_map(|n| n.parse().ok()).collect(),
        list: arguments.iter().any(|a| a == "--list"),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    if options.count > 1000 {
        return Err("at most 1,000 of an area".into());
    }
    let chosen: Vec<&Area> =
        AREAS.iter().filter(|a| options.area.as_deref().is_none_or(|n| n == a.name)).collect();
    let mut mutants = Vec::new();
    for (at, area) in AREAS.iter().enumerate() {
        if chosen.iter().any(|c| c.name == area.name) {
            mutants.extend(drawn(&options, area, at)?);
        }
    }
    if options.list {
        mutants.iter().for_each(|m| println!("{}", line(m)));
        return Ok(());
    }
    let touched = tree::touched(&mutants);
    copy(&options.root, &options.to, &touched)?;
    // Numbers of mutants and programs mean something within a draw only.
    let drawn = format!("{}-{}-{}", options.seed, options.count, options.area.as_deref().unwrap_or("all"));
    let state = options.to.join("target/mutants").join(drawn);
    fs::create_dir_all(&state)?;
    let packages = chosen.iter().flat_map(|a| a.packages).copied().collect();
    let programs = built(&options, &state, &mut mutants, &touched, &packages)?;
    let Some(tests) = explored(&options, &state, &programs)? else {
        println!("not all tests were looked at: the same call goes on");
        return Ok(());
    };
    let fates = all_tried(&options, &state, &mutants, &programs, &tests)?;
    report(&mutants, &fates);
    Ok(())
}

fn line(m: &Mutant) -> String {
    format!("{:<4} {:<10} {}:{} {}", m.id, m.area, m.file.display(), m.place.line, m.place.said)
}

/// So many places of an area, none inside of another; the same for a seed.
fn drawn(options: &Options, area: &Area, at: usize) -> Result<Vec<Mutant>, Box<dyn Error>> {
    let mut all = Vec::new();
    for file in files(&options.root, area)? {
        let text = fs::read_to_string(options.root.join(&file))?;
        let places = places::places(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        all.extend(places.into_iter().map(|place| (file.clone(), place)));
    }
    println!("{}: {} places", area.name, all.len());
    let mut dice = Stream::new(options.seed, Purpose::Test, at as u64);
    let mut found: Vec<Mutant> = Vec::new();
    while found.len() < options.count && !all.is_empty() {
        let (file, place) = all.swap_remove(dice.below(all.len() as u64) as usize);
        let meets = |m: &Mutant| {
            m.file == file
                && m.place.range.start < place.range.end.max(place.range.start + 1)
                && place.range.start < m.place.range.end.max(m.place.range.start + 1)
        };
        if !found.iter().any(meets) {
            // Numbers of an area follow each other, so that an area alone has the same.
            found.push(Mutant { id: at * 1000 + found.len(), area: area.name, file, place });
        }
    }
    Ok(found)
}

/// Copies what git knows; files that are equal are left, so that they are not compiled again.
fn copy(from: &Path, to: &Path, touched: &BTreeSet<PathBuf>) -> Result<(), Box<dyn Error>> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(from).output()?;
    for name in listed.stdout.split(|&b| b == 0).filter(|n| !n.is_empty()) {
        let name = Path::new(std::str::from_utf8(name)?);
        let (source, target) = (from.join(name), to.join(name));
        // Those that differ are written by `tree::write`.
        if touched.contains(name) || !source.is_file() || fs::read(&target).ok() == Some(fs::read(&source)?) {
            continue;
        }
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&source, &target)?;
    }
    Ok(())
}

/// Builds the copy; what the compiler refuses leaves the list.
fn built(
    options: &Options,
    state: &Path,
    mutants: &mut Vec<Mutant>,
    touched: &BTreeSet<PathBuf>,
    packages: &BTreeSet<&str>,
) -> Result<Vec<Program>, Box<dyn Error>> {
    let note = state.join("refused");
    let known = fs::read_to_string(&note).unwrap_or_default();
    let mut refused: BTreeSet<usize> = known.lines().filter_map(|l| l.parse().ok()).collect();
    loop {
        let before = mutants.len();
        mutants.retain(|m| !refused.contains(&m.id));
        let places = tree::write(&options.root, &options.to, mutants, touched)?;
        println!("{} mutants, {} that do not compile; building", mutants.len(), before - mutants.len());
        match tree::build(&options.to, packages, mutants, &places)? {
            Ok(programs) => return Ok(programs),
            Err(more) => {
                refused.extend(more);
                fs::write(&note, refused.iter().map(|n| format!("{n}\n")).collect::<String>())?;
            }
        }
    }
}

/// Runs every test alone, unless an earlier call did; none if time is up before.
fn explored(
    options: &Options,
    state: &Path,
    programs: &[Program],
) -> Result<Option<Vec<Test>>, Box<dyn Error>> {
    let note = state.join("tests");
    let known = trial::read(&fs::read_to_string(&note).unwrap_or_default());
    let mut jobs = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let names = trial::names(program)?.into_iter().filter(|n| wanted(&program.package, n));
        jobs.extend(names.map(|n| (at, n)).filter(|job| !known.contains_key(job)));
    }
    println!("{} test programs, {} tests known, {} to look at", programs.len(), known.len(), jobs.len());
    let (jobs, found) = (Mutex::new(jobs), Mutex::new(known));
    lanes(options, |lane| {
        let Some((program, name)) = jobs.lock().map_err(|_| "a lane failed")?.pop() else { return Ok(false) };
        let scratch = state.join(format!("reached-{lane}"));
        // A test that fails alone is kept as one that reaches nothing.
        let none = Test { program, name: name.clone(), seconds: 0.0, reached: BTreeSet::new() };
        let test = trial::explore(programs, program, &name, &scratch, options.most)?.unwrap_or_else(|| {
            println!("fails alone: {} {name}", programs[program].package);
            none
        });
        append(&note, &trial::written(std::slice::from_ref(&test)))?;
        found.lock().map_err(|_| "a lane failed")?.insert((program, name), test);
        Ok(true)
    })?;
    let left = jobs.into_inner().map_err(|_| "a lane failed")?;
    let found = found.into_inner().map_err(|_| "a lane failed")?;
    Ok(left.is_empty().then(|| found.into_values().collect()))
}

/// Calls a job in some threads until it says that nothing is left or time is up.
fn lanes(
    options: &Options,
    job: impl Fn(usize) -> Result<bool, Box<dyn Error>> + Sync,
) -> Result<(), Box<dyn Error>> {
    let job = &job;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.lanes.max(1))
            .map(|lane| {
                scope.spawn(move || -> Result<(), String> {
                    while Instant::now() < options.until && job(lane).map_err(|e| e.to_string())? {}
                    Ok(())
                })
            })
            .collect();
        for thread in threads {
            thread.join().map_err(|_| "a lane failed")??;
        }
        Ok(())
    })
}

fn append(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Fates of all mutants; those that an earlier call tried are read.
fn all_tried(
    options: &Options,
    state: &Path,
    mutants: &[Mutant],
    programs: &[Program],
    tests: &[Test],
) -> Result<BTreeMap<usize, String>, Box<dyn Error>> {
    let note = state.join("fates");
    let known = fs::read_to_string(&note).unwrap_or_default();
    let mut fates: BTreeMap<usize, String> = BTreeMap::new();
    for line in known.lines() {
        let Some((id, fate)) = line.split_once('\t') else { continue };
        fates.insert(id.parse()?, fate.to_owned());
    }
    fates.retain(|id, _| !options.again.contains(id));
    let jobs: Vec<&Mutant> = mutants.iter().filter(|m| !fates.contains_key(&m.id)).rev().collect();
    let (jobs, fates) = (Mutex::new(jobs), Mutex::new(fates));
    lanes(options, |_| {
        let Some(mutant) = jobs.lock().map_err(|_| "a lane failed")?.pop() else { return Ok(false) };
        let packages = AREAS.iter().find(|a| a.name == mutant.area).map_or(&[][..], |a| a.packages);
        let own: Vec<Test> =
            tests.iter().filter(|t| packages.contains(&&*programs[t.program].package)).cloned().collect();
        let fate = match trial::tried(programs, &own, mutant.id, options.most)? {
            Fate::Killed(test) => format!("killed by {test}"),
            Fate::Endless(test) => format!("timed out in {test}"),
            Fate::Survived(passed, all) => format!("SURVIVED {passed} of {all} tests"),
            Fate::Unreached => "UNREACHED".to_owned(),
        };
        println!("{}: {fate}", line(mutant));
        append(&note, &format!("{}\t{fate}\n", mutant.id))?;
        fates.lock().map_err(|_| "a lane failed")?.insert(mutant.id, fate);
        Ok(true)
    })?;
    Ok(fates.into_inner().map_err(|_| "a lane failed")?)
}

fn report(mutants: &[Mutant], fates: &BTreeMap<usize, String>) {
    println!();
    for mutant in mutants {
        match fates.get(&mutant.id) {
            Some(fate) if fate.starts_with(|c: char| c.is_uppercase()) => {
                println!("{}: {fate}", line(mutant))
            }
            _ => {}
        }
    }
    println!(
        "{:<12} {:>6} {:>6} {:>9} {:>8} {:>9} {:>5}",
        "area", "drawn", "killed", "timed out", "survived", "unreached", "left"
    );
    for area in AREAS {
        let of: Vec<_> = mutants.iter().filter(|m| m.area == area.name).map(|m| fates.get(&m.id)).collect();
        let count = |begin: &str| of.iter().flatten().filter(|f| f.starts_with(begin)).count();
        if !of.is_empty() {
            let left = of.iter().filter(|f| f.is_none()).count();
            println!(
                "{:<12} {:>6} {:>6} {:>9} {:>8} {:>9} {:>5}",
                area.name,
                of.len(),
                count("killed"),
                count("timed"),
                count("SURVIVED"),
                count("UNREACHED"),
                left
            );
        }
    }
}
