//! Values that a page points at, of all PEs, wherever they are.

use visapult_render::{Picked, RayPart, TransferFunction, Volume, ray_parts};

use crate::making::resolved;
use crate::step_store::LoadedStep;
use crate::wire::{Answer, Pick, PictureRay, Spot, View};

/// What `view` shows of a step where it is asked.
pub(crate) fn answer(step: &LoadedStep, view: &View, Pick { number, spot }: Pick) -> Answer {
    let function = resolved(step, &view.transfer_function);
    let asked = step.crew.as_ref().map(|crew| crew.pick(&spot, &function));
    let own = parts_at(&step.volume, &spot, &function);
    let picked = Picked::of_parts(own.into_iter().chain(asked.into_iter().flatten()).collect());
    let problem = step.crew.as_ref().and_then(|crew| crew.whole().err()).map(|problem| problem.to_string());
    let time = Some(step.time).filter(|time| time.is_finite());
    // What lies before it may be missing.
    let picked = picked.filter(|_| problem.is_none());
    Answer { number, field: step.key.field, step: step.key.step, time, picked, problem }
}

/// What the PEs of this process show there.
pub(crate) fn parts_at(volume: &Volume, spot: &Spot, transfer_function: &TransferFunction) -> Vec<RayPart> {
    match spot {
        Spot::Place(place) => Picked::at(volume, *place).map(RayPart::alone).into_iter().collect(),
        Spot::Ray(PictureRay { camera, aspect, at }) => ray_parts(volume, camera, transfer_function, *aspect, *at),
    }
}
