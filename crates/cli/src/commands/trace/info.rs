//! `netloom trace info FILE`

use crate::{
    args::{Format, TraceInput},
    console::Console,
    exit::{Exit, Outcome},
};
use base::{time, units::print_bytes, visible};
use netloom::{
    Error, ErrorKind,
    conversion::{damaged, library, read_whole},
    memory,
    spread::{Spread, size_bin},
    untimed::Programs,
};
use otf2::{Archive, Marker, Scope};
use serde_json::{Map, Value as Json, json};
use std::{fmt::Write as _, path::Path};
use workload::program::{
    census::{Census, Matching},
    file::{self, Content},
    input::Input,
    lower::Options,
};

pub(super) fn info(
    input: &TraceInput,
    expand: Option<&str>,
    format: Format,
    console: &mut Console<'_>,
) -> Outcome {
    let (kind, content) = read_whole(&input.file, input.scale())?;
    let census = memory::within(base::memory::available(), || Census::of(&content).map_err(damaged))?;
    let name = input.file.display().to_string();
    let expanded = expand.map(|library| expanded(input, &content, library)).transpose()?;
    let shares = (kind == file::Format::Otf2).then(|| shares(&input.file)).transpose()?;
    match format {
        Format::Text => {
            let times = shares.map_or_else(String::new, |s| s.text());
            let more = expanded.map_or_else(String::new, |e| e.text());
            console.print(&(text(&base::visible::name(&name), kind, &content, &census) + &more + &times))?;
        }
        Format::Json => {
            let mut object = object(&name, kind, &content, &census);
            if let Some(e) = expanded {
                object["expanded"] = e.object();
            }
            if let Some(s) = shares {
                object["recorded"] = s.object();
            }
            console.print_json(&object)?;
        }
    }
    Ok(Exit::Done)
}

/// What calls become.
struct Expanded {
    library: String,
    census: Census,
}

fn expanded(input: &TraceInput, content: &Content, name: &str) -> Result<Expanded, Error> {
    if let Content::Program(_) = content {
        let message = "this file holds operations, not MPI calls: there is nothing to expand";
        return Err(Error::new(ErrorKind::Usage, message).with_help("leave `--expand` out"));
    }
    let options = Options { chooser: library(name)?, reduce_ps_per_byte: 0 };
    let program = content.clone().program(&Input::file(&input.file), options).map_err(Error::input)?;
    let count = || Census::of_expanded(content, &*program).map_err(damaged);
    let census = memory::within(base::memory::available(), count)?;
    Ok(Expanded { library: name.to_owned(), census })
}

impl Expanded {
    fn text(&self) -> String {
        let Self { library, census } = self;
        let kinds: Vec<String> = census.kinds.iter().map(|(name, n)| format!("{n} {name}")).collect();
        let messages = census.messages();
        let mut lines = vec![
            ("expanded", format!("as {library}: {}", kinds.join(", "))),
            ("", format!("{messages} messages, {} in all", print_bytes(census.bytes))),
        ];
        for (name, (_, bytes)) in &census.collectives {
            let messages = census.collective_messages.get(name).copied().unwrap_or(0);
            lines.push(("", format!("{name}: {messages} messages, {}", print_bytes(*bytes))));
        }
        lines.extend(census.caveats().into_iter().map(|line| ("not counted", line)));
        lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
    }

    fn object(&self) -> Json {
        let Self { library, census } = self;
        let kinds: Map<String, Json> =
            census.kinds.iter().map(|(n, c)| ((*n).to_owned(), json!(c))).collect();
        let collective = |(name, (operations, bytes)): (&String, &(u64, u64))| {
            let messages = census.collective_messages.get(name).copied().unwrap_or(0);
            (name.clone(), json!({"operations": operations, "messages": messages, "bytes": bytes}))
        };
        let collectives: Map<String, Json> = census.collectives.iter().map(collective).collect();
        json!({
            "library": library,
            "operations": kinds,
            "messages": {"count": census.messages(), "bytes": census.bytes, "largest": census.largest},
            "collectives": collectives,
            "not_counted": census.caveats(),
        })
    }
}

/// Markers that are shown to people.
const SHOWN: usize = 10;

/// Where time went when an OTF2 archive was recorded (HAEC-SIM, Table 1).
struct Recorded {
    run_s: f64,
    application: f64,
    mpi: f64,
    events: u64,
    /// Notes beside the events, with their times in picoseconds from the start.
    markers: Vec<(u64, Marker)>,
}

fn shares(file: &Path) -> Result<Recorded, Error> {
    let reported = |e: otf2::Error| Error::new(ErrorKind::Input, e.to_string());
    let archive = Archive::open(file).map_err(reported)?;
    let shares = otf2::shares(&archive).map_err(reported)?;
    let total = shares.total.max(1) as f64;
    let mpi = shares.mpi as f64 / total;
    let run_s = shares.run as f64 / archive.definitions.clock.resolution as f64;
    let clock = archive.definitions.clock;
    let markers = archive.markers().map_err(reported)?;
    let markers = markers.into_iter().map(|m| (clock.picoseconds(m.time), m)).collect();
    Ok(Recorded { run_s, application: 1.0 - mpi, mpi, events: shares.events, markers })
}

