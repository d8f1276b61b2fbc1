//! Attachments of a render pass: what is rendered to, and what happens to it before and after.

use super::encoder::{CommandEncoder, EncodeError};
use super::label::Label;
use super::query::{QuerySet, QueryType};
use super::record::{ColorRecord, DepthStencilRecord, PassRecord};
use super::texture::{TextureView, TextureViewDimension};
use super::usage::TextureUsages;
use quadrille_raster::format::Aspect as TextureAspect;
use quadrille_raster::texture::ResolveMode;

/// What an attachment holds when the pass begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadOp<V> {
    /// This value.
    Clear(V),
    /// What it held before.
    Load,
}

/// What happens to an attachment when the pass ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreOp {
    /// It is kept.
    Store,
    /// It is dropped; whoever looks finds zeros.
    Discard,
}

/// Load and store of an attachment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operations<V> {
    /// At the beginning.
    pub load: LoadOp<V>,
    /// At the end.
    pub store: StoreOp,
}

impl<V> Operations<V> {
    /// Cleared, then kept.
    pub const fn clear(value: V) -> Self {
        Operations {
            load: LoadOp::Clear(value),
            store: StoreOp::Store,
        }
    }

    /// Loaded, then kept.
    pub const fn load() -> Self {
        Operations {
            load: LoadOp::Load,
            store: StoreOp::Store,
        }
    }
}

impl<V: Default> Default for Operations<V> {
    fn default() -> Self {
        Operations::clear(V::default())
    }
}

/// A colour in linear light.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Color {
    pub r: f64,
    pub g: f64,
    pub b: f64,
    pub a: f64,
}

impl Color {
    /// Red, green, blue, alpha.
    pub const fn new(r: f64, g: f64, b: f64, a: f64) -> Color {
        Color { r, g, b, a }
    }

    /// Zeros.
    pub const TRANSPARENT: Color = Color::new(0.0, 0.0, 0.0, 0.0);
    /// Opaque black.
    pub const BLACK: Color = Color::new(0.0, 0.0, 0.0, 1.0);
    /// Opaque white.
    pub const WHITE: Color = Color::new(1.0, 1.0, 1.0, 1.0);

    pub(super) fn to_array(self) -> [f64; 4] {
        [self.r, self.g, self.b, self.a]
    }
}

/// A colour attachment.
#[derive(Clone, Copy, Debug)]
pub struct RenderPassColorAttachment<'a> {
    /// One level of one layer, or of a 3d texture.
    pub view: &'a TextureView,
    /// Depth slice of a 3d texture; needed there, and only there.
    pub depth_slice: Option<u32>,
    /// Where the resolved image of a multisampled attachment goes.
    pub resolve_target: Option<&'a TextureView>,
    /// Load and store.
    pub ops: Operations<Color>,
}

impl<'a> RenderPassColorAttachment<'a> {
    /// Cleared to zeros, then kept.
    pub fn new(view: &'a TextureView) -> Self {
        RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: Operations::default(),
        }
    }
}

/// The depth and stencil attachment.
#[derive(Clone, Copy, Debug)]
pub struct RenderPassDepthStencilAttachment<'a> {
    /// One level of one layer.
    pub view: &'a TextureView,
    /// Load and store of depth; `None` where the format has none, or it is read-only.
    pub depth_ops: Option<Operations<f32>>,
    /// Load and store of stencil; `None` where the format has none, or it is read-only.
    pub stencil_ops: Option<Operations<u32>>,
}

/// Describes a render pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenderPassDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// Colour attachments by location.
    pub color_attachments: &'a [Option<RenderPassColorAttachment<'a>>],
    /// Depth and stencil.
    pub depth_stencil_attachment: Option<RenderPassDepthStencilAttachment<'a>>,
    /// Views may have several layers, all of them the same number, among which vertex shaders choose (R-RAST-27); WebGPU has
    /// none of that.
    pub layered: bool,
    /// How the samples of the colour attachments become one; WebGPU has only the average.
    pub resolve_mode: ResolveMode,
    /// Where depth and stencil are resolved to, which WebGPU doesn't have.
    pub depth_stencil_resolve: Option<DepthStencilResolve<'a>>,
    /// The set of [`begin_occlusion_query`](crate::RenderPass::begin_occlusion_query).
    pub occlusion_query_set: Option<&'a QuerySet>,
    /// Size of a pass without attachments (R-RAST-28): only what shaders store, and queries, come of it. Its pipelines have
    /// one sample, or `forced_samples`. WebGPU has no such pass.
    pub without_attachments: Option<PassExtent>,
}

