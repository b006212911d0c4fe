//! Writes any script in the format.

use super::words::{COLLECTIVES, one_sided_name};
use crate::program::{
    ANY_TAG, Damage, UNKNOWN_BYTES,
    mpi::{
        ANY_PEER, Call, Collective, Comm, CommRank, Envelope, Mark, MarkKind, Mode, OneSided, PROC_NULL,
        Request, Script, TransferKind, WORLD,
    },
};
use base::{
    index::RankId,
    units::{MAX_BYTES, print_bytes, print_time},
    visible,
};
use std::{
    fmt::Write as _,
    io::{self, Write},
};

/// Why a script was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The file cannot be written.
    Io(io::Error),
    /// The script cannot be read.
    Damage(Damage),
}

/// Writes a script, rank by rank and call by call: loops and names of another file are not kept. Overrides of a collective's
/// algorithm are not written, since the format has none.
///
/// # Errors
/// If the script cannot be read or the text not be written.
pub fn write(script: &dyn Script, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut text = String::new();
    let mut flush = |text: &mut String| {
        let result = out.write_all(text.as_bytes());
        text.clear();
        result.map_err(WriteError::Io)
    };
    let _ = writeln!(text, "ranks {}", script.ranks());
    for rank in RankId::first(script.ranks()) {
        let _ = writeln!(text, "\nrank {rank} {{");
        let mut calls = script.open_marked(rank);
        let mut entered = 0u64;
        while let Some((made, _)) = calls.next().map_err(WriteError::Damage)? {
            match &made {
                Call::Mark(Mark { kind: MarkKind::Enter, .. }) => entered += 1,
                // A trace may begin within a region.
                Call::Mark(Mark { kind: MarkKind::Leave, .. }) if entered == 0 => continue,
                Call::Mark(Mark { kind: MarkKind::Leave, .. }) => entered -= 1,
                _ => {}
            }
            text.push_str("  ");
            call(&mut text, &made);
            text.push('\n');
            if text.len() > 1 << 16 {
                flush(&mut text)?;
            }
        }
        text.push_str("}\n");
        flush(&mut text)?;
    }
    Ok(())
}

/// Appends one call as the format writes it.
pub fn call(text: &mut String, call: &Call) {
    let name = |mode: Mode| match mode {
        Mode::Standard => "send",
        Mode::Synchronous => "ssend",
        Mode::Buffered => "bsend",
    };
    let written = match call {
        Call::Compute(ps) => format!("compute {}", print_time(*ps)),
        Call::Send(e, mode) => format!("{} {}", name(*mode), end(e, "to")),
        Call::Isend(e, mode, r) => format!("i{} {} as r{r}", name(*mode), end(e, "to")),
        Call::Recv(e) => format!("recv {}", end(e, "from")),
        Call::Irecv(e, r) => format!("irecv {} as r{r}", end(e, "from")),
        Call::SendRecv(s, r) => format!("sendrecv {} recv {}", end(s, "to"), end(r, "from")),
        Call::SendInit(e, mode, r) => format!("{}_init {} as r{r}", name(*mode), end(e, "to")),
        Call::RecvInit(e, r) => format!("recv_init {} as r{r}", end(e, "from")),
        Call::Start(list) if list.is_empty() => "# start".to_owned(),
        Call::Start(list) => format!("start{}", requests(list)),
        Call::RequestFree(r) => format!("free r{r}"),
        Call::Wait(r) => format!("wait r{r}"),
        // Without names or brackets it would wait for all that are open.
        Call::Waitall(list) if list.is_empty() => "waitall []".to_owned(),
        Call::Waitall(list) => format!("waitall{}", requests(list)),
        Call::Waitany { requests: all, .. } if all.is_empty() => "waitall []".to_owned(),
        Call::Waitany { requests: all, completed } if completed.is_empty() => {
            format!("waitany{}", requests(all))
        }
        Call::Waitany { requests: all, completed } => {
            format!("waitany{} done{}", requests(all), requests(completed))
        }
        Call::Test { completed } => format!("test{}", requests(completed)),
        // Its size matches nothing, so one that is not known is as good as none.
        Call::Probe(e) if e.bytes == UNKNOWN_BYTES => {
            format!("probe {}", end(&Envelope { bytes: 0, ..*e }, "from"))
        }
        Call::Probe(e) => format!("probe {}", end(e, "from")),
        Call::Collective(c) => collective(c),
        Call::CommDup { comm, new } => format!("dup {} as c{new}", communicator(*comm)),
        Call::CommSplit { comm, color, key, new } => {
            let color = color.map_or_else(|| "none".to_owned(), |c| c.to_string());
            format!("split {} color {color} key {key} as c{new}", communicator(*comm))
        }
        Call::CommCreate { comm, group: g, new } => {
            format!("create {} group {} as c{new}", communicator(*comm), group(g))
        }
        Call::CommDefine { group: g, new } => format!("define {} as c{new}", group(g)),
        Call::CommFree(comm) => format!("free_comm {}", communicator(*comm)),
        Call::OneSided(call) => one_sided(call),
        Call::Mark(Mark { kind: MarkKind::Leave, .. }) => "leave".to_owned(),
        Call::Mark(mark) => marked(mark),
    };
    text.push_str(&written);
}

