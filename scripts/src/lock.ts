import { readFileSync, writeFileSync } from 'node:fs';
import { complete, entriesWithHost, type Lockfile, missingOptionals } from './lock/lockfile.ts';
import { readOptions } from './read-options.ts';

const usage = `Adds the packages of other platforms to package-lock.json, which npm omits.

  scripts/lock [--check]

  --check  only checks; the exit code is 1 if a package is missing
`;

const { check } = readOptions(usage, { check: { type: 'boolean' } });

const file = 'package-lock.json';
const lockfile: Lockfile = JSON.parse(readFileSync(file, 'utf8'));

const missing = missingOptionals(lockfile);
const hosts = entriesWithHost(lockfile);

for (const path of hosts) console.error(`${file} names a registry's host: ${path}`);
if (hosts.length > 0) process.exitCode = 1;

if (!check) {
  if (missing.length > 0) writeFileSync(file, `${JSON.stringify(complete(lockfile), null, 2)}\n`);
  console.log(`${file}: ${missing.length} optional packages of other platforms added`);
} else if (missing.length > 0) {
  console.error(`${file} lacks ${missing.map(({ name }) => name).join(', ')}: run scripts/lock`);
  process.exitCode = 1;
}
