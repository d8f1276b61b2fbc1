//! What a job file says, as plain data.
//!
//! Field names and words are WebGPU's; what differs is in `docs/job-format.md`. Every struct refuses unknown fields and
//! every object refuses a name given twice, so that a typing error is an error and not a silent default.

mod numbers;
mod pass;
mod pipeline;
mod probe;
mod resource;

pub(super) use numbers::from_hex;
pub use numbers::{Bits, Data, Float, Int, OneOrMany, OrName, Text};
pub use pass::*;
pub use pipeline::*;
pub use probe::*;
pub use resource::*;

use super::named::Named;
use serde::Deserialize;

/// A whole job.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Job {
    /// Version of the format: 1 or 2.
    pub format: u32,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// What it shows, in a sentence.
    #[serde(default)]
    pub about: String,
    /// What it stresses, one or two words each.
    #[serde(default)]
    pub stresses: Vec<String>,
    /// Ids of the rules that it shows.
    #[serde(default)]
    pub cites: Vec<String>,
    /// Shaders by name.
    #[serde(default)]
    pub shaders: Named<OrName<Shader>>,
    /// Buffers by name.
    #[serde(default)]
    pub buffers: Named<Buffer>,
    /// Textures by name.
    #[serde(default)]
    pub textures: Named<Texture>,
    /// Samplers by name.
    #[serde(default)]
    pub samplers: Named<Sampler>,
    /// Query sets by name.
    #[serde(default)]
    pub query_sets: Named<QuerySet>,
    /// Render pipelines by name.
    #[serde(default)]
    pub pipelines: Named<Pipeline>,
    /// Bind groups by name.
    #[serde(default)]
    pub bind_groups: Named<BindGroup>,
    /// Passes and copies of a frame, in order.
    pub passes: Vec<Pass>,
    /// The texture that is the image.
    pub output: Option<String>,
    /// What is written to files.
    #[serde(default)]
    pub outputs: Vec<Output>,
    /// What must come out.
    #[serde(default)]
    pub expect: Vec<Probe>,
}

impl Job {
    /// Why this is no job of the format that it says it is: format 1 lacks whole parts of format 2, and needs an output.
    pub(super) fn version_mistake(&self) -> Option<(&'static str, &'static str)> {
        let needs_two = "needs `format` 2";
        match self.format {
            1 if self.output.is_none() => Some(("output", "missing; format 1 needs the texture that is the image")),
            1 if !self.outputs.is_empty() => Some(("outputs", needs_two)),
            1 if !self.expect.is_empty() => Some(("expect", needs_two)),
            1 if !self.cites.is_empty() => Some(("cites", needs_two)),
            1 if self.query_sets.iter().next().is_some() => Some(("querySets", needs_two)),
            _ => None,
        }
    }
}
