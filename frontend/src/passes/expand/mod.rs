//! Replaces every operation that is not primitive by primitive ones, so that each function has one definition for
//! interpreter, native code and constant folding (law N7).
//!
//! ```text
//! ops.rs      the machine expansions are written for: trait Ops, and Scalar, its evaluator
//! *.rs        the expansions, one generic function each
//! mod.rs      dispatch(): which function expands which operation
//!   expand()  ... with IR values: the pass
//!   eval()    ... with scalars: the folder
//! ```
//!
//! Expansions are branch-free and total. Run it after the pass that makes NaNs canonical: inside expansions bits are
//! handled with that in mind, and nothing there needs `Canon`. Run CSE after it: a sine and a cosine of one operand
//! share their reduction. Only 32-bit kinds are expanded; executors refuse others by name.

mod arc;
mod bits;
mod color;
mod divide;
mod exp_log;
mod half;
mod hyperbolic;
mod ops;
mod simple;
#[cfg(test)]
mod tests;
mod trig;

pub use ops::{Ops, Scalar};

use crate::ir::alu::Class;
use crate::ir::{Alu, Args, Body, Def, Function, Handle, Inst, Kind, Literal, Op, SpanId, Stmt, Value, ValueData};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Values of an expansion: operands or results.
type Values<V> = SmallVec<[V; 4]>;

/// Expands one operation; `kind` is the kind its signature leaves open. Operands and results are of the signature's
/// kinds.
fn dispatch<O: Ops>(o: &mut O, op: Alu, kind: Kind, args: &[O::V]) -> Values<O::V> {
    let (params, results) = op.signature();
    let of = |class: &Class| match class {
        Class::Is(kind) => *kind,
        _ => kind,
    };
    // Integers are u32 inside.
    let mut a: Values<O::V> = SmallVec::new();
    for (class, &arg) in params.iter().zip(args) {
        a.push(if of(class) == Kind::I32 {
            o.bitcast(arg, Kind::U32)
        } else {
            arg
        });
    }
    let made = dispatch_u32(o, op, &a);
    let mut out: Values<O::V> = SmallVec::new();
    for (class, value) in results.iter().zip(made) {
        out.push(if of(class) == Kind::I32 {
            o.bitcast(value, Kind::I32)
        } else {
            value
        });
    }
    out
}

