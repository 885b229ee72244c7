//! Which instructions of an object file are atomic, as its disassembly says.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use anyhow::{ensure, Context, Result};

/// The atomic instructions of the object files that were asked for.
#[derive(Debug, Default)]
pub struct Atomics(BTreeMap<String, BTreeSet<u64>>);

impl Atomics {
    /// Whether the instruction at an address of an object file is atomic. What cannot be disassembled has none: callgrind names
    /// also what is no file.
    pub fn has(&mut self, object: &str, address: u64) -> bool {
        let known = || disassemble(object).unwrap_or_default();
        self.0.entry(object.to_owned()).or_insert_with(known).contains(&address)
    }
}

fn disassemble(object: &str) -> Result<BTreeSet<u64>> {
    let output = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", object])
        .output()
        .context("objdump, which comes with the C compiler")?;
    ensure!(output.status.success(), "objdump {object}: {}", output.status);
    Ok(atomic(&String::from_utf8_lossy(&output.stdout)))
}

/// The addresses of atomic instructions in a disassembly.
fn atomic(text: &str) -> BTreeSet<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(":\t"));
    let is_atomic = |instruction: &str| {
        // An exchange between registers is none.
        instruction.starts_with("lock ") || instruction.starts_with("xchg") && instruction.contains('(')
    };
    lines
        .filter(|(_, instruction)| is_atomic(instruction))
        .filter_map(|(address, _)| u64::from_str_radix(address.trim(), 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn locked_instructions_and_exchanges_with_memory_are_atomic() {
        let text = "0000 <f>:\n   10:\tlock cmpxchg %ecx,(%rbx)\n   14:\tmov    %eax,(%rbx)\n   1a:\txchg   %eax,(%rbx)\n   \
                    20:\txchg   %ax,%ax\n";
        assert_eq!(super::atomic(text), [0x10, 0x1a].into());
    }
}
