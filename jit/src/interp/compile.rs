//! Flattens a structured body into the compact program: one register per value and local, one mask per construct.

use super::code::{Array, Code, Inst, Mask, Reg, Slot};
use super::watch::What;
use crate::program::{CompileError, Program, ProgramKind};
use quadrille_frontend::ir::{Body, Case, Inst as IrInst, Kind, Label, LoopBound, Op, ResourceRef, Stmt, Value};
use std::collections::BTreeMap;

pub(super) fn compile(program: &Program) -> Result<Code, CompileError> {
    let f = &program.function;
    let values = f.values.len();
    let mut c = Compiler {
        program,
        code: Code {
            registers: values + f.locals.len(),
            ..Code::default()
        },
        labels: BTreeMap::new(),
        masks: 0,
        origin: None,
    };
    match program.kind {
        ProgramKind::Fragment { samples, plane_stride } => {
            c.code.plane_stride = plane_stride as usize;
            c.code.samples = samples.into();
            c.code.wide_pairs = samples > 4;
        }
        ProgramKind::Vertex { cells_in, cells_out } => {
            c.code.cells_in = cells_in as usize;
            c.code.cells_out = cells_out as usize;
        }
    }
    for (handle, local) in f.locals.iter() {
        c.check_kind(local.kind, "local", None)?;
        c.code
            .inits
            .push(((values + handle.index()) as Reg, lane_bits(local.kind, local.init.bits)));
    }
    for (_, array) in f.arrays.iter() {
        c.check_kind(array.kind, "array", None)?;
        let first = c.code.array_words;
        c.code.array_words += array.len as usize;
        c.code.arrays.push(Array {
            first,
            len: array.len,
            init: array.init.clone(),
        });
    }
    c.body(&f.body)?;
    c.code.masks = c.masks as usize;
    Ok(c.code)
}

/// A constant as lanes hold it: bools are masks.
fn lane_bits(kind: Kind, bits: u64) -> u32 {
    if kind == Kind::Bool {
        if bits != 0 { u32::MAX } else { 0 }
    } else {
        bits as u32
    }
}

#[derive(Clone, Copy)]
struct LabelMasks {
    broken: Mask,
    continued: Option<Mask>,
}

struct Compiler<'a> {
    program: &'a Program,
    code: Code,
    labels: BTreeMap<Label, LabelMasks>,
    masks: Mask,
    /// What the next instruction is to whoever watches.
    origin: Option<What>,
}

