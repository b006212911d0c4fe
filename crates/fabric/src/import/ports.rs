//! `ibnetdiscover -p`: a line for each end of a cable. Adapters are known by the GUIDs of their ports.
//!
//! ```text
//! CA    22  1 0x000000000010001f 4x SDR - SW     6  4 0x0000000000200003 ( 'H00015' - 'L0003' )
//! SW     6  9 0x0000000000200003 4x SDR                                    'L0003'
//! ```

use super::{
    ends::{End, Ends, check_port},
    lines::{Lines, hex},
    role::What,
};
use crate::subnet::{Keep, MAX_PORTS, Speed, Subnet};
use base::param::Problem;

const FORM: &str =
    "an end is written: SW 6 4 0x0000000000200003 4x SDR - CA 22 1 0x000000000010001f ( 'name' - 'name' )";

/// An end without its name.
struct Start<'a> {
    word: &'a str,
    lid: u32,
    port: u32,
    guid: u64,
}

/// True of a line of such a file.
pub(super) fn is(line: &str) -> bool {
    start(&mut line.split_whitespace()).is_ok()
}

/// Reads nodes and cables.
pub(super) fn read(lines: &mut Lines, keep: Keep) -> Result<Subnet, Vec<Problem>> {
    let mut ends = Ends::new(keep);
    let mut text = String::new();
    while lines.next(&mut text) {
        let line = text.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !["CA ", "SW ", "RT ", "?? "].iter().any(|word| line.starts_with(word)) {
            ends.skipped.count(lines.number, line);
            continue;
        }
        if let Err(message) = cable(line, &mut ends, lines.number) {
            lines.mistake(&text, message);
        }
    }
    ends.finish(lines, "no ends of cables")
}

fn start<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Start<'a>, String> {
    let word = words.next().filter(|w| ["CA", "SW", "RT", "??"].contains(w)).ok_or(FORM)?;
    let mut number = || words.next()?.parse::<u32>().ok();
    let (lid, port) = (number().ok_or(FORM)?, number().ok_or(FORM)?);
    let guid = words.next().filter(|w| w.starts_with("0x")).and_then(hex).ok_or(FORM)?;
    check_port(port.into(), MAX_PORTS)?;
    Ok(Start { word, lid, port, guid })
}

fn cable(line: &str, ends: &mut Ends, number: u64) -> Result<(), String> {
    let (numbers, names) = line.split_once('\'').ok_or(FORM)?;
    let mut words = numbers.split_whitespace();
    let a = start(&mut words)?;
    let (width, rate) = (words.next().ok_or(FORM)?, words.next().ok_or(FORM)?);
    if words.next() != Some("-") {
        // Nothing is plugged in.
        return Ok(());
    }
    let b = start(&mut words)?;
    // Names may hold quotes: what parts the two does not.
    let (a_name, b_name) = names.split_once("' - '").ok_or(FORM)?;
    let b_name = b_name.rsplit_once('\'').ok_or(FORM)?.0;
    let stated = format!("{width}{rate}");
    let speed = Speed::parse(&stated).ok_or(stated);
    let end = |start: &Start<'_>, name: &str| {
        End::of_port(What::of(start.word, name), name, start.guid, start.port, start.lid)
    };
    ends.cable(end(&a, a_name), end(&b, b_name), speed, number)
}
