//! The scene as plain data: what a loader makes and a renderer reads, with nothing of glTF's JSON or of any GPU in it.
//!
//! Indices stay inside the scene that holds them: the loader checks every one, so a renderer may index without asking.

use super::math::{Aabb, Mat4, Vec3};
use crate::files::texture::TextureFile;

/// A scene ready to draw: everything reachable from its root nodes, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Parents stand before their children.
    pub nodes: Vec<Node>,
    /// Meshes that some node shows.
    pub meshes: Vec<Mesh>,
    /// The file's materials, and glTF's default material behind them.
    pub materials: Vec<Material>,
    /// Decoded images that those materials use.
    pub images: Vec<Image>,
    /// Punctual lights, one for each node that carries one.
    pub lights: Vec<Light>,
    /// Cameras, one for each node that carries one.
    pub cameras: Vec<Camera>,
    /// The world-space box around all that is drawn; `None` if nothing is.
    pub bounds: Option<Aabb>,
    /// What the file asks for and this renderer leaves out, each said once.
    pub warnings: Vec<String>,
}

impl Scene {
    /// Triangles drawn, every instance counted; points and lines are none.
    pub fn triangle_count(&self) -> u64 {
        let of_mesh: Vec<u64> = self
            .meshes
            .iter()
            .map(|mesh| mesh.primitives.iter().map(|p| p.triangle_count() as u64).sum())
            .collect();
        self.nodes
            .iter()
            .filter_map(|node| node.mesh)
            .map(|mesh| of_mesh[mesh])
            .sum()
    }
}

/// One node of the hierarchy, with its place in the world worked out.
#[derive(Clone, Debug)]
pub struct Node {
    /// The file's name for it, or an empty string.
    pub name: String,
    /// The node it hangs from.
    pub parent: Option<usize>,
    /// From its own space to the world's.
    pub world: Mat4,
    /// What it shows.
    pub mesh: Option<usize>,
}

/// A list of primitives that move together.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// The file's name for it, or an empty string.
    pub name: String,
    /// Its parts, one material each.
    pub primitives: Vec<Primitive>,
}

/// What three, two or one indices make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topology {
    /// One index, one pixel.
    Points,
    /// Two indices, a segment. Strips and loops have been taken apart.
    Lines,
    /// Three indices, counter-clockwise from outside. Strips and fans have been taken apart.
    Triangles,
}

/// Geometry of one material. All vertex arrays that exist have the length of `positions`.
#[derive(Clone, Debug)]
pub struct Primitive {
    /// How `indices` are read.
    pub topology: Topology,
    /// Vertices to draw, in order; each is below `positions.len()`.
    pub indices: Vec<u32>,
    /// Object-space positions.
    pub positions: Vec<Vec3>,
    /// Unit normals. Triangles always have them; points and lines without them are not lit.
    pub normals: Option<Vec<Vec3>>,
    /// Unit tangents and the sign of the bitangent, where a normal map wants them.
    pub tangents: Option<Vec<[f32; 4]>>,
    /// Texture coordinates, sets 0 and 1.
    pub uvs: [Option<Vec<[f32; 2]>>; 2],
    /// Linear RGBA factors of the base colour.
    pub colors: Option<Vec<[f32; 4]>>,
    /// Index into the scene's materials.
    pub material: usize,
    /// The box around `positions`.
    pub bounds: Aabb,
}

impl Primitive {
    /// How many triangles it draws.
    pub fn triangle_count(&self) -> usize {
        if self.topology == Topology::Triangles {
            self.indices.len() / 3
        } else {
            0
        }
    }
}

/// How alpha is understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AlphaMode {
    /// Alpha is ignored.
    Opaque,
    /// Fragments below the cutoff are dropped, the rest is opaque.
    Mask(f32),
    /// Alpha is coverage, composited over what lies behind.
    Blend,
}

