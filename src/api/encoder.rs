//! Recording: a command encoder collects copies and passes, checked as they come.

use super::attachment::RenderPassDescriptor;
use super::buffer::{Buffer, BufferError};
use super::device::{Device, Shared};
use super::label::Label;
use super::query::QuerySet;
use super::record::{BufferRange, BufferRows, Command, TextureRegion};
use super::render_pass::RenderPass;
use super::texture::{Extent3d, Texture, TextureError};
use super::usage::{BufferUsages, TextureUsages};
use quadrille_raster::format::{Aspect, TextureFormat};
use std::ops::Range;
use std::sync::Arc;

/// Why a command was refused; nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A render pass or an attachment of it.
    #[error("render pass {label}: {what}")]
    Pass {
        /// The pass.
        label: Label,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A draw.
    #[error("render pass {label}, draw {draw} with pipeline {pipeline}: {what}")]
    Draw {
        /// The pass.
        label: Label,
        /// Number of the draw in the pass, from 0.
        draw: usize,
        /// The pipeline that is set.
        pipeline: Label,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A copy.
    #[error("command encoder {label}: {what}")]
    Copy {
        /// The encoder.
        label: Label,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A buffer can't be used so.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A texture can't be used so.
    #[error(transparent)]
    Texture(#[from] TextureError),
}

/// Where texels are in a texture.
#[derive(Clone, Copy, Debug)]
pub struct TexelCopyTextureInfo<'a> {
    /// The texture.
    pub texture: &'a Texture,
    /// Its level.
    pub mip_level: u32,
    /// First texel; the third number is the depth slice or array layer.
    pub origin: [u32; 3],
    /// Depth or stencil of a format that has both.
    pub aspect: Aspect,
}

impl<'a> TexelCopyTextureInfo<'a> {
    /// Level 0 from its first texel on.
    pub fn whole(texture: &'a Texture) -> Self {
        TexelCopyTextureInfo {
            texture,
            mip_level: 0,
            origin: [0; 3],
            aspect: Aspect::All,
        }
    }
}

/// How rows of texels lie in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct TexelCopyBufferLayout {
    /// First byte.
    pub offset: u64,
    /// Bytes from row to row; tightly packed if left out.
    pub bytes_per_row: Option<u32>,
    /// Rows from image to image; as many as are copied if left out.
    pub rows_per_image: Option<u32>,
}

impl TexelCopyBufferLayout {
    /// Strides in bytes and rows, for copies of that size.
    pub(super) fn strides(&self, format: TextureFormat, size: Extent3d) -> (usize, usize) {
        let [width, height] = format.units(size.width, size.height);
        let packed = width as usize * format.info().bytes as usize;
        (
            self.bytes_per_row.map_or(packed, |n| n as usize),
            self.rows_per_image.unwrap_or(height) as usize,
        )
    }
}

/// Rows of texels in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct TexelCopyBufferInfo<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// How they lie there.
    pub layout: TexelCopyBufferLayout,
}

/// Describes a command encoder.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandEncoderDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
}

/// Collects commands. Nothing is executed before [`Queue::submit`](crate::Queue::submit).
#[derive(Debug)]
pub struct CommandEncoder {
    pub(super) label: Label,
    pub(super) device: Arc<Shared>,
    pub(super) commands: Vec<Command>,
}

/// Recorded commands. Clones are the same commands, and they may be submitted several times.
#[derive(Clone, Debug)]
pub struct CommandBuffer(Arc<Recorded>);

#[derive(Debug)]
struct Recorded {
    label: Label,
    device: Arc<Shared>,
    commands: Vec<Command>,
}

