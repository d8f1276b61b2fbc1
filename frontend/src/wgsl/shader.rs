//! One shader being lowered: resources, pipeline constants, spans, functions.

use super::analysis::{self, Facts};
use super::body::{Body, Returns};
use super::place::BufferPlace;
use super::report::{Failure, Result};
use super::types::{Shape, Types};
use super::{Constants, interface};
use crate::diagnostic::ShaderErrorKind;
use crate::ir::{
    self, Arena, DepthOutput, Literal, Resource, ResourceClass, SampleKind, Shader, SourceText, Sources, SpanId,
};
use naga::Handle;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Most instructions of a shader before optimisation.
const MAX_INSTS: usize = 1 << 20;
/// Most scalars of one value or variable.
pub(super) const MAX_LEAVES: u32 = 1 << 14;

/// What all functions of the shader share while it is lowered.
pub(super) struct Cx<'m> {
    pub module: &'m naga::Module,
    pub info: &'m naga::valid::ModuleInfo,
    pub entry_info: &'m naga::valid::FunctionInfo,
    pub types: Types,
    pub facts: Vec<Rc<Facts>>,
    pub shader: Shader,
    pub resources: FxHashMap<Handle<naga::GlobalVariable>, ir::Handle<Resource>>,
    pub functions: FxHashMap<Handle<naga::Function>, ir::Handle<ir::Function>>,
    constants: FxHashMap<Handle<naga::Override>, Literal>,
    spans: FxHashMap<ir::Span, SpanId>,
    finished_insts: usize,
}

/// Lowers an entry point.
pub(super) fn lower(
    text: &Arc<SourceText>,
    module: &naga::Module,
    info: &naga::valid::ModuleInfo,
    entry_point: &str,
    constants: &Constants,
) -> Result<Shader> {
    let nowhere = naga::Span::UNDEFINED;
    let Some(index) = module.entry_points.iter().position(|e| e.name == entry_point) else {
        let names: Vec<&str> = module.entry_points.iter().map(|e| e.name.as_str()).collect();
        let note = match names.is_empty() {
            true => "the module has no entry points".to_owned(),
            false => format!("entry points of the module: {}", names.join(", ")),
        };
        let message = format!("there is no entry point `{entry_point}`");
        return Err(Failure::new(ShaderErrorKind::EntryPoint, message, nowhere).with_note(note));
    };
    let entry = &module.entry_points[index];
    let stage = match analysis::stage(entry.stage) {
        Some(stage @ (ir::Stage::Vertex | ir::Stage::Fragment)) => stage,
        _ => {
            let what = format!("the {:?} stage (entry point `{entry_point}`)", entry.stage);
            return Err(Failure::unsupported(what, nowhere));
        }
    };
    let types = Types::new(module);
    let facts = analysis::functions(module, info, &types);
    let mut cx = Cx {
        module,
        info,
        entry_info: info.get_entry_point(index),
        types,
        facts,
        shader: Shader {
            name: entry.name.clone(),
            stage,
            inputs: Arena::new(),
            outputs: Vec::new(),
            resources: Arena::new(),
            functions: Arena::new(),
            entry: ir::Handle::from_index(0),
            early_depth_stencil: matches!(entry.early_depth_test, Some(naga::EarlyDepthTest::Force)),
            depth_output: match entry.early_depth_test {
                Some(naga::EarlyDepthTest::Allow { conservative }) => match conservative {
                    naga::ConservativeDepth::GreaterEqual => DepthOutput::GreaterEqual,
                    naga::ConservativeDepth::LessEqual => DepthOutput::LessEqual,
                    naga::ConservativeDepth::Unchanged => DepthOutput::Any,
                },
                _ => DepthOutput::Any,
            },
            sources: Sources {
                texts: vec![(**text).clone()],
                spans: Arena::new(),
            },
        },
        resources: FxHashMap::default(),
        functions: FxHashMap::default(),
        constants: FxHashMap::default(),
        spans: FxHashMap::default(),
        finished_insts: 0,
    };
    cx.read_constants(constants)?;
    cx.declare_resources()?;
    let entry_facts = analysis::of_function(module, &entry.function, &cx.types, &cx.facts);
    cx.lower_functions(&entry_facts)?;
    let function = interface::lower_entry(&mut cx, entry, Rc::new(entry_facts))?;
    cx.shader.entry = cx.shader.functions.push(function);
    Ok(cx.shader)
}

