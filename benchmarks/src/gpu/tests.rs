use super::flawed::{Counting, LoadAlone};
use super::machine::{A100, GpuMachine, RTX};
use super::programs::{self, GpuProgram, GpuTask, GpuUse};
use super::report::{automatic, run};
use super::world::{AHEAD, EAGER, GpuMapping, GpuSetting, LIBRARY_DEFAULT, simulate};
use super::{GpuTime, fixed};

/// The stencil of the page is applied 500 times; after some its blocks are where they stay.
const TIMES: usize = 60;

fn against_fixed(program: &GpuProgram, machine: GpuMachine) -> (GpuTime, GpuTime) {
    let (_, best) = fixed::best(program, machine, LIBRARY_DEFAULT);
    (automatic(program, machine, LIBRARY_DEFAULT).makespan, best.makespan)
}

#[test]
fn automatic_is_within_a_twentieth_of_the_best_fixed_mapping() {
    for machine in [RTX, A100] {
        for program in programs::all(&machine, TIMES) {
            for gpus in [1, 2, 4] {
                let (auto, best) = against_fixed(&program, machine.with(gpus));
                let name = format!("{} on {gpus} {}", program.name, machine.name);
                assert!(
                    auto * 20 <= best * 21,
                    "{name}: {:.3} of the best fixed mapping",
                    auto as f64 / best as f64
                );
            }
        }
    }
}

/// The same test would fail without data and dependences, and by counting tasks.
#[test]
fn flawed_policies_fail_on_the_serial_graph() {
    let program = programs::serial();
    let (auto, best) = against_fixed(&program, RTX);
    let load = run(&program, RTX, LIBRARY_DEFAULT, &mut LoadAlone::default()).makespan;
    assert!(auto * 100 <= best * 101, "{auto} {best}");
    assert!(load * 20 > best * 21, "load alone: {load} {best}");
    let scattered = run(&program, RTX, EAGER, &mut LoadAlone::default()).makespan;
    assert!(scattered * 20 > best * 21, "{scattered} {best}");
}

#[test]
fn counting_tasks_fails_where_they_differ() {
    for (program, machine) in [(programs::nbody(&RTX), RTX), (programs::cholesky(&A100), A100)] {
        let (_, best) = fixed::best(&program, machine, LIBRARY_DEFAULT);
        let counting = run(&program, machine, EAGER, &mut Counting).makespan;
        assert!(counting * 20 > best.makespan * 21, "{}: {counting} {}", program.name, best.makespan);
    }
}

#[test]
fn a_chain_stays_where_it_is() {
    let program = programs::serial();
    for setting in [LIBRARY_DEFAULT, AHEAD] {
        let outcome = automatic(&program, RTX, setting);
        assert_eq!((outcome.places, outcome.moved), (vec![0; 150], [0; 3]));
    }
}

/// Every datum goes to where it is read, no GPU computes two tasks at a time that fill it, and the
/// time is never less than the work.
#[test]
fn the_model_keeps_its_own_rules() {
    for program in programs::all(&A100, 4) {
        let work: f64 = program.tasks.iter().map(|task| task.time as f64 * task.share).sum();
        for gpus in [1, 2, 4] {
            let outcome = automatic(&program, A100.with(gpus), AHEAD);
            assert!(outcome.makespan as f64 * gpus as f64 >= work, "{}", program.name);
            assert!(outcome.places.iter().all(|&gpu| gpu < gpus));
        }
        let alone = automatic(&program, A100.with(1), LIBRARY_DEFAULT);
        assert_eq!(alone.moved[2], 0, "{}: nobody else is there", program.name);
        let read: u64 = (0..program.sizes.len())
            .filter(|&datum| program.lies[datum].is_none() && reads_first(&program, datum))
            .map(|datum| program.sizes[datum])
            .sum();
        assert_eq!(alone.moved[0], read, "{}: what is read first comes once", program.name);
    }
}

