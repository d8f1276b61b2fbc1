//! Names of enumerants and bits, both ways, by operand kind; and the operands that an enumerant brings along.

use rspirv::dr::Operand;
use rspirv::grammar::{LogicalOperand, OperandKind as K};
use rspirv::spirv;

macro_rules! values {
    ($($kind:ident)*) => {
        /// The name of a value; `None` if the kind has no such value or is no enumeration.
        fn value_name(kind: &K, word: u32) -> Option<String> {
            match kind {
                $(K::$kind => spirv::$kind::from_u32(word).map(|v| format!("{v:?}")),)*
                _ => None,
            }
        }

        fn value_of(kind: &K, name: &str) -> Option<u32> {
            match kind {
                $(K::$kind => name.parse::<spirv::$kind>().ok().map(|v| v as u32),)*
                _ => None,
            }
        }

        /// Whether operands of this kind are one enumerant.
        pub fn is_value(kind: &K) -> bool {
            matches!(kind, $(K::$kind)|*)
        }
    };
}

macro_rules! masks {
    ($($kind:ident)*) => {
        fn mask_names(kind: &K, word: u32) -> Option<Vec<&'static str>> {
            match kind {
                $(K::$kind => Some(spirv::$kind::from_bits(word)?.iter_names().map(|(name, _)| name).collect()),)*
                _ => None,
            }
        }

        fn bit_of(kind: &K, wanted: &str) -> Option<u32> {
            match kind {
                $(K::$kind => spirv::$kind::all()
                    .iter_names()
                    .find(|(name, _)| same(name, wanted))
                    .map(|(_, bit)| bit.bits()),)*
                _ => None,
            }
        }

        /// Whether operands of this kind are a set of bits.
        pub fn is_mask(kind: &K) -> bool {
            matches!(kind, $(K::$kind)|*)
        }
    };
}

values! {
    SourceLanguage ExecutionModel AddressingModel MemoryModel ExecutionMode StorageClass Dim SamplerAddressingMode
    SamplerFilterMode ImageFormat ImageChannelOrder ImageChannelDataType FPRoundingMode FPDenormMode FPOperationMode
    LinkageType AccessQualifier FunctionParameterAttribute Decoration BuiltIn Scope GroupOperation Capability
    PackedVectorFormat FPEncoding
}

masks! {
    ImageOperands FPFastMathMode SelectionControl LoopControl FunctionControl MemorySemantics MemoryAccess
}

/// Bits are constants with underscores in rspirv, and written without in SPIR-V.
fn same(constant: &str, name: &str) -> bool {
    constant
        .chars()
        .filter(|&c| c != '_')
        .map(|c| c.to_ascii_lowercase())
        .eq(name.chars().map(|c| c.to_ascii_lowercase()))
}

fn camel(constant: &str) -> String {
    let words = constant.split('_').map(|word| match word.split_at_checked(1) {
        Some((first, rest)) => format!("{first}{}", rest.to_ascii_lowercase()),
        None => String::new(),
    });
    words.collect()
}

/// How the text form writes the operand.
pub(super) fn name(kind: &K, word: u32) -> Option<String> {
    if is_mask(kind) {
        let names = mask_names(kind, word)?;
        return Some(match names.is_empty() {
            true => "None".to_owned(),
            false => names.into_iter().map(camel).collect::<Vec<_>>().join("|"),
        });
    }
    let name = value_name(kind, word)?;
    Some(match kind {
        K::Dim => name.trim_start_matches("Dim").to_owned(),
        _ => name,
    })
}

/// The operand's word.
pub(super) fn word(kind: &K, text: &str) -> Option<u32> {
    if is_mask(kind) {
        if text == "None" {
            return Some(0);
        }
        return text
            .split('|')
            .try_fold(0, |bits, name| Some(bits | bit_of(kind, name.trim())?));
    }
    value_of(kind, text).or_else(|| match kind {
        K::Dim => value_of(kind, &format!("Dim{text}")),
        _ => None,
    })
}

/// Operands that follow because of this enumerant.
pub(super) fn brings(kind: &K, word: u32) -> Vec<LogicalOperand> {
    let operand = match kind {
        K::ImageOperands => spirv::ImageOperands::from_bits(word).map(Operand::ImageOperands),
        K::MemoryAccess => spirv::MemoryAccess::from_bits(word).map(Operand::MemoryAccess),
        K::LoopControl => spirv::LoopControl::from_bits(word).map(Operand::LoopControl),
        K::ExecutionMode => spirv::ExecutionMode::from_u32(word).map(Operand::ExecutionMode),
        K::Decoration => spirv::Decoration::from_u32(word).map(Operand::Decoration),
        _ => None,
    };
    operand.map(|o| o.additional_operands()).unwrap_or_default()
}
