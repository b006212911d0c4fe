//! No circle of modules inside a crate: files that need each other in a loop can only be understood, moved and tested together.
//!
//! The sources are read by a small reader of its own: `mod` declarations give the files of a crate, `use` trees and paths in the
//! code give what each file takes from which other. What counts is where a name is *defined*: a name taken through a re-export
//! ties to the file that defines it, and a `mod.rs` or `lib.rs` that only declares and re-exports ties to nothing. Unit tests do
//! not count. Methods are not followed: a call of a method needs no name of the file that has it.

mod reader;

use reader::{tokens, without_tests};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The circles that are still there: of each crate, the numbers of files of its circles. This list only gets shorter: a new circle
/// and a larger one fail the test, and so does one that is listed and gone.
const CIRCLES: &[(&str, &[usize])] = &[];

/// The segments of a path.
type Segments = Vec<String>;

/// A name that a `use` brings into a file.
#[derive(Clone, Debug)]
struct Import {
    /// The name in the file; `*` for all names of a module.
    name: String,
    /// What it stands for, as written.
    path: Segments,
    /// Visible beyond the file: a re-export.
    public: bool,
}

/// One file as a module.
#[derive(Debug, Default)]
struct Module {
    /// File, from the crate's folder.
    file: String,
    /// Modules declared here that have files of their own.
    children: BTreeSet<String>,
    /// Names defined here, at the top.
    defined: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in the code, outside of `use`.
    paths: Vec<Segments>,
    /// All words of the code, outside of `use`.
    words: BTreeSet<String>,
}

/// The modules of a crate, by path from its root.
type Modules = BTreeMap<Segments, Module>;

/// Reads one `use` tree from `i` on, below `prefix`; gives the place after it.
fn use_tree(
    tokens: &[String],
    mut i: usize,
    prefix: &[String],
    public: bool,
    found: &mut Vec<Import>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens[i].as_str() {
            "{" => {
                i += 1;
                while tokens[i] != "}" {
                    assert_ne!(tokens[i], ";", "a `use` ends inside its braces");
                    i = use_tree(tokens, i, &path, public, found);
                    i += usize::from(tokens[i] == ",");
                }
                return i + 1;
            }
            "*" => {
                found.push(Import { name: "*".into(), path, public });
                return i + 1;
            }
            "::" => i += 1,
            "as" => {
                found.push(Import { name: tokens[i + 1].clone(), path, public });
                return i + 2;
            }
            "," | "}" | ";" => {
                // `use a::{self}` names `a`.
                if path.last().is_some_and(|l| l == "self") && path.len() > 1 {
                    path.pop();
                }
                let name = path.last().cloned().unwrap_or_default();
                found.push(Import { name, path, public });
                return i;
            }
            word => {
                path.push(word.into());
                i += 1;
                if tokens[i] == "as" && path.len() > 1 && word == "self" {
                    path.pop();
                }
            }
        }
    }
}

