//! SMPI itself as an oracle: MPI programs under `smpirun` and the same programs of ranks here end at the same time.
//!
//! Needs `smpicc` and `smpirun` (SimGrid 3.32: Debian's `libsimgrid-dev`); without them the test says that it is skipped, and what SMPI said once is compared.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{index::TerminalId, time::Ps};
use fabric::topology::platform::{fabric, parse};
use flow::{FlowConfig, rules::Rules, samples, simulate};
use model::setup::Measure;
use results::summary::State;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};
use workload::{
    program::{collective::Chooser, file::Content, input::Input, lower::Options, traces::Scale},
    registry::Work,
};

#[path = "smpi/traces.rs"]
mod traces;

/// The programs, and when their last rank is done on SMPI 3.32, in seconds.
const PROGRAMS: [(&str, f64); 8] = [
    ("ping_pong", 0.391_658_653_723),
    ("ring", 0.030_226_412_575_6),
    ("bcast", 0.115_459_623_905),
    ("allreduce", 0.110_680_279_888),
    ("alltoall", 0.167_367_997_251),
    ("halo", 0.066_434_761_603_5),
    ("gather", 0.078_698_650_493_6),
    ("mixed", 0.070_586_655_690_4),
];

/// Most that an end may be off, as a share of the time.
const BOUND: f64 = 1e-3;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smpi")
}

fn read(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap()
}

/// When a program ends here, in seconds, with some differences from SMPI's rules.
fn here(name: &str, library: &str, differ: impl Fn(&mut FlowConfig)) -> f64 {
    ends(name, &read(&format!("{name}.ranks")), &read("platform.xml"), library, differ)
}

/// When a program of ranks, or a trace, ends here.
fn ends(name: &str, text: &str, platform: &str, library: &str, differ: impl Fn(&mut FlowConfig)) -> f64 {
    let fabric = Arc::new(fabric(parse(platform, true).unwrap()));
    let options = Options { chooser: Chooser::read(library, []).unwrap(), ..Options::default() };
    let input = Input::bytes(name, text.as_bytes());
    let (_, content) = Content::read(&input, Scale::DEFAULT).unwrap();
    let ranks = content.ranks();
    let program = content.program(&input, options).unwrap();
    let mut config = FlowConfig { direct: Some(16), ..FlowConfig::new(Rules::smpi()) };
    differ(&mut config);
    let mut setup = samples::setup(&fabric, None, Work::Program(program), config);
    setup.jobs[0].placement = (0..ranks).map(TerminalId::new).collect();
    setup.measure = Measure { operations: true, ..Measure::default() };
    setup.check = true;
    let done = simulate(&setup, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(done.summary.verdict.state, State::Ok, "{name}: {:?}", done.summary.verdict);
    let job = &done.summary.jobs[0];
    let path = job.critical_path.expect("operations are measured");
    let all: Ps = path.compute_ps + path.overhead_ps + path.transfer_ps + path.wait_ps;
    assert_eq!((Some(all), path.wait_ps), (job.makespan_ps, 0), "{name}: {path:?}");
    job.makespan_ps.unwrap() as f64 * 1e-12
}

/// A program that SMPI can run; none where there is none.
fn compiled(name: &str, made: &Path) -> Option<PathBuf> {
    let program = made.join(name);
    let source = folder().join(format!("{name}.c"));
    let compiled = Command::new("smpicc").args(["-O1", "-o"]).arg(&program).arg(source).output();
    compiled.ok()?.status.success().then_some(program)
}

/// When it ends on SMPI; none where there is none.
fn smpi(name: &str, made: &Path) -> Option<f64> {
    let program = compiled(name, made)?;
    let ran = Command::new("smpirun")
        .current_dir(made)
        .args(["-np", "12", "--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0", "-platform"])
        .arg(folder().join("platform.xml"))
        .arg("-hostfile")
        .arg(folder().join("hosts"))
        .arg(&program)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let ends: Vec<f64> =
        text.lines().filter_map(|line| line.strip_prefix("end ")?.trim().parse().ok()).collect();
    assert_eq!(ends.len(), 12, "{name}: {text}{}", String::from_utf8_lossy(&ran.stderr));
    ends.into_iter().reduce(f64::max)
}

#[test]
fn programs_end_when_they_do_on_smpi() {
    let made = tempfile::tempdir().unwrap();
    for (name, recorded) in PROGRAMS {
        let expected = smpi(name, made.path()).unwrap_or_else(|| {
            eprintln!("SKIPPED: no smpicc and smpirun here; {name} is compared with what SMPI 3.32 said");
            recorded
        });
        let found = here(name, "smpi", |_| {});
        let off = found / expected - 1.0;
        println!("{name}: {found:.9} s here, {expected:.9} s on SMPI, {:+.5} %", off * 100.0);
        assert!(off.abs() < BOUND, "{name}: {found} s, on SMPI {expected} s");
    }
}

/// What the programs would not notice is not compared by them: each rule that is broken moves the end of some program.
#[test]
fn every_rule_is_needed() {
    type Broken = (&'static str, &'static str, fn(&mut FlowConfig));
    let broken: [Broken; 7] = [
        ("messages of other libraries", "simple", |_| {}),
        ("requests and grants", "smpi", |c| c.direct = None),
        ("no bytes before a message", "smpi", |c| c.direct = Some(0)),
        ("large sends are over at once", "smpi", |c| c.eager = u64::MAX),
        ("small sends wait", "smpi", |c| c.eager = 0),
        ("other factors", "smpi", |c| c.rules = Rules::lv08()),
        ("nothing on the way back", "smpi", |c| c.rules.cross = 0.0),
    ];
    for (what, library, differ) in broken {
        let off = |(name, expected): &(&str, f64)| (here(name, library, differ) / expected - 1.0).abs();
        assert!(PROGRAMS.iter().map(off).any(|off| off > BOUND), "{what}: nothing shows it");
    }
}

/// A collective call, and how long it took on SMPI: a line of `collectives.csv`.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    selector: String,
    ranks: u32,
    name: String,
    bytes: u64,
    root: u32,
    seconds: f64,
}

