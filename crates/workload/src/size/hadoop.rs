//! Hadoop: a cluster of batch jobs.

use super::SizeEntry;
use base::registry::About;

pub(super) const ENTRY: SizeEntry = SizeEntry {
    about: About {
        name: "hadoop",
        summary: "flows of a Hadoop cluster: most fit a packet, most bytes in flows of megabytes",
        doc: "Flows of a cluster that runs Hadoop at Facebook. They have a mean of 120421 B. Points, as bytes and percent of the \
              messages that have so many at most: 0 0, 100 1, 200 2, 300 5, 350 15, 400 20, 500 30, 600 40, 700 50, 1000 60, 2000 67, \
              7000 70, 30000 72, 50000 82, 80000 87, 120000 90, 300000 95, 1000000 97.5, 2000000 99, 10000000 100. No message is \
              smaller than a byte.",
        source: "Roy et al.: Inside the Social Network's (Datacenter) Network, SIGCOMM 2015; points as published with Li et al.: HPCC, SIGCOMM 2019",
        params: &[],
    },
    points: &[
        (0, 0),
        (100, 10_000_000),
        (200, 20_000_000),
        (300, 50_000_000),
        (350, 150_000_000),
        (400, 200_000_000),
        (500, 300_000_000),
        (600, 400_000_000),
        (700, 500_000_000),
        (1_000, 600_000_000),
        (2_000, 670_000_000),
        (7_000, 700_000_000),
        (30_000, 720_000_000),
        (50_000, 820_000_000),
        (80_000, 870_000_000),
        (120_000, 900_000_000),
        (300_000, 950_000_000),
        (1_000_000, 975_000_000),
        (2_000_000, 990_000_000),
        (10_000_000, 1_000_000_000),
    ],
};
