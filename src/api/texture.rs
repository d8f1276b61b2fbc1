//! Textures and views.

use super::device::{Device, Shared};
use super::label::Label;
use super::usage::TextureUsages;
use quadrille_raster::format::{Aspect, TextureFormat};
use quadrille_raster::texture as raster;
use quadrille_raster::texture::MipOptions;
use quadrille_raster::texture::TextureDimension;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use quadrille_raster::texture::ViewDimension as TextureViewDimension;

/// A size in texels; the third number is depth (3d) or array layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent3d {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Depth slices or array layers.
    pub depth_or_array_layers: u32,
}

impl Default for Extent3d {
    fn default() -> Self {
        Extent3d {
            width: 1,
            height: 1,
            depth_or_array_layers: 1,
        }
    }
}

impl Extent3d {
    /// One image of that size.
    pub const fn new_2d(width: u32, height: u32) -> Extent3d {
        Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        }
    }
}

/// Describes a texture of zeros.
#[derive(Clone, Copy, Debug)]
pub struct TextureDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// Size of level 0.
    pub size: Extent3d,
    /// Mip levels.
    pub mip_level_count: u32,
    /// Samples a texel.
    pub sample_count: u32,
    /// 1d, 2d (arrays and cubes too) or 3d.
    pub dimension: TextureDimension,
    /// Format of the texels.
    pub format: TextureFormat,
    /// What it may be used for.
    pub usage: TextureUsages,
}

impl Default for TextureDescriptor<'_> {
    fn default() -> Self {
        TextureDescriptor {
            label: None,
            size: Extent3d::default(),
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: TextureFormat::Rgba8Unorm,
            usage: TextureUsages::empty(),
        }
    }
}

/// Describes a view; what is left out is the whole texture.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextureViewDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// The texture's format, or its sRGB twin.
    pub format: Option<TextureFormat>,
    /// Shape; by default the texture's own, an array if it has layers.
    pub dimension: Option<TextureViewDimension>,
    /// Depth or stencil of a format that has both.
    pub aspect: Aspect,
    /// First mip level.
    pub base_mip_level: u32,
    /// Mip levels; by default all from the first on.
    pub mip_level_count: Option<u32>,
    /// First array layer.
    pub base_array_layer: u32,
    /// Array layers; by default as many as the shape takes.
    pub array_layer_count: Option<u32>,
}

/// Why an operation on a texture was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextureError {
    /// Size, format, region, memory: the reason says which.
    #[error("texture {label}: {reason}")]
    Refused {
        /// The texture.
        label: Label,
        /// What is wrong.
        reason: raster::TextureError,
    },
    /// No usage at all.
    #[error("texture {label}: no usage is given; say what it is for, such as TextureUsages::RENDER_ATTACHMENT")]
    NoUsage {
        /// The texture.
        label: Label,
    },
    /// An operation that the usages exclude.
    #[error("texture {label}: {operation} needs usage {needed}, but it was made for {usage}")]
    Usage {
        /// The texture.
        label: Label,
        /// What was tried.
        operation: &'static str,
        /// The usage that is missing.
        needed: TextureUsages,
        /// The usages that it has.
        usage: TextureUsages,
    },
    /// A format that a usage excludes.
    #[error("texture {label}: format {format} can't have usage {usage}")]
    FormatUsage {
        /// The texture.
        label: Label,
        /// The format.
        format: TextureFormat,
        /// The usage.
        usage: TextureUsages,
    },
}

/// An image, or an array, cube or volume of them, with mip levels. Clones are the same texture.
#[derive(Clone, Debug)]
pub struct Texture(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: Label,
    id: u64,
    device: Arc<Shared>,
    usage: TextureUsages,
    texture: Arc<raster::Texture>,
    /// How often it was written from outside of submissions.
    host_writes: AtomicU64,
}

/// Part of a texture, as shaders, passes and bind groups see it. Clones are the same view.
#[derive(Clone, Debug)]
pub struct TextureView(Arc<ViewInner>);

#[derive(Debug)]
struct ViewInner {
    label: Label,
    texture: Texture,
    view: raster::TextureView,
}

