//! Hosts with links of their own (cabinets, peers, host_links), coordinates, speeds, and routes that go before all others.

use super::{Parsed, PlatformReader, ROUTER, units};
use crate::platform::zone::{
    Across, Rule,
    star::{Coordinates, Star},
};
use roxmltree::Node;

impl<'a> PlatformReader<'a> {
    /// Refuses a host's speed that is none; of several states the one that `pstate` names counts. What hosts compute is not simulated.
    pub(super) fn check_speed(&self, node: Node<'a, 'a>) -> Parsed<()> {
        let Some(text) = node.attribute("speed").filter(|text| !text.is_empty()) else { return Ok(()) };
        let state = match node.attribute("pstate").filter(|text| !text.is_empty()) {
            None => 0,
            Some(text) => text
                .parse()
                .map_err(|_| self.mistake(node, format!("`pstate=\"{text}\"` is no number of a state")))?,
        };
        let Some(one) = text.split(',').nth(state) else {
            return Err(self.mistake(node, format!("`speed=\"{text}\"` has no state {state}")));
        };
        units::speed(one).map(drop).map_err(|why| self.mistake(node, format!("`speed=\"{text}\"` {why}")))
    }

    /// Reads the coordinates of a point, if it has any.
    pub(super) fn place_at(&mut self, node: Node<'a, 'a>, point: u32) -> Parsed<()> {
        let Some(text) = node.attribute("coordinates").filter(|text| !text.is_empty()) else { return Ok(()) };
        let numbers: Option<Vec<f64>> =
            text.split_whitespace().map(|n| n.parse().ok().filter(|n: &f64| n.is_finite())).collect();
        let place = numbers.and_then(|numbers| Coordinates::try_from(numbers).ok());
        let Some(place) = place else {
            return Err(self.mistake(node, format!("`coordinates=\"{text}\"` are no three numbers")));
        };
        self.coordinates.insert(point, place);
        Ok(())
    }

    fn star_of(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<&mut Star> {
        let why = format!("<{}> lies in zones of routing Cluster only", node.tag_name().name());
        let mistake = self.mistake(node, why);
        match &mut self.zones[zone as usize].rule {
            Rule::Star(star) => Ok(star),
            _ => Err(mistake),
        }
    }

    /// The links of one host of a zone of routing Cluster. Its backbone is added as the zone ends.
    fn own_links(&mut self, node: Node<'a, 'a>, zone: u32, host: u32, (up, down): (u32, u32)) -> Parsed<()> {
        let star = self.star_of(node, zone)?;
        star.up.insert(host, vec![up]);
        star.down.insert(host, vec![down]);
        Ok(())
    }

    pub(super) fn host_link(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<()> {
        let host = self.named_point(node, "id")?;
        let up = self.link(node, self.attribute(node, "up")?)?;
        let down = self.link(node, self.attribute(node, "down")?)?;
        self.own_links(node, zone, host, (up, down))
    }

    /// A row of hosts of a zone of routing Cluster, each with a link up and a link down.
    pub(super) fn cabinet(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<()> {
        let (prefix, suffix) =
            (node.attribute("prefix").unwrap_or(""), node.attribute("suffix").unwrap_or(""));
        let (bandwidth, latency) = (self.bandwidth(node, "bw")?, self.latency(node, "lat")?);
        self.check_speed(node)?;
        for n in self.radical(node)? {
            let name = format!("{prefix}{n}{suffix}");
            let host = self.host(node, name.clone(), zone)?;
            let cable = self.cable(node, format!("link_{name}"), bandwidth, latency, "SPLITDUPLEX")?;
            self.own_links(node, zone, host, cable)?;
        }
        Ok(())
    }

    /// A host of a Vivaldi zone with links of two bandwidths.
    pub(super) fn peer(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<()> {
        let name = self.attribute(node, "id")?.to_owned();
        self.check_speed(node)?;
        let host = self.host(node, name.clone(), zone)?;
        self.attribute(node, "coordinates")?;
        self.place_at(node, host)?;
        self.host_profiles(node);
        let (out, inward) = (self.bandwidth(node, "bw_out")?, self.bandwidth(node, "bw_in")?);
        let up = self.cable(node, format!("link_{name}_UP"), out, 0.0, "SHARED")?.0;
        let down = self.cable(node, format!("link_{name}_DOWN"), inward, 0.0, "SHARED")?.0;
        self.own_links(node, zone, host, (up, down))
    }

    /// Counts the profiles of a host, which no network needs.
    pub(super) fn host_profiles(&mut self, node: Node<'a, 'a>) {
        let has = |key: &str| node.attribute(key).is_some_and(|file| !file.is_empty());
        if has("state_file") {
            self.pass_over("profiles of the states of hosts");
        }
        if has("speed_file") || has("availability_file") {
            self.pass_over("profiles of the speeds of hosts");
        }
    }

    /// Puts the backbone of a zone of routing Cluster between its hosts.
    pub(super) fn end_star(&mut self, node: Node<'a, 'a>, zone: u32) {
        let backbone = node.children().find(|c| c.tag_name().name() == "backbone");
        let backbone = backbone.and_then(|b| self.link_names.get(b.attribute("id")?).copied());
        let (Some(backbone), Rule::Star(star)) = (backbone, &mut self.zones[zone as usize].rule) else {
            return;
        };
        star.up.values_mut().for_each(|links| links.push(backbone));
        star.down.values_mut().for_each(|links| links.insert(0, backbone));
    }

    /// A route that goes before all others.
    pub(super) fn bypass(&mut self, node: Node<'a, 'a>, zone: u32) -> Parsed<()> {
        let links = self.links_of(node)?.0;
        if node.tag_name().name() == "bypassRoute" {
            let ends = (self.named_point(node, "src")?, self.named_point(node, "dst")?);
            let inside = |point: u32| match point.checked_sub(ROUTER) {
                Some(router) => self.router_zone[router as usize],
                None => self.host_zone[point as usize],
            };
            if inside(ends.0) != zone || inside(ends.1) != zone {
                return Err(self.mistake(node, "a bypassRoute joins points that lie directly in this zone"));
            }
            self.zones[zone as usize].bypass.insert(ends, links);
            return Ok(());
        }
        let ends = (self.named_zone(node, "src")?, self.named_zone(node, "dst")?);
        let gateways = (self.named_point(node, "gw_src")?, self.named_point(node, "gw_dst")?);
        self.zones[zone as usize].bypass_across.insert(ends, Across { gateways, links });
        Ok(())
    }
}
