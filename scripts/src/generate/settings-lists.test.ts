import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { positiveInt, text } from '@parley/kernel/settings/setting-types';
import { listSettings, setting } from '@parley/kernel/settings/settings';
import test, { type ExecutionContext } from 'ava';
import { settingsLists } from './settings-lists.ts';

const settings = {
  shared: listSettings({ key: setting('KEY', text, 'Signs.', { secret: true }) }),
  gateway: listSettings({
    tables: setting('GATEWAY_TABLES', positiveInt.default(3), 'How many | at most.'),
    hosts: setting('GATEWAY_HOSTS', text.optional(), 'Which.', { requiredInProduction: true }),
  }),
};

function checkout(t: ExecutionContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-tables-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

const markers = (unit: string, list = '') =>
  `# A\n\n<!-- settings: ${unit} -->\n${list}<!-- end of settings -->\n\nMore.\n`;
const gatewayList = `
- \`GATEWAY_TABLES\`: number, default: \`3\`. How many | at most.
- \`GATEWAY_HOSTS\`: text, default: none; required in production. Which.

`;

test('a list is written between its markers, and a page with the current list does not change', (t) => {
  const root = checkout(t, {
    'SETTINGS.md': markers('shared'),
    'gateway/SETTINGS.md': markers('gateway', gatewayList),
  });
  const readmes = settingsLists(root, settings).toSorted((one, other) => one.path.localeCompare(other.path));

  t.deepEqual(
    readmes.map(({ path }) => path),
    ['gateway/SETTINGS.md', 'SETTINGS.md'],
  );
  t.is(readmes[0]?.text, markers('gateway', gatewayList));
  t.regex(
    readmes[1]?.text ?? '',
    /^# A\n\n<!-- settings: shared -->\n\n- `KEY`: text, secret, required\. Signs\.\n\n<!-- end[^]*More\.\n$/u,
  );
});

test('a placeholder is shown, and not read as HTML', (t) => {
  const meaning = 'Like <UNIT>_KEY and `<UNIT>_KEY`.';
  const key = setting('KEY', text.optional(), meaning, { required: 'without <UNIT>_URL' });
  const root = checkout(t, { 'SETTINGS.md': markers('shared') });
  const [page] = settingsLists(root, { shared: listSettings({ key }) });
  t.true(page?.text.includes('required without \\<UNIT>_URL. Like \\<UNIT>_KEY and\n  `<UNIT>_KEY`.'), page?.text);
});

test('a page links to the lists of all units in their pages', (t) => {
  const page = (links: string) => `${markers('shared')}<!-- pages of units -->\n${links}<!-- end of pages -->\n`;
  const root = checkout(t, { 'SETTINGS.md': page(''), 'gateway/README.md': markers('gateway') });
  const text = settingsLists(root, settings).find(({ path }) => path === 'SETTINGS.md')?.text ?? '';
  t.true(text.endsWith('<!-- pages of units -->\n\n[gateway](gateway/README.md)\n\n<!-- end of pages -->\n'), text);
});

test('the list of a unit may be in its README', (t) => {
  const root = checkout(t, { 'README.md': markers('shared'), 'gateway/README.md': markers('gateway') });
  const page = settingsLists(root, settings).find(({ path }) => path === 'gateway/README.md');

  t.is(page?.text, markers('gateway', gatewayList));
});

test('a unit without a list, and a list without a unit, are errors', (t) => {
  const root = checkout(t, { 'README.md': markers('shared'), 'gateway/SETTINGS.md': markers('cellar') });
  t.throws(() => settingsLists(root, settings), { message: /gateway\/SETTINGS.md has a list .*cellar/u });
  writeFileSync(join(root, 'gateway/SETTINGS.md'), '');
  t.throws(() => settingsLists(root, settings), {
    message:
      'No README.md or SETTINGS.md has the lines <!-- settings: NAME --> and <!-- end of settings --> of gateway',
  });
});
