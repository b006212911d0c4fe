//! The smallest complete experiment of each entry, from `reference/examples.txt`: what all share, what a list adds, what the entry adds.

use crate::{catalog::Shelf, registry::Registry};
use base::param::Kind;

const TEXT: &str = include_str!("../../reference/examples.txt");

/// The command that runs an example, unless it names another.
pub const RUN: &str = "netloom run example.toml";

/// Parameters of links in examples, whose fabric says nothing about them.
const LINK: &str =
    r#"{ bandwidth = "25 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }"#;

/// What the figure of an example shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// None is drawn.
    None,
    /// The network, coloured by what its links carried.
    Map,
    /// Who sends how much to whom.
    Matrix,
    /// When some ranks create their messages.
    Times,
    /// Shares of messages by their sizes.
    Sizes,
    /// Latency over offered load.
    Loads,
}

/// An example of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The experiment, as `example.toml`.
    pub text: String,
    /// Names and texts of files that stand beside it.
    pub files: Vec<(String, String)>,
    /// What its figure shows.
    pub figure: Figure,
    /// The command that uses it.
    pub command: String,
}

/// What the file says under one mark.
#[derive(Default)]
struct Part<'a> {
    sections: Vec<(&'a str, Vec<&'a str>)>,
    files: Vec<(&'a str, Vec<&'a str>)>,
    figure: Option<&'a str>,
    command: Option<&'a str>,
}

/// Marks of the file with what stands under them, in its order.
fn parts(text: &str) -> Vec<(&str, Part<'_>)> {
    let mut all: Vec<(&str, Part<'_>)> = Vec::new();
    let mut in_file = false;
    for line in text.lines() {
        if let Some(mark) = line.strip_prefix("== ") {
            all.push((mark, Part::default()));
            in_file = false;
            continue;
        }
        let Some((_, part)) = all.last_mut() else { continue };
        if let Some(name) = line.strip_prefix("@ ") {
            part.files.push((name, Vec::new()));
            in_file = true;
        } else if let Some(name) = header(line) {
            part.sections.push((name, Vec::new()));
            in_file = false;
        } else if let Some(figure) = line.strip_prefix("figure: ") {
            part.figure = Some(figure);
        } else if let Some(command) = line.strip_prefix("command: ") {
            part.command = Some(command);
        } else {
            let blocks = if in_file { &mut part.files } else { &mut part.sections };
            if let Some((_, lines)) = blocks.last_mut() {
                lines.push(line);
            }
        }
    }
    for (_, part) in &mut all {
        for (_, lines) in part.sections.iter_mut().chain(&mut part.files) {
            lines.truncate(lines.iter().rposition(|l| !l.trim().is_empty()).map_or(0, |last| last + 1));
        }
    }
    all
}

/// The name in `[name]`.
fn header(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    name.chars().all(|c| c.is_ascii_lowercase() || "._-".contains(c)).then_some(name)
}

/// What an entry is called among the pages of its list: its name, for algorithms with the collective that they are for.
#[must_use]
pub fn slug(registry: &Registry, shelf: &Shelf, index: usize) -> String {
    let name = shelf.entries[index].name;
    match kind(registry, shelf, index) {
        Some(kind) => format!("{}-{name}", kind.replace('_', "-")),
        None => name.to_owned(),
    }
}

/// The collective that stands for all that an algorithm is for: the first that workload `collective` knows.
fn kind<'a>(registry: &Registry, shelf: &'a Shelf, index: usize) -> Option<&'a str> {
    let kinds = || shelf.uses.get(index).into_iter().flat_map(|uses| uses.split(", "));
    let workload = registry.workloads.iter().find(|w| w.about.name == "collective");
    let words = workload.and_then(|w| w.about.params.iter().find(|p| p.name == "operation")).map(|p| p.kind);
    let known = |kind: &str| matches!(words, Some(Kind::Choice(all)) if all.contains(&kind.replace('_', "-").as_str()));
    kinds().find(|kind| known(kind)).or_else(|| kinds().next())
}

/// The example of an entry; `None` if the file has none for it nor for all of its list.
#[must_use]
pub fn example(registry: &Registry, shelf: &Shelf, index: usize) -> Option<Example> {
    let (all, own) =
        (format!("{}/*", shelf.plural), format!("{}/{}", shelf.plural, slug(registry, shelf, index)));
    let parts = parts(TEXT);
    let of = |mark: &str| parts.iter().find(|(known, _)| *known == mark).map(|(_, part)| part);
    let (shared, mine) = (of(&all), of(&own));
    if shared.is_none() && mine.is_none() {
        return None;
    }
    let mut example = Part::default();
    for part in [of("base"), shared, mine].into_iter().flatten() {
        example.add(part);
    }
    let kind = kind(registry, shelf, index).unwrap_or_default();
    let filled = |line: &str| {
        let line = line.replace("NAME", shelf.entries[index].name);
        line.replace("OPERATION", &kind.replace('_', "-")).replace("KIND", kind)
    };
    let sections: Vec<String> = example
        .sections
        .iter()
        .map(|(name, lines)| section(registry, name, lines.iter().map(|line| filled(line)).collect()))
        .collect();
    let file = |(name, lines): &(&str, Vec<&str>)| ((*name).to_owned(), lines.join("\n") + "\n");
    Some(Example {
        text: sections.join("\n"),
        files: example.files.iter().map(file).collect(),
        figure: figure(example.figure.unwrap_or("none")),
        command: filled(example.command.unwrap_or(RUN)),
    })
}

