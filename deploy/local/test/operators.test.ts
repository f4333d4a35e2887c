import test from 'ava';
import { converse, endSession, evaluated, sendMessage } from './support/conversation.ts';
import { sharedMesh } from './support/mesh.ts';

const mesh = sharedMesh(test);
const units = ['gateway', 'identity', 'agent', 'session', 'evaluation'];

for (const unit of units) {
  test(`${unit} tells operators that it is alive and ready`, async (t) => {
    const { local } = await mesh();
    const ops = local.surroundings.addresses.of(unit, 'ops');
    const [health, ready] = await Promise.all([fetch(`${ops}/healthz`), fetch(`${ops}/readyz`)]);
    t.is(health.status, 200);
    t.is(ready.status, 200, await ready.text());
    t.is((await fetch(`${ops}/anything-else`)).status, 404);
  });
}

test('every unit counts what it does', async (t) => {
  const { person, local } = await mesh();
  const ada = await person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Count me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  const metrics = new Map<string, string>();
  for (const unit of units) {
    const response = await fetch(`${local.surroundings.addresses.of(unit, 'ops')}/metrics`);
    t.is(response.status, 200);
    metrics.set(unit, await response.text());
    t.regex(metrics.get(unit) ?? '', /^# HELP /m, unit);
  }
  t.regex(metrics.get('gateway') ?? '', /operation="sendMessage"/);
  t.regex(metrics.get('agent') ?? '', /RunTurn/);
  for (const [unit, text] of metrics) t.notRegex(text, /Count me|customer-1/, unit);
});
