//! Builds test programs into a cache keyed by content.
//!
//! A binary's name carries a hash of the source, the shared includes, the compiler and the flags: a
//! second run compiles nothing, and a changed include rebuilds everything that could see it.
//! Objects are kept beside the binaries so that linking against the library needs no second
//! compilation.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::compilers::{CompilerDriver, CompilerFamily};
use super::host::LeftOut;
use super::images;
use super::meta::{TestLanguage, TestMode, file_stem};
use links::names;

/// Where things are built and which library is under test.
pub struct TestBuilder {
    cache: PathBuf,
    /// What the tests share, and the public headers.
    include: [PathBuf; 2],
    include_hash: [u64; 2],
    headers: PathBuf,
    library: Option<TestLibrary>,
    /// What the library lacks, if it is host-only.
    left_out: Option<LeftOut>,
    driver: PathBuf,
    /// The CUDA driver for tests.
    fake_source: PathBuf,
    fake_cuda: OnceLock<Result<PathBuf, String>>,
}

struct TestLibrary {
    path: PathBuf,
    /// Changes with every build of the library: links are keyed by it.
    stamp: u64,
    symlinks: PathBuf,
}

/// What to build.
pub struct TestRecipe<'a> {
    /// A name for people; part of the file name.
    pub name: &'a str,
    /// The source.
    pub source: &'a Path,
    /// By whom.
    pub compiler: &'a CompilerDriver,
    /// `-O0`, `-O2` and whatever the program asks for.
    pub flags: Vec<String>,
    /// What makes images for devices, when compiling and linking.
    pub offload: Vec<String>,
    /// Images are not marked as a GPU's.
    pub unmarked: bool,
    /// Build a shared object.
    pub shared: bool,
    /// The program is linked with the library, too.
    pub needs_object: bool,
}

impl TestBuilder {
    /// Prepares the cache and, for a library, the directory of symlinks that stands for the other
    /// runtimes.
    pub fn new(root: &Path, cache: &Path, library: Option<&Path>) -> Result<Self, String> {
        let problem = |error: std::io::Error| format!("{}: {error}", cache.display());
        let headers = cache.join("headers");
        fs::create_dir_all(&headers).map_err(problem)?;
        let cache = cache.canonicalize().map_err(problem)?;
        let include = ["abi-tests/include", "include"].map(|directory| root.join(directory));
        let include_hash = [hash_directory(&include[0])?, hash_directory(&include[1])?];
        let library = library.map(|path| TestLibrary::new(path, &cache)).transpose()?;
        let driver = root.join("abi-tests/python/driver.py");
        let fake_source = root.join("abi-tests/fake-cuda/driver.c");
        Ok(Self {
            headers: cache.join("headers"),
            cache,
            include,
            include_hash,
            library,
            left_out: None,
            driver,
            fake_source,
            fake_cuda: OnceLock::new(),
        })
    }

    /// For a host-only library, which lacks this.
    pub fn without(self, left_out: Option<LeftOut>) -> Self {
        Self { left_out, ..self }
    }

    /// What the library lacks that a program needs, in words.
    pub fn lacks(&self, binary: &Path) -> Option<String> {
        self.left_out.as_ref().and_then(|left_out| left_out.needed_by(binary))
    }

    /// Where `omp.h` copies for headerless compilers go.
    pub fn borrowed_headers(&self) -> &Path {
        &self.headers
    }

    /// The directory of all that is built.
    pub fn target(&self) -> &Path {
        self.cache.parent().unwrap_or(&self.cache)
    }

    /// The library under test.
    pub fn library(&self) -> Option<&Path> {
        self.library.as_ref().map(|library| library.path.as_path())
    }

    /// The directory whose `libgomp.so.1`, `libomp.so.5` and `libiomp5.so` are the library.
    pub fn symlinks(&self) -> Option<&Path> {
        self.library.as_ref().map(|library| library.symlinks.as_path())
    }

    /// The Python script that loads a shared object and calls its `check`.
    pub fn driver(&self) -> &Path {
        &self.driver
    }