impl<'a> Part<'a> {
    /// Sections of `other` take the place of those of the same name; several of one name are several only within one part.
    fn add(&mut self, other: &Part<'a>) {
        let mut new: Vec<&str> = Vec::new();
        for (name, lines) in &other.sections {
            if let Some(name) = name.strip_prefix('-') {
                self.sections.retain(|(known, _)| *known != name);
                continue;
            }
            let place = self.sections.iter().position(|(known, _)| known == name);
            match place.filter(|_| !new.contains(name)) {
                Some(place) => self.sections[place].1.clone_from(lines),
                None => self.sections.push((name, lines.clone())),
            }
            new.push(name);
        }
        if !other.files.is_empty() {
            self.files.clone_from(&other.files);
        }
        self.figure = other.figure.or(self.figure);
        self.command = other.command.or(self.command);
    }
}

/// A section as it stands in an experiment, with the links that a fabric needs.
fn section(registry: &Registry, name: &str, mut lines: Vec<String>) -> String {
    if name == "fabric" && !lines.iter().any(|line| line.starts_with("link.")) {
        let chosen = lines.iter().find_map(|line| line.strip_prefix("topology = "));
        let named = |name: &str| registry.topologies.iter().find(|t| t.about.name == name);
        if let Some(topology) = chosen.and_then(|chosen| named(chosen.trim_matches('"'))) {
            lines.extend(topology.classes[..topology.required].iter().map(|c| format!("link.{c} = {LINK}")));
        }
    }
    let several = matches!(name, "job" | "plot" | "sweep.axis" | "sweep.skip");
    let head = if several { format!("[[{name}]]\n") } else { format!("[{name}]\n") };
    lines.iter().fold(head, |text, line| text + line + "\n")
}

fn figure(word: &str) -> Figure {
    match word {
        "map" => Figure::Map,
        "matrix" => Figure::Matrix,
        "times" => Figure::Times,
        "sizes" => Figure::Sizes,
        "loads" => Figure::Loads,
        "none" => Figure::None,
        other => unreachable!("`figure: {other}` in reference/examples.txt"),
    }
}

/// What is wrong with the file: entries without an example, and examples of what does not exist. A line each that says what to do.
#[must_use]
pub fn faults(registry: &Registry, shelves: &[Shelf]) -> Vec<String> {
    let mut known = vec!["base".to_owned()];
    let mut faults = Vec::new();
    for shelf in shelves {
        known.push(format!("{}/*", shelf.plural));
        for index in 0..shelf.entries.len() {
            let mark = format!("{}/{}", shelf.plural, slug(registry, shelf, index));
            if example(registry, shelf, index).is_none() {
                faults.push(format!(
                    "{mark} has no example: add `== {mark}` with the sections that it needs to crates/netloom/reference/examples.txt"
                ));
            }
            known.push(mark);
        }
    }
    let unknown =
        parts(TEXT).into_iter().map(|(mark, _)| mark).filter(|mark| !known.iter().any(|k| k == mark));
    faults.extend(
        unknown.map(|mark| format!("`== {mark}` in reference/examples.txt is of no entry: remove it")),
    );
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::shelves;
    use base::registry::About;
    use fabric::registry::{TOPOLOGIES, Topology};

    #[test]
    fn every_entry_has_an_example() {
        let registry = Registry::standard();
        let faults = faults(&registry, &shelves(&registry));
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    static MINE: Topology =
        Topology { about: About { name: "mine", ..TOPOLOGIES[0].about }, ..TOPOLOGIES[0] };

    /// Planted: a preset list has no example for all, so an entry more has none; an example of a list that does not exist is found too.
    #[test]
    fn what_is_missing_or_left_over_is_found() {
        let registry = Registry::standard();
        let mut all = shelves(&registry);
        let presets = all.iter_mut().find(|s| s.plural == "presets").expect("a list");
        presets.entries.push(&MINE.about);
        let found = faults(&registry, &all);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("presets/mine has no example: add `== presets/mine`"), "{found:?}");
        all.retain(|s| s.plural != "presets");
        let found = faults(&registry, &all);
        assert!(found.iter().any(|f| f.starts_with("`== presets/percs-hub`")), "{found:?}");
    }

    #[test]
    fn later_sections_take_the_place_of_earlier_ones() {
        let text = "# no part\n== a\n[x]\nk = 1\n\n[y]\nl = 1\n== b\nfigure: map\n@ f\n[1] one\n\n[x]\nk = 2\n[-y]\n[z]\n[z]\nm = 1\n";
        let all = parts(text);
        let mut sum = Part::default();
        all.iter().for_each(|(_, part)| sum.add(part));
        assert_eq!(sum.sections, [("x", vec!["k = 2"]), ("z", vec![]), ("z", vec!["m = 1"])]);
        assert_eq!((sum.files, sum.figure), (vec![("f", vec!["[1] one"])], Some("map")));
    }
}
