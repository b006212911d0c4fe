//! Service levels of paths, as path records of the subnet administrator give them: `slid dlid sl` on a line, in decimal or `0x..`.
//! Paths that are not listed stay unknown.

use super::{
    lids::{LidMap, left_out},
    lines::{Lines, hex},
    sl2vl,
};
use crate::subnet::{Lanes, Subnet};
use base::{param::Problem, sorted::SortedSet};

/// A decimal or hexadecimal number.
pub(super) fn number(text: &str) -> Option<u64> {
    if text.starts_with("0x") { hex(text) } else { text.parse().ok() }
}

/// Reads the levels.
pub(super) fn read(lines: &mut Lines, mut subnet: Subnet) -> Result<Subnet, Vec<Problem>> {
    if !Lanes::fit(&subnet, sl2vl::planes(&subnet)) {
        lines.whole("the network has too many hosts for service levels of all pairs");
        lines.done()?;
    }
    let mut lanes = subnet.lanes.take().unwrap_or_else(|| Lanes::new(&subnet, sl2vl::planes(&subnet)));
    let (map, left_out) = (LidMap::new(&subnet), left_out(&subnet));
    let mut text = String::new();
    while lines.next(&mut text) {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        if let Err(message) = path(&text, &subnet, &map, &left_out, &mut lanes) {
            lines.mistake(&text, message);
        }
    }
    lines.done()?;
    subnet.lanes = Some(lanes);
    Ok(subnet)
}

fn path(
    text: &str,
    subnet: &Subnet,
    map: &LidMap,
    left_out: &SortedSet<u64>,
    lanes: &mut Lanes,
) -> Result<(), String> {
    let words: Option<Vec<u64>> = text.split_whitespace().map(number).collect();
    let Some([from, to, sl]) = words.as_deref() else {
        return Err("a path is written: slid dlid sl".to_owned());
    };
    if left_out.contains(from) || left_out.contains(to) {
        return Ok(());
    }
    let find = |lid: u64| map.get(lid).ok_or_else(|| format!("nobody in the network has LID {lid}"));
    let ((from, _), (to, plane)) = (find(*from)?, find(*to)?);
    let sl = u8::try_from(*sl).ok().filter(|&s| s < 16).ok_or("a service level is from 0 to 15")?;
    if subnet.is_host(from) && subnet.is_host(to) {
        let row = subnet.place(to) * sl2vl::planes(subnet) + plane;
        lanes.set(subnet, row, subnet.place(from), sl);
    }
    Ok(())
}
