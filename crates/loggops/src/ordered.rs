//! Several processors of a rank whose operations wait for the ends of those that they need.
//!
//! When an operation is taken up its end is known, and what waits for it is queued at once, to become executable then. So queues are in the order in
//! which operations become executable, not in that in which they were queued.

use super::domain::DelayDomain;
use workload::program::{Kind, Op};

impl DelayDomain {
    /// Queues an operation behind those that become executable before it, or with it.
    #[cold]
    pub(super) fn queue_ordered(&mut self, host: u32, row: u32, op: Op) {
        let rows = self.window.rows();
        let core = self.hosts.edit_core(host, op.cpu);
        let queue = match op.kind {
            Kind::Calc => &mut core.calcs,
            Kind::Recv | Kind::Probe => &mut core.recvs,
            Kind::Send => &mut self.hosts.edit_lane(host, op.cpu, op.nic).sends,
            Kind::Join | Kind::JoinAny => return,
        };
        queue.insert(rows, row, |a, b| a.ready < b.ready);
    }
}
