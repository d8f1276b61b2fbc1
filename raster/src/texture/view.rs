//! Views: which levels, layers, aspect and format of a texture are meant, and as what shape.

use super::error::TextureError;
use super::storage::Storage;
use super::texels::{Texture, TextureDimension};
use crate::format::{Aspect, TextureFormat};
use std::sync::Arc;

/// Shape of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are WebGPU's")]
pub enum ViewDimension {
    D1,
    D2,
    D2Array,
    Cube,
    CubeArray,
    D3,
}

/// `GPUTextureViewDescriptor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextureViewDescriptor {
    /// The texture's format, or its sRGB twin.
    pub format: Option<TextureFormat>,
    /// Shape; by default the texture's, an array if it has several layers.
    pub dimension: Option<ViewDimension>,
    /// Aspect.
    pub aspect: Aspect,
    /// First level.
    pub base_level: u32,
    /// Levels; by default all from the first on.
    pub levels: Option<u32>,
    /// First layer.
    pub base_layer: u32,
    /// Layers; by default as many as the shape takes.
    pub layers: Option<u32>,
}

/// A checked view. Cheap to make and to clone.
#[derive(Clone, Debug)]
pub struct TextureView {
    texture: Arc<Texture>,
    format: TextureFormat,
    dimension: ViewDimension,
    aspect: Aspect,
    base_level: u32,
    levels: u32,
    base_layer: u32,
    layers: u32,
}

impl TextureView {
    /// Checks the descriptor against the texture.
    pub fn new(texture: &Arc<Texture>, d: &TextureViewDescriptor) -> Result<TextureView, TextureError> {
        use ViewDimension::*;
        let t = texture.descriptor();
        let (own, _) = texture.plane(d.aspect)?;
        let format = d.format.unwrap_or(t.format);
        if format != t.format && Some(format) != t.format.srgb_twin() && format != own {
            return Err(TextureError::Format {
                format,
                what: "is not the texture's format or its sRGB twin",
            });
        }
        let end = |first: u32, count: u32| u64::from(first) + u64::from(count);
        let levels = d.levels.unwrap_or(t.levels.saturating_sub(d.base_level));
        if levels == 0 || end(d.base_level, levels) > t.levels.into() {
            let end = end(d.base_level, levels);
            return Err(TextureError::ViewRange {
                what: "levels",
                first: d.base_level,
                end,
                size: t.levels,
            });
        }
        let all = texture.layers();
        let dimension = d.dimension.unwrap_or(match t.dimension {
            TextureDimension::D1 => D1,
            TextureDimension::D2 if all == 1 => D2,
            TextureDimension::D2 => D2Array,
            TextureDimension::D3 => D3,
        });
        let layers = d.layers.unwrap_or(match dimension {
            D1 | D2 | D3 => 1,
            Cube => 6,
            D2Array => all.saturating_sub(d.base_layer),
            CubeArray => all.saturating_sub(d.base_layer) / 6 * 6,
        });
        if layers == 0 || end(d.base_layer, layers) > all.into() {
            let end = end(d.base_layer, layers);
            return Err(TextureError::ViewRange {
                what: "layers",
                first: d.base_layer,
                end,
                size: all,
            });
        }
        let shape = match (t.dimension, dimension) {
            (TextureDimension::D1, D1) | (TextureDimension::D3, D3) | (TextureDimension::D2, D2) => layers == 1,
            (TextureDimension::D2, D2Array) => true,
            (TextureDimension::D2, Cube | CubeArray) => {
                if t.width != t.height || t.samples != 1 {
                    return Err(TextureError::Invalid(
                        "a cube view needs a square texture of one sample",
                    ));
                }
                layers == 6 || dimension == CubeArray && layers.is_multiple_of(6)
            }
            _ => {
                return Err(TextureError::Invalid(
                    "the view's dimension doesn't go with the texture's",
                ));
            }
        };
        if !shape {
            return Err(TextureError::Invalid(
                "the view's dimension doesn't go with its number of layers",
            ));
        }
        Ok(TextureView {
            texture: texture.clone(),
            format,
            dimension,
            aspect: d.aspect,
            base_level: d.base_level,
            levels,
            base_layer: d.base_layer,
            layers,
        })
    }

    /// The view of everything, in the texture's own shape.
    pub fn whole(texture: &Arc<Texture>) -> Result<TextureView, TextureError> {
        TextureView::new(texture, &TextureViewDescriptor::default())
    }

    /// The view of one of its layers alone.
    pub fn layer(&self, layer: u32) -> TextureView {
        let dimension = match self.dimension {
            ViewDimension::D1 | ViewDimension::D3 => self.dimension,
            _ => ViewDimension::D2,
        };
        TextureView {
            dimension,
            base_layer: self.base_layer + layer.min(self.layers - 1),
            layers: 1,
            ..self.clone()
        }
    }

