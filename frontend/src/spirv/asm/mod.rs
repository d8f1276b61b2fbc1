//! SPIR-V assembly text to words, driven by rspirv's grammar tables; [`print`] is the way back.
//!
//! ```text
//! [%result =] OpName [%type] operands...        ; a comment
//! ```
//! Layout doesn't matter: an instruction begins at `%x =` or at a word that begins with `Op`. Ids have any names.
//! Numbers are decimal, `0x` hexadecimal, floats decimal; `!N` stands for any operand's raw word.

mod enums;
pub(super) mod print;

use super::binary::{self, HEADER, MAGIC};
use print::{Context, Literal};
use rspirv::grammar::{
    GLSL_STD_450_INSTRUCTION_TABLE, INSTRUCTION_TABLE, LogicalOperand, OperandKind as K, OperandQuantifier as Q,
};
use rspirv::spirv::Op;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;

/// A module made of text.
pub(super) struct Assembled {
    pub words: Vec<u32>,
    /// Where each instruction stands.
    pub ranges: Vec<Range<u32>>,
    /// The names of ids.
    pub names: FxHashMap<u32, String>,
}

/// What is wrong with the text, and where.
pub(super) type Problem = (String, Range<usize>);

struct Token<'t> {
    text: &'t str,
    at: Range<usize>,
}

struct Assembler<'t> {
    ids: FxHashMap<&'t str, u32>,
    context: Context,
    glsl: FxHashMap<&'static str, u32>,
    ops: FxHashMap<&'static str, Op>,
}

/// Assembles a text.
pub(super) fn assemble(text: &str) -> Result<Assembled, Problem> {
    let tokens = tokens(text)?;
    let mut assembler = Assembler {
        ids: FxHashMap::default(),
        context: Context::default(),
        glsl: GLSL_STD_450_INSTRUCTION_TABLE
            .iter()
            .map(|i| (i.opname, i.opcode.into()))
            .collect(),
        ops: INSTRUCTION_TABLE.iter().map(|i| (i.opname, i.opcode)).collect(),
    };
    let mut words = vec![MAGIC, 0x0001_0600, 0, 0, 0];
    debug_assert_eq!(words.len(), HEADER);
    let mut ranges = Vec::new();
    let mut rest = &tokens[..];
    while !rest.is_empty() {
        let begins = |i: usize| {
            let follows = |text| rest.get(i + 1).is_some_and(|t: &Token| t.text == text);
            is_op(rest[i].text) && !(i > 0 && rest[i - 1].text == "=") || rest[i].text.starts_with('%') && follows("=")
        };
        let len = (1..rest.len()).find(|&i| begins(i)).unwrap_or(rest.len());
        let (inst, after) = rest.split_at(len);
        assembler.instruction(inst, &mut words)?;
        ranges.push(inst[0].at.start as u32..inst[len - 1].at.end as u32);
        rest = after;
    }
    words[3] = assembler.ids.len() as u32 + 1;
    let named = assembler.ids.iter().filter(|(name, _)| name.parse::<u32>().is_err());
    let names = named.map(|(name, &id)| (id, (*name).to_owned())).collect();
    Ok(Assembled { words, ranges, names })
}

fn is_op(text: &str) -> bool {
    text.strip_prefix("Op")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, Problem> {
    let mut out = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        match c {
            ';' => {
                while chars.next_if(|&(_, c)| c != '\n').is_some() {}
                continue;
            }
            '"' => loop {
                match chars.next() {
                    Some((at, '\\')) => end = chars.next().map_or(at + 1, |(at, c)| at + c.len_utf8()),
                    Some((at, c)) => {
                        end = at + c.len_utf8();
                        if c == '"' {
                            break;
                        }
                    }
                    None => return Err(("a string without end".into(), start..end)),
                }
            },
            c if c.is_whitespace() => continue,
            _ => {
                while let Some((at, c)) = chars.next_if(|&(_, c)| !c.is_whitespace() && !matches!(c, ';' | '"')) {
                    end = at + c.len_utf8();
                }
            }
        }
        out.push(Token {
            text: &text[start..end],
            at: start..end,
        });
    }
    Ok(out)
}

