//! What `--check` looks at when a run of the flow model is over: messages by their records, and the state of domain and sharing.

use super::{domain::FlowDomain, observe::Observer, sharing::UnderWay, turns::Row, walk::WHOLE};
use base::{index::TerminalId, sorted::SortedMap};
use ranks::messages::Seen;

/// What is wrong; nothing where it is not checked. `dry`: nothing is pending any more.
#[must_use]
pub fn faults(domain: &FlowDomain, observer: &Observer, dry: bool) -> Vec<String> {
    let Some(messages) = observer.messages.clone() else { return Vec::new() };
    let rows = domain.under_way();
    let left: Vec<Seen> = rows.iter().map(|(_, message)| *message).collect();
    let mut faults = messages.verdict(Some(&left));
    faults.extend(observer.misnumbered.clone());
    faults.extend(numbers(domain, observer));
    faults.extend(domain.sharing.faults());
    faults.extend(flows(domain, rows));
    faults.extend(loads(domain));
    faults.extend(turns(domain));
    if dry && !domain.stopped() && domain.sharing.next().is_some() {
        faults.push("flows go on, and nothing is pending".to_owned());
    }
    faults
}

/// Sources have sent what began.
fn numbers(domain: &FlowDomain, observer: &Observer) -> Vec<String> {
    let mut faults = Vec::new();
    for (terminal, (&began, &sent)) in observer.numbers.iter().zip(domain.sent()).enumerate() {
        if began != sent {
            faults.push(format!("terminal {terminal} says that it sent {sent} messages, {began} began"));
        }
        // What ended the run may have been a message that its source had passed.
        let source = domain.sent_by_source(TerminalId::new(terminal as u32)).filter(|_| !domain.stopped());
        if let Some(index) = source.filter(|&index| index != u64::from(began)) {
            faults.push(format!("the source of terminal {terminal} is at message {index}, {began} began"));
        }
    }
    faults
}

/// Every message that is under way has one flow, of its size.
fn flows(domain: &FlowDomain, rows: Vec<(u32, Seen)>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut rows: SortedMap<u32, Seen> = rows.into_iter().collect();
    for UnderWay { tag, work, route, .. } in domain.sharing.flows_under_way() {
        let Some(message) = rows.remove(&tag) else {
            faults.push(format!("a flow is that of message row {tag}, which holds none or has one"));
            continue;
        };
        if domain.route_of_row(tag) != route {
            faults.push(format!("message row {tag} is on another route than its flow"));
        }
        // A flow that was diverted, or divided anew, has less work than its message has bytes.
        let most = message.bytes as f64 / domain.cx.config.rules.factors(message.bytes).0;
        let diverted = domain.cx.change.is_some() || domain.network.follows_load();
        if work > most || (work < most && !diverted) {
            faults.push(format!("a message of {} B has a flow of {work} B", message.bytes));
        }
    }
    faults.extend(rows.values().map(|m| format!("{} B from {} to {} have no flow", m.bytes, m.from, m.to)));
    faults
}

/// What a routing by load sees on each link are the parts of the messages that are under way, and all of a message leaves its source.
fn loads(domain: &FlowDomain) -> Vec<String> {
    let Some(counted) = domain.network.counted() else { return Vec::new() };
    let (mut faults, mut sums) = (Vec::new(), vec![0u32; counted.len()]);
    for UnderWay { flow, route, .. } in domain.sharing.flows_under_way() {
        let parts: Vec<(u32, u32)> = domain.sharing.route_of(route).parts(WHOLE).collect();
        parts.iter().for_each(|&(link, part)| sums[link as usize] += part);
        let most = parts.iter().map(|p| p.1).max();
        if most.is_some_and(|most| most != WHOLE) {
            faults.push(format!("flow {flow} has no link that all of it crosses"));
        }
    }
    for (link, (sum, count)) in sums.iter().zip(counted).enumerate().filter(|(_, (sum, count))| sum != count)
    {
        faults.push(format!("link {link} has {sum} parts of messages, the routing sees {count}"));
    }
    faults
}

/// Whoever is asked again is under way, with the flow and the pair that are known of it.
fn turns(domain: &FlowDomain) -> Vec<String> {
    let flows: SortedMap<u32, u32> = domain.sharing.flows_under_way().map(|f| (f.tag, f.flow)).collect();
    let wrong = |&(tag, row): &(u32, Row)| {
        flows.get(&tag) != Some(&row.flow)
            || domain.pair_of_row(tag) != (row.pair.source, row.pair.destination)
    };
    let rows = domain.turns().rows();
    rows.filter(wrong).map(|(tag, _)| format!("message row {tag} is asked again as another")).collect()
}
