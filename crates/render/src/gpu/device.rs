//! A graphics processor as a calculator: buffers, kernels and what comes back of them; every failure is a value.

use std::future::Future;
use std::ops::{Deref, Range};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use bytemuck::Pod;
use thiserror::Error;
use wgpu::{
    Adapter, Backends, BindGroup, BindGroupEntry, Buffer, BufferAsyncError, BufferUsages, CommandEncoder,
    ComputePassDescriptor, ComputePipeline, Device, DeviceType, ErrorFilter, InstanceFlags, PollType, Queue,
    SubmissionIndex,
};

/// Largest piece of a buffer that is filled at once: a copy of it is made on the way.
const MOST_BYTES_AT_ONCE: usize = 64 << 20;
/// Largest buffer asked for, however large the device allows them to be.
const MOST_BUFFER_BYTES: u64 = 1 << 30;
/// Most bytes of buffers that are kept for the next picture while nobody uses them: to make new ones takes longer than to fill them.
const MOST_KEPT_BYTES: u64 = 512 << 20;
/// No binding is empty.
const LEAST_BYTES: u64 = 16;
/// Where parts of a picture begin when they are fetched together.
const FETCH_ALIGNMENT: u64 = 16;

/// Which adapters count as a graphics processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuKind {
    /// Those that are one.
    Hardware,
    /// Drivers that calculate on the processor, such as Mesa's lavapipe.
    Software,
}

/// Why a graphics processor did not do what it was asked for. The processor can.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GpuError {
    /// There is none.
    #[error("this machine has no {} with a Vulkan driver: install the driver, or render on the processor", match .0 {
        GpuKind::Hardware => "graphics processor",
        GpuKind::Software => "software adapter (Mesa's lavapipe, say)",
    })]
    Missing(GpuKind),
    /// It does not start.
    #[error("the graphics processor {name} cannot be used: {cause}; update its driver, or render on the processor")]
    Unusable {
        /// Its name.
        name: String,
        /// What the driver says.
        cause: String,
    },
    /// Its memory is full.
    #[error(
        "the memory of {name} does not hold this field beside what else is in it: free some, or render on the processor"
    )]
    OutOfMemory {
        /// Its name.
        name: String,
    },
    /// It is gone: reset, or taken away.
    #[error("{name} is gone ({cause}): start anew to use it again")]
    Lost {
        /// Its name.
        name: String,
        /// What the driver says.
        cause: String,
    },
    /// It refused something.
    #[error("{name} failed: {cause}; update its driver, or render on the processor")]
    Failed {
        /// Its name.
        name: String,
        /// What the driver says.
        cause: String,
    },
}

/// A graphics processor that is ready for use.
#[derive(Clone)]
pub struct Gpu(Arc<Opened>);

struct Opened {
    name: String,
    device: Device,
    queue: Queue,
    most_bytes: u64,
    lost: Arc<OnceLock<String>>,
    kernels: Kernels,
    /// The longest unused first.
    kept: Mutex<Vec<Buffer>>,
}

/// A buffer that kernels read and write, for a while; what it holds at first means nothing.
pub(super) struct Lent {
    gpu: Gpu,
    buffer: Buffer,
}

/// Bytes on their way from the device.
pub(super) struct Fetch {
    gpu: Gpu,
    copy: Buffer,
    /// What was asked for, in `copy`.
    ranges: Vec<Range<u64>>,
    submission: SubmissionIndex,
    outcome: Receiver<Result<(), BufferAsyncError>>,
}

/// The kernels, each compiled when it is first used.
#[derive(Default)]
pub(super) struct Kernels {
    pub(super) classify: Kernel,
    pub(super) spread: Kernel,
    pub(super) exact: Kernel,
    pub(super) layers: Kernel,
    pub(super) last_layers: Kernel,
    pub(super) look: Kernel,
    pub(super) differ: Kernel,
    pub(super) lines: Kernel,
}