impl<'t> Assembler<'t> {
    fn id(&mut self, token: &Token<'t>) -> Result<u32, Problem> {
        match token.text.strip_prefix('%') {
            Some(name) if !name.is_empty() => {
                let next = self.ids.len() as u32 + 1;
                Ok(*self.ids.entry(name).or_insert(next))
            }
            _ => Err((
                format!("an id (`%name`) was expected, not `{}`", token.text),
                token.at.clone(),
            )),
        }
    }

    fn instruction(&mut self, tokens: &[Token<'t>], words: &mut Vec<u32>) -> Result<(), Problem> {
        let (result, tokens) = match tokens {
            [id, equals, rest @ ..] if equals.text == "=" => (Some(id), rest),
            all => (None, all),
        };
        let last = result.map_or(0..0, |t| t.at.clone());
        let Some((name, mut rest)) = tokens.split_first() else {
            return Err(("an instruction was expected".into(), last));
        };
        let op = name.text.strip_prefix("Op").and_then(|n| self.ops.get(n)).copied();
        let Some((op, grammar)) = op.and_then(|op| Some((op, binary::grammar(op)?))) else {
            return Err((format!("there is no instruction `{}`", name.text), name.at.clone()));
        };
        let (has_type, has_id) = binary::results(grammar);
        let start = words.len();
        words.push(0);
        let mut ty = 0;
        if has_type {
            let Some((token, after)) = rest.split_first() else {
                return Err(("the result type is missing".into(), name.at.clone()));
            };
            ty = self.id(token)?;
            words.push(ty);
            rest = after;
        }
        let id = match (has_id, result) {
            (true, Some(token)) => self.id(token)?,
            (false, None) => 0,
            (true, None) => return Err((format!("`{}` has a result: write `%id = `", name.text), name.at.clone())),
            (false, Some(token)) => return Err((format!("`{}` has no result", name.text), token.at.clone())),
        };
        if has_id {
            words.push(id);
        }
        let first = words.len();
        let plain = grammar
            .operands
            .iter()
            .filter(|o| !matches!(o.kind, K::IdResult | K::IdResultType));
        let mut wanted: VecDeque<LogicalOperand> = plain.cloned().collect();
        while let Some(operand) = wanted.pop_front() {
            let Some((token, after)) = rest.split_first() else {
                match operand.quantifier {
                    Q::One => return Err((format!("`{}`: an operand is missing", name.text), name.at.clone())),
                    Q::ZeroOrOne | Q::ZeroOrMore => continue,
                }
            };
            if operand.quantifier == Q::ZeroOrMore {
                wanted.push_front(operand.clone());
            }
            if let Some(raw) = token.text.strip_prefix('!').and_then(integer) {
                words.push(raw as u32);
                rest = after;
                if operand.kind == K::LiteralContextDependentNumber && self.context.literal(ty).words() == 2 {
                    wanted.push_front(operand);
                }
                continue;
            }
            let selector = words.get(first).copied().unwrap_or(0);
            rest = self.operand(&operand.kind, token, after, (ty, selector), words, &mut wanted)?;
        }
        if let Some(token) = rest.first() {
            return Err((format!("`{}` takes no more operands", name.text), token.at.clone()));
        }
        let count = words.len() - start;
        if count > 0xffff {
            return Err((format!("`{}` has more than 65535 words", name.text), name.at.clone()));
        }
        words[start] = (count as u32) << 16 | op as u32;
        let operands = &words[first..];
        self.context.learn(op, ty, id, operands);
        Ok(())
    }

    fn operand<'a>(
        &mut self,
        kind: &K,
        token: &Token<'t>,
        after: &'a [Token<'t>],
        (ty, selector): (u32, u32),
        words: &mut Vec<u32>,
        wanted: &mut VecDeque<LogicalOperand>,
    ) -> Result<&'a [Token<'t>], Problem> {
        let bad = |what: &str| (format!("{what} was expected, not `{}`", token.text), token.at.clone());
        let second = || {
            after
                .split_first()
                .ok_or_else(|| ("an operand is missing".to_owned(), token.at.clone()))
        };
        match kind {
            K::IdRef | K::IdScope | K::IdMemorySemantics => words.push(self.id(token)?),
            K::LiteralInteger => words.push(integer(token.text).ok_or_else(|| bad("a number"))? as u32),
            K::LiteralFloat => {
                number(token.text, Literal::Float { width: 32 }, words).ok_or_else(|| bad("a number"))?
            }
            K::LiteralString => {
                let inner = token.text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
                let inner = inner.ok_or_else(|| bad("a string"))?;
                let mut text = String::new();
                let mut chars = inner.chars();
                while let Some(c) = chars.next() {
                    text.extend(if c == '\\' { chars.next() } else { Some(c) });
                }
                words.extend(binary::string_words(&text));
            }
            K::LiteralExtInstInteger => {
                let named = self.glsl.get(token.text).copied();
                let number = named.or_else(|| integer(token.text).map(|n| n as u32));
                words.push(number.ok_or_else(|| bad("an extended instruction"))?);
            }
            K::LiteralSpecConstantOpInteger => {
                let op = self.ops.get(token.text).copied();
                let grammar = op.and_then(binary::grammar).ok_or_else(|| bad("an operation"))?;
                words.push(grammar.opcode as u32);
                for operand in print::spec_operands(grammar).into_iter().rev() {
                    wanted.push_front(operand);
                }
            }
            K::LiteralContextDependentNumber => {
                number(token.text, self.context.literal(ty), words).ok_or_else(|| bad("a number"))?;
            }
            K::PairLiteralIntegerIdRef => {
                let of = self.context.literal_of(selector);
                number(token.text, of, words).ok_or_else(|| bad("a number"))?;
                let (target, after) = second()?;
                words.push(self.id(target)?);
                return Ok(after);
            }
            K::PairIdRefLiteralInteger => {
                words.push(self.id(token)?);
                let (value, after) = second()?;
                words.push(integer(value.text).ok_or_else(|| bad("a number"))? as u32);
                return Ok(after);
            }
            K::PairIdRefIdRef => {
                words.push(self.id(token)?);
                let (other, after) = second()?;
                words.push(self.id(other)?);
                return Ok(after);
            }
            _ if enums::is_value(kind) || enums::is_mask(kind) => {
                let word = enums::word(kind, token.text);
                let word = word.or_else(|| integer(token.text).map(|n| n as u32));
                let word = word.ok_or_else(|| bad(&format!("{kind:?}")))?;
                words.push(word);
                for operand in enums::brings(kind, word).into_iter().rev() {
                    wanted.push_front(operand);
                }
            }
            _ => words.push(integer(token.text).ok_or_else(|| bad("a number"))? as u32),
        }
        Ok(after)
    }
}

/// A decimal or hexadecimal integer; negative ones as two's complement.
fn integer(text: &str) -> Option<u64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Pushes the words of a literal.
fn number(text: &str, of: Literal, words: &mut Vec<u32>) -> Option<()> {
    match of {
        Literal::Int { width, .. } => {
            let value = integer(text)?;
            words.push(value as u32);
            if width == 64 {
                words.push((value >> 32) as u32);
            }
        }
        Literal::Float { width: 64 } => {
            let bits = text.parse::<f64>().ok()?.to_bits();
            words.extend([bits as u32, (bits >> 32) as u32]);
        }
        Literal::Float { width: 16 } => {
            words.push(u32::from(half::f16::from_f64(text.parse().ok()?).to_bits()));
        }
        Literal::Float { .. } => words.push(text.parse::<f32>().ok()?.to_bits()),
    }
    Some(())
}
