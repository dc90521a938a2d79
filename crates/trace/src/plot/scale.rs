//! Axis of time: where the ticks are, and in which unit they are written.

/// Maps times to pixels.
pub(super) struct Scale {
    start_ns: i64,
    span_ns: f64,
    left: f64,
    width: f64,
}

/// A tick, in pixels, with its label.
pub(super) struct Tick {
    pub(super) x: f64,
    pub(super) label: String,
}

impl Scale {
    pub(super) fn new(start_ns: i64, end_ns: i64, left: f64, width: f64) -> Self {
        Self { start_ns, span_ns: ((end_ns - start_ns) as f64).max(1.0), left, width }
    }

    pub(super) fn x(&self, ns: i64) -> f64 {
        self.left + (ns - self.start_ns) as f64 / self.span_ns * self.width
    }

    /// About eight ticks at multiples of 1, 2 or 5 times a power of ten, and the unit that they are in.
    pub(super) fn ticks(&self) -> (Vec<Tick>, &'static str) {
        let rough = self.span_ns / 8.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough).max(1.0);
        let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
        let (unit, name) = units.into_iter().find(|(unit, _)| self.span_ns >= 2.0 * unit).unwrap_or((1.0, "ns"));
        let decimals = (unit / step).log10().ceil().clamp(0.0, 9.0) as usize;
        let count = (self.span_ns / step).floor() as usize;
        let tick = |number: usize| {
            let ns = number as f64 * step;
            Tick { x: self.left + ns / self.span_ns * self.width, label: format!("{:.decimals$}", ns / unit) }
        };
        ((0..=count).map(tick).collect(), name)
    }
}

/// A time for people: three digits and a unit.
pub(super) fn in_words(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1e-6, "µs"));
    let value = seconds / unit;
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_round_and_within_the_axis() {
        for span in [1, 7, 999, 12_345, 2_000_000_000, 61_000_000_000, 3_600_000_000_000, i64::MAX / 4] {
            let scale = Scale::new(1_000, 1_000 + span, 100.0, 800.0);
            let (ticks, _) = scale.ticks();
            assert!((1..=11).contains(&ticks.len()), "{span}: {}", ticks.len());
            assert!(ticks.iter().all(|tick| (100.0..=900.001).contains(&tick.x)), "{span}");
            assert_eq!(ticks[0].label.parse::<f64>().unwrap(), 0.0);
        }
        let labels: Vec<_> =
            Scale::new(0, 4_100_000_000, 0.0, 1.0).ticks().0.into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn times_are_written_with_a_unit_that_suits_them() {
        assert_eq!(
            [0.0, 4.2e-5, 0.0123, 0.456, 1.5, 61.0].map(in_words),
            ["0.00 µs", "42.0 µs", "12.3 ms", "456 ms", "1.50 s", "61.0 s"]
        );
    }
}
