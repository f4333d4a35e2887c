import { readSettings, SettingsError } from '@parley/kernel/settings/config';
import test from 'ava';
import { sessionSettings } from './config.ts';

const AVATAR_TOKEN_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

test('the age of sessions is at most what can be added to a date', (t) => {
  const maxAgeMs = (days: string) =>
    readSettings({ SESSION_MAX_DAYS: days, AVATAR_TOKEN_KEYS }, sessionSettings).settings.maxAgeMs;

  t.is(maxAgeMs('1000000'), 86_400_000_000_000);
  const error = t.throws(() => maxAgeMs('1000001'), { instanceOf: SettingsError });
  t.deepEqual(error?.problems, ['SESSION_MAX_DAYS: must be at most 1000000']);
});
