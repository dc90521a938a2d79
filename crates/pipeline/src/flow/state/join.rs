//! Ranks that join a flow and leave it: what they declare is held against what is known, and against one another.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use visapult_publish::AXES;
use visapult_publish::messages::{AlongAxis, Declaration};
use visapult_ripp_net::units::bytes_for_people;
use visapult_ripp_net::{Mode, Session};
use visapult_volume::{Box3, FieldInfo, Grid, stored_boxes};

use super::super::assembly::PieceTable;
use super::super::options::FlowOptions;
use super::alike::Alike;
use super::{Declared, Link, State};
use crate::memory;

/// A rank has said what it publishes: it joins the others if it fits them. Returns its number.
pub(in crate::flow) fn join(
    state: &mut State,
    options: &FlowOptions,
    declaration: Declaration,
    session: &Arc<Session>,
) -> Result<usize, String> {
    let joined = try_to_join(state, options, declaration, session);
    let refused = joined.as_ref().err().filter(|_| state.gathered.is_some() && state.ranks() == 0).cloned();
    if state.turned_away != refused {
        state.comings += 1;
        state.turned_away = refused;
    }
    joined
}

fn try_to_join(
    state: &mut State,
    options: &FlowOptions,
    declaration: Declaration,
    session: &Arc<Session>,
) -> Result<usize, String> {
    let (grid, fields, block) = declaration.check()?;
    let (rank, ranks) = (declaration.rank as usize, declaration.ranks as usize);
    if let Some(declared) = &state.declared {
        if declared.grid != grid || declared.fields != fields || declared.first.along != declaration.along {
            // What is shown keeps its grid and its fields.
            let remedy =
                if state.gathered.is_some() { "start the back end anew" } else { "end the ranks that are there first" };
            let difference = difference(declared, &grid, &fields, &declaration.along);
            return Err(format!("rank {rank} publishes another grid or other fields: {difference}; {remedy}"));
        }
        state.take_ranks(ranks)?;
    } else {
        state.links = vec![Link::default(); ranks];
        state.active = options.watch.numbers(&fields);
    }
    let is_first = state.declared.is_none();
    if state.links[rank].session.as_ref().is_some_and(|other| other.is_alive()) {
        return Err(format!("there is a rank {rank} already: two programs publish under one name"));
    }
    state.leave(rank, options);
    let table = state.table_with(rank, block, &grid, options)?;
    if is_first {
        let samples = table.stored[table.own.clone()].iter().map(Box3::volume).sum();
        let processes = state.crew.as_ref().map_or(1, |crew| crew.processes_here());
        check_memory(samples, state.active.len(), memory::free_bytes(processes))?;
    }
    if state.links.iter().enumerate().all(|(other, link)| other == rank || link.session.is_some()) {
        check_cover(&table, &grid)?;
    }
    state.gathering.begin(Instant::now());
    let newest = declaration.steps.map(|[_, last]| last).filter(|_| declaration.live);
    let before = &state.links[rank];
    let is_anew = declaration.live && (before.is_anew || before.newest > newest);
    state.comings += 1;
    state.links[rank] = Link {
        session: Some(Arc::clone(session)),
        newest,
        first: newest,
        is_anew,
        alike: Alike::of(&declaration),
        ..Link::default()
    };
    let live = declaration.live;
    let first = match state.declared.take() {
        Some(before) if rank != 0 => before.first,
        _ => declaration,
    };
    state.declared = Some(Declared { grid, fields, live, first, table });
    state.trouble = None;
    if state.all_ranks_there() {
        state.gathered.get_or_insert_with(Instant::now);
        state.report_ready();
    }
    if state.crew.is_some() {
        state.subscribe(session, options);
    }
    state.begin_or_go_on(rank, session, options);
    Ok(rank)
}

/// What a rank publishes otherwise than what is there.
fn difference(there: &Declared, grid: &Grid, fields: &[FieldInfo], along: &[Option<AlongAxis>; 3]) -> String {
    let against = |what: &str, own: &dyn Debug, before: &dyn Debug| format!("{what} {own:?} where it was {before:?}");
    let before = &there.grid;
    if grid.size != before.size {
        return against("size", &grid.size, &before.size);
    }
    if (grid.spacing, grid.origin) != (before.spacing, before.origin) {
        return against("spacing and origin", &(grid.spacing, grid.origin), &(before.spacing, before.origin));
    }
    if grid != before {
        return against("unit and centering", &(&grid.unit, grid.centering), &(&before.unit, before.centering));
    }
    if let Some(axis) = (0..3).find(|axis| along[*axis] != there.first.along[*axis]) {
        return apart(AXES[axis], along[axis].as_ref(), there.first.along[axis].as_ref());
    }
    if fields.len() != there.fields.len() {
        return format!("{} fields where there were {}", fields.len(), there.fields.len());
    }
    let differs = fields.iter().zip(&there.fields).enumerate().find(|(_, (own, before))| own != before);
    differs.map_or_else(String::new, |(number, (own, before))| {
        let told = |field: &FieldInfo| {
            let range = field.declared_range.map(|range| [range.lo, range.hi]);
            format!("{:?} in {:?}, {}, range {range:?}", field.name, field.unit, field.scalar_type)
        };
        format!("field {number} is {} where it was {}", told(own), told(before))
    })
}

