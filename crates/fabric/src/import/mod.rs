//! Reading clusters from the files that people have of them.
//!
//! | file | holds | reader |
//! | --- | --- | --- |
//! | DOT with routes in edge comments (ORCS) | nodes, links, routes | `dot` |
//! | ibsim `.net`, ibnetdiscover's output | nodes, cables, GUIDs, LIDs | `net` |
//! | `ibnetdiscover -p` | nodes, cables, port GUIDs, LIDs | `ports` |
//! | `iblinkinfo`, with or without `-l` | nodes, cables, port GUIDs, LIDs | `linkinfo` |
//! | `ibdiagnet2.db_csv` | nodes, cables, GUIDs, LIDs | `db_csv` |
//! | `opensm-subnet.lst` | nodes, cables, GUIDs, LIDs | `subnet_lst` |
//! | `opensm-lfts.dump`, `dump_fts` | forwarding tables | `lfts` |
//! | `.fdbs` (opensm, ibdiagnet) | forwarding tables by LID | `fdbs` |
//! | `opensm-sl2vl.dump` | lanes of service levels at switches | `sl2vl` |
//! | `slid dlid sl`, a line per path | service levels of paths | `path_sl` |
//!
//! What a file is, is recognised by its first lines ([`Format::of`]). [`load`] takes all files of a cluster in any order: first what names
//! nodes, then tables, then lanes. All mistakes of a file are reported at once, with their lines. Files may be packed by gzip, and `-`
//! is standard input. Readers hold one line (DOT: one token) at a time.

mod db_csv;
mod dot;
mod ends;
mod fdbs;
mod lfts;
mod lids;
mod lines;
mod linkinfo;
mod net;
mod path_sl;
mod ports;
mod role;
mod sl2vl;
mod source;
mod subnet_lst;

use crate::subnet::{Keep, Role, Subnet, whole};
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
    /// Output of ibnetdiscover -p: a line for each end of a cable.
    Ports,
    /// Output of iblinkinfo: a line for each port.
    LinkInfo,
    /// ibdiagnet2.db_csv: sections of comma-separated values.
    DbCsv,
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
        // A banner of a log may look like a comment of DOT: whatever else is recognised counts.
        let mut comment = None;
        for line in beginning.lines() {
            let line = lines::plain(line);
            let line = line.trim_start();
            let is = |words: &[&str]| words.iter().any(|w| line.starts_with(w));
            let begins = |word: &str| line.get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word));
            if begins("digraph") || begins("strict digraph") {
                return Some(Self::Dot);
            }
            if is(&["//", "/*"]) {
                comment = Some(Self::Dot);
            }
            if is(&["{ CA", "{ SW", "{ Rt"]) {
                return Some(Self::SubnetLst);
            }
            if is(&["START_"]) {
                return Some(Self::DbCsv);
            }
            if ports::is(line) {
                return Some(Self::Ports);
            }
            if linkinfo::is(line) {
                return Some(Self::LinkInfo);
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
            if net::begins(line) {
                return Some(Self::Net);
            }
            let words: Vec<&str> = line.split_whitespace().take(4).collect();
            if words.len() == 3 && words.iter().all(|w| path_sl::number(w).is_some()) {
                return Some(Self::PathSl);
            }
        }
        comment
    }

    /// True if the file has nodes and cables.
    #[must_use]
    pub fn topology(self) -> bool {
        self <= Self::SubnetLst
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
        let known = "DOT, .net, ibnetdiscover (also -p), iblinkinfo, ibdiagnet2.db_csv, opensm-subnet.lst, opensm-lfts.dump, dump_fts, .fdbs, \
                     opensm-sl2vl.dump and `slid dlid sl` lines";
        vec![
            whole(&source.name, "this is no file of a cluster that is known")
                .help(format!("known are {known}")),
        ]
    })
}

/// Reads a cluster from its files, its hosts alone.
///
/// # Errors
/// All mistakes of the first file that has some.
pub fn load(paths: &[String]) -> Result<Subnet, Vec<Problem>> {
    load_keeping(paths, Keep::default())
}

/// As [`load`], with other end ports than those of hosts, if asked.
///
/// # Errors
/// As [`load`].
pub fn load_keeping(paths: &[String], keep: Keep) -> Result<Subnet, Vec<Problem>> {
    read_keeping(paths.iter().map(|p| Source::open(p)).collect::<Result<_, _>>()?, keep)
}

/// As [`load`], from opened sources.
///
/// # Errors
/// As [`load`].
pub fn read(sources: Vec<Source>) -> Result<Subnet, Vec<Problem>> {
    read_keeping(sources, Keep::default())
}

/// As [`load_keeping`], from opened sources.
///
/// # Errors
/// As [`load`].
pub fn read_keeping(sources: Vec<Source>, keep: Keep) -> Result<Subnet, Vec<Problem>> {
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
            (Format::Dot, None) if !keep.holds(Role::Host) => {
                return Err(vec![
                    whole(&name, "a DOT file has hosts alone, and `nodes` leaves them out")
                        .help("add `hosts`, or leave `nodes` out"),
                ]);
            }
            (Format::Dot, None) => dot::read(&mut lines)?,
            (Format::Net, None) => net::read(&mut lines, keep)?,
            (Format::Ports, None) => ports::read(&mut lines, keep)?,
            (Format::LinkInfo, None) => linkinfo::read(&mut lines, keep)?,
            (Format::DbCsv, None) => db_csv::read(&mut lines, keep)?,
            (Format::SubnetLst, None) => subnet_lst::read(&mut lines, keep)?,
            (Format::SubnetLst, Some(known)) => {
                subnet_lst::identify(known, subnet_lst::read(&mut lines, keep)?, &name)?
            }
            (Format::Dot | Format::Net | Format::Ports | Format::LinkInfo | Format::DbCsv, Some(_)) => {
                let message = "another file already holds the nodes and cables";
                return Err(vec![
                    whole(&name, message)
                        .help("give one .dot, .net, ibnetdiscover, iblinkinfo or db_csv file"),
                ]);
            }
            (_, None) => {
                let message = "this file does not hold nodes and cables";
                let help =
                    "give a DOT, .net, ibnetdiscover, iblinkinfo, db_csv or opensm-subnet.lst file beside it";
                return Err(vec![whole(&name, message).help(help)]);
            }
            (Format::Lfts, Some(known)) => lfts::read(&mut lines, known)?,
            (Format::Fdbs, Some(known)) => fdbs::read(&mut lines, known)?,
            (Format::Sl2vl, Some(known)) => sl2vl::read(&mut lines, known)?,
            (Format::PathSl, Some(known)) => path_sl::read(&mut lines, known)?,
        });
    }
    let mut subnet = subnet.ok_or_else(|| vec![whole("", "no file is given")])?;
    let levels = subnet.lanes.as_ref().filter(|_| subnet.tables.is_some());
    if let Some(paths) = levels.map(|lanes| lanes.without_level(&subnet)).filter(|&paths| paths > 0) {
        subnet.notes.push(format!(
            "{paths} paths have no service level in the files: they use level 0, as messages without path records do"
        ));
    }
    Ok(subnet)
}

#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod tests;
