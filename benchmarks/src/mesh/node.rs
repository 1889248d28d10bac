//! A node: its cores, what waits for them, and which of it a core takes next.
//!
//! A core takes the newest piece of a handler that it has begun, else the oldest handler that
//! waits, else the oldest piece of another core: the order of the library's deques. A handler that
//! waits for its pieces does not keep its core.

use super::{MeshSetting, MeshTime};
use placement::steal::Thief;
use std::collections::VecDeque;
use ult::victim::{Selector, VictimKind};

/// Vain questions in a row after which a rank asks no more; the library's.
const TRIES: u32 = 2;

/// A piece of a handler of this patch.
#[derive(Clone, Copy, Debug)]
pub struct MeshPiece {
    pub patch: usize,
    pub takes: MeshTime,
}

#[derive(Default)]
struct Core {
    pieces: VecDeque<MeshPiece>,
    now: Option<MeshPiece>,
    busy: MeshTime,
}

/// What a core begins.
pub enum CoreWork {
    Piece(MeshPiece),
    Handler(usize),
}

pub struct MeshNode {
    cores: Vec<Core>,
    /// Those without work, the one that has waited longest first.
    idle: VecDeque<usize>,
    /// Patches whose handlers have not begun.
    pub waiting: VecDeque<usize>,
    /// How many of them are not given away.
    kept: usize,
    /// Pieces that no core has begun.
    pieces: usize,
    pub thief: Thief,
    pub victims: Selector,
    pub chosen: bool,
    /// Ranks that got nothing, or never asked, and have not been notified of work since.
    pub hungry: VecDeque<usize>,
}

impl MeshNode {
    pub fn new(node: usize, setting: MeshSetting) -> Self {
        let MeshSetting { nodes, cores, .. } = setting;
        Self {
            cores: (0..cores).map(|_| Core::default()).collect(),
            idle: (0..cores).collect(),
            waiting: VecDeque::new(),
            kept: cores * setting.keeps,
            pieces: 0,
            thief: Thief::with_limits(TRIES, 0),
            victims: Selector::new(VictimKind::Hybrid, setting.seed.wrapping_mul(1_000_003) + node as u64),
            chosen: false,
            hungry: (1..nodes).map(|next| (node + next) % nodes).collect(),
        }
    }

    /// Handlers that may be given away: some are about to begin.
    pub fn spare(&self) -> usize {
        self.waiting.len().saturating_sub(self.kept)
    }

    pub fn remember(&mut self, thief: usize) {
        if !self.hungry.contains(&thief) {
            self.hungry.push_back(thief);
        }
    }

    /// Gives up to so many patches away, the last ones by `order`.
    pub fn give(&mut self, most: usize, order: impl Fn(usize) -> (usize, usize)) -> Vec<usize> {
        let mut given: Vec<usize> = self.waiting.iter().copied().collect();
        given.sort_unstable_by_key(|&patch| std::cmp::Reverse(order(patch)));
        given.truncate(most);
        if let Some(&last) = given.last() {
            self.waiting.retain(|&patch| order(patch) < order(last));
        }
        given
    }

    /// A handler has begun on that core, which has its pieces.
    pub fn add(&mut self, core: usize, pieces: impl Iterator<Item = MeshPiece>) {
        let own = &mut self.cores[core].pieces;
        let before = own.len();
        own.extend(pieces);
        self.pieces += own.len() - before;
    }

    /// What the core takes now.
    pub fn pick(&mut self, core: usize) -> Option<CoreWork> {
        if let Some(piece) = self.cores[core].pieces.pop_back() {
            self.pieces -= 1;
            return Some(CoreWork::Piece(piece));
        }
        if let Some(patch) = self.waiting.pop_front() {
            return Some(CoreWork::Handler(patch));
        }
        if self.pieces == 0 {
            return None;
        }
        self.pieces -= 1;
        let count = self.cores.len();
        let piece = (1..count).find_map(|next| self.cores[(core + next) % count].pieces.pop_front());
        piece.map(CoreWork::Piece)
    }

    /// A core without work, if there is something to do.
    pub fn wake(&mut self) -> Option<usize> {
        if self.waiting.is_empty() && self.pieces == 0 { None } else { self.idle.pop_front() }
    }

    pub fn sleep(&mut self, core: usize) {
        self.idle.push_back(core);
    }

    pub fn begin(&mut self, core: usize, piece: MeshPiece) {
        let core = &mut self.cores[core];
        core.busy += piece.takes;
        core.now = Some(piece);
    }

    /// The core has done it.
    pub fn end(&mut self, core: usize) -> Option<MeshPiece> {
        self.cores[core].now.take()
    }

    pub fn busy(&self) -> impl Iterator<Item = MeshTime> {
        self.cores.iter().map(|core| core.busy)
    }
}
