//! Instructions as text, one a line: what diagnostics of a binary show, and what the assembler reads back.
//!
//! Printing follows the grammar, so it finds operands that are missing, left over, or unknown.

use super::super::binary::{self, Inst, Words};
use super::enums;
use rspirv::grammar::{GLSL_STD_450_INSTRUCTION_TABLE, LogicalOperand, OperandKind as K, OperandQuantifier as Q};
use rspirv::spirv::Op;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Range;

/// The scalar type of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    Int { width: u32, signed: bool },
    Float { width: u32 },
}

impl Literal {
    pub fn words(self) -> usize {
        match self {
            Literal::Int { width: 64, .. } | Literal::Float { width: 64 } => 2,
            _ => 1,
        }
    }
}

/// What literals depend on, gathered from the instructions passed.
#[derive(Default)]
pub(super) struct Context {
    types: FxHashMap<u32, Literal>,
    /// Types of ids.
    ids: FxHashMap<u32, u32>,
    glsl: FxHashSet<u32>,
}

impl Context {
    /// Takes note of an instruction.
    pub fn learn(&mut self, op: Op, ty: u32, id: u32, operands: &[u32]) {
        match (op, operands) {
            (Op::TypeInt, &[width, signed, ..]) => {
                let signed = signed != 0;
                self.types.insert(id, Literal::Int { width, signed });
            }
            (Op::TypeFloat, &[width, ..]) => {
                self.types.insert(id, Literal::Float { width });
            }
            (Op::ExtInstImport, words) if binary::string(words).is_some_and(|(name, _)| name == "GLSL.std.450") => {
                self.glsl.insert(id);
            }
            _ if ty != 0 => {
                self.ids.insert(id, ty);
            }
            _ => {}
        }
    }

    pub fn literal(&self, ty: u32) -> Literal {
        let unknown = Literal::Int {
            width: 32,
            signed: false,
        };
        self.types.get(&ty).copied().unwrap_or(unknown)
    }

    pub fn literal_of(&self, id: u32) -> Literal {
        self.literal(self.ids.get(&id).copied().unwrap_or(0))
    }

    pub fn is_glsl(&self, id: u32) -> bool {
        self.glsl.contains(&id)
    }
}

/// Prints all instructions; gives the text and each one's range, or the instruction that is malformed and why.
pub(in super::super) fn print(words: &Words) -> Result<(String, Vec<Range<u32>>), (usize, String)> {
    let mut context = Context::default();
    let mut text = String::new();
    let mut ranges = Vec::with_capacity(words.insts.len());
    for (index, inst) in words.insts.iter().enumerate() {
        let operands = words.operands(inst);
        let start = text.len() as u32;
        line(&mut text, &context, inst, operands).map_err(|problem| {
            (
                index,
                format!("Op{:?} at byte {}: {problem}", inst.op, Words::offset(inst)),
            )
        })?;
        ranges.push(start..text.len() as u32);
        text.push('\n');
        context.learn(inst.op, inst.ty, inst.id, operands);
    }
    Ok((text, ranges))
}

fn line(out: &mut String, context: &Context, inst: &Inst, mut words: &[u32]) -> Result<(), String> {
    let grammar = binary::grammar(inst.op).ok_or("an unknown opcode")?;
    // Writing to a string can't fail.
    if inst.id != 0 {
        let _ = write!(out, "%{} = ", inst.id);
    }
    let _ = write!(out, "Op{:?}", inst.op);
    if inst.ty != 0 {
        let _ = write!(out, " %{}", inst.ty);
    }
    let plain = grammar
        .operands
        .iter()
        .filter(|o| !matches!(o.kind, K::IdResult | K::IdResultType));
    let mut wanted: VecDeque<LogicalOperand> = plain.cloned().collect();
    let all = words;
    while let Some(operand) = wanted.pop_front() {
        if words.is_empty() {
            match operand.quantifier {
                Q::One => return Err("an operand is missing".into()),
                Q::ZeroOrOne | Q::ZeroOrMore => continue,
            }
        }
        if operand.quantifier == Q::ZeroOrMore {
            wanted.push_front(operand.clone());
        }
        out.push(' ');
        let (used, brought) = print_operand(out, context, inst, &operand.kind, words, all)?;
        words = words.get(used..).ok_or("an operand is cut off")?;
        for operand in brought.into_iter().rev() {
            wanted.push_front(operand);
        }
    }
    match words.is_empty() {
        true => Ok(()),
        false => Err(format!("{} words are left over", words.len())),
    }
}

