//! Private copies of a program: each rank loads a file of its own, and its calls of Portals, PMI, clocks, threads and exit lead to us.
//!
//! A shared object's dynamic relocations name what it imports. After `dlopen` (lazy, so that functions nobody else has are no error) the cells of names that
//! we define are overwritten, in the program and in the libraries of which each rank has a copy; what neither we nor a library defines is a missing symbol,
//! reported before anything runs. Libraries that ranks share are loaded once: they are looked through, and keep their cells, except those of languages
//! ([`cxx`]). Functions that begin a copy are called by its rank, once all cells are bound.

#![allow(unsafe_code, reason = "loading programs")]

use super::{
    chain::{Hidden, LinkMap},
    cxx,
    cxx::Cxx,
    locals::Module,
    private,
};
use base::{index::RankId, sorted::SortedMap};
use std::{
    ffi::{CStr, CString, c_char, c_void},
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// Names that we define, with their addresses.
pub type Names = SortedMap<&'static str, usize>;

/// A program's copy.
pub struct Loaded {
    /// Address of `main` in the copy.
    pub main: usize,
    /// Addresses of its own code.
    pub code: Range<usize>,
    /// Functions that begin the copies, in order; the rank calls them before `main`.
    pub begins: Vec<usize>,
    /// Functions that end them, in order.
    pub ends: Vec<usize>,
    /// Thread-local variables of the copies.
    pub modules: Vec<Module>,
    /// Addresses of the copies' globals.
    pub globals: Vec<Range<usize>>,
}

/// What copies are made of, and where.
pub struct Copies<'a> {
    /// The contents of the program's file.
    pub program: &'a [u8],
    /// Libraries of which each rank has a copy.
    pub private: &'a [Library],
    /// Directory in which copies are written for a moment.
    pub directory: &'a Path,
    /// What we define.
    pub names: &'a Names,
    /// The library of C++, if the program needs it.
    pub cxx: Option<Cxx>,
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

/// Loads a copy of a program, made under a name of its own, and of the libraries that are private. `cells` are addresses of the rank's own variables.
/// The copies are hidden from the loader's list.
///
/// # Errors
/// If it cannot be loaded, lacks `main`, or imports what nobody defines.
pub fn load(copies: &Copies<'_>, rank: RankId, cells: &Names, hidden: &mut Hidden) -> Result<Loaded, String> {
    let &Copies { program, private, directory, names, cxx } = copies;
    let kept = |name: &str| cxx.is_some_and(|cxx| cxx.defines(name));
    let numbered: Vec<String> = (0..private.len()).map(|n| private::name(&private[n].0, n, rank)).collect();
    let all = private.iter().map(|l| l.0.as_str()).zip(&numbered).map(|(old, new)| (old, new.as_str()));
    let all: Vec<(&str, &str)> = all.collect();
    let mut made = Vec::new();
    for ((_, bytes), copy) in private.iter().zip(&numbered) {
        let copy = directory.join(copy);
        let bytes = private::prepared(bytes, &all, kept)?;
        write(&copy, &bytes)?;
        made.push((copy, bytes));
    }
    let path = directory.join(format!("rank-{rank}.so"));
    let bytes = private::prepared(program, &all, kept)?;
    write(&path, &bytes)?;
    let contents = || made.iter().map(|copy| copy.1.as_slice()).chain([bytes.as_slice()]);
    hidden.room(contents().map(private::span).fold(0, usize::saturating_add), made.len() + 1)?;
    let opened = open_all(&path, &made, directory);
    // The files are needed no more: their mappings stay.
    made.iter().map(|m| &m.0).chain([&path]).for_each(|path| drop(fs::remove_file(path)));
    let (library, libraries) = opened?;
    let map = map_of(library)?;
    let own = libraries.iter().map(|&l| map_of(l)).collect::<Result<Vec<_>, String>>()?;
    let defined = |name: &CStr| [libc::RTLD_DEFAULT, library].into_iter().any(|l| find(l, name) != 0);
    let bound = [cells, names];
    let mut missing = bind(map, &bound, defined);
    for (&map, &library) in own.iter().zip(&libraries) {
        missing.extend(bind(map, &bound, |name| defined(name) || find(library, name) != 0));
    }
    missing.extend(shared(map, &own, names, defined));
    if !contents().any(private::has_fixed_locals) {
        own.iter().chain([&map]).for_each(|&map| hidden.hide(map));
    }
    if !missing.is_empty() {
        return Err(format!("nobody defines {}", missing.join(", ")));
    }
    let main = main_of(library);
    if main == 0 {
        return Err("it has no `main`".to_owned());
    }
    let mut loaded = Loaded {
        main,
        code: code(program, base_of(map)),
        begins: Vec::new(),
        ends: Vec::new(),
        modules: Vec::new(),
        globals: Vec::new(),
    };
    for n in in_order(private) {
        loaded.add(&made[n].1, own[n], libraries[n]);
    }
    loaded.add(&bytes, map, library);
    Ok(loaded)
}

impl Loaded {
    /// A copy begins after those before it, and ends before them.
    fn add(&mut self, copy: &[u8], map: *const LinkMap, library: *mut c_void) {
        let base = base_of(map);
        let functions = |places: Range<usize>| {
            let cells = places.step_by(8).map(|at| (base + at) as *const usize);
            // SAFETY: the copy's own array, in its mapped data.
            let all = cells.map(|cell| unsafe { cell.read_unaligned() });
            all.filter(|&f| f != 0 && f != usize::MAX).collect::<Vec<usize>>()
        };
        let deferred = private::deferred(copy);
        self.begins.extend(deferred.begin.map(|f| base + f));
        self.begins.extend(functions(deferred.begins));
        let ends = functions(deferred.ends).into_iter().rev().chain(deferred.end.map(|f| base + f));
        self.ends = ends.chain(std::mem::take(&mut self.ends)).collect();
        self.modules.extend(module(copy, base, library));
        self.globals.extend(private::globals(copy).into_iter().map(|g| base + g.start..base + g.end));
    }
}

/// The thread-local variables of a loaded object, if it has any.
fn module(bytes: &[u8], base: usize, library: *mut c_void) -> Option<Module> {
    let (address, filled, size) = private::thread_locals(bytes)?;
    Some(Module { library, image: base + address, filled, size })
}

/// Numbers of private libraries, each after those that it needs.
fn in_order(private: &[Library]) -> Vec<usize> {
    fn visit(n: usize, private: &[Library], order: &mut Vec<usize>, seen: &mut [bool]) {
        if !std::mem::replace(&mut seen[n], true) {
            for name in private::needed(&private[n].1) {
                if let Some(next) = private.iter().position(|l| l.0 == name) {
                    visit(next, private, order, seen);
                }
            }
            order.push(n);
        }
    }
    let (mut order, mut seen) = (Vec::new(), vec![false; private.len()]);
    (0..private.len()).for_each(|n| visit(n, private, &mut order, &mut seen));
    debug_assert_eq!(order.len(), private.len(), "each library comes once");
    order
}

/// Opens a program's copy and those of its private libraries, whose names begin with "./".
fn open_all(
    path: &Path,
    made: &[(PathBuf, Vec<u8>)],
    directory: &Path,
) -> Result<(*mut c_void, Vec<*mut c_void>), String> {
    let home = std::env::current_dir().ok();
    if !made.is_empty() {
        std::env::set_current_dir(directory).map_err(|e| e.to_string())?;
    }
    let opened = open(path).and_then(|program| {
        let libraries: Result<Vec<_>, String> = made.iter().map(|copy| open(&copy.0)).collect();
        Ok((program, libraries?))
    });
    if let (Some(home), false) = (home, made.is_empty()) {
        let _ = std::env::set_current_dir(home);
    }
    opened
}

/// Libraries of which each rank has a copy: those that were asked for, and that of Fortran, which keeps units and their buffers.
#[must_use]
pub fn with_fortran(program: &[u8], asked: &[Library]) -> Vec<Library> {
    let mut all = asked.to_vec();
    let needs = asked.iter().map(|l| l.1.as_slice()).chain([program]).flat_map(private::needed);
    let Some(name) = needs.into_iter().find(|n| n.starts_with("libgfortran.so")) else { return all };
    if !all.iter().any(|l| l.0 == name)
        && let Some(bytes) = path_of(&name).and_then(|path| fs::read(path).ok())
    {
        all.push((name, bytes));
    }
    all
}

/// Where an address lies, in words: the function, if the program exports it.
#[must_use]
pub fn place(address: u64) -> String {
    // SAFETY: the structure may be zero; the names that it leads to are C strings of loaded objects, of which none is closed.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &raw mut found) == 0 {
            return String::new();
        }
        // Not the address itself: which one of a loop's it is depends on when somebody looked.
        if found.dli_sname.is_null() {
            return String::new();
        }
        format!(" in `{}`", CStr::from_ptr(found.dli_sname).to_string_lossy())
    }
}

