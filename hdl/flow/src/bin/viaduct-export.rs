//! Exports the NIC's Verilog, checks it, measures it and proves its primitives.
//!
//! `viaduct-export export --out FOLDER | list | lint [--only TEXT] | budget [--only TEXT] [--json FILE] [--draw TEXT] | sizes |
//! prove [--only TEXT] | equal [--only TEXT] | boards | board BOARD TOP FOLDER [OPTION ...]`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail, Context, Result};
use viaduct_flow::budget::Line;
use viaduct_flow::sizes::{self, Sizes};
use viaduct_flow::{budget, equal, gate, pool, prove};
use viaduct_hdl::blocks::{self, Entry};
use viaduct_hdl::board;
use viaduct_hdl::export::products;

const USAGE: &str = "usage: viaduct-export export --out FOLDER
       viaduct-export list   [--only TEXT]
       viaduct-export lint   [--only TEXT]
       viaduct-export budget [--only TEXT] [--json FILE] [--draw TEXT]
       viaduct-export sizes
       viaduct-export prove  [--only TEXT]
       viaduct-export equal  [--only TEXT]
       viaduct-export boards
       viaduct-export board  BOARD TOP FOLDER [OPTION ...]
--only takes the blocks whose name contains TEXT
--draw measures one in twelve of the blocks whose size docs/sizes.json has, drawn by TEXT; sizes makes that file anew";

