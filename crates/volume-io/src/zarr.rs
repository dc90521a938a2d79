//! Zarr version 2 and 3: an array, a group of arrays, or an OME-Zarr image (0.4, 0.5) with its levels.

mod array;
mod attributes;
mod bounded;
mod filters;
mod group;
mod image;
mod objects;
mod several;
mod store;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use visapult_objects::ObjectUrl;
use visapult_volume::{FieldInfo, Grid, Reversed, StepSpan};
use zarrs::array::ArrayMetadata;
use zarrs::metadata::v2::ArrayMetadataV2;

use crate::axes::remarked;
use crate::choice::Refusal;
use crate::coordinates::Along;
use crate::outside;
use crate::place::Place;
use crate::reversed::turn;
use crate::{ReadRequest, Source, SourceError, SourceInfo, Together, shape};
use array::Stored;
use objects::Objects;
use store::Store;
pub use write::{ZarrArray, zarr_group};

/// Longest metadata document that is read.
const MAX_METADATA: u64 = 16 << 20;
/// Names of metadata documents.
const DOCUMENTS: [&str; 4] = ["zarr.json", ".zarray", ".zgroup", ".zattrs"];

/// An open Zarr array, group or image.
pub(crate) struct Zarr {
    info: SourceInfo,
    steps: StepSpan,
    fields: Vec<Field>,
    reversed: Reversed,
    /// `None` in an object store.
    folder: Option<PathBuf>,
}

/// A field: a channel of arrays, finest level first.
struct Field {
    info: FieldInfo,
    levels: Vec<Arc<Stored>>,
    channel: u64,
}

/// What one kind of Zarr node gives.
struct Content {
    kind: &'static str,
    grids: Vec<Grid>,
    fields: Vec<Field>,
    times: Vec<f64>,
    time_unit: String,
    calendar: String,
    along: [Along; 3],
    /// What the metadata says of the axes and is not shown.
    remarks: Vec<String>,
}

impl Zarr {
    /// Opens the array or group in the folder `place`, or arrays of a group that it names with commas between them.
    pub(crate) fn open(place: &Place) -> Result<Self, SourceError> {
        let (store, named) = several::in_folder(place);
        Self::of(&store, named.as_deref())
    }

    /// Opens the array or group that `url` names; of a group those of its arrays that are `named` here or, with commas between them, there.
    pub(crate) fn open_objects(url: &ObjectUrl, named: Option<&[String]>) -> Result<Self, SourceError> {
        if named.is_some() {
            return Self::of(&Store::objects(Objects::open(url)?), named);
        }
        let (store, named) = several::in_store(url)?;
        Self::of(&store, named.as_deref())
    }

    fn of(store: &Store, named: Option<&[String]>) -> Result<Self, SourceError> {
        bounded::register();
        let shown = store.shown();
        let wrong = |problem: String| SourceError::format(shown.display(), problem);
        store.check_is_there()?;
        if !store.is_node()? {
            let problem =
                "it holds no Zarr metadata (zarr.json, .zarray or .zgroup): name the folder of an array or group";
            return Err(wrong(problem.to_owned()));
        }
        store.ready(&["/"])?;
        let node = Node { store };
        let content = named.map_or_else(|| node.content(), |names| group::named(&node, names));
        let mut content = content.map_err(|refusal| SourceError::refused(shown.display(), refusal))?;
        let reversed: Vec<_> = content.grids.iter_mut().map(Reversed::of).collect();
        let reversed = reversed.first().copied().filter(|first| reversed.iter().all(|one| one == first));
        let reversed =
            reversed.ok_or_else(|| wrong("its levels run along their axes in different directions".to_owned()))?;
        reversed.turn_along(&mut content.along);
        content.remarks.extend(reversed.remark());
        for grid in &content.grids {
            grid.validate().map_err(|e| wrong(e.to_string()))?;
        }
        let Some(first) = content.fields.first().and_then(|field| field.levels.first()) else {
            return Err(wrong("it holds no array of numbers with 3 axes, or 4 with steps".to_owned()));
        };
        let steps = content.fields.iter().map(|field| field.levels[0].steps()).max().unwrap_or(1);
        let steps = StepSpan { first: 0, last: steps - 1 };
        let info = SourceInfo {
            name: shape::file_name(&shown),
            format: remarked(format!("{}, {}", content.kind, first.format()), &content.remarks),
            levels: content.grids,
            fields: content.fields.iter().map(|field| field.info.clone()).collect(),
            times: content.times,
            time_unit: content.time_unit,
            calendar: content.calendar,
            along: content.along,
            live: false,
        };
        Ok(Self { info, steps, fields: content.fields, reversed, folder: (!store.is_far()).then_some(shown) })
    }
}

