import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { dependenciesOnUnits, withUnitLinks } from './listed-units.ts';

const units = [
  { name: 'identity', folder: 'services/identity' },
  { name: 'a-long-name', folder: 'services/a-long-name' },
  { name: 'gateway', folder: 'gateway' },
];

test('a page links all units between its markers, and a page without markers does not change', (t) => {
  const page = (links: string) => `Before\n\n<!-- units -->\n${links}<!-- end of units -->\n\nAfter\n`;
  const [first, second, third] = [
    '[gateway](gateway/README.md)',
    '[a-long-name](services/a-long-name/README.md)',
    '[identity](services/identity/README.md)',
  ];
  const links = `\n${first} · ${second} ·\n${third}\n\n`;
  t.is(withUnitLinks(page(''), units), page(links));
  t.is(withUnitLinks(page(links), units), page(links));
  t.is(withUnitLinks('Before\n', units), 'Before\n');
});

test('the list of units depends on every unit, and keeps its other dependencies', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'parley-units-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'deploy/units'), { recursive: true });
  const dependencies = { '@parley/gateway': '*', '@parley/kernel': '*' };
  writeFileSync(join(root, 'deploy/units/package.json'), JSON.stringify({ name: 'units', dependencies, scripts: {} }));
  const [file] = dependenciesOnUnits(root, units);
  const keys = ['@parley/a-long-name', '@parley/gateway', '@parley/identity', '@parley/kernel'];
  t.is(file?.path, 'deploy/units/package.json');
  t.deepEqual(JSON.parse(file?.text ?? ''), {
    name: 'units',
    dependencies: Object.fromEntries(keys.map((key) => [key, '*'])),
    scripts: {},
  });
  t.deepEqual(Object.keys(JSON.parse(file?.text ?? '').dependencies), keys);
});
