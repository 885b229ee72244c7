//! Finds ways for wires: along cells, round blocks, with few bends and crossings, and never two on one way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// A cell.
pub type Cell = (i32, i32);

/// What one cell further costs.
const STEP: u32 = 10;
/// What a bend costs.
const BEND: u32 = 45;
/// What it costs to cross another wire.
const CROSSING: u32 = 35;

/// Right, down, left, up.
const WAYS: [Cell; 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];

/// The cells, and who has them.
#[derive(Debug)]
pub struct Grid {
    size: Cell,
    blocked: HashSet<Cell>,
    /// The net that runs through a cell along (0) and across (1).
    taken: HashMap<(Cell, usize), usize>,
}

impl Grid {
    /// An empty one.
    pub fn new(size: Cell) -> Self {
        Self { size, blocked: HashSet::new(), taken: HashMap::new() }
    }

    /// Nothing runs through these cells.
    pub fn block(&mut self, from: Cell, to: Cell) {
        for x in from.0..=to.0 {
            self.blocked.extend((from.1..=to.1).map(|y| (x, y)));
        }
    }

    /// Only this net may begin or end in a cell that it enters sideways; others may cross there.
    pub fn reserve(&mut self, net: usize, cell: Cell) {
        self.taken.insert((cell, 0), net);
    }

    /// Connects the tips of a net to one tree; gives a way for each tip but the first, from the tree to the tip. `tips` has a cell each, and
    /// nothing if there is no way.
    pub fn connect(&mut self, net: usize, tips: &[Cell]) -> Option<Vec<Vec<Cell>>> {
        let mut tree: Vec<Cell> = vec![*tips.first()?];
        let mut ways = Vec::new();
        for &tip in &tips[1..] {
            let way = self.way(net, &tree, tip)?;
            for pair in way.windows(2) {
                let axis = usize::from(pair[0].0 == pair[1].0);
                self.taken.insert((pair[0], axis), net);
                self.taken.insert((pair[1], axis), net);
            }
            tree.extend(&way);
            ways.push(way);
        }
        Some(ways)
    }

    fn is_free(&self, net: usize, cell: Cell, axis: usize) -> bool {
        self.taken.get(&(cell, axis)).is_none_or(|other| *other == net)
    }

    /// The cheapest way from any cell of `tree` to `tip`, with a cell where it bends or ends.
    fn way(&self, net: usize, tree: &[Cell], tip: Cell) -> Option<Vec<Cell>> {
        let mut cost: HashMap<(Cell, usize), u32> = HashMap::new();
        let mut before: HashMap<(Cell, usize), (Cell, usize)> = HashMap::new();
        let mut open = BinaryHeap::new();
        for &cell in tree {
            for way in 0..4 {
                cost.insert((cell, way), 0);
                open.push(Reverse((0, cell, way)));
            }
        }
        while let Some(Reverse((spent, cell, way))) = open.pop() {
            if cell == tip {
                let mut all = vec![cell];
                let mut state = (cell, way);
                while let Some(&earlier) = before.get(&state) {
                    state = earlier;
                    if all.last() != Some(&state.0) {
                        all.push(state.0);
                    }
                }
                all.reverse();
                return Some(all);
            }
            if spent > cost[&(cell, way)] {
                continue;
            }
            for (turn, step) in WAYS.iter().enumerate() {
                let next = (cell.0 + step.0, cell.1 + step.1);
                let axis = turn % 2;
                let is_outside = next.0 < 1 || next.1 < 1 || next.0 >= self.size.0 || next.1 >= self.size.1;
                let bends = turn != way;
                if is_outside
                    || turn == (way + 2) % 4
                    || (self.blocked.contains(&next) && next != tip)
                    || !self.is_free(net, next, axis)
                    || !self.is_free(net, cell, axis)
                    || (bends && !self.is_free(net, cell, 1 - axis))
                {
                    continue;
                }
                // A wire that ends in the way of another would look as one.
                let crosses = !self.is_free(net, next, 1 - axis);
                if crosses && next == tip {
                    continue;
                }
                let price = spent
                    + STEP
                    + if bends && cost[&(cell, way)] > 0 { BEND } else { 0 }
                    + if crosses { CROSSING } else { 0 };
                let state = (next, turn);
                if cost.get(&state).is_none_or(|known| price < *known) {
                    cost.insert(state, price);
                    before.insert(state, (cell, way));
                    open.push(Reverse((price, next, turn)));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_goes_round_a_block() {
        let mut grid = Grid::new((20, 20));
        grid.block((5, 3), (8, 12));
        let ways = grid.connect(0, &[(2, 6), (12, 6)]).unwrap();
        assert!(ways[0].iter().all(|cell| !grid.blocked.contains(cell)));
        assert_eq!(ways[0].len(), 10 + 2 * 4 + 1, "over the top, which is nearer");
    }

    #[test]
    fn wires_cross_and_never_share_a_way() {
        let mut grid = Grid::new((20, 20));
        let across = grid.connect(0, &[(2, 6), (12, 6)]).unwrap();
        let down = grid.connect(1, &[(6, 2), (6, 12)]).unwrap();
        assert_eq!((across[0].len(), down[0].len()), (11, 11), "straight through");
        let along = grid.connect(2, &[(3, 6), (11, 6)]);
        assert_eq!(along, None, "both tips stand on the first wire");
        let beside = grid.connect(2, &[(2, 7), (12, 7)]).unwrap();
        assert!(beside[0].iter().all(|cell| cell.1 != 6 || cell.0 == 6));
    }

    #[test]
    fn a_net_is_one_tree() {
        let mut grid = Grid::new((30, 30));
        let ways = grid.connect(0, &[(2, 10), (20, 5), (20, 15)]).unwrap();
        assert_eq!(ways.len(), 2);
        assert!(ways[0].contains(&ways[1][0]), "the second branch begins on the first");
    }

    #[test]
    fn what_is_walled_in_has_no_way() {
        let mut grid = Grid::new((20, 20));
        grid.block((4, 4), (10, 10));
        assert_eq!(grid.connect(0, &[(2, 2), (7, 7)]), None);
    }
}
