import test from 'ava';
import { z } from 'zod';
import { flag, list, port, positiveInt, secretKey, text } from './setting-types.ts';
import { type ListedSetting, listSettings, optionalGroup, setting } from './settings.ts';

const declared = {
  port: setting('PORT', port.default(80), 'Where it listens.'),
  key: setting('KEY', secretKey, 'Signs.', { secret: true }),
  limits: {
    idleMs: setting(
      'IDLE_HOURS',
      positiveInt.default(24).transform((hours) => hours * 3_600_000),
      'How long.',
    ),
    mode: setting('MODE', z.enum(['fast', 'safe']).default('fast'), 'How.', { productionDefault: 'safe' }),
  },
  isOpen: setting('OPEN', flag.default(true), 'Whether.'),
  hosts: setting('HOSTS', list.refine((all) => all.length < 9).default(['a', 'b']), 'Which.', { without: 'our own' }),
  broker: setting('BROKER', text.optional(), 'Which.', { without: 'in process', requiredInProduction: true }),
  store: optionalGroup('STORE_URL', {
    url: setting('STORE_URL', text, 'Where.'),
    secret: setting('STORE_SECRET', text.default('x'), 'Its key.', { secret: true }),
  }),
};

test('the list has the type and the default of each setting, and when it is required', (t) => {
  const known = (setting: ListedSetting) =>
    Object.fromEntries(Object.entries(setting).filter(([key, value]) => value && key !== 'meaning'));

  t.deepEqual(listSettings(declared).map(known), [
    { name: 'PORT', type: 'port', default: '80' },
    { name: 'KEY', type: 'key', secret: true, required: 'always' },
    { name: 'IDLE_HOURS', type: 'number', default: '24' },
    { name: 'MODE', type: 'fast | safe', default: 'fast', productionDefault: 'safe' },
    { name: 'OPEN', type: 'true | false', default: 'true' },
    { name: 'HOSTS', type: 'list', default: 'a,b', without: 'our own' },
    { name: 'BROKER', type: 'text', without: 'in process', required: 'in production' },
    { name: 'STORE_URL', type: 'text' },
    { name: 'STORE_SECRET', type: 'text', secret: true },
  ]);
});
