//! The queue: uploads and submissions, one after the other in the order they were called.

use super::buffer::{Buffer, BufferError};
use super::cancel::CancelFlag;
use super::device::Shared;
use super::encoder::{CommandBuffer, TexelCopyBufferLayout, TexelCopyTextureInfo};
use super::execute;
use super::stats::SubmitStats;
use super::submit::{Progress, Submission, SubmitError};
use super::texture::{Extent3d, Texture, TextureError};
use super::usage::TextureUsages;
use quadrille_raster::texture::CopyRegion;
use std::sync::Arc;

/// Where commands go. Clones are the same queue.
#[derive(Clone, Debug)]
pub struct Queue(Arc<Shared>);

/// Memory of the caller's that gets level 0 of a texture when a submission is done.
#[derive(Debug)]
pub struct OutputSlice<'a> {
    /// A texture with usage `COPY_SRC`.
    pub texture: &'a Texture,
    /// Where its rows go.
    pub bytes: &'a mut [u8],
    /// Bytes from row to row.
    pub bytes_per_row: usize,
}

/// Options of a submission.
#[derive(Debug, Default)]
pub struct SubmitOptions<'a> {
    /// Ends it early.
    pub cancel: Option<&'a CancelFlag>,
    /// Textures whose level 0 is written to the caller's memory when all is done.
    pub outputs: Vec<OutputSlice<'a>>,
}

impl Queue {
    pub(super) fn new(device: Arc<Shared>) -> Queue {
        Queue(device)
    }

    /// Writes to a buffer, after all work submitted before. Needs `COPY_DST`.
    pub fn write_buffer(&self, buffer: &Buffer, offset: u64, data: &[u8]) -> Result<(), BufferError> {
        buffer.write(offset, data)
    }

    /// Writes texels, after all work submitted before. Needs `COPY_DST`.
    pub fn write_texture(
        &self,
        destination: TexelCopyTextureInfo<'_>,
        data: &[u8],
        layout: TexelCopyBufferLayout,
        size: Extent3d,
    ) -> Result<(), TextureError> {
        let texture = destination.texture;
        texture.require(TextureUsages::COPY_DST, "writing")?;
        let format = texture
            .format()
            .aspect_format(destination.aspect)
            .unwrap_or(texture.format());
        let (bytes_per_row, rows_per_image) = layout.strides(format, size);
        let region = CopyRegion {
            aspect: destination.aspect,
            level: destination.mip_level,
            origin: destination.origin,
            size: [size.width, size.height, size.depth_or_array_layers],
        };
        let start = usize::try_from(layout.offset).unwrap_or(usize::MAX);
        let rows = data.get(start..).unwrap_or_default();
        let _turn = self.0.turn.enter();
        texture.note_host_write();
        texture
            .raster()
            .write(&region, rows, bytes_per_row, rows_per_image)
            .map_err(|e| texture.refused(e))
    }

    /// Executes commands; returns when all is done.
    pub fn submit(&self, commands: impl IntoIterator<Item = CommandBuffer>) -> Result<SubmitStats, SubmitError> {
        self.submit_with(commands, SubmitOptions::default())
    }

    /// Executes commands with options; returns when all is done.
    pub fn submit_with(
        &self,
        commands: impl IntoIterator<Item = CommandBuffer>,
        options: SubmitOptions<'_>,
    ) -> Result<SubmitStats, SubmitError> {
        let commands = self.own(commands)?;
        for output in &options.outputs {
            output.texture.require(TextureUsages::COPY_SRC, "reading")?;
        }
        let never = CancelFlag::new();
        let _turn = self.0.turn.enter();
        let cancel = options.cancel.unwrap_or(&never);
        let stats = execute::run(&self.0, &commands, cancel, &Progress::default())?;
        for output in options.outputs {
            output.texture.rows_into(output.bytes, output.bytes_per_row)?;
        }
        Ok(stats)
    }

    /// Executes commands on a thread of their own. What is called later waits for them.
    pub fn submit_async(&self, commands: impl IntoIterator<Item = CommandBuffer>) -> Result<Submission, SubmitError> {
        let commands = self.own(commands)?;
        Submission::start(self.0.clone(), commands)
    }

    fn own(&self, commands: impl IntoIterator<Item = CommandBuffer>) -> Result<Vec<CommandBuffer>, SubmitError> {
        let commands: Vec<_> = commands.into_iter().collect();
        match commands.iter().find(|c| c.device_id() != self.0.id) {
            Some(foreign) => Err(SubmitError::WrongDevice {
                label: foreign.label().clone(),
            }),
            None => Ok(commands),
        }
    }
}
