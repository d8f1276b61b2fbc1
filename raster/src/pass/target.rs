//! A pass's attachments as tile planes: what is cleared, loaded, stored and resolved, tile by tile.

use super::{LoadOp, Pass};
use crate::format::{Aspect, PlaneWords, TextureFormat};
use crate::layout::PlaneLayout;
use crate::texture::{Access, PlaneSet, ResolveMode, Target, TextureError, TextureView};
use quadrille_jit::abi::Cell;

/// One aspect of one attachment, layer by layer.
struct Attachment {
    targets: Vec<Target>,
    samples: u32,
    planes: PlaneSet,
    clear: Option<PlaneWords>,
    store: bool,
    /// Empty, or one a layer.
    resolve: Vec<Target>,
    mode: ResolveMode,
}

/// A tile: its layer, column and row.
pub(super) type TilePlace = (usize, u32, u32);

/// All attachments of a pass.
pub(super) struct Attachments {
    list: Vec<Attachment>,
    pub planes: PlaneLayout,
    pub width: u32,
    pub height: u32,
    pub layers: u32,
}

/// Why attachments don't go together.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum AttachmentError {
    #[error(transparent)]
    Texture(#[from] TextureError),
    #[error("attachments differ in size, layers or sample count")]
    Mismatch,
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
        // Without attachments (R-RAST-28) the pipelines say it, all the same.
        let drawn = || pass.draws.first().map(|d| d.pipeline.planes.samples);
        let samples = views
            .clone()
            .next()
            .map(TextureView::samples)
            .or_else(drawn)
            .unwrap_or(1);
        let planes = PlaneLayout::new(&colors, depth_stencil, samples);
        let edge = planes.tile_edge;
        let cells = (edge * edge / 8) as usize;
        let set = |first: Option<u32>| PlaneSet {
            first: first.unwrap_or(0) as usize,
            plane_step: 1,
            sample_step: planes.per_sample.len(),
            cells,
        };
        let resolve = |view: &Option<TextureView>, aspect: Aspect| match view {
            Some(view) => layers(view, aspect, edge, Access::Overwrite, 0),
            None => Ok(Vec::new()),
        };
        let mut list = Vec::new();
        for (i, color) in pass.color.iter().enumerate() {
            let Some(color) = color else { continue };
            let format = color.view.format();
            list.push(Attachment {
                targets: layers(&color.view, Aspect::All, edge, access(false, &color.load), color.slice)?,
                samples,
                planes: set(planes.color(i, 0)),
                clear: match color.load {
                    LoadOp::Load => None,
                    LoadOp::Clear(value) => Some(PlaneWords::clear(format, value)),
                },
                store: color.store,
                resolve: resolve(&color.resolve, Aspect::All)?,
                mode: color.resolve_mode,
            });
        }
        if let Some(d) = &pass.depth_stencil {
            let format = d.view.texture().format();
            if format.info().depth {
                list.push(Attachment {
                    targets: layers(
                        &d.view,
                        Aspect::Depth,
                        edge,
                        access(d.depth_read_only, &d.depth_load),
                        0,
                    )?,
                    samples,
                    planes: set(planes.depth(0)),
                    clear: match d.depth_load {
                        LoadOp::Clear(value) if !d.depth_read_only => {
                            let aspect = format.aspect_format(Aspect::Depth).unwrap_or(format);
                            Some(PlaneWords::clear(aspect, [value.into(); 4]))
                        }
                        _ => None,
                    },
                    store: d.depth_store && !d.depth_read_only,
                    resolve: resolve(&d.resolve, Aspect::Depth)?,
                    mode: d.depth_resolve_mode,
                });
            }
            if format.info().stencil {
                list.push(Attachment {
                    targets: layers(
                        &d.view,
                        Aspect::Stencil,
                        edge,
                        access(d.stencil_read_only, &d.stencil_load),
                        0,
                    )?,
                    samples,
                    planes: set(planes.stencil(0)),
                    clear: match d.stencil_load {
                        LoadOp::Clear(value) if !d.stencil_read_only => {
                            Some(PlaneWords::clear(TextureFormat::Stencil8, [(value & 0xff).into(); 4]))
                        }
                        _ => None,
                    },
                    store: d.stencil_store && !d.stencil_read_only,
                    resolve: resolve(&d.resolve, Aspect::Stencil)?,
                    mode: d.stencil_resolve_mode,
                });
            }
        }
        let (width, height) = list
            .first()
            .map_or_else(|| without_attachments(pass), |a| a.targets[0].size());
        let layers = list.first().map_or(1, |a| a.targets.len());
        let fits = |t: &Target, samples: u32| t.size() == (width, height) && t.samples() == samples;
        let alike = list
            .iter()
            .all(|a| a.targets.len() == layers && a.targets.iter().all(|t| fits(t, samples)));
        let resolves = list.iter().all(|a| {
            a.resolve.is_empty() || a.resolve.len() == layers && a.resolve.iter().all(|r| r.size() == (width, height))
        });
        if !alike || !resolves {
            return Err(AttachmentError::Mismatch);
        }
        Ok(Attachments {
            list,
            planes,
            width,
            height,
            layers: layers as u32,
        })
    }

    /// Cells of tile memory.
    pub fn cells(&self) -> usize {
        (self.planes.plane_count() * self.planes.plane_stride()) as usize / 32
    }

    /// Fills tile memory before the first draw touches the tile. `first` round of the pass: clears count.
    pub fn load(&self, (layer, tx, ty): TilePlace, memory: &mut [Cell], first: bool) {
        for a in &self.list {
            match &a.clear {
                Some(words) if first => a.planes.clear(memory, words, a.samples),
                _ => {
                    if let Some(tile) = a.targets[layer].tile(tx, ty) {
                        tile.load(memory, a.planes);
                    }
                }
            }
        }
    }

    /// Writes a tile back. `last` round: only what is stored, and resolves; else everything (law R4).
    pub fn store(&self, (layer, tx, ty): TilePlace, memory: &[Cell], last: bool) {
        for a in &self.list {
            if (a.store || !last)
                && let Some(mut tile) = a.targets[layer].tile(tx, ty)
            {
                tile.store(memory, a.planes);
            }
            if last && let Some(mut tile) = a.resolve.get(layer).and_then(|r| r.tile(tx, ty)) {
                tile.resolve(memory, a.planes, a.samples, a.mode);
            }
        }
    }

    /// After the last round: what isn't stored reads as zeros from now on, whatever rounds left there (law R4).
    pub fn discard(&self) {
        for a in self.list.iter().filter(|a| !a.store) {
            a.targets.iter().for_each(Target::discard);
        }
    }

    /// A tile that no draw touches in the pass' only round: clears go straight to the texture. True if that is all.
    pub fn untouched(&self, (layer, tx, ty): TilePlace) -> bool {
        // A resolve of loaded samples needs them in tile memory.
        if self.list.iter().any(|a| !a.resolve.is_empty() && a.clear.is_none()) {
            return false;
        }
        for a in &self.list {
            let Some(words) = &a.clear else { continue };
            if a.store
                && let Some(mut tile) = a.targets[layer].tile(tx, ty)
            {
                tile.fill(words);
            }
            if let Some(mut tile) = a.resolve.get(layer).and_then(|r| r.tile(tx, ty)) {
                tile.fill(words);
            }
        }
        true
    }
}

