//! What is mutated, and whose tests are to notice.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

/// A part of the sources.
pub(crate) struct Area {
    /// Name for the command line and the report.
    pub(crate) name: &'static str,
    /// Folders and files below the root.
    pub(crate) paths: &'static [&'static str],
    /// Packages whose tests are tried.
    pub(crate) packages: &'static [&'static str],
}

/// Parts on whose correctness results hang.
pub(crate) const AREAS: &[Area] = &[
    Area { name: "engine", paths: &["crates/engine/src"], packages: &["netloom-engine", "netloom-packet"] },
    Area { name: "routers", paths: &["crates/packet/src/router"], packages: &["netloom-packet"] },
    Area {
        name: "solver",
        paths: &["crates/flow/src/solver", "crates/flow/src/solver.rs", "crates/flow/src/sharing"],
        packages: &["netloom-flow"],
    },
    Area {
        name: "matching",
        paths: &["crates/ranks/src", "crates/portals/src/core"],
        packages: &[
            "netloom-ranks",
            "netloom-loggops",
            "netloom-portals",
            "netloom-packet",
            "netloom-flow",
            "netloom-cli",
        ],
    },
    Area {
        name: "resilience",
        paths: &["crates/resilience/src", "crates/packet/src/transport"],
        packages: &["netloom-resilience", "netloom-packet"],
    },
];

/// Whether a test of a package is tried. Of the command line's, which take long, only those that run Portals programs: no other crate's tests do.
pub(crate) fn wanted(package: &str, test: &str) -> bool {
    package != "netloom-cli" || test.starts_with("portals")
}

/// Files that are no part of what a run computes: tests, kits of tests, planted faults, what a test-only check does.
const LEFT_OUT: &[&str] = &["tests", "planted", "undo_check", "kit", "mutant_switch"];

/// The area's files below `root`, as paths from there, in order.
///
/// # Errors
///
/// Where a folder cannot be read.
pub(crate) fn files(root: &Path, area: &Area) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for path in area.paths {
        below(root, Path::new(path), &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn below(root: &Path, path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if LEFT_OUT.contains(&&*name) {
        return Ok(());
    }
    if root.join(path).is_dir() {
        for entry in fs::read_dir(root.join(path))? {
            below(root, &path.join(entry?.file_name()), found)?;
        }
    } else if path.extension().is_some_and(|e| e == "rs") && root.join(path).exists() {
        found.push(path.to_owned());
    }
    Ok(())
}
