//! Ranks that join a flow: what they declare is held against what is known, and against one another.

use std::sync::Arc;
use std::time::Instant;

use visapult_ripp_net::Session;
use visapult_volume::{Block, Box3, Grid};

use super::super::assembly::PieceTable;
use super::super::messages::Declaration;
use super::super::source::FlowOptions;
use super::{Declared, Link, State};
use crate::step_store::fitting_boxes;

/// A rank has said what it publishes: it joins the others if it fits them. Returns its number.
pub(in crate::flow) fn join(
    state: &mut State,
    options: &FlowOptions,
    declaration: Declaration,
    session: &Arc<Session>,
) -> Result<usize, String> {
    let (grid, fields, block) = declaration.check()?;
    check_memory(&grid, memory_bytes())?;
    let (rank, ranks) = (declaration.rank as usize, declaration.ranks as usize);
    if let Some(declared) = &state.declared {
        if declared.grid != grid || declared.fields != fields {
            return Err(format!("rank {rank} publishes another grid or other fields; start the back end anew"));
        }
        state.take_ranks(ranks)?;
    } else {
        state.links = vec![Link::default(); ranks];
        state.active = options.watch.numbers(&fields);
    }
    if state.links[rank].session.as_ref().is_some_and(|other| other.is_alive()) {
        return Err(format!("there is a rank {rank} already: two programs publish under one name"));
    }
    let table = state.table_with(rank, block, &grid, options)?;
    if state.links.iter().enumerate().all(|(other, link)| other == rank || link.session.is_some()) {
        check_cover(&table, &grid)?;
    }
    let newest = declaration.steps.map(|[_, last]| last).filter(|_| declaration.live);
    let before = &state.links[rank];
    let is_anew = declaration.live && (before.is_anew || before.newest > newest);
    state.comings += 1;
    state.links[rank] = Link { session: Some(Arc::clone(session)), newest, is_anew, ..Link::default() };
    if rank == 0 {
        state.desk.declare(declaration.parameters.clone());
    }
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
        if state.links.iter().all(|link| link.is_anew) {
            state.begin_run(options);
        }
    }
    if !state.links[rank].is_anew {
        state.ask_again(session);
    }
    Ok(rank)
}

/// What a publisher claims is not allocated before it is known to fit: a step being received, beside the one that is shown.
fn check_memory(grid: &Grid, memory_bytes: Option<u64>) -> Result<(), String> {
    let step_bytes = grid.sample_count() as u64 * 4;
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    match memory_bytes {
        Some(memory) if step_bytes > memory / 2 => Err(format!(
            "a step of one field takes {:.1} GiB, more than half of this machine's {:.1} GiB of memory",
            gib(step_bytes),
            gib(memory)
        )),
        _ => Ok(()),
    }
}

/// Memory of this machine, where the system tells.
fn memory_bytes() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Every cell belongs to a rank.
fn check_cover(table: &PieceTable, grid: &Grid) -> Result<(), String> {
    let covered: usize = table.blocks.iter().map(Box3::volume).sum();
    let cells = grid.sample_count();
    if covered != cells {
        return Err(format!("the ranks' blocks hold {covered} of the grid's {cells} samples: they must tile it"));
    }
    Ok(())
}

impl State {
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
        self.assemblies.clear();
        self.asked.clear();
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
        let stored = |owned: &Box3| Block::stored_for(owned, &grid.bounds());
        let mut table = self.declared.as_ref().map_or_else(
            || PieceTable {
                blocks: Vec::new(),
                stored: fitting_boxes(grid.size, options.pes).iter().map(stored).collect(),
                own: 0..0,
            },
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
    use super::*;

    #[test]
    fn a_grid_that_does_not_fit_memory_is_refused_before_any_is_taken() {
        let grid = Grid::of_size([1024, 1024, 1024]);
        let refused = check_memory(&grid, Some(6 << 30)).unwrap_err();
        assert!(refused.contains("4.0 GiB") && refused.contains("6.0 GiB"), "{refused}");
        assert_eq!(check_memory(&grid, Some(8 << 30)), Ok(()));
        assert_eq!(check_memory(&grid, None), Ok(()));
    }
}
