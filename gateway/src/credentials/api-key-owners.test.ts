import { createHash } from 'node:crypto';
import { notFound, unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { apiKeyOwners } from './api-key-owners.ts';

const hashOf = (key: string) => createHash('sha256').update(key).digest();

/**
 * Creates a lookup in which the keys `a` to `e` belong to the tenants 1 to 5. The first two lookups wait at the gate, while later ones form
 * a batch.
 */
function setup(resolveApiKeys?: () => Promise<never>) {
  const gate = createGate();
  const known = new Map([...'abcde'].map((key, n) => [hashOf(key).toString('hex'), n + 1]));
  const asked: number[] = [];
  const ownerOf = (keySha256: Uint8Array = new Uint8Array()) => {
    const tenantId = known.get(Buffer.from(keySha256).toString('hex'));
    return tenantId === undefined ? undefined : { apiKeyId: 10 * tenantId, tenantId, tenantSuspended: tenantId === 5 };
  };
  const ownerOfKey = apiKeyOwners(() => ({
    async resolveApiKey({ keySha256 }) {
      asked.push(1);
      await gate.pass();
      return ownerOf(keySha256) ?? Promise.reject(notFound('API key', 1));
    },
    async resolveApiKeys({ keysSha256 = [] }) {
      asked.push(keysSha256.length);
      if (resolveApiKeys) return resolveApiKeys();
      return { keys: keysSha256.map((keySha256) => ({ keySha256, owner: ownerOf(keySha256) })) };
    },
  }));
  return { gate, asked, known, owner: (key: string) => ownerOfKey({ keySha256: hashOf(key), requestId: 'r' }) };
}

test('keys requested during other lookups are looked up in one batch, and each gets its own owner', async (t) => {
  const { gate, asked, owner } = setup();
  const all = [...'abcdea'].map(owner);
  const unknown = owner('x');
  gate.open();
  t.deepEqual(
    (await Promise.all(all)).map(({ tenantId }) => tenantId),
    [1, 2, 3, 4, 5, 1],
  );
  t.like(await t.throwsAsync(unknown), { kind: 'notFound' });
  t.deepEqual(asked, [1, 1, 5]);
});

test('a key revoked before it is requested has no owner, although an older lookup of it is in flight', async (t) => {
  const { gate, known, owner } = setup();
  const before = [owner('a'), owner('b')];
  known.delete(hashOf('a').toString('hex'));
  const after = [owner('a'), owner('c')];
  gate.open();
  await Promise.allSettled(before);
  t.like(await t.throwsAsync(after[0] as Promise<unknown>), { kind: 'notFound' });
  t.is((await after[1])?.tenantId, 3);
});

test('if a batch fails, each key is looked up separately', async (t) => {
  const { gate, asked, owner } = setup(() => Promise.reject(unavailable('identity does not answer')));
  const all = [...'abcd'].map(owner);
  gate.open();
  t.deepEqual(
    (await Promise.all(all)).map(({ tenantId }) => tenantId),
    [1, 2, 3, 4],
  );
  t.deepEqual(asked, [1, 1, 2, 1, 1]);
});

test('lookups that a silent replica never answers hold up those of other keys only for a moment', async (t) => {
  const { gate, asked, owner } = setup();
  const unanswered = [owner('a'), owner('b')]; // the maximum number of concurrent lookups
  const tenantIds: number[] = [];
  const others = [...'cde'].map(async (key) => tenantIds.push((await owner(key)).tenantId));
  await eventually('the others have their owners', () => tenantIds.length === 3);
  t.deepEqual(tenantIds, [3, 4, 5]);
  t.deepEqual(asked, [1, 1, 3]);
  gate.open();
  await Promise.all([...unanswered, ...others]);
});
