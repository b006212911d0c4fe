//! The JSON form. See [`super::TOPOLOGY`] for its rules.

use super::limits::{MAX_HOSTS, MAX_LATENCY, MAX_LINKS};
use crate::{
    platform::{Event, Link, Platform, Policy},
    topology::graph::{Lines, Mistake, Place, done, plain},
};
use base::{mistakes::Mistakes, registry::nearest, sorted::SortedMap};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The name of the form, in every file.
const FORMAT: &str = "netloom-platform";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    format: String,
    version: u64,
    hosts: Vec<String>,
    #[serde(borrow)]
    links: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    routes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    events: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkRow {
    name: String,
    bandwidth_bytes_per_s: f64,
    latency_s: f64,
    #[serde(default)]
    sharing: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteRow {
    from: String,
    to: String,
    links: Vec<String>,
    #[serde(default)]
    symmetric: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventRow {
    time_s: f64,
    link: String,
    bandwidth_bytes_per_s: f64,
}

/// What is read so far.
#[derive(Default)]
struct PlatformReader {
    platform: Platform,
    hosts: SortedMap<String, u32>,
    links: SortedMap<String, u32>,
    mistakes: Mistakes<Mistake>,
}

pub(super) fn read(text: &str) -> Result<Platform, Vec<Mistake>> {
    let file: File<'_> = serde_json::from_str(text).map_err(|error| {
        let column = error.column().saturating_sub(1);
        let place = Place { line: error.line() as u64, start: column, end: column + 1 };
        vec![place.mistake(plain(&error))]
    })?;
    let whole = |message: String| Err(vec![Place::default().mistake(message)]);
    if file.format != FORMAT {
        return whole(format!("the format is \"{}\", not \"{FORMAT}\"", file.format));
    }
    if file.version != 1 {
        return whole(format!("the version is {}; version 1 can be read", file.version));
    }
    if file.hosts.len() as u64 > MAX_HOSTS || file.links.len() as u64 > MAX_LINKS {
        return whole(format!("there may be {MAX_HOSTS} hosts and {MAX_LINKS} links at most"));
    }
    let lines = Lines::new(text);
    let mut reader = PlatformReader::default();
    for (n, host) in file.hosts.iter().enumerate() {
        if reader.hosts.insert(host.clone(), n as u32).is_some() {
            reader.blame(Place::default(), format!("host `{host}` comes twice"));
        }
    }
    reader.platform.hosts = file.hosts;
    for raw in file.links {
        reader.each(raw, lines.place(raw), PlatformReader::link);
    }
    for raw in file.routes {
        reader.each(raw, lines.place(raw), PlatformReader::route);
    }
    for raw in file.events {
        reader.each(raw, lines.place(raw), PlatformReader::event);
    }
    done(reader.mistakes).map(|()| reader.platform)
}

impl PlatformReader {
    fn blame(&mut self, place: Place, message: impl Into<String>) {
        self.mistakes.push(place.mistake(message));
    }

    /// Reads one element and takes it, or blames it.
    fn each<'a, T: Deserialize<'a>>(
        &mut self,
        raw: &'a RawValue,
        place: Place,
        take: impl FnOnce(&mut Self, T) -> Result<(), String>,
    ) {
        let read = serde_json::from_str(raw.get()).map_err(|e| plain(&e));
        if let Err(message) = read.and_then(|row| take(self, row)) {
            self.blame(place, message);
        }
    }

    fn link(&mut self, row: LinkRow) -> Result<(), String> {
        let LinkRow { name, bandwidth_bytes_per_s: bandwidth, latency_s: latency, sharing } = row;
        if !(bandwidth > 0.0 && bandwidth.is_finite()) {
            return Err(format!("the bandwidth of link `{name}` is {bandwidth}: it must be above zero"));
        }
        if !(0.0..=MAX_LATENCY).contains(&latency) {
            return Err(format!(
                "the latency of link `{name}` is {latency} s: it must be from 0 to {MAX_LATENCY} s"
            ));
        }
        let (names, policy) = match sharing.as_deref() {
            None | Some("shared") => (vec![name], Policy::Shared),
            Some("fat-pipe") => (vec![name], Policy::FatPipe),
            Some("split-duplex") => (vec![format!("{name}_UP"), format!("{name}_DOWN")], Policy::Shared),
            Some(other) => {
                let known = ["shared", "fat-pipe", "split-duplex"];
                let hint =
                    nearest(other, known).first().map_or(String::new(), |n| format!(": did you mean `{n}`?"));
                return Err(format!("`{other}` is no rule of sharing{hint}"));
            }
        };
        for name in names {
            let number = self.platform.links.len() as u32;
            if self.links.insert(name.clone(), number).is_some() {
                return Err(format!("link `{name}` comes twice"));
            }
            self.platform.links.push(Link { name, bandwidth, latency, policy });
        }
        Ok(())
    }

    fn host(&self, name: &str) -> Result<u32, String> {
        self.hosts.get(name).copied().ok_or_else(|| unknown("host", name, self.hosts.keys()))
    }

    fn link_named(&self, name: &str) -> Result<u32, String> {
        self.links.get(name).copied().ok_or_else(|| unknown("link", name, self.links.keys()))
    }

    fn route(&mut self, row: RouteRow) -> Result<(), String> {
        let ends = (self.host(&row.from)?, self.host(&row.to)?);
        let links = row.links.iter().map(|l| self.link_named(l)).collect::<Result<Vec<_>, _>>()?;
        if row.symmetric && ends.0 != ends.1 {
            let back = row.links.iter().rev().map(|l| self.link_named(&turned(l, &self.links)));
            let back = back.collect::<Result<Vec<_>, _>>()?;
            self.platform.routes.insert((ends.1, ends.0), back);
        }
        if self.platform.routes.insert(ends, links).is_some() {
            return Err(format!("the route from `{}` to `{}` comes twice", row.from, row.to));
        }
        Ok(())
    }

    fn event(&mut self, row: EventRow) -> Result<(), String> {
        let link = self.link_named(&row.link)?;
        let (time, bandwidth) = (row.time_s, row.bandwidth_bytes_per_s);
        if !(time >= 0.0 && time.is_finite() && bandwidth >= 0.0 && bandwidth.is_finite()) {
            return Err("time and bandwidth of an event must not be negative".to_owned());
        }
        self.platform.events.push(Event { time, link, bandwidth });
        Ok(())
    }
}

/// The other direction of a split link, or the link itself.
pub(super) fn turned(name: &str, links: &SortedMap<String, u32>) -> String {
    let other = match (name.strip_suffix("_UP"), name.strip_suffix("_DOWN")) {
        (Some(stem), _) => format!("{stem}_DOWN"),
        (_, Some(stem)) => format!("{stem}_UP"),
        _ => return name.to_owned(),
    };
    if links.contains_key(&other) { other } else { name.to_owned() }
}

/// The message about a name that does not exist.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<&str> = known.map(String::as_str).take(10_000).collect();
    let near = nearest(name, known);
    let hint = near.first().map_or(String::new(), |n| format!(": did you mean `{n}`?"));
    format!("there is no {what} `{name}`{hint}")
}
