//! `[sweep]`: the axes along which an experiment is repeated, and the points that are left out.
//!
//! An axis names values by their path in the file, as `--set` does. A point of the sweep is one value of each axis, put into the file's
//! tree in place of what stands there: so a value that is wrong is reported where the axis names it.

use super::{
    level::{Level, Measure, Range, shown},
    overrides,
    reader::{self, OPTIONAL, Spec},
    tree::{Data, Entry, Node, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics, Place, SHOWN},
    param::{Kind, Param},
    registry::{About, nearest},
};
use model::section::Section;

/// Most values of an axis.
const MAX_VALUES: u64 = 100_000;

/// Most tables of a name, such as `[[plot]]`.
const MAX_TABLES: usize = 1000;
/// Most values that the conditions of a file name: each is compared with all values of its axis.
const MAX_CONDITIONS: usize = 1000;

/// Most points of a sweep.
pub const MAX_POINTS: usize = 1_000_000;

/// The section `[sweep]`.
pub const SWEEP: About = About {
    name: "sweep",
    summary: "series of runs: the experiment at every point of some axes",
    doc: "`netloom sweep FILE --out DIR` runs them. The points are all combinations of the values of [[sweep.axis]], the first axis \
          outermost, without those that a [[sweep.skip]] leaves out. Repetitions are further runs of each point with other seeds. \
          `netloom run` refuses such a file; `--set sweep=` takes the section out.",
    source: "",
    params: &[Param {
        name: "repetitions",
        kind: Kind::Int { min: 1, max: 10_000 },
        default: Some("1"),
        doc: "Runs of each point: the first with the seed of [experiment], each further one with the next integer.",
    }],
};

/// Tables `[[sweep.axis]]` in it.
pub const AXIS: About = About {
    name: "sweep.axis",
    summary: "an axis of a sweep; one [[sweep.axis]] for each",
    doc: "An axis takes `values`, a list of anything that may stand at its path, or `from`, `to` and `count`: numbers, or quantities \
          with units. Both ends are values. With `paths` several values change together: each entry of `values` is then a list with \
          one value per path. An axis of numbers `until = \"saturated\"` is climbed from its first value to the first at which the \
          network is saturated (or worse); the greatest load that it carries is then found by bisection. One axis can have it.",
    source: "",
    params: &[
        Param {
            name: "name",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Name in tables, figures and [[sweep.skip]]; if left out the last key of the path.",
        },
        Param {
            name: "path",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "What changes: keys joined by dots, numbers addressing entries of lists, such as \"job.0.load\".",
        },
        Param {
            name: "paths",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Instead of `path`: what changes together.",
        },
        Param {
            name: "labels",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Names of the values in tables and legends, one for each; [] for the values themselves.",
        },
        Param {
            name: "count",
            kind: Kind::Int { min: 2, max: MAX_VALUES },
            default: OPTIONAL,
            doc: "Number of values of a range, both ends included.",
        },
        Param {
            name: "scale",
            kind: Kind::Choice(&["linear", "logarithmic"]),
            default: Some("linear"),
            doc: "Values of a range at equal distances, or at equal ratios.",
        },
        Param {
            name: "until",
            kind: Kind::Choice(&["saturated"]),
            default: OPTIONAL,
            doc: "Go no further along this axis than to saturation, and find where it begins.",
        },
        Param {
            name: "tolerance",
            kind: Kind::Real { min: 1e-6, max: 1.0 },
            default: Some("0.02"),
            doc: "With `until`: the bisection ends when the last value that is carried and the first that is not differ by this \
                  fraction of the latter.",
        },
    ],
};

/// Tables `[[sweep.skip]]` in it.
pub const SKIP: About = About {
    name: "sweep.skip",
    summary: "points of a sweep that are left out; one [[sweep.skip]] for each condition",
    doc: "Its keys are names of axes. A point is left out if all of them fit: a value fits itself (or its label), a list fits each of \
          its entries, and a text such as \"> 0.5\" or \"<= 64 KiB\" fits what compares so.",
    source: "",
    params: &[],
};

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it is called in tables.
    pub name: String,
    /// Paths of what changes.
    pub paths: Vec<(String, Place)>,
    /// Its values in order.
    pub levels: Vec<Level>,
    /// Where saturation is looked for, if it is.
    pub search: Option<Search>,
}

/// A search for saturation.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// How halves are found.
    pub range: Range,
    /// Where the bisection ends, relative.
    pub tolerance: f64,
}

