//! Looks for the one schedule of the model in which it does what the NIC did: depth first, from one thing that the NIC let out to the next.
//!
//! What cannot do harm is done at once: descriptors that are as they should be are fetched, and packets leave that the NIC sent next. Then comes
//! what the order is open of: which of its inputs a VI has heard of first. They are tried in the order in which they came.

use std::collections::hash_map::DefaultHasher;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use viaduct_spec::profile::RECEIVE_AHEAD;

use super::end_trace::EndTrace;
use super::inputs::Given;
use super::places::describe;
use super::state::State;
use super::steps::Step;

/// Steps after which a search is given up. That is a failure. Nearly every search ends within 200 000 steps; that of seed 5009317, whose host takes Bus
/// Master away again and again while a message is sent anew, needs more, and finds its schedule in a minute and a half.
const STEPS: usize = 20_000_000;

/// The next thing that the NIC let out: the moment, and what.
fn goal(state: &State, trace: &EndTrace<'_>) -> Option<(usize, String)> {
    let mut first: Option<(usize, String)> = None;
    let mut offer = |at: usize, what: &dyn Fn() -> String| {
        if first.as_ref().is_none_or(|(found, _)| at < *found) {
            first = Some((at, what()));
        }
    };
    if let Some(written) = trace.written.get(state.written) {
        let place = trace.places.place(written.address);
        offer(written.at, &|| format!("{} bytes at {:#x}, {place:?}", written.data.len(), written.address));
    }
    let (reached, outputs, end) = (&state.reached, &trace.outputs, trace.end);
    for kind in 0..2 {
        if let Some(left) = outputs.frames[kind].get(reached.made[kind]) {
            let name = ["request", "answer"][kind];
            offer(left.at, &|| {
                format!("{name} frame {} of end {end}: {}", reached.made[kind], describe(&left.frame))
            });
        }
        if let Some((at, token)) = outputs.entries[kind].get(reached.entries[kind]) {
            offer(*at, &|| format!("entry {} of end {end}, queue {kind}: {token:#x}", reached.entries[kind]));
        }
        if let Some((at, event)) = outputs.events[kind].get(reached.events[kind]) {
            offer(*at, &|| format!("event {} of end {end}: {event:?}", reached.events[kind]));
        }
    }
    if let Some(at) = outputs.interrupts.get(reached.interrupts) {
        offer(*at, &|| format!("interrupt {} of end {end}", reached.interrupts));
    }
    first
}

/// A state whose steps are tried one after the other.
struct Node {
    state: State,
    steps: Vec<Step>,
    next: usize,
    before: usize,
}

/// The search.
pub struct Search<'a> {
    trace: &'a EndTrace<'a>,
    steps: usize,
    failed: HashSet<u64>,
    /// The state that came furthest, how far, and why it came no further.
    best: (usize, Option<State>, Vec<String>),
}

impl<'a> Search<'a> {
    /// For a trace.
    pub fn new(trace: &'a EndTrace<'a>) -> Self {
        Self { trace, steps: 0, failed: HashSet::new(), best: (0, None, Vec::new()) }
    }

    /// Searches; the error says how far the model came, and what it would have done.
    pub fn run(&mut self) -> Result<(), String> {
        let mut stack = Vec::new();
        if self.open(State::new(self.trace), &mut stack) {
            return Ok(());
        }
        while let Some(node) = stack.last_mut() {
            let Some(step) = node.steps.get(node.next).copied() else {
                let key = self.key(&node.state);
                self.failed.insert(key);
                stack.pop();
                continue;
            };
            node.next += 1;
            self.steps += 1;
            if self.steps > STEPS {
                return Err(format!("no schedule of the model in {STEPS} steps\n{}", self.report()));
            }
            let mut state = node.state.clone();
            let before = node.before;
            let score = progress(&node.state);
            match state.step(self.trace, step, before) {
                Ok(true) => {
                    if self.open(state, &mut stack) {
                        return Ok(());
                    }
                }
                Ok(false) => {}
                Err(why) => {
                    tracing::debug!("at {score}, {step:?}: {why}");
                    self.note(score, None, format!("{step:?}: {why}"));
                }
            }
        }
        Err(self.report())
    }

