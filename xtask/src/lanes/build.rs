//! Builds programs of benchmarks/ with gcc and clang.
//!
//! The programs' own Makefiles know the flags; this module finds the compilers and says in one line
//! what is not there.

use crate::exec;
use crate::programs::Workspace;
use std::path::PathBuf;

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct LaneRecipe<'a> {
    /// The folder of the Makefile in benchmarks/.
    pub sources: &'a str,
    /// Below the compiler's own folder, where to build; may be empty.
    pub inside: &'a str,
    /// Files to make there; none for all.
    pub goals: &'a [&'a str],
    /// Further variables of make.
    pub variables: &'a [(&'a str, &'a str)],
}

/// Programs as one compiler built them.
#[derive(Clone, Debug)]
pub struct LaneProgram {
    /// The compiler's name on the search path.
    pub compiler: String,
    /// The runtime it links.
    pub runtime: &'static str,
    /// Where the programs are.
    pub directory: PathBuf,
}

/// What could be built, and a line for each compiler with which nothing could be.
#[derive(Default)]
pub struct LaneBuilds {
    /// One for each compiler.
    pub ready: Vec<LaneProgram>,
    /// Compilers that are not there.
    pub absent: Vec<String>,
    /// Compilers that are there and do not build the programs.
    pub broken: Vec<String>,
}

/// The language the compiler is named after. Both compilers of a family are given to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneLanguage {
    /// C.
    C,
    /// C++.
    Cxx,
}

/// Builds all of `recipes` with each compiler that is there, in target/`out`/gcc`suffix` and
/// target/`out`/clang`suffix`.
pub fn all(
    places: &Workspace,
    language: LaneLanguage,
    out: &str,
    suffix: &str,
    recipes: &[LaneRecipe],
) -> LaneBuilds {
    let mut builds = LaneBuilds::default();
    if !exec::on_path("make") {
        builds.absent.push("make is not there; `cargo xtask setup` installs it".into());
        return builds;
    }
    let newest = (14..30).rev().map(|v| format!("-{v}"));
    let versions: Vec<String> = newest.chain([String::new()]).collect();
    let families = [
        ("gcc", "libgomp", ("gcc", "g++"), vec![String::new()]),
        // The newest first: only its `omp.h` is installed.
        ("clang", "libomp", ("clang", "clang++"), versions),
    ];
    for (name, runtime, (c, cxx), versions) in families {
        let named = |version: &String| [format!("{c}{version}"), format!("{cxx}{version}")];
        let there = versions.iter().map(named).find(|both| both.iter().all(|n| exec::on_path(n)));
        let Some(both) = there else {
            builds.absent.push(format!("{c} and {cxx} are not there; `cargo xtask setup` installs them"));
            continue;
        };
        let directory = places.target.join(out).join(format!("{name}{suffix}"));
        let compiler = both[usize::from(language == LaneLanguage::Cxx)].clone();
        let built = LaneProgram { compiler, runtime, directory };
        match recipes.iter().try_for_each(|recipe| make(places, &both, &built, recipe)) {
            Ok(()) => builds.ready.push(built),
            Err(why) => builds.broken.push(why),
        }
    }
    builds
}

/// Makes one recipe in the directory of `built`.
///
/// # Errors
/// What make said last.
pub fn make(
    places: &Workspace,
    [c, cxx]: &[String; 2],
    built: &LaneProgram,
    recipe: &LaneRecipe,
) -> Result<(), String> {
    let out = built.directory.join(recipe.inside);
    let mut argv = ["make", "--silent", "-j2"].map(str::to_string).to_vec();
    argv.extend([format!("CC={c}"), format!("CXX={cxx}"), format!("OUT={}", out.display())]);
    argv.extend(recipe.variables.iter().map(|(name, value)| format!("{name}={value}")));
    argv.extend(recipe.goals.iter().map(|goal| out.join(goal).display().to_string()));
    let sources = places.root.join("benchmarks").join(recipe.sources);
    let ran = exec::run(&argv, &[], &sources, 300);
    match ran.problem {
        None => Ok(()),
        Some(_) => {
            let said = exec::last_line(&ran.stderr);
            Err(format!("{} does not build the programs: {said}", built.compiler))
        }
    }
}
