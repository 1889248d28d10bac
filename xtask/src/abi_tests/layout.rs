//! Sizes, alignments, offsets and enumerators of `omp.h` and `omp_lib`, against one table.
//!
//! `abi-tests/layout/expected.tsv` holds what the library assumes: a name and a value per compiler
//! family. The programs beside it print `name value` lines as each compiler sees them.

use std::collections::BTreeMap;
use std::path::Path;

use super::build::{TestBuilder, TestRecipe};
use super::compilers::{CompilerDriver, CompilerFamily};
use super::exec::ProgramRun;
use super::meta::{TestLanguage, TestMode};
use super::plan::AbiVerdict;
use super::report::AbiReport;

type Table = BTreeMap<String, String>;

/// Compares every compiler with the table.
pub fn check(root: &Path, builder: &TestBuilder, compilers: &[CompilerDriver], report: &AbiReport) {
    let directory = root.join("abi-tests/layout");
    for compiler in compilers.iter().filter(|compiler| compiler.language != TestLanguage::Cxx) {
        let verdict = check_one(&directory, builder, compiler);
        report.check(&format!("layout [{}]", compiler.name), verdict);
    }
}

fn check_one(directory: &Path, builder: &TestBuilder, compiler: &CompilerDriver) -> AbiVerdict {
    let failed =
        |what: String| AbiVerdict::Failed(what, directory.join("expected.tsv").display().to_string());
    let expected = match expected(&directory.join("expected.tsv"), compiler.family) {
        Ok(expected) => expected,
        Err(problem) => return failed(problem),
    };
    match printed(directory, builder, compiler) {
        Ok(printed) => match difference(&expected, &printed) {
            Some(difference) => failed(difference),
            None => AbiVerdict::Passed,
        },
        Err(problem) => failed(problem),
    }
}

fn expected(table: &Path, family: CompilerFamily) -> Result<Table, String> {
    let text = std::fs::read_to_string(table).map_err(|error| error.to_string())?;
    let column = match family {
        CompilerFamily::Gcc => 1,
        CompilerFamily::Gfortran => 2,
        CompilerFamily::Clang => 3,
        CompilerFamily::Flang => 4,
    };
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("name\t"));
    let cells = rows.map(|line| line.split('\t').collect::<Vec<_>>());
    let filled = cells.filter(|cells| cells.get(column).is_some_and(|value| *value != "-"));
    Ok(filled.map(|cells| (cells[0].to_owned(), cells[column].to_owned())).collect())
}

fn printed(directory: &Path, builder: &TestBuilder, compiler: &CompilerDriver) -> Result<Table, String> {
    let file = if compiler.language == TestLanguage::C { "c.c" } else { "fortran.f90" };
    let recipe = TestRecipe {
        name: "layout",
        source: &directory.join(file),
        compiler,
        flags: vec!["-O0".into()],
        offload: Vec::new(),
        unmarked: false,
        shared: false,
        needs_object: false,
    };
    let binary = builder.binary(&recipe, TestMode::Own)?;
    let run = ProgramRun { arguments: vec![binary], env: Vec::new(), timeout: 20 };
    let ended = run.start()?;
    if ended.status != 0 {
        return Err(format!("the layout program ended with {}", ended.status));
    }
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines = ended.stdout.lines().map(words).filter(|words| words.len() == 2);
    Ok(lines.map(|words| (words[0].clone(), words[1].clone())).collect())
}

/// The first names that differ; a name on one side only differs as well.
fn difference(expected: &Table, printed: &Table) -> Option<String> {
    let mut lines = Vec::new();
    for (name, value) in expected {
        match printed.get(name) {
            Some(seen) if seen == value => {}
            Some(seen) => lines.push(format!("{name} is {seen}, the library assumes {value}")),
            None => lines.push(format!("{name} was not printed")),
        }
    }
    lines.extend(
        printed
            .keys()
            .filter(|name| !expected.contains_key(*name))
            .map(|name| format!("{name} is not in the table")),
    );
    (!lines.is_empty()).then(|| lines.join("; "))
}