/// Most pixels in each direction of a pass without attachments (R-RAST-28).
const MAX_SIZE: i32 = 16384;

/// R-RAST-28: what the draws' viewports reach.
fn without_attachments(pass: &Pass<'_>) -> (u32, u32) {
    let views = pass
        .draws
        .iter()
        .flat_map(|d| std::iter::once(d.viewport).chain(d.more_viewports.iter().map(|v| v.0)));
    let (mut width, mut height) = (0, 0);
    for view in views {
        let reach = view.scissor();
        (width, height) = (width.max(reach.x1), height.max(reach.y1));
    }
    let size = |v: i32| v.clamp(0, MAX_SIZE) as u32;
    (size(width), size(height))
}

/// The view's layers as targets.
fn layers(
    view: &TextureView,
    aspect: Aspect,
    edge: u32,
    access: Access,
    slice: u32,
) -> Result<Vec<Target>, TextureError> {
    (0..view.layers().1)
        .map(|layer| Target::new(&view.layer(layer), aspect, edge, access, slice))
        .collect()
}

fn access<T>(read_only: bool, load: &LoadOp<T>) -> Access {
    match load {
        _ if read_only => Access::ReadOnly,
        LoadOp::Clear(_) => Access::Overwrite,
        LoadOp::Load => Access::ReadWrite,
    }
}
