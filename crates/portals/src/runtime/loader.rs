//! Private copies of a program: each rank loads a file of its own, and its calls of Portals, PMI, clocks, threads and exit lead to us.
//!
//! A shared object's dynamic relocations name what it imports. After `dlopen` (lazy, so that functions nobody else has are no error) the cells of names that
//! we define are overwritten, in the program and in the libraries of which each rank has a copy; what neither we nor a library defines is a missing symbol,
//! reported before anything runs. Libraries that ranks share are loaded once: they are looked through, and keep their cells.

#![allow(unsafe_code, reason = "loading programs")]

use super::private;
use base::index::RankId;
use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, c_char, c_void},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// Names that we define, with their addresses.
pub type Names = BTreeMap<&'static str, usize>;

/// A program's copy.
pub struct Loaded {
    /// Address of `main` in the copy.
    pub main: usize,
    /// Addresses of its own code.
    pub code: Range<usize>,
}

#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
    dynamic: *const [usize; 2],
    next: *const LinkMap,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

const RELOCATION_64: u64 = 1;
const GLOB_DAT: u64 = 6;
const JUMP_SLOT: u64 = 7;

/// A library of which each rank has a copy: its name, as programs that need it give it, and its contents.
pub type Library = (String, Vec<u8>);

/// Loads a copy of a program, made in `directory` under a name of its own, and of the libraries that are private.
///
/// # Errors
/// If it cannot be loaded, lacks `main`, or imports what nobody defines.
pub fn load(
    (program, private): (&[u8], &[Library]),
    directory: &Path,
    rank: RankId,
    names: &Names,
) -> Result<Loaded, String> {
    let copies: Vec<String> = (0..private.len()).map(|n| private::name(&private[n].0, n, rank)).collect();
    let all = private.iter().map(|l| l.0.as_str()).zip(&copies).map(|(old, new)| (old, new.as_str()));
    let all: Vec<(&str, &str)> = all.collect();
    let mut made = Vec::new();
    for ((_, bytes), copy) in private.iter().zip(&copies) {
        made.push(write(directory.join(copy), &private::relabelled(bytes, &all)?)?);
    }
    let path = write(directory.join(format!("rank-{rank}.so")), &private::relabelled(program, &all)?)?;
    // Names of private copies begin with "./".
    let home = std::env::current_dir().ok();
    if !private.is_empty() {
        std::env::set_current_dir(directory).map_err(|e| e.to_string())?;
    }
    let opened = open(&path).and_then(|program| {
        let libraries: Result<Vec<_>, String> = made.iter().map(|copy| open(copy)).collect();
        Ok((program, libraries?))
    });
    if let (Some(home), false) = (home, private.is_empty()) {
        let _ = std::env::set_current_dir(home);
    }
    // The files are needed no more: their mappings stay.
    made.iter().chain([&path]).for_each(|path| drop(fs::remove_file(path)));
    let (library, libraries) = opened?;
    let map = map_of(library)?;
    let own = libraries.iter().map(|&l| map_of(l)).collect::<Result<Vec<_>, String>>()?;
    let defined = |name: &CStr| [libc::RTLD_DEFAULT, library].into_iter().any(|l| find(l, name) != 0);
    let mut missing = bind(map, names, defined);
    for (&map, &library) in own.iter().zip(&libraries) {
        missing.extend(bind(map, names, |name| defined(name) || find(library, name) != 0));
    }
    missing.extend(shared(map, &own, names, defined));
    if !missing.is_empty() {
        return Err(format!("nobody defines {}", missing.join(", ")));
    }
    match find(library, c"main") {
        0 => Err("it has no `main`".to_owned()),
        main => Ok(Loaded { main, code: code(program, base_of(map)) }),
    }
}

fn write(path: PathBuf, bytes: &[u8]) -> Result<PathBuf, String> {
    fs::write(&path, bytes).map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
    Ok(path)
}

fn open(path: &Path) -> Result<*mut c_void, String> {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: the name is a C string; the library's initialisers are the user's own code, which this command is asked to run.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if library.is_null() { Err(error()) } else { Ok(library) }
}

fn error() -> String {
    // SAFETY: dlerror gives null or a C string that is valid until the next call of its kind.
    let text = unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "unknown error".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    };
    text.rsplit('/').next().unwrap_or(&text).to_owned()
}

fn find(library: *mut c_void, name: &CStr) -> usize {
    // SAFETY: both arguments are valid.
    unsafe { libc::dlsym(library, name.as_ptr()) as usize }
}

