//! A parsed module: what each id is, types, decorations, entry points, functions cut into blocks.
//!
//! Everything is checked for form only; what an entry point doesn't reach is never looked at.

use super::binary::{Inst, Words, string};
use super::report::{Failure, Result};
use super::types::{Image, Ty};
use crate::ir::Stage;
use crate::memory::shape::Scalar;
use rspirv::spirv::{Capability, Decoration, ExecutionModel, Op, StorageClass};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Deepest nesting of types (the specification's universal limit).
const MAX_TYPE_DEPTH: u32 = 255;

/// A decoration with its operands.
pub(super) type Decor = (Decoration, Vec<u32>);

/// An entry point.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: String,
    pub model: ExecutionModel,
    pub function: u32,
    pub interface: Vec<u32>,
    /// Index of its instruction.
    pub at: usize,
    /// Execution modes.
    pub modes: Vec<(u32, Vec<u32>)>,
}

impl Entry {
    pub fn stage(&self) -> Option<Stage> {
        match self.model {
            ExecutionModel::Vertex => Some(Stage::Vertex),
            ExecutionModel::Fragment => Some(Stage::Fragment),
            ExecutionModel::GLCompute => Some(Stage::Compute),
            _ => None,
        }
    }
}

/// A basic block: its instructions without the label, the terminator last.
#[derive(Debug)]
pub(super) struct Block {
    pub insts: Range<usize>,
}

/// A function.
#[derive(Debug)]
pub(super) struct Function {
    pub id: u32,
    pub result: u32,
    pub params: Vec<u32>,
    /// The first block; 0 for a declaration.
    pub entry: u32,
    pub insts: Range<usize>,
}

/// A parsed module.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub words: Words,
    pub types: FxHashMap<u32, Ty>,
    /// Index of the instruction that defines an id, plus one.
    defs: Vec<u32>,
    pub names: FxHashMap<u32, String>,
    pub member_names: FxHashMap<(u32, u32), String>,
    pub decorations: FxHashMap<u32, Vec<Decor>>,
    pub member_decorations: FxHashMap<(u32, u32), Vec<Decor>>,
    pub entries: Vec<Entry>,
    pub functions: Vec<Function>,
    pub function_by_id: FxHashMap<u32, usize>,
    pub blocks: FxHashMap<u32, Block>,
    pub glsl: FxHashSet<u32>,
    /// Sets whose instructions mean nothing.
    pub non_semantic: FxHashSet<u32>,
    /// Module-scope variables, in order.
    pub variables: Vec<u32>,
    pub spec_constants: Vec<u32>,
}

/// Capabilities that say nothing, or whose instructions are each looked at where they stand.
fn known(capability: Capability) -> bool {
    use Capability as C;
    !matches!(
        capability,
        C::Kernel
            | C::Addresses
            | C::Linkage
            | C::PhysicalStorageBufferAddresses
            | C::VariablePointers
            | C::VariablePointersStorageBuffer
            | C::RayQueryKHR
            | C::RayTracingKHR
            | C::MeshShadingEXT
            | C::MeshShadingNV
            | C::FragmentShaderSampleInterlockEXT
            | C::FragmentShaderPixelInterlockEXT
            | C::FragmentShaderShadingRateInterlockEXT
            | C::FragmentBarycentricKHR
            | C::FragmentDensityEXT
            | C::FragmentShadingRateKHR
            | C::StencilExportEXT
            | C::InputAttachment
            | C::InputAttachmentArrayDynamicIndexing
            | C::CooperativeMatrixKHR
            | C::CooperativeMatrixNV
            | C::TransformFeedback
            | C::GeometryStreams
            | C::RoundingModeRTZ
            | C::SubgroupBallotKHR
            | C::SubgroupVoteKHR
            | C::AtomicFloat32AddEXT
            | C::AtomicFloat32MinMaxEXT
            | C::Int64Atomics
            | C::Int64ImageEXT
            | C::RuntimeDescriptorArray
    )
}