/// One of them.
#[derive(Default)]
pub(super) struct Kernel(OnceLock<ComputePipeline>);

impl Gpu {
    /// Opens the best adapter of a kind, which then stays open until the process ends.
    ///
    /// # Errors
    /// [`GpuError`] if there is none, or it does not start.
    pub fn open(kind: GpuKind) -> Result<Self, GpuError> {
        let opened = catch_unwind(|| open(kind));
        opened
            .unwrap_or_else(|_| Err(GpuError::Unusable { name: String::new(), cause: "its driver failed".to_owned() }))
    }

    /// What its driver calls it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether it is gone for good.
    pub fn is_lost(&self) -> bool {
        self.0.lost.get().is_some()
    }

    pub(super) fn kernels(&self) -> &Kernels {
        &self.0.kernels
    }

    /// Largest buffer that kernels can read.
    pub(super) fn most_bytes(&self) -> u64 {
        self.0.most_bytes
    }

    /// Does `work` on the device, and tells as an error whatever went wrong there.
    pub(super) fn attempt<T>(&self, work: impl FnOnce() -> Result<T, GpuError>) -> Result<T, GpuError> {
        let filters = [ErrorFilter::OutOfMemory, ErrorFilter::Validation, ErrorFilter::Internal];
        let scopes = filters.map(|filter| self.0.device.push_error_scope(filter));
        // The library panics where a device is lost while it is waited for.
        let done = catch_unwind(AssertUnwindSafe(work));
        let failures: Vec<wgpu::Error> =
            scopes.into_iter().rev().filter_map(|scope| now(scope.pop()).flatten()).collect();
        if let Some(cause) = self.0.lost.get() {
            return Err(GpuError::Lost { name: self.0.name.clone(), cause: cause.clone() });
        }
        let is_memory = |error: &wgpu::Error| matches!(error, wgpu::Error::OutOfMemory { .. });
        if failures.iter().any(is_memory) {
            return Err(GpuError::OutOfMemory { name: self.0.name.clone() });
        }
        match (failures.first(), done) {
            (Some(failure), _) => Err(self.failed(&one_line(failure))),
            (None, Ok(done)) => done,
            (None, Err(_)) => Err(self.failed("its driver gave up")),
        }
    }

    pub(super) fn failed(&self, cause: &str) -> GpuError {
        GpuError::Failed { name: self.0.name.clone(), cause: cause.to_owned() }
    }

    /// A buffer of at least so many bytes, perhaps one that is kept.
    pub(super) fn lend(&self, bytes: u64) -> Lent {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        Lent { gpu: self.clone(), buffer: self.kept_or_new(bytes, usage) }
    }

    /// The same, of zeros once what is encoded so far is done.
    pub(super) fn lend_zeros(&self, encoder: &mut CommandEncoder, bytes: u64) -> Lent {
        let lent = self.lend(bytes);
        encoder.clear_buffer(&lent, 0, None);
        lent
    }

    fn kept_or_new(&self, bytes: u64, usage: BufferUsages) -> Buffer {
        // Few sizes, so that most fit again; none larger than may be for that.
        let rounded = bytes.next_multiple_of((bytes.next_power_of_two() / 8).max(4));
        let size = if rounded > self.0.most_bytes { bytes } else { rounded };
        let mut kept = self.kept();
        let found = kept.iter().rposition(|buffer| buffer.usage() == usage && buffer.size() == size.max(LEAST_BYTES));
        found.map(|found| kept.remove(found)).unwrap_or_else(|| self.buffer(size, usage))
    }