    /// The texture.
    pub fn texture(&self) -> &Arc<Texture> {
        &self.texture
    }

    /// Format as the view has it.
    pub fn format(&self) -> TextureFormat {
        self.format
    }

    /// Shape.
    pub fn dimension(&self) -> ViewDimension {
        self.dimension
    }

    /// Aspect.
    pub fn aspect(&self) -> Aspect {
        self.aspect
    }

    /// First level and number of levels.
    pub fn levels(&self) -> (u32, u32) {
        (self.base_level, self.levels)
    }

    /// First layer and number of layers.
    pub fn layers(&self) -> (u32, u32) {
        (self.base_layer, self.layers)
    }

    /// Samples a texel.
    pub fn samples(&self) -> u32 {
        self.texture.descriptor().samples
    }

    /// Width, height and depth of the view's first level.
    pub fn size(&self) -> [u32; 3] {
        let d = self.texture.descriptor();
        let depth = if self.dimension == ViewDimension::D3 {
            d.depth_or_layers
        } else {
            1
        };
        [d.width, d.height, depth].map(|s| super::layout::level_size(s, self.base_level))
    }

    /// The single-aspect format the view's `aspect` has (the view's sRGB-ness included) and its storage.
    pub(crate) fn plane(&self, aspect: Aspect) -> Result<(TextureFormat, &Arc<Storage>), TextureError> {
        let (format, storage) = self.texture.plane(aspect)?;
        Ok((
            if self.texture.format().is_depth_stencil() {
                format
            } else {
                self.format
            },
            storage,
        ))
    }

    /// The subresources in the view.
    pub(crate) fn subresources(&self, storage: &Storage) -> impl Iterator<Item = usize> + Clone + use<> {
        let per_layer = storage.layout().levels.len();
        let (level, levels) = (self.base_level as usize, self.levels as usize);
        let layers = self.base_layer as usize..(self.base_layer + self.layers) as usize;
        layers.flat_map(move |layer| layer * per_layer + level..layer * per_layer + level + levels)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryBudget, TextureDescriptor};
    use super::*;

    fn make(d: TextureDescriptor) -> Arc<Texture> {
        Texture::new(&d, &MemoryBudget::new(1 << 24)).unwrap()
    }

    #[test]
    fn defaults_follow_the_texture() {
        let base = TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, 16, 16);
        let t = make(TextureDescriptor {
            depth_or_layers: 7,
            levels: 5,
            ..base
        });
        let v = TextureView::whole(&t).unwrap();
        assert_eq!(
            (v.dimension(), v.levels(), v.layers()),
            (ViewDimension::D2Array, (0, 5), (0, 7))
        );
        let d = TextureViewDescriptor {
            base_level: 2,
            base_layer: 1,
            ..Default::default()
        };
        let v = TextureView::new(
            &t,
            &TextureViewDescriptor {
                dimension: Some(ViewDimension::Cube),
                ..d
            },
        )
        .unwrap();
        assert_eq!((v.size(), v.levels(), v.layers()), ([4, 4, 1], (2, 3), (1, 6)));
        assert_eq!(v.subresources(v.plane(Aspect::All).unwrap().1).count(), 18);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let t = make(TextureDescriptor {
            depth_or_layers: 6,
            ..TextureDescriptor::new_2d(TextureFormat::R8Unorm, 8, 4)
        });
        let view = |d: TextureViewDescriptor| TextureView::new(&t, &d).map(|_| ());
        let d = TextureViewDescriptor::default();
        assert!(
            view(TextureViewDescriptor {
                dimension: Some(ViewDimension::Cube),
                ..d
            })
            .is_err()
        );
        assert!(
            view(TextureViewDescriptor {
                dimension: Some(ViewDimension::D3),
                ..d
            })
            .is_err()
        );
        assert!(view(TextureViewDescriptor { base_level: 1, ..d }).is_err());
        assert!(
            view(TextureViewDescriptor {
                base_layer: 5,
                layers: Some(2),
                ..d
            })
            .is_err()
        );
        assert!(
            view(TextureViewDescriptor {
                layers: Some(u32::MAX),
                base_layer: 2,
                ..d
            })
            .is_err()
        );
        assert!(
            view(TextureViewDescriptor {
                format: Some(TextureFormat::R8Uint),
                ..d
            })
            .is_err()
        );
        assert!(
            view(TextureViewDescriptor {
                aspect: Aspect::Depth,
                ..d
            })
            .is_err()
        );
        assert!(
            view(TextureViewDescriptor {
                dimension: Some(ViewDimension::D2),
                base_layer: 3,
                ..d
            })
            .is_ok()
        );
    }
}
