import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test from 'ava';
import { nodesOf } from './addresses.ts';
import { certificatesFor, extensions, makeCertificates } from './certificates.ts';

test('the API server is known by its Service, by the bridge and by its names', (t) => {
  const [api] = certificatesFor(nodesOf(1));
  t.is(api?.name, 'apiserver');
  for (const host of ['10.96.0.1', '10.88.0.1', '127.0.0.1', 'kubernetes.default.svc'])
    t.true(api?.hosts?.includes(host), host);
});

test('a host that is an address is one in the certificate, too', (t) => {
  const request = { name: 'x', commonName: 'x', usage: 'serverAuth' as const, hosts: ['10.88.0.11', 'node-1'] };
  t.regex(extensions(request), /^subjectAltName=IP:10\.88\.0\.11,DNS:node-1$/mu);
});

test('certificates are signed by the authority of their cluster', async (t) => {
  const folder = emptyFolder(t);
  await makeCertificates(folder, certificatesFor(nodesOf(2)), unabortedSignal);
  const read = (name: string) => new X509Certificate(readFileSync(join(folder, `${name}.crt`)));
  const authority = read('ca');
  t.true(authority.ca);
  for (const name of ['apiserver', 'kubelet-client', 'front-proxy', 'node-1', 'node-2']) {
    t.true(read(name).checkIssued(authority) && read(name).verify(authority.publicKey), name);
  }
  t.is(read('apiserver').checkIP('10.96.0.1'), '10.96.0.1');
  t.is(read('node-2').checkIP('10.88.0.12'), '10.88.0.12');
  t.regex(read('kubelet-client').subject, /O=system:masters/u);
});
