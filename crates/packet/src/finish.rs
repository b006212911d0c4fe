//! From measurements to the summary.

use super::{
    adapter,
    congestion_control::{marks::Counts as MarkCounts, report},
    effects::Wire,
    ended::{Carried, Ended, Rested, utilisation},
    hybrid::{Treatment, predicted::Predicted},
    judged,
    net::Router,
    network::Network,
    rows::{Chunk, channel_of, release_of},
    state::PacketDomain,
    tables::{self, Times},
    transport::MOST_WINDOWS,
};
use crate::{services, setup::Setup};
use base::{hash::Fingerprint, index::LinkId, sorted::SortedMap, time::Ps};
use engine::{agenda::Due, domain::Lane, key::Key};
use model::{
    energy::{self, Consumed, Use},
    failure::Failure,
    setup::Until,
    throughput::throughput,
};
use ranks::{
    critical,
    programs::{Open, Programs},
};
use results::{
    batch, slow_down,
    summary::{
        Buffers, ByPurpose, Confidence, Counted, Counts, HopLatency, Job, LatencyParts, LinkClass, Links,
        Resilience, SentPackets, Summary, Verdict,
    },
    table::Table,
};

/// Ranks: how far they have come.
fn hash_ranks(host: &Programs, sum: &mut Fingerprint) {
    for Open { terminal, number, started, executable, waits } in host.open() {
        let state = u64::from(started) << 1 | u64::from(executable);
        sum.add(13 << 32 | u64::from(terminal), u64::from(number), state, u64::from(waits));
    }
}

/// What each link carried, whole run.
#[must_use]
pub fn sent_by_link<R: Router>(domains: &[&PacketDomain<R>]) -> SortedMap<LinkId, Carried> {
    let mut sent = SortedMap::new();
    for d in domains {
        for (u, line) in d.cx.local.lines.iter() {
            let chunks = d.state.net.ports.get(u).sent;
            let full = u64::from(chunks) * u64::from(d.cx.net.config.chunk);
            let bytes = d.state.net.carried.rows().get(u.index()).copied().unwrap_or(full);
            let busy = d.cx.net.timings[usize::from(line.timing)].time_of(bytes);
            sent.insert(line.link, Carried { chunks, bytes, busy });
        }
    }
    sent
}

/// How long links slept, whole run but for the last rest; empty if they do not sleep.
#[must_use]
pub fn rests_by_link<R: Router>(domains: &[&PacketDomain<R>]) -> SortedMap<LinkId, Rested> {
    let mut rests = SortedMap::new();
    for d in domains {
        for ((u, line), &rest) in d.cx.local.lines.iter().zip(d.state.net.rests.rows()) {
            let unit = d.cx.net.timings[usize::from(line.timing)].denominator;
            let free = d.state.net.ports.get(u).clock.rounded(unit);
            rests.insert(line.link, Rested { rest, free });
        }
    }
    rests
}

/// Hash of every LP's final state: a sum, the same however the state is spread over partitions.
#[must_use]
pub fn state_hash<R: Router>(
    domains: &[&PacketDomain<R>],
    hosts: &[&Programs],
    pending: &[Vec<(Lane, Key, Due<Wire>)>],
) -> Fingerprint {
    let mut sum = Fingerprint::default();
    hosts.iter().for_each(|host| hash_ranks(host, &mut sum));
    for (d, pending) in domains.iter().zip(pending) {
        hash_ports(d, &mut sum);
        hash_terminals(d, &mut sum);
        d.state.transport.hash(&d.cx.local.terminals, &mut sum);
        d.state.control.hash(&d.cx.local.terminals, &mut sum);
        d.state.adapters.add_state(&mut sum);
        for (due, p) in d.state.surrogate.held() {
            hash_predicted(*due, p, &mut sum);
        }
        for (_, key, due) in pending {
            match due {
                Due::Message(Wire::Chunk(t)) => sum.add(
                    6 << 32 | u64::from(t.link),
                    key.time,
                    t.id.key(),
                    u64::from(t.index) << 32 | u64::from(t.visited) << 8 | u64::from(t.vc),
                ),
                Due::Message(Wire::Credit { link, vc }) => {
                    sum.add(7 << 32 | u64::from(*link), key.time, u64::from(*vc), 0)
                }
                Due::Message(Wire::Ack { from, to, number, word, stamp }) => {
                    let who = u64::from(*from) << 32 | u64::from(*to);
                    sum.add(15 << 32 | u64::from(*number), key.time, who, stamp ^ u64::from(*word));
                }
                Due::Message(Wire::Notice { source, destination }) => {
                    sum.add(37 << 32 | u64::from(*source), key.time, u64::from(*destination), 0);
                }
                Due::Message(Wire::Taken { source, destination, bytes }) => {
                    sum.add(
                        43 << 32 | u64::from(*source),
                        key.time,
                        u64::from(*destination),
                        u64::from(*bytes),
                    );
                }
                Due::Message(Wire::Predicted(p)) => hash_predicted(key.time, p, &mut sum),
                // It goes ahead at once within a partition and as a message to another one: where it is says nothing.
                Due::Message(Wire::Ahead { .. }) | Due::Wake(_) => {}
            }
        }
    }
    sum
}