    /// The moment of what the model does not do.
    pub fn stopped(&self) -> Option<usize> {
        let state = self.best.1.as_ref()?;
        goal(state, self.trace).map(|(at, _)| at)
    }

    fn report(&self) -> String {
        let (_, state, why) = &self.best;
        let mut text = String::new();
        if let Some(state) = state {
            match goal(state, self.trace) {
                Some((at, what)) => {
                    text += &format!(
                        "cycle {}: the model does not do what the NIC did: {what}\n",
                        self.trace.cycles[at]
                    );
                }
                None => text += "the model does more than the NIC did\n",
            }
        }
        for why in why {
            text += &format!("  {why}\n");
        }
        if let Some(state) = state.as_ref().filter(|_| tracing::enabled!(tracing::Level::DEBUG)) {
            text += &format!("  {:?}\n  {}\n", state.reached, state.nic.describe(self.trace.vi));
            text += &format!("  heard {} of {}\n", state.host, self.trace.host.len());
        }
        text
    }

    fn note(&mut self, score: usize, state: Option<&State>, why: String) {
        if score > self.best.0 || self.best.1.is_none() && state.is_some() {
            self.best = (score, state.cloned(), Vec::new());
        }
        if score == self.best.0 && !why.is_empty() && self.best.2.len() < 12 && !self.best.2.contains(&why) {
            self.best.2.push(why);
        }
    }

    /// What decides how a state may go on. Two states of one key have the same schedules before them.
    fn key(&self, state: &State) -> u64 {
        let mut hasher = DefaultHasher::new();
        state.nic.fingerprint(&[self.trace.vi]).hash(&mut hasher);
        state.hash_progress(&mut hasher);
        hasher.finish()
    }

    /// A state is reached: does what does no harm, and puts what may come next on the stack. Whether all is matched.
    fn open(&mut self, mut state: State, stack: &mut Vec<Node>) -> bool {
        let before = self.settle(&mut state);
        if !self.failed.is_empty() && self.failed.contains(&self.key(&state)) {
            return false;
        }
        let goal = goal(&state, self.trace);
        let score = progress(&state);
        if state.owes_a_response(self.trace) {
            self.note(score, Some(&state), "a response that the broken VI owes never leaves".into());
            return false;
        }
        self.note(score, Some(&state), String::new());
        let steps = self.candidates(&state, before, score);
        if goal.is_none() && (self.trace.cut || steps.is_empty()) {
            match self.rests(&mut state) {
                Ok(()) => return true,
                Err(why) => self.note(score, Some(&state), why),
            }
        }
        stack.push(Node { state, steps, next: 0, before });
        false
    }

    /// Does what does no harm; the moment of the next thing that the NIC let out.
    fn settle(&mut self, state: &mut State) -> usize {
        loop {
            let next = goal(state, self.trace);
            let before = next.map_or(self.trace.cycles.len(), |(at, _)| at);
            let mut steps = vec![Step::Complete, Step::Fetch(false), Step::Fetch(true)];
            let frames = &self.trace.outputs.frames;
            let waits = state.is_refused(self.trace) || state.is_overdue(self.trace, before);
            if state.reached.made[0] < frames[0].len() && !waits {
                steps.push(Step::Request);
            }
            if state.reached.made[1] < frames[1].len() && !state.asks_again(self.trace) {
                steps.extend(state.answers(self.trace).map(Step::Answer));
            }
            let broken = state.nic.is_broken(self.trace.vi);
            let mut settled = true;
            for step in steps {
                let mut tried = state.clone();
                let done = tried.step(self.trace, step, before) == Ok(true);
                // A descriptor that is wrong may yet be flushed instead.
                let sent = step != Step::Request || tried.reached.made[0] > state.reached.made[0];
                if done && sent && tried.nic.is_broken(self.trace.vi) == broken {
                    *state = tried;
                    settled = false;
                    break;
                }
            }
            if settled {
                return before;
            }
        }
    }

