//! `ibdiagnet2.db_csv`: sections of comma-separated values, of which nodes, ports and links are read.
//!
//! ```text
//! START_NODES
//! NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID,..
//! "leaf1",40,2,1,1,0x10,0x10,0x10,..
//! END_NODES
//! START_PORTS
//! NodeGuid,PortGuid,PortNum,..,LID,..,LinkWidthActv,..,LinkSpeedActv,LMC,..
//! END_PORTS
//! START_LINKS
//! NodeGuid1,PortNum1,NodeGuid2,PortNum2
//! END_LINKS
//! ```
//!
//! Columns are found by their names, in any order.

use super::{
    ends::{End, Ends, Stated, check_port},
    lines::{Lines, hex},
    role::What,
};
use crate::subnet::{Keep, Kind, Node, Speed, Subnet};
use base::{param::Problem, sorted::SortedMap};

/// A node of the section on nodes.
struct Described {
    what: What,
    name: String,
    ports: u32,
}

/// A row of the section on ports.
#[derive(Clone, Copy, Default)]
struct Port {
    guid: u64,
    lid: u32,
    lmc: u8,
    /// Bits of width and rate; 0 where the file does not say.
    speed: (u32, u32),
}

/// A link and its line.
struct Link {
    ends: [(u64, u32); 2],
    line: u64,
}

#[derive(Default)]
struct File {
    nodes: SortedMap<u64, Described>,
    ports: SortedMap<(u64, u32), Port>,
    /// First identifier of each node: a switch has its own at port 0, or at all of its ports.
    lids: SortedMap<u64, u32>,
    links: Vec<Link>,
    /// Present section, and the names of its columns once they are read.
    section: String,
    columns: Vec<String>,
}

/// Reads nodes and cables.
pub(super) fn read(lines: &mut Lines, keep: Keep) -> Result<Subnet, Vec<Problem>> {
    let (mut file, mut ends) = (File::default(), Ends::new(keep));
    let mut text = String::new();
    while lines.next(&mut text) {
        if let Err(message) = file.line(text.trim(), &mut ends, lines.number) {
            lines.mistake(&text, message);
        }
    }
    lines.done()?;
    let (mut strangers, mut first) = (0u32, 0);
    for link in &file.links {
        let Some((a, b)) = file.end(link.ends[0]).zip(file.end(link.ends[1])) else {
            strangers += 1;
            first = if first == 0 { link.line } else { first };
            continue;
        };
        let of = |end: (u64, u32)| {
            file.ports
                .get(&end)
                .map(|p| p.speed)
                .filter(|s| *s != (0, 0))
                .map(|(width, rate)| speed(width, rate))
        };
        let [one, other] = link.ends.map(of);
        let speed = match (one, other) {
            (Some(Ok(speed)), _) | (_, Some(Ok(speed))) => Ok(speed),
            (unknown, None) | (None, unknown) | (unknown, Some(Err(_))) => {
                unknown.unwrap_or(Ok(Speed::USUAL))
            }
        };
        let checked = check_port(a.port.into(), a.node.ports.into())
            .and_then(|()| check_port(b.port.into(), b.node.ports.into()));
        if let Err(message) = checked.and_then(|()| ends.cable(a, b, speed, link.line)) {
            lines.at(link.line, "", message);
        }
    }
    let note = format!(
        "{strangers} cables left out, the first on line {first}: they lead to nodes that the section NODES does not have"
    );
    ends.note((strangers > 0).then_some(note));
    ends.finish(lines, "in no section")
}

/// Fields of a line; text in quotes may hold commas.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    all.push(field);
    all.iter().map(|f| f.trim().to_owned()).collect()
}

