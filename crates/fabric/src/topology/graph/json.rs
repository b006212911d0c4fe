//! The JSON form: what `export::json` writes. See [`super::TOPOLOGY`] for its rules.

use super::{
    builder::{Cables, Classes, End, GraphBuilder, LINK, Link},
    mistake::{Mistake, Place, done},
};
use base::mistakes::Mistakes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The name of the form, in every file.
pub(super) const FORMAT: &str = "netloom-graph";
/// The version that is read and written.
pub(super) const VERSION: u64 = 1;

/// The file; elements of the long lists are read one by one, so that each can be blamed for its mistakes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    format: String,
    version: u64,
    #[serde(default, rename = "topology")]
    _topology: Option<String>,
    routers: u64,
    #[serde(default)]
    ports: Option<Vec<u64>>,
    #[serde(borrow)]
    links: Vec<&'a RawValue>,
    #[serde(borrow)]
    terminals: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cable {
    #[serde(default)]
    class: Option<String>,
    a: Spot,
    b: Spot,
    #[serde(default)]
    count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a router's number or [router, port] is expected")]
enum Spot {
    Router(u64),
    Port([u64; 2]),
}

impl From<Spot> for End {
    fn from(spot: Spot) -> Self {
        match spot {
            Spot::Router(router) => Self::of(router),
            Spot::Port([router, port]) => Self { router, port: Some(port) },
        }
    }
}

pub(super) fn read(text: &str, classes: Classes) -> Result<GraphBuilder, Vec<Mistake>> {
    let file: File<'_> = serde_json::from_str(text).map_err(|error| {
        let column = error.column().saturating_sub(1);
        let place = Place { line: error.line() as u64, start: column, end: column + 1 };
        vec![place.mistake(plain(&error))]
    })?;
    let whole = |message: String| Err(vec![Place::default().mistake(message)]);
    if file.format != FORMAT {
        return whole(format!("the format is \"{}\", not \"{FORMAT}\"", file.format));
    }
    if file.version != VERSION {
        return whole(format!("the version is {}; version {VERSION} can be read", file.version));
    }
    if let Some(ports) = &file.ports
        && ports.len() as u64 != file.routers
    {
        return whole(format!("`ports` has {} numbers for {} routers", ports.len(), file.routers));
    }
    let lines = Lines::new(text);
    let mut mistakes = Mistakes::default();
    let mut builder = GraphBuilder { routers: file.routers, ports: file.ports, ..GraphBuilder::default() };
    for raw in file.links {
        keep(link(classes, raw, lines.place(raw)), &mut builder.links, &mut mistakes);
    }
    for raw in file.terminals {
        let place = lines.place(raw);
        let read =
            serde_json::from_str(raw.get()).map(|spot: Spot| Cables { end: spot.into(), count: 1, place });
        keep(read.map_err(|error| place.mistake(plain(&error))), &mut builder.terminals, &mut mistakes);
    }
    done(mistakes).map(|()| builder)
}

fn keep<T>(read: Result<T, Mistake>, into: &mut Vec<T>, mistakes: &mut Mistakes<Mistake>) {
    match read {
        Ok(value) => into.push(value),
        Err(mistake) => mistakes.push(mistake),
    }
}

fn link(classes: Classes, raw: &RawValue, place: Place) -> Result<Link, Mistake> {
    let cable: Cable = serde_json::from_str(raw.get()).map_err(|error| place.mistake(plain(&error)))?;
    let class = cable.class.map_or(Ok(LINK), |name| GraphBuilder::class(classes, &name, place))?;
    let count = cable.count.unwrap_or(1);
    if count == 0 {
        return Err(place.mistake("a link has one cable or more"));
    }
    Ok(Link { class, ends: [cable.a.into(), cable.b.into()], count, place })
}

/// The reader's message without its position.
pub(in crate::topology) fn plain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.clone(), |(text, _)| text.to_owned())
}

/// Where lines begin.
pub(in crate::topology) struct Lines<'a> {
    text: &'a str,
    begin: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(in crate::topology) fn new(text: &'a str) -> Self {
        let begin = [0].into_iter().chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Self { text, begin }
    }

    /// The part of an element that stands in the line in which it begins.
    pub(in crate::topology) fn place(&self, raw: &RawValue) -> Place {
        let start = raw.get().as_ptr().addr() - self.text.as_ptr().addr();
        self.at(start, raw.get().lines().next().map_or(0, str::len))
    }

    /// So many bytes from a byte of the text.
    pub(in crate::topology) fn at(&self, start: usize, length: usize) -> Place {
        let line = self.begin.partition_point(|&begin| begin <= start);
        let first = self.begin[line - 1];
        Place { line: line as u64, start: start - first, end: start - first + length }
    }
}