impl CommandBuffer {
    pub(super) fn label(&self) -> &Label {
        &self.0.label
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    pub(super) fn commands(&self) -> &[Command] {
        &self.0.commands
    }
}

impl Device {
    /// Makes a command encoder.
    pub fn create_command_encoder(&self, d: &CommandEncoderDescriptor<'_>) -> CommandEncoder {
        CommandEncoder {
            label: Label::new(d.label),
            device: self.shared().clone(),
            commands: Vec::new(),
        }
    }
}

impl CommandEncoder {
    /// Begins a render pass. It ends with [`RenderPass::end`], or when it is dropped.
    pub fn begin_render_pass(&mut self, d: &RenderPassDescriptor<'_>) -> Result<RenderPass<'_>, EncodeError> {
        RenderPass::begin(self, d)
    }

    /// Ends recording.
    pub fn finish(self) -> CommandBuffer {
        CommandBuffer(Arc::new(Recorded {
            label: self.label,
            device: self.device,
            commands: self.commands,
        }))
    }

    fn wrong(&self, what: String) -> EncodeError {
        EncodeError::Copy {
            label: self.label.clone(),
            what,
        }
    }

    fn own_buffer(&self, buffer: &Buffer) -> Result<(), EncodeError> {
        if buffer.device_id() == self.device.id {
            return Ok(());
        }
        Err(self.wrong(format!("buffer {} belongs to another device", buffer.label())))
    }

    /// Copies bytes from one buffer to another, or within one to a place that doesn't overlap.
    pub fn copy_buffer_to_buffer(
        &mut self,
        source: &Buffer,
        source_offset: u64,
        destination: &Buffer,
        destination_offset: u64,
        size: u64,
    ) -> Result<(), EncodeError> {
        self.own_buffer(source)?;
        self.own_buffer(destination)?;
        source.require(BufferUsages::COPY_SRC, "copying from it")?;
        destination.require(BufferUsages::COPY_DST, "copying to it")?;
        source.range("a copy from it", source_offset, size)?;
        destination.range("a copy to it", destination_offset, size)?;
        let overlap = source_offset < destination_offset.saturating_add(size)
            && destination_offset < source_offset.saturating_add(size);
        if source.id() == destination.id() && overlap && size > 0 {
            return Err(self.wrong(format!("a copy within buffer {} overlaps itself", source.label())));
        }
        self.commands.push(Command::CopyBuffer {
            source: BufferRange {
                buffer: source.clone(),
                offset: source_offset,
                size,
            },
            destination: destination.clone(),
            offset: destination_offset,
        });
        Ok(())
    }

    /// Fills part of a buffer with zeros; to its end if `size` is left out.
    pub fn clear_buffer(&mut self, buffer: &Buffer, offset: u64, size: Option<u64>) -> Result<(), EncodeError> {
        self.own_buffer(buffer)?;
        buffer.require(BufferUsages::COPY_DST, "clearing")?;
        let size = size.unwrap_or(buffer.size().saturating_sub(offset));
        buffer.range("clearing", offset, size)?;
        self.commands.push(Command::ClearBuffer(BufferRange {
            buffer: buffer.clone(),
            offset,
            size,
        }));
        Ok(())
    }

    /// Writes the results of queries to a buffer, each number a u64; queries that were never executed are zeros. The
    /// offset is a multiple of 8.
    pub fn resolve_query_set(
        &mut self,
        set: &QuerySet,
        queries: Range<u32>,
        destination: &Buffer,
        destination_offset: u64,
    ) -> Result<(), EncodeError> {
        self.own_buffer(destination)?;
        if set.device_id() != self.device.id {
            return Err(self.wrong(format!("query set {} belongs to another device", set.label())));
        }
        if queries.start > queries.end || queries.end > set.count() {
            return Err(self.wrong(format!(
                "queries {} to {} of set {}, which has {}",
                queries.start,
                queries.end,
                set.label(),
                set.count()
            )));
        }
        destination.require(BufferUsages::QUERY_RESOLVE, "resolving queries to it")?;
        if !destination_offset.is_multiple_of(8) {
            return Err(self.wrong(format!(
                "results of queries are to go to byte {destination_offset} of buffer {}; a multiple of 8 is needed",
                destination.label()
            )));
        }
        let count = queries.end - queries.start;
        let size = u64::from(count) * u64::from(set.ty().words()) * 8;
        destination.range("results of queries", destination_offset, size)?;
        self.commands.push(Command::ResolveQueries {
            set: set.clone(),
            first: queries.start,
            count,
            destination: BufferRange {
                buffer: destination.clone(),
                offset: destination_offset,
                size,
            },
        });
        Ok(())
    }

    /// Copies rows of a buffer to a texture.
    pub fn copy_buffer_to_texture(
        &mut self,
        source: TexelCopyBufferInfo<'_>,
        destination: TexelCopyTextureInfo<'_>,
        size: Extent3d,
    ) -> Result<(), EncodeError> {
        source.buffer.require(BufferUsages::COPY_SRC, "copying from it")?;
        let (source, destination) = self.rows_and_region(&source, &destination, size, TextureUsages::COPY_DST)?;
        self.commands.push(Command::CopyBufferToTexture { source, destination });
        Ok(())
    }

    /// Copies texels to rows of a buffer.
    pub fn copy_texture_to_buffer(
        &mut self,
        source: TexelCopyTextureInfo<'_>,
        destination: TexelCopyBufferInfo<'_>,
        size: Extent3d,
    ) -> Result<(), EncodeError> {
        destination.buffer.require(BufferUsages::COPY_DST, "copying to it")?;
        let (destination, source) = self.rows_and_region(&destination, &source, size, TextureUsages::COPY_SRC)?;
        self.commands.push(Command::CopyTextureToBuffer { source, destination });
        Ok(())
    }

    /// Copies texels between textures of one format (sRGB or not makes no difference).
    pub fn copy_texture_to_texture(
        &mut self,
        source: TexelCopyTextureInfo<'_>,
        destination: TexelCopyTextureInfo<'_>,
        size: Extent3d,
    ) -> Result<(), EncodeError> {
        let (from, to) = (source.texture.format(), destination.texture.format());
        if from != to && from.srgb_twin() != Some(to) {
            return Err(self.wrong(format!(
                "texture {} has format {from} and texture {} has {to}: they can't be copied to each other",
                source.texture.label(),
                destination.texture.label()
            )));
        }
        let source = self.region(&source, size, TextureUsages::COPY_SRC)?;
        let destination = self.region(&destination, size, TextureUsages::COPY_DST)?;
        self.commands.push(Command::CopyTexture { source, destination });
        Ok(())
    }

    fn region(
        &self,
        info: &TexelCopyTextureInfo<'_>,
        size: Extent3d,
        usage: TextureUsages,
    ) -> Result<TextureRegion, EncodeError> {
        let texture = info.texture;
        if texture.device_id() != self.device.id {
            return Err(self.wrong(format!("texture {} belongs to another device", texture.label())));
        }
        let operation = if usage == TextureUsages::COPY_SRC {
            "copying from it"
        } else {
            "copying to it"
        };
        texture.require(usage, operation)?;
        Ok(TextureRegion {
            texture: texture.clone(),
            aspect: info.aspect,
            mip_level: info.mip_level,
            origin: info.origin,
            size,
        })
    }

    fn rows_and_region(
        &self,
        rows: &TexelCopyBufferInfo<'_>,
        region: &TexelCopyTextureInfo<'_>,
        size: Extent3d,
        usage: TextureUsages,
    ) -> Result<(BufferRows, TextureRegion), EncodeError> {
        self.own_buffer(rows.buffer)?;
        let region = self.region(region, size, usage)?;
        rows.buffer.range("a copy of texels", rows.layout.offset, 0)?;
        let format = region
            .texture
            .format()
            .aspect_format(region.aspect)
            .unwrap_or(region.texture.format());
        let (bytes_per_row, rows_per_image) = rows.layout.strides(format, size);
        let rows = BufferRows {
            buffer: rows.buffer.clone(),
            offset: rows.layout.offset,
            bytes_per_row,
            rows_per_image,
        };
        Ok((rows, region))
    }
}