fn dispatch_u32<O: Ops>(o: &mut O, op: Alu, a: &[O::V]) -> Values<O::V> {
    let one = |value: O::V| -> Values<O::V> { smallvec![value] };
    let two = |(first, second): (O::V, O::V)| -> Values<O::V> { smallvec![first, second] };
    match op {
        Alu::FRem => one(simple::rem(o, a[0], a[1])),
        Alu::FFract => one(simple::fract(o, a[0])),
        Alu::FSign => one(simple::sign(o, a[0])),
        Alu::FSaturate => one(simple::saturate(o, a[0])),
        Alu::FRsqrt => one(simple::rsqrt(o, a[0])),
        Alu::FExp2 => one(exp_log::exp2(o, a[0])),
        Alu::FLog2 => one(exp_log::log2(o, a[0])),
        Alu::FExp => one(exp_log::exp(o, a[0])),
        Alu::FLog => one(exp_log::log(o, a[0])),
        Alu::FPow => one(exp_log::pow(o, a[0], a[1])),
        Alu::FSin => one(trig::sin(o, a[0])),
        Alu::FCos => one(trig::cos(o, a[0])),
        Alu::FTan => one(trig::tan(o, a[0])),
        Alu::FAsin => one(arc::asin(o, a[0])),
        Alu::FAcos => one(arc::acos(o, a[0])),
        Alu::FAtan => one(arc::atan(o, a[0])),
        Alu::FAtan2 => one(arc::atan2(o, a[0], a[1])),
        Alu::FSinh => one(hyperbolic::sinh(o, a[0])),
        Alu::FCosh => one(hyperbolic::cosh(o, a[0])),
        Alu::FTanh => one(hyperbolic::tanh(o, a[0])),
        Alu::FAsinh => one(hyperbolic::asinh(o, a[0])),
        Alu::FAcosh => one(hyperbolic::acosh(o, a[0])),
        Alu::FAtanh => one(hyperbolic::atanh(o, a[0])),
        Alu::FLdexp => one(simple::ldexp(o, a[0], a[1])),
        Alu::FFrexp => two(simple::frexp(o, a[0])),
        Alu::FModf => two(simple::modf(o, a[0])),
        Alu::QuantizeF16 => one(half::quantize(o, a[0])),
        Alu::SrgbEncode => one(color::srgb_encode(o, a[0])),
        Alu::SrgbDecode => one(color::srgb_decode(o, a[0])),
        Alu::SDiv => one(divide::div_signed(o, a[0], a[1])),
        Alu::SRem => one(divide::rem_signed(o, a[0], a[1])),
        Alu::UDiv => one(divide::div_unsigned(o, a[0], a[1])),
        Alu::URem => one(divide::rem_unsigned(o, a[0], a[1])),
        Alu::UDivRemD3d => two(divide::div_rem_d3d(o, a[0], a[1])),
        Alu::SAbs => one(bits::abs(o, a[0])),
        Alu::SSign => one(bits::sign(o, a[0])),
        Alu::PopCount => one(bits::pop_count(o, a[0])),
        Alu::ReverseBits => one(bits::reverse(o, a[0])),
        Alu::LeadingZeros => one(bits::leading_zeros(o, a[0])),
        Alu::TrailingZeros => one(bits::trailing_zeros(o, a[0])),
        Alu::FirstLeadingU => one(bits::first_leading_unsigned(o, a[0])),
        Alu::FirstLeadingS => one(bits::first_leading_signed(o, a[0])),
        Alu::FirstTrailing => one(bits::first_trailing(o, a[0])),
        Alu::ExtractU => one(bits::extract_unsigned(o, a[0], a[1], a[2])),
        Alu::ExtractS => one(bits::extract_signed(o, a[0], a[1], a[2])),
        Alu::InsertBits => one(bits::insert(o, a[0], a[1], a[2], a[3])),
        Alu::AddCarry => two(bits::add_carry(o, a[0], a[1])),
        Alu::SubBorrow => two(bits::sub_borrow(o, a[0], a[1])),
        Alu::FToSWgsl => one(simple::to_signed_wgsl(o, a[0])),
        Alu::FToUWgsl => one(simple::to_unsigned_wgsl(o, a[0])),
        Alu::HalfBits => one(half::to_bits(o, a[0])),
        Alu::HalfBitsRtz => one(half::to_bits_toward_zero(o, a[0])),
        Alu::HalfToF => one(half::from_bits(o, a[0])),
        Alu::FToUnorm8 => one(color::to_unorm8(o, a[0])),
        Alu::Unorm8ToF => one(color::from_unorm8(o, a[0])),
        primitive => one(o.alu(primitive, a)),
    }
}

/// Evaluates an operation on 32-bit scalars (bools are masks) through its expansion.
///
/// # Panics
/// If there are too few operands.
pub fn eval(op: Alu, kind: Kind, args: &[u32]) -> SmallVec<[u32; 2]> {
    dispatch(&mut Scalar, op, kind, args).into_iter().collect()
}

/// Expands every operation that is not primitive, in place. Spans stay; what an instruction becomes has its span.
pub fn expand(func: &mut Function) {
    let body = std::mem::take(&mut func.body);
    let mut pass = Pass {
        func,
        heads: Vec::new(),
        constants: FxHashMap::default(),
        replaced: FxHashMap::default(),
    };
    let body = pass.body(body);
    let mut whole = std::mem::take(&mut pass.heads);
    whole.extend(body);
    func.body = whole;
}

struct Pass<'a> {
    func: &'a mut Function,
    /// Constants of expansions: they stand at the function's start, once each.
    heads: Body,
    constants: FxHashMap<Literal, Value>,
    replaced: FxHashMap<Value, Value>,
}

