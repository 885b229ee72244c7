//! The table of docs/linux.md: what each case has taken and measured over each kind of NIC.

use anyhow::{ensure, Context, Result};

/// Puts the rows of each kind of NIC side by side: `| case | seconds | figures |` each, the same cases in the same order.
pub fn table(kinds: &[(&str, String)]) -> Result<String> {
    let (mut head, mut rule) = ("| case |".to_string(), "|---|".to_string());
    let mut lines: Vec<(String, String)> = Vec::new();
    for (number, (kind, rows)) in kinds.iter().enumerate() {
        head += &format!(" {kind}: s | figures |");
        rule += "---|---|";
        for (at, row) in rows.lines().enumerate() {
            let row = row.strip_prefix("| ").with_context(|| format!("{row:?} is no row"))?;
            let (case, figures) = row.split_once(" | ").with_context(|| format!("{row:?} is no row"))?;
            if number == 0 {
                lines.push((case.to_string(), String::new()));
            }
            let line = lines.get_mut(at).with_context(|| format!("{case} is in one table only"))?;
            ensure!(line.0 == case, "{case} stands beside {}", line.0);
            line.1 += &format!(" {figures}");
        }
    }
    let lines = lines.iter().map(|(case, figures)| format!("| {case} |{figures}\n"));
    Ok(format!("{head}\n{rule}\n{}", lines.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_kinds_stand_side_by_side() {
        let model = "| a | 0.1 | 7 MiB/s |\n| b | 0.2 |  |\n".to_string();
        let rtl = "| a | 1.1 | 2 MiB/s; 3 |\n| b | 1.2 |  |\n".to_string();
        let expected = "| case | model: s | figures | RTL: s | figures |\n|---|---|---|---|---|\n\
                        | a | 0.1 | 7 MiB/s | 1.1 | 2 MiB/s; 3 |\n| b | 0.2 |  | 1.2 |  |\n";
        assert_eq!(table(&[("model", model.clone()), ("RTL", rtl)]).unwrap(), expected);
        let alone = table(&[("model", model.clone())]).unwrap();
        assert!(
            alone.starts_with("| case | model: s | figures |\n|---|---|---|\n| a | 0.1 | 7 MiB/s |\n"),
            "{alone}"
        );
        let other = table(&[("model", model), ("RTL", "| b | 1.2 |  |\n".into())]);
        assert!(other.unwrap_err().to_string().contains("b stands beside a"));
    }
}
