import test from 'ava';
import { type PreparedStatements, preparedStatements } from './prepared-statements.ts';

const send = (statements: PreparedStatements, sql: string, times = 4) =>
  Array.from({ length: times }, () => statements.nameOf(sql)).at(-1);
const refusal = (code: string, more: object = {}) =>
  Object.assign(new Error('refused'), { code, severity: 'ERROR', ...more });
const stalePlan = refusal('0A000', { routine: 'RevalidateCachedQuery' });

test('a statement is prepared once it has been sent three times, under a name of its schema', (t) => {
  const statements = preparedStatements('notes');
  t.deepEqual(
    Array.from({ length: 5 }, () => statements.nameOf('SELECT ?') !== undefined),
    [false, false, false, true, true],
  );
  t.is(send(statements, 'SELECT ?'), send(preparedStatements('notes'), 'SELECT ?'));
  t.not(send(statements, 'SELECT ?'), send(statements, 'SELECT ?, ?'));
  t.not(send(statements, 'SELECT ?'), send(preparedStatements('other'), 'SELECT ?'));
});

test('texts that are sent once are never prepared, and at most 200 statements are', (t) => {
  const statements = preparedStatements('notes');
  for (let n = 0; n < 5_000; n += 1) t.is(statements.nameOf(`SELECT ${n}`), undefined);
  const names = Array.from({ length: 300 }, (_, n) => send(statements, `SELECT ?, ${n}`));
  t.is(names.filter((name) => name !== undefined).length, 200);
});

test('after a plan that no longer fits, statements are prepared under new names', (t) => {
  const statements = preparedStatements('notes');
  const before = send(statements, 'SELECT ?');
  t.true(statements.failed(before, stalePlan));
  t.is(statements.generation, 1);
  t.is(statements.nameOf('SELECT ?'), undefined);
  const after = send(statements, 'SELECT ?');
  t.truthy(after);
  t.not(after, before);
  t.true(statements.failed(before, stalePlan), 'in a transaction that began earlier');
  for (const other of [refusal('0A000'), refusal('23505'), new Error('cached plan')])
    t.false(statements.failed(after, other));
  t.false(statements.failed(undefined, stalePlan), 'it was not prepared');
  t.is(statements.nameOf('SELECT ?'), after);
});

test('a statement whose types or values do not fit does not cause others to be prepared again', (t) => {
  const statements = preparedStatements('notes');
  const name = send(statements, 'SELECT ?');
  for (const code of ['42804', '42883', '22003']) t.true(statements.failed(name, refusal(code)));
  t.is(statements.nameOf('SELECT ?'), name);
});

test('behind a pooler that loses prepared statements, none is prepared any more, and a warning says so', (t) => {
  const warned: unknown[] = [];
  const statements = preparedStatements('notes', { log: { warn: (fields: unknown) => void warned.push(fields) } });
  for (const code of ['26000', '42P05', '26000']) {
    const name = send(statements, 'SELECT ?');
    t.truthy(name);
    // Concurrent transactions lose the statement together, which counts as one loss.
    for (let n = 0; n < 50; n += 1) t.true(statements.failed(name, refusal(code)));
  }
  t.is(send(statements, 'SELECT ?'), undefined);
  t.deepEqual(warned, [{ schema: 'notes', code: '26000' }]);
});

test('texts that were sent often in the past do not keep current texts from being prepared', (t) => {
  let nowMs = 0;
  const statements = preparedStatements('notes', { now: () => nowMs });
  for (let n = 0; n < 200; n += 1) send(statements, `SELECT ?, ${n}`);
  t.is(send(statements, 'SELECT ?', 20_000), undefined, 'connections are not closed all the time');
  nowMs += 600_000;
  t.truthy(send(statements, 'SELECT ?', 5));
  t.is(statements.generation, 1);
});
