//! What jobs got: packets, bytes, latencies and notifications of each, so that who suffers from congestion and who makes it are seen apart.

use base::time::Ps;
use results::histogram::Moments;
use serde::{Deserialize, Serialize};

/// Sums of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobSums {
    /// Packets delivered, whole run.
    pub packets: u64,
    /// Payload delivered after the warm-up.
    pub bytes: u64,
    /// Latency of packets that were handed over after the warm-up.
    pub latency: Moments,
    /// Latency of messages that were created after the warm-up; it includes the time that their flows were held back.
    pub message_latency: Moments,
    /// Notifications that its sources received, whole run.
    pub notifications: u64,
}

impl JobSums {
    /// A packet was delivered.
    pub fn packet(&mut self, time: Ps, created: Ps, payload: u64, warmup: Ps) {
        self.packets += 1;
        self.bytes += if time >= warmup { payload } else { 0 };
        if created >= warmup {
            self.latency.record(time - created);
        }
    }

    /// A message was delivered.
    pub fn message(&mut self, time: Ps, created: Ps, warmup: Ps) {
        if created >= warmup {
            self.message_latency.record(time - created);
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        self.message_latency.merge(&other.message_latency);
        self.notifications += other.notifications;
    }
}
