import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { evaluationMesh, sessionEnded } from './evaluation-mesh.ts';

/** An unknown field with the number 1000, which holds a message of a few bytes. */
const unknownField = Uint8Array.of(0xc2, 0x3e, 3, 0x08, 0x96, 0x01);

test('unknown fields of an event are ignored', async (t) => {
  const { deliver, evaluationOf } = await evaluationMesh(t);
  const event = sessionEnded();
  await deliver({ ...event, data: Buffer.concat([unknownField, event.data, unknownField]) });

  t.like(await evaluationOf(), { sessionId: 1 });
});

test('events of unknown types are skipped', async (t) => {
  const { deliver, evaluationOf, counts, transcripts } = await evaluationMesh(t);
  transcripts.set(2, transcripts.get(1) ?? []);
  // If an event became a dead letter, `deliver` would fail.
  await deliver(
    sessionEnded(1, { type: 'session.ended.v2' }),
    sessionEnded(1, { type: 'session.archived.v1', data: unknownField }),
    sessionEnded(2),
  );
  t.like(await evaluationOf(2), { sessionId: 2 });

  await eventually('no job is left', async () => (await counts()).jobs === 0);
  t.deepEqual(await counts(), { evaluations: 1, jobs: 0 });
});