impl Device {
    /// Makes a texture of zeros. Sizes and the memory limit are checked before anything is allocated.
    pub fn create_texture(&self, d: &TextureDescriptor<'_>) -> Result<Texture, TextureError> {
        let label = Label::new(d.label);
        if d.usage.is_empty() {
            return Err(TextureError::NoUsage { label });
        }
        let info = d.format.info();
        let excluded = |usage| TextureError::FormatUsage {
            label: label.clone(),
            format: d.format,
            usage,
        };
        if d.usage.contains(TextureUsages::RENDER_ATTACHMENT) && !info.renderable {
            return Err(excluded(TextureUsages::RENDER_ATTACHMENT));
        }
        if d.usage.contains(TextureUsages::STORAGE_BINDING)
            && (info.depth || info.stencil || info.srgb || d.format.is_compressed())
        {
            return Err(excluded(TextureUsages::STORAGE_BINDING));
        }
        let described = raster::TextureDescriptor {
            dimension: d.dimension,
            format: d.format,
            width: d.size.width,
            height: d.size.height,
            depth_or_layers: d.size.depth_or_array_layers,
            levels: d.mip_level_count,
            samples: d.sample_count,
        };
        let texture =
            raster::Texture::new(&described, &self.shared().budget).map_err(|reason| TextureError::Refused {
                label: label.clone(),
                reason,
            })?;
        Ok(Texture(Arc::new(Inner {
            label,
            id: self.shared().next_id(),
            device: self.shared().clone(),
            usage: d.usage,
            texture,
            host_writes: AtomicU64::new(0),
        })))
    }
}

impl Texture {
    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// Width of level 0.
    pub fn width(&self) -> u32 {
        self.described().width
    }

    /// Height of level 0.
    pub fn height(&self) -> u32 {
        self.described().height
    }

    /// Size of level 0.
    pub fn size(&self) -> Extent3d {
        let d = self.described();
        Extent3d {
            width: d.width,
            height: d.height,
            depth_or_array_layers: d.depth_or_layers,
        }
    }

    /// Mip levels.
    pub fn mip_level_count(&self) -> u32 {
        self.described().levels
    }

    /// Samples a texel.
    pub fn sample_count(&self) -> u32 {
        self.described().samples
    }

    /// 1d, 2d or 3d.
    pub fn dimension(&self) -> TextureDimension {
        self.described().dimension
    }

    /// Format of the texels.
    pub fn format(&self) -> TextureFormat {
        self.described().format
    }

    /// What it may be used for.
    pub fn usage(&self) -> TextureUsages {
        self.0.usage
    }

    /// Makes a view.
    pub fn create_view(&self, d: &TextureViewDescriptor<'_>) -> Result<TextureView, TextureError> {
        let described = raster::TextureViewDescriptor {
            format: d.format,
            dimension: d.dimension,
            aspect: d.aspect,
            base_level: d.base_mip_level,
            levels: d.mip_level_count,
            base_layer: d.base_array_layer,
            layers: d.array_layer_count,
        };
        let view = raster::TextureView::new(&self.0.texture, &described).map_err(|e| self.refused(e))?;
        let label = if d.label.is_some() {
            Label::new(d.label)
        } else {
            self.0.label.clone()
        };
        Ok(TextureView(Arc::new(ViewInner {
            label,
            texture: self.clone(),
            view,
        })))
    }

    /// Level 0 of the first layer: rows from the top, tightly packed. Needs `COPY_SRC`.
    ///
    /// As everything that reads, it comes after all work submitted before.
    pub fn read(&self) -> Result<Vec<u8>, TextureError> {
        self.read_level(0, 0)
    }

    /// A level of a layer (or depth slice): rows from the top, tightly packed. Needs `COPY_SRC`.
    pub fn read_level(&self, mip_level: u32, layer: u32) -> Result<Vec<u8>, TextureError> {
        self.require(TextureUsages::COPY_SRC, "reading")?;
        let _turn = self.0.device.turn.enter();
        self.0.texture.read_level(mip_level, layer).map_err(|e| self.refused(e))
    }

    /// Level 0 of the first layer, into rows that are `bytes_per_row` apart. Needs `COPY_SRC`.
    pub fn read_into(&self, out: &mut [u8], bytes_per_row: usize) -> Result<(), TextureError> {
        self.require(TextureUsages::COPY_SRC, "reading")?;
        let _turn = self.0.device.turn.enter();
        self.rows_into(out, bytes_per_row)
    }

    /// One surface (a sample, an aspect, a layer or depth slice of a level): rows from the top, tightly packed. Unlike
    /// copies it reaches single samples. Needs `COPY_SRC`.
    pub fn read_surface(&self, surface: &raster::Surface) -> Result<Vec<u8>, TextureError> {
        self.require(TextureUsages::COPY_SRC, "reading")?;
        let _turn = self.0.device.turn.enter();
        self.0.texture.read_surface(surface).map_err(|e| self.refused(e))
    }

    /// Replaces one surface by tightly packed rows. Unlike copies it reaches single samples. Needs `COPY_DST`.
    pub fn write_surface(&self, surface: &raster::Surface, data: &[u8]) -> Result<(), TextureError> {
        self.require(TextureUsages::COPY_DST, "writing")?;
        let _turn = self.0.device.turn.enter();
        self.note_host_write();
        self.0.texture.write_surface(surface, data).map_err(|e| self.refused(e))
    }

