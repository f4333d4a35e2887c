// Exits with 0 if node_modules contains what package-lock.json requires, according to npm's record of its installs
// (node_modules/.package-lock.json). This file is plain JavaScript, because it runs on the machine's Node, before ours is installed.
import { readFileSync } from 'node:fs';

const packagesIn = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

try {
  const present = packagesIn('node_modules/.package-lock.json');
  const isPresent = ([path, { version, integrity, optional }]) =>
    optional ||
    !path.includes('node_modules/') ||
    (present[path]?.version === version && present[path].integrity === integrity);
  process.exitCode = Object.entries(packagesIn('package-lock.json')).every(isPresent) ? 0 : 1;
} catch {
  process.exitCode = 1; // No record: nothing was installed yet, or an install was cut off.
}
