import { randomBytes } from 'node:crypto';
import test from 'ava';
import { urlSigner } from './signed-urls.ts';

const base = 'http://storage';
const permit = { method: 'PUT', key: 'tenants/1/a b', contentType: 'text/plain', expiresAt: new Date(2_000) } as const;
const targetOf = (url: string) => url.slice(base.length);

test('a URL is valid until the millisecond in which it expires', (t) => {
  let nowMs = 1_999;
  const signer = urlSigner([randomBytes(32)], () => nowMs);
  const url = signer.sign(base, permit);
  t.deepEqual(signer.verify('PUT', targetOf(url)), { ...permit, fileName: undefined });
  nowMs = 2_000;
  t.is(signer.verify('PUT', targetOf(url)), undefined);
});

test('URLs are valid during a key rotation, until their key is removed', (t) => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)];
  const now = () => 0;
  const target = targetOf(urlSigner([old], now).sign(base, permit));
  t.truthy(urlSigner([fresh, old], now).verify('PUT', target));
  t.is(urlSigner([fresh], now).verify('PUT', target), undefined);
});

test('a signature is valid for nothing else', (t) => {
  const signer = urlSigner([randomBytes(32)], () => 0);
  const target = targetOf(signer.sign(base, permit));
  const get = targetOf(signer.sign(base, { ...permit, method: 'GET' }));
  for (const method of ['GET', 'HEAD', 'DELETE', 'POST', 'put', ''])
    t.is(signer.verify(method, target), undefined, method);
  t.is(signer.verify('PUT', get), undefined);
  const changes = [
    target.replace('a%20b', 'a%20c'),
    target.replace('/tenants/1/', '/tenants/2/'),
    target.replace('/tenants/1/', '/tenants/2/../1/'),
    target.replace('text%2Fplain', 'text%2Fhtml'),
    target.replace(/&type=[^&]*/u, ''),
    target.replace('expires=2000', 'expires=20000'),
    target.replace('expires=2000', 'expires=2e3'),
    target.replace('expires=2000', 'expires=-1'),
    target.replace('expires=2000&', ''),
    `${target}&expires=3000`,
    `${target}&name=b`,
    `${target}&more=1`,
    target.replace(/signature=.*/u, 'signature='),
    target.replace(/&signature=.*/u, ''),
    target.replace(/signature=(.*)/u, (_, signature: string) => `signature=${signature.slice(0, 20)}`),
    target.replace('a%20b', '%ff'),
    target.replace('a%20b', '%'),
    target.slice(1),
    '',
    '*',
    '/',
    `${base}${target}`,
  ];
  for (const change of changes) {
    t.not(change, target);
    t.is(signer.verify('PUT', change), undefined, change);
  }
});

test('a content type cannot be used as a file name', (t) => {
  const signer = urlSigner([randomBytes(32)], () => 0);
  const target = targetOf(signer.sign(base, { method: 'GET', key: 'a', contentType: 'x', expiresAt: new Date(2_000) }));
  t.truthy(signer.verify('GET', target));
  t.is(signer.verify('GET', target.replace('type=x', 'name=x')), undefined);
});
