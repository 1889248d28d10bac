//! The programs of conformance/life: built once with each compiler, and the words that start them.
//!
//! A host without OpenMP is built without `-fopenmp`, so that only its plugin holds the runtime.

use super::LifeCase;
use crate::exec;
use crate::lab::build::LabCompiler;
use crate::programs::Workspace;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The interpreter that Debian's numpy belongs to.
const PYTHON: &str = "/usr/bin/python3";

/// Where the programs are, and why some are not.
pub struct Programs {
    source: PathBuf,
    target: PathBuf,
    broken: Vec<(String, String)>,
}

impl Programs {
    /// Builds what the cases need.
    pub fn build(places: &Workspace, cases: &[&LifeCase]) -> Programs {
        let mut programs = Programs {
            source: places.root.join("conformance/life"),
            target: places.target.join("life"),
            broken: vec![],
        };
        let mut sources: BTreeSet<&str> =
            cases.iter().map(|c| c.source.as_str()).filter(|s| is_compiled(s)).collect();
        sources.insert("plugin.c");
        for compiler in [LabCompiler::Gcc, LabCompiler::Clang] {
            for source in &sources {
                if let Err(why) = programs.one(source, compiler) {
                    programs.broken.push((programs.key(source, compiler), why));
                }
            }
        }
        programs
    }

    fn key(&self, source: &str, compiler: LabCompiler) -> String {
        format!("{source}.{}", compiler.word())
    }

    fn file(&self, source: &str, compiler: LabCompiler) -> PathBuf {
        self.target.join(self.key(source, compiler))
    }

    /// The plugin as this compiler built it.
    pub fn plugin(&self, compiler: LabCompiler) -> PathBuf {
        self.file("plugin.c", compiler)
    }

    fn one(&self, source: &str, compiler: LabCompiler) -> Result<(), String> {
        let command = compiler.command(source.ends_with(".cpp"));
        if !exec::on_path(command) {
            return Err(format!("skipped: {command} is not installed"));
        }
        fs::create_dir_all(&self.target).map_err(|e| e.to_string())?;
        let (from, to) = (self.source.join(source), self.file(source, compiler));
        let kind = match source {
            "plugin.c" => vec!["-fopenmp".into(), "-shared".into(), "-fPIC".into()],
            "plugin_host.c" => vec![],
            "storage.c" => vec!["-fopenmp".into(), "-g".into()],
            "attach.c" => machine_flags()?,
            "collector.c" => collector_flags()?,
            _ => vec!["-fopenmp".into()],
        };
        let always = [command, "-O1", "-Wall", "-Werror", "-pthread"];
        let words = always.iter().map(ToString::to_string).chain(kind);
        let library = if source == "collector.c" { "-lgc" } else { "-lm" };
        let files = [
            from.display().to_string(),
            "-o".into(),
            to.display().to_string(),
            library.into(),
            "-ldl".into(),
        ];
        let ran = exec::run(&words.chain(files).collect::<Vec<_>>(), &[], Path::new("/"), 120);
        ran.problem.map_or(Ok(()), |p| {
            Err(format!("not built: {p}: {}", ran.stderr.lines().next().unwrap_or_default()))
        })
    }

    /// The words that start a case's program, or why there is none.
    pub fn words(&self, case: &LifeCase, compiler: LabCompiler) -> Result<Vec<String>, String> {
        let source = case.source.as_str();
        let needed = if is_compiled(source) { source } else { "plugin.c" };
        for file in ["plugin.c", needed] {
            if let Some((_, why)) = self.broken.iter().find(|(key, _)| *key == self.key(file, compiler)) {
                return Err(why.clone());
            }
        }
        let script = self.source.join(source).display().to_string();
        match source.rsplit('.').next() {
            Some("py") if Path::new(PYTHON).exists() => Ok(vec![PYTHON.into(), script]),
            Some("py") => Err(format!("skipped: {PYTHON} is not there")),
            Some("java") if exec::on_path("java") && exec::on_path("javac") => {
                Ok(vec!["java".into(), script])
            }
            Some("java") => Err("skipped: no java with a compiler is installed".into()),
            _ => Ok(vec![self.file(source, compiler).display().to_string()]),
        }
    }
}

/// How a program is built that makes a Java virtual machine: that of the compiler on the path.
fn machine_flags() -> Result<Vec<String>, String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let compiler = std::env::split_paths(&paths).find_map(|p| fs::canonicalize(p.join("javac")).ok());
    let home = compiler.as_deref().and_then(|c| c.parent()?.parent());
    let home = home.filter(|h| h.join("include/jni.h").exists() && h.join("lib/server/libjvm.so").exists());
    let home = home.ok_or("skipped: no Java development kit with its headers is installed")?.display();
    let words = ["-fopenmp".into(), format!("-I{home}/include"), format!("-I{home}/include/linux")];
    Ok(words.into_iter().chain([format!("-DLIBJVM=\"{home}/lib/server/libjvm.so\"")]).collect())
}

/// How a program is built that registers its threads with libgc.
fn collector_flags() -> Result<Vec<String>, String> {
    let is_there = Path::new("/usr/include/gc/gc.h").exists();
    if is_there {
        Ok(vec!["-fopenmp".into()])
    } else {
        Err("skipped: libgc is not installed with its headers".into())
    }
}

fn is_compiled(source: &str) -> bool {
    source.ends_with(".c") || source.ends_with(".cpp")
}
