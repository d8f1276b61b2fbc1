//! Machine code as text: labels for branch targets, names for constants with their values.

use super::widen;
use iced_x86::{FlowControl, Formatter, Instruction, IntelFormatter, SymbolResolver, SymbolResult};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Names of addresses in the code.
#[derive(Clone, Default)]
struct Names {
    labels: BTreeMap<u64, String>,
    constants: BTreeMap<u64, String>,
    /// Addresses outside of the code that it names as numbers.
    known: Vec<(u64, &'static str)>,
}

impl Names {
    fn of(instructions: &[Instruction], known: &[(u64, &'static str)]) -> Names {
        let mut targets = BTreeSet::new();
        let mut constants = BTreeSet::new();
        for inst in instructions {
            if matches!(
                inst.flow_control(),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            ) {
                targets.insert(inst.near_branch_target());
            }
            if inst.is_ip_rel_memory_operand() {
                constants.insert(inst.ip_rel_memory_address());
            }
        }
        let number = |set: BTreeSet<u64>, prefix: &str| {
            let names = set.into_iter().enumerate();
            names.map(|(i, at)| (at, format!("{prefix}{i}"))).collect()
        };
        Names {
            labels: number(targets, "L"),
            constants: number(constants, "C"),
            known: known.to_vec(),
        }
    }
}

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _: u32,
        _: Option<u32>,
        address: u64,
        size: u32,
    ) -> Option<SymbolResult<'_>> {
        if size != 8 {
            return None;
        }
        // Immediates may be any number; only what is an address gets a name.
        let names = if instruction.is_ip_rel_memory_operand() {
            &self.constants
        } else if instruction.flow_control() != FlowControl::Next {
            &self.labels
        } else if let Some((_, name)) = self.known.iter().find(|(at, _)| *at == address) {
            return Some(SymbolResult::with_str(address, name));
        } else {
            return None;
        };
        Some(SymbolResult::with_str(address, names.get(&address)?))
    }
}

/// The code of a function as Cranelift or the widener finished it (x86-64), in Intel's syntax. `known` are addresses
/// outside that the code may name.
///
/// # Errors
/// If it can't be read, with where.
pub(super) fn disassemble(code: &[u8], known: &[(u64, &'static str)]) -> Result<String, widen::Declined> {
    let instructions = widen::instructions(code)?;
    let names = Names::of(&instructions, known);
    let mut formatter = IntelFormatter::with_options(Some(Box::new(names.clone())), None);
    let options = formatter.options_mut();
    options.set_first_operand_char_index(14);
    options.set_space_after_operand_separator(true);
    options.set_show_branch_size(false);
    options.set_rip_relative_addresses(false);
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    let mut out = String::new();
    let mut line = String::new();
    for inst in &instructions {
        if let Some(label) = names.labels.get(&inst.ip()) {
            let _ = writeln!(out, "{label}:");
        }
        line.clear();
        formatter.format(inst, &mut line);
        let _ = writeln!(out, "  {:5x}  {line}", inst.ip());
    }
    for (at, name) in &names.constants {
        let words = code.get(*at as usize..).unwrap_or_default().chunks_exact(4).take(4);
        let _ = write!(out, "{name}:");
        for word in words {
            let word = word.iter().rev().fold(0u32, |w, b| w << 8 | u32::from(*b));
            let float = f32::from_bits(word);
            let plain = word == 0 || float.is_normal() && (1e-6..1e9).contains(&float.abs());
            let _ = match plain {
                true => write!(out, "  {word:#010x} ({float:?})"),
                false => write!(out, "  {word:#010x}"),
            };
        }
        out.push('\n');
    }
    Ok(out)
}
