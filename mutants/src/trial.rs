//! Trying mutants: which tests reach them, and whether one of these fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::tree::Program;

/// A test of a program, what it takes and which mutants it reaches.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) program: usize,
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) reached: BTreeSet<usize>,
}

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// A test failed: its name.
    Killed(String),
    /// A test went on for much longer than without it.
    Endless(String),
    /// So many tests that reach it passed, of so many.
    Survived(usize, usize),
    /// No test reaches it.
    Unreached,
}

/// How a test ended.
#[derive(PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Endless,
}

/// Names of a program's tests, ignored ones left out.
///
/// # Errors
///
/// Where the program does not start.
pub(crate) fn names(program: &Program) -> Result<Vec<String>, Box<dyn Error>> {
    let list = |more: &[&str]| -> Result<BTreeSet<String>, Box<dyn Error>> {
        let output =
            Command::new(&program.executable).args(["--list", "--format", "terse"]).args(more).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().filter_map(|l| l.strip_suffix(": test")).map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    Ok(list(&[])?.into_iter().filter(|n| !ignored.contains(n)).collect())
}

/// Runs a test without a mutant, for twice `most` seconds at most; none if it fails alone. What a longer one has reached by then counts.
///
/// # Errors
///
/// Where the program does not start.
pub(crate) fn explore(
    programs: &[Program],
    program: usize,
    name: &str,
    scratch: &Path,
    most: f64,
) -> Result<Option<Test>, Box<dyn Error>> {
    let _ = fs::remove_file(scratch);
    let begun = Instant::now();
    let end = run(&programs[program], name, Duration::from_secs_f64(2.0 * most), |c| {
        c.env("NETLOOM_REACHED", scratch);
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let reached = fs::read_to_string(scratch).unwrap_or_default();
    let reached = reached.lines().filter_map(|l| l.parse().ok()).collect();
    Ok((end != End::Failed).then(|| Test { program, name: name.to_owned(), seconds, reached }))
}

/// Tries one mutant on the tests that reach it, quick ones first, as many as take `most` seconds without it.
///
/// # Errors
///
/// Where a program does not start.
pub(crate) fn tried(
    programs: &[Program],
    tests: &[Test],
    id: usize,
    most: f64,
) -> Result<Fate, Box<dyn Error>> {
    let mut reaching: Vec<&Test> = tests.iter().filter(|t| t.reached.contains(&id)).collect();
    reaching.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (mut passed, mut seconds) = (0, 0.0);
    for test in &reaching {
        seconds += test.seconds;
        if passed > 0 && seconds > most {
            break;
        }
        let limit = Duration::from_secs_f64(20.0 + 20.0 * test.seconds);
        let end = run(&programs[test.program], &test.name, limit, |c| {
            c.env("NETLOOM_MUTANT", id.to_string());
        })?;
        match end {
            End::Passed => passed += 1,
            End::Failed => return Ok(Fate::Killed(test.name.clone())),
            End::Endless => return Ok(Fate::Endless(test.name.clone())),
        }
    }
    Ok(if reaching.is_empty() { Fate::Unreached } else { Fate::Survived(passed, reaching.len()) })
}

/// Runs a test by itself.
fn run(
    program: &Program,
    name: &str,
    limit: Duration,
    set: impl FnOnce(&mut Command),
) -> Result<End, Box<dyn Error>> {
    // A mutant may take all memory there is: `prlimit` is in util-linux.
    let mut command = Command::new("prlimit");
    command.arg("--as=8589934592").arg(&program.executable);
    command.args([name, "--exact", "--test-threads=1"]).current_dir(&program.folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    set(&mut command);
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { End::Passed } else { End::Failed });
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(End::Endless);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Tests as lines, and back: a later call goes on from them.
pub(crate) fn written(tests: &[Test]) -> String {
    let line = |t: &Test| {
        let reached: Vec<String> = t.reached.iter().map(ToString::to_string).collect();
        format!("{}\t{}\t{:.3}\t{}\n", t.program, t.name, t.seconds, reached.join(","))
    };
    tests.iter().map(line).collect()
}

/// Reads what [`written`] wrote; lines that are cut are left out.
pub(crate) fn read(text: &str) -> BTreeMap<(usize, String), Test> {
    let line = |l: &str| -> Option<Test> {
        let mut parts = l.split('\t');
        let (program, name) = (parts.next()?.parse().ok()?, parts.next()?.to_owned());
        let seconds = parts.next()?.parse().ok()?;
        let reached = parts.next()?.split(',').filter_map(|n| n.parse().ok()).collect();
        Some(Test { program, name, seconds, reached })
    };
    text.lines().filter_map(line).map(|t| ((t.program, t.name.clone()), t)).collect()
}
