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
