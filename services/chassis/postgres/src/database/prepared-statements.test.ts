import test from 'ava';
import { type PreparedStatements, preparedStatements } from './prepared-statements.ts';

const send = (statements: PreparedStatements, sql: string, times = 4) =>
  Array.from({ length: times }, () => statements.nameOf(sql)).at(-1);
const refusal = (code: string, message = 'refused') => Object.assign(new Error(message), { code, severity: 'ERROR' });
const staleSelect = refusal('0A000', 'SELECT 1 - cached plan must not change result type');

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
  t.true(statements.isStale(staleSelect));
  t.is(statements.nameOf('SELECT ?'), undefined);
  const after = send(statements, 'SELECT ?');
  t.truthy(after);
  t.not(after, before);
  for (const other of [refusal('0A000', 'not supported'), refusal('23505'), new Error('cached plan')])
    t.false(statements.isStale(other));
  t.is(statements.nameOf('SELECT ?'), after);
});

test('behind a pooler that loses prepared statements, none is prepared any more', (t) => {
  const statements = preparedStatements('notes');
  for (const code of ['26000', '42P05', '26000']) {
    t.truthy(send(statements, 'SELECT ?'));
    t.true(statements.isStale(refusal(code)));
  }
  t.is(send(statements, 'SELECT ?'), undefined);
});
