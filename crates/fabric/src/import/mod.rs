//! Reading clusters from the files that people have of them.
//!
//! | file | holds | reader |
//! | --- | --- | --- |
//! | DOT with routes in edge comments (ORCS) | nodes, links, routes | `dot` |
//! | ibsim `.net`, ibnetdiscover's output | nodes, cables, GUIDs, LIDs | `net` |
//! | `opensm-subnet.lst` | nodes, cables, GUIDs, LIDs | `subnet_lst` |
//! | `opensm-lfts.dump`, `dump_fts` | forwarding tables | `lfts` |
//! | `.fdbs` (opensm, ibdiagnet) | forwarding tables by LID | `fdbs` |
//! | `opensm-sl2vl.dump` | lanes of service levels at switches | `sl2vl` |
//! | `slid dlid sl`, a line per path | service levels of paths | `path_sl` |
//!
//! What a file is, is recognised by its first lines ([`Format::of`]). [`load`] takes all files of a cluster in any order: first what names
//! nodes, then tables, then lanes. All mistakes of a file are reported at once, with their lines. Files may be packed by gzip, and `-`
//! is standard input. Readers hold one line (DOT: one token) at a time.

mod dot;
mod fdbs;
mod lfts;
mod lids;
mod lines;
mod net;
mod path_sl;
mod role;
mod sl2vl;
mod source;
mod subnet_lst;

use crate::subnet::{Subnet, whole};
use base::param::Problem;
use lines::Lines;
pub use source::Source;
use std::io::BufRead;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Graphviz with routes in edge comments.
    Dot,
    /// ibsim's `.net` or the output of ibnetdiscover.
    Net,
    /// opensm-subnet.lst: a line for each end of a cable.
    SubnetLst,
    /// opensm-lfts.dump or the output of `dump_fts`.
    Lfts,
    /// opensm.fdbs or ibdiagnet.fdbs.
    Fdbs,
    /// opensm-sl2vl.dump: the lane of each service level, by switch and ports.
    Sl2vl,
    /// `slid dlid sl` lines.
    PathSl,
}

impl Format {
    /// What a file with this beginning is.
    #[must_use]
    pub fn of(beginning: &str) -> Option<Self> {
        for line in beginning.lines().map(str::trim_start) {
            let is = |words: &[&str]| words.iter().any(|w| line.starts_with(w));
            if is(&["digraph", "strict digraph", "//", "/*"]) {
                return Some(Self::Dot);
            }
            if is(&["{ CA", "{ SW", "{ Rt"]) {
                return Some(Self::SubnetLst);
            }
            if is(&["Unicast lids"]) {
                return Some(Self::Lfts);
            }
            if line.contains("dump_ucast_routes: Switch") {
                return Some(Self::Fdbs);
            }
            if is(&["Switch", "Channel Adapter"]) && line.contains(", base LID") {
                return Some(Self::Sl2vl);
            }
            if is(net::BEGINNINGS) {
                return Some(Self::Net);
            }
            let words: Vec<&str> = line.split_whitespace().take(4).collect();
            if words.len() == 3 && words.iter().all(|w| path_sl::number(w).is_some()) {
                return Some(Self::PathSl);
            }
        }
        None
    }

    /// True if the file has nodes and cables.
    #[must_use]
    pub fn topology(self) -> bool {
        matches!(self, Self::Dot | Self::Net | Self::SubnetLst)
    }
}

/// What the file is, from what its buffer holds.
fn format(source: &mut Source) -> Result<Format, Vec<Problem>> {
    let buffer = source
        .bytes
        .fill_buf()
        .map_err(|e| vec![whole(&source.name, format!("the file cannot be read: {e}"))])?;
    let text = String::from_utf8_lossy(buffer);
    Format::of(&text).ok_or_else(|| {
        let known = "DOT, .net, ibnetdiscover, opensm-subnet.lst, opensm-lfts.dump, dump_fts, .fdbs, \
                     opensm-sl2vl.dump and `slid dlid sl` lines";
        vec![
            whole(&source.name, "this is no file of a cluster that is known")
                .help(format!("known are {known}")),
        ]
    })
}

/// Reads a cluster from its files.
///
/// # Errors
/// All mistakes of the first file that has some.
pub fn load(paths: &[String]) -> Result<Subnet, Vec<Problem>> {
    read(paths.iter().map(|p| Source::open(p)).collect::<Result<_, _>>()?)
}

/// As [`load`], from opened sources.
///
/// # Errors
/// As [`load`].
pub fn read(sources: Vec<Source>) -> Result<Subnet, Vec<Problem>> {
    let mut kinds = Vec::new();
    for mut source in sources {
        kinds.push((format(&mut source)?, source));
    }
    // Nodes, then tables, then lanes; DOT before others of its kind, since it names what it needs.
    kinds.sort_by_key(|(format, _)| *format);
    let mut subnet: Option<Subnet> = None;
    for (format, source) in kinds {
        let name = source.name.clone();
        let mut lines = Lines::new(source);
        subnet = Some(match (format, subnet) {
            (Format::Dot, None) => dot::read(&mut lines)?,
            (Format::Net, None) => net::read(&mut lines)?,
            (Format::SubnetLst, None) => subnet_lst::read(&mut lines)?,
            (Format::SubnetLst, Some(known)) => {
                subnet_lst::identify(known, subnet_lst::read(&mut lines)?, &name)?
            }
            (Format::Dot | Format::Net, Some(_)) => {
                let message = "another file already tells the nodes and cables";
                return Err(vec![whole(&name, message).help("give one .dot, .net or ibnetdiscover file")]);
            }
            (_, None) => {
                let message = "this file does not tell nodes and cables";
                let help = "give a DOT, .net, ibnetdiscover or opensm-subnet.lst file beside it";
                return Err(vec![whole(&name, message).help(help)]);
            }
            (Format::Lfts, Some(known)) => lfts::read(&mut lines, known)?,
            (Format::Fdbs, Some(known)) => fdbs::read(&mut lines, known)?,
            (Format::Sl2vl, Some(known)) => sl2vl::read(&mut lines, known)?,
            (Format::PathSl, Some(known)) => path_sl::read(&mut lines, known)?,
        });
    }
    subnet.ok_or_else(|| vec![whole("", "no file is given")])
}

#[cfg(test)]
mod tests;
