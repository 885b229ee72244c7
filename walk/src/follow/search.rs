//! Looks for the one schedule of the model in which it does what the NIC did: depth first, from one thing that the NIC let out to the next.
//!
//! What cannot do harm is done at once: descriptors that are as they should be are fetched, and packets leave that the NIC sent next. Then comes
//! what the order is open of: which of its inputs a VI has heard of first. They are tried in the order in which they came.

use std::collections::hash_map::DefaultHasher;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use viaduct_sim::model::Pending;

use super::group::Group;
use super::places::describe;
use super::state::State;
use super::steps::Step;
use super::unheard::{Cause, Late};

/// Steps after which a search is given up. That is a failure. (A message of eight frames that turns round and is never answered is sent
/// again 60 times.)
const STEPS: usize = 20_000;

/// The next thing that the NIC let out: the moment, and what.
fn goal(state: &State, group: &Group<'_>) -> Option<(usize, String)> {
    let mut first: Option<(usize, String)> = None;
    let mut offer = |at: usize, what: &dyn Fn() -> String| {
        if first.as_ref().is_none_or(|(found, _)| at < *found) {
            first = Some((at, what()));
        }
    };
    if let Some(written) = group.outputs.written.get(state.written) {
        let place = group.places.place(written.address);
        offer(written.at, &|| format!("{} bytes at {:#x}, {place:?}", written.data.len(), written.address));
    }
    for (side, end) in state.sides.iter().zip(&group.ends) {
        let outputs = &group.outputs.ends[*end];
        for kind in 0..2 {
            if let Some(left) = outputs.frames[kind].get(side.made[kind]) {
                let name = ["request", "answer"][kind];
                offer(left.at, &|| {
                    format!("{name} frame {} of end {end}: {}", side.made[kind], describe(&left.frame))
                });
            }
            if let Some((at, token)) = outputs.entries[kind].get(side.entries[kind]) {
                offer(*at, &|| {
                    format!("entry {} of end {end}, queue {kind}: {token:#x}", side.entries[kind])
                });
            }
            if let Some((at, event)) = outputs.events[kind].get(side.events[kind]) {
                offer(*at, &|| format!("event {} of end {end}: {event:?}", side.events[kind]));
            }
        }
        if let Some(at) = outputs.interrupts.get(side.interrupts) {
            offer(*at, &|| format!("interrupt {} of end {end}", side.interrupts));
        }
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
    group: &'a Group<'a>,
    steps: usize,
    failed: HashSet<u64>,
    /// The state that came furthest, how far, and why it came no further.
    best: (usize, Option<State>, Vec<String>),
}

impl<'a> Search<'a> {
    /// For a group.
    pub fn new(group: &'a Group<'a>) -> Self {
        Self { group, steps: 0, failed: HashSet::new(), best: (0, None, Vec::new()) }
    }

    /// Searches; the error says how far the model came, and what it would have done.
    pub fn run(&mut self) -> Result<(), String> {
        let mut stack = Vec::new();
        if self.open(State::new(self.group), &mut stack) {
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
            match state.step(self.group, step, before) {
                Ok(true) => {
                    if self.open(state, &mut stack) {
                        return Ok(());
                    }
                }
                Ok(false) => {}
                Err(why) => self.note(score, None, format!("{step:?}: {why}")),
            }
        }
        Err(self.report())
    }

    /// The moment of what the model does not do.
    pub fn stopped(&self) -> Option<usize> {
        let state = self.best.1.as_ref()?;
        goal(state, self.group).map(|(at, _)| at)
    }

    fn report(&self) -> String {
        let (_, state, why) = &self.best;
        let mut text = String::new();
        if let Some(state) = state {
            match goal(state, self.group) {
                Some((at, what)) => {
                    text += &format!(
                        "cycle {}: the model does not do what the NIC did: {what}\n",
                        self.group.cycles[at]
                    );
                }
                None => text += "the model does more than the NIC did\n",
            }
        }
        for why in why {
            text += &format!("  {why}\n");
        }
        if let Some(state) = state.as_ref().filter(|_| tracing::enabled!(tracing::Level::DEBUG)) {
            for side in 0..state.sides.len() {
                text += &format!(
                    "  {:?}\n  {}\n",
                    state.sides[side],
                    state.nic.describe(state.vi(self.group, side))
                );
            }
            text += &format!("  heard {} of {}\n", state.host, self.group.host.len());
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

    fn key(&self, state: &State) -> u64 {
        let vis: Vec<usize> = self.group.ends.iter().map(|end| self.group.places.vi(*end)).collect();
        let mut hasher = DefaultHasher::new();
        state.nic.fingerprint(&vis).hash(&mut hasher);
        (state.host, state.written, state.score).hash(&mut hasher);
        for side in &state.sides {
            (side.taken, side.made, side.entries, side.events, side.interrupts).hash(&mut hasher);
            side.turning.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// A state is reached: does what does no harm, and puts what may come next on the stack. Whether all is matched.
    fn open(&mut self, mut state: State, stack: &mut Vec<Node>) -> bool {
        let before = self.settle(&mut state);
        if !self.failed.is_empty() && self.failed.contains(&self.key(&state)) {
            return false;
        }
        let goal = goal(&state, self.group);
        let score = progress(&state);
        self.note(score, Some(&state), String::new());
        let steps = self.candidates(&state, before, score);
        if goal.is_none() && (self.group.cut || steps.is_empty()) {
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
            let next = goal(state, self.group);
            let before = next.map_or(self.group.cycles.len(), |(at, _)| at);
            let mut steps = Vec::new();
            for (side, end) in self.group.ends.iter().enumerate() {
                steps.extend([Step::Complete(side), Step::Fetch(side, false), Step::Fetch(side, true)]);
                if self.group.loopback {
                    continue;
                }
                let frames = &self.group.outputs.ends[*end].frames;
                if state.sides[side].made[0] < frames[0].len() && !state.is_refused(self.group, side) {
                    steps.push(Step::Request(side));
                }
                if state.sides[side].made[1] < frames[1].len() && !state.asks_again(self.group, side) {
                    steps.extend(state.answers(self.group, side).map(|at| Step::Answer(side, at)));
                }
            }
            let broken = state.broken(self.group);
            let mut settled = true;
            for step in steps {
                let mut tried = state.clone();
                if tried.step(self.group, step, before) == Ok(true) && tried.broken(self.group) == broken {
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
        let group = self.group;
        let mut inputs: Vec<(u64, Step)> = Vec::new();
        let mut timers: Vec<(u64, Step)> = Vec::new();
        let host = group.host.get(state.host);
        if let Some(given) = host.filter(|given| given.at < before) {
            inputs.push((given.cycle, Step::Host));
        }
        for (side, end) in group.ends.iter().enumerate() {
            for answer in [false, true] {
                let kind = usize::from(answer);
                let frame = group.frames[end][kind].get(state.sides[side].taken[kind]);
                // What the host said has been heard of.
                let frame =
                    frame.filter(|frame| frame.at < before && host.is_none_or(|given| given.by >= frame.at));
                inputs.extend(frame.map(|frame| (frame.cycle, Step::Frame(side, answer))));
            }
        }
        let mut first = Vec::new();
        let mut last = Vec::new();
        for side in 0..group.ends.len() {
            for answer in [true, false] {
                if !state.sides[side].turning[usize::from(answer)].is_empty() {
                    first.push(Step::Turned(side, answer));
                }
            }
            let vi = state.vi(group, side);
            let mut own = state.answers(group, side).map(|at| Step::Answer(side, at)).collect::<Vec<_>>();
            if group.loopback {
                // Which acknowledgements leave is not seen: each of them, or a response for all before it.
                let response = own.last().copied().filter(|_| own.len() > 1);
                let response = response.filter(|_| state.nic.answers(vi).contains(&Pending::Response));
                own.truncate(1);
                last.extend(response);
            }
            if state.nic.packets(vi).request {
                own.push(Step::Request(side));
            }
            own.extend([Step::Complete(side), Step::Fetch(side, false), Step::Fetch(side, true)]);
            for step in own {
                let mut tried = state.clone();
                match tried.step(group, step, before) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(why) => {
                        self.note(score, None, format!("{step:?}: {why}"));
                        continue;
                    }
                }
                let hits = goal(&tried, group).is_none_or(|(at, _)| at > before);
                let later = matches!(step, Step::Answer(..)) && state.asks_again(group, side);
                match (hits || group.loopback) && !later {
                    true => first.push(step),
                    false => last.push(step),
                }
            }
            match state.nic.timer(vi) {
                Some(when) if group.loopback => timers.push((when, Step::Expire(side))),
                Some(_) => last.push(Step::Expire(side)),
                None => {}
            }
            let answer = group.frames[&group.ends[side]][1].get(state.sides[side].taken[1]);
            let came = group.loopback || answer.is_some_and(|frame| frame.at < before);
            for late in [Late::Response, Late::Refusal, Late::Acknowledgement] {
                if came && state.next_answer(group, side).is_some_and(|frame| late.is(frame)) {
                    last.extend(Cause::ALL.map(|cause| Step::Unheard(side, late, cause)));
                }
            }
            if state.is_wrong(group, side) {
                last.extend(Cause::ALL.map(|cause| Step::Unheard(side, Late::Descriptor, cause)));
            }
        }
        // What leaves a loopback VI again is not seen: its time-outs come in the order of time, when nothing else is under way.
        let turning = |step: &Step| matches!(step, Step::Turned(..) | Step::Request(_));
        if !first.iter().any(turning) {
            inputs.extend(timers);
        }
        inputs.sort_by_key(|(cycle, _)| *cycle);
        first.extend(inputs.into_iter().map(|(_, step)| step));
        first.extend(last);
        first
    }

    /// Nothing is left to do.
    fn rests(&self, state: &mut State) -> Result<(), String> {
        let group = self.group;
        if group.cut {
            return Ok(());
        }
        if state.host < group.host.len() {
            return Err("the host is not heard to its end".into());
        }
        for (side, end) in group.ends.iter().enumerate() {
            let own = &state.sides[side];
            if own.taken != [0, 1].map(|kind| group.frames[end][kind].len()) {
                return Err(format!("frames for end {end} are not taken"));
            }
            state.omit_spare(group, side);
            let before = group.cycles.len();
            let waiting = state.answers(group, side).next().filter(|_| !state.is_silent(group, side));
            if let Some(index) = waiting {
                let why = state.clone().step(group, Step::Answer(side, index), before);
                return Err(why.err().unwrap_or_else(|| format!("end {end} does not send an answer")));
            }
            for step in
                [Step::Request(side), Step::Complete(side), Step::Fetch(side, false), Step::Fetch(side, true)]
            {
                match state.clone().step(group, step, before) {
                    Ok(false) => {}
                    Ok(true) => return Err(format!("end {end}: {step:?} is possible and is not done")),
                    Err(why) => return Err(why),
                }
            }
        }
        Ok(())
    }
}

/// How far a state has come: what is matched, and what has come.
fn progress(state: &State) -> usize {
    let taken: usize = state.sides.iter().flat_map(|side| side.taken).sum();
    (state.score << 12) + taken + state.host
}
