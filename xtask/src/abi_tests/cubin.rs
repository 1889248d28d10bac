//! Real images for GPUs: the options that make clang put one beside that for this machine, and the
//! tools it needs for it.
//!
//! `ptxas` and what belongs to it come from PyPI (conformance/cuda.txt), the device code of LLVM's
//! runtime from Debian's package of libomp. May not live here: running such programs.

use std::path::{Path, PathBuf};

use super::compilers::CompilerDriver;

/// The GPU that they are made for.
const GPU: &str = "sm_90";

/// Where the tools are below `target/`.
pub fn tools(target: &Path) -> PathBuf {
    target.join("cuda")
}

/// The options, for compiling and linking, that put one for [`GPU`] beside that for this machine.
///
/// # Errors
/// What is missing.
pub fn options(target: &Path, compiler: &CompilerDriver) -> Result<Vec<String>, String> {
    options_for(target, compiler, GPU, true)
}

/// The same for GPUs of this kind (`sm_90`), alone or beside that for this machine.
///
/// # Errors
/// What is missing.
pub fn options_for(
    target: &Path,
    compiler: &CompilerDriver,
    gpu: &str,
    with_host: bool,
) -> Result<Vec<String>, String> {
    let installed = tools(target).join("nvidia/cu13");
    if !installed.join("bin/ptxas").exists() {
        return Err("ptxas is not there (cargo xtask setup installs it)".into());
    }
    let code = PathBuf::from(format!("/usr/lib/llvm-{}/lib/libomptarget-nvptx-{gpu}.bc", compiler.version));
    if !code.exists() {
        return Err(format!("{} is not there (libomp-{}-dev has it)", code.display(), compiler.version));
    }
    let nvptx = "nvptx64-nvidia-cuda";
    let host = if with_host { "x86_64-pc-linux-gnu," } else { "" };
    Ok(vec![
        format!("-fopenmp-targets={host}{nvptx}"),
        format!("-Xopenmp-target={nvptx}"),
        format!("-march={gpu}"),
        format!("--cuda-path={}", installed.display()),
        format!("--libomptarget-nvptx-bc-path={}", code.display()),
    ])
}
