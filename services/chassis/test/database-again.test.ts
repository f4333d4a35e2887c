import test from 'ava';
import type { TenantDb } from '../src/database/types.ts';
import { createGate } from '../src/testing/gate.ts';
import { testSchema } from '../src/testing/test-schema.ts';
import { notesSchema } from './support/notes-schema.ts';

/** A statement that the server refuses with this SQLSTATE. */
const refuse = ({ knex }: TenantDb, code: string) =>
  knex.raw(`DO $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END $$`);
const addNote = ({ knex, tenantId }: TenantDb, text: string) => knex('notes').insert({ tenant_id: tenantId, text });
const texts = ({ knex }: TenantDb): Promise<string[]> => knex('notes').orderBy('id').pluck('text');

for (const [code, why] of [
  ['40P01', 'a deadlock'],
  ['40001', 'a serialization failure'],
] as const) {
  test(`a transaction that the server gave up for ${why} runs once more, and only its second run has effects`, async (t) => {
    const database = await testSchema(t, notesSchema);
    const effects: number[] = [];
    const woken: string[] = [];
    database.onWake('first', () => woken.push('first'));
    database.onWake('second', () => woken.push('second'));
    let runs = 0;
    const answer = await database.transact(1, async (db) => {
      const run = ++runs;
      db.afterCommit(() => effects.push(run));
      db.wake(run === 1 ? 'first' : 'second');
      await addNote(db, `run ${run}`);
      if (run === 1) await refuse(db, code);
      return run;
    });
    t.is(answer, 2);
    t.deepEqual(effects, [2]);
    t.deepEqual(woken, ['second']);
    t.deepEqual(await database.transact(1, texts), ['run 2']);
  });
}

test('a transaction that is given up twice, or refused for another reason, is not tried again', async (t) => {
  const database = await testSchema(t, notesSchema);
  const runs = { '40P01': 0, '57014': 0, '23514': 0 };
  const attempt = (code: keyof typeof runs) =>
    t.throwsAsync(
      database.transact(1, async (db) => {
        runs[code] += 1;
        await addNote(db, code);
        await refuse(db, code);
      }),
    );
  t.like(await attempt('40P01'), { kind: 'unavailable' });
  t.like(await attempt('57014'), { kind: 'unavailable' });
  t.like(await attempt('23514'), { code: '23514' });
  t.deepEqual(runs, { '40P01': 2, '57014': 1, '23514': 1 });
  t.deepEqual(await database.transact(1, texts), []);
});

test('what is only read is read once more when its connection is lost, what may have been written is not', async (t) => {
  const database = await testSchema(t, notesSchema);
  await database.transact(1, (db) => addNote(db, 'kept'));
  const runs = { read: 0, transact: 0 };
  const losing = (how: keyof typeof runs) =>
    database[how](1, async (db) => {
      runs[how] += 1;
      if (runs[how] === 1) await refuse(db, '57P01');
      return texts(db);
    });
  t.deepEqual(await losing('read'), ['kept']);
  t.like(await t.throwsAsync(losing('transact')), { kind: 'unavailable' });
  t.deepEqual(runs, { read: 2, transact: 1 });
});

// The embedded engine runs one transaction at a time, where nobody waits for another.
const onServer = process.env['TEST_DATABASE_URL'] ? test : () => undefined;

onServer('two transactions that wait for each other both succeed', async (t) => {
  const database = await testSchema(t, notesSchema);
  await database.transact(1, async (db) => {
    for (const text of ['one', 'other']) await addNote(db, text);
  });
  const gates = [createGate(), createGate()] as const;
  let isFirst = true;
  const touch = ({ knex }: TenantDb, text: string) => knex('notes').where({ text }).update({ text });
  await Promise.all([
    database.transact(1, async (db) => {
      await touch(db, 'one');
      gates[0].open();
      await gates[1].pass();
      await touch(db, 'other');
    }),
    database.transact(1, async (db) => {
      await touch(db, 'other');
      gates[1].open();
      if (isFirst) await gates[0].pass();
      isFirst = false;
      await touch(db, 'one');
    }),
  ]);
  t.deepEqual((await database.transact(1, texts)).toSorted(), ['one', 'other']);
});
