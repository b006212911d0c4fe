//! Rules of clocked routers, for tests that go through all of them.

use packet::{
    pipeline::{Pipeline, Ratio, Sharing, Speculation},
    router::arbiter::ARBITERS,
};

/// Every arbiter, each with an allocator.
pub fn arbiters() -> Vec<(String, Pipeline)> {
    let of = |(n, entry): (usize, &packet::router::arbiter::ArbiterEntry)| {
        let rules =
            Pipeline { arbiter: entry.arbiter, switch_allocator: n % 3, iterations: 2, ..Pipeline::DEFAULT };
        (format!("arbiter {}", entry.about.name), rules)
    };
    ARBITERS.iter().enumerate().map(of).collect()
}

/// Each option of input queues.
pub fn options() -> [(&'static str, Pipeline); 12] {
    let plain = Pipeline::DEFAULT;
    [
        ("speculation", Pipeline { speculation: Speculation::Equal, ..plain }),
        ("yielding", Pipeline { speculation: Speculation::Yielding, switch_allocator: 1, ..plain }),
        ("piggyback", Pipeline { vc_allocator: None, ..plain }),
        ("piggyback, speed-up 1.5", Pipeline { vc_allocator: None, speedup: Ratio(150), ..plain }),
        ("delays", Pipeline { routing: 2, vc_allocation: 3, switch_allocation: 2, ..plain }),
        ("hold", Pipeline { hold_switch: true, ..plain }),
        ("hold and speed-up", Pipeline { hold_switch: true, speedup: Ratio(133), output_buffer: 2, ..plain }),
        ("tail credit", Pipeline { wait_for_tail_credit: true, ..plain }),
        ("input speed-up", Pipeline { input_speedup: Ratio(200), output_speedup: Ratio(150), ..plain }),
        ("no output buffer", Pipeline { output_buffer: 0, ..plain }),
        ("class", Pipeline { ejection_any: false, ..plain }),
        ("shared inputs", Pipeline { input_sharing: Sharing::Shared(Ratio(50)), ..plain }),
    ]
}