/// Reads a file's code; `file` is only its name.
fn module(file: &str, source: &str) -> Module {
    let tokens = without_tests(&tokens(source));
    let is = |i: usize, t: &str| tokens.get(i).is_some_and(|found| found == t);
    let word =
        |i: usize| tokens.get(i).is_some_and(|t| t.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    let mut module = Module { file: file.into(), ..Module::default() };
    // Open braces; true for those of an inline module, whose `super` is this file.
    let (mut braces, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        let inside = braces.iter().filter(|&&b| b).count();
        match tokens[i].as_str() {
            "{" => braces.push(i >= 2 && is(i - 2, "mod")),
            "}" => {
                braces.pop();
            }
            "mod" if is(i + 2, ";") => {
                module.children.insert(tokens[i + 1].clone());
                i += 1;
            }
            // `use<..>` in a type says what it captures.
            "use" if !is(i + 1, "<") => {
                let public = i > 0 && (is(i - 1, "pub") || is(i - 1, ")"));
                let mut found = Vec::new();
                i = use_tree(&tokens, i + 1, &[], public, &mut found);
                for import in &mut found {
                    import.path = outside(&import.path, inside);
                }
                module.imports.extend(found);
                continue;
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" | "mod"
                if braces.len() == inside && word(i + 1) =>
            {
                module.defined.insert(tokens[i + 1].clone());
            }
            "macro_rules" => {
                module.defined.insert(tokens[i + 2].clone());
            }
            _ if word(i) => {
                let start = i;
                while is(i + 1, "::") && word(i + 2) {
                    i += 2;
                }
                let path: Segments = tokens[start..=i].iter().filter(|t| *t != "::").cloned().collect();
                module.words.insert(path[0].clone());
                // A word after a dot is a field or a method.
                if path.len() > 1 && !(start > 0 && is(start - 1, ".")) {
                    module.paths.push(outside(&path, inside));
                }
            }
            _ => {}
        }
        i += 1;
    }
    module
}

/// A path of an inline module as its file would write it.
fn outside(path: &[String], inside: usize) -> Segments {
    let climbs = path.iter().take_while(|s| *s == "super").count();
    if climbs == 0 || inside == 0 {
        return path.to_vec();
    }
    let mut path = path[climbs.min(inside)..].to_vec();
    if climbs <= inside {
        path.insert(0, "self".into());
    }
    path
}

/// Resolves names to the files that define them.
struct Names<'a>(&'a Modules);

impl Names<'_> {
    /// A path in the module `at`, from the crate's root; `None` if it leads out of the crate.
    fn absolute(&self, at: &[String], path: &[String], depth: usize) -> Option<Segments> {
        let (first, rest) = path.split_first()?;
        let join = |left: &[String], right: &[String]| Some([left, right].concat());
        let here = &self.0[at];
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => join(at, rest),
            "super" => {
                let climbs = path.iter().take_while(|s| *s == "super").count();
                join(&at[..at.len().checked_sub(climbs)?], &path[climbs..])
            }
            _ if here.children.contains(first) || here.defined.contains(first) => join(at, path),
            _ if depth == 0 => None,
            _ => {
                let import = here.imports.iter().find(|i| &i.name == first && &i.path[..] != path)?;
                join(&self.absolute(at, &import.path, depth - 1)?, rest)
            }
        }
    }

    /// The module whose file defines what an absolute path names, and whether the path names the module itself.
    fn owner(&self, path: &[String], depth: usize) -> (Segments, bool) {
        let mut at = Segments::new();
        for (i, name) in path.iter().enumerate() {
            let here = &self.0[&at];
            if here.children.contains(name) && (i + 1 < path.len() || !here.defined.contains(name)) {
                at.push(name.clone());
                continue;
            }
            if here.defined.contains(name) || depth == 0 {
                return (at, false);
            }
            let named = here.imports.iter().filter(|i| &i.name == name);
            for import in named.chain(here.imports.iter().filter(|i| i.name == "*")) {
                let Some(mut target) = self.absolute(&at, &import.path, 8) else { continue };
                if import.name == "*" {
                    let whole = self.0.get(&target);
                    if !whole.is_some_and(|m| m.defined.contains(name) || m.children.contains(name)) {
                        continue;
                    }
                    target.push(name.clone());
                }
                target.extend_from_slice(&path[i + 1..]);
                return self.owner(&target, depth - 1);
            }
            return (at, false);
        }
        (at, true)
    }

    /// What the file of module `at` takes from others: their modules, with the names.
    fn needs(&self, at: &[String]) -> BTreeMap<Segments, BTreeSet<String>> {
        let here = &self.0[at];
        let mut needs = BTreeMap::<Segments, BTreeSet<String>>::new();
        let mut take = |path: &[String]| {
            if let Some(path) = self.absolute(at, path, 8) {
                let (owner, whole) = self.owner(&path, 8);
                // A module that is only brought into scope ties by what is taken from it: those are paths.
                if owner != at && !whole {
                    needs.entry(owner).or_default().insert(path.last().cloned().unwrap_or_default());
                }
            }
        };
        for import in &here.imports {
            if import.name == "*" {
                let of = |word: &String| [import.path.as_slice(), std::slice::from_ref(word)].concat();
                let target = self.absolute(at, &import.path, 8).and_then(|t| self.0.get(&t));
                here.words
                    .iter()
                    .filter(|w| target.is_some_and(|t| t.defined.contains(*w)))
                    .for_each(|w| take(&of(w)));
            } else if !import.public || here.words.contains(&import.name) {
                take(&import.path);
            }
        }
        here.paths.iter().for_each(|p| take(p));
        needs
    }
}

