import test from 'ava';
import { inFirstPerson, readPersona } from './offline-persona.ts';

test('sentences that address the model are turned into the first person', (t) => {
  const said = {
    'You are Ada, a patient tutor.': 'I am Ada, a patient tutor.',
    'Your name is Ada': 'My name is Ada.',
    'You help students who ask you about your subject.': 'I help students who ask me about my subject.',
    'Explain fractions with pictures.': 'I am here to explain fractions with pictures.',
    'Act as a recruiter.': 'I am a recruiter.',
    'The salary is 70,000 EUR.': 'The salary is 70,000 EUR.',
  };
  for (const [recorded, expected] of Object.entries(said)) t.is(inFirstPerson(recorded), expected);
});

test('style instructions and headings are not used as facts', (t) => {
  const { facts, identity } = readPersona(
    'You are Ada.\nFacts:\n- Percent means of a hundred.\nNever swear. Be brief.',
  );

  t.is(identity, 'I am Ada.');
  t.deepEqual(
    facts.map(({ text }) => text),
    ['I am Ada.', 'Percent means of a hundred.'],
  );
});

test('topics come from the persona, without its own name', (t) => {
  const { topics } = readPersona('You are Ada, an expert. Ask about Node.js, PostgreSQL and message queues. Be kind.');

  t.deepEqual(topics.toSorted(), ['Node.js', 'PostgreSQL', 'expert', 'message queues'].toSorted());
  t.is(topics[0], 'Node.js');
});

test('an interviewer asks, but a tutor with one question at a time explains', (t) => {
  t.true(readPersona('You are an interviewer for cooks.').asks);
  t.true(readPersona('Ask the candidate about Rust.').asks);
  t.false(readPersona('You are a tutor. Ask one question at a time.').asks);
});
