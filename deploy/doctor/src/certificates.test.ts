import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/settings/config';
import { testAuthority } from '@parley/testing/test-authority';
import test, { type ExecutionContext } from 'ava';
import { checkCertificates } from './certificates.ts';

const [current, old, expired] = [testAuthority('current'), testAuthority('old', -1), testAuthority('expired', -1)];

/** Returns the findings about these files, by level. */
function findings(t: ExecutionContext, files: Environment) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-certificates-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const env: Environment = {};
  for (const [name, text = ''] of Object.entries(files)) {
    env[name] = join(folder, name);
    writeFileSync(env[name], text);
  }
  const outcomes = checkCertificates({ env, units: [], allUnits: [], now: Date.now, patienceMs: 1 });
  return outcomes.flatMap(({ level, found }) => (level === 'ok' ? [] : `${level}: ${found.replace(/ on .*/u, '')}`));
}

const mesh = ({ cert, key }: { cert: string; key: string }, ca: string): Environment => ({
  MESH_TLS_CERT_FILE: cert,
  MESH_TLS_KEY_FILE: key,
  MESH_TLS_CA_FILE: ca,
});

test('an authority of a bundle that has expired is worth a look: what needs it is found by its engine', (t) => {
  t.deepEqual(findings(t, { NODE_EXTRA_CA_CERTS: current.cert + old.cert }), [
    'warning: the certificate CN=old of NODE_EXTRA_CA_CERTS has expired',
  ]);
});

test('an authority of the mesh that has expired is wrong where the certificate of the unit leads to it alone', (t) => {
  const which = (name: string) => `the certificate CN=${name} of MESH_TLS_CA_FILE has expired`;
  const both = current.cert + old.cert;
  t.deepEqual(findings(t, mesh(current.issue(['a.test']), both)), [`warning: ${which('old')}`]);
  t.deepEqual(findings(t, mesh(old.issue(['a.test']), both + expired.cert)), [
    `wrong: ${which('old')}`,
    `warning: ${which('expired')}`,
  ]);
});

test('of a certificate between the unit and its authority the same counts', (t) => {
  const { cert, key } = current.issue(['a.test']);
  t.deepEqual(findings(t, mesh({ cert: cert + old.cert, key }, current.cert)), [
    'warning: the certificate CN=old of MESH_TLS_CERT_FILE has expired',
  ]);
  t.deepEqual(findings(t, mesh(current.issue(['a.test'], -1), current.cert)), [
    'wrong: the certificate CN=a.test of MESH_TLS_CERT_FILE has expired',
  ]);
});
