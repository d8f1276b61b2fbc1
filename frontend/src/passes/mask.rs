//! Which lanes are active where: a tracker that passes drive along a structured body.
//!
//! Each nested body is a *region*; its depth is its place on the path from the root (0). At a point, `floor` is the
//! smallest depth of a region that was entered with exactly the mask that is active now; a floor beyond the point's own
//! depth says that some lanes which entered even the innermost region have left by a divergent exit. A floor of 0
//! means that all lanes are active. The same tracker serves two granularities: lanes of a step, or whole quads (then
//! a condition counts as uniform if it is the same within each quad). Laws L2, L7, L8.

use crate::ir::Label;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Plain,
    /// `Break(label)` goes to its end.
    Block(Label),
    /// `Break(label)` leaves the loop, `Continue(label)` goes to its end.
    LoopBody(Label),
    Continuing(Label),
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    floor: u32,
    role: Role,
}

/// The path of regions to the point where a walk stands.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    frames: Vec<Frame>,
}

impl Masks {
    /// At the start of the root body.
    pub fn new() -> Self {
        let root = Frame {
            floor: 0,
            role: Role::Plain,
        };
        Masks { frames: vec![root] }
    }

    /// Depth of the innermost region.
    pub fn depth(&self) -> u32 {
        self.frames.len() as u32 - 1
    }

    /// See the module's head.
    pub fn floor(&self) -> u32 {
        self.frames.last().map_or(0, |f| f.floor)
    }

    /// Whether every lane (quad) that started the function is active.
    pub fn full(&self) -> bool {
        self.floor() == 0
    }

    fn enter(&mut self, role: Role, same_mask: bool) {
        let floor = if same_mask { self.floor() } else { self.depth() + 1 };
        self.frames.push(Frame { floor, role });
    }

    /// Enters a side of an `If`.
    pub fn enter_side(&mut self, uniform: bool) {
        self.enter(Role::Plain, uniform);
    }

    /// Enters a block.
    pub fn enter_block(&mut self, label: Label) {
        self.enter(Role::Block(label), true);
    }

    /// Enters a case of a switch. `partial`: the case before falls through, and some of its lanes left.
    pub fn enter_case(&mut self, label: Label, uniform: bool, partial: bool) {
        self.enter(Role::Block(label), uniform && !partial);
    }

    /// Enters a loop's body; `leaky`: lanes leave the loop at different iterations.
    pub fn enter_loop(&mut self, label: Label, leaky: bool) {
        self.enter(Role::LoopBody(label), !leaky);
    }

    /// Enters a continuing block.
    pub fn enter_continuing(&mut self, label: Label, leaky: bool) {
        self.enter(Role::Continuing(label), !leaky);
    }

    /// Whether the point is in the body or the continuing block of that loop.
    pub fn in_loop(&self, label: Label) -> bool {
        self.frames
            .iter()
            .any(|f| f.role == Role::LoopBody(label) || f.role == Role::Continuing(label))
    }

    /// Leaves the innermost region; says whether some of its lanes left before its end.
    pub fn leave(&mut self) -> bool {
        let depth = self.depth();
        self.frames.pop().is_some_and(|f| f.floor > depth)
    }

    /// `Break(label)`; tells which loops lanes leave at different iterations, and gives whether only some of the
    /// lanes in a region that is left take this exit.
    pub fn break_(&mut self, label: Label, leaks: impl FnMut(Label)) -> bool {
        let target = self.target(label);
        self.exit(target, target, leaks)
    }

    /// `Continue(label)`, likewise.
    pub fn continue_(&mut self, label: Label, leaks: impl FnMut(Label)) -> bool {
        let target = self.target(label);
        self.exit(target, target + 1, leaks)
    }

    /// `Return`, likewise.
    pub fn return_(&mut self, leaks: impl FnMut(Label)) -> bool {
        self.exit(0, 0, leaks)
    }

    fn target(&self, label: Label) -> usize {
        let found = self
            .frames
            .iter()
            .rposition(|f| matches!(f.role, Role::Block(l) | Role::LoopBody(l) if l == label));
        found.unwrap_or(0)
    }

    /// Lanes leave regions from depth `target` on, and loops whose body is at depth `loops` or deeper. A region that
    /// all its lanes leave at once has nobody left to disagree.
    fn exit(&mut self, target: usize, loops: usize, mut leaks: impl FnMut(Label)) -> bool {
        let floor = self.floor();
        let mut splits = false;
        for (depth, frame) in self.frames.iter_mut().enumerate().skip(target) {
            if floor <= depth as u32 {
                continue;
            }
            splits = true;
            frame.floor = depth as u32 + 1;
            if let Role::LoopBody(label) = frame.role
                && depth >= loops
            {
                leaks(label);
            }
        }
        splits
    }
}
