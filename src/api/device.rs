//! Devices: how shaders are executed, with how many threads and how much memory.

use super::capture::Recorder;
use super::label::Label;
use super::limits::Limits;
use super::queue::Queue;
use super::trace::TraceLog;
use super::turn::Turnstile;
use quadrille_jit::interp::watch::Watch;
use quadrille_jit::interp::{Interpreter, Watching};
use quadrille_jit::{CompileCounters, CompileError, Executor, Jit, JitOptions, Refusal};
use quadrille_raster::pass::PassMemory;
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::MemoryBudget;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How shaders are executed. The image is the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Native code; where the system refuses executable memory the interpreter, with a warning.
    #[default]
    Auto,
    /// Native code, or an error.
    Jit,
    /// The reference interpreter: slow, simple.
    Interpreter,
}

/// Lanes of native code. The image is the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// What the processor does best.
    #[default]
    Auto,
    /// One quad a step.
    Four,
    /// Two quads a step; needs AVX2.
    Eight,
}

/// Describes a device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// Threads that work on a submission; by default as many as the process may use.
    pub threads: Option<NonZeroUsize>,
    /// Most bytes of buffers and textures together; by default three quarters of the machine's memory.
    pub memory_limit: Option<u64>,
    /// How shaders are executed.
    pub backend: Backend,
    /// Lanes of native code.
    pub lanes: Lanes,
    /// Iterations that one shader invocation may spend in loops whose end can't be proved. A shader that needs more
    /// ends its submission with an error that names the loop, so no shader hangs.
    pub loop_budget: u32,
    /// How passes are divided. Changes no result.
    pub tuning: PassTuning,
}

/// How a device divides its passes: for measurements, and for tests that nothing of it shows in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassTuning {
    /// Bytes of primitives that a pass collects before it draws them; at least a chunk is collected.
    pub bin_budget: usize,
    /// Primitives of a chunk, 1 to 4096; chunks are what threads share out. Vertices that chunks share are shaded in each.
    pub chunk_primitives: u32,
    /// Whether depths already drawn hide what comes behind them without looking at its pixels.
    pub hierarchical_depth: bool,
}

impl Default for PassTuning {
    fn default() -> Self {
        let pass = quadrille_raster::pass::PassOptions::default();
        PassTuning {
            bin_budget: pass.bin_budget,
            chunk_primitives: pass.chunk_primitives,
            hierarchical_depth: pass.hierarchical_depth,
        }
    }
}

impl Default for DeviceDescriptor<'_> {
    fn default() -> Self {
        DeviceDescriptor {
            label: None,
            threads: None,
            memory_limit: None,
            backend: Backend::Auto,
            lanes: Lanes::Auto,
            loop_budget: 1 << 22,
            tuning: PassTuning::default(),
        }
    }
}

/// Why a device could not be made.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// Native code was demanded and is impossible here.
    #[error(
        "device {label}: native code is not possible here: {reason}; Backend::Auto or Backend::Interpreter would do"
    )]
    NoNativeCode {
        /// The device.
        label: Label,
        /// Why.
        reason: CompileError,
    },
    /// The machine lacks the instructions for the lanes that were demanded.
    #[error("device {label}: 8 lanes need AVX2 and FMA, which this machine lacks; use Lanes::Auto or Lanes::Four")]
    NoEightLanes {
        /// The device.
        label: Label,
    },
    /// A number that makes no sense.
    #[error("device {label}: {what}")]
    Invalid {
        /// The device.
        label: Label,
        /// What is wrong and what would be right.
        what: String,
    },
}

/// Where everything begins: makes buffers, textures, shaders, pipelines. Clones are the same device; it is `Send + Sync`.
///
/// All devices of a process share worker threads.
#[derive(Clone, Debug)]
pub struct Device(Arc<Shared>);

/// What every object of a device refers to.
pub(super) struct Shared {
    pub id: u64,
    pub label: Label,
    pub executor: Arc<dyn Executor>,
    pub lanes: u32,
    pub pool: Arc<Pool>,
    /// What passes reuse.
    pub pass_memory: PassMemory,
    pub limits: Limits,
    pub budget: Arc<MemoryBudget>,
    pub turn: Arc<Turnstile>,
    pub loop_budget: u32,
    pub tuning: PassTuning,
    /// Draws of a traced device.
    pub trace: Option<Arc<TraceLog>>,
    /// The capture that is going on.
    pub capture: Mutex<Option<Recorder>>,
    warnings: Vec<String>,
    next_id: AtomicU64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("label", &self.label)
            .field("backend", &self.executor.name())
            .field("threads", &self.pool.threads())
            .finish()
    }
}

impl Shared {
    /// A number that no other object of this device has.
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

impl Device {
    /// Makes a device.
    pub fn new(descriptor: &DeviceDescriptor<'_>) -> Result<Device, DeviceError> {
        static NEXT_DEVICE: AtomicU64 = AtomicU64::new(1);
        let label = Label::new(descriptor.label);
        if descriptor.loop_budget == 0 {
            return Err(DeviceError::Invalid {
                label,
                what: "the loop budget is 0, so no loop could run; the default is 4194304".into(),
            });
        }
        let mut warnings = Vec::new();
        let (executor, lanes) = executor(descriptor, &label, &mut warnings)?;
        Ok(Device(Arc::new(Shared {
            id: NEXT_DEVICE.fetch_add(1, Ordering::Relaxed),
            executor,
            lanes,
            pool: pool(descriptor.threads),
            pass_memory: PassMemory::default(),
            limits: Limits::default(),
            budget: MemoryBudget::new(descriptor.memory_limit.unwrap_or_else(default_memory_limit)),
            turn: Arc::new(Turnstile::default()),
            loop_budget: descriptor.loop_budget,
            tuning: descriptor.tuning,
            trace: None,
            capture: Mutex::new(None),
            warnings,
            next_id: AtomicU64::new(1),
            label,
        })))
    }

