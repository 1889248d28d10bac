//! Development commands: `cargo xtask <command>`.
fn main() {
    eprintln!("xtask: no command yet");
    std::process::exit(2);
}