/// A packet that is yet to be delivered by prediction.
fn hash_predicted(due: Ps, p: &Predicted, sum: &mut Fingerprint) {
    sum.add(14 << 32 | u64::from(p.destination), due, p.id.key(), p.created);
}

fn hash_ports<R: Router>(d: &PacketDomain<R>, sum: &mut Fingerprint) {
    let (state, cx) = (&d.state.net, &d.cx);
    let id = |c: &Chunk| state.packets.get(c.packet).id.key();
    for (u, line) in cx.local.lines.iter() {
        let (port, link) = (state.ports.get(u), u64::from(line.link));
        let (whole, fraction) = port.clock.parts();
        sum.add(8 << 32 | link, whole, fraction, u64::from(port.sent) << 8 | u64::from(port.last_vc));
        for f in port.flight.iter(&state.flights).map(|f| state.flights.get(f)) {
            let c = state.chunks.get(f.chunk);
            let what = u64::from(c.index()) << 32 | u64::from(c.visited()) << 8 | u64::from(f.vc);
            sum.add(6 << 32 | link, f.time, id(c), what);
        }
        for code in state.credits_of(u) {
            sum.add(7 << 32 | link, release_of(code), channel_of(code).into(), 0);
        }
        R::hash(state, cx, u, sum);
        if let Some(&MarkCounts { passed, marked }) = state.marks.counts.rows().get(u.index()) {
            sum.add(38 << 32 | link, u64::from(passed), u64::from(marked), 0);
        }
    }
}

fn hash_terminals<R: Router>(d: &PacketDomain<R>, sum: &mut Fingerprint) {
    for (i, &terminal) in d.cx.local.terminals.iter().enumerate() {
        let t = d.state.terminals.get(i as u32);
        let counts = u64::from(t.packets) << 32 | u64::from(t.messages);
        sum.add(
            12 << 32 | u64::from(terminal),
            t.upcoming,
            counts,
            u64::from(t.queued) << 32 | u64::from(t.received),
        );
        sum.add(13 << 32 | u64::from(terminal), t.request, t.cutting.left, t.index);
    }
}

