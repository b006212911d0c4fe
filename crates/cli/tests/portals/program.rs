//! C programs that tests compile and run.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

pub fn netloom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_netloom"))
}

/// A program, compiled; none if there is no compiler here.
pub struct Compiled {
    pub path: PathBuf,
    pub fabric: PathBuf,
    _directory: tempfile::TempDir,
}

/// Compiles a source of the repository.
pub fn compile(source: &str) -> Option<Compiled> {
    compile_as("sandia", source)
}

/// Compiles a text.
#[allow(dead_code, reason = "not all tests do")]
pub fn compile_text(text: &str) -> Option<Compiled> {
    let directory = tempfile::tempdir().expect("a directory");
    let source = directory.path().join("text.c");
    std::fs::write(&source, text).expect("written");
    compile(&source.display().to_string())
}

/// The same in one of the dialects.
pub fn compile_as(dialect: &str, source: &str) -> Option<Compiled> {
    compile_by("cc", dialect, source)
}

/// The same by another compiler, as that of C++ or Fortran.
pub fn compile_by(compiler: &str, dialect: &str, source: &str) -> Option<Compiled> {
    compile_with(compiler, &["--dialect", dialect, "-O1"], source)
}

/// The same with options.
pub fn compile_with(compiler: &str, options: &[&str], source: &str) -> Option<Compiled> {
    if Command::new(compiler).arg("--version").output().is_err() || cfg!(not(target_arch = "x86_64")) {
        eprintln!("SKIPPED: no compiler `{compiler}`, so no Portals programs that it compiles");
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("program");
    let source = Path::new(ROOT).join(source);
    let mut command = netloom();
    command.env("CC", compiler).args(["portals", "cc"]).args(options).arg(source);
    command.arg("-o").arg(&path).arg("-lm");
    let out = command.output().expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(Path::new(ROOT).join("examples/portals/two-nodes.toml"))
        .expect("the example");
    let fabric = directory.path().join("machine.toml");
    std::fs::write(&fabric, text.replace("terminals = 2", "terminals = 64")).expect("written");
    Some(Compiled { path, fabric, _directory: directory })
}

impl Compiled {
    pub fn command(&self, ranks: u32, options: &[&str], arguments: &[&str]) -> Command {
        let mut command = netloom();
        command.args(["portals", "run", "-n", &ranks.to_string(), "--fabric"]).arg(&self.fabric);
        command.args(options).arg(&self.path).args(arguments);
        command
    }

    pub fn run(&self, ranks: u32, options: &[&str], arguments: &[&str]) -> Output {
        self.command(ranks, options, arguments).output().expect("it runs")
    }

    /// Standard output of a run that must go well.
    pub fn good(&self, ranks: u32, options: &[&str], arguments: &[&str]) -> String {
        let out = self.run(ranks, options, arguments);
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{ranks} ranks, {options:?} {arguments:?}: {error}");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}
