//! `--set path=value`: values of the command line put into the tree in place of the file's.
//!
//! Each option is a source of its own, so that a mistake in it points at the option. A path is keys joined by dots;
//! a number addresses an entry of a list (`job.0.load`). A value is TOML; one that is not TOML is taken as text, so
//! that shells need no inner quotes: `--set experiment.duration="10 us"`. Without a value, `--set hybrid.switch=`, the key is taken out of the file: what
//! another choice in its section does not know need not stay.

use super::tree::{self, Data, Entry, Node, Table};
use base::diag::{Diagnostic, Diagnostics, Place};

/// Name of the options as a source of diagnostics.
pub const SOURCE: &str = "--set";

/// Puts one option into the tree, or says why it cannot be.
pub fn apply(root: &mut Table, option: &str, diagnostics: &mut Diagnostics) {
    let source = diagnostics.add_source(SOURCE, option);
    let Some((path, value)) = option.split_once('=') else {
        let place = Place { source, start: 0, end: option.len() };
        diagnostics.push(Diagnostic::new(place, "`--set` wants PATH=VALUE").label("no `=` in it"));
        return;
    };
    let keys = keys(source, path);
    if let Some((_, place)) = keys.iter().find(|(key, _)| key.is_empty()) {
        diagnostics.push(Diagnostic::new(*place, "the path has an empty key").label("a key is missing"));
        return;
    }
    if keys.len() > tree::MAX_DEPTH {
        diagnostics.push(Diagnostic::new(keys[0].1, "the path is too long"));
        return;
    }
    if value.trim().is_empty() {
        if let Err(mistake) = take_out(root, &keys) {
            diagnostics.push(*mistake);
        }
        return;
    }
    let place = Place { source, start: path.len() + 1, end: option.len() };
    let node = Node { place, data: data(value, place) };
    if let Err(mistake) = put(root, &keys, node) {
        diagnostics.push(*mistake);
    }
}

/// Puts a value at a path that another text names, which stands at `place` there.
pub fn put_at(root: &mut Table, path: &str, place: Place, node: Node, diagnostics: &mut Diagnostics) {
    let keys: Vec<(&str, Place)> = path.split('.').map(|key| (key.trim(), place)).collect();
    if let Err(mistake) = put(root, &keys, node) {
        diagnostics.push(*mistake);
    }
}

/// The path's keys and their places.
fn keys(source: usize, path: &str) -> Vec<(&str, Place)> {
    let mut start = 0;
    let mut keys = Vec::new();
    for part in path.split('.') {
        let key = part.trim();
        let lead = part.len() - part.trim_start().len();
        keys.push((key, Place { source, start: start + lead, end: start + lead + key.len() }));
        start += part.len() + 1;
    }
    keys
}

/// The value: TOML if it is a single TOML value, else text.
fn data(value: &str, place: Place) -> Data {
    let mut scratch = Diagnostics::default();
    let source = scratch.add_source(SOURCE, format!("v={value}"));
    let table = tree::parse(source, &mut scratch);
    match table.map(|t| t.entries) {
        Some(mut entries) if entries.len() == 1 && entries[0].key == "v" => {
            let mut node = entries.swap_remove(0).node;
            relocate(&mut node, place);
            node.data
        }
        _ => Data::Text(value.trim().to_owned()),
    }
}

/// Makes everything within the value point at the option's value.
fn relocate(node: &mut Node, place: Place) {
    node.place = place;
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| relocate(item, place)),
        Data::Table(table) => {
            for entry in &mut table.entries {
                entry.key_place = place;
                relocate(&mut entry.node, place);
            }
        }
        _ => {}
    }
}

/// Removes the path's last key, which must be there.
fn take_out(table: &mut Table, keys: &[(&str, Place)]) -> Result<(), Box<Diagnostic>> {
    let mut at = table;
    for (n, (key, place)) in keys.iter().enumerate() {
        let missing = || {
            let help =
                "a `--set` without a value takes a key out of the file; for an empty text write `\"\"`";
            Box::new(Diagnostic::new(*place, format!("there is no `{key}`")).label("no such key").help(help))
        };
        let found = at.entries.iter().position(|e| e.key == *key).ok_or_else(missing)?;
        if n + 1 == keys.len() {
            at.entries.remove(found);
            break;
        }
        // Of a list the next key chooses an entry: all of it, or a key of the table that it is.
        at = match (&mut at.entries[found].node.data, &keys[n + 1..]) {
            (Data::Table(table), _) => table,
            (Data::List(items), [(index, place), rest @ ..]) => {
                return take_out_of_list(items, index, *place, rest);
            }
            _ => return Err(missing()),
        };
    }
    Ok(())
}

fn take_out_of_list(
    items: &mut Vec<Node>,
    index: &str,
    place: Place,
    rest: &[(&str, Place)],
) -> Result<(), Box<Diagnostic>> {
    let found = index.parse::<usize>().ok().filter(|&i| i < items.len());
    let missing = || Box::new(Diagnostic::new(place, format!("there is no entry `{index}`")));
    let at = found.ok_or_else(missing)?;
    match (&mut items[at].data, rest) {
        (_, []) => drop(items.remove(at)),
        (Data::Table(table), rest) => return take_out(table, rest),
        _ => return Err(missing()),
    }
    Ok(())
}

