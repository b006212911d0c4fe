//! Scenarios with links, flows and completion times, as other simulators give them for comparison.
//!
//! The format is a JSON object whose `scenarios` is a list or a map of scenarios:
//!
//! - `links`: `[name, bytes/s, latency in s, policy]`, policy `SHARED` or `FATPIPE`;
//! - `flows`: `[start in s, source, destination, bytes, [links in the order of the route]]` and perhaps a cap in bytes/s; a link is an index
//!   or a name;
//! - `reverse_routes`: `[source, destination, [links]]`, the paths that acknowledgements take; a path that is not given is that of a flow in
//!   the opposite direction, or else the way forward, reversed;
//! - `bandwidth_events`: `[time in s, link, new bytes/s]`;
//! - `completion`: for every set of rules the times at which the flows end, in s, in their order.

use super::{
    fine_time::FineTime,
    rules::Rules,
    sharing::{LinkChange, Over, Sharing},
};
use base::{sorted::SortedMap, time::Ps};
use fabric::platform::{Event, Link, Policy};
use serde_json::Value as Json;

/// A flow of a scenario, from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// When it begins, in seconds.
    pub start: f64,
    /// Host that sends.
    pub source: String,
    /// Host that receives.
    pub destination: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its links, by index.
    pub route: Vec<u32>,
    /// Its own cap, in bytes per second.
    pub rate: Option<f64>,
}

/// One scenario of a file, to be solved alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its name, as users write and read it.
    pub name: String,
    /// The links, by their number.
    pub links: Vec<Link>,
    /// The flows that share the links.
    pub flows: Vec<Flow>,
    /// Paths back by source and destination of the acknowledgements.
    pub reverse: SortedMap<(String, String), Vec<u32>>,
    /// Links that get another bandwidth.
    pub events: Vec<Event>,
    /// By name of the rules, when each flow ends, in seconds.
    pub completion: Vec<(String, Vec<f64>)>,
}

/// The rules that a name in `completion` stands for.
#[must_use]
pub fn rules(name: &str) -> Option<Rules> {
    let (preset, cross) = match name.strip_suffix("_nocross") {
        Some(preset) => (preset, false),
        None => (name.strip_suffix("_default").unwrap_or(name), true),
    };
    let rules = match preset {
        "plain" => Rules::plain(),
        "maxmin" => Rules::maxmin(),
        "CM02" => Rules::cm02(),
        "LV08" => Rules::lv08(),
        "SMPI" => Rules::smpi(),
        _ => return None,
    };
    Some(if cross { rules } else { Rules { cross: 0.0, ..rules } })
}

/// Reads a file of scenarios.
///
/// # Errors
/// Where it is not as the format says.
pub fn read(text: &str) -> Result<Vec<Scenario>, String> {
    let json: Json = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let reported = |name: &str, e: String| format!("scenario `{name}`: {e}");
    match json.get("scenarios") {
        Some(Json::Array(list)) => list
            .iter()
            .enumerate()
            .map(|(n, s)| {
                let name = s
                    .get("name")
                    .and_then(Json::as_str)
                    .map_or_else(|| format!("scenario-{n}"), str::to_owned);
                scenario(&name, s).map_err(|e| reported(&name, e))
            })
            .collect(),
        Some(Json::Object(map)) => {
            map.iter().map(|(name, s)| scenario(name, s).map_err(|e| reported(name, e))).collect()
        }
        _ => Err("there is no `scenarios`, a list or a map".to_owned()),
    }
}

fn list<'a>(json: &'a Json, key: &str) -> Result<&'a [Json], String> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(&[]),
        Some(Json::Array(list)) => Ok(list),
        Some(_) => Err(format!("`{key}` is no list")),
    }
}

fn number(json: Option<&Json>, what: &str) -> Result<f64, String> {
    let number = json.and_then(Json::as_f64).filter(|n| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| format!("{what} is not a number from 0 on"))
}

fn text(json: Option<&Json>, what: &str) -> Result<String, String> {
    match json {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(Json::Number(n)) => Ok(n.to_string()),
        _ => Err(format!("{what} is no name")),
    }
}

/// Names and indices of a scenario's links.
struct Names(SortedMap<String, u32>, usize);

impl Names {
    fn link(&self, json: &Json) -> Result<u32, String> {
        let index = match json {
            Json::String(name) => self.0.get(name).copied(),
            _ => json.as_u64().filter(|&n| n < self.1 as u64).map(|n| n as u32),
        };
        index.ok_or_else(|| format!("there is no link {json}"))
    }

    fn route(&self, json: Option<&Json>) -> Result<Vec<u32>, String> {
        match json {
            Some(Json::Array(links)) => links.iter().map(|l| self.link(l)).collect(),
            _ => Err("a route is a list of links".to_owned()),
        }
    }
}

