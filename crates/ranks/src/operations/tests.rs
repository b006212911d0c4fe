//! What is known of ranks whose operations are read in batches.

use super::*;
use workload::program::list::{List, Rank, calc};

/// A rank may have operations as long as its source was not read to the end: one that begins later is not over.
#[test]
fn a_rank_is_over_when_all_is_read() {
    let mut two = Rank::default();
    two.push(calc(5));
    two.push(calc(5));
    let program: Arc<dyn Program> = Arc::new(List::new(vec![two, Rank::default()]));
    let mut window = OperationWindow::new([0, 1].map(|r| (Arc::clone(&program), RankId::new(r))));
    assert!(!window.is_over(0) && !window.is_over(1), "nothing is read yet");
    let (mut freed, mut at) = (Vec::new(), 0);
    window.refill(1, at, &mut freed);
    assert!(freed.is_empty() && window.is_over(1) && !window.is_over(0));
    window.refill(0, at, &mut freed);
    assert_eq!((window.read(0), window.open()), (2, 2));
    while let Some(row) = freed.pop() {
        window.start(row, at, &mut freed);
        at += 5;
        window.finish(row, at, &mut freed);
    }
    assert!(at == 10 && window.open() == 0 && window.is_over(0));
}
