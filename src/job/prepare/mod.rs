//! A loaded job on a device: every object made once, then frames.
//!
//! ```text
//! Loaded ─► resources.rs: buffers, textures, samplers ─► pipelines.rs: shader modules, pipelines, bind groups ─► frames
//! ```
//!
//! Each frame records and submits every pass anew; nothing of an earlier frame is reused.

mod pipelines;
mod resources;

pub(super) use resources::aspect;

use super::check;
use super::error::JobError;
use super::load::Loaded;
use super::model::Job;
use crate::{BindGroup, Buffer, Device, Error, QuerySet, RenderPipeline, Texture, TextureFormat, TextureView};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How a job is prepared.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOptions {
    /// Render targets, viewports and scissors are made smaller by this factor; everything else stays.
    pub scale: NonZeroU32,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        PrepareOptions { scale: NonZeroU32::MIN }
    }
}

/// A job on a device, ready to render frames.
#[derive(Debug)]
pub struct Prepared<'j> {
    pub(super) loaded: &'j Loaded,
    pub(super) device: Device,
    pub(super) scale: u32,
    pub(super) buffers: BTreeMap<&'j str, Buffer>,
    pub(super) textures: BTreeMap<&'j str, Target>,
    pub(super) pipelines: BTreeMap<&'j str, RenderPipeline>,
    pub(super) bind_groups: BTreeMap<&'j str, BindGroup>,
    pub(super) query_sets: BTreeMap<&'j str, QuerySet>,
    upload_time: Duration,
    pipeline_time: Duration,
}

/// A texture and its default view.
#[derive(Debug)]
pub(super) struct Target {
    pub texture: Texture,
    pub view: TextureView,
}

impl Loaded {
    /// Makes everything that the job describes.
    pub fn prepare(&self, device: &Device, options: &PrepareOptions) -> Result<Prepared<'_>, JobError> {
        check::draws(self)?;
        let clock = Instant::now();
        let maker = Maker {
            loaded: self,
            device,
            scale: options.scale.get(),
        };
        let buffers = maker.buffers()?;
        let textures = maker.textures()?;
        let samplers = maker.samplers()?;
        let query_sets = maker.query_sets()?;
        let upload_time = clock.elapsed();
        let clock = Instant::now();
        let pipelines = maker.pipelines()?;
        let pipeline_time = clock.elapsed();
        let bind_groups = maker.bind_groups(&buffers, &textures, &samplers, &pipelines)?;
        Ok(Prepared {
            loaded: self,
            device: device.clone(),
            scale: maker.scale,
            buffers,
            textures,
            pipelines,
            bind_groups,
            query_sets,
            upload_time,
            pipeline_time,
        })
    }

    pub(super) fn invalid(&self, at: impl Into<String>, reason: impl Into<String>) -> JobError {
        JobError::Invalid {
            job: self.path.clone(),
            at: at.into(),
            reason: reason.into(),
        }
    }

    pub(super) fn refuse(&self, at: impl Into<String>, feature: impl Into<String>) -> JobError {
        JobError::Refused {
            job: self.path.clone(),
            at: at.into(),
            feature: feature.into(),
        }
    }

    pub(super) fn failed(&self, at: impl Into<String>, source: impl Into<Error>) -> JobError {
        JobError::Object {
            job: self.path.clone(),
            at: at.into(),
            source: Box::new(source.into()),
        }
    }

    pub(super) fn missing(&self, at: impl Into<String>, kind: &str, name: &str) -> JobError {
        self.invalid(at, format!("there is no {kind} named `{name}`"))
    }
}

impl Prepared<'_> {
    /// Time that buffers, textures and samplers took.
    pub fn upload_time(&self) -> Duration {
        self.upload_time
    }

    /// Time that shader modules and pipelines took.
    pub fn pipeline_time(&self) -> Duration {
        self.pipeline_time
    }

    /// The pipelines by name, for their statistics.
    pub fn pipelines(&self) -> impl Iterator<Item = (&str, &RenderPipeline)> {
        self.pipelines.iter().map(|(&name, p)| (name, p))
    }

    /// What it was made from.
    pub fn job(&self) -> &Job {
        &self.loaded.job
    }
}

struct Maker<'j, 'd> {
    loaded: &'j Loaded,
    device: &'d Device,
    scale: u32,
}

impl<'j> Maker<'j, '_> {
    fn job(&self) -> &'j Job {
        &self.loaded.job
    }
}

/// The formats that `output` may have.
pub(super) const OUTPUT_FORMATS: [TextureFormat; 4] = [
    TextureFormat::Rgba8Unorm,
    TextureFormat::Rgba8UnormSrgb,
    TextureFormat::Rgba16Float,
    TextureFormat::Rgba32Float,
];