impl File {
    fn line(&mut self, line: &str, ends: &mut Ends, number: u64) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if let Some(section) = line.strip_prefix("START_") {
            (self.section, self.columns) = (section.to_owned(), Vec::new());
            return Ok(());
        }
        if line.starts_with("END_") {
            self.section.clear();
            return Ok(());
        }
        match self.section.as_str() {
            "" => ends.skipped.count(number, line),
            "NODES" | "PORTS" | "LINKS" if self.columns.is_empty() => {
                self.columns = fields(line).iter().map(|name| name.to_ascii_lowercase()).collect();
            }
            "NODES" => return self.node(&fields(line)),
            "PORTS" => return self.port(&fields(line)),
            "LINKS" => return self.link(&fields(line), number),
            _ => {}
        }
        Ok(())
    }

    /// The field of a column; an error if there is none.
    fn field<'a>(&self, row: &'a [String], name: &str) -> Result<&'a str, String> {
        let at = self.columns.iter().position(|column| column == name);
        let field = at.and_then(|at| row.get(at)).map(String::as_str);
        field.ok_or_else(|| format!("section {} has no `{name}` here", self.section))
    }

    fn number(&self, row: &[String], name: &str) -> Result<u64, String> {
        let text = self.field(row, name)?;
        let value = if text.starts_with("0x") { hex(text) } else { text.parse().ok() };
        value.ok_or_else(|| format!("`{text}` is no number, in column `{name}`"))
    }

    /// The same of a column that need not be there, or hold anything: then 0.
    fn stated(&self, row: &[String], name: &str) -> Result<u64, String> {
        match self.field(row, name) {
            Err(_) | Ok("" | "N/A") => Ok(0),
            Ok(_) => self.number(row, name),
        }
    }

    fn node(&mut self, row: &[String]) -> Result<(), String> {
        let (guid, ports) = (self.number(row, "nodeguid")?, self.number(row, "numports")?);
        check_port(ports.clamp(1, u64::MAX), ports.max(1))?;
        let name = self.field(row, "nodedesc")?.to_owned();
        let word = match self.number(row, "nodetype")? {
            1 => "CA",
            2 => "SW",
            3 => "Rt",
            other => {
                return Err(format!(
                    "{other} is no type of nodes: there are 1 (CA), 2 (switch) and 3 (router)"
                ));
            }
        };
        let described = Described { what: What::of(word, &name), name, ports: ports as u32 };
        match self.nodes.insert(guid, described) {
            None => Ok(()),
            Some(_) => Err(format!("node {guid:#018x} is there twice")),
        }
    }

    fn port(&mut self, row: &[String]) -> Result<(), String> {
        let (node, number) = (self.number(row, "nodeguid")?, self.number(row, "portnum")?);
        let number = u32::try_from(number).map_err(|_| format!("{number} is no port"))?;
        let small = |name: &str| {
            let value = self.stated(row, name)?;
            u32::try_from(value).map_err(|_| format!("{value} is too large, in column `{name}`"))
        };
        let speed = (small("linkwidthactv")?, small("linkspeedactv")?);
        let guid = self.stated(row, "portguid")?;
        let (lid, lmc) = (small("lid")?, small("lmc")?);
        if lmc > 7 {
            return Err(format!("LMC {lmc}: an end port has 2^LMC local identifiers, and LMC is 0 to 7"));
        }
        let lmc = lmc as u8;
        if lid != 0 {
            self.lids.entry(node).or_insert(lid);
        }
        self.ports.insert((node, number), Port { guid, lid, lmc, speed });
        Ok(())
    }

    fn link(&mut self, row: &[String], line: u64) -> Result<(), String> {
        let end = |guid: &str, port: &str| {
            let number = self.number(row, port)?;
            Ok::<_, String>((
                self.number(row, guid)?,
                u32::try_from(number).map_err(|_| format!("{number} is no port"))?,
            ))
        };
        let ends = [end("nodeguid1", "portnum1")?, end("nodeguid2", "portnum2")?];
        self.links.push(Link { ends, line });
        Ok(())
    }

    /// The end of a link; `None` if no row is of its node.
    fn end(&self, (guid, port): (u64, u32)) -> Option<End> {
        let described = self.nodes.get(&guid)?;
        let switch = described.what == What::Switch;
        let Port { guid: port_guid, lid, lmc, .. } =
            self.ports.get(&(guid, port)).copied().unwrap_or_default();
        let lid = if switch { self.lids.get(&guid).copied().unwrap_or(0) } else { lid };
        let node = Node {
            name: described.name.clone(),
            guid,
            port_guid: if port_guid == 0 || switch { guid } else { port_guid },
            kind: if switch { Kind::Switch } else { Kind::Host },
            role: described.what.role(),
            ports: described.ports,
            port: if switch { 0 } else { port },
            lid,
            lmc: if switch { 0 } else { lmc },
        };
        Some(End { what: described.what, node, port })
    }
}

/// Width and rate as bits of PortInfo, with extended speeds from bit 8 on and Mellanox's from bit 16.
fn speed(width: u32, rate: u32) -> Stated {
    known(width, rate).ok_or_else(|| format!("width {width}, speed {rate}"))
}

fn known(width: u32, rate: u32) -> Option<Speed> {
    let width = match width {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => return None,
    };
    let name = match rate {
        1 => "SDR",
        2 => "DDR",
        4 => "QDR",
        0x100 => "FDR",
        0x200 => "EDR",
        0x400 => "HDR",
        0x800 => "NDR",
        0x1000 => "XDR",
        0x1_0000 => "FDR10",
        _ => return None,
    };
    Speed::parse(&format!("{width}x{name}"))
}