/// Makes the summary and the tables.
///
/// # Errors
/// A broken invariant that the ledger found.
pub fn finish(setup: &Setup, net: &Network, mut ended: Ended) -> Result<(Summary, Vec<Table>), Failure> {
    let tallies = &ended.observer.tallies;
    let open = ended.observer.packets.0 - ended.observer.packets.1 - tallies.all_lost();
    if let (1.., Some(r)) = (tallies.too_long, &net.resilience) {
        let most = MOST_WINDOWS * u64::from(r.window) * u64::from(net.payload());
        return Err(Failure::Setup(format!(
            "a message is longer than {most} B, the most that windows of {} packets can number",
            r.window
        )));
    }
    if let Some(ledger) = ended.observer.ledger.take() {
        let transport = ended.transport.as_ref().map(|books| books.verdict(&ledger)).unwrap_or_default();
        let mut faults = ledger.verdict(open, ended.census.as_ref()).into_iter().chain(transport);
        faults.next().map_or(Ok(()), |fault| Err(Failure::Invariant(fault)))?;
    }
    let done = matches!(setup.until, Until::WorkloadDone { .. });
    // Where the limit came first, all until then was simulated.
    let simulated = if done && !ended.is_cut_short() { ended.observer.last } else { ended.now };
    if done {
        // Ticks after the last happening depend on when the run was seen to be over.
        ended.samples.retain(|s| s.time <= simulated);
    }
    ended.fingerprint.merge(ended.observer.fingerprint);
    let mut summary = Summary::new(ended.fingerprint, Verdict::ok(), serde_json::Value::Null);
    let o = &ended.observer;
    summary.simulated_ps = simulated;
    summary.packets = Some(Counts { injected: o.packets.0, delivered: o.packets.1, in_flight: open });
    summary.messages = Some(message_counts(&ended));
    summary.bytes_delivered = o.bytes_total;
    summary.latency_ps = o.latency.latency();
    summary.message_latency_ps = o.message_latency.latency();
    let names = setup.jobs.iter().map(|job| job.name.as_str());
    summary.slow_down = o.slow_down.as_ref().and_then(|slow| slow.sums.block(names));
    summary.latency_parts_ps = LatencyParts::from_sums(o.parts, o.by_hops.iter().map(|m| m.count).sum());
    hops(&mut summary, &ended);
    let (rate, rails) = (setup.links[0].bandwidth.bytes_per_s(), setup.fabric.planes());
    summary.throughput =
        throughput(&setup.jobs, rate, rails, ended.observer.bytes, &(setup.warmup..simulated));
    summary.verdict = judged::judge(setup, net, &ended, simulated, summary.throughput);
    // What was predicted has the spread of what was learned, and besides that the error of having learned it.
    let error = ended.hybrid.as_ref().and_then(|h| h.0.error_estimate).unwrap_or(0.0);
    summary.confidence = batch::confidence(&o.batches.batches()).map(|c| Confidence {
        mean_half_width_ps: if error > 0.0 { c.half_width.hypot(error * c.mean) } else { c.half_width },
        level: 0.95,
        batches: c.batches,
        method: "batch means".to_owned(),
    });
    summary.service_classes = services::report::blocks(setup, o, simulated);
    summary.jobs = jobs(setup, &ended);
    summary.nodes = ended.observer.tally.nodes(&net.roster);
    let fidelity = ended.fidelity(simulated, reheat(setup));
    summary.links = links(net, &ended.sent, fidelity);
    summary.buffers = buffers(net, &ended);
    summary.hybrid = ended.hybrid.as_ref().map(|h| h.0.clone());
    summary.resilience = resilience(net, &ended, simulated);
    let span = simulated.checked_sub(setup.warmup);
    summary.congestion_control = net.control.as_ref().map(|c| report::block(c, &setup.jobs, &ended, span));
    summary.adapter =
        net.adapter.as_ref().map(|a| adapter::report::block(a, &o.adapter, o.latency.moments().count));
    let energy = setup.energy.as_ref().map(|e| {
        let delivered = (o.messages, o.bytes_total);
        let parts = (u64::from(net.fabric.routers()), u64::from(net.fabric.terminals()));
        e.block(&Consumed { time: simulated, parts, uses: &uses(net, &ended, simulated), delivered })
    });
    let causes = o.tally.causes(&net.roster, net.rank.cells(), ended.stuck.is_done());
    critical::add(&mut summary.jobs, causes.as_ref());
    let mut tables = tables::all(setup, net, &ended, causes.as_ref(), Times { simulated, fidelity });
    tables.extend(summary.slow_down.as_ref().map(slow_down::table));
    tables.extend(energy.as_ref().map(energy::table));
    summary.energy = energy;
    Ok((summary, tables))
}

/// What the links of each class did, for their energy.
fn uses(net: &Network, ended: &Ended, simulated: Ps) -> Vec<Use> {
    let named = |class: &&str| Use { class: (*class).to_owned(), ..Use::default() };
    let mut uses: Vec<Use> = net.fabric.classes().iter().map(named).collect();
    for (&link, carried) in &ended.sent {
        if net.fabric.is_unplugged(link) {
            continue;
        }
        let used = &mut uses[usize::from(net.fabric.class_of_link(link))];
        let mut asleep = 0;
        if let (Some(&Rested { rest, free }), Some(sleep)) = (ended.rests.get(&link), &net.sleep) {
            let last = rest.last(simulated.saturating_sub(free), carried.bytes == 0, sleep);
            asleep = rest.asleep + last;
            used.wakings += u64::from(rest.wakings);
        }
        used.add(carried.bytes as f64 * 8.0, asleep);
    }
    uses
}

/// What links lost and what the transport did about it.
fn resilience(net: &Network, ended: &Ended, simulated: Ps) -> Option<Resilience> {
    let (setup, t) = (net.resilience.as_ref()?, &ended.observer.tallies);
    let [first, redundant, retransmitted, acknowledgements] = t.sent;
    let lost = t.lost.iter().zip(net.fabric.classes()).filter(|(n, _)| n[0] + n[1] > 0);
    let data_bytes: u64 = t.sent_bytes[..3].iter().sum();
    let goodput = ended.observer.bytes_total;
    Some(Resilience {
        protocol: setup.protocol.name().to_owned(),
        sent: SentPackets { first, redundant, retransmitted, acknowledgements },
        lost: ByPurpose {
            data: t.lost.iter().map(|n| n[0]).sum(),
            acknowledgements: t.lost.iter().map(|n| n[1]).sum(),
        },
        lost_by_class: Counted(lost.map(|(n, class)| ((*class).to_owned(), n[0] + n[1])).collect()),
        tampered: ByPurpose { data: t.tampered[0], acknowledgements: t.tampered[1] },
        duplicates: t.duplicates,
        transmissions_mean: (first > 0).then(|| (first + redundant + retransmitted) as f64 / first as f64),
        goodput_bytes_per_s: (simulated > 0).then(|| goodput as f64 / (simulated as f64 / 1e12)),
        efficiency: (data_bytes > 0).then(|| goodput as f64 / data_bytes as f64),
    })
}

