//! Forwarding tables by LID alone: `opensm.fdbs` and `ibdiagnet.fdbs`.
//!
//! ```text
//! dump_ucast_routes: Switch 0x0000000000200000
//! LID    : Port : Hops : Optimal
//! 0x000A : 004  : 01   : yes
//! ```
//!
//! They name no node: LIDs must be known from ibnetdiscover's output or opensm-subnet.lst.

use super::{
    lids::Entries,
    lines::{Lines, hex},
};
use crate::subnet::Subnet;
use base::param::Problem;

/// Reads the tables of all switches.
pub(super) fn read(lines: &mut Lines, subnet: Subnet) -> Result<Subnet, Vec<Problem>> {
    if subnet.hosts.iter().all(|&h| subnet.nodes[h as usize].lid == 0) {
        lines.whole("this file holds tables by LID, and no LID is known: give ibnetdiscover's output or opensm-subnet.lst");
        lines.done()?;
    }
    let mut entries = Entries::new(&subnet);
    let mut text = String::new();
    while lines.next(&mut text) {
        let outcome = if let Some((_, guid)) = text.split_once("dump_ucast_routes: Switch ") {
            match hex(guid.split_whitespace().next().unwrap_or("")) {
                Some(guid) => entries.head(&subnet, guid),
                None => Err("the switch's GUID is missing".to_owned()),
            }
        } else if text.starts_with("0x") {
            let mut words = text.split(':').map(str::trim);
            let (lid, port) = (words.next().and_then(hex), words.next().unwrap_or(""));
            match (lid, port.parse::<u64>()) {
                (None, _) => Err("an entry is written: 0x000A : 004  : 01   : yes".to_owned()),
                (Some(_), Err(_)) if port.bytes().any(|b| b.is_ascii_digit()) => {
                    Err(format!("`{port}` is no port"))
                }
                (Some(lid), port) => entries.entry(&subnet, lid, port.ok(), 0, lines.number),
            }
        } else if text.trim().is_empty() || text.starts_with("LID") || text.starts_with('#') {
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
