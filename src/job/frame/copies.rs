//! Copies and writes of a job.

use super::Step;
use crate::job::error::JobError;
use crate::job::model::{self, Pass};
use crate::job::prepare::{Prepared, aspect};
use crate::{
    CommandEncoder, Extent3d, TexelCopyBufferInfo, TexelCopyBufferLayout, TexelCopyTextureInfo, TextureSurface,
};

impl Prepared<'_> {
    /// Records the command that a pass without draws is. `None`: it is a write, which is no command.
    pub(super) fn record_command(&self, encoder: &mut CommandEncoder, p: &Pass, at: &str) -> Result<(), JobError> {
        if let Some(c) = &p.copy_buffer_to_buffer {
            let at = format!("{at}.copyBufferToBuffer");
            let (from, to) = (&c.source.0, &c.destination.0);
            let (source, destination) = (self.buffer(&from.buffer, &at)?, self.buffer(&to.buffer, &at)?);
            encoder
                .copy_buffer_to_buffer(source, from.offset, destination, to.offset, c.size)
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        if let Some(c) = &p.clear_buffer {
            let at = format!("{at}.clearBuffer");
            encoder
                .clear_buffer(self.buffer(&c.buffer, &at)?, c.offset, c.size)
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        if let Some(r) = &p.resolve_query_set {
            let at = format!("{at}.resolveQuerySet");
            let (set, destination) = (self.query_set(&r.query_set, &at)?, self.buffer(&r.destination, &at)?);
            let count = r.query_count.unwrap_or(set.count().saturating_sub(r.first_query));
            let queries = r.first_query..r.first_query.saturating_add(count);
            encoder
                .resolve_query_set(set, queries, destination, r.destination_offset)
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        if let Some(c) = &p.copy_buffer_to_texture {
            let at = format!("{at}.copyBufferToTexture");
            let (rows, place) = (self.rows(&c.buffer, &at)?, self.place(&c.texture.0, &at)?);
            encoder
                .copy_buffer_to_texture(rows, place, self.extent(&c.size, &at)?)
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        if let Some(c) = &p.copy_texture_to_buffer {
            let at = format!("{at}.copyTextureToBuffer");
            let (rows, place) = (self.rows(&c.buffer, &at)?, self.place(&c.texture.0, &at)?);
            encoder
                .copy_texture_to_buffer(place, rows, self.extent(&c.size, &at)?)
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        if let Some(c) = &p.copy_texture_to_texture {
            let at = format!("{at}.copyTextureToTexture");
            let (from, to) = (self.place(&c.source.0, &at)?, self.place(&c.destination.0, &at)?);
            encoder
                .copy_texture_to_texture(from, to, self.extent(&c.size, &at)?)
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        Ok(())
    }

    /// The write that a pass is, if it is one.
    pub(super) fn write(&self, p: &Pass, at: &str) -> Result<Option<Step<'_>>, JobError> {
        if let Some(w) = &p.write_buffer {
            let at = format!("{at}.writeBuffer");
            return Ok(Some(Step::WriteBuffer {
                buffer: self.buffer(&w.buffer, &at)?,
                offset: w.offset,
                data: self.data(&at),
                at,
            }));
        }
        if let Some(w) = &p.write_texture {
            let at = format!("{at}.writeTexture");
            return Ok(Some(Step::WriteTexture {
                texture: &self.target(&w.texture, &at)?.texture,
                surface: TextureSurface {
                    aspect: aspect(w.aspect),
                    level: w.mip_level,
                    layer: w.layer,
                    sample: w.sample,
                },
                data: self.data(&at),
                at,
            }));
        }
        Ok(None)
    }

    fn rows(&self, b: &model::BufferRows, at: &str) -> Result<TexelCopyBufferInfo<'_>, JobError> {
        Ok(TexelCopyBufferInfo {
            buffer: self.buffer(&b.buffer, at)?,
            layout: TexelCopyBufferLayout {
                offset: b.offset,
                bytes_per_row: b.bytes_per_row,
                rows_per_image: b.rows_per_image,
            },
        })
    }

    fn place(&self, t: &model::TexturePlace, at: &str) -> Result<TexelCopyTextureInfo<'_>, JobError> {
        let n = |i: usize| t.origin.get(i).copied().unwrap_or(0);
        if t.origin.len() > 3 {
            return Err(self.loaded.invalid(at, "an origin has x, y and layer"));
        }
        Ok(TexelCopyTextureInfo {
            texture: &self.target(&t.texture, at)?.texture,
            mip_level: t.mip_level,
            origin: [n(0), n(1), n(2)],
            aspect: aspect(t.aspect),
        })
    }

    fn extent(&self, size: &[u32], at: &str) -> Result<Extent3d, JobError> {
        let n = |i: usize| size.get(i).copied().unwrap_or(1);
        if size.is_empty() || size.len() > 3 {
            return Err(self.loaded.invalid(at, "a size has width, height and layers"));
        }
        Ok(Extent3d {
            width: n(0),
            height: n(1),
            depth_or_array_layers: n(2),
        })
    }
}