/// What the value of an axis must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Number of the axis.
    pub axis: usize,
    test: Test,
}

impl Condition {
    /// True if a value of the axis fits.
    #[must_use]
    pub fn fits(&self, level: &Level) -> bool {
        self.test.fits(level)
    }
}

/// What a value must be to fit.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// One of these.
    Among(Vec<Measure>),
    /// Below, at or above a value: which of the three fit.
    Compared([bool; 3], Measure),
}

/// A checked `[sweep]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The axes, first the outermost.
    pub axes: Vec<Axis>,
    /// Runs of each point.
    pub repetitions: u64,
    /// Conditions: points that fit all of one entry are left out.
    skips: Vec<Vec<Condition>>,
}

impl Sweep {
    /// True if the point with these values, one for each axis, is left out.
    #[must_use]
    pub fn skips(&self, levels: &[&Level]) -> bool {
        let fits =
            |condition: &Condition| levels.get(condition.axis).is_some_and(|level| condition.fits(level));
        self.skips.iter().any(|all| all.iter().all(fits))
    }
}

impl Test {
    fn fits(&self, level: &Level) -> bool {
        match self {
            Self::Among(all) => all.iter().any(|one| {
                let equal = one.compares(&level.measure) && one.number() == level.measure.number();
                equal || *one == level.measure || shown(&one.data()) == level.label
            }),
            Self::Compared(fits, with) => {
                let numbers =
                    level.measure.number().zip(with.number()).filter(|_| with.compares(&level.measure));
                numbers
                    .and_then(|(a, b)| a.partial_cmp(&b))
                    .is_some_and(|order| fits[(order as i8 + 1) as usize])
            }
        }
    }
}

/// Takes `[sweep]` out of a file's tree and reads it; `None` if there is none. Mistakes are reported.
pub fn take(root: &mut Table, diagnostics: &mut Diagnostics) -> Option<Sweep> {
    let at = root.entries.iter().position(|e| e.key == SWEEP.name)?;
    let entry = root.entries.remove(at);
    let nothing = Table::default();
    let table = if let Data::Table(table) = &entry.node.data { table } else { &nothing };
    if !matches!(entry.node.data, Data::Table(_)) {
        let message = format!("`sweep` must be a section, not {}", entry.node.data.noun());
        diagnostics
            .push(Diagnostic::new(entry.key_place, message).help("write it as [sweep] with its axes below"));
        return Some(Sweep { axes: Vec::new(), repetitions: 1, skips: Vec::new() });
    }
    let spec = Spec {
        title: "[sweep]",
        params: SWEEP.params.into(),
        also: &["axis", "skip"],
        elsewhere: &Vec::new,
        lenient: false,
    };
    let section = reader::read(&spec, table, entry.key_place, diagnostics);
    let tables = |name: &str, diagnostics: &mut Diagnostics| tables(table, name, diagnostics);
    let mut axes: Vec<Axis> = Vec::new();
    for (table, home) in tables("axis", diagnostics) {
        axes.extend(read_axis(table, home, &axes, diagnostics));
    }
    if table.get("axis").is_none() && section.complete && section.values.int("repetitions") == 1 {
        let diagnostic = Diagnostic::new(entry.key_place, "[sweep] has no axis and no repetitions");
        diagnostics.push(diagnostic.help("add [[sweep.axis]] with `path` and `values`, or `repetitions`"));
    }
    let (mut skips, mut named) = (Vec::new(), 0);
    for (table, home) in tables("skip", diagnostics) {
        skips.push(conditions(table, home, &axes, &mut named, diagnostics));
    }
    let repetitions = if section.complete { section.values.int("repetitions") } else { 1 };
    Some(Sweep { axes, repetitions, skips })
}

/// The tables of `[[sweep.NAME]]`.
fn tables<'a>(sweep: &'a Table, name: &str, diagnostics: &mut Diagnostics) -> Vec<(&'a Table, Place)> {
    let full = format!("sweep.{name}");
    sweep.get(name).map_or_else(Vec::new, |entry| tables_of(entry, &full, diagnostics))
}

