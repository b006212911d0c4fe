//! `iblinkinfo`, with or without `-l`: a line for each port of each node, under a head for each node unless `-l` is given.
//!
//! ```text
//! Switch: 0x0000000000200000 L0000:
//!            2    5[  ] ==( 4X           2.5 Gbps Active/  LinkUp)==>       7    1[  ] "T0000" ( )
//!            2    9[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//! CA: H00015:
//!       0x000000000010001f     22    1[  ] ==( 4X  2.5 Gbps Active/  LinkUp)==>       6    4[  ] "L0003" ( )
//! 0x0000000000200000 "  L0000"      2    5[  ] ==( 4X  2.5 Gbps Active/  LinkUp)==>  0x0000000000200004      7    1[  ] "T0000" ( )
//! ```
//!
//! Adapters are known by the GUIDs of their ports. Without `-l` the other end has a local identifier alone, which leads to its own
//! lines; a list of switches (`--switches-only`) has none for adapters, and these stay without GUIDs. With `-l` no line tells switches
//! from adapters: who has several ports is a switch.

use super::{
    ends::{End, Ends, Stated, check_port},
    lines::{Lines, hex},
    role::What,
};
use crate::subnet::{Keep, MAX_PORTS, Names, Speed, Subnet};
use base::{
    param::Problem,
    sorted::{SortedMap, SortedSet},
};

const FORM: &str = "a port is written: 2 5[  ] ==( 4X 2.5 Gbps Active/ LinkUp)==> 7 1[  ] \"name\" ( )";

/// Node of a port, as far as a line says.
#[derive(Clone, Copy)]
struct Place {
    /// 0 if the line does not say.
    guid: u64,
    lid: u32,
    port: u32,
    /// Its name's number.
    name: u32,
}

/// A cable at the line that tells it.
struct Cable {
    here: Place,
    there: Place,
    speed: Stated,
    line: u64,
}

/// The head above a line, and what is known of nodes.
#[derive(Default)]
struct File {
    names: Names,
    cables: Vec<Cable>,
    /// Word, GUID and name of the present node; none where lines have all of it.
    head: Option<(What, u64, u32)>,
    /// What a GUID is of, where heads say.
    what_of: SortedMap<u64, What>,
    /// GUID by LID and name, of nodes that have lines.
    guid_of: SortedMap<(u32, u32), u64>,
    /// GUID by LID; none where the LID is 0 or of several.
    owner: SortedMap<u32, Option<u64>>,
    /// Ports of each GUID.
    ports: SortedSet<(u64, u32)>,
}

/// True of a port's line.
pub(super) fn is(line: &str) -> bool {
    line.contains("==(") && line.contains(")==>")
}

/// Reads nodes and cables.
pub(super) fn read(lines: &mut Lines, keep: Keep) -> Result<Subnet, Vec<Problem>> {
    let (mut ends, mut file) = (Ends::new(keep), File::default());
    let mut text = String::new();
    while lines.next(&mut text) {
        let line = text.trim_start();
        if line.is_empty() || line.starts_with('#') || file.head(line) {
            continue;
        }
        if !line.contains("==") {
            ends.skipped.count(lines.number, line);
            continue;
        }
        if let Err(message) = file.port(line, lines.number) {
            lines.mistake(&text, message);
        }
    }
    lines.done()?;
    file.build(&mut ends, lines);
    ends.finish(lines, "no ports")
}

impl File {
    /// `Switch: 0x.. name:`, `CA: name:`; true if it is one.
    fn head(&mut self, line: &str) -> bool {
        if is(line) {
            return false;
        }
        let Some((word, rest)) = line.split_once(": ") else { return false };
        if !["Switch", "CA", "RT", "Rt", "Router"].contains(&word) {
            return false;
        }
        let rest = rest.trim().trim_end_matches(':');
        let (guid, name) = match rest.split_once(' ') {
            Some((guid, name)) if word == "Switch" => (hex(guid).unwrap_or(0), name),
            _ if word == "Switch" => (hex(rest).unwrap_or(0), ""),
            _ => (0, rest),
        };
        let word = if word == "Router" { "Rt" } else { word };
        let what = What::of(word, name);
        if guid != 0 {
            self.what_of.entry(guid).or_insert(what);
        }
        self.head = Some((what, guid, self.names.number(name.trim())));
        true
    }

    fn port(&mut self, line: &str, number: u64) -> Result<(), String> {
        let (left, rest) = line.split_once("==(").ok_or(FORM)?;
        let (state, right) = rest.split_once(")==>").ok_or(FORM)?;
        let mut here = self.own(left)?;
        if let (Some((what, guid, name)), u32::MAX) = (self.head, here.name) {
            here.name = name;
            here.guid = if here.guid == 0 { guid } else { here.guid };
            self.what_of.entry(here.guid).or_insert(what).same(what, here.guid)?;
        }
        if here.guid == 0 || here.name == u32::MAX {
            return Err(
                "this port is of no node: a head such as `Switch: 0x.. name:` is missing above".to_owned()
            );
        }
        self.guid_of.insert((here.lid, here.name), here.guid);
        let owner = self.owner.entry(here.lid).or_insert(Some(here.guid));
        *owner = owner.filter(|&guid| guid == here.guid && here.lid != 0);
        self.ports.insert((here.guid, here.port));
        let Some((right, name)) = right.split_once('"') else { return Err(FORM.to_owned()) };
        let name = name.rsplit_once("\" (").or_else(|| name.rsplit_once('"')).ok_or(FORM)?.0;
        if right.trim().trim_start_matches('[').trim_end_matches(']').trim().is_empty() {
            // Nothing is plugged in, or the other end does not answer.
            return Ok(());
        }
        let (guid, lid, port) = numbers(right)?;
        let there = Place { guid, lid, port, name: self.names.number(name.trim()) };
        let speed = speed(state).map_err(str::to_owned);
        self.cables.push(Cable { here, there, speed, line: number });
        Ok(())
    }

