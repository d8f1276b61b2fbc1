//! Subgroup operations: a subgroup is the quad, lanes 0 to 3 (upper left, upper right, lower left, lower right).
//!
//! Who takes part is who is active: a local that only active lanes set, and that they clear again, is read across the
//! quad. Values of the others don't count. Fragment shaders only: groups of vertices have no quads to speak of.

use super::lower::{Lower, Lowered};
use super::report::Result;
use crate::ir::{Alu, Builtin, Input, Interpolation, Kind, Literal, Op, QuadOp, Sampling, Semantic, Stage, Value};
use crate::memory::place::Flat;
use rspirv::spirv::{GroupOperation, Op as S, Scope};

/// Lanes of a subgroup.
pub(super) const SIZE: u32 = 4;

/// What the lanes of the quad hold.
struct Lanes {
    /// Who takes part, as bools.
    active: [Value; 4],
    own: Value,
}

/// What a reduction does, and with what it starts.
fn reduction(op: S) -> Option<(Alu, fn(Kind) -> Literal)> {
    let zero: fn(Kind) -> Literal = Literal::zero;
    let ones: fn(Kind) -> Literal = |k| match k {
        Kind::Bool => Literal { kind: k, bits: 1 },
        _ => Literal {
            kind: k,
            bits: 0xffff_ffff,
        },
    };
    let one: fn(Kind) -> Literal = |k| Literal { kind: k, bits: 1 };
    fn float(kind: Kind, value: f32) -> Literal {
        Literal {
            kind,
            bits: u64::from(value.to_bits()),
        }
    }
    Some(match op {
        S::GroupNonUniformIAdd => (Alu::IAdd, zero),
        S::GroupNonUniformFAdd => (Alu::FAdd, |k| float(k, -0.0)),
        S::GroupNonUniformIMul => (Alu::IMul, one),
        S::GroupNonUniformFMul => (Alu::FMul, |k| float(k, 1.0)),
        S::GroupNonUniformSMin => (Alu::SMin, |k| Literal {
            kind: k,
            bits: 0x7fff_ffff,
        }),
        S::GroupNonUniformUMin => (Alu::UMin, ones),
        S::GroupNonUniformFMin => (Alu::FMin, |k| float(k, f32::INFINITY)),
        S::GroupNonUniformSMax => (Alu::SMax, |k| Literal {
            kind: k,
            bits: 0x8000_0000,
        }),
        S::GroupNonUniformUMax => (Alu::UMax, zero),
        S::GroupNonUniformFMax => (Alu::FMax, |k| float(k, f32::NEG_INFINITY)),
        S::GroupNonUniformBitwiseAnd | S::GroupNonUniformLogicalAnd => (Alu::And, ones),
        S::GroupNonUniformBitwiseOr | S::GroupNonUniformLogicalOr => (Alu::Or, zero),
        S::GroupNonUniformBitwiseXor | S::GroupNonUniformLogicalXor => (Alu::Xor, zero),
        _ => return None,
    })
}

