//! Execution of recorded commands, one after the other. The caller has the device's turn.

use super::buffer::Buffer;
use super::cancel::CancelFlag;
use super::capture;
use super::device::Shared;
use super::encoder::CommandBuffer;
use super::record::{BufferRange, BufferRows, Command, TextureRegion};
use super::render;
use super::stats::SubmitStats;
use super::submit::{Progress, SubmitError};
use quadrille_raster::texture::CopyRegion;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Executes commands in order.
pub(super) fn run(
    device: &Shared,
    commands: &[CommandBuffer],
    cancel: &CancelFlag,
    progress: &Progress,
) -> Result<SubmitStats, SubmitError> {
    let clock = Instant::now();
    let all = || commands.iter().flat_map(CommandBuffer::commands);
    progress.total.store(all().count(), Ordering::Relaxed);
    capture::submission(device, commands, cancel);
    let mut stats = SubmitStats::default();
    for command in all() {
        if cancel.is_cancelled() {
            return Err(SubmitError::Cancelled);
        }
        match command {
            Command::RenderPass(pass) => render::run(device, pass, cancel, &mut stats)?,
            Command::CopyBuffer {
                source,
                destination,
                offset,
            } => copy_buffer(source, destination, *offset)?,
            Command::ClearBuffer(range) => clear_buffer(range)?,
            Command::CopyBufferToTexture { source, destination } => buffer_to_texture(source, destination)?,
            Command::CopyTextureToBuffer { source, destination } => texture_to_buffer(source, destination)?,
            Command::CopyTexture { source, destination } => copy_texture(source, destination)?,
            Command::ResolveQueries {
                set,
                first,
                count,
                destination,
            } => {
                let bytes: Vec<u8> = set
                    .numbers(*first, *count)
                    .iter()
                    .flat_map(|n| n.to_le_bytes())
                    .collect();
                let at = destination
                    .buffer
                    .range("results of queries", destination.offset, bytes.len() as u64)?;
                if let Some(place) = destination.buffer.bytes_mut().get_mut(at) {
                    place.copy_from_slice(&bytes);
                }
            }
        }
        progress.done.fetch_add(1, Ordering::Relaxed);
    }
    stats.time = clock.elapsed();
    Ok(stats)
}

/// Ranges were checked when the command was recorded, and sizes never change: `get` can't fail.
fn copy_buffer(source: &BufferRange, destination: &Buffer, offset: u64) -> Result<(), SubmitError> {
    let from = source.buffer.range("a copy", source.offset, source.size)?;
    let to = destination.range("a copy", offset, source.size)?;
    if source.buffer.id() == destination.id() {
        destination.bytes_mut().copy_within(from, to.start);
        return Ok(());
    }
    if let (Some(from), Some(to)) = (source.buffer.bytes().get(from), destination.bytes_mut().get_mut(to)) {
        to.copy_from_slice(from);
    }
    Ok(())
}

fn clear_buffer(range: &BufferRange) -> Result<(), SubmitError> {
    let at = range.buffer.range("clearing", range.offset, range.size)?;
    if let Some(bytes) = range.buffer.bytes_mut().get_mut(at) {
        bytes.fill(0);
    }
    Ok(())
}

fn copy_region(r: &TextureRegion) -> CopyRegion {
    CopyRegion {
        aspect: r.aspect,
        level: r.mip_level,
        origin: r.origin,
        size: [r.size.width, r.size.height, r.size.depth_or_array_layers],
    }
}

fn buffer_to_texture(source: &BufferRows, destination: &TextureRegion) -> Result<(), SubmitError> {
    let start = source.buffer.range("a copy of texels", source.offset, 0)?.start;
    let bytes = source.buffer.bytes();
    let texture = &destination.texture;
    texture
        .raster()
        .write(
            &copy_region(destination),
            bytes.get(start..).unwrap_or_default(),
            source.bytes_per_row,
            source.rows_per_image,
        )
        .map_err(|e| texture.refused(e))?;
    Ok(())
}

fn texture_to_buffer(source: &TextureRegion, destination: &BufferRows) -> Result<(), SubmitError> {
    let start = destination
        .buffer
        .range("a copy of texels", destination.offset, 0)?
        .start;
    let mut bytes = destination.buffer.bytes_mut();
    let texture = &source.texture;
    texture
        .raster()
        .read(
            &copy_region(source),
            bytes.get_mut(start..).unwrap_or_default(),
            destination.bytes_per_row,
            destination.rows_per_image,
        )
        .map_err(|e| texture.refused(e))?;
    Ok(())
}

/// By way of packed rows, one layer or slice at a time, so that the memory in between stays small.
fn copy_texture(source: &TextureRegion, destination: &TextureRegion) -> Result<(), SubmitError> {
    let format = source.texture.format();
    let format = format.aspect_format(source.aspect).unwrap_or(format);
    let [width, height] = format.units(source.size.width, source.size.height);
    let row = width as usize * format.info().bytes as usize;
    let rows = height as usize;
    // The size is the region's, whose first image is checked by reading it: no more than the texture has.
    let limit = |t: &TextureRegion| {
        let size = t.texture.size();
        t.size.width > size.width || t.size.height > size.height
    };
    let mut packed = Vec::new();
    if !limit(source) && !limit(destination) {
        packed.resize(row * rows, 0);
    }
    for image in 0..source.size.depth_or_array_layers {
        let one = |t: &TextureRegion| {
            let mut region = copy_region(t);
            region.origin[2] = region.origin[2].saturating_add(image);
            region.size[2] = 1;
            region
        };
        let texture = &source.texture;
        texture
            .raster()
            .read(&one(source), &mut packed, row, rows)
            .map_err(|e| texture.refused(e))?;
        let texture = &destination.texture;
        texture
            .raster()
            .write(&one(destination), &packed, row, rows)
            .map_err(|e| texture.refused(e))?;
    }
    Ok(())
}