/// A metallic-roughness material.
#[derive(Clone, Debug)]
pub struct Material {
    /// The file's name for it, or an empty string.
    pub name: String,
    /// Linear RGBA, times the map and the vertex colour.
    pub base_color: [f32; 4],
    /// sRGB colour and linear alpha.
    pub base_color_map: Option<TextureRef>,
    /// 1 for metal, 0 for everything else.
    pub metallic: f32,
    /// Perceptual roughness (its square is the width of the highlight).
    pub roughness: f32,
    /// Roughness in green, metalness in blue.
    pub metallic_roughness_map: Option<TextureRef>,
    /// Tangent-space normals.
    pub normal_map: Option<TextureRef>,
    /// Scale of the map's x and y.
    pub normal_scale: f32,
    /// Occlusion of indirect light in red.
    pub occlusion_map: Option<TextureRef>,
    /// How much of the occlusion applies.
    pub occlusion_strength: f32,
    /// Linear RGB, strength multiplied in.
    pub emissive: Vec3,
    /// sRGB colour.
    pub emissive_map: Option<TextureRef>,
    /// What alpha does.
    pub alpha: AlphaMode,
    /// Back faces are drawn, with their normal turned round.
    pub double_sided: bool,
    /// Light does not matter: the base colour is the result.
    pub unlit: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: [1.0; 4],
            base_color_map: None,
            metallic: 1.0,
            roughness: 1.0,
            metallic_roughness_map: None,
            normal_map: None,
            normal_scale: 1.0,
            occlusion_map: None,
            occlusion_strength: 1.0,
            emissive: [0.0; 3],
            emissive_map: None,
            alpha: AlphaMode::Opaque,
            double_sided: false,
            unlit: false,
        }
    }
}

/// A texture as a material sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureRef {
    /// Index into the scene's images.
    pub image: usize,
    /// How it is read.
    pub sampler: Sampler,
    /// Texture coordinate set: 0 or 1.
    pub uv_set: usize,
    /// KHR_texture_transform as two rows: `uv' = (dot(row0, (u, v, 1)), dot(row1, (u, v, 1)))`. `None` changes nothing.
    pub transform: Option<[Vec3; 2]>,
}

/// A texture's filters and wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sampler {
    /// Linear magnification.
    pub mag_linear: bool,
    /// Linear minification within a level.
    pub min_linear: bool,
    /// Which mip levels minification reads.
    pub mips: MipFilter,
    /// Along u and v.
    pub wrap: [Wrap; 2],
}

impl Default for Sampler {
    /// glTF leaves an absent sampler's filters to the renderer: the best it has.
    fn default() -> Self {
        Self {
            mag_linear: true,
            min_linear: true,
            mips: MipFilter::Linear,
            wrap: [Wrap::Repeat; 2],
        }
    }
}

/// How minification uses mip levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MipFilter {
    /// Only the full image.
    None,
    /// The nearest level.
    Nearest,
    /// Between two levels.
    Linear,
}

/// What happens outside 0..1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrap {
    /// It starts again.
    Repeat,
    /// It runs back.
    Mirror,
    /// It stops at the edge.
    Clamp,
}

/// What a material's texture shows.
#[derive(Clone, PartialEq, Eq)]
pub enum Texels {
    /// 8-bit RGBA as stored, rows from the top: `4 * width * height` bytes. Renderers make the mip levels.
    Rgba8(Vec<u8>),
    /// A 2d texture of one layer in a format that can be filtered, with the levels that the file has.
    File(TextureFile),
}

/// A decoded image.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// Where it came from, for messages.
    pub name: String,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Its content.
    pub texels: Texels,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({}, {} x {})", self.name, self.width, self.height)
    }
}

/// A light of KHR_lights_punctual, placed in the world.
#[derive(Clone, Debug)]
pub struct Light {
    /// The node's or the light's name, or an empty string.
    pub name: String,
    /// Its shape.
    pub kind: LightKind,
    /// Linear RGB times intensity: candela for points and spots, lux for directional lights.
    pub color: Vec3,
    /// Where it is (unused by directional lights).
    pub position: Vec3,
    /// The unit direction in which it shines (unused by points).
    pub direction: Vec3,
    /// Nothing farther away is lit; `None` is no limit.
    pub range: Option<f32>,
}

/// The shapes of punctual lights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// From infinitely far away.
    Directional,
    /// The same in all directions.
    Point,
    /// A cone that fades between two angles from its axis, in radians.
    Spot {
        /// Full strength inside.
        inner: f32,
        /// Nothing outside.
        outer: f32,
    },
}

/// A camera placed in the world: it looks along the frame's -z, with +y up.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// The node's name, else the camera's, else an empty string.
    pub name: String,
    /// Orthonormal axes and the eye.
    pub frame: Mat4,
    /// Its lens.
    pub lens: Lens,
}

/// A camera's projection. The aspect ratio is the image's, not the file's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lens {
    /// Vertical field of view in radians.
    Perspective {
        /// Full vertical angle.
        yfov: f32,
        /// Nearest depth.
        near: f32,
        /// Farthest depth; `None` is infinity.
        far: Option<f32>,
    },
    /// Parallel projection.
    Orthographic {
        /// Half the visible width, in the file's aspect ratio.
        xmag: f32,
        /// Half the visible height.
        ymag: f32,
        /// Nearest depth.
        near: f32,
        /// Farthest depth.
        far: f32,
    },
}