impl Compiler<'_> {
    fn unsupported<T>(&self, what: impl Into<String>, inst: Option<&IrInst>) -> Result<T, CompileError> {
        Err(CompileError::Unsupported {
            what: what.into(),
            executor: "interp",
            span: inst.and_then(|i| i.span),
        })
    }

    fn check_kind(&self, kind: Kind, what: &str, inst: Option<&IrInst>) -> Result<(), CompileError> {
        if matches!(kind, Kind::Bool | Kind::I32 | Kind::U32 | Kind::F32) {
            Ok(())
        } else {
            self.unsupported(format!("{what} of kind {kind}"), inst)
        }
    }

    fn mask(&mut self) -> Mask {
        self.masks += 1;
        self.masks - 1
    }

    fn reg(&self, value: Value) -> Reg {
        value.index() as Reg
    }

    fn local(&self, index: usize) -> Reg {
        (self.program.function.values.len() + index) as Reg
    }

    fn emit(&mut self, inst: Inst) -> usize {
        self.code.insts.push(inst);
        self.code.origins.push(self.origin.take());
        self.code.insts.len() - 1
    }

    fn here(&self) -> u32 {
        self.code.insts.len() as u32
    }

    fn body(&mut self, body: &Body) -> Result<(), CompileError> {
        for stmt in body {
            self.stmt(stmt)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), CompileError> {
        match stmt {
            Stmt::Inst(id) => {
                let program = self.program;
                self.origin = Some(What::Inst(*id));
                self.inst(&program.function.insts[*id])?;
                self.origin = None;
                Ok(())
            }
            Stmt::Block { label, body } => {
                let broken = self.mask();
                self.labels.insert(
                    *label,
                    LabelMasks {
                        broken,
                        continued: None,
                    },
                );
                self.emit(Inst::Block { broken });
                self.body(body)?;
                self.emit(Inst::EndBlock { broken });
                Ok(())
            }
            Stmt::If {
                cond,
                then,
                otherwise,
                span,
            } => {
                self.origin = Some(What::Branch { on: *cond, span: *span });
                let (cond, saved, then_mask) = (self.reg(*cond), self.mask(), self.mask());
                let start = self.emit(Inst::If {
                    cond,
                    saved,
                    otherwise: 0,
                });
                self.body(then)?;
                let middle = self.emit(Inst::Else {
                    cond,
                    saved,
                    then: then_mask,
                    end: 0,
                });
                self.body(otherwise)?;
                let end = self.emit(Inst::EndIf { then: then_mask });
                self.code.insts[start] = Inst::If {
                    cond,
                    saved,
                    otherwise: middle as u32,
                };
                self.code.insts[middle] = Inst::Else {
                    cond,
                    saved,
                    then: then_mask,
                    end: end as u32,
                };
                Ok(())
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span,
            } => {
                let (broken, continued) = (self.mask(), self.mask());
                self.labels.insert(
                    *label,
                    LabelMasks {
                        broken,
                        continued: Some(continued),
                    },
                );
                let start = self.emit(Inst::Loop { broken, end: 0 });
                let head = self.here();
                let budget = (*bound == LoopBound::Budgeted).then(|| {
                    self.code.loop_spans.push(*span);
                    self.code.loop_spans.len() as u32 - 1
                });
                self.origin = Some(What::Iteration { span: *span });
                self.emit(Inst::Iterate { continued, budget });
                self.body(body)?;
                self.emit(Inst::Continuing { continued });
                self.body(continuing)?;
                let break_if = break_if.map(|v| self.reg(v));
                self.emit(Inst::EndLoop { broken, break_if, head });
                let end = self.here();
                self.code.insts[start] = Inst::Loop { broken, end };
                Ok(())
            }
            Stmt::Switch {
                label,
                selector,
                cases,
                span,
            } => {
                self.origin = Some(What::Branch {
                    on: *selector,
                    span: *span,
                });
                self.switch(*label, *selector, cases)
            }
            Stmt::Break(label) => {
                let broken = self.labels[label].broken;
                self.emit(Inst::Break { broken });
                Ok(())
            }
            Stmt::Continue(label) => {
                let Some(continued) = self.labels[label].continued else {
                    return Err(CompileError::Internal("continue of something that is no loop".into()));
                };
                self.emit(Inst::Continue { continued });
                Ok(())
            }
            Stmt::Return(_) => {
                self.emit(Inst::Return);
                Ok(())
            }
        }
    }

    fn switch(&mut self, label: Label, selector: Value, cases: &[Case]) -> Result<(), CompileError> {
        let (broken, fall) = (self.mask(), self.mask());
        self.labels.insert(
            label,
            LabelMasks {
                broken,
                continued: None,
            },
        );
        let entries: Vec<Mask> = cases.iter().map(|_| self.mask()).collect();
        let table = cases
            .iter()
            .zip(&entries)
            .map(|(c, &m)| (c.values.clone().into_boxed_slice(), m))
            .collect();
        let default = cases.iter().position(|c| c.default).map(|i| entries[i]);
        let selector = self.reg(selector);
        self.emit(Inst::Switch {
            selector,
            broken,
            fall,
            cases: table,
            default,
        });
        for (case, &entry) in cases.iter().zip(&entries) {
            self.emit(Inst::Case { entry, fall });
            self.body(&case.body)?;
            self.emit(Inst::EndCase {
                broken,
                fall,
                falls_through: case.falls_through,
            });
        }
        self.emit(Inst::EndSwitch { broken, fall });
        Ok(())
    }

    /// The slot operand; takes the element's register off the front of `args` if there is one.
    fn slot(&self, r: ResourceRef, args: &mut &[Reg]) -> Slot {
        let element = if r.indexed {
            let (first, rest) = args.split_first().map_or((0, &args[..]), |(f, r)| (*f, r));
            *args = rest;
            Some(first)
        } else {
            None
        };
        let first = self.program.slots[r.resource.index()];
        Slot {
            first,
            count: self.program.resources[r.resource].count,
            element,
        }
    }

    fn inst(&mut self, inst: &IrInst) -> Result<(), CompileError> {
        for value in inst.results() {
            self.check_kind(self.program.function.kind(value), "a value", Some(inst))?;
        }
        let regs: Vec<Reg> = inst.args.iter().map(|&a| self.reg(a)).collect();
        let mut args: &[Reg] = &regs;
        let to = inst.first_result.map_or(0, |v| self.reg(v));
        let new = match inst.op {
            Op::Const(literal) => {
                self.code.constants.push((to, lane_bits(literal.kind, literal.bits)));
                return Ok(());
            }
            Op::Alu(alu) if !alu.is_primitive() => {
                return Err(CompileError::Internal(format!("{} was not expanded", alu.name())));
            }
            Op::Alu(alu) => match *args {
                [a] => Inst::Alu1(alu, to, a),
                [a, b] => Inst::Alu2(alu, to, a, b),
                [a, b, c] => Inst::Alu3(alu, to, a, b, c),
                _ => {
                    return Err(CompileError::Internal(format!(
                        "{} with {} operands",
                        alu.name(),
                        args.len()
                    )));
                }
            },
            Op::Bitcast(_) => Inst::Move(to, args[0]),
            Op::Convert(kind) => return self.unsupported(format!("conversion to {kind}"), Some(inst)),
            Op::Quad(op) => {
                let float = self.program.function.kind(inst.args[0]) == Kind::F32;
                Inst::Quad {
                    op,
                    float,
                    to,
                    from: args[0],
                }
            }
            Op::LocalGet(local) => Inst::Move(to, self.local(local.index())),
            Op::LocalSet { local, .. } => Inst::Set(self.local(local.index()), args[0]),
            Op::ArrayGet(array) => Inst::ArrayGet {
                array: array.index() as u32,
                to,
                index: args[0],
            },
            Op::ArraySet(array) => Inst::ArraySet {
                array: array.index() as u32,
                index: args[0],
                value: args[1],
            },
            Op::ArrayReset(array) => Inst::ArrayReset {
                array: array.index() as u32,
            },
            Op::Input(_) | Op::InputAt { .. } => {
                return Err(CompileError::Internal("a stage input was not replaced".into()));
            }
            Op::Call(_) => return Err(CompileError::Internal("a call was not inlined".into())),
            Op::BufferLoad { buffer, .. } => {
                let slot = self.slot(buffer, &mut args);
                Inst::BufferLoad {
                    slot,
                    to,
                    offset: args[0],
                }
            }
            Op::BufferStore { buffer, .. } => {
                let slot = self.slot(buffer, &mut args);
                Inst::BufferStore {
                    slot,
                    offset: args[0],
                    value: args[1],
                }
            }
            Op::BufferAtomic { buffer, op, .. } => {
                let slot = self.slot(buffer, &mut args);
                let exchanged = (inst.result_count == 2).then_some(to + 1);
                let (compare, value) = match *args {
                    [_, compare, value] => (compare, value),
                    _ => (args[1], args[1]),
                };
                Inst::BufferAtomic {
                    slot,
                    op,
                    to,
                    exchanged,
                    offset: args[0],
                    value,
                    compare,
                }
            }
            Op::BufferSize(buffer) => Inst::BufferSize {
                slot: self.slot(buffer, &mut args),
                to,
            },
            Op::Sample { texture, sampler, op } => {
                let texture = self.slot(texture, &mut args);
                let sampler = self.slot(sampler, &mut args);
                Inst::Sample {
                    texture,
                    sampler,
                    op,
                    to,
                    args: args.into(),
                }
            }
            Op::TexelLoad { texture, op, .. } => {
                let texture = self.slot(texture, &mut args);
                Inst::TexelLoad {
                    texture,
                    op,
                    to,
                    args: args.into(),
                }
            }
            Op::TexelStore { texture, op } => {
                let texture = self.slot(texture, &mut args);
                Inst::TexelStore {
                    texture,
                    op,
                    args: args.into(),
                }
            }
            Op::TextureQuery { texture, query } => {
                let texture = self.slot(texture, &mut args);
                Inst::TextureQuery {
                    texture,
                    query,
                    to,
                    level: args.first().copied(),
                }
            }
            Op::Discard => Inst::Discard,
            Op::IsHelper => Inst::IsHelper(to),
            Op::SetHelper => Inst::SetHelper(args[0]),
            Op::Barrier => return self.unsupported("a workgroup barrier", Some(inst)),
            Op::DrawLoad { word, .. } => Inst::DrawLoad { word, to },
            Op::PrimLoad { offset, .. } => Inst::PrimLoad { offset, to },
            Op::PrimVertexLoad { vertex, offset, .. } => Inst::PrimVertexLoad { vertex, offset, to },
            Op::PixelX => Inst::PixelX(to),
            Op::PixelY => Inst::PixelY(to),
            Op::Coverage { sample } => Inst::Coverage { sample, to },
            Op::TileLoad { plane, .. } => Inst::TileLoad { plane, to },
            Op::TileStore { plane } => Inst::TileStore {
                plane,
                value: args[0],
                mask: args[1],
            },
            Op::CellLoad { slot, .. } => Inst::CellLoad { slot, to },
            Op::CellStore { slot } => Inst::CellStore { slot, value: args[0] },
            Op::CountInvocations => Inst::CountInvocations(args[0]),
            Op::CountSamples => Inst::CountSamples(args[0]),
            Op::Note(_) => Inst::Note,
        };
        self.emit(new);
        Ok(())
    }
}
