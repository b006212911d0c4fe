//! Parameters say what they mean: each has a name and a type of its own. A tuple as a parameter hides what its members are,
//! and it hides their number from the lint on too many parameters.
//!
//! A parameter counts as a tuple if its type is one, behind a reference too, or if its pattern takes one apart whose type has a
//! name. Function pointers, closures and the items of collections are no parameters of their own.

mod reader;

use reader::{after_group, tokens, without_tests};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Tuples that are parameters: two coordinates, the two ends of a thing, a key as it lies in a collection. This number only gets
/// smaller: there is a name for what belongs together.
const TUPLES: usize = 27;

/// Parameters that a function may have; the lint looks at those that are no tuples.
const MOST: usize = 7;

/// A function with a tuple among its parameters.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// Members of each tuple.
    tuples: Vec<usize>,
    /// Parameters, with each tuple's members as so many.
    parameters: usize,
}

/// Splits at the commas that stand in no brackets.
fn parts(tokens: &[String]) -> Vec<&[String]> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            // The end of an arrow closes nothing.
            ">" if i == 0 || tokens[i - 1] != "-" => depth -= 1,
            "," if depth == 0 => {
                found.push(&tokens[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    found.push(&tokens[start..]);
    // A comma may stand behind the last part.
    found.retain(|part| !part.is_empty());
    found
}

/// Members of a tuple, be it a type or a pattern; none if it is something else in brackets or without.
fn members(tokens: &[String]) -> Option<usize> {
    let mut rest = tokens;
    loop {
        match rest {
            [first, after @ ..] if first == "&" || first == "mut" => rest = after,
            // The name of a lifetime.
            [first, _, after @ ..] if first == "'" => rest = after,
            _ => break,
        }
    }
    if rest.first()? != "(" || after_group(rest, 0) != rest.len() {
        return None;
    }
    let inside = &rest[1..rest.len() - 1];
    inside.iter().any(|token| token == ",").then(|| parts(inside).len()).filter(|&count| count > 1)
}

/// Members of a parameter that is a tuple.
fn taken_apart(parameter: &[String]) -> Option<usize> {
    let colon = parameter.iter().position(|token| token == ":")?;
    let (pattern, declared) = (&parameter[..colon], &parameter[colon + 1..]);
    members(declared).max(members(pattern))
}

/// The place behind the generics that begin at `i`, if some do.
fn after_generics(tokens: &[String], i: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(i) {
        match token.as_str() {
            "<" => depth += 1,
            ">" if tokens[at - 1] != "-" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == i { i } else { at + 1 };
        }
    }
    tokens.len()
}

/// Functions of a source that have tuples among their parameters, and how many functions there are.
fn functions(source: &str) -> (Vec<Function>, usize) {
    let tokens = without_tests(&tokens(source));
    let (mut found, mut seen) = (Vec::new(), 0);
    for (i, _) in tokens.iter().enumerate().filter(|(_, token)| *token == "fn") {
        let Some(name) = tokens.get(i + 1).filter(|t| t.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        else {
            continue;
        };
        let open = after_generics(&tokens, i + 2);
        if tokens.get(open).is_none_or(|token| token != "(") {
            continue;
        }
        seen += 1;
        let all = parts(&tokens[open + 1..after_group(&tokens, open) - 1]);
        let tuples: Vec<usize> = all.iter().filter_map(|parameter| taken_apart(parameter)).collect();
        // What is converted from is for the trait to say.
        if tuples.is_empty() || name == "from" {
            continue;
        }
        let parameters = all.len() - tuples.len() + tuples.iter().sum::<usize>();
        found.push(Function { name: name.clone(), tuples, parameters });
    }
    (found, seen)
}

/// Every Rust file below a folder, but those of unit tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn parameters_are_no_tuples() {
    let (mut all, mut large, mut tuples, mut seen) = (Vec::new(), Vec::new(), 0, 0);
    for entry in fs::read_dir("..").expect("crates") {
        for path in sources(&entry.expect("a crate").path().join("src")) {
            let source = fs::read_to_string(&path).expect("a source");
            let (found, count) = functions(&source);
            seen += count;
            for function in found {
                tuples += function.tuples.len();
                let text = format!("{}: {function:?}", path.display());
                if function.parameters > MOST || function.tuples.iter().any(|&members| members > 2) {
                    large.push(text.clone());
                }
                all.push(text);
            }
        }
    }
    assert!(seen > 5000, "{seen} functions");
    assert!(
        large.is_empty(),
        "give each member a parameter, or what belongs together a name:\n{}",
        large.join("\n")
    );
    assert_eq!(tuples, TUPLES, "more than there were, or fewer than the number says:\n{}", all.join("\n"));
}

#[test]
fn tuples_are_found_where_they_are() {
    let source = r#"
        impl<'a, T: Fn(u8) -> u8> Leg<'a, T> {
            pub(crate) fn follow<F: Fn((u8, u8)) -> u8>(&'a self, (to, by_area): (RouterId, bool), seed: F) -> (u8, u8) { 0 }
            fn behind(self, ends: &'a mut (TerminalId, TerminalId), _: (u8, Vec<(u8, u8)>),) {}
        }
        fn three((a, b, c): (u8, u8, u8)) {}
        fn eight(a: u8, b: u8, c: u8, d: u8, e: u8, pair: (u8, u8), g: Map<u8, u8>) {}
        fn named((x, y): Place, &(first, ..): &Both) {}
        trait Send { fn send(&mut self, ends: (u8, u8)); }
        fn plain(out: &mut (impl Write + Seek), f: &dyn Fn((u8, u8)) -> (u8, u8), g: fn((u8, u8)), v: &[(u8, u8)]) {}
        fn taken(Point { x, y }: Point, [a, b]: [u8; 2], nothing: ()) { let f = |(a, b): (u8, u8)| a; }
        // fn comment((a, b): (u8, u8)) {}
        const TEXT: &str = "fn text((a, b): (u8, u8)) {}";
        impl From<(u8, u8)> for Point { fn from((x, y): (u8, u8)) -> Self { Self { x, y } } }
        #[cfg(test)]
        mod tests { fn tested((a, b): (u8, u8)) {} }
        fn last((a, b): (u8, u8)) {}
    "#;
    let (found, seen) = functions(source);
    let function = |name: &str, tuples: &[usize], parameters| Function {
        name: name.to_owned(),
        tuples: tuples.to_vec(),
        parameters,
    };
    let planted = [
        function("follow", &[2], 4),
        function("behind", &[2, 2], 5),
        function("three", &[3], 3),
        function("eight", &[2], 8),
        function("named", &[2, 2], 4),
        function("send", &[2], 3),
        function("last", &[2], 2),
    ];
    assert_eq!(found, planted);
    assert_eq!(seen, 10);
}
