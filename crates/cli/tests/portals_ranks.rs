//! A rank is a process: what it has for itself, how it ends, and that the others go on.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "tests")]

use crate::program::{compile, compile_by, compile_text, netloom};
use std::{fs, process::Command};

#[test]
fn every_rank_has_a_process_state_of_its_own() {
    let Some(program) = compile("crates/cli/tests/portals/process.c") else { return };
    for ranks in [1, 2, 5] {
        let text = program.good(ranks, &[], &["-a", "-b", "five", "--count=12", "rest"]);
        assert_eq!(text, "own\n".repeat(ranks as usize));
    }
}

#[test]
fn every_rank_has_what_cxx_has_once_in_a_process() {
    let Some(program) = compile_by("c++", "sandia", "crates/cli/tests/portals/objects.cpp") else { return };
    let text = program.good(3, &["--label"], &[]);
    for rank in 0..3 {
        let number = if rank == 1 { "00ff" } else { " 255" };
        for line in [
            format!("[{rank}] thread of rank {rank}\n"),
            format!("[{rank}] {number} of rank {rank}\n"),
            format!("[{rank}] rank {rank} ends\n"),
        ] {
            assert!(text.contains(&line), "{line:?} is not in {text}");
        }
    }
    for how in ["throw", "terminate"] {
        let out = program.run(2, &[], &[how]);
        let reported = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(
            out.status.code() == Some(12) && reported.contains("rank 1 was ended by SIGABRT"),
            "{how}: {reported}"
        );
        assert!(
            reported.contains("terminate called") && !reported.contains("rank 0 was ended"),
            "{how}: {reported}"
        );
    }
}

#[test]
fn clocks_and_units_of_fortran_are_those_of_each_rank() {
    let source = "crates/cli/tests/portals/clocks.f90";
    let Some(program) = compile_by("gfortran", "sandia", source) else { return };
    let text = program.good(3, &["--label"], &["one"]);
    for rank in 0..3 {
        assert!(text.contains(&format!("[{rank}] clocks of rank {rank}\n")), "{text}");
    }
}

/// Whoever sets what is called where nobody catches an exception does so for itself.
#[test]
fn handlers_of_cxx_are_those_of_each_rank() {
    let Some(program) = compile_by("c++", "sandia", "crates/cli/tests/portals/objects.cpp") else { return };
    let out = program.run(3, &[], &["handled"]);
    let reported = String::from_utf8_lossy(&out.stderr).into_owned();
    for line in ["rank 0 was ended by SIGABRT", "rank 1 exited with status 4", "rank 2 was ended by SIGABRT"]
    {
        assert!(out.status.code() == Some(12) && reported.contains(line), "{reported}");
    }
}

/// Zones, texts of errors, tables and locales.
#[test]
fn what_the_c_library_keeps_beside_its_functions_is_kept_for_each_rank() {
    let Some(program) = compile("crates/cli/tests/portals/results.c") else { return };
    for ranks in [1, 2, 5] {
        assert_eq!(program.good(ranks, &[], &[]), "kept\n".repeat(ranks as usize));
    }
}

/// Random numbers of the system follow from the seed and the rank.
#[test]
fn random_numbers_of_the_system_are_seeded() {
    let Some(program) = compile_by("c++", "sandia", "crates/cli/tests/portals/chance.cpp") else { return };
    let first = program.good(3, &[], &[]);
    let lines: Vec<&str> = first.lines().filter_map(|l| l.split_once(' ')).map(|l| l.1).collect();
    assert!(lines.len() == 3 && lines[0] != lines[1] && lines[1] != lines[2], "{first}");
    assert_eq!(program.good(3, &[], &[]), first, "runs are alike");
    assert_ne!(program.good(3, &["--set", "experiment.seed=77"], &[]), first, "seeds differ");
}

/// Who waits at a pipe, a socket or a lock of a file does so in simulated time; at one that nobody serves it is a deadlock.
#[test]
fn descriptors_are_waited_for_in_simulated_time() {
    let Some(program) = compile("crates/cli/tests/portals/descriptors.c") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().display().to_string();
    assert_eq!(program.good(2, &[], &[&place]), "read\nread\n");
    let out = program.run(2, &[], &[]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(5) && text.contains("rank 1 looks again and again by read"), "{text}");
}

