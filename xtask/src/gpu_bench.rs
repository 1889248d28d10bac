//! `cargo xtask gpu-bench`: real programs on GPUs (benchmarks/gpu): launches, a pipelined product,
//! graphs of tasks, factorizations.
//!
//! Lives here: how they are built for a GPU or for the driver for tests, and what becomes of what
//! they print. Which programs run with what stands in `benchmarks/gpu/run.sh`, which needs no
//! xtask: a machine with a GPU may have neither compiler nor cargo. With `--check` only answers are
//! judged: times on the driver for tests say nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::abi_tests::compilers::{self, CompilerDriver};
use crate::abi_tests::meta::TestLanguage;
use crate::abi_tests::{cubin, images};
use crate::exec;
use crate::parallel;
use crate::programs::Workspace;
use crate::report::Report;

/// The programs, as `run.sh` names them.
const RUNS: [&str; 5] = ["launch", "gemm", "overlap", "graphs", "factor"];
/// What is for the driver for tests alone.
const CHECKED: [&str; 1] = ["coherence"];
/// What is built from what.
const PROGRAMS: [(&str, &[&str]); 4] =
    [("launch", &["launch.c"]), ("gemm", &["gemm.c"]), ("graphs", &GRAPHS), ("factor", &FACTOR)];
const GRAPHS: [&str; 7] =
    ["graphs.c", "synthetic.c", "product.c", "cholesky.c", "jacobi.c", "nbody.c", "blr.c"];
const FACTOR: [&str; 6] =
    ["factor.c", "factor_graph.c", "factor_lu.c", "factor_qr.c", "factor_chol.c", "factor_check.c"];
/// Seconds for all that one word of `run.sh` runs; with `--check`, and without, where `factor` has
/// two runtimes and several settings, each with a limit of its own.
const LIMITS: (u32, u32) = (300, 7200);

/// What the programs' images are for.
enum Images {
    /// This machine, marked as a GPU's: for the driver for tests.
    Marked,
    /// Real ones for a GPU beside those for this machine: for that driver, too.
    Beside,
    /// A GPU of this kind (`sm_90`).
    Gpu(String),
}

struct Build<'a> {
    places: &'a Workspace,
    compiler: &'a CompilerDriver,
    images: Images,
    into: PathBuf,
}

/// The answers, on the driver for tests: with real images for GPUs beside those for this machine,
/// and with `all` also without them. Where no real images can be made, without them.
pub fn check(places: &Workspace, library: &Path, all: bool, report: &mut Report) {
    report.step("benchmarks of GPUs: answers, on the driver for tests");
    let compiler = match compiler(places) {
        Ok(compiler) => compiler,
        Err(why) => return report.skip("gpu-bench", &why),
    };
    let real_images = cubin::options(&places.target, &compiler);
    if let Err(why) = &real_images {
        report.skip("gpu-bench, real images", why);
    }
    let builds = [
        (all || real_images.is_err(), "marked images", Images::Marked),
        (real_images.is_ok(), "real images", Images::Beside),
    ];
    for (_, name, images) in builds.into_iter().filter(|(is_made, ..)| *is_made) {
        let into = places.target.join("gpu-bench").join(name.replace(' ', "-"));
        let build = Build { places, compiler: &compiler, images, into };
        if let Err(why) = build.all(library) {
            report.fail(&format!("gpu-bench, {name}: build"), &why);
            continue;
        }
        for run in RUNS.into_iter().chain(CHECKED) {
            let ran = build.run(&["--check"], run);
            let problem = ran.problem.map(|how| format!("{how}: {}", exec::last_line(&ran.stderr)));
            report.check(&format!("gpu-bench, {name}: {run}"), problem.into_iter().collect());
        }
    }
}

/// The figures, on this machine's GPUs: a page, written to `out`. With `gpu` it only builds, for
/// GPUs of that kind, which need not be here.
pub fn measure(places: &Workspace, library: &Path, gpu: Option<String>, out: &Path, report: &mut Report) {
    report.step("benchmarks of GPUs");
    let (here, only_builds) = (gpus(), gpu.is_some());
    let Some(kind) = gpu.or_else(|| here.first().map(|gpu| gpu.kind.clone())) else {
        return report.skip("gpu-bench", "nvidia-smi shows no GPU here; --check checks answers on the driver for tests, --gpu sm_90 builds for another machine");
    };
    let compiler = match compiler(places) {
        Ok(compiler) => compiler,
        Err(why) => return report.skip("gpu-bench", &why),
    };
    let build = Build {
        places,
        compiler: &compiler,
        images: Images::Gpu(kind.clone()),
        into: places.target.join("gpu-bench").join(&kind),
    };
    if let Err(why) = build.all(library) {
        return report.fail("gpu-bench: build", &why);
    }
    if only_builds {
        println!("sh {} {}   runs them", build.sources().join("run.sh").display(), build.into.display());
        return report.pass("gpu-bench: build");
    }
    let mut page = format!("# Benchmarks on GPUs\n\n{}\n", heading(&here));
    for run in RUNS {
        let ran = build.run(&[], run);
        print!("{}", ran.stdout);
        page.push_str(&ran.stdout);
        let problem = ran.problem.map(|how| format!("{how}: {}", exec::last_line(&ran.stderr)));
        report.check(&format!("gpu-bench: {run}"), problem.into_iter().collect());
    }
    let written = fs::write(out, page).map_err(|e| format!("{}: {e}", out.display()));
    report.check("gpu-bench: page", written.err().into_iter().collect());
}