    fn keep(&self, buffer: Buffer) {
        let mut kept = self.kept();
        kept.push(buffer);
        while kept.iter().map(Buffer::size).sum::<u64>() > MOST_KEPT_BYTES {
            kept.remove(0);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of all buffers that nobody uses; whether there were any.
    pub(super) fn tidy_up(&self) -> bool {
        !std::mem::take(&mut *self.kept()).is_empty()
    }

    /// A buffer that kernels read, and perhaps write.
    pub(super) fn scratch(&self, bytes: u64) -> Buffer {
        self.buffer(bytes, BufferUsages::STORAGE)
    }

    /// A buffer of these values that kernels read.
    pub(super) fn filled<T: Pod>(&self, values: &[T]) -> Result<Buffer, GpuError> {
        let buffer = self.buffer(size_of_val(values) as u64, BufferUsages::STORAGE | BufferUsages::COPY_DST);
        let mut offset = 0;
        for piece in bytemuck::cast_slice::<T, u8>(values).chunks(MOST_BYTES_AT_ONCE) {
            self.0.queue.write_buffer(&buffer, offset, piece);
            offset += piece.len() as u64;
            if piece.len() == MOST_BYTES_AT_ONCE {
                // The copy is let go before the next is made.
                self.0.queue.submit([]);
                self.wait(None)?;
            }
        }
        Ok(buffer)
    }

    /// What a kernel is told besides its buffers.
    pub(super) fn told<T: Pod>(&self, value: &T) -> Buffer {
        let buffer = self.buffer(size_of::<T>() as u64, BufferUsages::UNIFORM | BufferUsages::COPY_DST);
        self.0.queue.write_buffer(&buffer, 0, bytemuck::bytes_of(value));
        buffer
    }

    fn buffer(&self, bytes: u64, usage: BufferUsages) -> Buffer {
        let size = bytes.max(LEAST_BYTES).next_multiple_of(4);
        self.0.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    pub(super) fn encoder(&self) -> CommandEncoder {
        self.0.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// The kernel `entry` of `source`.
    pub(super) fn kernel<'a>(&self, kernel: &'a Kernel, source: &str, entry: &str) -> &'a ComputePipeline {
        kernel.0.get_or_init(|| {
            let source = wgpu::ShaderSource::Wgsl(source.into());
            let module = self.0.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
            self.0.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        })
    }

    /// The buffers of a kernel, by binding.
    pub(super) fn bound(&self, kernel: &ComputePipeline, buffers: &[(u32, &Buffer)]) -> BindGroup {
        let bindings = buffers.iter().map(|(binding, buffer)| (*binding, buffer.as_entire_binding()));
        let entries: Vec<_> = bindings.map(|(binding, resource)| BindGroupEntry { binding, resource }).collect();
        let layout = kernel.get_bind_group_layout(0);
        self.0.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries })
    }

    /// Does what is encoded without waiting for it.
    pub(super) fn submit(&self, encoder: CommandEncoder) {
        self.0.queue.submit([encoder.finish()]);
    }

    /// Runs `kernel` in so many groups of threads.
    pub(super) fn dispatch(
        &self,
        encoder: &mut CommandEncoder,
        kernel: &ComputePipeline,
        buffers: &[(u32, &Buffer)],
        [x, y, z]: [u32; 3],
    ) {
        let bound = self.bound(kernel, buffers);
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(kernel);
        pass.set_bind_group(0, &bound, &[]);
        pass.dispatch_workgroups(x, y, z);
    }

    /// Does what is encoded, and fetches the first so many bytes of each buffer after it; multiples of four.
    pub(super) fn fetch(&self, mut encoder: CommandEncoder, buffers: &[(&Buffer, u64)]) -> Fetch {
        let mut end = 0;
        let mut range_of = |bytes: u64| {
            let start = u64::next_multiple_of(end, FETCH_ALIGNMENT);
            end = start + bytes;
            start..end
        };
        let ranges: Vec<Range<u64>> = buffers.iter().map(|(_, bytes)| range_of(*bytes)).collect();
        let copy = self.kept_or_new(end, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        for ((buffer, bytes), range) in buffers.iter().zip(&ranges) {
            encoder.copy_buffer_to_buffer(buffer, 0, &copy, range.start, *bytes);
        }
        let submission = self.0.queue.submit([encoder.finish()]);
        let (told, outcome) = mpsc::channel();
        // Nobody listens only where something else has failed.
        copy.map_async(wgpu::MapMode::Read, .., move |mapped| told.send(mapped).unwrap_or_default());
        Fetch { gpu: self.clone(), copy, ranges, submission, outcome }
    }

    fn wait(&self, submission_index: Option<SubmissionIndex>) -> Result<(), GpuError> {
        let waited = self.0.device.poll(PollType::Wait { submission_index, timeout: None });
        waited.map(drop).map_err(|cause| self.failed(&one_line(&cause)))
    }
}

impl Deref for Lent {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        &self.buffer
    }
}

