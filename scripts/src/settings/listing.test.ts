import { httpUrl, list, port } from '@parley/kernel/settings/setting-types';
import { listSettings, setting } from '@parley/kernel/settings/settings';
import { unitNames } from '@parley/units';
import test from 'ava';
import { defaultText, usage } from './listing.ts';

test('the usage names every unit of the mesh', (t) => {
  t.true(usage.includes(` ${unitNames.join(', ')}. `), usage);
});

test("a setting is listed with its default, and the default's meaning in words", (t) => {
  const settings = listSettings({
    port: setting('PORT', port.default(80), 'Where it listens.'),
    docs: setting('DOCS_URL', httpUrl.default('https://example.com/a'), 'Where docs are.', { without: 'our own docs' }),
    hosts: setting('HOSTS', list.default([]), 'Which.', { without: 'any' }),
    region: setting('REGION', list.optional(), 'Which.'),
  });
  t.deepEqual(
    settings.map((each) => defaultText(each)),
    ['80', 'https://example.com/a (our own docs)', 'any', 'none'],
  );
});
