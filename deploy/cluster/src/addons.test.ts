import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { addonValues, fill } from './addons.ts';
import { nodesOf } from './addresses.ts';

const folder = join(import.meta.dirname, '../manifests');

test('every value that a manifest needs is there', (t) => {
  const values = addonValues({ nodes: nodesOf(2), resolver: 'nameserver 10.0.0.1\n' });
  for (const name of readdirSync(folder))
    t.notRegex(fill(readFileSync(join(folder, name), 'utf8'), values), /\$\{/u, name);
});

test('a manifest with an unknown value is refused', (t) => {
  t.throws(() => fill(['image: $', '{nothing}'].join(''), {}), { message: 'no value for nothing' });
});

test('several nodes have two DNS servers, so that one may be drained', (t) => {
  t.is(addonValues({ nodes: nodesOf(1), resolver: '' }).dnsReplicas, '1');
  t.is(addonValues({ nodes: nodesOf(2), resolver: '' }).dnsReplicas, '2');
});