fn message_counts(ended: &Ended) -> Counts {
    let begun = ended.last.messages;
    Counts { injected: begun, delivered: ended.observer.messages, in_flight: begun - ended.observer.messages }
}

fn hops(summary: &mut Summary, ended: &Ended) {
    let by_hops = &ended.observer.by_hops;
    let rows = by_hops.iter().enumerate();
    summary.latency_by_hops = rows.filter_map(|(h, m)| m.by_hops(h as u32)).collect::<Vec<HopLatency>>();
    let count: u64 = by_hops.iter().map(|m| m.count).sum();
    let total: u64 = by_hops.iter().enumerate().map(|(h, m)| h as u64 * m.count).sum();
    summary.hops_mean = (count > 0).then(|| total as f64 / count as f64);
}

fn jobs(setup: &Setup, ended: &Ended) -> Vec<Job> {
    let closed = matches!(setup.until, Until::WorkloadDone { .. });
    let each = setup.jobs.iter().zip(&ended.observer.jobs).enumerate();
    each.map(|(n, (job, &(delivered, last)))| {
        let begun = ended.last.job_messages.get(n).copied().unwrap_or(0);
        let (program, sums) = (job.work.program().is_some(), ended.observer.programs[n]);
        let makespan = last.max(sums.last).saturating_sub(job.start);
        Job {
            name: job.name.clone(),
            ranks: job.placement.len() as u32,
            messages: Some(Counts { injected: begun, delivered, in_flight: begun - delivered }),
            makespan_ps: (if program { ended.stuck.is_done() } else { closed }).then_some(makespan),
            critical_path: None,
            compute_fraction: (program && makespan > 0)
                .then(|| sums.busy as f64 / (makespan as f64 * job.placement.len() as f64)),
        }
    })
    .collect()
}

/// For how long before a return treatment `reheat` fills the network.
fn reheat(setup: &Setup) -> Ps {
    setup.hybrid.as_ref().filter(|h| h.treatment == Treatment::Reheat).map_or(0, |h| h.reheat)
}

fn links(net: &Network, sent: &SortedMap<LinkId, Carried>, simulated: Ps) -> Option<Links> {
    if simulated == 0 {
        return None;
    }
    let names = net.fabric.classes();
    let mut classes: Vec<(String, u64, f64, f64)> =
        names.iter().map(|n| ((*n).to_owned(), 0, 0.0, 0.0)).collect();
    for (&link, &Carried { busy, .. }) in sent {
        if net.fabric.is_unplugged(link) {
            continue;
        }
        let (class, used) = (net.fabric.class_of_link(link), utilisation(busy, simulated));
        let row = &mut classes[usize::from(class)];
        row.1 += 1;
        row.2 += used;
        row.3 = row.3.max(used);
    }
    let count: u64 = classes.iter().map(|c| c.1).sum();
    let classes: Vec<(String, u64, f64, f64)> = classes.into_iter().filter(|c| c.1 > 0).collect();
    Some(Links {
        mean_utilisation: classes.iter().map(|c| c.2).sum::<f64>() / count.max(1) as f64,
        max_utilisation: classes.iter().map(|c| c.3).fold(0.0, f64::max),
        classes: classes
            .into_iter()
            .map(|(class, links, sum, max)| LinkClass {
                class,
                links,
                mean_utilisation: sum / links as f64,
                max_utilisation: max,
            })
            .collect(),
    })
}

fn buffers(net: &Network, ended: &Ended) -> Option<Buffers> {
    let chunk = u64::from(net.config.chunk);
    let bytes: Vec<u64> = ended.samples.iter().map(|s| (s.occupied + s.queued) * chunk).collect();
    let max = bytes.iter().copied().max()?;
    Some(Buffers { mean_bytes: bytes.iter().sum::<u64>() as f64 / bytes.len() as f64, max_bytes: max })
}
