//! HAEC-SIM's transfer times a second time, to verify the first: messages of LU.D and BT.D on 4,096 ranks, both mappings, hops and times.
//!
//! Nothing here comes from the rest of Netloom: this file knows the standard library alone (a test looks). What both implementations are
//! given is the text of window means, as the paper's two implementations were given the same polynomials.

use std::collections::{BTreeMap, VecDeque};

/// An application whose messages are generated here anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// LU, class D.
    Lu,
    /// BT, class D.
    Bt,
}

/// Messages that a rank sends again and again: (times, (receiver, bytes) in order).
type Block = (u32, Vec<(u32, u64)>);

/// All that a rank sends, in order.
pub struct Sends {
    blocks: Vec<Block>,
    block: usize,
    round: u32,
    at: usize,
}

/// 408 points in 64 parts: the first 24 have 7.
fn extent(part: u32) -> u64 {
    if part < 24 { 7 } else { 6 }
}

fn lu_blocks(rank: u32) -> Vec<Block> {
    let (row, column) = (rank % 64, rank / 64);
    let inner = |part: u32| extent(part) - u64::from(part == 0) - u64::from(part == 63);
    let mut south_east = Vec::new();
    let mut north_west = Vec::new();
    let mut ghosts = Vec::new();
    if row < 63 {
        south_east.push((rank + 1, 40 * inner(column)));
        ghosts.push((rank + 1, 2 * 40 * 408 * extent(column)));
    }
    if row > 0 {
        north_west.push((rank - 1, 40 * inner(column)));
        ghosts.push((rank - 1, 2 * 40 * 408 * extent(column)));
    }
    if column < 63 {
        south_east.push((rank + 64, 40 * inner(row)));
        ghosts.push((rank + 64, 2 * 40 * 408 * extent(row)));
    }
    if column > 0 {
        north_west.push((rank - 64, 40 * inner(row)));
        ghosts.push((rank - 64, 2 * 40 * 408 * extent(row)));
    }
    let mut all: Vec<Block> = vec![(1, ghosts.clone())];
    for iterations in [1, 300] {
        all.push((1, ghosts.clone()));
        for _ in 0..iterations {
            all.push((406, south_east.clone()));
            all.push((406, north_west.clone()));
            all.push((1, ghosts.clone()));
        }
    }
    let mut last = Vec::new();
    if row > 0 {
        last.push((rank - 1, 16 * extent(column)));
    }
    if column > 0 {
        last.push((rank - 64, 16 * extent(row)));
    }
    if row > 0 && (column == 0 || column == 63) {
        last.push((rank - 1, 8 * 408));
    }
    if column > 0 && (row == 0 || row == 63) {
        last.push((rank - 64, 8 * 408));
    }
    all.push((1, last));
    all
}

fn bt_blocks(rank: u32) -> Vec<Block> {
    let (i, j) = (rank % 64, rank / 64);
    let at = |i: u32, j: u32| i % 64 + 64 * (j % 64);
    let partners = [
        (at(i + 1, j), at(i + 63, j)),
        (at(i, j + 1), at(i, j + 63)),
        (at(i + 63, j + 1), at(i + 1, j + 63)),
    ];
    let mut faces = Vec::new();
    for (d, &(next, previous)) in partners.iter().enumerate() {
        let mut bytes = [0, 0];
        for c in 0..64 {
            let cell = [(i + c) % 64, (j + 64 - c) % 64, c];
            let area = match d {
                0 => extent(cell[1]) * extent(cell[2]),
                1 => extent(cell[0]) * extent(cell[2]),
                _ => extent(cell[0]) * extent(cell[1]),
            };
            bytes[0] += if cell[d] == 63 { 0 } else { 80 * area };
            bytes[1] += if cell[d] == 0 { 0 } else { 80 * area };
        }
        faces.push((next, bytes[0]));
        faces.push((previous, bytes[1]));
    }
    let mut all: Vec<Block> = Vec::new();
    for _ in 0..251 {
        all.push((1, faces.clone()));
        for (next, previous) in partners {
            all.push((63, vec![(next, 49 * 30 * 8)]));
            all.push((63, vec![(previous, 49 * 5 * 8)]));
        }
    }
    all.push((1, faces));
    all
}

impl Sends {
    /// What a rank sends.
    #[must_use]
    pub fn of(application: Application, rank: u32) -> Self {
        let blocks = match application {
            Application::Lu => lu_blocks(rank),
            Application::Bt => bt_blocks(rank),
        };
        Self { blocks, block: 0, round: 0, at: 0 }
    }
}

impl Iterator for Sends {
    type Item = (u32, u64);

    fn next(&mut self) -> Option<(u32, u64)> {
        loop {
            let (times, messages) = self.blocks.get(self.block)?;
            if let Some(&message) = messages.get(self.at) {
                self.at += 1;
                return Some(message);
            }
            self.at = 0;
            self.round += 1;
            if self.round >= *times || messages.is_empty() {
                self.round = 0;
                self.block += 1;
            }
        }
    }
}