fn scenario(name: &str, json: &Json) -> Result<Scenario, String> {
    if json.get("links").is_none() && json.get("flows").is_none() {
        return Err("there are neither `links` nor `flows`".to_owned());
    }
    let mut links = Vec::new();
    for (n, l) in list(json, "links")?.iter().enumerate() {
        let policy = match l.get(3).and_then(Json::as_str) {
            None | Some("SHARED") => Policy::Shared,
            Some("FATPIPE") => Policy::FatPipe,
            Some(other) => return Err(format!("link {n}: there is no policy `{other}`")),
        };
        links.push(Link {
            name: text(l.get(0), &format!("the name of link {n}"))?,
            bandwidth: number(l.get(1), &format!("the bandwidth of link {n}"))?,
            latency: number(l.get(2), &format!("the latency of link {n}"))?,
            policy,
        });
    }
    let names = Names(
        links.iter().enumerate().map(|(n, l)| (l.name.clone(), n as u32)).collect::<SortedMap<_, _>>(),
        links.len(),
    );
    let mut flows = Vec::new();
    for (n, f) in list(json, "flows")?.iter().enumerate() {
        let rate = f.get(5).and_then(Json::as_f64).filter(|r| *r > 0.0);
        flows.push(Flow {
            start: number(f.get(0), &format!("the start of flow {n}"))?,
            source: text(f.get(1), &format!("the source of flow {n}"))?,
            destination: text(f.get(2), &format!("the destination of flow {n}"))?,
            bytes: number(f.get(3), &format!("the size of flow {n}"))?.round() as u64,
            route: names.route(f.get(4)).map_err(|e| format!("flow {n}: {e}"))?,
            rate,
        });
    }
    let mut reverse = SortedMap::new();
    for (n, r) in list(json, "reverse_routes")?.iter().enumerate() {
        let route = names.route(r.get(2)).map_err(|e| format!("reverse route {n}: {e}"))?;
        let ends =
            (text(r.get(0), "a reverse route's source")?, text(r.get(1), "a reverse route's destination")?);
        reverse.insert(ends, route);
    }
    let mut events = Vec::new();
    for e in list(json, "bandwidth_events")? {
        let link = names.link(e.get(1).unwrap_or(&Json::Null))?;
        let time = number(e.get(0), "the time of an event")?;
        events.push(Event { time, link, bandwidth: number(e.get(2), "the bandwidth of an event")? });
    }
    let mut completion = Vec::new();
    for (rules, times) in json.get("completion").and_then(Json::as_object).into_iter().flatten() {
        if self::rules(rules).is_none() {
            let known = "plain, maxmin, CM02, LV08 and SMPI, with _default or _nocross";
            return Err(format!("there are no rules `{rules}`; there are {known}"));
        }
        let times = times.as_array().ok_or_else(|| format!("completion `{rules}` is no list"))?;
        let times =
            times.iter().map(|t| number(Some(t), "a completion time")).collect::<Result<Vec<_>, _>>()?;
        if times.len() != flows.len() {
            return Err(format!("completion `{rules}` has {} times for {} flows", times.len(), flows.len()));
        }
        completion.push((rules.clone(), times));
    }
    Ok(Scenario { name: name.to_owned(), links, flows, reverse, events, completion })
}

impl Scenario {
    /// The way that acknowledgements of a flow take.
    #[must_use]
    pub fn back(&self, flow: &Flow) -> Vec<u32> {
        let ends = (flow.destination.clone(), flow.source.clone());
        if let Some(given) = self.reverse.get(&ends) {
            return given.clone();
        }
        let opposite = |f: &&Flow| (&f.source, &f.destination) == (&flow.destination, &flow.source);
        match self.flows.iter().find(opposite) {
            Some(opposite) => opposite.route.clone(),
            None => flow.route.iter().rev().copied().collect(),
        }
    }

    /// When each flow ends under some rules, in seconds; infinite for one that never does.
    #[must_use]
    pub fn run(&self, rules: Rules) -> Vec<f64> {
        let mut sharing = Sharing::new(rules, 0);
        for l in &self.links {
            sharing.link(l.bandwidth, l.latency, l.policy);
        }
        let zero = FineTime::at(0);
        let change = |e: &Event| LinkChange::bandwidth(zero.after(e.time), e.link, e.bandwidth);
        sharing.schedule(self.events.iter().map(change).collect());
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        order.sort_by(|&a, &b| self.flows[a].start.total_cmp(&self.flows[b].start));
        let mut routes: SortedMap<(Vec<u32>, Vec<u32>), u32> = SortedMap::new();
        let (mut over, mut ends) = (Vec::new(), vec![f64::INFINITY; self.flows.len()]);
        let mut collect = |over: &mut Vec<Over>| {
            for o in over.drain(..) {
                debug_assert!(ends[o.tag as usize].is_infinite(), "a flow ends once");
                ends[o.tag as usize] = o.at.exact_ps() / 1e12;
            }
        };
        for n in order {
            let flow = &self.flows[n];
            let start = zero.after(flow.start);
            while sharing.next().is_some_and(|next| next < start) && sharing.step(Ps::MAX, &mut over) {
                collect(&mut over);
            }
            let paths = (flow.route.clone(), self.back(flow));
            let route = match routes.get(&paths) {
                Some(&route) => route,
                None => {
                    let route = sharing.route(paths.0.clone(), &paths.1, 0.0);
                    routes.insert(paths, route);
                    route
                }
            };
            sharing.begin(start, route, flow.bytes, flow.rate, n as u32);
        }
        while sharing.step(Ps::MAX, &mut over) {
            collect(&mut over);
        }
        ends
    }
}

#[cfg(test)]
mod tests;