impl Lower<'_> {
    /// A subgroup operation but for quad broadcasts and swaps; `None` if it is none.
    pub fn subgroup(&mut self, op: S, words: &[u32]) -> Result<Option<Lowered>> {
        let reduction = reduction(op);
        let quad = matches!(op, S::GroupNonUniformQuadAllKHR | S::GroupNonUniformQuadAnyKHR);
        let known = reduction.is_some()
            || quad
            || matches!(
                op,
                S::GroupNonUniformElect
                    | S::GroupNonUniformAll
                    | S::GroupNonUniformAny
                    | S::GroupNonUniformAllEqual
                    | S::GroupNonUniformBroadcast
                    | S::GroupNonUniformBroadcastFirst
                    | S::GroupNonUniformBallot
                    | S::GroupNonUniformInverseBallot
                    | S::GroupNonUniformBallotBitExtract
                    | S::GroupNonUniformBallotBitCount
                    | S::GroupNonUniformBallotFindLSB
                    | S::GroupNonUniformBallotFindMSB
                    | S::GroupNonUniformShuffle
                    | S::GroupNonUniformShuffleXor
                    | S::GroupNonUniformShuffleUp
                    | S::GroupNonUniformShuffleDown
            );
        if !known {
            return Ok(None);
        }
        if self.shader.stage != Stage::Fragment {
            return self.unsupported(format!("Op{op:?} outside of fragment shaders"));
        }
        let words = match quad {
            true => words,
            false => {
                let scope = words.first().copied().unwrap_or(0);
                if self.constant_u32(scope)? != Some(Scope::Subgroup as u32) {
                    return self.unsupported(format!("Op{op:?} of another scope than the subgroup"));
                }
                &words[1..]
            }
        };
        let lanes = self.lanes()?;
        let values = match (op, words) {
            (S::GroupNonUniformElect, _) => {
                let first = self.first(&lanes);
                Flat::from_slice(&[self.b.alu(Alu::IEq, &[first, lanes.own])])
            }
            (S::GroupNonUniformAll | S::GroupNonUniformQuadAllKHR, &[predicate, ..]) => {
                let p = self.bool(predicate)?;
                Flat::from_slice(&[self.vote(&lanes, p, true)?])
            }
            (S::GroupNonUniformAny | S::GroupNonUniformQuadAnyKHR, &[predicate, ..]) => {
                let p = self.bool(predicate)?;
                Flat::from_slice(&[self.vote(&lanes, p, false)?])
            }
            (S::GroupNonUniformAllEqual, &[value, ..]) => {
                let first = self.first(&lanes);
                let mut all: Option<Value> = None;
                for value in self.value(value)? {
                    let theirs = self.pick(value, first)?;
                    let same = match self.b.kind(value) {
                        Kind::Bool => {
                            let differs = self.b.alu(Alu::Xor, &[value, theirs]);
                            self.b.alu(Alu::Not, &[differs])
                        }
                        kind if kind.is_float() => self.b.alu(Alu::FEq, &[value, theirs]),
                        _ => self.alu(Alu::IEq, &[value, theirs])?,
                    };
                    all = Some(match all {
                        Some(all) => self.b.alu(Alu::And, &[all, same]),
                        None => same,
                    });
                }
                match all {
                    Some(p) => Flat::from_slice(&[self.vote(&lanes, p, true)?]),
                    None => return self.invalid("a comparison of nothing"),
                }
            }
            (S::GroupNonUniformBroadcastFirst, &[value, ..]) => {
                let first = self.first(&lanes);
                self.pick_each(value, first)?
            }
            (S::GroupNonUniformBroadcast | S::GroupNonUniformShuffle, &[value, lane, ..]) => {
                let lane = self.index(lane)?;
                self.pick_each(value, lane)?
            }
            (
                S::GroupNonUniformShuffleXor | S::GroupNonUniformShuffleUp | S::GroupNonUniformShuffleDown,
                &[value, by, ..],
            ) => {
                let by = self.index(by)?;
                let alu = match op {
                    S::GroupNonUniformShuffleXor => Alu::Xor,
                    S::GroupNonUniformShuffleUp => Alu::ISub,
                    _ => Alu::IAdd,
                };
                let lane = self.b.alu(alu, &[lanes.own, by]);
                self.pick_each(value, lane)?
            }
            (S::GroupNonUniformBallot, &[predicate, ..]) => {
                let p = self.bool(predicate)?;
                let votes = self.across_bool(p)?;
                let zero = self.b.u32(0);
                let mut mask = zero;
                for (i, (vote, active)) in votes.into_iter().zip(lanes.active).enumerate() {
                    let bit = self.b.u32(1 << i);
                    let votes = self.b.alu(Alu::And, &[vote, active]);
                    let bit = self.b.alu(Alu::Select, &[votes, bit, zero]);
                    mask = self.b.alu(Alu::Or, &[mask, bit]);
                }
                Flat::from_slice(&[mask, zero, zero, zero])
            }
            (S::GroupNonUniformInverseBallot, &[ballot, ..]) => {
                let mask = self.ballot(ballot)?;
                Flat::from_slice(&[self.bit(mask, lanes.own)])
            }
            (S::GroupNonUniformBallotBitExtract, &[ballot, index, ..]) => {
                let mask = self.ballot(ballot)?;
                let index = self.index(index)?;
                Flat::from_slice(&[self.bit(mask, index)])
            }
            (S::GroupNonUniformBallotBitCount, &[operation, ballot, ..]) => {
                let mask = self.ballot(ballot)?;
                let ones = match GroupOperation::from_u32(operation) {
                    Some(GroupOperation::Reduce) => mask,
                    Some(scan @ (GroupOperation::InclusiveScan | GroupOperation::ExclusiveScan)) => {
                        let below = self.b.u32(if scan == GroupOperation::InclusiveScan { 2 } else { 1 });
                        let end = self.b.alu(Alu::Shl, &[below, lanes.own]);
                        let one = self.b.u32(1);
                        let below = self.b.alu(Alu::ISub, &[end, one]);
                        self.b.alu(Alu::And, &[mask, below])
                    }
                    _ => return self.unsupported(format!("Op{op:?} of this group operation")),
                };
                Flat::from_slice(&[self.b.alu(Alu::PopCount, &[ones])])
            }
            (S::GroupNonUniformBallotFindLSB | S::GroupNonUniformBallotFindMSB, &[ballot, ..]) => {
                let mask = self.ballot(ballot)?;
                let alu = match op {
                    S::GroupNonUniformBallotFindLSB => Alu::FirstTrailing,
                    _ => Alu::FirstLeadingU,
                };
                Flat::from_slice(&[self.b.alu(alu, &[mask])])
            }
            (_, &[operation, value, ref rest @ ..]) if reduction.is_some() => {
                let Some((alu, identity)) = reduction else {
                    return self.internal("no reduction");
                };
                let span = self.span_of(op, operation, rest)?;
                let mut results = Flat::new();
                for value in self.value(value)? {
                    results.push(self.fold(&lanes, value, alu, identity, span)?);
                }
                results
            }
            _ => return self.invalid("too few operands"),
        };
        Ok(Some(Lowered::Value(values)))
    }

    /// The lane of the quad that this is, from the pixel's position.
    pub fn lane(&mut self) -> Value {
        let mut lane = None;
        for axis in [0, 1] {
            let semantic = Semantic::Builtin(Builtin::Position(axis));
            let declared = self.shader.inputs.iter().find(|(_, i)| i.semantic == semantic);
            let input = match declared {
                Some((input, _)) => input,
                None => self.shader.inputs.push(Input {
                    name: "position".into(),
                    semantic,
                    kind: Kind::F32,
                    interpolation: Interpolation::Linear,
                    sampling: Sampling::Center,
                }),
            };
            let at = self.b.inst1(Op::Input(input), &[], Kind::F32);
            let pixel = self.b.alu(Alu::FToU, &[at]);
            let one = self.b.u32(1);
            let odd = self.b.alu(Alu::And, &[pixel, one]);
            let shift = self.b.u32(u32::from(axis));
            let bit = self.b.alu(Alu::Shl, &[odd, shift]);
            lane = Some(match lane {
                Some(x) => self.b.alu(Alu::Or, &[x, bit]),
                None => bit,
            });
        }
        lane.unwrap_or_else(|| self.b.u32(0))
    }

    fn lanes(&mut self) -> Result<Lanes> {
        let own = self.lane();
        let here = self.b.local("active", Kind::U32);
        let (one, zero) = (self.b.u32(1), self.b.u32(0));
        self.b.set(here, one);
        let seen = self.b.get(here);
        let active = self.across(seen).map(|v| self.b.alu(Alu::INe, &[v, zero]));
        self.b.set(here, zero);
        Ok(Lanes { active, own })
    }

    /// Everyone's value.
    fn across(&mut self, value: Value) -> [Value; 4] {
        [0, 1, 2, 3].map(|lane| self.b.quad(QuadOp::Broadcast(lane), value))
    }

    fn across_bool(&mut self, value: Value) -> Result<[Value; 4]> {
        let (one, zero) = (self.b.u32(1), self.b.u32(0));
        let word = self.alu(Alu::Select, &[value, one, zero])?;
        Ok(self.across(word).map(|v| self.b.alu(Alu::INe, &[v, zero])))
    }

    /// Everyone's value, of numbers and bools of up to 32 bits.
    fn across_any(&mut self, value: Value) -> Result<[Value; 4]> {
        match self.b.kind(value) {
            Kind::Bool => self.across_bool(value),
            Kind::F32 | Kind::I32 | Kind::U32 => Ok(self.across(value)),
            kind => self.unsupported(format!("a subgroup operation on {kind}")),
        }
    }

    /// The first lane that takes part.
    fn first(&mut self, lanes: &Lanes) -> Value {
        let mut first = self.b.u32(3);
        for i in (0..3).rev() {
            let lane = self.b.u32(i);
            first = self.b.alu(Alu::Select, &[lanes.active[i as usize], lane, first]);
        }
        first
    }

    /// That lane's value; of lanes that there aren't, the last one's.
    fn pick(&mut self, value: Value, lane: Value) -> Result<Value> {
        let all = self.across_any(value)?;
        let mut picked = all[3];
        for i in (0..3).rev() {
            let number = self.b.u32(i);
            let here = self.b.alu(Alu::IEq, &[lane, number]);
            picked = self.b.alu(Alu::Select, &[here, all[i as usize], picked]);
        }
        Ok(picked)
    }

    fn pick_each(&mut self, value: u32, lane: Value) -> Result<Flat> {
        let values = self.value(value)?;
        values.into_iter().map(|v| self.pick(v, lane)).collect()
    }

    /// Whether all, or any, of those who take part say so.
    fn vote(&mut self, lanes: &Lanes, p: Value, all: bool) -> Result<Value> {
        let votes = self.across_bool(p)?;
        let mut result: Option<Value> = None;
        for (vote, active) in votes.into_iter().zip(lanes.active) {
            let (vote, join) = match all {
                true => {
                    let absent = self.b.alu(Alu::Not, &[active]);
                    (self.b.alu(Alu::Or, &[absent, vote]), Alu::And)
                }
                false => (self.b.alu(Alu::And, &[active, vote]), Alu::Or),
            };
            result = Some(match result {
                Some(so_far) => self.b.alu(join, &[so_far, vote]),
                None => vote,
            });
        }
        match result {
            Some(result) => Ok(result),
            None => self.internal("a quad without lanes"),
        }
    }

    /// The bits of a ballot that stand for lanes.
    fn ballot(&mut self, id: u32) -> Result<Value> {
        let value = self.value(id)?;
        let Some(&word) = value.first() else {
            return self.invalid("no ballot");
        };
        let (word, lanes) = (self.as_u32(word)?, self.b.u32(15));
        Ok(self.b.alu(Alu::And, &[word, lanes]))
    }

    fn bit(&mut self, mask: Value, index: Value) -> Value {
        let shifted = self.b.alu(Alu::ShrU, &[mask, index]);
        let (one, zero) = (self.b.u32(1), self.b.u32(0));
        let bit = self.b.alu(Alu::And, &[shifted, one]);
        self.b.alu(Alu::INe, &[bit, zero])
    }

    /// Which lanes each lane's result takes in.
    fn span_of(&mut self, op: S, operation: u32, rest: &[u32]) -> Result<Span> {
        Ok(match GroupOperation::from_u32(operation) {
            Some(GroupOperation::Reduce) => Span::Cluster(SIZE),
            Some(GroupOperation::InclusiveScan) => Span::Below(true),
            Some(GroupOperation::ExclusiveScan) => Span::Below(false),
            Some(GroupOperation::ClusteredReduce) => {
                let size = match rest.first() {
                    Some(&size) => self.constant_u32(size)?,
                    None => None,
                };
                match size {
                    Some(size @ (1 | 2 | 4)) => Span::Cluster(size),
                    _ => return self.unsupported(format!("Op{op:?} of clusters of more than {SIZE}")),
                }
            }
            _ => return self.unsupported(format!("Op{op:?} of this group operation")),
        })
    }

    fn fold(
        &mut self,
        lanes: &Lanes,
        value: Value,
        alu: Alu,
        identity: fn(Kind) -> Literal,
        span: Span,
    ) -> Result<Value> {
        let kind = self.b.kind(value);
        let all = self.across_any(value)?;
        let identity = self.b.constant(identity(kind));
        let mut result = identity;
        for (i, theirs) in (0..SIZE).zip(all) {
            let mut counts = lanes.active[i as usize];
            let number = self.b.u32(i);
            let within = match span {
                Span::Cluster(SIZE) => None,
                Span::Cluster(size) => {
                    let shift = self.b.u32(size.trailing_zeros());
                    let (mine, its) = (
                        self.b.alu(Alu::ShrU, &[lanes.own, shift]),
                        self.b.u32(i >> size.trailing_zeros()),
                    );
                    Some(self.b.alu(Alu::IEq, &[mine, its]))
                }
                Span::Below(true) => Some(self.b.alu(Alu::ULe, &[number, lanes.own])),
                Span::Below(false) => Some(self.b.alu(Alu::ULt, &[number, lanes.own])),
            };
            if let Some(within) = within {
                counts = self.b.alu(Alu::And, &[counts, within]);
            }
            let theirs = self.alu(Alu::Select, &[counts, theirs, identity])?;
            result = self.alu(alu, &[result, theirs])?;
        }
        Ok(result)
    }
}

/// Which lanes a result takes in.
#[derive(Clone, Copy)]
enum Span {
    /// The lanes of the own cluster of that size.
    Cluster(u32),
    /// Lanes before the own, and whether that one, too.
    Below(bool),
}
