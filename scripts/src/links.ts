import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkLinks } from './links/check.ts';
import { checkPageSizes } from './links/page-sizes.ts';
import { root } from './root.ts';

const { pages, problems } = checkLinks(root, ['gateway', 'services', 'protos', 'deploy', 'charts', 'scripts']);
/** Pages whose size is not checked, because tests and examples read them as documents. */
const unsized = /^services\/(?:knowledge\/test|agent\/examples)\//u;
const sized = pages.filter((page) => !unsized.test(page));
problems.push(...checkPageSizes(root, sized, { 'README.md': 150 }));
const listOfProtos = readFileSync(join(root, 'protos/README.md'), 'utf8');
for (const proto of globSync('**/*.proto', { cwd: join(root, 'protos/parley') })) {
  if (!listOfProtos.includes(`\`${proto}\``)) problems.push(`protos/README.md: does not list ${proto}`);
}
for (const line of problems) console.error(line);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${pages.length} pages, no broken link, none too large`);
