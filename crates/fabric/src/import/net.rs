//! ibsim's `.net` files and the output of ibnetdiscover: one record per node, one line per cabled port.
//!
//! ```text
//! switchguid=0x8f10500200b50(8f10500200b50)
//! Switch 36 "S-0008f10500200b50"   # "description" enhanced port 0 lid 9 lmc 0
//! [1]  "S-0008f10500108c5c"[15]    # "description" lid 16 4xQDR
//! [4]  "H-003048c749cd0000"[1](3048c749cd0001)   # "description" lid 72 4xDDR
//! ```
//!
//! Aggregation nodes (SHARP's, which are adapters inside switches) and routers to other subnets carry no ranks: they are left out with
//! their cables, and so are cables to nodes that have no record. Lines that the tools print among the records when a node does not answer,
//! prompts, and all else that holds no text in quotes and is no port are skipped. [`Subnet::notes`] says how many of each. Tabs may
//! be spaces or be lost.
//!
//! A cable may stand at one end or both. Records of hand-written files without GUIDs get those that ibsim gives: 0x100000 and
//! up for adapters (port p has the next p-th number), 0x200000 and up for switches.

use super::{
    lids,
    lines::{Lines, Skipped, hex},
    role::{Strange, What, notes_of},
};
use crate::subnet::{Keep, Kind, MAX_PORTS, NONE, Names, Node, Speed, Subnet, SubnetBuilder};
use base::param::Problem;

/// How lines of these files begin that are not the heads of records.
const BEGINNINGS: &[&str] = &["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid="];

/// A record and its port.
type End = (u32, u32);

/// Words with which tools warn in the middle of their output.
const NOISE: &[&str] = &[
    "ibwarn:",
    "ibpanic:",
    "ibdebug:",
    "iberror:",
    "umad",
    "query_smp",
    "src/query_smp",
    "mad_rpc",
    "_do_madrpc",
];

/// A record's head.
struct Record {
    what: What,
    ports: u32,
    guid: u64,
    description: String,
    lid: u32,
    lmc: u8,
    line: u64,
    /// Node of each port that has a cable, for adapters; for a switch the node at 0.
    nodes: Vec<(u32, u32)>,
}

/// A port line.
struct Cable {
    record: u32,
    port: u32,
    /// GUID of the port itself, if the line says.
    own: u64,
    peer: u32,
    peer_port: u32,
    /// GUID of the other end's port.
    other: u64,
    /// LID and LMC of an adapter's port, if its line says.
    lid: Option<(u32, u8)>,
    /// LID of the other end.
    peer_lid: u32,
    speed: Option<Speed>,
    /// The words of a speed that nobody knows.
    unknown: Option<String>,
    line: u64,
}

/// Reads the records.
pub(super) fn read(lines: &mut Lines, keep: Keep) -> Result<Subnet, Vec<Problem>> {
    let mut file = File { keep, ..File::default() };
    let mut text = String::new();
    while lines.next(&mut text) {
        let line = text.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Err(message) = file.line(line, lines.number) {
            lines.mistake(&text, message);
        }
    }
    lines.done()?;
    file.build(lines)
}

#[derive(Default)]
struct File {
    names: Names,
    /// By name: its record, or [`NONE`].
    record_of: Vec<u32>,
    records: Vec<Record>,
    cables: Vec<Cable>,
    /// GUID that stands before the next record.
    guid: u64,
    skipped: Skipped,
    keep: Keep,
    strange: Strange,
    /// It says LIDs, be they 0.
    tells_lids: bool,
    /// Cables to nodes without a record, and the first of these nodes.
    strangers: (u32, String),
}

/// Word that begins a record, and what follows: a blank or, where tabs were lost, the number of ports.
fn head(line: &str) -> Option<(&'static str, &str)> {
    ["Switch", "Ca", "Hca", "Rt"].into_iter().find_map(|word| {
        let rest = line.strip_prefix(word)?;
        let is =
            rest.starts_with(|c: char| c == ' ' || c == '\t' || c.is_ascii_digit()) && rest.contains('"');
        is.then(|| (word, rest.trim_start()))
    })
}

