//! `gangway completions` and `gangway man`: what the commands' own descriptions give, in a shell's
//! or `man`'s form. Hidden commands are left out.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::commands;
use crate::failure::CommandFailure;

/// The commands that users write, without the hidden ones.
fn shown() -> Command {
    let all = commands::command();
    let visible: Vec<Command> = all.get_subcommands().filter(|c| !c.is_hide_set()).cloned().collect();
    let bare = Command::new("gangway")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommand_required(true);
    let about = all.get_about().cloned().unwrap_or_default();
    let after = all.get_after_help().cloned().unwrap_or_default();
    bare.about(about).after_help(after).subcommands(visible)
}

/// Prints the completions of the shell that is named.
pub fn completions(options: &ArgMatches) -> Result<(), CommandFailure> {
    let shell = match options.get_one::<String>("shell").map(String::as_str) {
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        _ => Shell::Bash,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut shown(), "gangway", &mut text);
    write(&text)
}

/// Prints the page of the command, or writes all pages into a directory.
pub fn man(options: &ArgMatches) -> Result<(), CommandFailure> {
    let mut all = shown();
    all.build();
    let Some(directory) = options.get_one::<PathBuf>("directory") else { return write(&page(all)?) };
    for part in all.get_subcommands() {
        let name = format!("gangway-{}", part.get_name());
        save(directory, &name, &page(part.clone())?)?;
    }
    save(directory, "gangway", &page(all)?)
}

fn page(of: Command) -> Result<Vec<u8>, CommandFailure> {
    let mut text = Vec::new();
    // Into memory, which does not fail.
    Man::new(of)
        .source(concat!("gangway ", env!("CARGO_PKG_VERSION")))
        .manual("Gangway")
        .render(&mut text)
        .map_err(|e| CommandFailure::own(e.to_string()))?;
    Ok(text)
}

fn save(directory: &Path, name: &str, text: &[u8]) -> Result<(), CommandFailure> {
    let file = directory.join(format!("{name}.1"));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&file, text))
        .map_err(|e| CommandFailure::own(format!("{}: {e}", file.display())))
}

/// On standard output; a reader that has gone away has read enough.
fn write(text: &[u8]) -> Result<(), CommandFailure> {
    match io::stdout().write_all(text) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::own(format!("standard output: {why}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_commands_and_none_that_is_hidden() {
        let mut all = shown();
        all.build();
        let text = String::from_utf8(page(all).unwrap()).unwrap();
        assert!(
            text.contains("doctor") && text.contains("compare") && !text.contains(commands::ASK),
            "{text}"
        );
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut shown(), "gangway", &mut text);
            let text = String::from_utf8(text).unwrap();
            assert!(text.contains("tolerance") && !text.contains(commands::ASK), "{shell}");
        }
    }
}