/// The tables of `[[NAME]]`; anything else is reported, and more than a file may have.
pub(super) fn tables_of<'a>(
    entry: &'a Entry,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<(&'a Table, Place)> {
    let items = if let Data::List(items) = &entry.node.data { items.as_slice() } else { &[] };
    let table = |item: &'a Node| match &item.data {
        Data::Table(table) => Some((table, item.place)),
        _ => None,
    };
    let mut all: Vec<_> = items.iter().filter_map(table).collect();
    if all.len() != items.len() || items.is_empty() {
        let message = format!("`{name}` must be a list of tables");
        let help = format!("write [[{name}]] with its keys below");
        diagnostics.push(Diagnostic::new(entry.key_place, message).help(help));
    }
    if let Some(item) = items.get(MAX_TABLES) {
        let message = format!("there are {} [[{name}]]; a file has {MAX_TABLES} at most", items.len());
        let help = "spread them over several files, or say with one what holds for many";
        diagnostics.push(Diagnostic::new(item.place, message).help(help));
        // Nor are they read: each may be wrong.
        all.clear();
    }
    all
}

fn read_axis(table: &Table, home: Place, before: &[Axis], diagnostics: &mut Diagnostics) -> Option<Axis> {
    let count = diagnostics.len();
    let spec = Spec {
        title: "[[sweep.axis]]",
        params: AXIS.params.into(),
        also: &["values", "from", "to"],
        elsewhere: &Vec::new,
        lenient: false,
    };
    let section = reader::read(&spec, table, home, diagnostics);
    if !section.complete {
        return None;
    }
    let paths = read_paths(table, &section, diagnostics);
    let (levels, range) = read_levels(table, &section, paths.len(), diagnostics);
    let last = paths.first().and_then(|(path, _)| path.rsplit('.').next()).unwrap_or("").trim();
    let name = Some(section.values.text("name")).filter(|n| !n.is_empty()).unwrap_or_else(|| last.to_owned());
    let taken = ["seed", "point", "id", "state", "flags"];
    if before.iter().any(|axis| axis.name == name) || taken.contains(&name.as_str()) {
        let message = format!("the name `{name}` of this axis is taken");
        let diagnostic = Diagnostic::new(section.place("name"), message).label("taken");
        diagnostics.push(diagnostic.help("give it a `name` of its own"));
    }
    let search = section
        .get("until")
        .and(range)
        .map(|range| Search { range, tolerance: section.values.real("tolerance") });
    refuse_search(&section, search.is_some(), before, diagnostics);
    (diagnostics.len() == count).then_some(Axis { name, paths, levels, search })
}

/// `until` needs numbers, and stands once.
fn refuse_search(section: &Section, found: bool, before: &[Axis], diagnostics: &mut Diagnostics) {
    let place = section.place("until");
    if section.get("until").is_none() {
        if section.places.contains_key("tolerance") {
            let message = "`tolerance` belongs to `until`, which this axis does not have";
            diagnostics.push(
                Diagnostic::new(section.place("tolerance"), message).help("add `until = \"saturated\"`"),
            );
        }
        return;
    }
    if !found {
        let message = "only an axis of one path over rising numbers can be climbed until saturation";
        let help = "give it `from`, `to` and `count`, or `values` that are numbers, the smallest first, without labels";
        diagnostics.push(Diagnostic::new(place, message).help(help));
    }
    if let Some(other) = before.iter().find(|axis| axis.search.is_some()) {
        let message = format!("axis `{}` has `until` already", other.name);
        diagnostics.push(Diagnostic::new(place, message).help("saturation is looked for along one axis"));
    }
}

fn read_paths(table: &Table, section: &Section, diagnostics: &mut Diagnostics) -> Vec<(String, Place)> {
    let one = Some(section.values.text("path")).filter(|path| !path.is_empty());
    let several = match table.get("paths").map(|e| &e.node.data) {
        Some(Data::List(items)) => items.as_slice(),
        _ => &[],
    };
    let several = several.iter().filter_map(|n| Some((n.data.text()?.to_owned(), n.place)));
    let paths: Vec<_> = one.map(|path| (path, section.place("path"))).into_iter().chain(several).collect();
    let message =
        match (section.places.contains_key("path"), section.places.contains_key("paths"), paths.len()) {
            (true, true, _) => "an axis has `path` or `paths`, not both",
            (_, _, 0) => "the axis does not say what changes",
            _ => "",
        };
    if !message.is_empty() {
        diagnostics.push(Diagnostic::new(section.home, message).help("add `path = \"job.0.load\"`"));
    }
    for (path, place) in &paths {
        let bad = path.split('.').any(|key| key.trim().is_empty());
        if bad || path.trim() == SWEEP.name || path.trim_start().starts_with("sweep.") {
            let message = format!("`{path}` is no path of a value in the experiment");
            diagnostics.push(Diagnostic::new(*place, message).help("keys joined by dots: \"job.0.load\""));
        }
    }
    paths
}

