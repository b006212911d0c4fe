//! Statistics of messages add up: by size, by window of time, by kind and reach they are the same messages as by rank and by collective, on every model.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use netloom::{
    Experiment,
    results::table::{Column, Table},
};

/// A conjugate gradient solver: halos from point to point, sums as collectives, two ranks on a terminal.
fn text(model: &str) -> String {
    format!(
        r#"
        [experiment]
        until = "workload-done"
        [fabric]
        topology = "torus"
        dims = [2, 2, 2]
        link.terminal = {{ bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "32 KiB" }}
        link.local = {{ bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "32 KiB" }}
        [routing]
        algorithm = "dimension-order"
        [[job]]
        name = "solver"
        workload = "conjugate-gradient"
        ranks = 8
        ranks_per_terminal = 2
        [[job]]
        name = "sum"
        workload = "collective"
        operation = "allreduce"
        vector = "3000 B"
        ranks = 4
        start = "2 us"
        [model]
        {model}
        [output]
        window = "5 us"
        pairs = true
        "#
    )
}

fn table<'a>(tables: &'a [Table], name: &str) -> &'a Table {
    tables.iter().find(|t| t.name() == name).unwrap_or_else(|| panic!("no table `{name}`"))
}

fn numbers(table: &Table, name: &str) -> Vec<u64> {
    table.u64_column(name).unwrap_or_else(|| panic!("no column `{name}`")).to_vec()
}

fn sum(table: &Table, name: &str) -> u64 {
    numbers(table, name).iter().sum()
}

/// Sum of a column over the rows whose text column has a value.
fn sum_of(table: &Table, name: &str, (key, value): (&str, &str)) -> u64 {
    let texts = table.text_column(key).unwrap();
    texts.iter().zip(numbers(table, name)).filter(|(text, _)| *text == value).map(|(_, n)| n).sum()
}

#[test]
fn windows_and_sizes_add_up_to_ranks_and_collectives() {
    let packet = "kind = \"packet\"\npacket = \"1 KiB\"\nchunk = \"256 B\"\nvcs = 4\n";
    let mut totals = Vec::new();
    for model in [packet, "kind = \"flow\"\n", "kind = \"delay\"\n"] {
        let finished = Experiment::from_text(text(model)).run().unwrap_or_else(|e| panic!("{model}: {e}"));
        let tables = &finished.tables;
        let (windows, sizes) = (table(tables, "message_windows"), table(tables, "message_sizes"));
        let (ranks, collectives) = (table(tables, "ranks"), table(tables, "collectives"));
        let (messages, bytes) = (sum(ranks, "messages_sent"), sum(ranks, "bytes_sent"));
        assert!(messages > 100, "{model}");
        assert_eq!((sum(windows, "messages"), sum(windows, "bytes")), (messages, bytes), "{model}");
        assert_eq!(sum(sizes, "messages"), messages, "{model}");
        let collective = ("kind", "collective");
        assert_eq!(sum_of(windows, "messages", collective), sum(collectives, "messages"), "{model}");
        assert_eq!(sum_of(windows, "bytes", collective), sum(collectives, "bytes"), "{model}");
        assert_eq!(sum(sizes, "collective_messages"), sum(collectives, "messages"), "{model}");
        let within = ("reach", "within");
        assert_eq!(sum_of(windows, "messages", within), sum(ranks, "messages_within"), "{model}");
        assert_eq!(sum_of(windows, "bytes", within), sum(ranks, "bytes_within"), "{model}");
        assert!(sum_of(windows, "messages", within) > 0, "{model}");
        let times = numbers(windows, "time_ps");
        assert!(
            times.iter().all(|t| t % 5_000_000 == 0) && times.last() > Some(&5_000_000),
            "{model}: {times:?}"
        );
        let Some(Column::F64(means)) = windows.column("mean_bytes") else { panic!("{model}") };
        for ((mean, n), bytes) in
            means.iter().zip(numbers(windows, "messages")).zip(numbers(windows, "bytes"))
        {
            assert!((mean * n as f64 - bytes as f64).abs() <= 1e-9 * bytes as f64, "{model}");
        }
        totals.push((messages, bytes, numbers(sizes, "messages"), sum(collectives, "bytes")));
    }
    assert!(
        totals.iter().all(|total| *total == totals[0]),
        "programs send the same on every model: {totals:?}"
    );
}

/// The matrix of pairs holds all payload that packets brought, collectives included.
#[test]
fn pairs_of_packets_have_their_bytes() {
    let packet = "kind = \"packet\"\npacket = \"1 KiB\"\nchunk = \"256 B\"\nvcs = 4\n";
    let finished = Experiment::from_text(text(packet)).run().unwrap();
    assert_eq!(sum(table(&finished.tables, "pairs"), "bytes"), finished.summary.bytes_delivered);
}

