use super::*;
use crate::{otf2_out, table::Cell};
use serde_json::Value;

/// Operations of job "a", with calls: rank, number, kind, start, end.
fn operations_of(rows: &[(u32, u32, &str, u64, u64)]) -> Table {
    let mut table = operations();
    for &(rank, number, kind, start, end) in rows {
        let cells = [Cell::Text("a \"job\""), Cell::U32(rank), Cell::U32(number), Cell::Text(kind)];
        table.push(&[&cells[..], &[Cell::U64(start), Cell::U64(end), Cell::U64(64)]].concat());
    }
    let calls = rows.iter().map(|r| if r.2 == "send" { "MPI_Send" } else { "" }).collect();
    let tag = rows.iter().map(|r| (r.2 == "send").then_some(7)).collect();
    table.with("call", Column::Text(calls)).with("tag", Column::Maybe(tag))
}

fn events(text: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    json["traceEvents"].as_array().cloned().unwrap_or_default()
}

#[test]
fn every_operation_is_a_bar_and_times_are_exact() {
    let table = operations_of(&[(0, 3, "send", 0, 1_500_001), (1, 3, "calc", 7, 7)]);
    let text = trace_events(&table, Beside::default()).unwrap_or_default();
    let all = events(&text);
    assert_eq!(all.len(), 1 + 2 * 2 + 2 * 2, "{text}");
    assert_eq!(all[0]["args"]["name"], "a \"job\"");
    assert_eq!((&all[1]["name"], &all[1]["args"]["name"]), (&"thread_name".into(), &"rank 0".into()));
    assert!(text.contains("\"ts\":1.500001") && text.contains("\"ts\":0.000007"), "{text}");
    let bars: Vec<&Value> = all.iter().filter(|e| e["ph"] == "B").collect();
    let args = |n: usize| bars[n]["args"].to_string();
    assert_eq!((&bars[0]["name"], &bars[1]["name"]), (&"MPI_Send".into(), &"calc".into()));
    assert_eq!(args(0), r#"{"operation":3,"kind":"send","bytes":64,"tag":7}"#);
    assert_eq!(args(1), r#"{"operation":3,"kind":"calc"}"#);
    assert!(trace_events(&Table::new("pairs"), Beside::default()).is_none());
}

#[test]
fn a_critical_path_is_a_thread_of_its_own() {
    let table = operations_of(&[(0, 0, "calc", 0, 5)]);
    let path = Table::new("critical_path")
        .with("job", Column::Text(["a \"job\"", "a \"job\""].into_iter().collect()))
        .with("part", Column::Text(["compute", "transfer"].into_iter().collect()))
        .with("rank", Column::U32(vec![0, 0]))
        .with("operation", Column::U32(vec![1, 2]))
        .with("peer", Column::U32(vec![0, 1]))
        .with("start_ps", Column::U64(vec![0, 5]))
        .with("end_ps", Column::U64(vec![5, 9]));
    let all =
        events(&trace_events(&table, Beside { path: Some(&path), ..Beside::default() }).unwrap_or_default());
    assert_eq!(all[1]["args"]["name"], "critical path");
    let named = all.iter().find(|e| e["name"] == "transfer, rank 0 to 1").map(|e| &e["ts"]);
    assert_eq!(named, Some(&5e-6.into()));
}

/// A receive that is posted and waited for later goes on beside the computation; a second one beside both; a third takes the place of the first.
#[test]
fn what_goes_on_beside_has_a_thread_of_its_own() {
    let rows = [
        (0, 0, "recv", 0, 40),
        (0, 1, "recv", 0, 90),
        (0, 2, "calc", 0, 50),
        (0, 3, "recv", 50, 95),
        (0, 4, "calc", 50, 60),
        (0, 5, "join", 95, 95),
        (0, 6, "recv", 95, 99),
    ];
    let table = operations_of(&rows);
    let columns = Columns::of(&table).unwrap();
    assert_eq!(lanes(&[0, 1, 2, 3, 4, 5, 6], &columns), [vec![2, 4, 5, 6], vec![0, 3], vec![1]]);
}

/// Messages that take no time, from rank 2 to 1 to 0: arrows begin before they end, although threads are written in another order.
#[test]
fn arrows_begin_before_they_end() {
    let rows = [(0, 0, "recv", 0, 10), (1, 0, "recv", 0, 10), (1, 1, "send", 10, 10), (2, 0, "send", 10, 10)];
    let mut sent = otf2_out::transfers(false);
    for (from, to, send) in [(1, 0, 1), (2, 1, 0)] {
        let cells = [Cell::Text("a \"job\""), Cell::U32(from), Cell::U32(to), Cell::U32(send)];
        let times = [Cell::U64(10), Cell::U64(10), Cell::U64(0), Cell::U64(64), Cell::U32(0)];
        sent.push(&[&cells[..], &times].concat());
    }
    let text = trace_events(&operations_of(&rows), Beside { transfers: Some(&sent), ..Beside::default() })
        .unwrap_or_default();
    let arrows: Vec<(String, u64)> = events(&text)
        .iter()
        .filter(|e| e["cat"] == "message")
        .map(|e| (e["ph"].as_str().unwrap_or_default().to_owned(), e["id"].as_u64().unwrap_or(9)))
        .collect();
    let expected = [("s", 1), ("f", 1), ("s", 0), ("f", 0)].map(|(phase, id)| (phase.to_owned(), id));
    assert_eq!(arrows, expected, "{text}");
}

/// Two ranks that post their receives first and send to each other in no time: no order of whole threads has both arrows begin before they end.
#[test]
fn an_exchange_in_no_time_has_its_arrows() {
    let rows = [(0, 0, "recv", 5, 5), (0, 1, "send", 5, 5), (1, 0, "recv", 5, 5), (1, 1, "send", 5, 5)];
    let mut sent = otf2_out::transfers(false);
    for (from, to) in [(0, 1), (1, 0)] {
        let cells = [Cell::Text("a \"job\""), Cell::U32(from), Cell::U32(to), Cell::U32(1)];
        let times = [Cell::U64(5), Cell::U64(5), Cell::U64(0), Cell::U64(64), Cell::U32(0)];
        sent.push(&[&cells[..], &times].concat());
    }
    let text = trace_events(&operations_of(&rows), Beside { transfers: Some(&sent), ..Beside::default() })
        .unwrap_or_default();
    let (mut begun, mut open, mut bars) = (SortedSet::new(), SortedMap::new(), 0);
    for event in events(&text) {
        let (id, thread) = (event["id"].as_u64(), event["tid"].as_u64());
        match event["ph"].as_str() {
            Some("s") => assert!(begun.insert(id)),
            Some("f") => assert!(begun.remove(&id), "an arrow begins before it ends: {text}"),
            Some("B") => assert_eq!(open.insert(thread, event["ts"].clone()), None, "bars follow each other"),
            Some("E") => {
                assert!(open.remove(&thread).is_some());
                bars += 1;
            }
            _ => {}
        }
    }
    assert_eq!((begun.len(), open.len(), bars), (0, 0, 4), "{text}");
}