impl Parsed {
    /// Reads the declarations.
    pub fn new(words: Words) -> Result<Parsed> {
        let mut m = Parsed {
            defs: vec![0; words.bound as usize],
            words,
            ..Parsed::default()
        };
        let mut depths = FxHashMap::default();
        let mut modes = Vec::new();
        let mut groups: Vec<(u32, u32)> = Vec::new();
        let mut function: Option<Function> = None;
        let mut block: Option<(u32, usize)> = None;
        for index in 0..m.words.insts.len() {
            let inst = m.words.insts[index];
            let operands = m.words.operands(&inst).to_vec();
            let operand = |i: usize| operands.get(i).copied().unwrap_or(0);
            let at = Some(index);
            if inst.id != 0 {
                match m.defs.get_mut(inst.id as usize) {
                    Some(def) if *def == 0 => *def = index as u32 + 1,
                    _ => return Err(Failure::invalid(format!("%{} is defined twice", inst.id), at)),
                }
            }
            match inst.op {
                Op::Capability => {
                    if let Some(capability) = Capability::from_u32(operand(0)).filter(|&c| !known(c)) {
                        return Err(Failure::unsupported(format!("the capability {capability:?}"), at));
                    }
                }
                Op::ExtInstImport => {
                    let name = string(&operands).map(|(name, _)| name).unwrap_or_default();
                    if name == "GLSL.std.450" {
                        m.glsl.insert(inst.id);
                    } else if name.starts_with("NonSemantic.") {
                        m.non_semantic.insert(inst.id);
                    } else {
                        return Err(Failure::unsupported(
                            format!("the extended instruction set `{name}`"),
                            at,
                        ));
                    }
                }
                Op::MemoryModel if operand(0) != 0 => {
                    return Err(Failure::unsupported("an addressing model other than Logical", at));
                }
                Op::EntryPoint => {
                    let (name, used) = string(operands.get(2..).unwrap_or(&[])).unwrap_or_default();
                    m.entries.push(Entry {
                        name,
                        model: ExecutionModel::from_u32(operand(0))
                            .ok_or_else(|| Failure::invalid("an unknown execution model", at))?,
                        function: operand(1),
                        interface: operands.get(2 + used..).unwrap_or(&[]).to_vec(),
                        at: index,
                        modes: Vec::new(),
                    });
                }
                Op::ExecutionMode | Op::ExecutionModeId => {
                    modes.push((operand(0), operand(1), operands.get(2..).unwrap_or(&[]).to_vec()));
                }
                Op::Name => {
                    if let Some((name, _)) = string(operands.get(1..).unwrap_or(&[])).filter(|(n, _)| !n.is_empty()) {
                        m.names.insert(operand(0), name);
                    }
                }
                Op::MemberName => {
                    if let Some((name, _)) = string(operands.get(2..).unwrap_or(&[])) {
                        m.member_names.insert((operand(0), operand(1)), name);
                    }
                }
                Op::Decorate | Op::DecorateId => {
                    if let Some(decoration) = Decoration::from_u32(operand(1)) {
                        let arguments = operands.get(2..).unwrap_or(&[]).to_vec();
                        m.decorations
                            .entry(operand(0))
                            .or_default()
                            .push((decoration, arguments));
                    }
                }
                Op::MemberDecorate => {
                    if let Some(decoration) = Decoration::from_u32(operand(2)) {
                        let arguments = operands.get(3..).unwrap_or(&[]).to_vec();
                        let key = (operand(0), operand(1));
                        m.member_decorations
                            .entry(key)
                            .or_default()
                            .push((decoration, arguments));
                    }
                }
                Op::GroupDecorate => groups.extend(operands.iter().skip(1).map(|&target| (operand(0), target))),
                Op::GroupMemberDecorate => {
                    return Err(Failure::unsupported("OpGroupMemberDecorate", at));
                }
                Op::SpecConstant | Op::SpecConstantTrue | Op::SpecConstantFalse => m.spec_constants.push(inst.id),
                Op::Variable if function.is_none() => m.variables.push(inst.id),
                Op::Function => {
                    if function.is_some() {
                        return Err(Failure::invalid("a function within a function", at));
                    }
                    function = Some(Function {
                        id: inst.id,
                        result: inst.ty,
                        params: Vec::new(),
                        entry: 0,
                        insts: index..index,
                    });
                }
                Op::FunctionParameter => match &mut function {
                    Some(function) => function.params.push(inst.id),
                    None => return Err(Failure::invalid("a parameter outside a function", at)),
                },
                Op::FunctionEnd => match function.take() {
                    Some(mut function) if block.is_none() => {
                        function.insts.end = index;
                        m.function_by_id.insert(function.id, m.functions.len());
                        m.functions.push(function);
                    }
                    _ => return Err(Failure::invalid("OpFunctionEnd where no function ends", at)),
                },
                Op::Label => match &mut function {
                    Some(function) if block.is_none() => {
                        if function.entry == 0 {
                            function.entry = inst.id;
                        }
                        block = Some((inst.id, index + 1));
                    }
                    _ => return Err(Failure::invalid("OpLabel where no block begins", at)),
                },
                op if rspirv::grammar::reflect::is_block_terminator(op) => match block.take() {
                    Some((label, first)) => {
                        let insts = first..index + 1;
                        m.blocks.insert(label, Block { insts });
                    }
                    None => return Err(Failure::invalid("a terminator outside a block", at)),
                },
                op if function.is_some() && block.is_none() && !matches!(op, Op::Line | Op::NoLine | Op::ExtInst) => {
                    return Err(Failure::invalid(format!("Op{op:?} outside a block"), at));
                }
                op if format!("{op:?}").starts_with("Type") && inst.id != 0 => {
                    let depth = m.read_type(&inst, &operands, at, &depths)?;
                    depths.insert(inst.id, depth);
                }
                _ => {}
            }
        }
        if function.is_some() {
            return Err(Failure::invalid("the last function has no end", None));
        }
        for (function, mode, arguments) in modes {
            let of = m.entries.iter_mut().filter(|e| e.function == function);
            of.for_each(|e| e.modes.push((mode, arguments.clone())));
        }
        for (group, target) in groups {
            let decorations = m.decorations.get(&group).cloned().unwrap_or_default();
            m.decorations.entry(target).or_default().extend(decorations);
        }
        Ok(m)
    }

