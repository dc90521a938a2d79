//! Finds and loads an MPI library, and the few functions and constants of it that we use.
//!
//! MPI has no common binary interface. MPICH and its like have `int` handles with fixed values, Open MPI has addresses of its own
//! objects; the layouts of `MPI_Status` differ. The two are told apart by what the library exports, for Debian's `libmpich.so.12` is
//! elsewhere called `libmpi.so.12`.

#![expect(unsafe_code, reason = "symbols of a library that is chosen at run time")]

use std::error::Error;
use std::ffi::{c_char, c_int, c_void};

use libloading::os::unix::{Library as Shared, RTLD_GLOBAL, RTLD_NOW};

use crate::JoinError;
use crate::launcher::{Family, Launcher};

/// Names another library than the usual ones: a file or a name for the dynamic linker.
const CHOICE: &str = "VISAPULT_MPI";
const MPICH: [&str; 2] = ["libmpich.so.12", "libmpi.so.12"];
const OPEN_MPI: [&str; 1] = ["libmpi.so.40"];

/// What the libraries use for communicators, data types and requests.
pub(crate) trait Handle: Copy + 'static {
    /// Not a request yet.
    const NOTHING: Self;
}

impl Handle for c_int {
    const NOTHING: Self = 0;
}

impl Handle for *mut c_void {
    const NOTHING: Self = std::ptr::null_mut();
}

/// Room for either library's `MPI_Status` (five and six `int`s), with its alignment.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
pub(crate) struct Status(pub(crate) [c_int; 16]);

/// The functions and constants that we use, of a library with handles of type `H`.
pub(crate) struct Calls<H> {
    pub(crate) init_thread: unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    pub(crate) finalize: unsafe extern "C" fn() -> c_int,
    pub(crate) abort: unsafe extern "C" fn(H, c_int) -> c_int,
    pub(crate) set_errhandler: unsafe extern "C" fn(H, H) -> c_int,
    pub(crate) error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    pub(crate) rank: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    pub(crate) size: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    pub(crate) iprobe: unsafe extern "C" fn(c_int, c_int, H, *mut c_int, *mut Status) -> c_int,
    pub(crate) get_count: unsafe extern "C" fn(*const Status, H, *mut c_int) -> c_int,
    pub(crate) isend: unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int,
    pub(crate) irecv: unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int,
    pub(crate) test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> c_int,
    pub(crate) constants: Constants<H>,
}

/// What `mpi.h` defines.
#[derive(Clone, Copy)]
pub(crate) struct Constants<H> {
    pub(crate) world: H,
    pub(crate) byte: H,
    pub(crate) errors_return: H,
    pub(crate) any_source: c_int,
    pub(crate) any_tag: c_int,
    /// Positions of `MPI_SOURCE` and `MPI_TAG` in a status, counted in `int`s.
    pub(crate) source_at: usize,
    pub(crate) tag_at: usize,
}

/// `MPI_THREAD_FUNNELED` in both.
pub(crate) const FUNNELED: c_int = 1;
/// No less than `MPI_MAX_ERROR_STRING` in either (512 and 256).
pub(crate) const ERROR_STRING_BYTES: usize = 1024;

pub(crate) enum AnyCalls {
    Mpich(Calls<c_int>),
    OpenMpi(Calls<*mut c_void>),
}

pub(crate) struct Library {
    pub(crate) file: String,
    pub(crate) calls: AnyCalls,
}

impl Library {
    /// The library that understands this launcher.
    pub(crate) fn load(launcher: &Launcher) -> Result<Self, JoinError> {
        let choice = std::env::var(CHOICE).ok();
        let candidates: Vec<&str> = match (&choice, launcher.family) {
            (Some(choice), _) => vec![choice],
            (None, Family::Mpich) => MPICH.to_vec(),
            (None, Family::OpenMpi) => OPEN_MPI.to_vec(),
            (None, Family::Either) => [&OPEN_MPI[..], &MPICH[..]].concat(),
        };
        let (file, shared) = open_first(&candidates).map_err(|reason| match &choice {
            Some(_) => {
                let advice = format!("{CHOICE} names it: correct it or unset it");
                JoinError::NoLibrary { launcher: launcher.to_string(), reason, advice }
            }
            None => no_library(launcher, reason, |other| open_first(other).ok().map(|(name, _)| name)),
        })?;
        let calls = shared.calls().map_err(|problem| JoinError::NotMpi { library: file.clone(), reason: problem })?;
        Ok(Self { file, calls })
    }
}

fn no_library(launcher: &Launcher, reason: String, found: impl Fn(&[&str]) -> Option<String>) -> JoinError {
    let other = match launcher.family {
        Family::Mpich => found(&OPEN_MPI).map(|name| (name, "Open MPI", "mpiexec.openmpi")),
        Family::OpenMpi => found(&MPICH).map(|name| (name, "MPICH", "mpiexec.mpich")),
        Family::Either => None,
    };
    let advice = match other {
        Some((name, library, mpiexec)) => format!(
            "{library}'s {name} is here, so start with its launcher ({mpiexec} on Debian); or install the library of the launcher that \
             was used, or name its file in {CHOICE}"
        ),
        None => format!(
            "install it (Debian: libmpich12 or libopenmpi3), add its folder to LD_LIBRARY_PATH (module load), or name its file in {CHOICE}"
        ),
    };
    JoinError::NoLibrary { launcher: launcher.to_string(), reason, advice }
}

