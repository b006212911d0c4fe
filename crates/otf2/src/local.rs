//! Local definitions: how a location's numbers and times become global ones.

use crate::{Result, bytes::Bytes, chunks::Chunks};

const MAPPING: u8 = 5;
const CLOCK_OFFSET: u8 = 6;

/// Kinds of numbers that are mapped.
const REGIONS: u8 = 3;
const GROUPS: u8 = 4;
const COMMS: u8 = 6;
const WINDOWS: u8 = 8;

/// A mapping of numbers; those without an entry stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Mapping {
    #[default]
    Same,
    /// By local number.
    Dense(Vec<u32>),
    /// (local, global), ascending.
    Sparse(Vec<(u32, u32)>),
}

impl Mapping {
    #[inline]
    fn get(&self, local: u32) -> u32 {
        match self {
            Self::Same => local,
            Self::Dense(all) => all.get(local as usize).copied().unwrap_or(local),
            Self::Sparse(all) => {
                all.binary_search_by_key(&local, |p| p.0).map_or(local, |found| all[found].1)
            }
        }
    }
}

/// A location's mappings and clock offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Local {
    regions: Mapping,
    groups: Mapping,
    comms: Mapping,
    windows: Mapping,
    /// (time, offset), ascending.
    offsets: Vec<(u64, i64)>,
}

impl Local {
    pub(crate) fn read(chunks: &mut Chunks) -> Result<Self> {
        let mut all = Self::default();
        while let Some(()) = chunks.next(|bytes| {
            let kind = bytes.u8()?;
            let mut b = bytes.body()?;
            match kind {
                MAPPING => all.mapping(&mut b)?,
                CLOCK_OFFSET => {
                    let time = b.u64()?;
                    // Small negative offsets come as numbers of eight bytes.
                    all.offsets.push((time, b.number()? as i64));
                }
                _ => {}
            }
            Ok(())
        })? {}
        all.offsets.sort_unstable();
        all.offsets.dedup_by_key(|o| o.0);
        Ok(all)
    }

    fn mapping(&mut self, b: &mut Bytes<'_>) -> Result<()> {
        let kind = b.u8()?;
        let count = b.number()?;
        let mode = b.u8()?;
        if count > b.left() as u64 {
            return b.wrong(format!("a mapping of {count} numbers in {} bytes", b.left()));
        }
        if !matches!(kind, REGIONS | GROUPS | COMMS | WINDOWS) {
            // Of other things no numbers are read. Those of locations have 64 bits: Score-P counts those of a process from n << 32.
            return Ok(());
        }
        let mapping = match mode {
            0 => Mapping::Dense((0..count).map(|_| b.number32()).collect::<Result<_>>()?),
            1 => {
                let mut pairs =
                    (0..count).map(|_| Ok((b.number32()?, b.number32()?))).collect::<Result<Vec<_>>>()?;
                pairs.sort_unstable();
                Mapping::Sparse(pairs)
            }
            n => return b.wrong(format!("unknown mode {n} of a mapping")),
        };
        match kind {
            REGIONS => self.regions = mapping,
            GROUPS => self.groups = mapping,
            WINDOWS => self.windows = mapping,
            _ => self.comms = mapping,
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn region(&self, local: u32) -> u32 {
        self.regions.get(local)
    }

    #[inline]
    pub(crate) fn comm(&self, local: u32) -> u32 {
        self.comms.get(local)
    }

    pub(crate) fn group(&self, local: u32) -> u32 {
        self.groups.get(local)
    }

    pub(crate) fn window(&self, local: u32) -> u32 {
        self.windows.get(local)
    }

    /// The global time of a local one: the offset lies on the line through the two nearest known ones.
    #[inline]
    pub(crate) fn time(&self, local: u64) -> u64 {
        let offset = match self.offsets.as_slice() {
            [] => return local,
            [(_, only)] => i128::from(*only),
            all => {
                let at = all.partition_point(|o| o.0 <= local).clamp(1, all.len() - 1);
                let ((t0, o0), (t1, o1)) = (all[at - 1], all[at]);
                let (span, rise) = (i128::from(t1) - i128::from(t0), i128::from(o1) - i128::from(o0));
                let along = i128::from(local) - i128::from(t0);
                // To the nearest tick.
                i128::from(o0) + (rise.saturating_mul(2 * along).saturating_add(span)).div_euclid(2 * span)
            }
        };
        u64::try_from(i128::from(local) + offset).unwrap_or(if offset < 0 { 0 } else { u64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_interpolated() {
        let local = Local { offsets: vec![(100, 10), (200, -10)], ..Local::default() };
        assert_eq!([50, 100, 150, 175, 200, 300].map(|t| local.time(t)), [70, 110, 150, 170, 190, 270]);
        let one = Local { offsets: vec![(100, -10)], ..Local::default() };
        assert_eq!([0, 5, 50].map(|t| one.time(t)), [0, 0, 40]);
        assert_eq!(Local::default().time(7), 7);
    }

    /// Score-P maps the locations of a process to n << 32 and beyond.
    #[test]
    fn numbers_of_locations_have_64_bits() {
        use crate::bytes::{Order, put_number};
        let mut locations = vec![1, 1, 3, 0];
        [0, 1, 1 << 32].into_iter().for_each(|n| put_number(&mut locations, n));
        let mut local = Local::default();
        let mut mapping =
            |body: &[u8]| local.mapping(&mut Bytes::new(std::path::Path::new("x"), 0, body, Order::Little));
        // Kind 1, three numbers, by local number.
        mapping(&locations).unwrap();
        // Regions: 0 is 7, 1 is 9.
        mapping(&[REGIONS, 1, 2, 0, 1, 7, 1, 9]).unwrap();
        assert_eq!((local.region(0), local.region(1), local.region(2)), (7, 9, 2));
        // Regions of 64 bits are damage.
        let mut wide = vec![REGIONS, 1, 1, 0];
        put_number(&mut wide, 1 << 32);
        assert!(local.mapping(&mut Bytes::new(std::path::Path::new("x"), 0, &wide, Order::Little)).is_err());
    }
}
