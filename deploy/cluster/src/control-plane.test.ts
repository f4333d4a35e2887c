import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { listen } from '@parley/kernel/http/listen';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test from 'ava';
import { nodesOf } from './addresses.ts';
import { get } from './api.ts';
import { certificatesFor, makeCertificates } from './certificates.ts';
import { apiServerArgs, controllerManagerArgs, etcdAccess, etcdArgs, schedulerArgs } from './control-plane.ts';

const files = { certificates: '/c', kubeconfigs: '/k', tokens: '/t.csv' };

test('etcd listens on loopback alone', (t) => {
  const urls = etcdArgs(files, { client: 15_001, peer: 15_002 }).flatMap((each) => each.match(/https?:[^,]*/gu) ?? []);
  t.deepEqual([...new Set(urls)], ['https://127.0.0.1:15001', 'https://127.0.0.1:15002']);
});

test('etcd and its peers require certificates of the cluster', (t) => {
  const args = etcdArgs(files, { client: 15_001, peer: 15_002 });
  for (const prefix of ['', 'peer-']) {
    t.true(args.includes(`--${prefix}client-cert-auth=true`));
    t.true(args.includes(`--${prefix}trusted-ca-file=/c/ca.crt`));
  }
});

test('the API server connects to etcd with a certificate that proves a client, but no server', async (t) => {
  const certificates = emptyFolder(t);
  await makeCertificates(certificates, certificatesFor(nodesOf(1)), unabortedSignal);
  const read = (name: string) => readFileSync(join(certificates, name), 'utf8');
  const options = { ca: read('ca.crt'), cert: read('etcd.crt'), key: read('etcd.key'), requestCert: true };
  const server = createServer(options, (_, response) => response.end('ok'));
  t.teardown(() => server.close());
  const url = `https://${await listen(server, 0, '127.0.0.1')}`;
  t.is(await get(url, etcdAccess({ certificates })), 'ok');
  await t.throwsAsync(get(url, { authority: read('ca.crt') }));
  t.deepEqual(new X509Certificate(read('etcd-client.crt')).keyUsage, ['1.3.6.1.5.5.7.3.2']);
  t.true(apiServerArgs({ ...files, certificates: '/c' }, 1).includes('--etcd-certfile=/c/etcd-client.crt'));
});

test('the API server serves pods at the bridge, and authorizes nodes and roles', (t) => {
  const args = apiServerArgs(files, 15_001);
  for (const each of [
    'bind-address=10.88.0.1',
    'authorization-mode=Node,RBAC',
    'etcd-servers=https://127.0.0.1:15001',
  ]) {
    t.true(args.includes(`--${each}`), each);
  }
});

test('controllers sign tokens with the key that the API server accepts', (t) => {
  const key = '/c/service-accounts.key';
  t.true(controllerManagerArgs(files).includes(`--service-account-private-key-file=${key}`));
  t.true(apiServerArgs(files, 1).includes(`--service-account-key-file=${key}`));
});

test('controllers and scheduler authorize by the API server', (t) => {
  for (const args of [controllerManagerArgs(files), schedulerArgs(files)]) {
    t.true(args.some((each) => each.startsWith('--authorization-kubeconfig=/k/')));
  }
});