/// True of a line with which such a file may begin.
pub(super) fn begins(line: &str) -> bool {
    head(line).is_some() || BEGINNINGS.iter().any(|word| line.starts_with(word))
}

/// Text in quotes at the beginning, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

/// A number in brackets at the beginning, and what follows.
fn bracket(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix(open)?.split_once(close)
}

/// The word after `key` in a comment, as a number.
fn after(comment: &str, key: &str) -> Option<u32> {
    let mut words = comment.split_whitespace();
    words.by_ref().find(|w| *w == key)?;
    words.next()?.parse().ok()
}

/// The LID of a comment, if it has one.
fn lid(comment: &str) -> Result<Option<u32>, String> {
    after(comment, "lid").map(lids::of_port).transpose()
}

/// True of a word that states a speed, known or not: `4xQDR`, `4x???`.
fn is_speed(word: &str) -> bool {
    word.split_once('x').is_some_and(|(width, rate)| width.parse::<u8>().is_ok() && !rate.is_empty())
}

impl File {
    fn line(&mut self, line: &str, number: u64) -> Result<(), String> {
        // A prompt may begin with a bracket as well.
        if line
            .strip_prefix('[')
            .is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        {
            return self.port(line, number);
        }
        if let Some((word, rest)) = head(line) {
            return self.record(word, rest, number);
        }
        let word = line.split(['=', ' ', '\t']).next().unwrap_or("");
        match word {
            "switchguid" | "caguid" | "rtguid" | "nodeguid" => {
                let value = line.split_once('=').map_or("", |(_, v)| v);
                let digits = value.split('(').next().unwrap_or("").trim();
                self.guid = hex(digits).ok_or_else(|| format!("`{digits}` is no GUID"))?;
                Ok(())
            }
            "vendid" | "devid" | "sysimgguid" | "Chassis" | "Spine" | "Line" | "Non-Chassis" | "GUID:" => {
                Ok(())
            }
            _ if self.is_noise(line) => {
                self.skipped.count(number, line);
                Ok(())
            }
            _ => Err("this is neither a record (Switch, Ca, Hca) nor a port ([1] ..)".to_owned()),
        }
    }

    /// Warnings of tools, all that stands before the first record and its GUIDs, and what can be no record, since it names nothing in
    /// quotes: a prompt, a message of the system. A misspelt record is a mistake, or its ports would be taken for those of the one before.
    fn is_noise(&self, line: &str) -> bool {
        let early = self.records.is_empty() && self.guid == 0;
        early || !line.contains('"') || NOISE.iter().any(|word| line.starts_with(word))
    }

    fn name(&mut self, name: &str) -> u32 {
        let number = self.names.number(name);
        if self.record_of.len() <= number as usize {
            self.record_of.resize(number as usize + 1, NONE);
        }
        number
    }

    fn record(&mut self, word: &str, rest: &str, line: u64) -> Result<(), String> {
        let form = "a record is written: Switch 8 \"name\"";
        let (ports, rest) = rest.split_at(rest.find([' ', '\t', '"']).ok_or(form)?);
        let ports: u64 = ports.parse().map_err(|_| format!("`{ports}` is no number of ports"))?;
        if ports > MAX_PORTS {
            return Err(format!("this node claims {ports} ports; the most that can be is {MAX_PORTS}"));
        }
        let (name, rest) = quoted(rest).ok_or("the node's name in quotes is missing")?;
        let number = self.name(name);
        if self.record_of[number as usize] != NONE {
            let first = self.records[self.record_of[number as usize] as usize].line;
            return Err(format!("\"{name}\" has a record already, on line {first}"));
        }
        let comment = rest.split_once('#').map_or("", |(_, c)| c);
        let (description, fields) = quoted(comment).unwrap_or((name, comment));
        let own =
            name.get(2..).filter(|d| d.len() == 16 && matches!(name.get(..2), Some("S-" | "H-" | "R-")));
        let guid = match std::mem::take(&mut self.guid) {
            0 => own.and_then(hex).unwrap_or(0),
            guid => guid,
        };
        let lid = lid(fields)?;
        self.tells_lids |= lid.is_some();
        let lid = lid.unwrap_or(0);
        self.record_of[number as usize] = self.records.len() as u32;
        self.records.push(Record {
            what: What::of(word, description),
            ports: ports as u32,
            guid,
            description: description.to_owned(),
            lid,
            lmc: after(fields, "lmc").filter(|&l| l < 8).unwrap_or(0) as u8,
            line,
            nodes: Vec::new(),
        });
        Ok(())
    }

