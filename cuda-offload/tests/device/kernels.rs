//! Images and kernels.

use device_trait::{Convention, Device, DeviceCode, DeviceImage, DeviceOperation, Launch, Release};

use crate::common::{all, complete, get, image, kernels, kernels_with, launch, load, one, put};

#[test]
fn images_for_other_machines_are_declined_and_broken_ones_fail() {
    let gpu = one("");
    let mut host = kernels().to_vec();
    host[18] = 62;
    assert_eq!(gpu.load(&image(&host, 1)), Ok(None));
    assert_eq!(gpu.load(&image(b"nothing", 2)), Ok(None));
    let mut broken = kernels().to_vec();
    broken[32..64].fill(0);
    assert!(gpu.load(&image(&broken, 3)).is_err_and(|why| why.to_string() == "CUDA_ERROR_INVALID_IMAGE"));
}

#[test]
fn images_of_other_releases_are_refused_with_what_is_known_of_them() {
    let gpu = one("");
    let words = |image: &DeviceImage<'_>| gpu.load(image).expect_err("refused").to_string();
    assert_eq!(
        words(&DeviceImage { release: Release::Later, ..image(kernels(), 1) }),
        "its device code is of LLVM 21 or later, which is not known (LLVM 19's is)"
    );
    let other = kernels_with("kernels-other.so", &["-DOTHER_RELEASE"]);
    assert_eq!(
        words(&image(&other, 2)),
        "its device code is of an LLVM release that is not known (56 bytes of environment, where LLVM 19 has 48)"
    );
    load(&gpu);
}

#[test]
fn kernels_and_variables_are_found() {
    let gpu = one("devices=2");
    let module = load(&gpu);
    assert!(gpu.find(module, c"add").is_some() && gpu.find(module, c"nobody").is_none());
    let counter = gpu.find(module, c"counter").expect("a variable");
    assert_eq!(get(&gpu, counter), [7]);
}

#[test]
fn an_image_that_is_unloaded_is_gone_behind_its_kernels_and_comes_anew() {
    for seed in 1..5 {
        let gpu = one(&format!("delay=400,seed={seed}"));
        let (gone, block) = (load(&gpu), put(&gpu, &[1; 4]));
        let counter = gpu.find(gone, c"counter").expect("a variable");
        let (value, arguments) = (9_u32, [block, block, 4, 1]);
        let add = launch(&gpu, gone, c"add", Convention::Separate, &arguments);
        // SAFETY: as large, and the kernel's arguments; all is over when the image is.
        let begun = unsafe { [gpu.copy_in(counter, (&raw const value).cast(), 4), gpu.run(&add)] };
        // A kernel that runs then would be the driver's failure.
        assert_eq!((gpu.unload(gone), gpu.unload(gone), gpu.synchronise()), (Ok(()), Ok(()), Ok(())));
        begun.into_iter().for_each(|operation| complete(&gpu, operation).expect("fine"));
        assert_eq!((get(&gpu, block), gpu.find(gone, c"counter")), ([2; 4], None));
        // SAFETY: it does not begin.
        assert!(unsafe { gpu.run(&add) }.is_err(), "its kernels were known");
        let anew = load(&gpu);
        assert_eq!(get(&gpu, gpu.find(anew, c"counter").expect("a variable")), [7]);
    }
}

#[test]
fn a_kernel_runs_behind_the_copies_of_what_it_touches_and_before_later_ones() {
    for seed in 1..20 {
        let gpu = one(&format!("delay=300,seed={seed}"));
        let module = load(&gpu);
        let (from, to) = (put(&gpu, &[0; 4]), put(&gpu, &[0; 4]));
        let (values, mut seen) = ([10_u32, 20, 30, 40], [0_u32; 4]);
        // SAFETY: as large; all is waited for.
        let begun = unsafe {
            let copied = gpu.copy_in(from, values.as_ptr().cast(), 16).expect("begun");
            let arguments = [from, to, 4, 5];
            let run =
                gpu.run(&launch(&gpu, module, c"add", Convention::Separate, &arguments)).expect("begun");
            [copied, run, gpu.copy_out(seen.as_mut_ptr().cast(), to, 16).expect("begun")]
        };
        begun.into_iter().for_each(|operation| complete(&gpu, Ok(operation)).expect("fine"));
        assert_eq!(seen, [15, 25, 35, 45], "seed {seed}");
    }
}

#[test]
fn the_code_knows_its_device_and_gets_the_teams_that_were_asked_for() {
    for (number, gpu) in (0..).zip(all("devices=2")) {
        let (module, out) = (load(&gpu), put(&gpu, &[9; 5]));
        let arguments = [out];
        let asked = Launch {
            teams: [5, 0, 0],
            thread_limit: [64, 0, 0],
            shared_bytes: 100,
            ..launch(&gpu, module, c"where", Convention::Separate, &arguments)
        };
        // SAFETY: the kernel's arguments.
        complete(&gpu, unsafe { gpu.run(&asked) }).expect("it runs");
        assert_eq!(get(&gpu, out), [number, 2, 5, 64, 100]);
        let free =
            Launch { iterations: 1000, ..launch(&gpu, module, c"where", Convention::Separate, &arguments) };
        // SAFETY: as above.
        complete(&gpu, unsafe { gpu.run(&free) }).expect("it runs");
        assert_eq!(get(&gpu, out), [number, 2, 8, 128, 0], "1000 iterations, 128 to a team");
    }
}

