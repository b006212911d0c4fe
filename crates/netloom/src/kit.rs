//! A directory against which libraries and programs are built that run on simulated machines: headers, libraries to link, compilers.
//!
//! What is made there holds no simulator. The libraries have the names of Portals and PMI alone; a program that `netloom portals run` loads is led to the
//! simulator, and one that is started by itself is told by each call that nothing is initialised. So configure scripts can link and start what they try.

use crate::{
    error::{Error, ErrorKind},
    ours,
    programs::PROBES,
};
use portals::{HEADERS, runtime};
use std::{
    fmt::Write,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Compilers of a kit: name of the wrapper, variable of the environment, and what is called without it.
const COMPILERS: [(&str, &str, &str); 3] = [
    ("netloom-cc", "NETLOOM_CC", "cc"),
    ("netloom-cxx", "NETLOOM_CXX", "c++"),
    ("netloom-fc", "NETLOOM_FC", "gfortran"),
];

/// Version of the interface.
const VERSION: &str = "4.3";

fn failed(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {why}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text)).map_err(|e| failed(path, e))
}

/// Makes a kit: `include`, `lib` with `pkgconfig`, and `bin` with compilers.
///
/// # Errors
/// If the directory is not empty, unless `force` says that files may be replaced; if something cannot be written; if there is no C compiler.
pub fn make(to: &Path, force: bool) -> Result<(), Error> {
    let _claim = ours::claim(to)?;
    if !force && fs::read_dir(to).is_ok_and(|mut files| files.next().is_some()) {
        let help = "name another directory, or replace what is there with --force";
        return Err(Error::new(ErrorKind::Output, format!("`{}` is not empty", to.display())).with_help(help));
    }
    fs::create_dir_all(to).map_err(|e| failed(to, e))?;
    let home = fs::canonicalize(to).map_err(|e| failed(to, e))?;
    for (name, text) in HEADERS {
        write(&home.join("include").join(name), text)?;
    }
    let names = |all: Vec<(&'static str, usize)>| all.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    // What the calls of each library answer outside of a simulation.
    for (library, calls, answer) in
        [("portals", names(runtime::ptl::names()), "9"), ("pmi", names(runtime::pmi::names()), "-1")]
    {
        compile_library(&home, library, &calls, answer)?;
        write(&home.join(format!("lib/pkgconfig/{library}.pc")), &package(&home, library))?;
    }
    // Some projects ask for this name.
    write(&home.join("lib/pkgconfig/portals4.pc"), &package(&home, "portals"))?;
    let start = "const char netloom_loader[] __attribute__((section(\".interp\"))) = \"/lib64/ld-linux-x86-64.so.2\";\n\
                 int main(int, char **);\nint (*const netloom_main)(int, char **) = main;\n";
    compile(&home, "start", start, &["-c", "-fPIC"], "lib/netloom-start.o")?;
    for (name, variable, compiler) in COMPILERS {
        let path = home.join("bin").join(name);
        write(&path, &wrapper(&home, variable, compiler))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(|e| failed(&path, e))?;
    }
    Ok(())
}

fn package(home: &Path, library: &str) -> String {
    format!(
        "prefix={}\nincludedir=${{prefix}}/include\nlibdir=${{prefix}}/lib\n\nName: {library}\nDescription: {library} on \
         machines that Netloom simulates\nVersion: {VERSION}\nCflags: -I${{includedir}}\nLibs: -L${{libdir}} -Wl,-rpath,${{libdir}} -l{library}\n",
        home.display()
    )
}

/// A library whose calls all answer the same.
fn compile_library(home: &Path, library: &str, calls: &[&str], answer: &str) -> Result<(), Error> {
    let mut text = String::new();
    for call in calls {
        let _ = writeln!(text, "int {call}(void) {{ return {answer}; }}");
    }
    let soname = format!("-Wl,-soname,lib{library}.so");
    compile(home, library, &text, &["-shared", "-fPIC", &soname], &format!("lib/lib{library}.so"))
}

fn compile(home: &Path, name: &str, text: &str, options: &[&str], to: &str) -> Result<(), Error> {
    let source: PathBuf = home.join(format!("lib/{name}.c"));
    write(&source, text)?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(&compiler).args(options).arg(&source).arg("-o").arg(home.join(to)).status();
    let _ = fs::remove_file(&source);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::new(ErrorKind::Input, format!("`{compiler}` cannot make `{to}`"))),
        Err(e) => {
            let help = "install a C compiler, or name one in the environment's CC";
            Err(Error::new(ErrorKind::Input, format!("cannot run `{compiler}`: {e}")).with_help(help))
        }
    }
}

/// A compiler that makes of programs what can be loaded by the simulator and started by itself: a shared object with an entry. Everything that it links must be
/// there, as for any program. The object that defines where data begin comes first, as a compiler has it: what lies between it and `_end` are a program's globals. Where nothing or a library is linked it only adds the headers.
fn wrapper(home: &Path, variable: &str, compiler: &str) -> String {
    let home = home.display();
    format!(
        r#"#!/bin/sh
# Made by `netloom portals sdk`: {compiler} (or {variable}) for programs on simulated machines.
home="{home}"
pages={PROBES}
"${{{variable}:-{compiler}}}" $pages -Werror -x c -fsyntax-only /dev/null >/dev/null 2>&1 || pages=
links=no
for argument; do
    case "$argument" in
    -c | -S | -E | -M | -MM | -r | -shared | -fsyntax-only | -print-* | --print-* | -dump*) links=never ;;
    -*) ;;
    *) [ "$links" = never ] || links=yes ;;
    esac
done
if [ "$links" != yes ]; then
    exec "${{{variable}:-{compiler}}}" -fPIC $pages -I"$home/include" "$@"
fi
first=$("${{{variable}:-{compiler}}}" -print-file-name=Scrt1.o)
exec "${{{variable}:-{compiler}}}" -fPIC $pages -I"$home/include" -Wl,--no-as-needed "$first" "$@" "$home/lib/netloom-start.o" \
    -shared -Wl,-e,_start,-Bsymbolic,-z,lazy,-z,defs -L"$home/lib" -Wl,-rpath,"$home/lib"
"#
    )
}
