import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.ts';
import { checkWords } from './words/check.ts';

const isGenerated = /\/gen(?:erated)?\/|^gateway\/supergraph\.graphql$/u;
const patterns = [
  '{gateway,services,protos,deploy,charts,scripts}/**/*.{ts,mjs,js,proto,graphql,sh,yaml,py}',
  'deploy/**/{Dockerfile,run}',
  'scripts/*',
];
const files = globSync(patterns, { cwd: root, exclude: (name) => name === 'node_modules' }).filter(
  (file) => !isGenerated.test(file) && statSync(join(root, file)).isFile(),
);

const problems = checkWords(root, files.toSorted());
for (const line of problems) console.error(line);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${files.length} files, no comment or name to rewrite`);
