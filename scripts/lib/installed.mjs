// Exits with 0 if node_modules contains what package-lock.json requires, according to npm's record of its installs
// (node_modules/.package-lock.json). This file is plain JavaScript, because it runs on the machine's Node, before the project's own Node is
// installed.
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
  process.exitCode = 1; // There is no record if nothing was installed yet, or if an install was interrupted.
}
