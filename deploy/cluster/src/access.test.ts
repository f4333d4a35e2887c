import test from 'ava';
import { apiUsers, kubeconfig, tokenFile } from './access.ts';
import { nodesOf } from './addresses.ts';

test('each program has a user with the group by which Kubernetes gives it rights', (t) => {
  const users = apiUsers(nodesOf(2));
  const tokens = new Map(users.map(({ file }) => [file, `token-of-${file}`]));
  const lines = tokenFile(users, tokens).trimEnd().split('\n');
  t.true(lines.includes('token-of-node-2,system:node:node-2,system:node:node-2,"system:nodes"'));
  t.true(lines.includes('token-of-scheduler,system:kube-scheduler,system:kube-scheduler'));
  t.is(lines.length, users.length);
});

test('a kubeconfig names the server, trusts its authority and has the token of its user', (t) => {
  const user = { file: 'admin', user: 'admin', group: 'system:masters' };
  const parsed = JSON.parse(kubeconfig(user, { token: 'secret', authority: 'PEM', server: 'https://10.88.0.1:6443' }));
  t.like(parsed, {
    clusters: [
      {
        cluster: {
          server: 'https://10.88.0.1:6443',
          'certificate-authority-data': Buffer.from('PEM').toString('base64'),
        },
      },
    ],
    users: [{ name: 'admin', user: { token: 'secret' } }],
    'current-context': parsed.contexts[0].name,
  });
  t.is(parsed.contexts[0].context.cluster, parsed.clusters[0].name);
});
