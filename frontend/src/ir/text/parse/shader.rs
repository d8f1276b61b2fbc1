//! A shader's declarations: sources, spans, inputs, outputs, resources.

use super::{Parser, Result};
use crate::ir::shader::{Binding, Builtin, Input, Output, Resource, ResourceClass, Semantic, Shader};
use crate::ir::span::{SourceText, Sources, Span};
use crate::ir::text::ParseErrorKind;
use crate::ir::text::lex::Token;
use crate::ir::text::op;
use crate::ir::text::print::{BUILTINS, DEPTH_OUTPUTS, INTERPOLATIONS, SAMPLE_KINDS, SAMPLINGS, STAGES};
use crate::ir::{Arena, Handle};

impl Parser<'_> {
    pub(super) fn shader(&mut self) -> Result<Shader> {
        self.word("shader")?;
        let name = self.string()?;
        let stage = self.named(&STAGES, "stage")?;
        let mut shader = Shader {
            name,
            stage,
            inputs: Arena::new(),
            outputs: Vec::new(),
            resources: Arena::new(),
            functions: Arena::new(),
            entry: Handle::from_index(0),
            early_depth_stencil: self.is_word("early_depth_stencil"),
            depth_output: DEPTH_OUTPUTS
                .into_iter()
                .find_map(|(name, output)| self.is_word(name).then_some(output))
                .unwrap_or_default(),
            sources: Sources::default(),
        };
        self.mark('{', "{")?;
        loop {
            match self.next() {
                Token::Mark('}') => return Ok(shader),
                Token::Word(w) => match w.as_str() {
                    "source" => {
                        let (name, text) = (self.string()?, self.string()?);
                        shader.sources.texts.push(SourceText { name, text });
                    }
                    "span" => self.span_decl(&mut shader)?,
                    "input" => self.input(&mut shader)?,
                    "resource" => self.resource(&mut shader)?,
                    "output" => self.output(&mut shader)?,
                    "func" => {
                        let (number, function) = self.function()?;
                        self.in_order(number, shader.functions.len(), "fn")?;
                        shader.functions.push(function);
                    }
                    "entry" => shader.entry = Handle::from_index(self.prefixed("fn", "a function")?),
                    _ => return self.expected("a declaration", &Token::Word(w)),
                },
                other => return self.expected("a declaration or }", &other),
            }
        }
    }

    fn span_decl(&mut self, shader: &mut Shader) -> Result<()> {
        let number = self.sigil('@', "a span")?;
        self.in_order(number as usize, shader.sources.spans.len(), "@")?;
        self.mark('=', "=")?;
        let source = self.number("source number")?;
        self.mark(',', ",")?;
        let start = self.number("byte position")?;
        self.mark(',', ",")?;
        let end = self.number("byte position")?;
        let inlined_at = if self.is_word("inlined") {
            Some(Handle::from_index(self.sigil('@', "a span")? as usize))
        } else {
            None
        };
        shader.sources.spans.push(Span {
            source,
            start,
            end,
            inlined_at,
        });
        Ok(())
    }

    fn input(&mut self, shader: &mut Shader) -> Result<()> {
        let number = self.prefixed("in", "an input's number")?;
        self.in_order(number, shader.inputs.len(), "in")?;
        let name = self.string()?;
        self.mark(':', ":")?;
        let kind = self.kind()?;
        self.mark('=', "=")?;
        let input = Input {
            name,
            kind,
            semantic: self.semantic()?,
            interpolation: self.named(&INTERPOLATIONS, "interpolation")?,
            sampling: self.named(&SAMPLINGS, "sampling place")?,
        };
        shader.inputs.push(input);
        Ok(())
    }

    fn output(&mut self, shader: &mut Shader) -> Result<()> {
        let name = self.string()?;
        self.mark(':', ":")?;
        let kind = self.kind()?;
        self.mark('=', "=")?;
        let semantic = self.semantic()?;
        let local = Handle::from_index(self.sigil('$', "a local")? as usize);
        let invariant = self.is_word("invariant");
        shader.outputs.push(Output {
            name,
            semantic,
            kind,
            local,
            invariant,
        });
        Ok(())
    }

    fn semantic(&mut self) -> Result<Semantic> {
        let class = self.any_word("location or builtin")?;
        self.mark('(', "(")?;
        let semantic = match class.as_str() {
            "location" => {
                let location = self.number("location")?;
                self.mark(',', ",")?;
                let component = self.number("component")?;
                let second_source = self.is_mark(',');
                if second_source {
                    self.word("second")?;
                }
                Semantic::Location {
                    location,
                    component,
                    second_source,
                }
            }
            "builtin" => {
                let name = self.any_word("a built-in")?;
                Semantic::Builtin(match name.as_str() {
                    "position" => Builtin::Position(self.component()?),
                    "clip_distance" => Builtin::ClipDistance(self.component()?),
                    "cull_distance" => Builtin::CullDistance(self.component()?),
                    _ => match BUILTINS.iter().find(|e| e.0 == name) {
                        Some(entry) => entry.1,
                        None => {
                            let class = "built-in";
                            return Err(self.error(ParseErrorKind::Unknown { class, name }));
                        }
                    },
                })
            }
            _ => return self.expected("location or builtin", &Token::Word(class)),
        };
        self.mark(')', ")")?;
        Ok(semantic)
    }

    fn component(&mut self) -> Result<u8> {
        self.mark(',', ",")?;
        self.number("component")
    }

    fn resource(&mut self, shader: &mut Shader) -> Result<()> {
        let number = self.prefixed("r", "a resource's number")?;
        self.in_order(number, shader.resources.len(), "r")?;
        let name = self.string()?;
        self.mark(':', ":")?;
        let class = self.class()?;
        self.mark('=', "=")?;
        let binding = match self.any_word("group or register")?.as_str() {
            "group" => {
                self.mark('(', "(")?;
                let group = self.number("group")?;
                self.mark(',', ",")?;
                let binding = self.number("binding")?;
                Binding::WebGpu { group, binding }
            }
            "register" => {
                self.mark('(', "(")?;
                let class = self.string()?;
                self.mark(',', ",")?;
                let register = self.number("register")?;
                self.mark(',', ",")?;
                let space = self.number("space")?;
                let class = class.chars().next().unwrap_or('?');
                Binding::Register { class, register, space }
            }
            other => return self.expected("group or register", &Token::Word(other.into())),
        };
        self.mark(')', ")")?;
        self.word("count")?;
        let count = self.number("count")?;
        let span = self.span();
        shader.resources.push(Resource {
            name,
            span,
            class,
            count,
            binding,
        });
        Ok(())
    }

    fn class(&mut self) -> Result<ResourceClass> {
        let name = self.any_word("a class of resource")?;
        self.mark('(', "(")?;
        let class = match name.as_str() {
            "uniform" => ResourceClass::Uniform {
                min_size: self.number("size")?,
            },
            "storage" => ResourceClass::Storage {
                min_size: self.number("size")?,
                writable: self.flag("write")?,
            },
            "texture" => {
                let dim = self.dim()?;
                let (array, multisampled) = (self.flag("array")?, self.flag("multisampled")?);
                self.mark(',', ",")?;
                ResourceClass::Texture {
                    dim,
                    array,
                    multisampled,
                    sample: self.named(&SAMPLE_KINDS, "component class")?,
                }
            }
            "storage_texture" => {
                let dim = self.dim()?;
                let array = self.flag("array")?;
                self.mark(',', ",")?;
                ResourceClass::StorageTexture {
                    dim,
                    array,
                    format: self.string()?,
                    readable: self.flag("read")?,
                    writable: self.flag("write")?,
                }
            }
            "sampler" => ResourceClass::Sampler {
                comparison: self.is_word("comparison"),
            },
            "immediate" => ResourceClass::Immediate {
                size: self.number("size")?,
            },
            _ => {
                let class = "class of resource";
                return Err(self.error(ParseErrorKind::Unknown { class, name }));
            }
        };
        self.mark(')', ")")?;
        Ok(class)
    }

    /// `, word`, if it is there.
    fn flag(&mut self, word: &str) -> Result<bool> {
        let next = self.tokens.get(self.at + 1).map(|t| &t.0);
        let found = *self.peek() == Token::Mark(',') && matches!(next, Some(Token::Word(w)) if w == word);
        self.at += if found { 2 } else { 0 };
        Ok(found)
    }

    fn dim(&mut self) -> Result<crate::ir::Dim> {
        let name = self.any_word("a shape")?;
        op::dim_from_name(&name).ok_or_else(|| self.error(ParseErrorKind::Unknown { class: "shape", name }))
    }
}
