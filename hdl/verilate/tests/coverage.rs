//! What counted models leave. One test in a process of its own: it sets an environment variable.

use std::fs;

use viaduct_verilate::{Bench, COVERAGE};

/// In the second process what is asked first is gone when the next is asked.
const GATE: &str = "module top(clock,open,load,q,r);
input wire clock;
input wire open;
input wire [1:0] load;
output reg [1:0] q;
output reg [1:0] r;
always @(*) begin
  q = 2'h0;
  if (open) begin
    q = load;
  end
end
always @(*) begin
  r = load;
  if (r == 2'h1) begin
    r = 2'h2;
    if (open) begin
      r = 2'h3;
    end
  end
end
endmodule
";
/// Lines of it, as Verilator writes them.
const LOADED: &str = "9-10";
const TWICE: &str = "17-18";

/// How often the point with these keys was counted.
fn count(counts: &str, keys: &[&str]) -> u64 {
    let lines = counts.lines().filter(|line| line.starts_with("C '"));
    let mut found = lines.filter(|line| keys.iter().all(|key| line.contains(&format!("\u{2}{key}\u{1}"))));
    let line = found.next().unwrap_or_else(|| panic!("no {keys:?} in\n{counts}"));
    assert!(found.next().is_none(), "{keys:?} are several");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn models_of_one_text_add_up_in_one_file() {
    let folder = std::env::temp_dir().join(format!("viaduct-coverage-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    std::env::set_var(COVERAGE, &folder);
    let run = |open| {
        let mut gate = Bench::new("gate", GATE);
        gate.set("open", open);
        gate.set("load", 1);
        gate.tick();
    };
    let counts = || {
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "dat")).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        fs::read_to_string(&files[0]).unwrap()
    };
    run(0);
    assert_eq!(count(&counts(), &["v_branch/top", "if", LOADED]), 0);
    assert_eq!(count(&counts(), &["v_branch/top", "if", TWICE]), 0);
    run(1);
    let twice = counts();
    assert!(count(&twice, &["v_branch/top", "if", LOADED]) > 0);
    assert!(count(&twice, &["v_branch/top", "if", TWICE]) > 0);
    assert!(count(&twice, &["v_toggle/top", "load[0]"]) > 0);
    assert_eq!(count(&twice, &["v_toggle/top", "load[1]"]), 0);
    run(0);
    assert!(
        count(&counts(), &["v_branch/top", "if", LOADED]) >= count(&twice, &["v_branch/top", "if", LOADED])
    );
    fs::remove_dir_all(&folder).unwrap();
}
