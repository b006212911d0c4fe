//! Local definitions: how a location's numbers and times become global ones.

use crate::{Result, bytes::Bytes, chunks::Chunks};

const MAPPING: u8 = 5;
const CLOCK_OFFSET: u8 = 6;

/// Kinds of numbers that are mapped.
const REGIONS: u8 = 3;
const COMMS: u8 = 6;

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
    comms: Mapping,
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
            COMMS => self.comms = mapping,
            // Of other things no numbers are read.
            _ => {}
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
}
