import { unitNames as units } from '@parley/local/units';
import test from 'ava';
import { converse, endSession, evaluated, sendMessage } from '../src/conversation.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

for (const unit of units) {
  story(`${unit} reports that it is alive and ready`, async (t, mesh) => {
    const { addresses } = mesh;
    for (const ops of addresses(unit, 'ops')) {
      const [health, ready] = await Promise.all([fetch(`${ops}/healthz`), fetch(`${ops}/readyz`)]);
      t.is(health.status, 200);
      t.is(ready.status, 200, await ready.text());
      t.is((await fetch(`${ops}/anything-else`)).status, 404);
    }
  });
}

story('every unit counts what it does', async (t, mesh) => {
  const { person, addresses } = mesh;
  const ada = await person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Count me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  const metrics = new Map<string, string>();
  for (const unit of units) {
    const replicas = await Promise.all(addresses(unit, 'ops').map((ops) => fetch(`${ops}/metrics`)));
    const texts = await Promise.all(replicas.map((response) => response.text()));
    for (const { status } of replicas) t.is(status, 200);
    for (const text of texts) t.regex(text, /^# HELP /m, unit);
    metrics.set(unit, texts.join('\n'));
  }
  t.regex(metrics.get('gateway') ?? '', /operation="sendMessage"/);
  t.regex(metrics.get('agent') ?? '', /RunTurn/);
  for (const [unit, text] of metrics) t.notRegex(text, /Count me|customer-1/, unit);
});