/// Links between nodes on a shortest path in 16 x 16 x 16.
#[must_use]
pub fn hops(a: u32, b: u32, torus: bool) -> u32 {
    let mut sum = 0;
    for shift in [0, 4, 8] {
        let (x, y) = ((a >> shift) & 15, (b >> shift) & 15);
        let d = x.abs_diff(y);
        sum += if torus && d > 8 { 16 - d } else { d };
    }
    sum
}

/// Node of each rank.
#[must_use]
pub fn mapping(application: Application, nearest: bool, torus: bool) -> Vec<u32> {
    if !nearest {
        return (0..4096).collect();
    }
    let mut weight: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for rank in 0..4096 {
        for (times, messages) in Sends::of(application, rank).blocks {
            for (to, _) in messages {
                *weight.entry((rank.min(to), rank.max(to))).or_default() += u64::from(times);
            }
        }
    }
    let mut order: Vec<((u32, u32), u64)> = weight.into_iter().collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut node: Vec<Option<u32>> = vec![None; 4096];
    let mut taken = [false; 4096];
    for ((low, high), _) in order {
        for (one, other) in [(low, high), (high, low)] {
            if node[one as usize].is_none() && (node[other as usize].is_some() || one == low) {
                let place = match node[other as usize] {
                    None => (0..4096).find(|&n| !taken[n as usize]).unwrap_or(0),
                    Some(from) => nearest_free(from, &taken, torus),
                };
                node[one as usize] = Some(place);
                taken[place as usize] = true;
            }
        }
    }
    node.into_iter().map(|n| n.unwrap_or(u32::MAX)).collect()
}

fn nearest_free(from: u32, taken: &[bool], torus: bool) -> u32 {
    let mut seen = [false; 4096];
    let mut queue = VecDeque::from([from]);
    seen[from as usize] = true;
    while let Some(n) = queue.pop_front() {
        if !taken[n as usize] {
            return n;
        }
        for shift in [0, 4, 8] {
            let c = (n >> shift) & 15;
            for step in [1, 15] {
                let inside = if step == 1 { c < 15 } else { c > 0 };
                let to = n & !(15 << shift) | ((c + step) & 15) << shift;
                if (inside || torus) && !seen[to as usize] {
                    seen[to as usize] = true;
                    queue.push_back(to);
                }
            }
        }
    }
    from
}

/// Times by protocol, hops and bytes, from the text of window means.
#[derive(Debug)]
pub struct Times {
    /// By protocol (0 DOR, 1 PNC, 2 NCD) and hops: sum of full windows, then sums of last windows of 1 to 5 packets.
    sums: [BTreeMap<u32, [u128; 6]>; 3],
    /// Parts of a picosecond that the sums count in.
    unit: u128,
}

impl Times {
    /// Reads lines of `unit N` and `PROTOCOL HOPS GATE LAST1 .. LAST5`.
    ///
    /// # Errors
    /// The line that cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut times = Self { sums: [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()], unit: 0 };
        for line in text.lines() {
            let wrong = || format!("cannot read `{line}`");
            let words: Vec<&str> = line.split(' ').collect();
            let number = |word: &str| word.parse::<u128>().map_err(|_| wrong());
            if let ["unit", unit] = words.as_slice() {
                times.unit = number(unit)?;
                continue;
            }
            let [protocol, hops, sums @ ..] = words.as_slice() else { return Err(wrong()) };
            let at = ["dor", "pnc", "ncd"].iter().position(|p| p == protocol).ok_or_else(wrong)?;
            let numbers = sums.iter().map(|s| number(s)).collect::<Result<Vec<_>, _>>()?;
            let numbers: [u128; 6] = numbers.try_into().map_err(|_| wrong())?;
            times.sums[at].insert(number(hops)? as u32, numbers);
        }
        if times.unit == 0 { Err("the unit is missing".to_owned()) } else { Ok(times) }
    }

    /// Picoseconds of a message: 500 ns to get there, windows of five packets, and what remains.
    #[must_use]
    pub fn time(&self, protocol: usize, hops: u32, bytes: u64) -> Option<u64> {
        let start = 500_000 * self.unit;
        if hops == 0 {
            return Some((start / self.unit) as u64);
        }
        let sums = self.sums[protocol].get(&hops)?;
        let room = if protocol == 0 { 1463 } else { 1459 };
        let mut packets = bytes / room;
        if packets * room < bytes || bytes == 0 {
            packets += 1;
        }
        let mut windows = packets / 5;
        let mut rest = packets % 5;
        if rest == 0 {
            windows -= 1;
            rest = 5;
        }
        let exact = start + u128::from(windows) * sums[0] + sums[rest as usize];
        let (whole, part) = (exact / self.unit, exact % self.unit);
        Some(whole as u64 + u64::from(2 * part >= self.unit))
    }
}
