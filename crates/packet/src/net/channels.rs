//! Sets of a port's virtual channels, a bit each: who is in them, and whose turn it is.

use base::index::ChannelId;

/// The channels of a set, ascending.
#[inline]
pub fn each(set: u16) -> impl Iterator<Item = ChannelId> {
    let mut left = set;
    std::iter::from_fn(move || {
        let first = left.trailing_zeros();
        // Takes the lowest bit away; of nothing nothing is left.
        left &= left.wrapping_sub(1);
        (first < u16::BITS).then_some(ChannelId::new(first as u8))
    })
}

/// Round robin: the first of `waiting` after `last`, else the first of all.
#[inline]
#[must_use]
pub fn after(waiting: u16, last: ChannelId) -> ChannelId {
    let later = u32::from(waiting) & !((2u32 << last.number()) - 1);
    debug_assert!(waiting != 0 && last < ChannelId::new(16), "somebody waits");
    let mask = if later != 0 { later } else { u32::from(waiting) };
    ChannelId::new(mask.trailing_zeros() as u8)
}

#[cfg(test)]
mod tests {
    use super::{after, each};
    use base::index::ChannelId;

    #[test]
    fn round_robin_goes_around() {
        let after = |waiting, last| after(waiting, ChannelId::new(last)).number();
        assert_eq!(after(0b1011, 15), 0);
        assert_eq!(after(0b1011, 0), 1);
        assert_eq!(after(0b1011, 1), 3);
        assert_eq!(after(0b1011, 3), 0);
        assert_eq!(after(0b1000, 3), 3);
        assert_eq!(after(0x8000, 15), 15);
    }

    #[test]
    fn sets_are_read_from_the_lowest() {
        for set in [0, 1, 0x8000, 0b1010_0110, u16::MAX] {
            assert!(each(set).is_sorted());
            assert_eq!(each(set).fold(0, |all, vc| all | vc.bit()), set);
        }
    }
}