fn cases() -> Vec<Case> {
    let text = read("collectives.csv");
    let case = |line: &str| {
        let columns: Vec<&str> = line.split(',').collect();
        Case {
            selector: columns[0].to_owned(),
            ranks: columns[1].parse().unwrap(),
            name: columns[2].to_owned(),
            bytes: columns[3].parse().unwrap(),
            root: columns[4].parse().unwrap(),
            seconds: columns[5].parse().unwrap(),
        }
    };
    text.lines().skip(1).map(case).collect()
}

/// The platform with room for more ranks than twelve.
fn platform(ranks: u32) -> String {
    read("platform.xml").replace("0-5", &format!("0-{}", ranks.max(12).div_ceil(2) - 1))
}

/// The call as a program of ranks.
fn program(case: &Case) -> String {
    let (ranks, bytes, root) = (case.ranks, case.bytes, case.root);
    let list = |size: &dyn Fn(u32) -> u64| {
        let sizes: Vec<String> = (0..ranks).map(|rank| format!("{} B", size(rank))).collect();
        sizes.join(", ")
    };
    let (equal, uneven) = (list(&|_| bytes), list(&|rank| bytes * u64::from(1 + rank % 3) / 2));
    let gaps = list(&|rank| bytes * u64::from(rank % 3));
    let name = &case.name;
    let call = match name.as_str() {
        "barrier" => name.clone(),
        "bcast" | "reduce" | "gather" | "scatter" => format!("{name} {bytes} B root {root}"),
        "gatherv" | "scatterv" => format!("{name} counts [{uneven}] root {root}"),
        "allgatherv" => format!("{name} counts [{uneven}]"),
        "reduce_scatter" => format!("{name} counts [{equal}]"),
        "reduce_scatter_uneven" => format!("reduce_scatter counts [{uneven}]"),
        "reduce_scatter_gaps" => format!("reduce_scatter counts [{gaps}]"),
        "alltoallv" => format!("{name} sends [{equal}] receives [{equal}]"),
        _ => format!("{name} {bytes} B"),
    };
    format!("ranks {ranks}\nall {{\n  {call}\n}}\n")
}

fn library(selector: &str) -> &'static str {
    if selector == "default" { "smpi" } else { "smpi-ompi" }
}

#[test]
fn collectives_of_two_selectors_take_the_time_of_smpi() {
    let cases = cases();
    assert!(cases.len() > 700 && cases.iter().any(|c| c.selector == "ompi"), "{} cases", cases.len());
    for case in &cases {
        let found = ends(&case.name, &program(case), &platform(case.ranks), library(&case.selector), |_| {});
        let off = found / case.seconds - 1.0;
        assert!(off.abs() < BOUND, "{case:?}: {found} s, {:+.3} %", off * 100.0);
    }
}