/// The link map of what `dlopen` gave.
fn map_of(library: *mut c_void) -> Result<*const LinkMap, String> {
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the library is open, and the request writes one pointer.
    let code = unsafe { libc::dlinfo(library, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if code != 0 || map.is_null() { Err(error()) } else { Ok(map) }
}

fn base_of(map: *const LinkMap) -> usize {
    // SAFETY: link maps of libraries that are open are valid, and none is closed.
    unsafe { (*map).base }
}

/// A name that a loaded object imports, and the cell of its address.
struct Import {
    name: &'static CStr,
    cell: usize,
    addend: usize,
    weak: bool,
}

/// What a loaded object imports.
fn imports(map: *const LinkMap) -> Vec<Import> {
    let mut all = Vec::new();
    // SAFETY: the link map of a library that dlopen gave is valid while that is open (none is closed), and its dynamic section leads to tables of the sizes
    // it says, in memory that is mapped.
    unsafe {
        let mut entry = (*map).dynamic;
        let mut tags = [0usize; 32];
        while (*entry)[0] != 0 {
            if let Some(tag) = tags.get_mut((*entry)[0]) {
                *tag = (*entry)[1];
            }
            entry = entry.add(1);
        }
        // The tags of the string and symbol tables, of relocations with addends and their size, and of those of functions.
        let [strings, symbols, rela, rela_bytes, plt, plt_bytes] = [5, 6, 7, 8, 23, 2].map(|tag| tags[tag]);
        for (table, bytes) in [(rela, rela_bytes), (plt, plt_bytes)] {
            for n in 0..bytes / size_of::<Relocation>() {
                let relocation = *(table as *const Relocation).add(n);
                let kind = relocation.info & 0xffff_ffff;
                if !matches!(kind, RELOCATION_64 | GLOB_DAT | JUMP_SLOT) {
                    continue;
                }
                let symbol = *(symbols as *const Symbol).add((relocation.info >> 32) as usize);
                if symbol.section == 0 {
                    all.push(Import {
                        name: CStr::from_ptr((strings + symbol.name as usize) as *const c_char),
                        cell: (*map).base + relocation.offset,
                        addend: relocation.addend as usize,
                        weak: symbol.info >> 4 == 2,
                    });
                }
            }
        }
    }
    all
}

/// Overwrites the cells of names that we define; gives the names that nobody defines.
fn bind(map: *const LinkMap, names: &Names, defined: impl Fn(&CStr) -> bool) -> Vec<String> {
    let mut missing = Vec::new();
    for import in imports(map) {
        let name = import.name.to_string_lossy();
        if let Some(&ours) = names.get(&*name) {
            write_cell(import.cell, ours.wrapping_add(import.addend));
        } else if !import.weak && !defined(import.name) && !missing.iter().any(|m| *m == *name) {
            missing.push(name.into_owned());
        }
    }
    missing
}

/// Names that nobody defines of libraries that came with the program and of which ranks have no copies. They are loaded with the first rank's program,
/// and stand behind it.
fn shared(
    program: *const LinkMap,
    own: &[*const LinkMap],
    names: &Names,
    defined: impl Fn(&CStr) -> bool,
) -> Vec<String> {
    let mut missing = Vec::new();
    // SAFETY: link maps are a list that ends in null; none is closed, and only this thread opens any.
    let next = |map: &*const LinkMap| Some(unsafe { (**map).next }).filter(|n| !n.is_null());
    for map in std::iter::successors(next(&program), next).filter(|map| !own.contains(map)) {
        // SAFETY: as above; the name is a C string.
        let path = unsafe { CStr::from_ptr((*map).name) }.to_string_lossy();
        let library = path.rsplit('/').next().unwrap_or("");
        for import in imports(map) {
            let name = import.name.to_string_lossy();
            let ours = names.contains_key(&*name);
            if (import.weak && !ours) || defined(import.name) {
                continue;
            }
            let why = if ours { ", of which each rank needs a copy: --private" } else { "" };
            let text = format!("{name} (for {library}{why})");
            if !missing.contains(&text) {
                missing.push(text);
            }
        }
    }
    missing
}

/// Where a program's code lies: the segment of its file that can be executed. Empty if the file does not say.
fn code(program: &[u8], base: usize) -> Range<usize> {
    let number = |at: usize, bytes: usize| {
        let field = program.get(at..at + bytes)?;
        Some(field.iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b)))
    };
    let header = |n: usize| Some(number(32, 8)? + n * number(54, 2)?);
    let segment = |n: usize| {
        let at = header(n)?;
        let executable = number(at, 4)? == 1 && number(at + 4, 4)? & 1 == 1;
        let start = base + number(at + 16, 8)?;
        executable.then_some(start..start + number(at + 40, 8)?)
    };
    (0..number(56, 2).unwrap_or(0)).find_map(segment).unwrap_or(0..0)
}

/// Writes an address into a cell, which may be in a page that was made read-only after loading.
fn write_cell(cell: usize, value: usize) {
    let page = cell & !4095;
    // SAFETY: the cell is 8 bytes within the library's data, which is mapped; nothing else writes it.
    unsafe {
        libc::mprotect(page as *mut c_void, 4096, libc::PROT_READ | libc::PROT_WRITE);
        std::ptr::write_unaligned(cell as *mut usize, value);
    }
}
