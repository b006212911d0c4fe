//! Web search: the cluster that DCTCP was measured in.

use super::SizeEntry;
use base::registry::About;

pub(super) const ENTRY: SizeEntry = SizeEntry {
    about: About {
        name: "web-search",
        summary: "flows of a cluster that answers web searches: most bytes in flows of megabytes",
        doc: "Flows of a production cluster of web search: queries, short updates, and background transfers of up to 30 MB. They have \
              a mean of 1711250 B. Points, as bytes and percent of the messages that have so many at most: 0 0, 10000 15, 20000 20, \
              30000 30, 50000 40, 80000 53, 200000 60, 1000000 70, 2000000 80, 5000000 90, 10000000 97, 30000000 100. No message is \
              smaller than a byte.",
        source: "Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010, figure 4; points as published with Li et al.: HPCC, SIGCOMM 2019",
        params: &[],
    },
    points: &[
        (0, 0),
        (10_000, 150_000_000),
        (20_000, 200_000_000),
        (30_000, 300_000_000),
        (50_000, 400_000_000),
        (80_000, 530_000_000),
        (200_000, 600_000_000),
        (1_000_000, 700_000_000),
        (2_000_000, 800_000_000),
        (5_000_000, 900_000_000),
        (10_000_000, 970_000_000),
        (30_000_000, 1_000_000_000),
    ],
};
