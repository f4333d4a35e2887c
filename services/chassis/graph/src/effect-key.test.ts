import type { Caller } from '@parley/kernel/caller';
import test from 'ava';
import { effectKeyOf } from './effect-key.ts';

const caller: Caller = { kind: 'user', tenantId: 1, requestId: 'r' };
const at = (key: string) => ({ path: { key } });

test('each field of a request has its own effect key, the same in every retry', (t) => {
  const keyed = { ...caller, idempotencyKey: 'use-1' };
  t.is(effectKeyOf(keyed, at('a')), effectKeyOf({ ...keyed, requestId: 'retry' }, at('a')));
  const others = [at('b'), at('1 a'), at('')].map((place) => effectKeyOf(keyed, place));
  const another = effectKeyOf({ ...caller, idempotencyKey: 'use-2' }, at('a'));
  t.is(new Set([...others, another, effectKeyOf(keyed, at('a'))]).size, 5);
  t.is(effectKeyOf(keyed, at('x'.repeat(100_000)))?.length, 43);
});

test('without an Idempotency-Key there is no effect key', (t) => {
  t.is(effectKeyOf(caller, at('a')), undefined);
});