/// In what coordinates along an axis differ.
fn apart(axis: &str, own: Option<&AlongAxis>, before: Option<&AlongAxis>) -> String {
    let values = |along: Option<&AlongAxis>| along.map_or(&[][..], |along| &along.values).to_vec();
    let differs = values(own).into_iter().zip(values(before)).find(|(own, before)| own != before);
    let [own, before] = [own, before].map(|along| {
        let Some(AlongAxis { name, unit, values, .. }) = along else { return "none beside the grid's".to_owned() };
        format!("{name:?} in {unit:?} ({} to {})", values[0], values[values.len() - 1])
    });
    let first =
        differs.map_or_else(String::new, |(own, before)| format!("; the first that differ are {own} and {before}"));
    format!("coordinates along {axis} are {own} where they were {before}{first}")
}

/// What a publisher claims is not allocated before it is known to fit: of so many samples, a step of some `fields` being received, beside the
/// one that is shown.
fn check_memory(samples: usize, fields: usize, free: u64) -> Result<(), String> {
    let received = (samples as u64).saturating_mul(4).saturating_mul(fields as u64);
    let needed = received.saturating_add(memory::step_bytes(samples));
    if needed <= free {
        return Ok(());
    }
    let [needed, free] = [needed, free].map(bytes_for_people);
    Err(format!("the back end needs {needed} for a step, and has {free}: start it with processes on more machines"))
}

/// Every cell belongs to a rank.
fn check_cover(table: &PieceTable, grid: &Grid) -> Result<(), String> {
    let covered: usize = table.blocks.iter().map(Box3::volume).sum();
    let cells = grid.sample_count();
    if covered != cells {
        let [x, y, z] = first_hole(&table.blocks, grid.bounds());
        return Err(format!(
            "the ranks' blocks hold {covered} of the grid's {cells} samples, and [{x}, {y}, {z}] is the first that no rank owns: they must tile it"
        ));
    }
    Ok(())
}

/// The first sample of `hole`, x fastest, that none of the blocks holds: they share no sample, and do not fill it.
fn first_hole(blocks: &[Box3], mut hole: Box3) -> [usize; 3] {
    let held = |part: &Box3| blocks.iter().filter_map(|block| block.intersection(part)).map(|it| it.volume()).sum();
    for axis in [2, 1, 0] {
        while hole.size()[axis] > 1 {
            let mut first = hole;
            first.hi[axis] = hole.lo[axis] + hole.size()[axis] / 2;
            let held: usize = held(&first);
            if held < first.volume() {
                hole = first;
            } else {
                hole.lo[axis] = first.hi[axis];
            }
        }
    }
    hole.lo
}

impl State {
    /// The session of a rank has ended, if it had one: nothing more comes of it.
    pub(in crate::flow) fn leave(&mut self, rank: usize, options: &FlowOptions) {
        let link = &mut self.links[rank];
        link.is_behind = false;
        if link.session.take().is_none() {
            return;
        }
        self.comings += 1;
        self.gathering.begin(Instant::now());
        self.coordinator.on_leave(rank);
        self.tell_decided();
        self.open_wants.clear();
        if self.crew.is_some() {
            // Other processes wait for what comes of each step.
            self.begin_all_asked();
        }
        for assembly in self.assemblies.values_mut() {
            // A reliable flow does not show a step of which a part will not come; others keep the last values.
            if options.mode == Mode::Reliable && assembly.waits_for(rank) {
                assembly.abandon(rank);
            } else {
                assembly.give_up(rank);
            }
        }
        self.keep_finished(options.history_bytes);
        self.tell_apart(options);
        // What it leaves unfinished is no longer asked for, and those that are there may wait to be asked.
        self.ask_ahead();
    }

    /// What viewers may change is what rank 0 says.
    pub(in crate::flow) fn declare_parameters(&mut self) {
        let parameters = self.declared.as_ref().map(|declared| declared.first.parameters.clone());
        self.coordinator.declare(parameters.unwrap_or_default());
    }

    /// Forgets what ranks have declared that are all gone, unless all were there at once: somebody may look at what those publish.
    pub(in crate::flow) fn forget_unshown(&mut self) {
        if self.ranks() == 0 && self.gathered.is_none() {
            self.declared = None;
        }
    }

    /// A simulation that was started anew may be split over another number of ranks, once all of the run before are gone.
    fn take_ranks(&mut self, ranks: usize) -> Result<(), String> {
        if self.links.len() == ranks {
            return Ok(());
        }
        let there = self.ranks();
        if there > 0 {
            let before = self.links.len();
            return Err(format!(
                "it has {ranks} ranks, but {there} of the {before} ranks of a run before are still there"
            ));
        }
        self.forget_asked();
        self.links = vec![Link { is_anew: true, ..Link::default() }; ranks];
        Ok(())
    }

