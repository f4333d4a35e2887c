import { randomUUID } from 'node:crypto';
import { isDomainError } from '@parley/kernel/errors';
import { type ObjectStore, readObject } from '@parley/objects/object-store';
import type { TestFn } from 'ava';
import type { ObjectStoreTest } from './object-store-test.ts';
import { objectUrlContract } from './object-url-contract.ts';

/** Two clients of the same objects. */
export interface ConnectedStores {
  store: ObjectStore;
  other: ObjectStore;
  close(): Promise<void>;
}

export const plain = { contentType: 'text/plain' };
const whole = { maxBytes: 1_000_000 };

/**
 * The contract of every object store. `connect` makes two clients of the same objects.
 * @param name the engine's name, which precedes each title.
 */
export function objectStoreContract(test: TestFn, name: string, connect: () => Promise<ConnectedStores>): void {
  const storeTest: ObjectStoreTest = (title, run) =>
    test(`${name}: ${title}`, async (t) => {
      const { store, other, close } = await connect();
      const prefix = `tenants/1/contract/${randomUUID()}/`;
      t.teardown(async () => {
        await removeAll(store, prefix);
        await close();
      });
      await run(t, { store, other, prefix, key: (part) => prefix + part });
    });

  storeTest(
    'an object is read as it was put, by every process, until it is deleted',
    async (t, { store, other, key }) => {
      const bodies = [Buffer.alloc(0), Buffer.from('nul \0 and é'), Buffer.alloc(900_000, 'x')];
      for (const bytes of bodies) {
        const put = await store.put(key('a'), bytes, { contentType: 'text/plain; charset=utf-8' });
        t.is(put.sizeBytes, bytes.length);
        const read = await readObject(other, key('a'), whole);
        t.true(read.bytes.equals(bytes));
        t.like(read, { etag: put.etag, sizeBytes: bytes.length, contentType: 'text/plain; charset=utf-8' });
        const { etag, sizeBytes, contentType, lastModified } = await other.head(key('a'));
        t.deepEqual({ etag, sizeBytes, contentType }, { ...put, contentType: 'text/plain; charset=utf-8' });
        t.true(Math.abs(Date.now() - lastModified.getTime()) < 60_000);
      }
      await other.delete(key('a'));
      await store.delete(key('a'));
      for (const call of [() => store.get(key('a')), () => store.head(key('a'))]) {
        t.like(await t.throwsAsync(call), { kind: 'notFound' });
      }
    },
  );

  storeTest('keys may have any script, blanks and URL characters', async (t, { store, prefix, key }) => {
    const names = ['plan & notes (1)+2.txt', 'Überblick 計画 🙂.pdf', '100%2F#?=~*.md', 'it\'s "here".txt'];
    for (const name of names) await store.put(key(name), Buffer.from(name), plain);
    for (const name of names) t.is(String((await readObject(store, key(name), whole)).bytes), name);
    const { objects } = await store.list({ prefix });
    t.deepEqual(objects.map((object) => object.key).sort(), names.map(key).sort());
  });

  storeTest('keys that leave their prefix or are empty are refused by every call', async (t, { store, key }) => {
    const bad = ['', '/', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', 'a/./b', 'a/..', 'a\\..\\b', 'a\0', 'a\nb'];
    bad.push('a\u007f', '\ud800', 'x/'.repeat(600), 'y'.repeat(201), 'tenants/1/../2/a');
    for (const each of [...bad, key('..'), key('b/../../c')]) {
      const calls = [
        () => store.put(each, Buffer.from('x'), plain),
        () => store.get(each),
        () => store.head(each),
        () => store.delete(each),
        () => store.presignPut({ key: each, contentType: 'text/plain', expiresInMs: 60_000 }),
        () => store.presignGet({ key: each, expiresInMs: 60_000 }),
      ];
      for (const call of calls) t.like(await t.throwsAsync(call, undefined, each), { kind: 'invalid' });
    }
    for (const prefix of ['', '/', '../', 'a/../']) {
      t.like(await t.throwsAsync(store.list({ prefix })), { kind: 'invalid' });
    }
    for (const contentType of ['', 'text', 'text/plain\r\nx-a: b', 'text/plain, text/html']) {
      t.like(await t.throwsAsync(store.put(key('a'), Buffer.from('x'), { contentType })), { kind: 'invalid' });
    }
  });

  storeTest('a read of a version returns that one or none', async (t, { store, other, key }) => {
    const first = await store.put(key('a'), Buffer.from('confirmed'), plain);
    const again = await store.put(key('b'), Buffer.from('confirmed'), plain);
    t.true(again.etag.length > 0);
    const second = await other.put(key('a'), Buffer.from('put later'), plain);
    t.not(first.etag, second.etag);
    const error = await t.throwsAsync(store.get(key('a'), { ifMatch: first.etag }));
    t.like(error, { kind: 'conflict', reason: 'OBJECT_CHANGED' });
    t.is(String((await readObject(store, key('a'), { ...whole, ifMatch: second.etag })).bytes), 'put later');
    await store.delete(key('a'));
    t.like(await t.throwsAsync(store.get(key('a'), { ifMatch: second.etag })), { kind: 'notFound' });
  });

  storeTest('a read of a version continues to the end after it was replaced', async (t, setup) => {
    const { store, other, key } = setup;
    const old = Buffer.alloc(900_000, 'old ');
    await store.put(key('a'), old, plain);
    const { body } = await store.get(key('a'));
    const read = body[Symbol.asyncIterator]();
    const chunks: Buffer[] = [(await read.next()).value];
    await other.put(key('a'), Buffer.alloc(900_000, 'new '), plain);
    for (let next = await read.next(); !next.done; next = await read.next()) chunks.push(next.value);
    t.true(Buffer.concat(chunks).equals(old));
  });

  storeTest('one of several concurrent puts wins completely', async (t, { store, other, key }) => {
    const bodies = Array.from({ length: 12 }, (_, n) => Buffer.alloc(100_000, `${n},`));
    const versions = await Promise.all(
      bodies.map((bytes, n) => (n % 2 ? store : other).put(key('a'), bytes, { contentType: `text/x-${n}` })),
    );
    const read = await readObject(store, key('a'), whole);
    const winner = bodies.findIndex((bytes) => bytes.equals(read.bytes));
    t.true(winner >= 0, 'bytes of one, and of no other');
    t.true(read.etag === versions[winner]?.etag);
    t.is(read.contentType, `text/x-${winner}`);
  });

  storeTest('an object larger than its reader allows is not read', async (t, { store, key }) => {
    await store.put(key('a'), Buffer.alloc(1_001), plain);
    const error = await t.throwsAsync(readObject(store, key('a'), { maxBytes: 1_000 }));
    t.like(error, { kind: 'invalid', reason: 'OBJECT_TOO_LARGE' });
    t.is((await readObject(store, key('a'), { maxBytes: 1_001 })).bytes.length, 1_001);
  });

  storeTest('a reader may stop before or after the first byte', async (t, { store, key }) => {
    await store.put(key('a'), Buffer.alloc(900_000), plain);
    for (let n = 0; n < 60; n++) (await store.get(key('a'))).body.destroy(); // this is more than the number of connections in a pool
    for (let n = 0; n < 60; n++) {
      for await (const _ of (await store.get(key('a'))).body) break;
    }
    t.is((await store.head(key('a'))).sizeBytes, 900_000);
  });

  storeTest('a key below another one works or is refused, without an effect on the other', async (t, setup) => {
    const { store, prefix, key } = setup;
    await store.put(key('a'), Buffer.from('outer'), plain);
    const inner = await store.put(key('a/b'), Buffer.from('inner'), plain).catch((error: unknown) => error);
    t.is(String((await readObject(store, key('a'), whole)).bytes), 'outer');
    const { objects } = await store.list({ prefix });
    if (inner instanceof Error) {
      t.true(isDomainError(inner, 'conflict'), String(inner));
      t.deepEqual(
        objects.map((object) => object.key),
        [key('a')],
      );
    } else {
      t.is(String((await readObject(store, key('a/b'), whole)).bytes), 'inner');
      t.deepEqual(
        objects.map((object) => object.key),
        [key('a'), key('a/b')],
      );
    }
  });

  storeTest(
    'a list has the keys of its prefix and no others, page by page',
    async (t, { store, other, prefix, key }) => {
      const names = ['1/a', '1/b', '1/c', '10/a', '2/B', '2/b', '2/é', 'x'];
      const etags = new Map<string, string>();
      for (const name of names) etags.set(key(name), (await store.put(key(name), Buffer.from(name), plain)).etag);

      const seen = [];
      let after: string | undefined;
      do {
        const page = await other.list({ prefix, limit: 3, ...(after !== undefined && { after }) });
        t.true(page.objects.length <= 3);
        seen.push(...page.objects);
        after = page.next;
      } while (after !== undefined);
      t.deepEqual(
        seen.map((object) => object.key),
        names.map(key),
      );
      for (const object of seen) {
        t.true(object.etag === etags.get(object.key));
        t.is(object.sizeBytes, Buffer.byteLength(object.key.slice(prefix.length)));
        t.true(Math.abs(Date.now() - object.lastModified.getTime()) < 60_000);
      }
      const keysOf = async (part: string) => (await store.list({ prefix: prefix + part })).objects.map((o) => o.key);
      t.deepEqual(
        await keysOf('1/'),
        ['1/a', '1/b', '1/c'].map(key),
        'a tenant whose number begins alike is another one',
      );
      t.deepEqual(await keysOf('none/'), []);
      t.deepEqual(await store.list({ prefix, limit: names.length }).then(({ next }) => next), undefined);
    },
  );

  storeTest('a closed store is unavailable', async (t, { other, key }) => {
    await other.ping();
    await other.close();
    for (const call of [
      () => other.ping(),
      () => other.get(key('a')),
      () => other.put(key('a'), Buffer.of(1), plain),
    ]) {
      t.like(await t.throwsAsync(call), { kind: 'unavailable' });
    }
  });

  objectUrlContract(storeTest);
}

async function removeAll(store: ObjectStore, prefix: string): Promise<void> {
  let after: string | undefined;
  do {
    const page = await store.list({ prefix, ...(after !== undefined && { after }) });
    for (const { key } of page.objects) await store.delete(key);
    after = page.next;
  } while (after !== undefined);
}
