//! `netloom trace info FILE`

use super::{damaged, read};
use crate::{
    args::{Format, TraceInput},
    console::Console,
    exit::Exit,
    failure::Outcome,
};
use base::{time, units::print_bytes};
use serde_json::{Map, Value as Json, json};
use workload::program::{
    census::{Census, Matching},
    file::{self, Content},
};

pub(super) fn info(input: &TraceInput, format: Format, console: &mut Console<'_>) -> Outcome {
    let (kind, content) = read(input)?;
    let census = Census::of(&content).map_err(damaged)?;
    let name = input.file.display().to_string();
    match format {
        Format::Text => console.print(&text(&name, kind, &content, &census))?,
        Format::Json => console.print_json(&object(&name, kind, &content, &census))?,
    }
    Ok(Exit::Done)
}

/// Smallest, mean and largest of some numbers, and whose the largest is.
struct Spread {
    min: u64,
    mean: f64,
    max: u64,
    max_at: usize,
}

impl Spread {
    fn of(numbers: impl Iterator<Item = u64>) -> Self {
        let mut spread = Self { min: u64::MAX, mean: 0.0, max: 0, max_at: 0 };
        let (mut sum, mut count) = (0u128, 0u32);
        for (at, number) in numbers.enumerate() {
            spread.min = spread.min.min(number);
            if number > spread.max {
                (spread.max, spread.max_at) = (number, at);
            }
            (sum, count) = (sum + u128::from(number), count + 1);
        }
        spread.mean = sum as f64 / f64::from(count.max(1));
        spread
    }
}

/// From and to how many bytes the messages of a bin are.
fn bin(index: usize) -> (u64, u64) {
    match index {
        0 => (0, 0),
        _ => (1 << (index - 1), u64::MAX >> (64 - index)),
    }
}

fn word(content: &Content) -> &'static str {
    match content {
        Content::Program(_) => "operations",
        Content::Script(_) => "calls",
    }
}

fn text(name: &str, kind: file::Format, content: &Content, census: &Census) -> String {
    let total: u64 = census.kinds.values().sum();
    let kinds: Vec<String> = census.kinds.iter().map(|(name, n)| format!("{n} {name}")).collect();
    let messages: u64 = census.sizes.iter().sum();
    let compute = Spread::of(census.compute.iter().copied());
    let peers = Spread::of(census.peers.iter().map(|&n| n.into()));
    let list = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    let mut lines = vec![
        ("file", name.to_owned()),
        ("format", kind.name().to_owned()),
        ("ranks", content.ranks().to_string()),
        (word(content), format!("{total}{list}")),
    ];
    if matches!(content, Content::Program(_)) {
        lines.push(("edges", census.edges.to_string()));
    }
    lines.push(("messages", format!("{messages}, {} in all", print_bytes(census.bytes))));
    for (index, n) in census.sizes.iter().enumerate().filter(|(_, n)| **n > 0) {
        let (from, to) = bin(index);
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
    lines.push(("matching", matching(census.matching)));
    lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

fn matching(matching: Matching) -> String {
    match matching {
        Matching::Exact => "every send has its receive".to_owned(),
        Matching::Open => {
            "as many sends as receives at each rank; some receives take any source or tag".to_owned()
        }
        Matching::Tags => {
            "WRONG: as many sends as receives at each rank, but of other ranks or with other tags".to_owned()
        }
        Matching::Count { rank, sent, received } => {
            format!("WRONG: rank {rank} is sent {sent} messages, but receives {received}")
        }
        Matching::Unknown => "not looked at: messages in communicators other than the world".to_owned(),
    }
}

fn object(name: &str, kind: file::Format, content: &Content, census: &Census) -> Json {
    let compute = Spread::of(census.compute.iter().copied());
    let peers = Spread::of(census.peers.iter().map(|&n| n.into()));
    let kinds: Map<String, Json> = census.kinds.iter().map(|(n, c)| ((*n).to_owned(), json!(c))).collect();
    let sizes = census.sizes.iter().enumerate().filter(|(_, n)| **n > 0);
    let sizes: Json = sizes.map(|(i, n)| json!({"from": bin(i).0, "to": bin(i).1, "messages": n})).collect();
    let collectives: Map<String, Json> =
        census.collectives.iter().map(|(n, c)| (n.clone(), json!({"count": c.0, "bytes": c.1}))).collect();
    let (state, unmatched) = match census.matching {
        Matching::Exact => ("exact", Json::Null),
        Matching::Open => ("open", Json::Null),
        Matching::Tags => ("wrong-tags", Json::Null),
        Matching::Count { rank, sent, received } => {
            ("wrong-count", json!({"rank": rank, "sent": sent, "received": received}))
        }
        Matching::Unknown => ("unknown", Json::Null),
    };
    let mut object = json!({
        "file": name,
        "format": kind.name(),
        "ranks": content.ranks(),
        word(content): kinds,
        "messages": {
            "count": census.sizes.iter().sum::<u64>(), "bytes": census.bytes, "largest": census.largest, "sizes": sizes,
        },
        "collectives": collectives,
        "sends_to": {"min": peers.min, "mean": peers.mean, "max": peers.max},
        "compute_ps": {"min": compute.min, "mean": compute.mean, "max": compute.max},
        "matching": state,
    });
    if let Some(object) = object.as_object_mut() {
        if matches!(content, Content::Program(_)) {
            object.insert("edges".to_owned(), json!(census.edges));
        }
        if !unmatched.is_null() {
            object.insert("unmatched".to_owned(), unmatched);
        }
    }
    object
}
