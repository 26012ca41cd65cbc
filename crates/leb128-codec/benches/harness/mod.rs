//! Compares the speed of several contestants.
//!
//! Machines are shared and their clocks vary, so contestants are not measured one after the other. A [`Contest`] runs
//! rounds; each times one short sample of every contestant, starting with a different one. The reported speed is the upper
//! quartile over the rounds: slower rounds include other load, the very best are luck. Every result is compared with the
//! expected one, outside the timed region.
//!
//! ```text
//! cargo bench --bench NAME [-- [--json] [--rounds N] [FILTER...]]
//! ```
//!
//! `--json` prints one object per line instead of the table, `--rounds` sets the number of rounds,
//! a filter keeps the contests whose `bench/pattern/kind` contains it. Without `--bench` among the
//! arguments (cargo passes it for `cargo bench`, not for `cargo test`) one tiny round is run and
//! nothing is reported: the results are checked, the speed is not.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "nanoseconds, numbers of bytes and of rounds are far from the limits of f64"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// What the command line asked for.
pub(crate) struct Options {
    json: bool,
    rounds: usize,
    smoke: bool,
    filters: Vec<String>,
}

impl Options {
    /// Reads the options from the arguments of the process. An unknown option ends it with code 2.
    pub(crate) fn from_args() -> Self {
        let mut options = Self { json: false, rounds: 61, smoke: true, filters: Vec::new() };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--json" => options.json = true,
                "--bench" => options.smoke = false,
                "--test" => options.smoke = true,
                "--rounds" => match args.next().and_then(|n| n.parse().ok()) {
                    Some(n) if n > 0 => options.rounds = n,
                    _ => usage("--rounds needs a number above 0"),
                },
                other if other.starts_with('-') => usage(&format!("unknown option {other}")),
                filter => options.filters.push(filter.to_owned()),
            }
        }
        // `cargo test` and `cargo bench` may both pass `--test`, which takes precedence.
        if std::env::args().any(|arg| arg == "--test") {
            options.smoke = true;
        }
        options
    }

    /// True when results are only checked, not timed: inputs may be small then.
    pub(crate) fn smoke(&self) -> bool {
        self.smoke
    }
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\nusage: [--json] [--rounds N] [FILTER...]");
    std::process::exit(2);
}

/// Whether a contestant is compared, or compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The code under test: its ratio to the best rival is reported.
    Ours,
    /// Another crate.
    Rival,
}

struct Contestant<'a, S> {
    name: &'a str,
    side: Side,
    run: Box<dyn FnMut(&mut S) + 'a>,
    /// Runs per sample, so that a sample is long against the clock's resolution.
    repeats: u32,
    /// Nanoseconds per run, one entry per round.
    samples: Vec<f64>,
    /// Its index in the report.
    entered: usize,
}

impl<S> Contestant<'_, S> {
    /// Runs a sample and checks its result: nanoseconds of all its runs.
    fn sample(&mut self, state: &mut S, reset: &dyn Fn(&mut S), check: &dyn Fn(&S) -> bool, contest: &str) -> u128 {
        reset(state);
        let start = Instant::now();
        for _ in 0..self.repeats {
            (self.run)(black_box(state));
        }
        let took = start.elapsed().as_nanos();
        assert!(check(state), "{contest}: wrong result of {}", self.name);
        took
    }

    /// Nanoseconds per run at a quantile of the samples, fastest first.
    fn quantile(&self, part: f64) -> f64 {
        let mut samples = self.samples.clone();
        samples.sort_by(f64::total_cmp);
        let at = (samples.len() as f64 * part) as usize;
        samples.get(at).copied().unwrap_or(f64::INFINITY)
    }
}

/// One task for several contestants, which all work on the same state `S`.
pub(crate) struct Contest<'a, S> {
    bench: &'a str,
    pattern: &'a str,
    kind: &'a str,
    bytes: usize,
    state: S,
    reset: Box<dyn Fn(&mut S) + 'a>,
    check: Box<dyn Fn(&S) -> bool + 'a>,
    contestants: Vec<Contestant<'a, S>>,
}

/// How long one sample should take: far above the clock's resolution, far below a time slice.
const SAMPLE: Duration = Duration::from_micros(250);