/// The values, and the range that they are on if it may be searched.
fn read_levels(
    table: &Table,
    section: &Section,
    paths: usize,
    diagnostics: &mut Diagnostics,
) -> (Vec<Level>, Option<Range>) {
    let ends =
        table.get("from").zip(table.get("to")).zip(section.get("count").map(|_| section.values.int("count")));
    let given = ["from", "to", "count"].map(|key| section.places.contains_key(key));
    let refuse = |place, message: &str, help: &str, diagnostics: &mut Diagnostics| {
        diagnostics.push(Diagnostic::new(place, message).help(help));
        (Vec::new(), None)
    };
    let help = "write `values = [..]`, or `from`, `to` and `count`";
    let (nodes, range) = match (table.get("values"), ends) {
        (Some(_), _) if given.contains(&true) => {
            return refuse(section.home, "an axis has `values` or a range, not both", help, diagnostics);
        }
        (Some(entry), _) => match &entry.node.data {
            Data::List(items) if !items.is_empty() => (items.clone(), None),
            _ => {
                return refuse(
                    entry.node.place,
                    "`values` must be a list with at least one value",
                    help,
                    diagnostics,
                );
            }
        },
        (None, Some(((from, to), count))) => {
            let Some(range) = read_range(section, from, to, diagnostics) else { return (Vec::new(), None) };
            let place = from.node.place;
            let nodes = range.values(count).iter().map(|m| Node { place, data: m.data() }).collect();
            (nodes, Some(range))
        }
        _ => return refuse(section.home, "the axis does not say its values", help, diagnostics),
    };
    let labels = section.values.texts("labels");
    if !labels.is_empty() && labels.len() != nodes.len() {
        let message = format!("{} labels for {} values", labels.len(), nodes.len());
        diagnostics.push(Diagnostic::new(section.place("labels"), message).help("give each value its label"));
    }
    let mut levels = Vec::new();
    for (n, node) in nodes.into_iter().enumerate() {
        let label = labels.get(n).map(String::as_str);
        levels.extend(zipped(node, paths, diagnostics).map(|nodes| Level::new(nodes, label)));
    }
    if let Some(twice) = second_of_equals(&levels) {
        let message = format!("`{}` is twice among the values of this axis", twice.label);
        let place = twice.nodes.first().map_or(section.home, |n| n.place);
        diagnostics
            .push(Diagnostic::new(place, message).help("leave one out, or give them different `labels`"));
    }
    let range = range.or_else(|| listed_range(&levels)).filter(|_| paths == 1 && labels.is_empty());
    (levels, range.filter(|r| r.from.number() < r.to.number()))
}

/// The first level whose label another one before it has.
fn second_of_equals(levels: &[Level]) -> Option<&Level> {
    // An axis may have a hundred thousand: they are sorted, equal ones in their order.
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by_key(|&n| &levels[n].label);
    let again = order.windows(2).filter(|pair| levels[pair[0]].label == levels[pair[1]].label);
    again.map(|pair| pair[1]).min().map(|n| &levels[n])
}

/// The range of listed numbers that rise.
fn listed_range(levels: &[Level]) -> Option<Range> {
    let (first, last) = (levels.first()?, levels.last()?);
    let rise = |pair: &[Level]| {
        pair[0].measure.compares(&pair[1].measure) && pair[0].measure.number() < pair[1].measure.number()
    };
    let range = Range { from: first.measure.clone(), to: last.measure.clone(), logarithmic: false };
    levels.windows(2).all(rise).then_some(range)
}

fn read_range(section: &Section, from: &Entry, to: &Entry, diagnostics: &mut Diagnostics) -> Option<Range> {
    let (a, b) = (Measure::of(&from.node.data), Measure::of(&to.node.data));
    let logarithmic = section.values.text("scale") == "logarithmic";
    // An integer and a real number are ends of a range of real numbers.
    let range = Range { from: a, to: b, logarithmic };
    let message = if !range.from.compares(&range.to) {
        "`from` and `to` must be two numbers, or two quantities of a kind"
    } else if range.from.number() == range.to.number() {
        "`from` and `to` are equal"
    } else if logarithmic && [&range.from, &range.to].iter().any(|m| m.number().is_none_or(|x| x <= 0.0)) {
        "a logarithmic range lies above zero"
    } else {
        return Some(range);
    };
    diagnostics.push(
        Diagnostic::new(to.node.place, message)
            .help("write `from = 0.1`, `to = 1.0`, or \"1 KiB\" and \"1 MiB\""),
    );
    None
}

