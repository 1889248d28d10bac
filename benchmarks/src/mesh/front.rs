//! What there is to do: a square mesh that is cut into patches, and refined along a front that
//! moves through it.
//!
//! The shape is that of `examples/distributed/mesh.c`: a circle that grows around a corner. Cells
//! that it crosses are cut into four, several times, and stay cut. They cost ten times the work of
//! others. How fine the patches are changes neither cells nor work, only who has them.

use super::MeshTime;
use std::ops::Range;

/// Work of a cell that the front crosses, of which others have 1.
const CROSSED: u32 = 10;
/// What a cell, and a patch without its cells, take on their way.
const BYTES: (u64, u64) = (32, 104);

/// How the mesh is made.
#[derive(Clone, Copy, Debug)]
pub struct Mesh {
    /// First cells on a side.
    pub cells: u32,
    /// Patches on a side, which divides `cells`.
    pub side: u32,
    /// How often a first cell may be cut.
    pub deepest: u32,
    /// Cells of one task.
    pub piece: usize,
    /// Steps of the front, 14 at most.
    pub steps: u32,
    /// Is there a front? Without one nothing is cut, and each cell is the same work in each step.
    pub has_front: bool,
    /// Virtual nanoseconds of a cell that the front does not cross.
    pub cell: MeshTime,
}

#[derive(Clone, Copy)]
struct FrontCell {
    x: u32,
    y: u32,
    size: u32,
}

impl FrontCell {
    fn is_crossed(self, radius: Option<u32>) -> bool {
        let far = |x: u32, y: u32| u64::from(x).pow(2) + u64::from(y).pow(2);
        radius.is_some_and(|radius| {
            let radius = u64::from(radius).pow(2);
            far(self.x, self.y) < radius && far(self.x + self.size, self.y + self.size) > radius
        })
    }

    /// Cuts it where the front crosses it, as deep as may be.
    fn cut(self, radius: Option<u32>, to: &mut Vec<Self>) {
        if self.size == 1 || !self.is_crossed(radius) {
            to.push(self);
            return;
        }
        let size = self.size / 2;
        for quarter in 0..4 {
            Self { x: self.x + quarter % 2 * size, y: self.y + quarter / 2 * size, size }.cut(radius, to);
        }
    }
}

/// The handlers of all steps.
#[derive(Debug)]
pub struct FrontLoad {
    /// Patches.
    pub patches: usize,
    /// Patches on a side.
    pub side: usize,
    /// Steps.
    pub steps: usize,
    /// The pieces of a handler, one after the other.
    pieces: Vec<MeshTime>,
    /// Where those of a step and a patch begin.
    begins: Vec<usize>,
    /// What the patch takes on its way.
    bytes: Vec<u64>,
}

impl FrontLoad {
    /// Refines the mesh, patch by patch.
    #[must_use]
    pub fn new(mesh: Mesh) -> Self {
        // A finest cell is the unit of length.
        let size = 1 << mesh.deepest;
        let (across, of_patch) = (mesh.cells * size, mesh.cells / mesh.side);
        let first = |patch: u32| {
            let at = move |i: u32, n: u32| (n * of_patch + i) * size;
            let cell = move |i: u32| FrontCell {
                x: at(i % of_patch, patch % mesh.side),
                y: at(i / of_patch, patch / mesh.side),
                size,
            };
            (0..of_patch * of_patch).map(cell).collect::<Vec<_>>()
        };
        let mut all: Vec<Vec<FrontCell>> = (0..mesh.side * mesh.side).map(first).collect();
        let mut load = Self {
            patches: all.len(),
            side: mesh.side as usize,
            steps: mesh.steps as usize,
            pieces: Vec::new(),
            begins: Vec::new(),
            bytes: Vec::new(),
        };
        for step in 0..mesh.steps {
            let radius = mesh.has_front.then_some(across * (3 + step) / 16);
            for cells in &mut all {
                load.add(mesh, radius, cells);
            }
        }
        load.begins.push(load.pieces.len());
        load
    }

    fn add(&mut self, mesh: Mesh, radius: Option<u32>, cells: &mut Vec<FrontCell>) {
        let mut finer = Vec::with_capacity(cells.len());
        cells.iter().for_each(|cell| cell.cut(radius, &mut finer));
        *cells = finer;
        self.begins.push(self.pieces.len());
        self.bytes.push(BYTES.1 + BYTES.0 * cells.len() as u64);
        let work =
            |cell: &FrontCell| mesh.cell * MeshTime::from(if cell.is_crossed(radius) { CROSSED } else { 1 });
        self.pieces.extend(cells.chunks(mesh.piece).map(|piece| piece.iter().map(work).sum::<MeshTime>()));
    }

    fn range(&self, step: usize, patch: usize) -> Range<usize> {
        let handler = step * self.patches + patch;
        self.begins[handler]..self.begins[handler + 1]
    }

    /// What a handler does, in pieces that may run at the same time.
    #[must_use]
    pub fn pieces(&self, step: usize, patch: usize) -> &[MeshTime] {
        &self.pieces[self.range(step, patch)]
    }

    /// What a patch takes on its way in a step.
    #[must_use]
    pub fn bytes(&self, step: usize, patch: usize) -> u64 {
        self.bytes[step * self.patches + patch]
    }

    /// The pieces of all handlers.
    #[must_use]
    pub fn all_pieces(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// All work.
    #[must_use]
    pub fn work(&self) -> MeshTime {
        self.pieces.iter().sum()
    }

    /// A step.
    #[must_use]
    pub fn step(&self, step: usize) -> FrontStep {
        let mut all = FrontStep::default();
        for pieces in (0..self.patches).map(|patch| self.pieces(step, patch)) {
            let handler: MeshTime = pieces.iter().sum();
            all.longest = all.longest.max(handler);
            all.longest_piece = pieces.iter().copied().fold(all.longest_piece, MeshTime::max);
            all.work += handler;
        }
        all
    }
}

/// What a step is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontStep {
    /// The longest handler.
    pub longest: MeshTime,
    /// The longest piece of one.
    pub longest_piece: MeshTime,
    /// All handlers.
    pub work: MeshTime,
}
