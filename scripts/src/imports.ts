import { globSync } from 'node:fs';
import { checkImports } from './imports/check.ts';
import { root } from './root.ts';

const folders = ['gateway', 'services', 'protos', 'deploy', 'scripts'];

const { files, violations } = await checkImports(root, folders);
const present = globSync(`{${folders.join()}}/**/*.ts`, { cwd: root, exclude: (name) => name === 'node_modules' });
const unread = present.filter((file) => !files.includes(file));

for (const line of violations) console.error(line);
for (const file of unread) console.error(`not read, so not checked: ${file}`);
if (violations.length + unread.length > 0) process.exitCode = 1;
else console.log(`${files.length} files, no forbidden import`);