/// A circle: its files, and what ties them.
#[derive(Debug)]
struct Circle {
    files: Vec<String>,
    ties: Vec<String>,
}

/// The circles of a crate, largest first.
fn circles(modules: &Modules) -> Vec<Circle> {
    let names = Names(modules);
    let needs: BTreeMap<_, _> = modules.keys().map(|at| (at, names.needs(at))).collect();
    let reached = |from: &Segments| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(at) = open.pop() {
            for next in needs[&at].keys() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let reach: BTreeMap<_, _> = modules.keys().map(|at| (at, reached(at))).collect();
    let (mut found, mut done) = (Vec::new(), BTreeSet::new());
    for at in modules.keys().filter(|at| reach[at].contains(*at)) {
        if !done.insert(at) {
            continue;
        }
        let mut members: Vec<_> = reach[at].iter().filter(|m| reach[m].contains(at)).collect();
        members.sort_by_key(|m| &modules[*m].file);
        done.extend(members.iter().map(|m| modules.get_key_value(*m).expect("a module").0));
        let mut ties = Vec::new();
        for from in &members {
            for (to, what) in needs[from].iter().filter(|(to, _)| members.contains(to)) {
                let what: Vec<&str> = what.iter().map(String::as_str).collect();
                ties.push(format!("{} -> {}: {}", modules[*from].file, modules[to].file, what.join(", ")));
            }
        }
        found.push(Circle { files: members.iter().map(|m| modules[*m].file.clone()).collect(), ties });
    }
    found.sort_by_key(|c| std::cmp::Reverse(c.files.len()));
    found
}

/// All modules of a crate, from its root file on; `read` gives a file's text.
fn crate_modules(root: &str, read: &dyn Fn(&str) -> Option<String>) -> Modules {
    let mut modules = Modules::new();
    let mut open = vec![(Segments::new(), root.to_string())];
    while let Some((path, file)) = open.pop() {
        let found = module(&file, &read(&file).unwrap_or_else(|| panic!("{file} is not there")));
        for child in &found.children {
            let mut path = path.clone();
            path.push(child.clone());
            let plain = format!("src/{}.rs", path.join("/"));
            let folder = format!("src/{}/mod.rs", path.join("/"));
            let file = if read(&plain).is_some() { plain } else { folder };
            open.push((path, file));
        }
        modules.insert(path, found);
    }
    modules
}

fn crates() -> Vec<PathBuf> {
    let folder = fs::read_dir("..").expect("the crates");
    let mut all: Vec<PathBuf> = folder.map(|e| e.expect("an entry").path()).collect();
    all.retain(|p| p.join("src/lib.rs").exists());
    all.sort();
    assert!(all.len() > 5, "{all:?}");
    all
}

#[test]
fn circles_of_modules_only_get_fewer() {
    let mut wrong = Vec::new();
    for path in crates() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let read = |file: &str| fs::read_to_string(Path::new(&path).join(file)).ok();
        let found = circles(&crate_modules("src/lib.rs", &read));
        let listed = CIRCLES.iter().find(|(n, _)| *n == name).map_or(&[][..], |c| c.1);
        let sizes: Vec<usize> = found.iter().map(|c| c.files.len()).collect();
        // Largest against largest: one that got smaller may stay listed as it was.
        if sizes.len() != listed.len() || sizes.iter().zip(listed).any(|(found, listed)| found > listed) {
            let shown: Vec<String> = found
                .iter()
                .map(|c| {
                    format!("  {} files: {}\n    {}", c.files.len(), c.files.join(" "), c.ties.join("\n    "))
                })
                .collect();
            wrong.push(format!("{name}: listed {listed:?}, found {sizes:?}\n{}", shown.join("\n")));
        }
    }
    let known: Vec<String> = crates().iter().map(|p| p.display().to_string()).collect();
    for (name, _) in CIRCLES {
        assert!(
            known.iter().any(|k| k.ends_with(&format!("/{name}"))),
            "the list names {name}, which is gone"
        );
    }
    assert!(wrong.is_empty(), "circles of modules differ from the list:\n{}", wrong.join("\n"));
}

