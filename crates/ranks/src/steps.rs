//! Messages by what a program marks: those of each iteration, phase or region, apart.
//!
//! Source: Denzel et al., SC'08 (MARS), Figure 5, which tells for each step of an application how many messages are sent, how large and how different they are.
//! A step begins with an instant that a rank marks and lasts until its next one, or is a region from its beginning to its end, with those within it. A message belongs to
//! the steps in which its sender's program sends it, in the order of the program and not by time: ranks reach a step when they do.

use crate::sizes::{SizeSums, cells, with_sums};
use base::{sorted::SortedMap, time::Ps};
use model::setup::JobOf;
use results::table::{Cell, Column, Table};

/// A message that a rank sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Number of its send among the operations of the rank.
    pub(crate) number: u32,
    pub(crate) bytes: u64,
    /// It is part of a collective.
    pub(crate) collective: bool,
    /// Its receiver lives on the same terminal.
    pub(crate) within: bool,
}

/// A step of a job.
#[derive(Debug)]
struct Step {
    job: u32,
    name: String,
    region: bool,
    /// When the first rank reaches it, and when the last one does.
    reached: [Ps; 2],
}

/// What was sent in the steps of all jobs.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// Numbers of steps by job, whether they are regions, and name.
    numbers: SortedMap<(u32, bool, String), usize>,
    /// By step, whether it is a part of a collective, and whether it stays within its terminal.
    sums: SortedMap<(usize, bool, bool), SizeSums>,
}

impl Steps {
    /// A rank reaches a step at `at`: the step's number.
    pub(crate) fn reach(&mut self, job: u32, region: bool, name: &str, at: Ps) -> usize {
        let steps = &mut self.steps;
        let number = *self.numbers.entry((job, region, name.to_owned())).or_insert_with(|| {
            steps.push(Step { job, name: name.to_owned(), region, reached: [at, at] });
            steps.len() - 1
        });
        let [first, last] = self.steps[number].reached;
        self.steps[number].reached = [first.min(at), last.max(at)];
        number
    }

    /// A message is sent within these steps. A region within itself counts once.
    pub(crate) fn count(&mut self, open: impl Iterator<Item = usize>, sent: &Sent) {
        let mut open: Vec<usize> = open.collect();
        open.sort_unstable();
        open.dedup();
        let known = open.last().is_none_or(|&step| step < self.steps.len());
        debug_assert!(known, "who sends within a step has reached it");
        for step in open {
            self.sums.entry((step, sent.collective, sent.within)).or_default().record(sent.bytes);
        }
    }

    /// The table `steps`, by job and the time at which a step is first reached; none if nothing was sent in any.
    pub(crate) fn table(&self, jobs: &[JobOf<'_>]) -> Option<Table> {
        if self.sums.is_empty() {
            return None;
        }
        let table = Table::new("steps")
            .with("job", Column::text())
            .with("step", Column::text())
            .with("marked", Column::text())
            .with("first_ps", Column::u64s())
            .with("last_ps", Column::u64s());
        let mut table = with_sums(table);
        let mut rows: Vec<_> = self.sums.iter().collect();
        // Regions before what is marked within them at the same time.
        let place = |step: &Step| (step.job, step.reached[0], !step.region);
        rows.sort_by(|a, b| {
            let [one, two] = [&self.steps[a.0.0], &self.steps[b.0.0]];
            place(one).cmp(&place(two)).then_with(|| one.name.cmp(&two.name)).then_with(|| a.0.cmp(b.0))
        });
        for (&(step, collective, within), sums) in rows {
            let step = &self.steps[step];
            let place = [
                Cell::Text(jobs[step.job as usize].name),
                Cell::Text(&step.name),
                Cell::Text(if step.region { "region" } else { "instant" }),
                Cell::U64(step.reached[0]),
                Cell::U64(step.reached[1]),
            ];
            table.push(&[&place[..], &cells(collective, within, sums)].concat());
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: [JobOf<'static>; 1] = [JobOf { name: "job", program: None, start: 0 }];

    /// Two ranks, a step that the second reaches later, and a region in a region of the same name: sums by kind and reach, each message once in a step.
    #[test]
    fn messages_add_up_by_step_kind_and_reach() {
        let mut steps = Steps::default();
        let sent = |bytes, collective, within| Sent { number: 0, bytes, collective, within };
        let one = steps.reach(0, false, "iteration 1", 50);
        let again = steps.reach(0, false, "iteration 1", 20);
        let region = steps.reach(0, true, "iteration 1", 20);
        assert!(one == again && region != one);
        steps.count([one, region, region].into_iter(), &sent(2, false, false));
        steps.count([again].into_iter(), &sent(4, false, false));
        steps.count([again].into_iter(), &sent(8, true, true));
        let table = steps.table(&JOBS).unwrap();
        let text =
            |name: &str| table.text_column(name).unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(text("marked"), ["region", "instant", "instant"]);
        assert_eq!(text("kind"), ["point-to-point", "point-to-point", "collective"]);
        assert_eq!(text("reach"), ["leaving", "leaving", "within"]);
        assert_eq!(table.u64_column("messages").unwrap(), [1, 2, 1]);
        assert_eq!(table.u64_column("bytes").unwrap(), [2, 6, 8]);
        assert_eq!(table.u64_column("first_ps").unwrap(), [20, 20, 20]);
        assert_eq!(table.u64_column("last_ps").unwrap(), [20, 50, 50]);
        assert!(Steps::default().table(&JOBS).is_none());
    }
}
