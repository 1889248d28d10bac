//! The order of `KMP_AFFINITY=compact` and `scatter`: a sort of the machine's tree whose levels
//! change rank.
//!
//! A processor's path is its position in each level that exists: socket, node in the socket, core
//! in the node, hardware thread in the core. `compact` compares paths from the outside in, so
//! neighbours come one after the other; `permute` moves that many innermost levels to the front, in
//! inverted order. `scatter` is `compact` with all but the outermost level moved to the front.

use ult::topology::Cpu;

use crate::env::kmp_affinity::KmpKind;

/// Sort keys for the processors of a machine.
pub(super) struct ProcessorOrder {
    /// `(os, path)`, levels where all processors have the same position left out.
    paths: Vec<(usize, Vec<usize>)>,
    /// How many innermost levels go to the front.
    moved: usize,
}

impl ProcessorOrder {
    pub fn new(cpus: &[Cpu], kind: KmpKind, permute: usize) -> ProcessorOrder {
        let full: Vec<(usize, [usize; 4])> = cpus.iter().map(|cpu| (cpu.os, path(cpus, cpu))).collect();
        let exists: Vec<usize> = (0..4).filter(|&l| full.iter().any(|(_, p)| p[l] != 0)).collect();
        let innermost = exists.len().saturating_sub(1);
        let moved = match kind {
            KmpKind::Scatter => innermost.saturating_sub(permute),
            _ => permute.min(innermost),
        };
        let paths = full.iter().map(|(os, p)| (*os, exists.iter().map(|&l| p[l]).collect())).collect();
        ProcessorOrder { paths, moved }
    }

    /// The key of processor `os`; unknown ones come first.
    pub fn key(&self, os: usize) -> Vec<usize> {
        let Some((_, path)) = self.paths.iter().find(|(cpu, _)| *cpu == os) else {
            return Vec::new();
        };
        let (outer, inner) = path.split_at(path.len().saturating_sub(self.moved));
        inner.iter().rev().chain(outer).copied().collect()
    }
}

/// Position of `cpu` in each level among the different values of that level under the same parent.
fn path(cpus: &[Cpu], cpu: &Cpu) -> [usize; 4] {
    let of = |c: &Cpu| [c.socket, c.numa, c.core, c.os];
    let mine = of(cpu);
    core::array::from_fn(|level| {
        let mut smaller: Vec<usize> = cpus
            .iter()
            .map(of)
            .filter(|c| c[..level] == mine[..level] && c[level] < mine[level])
            .map(|c| c[level])
            .collect();
        smaller.sort_unstable();
        smaller.dedup();
        smaller.len()
    })
}