/// What a pass without attachments renders to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassExtent {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Resolves the samples of depth and stencil, which have no average.
#[derive(Clone, Copy, Debug)]
pub struct DepthStencilResolve<'a> {
    /// One level of one layer, of the attachment's format.
    pub view: &'a TextureView,
    /// How depth is resolved.
    pub depth: ResolveMode,
    /// How stencil is resolved.
    pub stencil: ResolveMode,
}

/// Size, samples, layers.
type Shape = ((u32, u32), u32, u32);

/// Checks a pass' attachments.
pub(super) struct Attachments<'a> {
    pub encoder: &'a CommandEncoder,
    pub label: &'a Label,
}

impl Attachments<'_> {
    fn wrong(&self, what: impl Into<String>) -> EncodeError {
        EncodeError::Pass {
            label: self.label.clone(),
            what: what.into(),
        }
    }

    pub fn check(&self, d: &RenderPassDescriptor<'_>) -> Result<PassRecord, EncodeError> {
        let limits = &self.encoder.device.limits;
        if d.color_attachments.len() > limits.max_color_attachments as usize {
            return Err(self.wrong(format!(
                "{} colour attachments, at most {}",
                d.color_attachments.len(),
                limits.max_color_attachments
            )));
        }
        let mut shape: Option<Shape> = None;
        let mut colors = Vec::new();
        for attachment in d.color_attachments {
            let Some(a) = attachment else {
                colors.push(None);
                continue;
            };
            self.view(a.view, d.layered, &mut shape)?;
            let slice = self.slice(a)?;
            let info = a.view.format().info();
            if info.depth || info.stencil {
                return Err(self.wrong(format!(
                    "texture {} has format {}, which is no colour",
                    a.view.label(),
                    info.name
                )));
            }
            if let Some(target) = a.resolve_target {
                self.resolve(a.view, target, &[d.resolve_mode])?;
            }
            colors.push(Some(ColorRecord {
                view: a.view.clone(),
                slice,
                resolve_target: a.resolve_target.cloned(),
                ops: a.ops,
            }));
        }
        let depth_stencil = d
            .depth_stencil_attachment
            .as_ref()
            .map(|a| self.depth_stencil(a, d.layered, &mut shape))
            .transpose()?;
        let (size, samples) = match (shape, d.without_attachments) {
            (Some((size, samples, _)), None) => (size, samples),
            (None, Some(extent)) => self.extent(extent)?,
            (Some(_), Some(_)) => return Err(self.wrong("it has attachments, but says `without_attachments`")),
            (None, None) => {
                return Err(self.wrong("it has no attachment; `without_attachments` gives the size of such a pass"));
            }
        };
        if let Some(set) = d.occlusion_query_set {
            self.occlusion(set)?;
        }
        if let Some(r) = &d.depth_stencil_resolve {
            let Some(a) = &d.depth_stencil_attachment else {
                return Err(self.wrong("depth and stencil can't be resolved, for there is no such attachment"));
            };
            self.resolve(a.view, r.view, &[r.depth, r.stencil])?;
        }
        self.distinct(&colors)?;
        Ok(PassRecord {
            colors,
            depth_stencil,
            resolve_mode: d.resolve_mode,
            depth_stencil_resolve: d.depth_stencil_resolve.map(|r| (r.view.clone(), r.depth, r.stencil)),
            ..PassRecord::new(self.label.clone(), size, samples)
        })
    }

    fn extent(&self, e: PassExtent) -> Result<((u32, u32), u32), EncodeError> {
        let most = self.encoder.device.limits.max_texture_dimension_2d;
        if !(1..=most).contains(&e.width) || !(1..=most).contains(&e.height) {
            return Err(self.wrong(format!("it is {} x {}; both are 1 to {most}", e.width, e.height)));
        }
        Ok(((e.width, e.height), 1))
    }

    fn occlusion(&self, set: &QuerySet) -> Result<(), EncodeError> {
        if set.device_id() != self.encoder.device.id {
            return Err(self.wrong(format!("query set {} belongs to another device", set.label())));
        }
        if set.ty() != QueryType::Occlusion {
            return Err(self.wrong(format!("query set {} has no occlusion queries", set.label())));
        }
        Ok(())
    }

    /// An attachment: of this device, one level of one layer, and of the others' size.
    fn view(&self, view: &TextureView, layered: bool, shape: &mut Option<Shape>) -> Result<(), EncodeError> {
        let texture = view.texture();
        if texture.device_id() != self.encoder.device.id {
            return Err(self.wrong(format!("texture {} belongs to another device", view.label())));
        }
        texture.require(TextureUsages::RENDER_ATTACHMENT, "rendering to it")?;
        let (levels, layers) = (view.raster().levels().1, view.raster().layers().1);
        if levels != 1 || layers != 1 && !layered {
            return Err(self.wrong(format!(
                "the view of texture {} has {levels} levels and {layers} layers; an attachment is one level of one layer",
                view.label()
            )));
        }
        let own = (view.extent(), texture.sample_count(), layers);
        let common = *shape.get_or_insert(own);
        if own != common {
            let text = |((w, h), samples, layers): Shape| {
                let layers = if layered {
                    format!(" and {layers} layers")
                } else {
                    String::new()
                };
                format!("{w} x {h} with {samples} samples{layers}")
            };
            return Err(self.wrong(format!(
                "texture {} is {}, but the other attachments are {}",
                view.label(),
                text(own),
                text(common)
            )));
        }
        Ok(())
    }

    /// The depth slice of a 3d view; 0 of others.
    fn slice(&self, a: &RenderPassColorAttachment<'_>) -> Result<u32, EncodeError> {
        let [_, _, depth] = a.view.raster().size();
        match (a.view.dimension() == TextureViewDimension::D3, a.depth_slice) {
            (true, Some(slice)) if slice < depth => Ok(slice),
            (false, None) => Ok(0),
            (true, given) => Err(self.wrong(format!(
                "texture {} is 3d: a depth slice below {depth} is needed, not {given:?}",
                a.view.label()
            ))),
            (false, Some(_)) => Err(self.wrong(format!(
                "texture {} is not 3d, but a depth slice is given",
                a.view.label()
            ))),
        }
    }

    /// `modes`: of colour, or of depth and stencil.
    fn resolve(&self, from: &TextureView, to: &TextureView, modes: &[ResolveMode]) -> Result<(), EncodeError> {
        self.view(to, from.raster().layers().1 > 1, &mut None)?;
        let aspects = [TextureAspect::Depth, TextureAspect::Stencil];
        let possible = match modes {
            [mode] => mode.fits(to.format()),
            modes => modes
                .iter()
                .zip(aspects)
                .all(|(mode, aspect)| to.format().aspect_format(aspect).is_none_or(|f| mode.fits(f))),
        };
        let fits = from.texture().sample_count() > 1
            && to.texture().sample_count() == 1
            && from.extent() == to.extent()
            && from.raster().layers().1 == to.raster().layers().1
            && from.format() == to.format()
            && possible;
        if fits {
            return Ok(());
        }
        Err(self.wrong(format!(
            "texture {} can't be resolved to texture {}: the first must have several samples, the second one, and \
             both the same size and a format that can be resolved that way",
            from.label(),
            to.label()
        )))
    }

    fn depth_stencil(
        &self,
        a: &RenderPassDepthStencilAttachment<'_>,
        layered: bool,
        shape: &mut Option<Shape>,
    ) -> Result<DepthStencilRecord, EncodeError> {
        self.view(a.view, layered, shape)?;
        let info = a.view.format().info();
        let name = a.view.label();
        if !info.depth && !info.stencil {
            return Err(self.wrong(format!(
                "texture {name} has format {}, which has neither depth nor stencil",
                info.name
            )));
        }
        if a.depth_ops.is_some() && !info.depth {
            return Err(self.wrong(format!("texture {name} has no depth, but depth_ops are given")));
        }
        if a.stencil_ops.is_some() && !info.stencil {
            return Err(self.wrong(format!("texture {name} has no stencil, but stencil_ops are given")));
        }
        if let Some(Operations {
            load: LoadOp::Clear(depth),
            ..
        }) = a.depth_ops
            && !(0.0..=1.0).contains(&depth)
        {
            return Err(self.wrong(format!("the depth clear value {depth} is not 0 to 1")));
        }
        Ok(DepthStencilRecord {
            view: a.view.clone(),
            depth: a.depth_ops,
            stencil: a.stencil_ops,
        })
    }

    /// No subresource twice.
    fn distinct(&self, colors: &[Option<ColorRecord>]) -> Result<(), EncodeError> {
        let mut seen: Vec<(u64, u32, u32, (u32, u32))> = Vec::new();
        for c in colors.iter().flatten() {
            for view in std::iter::once(&c.view).chain(&c.resolve_target) {
                let (id, level, layers) = (view.texture().id(), view.raster().levels().0, view.raster().layers());
                let meets = |(p, n): (u32, u32)| p < layers.0 + layers.1 && layers.0 < p + n;
                if seen
                    .iter()
                    .any(|s| (s.0, s.1, s.2) == (id, level, c.slice) && meets(s.3))
                {
                    return Err(self.wrong(format!("texture {} is attached twice", view.label())));
                }
                seen.push((id, level, c.slice, layers));
            }
        }
        Ok(())
    }
}
