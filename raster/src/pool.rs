//! Persistent worker threads for the stages of a pass.
//!
//! ```text
//! caller ── run(tasks, f) ──► publishes the job, wakes workers (never for tiny jobs, law R7)
//!    │                           │
//!    └── f(Worker 0)             └── f(Worker 1..n)     all take task numbers from one atomic counter
//! ```
//!
//! Nothing may depend on which worker runs which task. One job runs at a time; a job that arrives meanwhile (from
//! another thread, or from inside a job) runs on its caller alone, so nothing ever waits for a stranger's job.
//! A panic in a task ends the job and comes back as [`WorkerPanic`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A task panicked: always a bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a worker thread panicked (a bug): {message}")]
pub struct WorkerPanic {
    /// The panic's message.
    pub message: String,
}

/// What a job's function receives: who it is, and the tasks that are left.
#[derive(Debug)]
pub struct Worker<'a> {
    /// 0 for the caller, below [`Pool::threads`] for all.
    pub index: usize,
    next: &'a AtomicUsize,
    tasks: usize,
    stop: &'a AtomicBool,
}

impl Worker<'_> {
    /// Takes the next task; `None` when none is left or a worker failed.
    #[inline]
    pub fn next_task(&self) -> Option<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let task = self.next.fetch_add(1, Ordering::Relaxed);
        (task < self.tasks).then_some(task)
    }

    /// Makes every worker's [`next_task`](Self::next_task) return `None`.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

type JobFn<'a> = dyn Fn(&Worker<'_>) + Sync + 'a;

/// A published job. The references point into the frame of [`Pool::run`].
#[derive(Clone, Copy)]
struct Job {
    f: &'static JobFn<'static>,
    state: &'static JobState,
}

#[derive(Default)]
struct JobState {
    next: AtomicUsize,
    tasks: usize,
    stop: AtomicBool,
    panic: Mutex<Option<String>>,
}

impl JobState {
    fn work(&self, index: usize, f: &JobFn<'_>) {
        let worker = Worker {
            index,
            next: &self.next,
            tasks: self.tasks,
            stop: &self.stop,
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| f(&worker))) {
            self.stop.store(true, Ordering::Relaxed);
            lock(&self.panic).get_or_insert_with(|| panic_message(&*payload));
        }
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(s) = payload.downcast_ref::<&str>() {
        (*s).to_owned()
    } else if let Some(s) = payload.downcast_ref::<String>() {
        s.clone()
    } else {
        "no message".to_owned()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Desk {
    job: Option<Job>,
    /// Workers that have taken the current job and not yet left it.
    busy: usize,
    quit: bool,
}

struct Shared {
    desk: Mutex<Desk>,
    /// Workers wait here for a job.
    arrived: Condvar,
    /// The caller waits here for `busy` to become 0.
    left: Condvar,
    /// Number of jobs published so far; lets idle workers spin without the lock.
    epoch: AtomicU64,
}

/// How long an idle worker looks for a new job before it parks (law R7).
const SPIN: Duration = Duration::from_micros(40);

impl Shared {
    fn worker_loop(&self, index: usize) {
        let mut seen = 0;
        loop {
            let start = Instant::now();
            while self.epoch.load(Ordering::Acquire) == seen && start.elapsed() < SPIN {
                std::hint::spin_loop();
            }
            let job = {
                let mut desk = lock(&self.desk);
                loop {
                    if desk.quit {
                        return;
                    }
                    let epoch = self.epoch.load(Ordering::Acquire);
                    if epoch != seen {
                        seen = epoch;
                        if let Some(job) = desk.job {
                            desk.busy += 1;
                            break job;
                        }
                    }
                    desk = self.arrived.wait(desk).unwrap_or_else(PoisonError::into_inner);
                }
            };
            job.state.work(index, job.f);
            let mut desk = lock(&self.desk);
            desk.busy -= 1;
            if desk.busy == 0 {
                self.left.notify_all();
            }
        }
    }
}

/// Takes the job off the desk and waits until no worker is in it, also when the caller's own share panics.
struct Retire<'a>(&'a Shared);

impl Drop for Retire<'_> {
    fn drop(&mut self) {
        let mut desk = lock(&self.0.desk);
        desk.job = None;
        while desk.busy != 0 {
            desk = self.0.left.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The threads. Dropping the pool ends them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held while a job is on the desk.
    turn: Mutex<()>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads()).finish()
    }
}

/// Upper limit of [`Pool::new`]'s `threads`.
pub const MAX_THREADS: usize = 256;