    /// The binary for a way of loading, built if the cache has none. The error is the compiler's
    /// message.
    pub fn binary(&self, recipe: &TestRecipe, mode: TestMode) -> Result<PathBuf, String> {
        match (mode, &self.library) {
            (TestMode::Link, Some(library)) => self.link_with(recipe, &self.object(recipe)?, library),
            (TestMode::Gpu, _) if !recipe.unmarked => self.marked(&self.program(recipe)?),
            _ => self.program(recipe),
        }
    }

    /// A copy of a program whose images are marked as a GPU's.
    fn marked(&self, program: &Path) -> Result<PathBuf, String> {
        let output = program.with_extension("gpu.exe");
        self.unless_cached(&output, |partial| {
            let mut bytes = fs::read(program).map_err(|error| error.to_string())?;
            if images::mark(&mut bytes, "") == 0 {
                return Err(format!("{}\nerror: it has no image", program.display()));
            }
            fs::write(partial, bytes).map_err(|error| error.to_string())?;
            let mut command = Command::new("chmod");
            command.arg("755").arg(partial);
            Ok(command)
        })
    }

    /// The CUDA driver for tests, built once.
    pub fn fake_cuda(&self) -> Result<&Path, String> {
        let built = self.fake_cuda.get_or_init(|| {
            let parent = self.fake_source.parent().unwrap_or(Path::new("."));
            let hash = hash_directory(parent)?;
            let mut hasher = DefaultHasher::new();
            hash.hash(&mut hasher);
            let output = self.cache.join(format!("fake-cuda-{:016x}.so", hasher.finish()));
            self.unless_cached(&output, |partial| {
                let mut command = Command::new("cc");
                command
                    .args(["-shared", "-fPIC", "-O1", "-fvisibility=hidden", "-o"])
                    .arg(partial)
                    .arg(&self.fake_source)
                    .args(["-lpthread", "-ldl"]);
                Ok(command)
            })
        });
        built.as_deref().map_err(Clone::clone)
    }

    fn object(&self, recipe: &TestRecipe) -> Result<PathBuf, String> {
        let object = self.cache.join(format!("{}.o", self.stem(recipe)?));
        self.unless_cached(&object, |output| {
            let mut command = self.compilation(recipe, output)?;
            command.arg("-c").arg("-o").arg(output);
            Ok(command)
        })
    }

    /// The compiler with the source and all options that matter to it.
    fn compilation(&self, recipe: &TestRecipe, output: &Path) -> Result<Command, String> {
        let mut command = Command::new(&recipe.compiler.name);
        command.args(&recipe.compiler.flags).args(&recipe.flags).args(&recipe.offload);
        self.include.iter().for_each(|directory| {
            command.arg("-I").arg(directory);
        });
        command.args(module_flags(recipe.compiler, &self.module_directory(output)?));
        command.arg("-g").arg(recipe.source);
        Ok(command)
    }

    /// The program by itself. If it is never linked with the library, one call compiles and links it,
    /// which saves the start of a compiler.
    fn program(&self, recipe: &TestRecipe) -> Result<PathBuf, String> {
        let end = if recipe.shared { "so" } else { "exe" };
        self.unless_cached(&self.cache.join(format!("{}.{end}", self.stem(recipe)?)), |output| {
            let mut command = if recipe.needs_object {
                let mut command = Command::new(&recipe.compiler.name);
                command.args(&recipe.compiler.flags).args(&recipe.offload).arg(self.object(recipe)?);
                command
            } else {
                self.compilation(recipe, output)?
            };
            command.args(linking(recipe)).arg("-o").arg(output).args(libraries(recipe));
            Ok(command)
        })
    }

    fn link_with(
        &self,
        recipe: &TestRecipe,
        object: &Path,
        library: &TestLibrary,
    ) -> Result<PathBuf, String> {
        let binary = object.with_extension(format!("{:016x}.linked", library.stamp));
        self.unless_cached(&binary, |output| {
            let mut command = Command::new(&recipe.compiler.name);
            command.args(linking(recipe)).arg(object).arg(&library.path).arg("-o").arg(output);
            // Whatever SONAME the library has, the directory of symlinks finds it by that name.
            command.arg(format!("-Wl,-rpath,{}", library.symlinks.display())).args(libraries(recipe));
            Ok(command)
        })
    }

