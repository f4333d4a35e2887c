import test from 'ava';
import { openingOf } from './opening.ts';

test('an opening greeting is sent, except by an agent with a workflow', (t) => {
  t.deepEqual(openingOf({ openingGreeting: 'Hi there', workflowId: null }).opening, { text: 'Hi there' });
  const unscripted = [
    openingOf({ openingGreeting: null, workflowId: null }),
    openingOf({ openingGreeting: null, workflowId: 4 }),
    openingOf({ openingGreeting: 'Never said', workflowId: 4 }),
  ];
  for (const { opening, instruction } of unscripted) {
    t.deepEqual(opening, {});
    t.false(instruction.includes('Never said'));
  }
});
