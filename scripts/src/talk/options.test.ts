import test from 'ava';
import { readOptions } from './options.ts';

test('without options the mesh of this machine is asked, by a throw-away account', (t) => {
  t.deepEqual(readOptions([], {}), { url: 'http://localhost:4000/graphql' });
});

test('options go before the environment', (t) => {
  const env = { PARLEY_URL: 'http://one/graphql', PARLEY_EMAIL: 'a@example.com', PARLEY_PASSWORD: 'secret' };
  const given = ['--url', 'https://two/api', '--email', 'b@example.com', '--agent', '7'];

  t.deepEqual(readOptions([], env), { url: 'http://one/graphql', email: 'a@example.com', password: 'secret' });
  t.deepEqual(readOptions(given, env), {
    url: 'https://two/api',
    email: 'b@example.com',
    password: 'secret',
    agent: '7',
  });
});

test('the address of the mesh will do as endpoint', (t) => {
  t.like(readOptions(['--url', 'http://localhost:4711'], {}), { url: 'http://localhost:4711/graphql' });
});

test('what cannot be right is refused', (t) => {
  t.throws(() => readOptions(['--url', 'localhost:4000'], {}), { message: /not an http or https URL/u });
  t.throws(() => readOptions(['--email', 'a@example.com'], {}), { message: /go together/u });
  t.throws(() => readOptions(['--loud'], {}), { message: /--loud/u });
  t.throws(() => readOptions(['hello'], {}), { message: /hello/u });
});
