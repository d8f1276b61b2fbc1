//! A pass's attachments as tile planes: what is cleared, loaded, stored and resolved, tile by tile.

use super::{LoadOp, Pass};
use crate::format::{Aspect, PlaneWords, TextureFormat};
use crate::layout::PlaneLayout;
use crate::texture::{Access, PlaneSet, ResolveMode, Target, TextureError, TextureView};
use quadrille_jit::abi::Cell;

/// One aspect of one attachment.
struct Attachment {
    target: Target,
    planes: PlaneSet,
    clear: Option<PlaneWords>,
    store: bool,
    resolve: Option<(Target, ResolveMode)>,
}

/// All attachments of a pass.
pub(super) struct Attachments {
    list: Vec<Attachment>,
    pub planes: PlaneLayout,
    pub width: u32,
    pub height: u32,
}

/// Why attachments don't go together.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum AttachmentError {
    #[error(transparent)]
    Texture(#[from] TextureError),
    #[error("attachments differ in size or sample count")]
    Mismatch,
    #[error("a pass needs an attachment")]
    None,
}

impl Attachments {
    pub fn new(pass: &Pass<'_>) -> Result<Attachments, AttachmentError> {
        let colors: Vec<Option<TextureFormat>> =
            pass.color.iter().map(|c| c.as_ref().map(|c| c.view.format())).collect();
        let depth_stencil = pass.depth_stencil.as_ref().map(|d| d.view.texture().format());
        let views = pass
            .color
            .iter()
            .flatten()
            .map(|c| &c.view)
            .chain(pass.depth_stencil.iter().map(|d| &d.view));
        let samples = views.clone().next().ok_or(AttachmentError::None)?.samples();
        let planes = PlaneLayout::new(&colors, depth_stencil, samples);
        let edge = planes.tile_edge;
        let cells = (edge * edge / 8) as usize;
        let set = |first: Option<u32>| PlaneSet {
            first: first.unwrap_or(0) as usize,
            plane_step: 1,
            sample_step: planes.per_sample.len(),
            cells,
        };
        let resolve = |view: &Option<TextureView>, aspect: Aspect, mode: ResolveMode| {
            let target = view
                .as_ref()
                .map(|v| Target::new(v, aspect, edge, Access::Overwrite, 0))
                .transpose()?;
            Ok::<_, TextureError>(target.map(|t| (t, mode)))
        };
        let mut list = Vec::new();
        for (i, color) in pass.color.iter().enumerate() {
            let Some(color) = color else { continue };
            let format = color.view.format();
            list.push(Attachment {
                target: Target::new(&color.view, Aspect::All, edge, access(false, &color.load), color.slice)?,
                planes: set(planes.color(i, 0)),
                clear: match color.load {
                    LoadOp::Load => None,
                    LoadOp::Clear(value) => Some(PlaneWords::clear(format, value)),
                },
                store: color.store,
                resolve: resolve(&color.resolve, Aspect::All, color.resolve_mode)?,
            });
        }
        if let Some(d) = &pass.depth_stencil {
            let format = d.view.texture().format();
            if format.info().depth {
                list.push(Attachment {
                    target: Target::new(
                        &d.view,
                        Aspect::Depth,
                        edge,
                        access(d.depth_read_only, &d.depth_load),
                        0,
                    )?,
                    planes: set(planes.depth(0)),
                    clear: match d.depth_load {
                        LoadOp::Clear(value) if !d.depth_read_only => {
                            let aspect = format.aspect_format(Aspect::Depth).unwrap_or(format);
                            Some(PlaneWords::clear(aspect, [value.into(); 4]))
                        }
                        _ => None,
                    },
                    store: d.depth_store && !d.depth_read_only,
                    resolve: resolve(&d.resolve, Aspect::Depth, d.depth_resolve_mode)?,
                });
            }
            if format.info().stencil {
                list.push(Attachment {
                    target: Target::new(
                        &d.view,
                        Aspect::Stencil,
                        edge,
                        access(d.stencil_read_only, &d.stencil_load),
                        0,
                    )?,
                    planes: set(planes.stencil(0)),
                    clear: match d.stencil_load {
                        LoadOp::Clear(value) if !d.stencil_read_only => {
                            Some(PlaneWords::clear(TextureFormat::Stencil8, [(value & 0xff).into(); 4]))
                        }
                        _ => None,
                    },
                    store: d.stencil_store && !d.stencil_read_only,
                    resolve: resolve(&d.resolve, Aspect::Stencil, d.stencil_resolve_mode)?,
                });
            }
        }
        let (width, height) = list.first().map_or((0, 0), |a| a.target.size());
        let alike = list
            .iter()
            .all(|a| a.target.size() == (width, height) && a.target.samples() == samples);
        let resolves = list
            .iter()
            .filter_map(|a| a.resolve.as_ref())
            .all(|(r, _)| r.size() == (width, height));
        if !alike || !resolves {
            return Err(AttachmentError::Mismatch);
        }
        Ok(Attachments {
            list,
            planes,
            width,
            height,
        })
    }

    /// Cells of tile memory.
    pub fn cells(&self) -> usize {
        (self.planes.plane_count() * self.planes.plane_stride()) as usize / 32
    }

    /// Fills tile memory before the first draw touches the tile. `first` round of the pass: clears count.
    pub fn load(&self, tx: u32, ty: u32, memory: &mut [Cell], first: bool) {
        for a in &self.list {
            match &a.clear {
                Some(words) if first => a.planes.clear(memory, words, a.target.samples()),
                _ => {
                    if let Some(tile) = a.target.tile(tx, ty) {
                        tile.load(memory, a.planes);
                    }
                }
            }
        }
    }

    /// Writes a tile back. `last` round: only what is stored, and resolves; else everything (law R4).
    pub fn store(&self, tx: u32, ty: u32, memory: &[Cell], last: bool) {
        for a in &self.list {
            if (a.store || !last)
                && let Some(mut tile) = a.target.tile(tx, ty)
            {
                tile.store(memory, a.planes);
            }
            if last
                && let Some((target, mode)) = &a.resolve
                && let Some(mut tile) = target.tile(tx, ty)
            {
                tile.resolve(memory, a.planes, a.target.samples(), *mode);
            }
        }
    }

    /// After the last round: what isn't stored reads as zeros from now on, whatever rounds left there (law R4).
    pub fn discard(&self) {
        for a in self.list.iter().filter(|a| !a.store) {
            a.target.discard();
        }
    }

    /// A tile that no draw touches in the pass' only round: clears go straight to the texture. True if that is all.
    pub fn untouched(&self, tx: u32, ty: u32) -> bool {
        // A resolve of loaded samples needs them in tile memory.
        if self.list.iter().any(|a| a.resolve.is_some() && a.clear.is_none()) {
            return false;
        }
        for a in &self.list {
            let Some(words) = &a.clear else { continue };
            if a.store
                && let Some(mut tile) = a.target.tile(tx, ty)
            {
                tile.fill(words);
            }
            if let Some(mut tile) = a.resolve.as_ref().and_then(|(r, _)| r.tile(tx, ty)) {
                tile.fill(words);
            }
        }
        true
    }
}

fn access<T>(read_only: bool, load: &LoadOp<T>) -> Access {
    match load {
        _ if read_only => Access::ReadOnly,
        LoadOp::Clear(_) => Access::Overwrite,
        LoadOp::Load => Access::ReadWrite,
    }
}