fn print_operand(
    out: &mut String,
    context: &Context,
    inst: &Inst,
    kind: &K,
    words: &[u32],
    all: &[u32],
) -> Result<(usize, Vec<LogicalOperand>), String> {
    let word = words[0];
    let second = words.get(1).copied();
    let none = Vec::new();
    let cut = || "an operand is cut off".to_owned();
    Ok(match kind {
        K::IdRef | K::IdScope | K::IdMemorySemantics => {
            let _ = write!(out, "%{word}");
            (1, none)
        }
        K::LiteralInteger => {
            let _ = write!(out, "{word}");
            (1, none)
        }
        K::LiteralFloat => (literal(out, Literal::Float { width: 32 }, words).ok_or_else(cut)?, none),
        K::LiteralString => {
            let (text, used) = binary::string(words).ok_or("a string without end")?;
            out.push('"');
            for c in text.chars() {
                if matches!(c, '"' | '\\') {
                    out.push('\\');
                }
                out.push(if c.is_control() && c != '\t' { ' ' } else { c });
            }
            out.push('"');
            (used, none)
        }
        K::LiteralExtInstInteger => {
            let set = all.first().copied().unwrap_or(0);
            match GLSL_STD_450_INSTRUCTION_TABLE
                .lookup_opcode(word)
                .filter(|_| context.is_glsl(set))
            {
                Some(inst) => out.push_str(inst.opname),
                None => {
                    let _ = write!(out, "{word}");
                }
            }
            (1, none)
        }
        K::LiteralSpecConstantOpInteger => {
            let op = Op::from_u32(word).ok_or_else(|| format!("unknown opcode {word}"))?;
            let grammar = binary::grammar(op).ok_or_else(|| format!("unknown opcode {word}"))?;
            let _ = write!(out, "{op:?}");
            (1, spec_operands(grammar))
        }
        K::LiteralContextDependentNumber => (literal(out, context.literal(inst.ty), words).ok_or_else(cut)?, none),
        K::PairLiteralIntegerIdRef => {
            let selector = all.first().copied().unwrap_or(0);
            let used = literal(out, context.literal_of(selector), words).ok_or_else(cut)?;
            let target = words.get(used).ok_or_else(cut)?;
            let _ = write!(out, " %{target}");
            (used + 1, none)
        }
        K::PairIdRefLiteralInteger => {
            let _ = write!(out, "%{word} {}", second.ok_or_else(cut)?);
            (2, none)
        }
        K::PairIdRefIdRef => {
            let _ = write!(out, "%{word} %{}", second.ok_or_else(cut)?);
            (2, none)
        }
        _ if enums::is_value(kind) || enums::is_mask(kind) => {
            let name = enums::name(kind, word).ok_or_else(|| format!("unknown {kind:?} {word}"))?;
            out.push_str(&name);
            (1, enums::brings(kind, word))
        }
        _ => {
            let _ = write!(out, "{word}");
            (1, none)
        }
    })
}

/// The operands that an opcode takes as part of an `OpSpecConstantOp`.
pub(super) fn spec_operands(grammar: &rspirv::grammar::Instruction) -> Vec<LogicalOperand> {
    let plain = grammar
        .operands
        .iter()
        .filter(|o| !matches!(o.kind, K::IdResult | K::IdResultType));
    // Operations that have literals of their own context can't stand there.
    plain
        .filter(|o| o.kind != K::LiteralSpecConstantOpInteger)
        .cloned()
        .collect()
}

/// Prints a literal; gives the words that it takes.
fn literal(out: &mut String, of: Literal, words: &[u32]) -> Option<usize> {
    let low = *words.first()?;
    let high = || words.get(1).map(|&high| u64::from(high) << 32 | u64::from(low));
    let _ = match of {
        Literal::Int {
            width: 64,
            signed: true,
        } => write!(out, "{}", high()? as i64),
        Literal::Int { width: 64, .. } => write!(out, "{}", high()?),
        Literal::Int { signed: true, .. } => write!(out, "{}", low as i32),
        Literal::Int { .. } => write!(out, "{low}"),
        Literal::Float { width: 64 } => {
            let bits = high()?;
            match f64::from_bits(bits).is_finite() {
                true => write!(out, "{:?}", f64::from_bits(bits)),
                false => write!(out, "!{} !{}", bits as u32, bits >> 32),
            }
        }
        Literal::Float { width: 32 } if f32::from_bits(low).is_finite() => write!(out, "{:?}", f32::from_bits(low)),
        Literal::Float { .. } => write!(out, "!{low}"),
    };
    Some(of.words())
}
