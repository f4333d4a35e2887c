import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { emptyFolder } from '@parley/servers/testing/folder';
import { units } from '@parley/units';
import type { ExecutionContext } from 'ava';
import { tools } from '../install-tool.ts';
import { testWith } from '../testing/test-with.ts';
import { requiredValues } from './environment.ts';
import { manifestTools } from './manifest-tools.ts';
import { chart, helm, render, renderText } from './render.ts';

await testWith(helm);
const manifestTest = await testWith(manifestTools);

const installations: [string, string | undefined, object][] = [
  ['only what is required', undefined, requiredValues],
  ['small', 'small', {}],
  ['production', 'production', {}],
  ['with a pod of operators', 'small', { 'operator.enabled': true }],
];

/** Returns the checks of kube-score that the chart's README lists as disabled. */
function leftOut(): string[] {
  const [, section = ''] = readFileSync(join(chart, 'README.md'), 'utf8').split('\n## Checks\n');
  return [...section.matchAll(/^- `([\w-]+)`: /gmu)].map(([, check = '']) => check);
}

async function fileOf(t: ExecutionContext, example: string | undefined, set: object): Promise<string> {
  const file = join(emptyFolder(t), 'manifests.yaml');
  writeFileSync(file, await renderText(example, set));
  return file;
}

/**
 * Runs kubeconform or kube-score with an empty stdin, because both would read an open stdin to its end.
 * @returns the program's output.
 */
function run(program: string, ...args: string[]): Promise<string> {
  // Exit code 1 means that kube-score found problems; its output lists them.
  const line = program === 'kube-score' ? '"$@" </dev/null || [ $? = 1 ]' : '"$@" </dev/null';
  return exec('sh', ['-c', line, 'sh', join(tools, manifestTools.folder, program), ...args]);
}

/** Returns kube-score's findings in a file while some of its checks are disabled. */
async function findings(t: ExecutionContext, file: string, without: string[]): Promise<string[]> {
  const ignored = without.flatMap((check) => (check.startsWith('--') ? [check] : ['--ignore-test', check]));
  const said = await run('kube-score', 'score', '--output-format', 'ci', ...ignored, file);
  t.regex(said, /^\[OK\]/mu);
  return said.split('\n').filter((line) => /^\[(WARNING|CRITICAL)\]/u.test(line));
}

for (const [title, example, set] of installations) {
  manifestTest(`the manifests are valid for Kubernetes 1.27 and 1.37 and its operators: ${title}`, async (t) => {
    const file = await fileOf(t, example, set);
    for (const version of ['1.27.0', '1.37.0']) {
      const folders = [join(tools, manifestTools.folder, version), join(import.meta.dirname, 'schemas')];
      const locations = folders.flatMap((folder) => [
        '-schema-location',
        `${folder}/{{.ResourceKind}}{{.KindSuffix}}.json`,
      ]);
      const said = await run('kubeconform', '-strict', '-summary', ...locations, file);
      t.regex(said, /Invalid: 0, Errors: 0, Skipped: 0/u, version);
      const count = (await render(example, set)).length;
      t.true(count > units.length && said.includes(`Valid: ${count},`), `${count} manifests: ${said}`);
    }
  });

  manifestTest(`kube-score finds nothing: ${title}`, async (t) => {
    t.deepEqual(await findings(t, await fileOf(t, example, set), leftOut()), []);
  });
}

manifestTest('each disabled check of kube-score would find something', async (t) => {
  const file = await fileOf(t, 'production', {});
  const all = leftOut();
  t.true(all.length > 0);
  for (const check of all) {
    const others = all.filter((each) => each !== check);
    t.not((await findings(t, file, others)).length, 0, check);
  }
});
