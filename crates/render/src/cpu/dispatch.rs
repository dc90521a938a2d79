//! Chooses the instruction set.

use std::sync::OnceLock;

use super::lanes::Lanes;
use super::portable::Portable;

/// Code written over [`Lanes`], to be compiled for each instruction set.
pub(crate) trait Task {
    type Output;
    /// Must be `#[inline(always)]`, so that it is compiled with the features of its caller.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Runs `task` compiled for the widest instruction set of this processor.
pub(crate) fn run_best<T: Task>(task: T) -> T::Output {
    InstructionSet::best().run(task)
}

/// An instruction set that this processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InstructionSet {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(super::avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(super::avx512::Avx512),
}

impl InstructionSet {
    /// Every instruction set that this processor has, narrowest first.
    pub(crate) fn available() -> Vec<Self> {
        let portable = std::iter::once(Self::Portable(Portable));
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = super::avx2::Avx2::detect().map(Self::Avx2);
            let avx512 = super::avx512::Avx512::detect().map(Self::Avx512);
            portable.chain(avx2).chain(avx512).collect()
        }
        #[cfg(not(target_arch = "x86_64"))]
        portable.collect()
    }

    /// The widest one.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<InstructionSet> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().pop().unwrap_or(Self::Portable(Portable)))
    }

    /// Runs `task` compiled for it.
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self {
            Self::Portable(lanes) => lanes.run(task),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(lanes) => lanes.run(task),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(lanes) => lanes.run(task),
        }
    }
}
