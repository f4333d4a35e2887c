import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkLinks } from './links/check.ts';
import { root } from './root.ts';

const { pages, problems } = checkLinks(root, ['gateway', 'services', 'protos', 'deploy', 'charts', 'scripts']);
const listOfProtos = readFileSync(join(root, 'protos/README.md'), 'utf8');
for (const proto of globSync('**/*.proto', { cwd: join(root, 'protos/parley') })) {
  if (!listOfProtos.includes(`\`${proto}\``)) problems.push(`protos/README.md: does not list ${proto}`);
}
for (const line of problems) console.error(line);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${pages.length} pages, no broken link`);
