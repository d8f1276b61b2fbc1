//! Limits: checked before anything is allocated (R-WGSL-80 and section 6 of WebGPU's rules).

macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $value:expr, $name:literal;)*) => {
        /// What a device allows, by WebGPU's names. The values are fixed: they come from how memory is laid out, not from
        /// the machine.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Limits { $($(#[$doc])* pub $field: $type,)* }

        impl Default for Limits {
            fn default() -> Self {
                Limits { $($field: $value,)* }
            }
        }

        impl Limits {
            /// All limits by WebGPU's names.
            pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($name, u64::from(self.$field)),)*].into_iter()
            }
        }
    };
}

limits! {
    /// Width of a 1d texture.
    max_texture_dimension_1d: u32 = 16384, "maxTextureDimension1D";
    /// Width and height of a 2d texture.
    max_texture_dimension_2d: u32 = 16384, "maxTextureDimension2D";
    /// Width, height and depth of a 3d texture.
    max_texture_dimension_3d: u32 = 2048, "maxTextureDimension3D";
    /// Layers of a texture.
    max_texture_array_layers: u32 = 2048, "maxTextureArrayLayers";
    /// Bind groups of a pipeline.
    max_bind_groups: u32 = 4, "maxBindGroups";
    /// Bindings in a group.
    max_bindings_per_bind_group: u32 = 1000, "maxBindingsPerBindGroup";
    /// Dynamic uniform buffers in a pipeline layout.
    max_dynamic_uniform_buffers_per_pipeline_layout: u32 = 8, "maxDynamicUniformBuffersPerPipelineLayout";
    /// Dynamic storage buffers in a pipeline layout.
    max_dynamic_storage_buffers_per_pipeline_layout: u32 = 4, "maxDynamicStorageBuffersPerPipelineLayout";
    /// Bytes that a uniform binding may have.
    max_uniform_buffer_binding_size: u64 = 65536, "maxUniformBufferBindingSize";
    /// Bytes that a storage binding may have.
    max_storage_buffer_binding_size: u64 = 1 << 31, "maxStorageBufferBindingSize";
    /// Offsets of uniform bindings are multiples of it.
    min_uniform_buffer_offset_alignment: u32 = 32, "minUniformBufferOffsetAlignment";
    /// Offsets of storage bindings are multiples of it.
    min_storage_buffer_offset_alignment: u32 = 32, "minStorageBufferOffsetAlignment";
    /// Bytes of a buffer.
    max_buffer_size: u64 = 1 << 32, "maxBufferSize";
    /// Vertex buffers of a pipeline.
    max_vertex_buffers: u32 = 16, "maxVertexBuffers";
    /// Attributes of a pipeline.
    max_vertex_attributes: u32 = 32, "maxVertexAttributes";
    /// Bytes from one vertex to the next.
    max_vertex_buffer_array_stride: u32 = 2048, "maxVertexBufferArrayStride";
    /// Bytes of immediates (push constants).
    max_immediate_size: u32 = 256, "maxImmediateSize";
    /// Colour attachments of a pass.
    max_color_attachments: u32 = 8, "maxColorAttachments";
    /// Bytes of a pixel's sample over all colour attachments.
    max_color_attachment_bytes_per_sample: u32 = 128, "maxColorAttachmentBytesPerSample";
}