/// What follows the command.
#[derive(Default)]
struct Arguments {
    out: Option<PathBuf>,
    json: Option<PathBuf>,
    only: Option<String>,
    draw: Option<String>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = Self::default();
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value\n{USAGE}"))?;
            match word.as_str() {
                "--out" => arguments.out = Some(value.into()),
                "--json" => arguments.json = Some(value.into()),
                "--only" => arguments.only = Some(value),
                "--draw" => arguments.draw = Some(value),
                _ => bail!("unknown argument {word}\n{USAGE}"),
            }
        }
        Ok(arguments)
    }

    /// The blocks asked for.
    fn blocks(&self) -> Result<Vec<Entry>> {
        self.of(blocks::all())
    }

    /// Those of these that are asked for.
    fn of(&self, mut blocks: Vec<Entry>) -> Result<Vec<Entry>> {
        if let Some(only) = &self.only {
            blocks.retain(|block| block.name.contains(only.as_str()));
        }
        if blocks.is_empty() {
            bail!("no block has {:?} in its name", self.only.as_deref().unwrap_or_default());
        }
        Ok(blocks)
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let done = match command.as_str() {
        "boards" => list_boards(),
        "board" => export_board(&words.collect::<Vec<_>>()),
        _ => on_blocks(&command, words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The commands that take blocks.
fn on_blocks(command: &str, words: impl Iterator<Item = String>) -> Result<()> {
    Arguments::parse(words).and_then(|arguments| match command {
        "export" => export(&arguments),
        "list" => list(&arguments),
        "lint" => lint(&arguments),
        "budget" => judge(&arguments),
        "sizes" => measure(&arguments),
        "prove" => prove::run(arguments.only.as_deref()),
        "equal" => compare(&arguments),
        _ => bail!("{USAGE}"),
    })
}

/// Says what can be built for which board.
fn list_boards() -> Result<()> {
    for target in board::all() {
        println!("{} {} {}", target.board, target.top, target.device.join(" "));
    }
    Ok(())
}

/// Writes what a board's top is built from: `top.v`; `top.lpf`, its pins; `nextpnr.args`, the device in nextpnr-ecp5's words; `seed`, that
/// of its placement; `budget`, LUT4 sites, block RAMs and MHz; and `core.v`, the NIC's core in it, if it has one and it is the very one
/// that is simulated.
fn export_board(words: &[String]) -> Result<()> {
    let [name, top, folder, options @ ..] = words else { bail!("{USAGE}") };
    let options =
        board::BoardOptions::named(options.iter().map(String::as_str)).map_err(|error| anyhow!(error))?;
    let known = board::all();
    let target = known.iter().find(|target| target.board == *name && target.top == *top);
    let target = target.with_context(|| format!("no {top} for {name}; see `viaduct-export boards`"))?;
    let folder = Path::new(folder);
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let pins =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../constraints").join(name).join(format!("{top}.lpf"));
    let verilog = (target.verilog)(options);
    let mut files = vec![
        ("top.lpf", fs::read_to_string(&pins).with_context(|| pins.display().to_string())?),
        ("nextpnr.args", target.device.join(" ") + "\n"),
        ("seed", format!("{}\n", target.seed)),
        ("budget", format!("{} {} {}\n", target.lut4, target.block_rams, target.spare_percent)),
    ];
    if let Some(core) = board::core_of(&verilog) {
        let simulated = blocks::all().into_iter().find(|block| block.name == blocks::CORE);
        if simulated.is_none_or(|block| (block.verilog)() != core) {
            bail!("the core in {top} for {name} is not the one that is simulated");
        }
        files.push(("core.v", core));
    }
    files.push(("top.v", verilog));
    for (file, text) in files {
        let path = folder.join(file);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Writes every block; the whole NIC as `top.v`, and beside it what others build on.
fn export(arguments: &Arguments) -> Result<()> {
    let out = arguments.out.as_deref().with_context(|| format!("export needs --out\n{USAGE}"))?;
    for block in arguments.blocks()? {
        let path = match block.name {
            blocks::CORE => out.join("top.v"),
            name => out.join("blocks").join(format!("{name}.v")),
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::write(&path, (block.verilog)()).with_context(|| path.display().to_string())?;
    }
    if arguments.only.is_none() {
        for (name, verilog) in products() {
            let path = out.join(format!("{name}.v"));
            fs::write(&path, verilog).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// Names every block and its least speed alone.
fn list(arguments: &Arguments) -> Result<()> {
    for block in arguments.blocks()? {
        println!("{} {}", block.name, block.mhz);
    }
    Ok(())
}

/// Checks every block's Verilog, and the tops'.
fn lint(arguments: &Arguments) -> Result<()> {
    let blocks = arguments.of(blocks::all().into_iter().chain(blocks::tops()).collect())?;
    let mut bad = 0;
    pool::each(
        &blocks,
        |block, verilog| gate::check(block.name, verilog),
        |block, wrong| {
            println!("{:<24} {}", block.name, if wrong.is_empty() { "clean" } else { "REFUSED" });
            for line in &wrong {
                println!("{line}");
            }
            bad += usize::from(!wrong.is_empty());
            Ok(())
        },
    )?;
    if bad > 0 {
        bail!("{bad} of {} blocks refused", blocks.len());
    }
    Ok(())
}

/// Proves every block's Verilog equal to what RustHDL's own writer gives.
fn compare(arguments: &Arguments) -> Result<()> {
    let blocks = arguments.of(blocks::all().into_iter().chain(blocks::tops()).collect())?;
    let mut differ = Vec::new();
    for block in &blocks {
        match equal::check(block) {
            Ok(what) => println!("{:<24} equal: {what}", block.name),
            Err(error) => {
                println!("{:<24} DIFFERS: {error:#}", block.name);
                differ.push(block.name);
            }
        }
    }
    if !differ.is_empty() {
        bail!("{} of {} blocks differ: {}", differ.len(), blocks.len(), differ.join(", "));
    }
    Ok(())
}

/// Measures every block, and keeps the sizes.
fn measure(arguments: &Arguments) -> Result<()> {
    let mut sizes = Sizes::default();
    let measure = |entry: &Entry, verilog: &str| {
        let size = budget::measure(entry.name, verilog)?;
        Ok((verilog.to_owned(), size))
    };
    pool::each(&arguments.blocks()?, measure, |entry, (verilog, size)| {
        println!("{:<24} {size:?}", entry.name);
        sizes.note(entry.name, &verilog, size)
    })?;
    sizes.write(&sizes::file())
}

/// Compares every block's size with its budget.
fn judge(arguments: &Arguments) -> Result<()> {
    let (sizes, draw) = (Sizes::read(&sizes::file())?, arguments.draw.as_deref());
    println!("{}", Line::head());
    let (mut lines, mut new) = (Vec::new(), Vec::new());
    let size = |entry: &Entry, verilog: &str| {
        let (size, is_recorded) = sizes.of(entry.name, verilog, draw)?;
        Ok((Line::of(entry, size), is_recorded))
    };
    pool::each(&arguments.blocks()?, size, |entry, (line, is_recorded)| {
        println!("{}", line.text());
        lines.push(line);
        if !is_recorded {
            new.push(entry.name);
        }
        Ok(())
    })?;
    if !new.is_empty() {
        let (number, names) = (new.len(), new.join(", "));
        println!("{number} blocks are not those that docs/sizes.json has the sizes of: {names}; `cargo xtask budget --anew` makes it anew");
    }
    if let Some(path) = &arguments.json {
        fs::write(path, budget::json(&lines)).with_context(|| path.display().to_string())?;
    }
    let over: Vec<&str> = lines.iter().filter(|line| line.over()).map(|line| line.name).collect();
    if !over.is_empty() {
        bail!("over budget: {}", over.join(", "));
    }
    Ok(())
}
