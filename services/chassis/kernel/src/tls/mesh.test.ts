import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import { certificateFor, testAuthority } from '@parley/testing/test-authority';
import { testMeshTls } from '@parley/testing/test-mesh-tls';
import test from 'ava';
import { readMesh } from './mesh.ts';

const authority = testAuthority();
const ca = authority.cert;

test('without files calls between units are not encrypted', (t) => {
  const { tls, lookupIntervalMs } = readMesh({ MESH_TLS_CERT_FILE: '' });
  t.deepEqual([tls, lookupIntervalMs], [undefined, 10_000]);
});

test('files that are missing, or do not belong together, are named', async (t) => {
  const { files } = await testMeshTls(t, { ...authority.issue(['a']), ca });
  const other = await testMeshTls(t, { ...authority.issue(['b']), ca });
  const env = { MESH_TLS_CERT_FILE: files.cert, MESH_TLS_KEY_FILE: files.key, MESH_TLS_CA_FILE: files.ca };
  t.like(readMesh(env).tls?.current, { ca });
  const noText = join(files.ca, '..', 'empty');
  writeFileSync(noText, '');
  for (const [change, problem] of [
    [{ MESH_TLS_CERT_FILE: '' }, 'MESH_TLS_CERT_FILE: is missing, and MESH_TLS_KEY_FILE and MESH_TLS_CA_FILE is set'],
    [{ MESH_TLS_CA_FILE: '' }, 'MESH_TLS_CA_FILE: is missing, and MESH_TLS_CERT_FILE and MESH_TLS_KEY_FILE is set'],
    [{ MESH_TLS_KEY_FILE: '/none' }, 'MESH_TLS_KEY_FILE: /none: there is no such file'],
    [
      { MESH_TLS_KEY_FILE: files.cert },
      `MESH_TLS_KEY_FILE: ${files.cert}: has no private key in PEM without a passphrase`,
    ],
    [
      { MESH_TLS_KEY_FILE: other.files.key },
      'MESH_TLS_KEY_FILE: is not the key of the certificate of MESH_TLS_CERT_FILE',
    ],
    [
      { MESH_TLS_KEY_FILE: authority.issue(['c']).key },
      'MESH_TLS_KEY_FILE: the content of a file in place of its path: there is no such file',
    ],
    [{ MESH_TLS_CA_FILE: noText }, `MESH_TLS_CA_FILE: ${noText}: has no certificate in PEM`],
  ] as const) {
    t.throws(() => readMesh({ ...env, ...change }), { message: `These settings are wrong:\n  ${problem}` });
  }
});

test('while files are being replaced, the previous ones stay in use', async (t) => {
  const [first, second] = [authority.issue(['a']), authority.issue(['a'])];
  const { tls, replace } = await testMeshTls(t, { ...first, ca });
  const seen: string[] = [];
  tls.onChange(({ cert }) => seen.push(cert));
  replace({ cert: second.cert }); // the key is still the key of the first certificate
  replace({ ca: `${ca}\n` });
  replace({ key: second.key });
  await eventually('the second counts', () => tls.current.key === second.key);
  t.deepEqual([tls.current.cert, new Set(seen)], [second.cert, new Set([second.cert])]);
});

test('a chain that is cut off in its second certificate does not replace the previous one', async (t) => {
  const first = authority.issue(['a']);
  const warnings: unknown[] = [];
  const log = { info: () => undefined, warn: (fields: unknown) => void warnings.push(fields) };
  const { tls, replace } = await testMeshTls(t, { ...first, ca }, log);
  const next = authority.issue(['a']);
  replace({ key: next.key, cert: `${next.cert}\n${ca.slice(0, 200)}` });
  await eventually('it is refused', () => warnings.length > 0);
  t.deepEqual([tls.current.cert, tls.current.key], [first.cert, first.key]);
  t.regex(JSON.stringify(warnings), /certificate without its end/u);
  replace({ cert: next.cert });
  await eventually('the whole one counts', () => tls.current.cert === next.cert);
});

test('a certificate that other units would refuse does not replace the previous one', async (t) => {
  const first = authority.issue(['a']);
  const problems: string[] = [];
  const warn = (fields: unknown) => void problems.push(...(fields as { problems: string[] }).problems);
  const expired = testAuthority('an old one', -1);
  const authorities = `${ca}${expired.cert}`;
  const { tls, replace } = await testMeshTls(t, { ...first, ca: authorities }, { info: () => undefined, warn });
  const left = tls.expiresAt - Date.now() / 1_000;
  t.true(left > 89 * 86_400 && left < 91 * 86_400, `${left} s`);
  const foreign = testAuthority('another one');
  for (const [next, problem] of [
    [authority.issue(['a'], -1), 'MESH_TLS_CERT_FILE: has expired on '],
    [authority.issue(['a'], 90, 1), 'MESH_TLS_CERT_FILE: is not valid before '],
    [expired.issue(['a']), 'MESH_TLS_CERT_FILE: an authority that has signed it is not valid now'],
    [foreign.issue(['a']), 'MESH_TLS_CERT_FILE: is signed by none of the authorities of MESH_TLS_CA_FILE'],
  ] as const) {
    replace(next);
    await eventually('it is refused', () => problems.some((each) => each.startsWith(problem)));
    t.deepEqual([tls.current.cert, tls.current.key], [first.cert, first.key]);
  }
  replace({ ca: `${ca}${foreign.cert}` });
  await eventually('the foreign one is trusted', () => tls.current.cert !== first.cert);
  const own = certificateFor('a', { mayIssue: false });
  replace({ ...own, ca: `${ca}${own.cert}` });
  await eventually('one that is its own authority is trusted', () => tls.current.cert === own.cert);
});
