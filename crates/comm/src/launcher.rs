//! What started this process, told from the environment that launchers give to what they start.

use std::fmt;

/// The family of MPI libraries that understands a launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Mpich,
    OpenMpi,
    /// PMIx alone says nothing: both speak it.
    Either,
}

/// A launcher of several processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launcher {
    pub(crate) family: Family,
    /// How many processes it started, where it says.
    pub(crate) size: Option<usize>,
    /// The variable that gave it away.
    sign: &'static str,
}

impl Launcher {
    /// The launcher that left these variables; none if this process was started alone, or as the only one.
    pub(crate) fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| variable(name).and_then(|text| text.parse().ok());
        let signs: [(Family, &'static str, &[&str]); 4] = [
            (Family::OpenMpi, "OMPI_COMM_WORLD_SIZE", &["OMPI_COMM_WORLD_SIZE"]),
            (Family::Mpich, "PMI_SIZE", &["PMI_SIZE"]),
            (Family::Mpich, "PMI_RANK", &["SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS"]),
            (Family::Either, "PMIX_RANK", &["SLURM_STEP_NUM_TASKS"]),
        ];
        let (family, sign, sizes) = signs.into_iter().find(|(_, sign, _)| variable(sign).is_some())?;
        let size = sizes.iter().find_map(|name| number(name));
        (size != Some(1)).then_some(Self { family, size, sign })
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.family {
            Family::Mpich => "mpiexec of MPICH or its like",
            Family::OpenMpi => "mpiexec of Open MPI",
            Family::Either => "a PMIx launcher",
        };
        write!(f, "{name} ({} is set)", self.sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_from(variables: &[(&str, &str)]) -> Option<Launcher> {
        let find = |name: &str| variables.iter().find(|(other, _)| *other == name);
        Launcher::from_environment(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn each_launcher_is_known_by_its_variables() {
        let mpich = told_from(&[("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("MPI_LOCALNRANKS", "2")]).unwrap();
        assert_eq!((mpich.family, mpich.size), (Family::Mpich, Some(4)));
        let open_mpi = told_from(&[("OMPI_COMM_WORLD_SIZE", "3"), ("PMIX_RANK", "0")]).unwrap();
        assert_eq!((open_mpi.family, open_mpi.size), (Family::OpenMpi, Some(3)));
        let slurm = told_from(&[("PMIX_RANK", "0"), ("SLURM_STEP_NUM_TASKS", "8")]).unwrap();
        assert_eq!((slurm.family, slurm.size), (Family::Either, Some(8)));
    }

    #[test]
    fn one_process_needs_no_messages() {
        assert_eq!(told_from(&[]), None);
        assert_eq!(told_from(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(told_from(&[("SLURM_NTASKS", "8")]), None);
    }
}