    fn port(&mut self, line: &str, number: u64) -> Result<(), String> {
        let form = "a port is written: [1] \"peer\"[2]";
        let (port, mut rest) = bracket(line, '[', ']').ok_or(form)?;
        let port: u32 = port.trim().parse().map_err(|_| format!("`{port}` is no port number"))?;
        if let Some((_, after)) = bracket(rest, '[', ']') {
            rest = after; // `[ext 12]`, the number on the chassis.
        }
        let mut own = 0;
        if let Some((guid, after)) = bracket(rest, '(', ')') {
            own = hex(guid.trim()).ok_or_else(|| format!("`{guid}` is no GUID"))?;
            rest = after;
        }
        let (peer, rest) = quoted(rest).ok_or(form)?;
        let (peer_port, mut rest) = bracket(rest, '[', ']').ok_or(form)?;
        let peer_port: u32 =
            peer_port.trim().parse().map_err(|_| format!("`{peer_port}` is no port number"))?;
        if let Some((_, after)) = bracket(rest, '[', ']') {
            rest = after;
        }
        let mut other = 0;
        if let Some((guid, after)) = bracket(rest, '(', ')') {
            other = hex(guid.trim()).ok_or_else(|| format!("`{guid}` is no GUID"))?;
            rest = after;
        }
        let Some(record) = (self.records.len() as u32).checked_sub(1) else {
            return Err("a port before the first record".to_owned());
        };
        let head = &self.records[record as usize];
        if port == 0 || port > head.ports {
            return Err(format!("this node has ports 1 to {}, not {port}", head.ports));
        }
        let (switch, options) = (head.what == What::Switch, rest.split('#').next().unwrap_or(""));
        let comment = rest.split_once('#').map_or("", |(_, c)| c);
        // In a comment of an adapter's port its own LID stands before the other's description, which stands last.
        let fields = comment.rsplit_once('"').map_or(comment, |(_, t)| t);
        let own_lid = if switch { None } else { lid(comment.split('"').next().unwrap_or(""))? };
        let lmc = after(comment.split('"').next().unwrap_or(""), "lmc").filter(|&l| l < 8).unwrap_or(0) as u8;
        let speed = fields.split_whitespace().find_map(Speed::parse).or_else(|| {
            let width = options.split_whitespace().find_map(|w| w.strip_prefix("w="))?.parse().ok()?;
            Some(Speed { width, ..Speed::USUAL })
        });
        let unknown = speed.is_none().then(|| fields.split_whitespace().find(|w| is_speed(w))).flatten();
        let unknown = unknown.map(str::to_owned);
        let peer_lid = lid(fields)?;
        self.tells_lids |= own_lid.is_some() || peer_lid.is_some();
        let peer_lid = peer_lid.unwrap_or(0);
        let peer = self.name(peer);
        let lid = own_lid.map(|lid| (lid, lmc));
        self.cables.push(Cable {
            record,
            port,
            own,
            peer,
            peer_port,
            other,
            lid,
            peer_lid,
            speed,
            unknown,
            line: number,
        });
        Ok(())
    }