    fn read_type(
        &mut self,
        inst: &Inst,
        operands: &[u32],
        at: Option<usize>,
        depths: &FxHashMap<u32, u32>,
    ) -> Result<u32> {
        let operand = |i: usize| operands.get(i).copied().unwrap_or(0);
        let mut depth = 0;
        // Types come before what is made of them; so no type contains itself.
        let mut part = |id: u32| match depths.get(&id) {
            Some(&inner) if inner < MAX_TYPE_DEPTH => {
                depth = depth.max(inner + 1);
                Ok(id)
            }
            Some(_) => Err(Failure::limit(
                format!("types are nested more than {MAX_TYPE_DEPTH} deep"),
                at,
            )),
            None => Err(Failure::invalid(format!("%{id} is no type"), at)),
        };
        let ty = match inst.op {
            Op::TypeVoid => Ty::Void,
            Op::TypeBool => Ty::Scalar(Scalar::plain(crate::ir::Kind::Bool)),
            Op::TypeInt | Op::TypeFloat => {
                let float = inst.op == Op::TypeFloat;
                let scalar = super::types::scalar(float, operand(0), !float && operand(1) != 0);
                let scalar = scalar.filter(|_| !(float && operands.len() > 1));
                match scalar {
                    Some(scalar) => Ty::Scalar(scalar),
                    None => Ty::Opaque(inst.op),
                }
            }
            Op::TypeVector => match operand(1) {
                size @ 2..=4 => Ty::Vector(part(operand(0))?, size),
                size => return Err(Failure::unsupported(format!("a vector of {size} components"), at)),
            },
            Op::TypeMatrix => match operand(1) {
                columns @ 2..=4 => Ty::Matrix(part(operand(0))?, columns),
                columns => return Err(Failure::invalid(format!("a matrix of {columns} columns"), at)),
            },
            Op::TypeArray => Ty::Array(part(operand(0))?, operand(1)),
            Op::TypeRuntimeArray => Ty::RuntimeArray(part(operand(0))?),
            Op::TypeStruct => Ty::Struct(operands.iter().map(|&id| part(id)).collect::<Result<_>>()?),
            Op::TypePointer => match StorageClass::from_u32(operand(0)) {
                Some(class) => Ty::Pointer(class, part(operand(1))?),
                None => return Err(Failure::invalid("an unknown storage class", at)),
            },
            Op::TypeFunction => Ty::Opaque(inst.op),
            Op::TypeImage => Ty::Image(Image::read(operands)),
            Op::TypeSampler => Ty::Sampler,
            Op::TypeSampledImage => Ty::SampledImage(part(operand(0))?),
            op => Ty::Opaque(op),
        };
        self.types.insert(inst.id, ty);
        Ok(depth)
    }

    /// The instruction that defines an id, and its index.
    pub fn def(&self, id: u32) -> Option<(usize, &Inst)> {
        let index = (*self.defs.get(id as usize)? as usize).checked_sub(1)?;
        Some((index, self.words.insts.get(index)?))
    }

    /// The type of an id's value.
    pub fn type_of(&self, id: u32) -> u32 {
        self.def(id).map_or(0, |(_, inst)| inst.ty)
    }

    /// An index that is the same whatever the pipeline says.
    pub fn plain_constant(&self, id: u32) -> Option<u32> {
        let (_, inst) = self.def(id)?;
        match (inst.op, self.words.operands(inst)) {
            (Op::Constant, &[value]) => Some(value),
            (Op::ConstantNull, _) => Some(0),
            _ => None,
        }
    }

    /// A decoration of an id.
    pub fn decoration(&self, id: u32, wanted: Decoration) -> Option<&[u32]> {
        find(self.decorations.get(&id)?, wanted)
    }

    /// A decoration of a struct's member.
    pub fn member_decoration(&self, id: u32, member: u32, wanted: Decoration) -> Option<&[u32]> {
        find(self.member_decorations.get(&(id, member))?, wanted)
    }

    /// The name of an id, may be empty.
    pub fn name(&self, id: u32) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }
}

pub(super) fn find(decorations: &[Decor], wanted: Decoration) -> Option<&[u32]> {
    decorations
        .iter()
        .find(|(d, _)| *d == wanted)
        .map(|(_, arguments)| arguments.as_slice())
}
