//! The files that datasets are in: the one that was opened, and those that external links in it lead to.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use hdf5_metno::Dataset;

use super::dataset::Stored;
use crate::SourceError;
use crate::decoded::Decoded;
use crate::place::Place;
use crate::witness::Witness;

/// A file of which values are read.
pub(super) struct Home {
    pub(super) place: Place,
    pub(super) bytes: File,
    pub(super) length: u64,
    /// Of datasets that stay where they are when others grow, and of those that do not.
    growing: Witness,
    moving: Witness,
    /// What is kept of all files of the source.
    pub(super) decoded: Arc<Decoded>,
}

/// The files of a source, each once.
pub(super) struct Homes {
    /// By the names that the library has for them; first that which was opened.
    known: Vec<(String, Arc<Home>)>,
}

impl Home {
    pub(super) fn open(place: &Place) -> Result<Self, SourceError> {
        let (bytes, length) = place.open()?;
        let (growing, moving) = (Witness::growing(place, &bytes)?, Witness::moving(place, &bytes)?);
        Ok(Self { place: place.clone(), bytes, length, growing, moving, decoded: Arc::default() })
    }

    /// The witness of a dataset that is stored in this file as `stored`.
    pub(super) fn witness(&self, stored: &Stored) -> &Witness {
        if stored.moves() { &self.moving } else { &self.growing }
    }
}

impl Homes {
    pub(super) fn new(file: &hdf5_metno::File, home: Arc<Home>) -> Self {
        Self { known: vec![(file.filename(), home)] }
    }

    /// The file that was opened.
    pub(super) fn opened(&self) -> &Home {
        &self.known[0].1
    }

    /// The file that `dataset` is in.
    pub(super) fn of(&mut self, dataset: &Dataset) -> Result<Arc<Home>, SourceError> {
        let name = dataset.filename();
        if let Some((_, home)) = self.known.iter().find(|(known, _)| *known == name) {
            return Ok(Arc::clone(home));
        }
        let decoded = Arc::clone(&self.opened().decoded);
        let home = Arc::new(Home { decoded, ..Home::open(&Place::anywhere(Path::new(&name)))? });
        self.known.push((name, Arc::clone(&home)));
        Ok(home)
    }
}