impl<'m> Cx<'m> {
    /// The IR's span for a range of the text.
    pub fn span(&mut self, at: naga::Span, inlined_at: Option<SpanId>) -> Option<SpanId> {
        let range = at.to_range()?;
        let span = ir::Span {
            source: 0,
            start: range.start as u32,
            end: range.end as u32,
            inlined_at,
        };
        let spans = &mut self.shader.sources.spans;
        Some(*self.spans.entry(span).or_insert_with(|| spans.push(span)))
    }

    /// Refuses to go on when the shader has grown too large with that many more instructions.
    pub fn check_size(&self, insts: usize, at: naga::Span) -> Result<()> {
        if self.finished_insts + insts <= MAX_INSTS {
            return Ok(());
        }
        let message = format!("the shader has more than {MAX_INSTS} instructions after inlining");
        Err(Failure::new(ShaderErrorKind::Limit, message, at))
    }

    /// Refuses values and variables that are too large to take apart.
    pub fn check_leaves(&self, shape: &Shape, at: naga::Span) -> Result<()> {
        if shape.leaves <= MAX_LEAVES {
            return Ok(());
        }
        let message = format!("a value of {} scalars; at most {MAX_LEAVES} are accepted", shape.leaves);
        Err(Failure::new(ShaderErrorKind::Limit, message, at)
            .with_note("keep large tables in a uniform or storage buffer"))
    }

    fn read_constants(&mut self, constants: &Constants) -> Result<()> {
        for (key, &value) in constants {
            let by_id = |o: &naga::Override| o.id.is_some_and(|id| key.parse() == Ok(id));
            let by_name = |o: &naga::Override| o.name.as_deref() == Some(key);
            let overrides = &self.module.overrides;
            let found = overrides.iter().find(|(_, o)| by_id(o));
            let Some((handle, o)) = found.or_else(|| overrides.iter().find(|(_, o)| by_name(o))) else {
                let message = format!("the shader has no pipeline constant `{key}`");
                return Err(Failure::new(ShaderErrorKind::Constant, message, naga::Span::UNDEFINED));
            };
            let scalar = self.types.get(o.ty).element_scalar();
            let literal = scalar
                .and_then(|s| crate::memory::shape::override_literal(s, value))
                .ok_or_else(|| {
                    let message = format!("pipeline constant `{key}` can't be {value}");
                    let at = overrides.get_span(handle);
                    Failure::new(ShaderErrorKind::Constant, message, at)
                })?;
            self.constants.insert(handle, literal);
        }
        Ok(())
    }

    /// The value that the pipeline gives to an override, if it does.
    pub fn constant(&self, handle: Handle<naga::Override>) -> Option<Literal> {
        self.constants.get(&handle).copied()
    }

    /// Lists the resources that the entry point uses.
    fn declare_resources(&mut self) -> Result<()> {
        for (handle, var) in self.module.global_variables.iter() {
            if self.entry_info[handle].is_empty() {
                continue;
            }
            let at = self.module.global_variables.get_span(handle);
            let Some(resource) = self.resource(handle, var, at)? else {
                continue;
            };
            let handle_in_shader = self.shader.resources.push(resource);
            self.resources.insert(handle, handle_in_shader);
        }
        Ok(())
    }

    fn resource(
        &mut self,
        handle: Handle<naga::GlobalVariable>,
        var: &naga::GlobalVariable,
        at: naga::Span,
    ) -> Result<Option<Resource>> {
        let (ty, count) = match self.module.types[var.ty].inner {
            naga::TypeInner::BindingArray { base, size } => match size {
                naga::ArraySize::Constant(len) => (base, len.get()),
                _ => return Err(Failure::unsupported("a binding array of unknown length", at)),
            },
            _ => (var.ty, 1),
        };
        let inner = &self.module.types[ty].inner;
        let min_size = u64::from(inner.size(self.module.to_ctx()));
        let class = match var.space {
            naga::AddressSpace::Uniform => ResourceClass::Uniform { min_size },
            naga::AddressSpace::Storage { access } => ResourceClass::Storage {
                writable: access.contains(naga::StorageAccess::STORE),
                min_size,
            },
            naga::AddressSpace::Handle => self.handle_class(handle, inner, at)?,
            naga::AddressSpace::Immediate => ResourceClass::Immediate {
                size: min_size.min(u64::from(u32::MAX)) as u32,
            },
            naga::AddressSpace::Private | naga::AddressSpace::Function => return Ok(None),
            space => return Err(Failure::unsupported(format!("address space {space:?}"), at)),
        };
        let binding = match (&var.binding, &class) {
            (Some(b), _) => ir::Binding::WebGpu {
                group: b.group,
                binding: b.binding,
            },
            (None, _) => ir::Binding::WebGpu {
                group: u32::MAX,
                binding: 0,
            },
        };
        Ok(Some(Resource {
            name: var.name.clone().unwrap_or_default(),
            span: self.span(at, None),
            class,
            count,
            binding,
        }))
    }