    /// Runs `make` for a temporary name and renames, so that an interrupted build leaves no half a
    /// binary.
    fn unless_cached(
        &self,
        output: &Path,
        make: impl FnOnce(&Path) -> Result<Command, String>,
    ) -> Result<PathBuf, String> {
        if output.exists() {
            return Ok(output.to_owned());
        }
        let partial = output.with_file_name(format!("{}.partial.o", file_name(output)));
        let mut command = make(&partial)?;
        let done = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        if !done.status.success() {
            return Err(format!("{command:?}\n{}", String::from_utf8_lossy(&done.stderr)));
        }
        fs::rename(&partial, output).map_err(|error| error.to_string())?;
        Ok(output.to_owned())
    }

    /// Module files of Fortran sources must not meet: a directory for each.
    fn module_directory(&self, output: &Path) -> Result<PathBuf, String> {
        let directory = output.with_extension("mods");
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        Ok(directory)
    }

    fn stem(&self, recipe: &TestRecipe) -> Result<String, String> {
        let text = fs::read(recipe.source).map_err(|error| error.to_string())?;
        let compiler = recipe.compiler;
        let mut hasher = DefaultHasher::new();
        (text, self.include_hash, &compiler.name, compiler.version, &compiler.flags).hash(&mut hasher);
        (&recipe.flags, &recipe.offload, recipe.shared).hash(&mut hasher);
        let name: String = file_stem(recipe.name).chars().take(120).collect();
        Ok(format!("{name}-{}-{:016x}", compiler.name, hasher.finish()))
    }
}

impl TestLibrary {
    fn new(path: &Path, cache: &Path) -> Result<Self, String> {
        let problem = |error: std::io::Error| format!("{}: {error}", path.display());
        let data = fs::metadata(path).map_err(problem)?;
        let mut hasher = DefaultHasher::new();
        (path, data.len(), data.modified().map_err(problem)?).hash(&mut hasher);
        let symlinks = cache.join("symlinks");
        fs::create_dir_all(&symlinks).map_err(problem)?;
        let offload = names::OFFLOAD.iter().copied();
        for name in names::RUNTIMES.into_iter().chain([names::LIBRARY]).chain(offload) {
            let link = symlinks.join(name);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(path, &link).map_err(problem)?;
        }
        Ok(Self { path: path.to_owned(), stamp: hasher.finish(), symlinks })
    }
}

/// What the linker has to know, too: whether it makes a shared object, and those of the program's
/// flags that are for both.
fn linking(recipe: &TestRecipe) -> Vec<String> {
    let both = recipe.flags.iter().filter(|flag| *flag == "-rdynamic" || flag.starts_with("-fsanitize="));
    recipe.shared.then(|| "-shared".to_owned()).into_iter().chain(both.cloned()).collect()
}

/// C and C++ programs may use `pthread_*`, `dlsym`, `atomic` library calls and mathematics.
fn libraries(recipe: &TestRecipe) -> Vec<String> {
    let mut names = vec!["-lpthread".to_owned(), "-lm".to_owned()];
    if recipe.compiler.language != TestLanguage::Fortran {
        names.push("-ldl".into());
        names.push("-l:libatomic.so.1".into());
    }
    names
}

fn module_flags(compiler: &CompilerDriver, directory: &Path) -> Vec<String> {
    match compiler.family {
        CompilerFamily::Gfortran => vec![format!("-J{}", directory.display())],
        CompilerFamily::Flang => vec![format!("-module-dir {}", directory.display())],
        CompilerFamily::Gcc | CompilerFamily::Clang => Vec::new(),
    }
    .iter()
    .flat_map(|flag| flag.split(' ').map(str::to_owned))
    .collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn hash_directory(directory: &Path) -> Result<u64, String> {
    let problem = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).map_err(problem)?.flatten().map(|e| e.path()).collect();
    paths.sort();
    let mut hasher = DefaultHasher::new();
    for path in paths {
        fs::read(&path).map_err(problem)?.hash(&mut hasher);
    }
    Ok(hasher.finish())
}