    /// What may come next, the likeliest first.
    fn candidates(&mut self, state: &State, before: usize, score: usize) -> Vec<Step> {
        let trace = self.trace;
        let mut inputs: Vec<(u64, Step)> = Vec::new();
        let host = trace.host.get(state.host);
        if let Some(given) = host.filter(|given| given.at < before) {
            inputs.push((given.cycle, Step::Host));
        }
        for answer in [false, true] {
            let kind = usize::from(answer);
            let frame = trace.frames[kind].get(state.reached.taken[kind]);
            // What the host said has been heard of.
            let is_first =
                |given: &Given, at: usize| given.by >= at || answer && state.reads_on(trace, given);
            let frame =
                frame.filter(|frame| frame.at < before && host.is_none_or(|given| is_first(given, frame.at)));
            inputs.extend(frame.map(|frame| (frame.cycle, Step::Frame(answer))));
        }
        inputs.sort_by_key(|(cycle, _)| *cycle);
        let mut first = Vec::new();
        let mut last = Vec::new();
        // Heard too late, it would stand for a time-out, and only the last of many time-outs would show that.
        let nak = inputs.iter().position(|(_, step)| *step == Step::Frame(true));
        if let Some(nak) = nak.filter(|_| state.is_refused_long_before(trace)) {
            first.push(inputs.remove(nak).1);
        }
        if state.is_overdue(trace, before) {
            first.push(Step::Expire);
        }
        let mut own = state.answers(trace).map(Step::Answer).collect::<Vec<_>>();
        if state.nic.packets(trace.vi).request {
            own.push(Step::Request);
        }
        own.extend([Step::AnswerAgain, Step::Complete, Step::Fetch(false), Step::Fetch(true)]);
        // What goes out again long after the last answer came does so by a time-out.
        let just_now = state.is_answered_just_now(trace);
        own.extend([Step::TakeAgain, Step::FailAhead]);
        for step in own {
            let mut tried = state.clone();
            match tried.step(trace, step, before) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    self.note(score, None, format!("{step:?}: {why}"));
                    continue;
                }
            }
            let hits = goal(&tried, trace).is_none_or(|(at, _)| at > before);
            let later = matches!(step, Step::Answer(..)) && state.asks_again(trace);
            let rarely = step == Step::FailAhead || step == Step::TakeAgain && !just_now;
            match hits && !later && !rarely {
                true => first.push(step),
                false => last.push(step),
            }
        }
        if state.nic.timer(trace.vi).is_some() {
            // What the NIC sends next is read behind the end of the time: it goes out again by that, most likely.
            match state.is_over(trace) {
                true => first.push(Step::Expire),
                false => last.insert(0, Step::Expire),
            }
        }
        last.extend(state.meanwhile(trace, before));
        last.extend(state.refusals(trace));
        last.extend(state.released(trace));
        last.extend(state.unheard_steps(trace, before));
        first.extend(inputs.into_iter().map(|(_, step)| step));
        first.extend(last);
        first
    }

    /// Nothing is left to do.
    fn rests(&self, state: &mut State) -> Result<(), String> {
        let trace = self.trace;
        if trace.cut {
            return Ok(());
        }
        if state.host < trace.host.len() {
            return Err("the host is not heard to its end".into());
        }
        let end = trace.end;
        if state.reached.taken != [0, 1].map(|kind| trace.frames[kind].len()) {
            return Err(format!("frames for end {end} are not taken"));
        }
        state.omit_spare(trace);
        let before = trace.cycles.len();
        let waiting = state.answers(trace).next().filter(|_| !state.is_silent(trace));
        if let Some(index) = waiting {
            let why = state.clone().step(trace, Step::Answer(index), before);
            return Err(why.err().unwrap_or_else(|| format!("end {end} does not send an answer")));
        }
        for step in [Step::Request, Step::Complete, Step::Fetch(false), Step::Fetch(true)] {
            match state.clone().step(trace, step, before) {
                Ok(false) => {}
                // A receive whose message is under way takes room (WQ-2).
                _ if step == Step::Fetch(true) && state.nic.receives_in_use(trace.vi) >= RECEIVE_AHEAD => {}
                Ok(true) => return Err(format!("end {end}: {step:?} is possible and is not done")),
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

/// How far a state has come: what is matched, and what has come.
fn progress(state: &State) -> usize {
    let taken: usize = state.reached.taken.iter().sum();
    (state.score << 12) + taken + state.host
}