    /// The pieces once `rank` owns `block`. Boxes of ranks that are gone are kept while nobody else wants the place.
    fn table_with(
        &self,
        rank: usize,
        block: Box3,
        grid: &Grid,
        options: &FlowOptions,
    ) -> Result<Arc<PieceTable>, String> {
        let mut table = self.declared.as_ref().map_or_else(
            || PieceTable { blocks: Vec::new(), stored: stored_boxes(grid, options.pes), own: 0..0 },
            |declared| (*declared.table).clone(),
        );
        table.blocks.resize(self.links.len(), Box3::of_size([0; 3]));
        table.own = self.own_share(table.stored.len());
        for (other, link) in self.links.iter().enumerate().filter(|(other, _)| *other != rank) {
            let theirs = table.blocks[other];
            if theirs.intersection(&block).is_none() {
                continue;
            }
            if link.session.is_some() {
                return Err(format!("block {block} of rank {rank} overlaps {theirs} of rank {other}"));
            }
            table.blocks[other] = Box3::of_size([0; 3]);
        }
        table.blocks[rank] = block;
        Ok(Arc::new(table))
    }
}

#[cfg(test)]
mod tests {
    use visapult_volume::ScalarType;

    use super::*;

    #[test]
    fn a_grid_that_does_not_fit_memory_is_refused_before_any_is_taken() {
        let samples = 1000 * 1000 * 1000;
        let refused = check_memory(samples, 1, 8_000_000_000).unwrap_err();
        assert!(refused.contains("needs 8.6 GB") && refused.contains("has 8.0 GB"), "{refused}");
        assert_eq!(check_memory(samples, 1, 9_000_000_000), Ok(()));
        assert!(check_memory(samples, 2, 9_000_000_000).is_err());
        assert!(check_memory(usize::MAX, usize::MAX, u64::MAX - 1).is_err());
    }

    #[test]
    fn what_a_rank_publishes_otherwise_is_named() {
        let field = |unit: &str| FieldInfo {
            name: "p".to_owned(),
            unit: unit.to_owned(),
            scalar_type: ScalarType::F32,
            declared_range: None,
        };
        let grid = Grid::of_size([8, 4, 2]);
        let there = Declared {
            grid: grid.clone(),
            fields: vec![field("Pa")],
            live: true,
            first: Declaration {
                name: String::new(),
                format: String::new(),
                rank: 0,
                ranks: 1,
                grid: (&grid).into(),
                fields: Vec::new(),
                block: [[0; 3], grid.size],
                live: true,
                steps: None,
                times: Vec::new(),
                time_unit: String::new(),
                calendar: String::new(),
                along: Default::default(),
                every: false,
                parameters: Vec::new(),
            },
            table: Arc::default(),
        };
        let spaced = Grid { spacing: [1.0, 1.0, 0.5], ..grid.clone() };
        let in_metres = Grid { unit: "m".to_owned(), ..grid.clone() };
        for (grid, fields, expected) in [
            (&Grid::of_size([8, 4, 3]), vec![field("Pa")], "size [8, 4, 3] where it was [8, 4, 2]"),
            (&spaced, vec![field("Pa")], "([1.0, 1.0, 0.5], [0.0, 0.0, 0.0]) where it was ([1.0, 1.0, 1.0],"),
            (&in_metres, vec![field("Pa")], "(\"m\", Point) where it was (\"\", Point)"),
            (&grid, vec![field("Pa"), field("")], "2 fields where there were 1"),
            (&grid, vec![field("bar")], "\"p\" in \"bar\", f32, range None where it was \"p\" in \"Pa\""),
        ] {
            let said = difference(&there, grid, &fields, &Default::default());
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn in_what_coordinates_differ_is_named() {
        let levels = |values: [f64; 3]| AlongAxis {
            name: "plev".to_owned(),
            unit: "hPa".to_owned(),
            values: values.to_vec(),
            is_vertical: true,
        };
        let [own, before] = [levels([1000.0, 850.0, 100.0]), levels([1000.0, 800.0, 100.0])];
        let said = apart("z", Some(&own), Some(&before));
        assert!(
            said.ends_with("where they were \"plev\" in \"hPa\" (1000 to 100); the first that differ are 850 and 800")
        );
        let said = apart("z", Some(&own), None);
        assert!(said.ends_with("along z are \"plev\" in \"hPa\" (1000 to 100) where they were none beside the grid's"));
    }

    #[test]
    fn the_first_sample_that_no_rank_owns_is_named() {
        let whole = Box3::of_size([32, 32, 32]);
        let lower = Box3::of_size([32, 32, 16]);
        let upper = Box3::new([0, 0, 16], [32, 30, 32]);
        assert_eq!(first_hole(&[lower, upper], whole), [0, 30, 16]);
        let corner = Box3::new([0, 30, 16], [7, 32, 32]);
        assert_eq!(first_hole(&[upper, corner, lower], whole), [7, 30, 16]);
        assert_eq!(first_hole(&[], whole), [0, 0, 0]);
    }
}