impl Recorded {
    fn text(&self) -> String {
        let (application, mpi) = (100.0 * self.application, 100.0 * self.mpi);
        let mut text = format!(
            "recorded    {} events in {:.6} s: {application:.2} % exclusive application, {mpi:.2} % exclusive MPI\n",
            self.events, self.run_s
        );
        for (n, (at, marker)) in self.markers.iter().enumerate().take(SHOWN) {
            let name = if n == 0 { "markers" } else { "" };
            let said = format!("{}, {}: {}", marker.group, marker.category, marker.text);
            let _ = writeln!(text, "{name:12}{} {}", time::display(*at), visible::name(&said));
        }
        let more = self.markers.len().saturating_sub(SHOWN);
        if more > 0 {
            let _ = writeln!(text, "{:12}and {more} more", "");
        }
        text
    }

    fn object(&self) -> Json {
        json!({
            "events": self.events,
            "run_s": self.run_s,
            "exclusive_application": self.application,
            "exclusive_mpi": self.mpi,
            "markers": self.markers.iter().map(|(at, marker)| noted(*at, marker)).collect::<Vec<Json>>(),
        })
    }
}

/// A marker as JSON; one of the whole trace has no location.
fn noted(at: u64, marker: &Marker) -> Json {
    let location = if let Scope::Location(location) = marker.scope { json!(location) } else { Json::Null };
    json!({
        "time_ps": at,
        "group": marker.group,
        "category": marker.category,
        "severity": marker.severity,
        "location": location,
        "text": marker.text,
    })
}

fn word(content: &Content) -> &'static str {
    match content {
        Content::Program(_) | Content::Graph(_) => "operations",
        Content::Script(_) => "calls",
    }
}

fn text(name: &str, kind: file::Format, content: &Content, census: &Census) -> String {
    let total = census.kinds.values().fold(0, |a: u64, b| a.saturating_add(*b));
    let kinds: Vec<String> = census.kinds.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let messages = census.messages();
    let compute = Spread::of(census.compute.iter().copied());
    let peers = Spread::of(census.peers.iter().map(|&n| n.into()));
    let list = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    let mut lines = vec![
        ("file", name.to_owned()),
        ("format", kind.name().to_owned()),
        ("ranks", content.ranks().to_string()),
        (word(content), format!("{total}{list}")),
    ];
    if !matches!(content, Content::Script(_)) {
        lines.push(("edges", census.edges.to_string()));
    }
    lines.push(("messages", format!("{messages}, {} in all", print_bytes(census.bytes))));
    for (index, n) in census.sizes.iter().enumerate().filter(|(_, n)| **n > 0) {
        let (from, to) = size_bin(index);
        let size = if index + 1 == census.sizes.len() && census.largest > from {
            format!("{from} to {} B", census.largest)
        } else if from == to {
            format!("{from} B")
        } else {
            format!("{from} to {to} B")
        };
        lines.push(("", format!("{n:>10}  of {size}")));
    }
    for (name, (n, bytes)) in &census.collectives {
        lines.push(("collective", format!("{name}: {n} {}, {}", word(content), print_bytes(*bytes))));
    }
    lines.push(("sends to", format!("{} to {} ranks, mean {:.1}", peers.min, peers.max, peers.mean)));
    let mean = time::display(compute.mean as u64);
    let most = if compute.max > 0 { format!(" (rank {})", compute.max_at) } else { String::new() };
    let (least, longest) = (time::display(compute.min), time::display(compute.max));
    lines.push(("compute", format!("{least} to {longest}{most}, mean {mean}")));
    lines.push(("matching", census.matching.to_string()));
    let found = Programs::of_file(&Input::file(name), content).found();
    for (name, all) in [("replay", found), ("not used", content.dropped()), ("not counted", census.caveats())]
    {
        lines.extend(all.into_iter().map(|line| (name, line)));
    }
    lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

fn object(name: &str, kind: file::Format, content: &Content, census: &Census) -> Json {
    let compute = Spread::of(census.compute.iter().copied());
    let peers = Spread::of(census.peers.iter().map(|&n| n.into()));
    let kinds: Map<String, Json> = census.kinds.iter().map(|(n, c)| ((*n).to_owned(), json!(c))).collect();
    let sizes = census.sizes.iter().enumerate().filter(|(_, n)| **n > 0);
    let sizes: Json =
        sizes.map(|(i, n)| json!({"from": size_bin(i).0, "to": size_bin(i).1, "messages": n})).collect();
    let collectives: Map<String, Json> =
        census.collectives.iter().map(|(n, c)| (n.clone(), json!({"count": c.0, "bytes": c.1}))).collect();
    let (state, unmatched) = match census.matching {
        Matching::Exact => ("exact", Json::Null),
        Matching::Open => ("open", Json::Null),
        Matching::Tags => ("wrong-tags", Json::Null),
        Matching::Count { rank, sent, received } => {
            ("wrong-count", json!({"rank": rank, "sent": sent, "received": received}))
        }
        Matching::Unknown | Matching::Uncounted => ("unknown", Json::Null),
    };
    let mut object = json!({
        "file": name,
        "format": kind.name(),
        "ranks": content.ranks(),
        word(content): kinds,
        "messages": {
            "count": census.messages(), "bytes": census.bytes, "largest": census.largest, "sizes": sizes,
        },
        "collectives": collectives,
        "sends_to": {"min": peers.min, "mean": peers.mean, "max": peers.max},
        "compute_ps": {"min": compute.min, "mean": compute.mean, "max": compute.max},
        "matching": state,
        "replay": Programs::of_file(&Input::file(name), content).json()[0],
        "not_used": content.dropped(),
        "not_counted": census.caveats(),
    });
    if let Some(object) = object.as_object_mut() {
        if !matches!(content, Content::Script(_)) {
            object.insert("edges".to_owned(), json!(census.edges));
        }
        if !unmatched.is_null() {
            object.insert("unmatched".to_owned(), unmatched);
        }
    }
    object
}