/// The values of several paths; a single path takes the value as it is.
fn zipped(node: Node, paths: usize, diagnostics: &mut Diagnostics) -> Option<Vec<Node>> {
    match (paths, node) {
        (1, node) => Some(vec![node]),
        (_, Node { data: Data::List(items), .. }) if items.len() == paths => Some(items),
        (0, _) => None,
        (_, node) => {
            let message =
                format!("each of `values` must be a list of {paths} values, one for each of `paths`");
            diagnostics.push(Diagnostic::new(node.place, message));
            None
        }
    }
}

/// Conditions on axes by their names, at least one; what no value fits is reported. `named` counts the values that conditions before them name.
pub(super) fn conditions(
    table: &Table,
    home: Place,
    axes: &[Axis],
    named: &mut usize,
    diagnostics: &mut Diagnostics,
) -> Vec<Condition> {
    let mut tests = Vec::new();
    for entry in &table.entries {
        let fitted = *named <= MAX_CONDITIONS;
        *named += if let Data::List(items) = &entry.node.data { items.len() } else { 1 };
        if *named > MAX_CONDITIONS {
            if fitted {
                let message =
                    format!("the conditions up to here name {named} values, at most {MAX_CONDITIONS}");
                let help = "an axis's name and \"< 5\" or \">= 1 KiB\" leaves out many values at once";
                diagnostics.push(Diagnostic::new(entry.node.place, message).help(help));
            }
            break;
        }
        let Some(axis) = axes.iter().position(|axis| axis.name == entry.key) else {
            let names = || axes.iter().map(|axis| axis.name.as_str());
            let mut diagnostic =
                Diagnostic::new(entry.key_place, format!("there is no axis `{}`", entry.key))
                    .label("unknown axis");
            if let Some(near) = nearest(&entry.key, names()).first() {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            diagnostics
                .push(diagnostic.help(format!("the axes are {}", names().collect::<Vec<_>>().join(", "))));
            continue;
        };
        let test = test(&entry.node);
        // What fits no value was compared with all: not for more mistakes than are shown.
        let few = diagnostics.len() < SHOWN;
        if few && axes[axis].search.is_none() && !axes[axis].levels.iter().any(|level| test.fits(level)) {
            let message = format!("no value of axis `{}` fits this", entry.key);
            let labels: Vec<&str> = axes[axis].levels.iter().take(12).map(|l| l.label.as_str()).collect();
            let help = format!("its values are such as {}", labels.join(", "));
            diagnostics.push(Diagnostic::new(entry.node.place, message).help(help));
        }
        tests.push(Condition { axis, test });
    }
    if table.entries.is_empty() {
        diagnostics.push(Diagnostic::new(home, "this names no axis: nothing would be chosen"));
    }
    tests
}

fn test(node: &Node) -> Test {
    if let Data::List(items) = &node.data {
        return Test::Among(items.iter().map(|item| Measure::of(&item.data)).collect());
    }
    let text = node.data.text().unwrap_or("").trim();
    let signs = [
        ("<=", [true, true, false]),
        (">=", [false, true, true]),
        ("<", [true, false, false]),
        (">", [false, false, true]),
    ];
    for (sign, fits) in signs {
        let Some(rest) = text.strip_prefix(sign) else { continue };
        let number = rest.trim().parse().map(Measure::Real);
        return Test::Compared(fits, number.unwrap_or_else(|_| Measure::of_text(rest.trim())));
    }
    Test::Among(vec![Measure::of(&node.data)])
}

/// Puts a value of each axis into a tree, at those of its paths that are asked for.
pub fn put(
    root: &mut Table,
    axes: &[Axis],
    levels: &[&Level],
    asked: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) {
    for (axis, level) in axes.iter().zip(levels) {
        for ((path, place), node) in axis.paths.iter().zip(&level.nodes).filter(|((path, _), _)| asked(path))
        {
            overrides::put_at(root, path, *place, node.clone(), diagnostics);
        }
    }
}