    /// A device of one thread whose shaders are interpreted and watched, and the log of its draws.
    pub(crate) fn traced(
        descriptor: &DeviceDescriptor<'_>,
        watch: Arc<dyn Watch>,
    ) -> Result<(Device, Arc<TraceLog>), DeviceError> {
        let Device(shared) = Device::new(&DeviceDescriptor {
            threads: Some(NonZeroUsize::MIN),
            backend: Backend::Interpreter,
            ..*descriptor
        })?;
        let log = Arc::new(TraceLog::default());
        let shared = Arc::into_inner(shared).map(|shared| Shared {
            executor: Arc::new(Watching(watch)),
            trace: Some(log.clone()),
            ..shared
        });
        let shared = shared.expect("nobody else has the new device");
        Ok((Device(Arc::new(shared)), log))
    }

    /// The queue: where commands are submitted.
    pub fn queue(&self) -> Queue {
        Queue::new(self.0.clone())
    }

    /// What the device allows.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// "jit" or "interp".
    pub fn backend_name(&self) -> &'static str {
        self.0.executor.name()
    }

    /// Lanes a step of compiled code.
    pub fn lanes(&self) -> u32 {
        self.0.lanes
    }

    /// The instruction set that code is made for.
    pub fn target_name(&self) -> &'static str {
        target_name()
    }

    /// Threads that work on a submission.
    pub fn threads(&self) -> usize {
        self.0.pool.threads()
    }

    /// Most bytes of buffers and textures.
    pub fn memory_limit(&self) -> u64 {
        self.0.budget.limit()
    }

    /// Bytes of buffers and textures that are alive.
    pub fn memory_used(&self) -> u64 {
        self.0.budget.used()
    }

    /// What works differently from what was asked for, such as the interpreter in place of native code.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// What was compiled for this device's pipelines, and in what form.
    pub fn compile_counters(&self) -> CompileCounters {
        self.0.executor.counters()
    }

    /// Programs that run with 4 lanes only because their code could not be widened to 8: slower, not wrong. Each once.
    pub fn refusals(&self) -> Vec<Refusal> {
        self.0.executor.refusals()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

/// The executor and its lanes.
fn executor(
    d: &DeviceDescriptor<'_>,
    label: &Label,
    warnings: &mut Vec<String>,
) -> Result<(Arc<dyn Executor>, u32), DeviceError> {
    if d.backend == Backend::Interpreter {
        return Ok((Arc::new(Interpreter), 8));
    }
    let wide = has_avx2_and_fma();
    if d.lanes == Lanes::Eight && !wide {
        return Err(DeviceError::NoEightLanes { label: label.clone() });
    }
    let (lanes, wanted) = match d.lanes {
        Lanes::Auto if wide => (8, quadrille_jit::Lanes::Auto),
        Lanes::Eight => (8, quadrille_jit::Lanes::Eight),
        Lanes::Auto | Lanes::Four => (4, quadrille_jit::Lanes::Four),
    };
    let options = JitOptions {
        lanes: wanted,
        ..JitOptions::default()
    };
    match Jit::new(options) {
        Ok(jit) => Ok((Arc::new(jit), lanes)),
        Err(reason) if d.backend == Backend::Auto => {
            warnings.push(format!(
                "native code is not possible here ({reason}); shaders are interpreted, which is slow"
            ));
            Ok((Arc::new(Interpreter), 8))
        }
        Err(reason) => Err(DeviceError::NoNativeCode {
            label: label.clone(),
            reason,
        }),
    }
}

fn has_avx2_and_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn target_name() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" if has_avx2_and_fma() => "x86-64-v3",
        "x86_64" => "x86-64-v2",
        other => other,
    }
}

/// The pool of that many threads; devices that are alive at the same time share it.
fn pool(threads: Option<NonZeroUsize>) -> Arc<Pool> {
    static POOLS: Mutex<Vec<(usize, Weak<Pool>)>> = Mutex::new(Vec::new());
    let wanted = threads.map_or(0, NonZeroUsize::get);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|(_, pool)| pool.strong_count() > 0);
    if let Some(pool) = pools.iter().find(|(n, _)| *n == wanted).and_then(|(_, p)| p.upgrade()) {
        return pool;
    }
    let pool = Arc::new(Pool::new(wanted));
    pools.push((wanted, Arc::downgrade(&pool)));
    pool
}

/// Three quarters of the memory that the machine, or the process' control group, has.
fn default_memory_limit() -> u64 {
    let number = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let group = number("/sys/fs/cgroup/memory.max");
    match (machine, group) {
        (Some(a), Some(b)) => a.min(b) / 4 * 3,
        (Some(a), None) | (None, Some(a)) => a / 4 * 3,
        // Nothing is known: what a small machine has.
        (None, None) => 4 << 30,
    }
}
