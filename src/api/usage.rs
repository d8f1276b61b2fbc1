//! What buffers, textures and bindings may be used for.

use bitflags::bitflags;
use std::fmt;

bitflags! {
    /// What a buffer may be used for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct BufferUsages: u32 {
        /// Source of copies; [`Buffer::read`](crate::Buffer::read).
        const COPY_SRC = 1 << 0;
        /// Destination of copies; [`Buffer::write`](crate::Buffer::write).
        const COPY_DST = 1 << 1;
        /// Index buffer.
        const INDEX = 1 << 2;
        /// Vertex buffer.
        const VERTEX = 1 << 3;
        /// Uniform binding.
        const UNIFORM = 1 << 4;
        /// Storage binding.
        const STORAGE = 1 << 5;
        /// Arguments of indirect draws.
        const INDIRECT = 1 << 6;
        /// Destination of query results.
        const QUERY_RESOLVE = 1 << 7;
    }

    /// What a texture may be used for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct TextureUsages: u32 {
        /// Source of copies; [`Texture::read`](crate::Texture::read).
        const COPY_SRC = 1 << 0;
        /// Destination of copies; [`Texture::write`](crate::Texture::write).
        const COPY_DST = 1 << 1;
        /// Sampled or loaded by shaders.
        const TEXTURE_BINDING = 1 << 2;
        /// Stored to by shaders.
        const STORAGE_BINDING = 1 << 3;
        /// Rendered to.
        const RENDER_ATTACHMENT = 1 << 4;
    }

    /// Stages that see a binding.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ShaderStages: u32 {
        /// The vertex stage.
        const VERTEX = 1 << 0;
        /// The fragment stage.
        const FRAGMENT = 1 << 1;
        /// Both.
        const VERTEX_FRAGMENT = 3;
    }
}

macro_rules! display_flags {
    ($($type:ident)*) => { $(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.is_empty() {
                    return f.write_str("nothing");
                }
                bitflags::parser::to_writer(self, f)
            }
        }
    )* };
}

display_flags! { BufferUsages TextureUsages ShaderStages }
