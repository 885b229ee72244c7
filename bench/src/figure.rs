//! Figures, for people and as JSON.

use serde_json::{json, Value};

use crate::bound::Bound;

/// A measured figure beside its bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name; it stays the same from version to version.
    pub name: String,
    /// As measured.
    pub value: f64,
    /// Of value and bound.
    pub unit: &'static str,
    /// What no logic could better.
    pub bound: Bound,
    /// How it was measured.
    pub how: String,
}

impl Figure {
    /// Value by bound.
    pub fn ratio(&self) -> f64 {
        self.value / self.bound.value
    }

    /// As a JSON object.
    pub fn json(&self) -> Value {
        let short = |number: f64| (number * 1e4).round() / 1e4;
        json!({
            "name": self.name,
            "value": short(self.value),
            "unit": self.unit,
            "bound": short(self.bound.value),
            "ratio": short(self.ratio()),
        })
    }

    /// Its line of the table, and below what the numbers are made of.
    pub fn text(&self) -> String {
        let Self { name, value, unit, bound, how } = self;
        let (ratio, parts) = (self.ratio(), &bound.parts);
        let bound = bound.value;
        format!(
            "{name:30} {value:9.3} {bound:9.3} {ratio:7.3}  {unit}\n    bound: {parts}\n    measured: {how}\n"
        )
    }
}

/// The head of the table.
pub fn head() -> String {
    format!("{:30} {:>9} {:>9} {:>7}  unit\n", "figure", "value", "bound", "ratio")
}

/// All figures as a JSON array.
pub fn json(figures: &[Figure]) -> String {
    let all: Vec<Value> = figures.iter().map(Figure::json).collect();
    format!("{:#}\n", Value::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_value_by_bound() {
        let bound = Bound { value: 16.0, parts: "all of it".into() };
        let figure = Figure { name: "rate".into(), value: 40.0, unit: "cycles", bound, how: "well".into() };
        let json: Value = serde_json::from_str(&json(std::slice::from_ref(&figure))).unwrap();
        let expected =
            json!([{"name": "rate", "value": 40.0, "unit": "cycles", "bound": 16.0, "ratio": 2.5}]);
        assert_eq!(json, expected);
        let text = figure.text();
        assert!(
            text.starts_with("rate                              40.000    16.000   2.500  cycles\n"),
            "{text}"
        );
        assert!(text.contains("bound: all of it\n"), "{text}");
    }
}
