//! Cuts a pass's draws into chunks.

/// Consecutive primitives of consecutive instances of one draw: whole instances, or part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Which draw.
    pub draw: u32,
    /// First instance, counted from the draw's first.
    pub instance: u32,
    /// Instances.
    pub instances: u32,
    /// First primitive of each instance.
    pub first: u32,
    /// Primitives of each instance.
    pub count: u32,
}

/// Chunks of pieces, of up to `chunk` primitives; `draws` gives primitives per instance and instances of every draw.
pub(crate) fn plan(draws: impl Iterator<Item = (u32, u32)>, chunk: u32) -> Vec<Vec<Piece>> {
    let mut chunks: Vec<Vec<Piece>> = Vec::new();
    let mut open: Vec<Piece> = Vec::new();
    let mut room = chunk;
    for (draw, (primitives, instances)) in draws.enumerate() {
        if primitives == 0 {
            continue;
        }
        let draw = draw as u32;
        let mut instance = 0;
        while instance < instances {
            if primitives <= room {
                let whole = (room / primitives).min(instances - instance);
                open.push(Piece {
                    draw,
                    instance,
                    instances: whole,
                    first: 0,
                    count: primitives,
                });
                room -= whole * primitives;
                instance += whole;
            } else if primitives <= chunk {
                // It fits a chunk of its own, so don't split it.
                room = 0;
            } else {
                let mut first = 0;
                while first < primitives {
                    if room == 0 {
                        chunks.push(std::mem::take(&mut open));
                        room = chunk;
                    }
                    let count = room.min(primitives - first);
                    open.push(Piece {
                        draw,
                        instance,
                        instances: 1,
                        first,
                        count,
                    });
                    room -= count;
                    first += count;
                }
                instance += 1;
            }
            if room == 0 {
                chunks.push(std::mem::take(&mut open));
                room = chunk;
            }
        }
    }
    if !open.is_empty() {
        chunks.push(open);
    }
    chunks.retain(|c| !c.is_empty());
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::CHUNK;

    #[test]
    fn every_primitive_of_every_instance_is_in_one_piece_in_order() {
        for draws in [
            vec![(1, 1)],
            vec![(100, 2000)],
            vec![(5000, 3), (0, 5), (7, 1), (4096, 2)],
            vec![(1_000_000, 1)],
        ] {
            for most in [CHUNK, 50, 1] {
                if most > 1 || draws[0] == (1, 1) || draws.len() > 1 {
                    check(&draws, most);
                }
            }
        }
    }

    fn check(draws: &[(u32, u32)], most: u32) {
        let chunks = plan(draws.iter().copied(), most);
        let mut seen: Vec<(u32, u32, u32)> = Vec::new();
        for chunk in &chunks {
            let mut total = 0;
            for p in chunk {
                total += p.count * p.instances;
                for i in 0..p.instances {
                    match seen.last_mut() {
                        Some((d, n, end)) if (*d, *n, *end) == (p.draw, p.instance + i, p.first) => {
                            *end += p.count;
                        }
                        _ => {
                            assert_eq!(p.first, 0);
                            seen.push((p.draw, p.instance + i, p.count));
                        }
                    }
                }
            }
            assert!(total <= most);
        }
        let expected: Vec<(u32, u32, u32)> = draws
            .iter()
            .enumerate()
            .filter(|(_, (n, _))| *n > 0)
            .flat_map(|(d, &(n, i))| (0..i).map(move |k| (d as u32, k, n)))
            .collect();
        assert_eq!(seen, expected);
    }
}
