//! `netloom trace print FILE`

use crate::{
    args::{Format, TraceInput},
    console::Console,
    exit::{Exit, Outcome},
};
use base::{
    index::RankId,
    sorted::SortedMap,
    units::{print_bytes, print_time},
};
use netloom::{
    Error, ErrorKind,
    conversion::{damaged, read},
    values::RankRange,
};
use serde_json::{Value as Json, json};
use std::{fmt::Write, ops::Range};
use workload::program::{
    ANY_RANK, ANY_TAG, After, Batch, Damage, Kind, Op, Program,
    file::Content,
    lower::{Options, graph::lower_graph},
    mpi::Script,
    ranks,
};

/// Prints the operations of ranks whose numbers lie in a window.
pub(super) fn print(
    input: &TraceInput,
    chosen: &[RankRange],
    window: &Range<u64>,
    format: Format,
    console: &mut Console<'_>,
) -> Outcome {
    let content = read(&input.file, input.scale())?.1;
    let ranks = content.ranks();
    if let Some(range) = chosen.iter().find(|r| r.last >= ranks) {
        let message = format!("there is no rank {}: the {ranks} ranks count from 0", range.last);
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let mut object = Vec::new();
    for rank in chosen.iter().flat_map(|r| r.first..=r.last).map(RankId::new) {
        let shown = match &content {
            Content::Program(program) => operations(&**program, rank, window),
            Content::Script(script) => calls(&**script, rank, window),
            Content::Graph(graph) => {
                operations(&*lower_graph(graph.clone(), Options::default()), rank, window)
            }
        }
        .map_err(damaged)?;
        match format {
            Format::Text => console.print(&text(rank, window, &shown))?,
            Format::Json => {
                let (total, complete) = (shown.total, shown.is_complete());
                let rows: Json = shown.rows.into_iter().map(|row| row.object).collect();
                object.push(json!({"rank": rank, "complete": complete, "total": total, "operations": rows}));
            }
        }
    }
    if format == Format::Json {
        console.print_json(&Json::from(object))?;
    }
    Ok(Exit::Done)
}

/// An operation or call.
struct Row {
    number: u64,
    text: String,
    after: String,
    place: String,
    object: Json,
}

/// What lies in a window.
struct Shown {
    rows: Vec<Row>,
    /// How many the rank has, if the window reaches to its end.
    total: Option<u64>,
}

impl Shown {
    /// True if nothing lies before or behind the window.
    fn is_complete(&self) -> bool {
        self.total == Some(self.rows.len() as u64)
    }
}

fn text(rank: RankId, window: &Range<u64>, Shown { rows, total }: &Shown) -> String {
    let mut text = format!("rank {rank}\n");
    if let (Some(total), true) = (total, rows.is_empty() && window.start > 0) {
        let _ = writeln!(text, "  nothing from {} on: there are {total}, from 0", window.start);
    }
    if rows.first().is_some_and(|r| r.number > 0) {
        text += "  ..\n";
    }
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0).min(60);
    let numbers = rows.last().map_or(1, |r| r.number.to_string().len());
    let (texts, afters) = (width(|r| r.text.len()), width(|r| r.after.len()));
    for row in rows {
        let (number, place) = (row.number, base::visible::name(&row.place));
        let line = format!("{number:>numbers$}  {:texts$}  {:afters$}  {place}", row.text, row.after);
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    if total.is_none() {
        text += "  ..\n";
    }
    text
}

/// The operations of a rank in a window.
fn operations(program: &dyn Program, rank: RankId, window: &Range<u64>) -> Result<Shown, Damage> {
    let (mut cursor, mut batch, mut rows, mut first) =
        (program.open(rank), Batch::default(), Vec::new(), 0u64);
    loop {
        batch.clear();
        cursor.fill(&mut batch)?;
        if batch.ops.is_empty() {
            return Ok(Shown { rows, total: Some(first) });
        }
        let mut before: SortedMap<u64, Vec<(u64, bool)>> = SortedMap::new();
        for edge in batch.edges.iter().filter(|e| window.contains(&e.after)) {
            before.entry(edge.after).or_default().push((edge.before, edge.on_start));
        }
        for (number, op) in (first..).zip(&batch.ops) {
            if number >= window.end {
                return Ok(Shown { rows, total: None });
            }
            if number < window.start {
                continue;
            }
            let mut waits = before.remove(&number).unwrap_or_default();
            if op.after != After::Nothing && number > 0 {
                waits.insert(0, (number - 1, op.after == After::Start));
            }
            rows.push(row(program, rank, number, op, &waits));
        }
        first += batch.ops.len() as u64;
    }
}

fn row(program: &dyn Program, rank: RankId, number: u64, op: &Op, waits: &[(u64, bool)]) -> Row {
    let (peer, tag) =
        ((op.peer != ANY_RANK).then_some(op.peer.number()), (op.tag != ANY_TAG).then_some(op.tag));
    let shown = |n: Option<u32>| n.map_or_else(|| "any".to_owned(), |n| n.to_string());
    let mut text = match op.kind {
        Kind::Send => format!("send {} to {} tag {}", print_bytes(op.amount), op.peer, shown(tag)),
        Kind::Recv => format!("recv {} from {} tag {}", print_bytes(op.amount), shown(peer), shown(tag)),
        Kind::Probe => format!("probe from {} tag {}", shown(peer), shown(tag)),
        Kind::Calc => format!("calc {}", print_time(op.amount)),
        Kind::Join => "join".to_owned(),
        Kind::JoinAny => "join any".to_owned(),
    };
    for (name, value) in [("context", op.context), ("cpu", op.cpu.into()), ("nic", op.nic.into())] {
        if value > 0 {
            let _ = write!(text, " {name} {value}");
        }
    }
    let waited = waits.iter().map(|(n, start)| if *start { format!("{n} started") } else { n.to_string() });
    let waited: Vec<String> = waited.collect();
    let after = if waited.is_empty() { String::new() } else { format!("after {}", waited.join(", ")) };
    let mut object = json!({
        "number": number,
        "kind": match op.kind {
            Kind::Send => "send",
            Kind::Recv => "recv",
            Kind::Calc => "calc",
            Kind::Join => "join",
            Kind::JoinAny => "join-any",
            Kind::Probe => "probe",
        },
        "cpu": op.cpu,
        "nic": op.nic,
        "after": waits.iter().map(|(n, start)| json!({"operation": n, "started": start})).collect::<Json>(),
        "place": program.describe(rank, op.origin),
    });
    if let Some(object) = object.as_object_mut() {
        match op.kind {
            Kind::Send | Kind::Recv | Kind::Probe => {
                object.insert("peer".to_owned(), json!(peer));
                object.insert("tag".to_owned(), json!(tag));
                object.insert("context".to_owned(), json!(op.context));
                object.insert("bytes".to_owned(), json!(op.amount));
            }
            Kind::Calc => _ = object.insert("ps".to_owned(), json!(op.amount)),
            Kind::Join | Kind::JoinAny => {}
        }
    }
    Row { number, text, after, place: program.describe(rank, op.origin), object }
}

/// The calls of a rank in a window.
fn calls(script: &dyn Script, rank: RankId, window: &Range<u64>) -> Result<Shown, Damage> {
    let (mut reader, mut rows, mut count) = (script.open(rank), Vec::new(), 0u64);
    while let Some((call, position)) = reader.next()? {
        let number = count;
        count += 1;
        if number >= window.end {
            return Ok(Shown { rows, total: None });
        }
        if number < window.start {
            continue;
        }
        let mut text = String::new();
        ranks::call(&mut text, &call);
        let place = script.describe(rank, position);
        let object = json!({"number": number, "call": text, "place": place});
        rows.push(Row { number, text, after: String::new(), place, object });
    }
    Ok(Shown { rows, total: Some(count) })
}
