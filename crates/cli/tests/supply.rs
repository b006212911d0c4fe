//! What the program is made from: every dependency has a licence and a source that `deny.toml` allows, and no version beside another
//! that is not named there. The same as `cargo deny check` without its database of advisories, and nothing to install.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::sorted::{SortedMap, SortedSet};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// What `deny.toml` allows.
struct Allowed {
    licences: SortedSet<String>,
    registries: SortedSet<String>,
    duplicates: SortedSet<String>,
}

fn allowed(text: &str) -> Allowed {
    let list = |key: &str| {
        let (_, rest) = text.split_once(&format!("\n{key} = [")).unwrap();
        rest.split_once("]\n").unwrap().0.to_owned()
    };
    let quoted = |list: String| list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let skipped = list("skip");
    let named = skipped.split("crate = \"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    Allowed {
        licences: quoted(list("allow")),
        registries: quoted(list("allow-registry")),
        duplicates: named.collect(),
    }
}

/// Packages whose licence is not allowed; `packages` are Cargo's metadata.
fn unlicensed(packages: &[Value], allowed: &Allowed) -> Vec<String> {
    let fits = |licence: &str| {
        spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX)
            .is_ok_and(|e| e.evaluate(|required| allowed.licences.contains(&required.to_string())))
    };
    let all = packages.iter().map(|p| (p["name"].as_str().unwrap(), p["license"].as_str().unwrap_or("")));
    all.filter(|(_, licence)| !fits(licence)).map(|(name, licence)| format!("{name}: `{licence}`")).collect()
}

/// Packages of a lock file from elsewhere, and names with several versions that `deny.toml` does not skip, or with one that it does.
fn misplaced(lock: &str, allowed: &Allowed) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut versions: SortedMap<&str, SortedSet<&str>> = SortedMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        let name = value("name").unwrap();
        versions.entry(name).or_default().insert(value("version").unwrap());
        if let Some(source) = value("source") {
            let registry = source.strip_prefix("registry+");
            if !registry.is_some_and(|s| allowed.registries.contains(s)) || value("checksum").is_none() {
                wrong.push(format!("{name}: from `{source}`"));
            }
        }
    }
    for (name, versions) in versions {
        if (versions.len() > 1) != allowed.duplicates.contains(name) {
            wrong.push(format!("{name}: versions {versions:?}"));
        }
    }
    wrong
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn dependencies_have_allowed_licences() {
    // What other systems need besides may never have been fetched here.
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(rustc.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let arguments = ["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", host];
    let output = Command::new(env!("CARGO")).current_dir(root()).args(arguments).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let allowed = allowed(&read("deny.toml"));
    assert_eq!(unlicensed(packages, &allowed), [""; 0]);
    for licence in ["GPL-3.0-only", "", "MIT AND AGPL-3.0-only", "MIT OR"] {
        let planted = serde_json::json!([{"name": "planted", "license": licence}]);
        assert_eq!(unlicensed(planted.as_array().unwrap(), &allowed).len(), 1, "{licence}");
    }
}

#[test]
fn dependencies_come_from_one_registry_in_one_version() {
    let (lock, allowed) = (read("Cargo.lock"), allowed(&read("deny.toml")));
    assert_eq!(misplaced(&lock, &allowed), [""; 0]);
    let index = allowed.registries.first().unwrap();
    for (name, source, checksum) in [
        ("planted", "git+https://example.org/planted", "checksum = \"00\"\n"),
        ("planted", &format!("registry+{index}"), ""),
        ("serde", &format!("registry+{index}"), "checksum = \"00\"\n"),
    ] {
        let planted =
            format!("[[package]]\nname = \"{name}\"\nversion = \"0.0.1\"\nsource = \"{source}\"\n{checksum}");
        assert_eq!(misplaced(&format!("{lock}\n{planted}"), &allowed).len(), 1, "{planted}");
    }
}
