import { errorTable } from '@parley/kernel/error-table';
import { DomainError } from '@parley/kernel/errors';
import test from 'ava';
import { pino } from 'pino';
import { formatGraphError, graphError, graphOutcome } from './graph-errors.ts';

test('the outcome is error for our own failures, and refused for those of the caller', (t) => {
  const kinds = Object.keys(errorTable) as (keyof typeof errorTable)[];
  const outcomes = kinds.map((kind) => [kind, graphOutcome([graphError(new DomainError(kind, 'no')).toJSON()])]);
  t.deepEqual(Object.fromEntries(outcomes), {
    invalid: 'refused',
    unauthenticated: 'refused',
    forbidden: 'refused',
    notFound: 'refused',
    conflict: 'refused',
    tooManyRequests: 'refused',
    notImplemented: 'refused',
    unavailable: 'error',
    internal: 'error',
  });
  const [refused, failed] = (['invalid', 'internal'] as const).map((kind) =>
    graphError(new DomainError(kind, 'no')).toJSON(),
  );
  t.is(graphOutcome([refused, failed].flatMap((each) => each ?? [])), 'error');
  t.is(graphOutcome([{ message: 'of no known code' }]), 'error');
  t.is(graphOutcome(), 'ok');
});

test('details of an error are sent to clients and not logged', (t) => {
  const lines: string[] = [];
  const format = formatGraphError(pino({}, { write: (line: string) => lines.push(line) }));
  const details = { trace: ['canary'] };
  const formatted = format({ message: 'no' }, new DomainError('unavailable', 'No', { reason: 'R', details }));
  t.deepEqual(formatted.extensions, { code: 'UNAVAILABLE', statusCode: 503, reason: 'R', details });
  t.is(lines.length, 1);
  t.false(lines.join('').includes('canary'));
});

test('an operation that its own caller aborted is masked and not logged', (t) => {
  const logged: unknown[] = [];
  const log = (context: object) => void logged.push(context);
  const format = formatGraphError({ warn: log, error: log });
  const left = new DOMException('left', 'AbortError');
  const internal = { code: 'INTERNAL', statusCode: 500 };
  t.like(format({ message: 'left' }, left), { extensions: internal });
  format({ message: 'left' }, new DomainError('unavailable', 'No answer', { cause: left }));
  t.deepEqual(logged, []);
  t.like(format({ message: 'broken' }, new Error('broken')), { extensions: internal });
  t.is(logged.length, 1);
});