impl Pool {
    /// A pool in which `threads` threads work, the caller included; 0 means as many as the process may use
    /// (its affinity mask and its cgroup's CPU quota).
    pub fn new(threads: usize) -> Pool {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk {
                job: None,
                busy: 0,
                quit: false,
            }),
            arrived: Condvar::new(),
            left: Condvar::new(),
            epoch: AtomicU64::new(0),
        });
        // A thread that the system refuses is done without: the others take its tasks.
        let workers = (1..threads.clamp(1, MAX_THREADS))
            .map_while(|index| {
                let shared = Arc::clone(&shared);
                let builder = std::thread::Builder::new().name(format!("quadrille-{index}"));
                builder.spawn(move || shared.worker_loop(index)).ok()
            })
            .collect();
        Pool {
            shared,
            workers,
            turn: Mutex::new(()),
        }
    }

    /// Threads that work on a job, at most.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `f` once, on the caller: tasks run in order.
    pub fn run_here(&self, tasks: usize, f: impl Fn(&Worker<'_>) + Sync) -> Result<(), WorkerPanic> {
        let state = JobState {
            tasks,
            ..JobState::default()
        };
        state.work(0, &f);
        match lock(&state.panic).take() {
            Some(message) => Err(WorkerPanic { message }),
            None => Ok(()),
        }
    }

    /// Calls `f` once on every participating thread; each takes tasks (0 to `tasks`) from its [`Worker`] until none
    /// is left. Returns when all are done. With a single task the caller does it alone.
    pub fn run(&self, tasks: usize, f: impl Fn(&Worker<'_>) + Sync) -> Result<(), WorkerPanic> {
        let state = JobState {
            tasks,
            ..JobState::default()
        };
        let turn = match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        match turn {
            Some(_turn) if tasks > 1 && !self.workers.is_empty() => {
                let f: &JobFn<'_> = &f;
                // SAFETY: the references are used only by workers between taking the job and decrementing `busy`, and
                // `Retire` doesn't let this frame end before the desk is empty and `busy` is 0.
                let job = unsafe {
                    Job {
                        f: std::mem::transmute::<&JobFn<'_>, &'static JobFn<'static>>(f),
                        state: std::mem::transmute::<&JobState, &'static JobState>(&state),
                    }
                };
                let retire = Retire(&self.shared);
                {
                    // The epoch changes under the lock, so that no worker checks it and then misses the notice.
                    let mut desk = lock(&self.shared.desk);
                    desk.job = Some(job);
                    self.shared.epoch.fetch_add(1, Ordering::Release);
                }
                // One task is the caller's.
                if tasks > self.workers.len() {
                    self.shared.arrived.notify_all();
                } else {
                    (1..tasks).for_each(|_| self.shared.arrived.notify_one());
                }
                state.work(0, f);
                drop(retire);
            }
            _ => state.work(0, &f),
        }
        match lock(&state.panic).take() {
            Some(message) => Err(WorkerPanic { message }),
            None => Ok(()),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let mut desk = lock(&self.shared.desk);
            desk.quit = true;
            self.shared.epoch.fetch_add(1, Ordering::Release);
        }
        self.shared.arrived.notify_all();
        for worker in self.workers.drain(..) {
            // A worker catches its tasks' panics, so joining can only fail if it is already gone.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        let pool = Pool::new(4);
        for round in 0..200 {
            let n = round % 37;
            let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            pool.run(n, |worker| {
                assert!(worker.index < 4);
                while let Some(task) = worker.next_task() {
                    counts[task].fetch_add(1, Ordering::Relaxed);
                }
            })
            .unwrap();
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn panics_become_errors_and_the_pool_lives_on() {
        let pool = Pool::new(3);
        let error = pool.run(100, |worker| {
            while let Some(task) = worker.next_task() {
                assert!(task != 7, "task seven");
            }
        });
        assert!(error.unwrap_err().message.contains("task seven"));
        let sum = AtomicUsize::new(0);
        pool.run(10, |w| {
            while let Some(t) = w.next_task() {
                sum.fetch_add(t, Ordering::Relaxed);
            }
        })
        .unwrap();
        assert_eq!(sum.into_inner(), 45);
    }

    #[test]
    fn jobs_inside_jobs_and_from_other_threads_run() {
        let pool = Pool::new(2);
        let total = AtomicUsize::new(0);
        let job = |w: &Worker<'_>| {
            while w.next_task().is_some() {
                pool.run(5, |w| {
                    while w.next_task().is_some() {
                        total.fetch_add(1, Ordering::Relaxed);
                    }
                })
                .unwrap();
            }
        };
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| pool.run(20, job).unwrap());
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 300);
    }
}
