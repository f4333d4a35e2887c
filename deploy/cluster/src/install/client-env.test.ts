import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test from 'ava';
import { command } from '../process.ts';
import { openHelm } from './install.ts';
import { openKubectl } from './kubectl.ts';
import { toolFolder } from './tools.ts';

test("variables of the caller's shell reach neither kubectl nor Helm", async (t) => {
  const tools = emptyFolder(t);
  const folders = { tools, state: emptyFolder(t) };
  for (const program of [command(tools, 'kubernetes', 'kubectl'), join(toolFolder(tools, 'helm'), 'helm')]) {
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '#!/bin/sh\nexport -p\n');
    chmodSync(program, 0o755);
  }
  const variables = ['HELM_KUBEAPISERVER', 'HELM_KUBETOKEN', 'HELM_KUBECONTEXT', 'HELM_NAMESPACE', 'HTTPS_PROXY'];
  for (const name of variables) process.env[name] = 'of-the-shell';
  t.teardown(() => {
    for (const name of variables) delete process.env[name];
  });
  const kubectl = openKubectl(folders, 'parley');
  for (const output of [await kubectl.run(['get', 'pods']), await openHelm(folders, kubectl)('list')]) {
    t.true(output.includes(`HOME='${folders.state}'`), output);
    t.false(output.includes('of-the-shell'), output);
  }
});