/// Threads that are over leave nothing behind: 2,000 of them, one after another, each with 128 KiB of thread-local variables.
#[test]
fn variables_of_threads_that_are_over_are_given_back() {
    let text = r#"
        #include <pthread.h>
        #include <stdio.h>
        static __thread char own[1 << 17];
        static long resident(void) {
            long all = 0, pages = 0;
            FILE *file = fopen("/proc/self/statm", "r");
            if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) return -1;
            fclose(file);
            return pages * 4;
        }
        static void *work(void *number) {
            own[(long)number] += 1;
            return (void *)(long)own[(long)number];
        }
        int main(void) {
            long before = resident();
            own[5] = 7;
            for (long n = 0; n < 2000; n++) {
                pthread_t thread;
                void *result;
                if (pthread_create(&thread, NULL, work, (void *)(n % 100))) return 1;
                if (pthread_join(thread, &result) || result != (void *)1) return 2;
            }
            if (own[5] != 7) return 3;
            long more = resident() - before;
            if (more > 50000) printf("%ld KiB more\n", more);
            puts("done");
        }
    "#;
    let Some(program) = compile_text(text) else { return };
    assert_eq!(program.good(2, &[], &[]), "done\ndone\n");
}

/// Locks, barriers and semaphores of threads, time-outs, tries in a loop: simulated time passes, or the deadlock is reported.
#[test]
fn whatever_waits_lets_time_pass() {
    let Some(program) = compile("crates/cli/tests/portals/waits.c") else { return };
    let text = program.run(2, &["--summary"], &[]);
    assert_eq!(String::from_utf8_lossy(&text.stdout), "waited\nwaited\n", "{text:?}");
    assert_eq!(program.run(2, &["--summary"], &[]), text, "runs are alike");
    for (how, reported) in
        [("barrier", "rank 1 waits in pthread_barrier_wait"), ("semaphore", "rank 1 waits in sem_wait")]
    {
        let out = program.run(2, &[], &[how]);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(5) && text.contains(reported), "{how}: {text}");
    }
    // An endless loop without any call meets a limit of this machine's time.
    let out = program.run(2, &["--host-limit", "1"], &["loop"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(12) && text.contains("rank 1 was ended by SIGXCPU"), "{text}");
}

