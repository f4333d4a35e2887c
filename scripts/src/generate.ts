import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { units } from '@parley/units';
import { apiPages } from './generate/api-pages.ts';
import { chartUnits } from './generate/chart-units.ts';
import { composeServices } from './generate/compose-services.ts';
import { grafanaDashboards } from './generate/dashboards.ts';
import { drift } from './generate/drift.ts';
import { graphqlTypes } from './generate/graphql-types.ts';
import { dependenciesOnUnits, withUnitLinks } from './generate/listed-units.ts';
import { settingsLists } from './generate/settings-lists.ts';
import { workflowPictures } from './generate/workflow-pictures.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Checks the style of the protos, then generates:

  - protos/gen from the protos
  - TypeScript from every services/*/src/schema.graphql
  - the lists of settings
  - the parts about units in README.md, deploy/units/package.json and the chart
  - the chart's dashboards
  - the services of Docker Compose
  - the pictures of workflows
  - the pages of the API

  scripts/generate [--check]

  --check  only compares; the exit code is 1 if a file is stale
`;

const protos = join(root, 'protos');

const { check } = readOptions(usage, { check: { type: 'boolean' } });
const api = apiPages(root);
const texts = [
  ...(await graphqlTypes(root)),
  ...settingsLists(root).map(({ path, text }) => ({ path, text: withUnitLinks(text, units) })),
  ...dependenciesOnUnits(root, units),
  ...chartUnits(root),
  ...composeServices(root, units),
  ...grafanaDashboards(),
  ...workflowPictures(root),
  ...api.texts,
].filter(({ path, text }) => textOf(path) !== text);
buf('lint');
if (check) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-generate-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  generateInto(folder);
  const stale = texts.map(({ path }) => path);
  stale.push(...drift(join(folder, 'gen'), join(protos, 'gen')).map((file) => `protos/gen/${file}`));
  for (const path of stale) console.error(`${path} is stale: run scripts/generate`);
  if (stale.length > 0) process.exitCode = 1;
} else {
  generateInto(protos);
  for (const { path, text } of texts) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

for (const problem of api.problems) console.error(problem);
if (check && api.problems.length > 0) process.exitCode = 1;

function textOf(path: string): string | undefined {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined;
}

/** Writes the generated TypeScript and the reflection image of protos/ below `folder`, as `folder`/gen. */
function generateInto(folder: string): void {
  buf('generate', '--output', folder);
  buf('build', '--output', join(folder, 'gen/image.binpb'));
}

/** Runs buf. @throws Error if buf fails; buf has then printed the reason. */
function buf(...args: string[]): void {
  execFileSync(join(root, 'node_modules/.bin/buf'), args, { cwd: protos, stdio: ['ignore', 'inherit', 'inherit'] });
}
