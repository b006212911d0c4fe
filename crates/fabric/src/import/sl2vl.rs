//! `opensm-sl2vl.dump`: at every switch the virtual lane for each input port, output port and service level.
//!
//! ```text
//! Switch 0x0000000000200000, base LID 2, "S0_0_0"
//! #in out : 0  1  2 ..
//! 0   1   : 0  1  0 ..
//! ```
//!
//! Tables of adapters are passed over: the lane of the first link waits for nothing before it.

use super::{
    lids::LidMap,
    lines::{Lines, hex},
};
use crate::subnet::{Lanes, MAX_MAPPED, Subnet, Tables};
use base::param::Problem;

/// Reads the maps of all switches.
pub(super) fn read(lines: &mut Lines, mut subnet: Subnet) -> Result<Subnet, Vec<Problem>> {
    if !Lanes::fit(&subnet, planes(&subnet)) {
        lines.whole("the network has too many hosts for service levels of all pairs");
        lines.done()?;
    }
    let mut lanes = subnet.lanes.take().unwrap_or_else(|| Lanes::new(&subnet, planes(&subnet)));
    let map = LidMap::new(&subnet);
    let mut switch = None;
    let mut text = String::new();
    while lines.next(&mut text) {
        let outcome = if let Some(rest) = text.strip_prefix("Switch ") {
            head(rest, &subnet, &map).map(|s| switch = Some(s))
        } else if text.starts_with("Channel Adapter") || text.starts_with("Router") {
            switch = None;
            Ok(())
        } else if text.trim().is_empty() || text.starts_with('#') {
            Ok(())
        } else {
            row(&text, switch, &subnet, &mut lanes)
        };
        if let Err(message) = outcome {
            lines.mistake(&text, message);
        }
    }
    lines.done()?;
    subnet.lanes = Some(lanes);
    Ok(subnet)
}

/// Planes of the tables that are there.
pub(super) fn planes(subnet: &Subnet) -> u32 {
    subnet.tables.as_ref().map_or(1, |t: &Tables| t.planes)
}

fn head(rest: &str, subnet: &Subnet, map: &LidMap) -> Result<u32, String> {
    let guid = hex(rest.split(',').next().unwrap_or("")).ok_or("the switch's GUID is missing")?;
    let by_guid = subnet.switches.iter().position(|&s| subnet.nodes[s as usize].guid == guid);
    let by_lid = || {
        let lid = rest.split("base LID ").nth(1)?.split(',').next()?.trim().parse().ok()?;
        let (node, _) = map.get(lid)?;
        (!subnet.is_host(node)).then(|| subnet.place(node))
    };
    let found = by_guid.map(|i| i as u32).or_else(by_lid);
    found.ok_or_else(|| format!("no switch of the network has GUID {guid:#018x}"))
}

fn row(text: &str, switch: Option<u32>, subnet: &Subnet, lanes: &mut Lanes) -> Result<(), String> {
    let form = "a row is written: 0   1   : 0  1  0 .. (16 lanes)";
    let (ends, values) = text.split_once(':').ok_or(form)?;
    let ends: Vec<u32> =
        ends.split_whitespace().map(|w| w.parse().map_err(|_| form)).collect::<Result<_, _>>()?;
    let mut row = [0u8; 16];
    let mut words = values.split_whitespace();
    for lane in &mut row {
        *lane = words.next().and_then(|w| w.parse().ok()).filter(|&l: &u8| l < 16).ok_or(form)?;
    }
    let ([input, output], None) = (ends.as_slice(), words.next()) else { return Err(form.to_owned()) };
    let Some(switch) = switch else { return Ok(()) };
    let ports = subnet.nodes[subnet.switches[switch as usize] as usize].ports + 1;
    if *input >= ports || *output >= ports {
        return Err(format!("this switch has ports 0 to {}", ports - 1));
    }
    if ports > MAX_MAPPED + 1 {
        return Err(format!(
            "a switch with {} ports is mapped; the most that can be is {MAX_MAPPED}",
            ports - 1
        ));
    }
    let map = &mut lanes.map[switch as usize];
    if map.is_empty() {
        let same: [u8; 16] = std::array::from_fn(|sl| sl as u8);
        *map = vec![same; (ports * ports) as usize];
    }
    map[(input * ports + output) as usize] = row;
    Ok(())
}