/// Whether `place` names arrays of a group, with commas between them.
pub(crate) fn names_several(place: &Place) -> bool {
    several::listed_in(place).is_some()
}

impl Source for Zarr {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.steps
    }

    fn grain(&self, field: usize, level: usize) -> [usize; 3] {
        self.fields[field].levels[level].grain()
    }

    fn together(&self, field: usize, level: usize) -> Together {
        self.fields[field].levels[level].together()
    }

    fn is_far(&self) -> bool {
        self.folder.is_none()
    }

    fn outside(&self) -> Vec<PathBuf> {
        self.folder.as_ref().map_or_else(Vec::new, |folder| outside::of(folder, &outside::linked(folder)))
    }

    fn is_as_stored(&self, field: usize, level: usize) -> bool {
        self.fields[field].levels[level].is_as_stored()
    }

    fn is_static(&self, field: usize) -> bool {
        !self.fields[field].levels[0].has_steps()
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps, out.len())?;
        let field = &self.fields[request.field];
        let bounds = self.reversed.in_source(&request.bounds, self.info.levels[request.level].size);
        field.levels[request.level].read(request.step, field.channel, &bounds, out)?;
        turn(self.reversed, bounds.size(), out);
        Ok(())
    }
}

/// A place with Zarr metadata.
struct Node<'a> {
    store: &'a Store,
}

impl Node<'_> {
    fn content(&self) -> Result<Content, Refusal> {
        if self.store.document(".zarray").map_err(|e| e.to_string())?.is_some() {
            return Ok(group::single(self)?);
        }
        let attributes = attributes::of_group(self.store)?;
        match attributes {
            None => Ok(group::single(self)?),
            Some(attributes) => match image::Multiscale::find(&attributes)? {
                Some(image) => Ok(image.content(self, "/")?),
                None if image::is_collection(&attributes) => Ok(self.first_image()?),
                None if image::is_plate(&attributes) => {
                    Err("it is a plate of many images: name one, as in plate.zarr/A/1/0".into())
                }
                None => group::all(self),
            },
        }
    }

    /// The first image of a collection as Bio-Formats writes it: group `0`.
    fn first_image(&self) -> Result<Content, String> {
        let attributes = attributes::of_group(&self.store.join("0"))?;
        let image = attributes.map(|attributes| image::Multiscale::find(&attributes)).transpose()?.flatten();
        image.ok_or("its first image (group '0') is missing: name an image's folder")?.content(self, "/0/")
    }

    fn array(&self, inside: &str) -> Result<zarrs::array::Array<Store>, String> {
        self.store.ready(&[inside]).map_err(|e| e.to_string())?;
        let named = if inside == "/" { inside.to_owned() } else { format!("/{}", inside.trim_matches('/')) };
        let store = Arc::new(self.store.clone());
        let refused = match zarrs::array::Array::open(Arc::clone(&store), &named) {
            Ok(array) => return Ok(array),
            Err(refused) => one_line(&refused),
        };
        let metadata = self
            .metadata(inside)
            .ok_or_else(|| format!("array '{inside}' cannot be opened: {refused}{}", filters::advice(&refused)))?;
        zarrs::array::Array::new_with_metadata(store, &named, metadata).map_err(|e| {
            let refused = one_line(&e);
            format!("array '{inside}' cannot be opened: {refused}{}", filters::advice(&refused))
        })
    }

    /// The metadata of an array without what changes nothing when it is decoded, where it has that.
    fn metadata(&self, inside: &str) -> Option<ArrayMetadata> {
        let at = self.store.join(inside.trim_matches('/'));
        if let Some(document) = at.document("zarr.json").ok()? {
            return serde_json::from_value(filters::without_rounding(&document)?).ok().map(ArrayMetadata::V3);
        }
        let document = filters::without_rounding(&at.document(".zarray").ok()??)?;
        let mut metadata: ArrayMetadataV2 = serde_json::from_value(document).ok()?;
        if let Some(attributes) = at.document(".zattrs").ok()? {
            metadata.attributes = serde_json::from_slice(&attributes).ok()?;
        }
        Some(ArrayMetadata::V2(metadata))
    }
}

/// A library's message on one line of bounded length.
fn one_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(200) {
        line.truncate(end);
    }
    line
}
