//! A shader rasterizer for the CPU: WebGPU's pipeline, compiled to native code that shades 2x2 quads of pixels.
//!
//! Quadrille renders offline, without a GPU, a driver or LLVM. A pipeline (vertex shader, fragment shader and the fixed function
//! around them) becomes one program for vertices and one for fragments, compiled in milliseconds by Cranelift. The image is the
//! same to the bit for every thread count, every run, and with native code or the interpreter.
//!
//! # A triangle
//!
//! ```
//! use quadrille::*;
//!
//! const SHADER: &str = r#"
//!     struct Vertex {
//!         @builtin(position) position: vec4f,
//!         @location(0) color: vec3f,
//!     }
//!
//!     @vertex fn vs(@builtin(vertex_index) i: u32) -> Vertex {
//!         let corners = array(vec2f(0.0, 0.9), vec2f(-0.9, -0.9), vec2f(0.9, -0.9));
//!         let colors = array(vec3f(1.0, 0.0, 0.0), vec3f(0.0, 1.0, 0.0), vec3f(0.0, 0.0, 1.0));
//!         return Vertex(vec4f(corners[i], 0.0, 1.0), colors[i]);
//!     }
//!
//!     @fragment fn fs(in: Vertex) -> @location(0) vec4f {
//!         return vec4f(in.color, 1.0);
//!     }
//! "#;
//!
//! # fn main() -> quadrille::Result<()> {
//! let device = Device::new(&DeviceDescriptor::default())?;
//! let target = device.create_texture(&TextureDescriptor {
//!     label: Some("target"),
//!     size: Extent3d::new_2d(64, 64),
//!     usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
//!     ..Default::default()
//! })?;
//! let view = target.create_view(&TextureViewDescriptor::default())?;
//! let module = device.create_shader_module(ShaderModuleDescriptor {
//!     label: Some("triangle.wgsl"),
//!     source: ShaderSource::Wgsl(SHADER.into()),
//! })?;
//! let pipeline = device.create_render_pipeline(&RenderPipelineDescriptor::new(
//!     VertexState::new(&module, "vs", &[]),
//!     Some(FragmentState::new(&module, "fs", &[Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))])),
//! ))?;
//!
//! let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
//! let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
//!     label: Some("main"),
//!     color_attachments: &[Some(RenderPassColorAttachment::new(&view))],
//!     ..Default::default()
//! })?;
//! pass.set_pipeline(&pipeline)?;
//! pass.draw(0..3, 0..1)?;
//! pass.end();
//! device.queue().submit([encoder.finish()])?;
//!
//! let pixels = target.read()?;
//! let pixel = |x: usize, y: usize| &pixels[(y * 64 + x) * 4..][..4];
//! assert_eq!(pixel(0, 0), [0, 0, 0, 0], "a corner of the image is clear");
//! assert_eq!(pixel(32, 4)[3], 255, "the top of the triangle is there");
//! assert!(pixel(32, 4)[0] > 230, "and it is red");
//! # Ok(())
//! # }
//! ```
//!
//! # How to find what you know
//!
//! The names are WebGPU's, as wgpu spells them: [`Device`], [`Queue`], [`Buffer`], [`Texture`], [`Sampler`], [`ShaderModule`],
//! [`BindGroup`], [`RenderPipeline`], [`CommandEncoder`], [`RenderPass`]. What differs:
//!
//! - There is no instance, no adapter and no surface. [`Device::new`] is the beginning; [`Texture::read`] is the end.
//! - **Every call returns a `Result`.** There are no error scopes and no lost devices. An error names the object by its label, says
//!   what is wrong and what would be right; a call that failed has changed nothing. Each operation has its own error type,
//!   and [`Error`] takes them all, so that `?` works.
//! - **[`Queue::submit`] is synchronous**: when it returns, the image is there. [`Queue::submit_async`] returns a [`Submission`] to wait for,
//!   to cancel, or to ask for its progress. A device does one thing at a time in the order of the calls, so a later
//!   upload never reaches an earlier submission.
//! - Everything is `Send + Sync`, and clones are the same object. Devices share one pool of worker threads.
//! - Command buffers may be submitted again.
//! - Buffers and textures are read and written directly: [`Buffer::read`], [`Buffer::write`], [`Texture::read`], [`Texture::write_level`],
//!   [`Texture::generate_mipmaps`]. [`Queue::submit_with`] puts the image into memory of the caller's, with a stride.
//! - [`Limits`] are fixed: they come from how memory is laid out, not from a machine. Formats can do what WebGPU's optional features
//!   allow: 32-bit floats are filterable and blendable.
//!
//! # What a shader can't do
//!
//! Crash, hang, or touch memory that isn't its own. Reads outside of a buffer give 0, writes there vanish, an array index is
//! clamped. Loops whose end can't be proved have a budget ([`DeviceDescriptor::loop_budget`]); a shader that exceeds it ends
//! its submission with [`SubmitError::LoopBudget`], which names the loop's line.
//!
//! # Back ends
//!
//! [`Backend::Jit`] compiles to native code, for 8 lanes at once where the processor has AVX2. [`Backend::Interpreter`] runs the same
//! programs slowly; it is the oracle of the tests. [`Backend::Auto`] takes native code, and falls back with a
//! [warning](Device::warnings) where the system refuses executable memory. The image is the same.
//!
//! # Jobs
//!
//! [`job`] reads a whole pipeline from a JSON file, as `quadrille run` does; [`Device::capture`] writes one from what is submitted.
//!
//! # Supported platforms
//!
//! | tier | what |
//! |---|---|
//! | Linux on x86-64 with AVX2 and FMA | native code, 8 lanes |
//! | Linux on x86-64 with SSE4.2 | native code, 4 lanes |
//! | Linux on aarch64 | native code, 4 lanes |
//! | others | refused by name |
#![forbid(unsafe_code)]

mod api;
pub mod files;
pub mod job;
pub mod scene;
pub mod trace;

pub use api::*;