    fn build(mut self, lines: &mut Lines) -> Result<Subnet, Vec<Problem>> {
        let mut builder = SubnetBuilder::default();
        self.give_guids();
        let mut joined = self.join(lines);
        lines.done()?;
        joined.sort_unstable();
        for record in 0..self.records.len() {
            if self.records[record].what == What::Switch {
                self.node(record as u32, 0, &mut builder);
            }
        }
        for &([a, b], cable) in &joined {
            if [a, b].iter().any(|end| self.records[end.0 as usize].what.is_left_out(self.keep)) {
                continue;
            }
            let speed = self.cables[cable as usize].speed.unwrap_or(Speed::USUAL);
            let (a_node, b_node) = (self.node(a.0, a.1, &mut builder), self.node(b.0, b.1, &mut builder));
            builder.cable((a_node, a.1), (b_node, b.1), speed);
        }
        for cable in &self.cables {
            self.note_addresses(cable, &mut builder);
        }
        builder.left_out = self.left_out();
        builder.tells_lids = self.tells_lids;
        builder.notes = self.notes();
        builder.finish(&lines.name)
    }

    /// GUIDs of records that have none, as ibsim numbers them.
    fn give_guids(&mut self) {
        let (mut adapter, mut switch) = (0x10_0000, 0x20_0000);
        for record in &mut self.records {
            if record.guid != 0 {
                continue;
            }
            if record.what == What::Switch {
                record.guid = switch;
                switch += 1;
            } else {
                record.guid = adapter;
                adapter += u64::from(record.ports) + 1;
            }
        }
    }

