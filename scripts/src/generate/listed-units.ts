import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ListedUnit } from '@parley/units';
import { linkLines } from './wrapped.ts';

type Listed = Pick<ListedUnit, 'name' | 'folder'>;

const place = /(?<=<!-- units -->\n).*?(?=<!-- end of units -->)/su;

/** Returns a page whose markers enclose links to the READMEs of all units; callers precede the units that they call. */
export function withUnitLinks(page: string, units: readonly Listed[]): string {
  const links = units.map(({ name, folder }) => `[${name}](${folder}/README.md)`).toReversed();
  return page.replace(place, `\n${linkLines(links)}\n\n`);
}

/** Returns the `package.json` of the list of units, with a dependency on every listed unit. */
export function dependenciesOnUnits(root: string, units: readonly Listed[]) {
  const path = 'deploy/units/package.json';
  const manifest = JSON.parse(readFileSync(join(root, path), 'utf8'));
  const missing = units.map(({ name }) => [`@parley/${name}`, '*']);
  const all: [string, string][] = Object.entries({ ...Object.fromEntries(missing), ...manifest.dependencies });
  const dependencies = Object.fromEntries(all.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  return [{ path, text: `${JSON.stringify({ ...manifest, dependencies }, null, 2)}\n` }];
}