/// Beyond the record: more ranks, and what differs by as much as the page on this model says.
#[test]
fn what_differs_is_as_much_as_the_page_says() {
    let most_uneven = 0.004;
    for (ranks, name, bytes, root, seconds, most) in [
        (33, "barrier", 0, 0, 0.001_453_673_956_12, BOUND),
        (50, "barrier", 0, 0, 0.001_621_977_168_06, BOUND),
        (50, "bcast", 100_000, 1, 0.009_903_326_755_97, BOUND),
        (50, "reduce", 60_000, 1, 0.036_777_206_597, BOUND),
        (50, "gather", 30_000, 1, 0.019_521_803_690_7, BOUND),
        (50, "scatter", 30_000, 1, 0.017_038_270_961_8, BOUND),
        // SMPI gives the last of the parts all that is left; here parts are as even as can be.
        (33, "allreduce", 1500, 0, 0.001_729_242_019_28, most_uneven),
        (50, "allreduce", 1500, 0, 0.002_463_250_378_13, most_uneven),
        (33, "allgather", 3000, 0, 0.011_225_978_271_2, most_uneven),
        (50, "reduce_scatter", 12_000, 0, 0.057_176_168_677_9, most_uneven),
        // SMPI cuts the blocks of its ring.
        (16, "allgatherv", 400_000, 0, 0.133_869_511_114, 0.07),
    ] {
        let (selector, name) = ("ompi".to_owned(), name.to_owned());
        let case = Case { selector, ranks, name, bytes, root, seconds };
        let found = ends(&case.name, &program(&case), &platform(ranks), "smpi-ompi", |_| {});
        let off = (found / seconds - 1.0).abs();
        assert!(off < most && (most == BOUND || off > 2e-3), "{case:?}: {found} s, {:+.3} %", off * 100.0);
    }
}

/// What was recorded is what SMPI says here: every collective once for some numbers of ranks.
#[test]
fn recorded_collectives_are_those_of_smpi() {
    let made = tempfile::tempdir().unwrap();
    let Some(program) = compiled("collectives", made.path()) else {
        eprintln!("SKIPPED: no smpicc and smpirun here; recorded times are not measured again");
        return;
    };
    for (selector, ranks) in [("default", 5), ("ompi", 3), ("ompi", 12)] {
        let cases: Vec<Case> =
            cases().into_iter().filter(|c| c.selector == selector && c.ranks == ranks).collect();
        fs::write(made.path().join("platform.xml"), platform(ranks)).unwrap();
        let arguments = cases.iter().flat_map(|c| [c.name.clone(), c.bytes.to_string(), c.root.to_string()]);
        let ran = Command::new("smpirun")
            .current_dir(made.path())
            .args(["-np", &ranks.to_string(), "--cfg=smpi/simulate-computation:no", "--cfg=smpi/wtime:0"])
            .arg(format!("--cfg=smpi/coll-selector:{selector}"))
            .args(["-platform", "platform.xml", "-hostfile"])
            .arg(folder().join("hosts"))
            .arg(&program)
            .args(arguments)
            .output()
            .unwrap();
        let mut longest = vec![0f64; cases.len()];
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        for line in text.lines().filter_map(|line| line.strip_prefix("end ")) {
            let (index, seconds) = line.split_once(' ').unwrap();
            let longest = &mut longest[index.parse::<usize>().unwrap()];
            *longest = longest.max(seconds.parse().unwrap());
        }
        for (case, seconds) in cases.iter().zip(longest) {
            assert!((seconds / case.seconds - 1.0).abs() < 1e-6, "{case:?}: {seconds} s");
        }
    }
}

/// A library of another selector is found out.
#[test]
fn another_selector_takes_another_time() {
    let off = |case: &Case| {
        let library = if case.selector == "ompi" { "openmpi" } else { "smpi-ompi" };
        (ends(&case.name, &program(case), &platform(case.ranks), library, |_| {}) / case.seconds - 1.0).abs()
    };
    for selector in ["default", "ompi"] {
        for name in ["barrier", "bcast", "reduce", "allreduce", "gather", "allgather", "reduce_scatter_block"]
        {
            let mut of_name = cases().into_iter().filter(|c| c.selector == selector && c.name == name);
            let same = selector == "ompi" && name == "barrier";
            assert!(same || of_name.any(|case| off(&case) > BOUND), "{selector} {name}");
        }
    }
}