/// Packets that visit more routers than lie on their shortest path, in the windows in which they arrive: as many as the rows of packets say.
#[test]
fn detours_are_counted_by_window() {
    let run = |routing: &str| {
        let text = format!(
            r#"
            experiment = {{ duration = "30 us" }}
            routing = {{ algorithm = "{routing}" }}
            job = [{{ workload = "bisection", message = "512 B", load = 0.3 }}]
            model = {{ kind = "packet", packet = "512 B", chunk = "128 B", vcs = 8 }}
            output = {{ window = "3 us", packets = true }}
            [fabric]
            topology = "dragonfly"
            groups = 5
            routers_per_group = 2
            terminals_per_router = 2
            global_ports_per_router = 2
            link.terminal = {{ bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "8 KiB" }}
            link.local = {{ bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "8 KiB" }}
            link.global = {{ bandwidth = "10 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "8 KiB" }}
            "#
        );
        Experiment::from_text(text).run().unwrap_or_else(|e| panic!("{routing}: {e}"))
    };
    let detoured = |tables: &[Table]| {
        let series = table(tables, "series");
        let Some(Column::F64(values)) = series.column("value") else { panic!("no values") };
        let rows = series.text_column("quantity").unwrap().iter().zip(values);
        rows.filter(|(what, _)| *what == "packets_detoured").map(|(_, n)| *n as u64).collect::<Vec<_>>()
    };
    let hops = |tables: &[Table]| {
        let packets = table(tables, "packets");
        let sources = packets.u32_column("source").unwrap().to_vec();
        sources.into_iter().zip(packets.u32_column("hops").unwrap().to_vec()).collect::<Vec<_>>()
    };
    let minimal = run("minimal");
    assert_eq!(detoured(&minimal.tables).iter().sum::<u64>(), 0);
    let shortest: base::sorted::SortedMap<u32, u32> = hops(&minimal.tables).into_iter().collect();
    let valiant = run("valiant");
    let longer = hops(&valiant.tables).into_iter().filter(|(source, hops)| *hops > shortest[source]).count();
    assert!(longer > 100 && detoured(&valiant.tables).len() == 10, "{longer}");
    assert_eq!(detoured(&valiant.tables).iter().sum::<u64>(), longer as u64);
}

/// Each iteration sends to the neighbour on the terminal and to one elsewhere, larger each time, and reduces; what is sent before and behind counts to no iteration, and all of
/// it to the region around.
#[test]
fn steps_hold_what_is_sent_in_them() {
    let program = "ranks 8\nall {\n  enter \"all of it\"\n  sendrecv 7 B to rank ^ 4 recv 7 B from rank ^ 4\n  repeat 3 as step {\n    mark \"iteration\" step\n    \
                   irecv (100 * step + 100) B from rank ^ 1\n    irecv (100 * step + 100) B from rank ^ 2\n    isend (100 * step + 100) B to rank ^ 1\n    \
                   isend (100 * step + 100) B to rank ^ 2\n    waitall\n    allreduce 8 B\n  }\n  mark \"rest\"\n  leave\n  send 1 B to rank ^ 4\n  recv 1 B from rank ^ 4\n}\n";
    let file = std::env::temp_dir().join(format!("netloom-steps-{}.ranks", std::process::id()));
    std::fs::write(&file, program).unwrap();
    let packet = "kind = \"packet\"\npacket = \"1 KiB\"\nchunk = \"256 B\"\nvcs = 4\n";
    for model in [packet, "kind = \"flow\"\n", "kind = \"delay\"\n"] {
        let whole = text(model);
        let jobs = whole.find("[[job]]").unwrap()..whole.find("[model]").unwrap();
        let job = format!(
            "[[job]]\nname = \"steps\"\nworkload = \"trace\"\nfile = \"{}\"\nranks_per_terminal = 2\n[node]\ncores = 2\n",
            file.display()
        );
        let whole = whole.replace(&whole[jobs], &job).replace("[output]", "[output]\noperations = true");
        let finished = Experiment::from_text(whole).run().unwrap_or_else(|e| panic!("{model}: {e}"));
        let steps = table(&finished.tables, "steps");
        let text =
            |name: &str| steps.text_column(name).unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
        let of = |step: &str, kind: &str, reach: &str| -> (u64, u64) {
            let rows = text("step").into_iter().zip(text("kind")).zip(text("reach")).enumerate();
            let rows =
                rows.filter(|(_, ((s, k), r))| s == step && k == kind && r == reach).map(|(row, _)| row);
            let rows: Vec<usize> = rows.collect();
            let sum = |name: &str| rows.iter().map(|&row| numbers(steps, name)[row]).sum();
            (sum("messages"), sum("bytes"))
        };
        for step in 0..3u64 {
            let name = format!("iteration {step}");
            let size = 100 * step + 100;
            for reach in ["within", "leaving"] {
                assert_eq!(of(&name, "point-to-point", reach), (8, 8 * size), "{model}: {name} {reach}");
            }
        }
        assert_eq!(of("all of it", "point-to-point", "within"), (24, 8 * 600), "{model}");
        assert_eq!(of("all of it", "point-to-point", "leaving"), (8 + 24, 8 * 7 + 8 * 600), "{model}");
        assert_eq!(of("rest", "point-to-point", "leaving"), (8, 8), "{model}");
        // All messages of the collectives are in iterations, and every message is in a step or a region.
        let collective =
            |step: &str| of(step, "collective", "within").0 + of(step, "collective", "leaving").0;
        let of_iterations: u64 = (0..3).map(|step| collective(&format!("iteration {step}"))).sum();
        assert!(of_iterations == collective("all of it") && of_iterations.is_multiple_of(3), "{model}");
        let all = of_iterations + 24 + 32 + 8;
        assert_eq!(all, sum(table(&finished.tables, "ranks"), "messages_sent"), "{model}");
    }
    std::fs::remove_file(&file).unwrap();
}
