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
    program::{
        collective::Chooser,
        input::Input,
        lower::{self, Options},
        ranks,
    },
    registry::Work,
};

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

/// When a program ends here, in seconds, with some differences from SMPI's rules.
fn here(name: &str, library: &str, differ: impl Fn(&mut FlowConfig)) -> f64 {
    let read = |file: &str| fs::read_to_string(folder().join(file)).unwrap();
    let fabric = Arc::new(fabric(parse(&read("platform.xml"), true).unwrap()));
    let options = Options { chooser: Chooser::read(library, []).unwrap(), ..Options::default() };
    let text = read(&format!("{name}.ranks"));
    let script = ranks::read(&Input::bytes(name, text.as_bytes())).unwrap();
    let program = lower::lower(Arc::new(script), options).unwrap();
    let mut config = FlowConfig { direct: Some(16), ..FlowConfig::new(Rules::smpi()) };
    differ(&mut config);
    let mut setup = samples::setup(&fabric, None, Work::Program(program), config);
    setup.jobs[0].placement = (0..12).map(TerminalId::new).collect();
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

/// When it ends on SMPI; none where there is none.
fn smpi(name: &str, made: &Path) -> Option<f64> {
    let program = made.join(name);
    let source = folder().join(format!("{name}.c"));
    let compiled = Command::new("smpicc").args(["-O1", "-o"]).arg(&program).arg(source).output();
    if !compiled.ok()?.status.success() {
        return None;
    }
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
