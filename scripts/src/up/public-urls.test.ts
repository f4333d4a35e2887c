import { randomBytes } from 'node:crypto';
import { unitSettings } from '@parley/local/mesh-settings';
import test from 'ava';
import { withPublicUrls } from './public-urls.ts';

const key = () => randomBytes(32).toString('base64');
const keys = { MESH_KEY: key(), SECRETS_KEYS: `k1:${key()}`, AVATAR_TOKEN_KEYS: `k1:${key()}`, OPERATOR_KEY: key() };

/** Returns the addresses in the response of `sdkStart`, and the issuer of access tokens, for these settings of `scripts/up`. */
function addresses(env: Record<string, string>) {
  const { session, gateway } = unitSettings(withPublicUrls({ ...keys, ...env }));
  const { avatarServiceUrl: voice, publicUrl } = session().embed;
  return { voice, session: publicUrl, gateway: gateway().publicUrl };
}

test('clients receive addresses with the configured ports', (t) => {
  const gateway = 'http://localhost:4310';
  t.deepEqual(addresses({ VOICE_PORT: '4311', GATEWAY_PORT: '4310' }), {
    voice: 'http://localhost:4311',
    session: gateway,
    gateway,
  });
});

test('a given address is kept, and without a port the default applies', (t) => {
  const [voice, gateway] = ['https://voice.example', 'https://parley.example'];
  const given = { VOICE_PORT: '4311', GATEWAY_PORT: '4310', VOICE_PUBLIC_URL: voice, PARLEY_PUBLIC_URL: gateway };
  t.deepEqual(addresses(given), { voice, session: gateway, gateway });
  const usual = { voice: 'http://localhost:4100', session: 'http://localhost:4000', gateway: 'http://localhost:4000' };
  t.deepEqual(addresses({}), usual);
  t.deepEqual(addresses({ VOICE_PORT: '', VOICE_PUBLIC_URL: '' }), usual);
});

test('an invalid port adds no address', (t) => {
  for (const port of ['0', 'x', '-1', '70000', '4311 '])
    t.deepEqual(withPublicUrls({ VOICE_PORT: port }), { VOICE_PORT: port });
});