impl Pass<'_> {
    fn current(&self, value: Value) -> Value {
        self.replaced.get(&value).copied().unwrap_or(value)
    }

    fn body(&mut self, body: Body) -> Body {
        let mut out = Vec::with_capacity(body.len());
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => {
                    if !self.replaced.is_empty() {
                        for i in 0..self.func.insts[id].args.len() {
                            let new = self.current(self.func.insts[id].args[i]);
                            self.func.insts[id].args[i] = new;
                        }
                    }
                    if !self.inst(&self.func.insts[id].clone(), &mut out) {
                        out.push(Stmt::Inst(id));
                    }
                }
                Stmt::Block { label, body } => {
                    let body = self.body(body);
                    out.push(Stmt::Block { label, body });
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                    span,
                } => {
                    let cond = self.current(cond);
                    let then = self.body(then);
                    let otherwise = self.body(otherwise);
                    out.push(Stmt::If {
                        cond,
                        then,
                        otherwise,
                        span,
                    });
                }
                Stmt::Loop {
                    label,
                    body,
                    continuing,
                    break_if,
                    bound,
                    span,
                } => {
                    let body = self.body(body);
                    let continuing = self.body(continuing);
                    let break_if = break_if.map(|v| self.current(v));
                    out.push(Stmt::Loop {
                        label,
                        body,
                        continuing,
                        break_if,
                        bound,
                        span,
                    });
                }
                Stmt::Switch {
                    label,
                    selector,
                    mut cases,
                    span,
                } => {
                    let selector = self.current(selector);
                    for case in &mut cases {
                        case.body = self.body(std::mem::take(&mut case.body));
                    }
                    out.push(Stmt::Switch {
                        label,
                        selector,
                        cases,
                        span,
                    });
                }
                Stmt::Return(args) => out.push(Stmt::Return(args.iter().map(|&v| self.current(v)).collect())),
                Stmt::Break(_) | Stmt::Continue(_) => out.push(stmt),
            }
        }
        out
    }

    /// Expands the instruction into `out`, if it has an expansion.
    fn inst(&mut self, inst: &Inst, out: &mut Body) -> bool {
        let Op::Alu(op) = inst.op else { return false };
        if op.is_primitive() {
            return false;
        }
        let (params, _) = op.signature();
        let open = params.iter().position(|class| !matches!(class, Class::Is(_)));
        let kind = open.map_or(Kind::F32, |i| self.func.kind(inst.args[i]));
        if !matches!(kind, Kind::F32 | Kind::I32 | Kind::U32) {
            return false;
        }
        let mut emit = Emit {
            pass: self,
            out,
            span: inst.span,
        };
        let made = dispatch(&mut emit, op, kind, &inst.args);
        for (old, new) in inst.results().zip(made) {
            self.replaced.insert(old, new);
        }
        true
    }
}

/// Emits primitive operations as IR.
struct Emit<'a, 'b> {
    pass: &'a mut Pass<'b>,
    out: &'a mut Body,
    span: Option<SpanId>,
}

/// Adds an instruction with one result to the arenas and the body.
fn push(func: &mut Function, body: &mut Body, op: Op, args: Args, kind: Kind, span: Option<SpanId>) -> Value {
    let id = Handle::from_index(func.insts.len());
    let value = func.values.push(ValueData {
        kind,
        def: Def::Inst(id, 0),
    });
    func.insts.push(Inst {
        op,
        args,
        first_result: Some(value),
        result_count: 1,
        span,
    });
    body.push(Stmt::Inst(id));
    value
}

impl Ops for Emit<'_, '_> {
    type V = Value;

    fn constant(&mut self, literal: Literal) -> Value {
        if let Some(&value) = self.pass.constants.get(&literal) {
            return value;
        }
        let op = Op::Const(literal);
        let value = push(
            self.pass.func,
            &mut self.pass.heads,
            op,
            Args::new(),
            literal.kind,
            self.span,
        );
        self.pass.constants.insert(literal, value);
        value
    }

    fn alu(&mut self, op: Alu, args: &[Value]) -> Value {
        let kinds: SmallVec<[Kind; 4]> = args.iter().map(|&v| self.pass.func.kind(v)).collect();
        let results = op
            .check(&kinds)
            .unwrap_or_else(|error| panic!("expansions are well-typed: {error}"));
        let args = Args::from_slice(args);
        push(self.pass.func, self.out, Op::Alu(op), args, results[0], self.span)
    }

    fn bitcast(&mut self, value: Value, kind: Kind) -> Value {
        if self.pass.func.kind(value) == kind {
            return value;
        }
        let args = Args::from_slice(&[value]);
        push(self.pass.func, self.out, Op::Bitcast(kind), args, kind, self.span)
    }
}
