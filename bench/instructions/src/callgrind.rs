//! What callgrind writes: dumps, each with the name that the program has given it, and costs by function.

use std::collections::BTreeMap;

/// The costs of all dumps of a name.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Costs {
    /// Instructions.
    pub total: u64,
    /// Those of them that are atomic with the bus locked, or exchanges with memory, which are so by themselves.
    pub atomics: u64,
    /// Instructions of each function, without those that it calls.
    pub functions: BTreeMap<String, u64>,
}

/// Adds what a dump says to the costs of its name. The dump has an instruction a line (`--dump-instr=yes --dump-line=no`), and neither
/// positions nor strings are compressed. `is_atomic` knows the instruction at an address of an object file.
///
/// # Errors
/// The line that is none of callgrind's.
pub fn add(
    text: &str,
    all: &mut BTreeMap<String, Costs>,
    is_atomic: &mut impl FnMut(&str, u64) -> bool,
) -> Result<(), String> {
    let (mut trigger, mut function, mut object) = (String::new(), String::new(), String::new());
    let mut found = Costs::default();
    // The line behind `calls=` is what the called function has cost.
    let mut inclusive = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("desc: Trigger: Client Request: ") {
            name.clone_into(&mut trigger);
        } else if let Some(total) = line.strip_prefix("totals: ") {
            found.total = total.trim().parse().map_err(|_| line.to_owned())?;
        } else if let Some(name) = line.strip_prefix("fn=") {
            name.clone_into(&mut function);
        } else if let Some(name) = line.strip_prefix("ob=") {
            name.clone_into(&mut object);
        } else if line.starts_with("calls=") {
            inclusive = true;
        } else if let Some(line) = line.strip_prefix("0x") {
            let (address, cost) = line.split_once(' ').ok_or_else(|| line.to_owned())?;
            let cost: u64 = cost.trim().parse().map_err(|_| line.to_owned())?;
            let address = u64::from_str_radix(address, 16).map_err(|_| line.to_owned())?;
            if !std::mem::take(&mut inclusive) {
                *found.functions.entry(function.clone()).or_default() += cost;
                if is_atomic(&object, address) {
                    found.atomics += cost;
                }
            }
        }
    }
    let costs = all.entry(trigger).or_default();
    costs.total += found.total;
    costs.atomics += found.atomics;
    for (name, cost) in found.functions {
        *costs.functions.entry(name).or_default() += cost;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_a_name_are_summed_and_those_of_called_functions_counted_once() {
        let dump = "desc: Trigger: Client Request: post\nob=/lib.so\nfn=outer\n0x3 10\ncfn=inner\ncalls=5 0x7\n0x4 400\n0x5 2\n\
                    fn=inner\n0x7 400\n\ntotals: 412\n";
        let mut all = BTreeMap::new();
        let mut is_atomic = |object: &str, address| object == "/lib.so" && [4, 5].contains(&address);
        add(dump, &mut all, &mut is_atomic).expect("callgrind's");
        add(dump, &mut all, &mut is_atomic).expect("callgrind's");
        let functions = [("outer".to_owned(), 24), ("inner".to_owned(), 800)].into();
        // The call itself is no instruction at 4.
        assert_eq!(all, [("post".to_owned(), Costs { total: 824, atomics: 4, functions })].into());
        assert!(add("totals: many\n", &mut all, &mut is_atomic).is_err());
    }
}