impl<'a, S> Contest<'a, S> {
    /// A contest named `bench/pattern/kind`; a run of each contestant works through `bytes` bytes.
    ///
    /// `reset` clears the state before a sample, `check` compares it with the expected result afterwards.
    pub(crate) fn new(
        [bench, pattern, kind]: [&'a str; 3],
        bytes: usize,
        state: S,
        reset: impl Fn(&mut S) + 'a,
        check: impl Fn(&S) -> bool + 'a,
    ) -> Self {
        Self {
            bench,
            pattern,
            kind,
            bytes,
            state,
            reset: Box::new(reset),
            check: Box::new(check),
            contestants: Vec::new(),
        }
    }

    /// Adds a contestant. Of several with the same name, the fastest is reported.
    pub(crate) fn enter(&mut self, side: Side, name: &'a str, run: impl FnMut(&mut S) + 'a) {
        let (run, entered) = (Box::new(run), self.contestants.len());
        self.contestants.push(Contestant { name, side, run, repeats: 1, samples: Vec::new(), entered });
    }

    /// Runs the contest and reports it on stdout.
    ///
    /// # Panics
    ///
    /// If a contestant's result is not the expected one.
    pub(crate) fn run(mut self, options: &Options) {
        let name = format!("{}/{}/{}", self.bench, self.pattern, self.kind);
        if !options.filters.is_empty() && !options.filters.iter().any(|filter| name.contains(filter)) {
            return;
        }
        // Untimed runs: they check the result, warm the caches, and determine the number of runs per sample.
        for contestant in &mut self.contestants {
            let once = contestant.sample(&mut self.state, &self.reset, &self.check, &name);
            if !options.smoke {
                let again = contestant.sample(&mut self.state, &self.reset, &self.check, &name);
                contestant.repeats = u32::try_from(SAMPLE.as_nanos() / once.min(again).max(1)).unwrap_or(1).max(1);
            }
        }
        if options.smoke {
            return;
        }
        for _ in 0..options.rounds {
            for contestant in &mut self.contestants {
                let took = contestant.sample(&mut self.state, &self.reset, &self.check, &name);
                contestant.samples.push(took as f64 / f64::from(contestant.repeats));
            }
            // The next round starts with a different contestant.
            self.contestants.rotate_left(1);
        }
        self.contestants.sort_by_key(|contestant| contestant.entered);
        if options.json { self.report_json() } else { self.report_table(&name) }
    }

    /// The figures by name, and the speed of the best rival.
    fn figures(&self) -> (Vec<Figure<'a>>, f64) {
        let mut figures: Vec<Figure<'a>> = Vec::new();
        for contestant in &self.contestants {
            let speed = |part| self.bytes as f64 / contestant.quantile(part);
            let (usual, best) = (speed(0.25), speed(0.0));
            match figures.iter_mut().find(|figure| figure.name == contestant.name) {
                Some(figure) if figure.usual >= usual => {}
                Some(figure) => (figure.usual, figure.best) = (usual, best),
                None => figures.push(Figure { name: contestant.name, side: contestant.side, usual, best }),
            }
        }
        let rivals = figures.iter().filter(|figure| figure.side == Side::Rival);
        let best_rival = rivals.map(|figure| figure.usual).fold(0.0, f64::max);
        (figures, best_rival)
    }

    fn report_json(&self) {
        let (figures, best_rival) = self.figures();
        let Self { bench, pattern, kind, bytes, .. } = self;
        for Figure { name, side, usual, best } in figures {
            println!(
                "{{\"bench\":\"{bench}\",\"pattern\":\"{pattern}\",\"kind\":\"{kind}\",\"contestant\":\"{name}\",\
                 \"ours\":{},\"bytes\":{bytes},\"gbps\":{usual:.4},\"gbps_best\":{best:.4},\
                 \"ratio_to_best_rival\":{:.3}}}",
                side == Side::Ours,
                usual / best_rival
            );
        }
    }

    fn report_table(&self, name: &str) {
        let (figures, best_rival) = self.figures();
        println!("\n{name} ({} bytes per run)", self.bytes);
        println!("  {:<28} {:>9} {:>9} {:>14}", "", "GB/s", "best", "to best rival");
        for Figure { name, side, usual, best } in figures {
            let mark = if side == Side::Ours { '*' } else { ' ' };
            println!("{mark} {name:<28} {usual:>9.2} {best:>9.2} {:>13.2}x", usual / best_rival);
        }
    }
}

/// A contestant's speed in GB/s: the upper quartile, and the best round.
struct Figure<'a> {
    name: &'a str,
    side: Side,
    usual: f64,
    best: f64,
}
