//! A copy of the tree that holds all drawn mutants at once.
//!
//! Each place becomes a choice at run time: `(if crate::mutant_switch::is(7) { changed } else { as it was })`. So all mutants need one build, and each is
//! tried by a variable of the environment. What the compiler refuses is dropped, and the rest is built again.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::places::{Change, Place};

/// A drawn place.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// Its number in the sources and the report.
    pub(crate) id: usize,
    /// Name of its area.
    pub(crate) area: &'static str,
    /// Path below the root.
    pub(crate) file: PathBuf,
    pub(crate) place: Place,
}

/// A test program, and where it is to be started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program {
    pub(crate) package: String,
    pub(crate) executable: PathBuf,
    pub(crate) folder: PathBuf,
}

/// The switch that each mutated crate gets.
const SWITCH: &str = r#"//! Which mutant is on.
use std::{env, fs::OpenOptions, io::Write, sync::{OnceLock, atomic::{AtomicBool, Ordering}}};

static CHOSEN: OnceLock<(u32, Option<String>)> = OnceLock::new();
static REACHED: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];

/// Whether this mutant is on; tells a file that it was reached, where one is named.
pub(crate) fn is(id: u32) -> bool {
    let (chosen, file) = CHOSEN.get_or_init(|| {
        let chosen = env::var("NETLOOM_MUTANT").ok().and_then(|v| v.parse().ok()).unwrap_or(u32::MAX);
        (chosen, env::var("NETLOOM_REACHED").ok())
    });
    if let Some(path) = file && !REACHED[id as usize].swap(true, Ordering::Relaxed) {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut f| f.write_all(format!("{id}\n").as_bytes()));
    }
    *chosen == id
}
"#;

/// Writes the mutants into the copy at `to`, and all files of `touched` that hold none as they are. Gives back where each one lies in the written files.
///
/// # Errors
///
/// Where a file cannot be read or written.
pub(crate) fn write(
    from: &Path,
    to: &Path,
    mutants: &[Mutant],
    touched: &BTreeSet<PathBuf>,
) -> Result<BTreeMap<usize, Range<usize>>, Box<dyn Error>> {
    let mut places = BTreeMap::new();
    for file in touched {
        let mut inside: Vec<&Mutant> = mutants.iter().filter(|m| m.file == *file).collect();
        inside.sort_by_key(|m| m.place.range.start);
        let text = fs::read_to_string(from.join(file))?;
        let (mut made, mut end) = (String::new(), 0);
        for mutant in inside {
            let Range { start, end: stop } = mutant.place.range;
            made.push_str(&text[end..start]);
            let begun = made.len();
            made.push_str(&choice(mutant, &text[start..stop]));
            places.insert(mutant.id, begun..made.len());
            end = stop;
        }
        made.push_str(&text[end..]);
        if file.ends_with("src/lib.rs") {
            made.push_str("\nmod mutant_switch;\n");
            replace(&to.join(file).with_file_name("mutant_switch.rs"), SWITCH)?;
        }
        replace(&to.join(file), &made)?;
    }
    Ok(places)
}

/// Files that differ in the copy: those of the mutants and the crates' first ones.
pub(crate) fn touched(mutants: &[Mutant]) -> BTreeSet<PathBuf> {
    let roots = mutants.iter().filter_map(|m| m.file.ancestors().find(|a| a.ends_with("src")));
    let first = roots.map(|r| r.join("lib.rs"));
    first.chain(mutants.iter().map(|m| m.file.clone())).collect()
}

/// Writes a file unless it holds this already: what did not change is not compiled again.
fn replace(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    Ok(())
}

fn choice(mutant: &Mutant, text: &str) -> String {
    let is = format!("crate::mutant_switch::is({})", mutant.id);
    match &mutant.place.change {
        Change::Expression(changed) => format!("(if {is} {{ {changed} }} else {{ {text} }})"),
        Change::LeftOut => format!("if !{is} {{ {text} }}"),
        Change::Returns(value) => format!(" if {is} {{ return {value}; }} "),
    }
}

/// Builds the tests of packages in the copy. Those mutants that the compiler refuses are given back; with none, the test programs.
///
/// # Errors
///
/// Where cargo does not start, or fails for another reason.
pub(crate) fn build(
    copy: &Path,
    packages: &BTreeSet<&str>,
    mutants: &[Mutant],
    places: &BTreeMap<usize, Range<usize>>,
) -> Result<Result<Vec<Program>, BTreeSet<usize>>, Box<dyn Error>> {
    let mut cargo = Command::new("cargo");
    cargo.args([
        "build",
        "--tests",
        "--locked",
        "--profile",
        "checked",
        "--keep-going",
        "--message-format=json",
    ]);
    for package in packages {
        cargo.args(["-p", package]);
    }
    let output = cargo.current_dir(copy).stderr(Stdio::inherit()).output()?;
    let (mut programs, mut refused, mut errors) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(program) = program(&message) {
            programs.insert(program);
        } else if message["message"]["level"] == "error" {
            refused.extend(blamed(&message["message"], mutants, places));
            errors.push(message["message"]["rendered"].as_str().unwrap_or_default().to_owned());
        }
    }
    if output.status.success() {
        return Ok(Ok(programs.into_iter().collect()));
    }
    if refused.is_empty() {
        return Err(format!("the copy does not build:\n{}", errors.concat()).into());
    }
    Ok(Err(refused))
}

/// The test program that a message of cargo announces.
fn program(message: &Value) -> Option<Program> {
    let test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let executable = message["executable"].as_str().filter(|_| test)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(Program {
        package: format!("netloom-{}", folder.file_name()?.to_string_lossy()),
        executable: executable.into(),
        folder: folder.to_owned(),
    })
}

/// Mutants at the places that an error names.
fn blamed(error: &Value, mutants: &[Mutant], places: &BTreeMap<usize, Range<usize>>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let spans = error["spans"].as_array().into_iter().flatten();
    for span in spans {
        let (Some(file), Some(start), Some(end)) =
            (span["file_name"].as_str(), span["byte_start"].as_u64(), span["byte_end"].as_u64())
        else {
            continue;
        };
        let here = mutants.iter().filter(|m| Path::new(file) == m.file);
        found.extend(
            here.filter(|m| places[&m.id].start < end as usize && start < places[&m.id].end as u64)
                .map(|m| m.id),
        );
    }
    found
}