/// A GPU of this machine, as nvidia-smi shows it.
struct BenchGpu {
    line: String,
    kind: String,
}

/// The kind of this machine's first GPU (`sm_90`).
pub fn kind_here() -> Option<String> {
    gpus().into_iter().next().map(|gpu| gpu.kind)
}

fn gpus() -> Vec<BenchGpu> {
    let words = ["--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"];
    let shown = Command::new("nvidia-smi").args(words).stdin(Stdio::null()).output();
    let text = shown
        .ok()
        .filter(|o| o.status.success())
        .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
        .unwrap_or_default();
    text.lines().filter_map(gpu).collect()
}

/// `NVIDIA H100, 580.1, 9.0` is a GPU of kind `sm_90`.
fn gpu(line: &str) -> Option<BenchGpu> {
    let (_, capability) = line.rsplit_once(", ")?;
    let (major, minor) = capability.trim().split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(major) && is_number(minor))
        .then(|| BenchGpu { line: line.trim().to_owned(), kind: format!("sm_{major}{minor}") })
}

fn heading(gpus: &[BenchGpu]) -> String {
    let days =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86400);
    let lines: Vec<&str> = gpus.iter().map(|gpu| gpu.line.as_str()).collect();
    let date = Command::new("date")
        .arg("+%F")
        .output()
        .map_or_else(|_| format!("day {days}"), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    format!("`cargo xtask gpu-bench`, {date}. GPUs (name, driver, compute capability): {}.", lines.join("; "))
}

/// The newest clang whose images the runtime may know.
fn compiler(places: &Workspace) -> Result<CompilerDriver, String> {
    let headers = places.target.join("gpu-bench/headers");
    fs::create_dir_all(&headers).map_err(|e| format!("{}: {e}", headers.display()))?;
    let usable = compilers::probe(&headers).usable;
    // The layouts of release 19 are known; others are tried where there is none.
    let fits = usable.into_iter().filter(|c| c.language == TestLanguage::C && c.offloads);
    fits.min_by_key(|c| c.version)
        .ok_or_else(|| "there is no clang of release 19 or later that makes images of target regions".into())
}

