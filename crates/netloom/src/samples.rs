//! An experiment for tests of the library.

/// Traffic of four terminals at one switch, for 4 us.
pub(crate) const TEXT: &str = r#"
    experiment = { duration = "4 us" }
    routing = { algorithm = "shortest-path" }
    job = [{ workload = "uniform", message = "512 B", load = 0.3 }]
    model = { kind = "packet", packet = "512 B", chunk = "64 B" }
    [fabric]
    topology = "single-switch"
    terminals = 4
    link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
"#;
