//! Data mining: the cluster that VL2 was measured in.

use super::SizeEntry;
use base::registry::About;

pub(super) const ENTRY: SizeEntry = SizeEntry {
    about: About {
        name: "data-mining",
        summary: "flows of a cluster that mines data: four of five below 10 kB, nearly all bytes in flows of 100 MB and more",
        doc: "Flows of a cluster of data mining, the most uneven of the usual ones: runs must be long until their mean is met. They \
              have a mean of 12658199 B. Points, as bytes and percent of the messages that have so many at most: 0 0, 180 10, 216 20, \
              560 30, 900 40, 1100 50, 1870 60, 3160 70, 10000 80, 400000 90, 3160000 95, 100000000 98, 1000000000 100. No message is \
              smaller than a byte.",
        source: "Greenberg et al.: VL2, SIGCOMM 2009, figure 2; points as published with Bai et al.: Information-Agnostic Flow Scheduling for Commodity Data Centers (PIAS), NSDI 2015",
        params: &[],
    },
    points: &[
        (0, 0),
        (180, 100_000_000),
        (216, 200_000_000),
        (560, 300_000_000),
        (900, 400_000_000),
        (1_100, 500_000_000),
        (1_870, 600_000_000),
        (3_160, 700_000_000),
        (10_000, 800_000_000),
        (400_000, 900_000_000),
        (3_160_000, 950_000_000),
        (100_000_000, 980_000_000),
        (1_000_000_000, 1_000_000_000),
    ],
};
