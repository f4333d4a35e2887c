import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import test from 'ava';
import { containerOf, requiredValues } from '../chart/environment.ts';
import { helm, render } from '../chart/render.ts';
import { tools } from '../install-tool.ts';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { dockerTools } from './docker-tools.ts';
import { dockerfile, entryPoint } from './dockerfile.ts';

const [dockerTest, chartTest] = [await testWith(dockerTools), await testWith(helm)];

dockerTest('the Dockerfile passes hadolint', async (t) => {
  t.is(await exec(join(tools, dockerTools.folder, 'hadolint'), [dockerfile]), '');
});

test('an image has the Node of the lockfile, which knows the flags of the entry point', async (t) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const [, version] =
    /^ARG NODE_IMAGE=docker\.io\/library\/node:([\d.]+)-/mu.exec(readFileSync(dockerfile, 'utf8')) ?? [];
  t.is(version, packages['node_modules/node'].version);
  const [program, ...flags] = entryPoint().slice(0, -1);
  t.is(program, 'node');
  t.is(await exec(process.execPath, [...flags, '-p', '1']), '1\n');
});

chartTest('a container runs as the user and on the ports that the chart names', async (t) => {
  const manifests = await render(undefined, requiredValues);
  const text = readFileSync(dockerfile, 'utf8');
  const { runAsUser, runAsGroup } = containerOf(manifests, 'gateway')?.securityContext ?? {};
  t.regex(text, new RegExp(`^USER ${runAsUser}:${runAsGroup}$`, 'mu'));
  const ports = ['gateway', 'session'].flatMap((unit) => containerOf(manifests, unit)?.ports ?? []);
  const numbers = new Set(ports.map(({ containerPort }) => containerPort).toSorted((a, b) => a - b));
  t.regex(text, new RegExp(`^EXPOSE ${[...numbers].join(' ')}$`, 'mu'));
});
