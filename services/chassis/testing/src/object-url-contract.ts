import { readObject } from '@parley/objects/object-store';
import { eventually } from './eventually.ts';
import type { ObjectStoreTest } from './object-store-test.ts';

const minute = 60_000;
const whole = { maxBytes: 1_000_000 };

/** The contract of the signed URLs of every object store: what they allow, and what they refuse. */
export function objectUrlContract(storeTest: ObjectStoreTest): void {
  storeTest(
    'an upload to a signed URL is stored with its type, and can be read from another URL',
    async (t, { store, key }) => {
      const name = key('Bericht 100% & mehr.txt');
      const upload = await store.presignPut({ key: name, contentType: 'text/plain', expiresInMs: 15 * minute });
      t.true(Math.abs(upload.expiresAt.getTime() - Date.now() - 15 * minute) < minute);
      t.is((await put(upload.url, 'text/plain', 'the bytes')).status, 200);
      t.like(await store.head(name), { contentType: 'text/plain', sizeBytes: 9 });

      const { url } = await store.presignGet({ key: name, expiresInMs: minute });
      const answer = await fetch(url);
      t.is(answer.status, 200);
      t.is(await answer.text(), 'the bytes');
      t.is(answer.headers.get('content-type'), 'text/plain');
      t.is(answer.headers.get('etag'), `"${(await store.head(name)).etag}"`);
    },
  );

  storeTest('a download has the signed file name, whatever characters it has', async (t, { store, key }) => {
    await store.put(key('a'), Buffer.from('x'), { contentType: 'text/html' });
    const fileName = 'Über "alles"; x=1\r\nx-a: b.pdf';
    const signing = { key: key('a'), expiresInMs: minute, fileName, contentType: 'application/pdf' };
    const answer = await fetch((await store.presignGet(signing)).url);
    await answer.body?.cancel();
    t.is(answer.headers.get('content-type'), 'application/pdf');
    const disposition = answer.headers.get('content-disposition') ?? '';
    t.regex(disposition, /^attachment; filename="[\w. -]*"; filename\*=UTF-8''[\w.%-]+$/u);
    t.is(decodeURIComponent(disposition.split("''")[1] ?? ''), fileName);
    t.is(answer.headers.get('x-a'), null);
  });

  storeTest('a changed URL is refused, and nothing is stored', async (t, { store, key }) => {
    const { url } = await store.presignPut({ key: key('mine'), contentType: 'text/plain', expiresInMs: minute });
    for (const [what, changed] of changesOf(url, key('theirs'))) {
      const { status } = await put(changed, 'text/plain', 'x');
      t.true(status >= 400 && status < 500, `${what}: ${status}`);
    }
    for (const each of ['mine', 'theirs']) t.like(await t.throwsAsync(store.head(key(each))), { kind: 'notFound' });
  });

  storeTest('an upload of another type than the signed one is refused', async (t, { store, key }) => {
    const { url } = await store.presignPut({ key: key('a'), contentType: 'text/plain', expiresInMs: minute });
    for (const other of ['text/html', 'text/plain; charset=utf-8', undefined]) {
      t.is((await put(url, other, 'x')).status, 403, String(other));
    }
    t.like(await t.throwsAsync(store.head(key('a'))), { kind: 'notFound' });
  });

  storeTest('a URL permits one method', async (t, { store, key }) => {
    await store.put(key('a'), Buffer.from('first'), { contentType: 'text/plain' });
    const upload = await store.presignPut({ key: key('a'), contentType: 'text/plain', expiresInMs: minute });
    const download = await store.presignGet({ key: key('a'), expiresInMs: minute });
    t.is((await fetch(upload.url)).status, 403);
    t.is((await put(download.url, 'text/plain', 'x')).status, 403);
    for (const { url } of [upload, download]) t.is((await fetch(url, { method: 'DELETE' })).status, 403);
    t.is(String((await readObject(store, key('a'), whole)).bytes), 'first');
  });

  storeTest('a URL is valid until it expires', async (t, { store, key }) => {
    await store.put(key('a'), Buffer.from('first'), { contentType: 'text/plain' });
    const upload = await store.presignPut({ key: key('a'), contentType: 'text/plain', expiresInMs: 1_000 });
    const download = await store.presignGet({ key: key('a'), expiresInMs: 1_000 });
    await eventually('the download has expired', async () => (await fetch(download.url)).status === 403);
    t.true(Date.now() >= download.expiresAt.getTime());
    await eventually(
      'the upload has expired',
      async () => (await put(upload.url, 'text/plain', 'first')).status === 403,
    );
    t.is(String((await readObject(store, key('a'), whole)).bytes), 'first');
    for (const expiresInMs of [0, 999, -1, Number.NaN, 8 * 24 * 60 * minute]) {
      await t.throwsAsync(store.presignGet({ key: key('a'), expiresInMs }), { instanceOf: RangeError });
    }
  });

  storeTest('a read of a confirmed version does not return a later upload', async (t, { store, key }) => {
    const { url } = await store.presignPut({ key: key('a'), contentType: 'text/plain', expiresInMs: minute });
    t.is((await put(url, 'text/plain', 'confirmed')).status, 200);
    const { etag } = await store.head(key('a'));
    t.is((await put(url, 'text/plain', 'something else')).status, 200);
    const error = await t.throwsAsync(readObject(store, key('a'), { ...whole, ifMatch: etag }));
    t.like(error, { kind: 'conflict', reason: 'OBJECT_CHANGED' });
  });

  storeTest('a signed URL of a missing object returns 404 without details of the store', async (t, { store, key }) => {
    const answer = await fetch((await store.presignGet({ key: key('none'), expiresInMs: minute })).url);
    t.is(answer.status, 404);
    t.notRegex(await answer.text(), /\/(?:tmp|home|work|var)\b|node:/u);
  });
}

/** Sends a PUT request. The body is bytes, because a string would get a default content type. */
function put(url: string, contentType: string | undefined, body: string): Promise<Response> {
  return fetch(url, {
    method: 'PUT',
    body: Buffer.from(body),
    headers: contentType ? { 'content-type': contentType } : {},
  });
}

/** Returns forgeries of a URL: with another key, a later expiry, another signature, or no signature. */
function changesOf(url: string, otherKey: string): [string, string][] {
  const { origin, pathname, searchParams } = new URL(url);
  const changes: [string, string][] = [['no query', origin + pathname]];
  const base = pathname.slice(0, pathname.indexOf('/tenants/'));
  changes.push(['another key', `${origin}${base}/${otherKey}?${searchParams}`]);
  changes.push(['a longer key', `${origin}${pathname}x?${searchParams}`]);
  changes.push(['a way up', `${origin}${pathname}%2F..%2Ftheirs?${searchParams}`]);
  changes.push(['a way up in the open', `${origin}${base}/tenants/1/x/..%2f..%2f1?${searchParams}`]);
  for (const [name, value] of searchParams) {
    const without = new URLSearchParams(searchParams);
    without.delete(name);
    changes.push([`no ${name}`, `${origin}${pathname}?${without}`]);
    // Changes a character in the middle, because the last character of base64 may have unused bits.
    const middle = Math.floor(value.length / 2);
    const changed = new URLSearchParams(searchParams);
    changed.set(name, value.slice(0, middle) + (value[middle] === '1' ? '2' : '1') + value.slice(middle + 1));
    changes.push([`another ${name}`, `${origin}${pathname}?${changed}`]);
  }
  return changes;
}
