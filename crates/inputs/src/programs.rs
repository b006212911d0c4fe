//! Programs of ranks: GOAL, calls as text, and recorded traces of all formats. What is read is counted, lowered and walked; what can be written is
//! written and read again.

use crate::text;
use base::index::RankId;
use netloom::conversion::{Conversion, Reshape, Target, convert, library, read};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use workload::program::{
    Batch, Op, Program,
    census::Census,
    file::{Content, Format},
    goal,
    graph::{Graph, Part},
    input::Input,
    lower::Options,
    mpi::Script,
    ranks,
    traces::Scale,
};

/// Most ranks of programs that are read to their end, and most of their calls or operations: counts in loops may be anything.
const RANKS: u32 = 64;
const CALLS: usize = 4_000;

/// A file of any format, read as `netloom trace info` and `netloom trace convert` read it.
pub fn program(files: &[PathBuf]) -> Result<(), String> {
    let file = &files[0];
    let (_, content) = read(file, Scale::DEFAULT).map_err(|e| text::of(&e))?;
    let short = match &content {
        Content::Script(script) => calls(&**script)?,
        Content::Program(program) => operations(&**program)?,
        Content::Graph(_) => content.ranks() <= RANKS,
    };
    if !short {
        return Ok(());
    }
    Census::of(&content).map_err(|damage| damage.0)?;
    let options = Options { chooser: library("openmpi").expect("it is listed"), reduce_ps_per_byte: 0 };
    let lowered = content.clone().program(&Input::file(file.clone()), options);
    let lowered = lowered.map_err(text::of_problems)?;
    if operations(&*lowered)? {
        again(file, &lowered)?;
        if let Content::Script(script) = &content {
            rewritten(file, &**script)?;
            recorded(file, &**script);
        }
    }
    drop(content.dropped());
    Ok(())
}

/// Reads calls of all ranks; false if there are too many.
fn calls(script: &dyn Script) -> Result<bool, String> {
    let mut left = CALLS;
    for rank in RankId::first(script.ranks().min(RANKS)) {
        let mut calls = script.open_marked(rank);
        let mut words = String::new();
        while let Some((call, position)) = calls.next().map_err(|damage| damage.0)? {
            ranks::call(&mut words, &call);
            drop(script.describe(rank, position));
            left = left.saturating_sub(1);
            if left == 0 {
                return Ok(false);
            }
        }
    }
    Ok(script.ranks() <= RANKS)
}

/// Reads operations of all ranks; false if there are too many.
fn operations(program: &dyn Program) -> Result<bool, String> {
    let mut left = 8 * CALLS;
    for rank in RankId::first(program.ranks().min(RANKS)) {
        let (mut cursor, mut batch) = (program.open_noted(rank), Batch::noting());
        loop {
            batch.clear();
            cursor.fill(&mut batch).map_err(|damage| damage.0)?;
            if batch.ops.is_empty() {
                break;
            }
            if let Some(op) = batch.ops.first() {
                drop(program.describe(rank, op.origin));
            }
            left = left.saturating_sub(batch.ops.len());
            if left == 0 {
                return Ok(false);
            }
        }
    }
    Ok(program.ranks() <= RANKS)
}

/// The program as GOAL, as text and binary, is read again: as many operations of each kind.
fn again(file: &Path, program: &Arc<dyn Program>) -> Result<(), String> {
    for to in [Format::Goal, Format::GoalBinary] {
        let Some(out) = converted(file, to)? else { continue };
        let (format, content) =
            read(&out, Scale::DEFAULT).unwrap_or_else(|e| panic!("what is written can be read: {e}"));
        assert_eq!((format, content.ranks()), (to, program.ranks()));
        let counted = Census::of(&content).expect("what is written is whole");
        let before = Census::of(&Content::Program(Arc::clone(program))).map_err(|damage| damage.0)?;
        assert_eq!(
            counted.sizes.iter().sum::<u64>(),
            before.sizes.iter().sum::<u64>(),
            "messages that are sent"
        );
    }
    Ok(())
}

