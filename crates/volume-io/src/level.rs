//! A source as if it stored one of its levels alone.

use std::time::Duration;

use visapult_volume::{StepIndex, StepSpan};

use crate::{ReadRequest, Source, SourceError, SourceInfo};

/// What stands between a source's URL and the number of the level.
const OPTION: &str = "?level=";

struct OneLevel {
    source: Box<dyn Source>,
    info: SourceInfo,
    level: usize,
}

/// `source` with its level `level` alone, 0 being the finest; its name says which.
///
/// # Errors
/// [`SourceError::Request`] if it does not store so many.
pub fn at_level(source: Box<dyn Source>, level: usize) -> Result<Box<dyn Source>, SourceError> {
    let mut info = source.info().clone();
    let Some(grid) = info.levels.get(level).cloned() else {
        let problem = format!("it has no level {level}: it stores levels 0 to {}", info.levels.len() - 1);
        return Err(SourceError::Request { name: info.name, problem });
    };
    info.levels = vec![grid];
    info.name += &format!("{OPTION}{level}");
    Ok(Box::new(OneLevel { source, info, level }))
}

/// A URL without `?level=N` at its end, and N where it is there.
pub(crate) fn split_level(url: &str) -> Result<(&str, Option<usize>), SourceError> {
    let Some((source, level)) = url.rsplit_once(OPTION) else { return Ok((url, None)) };
    let wrong =
        |_| SourceError::Option { url: url.to_owned(), problem: "a level is a number, 0 being the finest".to_owned() };
    Ok((source, Some(level.parse().map_err(wrong)?)))
}

impl Source for OneLevel {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn steps(&self) -> StepSpan {
        self.source.steps()
    }

    fn wait_beyond(&self, step: StepIndex, limit: Duration) -> StepIndex {
        self.source.wait_beyond(step, limit)
    }

    fn time_of(&self, step: StepIndex) -> Option<f64> {
        self.source.time_of(step)
    }

    fn read(&self, request: &ReadRequest, out: &mut [f32]) -> Result<(), SourceError> {
        request.check(&self.info, self.steps(), out.len())?;
        self.source.read(&ReadRequest { level: self.level, ..*request }, out)
    }
}
