import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { emptyFolder } from '@parley/servers/testing/folder';
import type { ExecutionContext } from 'ava';
import { tools } from '../install-tool.ts';
import { testWith } from '../testing/test-with.ts';
import { requiredValues } from './environment.ts';
import { manifestTools } from './manifest-tools.ts';
import { chart, helm, renderText } from './render.ts';

await testWith(helm);
const manifestTest = await testWith(manifestTools);

const installations: [string, string | undefined, object][] = [
  ['only what is required', undefined, requiredValues],
  ['small', 'small', {}],
  ['production', 'production', {}],
  ['with a pod of operators', 'small', { 'operator.enabled': true }],
];

/** What the chart's README tells to leave out of kube-score, with the reasons. */
function leftOut(): string[] {
  const readme = readFileSync(join(chart, 'README.md'), 'utf8');
  const checks = [...readme.matchAll(/^\| `(--ignore-[\w-]+|[\w-]+)` +\| \w/gmu)].map(([, check = '']) => check);
  return checks.flatMap((check) => (check.startsWith('--') ? [check] : ['--ignore-test', check]));
}

async function fileOf(t: ExecutionContext, example: string | undefined, set: object): Promise<string> {
  const file = join(emptyFolder(t), 'manifests.yaml');
  writeFileSync(file, await renderText(example, set));
  return file;
}

/** Without an input: both read one that is open besides the file, until it ends. @returns its output. */
function run(program: string, ...args: string[]): Promise<string> {
  return exec('sh', ['-c', '"$@" </dev/null', 'sh', join(tools, manifestTools.folder, program), ...args]);
}

for (const [title, example, set] of installations) {
  manifestTest(`the manifests are what Kubernetes 1.27 and 1.37 take, and its operators: ${title}`, async (t) => {
    const file = await fileOf(t, example, set);
    for (const version of ['1.27.0', '1.37.0']) {
      const folders = [join(tools, manifestTools.folder, version), join(import.meta.dirname, 'schemas')];
      const locations = folders.flatMap((folder) => [
        '-schema-location',
        `${folder}/{{.ResourceKind}}{{.KindSuffix}}.json`,
      ]);
      const said = await run('kubeconform', '-strict', '-summary', ...locations, file);
      t.regex(said, /Invalid: 0, Errors: 0, Skipped: 0/u, version);
    }
  });

  manifestTest(`kube-score finds nothing: ${title}`, async (t) => {
    const file = await fileOf(t, example, set);
    const said = await run('kube-score', 'score', '--output-format', 'ci', ...leftOut(), file);
    t.regex(said, /^\[OK\]/mu);
    t.deepEqual(
      said.split('\n').filter((line) => /^\[(WARNING|CRITICAL)\]/u.test(line)),
      [],
    );
  });
}
