//! What a summary says about the program, in words: one rule, one sentence, the gravest first.
//!
//! A rule speaks only where there is something to gain: where it concerns a good part of the time
//! of all workers, or most of many tasks. Its sentence says what was measured, what that means, and
//! what to try.

use super::summary::{Summary, SummaryRow};
use super::timeline::LaneActivity;

/// A sentence, and the part of all workers' time that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    pub weight: f64,
    pub text: String,
}

/// All that there is to say.
pub fn of(summary: &Summary) -> Vec<Advice> {
    let rules: [fn(&Summary) -> Option<Advice>; 16] = [
        lost,
        left_out,
        clocks,
        small_tasks,
        barriers,
        serial,
        chain,
        no_work,
        dependences,
        locks,
        messages,
        stalls,
        no_processor,
        fewer_workers,
        short_regions,
        one_producer,
    ];
    let mut all: Vec<Advice> = rules.iter().filter_map(|rule| rule(summary)).collect();
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    if all.is_empty() {
        let work: f64 = LaneActivity::ALL.iter().filter(|k| k.is_work()).map(|&k| summary.share(k)).sum();
        let text = format!("Workers are busy {} of the time, and nothing stands out.", percent(work));
        all.push(Advice { weight: 0.0, text });
    }
    all
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A time in the unit that suits it.
pub fn time(microseconds: f64) -> String {
    match microseconds {
        t if t < 1.0 => format!("{:.0} ns", t * 1000.0),
        t if t < 1000.0 => format!("{t:.1} us"),
        t if t < 1e6 => format!("{:.1} ms", t / 1000.0),
        t => format!("{:.2} s", t / 1e6),
    }
}

fn lost(summary: &Summary) -> Option<Advice> {
    let text = format!(
        "{} events had no room: what the trace shows is the beginning of the run only. GANGWAY_TRACE_BUFFER gives each thread more.",
        summary.lost
    );
    (summary.lost > 0).then_some(Advice { weight: 2.0, text })
}

fn clocks(summary: &Summary) -> Option<Advice> {
    let text = "These traces have no time in common, as those of ranks on different machines, or of different runs: each begins at 0 here.".into();
    (summary.ranks > 1 && !summary.one_clock).then_some(Advice { weight: 1.8, text })
}

fn left_out(summary: &Summary) -> Option<Advice> {
    let text = format!(
        "{} of the {} tasks were left out of the trace, so that it does not slow the program. Numbers of tasks by function and length are estimates. In \"short tasks\", {} of the time, tasks and waits are not told apart.{} GANGWAY_TRACE_SHARE=100 writes all.",
        summary.left_out,
        summary.task_count,
        percent(summary.share(LaneActivity::Short)),
        path_bounds(summary)
    );
    (summary.left_out > 0).then_some(Advice { weight: 1.9, text })
}

/// What is known of the critical path where tasks were left out.
fn path_bounds(summary: &Summary) -> String {
    if !summary.has_only_path_bounds() {
        return String::new();
    }
    format!(" The critical path is between {} and {}.", time(summary.path), time(summary.path_at_most))
}

fn small_tasks(summary: &Summary) -> Option<Advice> {
    let share = summary.short_tasks as f64 / summary.task_count.max(1) as f64;
    let which = summary.tasks.iter().max_by_key(|row| row.count)?;
    let text = format!(
        "{} of the {} tasks are shorter than 1 us, most of them {}: use taskloop grainsize, or run small subproblems without making tasks (final, mergeable, a cut-off).",
        percent(share),
        summary.task_count,
        which.name
    );
    (summary.task_count >= 100 && share > 0.5).then_some(Advice {
        weight: share * (summary.share(LaneActivity::Task) + summary.share(LaneActivity::Short)).max(0.1),
        text,
    })
}

/// The region whose threads lose most in barriers.
fn barriers(summary: &Summary) -> Option<Advice> {
    let worst = summary.regions.iter().max_by(|a, b| a.barriers.total_cmp(&b.barriers))?;
    let share = worst.barriers / worst.threads.max(1e-9);
    let weight = worst.barriers / summary.all().max(1e-9);
    let text = format!(
        "Threads wait {} of their time in barriers of region {}: uneven work. Try schedule(dynamic) or smaller tasks, or nowait where nothing depends on the barrier.",
        percent(share),
        worst.name
    );
    (share > 0.2 && weight > 0.05).then_some(Advice { weight, text })
}

fn serial(summary: &Summary) -> Option<Advice> {
    let alone = summary.total(LaneActivity::Serial) / summary.length.max(1e-9);
    let idle = summary.share(LaneActivity::NoWork);
    let text = format!(
        "The program runs {} of the time outside of parallel regions, on one worker: by Amdahl's law no more than {:.1} times the speed of one can come of it. Make that part parallel first.",
        percent(alone),
        1.0 / alone.max(1e-9)
    );
    (summary.lanes.len() > 1 && summary.ranks <= 1 && alone > 0.3 && idle > 0.1)
        .then_some(Advice { weight: alone.min(idle), text })
}

fn chain(summary: &Summary) -> Option<Advice> {
    let lanes = summary.lanes.len() as f64;
    let idle = waiting(summary);
    let (name, length) = summary.on_path.first()?;
    let text = format!(
        "The critical path is {} of work, {} of the run: however many workers there are, no more than {:.1} are busy on average. Most of it is {} ({}): split that, or give it a priority.",
        time(summary.path),
        percent(summary.path / summary.length.max(1e-9)),
        summary.parallelism,
        name,
        time(*length)
    );
    let tight = summary.path > 0.7 * summary.length && summary.parallelism < lanes;
    (lanes > 1.0 && tight && idle > 0.15 && summary.has_path()).then_some(Advice { weight: idle * 0.9, text })
}

/// The part of time in which workers wait for something of the program.
fn waiting(summary: &Summary) -> f64 {
    let is_wait = |kind: &&LaneActivity| !kind.is_work() && **kind != LaneActivity::NoProcessor;
    LaneActivity::ALL.iter().filter(is_wait).map(|&kind| summary.share(kind)).sum()
}

fn no_work(summary: &Summary) -> Option<Advice> {
    let share = summary.share(LaneActivity::NoWork);
    let serial = summary.total(LaneActivity::Serial) / summary.length.max(1e-9);
    let text = format!(
        "Workers have nothing to do {} of the time: there are fewer threads, or fewer tasks at a time, than workers.",
        percent(share)
    );
    (share > 0.25 && serial < 0.3).then_some(Advice { weight: share, text })
}

fn dependences(summary: &Summary) -> Option<Advice> {
    let share = summary.share(LaneActivity::Dependence);
    let text = format!(
        "Workers wait {} of the time while all tasks that there are depend on others: smaller blocks or priorities for the tasks on the critical path may help.",
        percent(share)
    );
    (share > 0.1).then_some(Advice { weight: share, text })
}

fn locks(summary: &Summary) -> Option<Advice> {
    let share = summary.share(LaneActivity::Lock);
    let text = format!(
        "Threads wait {} of the time for locks, critical and ordered regions: name critical regions apart, use atomic or reduction, or shorten what is done inside.",
        percent(share)
    );
    (share > 0.05).then_some(Advice { weight: share, text })
}

fn messages(summary: &Summary) -> Option<Advice> {
    let share = summary.share(LaneActivity::Mpi);
    let text = format!(
        "Threads wait {} of the time for messages: with OMPX_TASK_AWARE_MPI=1 their workers run other tasks meanwhile, if there are any.",
        percent(share)
    );
    (share > 0.1).then_some(Advice { weight: share, text })
}

fn stalls(summary: &Summary) -> Option<Advice> {
    let share = summary.share(LaneActivity::Stall);
    let text = format!(
        "Code stands still {} of the time while others wait behind it (it spins, or blocks in the kernel): wait by OpenMP's own means, taskyield, or sched_yield in loops.",
        percent(share)
    );
    (share > 0.05).then_some(Advice { weight: share, text })
}

fn no_processor(summary: &Summary) -> Option<Advice> {
    let share = summary.share(LaneActivity::NoProcessor);
    let text = format!(
        "Workers are ready and have no processor {} of the time: other programs run on this machine, or there are more busy threads than processors. On an idle machine this run would be faster.",
        percent(share)
    );
    (share > 0.05).then_some(Advice { weight: share, text })
}

/// The number of running workers followed the processors that the program got.
fn fewer_workers(summary: &Summary) -> Option<Advice> {
    let fewer = summary.fewer_workers?;
    let running = match fewer.least_running == fewer.most_running {
        true => fewer.least_running.to_string(),
        false => format!("{} to {}", fewer.least_running, fewer.most_running),
    };
    let text = format!(
        "For {} of {} other programs took processors, and the threads{} ran on {running} of {} workers ({} move{}).",
        time(fewer.time.min(summary.length)),
        time(summary.length),
        if summary.ranks > 1 { " of one rank" } else { "" },
        fewer.total_workers,
        fewer.moves,
        if fewer.moves == 1 { "" } else { "s" }
    );
    Some(Advice { weight: (fewer.withdrawn_time / summary.all().max(1e-9)).min(1.0), text })
}

/// A region that is entered often, for short.
fn short_regions(summary: &Summary) -> Option<Advice> {
    let is_short = |row: &&SummaryRow| row.count >= 200 && row.mean() < 20.0;
    let worst = summary.regions.iter().filter(is_short).max_by(|a, b| a.total.total_cmp(&b.total))?;
    let weight = worst.total / summary.length.max(1e-9);
    let text = format!(
        "Region {} is entered {} times for {} each: one region around the loop, with worksharing inside, spares the forks.",
        worst.name,
        worst.count,
        time(worst.mean())
    );
    (weight > 0.1).then_some(Advice { weight: 0.5 * weight, text })
}

fn one_producer(summary: &Summary) -> Option<Advice> {
    let share = summary.stolen_tasks as f64 / summary.task_count.max(1) as f64;
    let mut by_victim = vec![0; summary.lanes.len()];
    summary.steals.iter().for_each(|&(_, victim, count)| by_victim[victim] += count);
    let (most, all) = (by_victim.iter().max().copied().unwrap_or(0), by_victim.iter().sum::<u64>());
    let idle = waiting(summary);
    let text = format!(
        "{} of the tasks are stolen, {} of them from one worker, which makes nearly all: have several threads make tasks (taskloop, or tasks that make tasks).",
        percent(share),
        percent(most as f64 / all.max(1) as f64)
    );
    let one = 5 * most > 4 * all && all >= 100;
    (summary.lanes.len() > 2 && share > 0.5 && one && idle > 0.15)
        .then_some(Advice { weight: 0.5 * idle, text })
}

#[cfg(test)]
mod tests {
    use super::super::workers::FewerWorkers;
    use super::*;

    /// Of two lanes that worked for 1000 us each, less what the kinds took.
    fn summary(times: &[(LaneActivity, f64)]) -> Summary {
        let mut lane = [0.0; LaneActivity::ALL.len()];
        times.iter().for_each(|&(kind, time)| lane[kind as usize] += time);
        lane[LaneActivity::Region as usize] += 1000.0 - lane.iter().sum::<f64>();
        Summary {
            length: 1000.0,
            lanes: vec![lane; 2],
            path: 300.0,
            parallelism: 6.0,
            on_path: vec![("f".into(), 200.0)],
            ..Summary::default()
        }
    }

    fn row(name: &str, count: u64, total: f64) -> SummaryRow {
        SummaryRow { name: name.into(), count, total, ..SummaryRow::default() }
    }

    /// What is said begins, or goes on, with these words; and nothing else is said.
    fn says(summary: &Summary, words: &[&str]) {
        let said = of(summary);
        assert_eq!(said.len(), 1, "{said:?}");
        words.iter().for_each(|word| assert!(said[0].text.contains(word), "{word}: {said:?}"));
    }

    #[test]
    fn nothing_is_said_of_a_good_run() {
        says(&summary(&[]), &["busy 100 %", "nothing stands out"]);
    }

    #[test]
    fn small_tasks_are_noticed() {
        let few =
            Summary { task_count: 99, short_tasks: 99, tasks: vec![row("f", 99, 40.0)], ..summary(&[]) };
        says(&few, &["nothing stands out"]);
        let many = Summary {
            task_count: 1000,
            short_tasks: 820,
            tasks: vec![row("g", 10, 900.0), row("f", 990, 40.0)],
            ..summary(&[])
        };
        says(
            &many,
            &["82 % of the 1000 tasks are shorter than 1 us", "most of them f", "taskloop grainsize"],
        );
    }

    #[test]
    fn barriers_of_a_region_are_noticed() {
        let region = |barriers| SummaryRow { threads: 2000.0, barriers, ..row("solve (a.c:7)", 10, 1000.0) };
        says(
            &Summary { regions: vec![region(800.0)], ..summary(&[(LaneActivity::Barrier, 400.0)]) },
            &["wait 40 %", "region solve (a.c:7)", "schedule(dynamic)"],
        );
        says(
            &Summary { regions: vec![region(100.0)], ..summary(&[(LaneActivity::Barrier, 50.0)]) },
            &["nothing stands out"],
        );
    }

    #[test]
    fn serial_code_is_noticed() {
        let mut one = summary(&[]);
        one.lanes[0][LaneActivity::Serial as usize] = 500.0;
        one.lanes[0][LaneActivity::Region as usize] = 500.0;
        one.lanes[1][LaneActivity::NoWork as usize] = 500.0;
        one.lanes[1][LaneActivity::Region as usize] = 500.0;
        let ranks = Summary { ranks: 2, lanes: one.lanes.clone(), ..summary(&[]) };
        let said: Vec<Advice> = of(&ranks);
        assert!(
            said.iter().all(|a| !a.text.contains("Amdahl")),
            "each rank has a part of its own outside of regions"
        );
        assert!(said[0].text.contains("no time in common"), "{}", said[0].text);
        says(&one, &["50 % of the time outside", "2.0 times"]);
    }

    #[test]
    fn a_long_critical_path_is_noticed() {
        let tight = Summary { path: 900.0, parallelism: 1.4, ..summary(&[(LaneActivity::Taskwait, 300.0)]) };
        says(&tight, &["critical path is 900.0 us", "90 %", "1.4", "f (200.0 us)"]);
    }

    #[test]
    fn kinds_of_waits_are_noticed_from_their_shares_on() {
        let cases: [(LaneActivity, f64, f64, &str); 5] = [
            (LaneActivity::NoWork, 200.0, 400.0, "nothing to do 40 %"),
            (LaneActivity::Dependence, 50.0, 200.0, "wait 20 % of the time while all tasks"),
            (LaneActivity::Lock, 40.0, 300.0, "wait 30 % of the time for locks"),
            (LaneActivity::Mpi, 50.0, 300.0, "OMPX_TASK_AWARE_MPI"),
            (LaneActivity::Stall, 40.0, 300.0, "stands still 30 %"),
        ];
        for (kind, little, much, words) in cases {
            says(&summary(&[(kind, little)]), &["nothing stands out"]);
            says(&summary(&[(kind, much)]), &[words]);
        }
    }

    #[test]
    fn short_regions_are_noticed() {
        says(&Summary { regions: vec![row("r", 100, 700.0)], ..summary(&[]) }, &["nothing stands out"]);
        says(
            &Summary { regions: vec![row("r", 200, 700.0)], ..summary(&[]) },
            &["Region r is entered 200 times for 3.5 us each"],
        );
    }

    #[test]
    fn one_producer_is_noticed() {
        let mut s = summary(&[(LaneActivity::Taskwait, 200.0)]);
        s.lanes.push(s.lanes[0]);
        let s = Summary {
            task_count: 1000,
            stolen_tasks: 700,
            tasks: vec![row("f", 1000, 900.0)],
            steals: vec![(1, 0, 350), (2, 0, 350)],
            ..s
        };
        says(&s, &["70 % of the tasks are stolen, 100 % of them from one worker"]);
        says(&Summary { steals: vec![(1, 0, 350), (0, 1, 350)], ..s }, &["nothing stands out"]);
    }

    #[test]
    fn lost_events_come_first() {
        let said = of(&Summary { lost: 5, ..summary(&[(LaneActivity::Lock, 900.0)]) });
        assert!(said.len() == 2 && said[0].text.starts_with("5 events had no room"), "{said:?}");
    }

    #[test]
    fn what_was_left_out_is_said() {
        let some = Summary {
            left_out: 900,
            task_count: 1000,
            short_tasks: 100,
            path: 990.0,
            path_at_most: 995.0,
            parallelism: 1.0,
            ..summary(&[(LaneActivity::Short, 300.0), (LaneActivity::Taskwait, 300.0)])
        };
        let words = ["900 of the 1000 tasks were left out", "30 % of the time", "GANGWAY_TRACE_SHARE"];
        says(&some, &[&words[..], &["between 990.0 us and 995.0 us"]].concat());
    }

    #[test]
    fn what_others_took_is_not_called_a_wait() {
        let busy =
            Summary { path: 990.0, parallelism: 1.0, ..summary(&[(LaneActivity::NoProcessor, 300.0)]) };
        says(&busy, &["no processor 30 % of the time", "other programs"]);
    }

    #[test]
    fn times_with_fewer_workers_are_said() {
        let fewer = FewerWorkers {
            time: 400.0,
            withdrawn_time: 400.0,
            least_running: 1,
            most_running: 1,
            total_workers: 2,
            moves: 12,
        };
        let one = Summary { fewer_workers: Some(fewer), ..summary(&[]) };
        says(
            &one,
            &[
                "For 400.0 us of 1.0 ms other programs took processors, and the threads ran on 1 of 2 workers (12 moves).",
            ],
        );
        let fewer = FewerWorkers { most_running: 3, total_workers: 4, moves: 1, ..fewer };
        let some = Summary { fewer_workers: Some(fewer), ranks: 2, one_clock: true, ..summary(&[]) };
        says(&some, &["the threads of one rank ran on 1 to 3 of 4 workers (1 move)."]);
    }

    #[test]
    fn times_have_units() {
        assert_eq!([0.5, 12.34, 2500.0, 3.2e6].map(time), ["500 ns", "12.3 us", "2.5 ms", "3.20 s"]);
    }
}
