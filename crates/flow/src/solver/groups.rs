//! Groups of links that are used alike.

/// Which links stand for others. Empty as long as no group was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Alike {
    /// By link, the link that stands for it: the first of its group.
    pub(super) first: Vec<u32>,
    /// By first link, all of its group in ascending order; empty for a link by itself.
    pub(super) groups: Vec<Vec<u32>>,
    /// By link, somebody has used it.
    pub(super) used: Vec<bool>,
}

impl Alike {
    /// The link that stands for a link.
    #[inline]
    pub(super) fn first(&self, link: u32) -> u32 {
        self.first.get(link as usize).copied().unwrap_or(link)
    }

    /// Room for so many links.
    pub(super) fn reserve(&mut self, links: usize) {
        self.first.extend(self.first.len() as u32..links as u32);
        self.groups.resize_with(links, Vec::new);
        self.used.resize(links, false);
    }
}
