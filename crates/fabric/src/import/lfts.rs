//! Linear forwarding tables as opensm (`opensm-lfts.dump`) and infiniband-diags (`dump_fts`, formerly `dump_lfts`) print them.
//!
//! ```text
//! Unicast lids [0-22] of switch Lid 2 guid 0x0000000000200000 ('L0000'):
//! 0x0005 002 # Channel Adapter portguid 0x0000000000100003: 'H00001'
//! 22 lids dumped
//! ```
//!
//! `dump_fts` has `: (..)` in place of `# ..` and two head lines more. Ports that are no number (UNREACHABLE) or 255 are no path.

use super::{
    lids::Entries,
    lines::{Lines, hex},
};
use crate::subnet::Subnet;
use base::param::Problem;

/// Reads the tables of all switches.
pub(super) fn read(lines: &mut Lines, subnet: Subnet) -> Result<Subnet, Vec<Problem>> {
    let mut entries = Entries::new(&subnet);
    let mut text = String::new();
    while lines.next(&mut text) {
        let outcome = if text.starts_with("0x") {
            entry(&text, &mut entries, &subnet, lines.number)
        } else if text.starts_with("Unicast lids") {
            let guid = text.rsplit_once("guid ").and_then(|(_, rest)| hex(rest.split([' ', '(']).next()?));
            match guid {
                Some(guid) => entries.head(&subnet, guid),
                None => Err("the switch's guid is missing".to_owned()),
            }
        } else if known(&text) {
            Ok(())
        } else {
            Err("this is no line of a forwarding table".to_owned())
        };
        if let Err(message) = outcome {
            lines.mistake(&text, message);
        }
    }
    lines.done()?;
    entries.build(subnet, lines)
}

fn known(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || text.ends_with("lids dumped")
        || text.ends_with("valid lids dumped")
        || text.starts_with('#')
        // Tools warn on the same stream.
        || text.starts_with("***")
        || text.starts_with("Lid ")
        || text.starts_with("Port ")
}

fn entry(text: &str, entries: &mut Entries, subnet: &Subnet, line: u64) -> Result<(), String> {
    let form = "an entry is written: 0x0005 002 # .. portguid 0x..: 'name'";
    let (lid, rest) = text.split_once(' ').ok_or(form)?;
    let lid = hex(lid).ok_or(form)?;
    let word = rest.trim_start().split(' ').next().unwrap_or("");
    let port = word.parse().ok();
    if port.is_none() && word.bytes().any(|b| b.is_ascii_digit()) {
        return Err(format!("`{word}` is no port"));
    }
    let guid = match text.find("portguid ") {
        None => 0,
        Some(at) => {
            hex(text[at + 9..].split([':', ' ', ')']).next().unwrap_or("")).ok_or("this is no GUID")?
        }
    };
    entries.entry(subnet, lid, port, guid, line)
}
