import { readSettings } from '@parley/kernel/settings/config';
import test from 'ava';
import { addressSettings } from './address-settings.ts';

test('addresses that are missing or wrong are named together', (t) => {
  const declared = addressSettings([
    { unit: 'notes', endpoint: 'rpc' },
    { unit: 'notes', endpoint: 'graph' },
    { unit: 'tags', endpoint: 'rpc' },
    { unit: 'users', endpoint: 'graph' },
  ]);
  const right = {
    NOTES_RPC_URL: '10.0.0.1:5000,10.0.0.2:5000',
    NOTES_GRAPH_URL: 'http://notes:5001',
    TAGS_RPC_URL: 'tags:5000',
    USERS_GRAPH_URL: 'https://users.example.com',
  };
  t.deepEqual(readSettings(right, declared), right);

  t.throws(() => readSettings({ ...right, TAGS_RPC_URL: 'http://tags:5000' }, declared), {
    message: /TAGS_RPC_URL: \S+ is not host:port/u,
  });
  for (const more of ['users/graphql', 'me:hidden@users', 'users/?a=1', 'users/#a', 'users:0']) {
    const { message } = t.throws(
      () => readSettings({ ...right, USERS_GRAPH_URL: `https://${more}` }, declared),
      undefined,
      more,
    );
    t.regex(message, /USERS_GRAPH_URL: has more than a host and a port$/u);
  }

  const wrong = { NOTES_RPC_URL: 'notes-1:5000,notes-2:5000', NOTES_GRAPH_URL: 'notes:5001' };
  const { message } = t.throws(() => readSettings(wrong, declared));
  for (const problem of [
    'NOTES_RPC_URL: notes-1:5000,notes-2:5000: a list of gRPC addresses holds IP addresses',
    'NOTES_GRAPH_URL: is not an http or https URL',
    'TAGS_RPC_URL: is missing',
    'USERS_GRAPH_URL: is missing',
  ]) {
    t.true(message.includes(`\n  ${problem}`), `${problem} in ${message}`);
  }
});