/// Calls, written as text and as a trace of SimGrid, are read again: the text says the same calls.
fn rewritten(file: &Path, script: &dyn Script) -> Result<(), String> {
    if let Some(out) = converted(file, Format::Ranks)? {
        let (_, content) =
            read(&out, Scale::DEFAULT).unwrap_or_else(|e| panic!("what is written can be read: {e}"));
        let Content::Script(again) = content else { panic!("calls are read as calls") };
        for rank in RankId::first(script.ranks()) {
            assert_eq!(words(script, rank)?, words(&*again, rank)?, "calls of rank {rank}");
        }
    }
    if let Some(out) = converted(file, Format::Ti)? {
        let (_, content) =
            read(&out, Scale::DEFAULT).unwrap_or_else(|e| panic!("what is written can be read: {e}"));
        assert_eq!(content.ranks(), script.ranks());
        Census::of(&content).expect("what is written is whole");
    }
    Ok(())
}

fn words(script: &dyn Script, rank: RankId) -> Result<String, String> {
    let (mut calls, mut words) = (script.open(rank), String::new());
    while let Some((call, _)) = calls.next().map_err(|damage| damage.0)? {
        let begin = words.len();
        ranks::call(&mut words, &call);
        // What does nothing, such as starting no request, is written as a remark.
        if words[begin..].starts_with('#') {
            words.truncate(begin);
        } else {
            words.push('\n');
        }
    }
    Ok(words)
}

/// Calls with recorded times, written as an archive and for Paraver: the archive is read again.
fn recorded(file: &Path, script: &dyn Script) {
    let folder = file.with_file_name("archived");
    let anchor = folder.join("traces.otf2");
    if written(file, &anchor, Target::Program(Format::Otf2)).is_some() {
        let (_, content) =
            read(&anchor, Scale::DEFAULT).unwrap_or_else(|e| panic!("what is written can be read: {e}"));
        assert_eq!(content.ranks(), script.ranks());
        fs::remove_dir_all(&folder).expect("the folder is ours");
        written(file, &file.with_file_name("archived.prv"), Target::Paraver);
    }
}

/// The file in another format; none if that cannot hold it.
fn converted(file: &Path, to: Format) -> Result<Option<PathBuf>, String> {
    let out = file.with_file_name(format!("converted.{}", to.name()));
    Ok(written(file, &out, Target::Program(to)))
}

/// The file as another one; none if that cannot hold it.
fn written(file: &Path, out: &Path, to: Target) -> Option<PathBuf> {
    let scale = Scale::DEFAULT;
    let asked = Conversion {
        file,
        scale,
        out,
        to: Some(to),
        reshape: Reshape::default(),
        library: "openmpi",
        per_rank: false,
        force: true,
    };
    match convert(&asked) {
        Ok(_) => Some(out.to_owned()),
        // The format has no words for it, or a rank turned out to be damaged.
        Err(e) => {
            let text = text::of(&e);
            assert!(!text.is_empty() && !out.exists(), "what cannot be written leaves nothing: {text}");
            None
        }
    }
}

/// GOAL as text: written and read again it is the same, also by way of the binary.
pub fn goal_text(files: &[PathBuf]) -> Result<(), String> {
    let graph = goal::read_text(&Input::file(files[0].clone()), 1).map_err(text::of_problems)?;
    let mut written = Vec::new();
    goal::write_text(&graph, 1, &mut written).expect("memory takes it");
    let again =
        goal::read_text(&Input::bytes("again.goal", &written), 1).expect("what is written can be read");
    for (a, b) in parts(&graph).zip(parts(&again)) {
        assert_eq!((a.ops.len(), a.edges), (b.ops.len(), b.edges));
    }
    binary(&graph)
}