/// Where the system finds a library.
fn path_of(name: &str) -> Option<PathBuf> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a C string and the library one of the system, which is closed again; its map's name is one while it is open.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if library.is_null() {
            return None;
        }
        let path = map_of(library).ok().map(|map| CStr::from_ptr((*map).name).to_string_lossy().into_owned());
        libc::dlclose(library);
        path.map(PathBuf::from)
    }
}

/// The thread-local variables of a library of that name, if it is loaded and all ranks share it.
#[must_use]
pub fn locals_of(name: &str) -> Option<Module> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a C string; a library that nobody has loaded is not loaded now.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return None;
    }
    let map = map_of(library).ok()?;
    // SAFETY: the name of an open library is a C string.
    let path = unsafe { CStr::from_ptr((*map).name) }.to_string_lossy().into_owned();
    module(&fs::read(path).ok()?, base_of(map), library).map(Module::begun)
}

/// Calls of the library of C++ lead to us; gives its thread-local variables.
///
/// # Errors
/// If the system does not tell where it lies.
pub fn bind_cxx(cxx: Cxx, names: &Names) -> Result<Option<Module>, String> {
    let map = map_of(cxx.library())?;
    bind(map, &[names], |_| true);
    // SAFETY: the name of an open library is a C string.
    let path = unsafe { CStr::from_ptr((*map).name) }.to_string_lossy().into_owned();
    let bytes = fs::read(&path).map_err(|e| format!("cannot read `{path}`: {e}"))?;
    Ok(module(&bytes, base_of(map), cxx.library()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|e| format!("cannot write `{}`: {e}", path.display()))
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

/// Address of `main`; where a program keeps that for itself, a kit's compiler has put it into a cell.
fn main_of(library: *mut c_void) -> usize {
    match (find(library, c"main"), find(library, c"netloom_main")) {
        // SAFETY: the cell is a pointer of the library.
        (0, cell) if cell != 0 => unsafe { *(cell as *const usize) },
        (main, _) => main,
    }
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
fn bind(map: *const LinkMap, names: &[&Names], defined: impl Fn(&CStr) -> bool) -> Vec<String> {
    let mut missing = Vec::new();
    for import in imports(map) {
        let name = import.name.to_string_lossy();
        if let Some(&ours) = names.iter().find_map(|names| names.get(&*name)) {
            debug_assert!(ours != 0, "what we define has an address");
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
    let next = |map: &*const LinkMap| Some(unsafe { (**map).next.cast_const() }).filter(|n| !n.is_null());
    for map in std::iter::successors(next(&program), next).filter(|map| !own.contains(map)) {
        // SAFETY: as above; the name is a C string.
        let path = unsafe { CStr::from_ptr((*map).name) }.to_string_lossy();
        let library = path.rsplit('/').next().unwrap_or("");
        for import in imports(map) {
            let name = import.name.to_string_lossy();
            let ours = names.get(&*name);
            if let Some(&ours) = ours.filter(|_| cxx::is_bound(library, &name)) {
                write_cell(import.cell, ours.wrapping_add(import.addend));
                continue;
            }
            let ours = ours.is_some();
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
