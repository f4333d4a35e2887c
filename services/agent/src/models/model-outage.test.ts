import test from 'ava';
import { type ModelOutage, modelOutage, type OutageEvent, type OutageState, transitions } from './model-outage.ts';

const openMs = 10_000;
const failures = 5;
const halfAnHourMs = 30 * 60_000;

/** Creates an outage detector with its clock. `on` causes an event with as few calls as possible. */
function observed() {
  let nowMs = 1_000_000;
  const outage = modelOutage(failures, openMs, () => nowMs);
  let tenantId = 100;
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const causes: Record<OutageEvent, (outage: ModelOutage) => void> = {
    enoughFailures(model) {
      pass(openMs); // the last answer is now too old to show that the model works
      for (let call = 0; call < failures; call += 1) model.failed((tenantId += 1));
      model.keptOut(tenantId);
    },
    answer: (model) => model.answered((tenantId += 1)),
    enoughAnswers(model) {
      for (let answer = 0; answer < 3; answer += 1) model.answered((tenantId += 1));
    },
    silence(model) {
      if (model.state === 'ending') model.keptOut((tenantId += 1)); // after an answer, earlier rejections do not count
      pass(halfAnHourMs);
    },
  };
  return { outage, pass, on: (event: OutageEvent) => causes[event](outage) };
}

/** The shortest list of events that leads to each state. */
const waysInto: Record<OutageState, OutageEvent[]> = {
  works: [],
  outage: ['enoughFailures'],
  ending: ['enoughFailures', 'answer'],
};

const states = Object.keys(waysInto) as OutageState[];
const events: OutageEvent[] = ['enoughFailures', 'answer', 'enoughAnswers', 'silence'];

function inState(state: OutageState) {
  const model = observed();
  for (const event of waysInto[state]) model.on(event);
  return model;
}

/** The expected state after each event. It is written out here, so that the test fails if `transitions` changes. */
const expected: Record<OutageState, Record<OutageEvent, OutageState>> = {
  works: { enoughFailures: 'outage', answer: 'works', enoughAnswers: 'works', silence: 'works' },
  outage: { enoughFailures: 'outage', answer: 'ending', enoughAnswers: 'works', silence: 'works' },
  ending: { enoughFailures: 'outage', answer: 'ending', enoughAnswers: 'works', silence: 'ending' },
};

for (const state of states) {
  for (const event of events) {
    const next = expected[state][event];
    test(`after ${event}, the state ${state} becomes ${next}`, (t) => {
      const { outage, on } = inState(state);
      t.is(outage.state, state);
      on(event);
      t.is(outage.state, next);
    });
  }
}

test('every state can be reached, and every other state from it', (t) => {
  for (const from of states) {
    const reached = new Set<OutageState>([from]);
    for (const state of reached) for (const next of Object.values(transitions[state])) reached.add(next);
    t.deepEqual([...reached].toSorted(), states.toSorted(), from);
  }
});

test('a working model is asked by all tenants at once, a failing one by one tenant at a time', (t) => {
  for (const state of states) {
    const { outage, pass } = inState(state);
    const isProbe = outage.asked();
    t.is(isProbe, state !== 'works', state);
    t.is(outage.keepsOut(7), state !== 'works', state);
    pass(1_000);
    t.false(outage.keepsOut(7), 'the probe is over');
  }
});

test('breakers that are open probe only while an outage is ending, and wait longer only in an outage', (t) => {
  t.deepEqual(
    states.filter((state) => inState(state).outage.isEnding),
    ['ending'],
  );
  t.deepEqual(
    states.filter((state) => inState(state).outage.longestMs > openMs),
    ['outage'],
  );
});

test('an outage ends after enough answers, or half an hour after the last rejected call', (t) => {
  const answered = inState('outage');
  for (const state of ['ending', 'ending', 'works'] as const) {
    answered.on('answer');
    t.is(answered.outage.state, state);
  }
  t.is(answered.outage.ended, 1);

  const forgotten = inState('outage');
  forgotten.pass(halfAnHourMs - 1);
  t.is(forgotten.outage.state, 'outage');
  forgotten.pass(1);
  t.is(forgotten.outage.state, 'works');
  t.is(forgotten.outage.ended, 0, 'nobody was answered, so each breaker ends in its own time');
});
