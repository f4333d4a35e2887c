import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { positiveInt, text } from '@parley/kernel/settings/setting-types';
import { listSettings, setting } from '@parley/kernel/settings/settings';
import test, { type ExecutionContext } from 'ava';
import { settingsTables } from './settings-tables.ts';

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

const markers = (unit: string, table = '') =>
  `# A\n\n<!-- settings: ${unit} -->\n${table}<!-- end of settings -->\n\nMore.\n`;
const gatewayTable = `
| name             | type   | default                      | meaning              |
| ---------------- | ------ | ---------------------------- | -------------------- |
| \`GATEWAY_TABLES\` | number | \`3\`                          | How many \\| at most. |
| \`GATEWAY_HOSTS\`  | text   | none; required in production | Which.               |

`;

test('a table is written between its markers, and a page that has it already stays as it is', (t) => {
  const root = checkout(t, {
    'SETTINGS.md': markers('shared'),
    'gateway/SETTINGS.md': markers('gateway', gatewayTable),
  });
  const readmes = settingsTables(root, settings).toSorted((one, other) => one.path.localeCompare(other.path));

  t.deepEqual(
    readmes.map(({ path }) => path),
    ['gateway/SETTINGS.md', 'SETTINGS.md'],
  );
  t.is(readmes[0]?.text, markers('gateway', gatewayTable));
  t.regex(
    readmes[1]?.text ?? '',
    /^# A\n\n<!-- settings: shared -->\n\n\| name [^]*\| `KEY` \| text, secret \| required \| Signs. {2}\|\n\n<!-- end[^]*More\.\n$/u,
  );
});

test('a page lists the tables of all units, each where it is', (t) => {
  const page = (links: string) => `${markers('shared')}<!-- pages of units -->\n${links}<!-- end of pages -->\n`;
  const root = checkout(t, { 'SETTINGS.md': page(''), 'gateway/README.md': markers('gateway') });
  const text = settingsTables(root, settings).find(({ path }) => path === 'SETTINGS.md')?.text ?? '';
  t.true(text.endsWith('<!-- pages of units -->\n\n[gateway](gateway/README.md)\n\n<!-- end of pages -->\n'), text);
});

test('the table of a unit may be in its README', (t) => {
  const root = checkout(t, { 'README.md': markers('shared'), 'gateway/README.md': markers('gateway') });
  const page = settingsTables(root, settings).find(({ path }) => path === 'gateway/README.md');

  t.is(page?.text, markers('gateway', gatewayTable));
});

test('a unit without a table, and a table without a unit, are errors', (t) => {
  const root = checkout(t, { 'README.md': markers('shared'), 'gateway/SETTINGS.md': markers('cellar') });
  t.throws(() => settingsTables(root, settings), { message: /gateway\/SETTINGS.md has a table .*cellar/u });
  writeFileSync(join(root, 'gateway/SETTINGS.md'), '');
  t.throws(() => settingsTables(root, settings), {
    message:
      'No README.md or SETTINGS.md has the lines <!-- settings: NAME --> and <!-- end of settings --> of gateway',
  });
});