/// The first of `candidates` that loads; else what the dynamic linker says of each.
fn open_first(candidates: &[&str]) -> Result<(String, Loaded), String> {
    let mut reasons = Vec::new();
    for &name in candidates {
        // SAFETY: runs the initialisers of a library that the user's launcher or the user named: trusted as the program itself.
        // RTLD_GLOBAL, for Open MPI's plug-ins look for symbols of the library that loads them.
        match unsafe { Shared::open(Some(name), RTLD_NOW | RTLD_GLOBAL) } {
            // MPI libraries do not bear being unloaded.
            Ok(shared) => return Ok((name.to_owned(), Loaded(Box::leak(Box::new(shared))))),
            Err(problem) => reasons.push(in_full(&problem)),
        }
    }
    Err(reasons.join("; "))
}

/// What the dynamic linker says, which the error itself only points to.
fn in_full(problem: &libloading::Error) -> String {
    problem.source().map_or_else(|| problem.to_string(), ToString::to_string)
}

struct Loaded(&'static Shared);

impl Loaded {
    fn calls(&self) -> Result<AnyCalls, String> {
        match self.address("ompi_mpi_comm_world") {
            Ok(world) => {
                let byte = self.address("ompi_mpi_byte")?;
                let errors_return = self.address("ompi_mpi_errors_return")?;
                let (any_source, any_tag, source_at, tag_at) = (-1, -1, 0, 1);
                let constants = Constants { world, byte, errors_return, any_source, any_tag, source_at, tag_at };
                self.with(constants).map(AnyCalls::OpenMpi)
            }
            Err(_) => {
                let (world, byte, errors_return) = (0x4400_0000, 0x4c00_010d, 0x5400_0001);
                let (any_source, any_tag, source_at, tag_at) = (-2, -1, 2, 3);
                let constants = Constants { world, byte, errors_return, any_source, any_tag, source_at, tag_at };
                self.with(constants).map(AnyCalls::Mpich)
            }
        }
    }

    fn with<H: Handle>(&self, constants: Constants<H>) -> Result<Calls<H>, String> {
        // SAFETY: the signatures are those of MPI-3.1, with handles of the kind that this library has.
        unsafe {
            Ok(Calls {
                init_thread: self.function("MPI_Init_thread")?,
                finalize: self.function("MPI_Finalize")?,
                abort: self.function("MPI_Abort")?,
                set_errhandler: self.function("MPI_Comm_set_errhandler")?,
                error_string: self.function("MPI_Error_string")?,
                rank: self.function("MPI_Comm_rank")?,
                size: self.function("MPI_Comm_size")?,
                iprobe: self.function("MPI_Iprobe")?,
                get_count: self.function("MPI_Get_count")?,
                isend: self.function("MPI_Isend")?,
                irecv: self.function("MPI_Irecv")?,
                test: self.function("MPI_Test")?,
                constants,
            })
        }
    }

    /// # Safety
    /// `F` is the type of a pointer to that function.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, String> {
        // SAFETY: the caller's promise; the library is never unloaded.
        unsafe { self.0.get::<F>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|problem| in_full(&problem))
    }

    fn address(&self, name: &str) -> Result<*mut c_void, String> {
        // SAFETY: only the address is taken.
        let symbol = unsafe { self.0.get::<*mut c_void>(name.as_bytes()) };
        symbol.map(|symbol| symbol.into_raw()).map_err(|problem| in_full(&problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started_by(variable: &str) -> Launcher {
        Launcher::from_environment(|name| (name == variable).then(|| "4".to_owned())).unwrap()
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let reason = open_first(&["libno-such-mpi.so.1", "libnor-this.so"]).err().unwrap();
        assert!(reason.contains("libno-such-mpi.so.1") && reason.contains("libnor-this.so"), "{reason}");
    }

    #[test]
    fn where_only_the_other_library_is_installed_its_launcher_is_advised() {
        let found = |names: &[&str]| Some(names[0].to_owned());
        let text = no_library(&started_by("OMPI_COMM_WORLD_SIZE"), "no such file".to_owned(), found).to_string();
        assert!(text.contains("mpiexec of Open MPI") && text.contains("mpiexec.mpich"), "{text}");
        let text = no_library(&started_by("PMI_SIZE"), "no such file".to_owned(), found).to_string();
        assert!(text.contains("mpiexec of MPICH") && text.contains("mpiexec.openmpi"), "{text}");
    }

    #[test]
    fn without_any_library_installing_one_is_advised() {
        let text = no_library(&started_by("PMI_SIZE"), "no such file".to_owned(), |_| None).to_string();
        assert!(text.contains("install it") && text.contains(CHOICE), "{text}");
    }

    #[test]
    fn a_library_without_mpi_is_refused() {
        let (_, shared) = open_first(&["libc.so.6"]).unwrap();
        let reason = shared.calls().err().unwrap();
        assert!(reason.contains("MPI_Init_thread"), "{reason}");
    }
}