/// Walks to the path's last key, making tables on the way, and replaces what is there.
fn put(table: &mut Table, keys: &[(&str, Place)], node: Node) -> Result<(), Box<Diagnostic>> {
    let ((key, place), rest) = keys.split_first().expect("a path has at least one key");
    if rest.is_empty() {
        let entry = Entry { key: (*key).to_owned(), key_place: *place, node };
        match table.get_mut(key) {
            Some(old) => *old = entry,
            None => table.entries.push(entry),
        }
        return Ok(());
    }
    if table.get(key).is_none() {
        let node = Node { place: *place, data: Data::Table(Table::default()) };
        table.entries.push(Entry { key: (*key).to_owned(), key_place: *place, node });
    }
    let entry = table.get_mut(key).expect("it was just made");
    put_below(&mut entry.node, key, rest, node)
}

fn put_below(at: &mut Node, name: &str, keys: &[(&str, Place)], node: Node) -> Result<(), Box<Diagnostic>> {
    let (key, place) = keys[0];
    match &mut at.data {
        Data::Table(table) => put(table, keys, node),
        Data::List(items) => {
            let count = items.len();
            let item = key.parse::<usize>().ok().and_then(|i| items.get_mut(i)).ok_or_else(|| {
                let message = format!("`{name}` has no entry `{key}`");
                let help = match count {
                    0 => "the list is empty".to_owned(),
                    _ => format!("its entries are numbered from 0 to {}", count - 1),
                };
                Box::new(Diagnostic::new(place, message).label("no such entry").help(help))
            })?;
            match &keys[1..] {
                [] => *item = node,
                rest => return put_below(item, key, rest, node),
            }
            Ok(())
        }
        other => {
            let message = format!("`{name}` is {}, so it has no `{key}`", other.noun());
            Err(Box::new(Diagnostic::new(place, message).label("no such key")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(options: &[&str]) -> (Table, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.add_source("x.toml", "[a]\nb = 1\n[[job]]\nload = 1.0\ndims = [4, 4]\n");
        let mut root = tree::parse(file, &mut diagnostics).unwrap();
        for option in options {
            apply(&mut root, option, &mut diagnostics);
        }
        (root, diagnostics)
    }

    fn data_at(root: &Table, path: &str) -> Data {
        let mut data = Data::Table(root.clone());
        for key in path.split('.') {
            data = match data {
                Data::Table(t) => t.get(key).unwrap().node.data.clone(),
                Data::List(l) => l[key.parse::<usize>().unwrap()].data.clone(),
                other => panic!("{other:?}"),
            };
        }
        data
    }

    #[test]
    fn values_are_toml_or_else_text() {
        let (root, found) = with(&[
            "a.b=2",
            "a.c=10 us",
            "d.e.f=conservative",
            "job.0.load=0.5",
            "job.0.dims.1=8",
            "a.g=[1,2]",
        ]);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(data_at(&root, "a.b"), Data::Integer(Some(2)));
        assert_eq!(data_at(&root, "a.c"), Data::Text("10 us".to_owned()));
        assert_eq!(data_at(&root, "d.e.f"), Data::Text("conservative".to_owned()));
        assert_eq!(data_at(&root, "job.0.load"), Data::Real(0.5));
        assert_eq!(data_at(&root, "job.0.dims.1"), Data::Integer(Some(8)));
        assert!(matches!(data_at(&root, "a.g"), Data::List(l) if l.len() == 2));
    }

    #[test]
    fn without_a_value_a_key_is_taken_out() {
        let (root, found) = with(&["a.b=", "job.0.load= ", "job.0.dims.1="]);
        assert!(found.is_empty(), "{found:?}");
        let Data::List(jobs) = data_at(&root, "job") else { panic!("{root:?}") };
        let Data::Table(job) = &jobs[0].data else { panic!("{jobs:?}") };
        assert_eq!(job.entries.iter().map(|e| e.key.as_str()).collect::<Vec<_>>(), ["dims"]);
        assert!(matches!(data_at(&root, "job.0.dims"), Data::List(l) if l.len() == 1));
        assert!(matches!(data_at(&root, "a"), Data::Table(t) if t.entries.is_empty()));
        for option in ["a.c=", "c=", "job.1.load=", "job.1=", "job.0.dims.x=", "a.b.c="] {
            let (_, found) = with(&[option]);
            assert!(found.sorted()[0].message.starts_with("there is no"), "{option}: {found:?}");
        }
        assert_eq!(data_at(&with(&["a.b=\"\""]).0, "a.b"), Data::Text(String::new()));
    }

    #[test]
    fn a_value_cannot_smuggle_in_other_keys() {
        let (root, _) = with(&["a.b=1\nc = 2"]);
        assert_eq!(data_at(&root, "a.b"), Data::Text("1\nc = 2".to_owned()));
    }

    #[test]
    fn mistakes_point_into_the_option() {
        for (option, covered, said) in [
            ("a.b", "a.b", "PATH=VALUE"),
            ("a..b=1", "", "empty key"),
            ("job.1.load=1", "1", "no entry `1`"),
            ("job.x.load=1", "x", "no entry `x`"),
            ("a.b.c=1", "c", "`b` is an integer"),
        ] {
            let (_, found) = with(&[option]);
            let all = found.sorted();
            assert!(all[0].message.contains(said), "{option}: {all:?}");
            assert_eq!(found.text(all[0].place.unwrap()), covered, "{option}");
            assert_eq!(found.sources[all[0].place.unwrap().source].name, SOURCE);
        }
    }
}