/// The circles of a small crate: `files` are names and texts.
fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let read = |file: &str| files.iter().find(|f| f.0 == file).map(|f| f.1.to_string());
    circles(&crate_modules("src/lib.rs", &read)).into_iter().map(|c| c.files).collect()
}

#[test]
fn a_planted_circle_is_found() {
    let root = ("src/lib.rs", "mod a;\nmod b;\nmod c;");
    let a = ("src/a.rs", "use crate::{b::{B as Other, x}, c};\npub struct A;\nfn f() { c::g() }");
    let plain = ("src/c.rs", "pub fn g() {}");
    let free = ("src/b.rs", "pub struct B; pub fn x() {} // crate::a::A\nconst T: &str = \"crate::a::A\";");
    assert_eq!(found(&[root, a, free, plain]), [[""; 0]; 0]);
    for back in
        ["use super::a::A; pub struct B; pub fn x() {}", "pub struct B; pub fn x() -> crate::a::A { todo() }"]
    {
        assert_eq!(found(&[root, a, ("src/b.rs", back), plain]), [["src/a.rs", "src/b.rs"]]);
    }
    let through = ("src/c.rs", "mod inner { use super::super::b::x; }\npub fn g() {}");
    let back = ("src/b.rs", "pub struct B; pub fn x(a: &super::a::A) {}");
    assert_eq!(found(&[root, a, back, through]), [["src/a.rs", "src/b.rs", "src/c.rs"]]);
}

#[test]
fn declaring_and_re_exporting_ties_to_nothing_but_using_does() {
    let root = ("src/lib.rs", "pub mod a;");
    let child =
        ("src/a/child.rs", "use super::{Other, other};\npub struct Child(Other);\npub fn f() { other::f() }");
    let other = ("src/a/other.rs", "pub struct Other; pub fn f() {}");
    let head = ("src/a/mod.rs", "mod child;\nmod other;\npub use child::Child;\npub use other::Other;");
    assert_eq!(found(&[root, head, child, other]), [[""; 0]; 0]);
    // A name taken through the re-export ties to the file that defines it.
    let back = ("src/a/other.rs", "pub struct Other(Box<super::Child>); pub fn f() {}");
    assert_eq!(found(&[root, head, child, back]), [["src/a/child.rs", "src/a/other.rs"]]);
    // A head that defines what its children take, and takes from them, is part of the circle.
    let own = ("src/a/mod.rs", "mod child;\nmod other;\npub use child::Child;\npub struct Other(Child);");
    assert_eq!(found(&[root, own, child, other]), [["src/a/child.rs", "src/a/mod.rs"]]);
}

#[test]
fn what_is_compiled_for_tests_alone_does_not_count() {
    let root = ("src/lib.rs", "mod a;\nmod b;");
    let a =
        ("src/a.rs", "use crate::b::B;\npub struct A(B); const Q: char = '\"'; const R: &str = r#\"\"\"#;");
    let b = (
        "src/b.rs",
        "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; fn t() { { crate::a::A } } }",
    );
    assert_eq!(found(&[root, a, b]), [[""; 0]; 0]);
    let b = (
        "src/b.rs",
        "pub struct B;\n#[cfg(test)]\nuse crate::{a::A};\n#[cfg(test)]\nmod tests;\nfn f(_: [u8; 2]) {}",
    );
    assert_eq!(found(&[root, a, b]), [[""; 0]; 0]);
    let b = ("src/b.rs", "pub struct B<'a>(&'a u8);\n#[cfg(not(test))]\nuse crate::a::A;");
    assert_eq!(found(&[root, a, b]), [["src/a.rs", "src/b.rs"]]);
}
