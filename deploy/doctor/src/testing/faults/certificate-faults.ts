import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '@parley/kernel/settings/config';
import { testAuthority } from '@parley/testing/test-authority';
import type { ExecutionContext } from 'ava';
import type { Garden } from '../garden.ts';
import { planted } from '../planted.ts';

const authority = testAuthority();
const host = 'garden.test.svc';

/** Returns the settings of a mesh certificate that is correct except for the given options. */
function mesh(
  garden: Garden,
  t: ExecutionContext,
  { cert, key, ca = authority.cert }: { cert?: string; key?: string; ca?: string } = {},
): Environment {
  const folder = mkdtempSync(join(tmpdir(), 'parley-certificates-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const usual = authority.issue([host]);
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return {
    [`${garden.name.toUpperCase()}_RPC_URL`]: `${host}:50051`,
    MESH_TLS_CERT_FILE: write('tls.crt', cert ?? usual.cert),
    MESH_TLS_KEY_FILE: write('tls.key', key ?? usual.key),
    MESH_TLS_CA_FILE: write('ca.crt', ca),
  };
}

export const certificateFaults = [
  planted(
    'a file of private authorities that is missing',
    () => ({ env: { NODE_EXTRA_CA_CERTS: '/no/such/ca.crt' } }),
    ['settings.invalid'],
    /NODE_EXTRA_CA_CERTS \/no\/such\/ca.crt: there is no such file/u,
  ),
  planted(
    'a private authority that expires soon',
    (garden, t) => ({
      env: { NODE_EXTRA_CA_CERTS: mesh(garden, t, { ca: testAuthority('old', 3).cert }).MESH_TLS_CA_FILE },
    }),
    ['certificates.expiry'],
    /the certificate CN=old of NODE_EXTRA_CA_CERTS expires on/u,
  ),
  planted(
    'a mesh certificate without its key',
    (garden, t) => ({ env: { ...mesh(garden, t), MESH_TLS_KEY_FILE: '' } }),
    ['settings.missing'],
    /MESH_TLS_KEY_FILE is missing/u,
  ),
  planted(
    'the key of another mesh certificate',
    (garden, t) => ({ env: mesh(garden, t, { key: authority.issue([host]).key }) }),
    ['settings.invalid'],
    /is not the key of the certificate/u,
  ),
  planted(
    'a mesh certificate that expires soon',
    (garden, t) => ({ env: mesh(garden, t, authority.issue([host], 3)) }),
    ['certificates.expiry'],
    /MESH_TLS_CERT_FILE expires on/u,
  ),
  planted(
    'a mesh certificate that has expired',
    (garden, t) => ({ env: mesh(garden, t, authority.issue([host], -1)) }),
    ['certificates.expired'],
    /has expired on/u,
  ),
  planted(
    'a mesh certificate of another authority',
    (garden, t) => ({ env: mesh(garden, t, { ca: testAuthority('another').cert }) }),
    ['certificates.chain'],
    /does not lead to an authority of MESH_TLS_CA_FILE/u,
  ),
  planted(
    'a mesh certificate for other names',
    (garden, t) => ({ env: mesh(garden, t, authority.issue(['elsewhere.test'])) }),
    ['certificates.name'],
    /is not for garden.test.svc/u,
  ),
];
