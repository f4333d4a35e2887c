import test from 'ava';
import { withoutSecrets } from './without-secrets.ts';

const secret = (name: string) => ({ name, secret: true });

test('a secret is blanked out whole, as the password of a URL, and as a key of a ring', (t) => {
  const env = {
    DATABASE_URL: 'postgres://me:p%40ss-word@db/parley',
    SECRETS_KEYS: 'k1:abcdef=,k2:ghijkl=',
    OPEN: 'shown',
  };
  const shown = withoutSecrets(env, [secret('DATABASE_URL'), secret('SECRETS_KEYS'), { name: 'OPEN', secret: false }]);
  t.is(shown('no route to postgres://me:p%40ss-word@db/parley'), 'no route to ***');
  t.is(shown('not p%40ss-word nor p@ss-word'), 'not *** nor ***');
  t.is(shown('ghijkl= does not open it; shown'), '*** does not open it; shown');
});

test('the login of any URL is blanked out', (t) => {
  t.is(withoutSecrets({}, [])('see https://someone:else@example.com/x'), 'see https://***@example.com/x');
});

test('the login that the meanings of settings have is shown', (t) => {
  const meaning = 'The mail server, `smtp://user:password@host:port`.';
  t.is(withoutSecrets({}, [])(meaning), meaning);
});

test('no piece of a password is shown that is not percent-encoded, wherever a client takes the URL apart', (t) => {
  const urls: [url: string, ...pieces: string[]][] = [
    ['postgres://me:first/second@third@db:5432/parley?sslmode=require', 'first', 'second', 'third', 'second@third'],
    ['postgres://me:1234/second@db/parley', '1234', 'second', 'me:1234'],
    ['redis://:first#second?third@db:6379', 'first', 'second', 'third'],
    ['postgres://me:first%second%20third@db/parley', 'first%second%20third'],
    ['postgres://db/parley?user=me&password=first-second%20third', 'first-second third', 'first-second%20third'],
  ];
  for (const [url, ...pieces] of urls) {
    const shown = withoutSecrets({ URL: url }, [secret('URL')]);
    for (const piece of pieces)
      for (const text of [url, `no host "${piece}"`, `see ${url}x`]) t.false(shown(text).includes(piece), shown(text));
    t.is(shown('the server db refuses it'), 'the server db refuses it', url);
  }
});