    /// What stands before the arrow; the name is [`u32::MAX`] if it is not there.
    fn own(&mut self, left: &str) -> Result<Place, String> {
        let (guid, rest, name) = match left.split_once('"') {
            None => (None, left, u32::MAX),
            Some((guid, rest)) => {
                let (name, rest) = rest.rsplit_once('"').ok_or(FORM)?;
                (Some(hex(guid.trim()).ok_or(FORM)?), rest, self.names.number(name.trim()))
            }
        };
        let (stated, lid, port) = numbers(rest)?;
        Ok(Place { guid: guid.unwrap_or(stated), lid, port, name })
    }

    /// Cables between the nodes, once all lines are read.
    fn build(mut self, ends: &mut Ends, lines: &mut Lines) {
        let (mut unlisted, mut first) = (0u32, 0);
        for cable in std::mem::take(&mut self.cables) {
            let mut there = cable.there;
            if there.guid == 0 {
                let named = self.guid_of.get(&(there.lid, there.name)).copied();
                let alone = || self.owner.get(&there.lid).copied().flatten();
                there.guid = named.or_else(alone).unwrap_or(0);
            }
            if there.guid == 0 {
                unlisted += 1;
                first = if first == 0 { cable.line } else { first };
            }
            let [a, b] = [cable.here, there].map(|place| self.end(place));
            if let Err(message) = ends.cable(a, b, cable.speed, cable.line) {
                lines.at(cable.line, "", message);
            }
        }
        let note = format!(
            "{unlisted} cables lead to nodes without lines of their own, the first on line {first}: these are taken for hosts without GUIDs"
        );
        ends.note((unlisted > 0).then_some(note));
    }

    fn end(&self, Place { guid, lid, port, name }: Place) -> End {
        let name = self.names.get(name);
        let several = || self.ports.range((guid, 0)..=(guid, u32::MAX)).nth(1).is_some();
        let what = match self.what_of.get(&guid).filter(|_| guid != 0) {
            Some(what) => *what,
            None if guid != 0 && several() => What::Switch,
            None => What::of("CA", name),
        };
        End::of_port(what, name, guid, port, lid)
    }
}

/// `0x.. 2 5[  ]`, the GUID (0 if it is not there), LID and port.
fn numbers(text: &str) -> Result<(u64, u32, u32), String> {
    let text = text.split('[').next().unwrap_or("");
    let mut words = text.split_whitespace().peekable();
    let guid = match words.next_if(|w| w.starts_with("0x")) {
        Some(word) => hex(word).ok_or(FORM)?,
        None => 0,
    };
    let mut number = || words.next()?.parse::<u32>().ok();
    let (lid, port) = (number().ok_or(FORM)?, number().ok_or(FORM)?);
    check_port(port.into(), MAX_PORTS)?;
    Ok((guid, lid, port))
}

/// `4X 2.5 Gbps Active/ LinkUp`.
///
/// # Errors
/// The words of a speed that nobody knows.
fn speed(state: &str) -> Result<Speed, &str> {
    const GBPS: [&str; 8] = ["2.5", "5", "10", "14", "25", "53", "106", "212"];
    let stated = state.split_once("Gbps").map_or(state, |(stated, _)| stated).trim();
    let mut words = stated.split_whitespace();
    let width = words.next().and_then(|w| w.strip_suffix(['X', 'x'])?.parse().ok()).ok_or(stated)?;
    let rate = words.next().ok_or(stated)?;
    let whole = if rate.starts_with("2.5") { rate } else { rate.split('.').next().unwrap_or("") };
    // Ten gigabits are QDR, or FDR10 where it says so.
    let name = match GBPS.iter().position(|known| *known == whole) {
        _ if state.contains("FDR10") => "FDR10",
        Some(at) => ["SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR", "XDR"][at],
        None => return Err(stated),
    };
    Speed::parse(&format!("{width}x{name}", width = u8::to_string(&width))).ok_or(stated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_in_gigabits() {
        let read = |text| speed(text).map(|s| s.to_string());
        assert_eq!(read(" 4X           2.5 Gbps Active/  LinkUp").unwrap(), "4xSDR");
        assert_eq!(read(" 4X      25.78125 Gbps Active/  LinkUp").unwrap(), "4xEDR");
        assert_eq!(read(" 4X        106.25 Gbps Active/  LinkUp").unwrap(), "4xNDR");
        assert_eq!(read(" 1X          10.0 Gbps (FDR10) Active/  LinkUp").unwrap(), "1xFDR10");
        assert_eq!(read(" 4X       Unknown Gbps Active/").unwrap_err(), "4X       Unknown");
    }
}