impl Drop for Lent {
    /// What is done with it next is done after all that it was used for so far.
    fn drop(&mut self) {
        self.gpu.keep(self.buffer.clone());
    }
}

impl Fetch {
    /// Waits for the bytes, and hands out those of each buffer.
    pub(super) fn take<T>(self, take: impl FnOnce(&[&[u8]]) -> T) -> Result<T, GpuError> {
        let Self { gpu, copy, ranges, submission, outcome } = self;
        gpu.wait(Some(submission))?;
        let mapped = outcome.recv().map_err(|cause| gpu.failed(&one_line(&cause)))?;
        mapped.map_err(|cause| gpu.failed(&one_line(&cause)))?;
        let view = copy.get_mapped_range(..).map_err(|cause| gpu.failed(&one_line(&cause)))?;
        let parts: Vec<&[u8]> =
            ranges.into_iter().map(|range| &view[range.start as usize..range.end as usize]).collect();
        let taken = take(&parts);
        drop(view);
        copy.unmap();
        gpu.keep(copy);
        Ok(taken)
    }
}

fn open(kind: GpuKind) -> Result<Gpu, GpuError> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: Backends::VULKAN,
        flags: InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    // Drivers leave work for the end of the process: unloaded before, or while it ends, they crash it.
    std::mem::forget(instance.clone());
    let adapters = now(instance.enumerate_adapters(Backends::VULKAN)).unwrap_or_default();
    let best = adapters.into_iter().filter(|adapter| kind_of(adapter) == kind).min_by_key(rank);
    let adapter = best.ok_or(GpuError::Missing(kind))?;
    let name = adapter.get_info().name;
    let limits = adapter.limits();
    let most_bytes = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(MOST_BUFFER_BYTES);
    let unusable = |cause: String| GpuError::Unusable { name: name.clone(), cause };
    let (device, queue) =
        now(adapter.request_device(&wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() }))
            .ok_or_else(|| unusable("it does not answer".to_owned()))?
            .map_err(|cause| unusable(one_line(&cause)))?;
    let lost = Arc::new(OnceLock::new());
    let told = Arc::clone(&lost);
    device.set_device_lost_callback(move |reason, cause| {
        // Gone is gone, whatever else is said of it.
        let _ = told.set(format!("{reason:?} {cause}"));
    });
    // Whatever goes wrong is told to whoever asked for it; this is what nobody waits for.
    device.on_uncaptured_error(Arc::new(|_| {}));
    let gpu = Gpu(Arc::new(Opened {
        name,
        device,
        queue,
        most_bytes,
        lost,
        kernels: Kernels::default(),
        kept: Mutex::default(),
    }));
    std::mem::forget(gpu.clone());
    Ok(gpu)
}

fn kind_of(adapter: &Adapter) -> GpuKind {
    if adapter.get_info().device_type == DeviceType::Cpu { GpuKind::Software } else { GpuKind::Hardware }
}

fn rank(adapter: &Adapter) -> u8 {
    match adapter.get_info().device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other | DeviceType::Cpu => 3,
    }
}

/// What is there at once: outside a browser, everything that the library promises.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ready) => Some(ready),
        Poll::Pending => None,
    }
}

fn one_line(cause: &dyn std::error::Error) -> String {
    let mut causes = vec![cause.to_string()];
    let mut next = cause.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes.join(": ").split_whitespace().collect::<Vec<_>>().join(" ")
}