    fn handle_class(
        &self,
        handle: Handle<naga::GlobalVariable>,
        inner: &naga::TypeInner,
        at: naga::Span,
    ) -> Result<ResourceClass> {
        match *inner {
            naga::TypeInner::Sampler { comparison } => Ok(ResourceClass::Sampler { comparison }),
            naga::TypeInner::Image { dim, arrayed, class } => {
                let dim = super::image::dim(dim);
                let (sample, multisampled) = match class {
                    naga::ImageClass::Sampled { kind, multi } => {
                        let sampled = || self.entry_info.sampling_set.iter().any(|key| key.image == handle);
                        let sample = match kind {
                            naga::ScalarKind::Sint => SampleKind::Sint,
                            naga::ScalarKind::Uint => SampleKind::Uint,
                            _ if !multi && sampled() => SampleKind::Float,
                            _ => SampleKind::UnfilterableFloat,
                        };
                        (sample, multi)
                    }
                    naga::ImageClass::Depth { multi } => (SampleKind::Depth, multi),
                    naga::ImageClass::External => return Err(Failure::unsupported("texture_external", at)),
                    naga::ImageClass::Storage { format, access } => {
                        if access.contains(naga::StorageAccess::ATOMIC) {
                            return Err(Failure::unsupported("an atomic storage texture", at));
                        }
                        return Ok(ResourceClass::StorageTexture {
                            dim,
                            array: arrayed,
                            format: super::image::format_name(format),
                            readable: access.contains(naga::StorageAccess::LOAD),
                            writable: access.contains(naga::StorageAccess::STORE),
                        });
                    }
                };
                Ok(ResourceClass::Texture {
                    dim,
                    array: arrayed,
                    multisampled,
                    sample,
                })
            }
            _ => Err(Failure::unsupported("a resource of this type", at)),
        }
    }

    /// The whole of a buffer, or of an element of a binding array of buffers.
    pub fn buffer(
        &self,
        handle: Handle<naga::GlobalVariable>,
        element: Option<ir::Value>,
        at: naga::Span,
    ) -> Result<BufferPlace> {
        let resource = *self
            .resources
            .get(&handle)
            .ok_or_else(|| Failure::internal("a buffer that isn't listed", at))?;
        let ty = match self.module.types[self.module.global_variables[handle].ty].inner {
            naga::TypeInner::BindingArray { base, .. } => base,
            _ => self.module.global_variables[handle].ty,
        };
        let min_size = match self.shader.resources[resource].class {
            ResourceClass::Uniform { min_size } | ResourceClass::Storage { min_size, .. } => min_size,
            ResourceClass::Immediate { size } => u64::from(size),
            _ => 0,
        };
        Ok(BufferPlace::new(resource, element, min_size, self.types.get(ty)))
    }

    /// Lowers all reachable functions that aren't inlined, callees first.
    fn lower_functions(&mut self, entry: &Facts) -> Result<()> {
        let reached = analysis::reachable(&self.facts, &entry.calls);
        for (handle, function) in self.module.functions.iter() {
            let facts = self.facts[handle.index()].clone();
            if !reached[handle.index()] || facts.inline {
                continue;
            }
            let name = function.name.clone().unwrap_or_else(|| format!("f{}", handle.index()));
            let info = &self.info[handle];
            let mut body = Body::new(self, name, function, info, facts, Returns::Function);
            body.parameters()?;
            body.function_body()?;
            let lowered = body.finish();
            self.finished_insts += lowered.insts.len();
            let lowered = self.shader.functions.push(lowered);
            self.functions.insert(handle, lowered);
        }
        Ok(())
    }
}
