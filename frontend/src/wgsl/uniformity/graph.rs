//! The graph: an edge from a to b means that a is uniform only if b is (R-WGSL-31).

/// What may differ between invocations.
pub(super) const MAYBE: u32 = 0;
/// Control flow at the function's start.
pub(super) const CONTROL: u32 = 1;
/// What is always the same.
pub(super) const UNIFORM: u32 = 2;

/// What a node stands for, where messages name it.
#[derive(Clone, Debug)]
pub(super) enum Why {
    /// The condition of a branch.
    Branch(naga::Span),
    /// Where non-uniformity comes from.
    Source(naga::Span, String),
}

/// Nodes and edges under construction.
#[derive(Debug)]
pub(super) struct Builder {
    edges: Vec<(u32, u32)>,
    why: Vec<Option<Why>>,
}

impl Builder {
    pub fn new() -> Builder {
        Builder {
            edges: Vec::new(),
            why: vec![None; 3],
        }
    }

    /// A node with edges.
    pub fn node(&mut self, to: impl IntoIterator<Item = u32>) -> u32 {
        let node = self.why.len() as u32;
        self.why.push(None);
        for to in to {
            self.edge(node, to);
        }
        node
    }

    /// A node that messages name.
    pub fn named(&mut self, why: Why, to: impl IntoIterator<Item = u32>) -> u32 {
        let node = self.node(to);
        self.why[node as usize] = Some(why);
        node
    }

    /// An edge.
    pub fn edge(&mut self, from: u32, to: u32) {
        if to != UNIFORM && from != to {
            self.edges.push((from, to));
        }
    }

    /// The finished graph.
    pub fn finish(self) -> Graph {
        let nodes = self.why.len();
        let mut first = vec![0usize; nodes + 1];
        for &(_, to) in &self.edges {
            first[to as usize + 1] += 1;
        }
        for i in 0..nodes {
            first[i + 1] += first[i];
        }
        let mut from = vec![0; self.edges.len()];
        let mut next = first.clone();
        for &(a, b) in &self.edges {
            from[next[b as usize]] = a;
            next[b as usize] += 1;
        }
        Graph {
            first,
            from,
            why: self.why,
        }
    }
}

/// Edges by where they lead.
#[derive(Debug)]
pub(super) struct Graph {
    first: Vec<usize>,
    from: Vec<u32>,
    why: Vec<Option<Why>>,
}

/// For each node that leads to a target, the next node on the way.
#[derive(Debug)]
pub(super) struct Reach {
    next: Vec<Option<u32>>,
}

impl Reach {
    /// Whether a path leads from the node to the target.
    pub fn reached(&self, node: u32) -> bool {
        self.next.get(node as usize).is_some_and(Option::is_some)
    }
}

impl Graph {
    /// All nodes from which a path leads to `target`, by the shortest ways.
    pub fn reach(&self, target: u32) -> Reach {
        let mut next = vec![None; self.why.len()];
        next[target as usize] = Some(target);
        let mut queue = std::collections::VecDeque::from([target]);
        while let Some(node) = queue.pop_front() {
            let at = node as usize;
            for &from in &self.from[self.first[at]..self.first[at + 1]] {
                if next[from as usize].is_none() {
                    next[from as usize] = Some(node);
                    queue.push_back(from);
                }
            }
        }
        Reach { next }
    }

    /// What messages can name on the way from the node to the target.
    pub fn path(&self, reach: &Reach, node: u32) -> Vec<&Why> {
        let mut out = Vec::new();
        let mut at = node;
        // Shortest ways have no cycles; the bound is for the type checker's peace of mind.
        for _ in 0..self.why.len() {
            out.extend(&self.why[at as usize]);
            match reach.next[at as usize] {
                Some(next) if next != at => at = next,
                _ => break,
            }
        }
        out
    }
}