/// A mark, with its number in its name; the format has no quotes within names.
fn marked(mark: &Mark) -> String {
    let what = if mark.kind == MarkKind::Enter { "enter" } else { "mark" };
    format!("{what} \"{}\"", visible::name(&mark.to_string()).replace('"', "'"))
}

fn end(envelope: &Envelope, preposition: &str) -> String {
    // A receive of unknown size takes whatever comes: the most that the format can say.
    let bytes = if envelope.bytes == UNKNOWN_BYTES { MAX_BYTES } else { envelope.bytes };
    let mut text = format!("{} {preposition} ", print_bytes(bytes));
    let _ = match envelope.peer {
        ANY_PEER => write!(text, "any"),
        PROC_NULL => write!(text, "null"),
        peer => write!(text, "{peer}"),
    };
    let _ = match envelope.tag {
        0 => Ok(()),
        ANY_TAG => write!(text, " tag any"),
        tag => write!(text, " tag {tag}"),
    };
    if envelope.comm != WORLD {
        let _ = write!(text, " comm c{}", envelope.comm);
    }
    text
}

fn requests(list: &[Request]) -> String {
    list.iter().map(|r| format!(" r{r}")).collect()
}

fn communicator(comm: Comm) -> String {
    if comm == WORLD { "world".to_owned() } else { format!("c{comm}") }
}

/// `[0, 2, 4 to 7]`
fn group(ranks: &[CommRank]) -> String {
    let runs = ranks.chunk_by(|a, b| a.number().checked_add(1) == Some(b.number()));
    let items = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first} to {last}")],
        few => few.iter().map(CommRank::to_string).collect(),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// `[1 KiB, 8 B x 15]`
fn counts(counts: &[u64]) -> String {
    let runs = counts.chunk_by(|a, b| a == b).map(|run| match run.len() {
        1 => print_bytes(run[0]),
        n => format!("{} x {n}", print_bytes(run[0])),
    });
    format!("[{}]", runs.collect::<Vec<_>>().join(", "))
}

fn collective(c: &Collective) -> String {
    let mut text = String::new();
    let Some(takes) = COLLECTIVES.iter().find(|w| w.kind == c.kind) else { return text };
    if c.request.is_some() {
        text.push('i');
    }
    text.push_str(takes.word);
    if takes.size {
        let _ = write!(text, " {}", print_bytes(c.bytes));
    }
    if takes.counts {
        let all = c.counts.as_deref().unwrap_or(&[]);
        let _ = if c.kind.has_two_lists() {
            let (sends, receives) = all.split_at(all.len() / 2);
            write!(text, " sends {} receives {}", counts(sends), counts(receives))
        } else {
            write!(text, " counts {}", counts(all))
        };
    }
    if takes.neighbours {
        let _ = write!(text, " with {}", group(c.neighbours.as_deref().unwrap_or(&[])));
    }
    if takes.root {
        let _ = write!(text, " root {}", c.root);
    }
    if c.comm != WORLD {
        let _ = write!(text, " comm c{}", c.comm);
    }
    if let Some(request) = c.request {
        let _ = write!(text, " as r{request}");
    }
    text
}

/// A one-sided call as the format writes it.
fn one_sided(call: &OneSided) -> String {
    let mut text = one_sided_name(call).to_owned();
    let window = call.window();
    let _ = match call {
        OneSided::Create { comm, new } => write!(text, " {} as w{new}", communicator(*comm)),
        OneSided::Transfer { kind, peer, bytes, request, .. } => {
            let preposition = if *kind == TransferKind::Get { "from" } else { "to" };
            let _ = write!(text, " {} {preposition} {} win w{window}", print_bytes(*bytes), target(*peer));
            request.map_or(Ok(()), |request| write!(text, " as r{request}"))
        }
        OneSided::Post(_, ranks) | OneSided::Start(_, ranks) => {
            write!(text, " w{window} group {}", group(ranks))
        }
        OneSided::Lock { peer, exclusive, .. } => {
            write!(text, " w{window} {peer} {}", if *exclusive { "exclusive" } else { "shared" })
        }
        OneSided::Unlock(_, peer) | OneSided::Flush { peer: Some(peer), .. } => {
            write!(text, " w{window} {peer}")
        }
        _ => write!(text, " w{window}"),
    };
    text
}

fn target(peer: CommRank) -> String {
    if peer == PROC_NULL { "null".to_owned() } else { peer.to_string() }
}