    /// Every cable once: its ends as (record, port), lower first, and the line that reports it.
    fn join(&mut self, lines: &mut Lines) -> Vec<([End; 2], u32)> {
        // (record, port) -> the other end, and the line; sorted to find contradictions.
        let mut ends: Vec<(End, End, u32)> = Vec::new();
        let mut strangers = (0, String::new());
        for (i, cable) in (0u32..).zip(&self.cables) {
            let peer = self.record_of[cable.peer as usize];
            let name = self.names.get(cable.peer);
            if peer == NONE {
                strangers.0 += 1;
                if strangers.1.is_empty() {
                    strangers.1 = name.to_owned();
                }
                continue;
            }
            let ports = self.records[peer as usize].ports;
            if cable.peer_port == 0 || cable.peer_port > ports {
                let message = format!("\"{name}\" has ports 1 to {ports}, not {}", cable.peer_port);
                lines.at(cable.line, &format!("\"{name}\"[{}]", cable.peer_port), message);
                continue;
            }
            let (here, there) = ((cable.record, cable.port), (peer, cable.peer_port));
            ends.push((here, there, i));
            ends.push((there, here, i));
        }
        self.strangers = strangers;
        ends.sort_unstable();
        for pair in ends.windows(2) {
            let [(here, there, a), (other, elsewhere, b)] = [pair[0], pair[1]];
            if here == other && there != elsewhere {
                let (first, second) =
                    (self.cables[a.min(b) as usize].line, self.cables[a.max(b) as usize].line);
                let message = format!(
                    "port {} of \"{}\" has another cable already, by line {first}",
                    here.1, self.records[here.0 as usize].description
                );
                lines.at(second, "", message);
            }
        }
        ends.retain(|(a, b, _)| a < b);
        // A cable that both of its ends tell is one, and has the speed of the line that has it first.
        let groups = ends.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1));
        let once: Vec<([End; 2], u32)> =
            groups.clone().map(|lines| ([lines[0].0, lines[0].1], lines[0].2)).collect();
        let unknown = |lines: &[(End, End, u32)]| {
            let open = self.cables[lines[0].2 as usize].speed.is_none();
            lines
                .iter()
                .filter(|_| open)
                .find_map(|l| Some((l.2, self.cables[l.2 as usize].unknown.clone()?)))
        };
        let mut unknown: Vec<(u32, String)> = groups.filter_map(unknown).collect();
        unknown.sort_unstable();
        unknown.iter().for_each(|(_, word)| self.strange.count(word));
        once
    }

    /// End ports of records that carry no ranks, with what cables' lines say of them.
    fn left_out(&self) -> Vec<Node> {
        let mut all: Vec<Node> = Vec::new();
        let mut add = |record: u32, port: u32, guid: u64, (lid, lmc): (u32, u8)| {
            let head = &self.records[record as usize];
            let port_guid = if guid == 0 { head.guid.wrapping_add(u64::from(port)) } else { guid };
            all.push(Node {
                name: head.description.clone(),
                guid: head.guid,
                port_guid,
                kind: Kind::Host,
                role: head.what.role(),
                ports: head.ports,
                port,
                lid,
                lmc,
            });
        };
        for cable in &self.cables {
            if self.records[cable.record as usize].what.is_left_out(self.keep) {
                add(cable.record, cable.port, cable.own, cable.lid.unwrap_or((0, 0)));
            }
            let peer = self.record_of[cable.peer as usize];
            if peer != NONE && self.records[peer as usize].what.is_left_out(self.keep) {
                add(peer, cable.peer_port, cable.other, (cable.peer_lid, 0));
            }
        }
        // Both ends may describe a port; the one that knows its identifiers stays.
        all.sort_by_key(|n| (n.guid, n.port, std::cmp::Reverse((n.lmc, n.lid))));
        all.dedup_by_key(|n| (n.guid, n.port));
        all
    }

    /// What was left out, skipped or taken for something else.
    fn notes(&self) -> Vec<String> {
        let records = self.records.iter().map(|r| (r.what, r.description.as_str()));
        let (cables, name) = &self.strangers;
        let lost = (*cables > 0).then(|| {
            format!("{cables} cables left out: they lead to nodes without a record, the first to \"{name}\"")
        });
        let skipped = self.skipped.note("neither records nor ports");
        notes_of(records, self.keep)
            .into_iter()
            .chain(lost)
            .chain(self.strange.note())
            .chain(skipped)
            .collect()
    }

    /// Node of a record's port: a switch is one, every cabled port of an adapter is one.
    fn node(&mut self, record: u32, port: u32, builder: &mut SubnetBuilder) -> u32 {
        let head = &mut self.records[record as usize];
        let port = if head.what == What::Switch { 0 } else { port };
        if let Some(&(_, node)) = head.nodes.iter().find(|(p, _)| *p == port) {
            return node;
        }
        let node = builder.nodes.len() as u32;
        head.nodes.push((port, node));
        builder.nodes.push(Node {
            name: head.description.clone(),
            guid: head.guid,
            port_guid: head.guid.wrapping_add(u64::from(port)),
            kind: if head.what == What::Switch { Kind::Switch } else { Kind::Host },
            role: head.what.role(),
            ports: head.ports,
            port,
            lid: head.lid,
            lmc: head.lmc,
        });
        node
    }

    /// Port GUIDs and LIDs that a cable's line has.
    fn note_addresses(&self, cable: &Cable, builder: &mut SubnetBuilder) {
        let find = |record: u32, port: u32| {
            let head = self.records.get(record as usize)?;
            let port = if head.what == What::Switch { 0 } else { port };
            head.nodes.iter().find(|(p, _)| *p == port).map(|&(_, node)| node as usize)
        };
        let (here, there) =
            (find(cable.record, cable.port), find(self.record_of[cable.peer as usize], cable.peer_port));
        for (node, guid, lid) in [
            (here, cable.own, cable.lid),
            (there, cable.other, (cable.peer_lid != 0).then_some((cable.peer_lid, 0))),
        ] {
            let Some(node) = node.map(|n| &mut builder.nodes[n]) else { continue };
            if guid != 0 && node.kind == Kind::Host {
                node.port_guid = guid;
            }
            if let Some((lid, lmc)) = lid {
                node.lid = if node.lid == 0 { lid } else { node.lid };
                node.lmc = node.lmc.max(lmc);
            }
        }
    }
}
