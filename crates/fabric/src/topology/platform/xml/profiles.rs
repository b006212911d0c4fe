//! Profiles: bandwidths, latencies and states of links that change in the course of time. Their lines are read by [`super::lines`].

use super::{
    super::limits::MAX_LATENCY,
    Parsed, PlatformReader,
    lines::{Lines, lines},
};
use crate::platform::{Change, Profile};
use roxmltree::Node;

/// What a profile is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Bandwidth,
    Latency,
    State,
}

impl<'a> PlatformReader<'a> {
    /// Reads a `<trace>`, from its text or from a file.
    pub(super) fn trace(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        let id = self.attribute(node, "id")?.to_owned();
        let periodicity = match node.attribute("periodicity") {
            None => None,
            Some(text) => {
                let number = text.parse::<f64>().ok().filter(|n| n.is_finite());
                Some(number.ok_or_else(|| {
                    self.mistake(node, format!("`periodicity=\"{text}\"` is no number of seconds"))
                })?)
            }
        };
        let text = match node.attribute("file").filter(|file| !file.is_empty()) {
            Some(file) => (self.files)(file).map_err(|why| self.mistake(node, why))?,
            None => node.text().unwrap_or("").to_owned(),
        };
        let lines = lines(&text, periodicity).map_err(|why| self.mistake(node, why))?;
        if self.traces.insert(id.clone(), lines).is_some() {
            return Err(self.mistake(node, format!("trace `{id}` comes twice")));
        }
        Ok(())
    }

    /// Joins a `<trace>` to what changes.
    pub(super) fn trace_connect(&mut self, node: Node<'a, 'a>) -> Parsed<()> {
        let (trace, element) = (self.attribute(node, "trace")?, self.attribute(node, "element")?);
        let Some(lines) = self.traces.get(trace).cloned() else {
            let names = self.traces.keys();
            return Err(self.mistake(node, super::unknown("trace", trace, names)));
        };
        let of = match node.attribute("kind").unwrap_or("HOST_AVAIL") {
            "BANDWIDTH" => Of::Bandwidth,
            "LATENCY" => Of::Latency,
            "LINK_AVAIL" => Of::State,
            "HOST_AVAIL" => {
                self.named_point(node, "element")?;
                self.pass_over("profiles of the states of hosts");
                return Ok(());
            }
            "SPEED" | "POWER" => {
                self.named_point(node, "element")?;
                self.pass_over("profiles of the speeds of hosts");
                return Ok(());
            }
            other => {
                let known = "BANDWIDTH, LATENCY, LINK_AVAIL, HOST_AVAIL, SPEED";
                return Err(self.mistake(node, format!("there is no kind `{other}`: {known}")));
            }
        };
        let links = self.directions(node, element)?;
        self.profile(node, &links, of, &lines)
    }

    /// Both directions of a link, or the one that there is.
    fn directions(&self, node: Node<'a, 'a>, name: &str) -> Parsed<Vec<u32>> {
        match self.link_names.get(name) {
            Some(&link) => Ok(vec![link]),
            None => match self.link_names.get(&format!("{name}_UP")) {
                Some(&up) => Ok(vec![up, self.link(node, &format!("{name}_DOWN"))?]),
                None => self.link(node, name).map(|link| vec![link]),
            },
        }
    }

    /// Reads the profiles that a link's attributes name.
    pub(super) fn link_profiles(&mut self, node: Node<'a, 'a>, (up, down): (u32, u32)) -> Parsed<()> {
        let kinds =
            [("bandwidth_file", Of::Bandwidth), ("latency_file", Of::Latency), ("state_file", Of::State)];
        for (key, of) in kinds {
            let Some(file) = node.attribute(key).filter(|file| !file.is_empty()) else { continue };
            let text = (self.files)(file).map_err(|why| self.mistake(node, why))?;
            let lines =
                lines(&text, None).map_err(|why| self.mistake(node, format!("`{key}=\"{file}\"`: {why}")))?;
            let links = if up == down { vec![up] } else { vec![up, down] };
            self.profile(node, &links, of, &lines)?;
        }
        Ok(())
    }

    fn profile(&mut self, node: Node<'a, 'a>, links: &[u32], of: Of, lines: &Lines) -> Parsed<()> {
        let change = |&(time, value): &(f64, f64)| match of {
            Of::Bandwidth if value >= 0.0 => Some((time, Change::Bandwidth(value))),
            Of::Latency if (0.0..=MAX_LATENCY).contains(&value) => Some((time, Change::Latency(value))),
            Of::State if value >= 0.0 => Some((time, Change::Up(value > 0.0))),
            _ => None,
        };
        let changes: Option<Vec<_>> = lines.values.iter().map(change).collect();
        let Some(changes) = changes else {
            return Err(self.mistake(node, "a profile has a value that is negative or too large"));
        };
        if changes.is_empty() {
            return Ok(());
        }
        let period = lines.period;
        self.profiles.extend(links.iter().map(|&link| Profile { link, changes: changes.clone(), period }));
        Ok(())
    }

    /// Counts what the file says and nobody simulates.
    pub(super) fn pass_over(&mut self, what: &'static str) {
        *self.passed.entry(what).or_default() += 1;
    }
}
