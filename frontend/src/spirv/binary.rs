//! Words to instructions: header, byte order, word counts. Which operands an opcode takes comes from rspirv's grammar.

use super::report::{Failure, Result};
use crate::diagnostic::ShaderErrorKind;
use rspirv::grammar::{INSTRUCTION_TABLE, Instruction, OperandKind};
use rspirv::spirv::Op;
use std::sync::OnceLock;

/// The first word of a module.
pub(super) const MAGIC: u32 = 0x0723_0203;
/// Words before the first instruction.
pub(super) const HEADER: usize = 5;
/// Largest accepted bound of the ids (the specification's universal limit).
pub(super) const MAX_BOUND: u32 = 0x3F_FFFF + 1;
/// Longest accepted module, in words.
pub(super) const MAX_WORDS: usize = 2 << 20;

/// An instruction: opcode, result, and where its other operands are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    pub op: Op,
    /// Result type, 0 if there is none.
    pub ty: u32,
    /// Result, 0 if there is none.
    pub id: u32,
    /// Operand words.
    first: u32,
    end: u32,
}

/// The words of a module, cut into instructions.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub words: Vec<u32>,
    pub insts: Vec<Inst>,
    /// All ids are below.
    pub bound: u32,
}

/// The grammar of an opcode.
pub(super) fn grammar(op: Op) -> Option<&'static Instruction<'static>> {
    static TABLE: OnceLock<Vec<Option<&'static Instruction<'static>>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = Vec::new();
        for inst in INSTRUCTION_TABLE.iter() {
            let at = inst.opcode as usize;
            if table.len() <= at {
                table.resize(at + 1, None);
            }
            table[at] = Some(inst);
        }
        table
    });
    table.get(op as usize).copied().flatten()
}

/// Whether the opcode has a result type, and a result.
pub(super) fn results(grammar: &Instruction) -> (bool, bool) {
    let has = |kind| grammar.operands.iter().any(|o| o.kind == kind);
    (has(OperandKind::IdResultType), has(OperandKind::IdResult))
}

/// Bytes to words, in the byte order that the magic number tells.
pub(super) fn words_of(bytes: &[u8]) -> std::result::Result<Vec<u32>, String> {
    if !bytes.len().is_multiple_of(4) {
        return Err(format!("{} bytes are no whole number of words", bytes.len()));
    }
    let words = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut words: Vec<u32> = words.collect();
    if words.first() == Some(&MAGIC.swap_bytes()) {
        words.iter_mut().for_each(|word| *word = word.swap_bytes());
    }
    Ok(words)
}

impl Words {
    /// Cuts the words.
    pub fn cut(words: Vec<u32>) -> Result<Words> {
        let syntax = |message: String| Failure::new(ShaderErrorKind::Syntax, message, None);
        if words.len() > MAX_WORDS {
            let message = format!("the module has {} words; at most {MAX_WORDS} are accepted", words.len());
            return Err(Failure::limit(message, None));
        }
        if words.len() < HEADER || words[0] != MAGIC {
            return Err(syntax(
                "this is no SPIR-V module: it doesn't begin with the magic number".into(),
            ));
        }
        let bound = words[3];
        if bound > MAX_BOUND {
            return Err(Failure::limit(
                format!("ids go up to {bound}; at most {MAX_BOUND} are accepted"),
                None,
            ));
        }
        let mut insts = Vec::new();
        let mut at = HEADER;
        while let Some(&head) = words.get(at) {
            let (count, opcode) = ((head >> 16) as usize, head & 0xffff);
            let offset = 4 * at;
            if count == 0 || at + count > words.len() {
                return Err(syntax(format!(
                    "the instruction at byte {offset} has a wrong word count"
                )));
            }
            let Some((op, grammar)) = Op::from_u32(opcode).and_then(|op| Some((op, grammar(op)?))) else {
                let what = format!("opcode {opcode} (at byte {offset})");
                return Err(Failure::unsupported(what, None));
            };
            let (has_type, has_id) = results(grammar);
            let first = at + 1 + usize::from(has_type) + usize::from(has_id);
            if first > at + count {
                return Err(syntax(format!("Op{op:?} at byte {offset} is too short")));
            }
            let ty = if has_type { words[at + 1] } else { 0 };
            let id = if has_id { words[first - 1] } else { 0 };
            if (has_type && !(1..bound).contains(&ty)) || (has_id && !(1..bound).contains(&id)) {
                return Err(syntax(format!(
                    "Op{op:?} at byte {offset} has an id outside the module's bound"
                )));
            }
            insts.push(Inst {
                op,
                ty,
                id,
                first: first as u32,
                end: (at + count) as u32,
            });
            at += count;
        }
        Ok(Words { words, insts, bound })
    }

    /// Byte offset of an instruction.
    pub fn offset(inst: &Inst) -> usize {
        4 * (inst.first as usize - 1 - usize::from(inst.ty != 0) - usize::from(inst.id != 0))
    }

    /// The operands without the result.
    pub fn operands(&self, inst: &Inst) -> &[u32] {
        self.words.get(inst.first as usize..inst.end as usize).unwrap_or(&[])
    }
}

/// A literal string: its text, and the words that it takes.
pub(super) fn string(words: &[u32]) -> Option<(String, usize)> {
    let mut bytes = Vec::new();
    for (i, word) in words.iter().enumerate() {
        for byte in word.to_le_bytes() {
            if byte == 0 {
                return Some((String::from_utf8_lossy(&bytes).into_owned(), i + 1));
            }
            bytes.push(byte);
        }
    }
    None
}

/// The words of a literal string.
pub(super) fn string_words(text: &str) -> impl Iterator<Item = u32> {
    let mut bytes: Vec<u8> = text.bytes().filter(|&b| b != 0).collect();
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    words.into_iter()
}