/// Threads that hand over in memory, calls that take no time, locks that are taken again at once: time passes, as much in every run.
#[test]
fn memory_is_polled_in_every_shape() {
    let Some(program) = compile("crates/cli/tests/portals/memory.c") else { return };
    let first = program.good(2, &["--summary"], &[]);
    assert_eq!(first.matches("looked at memory").count(), 2, "{first}");
    for _ in 0..3 {
        assert_eq!(program.good(2, &["--summary"], &[]), first, "runs are alike");
    }
    let out = program.run(1, &[], &["never"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    let loops = text.contains("thread 2 waits in a loop that polls memory in `turns`");
    assert!(out.status.code() == Some(5) && loops, "{text}");
}

/// Who wants a lock has it, though it was woken for another one meanwhile: otherwise the run would go on to its limit.
#[test]
fn a_lock_that_is_wanted_is_handed_over() {
    let Some(program) = compile("crates/cli/tests/portals/nested.c") else { return };
    program.good(1, &["--set", "experiment.limit=1 ms"], &[]);
}

/// Calls of Portals from a team of OpenMP are the rank's own: the team has one thread, unless the user wants others.
#[test]
fn teams_of_openmp_have_one_thread() {
    let Some(program) = compile("crates/cli/tests/portals/movement.c") else { return };
    let source = program.path.with_extension("c");
    let text = "#include <omp.h>\n#include <portals4.h>\n#include <stdio.h>\nint main(void) { int good = 0;\n_Pragma(\"omp parallel num_threads(4) \
                reduction(+ : good)\")\n{ good += PtlInit() == PTL_OK && omp_get_num_threads() == 1; }\nprintf(\"%d\\n\", good); return 0; }\n";
    fs::write(&source, text).expect("written");
    // The compiler alone says whether it has OpenMP.
    let mut compiler = Command::new("cc");
    compiler.args(["-fopenmp", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", "/dev/null"]);
    if !compiler.status().is_ok_and(|s| s.success()) {
        eprintln!("skipped: cc has no OpenMP");
        return;
    }
    let made =
        netloom().args(["portals", "cc", "-fopenmp"]).arg(&source).arg("-o").arg(&program.path).status();
    assert!(made.expect("it runs").success(), "the kit's compiler takes what cc takes");
    assert_eq!(program.good(2, &[], &[]), "1\n1\n");
}

#[test]
fn equal_ranks_stay_in_step_unless_their_hosts_differ() {
    let Some(program) = compile("crates/cli/tests/portals/steps.c") else { return };
    assert_eq!(program.good(2, &[], &[]), "tied after 51\n");
    let options = ["--set", "portals.host_jitter=50 ns"];
    let text = program.good(2, &options, &[]);
    assert!(!text.contains("tied"), "{text}");
    assert_eq!(program.good(2, &options, &[]), text, "it is seeded");
}

#[test]
fn what_belongs_to_another_rank_is_not_there() {
    let Some(program) = compile("crates/cli/tests/portals/isolated.c") else { return };
    for ranks in [1, 2, 3] {
        assert_eq!(program.good(ranks, &[], &[]), "alone\n".repeat(ranks as usize));
    }
}

/// What the kit's compilers make can be started, and is loaded like any other program; what is missing is missing when it is linked.
#[test]
fn programs_are_built_against_a_kit() {
    let Some(program) = compile("crates/cli/tests/portals/movement.c") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let make = |options: &[&str]| {
        netloom()
            .args(["portals", "sdk"])
            .arg(directory.path().join("kit"))
            .args(options)
            .output()
            .expect("it runs")
    };
    assert!(make(&[]).status.success());
    assert_eq!(make(&[]).status.code(), Some(7), "it is not replaced unasked");
    assert!(make(&["--force"]).status.success());
    let source = "#include <pmi.h>\n#include <portals4.h>\n#include <stdio.h>\nstatic __thread int own = 5;\n\
                  extern char __data_start, _end;\nstatic long first = 1, last;\nint main(void) { int rank = -1;\n\
                  if ((char *)&first < &__data_start || (char *)(&last + 1) > &_end) return 1;\n\
                  PMI_Get_rank(&rank); own += rank + last; printf(\"%d %d\\n\", own, PtlInit() == PTL_OK); return 0; }\n";
    fs::write(directory.path().join("own.c"), source).expect("written");
    fs::write(directory.path().join("gap.c"), "int nowhere(void); int main(void) { return nowhere(); }")
        .expect("written");
    let compiled = |name: &str| {
        let mut command = Command::new(directory.path().join("kit/bin/netloom-cc"));
        command.args([&format!("{name}.c"), "-o", name, "-lportals", "-lpmi"]).current_dir(&directory);
        command.output().expect("it runs").status.success()
    };
    assert!(compiled("own") && !compiled("gap"));
    let alone = Command::new(directory.path().join("own")).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&alone.stdout), "4 0\n");
    let mut command = netloom();
    command.args(["portals", "run", "-n", "2", "--fabric"]).arg(&program.fabric);
    let out = command.arg("./own").current_dir(&directory).output().expect("it runs");
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "5 1\n6 1\n",
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// Whatever becomes of rank 1, it is reported by its number, and rank 0 ends in order.
#[test]
fn a_rank_ends_alone() {
    let Some(program) = compile("crates/cli/tests/portals/failing.c") else { return };
    for (how, reported) in [
        ("raise", "rank 1 was ended by SIGABRT"),
        ("kill", "rank 1 was ended by SIGTERM"),
        ("quick", "quickly\nrank 1 exited with status 5"),
        ("_exit", "rank 1 exited with status 6"),
        ("exit_group", "rank 1 exited with status 13"),
        ("SYS_exit", "rank 1 exited with status 14"),
        ("SYS_kill", "rank 1 was ended by SIGKILL"),
        ("tgkill", "rank 1 was ended by SIGTERM"),
        ("SYS_fork", "fork is refused"),
        ("breakpoint", "rank 1 was ended by SIGTRAP"),
        ("int1", "rank 1 was ended by SIGTRAP"),
        ("free", "rank 1 was ended by SIGABRT"),
        ("smash", "rank 1 was ended by SIGABRT"),
        ("fork", "fork is refused"),
        ("handled", "rank 1 exited with status 3"),
        ("reopen", "rank 1 exited with status 2"),
        ("close", "rank 1 exited with status 8"),
    ] {
        let out = program.run(2, &[], &[how]);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(12) && text.contains(reported), "{how}: {text}");
        assert_eq!(String::from_utf8_lossy(&out.stdout), "rank 0 is done\n", "{how}");
    }
    let out = program.run(3, &[], &["good"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success() && text.contains("rank 2 was stopped: rank 1 ended the job"), "{text}");
    let out = program.run(3, &[], &["job"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(12), "{text}");
    for line in
        ["rank 0 was stopped: rank 1 ended the job", "rank 1 exited with status 9", "rank 2 was stopped"]
    {
        assert!(text.contains(line), "{text}");
    }
}

/// Linux allows a process 65,530 mappings: 16,384 ranks have three each at most.
#[test]
fn a_rank_takes_three_mappings_of_the_system() {
    let text = "
#include <pmi.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void)
{
    int spawned, rank, lines = 0, c;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Barrier();
    if (rank == 0) {
        FILE *maps = fopen(\"/proc/self/maps\", \"r\");
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int guards = madvise(page, 4096, 102) == 0;
        while ((c = getc(maps)) != EOF)
            lines += c == '\\n';
        printf(\"%d %d\\n\", guards, lines);
    }
    PMI_Finalize();
    return 0;
}";
    let Some(program) = compile_text(text) else { return };
    let count = |ranks| -> (u32, u32) {
        let line = program.good(ranks, &[], &[]);
        let (guards, lines) = line.trim().split_once(' ').expect("two numbers");
        (guards.parse().expect("0 or 1"), lines.parse().expect("a number"))
    };
    let ((guards, few), (_, many)) = (count(2), count(64));
    // Before Linux 6.13 the page below a stack is a mapping of its own.
    let of_stacks = if guards == 1 { 0 } else { 2 };
    assert!((many - few).div_ceil(62) <= 3 + of_stacks, "{} mappings for 62 ranks", many - few);
}

/// Copies are out of the loader's list while they are made: afterwards it has them all, and finds what lies in them.
#[test]
fn the_loader_knows_all_copies() {
    let text = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pmi.h>
#include <stdio.h>
static int one_more(struct dl_phdr_info *object, size_t size, void *count)
{
    (void)object, (void)size;
    ++*(int *)count;
    return 0;
}
int main(void)
{
    Dl_info found;
    int spawned, rank, count = 0;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    dl_iterate_phdr(one_more, &count);
    if (!dladdr((void *)main, &found) || found.dli_fbase == NULL)
        return 1;
    if (rank == 0)
        printf(\"%d\\n\", count);
    PMI_Finalize();
    return 0;
}";
    let Some(program) = compile_text(text) else { return };
    let objects = |ranks| program.good(ranks, &[], &[]).trim().parse::<u32>().expect("a number");
    assert_eq!(objects(5), objects(1) + 4);
}

#[test]
fn ranks_for_which_there_is_no_memory_are_refused_in_words() {
    let text = "char large[200000000];\nint main(void) { return large[0]; }";
    let Some(program) = compile_text(text) else { return };
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -v 2000000 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_netloom")]);
    limited.args(["portals", "run", "-n", "20", "--fabric"]).arg(&program.fabric).arg(&program.path);
    let out = limited.output().expect("it runs");
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(4) && error.contains("has no room for a copy"), "{error}");
}