    /// Width and height of a surface, and the format of its texels (of the aspect, where there are two).
    pub fn surface_shape(&self, surface: &raster::Surface) -> Result<([u32; 2], TextureFormat), TextureError> {
        self.0.texture.surface_shape(surface).map_err(|e| self.refused(e))
    }

    /// Level 0 of the first layer from tightly packed rows. Needs `COPY_DST`.
    pub fn write(&self, data: &[u8]) -> Result<(), TextureError> {
        self.write_level(0, 0, data)
    }

    /// Level 0 and all below it of a texture that nobody else has yet: there is no order to keep, so several may be filled at once.
    pub(crate) fn fill_new(&self, level0: &[u8], options: &MipOptions) -> Result<(), TextureError> {
        self.note_host_write();
        let texture = &self.0.texture;
        texture
            .write_level(0, 0, level0)
            .and_then(|()| texture.generate_mips_with(options, &self.0.device.pool))
            .map_err(|e| self.refused(e))
    }

    /// A level of a layer (or depth slice) from tightly packed rows. Needs `COPY_DST`.
    pub fn write_level(&self, mip_level: u32, layer: u32, data: &[u8]) -> Result<(), TextureError> {
        self.require(TextureUsages::COPY_DST, "writing")?;
        let _turn = self.0.device.turn.enter();
        self.note_host_write();
        self.0
            .texture
            .write_level(mip_level, layer, data)
            .map_err(|e| self.refused(e))
    }

    /// Makes every mip level from level 0: the mean of the texels it covers; sRGB formats in linear light.
    pub fn generate_mipmaps(&self) -> Result<(), TextureError> {
        let _turn = self.0.device.turn.enter();
        self.note_host_write();
        let pool = &self.0.device.pool;
        self.0
            .texture
            .generate_mips_with(&MipOptions::default(), pool)
            .map_err(|e| self.refused(e))
    }

    /// As [`generate_mipmaps`](Self::generate_mipmaps), with a choice of the filter, of the edges and of what becomes of alpha. A Kaiser
    /// filter and repetition are for 2d textures of normalised and float formats.
    pub fn generate_mipmaps_with(&self, options: &MipOptions) -> Result<(), TextureError> {
        let _turn = self.0.device.turn.enter();
        let pool = &self.0.device.pool;
        self.0
            .texture
            .generate_mips_with(options, pool)
            .map_err(|e| self.refused(e))
    }

    /// Level 0 into rows, without waiting: the caller has the turn.
    pub(super) fn rows_into(&self, out: &mut [u8], bytes_per_row: usize) -> Result<(), TextureError> {
        let d = self.described();
        let region = raster::CopyRegion {
            aspect: Aspect::All,
            level: 0,
            origin: [0, 0, 0],
            size: [d.width, d.height, 1],
        };
        self.0
            .texture
            .read(&region, out, bytes_per_row, d.height as usize)
            .map_err(|e| self.refused(e))
    }

    fn described(&self) -> &raster::TextureDescriptor {
        self.0.texture.descriptor()
    }

    /// How often it was written from outside of submissions.
    pub(super) fn host_writes(&self) -> u64 {
        self.0.host_writes.load(Ordering::Relaxed)
    }

    pub(super) fn note_host_write(&self) {
        self.0.host_writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    pub(super) fn raster(&self) -> &Arc<raster::Texture> {
        &self.0.texture
    }

    pub(super) fn refused(&self, reason: raster::TextureError) -> TextureError {
        TextureError::Refused {
            label: self.0.label.clone(),
            reason,
        }
    }

    pub(super) fn require(&self, needed: TextureUsages, operation: &'static str) -> Result<(), TextureError> {
        if self.0.usage.contains(needed) {
            return Ok(());
        }
        Err(TextureError::Usage {
            label: self.0.label.clone(),
            operation,
            needed,
            usage: self.0.usage,
        })
    }
}

impl TextureView {
    /// Its label, or the texture's if it has none.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// The texture it shows.
    pub fn texture(&self) -> &Texture {
        &self.0.texture
    }

    /// Format as the view has it.
    pub fn format(&self) -> TextureFormat {
        self.0.view.format()
    }

    /// Its shape.
    pub fn dimension(&self) -> TextureViewDimension {
        self.0.view.dimension()
    }

    pub(super) fn raster(&self) -> &raster::TextureView {
        &self.0.view
    }

    /// Width and height of the first level.
    pub(super) fn extent(&self) -> (u32, u32) {
        let [w, h, _] = self.0.view.size();
        (w, h)
    }
}
