//! Regions on pools that end with the test, so that Miri sees every thread joined.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::region::run_in;
use crate::{num_threads, with_num_threads};

const ROUNDS: usize = if cfg!(miri) { 4 } else { 2000 };

/// Runs a region of `tasks` on `threads` threads and asserts that each index ran once.
fn run_counted(pool: &Pool, threads: usize, tasks: usize) {
    let counts: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
    with_num_threads(threads, || {
        run_in(|| pool, tasks, &|index| {
            counts[index].fetch_add(1, Relaxed);
        });
    });
    assert!(
        counts.iter().all(|count| count.load(Relaxed) == 1),
        "{threads} threads, {tasks}"
    );
}

#[test]
fn each_task_runs_once_for_any_number_of_threads_and_tasks() {
    let pool = Pool::new();
    for threads in [1, 2, 3, 5, 8] {
        for tasks in [0, 1, 2, 3, 7, 100] {
            run_counted(&pool, threads, tasks);
        }
    }
}

#[test]
fn many_small_regions_in_a_row_lose_no_wake_up() {
    let pool = Pool::new();
    for round in 0..ROUNDS {
        run_counted(&pool, 2 + round % 3, 4);
        if round % 64 == 0 {
            // Long enough for the workers to park.
            thread::sleep(SPIN * 10);
        }
    }
}

#[test]
fn workers_take_part() {
    let pool = Pool::new();
    let met = std::sync::Barrier::new(3);
    // Each task waits for the two others, so three threads must be inside at once.
    with_num_threads(3, || {
        run_in(|| &pool, 3, &|_| {
            met.wait();
        });
    });
    assert_eq!(lock(&pool.handles).len(), 2);
}

#[test]
fn a_region_inside_a_task_runs_inline() {
    let pool = Pool::new();
    let sum = AtomicUsize::new(0);
    with_num_threads(4, || {
        run_in(|| &pool, 8, &|outer| {
            let thread = thread::current().id();
            assert_eq!(num_threads(), 1);
            assert_eq!(with_num_threads(9, num_threads), 1);
            run_in(|| &pool, 8, &|inner| {
                assert_eq!(thread::current().id(), thread);
                sum.fetch_add(outer * 8 + inner, Relaxed);
            });
        });
        assert_eq!(num_threads(), 4);
    });
    assert_eq!(sum.into_inner(), (0..64).sum());
}

#[test]
fn a_single_task_leaves_the_threads_to_regions_inside_it() {
    with_num_threads(4, || {
        run_in(|| unreachable!("one task needs no pool"), 1, &|_| {
            assert_eq!(num_threads(), 4)
        });
    });
}

#[test]
fn a_panic_reaches_the_caller_after_all_tasks_stopped() {
    let pool = Pool::new();
    for panicking in [0, 3, 15] {
        let inside = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            with_num_threads(4, || {
                run_in(|| &pool, 16, &|index| {
                    inside.fetch_add(1, Relaxed);
                    thread::yield_now();
                    if index == panicking {
                        inside.fetch_sub(1, Relaxed);
                        std::panic::panic_any(index);
                    }
                    inside.fetch_sub(1, Relaxed);
                });
            });
        }));
        assert_eq!(inside.load(Relaxed), 0);
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&panicking));
        assert_ne!(num_threads(), 4, "the count is put back");
        run_counted(&pool, 4, 16);
    }
}

#[test]
fn concurrent_callers_all_finish() {
    let pool = Pool::new();
    let callers = if cfg!(miri) { 3 } else { 64 };
    let rounds = if cfg!(miri) { 2 } else { 50 };
    thread::scope(|scope| {
        for caller in 0..callers {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..rounds {
                    run_counted(pool, 1 + (caller + round) % 4, 1 + round % 9);
                }
            });
        }
    });
}

#[test]
fn more_regions_than_slots_run_on_their_callers() {
    let pool = Pool::new();
    let taken = pool.shared.slots.iter().filter(|slot| slot.take()).count();
    assert_eq!(taken, SLOTS);
    run_counted(&pool, 3, 10);
}

#[test]
fn a_count_of_zero_is_one_thread() {
    assert_eq!(with_num_threads(0, num_threads), 1);
}
