//! Shortest ways that avoid loaded links: SSSP.
//!
//! Links begin with a weight so great that no longer way can be lighter; so a way is shortest first and light second, and one
//! pass over routers by their distance finds the lightest, without a queue. After each destination every link's weight grows
//! by the pairs that cross it.

use super::{
    Job, NO_PORT, Ports,
    hops::{home, shortest},
};
use base::param::Problem;

/// Host by host.
pub(super) fn sssp(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let routers = fabric.routers() as usize;
    let mut next = job.blank();
    // Pairs that cross each link so far.
    let mut load = vec![0u64; fabric.ports.len()];
    let mut hosts = vec![0u64; routers];
    for &(router, _) in &fabric.attach {
        hosts[router as usize] += 1;
    }
    let mut order: Vec<u32> = (0..routers as u32).collect();
    let mut weight = vec![0u64; routers];
    let mut through = vec![0u64; routers];
    let mut known = u32::MAX;
    job.each(|host, distance| {
        if known != fabric.router_at(host) {
            known = fabric.router_at(host);
            order.sort_by_key(|&r| distance[r as usize]);
        }
        for plane in 0..job.planes {
            let row = job.row(host, plane);
            for &router in &order {
                let here = router as usize;
                let sum = |(port, peer): (u32, u32)| {
                    (weight[peer as usize] + load[fabric.port_index(router, port) as usize], port)
                };
                let best = shortest(fabric, router, distance).map(sum).min();
                weight[here] = best.map_or(0, |(sum, _)| sum);
                if let Some((_, port)) = best {
                    next[row.clone()][here] = port as u16;
                }
            }
            through.copy_from_slice(&hosts);
            for &router in order.iter().rev() {
                let port = next[row.clone()][router as usize];
                if port != NO_PORT
                    && let Some(peer) = fabric.next_router(router, port.into())
                {
                    load[fabric.port_index(router, port.into()) as usize] += through[router as usize];
                    through[peer as usize] += through[router as usize];
                }
            }
        }
        home(job, host, &mut next);
    });
    Ok(Ports { next, level: None, map: None })
}