impl Build<'_> {
    fn sources(&self) -> PathBuf {
        self.places.root.join("benchmarks/gpu")
    }

    fn is_for_tests(&self) -> bool {
        !matches!(self.images, Images::Gpu(_))
    }

    fn all(&self, library: &Path) -> Result<(), String> {
        let lib = self.into.join("lib");
        let _ = fs::remove_dir_all(&self.into);
        fs::create_dir_all(&lib).map_err(|e| format!("{}: {e}", lib.display()))?;
        self.links(library, &lib)?;
        let mut programs = PROGRAMS.map(|(name, sources)| (name, sources, &[] as &[&str])).to_vec();
        if self.is_for_tests() {
            programs.push(("plain", &GRAPHS, &["-DPLAIN"]));
            self.compile("factor-llvm", &FACTOR, &[], &[compilers::OFFLOAD.into()])?;
        }
        let built = parallel::map(&programs, parallel::jobs(), |(name, sources, more)| {
            self.program(name, sources, more)
        });
        built.into_iter().collect::<Result<(), String>>()?;
        self.llvm()?;
        self.shared("policy.so", &["policy.c"], &[])?;
        self.driver()?;
        if self.is_for_tests() {
            return self.shared("kernels.so", &["kernels.c"], &[]);
        }
        let target =
            ["--target=nvptx64-nvidia-cuda", "-march=sm_70", "-O2", "-nogpulib", "-S", "-o"].map(OsStr::new);
        run(Command::new(&self.compiler.name)
            .args(target)
            .arg(self.into.join("kernels.ptx"))
            .arg(self.sources().join("kernels.c")))
    }

    /// The library under all names of runtimes; for another machine a copy of it.
    fn links(&self, library: &Path, lib: &Path) -> Result<(), String> {
        let copy = lib.join(links::names::LIBRARY);
        fs::copy(library, &copy).map_err(|e| format!("{}: {e}", library.display()))?;
        for name in links::names::RUNTIMES
            .iter()
            .chain(links::names::OFFLOAD.iter())
            .filter(|name| **name != links::names::LIBRARY)
        {
            std::os::unix::fs::symlink(links::names::LIBRARY, lib.join(name))
                .map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(())
    }

    /// What runs `factor` under two runtimes, and where LLVM's is here: it is large, and stays
    /// there.
    fn llvm(&self) -> Result<(), String> {
        let lib = format!("/usr/lib/llvm-{}/lib", self.compiler.version);
        std::os::unix::fs::symlink(&lib, self.into.join("llvm")).map_err(|e| format!("{lib}: {e}"))?;
        fs::copy(self.sources().join("factor.sh"), self.into.join("factor.sh"))
            .map(drop)
            .map_err(|e| format!("factor.sh: {e}"))
    }

    fn compile(
        &self,
        name: &str,
        sources: &[&str],
        more: &[&str],
        offload: &[String],
    ) -> Result<PathBuf, String> {
        let output = self.into.join(name);
        let mut command = Command::new(&self.compiler.name);
        command
            .args(&self.compiler.flags)
            .args(["-O2", "-fno-math-errno", "-D_GNU_SOURCE"])
            .args(more)
            .args(offload);
        command
            .arg("-I")
            .arg(self.places.root.join("include"))
            .args(sources.iter().map(|s| self.sources().join(s)));
        run(command.arg("-o").arg(&output).args(["-lm", "-ldl"]))?;
        Ok(output)
    }

    fn program(&self, name: &str, sources: &[&str], more: &[&str]) -> Result<(), String> {
        let output = self.compile(name, sources, more, &self.offload()?)?;
        if matches!(self.images, Images::Marked) {
            let mut bytes = fs::read(&output).map_err(|e| e.to_string())?;
            if images::mark(&mut bytes, "") == 0 {
                return Err(format!("{} has no image", output.display()));
            }
            fs::write(&output, bytes).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn offload(&self) -> Result<Vec<String>, String> {
        match &self.images {
            Images::Marked => Ok(vec![compilers::OFFLOAD.into()]),
            Images::Beside => cubin::options(&self.places.target, self.compiler),
            Images::Gpu(kind) => cubin::options_for(&self.places.target, self.compiler, kind, false),
        }
    }

    fn shared(&self, name: &str, sources: &[&str], more: &[&OsStr]) -> Result<(), String> {
        let mut command = Command::new("cc");
        command
            .args(["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-I"])
            .arg(self.places.root.join("include"));
        command.args(sources.iter().map(|s| self.sources().join(s))).args(more);
        run(command.arg("-o").arg(self.into.join(name)).args(["-lpthread", "-ldl"]))
    }

    /// The recorder, which asks for `libcuda.so.1` by that name: of an empty library here, so that
    /// it can be linked where there is no driver. And the driver for tests.
    fn driver(&self) -> Result<(), String> {
        let stub = self.into.join("stub");
        fs::create_dir_all(&stub).map_err(|e| e.to_string())?;
        let empty = stub.join("libcuda.so.1");
        run(Command::new("cc")
            .args(["-shared", "-Wl,-soname,libcuda.so.1", "-x", "c", "/dev/null", "-o"])
            .arg(&empty))?;
        self.shared("recorder.so", &["recorder.c"], &[OsStr::new("-Wl,--no-as-needed"), empty.as_os_str()])?;
        fs::remove_dir_all(&stub).map_err(|e| e.to_string())?;
        if !self.is_for_tests() {
            return Ok(());
        }
        fs::create_dir_all(self.into.join("fake")).map_err(|e| e.to_string())?;
        self.shared("fake/libcuda.so.1", &["../../abi-tests/fake-cuda/driver.c"], &[])
    }

    fn run(&self, words: &[&str], name: &str) -> exec::Ran {
        let mut argv = vec!["sh".to_owned(), self.sources().join("run.sh").display().to_string()];
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        argv.extend([self.into.display().to_string(), name.to_owned()]);
        exec::run(&argv, &[], &self.places.root, if self.is_for_tests() { LIMITS.0 } else { LIMITS.1 })
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let done = command.stdin(Stdio::null()).output().map_err(|e| format!("{command:?}: {e}"))?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}\n{}", String::from_utf8_lossy(&done.stderr)))
    }
}

#[cfg(test)]
mod tests {
    use super::gpu;

    #[test]
    fn the_kind_of_a_gpu_is_its_capability() {
        assert_eq!(
            gpu("NVIDIA H100 80GB HBM3, 580.95.05, 9.0\n").map(|gpu| gpu.kind).as_deref(),
            Some("sm_90")
        );
        assert!(gpu("No devices were found").is_none());
        assert!(gpu("a, b, [N/A]").is_none());
    }
}