#[test]
fn kernels_get_the_environment_that_clang_s_code_wants() {
    let gpu = one("delay=50");
    let module = load(&gpu);
    for (name, has_buffer) in [(c"plain", 0), (c"reduce", 1), (c"reduce", 1)] {
        let out = put(&gpu, &[9; 2]);
        // SAFETY: the kernel's arguments.
        complete(&gpu, unsafe {
            gpu.run(&launch(&gpu, module, name, Convention::SeparateAfterEnvironment, &[out]))
        })
        .expect("it runs");
        assert_eq!(get(&gpu, out), [0, has_buffer]);
    }
    let newer = launch(&gpu, module, c"newer", Convention::SeparateAfterEnvironment, &[]);
    // SAFETY: it is refused.
    let refused = unsafe { gpu.run(&newer) }.expect_err("of another release");
    assert!(refused.to_string().contains("56 bytes") && refused.to_string().contains("LLVM 19"), "{refused}");
}

#[test]
fn the_first_kernel_behind_another_goes_to_its_stream_and_others_to_idle_ones() {
    let gpu = one("");
    let module = load(&gpu);
    let blocks: Vec<usize> = (0..5).map(|_| put(&gpu, &[0; 1])).collect();
    let mut begun: Vec<DeviceOperation> = Vec::new();
    // Which kernel comes behind which; the test does not ask whether they are over.
    for (block, before) in blocks.iter().zip([None, Some(0), Some(0), Some(1), None]) {
        let after: Vec<DeviceOperation> = before.into_iter().map(|before: usize| begun[before]).collect();
        let arguments = [*block];
        // SAFETY: the kernel's arguments; all is waited for.
        let run = unsafe {
            gpu.run(&Launch {
                after: &after,
                ..launch(&gpu, module, c"thread", Convention::Separate, &arguments)
            })
        };
        begun.push(run.expect("begun"));
    }
    begun.into_iter().for_each(|operation| complete(&gpu, Ok(operation)).expect("over"));
    let threads: Vec<u32> = blocks.iter().map(|block| get::<1>(&gpu, *block)[0]).collect();
    let (first, second) = (threads[0], threads[2]);
    assert!(first != second && threads[..4] == [first, first, second, first], "{threads:?}");
    assert!(threads[4] != first && threads[4] != second, "{threads:?}");
}

#[test]
fn functions_of_the_host_are_refused() {
    let gpu = one("");
    let module = load(&gpu);
    let of_gcc = Launch {
        code: DeviceCode::HostFunction(64),
        ..launch(&gpu, module, c"add", Convention::Separate, &[])
    };
    // SAFETY: it is refused.
    assert!(unsafe { gpu.run(&of_gcc) }.is_err());
    let array = launch(&gpu, module, c"add", Convention::Array, &[]);
    // SAFETY: as above.
    assert!(unsafe { gpu.run(&array) }.is_err());
}

#[test]
fn a_kernel_that_fails_says_so_and_only_its_device_is_lost() {
    let gpus = all("devices=2,launch=1,delay=50");
    let (module, other) = (load(&gpus[0]), load(&gpus[1]));
    let (block, fine) = (put(&gpus[0], &[1; 4]), put(&gpus[1], &[1; 4]));
    // SAFETY: the kernel's arguments.
    let lost = complete(&gpus[0], unsafe {
        gpus[0].run(&launch(&gpus[0], module, c"add", Convention::Separate, &[block, block, 4, 1]))
    });
    assert_eq!(lost.expect_err("it fails").to_string(), "CUDA_ERROR_LAUNCH_FAILED");
    assert!(
        // SAFETY: as large.
        complete(&gpus[0], unsafe { gpus[0].copy_in(block, [0_u8; 4].as_ptr(), 4) }).is_err(),
        "the device is lost"
    );
    assert!(gpus[0].synchronise().is_err());
    // SAFETY: as above.
    complete(&gpus[1], unsafe {
        gpus[1].run(&launch(&gpus[1], other, c"add", Convention::Separate, &[fine, fine, 4, 1]))
    })
    .expect("it goes on");
    assert_eq!(get(&gpus[1], fine), [2; 4]);
}

#[test]
fn a_thousand_kernels_one_after_the_other_leave_nothing_behind() {
    let gpu = one("memory=4");
    let (module, block) = (load(&gpu), put(&gpu, &[0; 16]));
    let arguments = [block];
    for _ in 0..1000 {
        let run = launch(&gpu, module, c"reduce", Convention::SeparateAfterEnvironment, &arguments);
        // SAFETY: the kernel's arguments.
        complete(&gpu, unsafe { gpu.run(&run) }).expect("it runs");
    }
    gpu.synchronise().expect("fine");
}