fn reads_first(program: &GpuProgram, datum: usize) -> bool {
    let mut uses = program.tasks.iter().flat_map(|task| &task.uses).filter(|used| used.datum == datum);
    uses.next().is_some_and(|used| used.reads)
}

/// Room for three tiles more than a task needs: nothing hangs, and what is dirty goes to the host
/// first.
#[test]
fn it_ends_with_hardly_any_memory() {
    for setting in [LIBRARY_DEFAULT, AHEAD, GpuSetting { prefetch: false, ..LIBRARY_DEFAULT }] {
        let program = programs::cholesky(&A100);
        let machine = GpuMachine { memory: 6 * 32_000_000, ..A100 };
        let outcome = automatic(&program, machine, setting);
        assert!(outcome.evicted > 100 && outcome.moved[1] > 0, "{outcome:?}");
        let rows: Vec<usize> = program.tasks.iter().map(|task| task.place.0 % 4).collect();
        let fixed = simulate(&program, machine, setting, GpuMapping::Fixed(&rows));
        assert!(fixed.evicted > 100 && fixed.places == rows);
    }
}

#[test]
fn copies_hide_behind_kernels() {
    let program = programs::gemm(&A100);
    let all = vec![0; program.tasks.len()];
    let makespan = simulate(&program, A100.with(1), LIBRARY_DEFAULT, GpuMapping::Fixed(&all)).makespan;
    let computing: GpuTime = program.tasks.iter().map(|task| task.time).sum();
    assert!(makespan < computing * 21 / 20, "{makespan} {computing}");
}

/// A chain of ten tasks, each of which reads something of its own from the host as well.
#[test]
fn copies_set_out_before_the_task_they_are_for_is_ready() {
    let (time, bytes) = programs::SYNTHETIC;
    let uses = |at: usize| {
        vec![GpuUse { datum: 0, reads: true, writes: true }, GpuUse { datum: at, reads: true, writes: false }]
    };
    let task = |at| GpuTask { function: 0, uses: uses(at), time, share: 1.0, place: (0, 0) };
    let program = GpuProgram {
        name: "chain",
        tasks: (1..=10).map(task).collect(),
        sizes: vec![bytes; 11],
        lies: vec![None; 11],
        grid: (1, 1),
    };
    let makespan = |prefetch| {
        simulate(&program, RTX, GpuSetting { prefetch, ..LIBRARY_DEFAULT }, GpuMapping::Fixed(&[0; 10]))
            .makespan
    };
    let copy = RTX.copy(None, Some(0), bytes);
    assert!(makespan(true) <= 10 * (time + 10_000) + 2 * copy, "{}", makespan(true));
    assert!(makespan(false) >= 10 * (time + copy), "{}", makespan(false));
}

#[test]
fn longer_paths_first_shortens_the_factorization() {
    let program = programs::cholesky(&A100);
    let [path, creation] = [true, false]
        .map(|by_path| automatic(&program, A100, GpuSetting { by_path, ..LIBRARY_DEFAULT }).makespan);
    assert!(path < creation, "{path} {creation}");
}

#[test]
fn an_idle_gpu_takes_tasks_that_were_placed_on_others() {
    struct First;
    impl placement::policy::PlacementPolicy for First {
        fn name(&self) -> String {
            "first".into()
        }
        fn choose(
            &mut self,
            _: placement::policy::PlacementRequest,
            _: &[placement::policy::View],
        ) -> Option<usize> {
            Some(0)
        }
    }
    let program = programs::independent();
    let setting = GpuSetting { placed: 100, ..LIBRARY_DEFAULT };
    let [alone, helped] =
        [false, true].map(|steals| run(&program, RTX, GpuSetting { steals, ..setting }, &mut First));
    assert_eq!(alone.stolen, 0);
    assert!(
        helped.stolen > 100 && helped.makespan * 2 < alone.makespan,
        "{} {} {}",
        helped.stolen,
        helped.makespan,
        alone.makespan
    );
}