/// GOAL's binary form: written and read again it is the same.
pub fn goal_binary(files: &[PathBuf]) -> Result<(), String> {
    let graph = goal::read_binary(&Input::file(files[0].clone()), 1).map_err(text::of_problems)?;
    binary(&graph)
}

/// Operations and dependencies of each rank.
fn parts(graph: &Graph) -> impl Iterator<Item = Part> {
    (0..graph.ranks()).map(|rank| graph.part(RankId::new(rank)))
}

fn binary(graph: &Graph) -> Result<(), String> {
    let mut out = std::io::Cursor::new(Vec::new());
    let losses = match goal::write_binary(graph, 1, &mut out) {
        Ok(losses) => losses,
        // Numbers that the format has no room for.
        Err(goal::WriteError::Unfit(why)) => {
            assert!(!why.is_empty(), "what does not fit is named");
            return Ok(());
        }
        Err(_) => panic!("memory takes it"),
    };
    let again =
        goal::read_binary(&Input::bytes("again.bin", out.get_ref()), 1).expect("what is written can be read");
    if losses.lines().is_empty() {
        // Where an operation stands in its file is another place.
        let plain = |graph: &Graph| -> Vec<_> {
            let placeless = |op: &Op| Op { origin: 0, ..*op };
            parts(graph).map(|p| (p.ops.iter().map(placeless).collect::<Vec<_>>(), p.edges)).collect()
        };
        assert_eq!(plain(graph), plain(&again));
    }
    Ok(())
}

/// An OTF2 archive: its files are read one by one, then as a program; what is read is written and read again as the same events.
pub fn otf2(files: &[PathBuf]) -> Result<(), String> {
    let archive = otf2::Archive::open(&files[0]).map_err(|e| e.to_string())?;
    let copy = files[0].with_file_name("copy");
    let writer = otf2::Writer::create(&copy, "inputs").expect("the folder is ours");
    let mut damaged = None;
    let mut kept = Vec::new();
    for &location in archive.definitions.locations.keys().take(8) {
        match archive.events(location).and_then(|events| events.take(CALLS).collect::<otf2::Result<Vec<_>>>())
        {
            Ok(events) => kept.push((location, events)),
            Err(e) => damaged = Some(e.to_string()),
        }
    }
    drop(otf2::shares(&archive));
    // What is written is written in the order of time.
    if damaged.is_none() && kept.iter().all(|(_, events)| events.is_sorted_by_key(|e| e.time)) {
        copied(&archive, &kept, writer);
        same(&copy, &kept);
    }
    fs::remove_dir_all(&copy).expect("the folder is ours");
    program(files)?;
    damaged.map_or(Ok(()), Err)
}

type Kept = Vec<(u64, Vec<otf2::Event>)>;

fn copied(archive: &otf2::Archive, kept: &Kept, writer: otf2::Writer) {
    let mut definitions = archive.definitions.clone();
    definitions.locations.retain(|number, _| kept.iter().any(|k| k.0 == *number));
    for (number, events) in kept {
        let mut location = writer.location(*number).expect("the folder is ours");
        for event in events {
            location
                .write(event.time, &event.kind, &[])
                .unwrap_or_else(|e| panic!("what was read can be written: {e}"));
        }
        let count = location.finish().expect("the folder is ours");
        definitions.locations.get_mut(number).expect("it is kept").events = count;
    }
    writer.finish(&definitions).unwrap_or_else(|e| panic!("what was read can be written: {e}"));
}

fn same(copy: &Path, kept: &Kept) {
    let anchor = copy.join("traces.otf2");
    let again = otf2::Archive::open(&anchor).unwrap_or_else(|e| panic!("what is written can be read: {e}"));
    for (number, events) in kept {
        let read: otf2::Result<Vec<otf2::Event>> = again.events(*number).and_then(Iterator::collect);
        assert_eq!(read.unwrap_or_else(|e| panic!("what is written can be read: {e}")), *events);
    }
}
