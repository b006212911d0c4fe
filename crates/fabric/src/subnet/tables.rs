//! Forwarding tables: for every destination the edge by which each switch passes a message on.
//!
//! Rows are destinations: `planes` local identifiers for each host, host by host, then one for each switch (if the source
//! has them). A row holds one edge per switch; following a path touches one row only.

use super::parts::{Exit, NONE, Subnet, Tables};

/// Why a message does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// This node knows no path to the destination.
    NoRoute(u32),
    /// The message visits this node again.
    Loop(u32),
    /// The message ends at this host, which is not its destination: hosts do not forward.
    Stray(u32),
    /// This switch maps the message's service level to lane 15, which is none of data: it drops the message.
    Dropped(u32),
}

impl Tables {
    /// Tables in which no switch knows a path, and hosts send everything by their first edge.
    #[must_use]
    pub fn new(subnet: &Subnet, planes: u32, to_switches: bool) -> Self {
        let rows = subnet.hosts.len() * planes as usize + if to_switches { subnet.switches.len() } else { 0 };
        let exit = |&host: &u32| subnet.out(host).first().map_or(Exit::None, |&e| Exit::One(e));
        Self {
            planes,
            to_switches,
            next: vec![NONE; rows * subnet.switches.len()],
            exits: subnet.hosts.iter().map(exit).collect(),
        }
    }

    /// Row of a host's local identifier.
    #[inline]
    #[must_use]
    pub fn row(&self, host: u32, plane: u32) -> u32 {
        host * self.planes + plane
    }

    /// Row of a switch, by its index among the switches.
    #[must_use]
    pub fn switch_row(&self, subnet: &Subnet, switch: u32) -> u32 {
        subnet.hosts.len() as u32 * self.planes + switch
    }

    /// Node that a row leads to.
    #[must_use]
    pub fn target(&self, subnet: &Subnet, row: u32) -> u32 {
        let hosts = subnet.hosts.len() as u32 * self.planes;
        if row < hosts {
            subnet.hosts[(row / self.planes) as usize]
        } else {
            subnet.switches[(row - hosts) as usize]
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self, subnet: &Subnet) -> u32 {
        subnet.hosts.len() as u32 * self.planes
            + if self.to_switches { subnet.switches.len() as u32 } else { 0 }
    }

    /// Entry of a switch, by its index among the switches.
    #[inline]
    #[must_use]
    pub fn entry(&self, subnet: &Subnet, row: u32, switch: u32) -> u32 {
        self.next[row as usize * subnet.switches.len() + switch as usize]
    }

    /// Sets an entry.
    pub fn set(&mut self, subnet: &Subnet, row: u32, switch: u32, edge: u32) {
        self.next[row as usize * subnet.switches.len() + switch as usize] = edge;
    }

    /// Edge by which any node passes on a message of a row; [`NONE`] if it knows no path.
    #[inline]
    #[must_use]
    pub fn edge(&self, subnet: &Subnet, row: u32, node: u32) -> u32 {
        let place = subnet.place(node);
        if !subnet.is_host(node) {
            return self.entry(subnet, row, place);
        }
        match &self.exits[place as usize] {
            Exit::One(edge) => *edge,
            Exit::Listed(edges) => edges.get((row / self.planes) as usize).copied().unwrap_or(NONE),
            Exit::None => NONE,
        }
    }

    /// Appends the edges from a node to the target of a row. After an error, the edges so far are there. A host on the way passes on by
    /// another cable only, as DOT files can have it.
    ///
    /// # Errors
    /// If a node on the path has no entry, the path comes back to a node, or it ends at another host.
    #[inline]
    pub fn walk(&self, subnet: &Subnet, from: u32, row: u32, out: &mut Vec<u32>) -> Result<(), Lost> {
        let target = self.target(subnet, row);
        let (mut node, mut before, mut left) = (from, NONE, subnet.nodes.len());
        while node != target {
            let edge = self.edge(subnet, row, node);
            let stays = before != NONE && subnet.is_host(node);
            if stays && (edge == NONE || subnet.edges[edge as usize].to == before) {
                return Err(Lost::Stray(node));
            }
            if edge == NONE {
                return Err(Lost::NoRoute(node));
            }
            if left == 0 {
                return Err(Lost::Loop(node));
            }
            left -= 1;
            out.push(edge);
            (before, node) = (node, subnet.edges[edge as usize].to);
        }
        Ok(())
    }

    /// As [`Self::walk`] from a host, by its number, on the lanes of the subnet.
    ///
    /// # Errors
    /// As [`Self::walk`], or if a switch on the path drops the message.
    #[inline]
    pub fn carry(&self, subnet: &Subnet, source: u32, row: u32, out: &mut Vec<u32>) -> Result<(), Lost> {
        let begin = out.len();
        self.walk(subnet, subnet.hosts[source as usize], row, out)?;
        let Some(lanes) = &subnet.lanes else { return Ok(()) };
        let at = lanes.dropped(subnet, &out[begin..], lanes.level(subnet, row, source));
        at.map_or(Ok(()), |switch| Err(Lost::Dropped(switch)))
    }
}
