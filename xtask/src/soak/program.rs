//! A whole program: a prelude, blocks by chance and a `main` that runs them.

use super::chance::Chance;
use super::{blocks, graph};

/// A deliberate mistake in what OpenMP is given, none in what plain C computes.
#[derive(Clone, Copy, PartialEq)]
pub enum Sabotage {
    None,
    /// No task has dependences.
    Depend,
    /// Critical sections exclude no thread.
    Critical,
    /// Reductions by `+` multiply.
    Reduction,
    /// Ordered regions are not.
    Ordered,
}

impl Sabotage {
    /// The mistake of that name.
    pub fn named(name: &str) -> Option<Sabotage> {
        let all = [
            ("depend", Sabotage::Depend),
            ("critical", Sabotage::Critical),
            ("reduction", Sabotage::Reduction),
            ("ordered", Sabotage::Ordered),
        ];
        all.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }
}

/// Program `number` of `seed`. `modern`: the compiler knows dependences of OpenMP 5.1.
pub fn source(seed: u64, number: u64, modern: bool, sabotage: Sabotage) -> String {
    let mut chance = Chance::new(seed, number, 1);
    let mut text = format!("// program {number} of seed {seed}\n{}", include_str!("prelude.c"));
    let mut calls = String::new();
    for block in 0..chance.from(6, 14) {
        let (name, body) = if chance.once_in(3) {
            ("graph", graph::block(&mut chance, modern, sabotage == Sabotage::Depend))
        } else {
            let (name, template) = blocks::KINDS[chance.from(0, blocks::KINDS.len() as u64 - 1) as usize];
            (name, blocks::fill(template, &mut chance))
        };
        text += &format!(
            "static void {name}_{block}(void) {{\n    const char *me = \"{name}_{block}\";\n{}}}\n",
            spoil(&body, sabotage)
        );
        calls += &format!("        {name}_{block}();\n");
    }
    text + &format!(
        "int main(void) {{\n    for (int round = 0; round < {}; round++) {{\n{calls}    }}\n    return wrong != 0;\n}}\n",
        chance.from(1, 4)
    )
}

fn spoil(body: &str, sabotage: Sabotage) -> String {
    match sabotage {
        Sabotage::None | Sabotage::Depend => body.into(),
        Sabotage::Critical => body.replace("#pragma omp critical(sum)\n", ""),
        Sabotage::Reduction => body.replace("reduction(+ :", "reduction(* :"),
        Sabotage::Ordered => body.replace("#pragma omp ordered\n", "").replace("for ordered @plain@", "for"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_repeat_and_are_filled() {
        for number in 0..50 {
            let text = source(7, number, true, Sabotage::None);
            assert_eq!(text, source(7, number, true, Sabotage::None));
            assert!(!text.contains('@'), "a name without a value in program {number}");
            assert_ne!(text, source(8, number, true, Sabotage::None));
        }
    }

    #[test]
    fn sabotage_changes_programs() {
        for name in ["depend", "critical", "reduction", "ordered"] {
            let sabotage = Sabotage::named(name).expect("a name");
            assert!(
                (0..20).any(|n| source(7, n, true, sabotage) != source(7, n, true, Sabotage::None)),
                "{name}"
            );
        }
    }
}
